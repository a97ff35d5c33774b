"""Draws what a command prints in a terminal of 80 columns, as an SVG."""

from __future__ import annotations

import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Iterator, Sequence
from fcntl import ioctl
from html import escape
from typing import NamedTuple

COLUMNS, ROWS = 80, 24
_WIDTH, _HEIGHT, _MARGIN, _BAR = 8.4, 19, 16, 30
_SPACE = "\u00a0"
"""A no-break space, because browsers collapse other spaces."""
_FONT = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
_COLOURS = {"31": "#f28b82", "32": "#81c995", "33": "#fdd663", "36": "#78d9ec", "2": "#9aa0a6", "90": "#9aa0a6"}
_SGR = re.compile(r"\x1b\[([\d;]*)m")
_OTHER_ESCAPES = re.compile(r"\x1b\[[\d;?]*[A-Za-ln-z]|\r")


class Run(NamedTuple):
    text: str
    colour: str
    bold: bool


def output_of(command: Sequence[str]) -> str:
    """Everything that the command prints to a terminal, including colours."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    environ = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, stdin=theirs, env={**environ, "TERM": "xterm"}):
        os.close(theirs)
        data = b""
        while chunk := _read(ours):
            data += chunk
    os.close(ours)
    return data.decode("utf-8", "replace")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # On Linux this is the end: no program has the terminal open any more.
        return b""


def drawn(prompt: str, text: str) -> str:
    """The picture: the prompt and the text below it."""
    lines = [[Run("$ ", "#9aa0a6", False), Run(prompt, "", True)], *map(list, _lines(text))]
    height = _BAR + len(lines) * _HEIGHT + 2 * _MARGIN
    width = COLUMNS * _WIDTH + 2 * _MARGIN
    rows = "\n".join(
        f'<text x="{_MARGIN}" y="{_BAR + _MARGIN + 13 + number * _HEIGHT}">{"".join(map(_span, line))}</text>'
        for number, line in enumerate(lines)
        if line
    )
    dots = "".join(f'<circle cx="{20 + 18 * n}" cy="16" r="5.5" fill="#5f6368"/>' for n in range(3))
    size = f'viewBox="0 0 {width:g} {height}"'
    return f"""<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(prompt)}">
<rect width="100%" height="100%" rx="10" fill="#202124"/>{dots}
<g font-family="{_FONT}" font-size="14" fill="#e8eaed">
{rows}
</g>
</svg>
"""


def _span(run: Run) -> str:
    style = (f' fill="{run.colour}"' if run.colour else "") + (' font-weight="bold"' if run.bold else "")
    length = f' textLength="{len(run.text) * _WIDTH:g}"'
    return f"<tspan{style}{length}>{escape(run.text).replace(' ', _SPACE)}</tspan>"


def _lines(text: str) -> Iterator[Iterator[Run]]:
    colour, bold = "", False
    for line in _OTHER_ESCAPES.sub("", text).rstrip("\n").split("\n"):
        runs: list[Run] = []
        for number, part in enumerate(_SGR.split(line)):
            if number % 2 == 0:
                runs += [Run(part, colour, bold)] if part else []
                continue
            for code in part.split(";"):
                colour = _COLOURS.get(code, "" if code in {"", "0", "39"} else colour)
                bold = code == "1" or (bold and code not in {"", "0", "22"})
        yield iter(runs)
