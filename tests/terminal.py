"""The screen of a process on a pseudo-terminal, and keys that are pressed when it says a word."""

from __future__ import annotations

import os


def screen_of(terminal: int, word: bytes, keys: bytes) -> bytes:
    """All that is written on the terminal until its other side is closed; the keys are pressed once, behind the word."""
    screen = b""
    with os.fdopen(terminal, "r+b", buffering=0) as open_terminal:
        while True:
            try:
                chunk = open_terminal.read(1024)
            except OSError:  # The other side is closed.
                return screen
            if not chunk:
                return screen
            screen += chunk
            if keys and word in screen:
                open_terminal.write(keys)
                keys = b""
