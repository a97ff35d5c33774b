"""The content view "toolfix": the answer of a flow before and after mending, in mitmproxy and mitmweb.

mitmproxy 11 and 12 have different classes for content views; both get the text from the same function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mitmproxy import contentviews, http

from ..reasons import STATUS_WORDS
from ..recording.replay import replay
from ..recording.store import Recording
from ..shown import shown, shown_lines
from .flow_files import recording_of
from .reporting import CHANGED

NAME = "toolfix"
MOST_SHOWN = 256 * 1024
"""The most bytes of a body that the view shows."""


FindRecording = Callable[[http.HTTPFlow], Recording | None]
"""Finds the answer of a flow in the form of a recording, whose title, if any, the view shows too."""


def view_text(viewed: Recording) -> str:
    """The text of the view."""
    statuses = [call["status"] for call in viewed.calls or ()]
    counts = ", ".join(f"{statuses.count(status)} {word}" for status, word in STATUS_WORDS.items())
    many = "1 tool call" if len(statuses) == 1 else f"{len(statuses)} tool calls"
    lines = [f"{viewed.protocol}: {many} ({counts})", *([viewed.flow["title"]] if "title" in viewed.flow else ())]
    for number, call in enumerate(viewed.calls or (), 1):
        name, received = (shown(call.get(key, call["name"])) for key in ("name", "received_name"))
        done = f": {', '.join(call['steps'])}" if call.get("steps") else ""
        lines += ["", f"call {number}: {name or '(no name)'}, {STATUS_WORDS[call['status']]}{done}"]
        if call.get("reason"):
            lines.append(f"  because  {shown(call['reason'], 400)}")
        if received != name:
            lines.append(f"  name     {received or '(none)'} → {name or '(none)'}")
        came, goes = call.get("received_arguments", call["arguments"]), call["arguments"]
        lines.append(f"  before   {shown_lines(came, MOST_SHOWN)}")
        lines.append(f"  after    {'(dropped)' if call.get('dropped') else shown_lines(goes, MOST_SHOWN)}")
    before, after = viewed.before, viewed.after or b""
    if before == after:
        return "\n".join([*lines, "", f"── unchanged: {len(before):,} bytes ──", _body(before)])
    lines += ["", f"── before: {len(before):,} bytes from the upstream ──", _body(before)]
    lines += ["", f"── after: {len(after):,} bytes for the client ──", _body(after)]
    return "\n".join(lines)


def _body(data: bytes) -> str:
    text = shown_lines(data[:MOST_SHOWN].decode("utf-8", "replace"), MOST_SHOWN).rstrip("\n")
    return text if len(data) <= MOST_SHOWN else f"{text}\n… {len(data) - MOST_SHOWN:,} more bytes"


def preview(flow: http.HTTPFlow, options: Mapping[str, str]) -> Recording | None:
    """What toolfix would do with the answer of a flow that did not pass through it (one loaded from a file)."""
    recording = recording_of(flow, Path(), options)
    if recording is None or not recording.before or flow.websocket:
        return None
    today, title = replay(recording), "This flow was loaded from a file: this is what toolfix would do."
    return replace(recording, flow={**recording.flow, "title": title}, after=today.after, calls=today.calls)


def _shown(data: bytes, flow: object, message: object, find: FindRecording) -> str:
    if isinstance(flow, http.HTTPFlow) and message is flow.response and (viewed := find(flow)):
        return view_text(viewed)
    return "toolfix has nothing to show for this message.\n\n" + _body(data)


def register(find: FindRecording) -> None:
    """Add the view to mitmproxy, in the place of that of a script that was reloaded.

    mitmproxy 12 calls `prettify`, mitmproxy 11 the view itself.
    """
    views: Any = contentviews
    base: Any = getattr(views, "Contentview", None) or views.View

    class AnswerView(base):  # type: ignore[misc]
        name = NAME

        def prettify(self, data: bytes, metadata: Any) -> str:
            return _shown(data, metadata.flow, metadata.http_message, find)

        def __call__(self, data: bytes, **known: Any) -> tuple[str, Iterator[list[tuple[str, str]]]]:
            text = _shown(data, known.get("flow"), known.get("http_message"), find)
            return NAME, ([("text", line)] for line in text.split("\n"))

        def render_priority(self, data: bytes, metadata: Any = None, **known: Any) -> float:
            """Highest if a call of this answer was mended or refused; else the view appears only when chosen."""
            flow = metadata.flow if metadata else known.get("flow")
            message = metadata.http_message if metadata else known.get("http_message")
            changed = isinstance(flow, http.HTTPFlow) and message is flow.response and CHANGED in flow.metadata
            return 10 if changed else -1

    if base.__name__ == "Contentview":
        views.registry._by_name.pop(NAME, None)
    else:
        for known in [known for known in views.views if known.name == NAME]:
            views.remove(known)
    views.add(AnswerView())
