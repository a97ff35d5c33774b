"""Makes one self-contained HTML page of recordings: every call, before and after.

The page loads nothing (its content security policy forbids it). What a model or a server wrote is embedded as JSON
without any `<`, and is shown as text only.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from .. import __version__
from ..policy import BadOption
from ..reasons import reason_class, step_class
from ..request.request import decode
from . import store
from .replay import replay
from .store import NoRecording, Recording

_ORDER = ("mended", "refused", "stream", "request", "gathered", "untouched")
"""The order of the recordings: the interesting ones first."""

MOST_OF_A_BODY = 48 * 1024
MOST_OF_ARGUMENTS = 32 * 1024
MOST_OF_ALL_BODIES = 40 * 1024 * 1024
"""Above these limits a text is cut or left out of the page; the recording has all of it."""


def write_report(directory: Path, target: Path) -> None:
    store.private_report(target, page(directory).encode())


def page(directory: Path, warn: Callable[[str], None] = lambda _: None) -> str:
    """The page. `warn` is called with a sentence about each recording that cannot be shown."""
    shown: list[tuple[dict[str, Any], str]] = []
    room = MOST_OF_ALL_BODIES
    for path in store.find(directory):
        try:
            recording = store.load(path)
            flow = _described(recording)
        except (NoRecording, BadOption) as error:
            warn(str(error))
            continue
        body = _json(_bodies(recording))
        room -= len(body)
        shown.append((flow, body if room > 0 else ""))
    shown.sort(key=lambda one: _ORDER.index(one[0]["state"]))
    flows = [flow for flow, _ in shown]
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    template, style, script = (
        files(__package__).joinpath(f"report.{kind}").read_text(encoding="utf-8") for kind in ("html", "css", "js")
    )
    allowed = (b64encode(sha256(text.encode()).digest()).decode() for text in (style, script))
    parts = {
        "policy": "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; ".format(*allowed)
        + "base-uri 'none'; form-action 'none'",
        "style": style,
        "script": script,
        "data": _json({"directory": str(directory), "made": made, "version": __version__, "flows": flows}),
        "bodies": "\n".join(
            f'<script type="application/json" id="body-{number}">{body}</script>'
            for number, (_, body) in enumerate(shown)
            if body
        ),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], template)


def _bodies(recording: Recording) -> dict[str, str]:
    """Both bodies and, if the request was mended, both requests; what is too long is cut."""
    bodies = {"before": recording.before, "after": recording.after or b""}
    if recording.request_after is not None:
        # With one value per line, so that both can be compared.
        for name, request in (("request", recording.request), ("request_after", recording.request_after)):
            read = decode(request)
            bodies[name] = request if read is None else store.pretty(read)
    texts = {}
    for name, body in bodies.items():
        more = len(body) - MOST_OF_A_BODY
        text = body[:MOST_OF_A_BODY].decode("utf-8", "replace")
        texts[name] = text if more <= 0 else f"{text}\n… {more:,} more bytes"
    return texts


def _described(recording: Recording) -> dict[str, Any]:
    """What the page shows about a recording."""
    today, flow = replay(recording), recording.flow
    # The calls of a recording written by hand name only what matters.
    known = today.calls if recording.calls is None or "versions" not in flow else recording.calls
    empty = {"status": "valid", "name": "", "arguments": ""}
    calls = [{key: _cut(value) for key, value in {**empty, **call}.items()} for call in known]
    steps = sorted({step_class(step) for call in calls for step in call.get("steps", ())})
    refused = [call for call in calls if call["status"] == "refused"]
    reasons = sorted({f"refused: {reason_class(call.get('reason', ''))}" for call in refused})
    # The tool that was meant: for a refused call the one that the model named, not the `invalid` tool.
    tools = {(call in refused and call.get("received_name")) or call["name"] for call in calls}
    flags = {
        "observed only": recording.options.get("toolfix_mode") == "observe",
        "the connection broke": recording.broken,
        f"HTTP {recording.status}": recording.status != 200,
    }
    request = decode(recording.request)
    own = flow.get("defect")
    return {
        "name": recording.name,
        "title": str(flow.get("title") or _title(calls, steps)),
        "state": _state(calls, recording),
        "protocol": recording.protocol,
        "model": str(request.get("model") or "") if request else "",
        "tool": sorted(tools - {""}),
        "defect": [str(own)] if own else sorted([*steps, *reasons]) or ["none"],
        "step": steps if own else [],
        "where": f"{flow.get('host', '')}{flow.get('path', '')}",
        "started": str(flow.get("started", "")),
        "held": today.held if calls else [],
        "flags": [text for text, applies in flags.items() if applies],
        "calls": calls,
        "same": recording.after in (None, recording.before),
        "request_mended": recording.request_after is not None,
        "request_steps": ", ".join(f"{number} × {step}" for step, number in recording.request_steps.items()),
        "bytes": [len(recording.before), len(recording.after or b"")],
    }


_ENDS = re.compile(rb'"(?:finish_reason|stop_reason|status)"\s*:\s*"(\w+)"|\[DONE\]|message_stop|"error"')


def _state(calls: list[dict[str, Any]], recording: Recording) -> str:
    """What happened to the recording, in one word.

    If all calls are valid, "gathered" means that only their fragments were joined, "stream" that more was changed:
    the finish reason or the end of the stream differs.
    """
    statuses = {call["status"] for call in calls}
    if "refused" in statuses:
        return "refused"
    if "repaired" in statuses:
        return "mended"
    before, after = recording.before, recording.after
    if after is None or after == before:
        return "untouched" if recording.request_after is None else "request"
    ends = [{found[0] for found in _ENDS.finditer(body)} for body in (before, after)]
    return "gathered" if calls and ends[0] == ends[1] else "stream"


def _title(calls: list[dict[str, Any]], steps: list[str]) -> str:
    """The title of a recording that has none: its calls and what was done to them."""
    if not calls:
        return "an answer without a tool call"
    names = [str(call.get("received_name") or call["name"] or "(no name)") for call in calls]
    shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    return f"{shown}: {', '.join(steps)}" if steps else shown


def _cut(value: Any) -> Any:
    """A value of a call; a text is cut."""
    more = len(value) - MOST_OF_ARGUMENTS if isinstance(value, str) else 0
    return value if more <= 0 else f"{value[:MOST_OF_ARGUMENTS]}\n… {more:,} more characters"


def _json(value: Any) -> str:
    """JSON in ASCII, without any character that has a meaning in HTML."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
