"""How `toolfix demo` shows a scenario: briefly, or everything that was sent over the wire."""

from __future__ import annotations

import difflib
import json
import os
import shutil
from typing import Any

import click

from ..recording.store import Recording, suffix_of
from ..turn import payload
from ..wire import sse

SHOWN = 8
"""The most events shown of one side."""

_FEWEST_COLUMNS, _MOST_COLUMNS = 60, 100
_LABEL = 9
_ALIKE = 0.6
"""Texts that are less similar than this are different texts, not one text with some changes."""


def columns() -> int:
    """The width of the output: that of the terminal, within limits; 80 in a pipe."""
    return max(_FEWEST_COLUMNS, min(_MOST_COLUMNS, shutil.get_terminal_size((80, 24)).columns))


# Two lines


def show_short(number: int, caption: str, recording: Recording, *, right: bool) -> None:
    """Show a caption with the result, what the model sent, and what the agent got."""
    calls = recording.calls or []
    verdict = _verdict(calls) if right else "NOT AS EXPECTED"
    colour = {"mended": "green", "refused": "yellow", "unchanged": "cyan"}.get(verdict, "red")
    space = max(1, columns() - len(caption) - len(verdict) - 4)
    click.echo(f"{number}  " + click.style(caption, bold=True) + " " * space + click.style(verdict, fg=colour))
    sent, got = _sides(recording, calls)
    remark = "  (the agent rejects it, and the model tries again)" if verdict == "refused" else ""
    click.echo("   " + click.style("model".ljust(_LABEL - 3), dim=True) + _coloured(sent, got, "red"))
    click.echo("   " + click.style("agent".ljust(_LABEL - 3), dim=True) + _coloured(got, sent, "green") + remark)


def _verdict(calls: list[dict[str, Any]]) -> str:
    if not calls:
        return "unchanged"
    return "refused" if any(call["status"] == "refused" for call in calls) else "mended"


def _sides(recording: Recording, calls: list[dict[str, Any]]) -> tuple[str, str]:
    """What the model sent and what the agent got, one line each."""
    if not calls:
        text = _line(_text_in(recording.before))
        return text, text
    call = calls[0]
    got = f"{call['name']} {call['arguments']}"
    if "written as text" in call.get("steps", ()):
        return _line(_text_in(recording.before)), got
    sent = f"{call.get('received_name', call['name'])} {call.get('received_arguments', call['arguments'])}"
    return _line(sent), _line(got)


def _coloured(text: str, other: str, colour: str) -> str:
    """As much of the text as fits on a line, with the parts in colour that the other text does not have."""
    room = columns() - _LABEL
    end = len(text) if len(text) <= room else room - 1
    out, at = "", 0
    for start, size in _shared(text, other):
        out += click.style(text[at : min(start, end)], fg=colour) if at < min(start, end) else ""
        out += text[start : min(start + size, end)]
        at = start + size
    return out + ("…" if end < len(text) else "")


def _shared(text: str, other: str) -> list[tuple[int, int]]:
    """Start and size of each part of the text that both have; only of the common beginning if they differ a lot.

    The last entry is empty and marks the end of the text.
    """
    matcher = difflib.SequenceMatcher(None, text, other, autojunk=False)
    if matcher.ratio() > _ALIKE:
        return [(block.a, block.size) for block in matcher.get_matching_blocks()]
    pairs = enumerate(zip(text, other, strict=False))
    return [(0, next((at for at, (one, two) in pairs if one != two), 0)), (len(text), 0)]


def _text_in(body: bytes) -> str:
    """The text of a Chat stream."""
    chunks = [payload.read_strict(data) for data in _data(body)]
    choices = [chunk["choices"][0] for chunk in chunks if isinstance(chunk, dict) and chunk.get("choices")]
    return "".join(choice.get("delta", {}).get("content") or "" for choice in choices)


def _line(text: str) -> str:
    """A text on one line."""
    return " ".join(text.split())


# Everything that was sent over the wire


def show_raw(recording: Recording, received: bytes, asked: bytes, *, right: bool) -> None:
    """Show what the upstream sent and what the client got, event by event."""
    mark = click.style("as expected", fg="green") if right else click.style("NOT AS EXPECTED", fg="red")
    click.echo(click.style(f"── {recording.name}: {recording.flow.get('title', '')}", bold=True))
    if asked != (recording.request or b"{}"):
        _show_request(recording.request, asked)
    _show_side("upstream sent", recording.before, "red", _file(recording, "before"))
    # If the result is not as expected, no file contains it.
    _show_side("client got", received, "green", _file(recording, "after") if right else "")
    click.echo(f"  {mark}\n")


def _show_request(sent: bytes, asked: bytes) -> None:
    """Show the lines of the request that were changed on the way to the upstream."""
    old, new = (body.decode("utf-8", "replace").splitlines() for body in (sent, asked))
    click.echo("  on the way up:")
    for line in difflib.unified_diff(old, new, lineterm="", n=0):
        if line[:1] in "-+" and line[:3] not in ("---", "+++"):
            click.echo("    " + click.style(_short(line), fg="red" if line[0] == "-" else "green"))


def _show_side(title: str, body: bytes, colour: str, file: str) -> None:
    """Show the first events of a side and the file that has all of them; without a file, all events."""
    click.echo(f"  {title}:")
    lines = _lines(body)
    most = SHOWN if file else len(lines)
    for line in lines[:most]:
        click.echo("    " + click.style(line, fg=colour))
    if len(lines) > most:
        left = len(lines) - most
        click.echo(f"    … {left} more event{'' if left == 1 else 's'}, in {file}")


def _file(recording: Recording, name: str) -> str:
    """The path to one side of a recording, from the current directory; "" if there is no such file."""
    found = next(iter(sorted(recording.directory.glob(f"{name}.*"))), None)
    if found is None:
        return ""
    near = os.path.relpath(found)
    return str(found) if near.startswith("..") else near


def _lines(body: bytes) -> list[str]:
    """The events of a body, one line each, shortened to what matters."""
    kind = suffix_of(body)
    text = body.decode("utf-8", "replace")
    events = [text] if kind == ".json" else text.splitlines() if kind == ".ndjson" else _data(body)
    return [_short(_changing_part(event)) for event in events]


def _data(body: bytes) -> list[str]:
    end = sse.end_of_last_event(body)
    events = sse.split(body[:end] if end > 0 else body) + ([body[end:]] if 0 < end < len(body) else [])
    data = [sse.read_event(raw).data for raw in events]
    return [text for text in data if text is not None]


def _changing_part(text: str) -> str:
    """The part of a Chat chunk or an Ollama line that changes from one to the next."""
    chunk = payload.read_strict(text)
    chunk = chunk if isinstance(chunk, dict) else {}
    choices = chunk.get("choices")
    if isinstance(chunk.get("message"), dict) and "done" in chunk:
        choices = [{**chunk, "finish_reason": chunk.get("done_reason")}]
    if not isinstance(choices, list):
        return text
    changing = [
        json.dumps(choice.get("delta", choice.get("message", {})), ensure_ascii=False)
        + (f" finish: {choice['finish_reason']}" if choice.get("finish_reason") else "")
        for choice in choices
        if isinstance(choice, dict)
    ]
    return " ".join(changing) or text


def _short(text: str) -> str:
    text = text.replace("\n", "⏎")
    return text if len(text) <= 240 else f"{text[:230]}… ({len(text):,} characters)"
