"""Framing of JSON lines: each line is one JSON text and one event; an empty line is an event without data."""

from __future__ import annotations

from .events import Event, in_one_line


def end_of_last_event(block: bytes | bytearray, start: int = 0) -> int:
    """The offset after the last line end of the block, searched from `start`; -1 if there is none."""
    return block.rfind(b"\n", start) + 1 or -1


def split(block: bytes) -> list[bytes]:
    """Cut a block into its lines, each with its line end: an LF, because a CR alone ends no line of JSON."""
    *lines, last = block.split(b"\n")
    lines = [line + b"\n" for line in lines]
    return [*lines, last] if last else lines


def read_event(raw: bytes) -> Event:
    text = raw.decode("utf-8", "replace").strip()
    return Event(raw, text or None)


def ended(raw: bytes) -> bytes:
    """A line with its line end."""
    return raw if raw.endswith(b"\n") else raw + b"\n"


def write(data: str, kind: str = "") -> bytes:
    """A line of ours; its type is in the JSON, if anywhere."""
    return f"{in_one_line(data)}\n".encode("utf-8", "backslashreplace")
