"""The content view "toolfix": the answer of a flow before and after mending, in mitmproxy and mitmweb.

mitmproxy 11 and 12 have different classes for content views; both get the text from the same function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from mitmproxy import contentviews, http

from ..engine import Response, mend_whole, protocol_of
from ..outcome import Outcome
from ..policy import Policy
from ..reasons import STATUS_WORDS
from ..request.request import decode, read_request, seed_of
from ..shown import shown, shown_lines
from ..wire.encoding import decode_if_possible
from .reporting import CHANGED

NAME = "toolfix"
MOST_SHOWN = 256 * 1024
"""The most bytes of a body that the view shows."""


def content(message: http.Message) -> bytes:
    """The body without its content encoding. mitmproxy's own decoding has no limit for the decoded size."""
    return decode_if_possible(message.raw_content, message.headers.get("content-encoding", ""))


class ViewedResponse(NamedTuple):
    """An answer as the view shows it: both bodies, decoded, and the outcomes of its calls."""

    protocol: str
    before: bytes
    after: bytes
    outcomes: Sequence[Outcome]
    note: str = ""


FindResponse = Callable[[http.HTTPFlow], ViewedResponse | None]


def view_text(viewed: ViewedResponse) -> str:
    """The text of the view."""
    counts = [f"{sum(o.status == status for o in viewed.outcomes)} {word}" for status, word in STATUS_WORDS.items()]
    calls = "1 tool call" if len(viewed.outcomes) == 1 else f"{len(viewed.outcomes)} tool calls"
    lines = [f"{viewed.protocol}: {calls} ({', '.join(counts)})", *([viewed.note] if viewed.note else ())]
    for number, outcome in enumerate(viewed.outcomes, 1):
        done = f": {', '.join(outcome.steps)}" if outcome.steps else ""
        lines += ["", f"call {number}: {shown(outcome.name) or '(no name)'}, {STATUS_WORDS[outcome.status]}{done}"]
        if outcome.reason:
            lines.append(f"  because  {shown(outcome.reason, 400)}")
        if outcome.received_name != outcome.name:
            lines.append(f"  name     {shown(outcome.received_name) or '(none)'} → {shown(outcome.name) or '(none)'}")
        after = "(dropped)" if outcome.dropped else shown_lines(outcome.arguments, MOST_SHOWN)
        lines += [f"  before   {shown_lines(outcome.received_arguments, MOST_SHOWN)}", f"  after    {after}"]
    if viewed.before == viewed.after:
        return "\n".join([*lines, "", f"── unchanged: {len(viewed.before):,} bytes ──", _body(viewed.before)])
    lines += ["", f"── before: {len(viewed.before):,} bytes from the upstream ──", _body(viewed.before)]
    lines += ["", f"── after: {len(viewed.after):,} bytes for the client ──", _body(viewed.after)]
    return "\n".join(lines)


def _body(data: bytes) -> str:
    text = shown_lines(data[:MOST_SHOWN].decode("utf-8", "replace"), MOST_SHOWN).rstrip("\n")
    return text if len(data) <= MOST_SHOWN else f"{text}\n… {len(data) - MOST_SHOWN:,} more bytes"


def preview(flow: http.HTTPFlow, policy: Policy) -> ViewedResponse | None:
    """What toolfix would do with the answer of a flow that did not pass through it (one loaded from a file)."""
    protocol = protocol_of(flow.request.path)
    body = content(flow.response) if flow.response else None
    if protocol is None or not body:
        return None
    request = content(flow.request)
    response = Response(protocol, read_request(decode(request), protocol), policy, seed=seed_of(request))
    after = mend_whole(response, body)
    return ViewedResponse(
        protocol, body, after, response.outcomes, "This flow was loaded from a file: this is what toolfix would do."
    )


def _shown(data: bytes, flow: object, message: object, find: FindResponse) -> str:
    if isinstance(flow, http.HTTPFlow) and message is flow.response and (viewed := find(flow)):
        return view_text(viewed)
    return "toolfix has nothing to show for this message.\n\n" + _body(data)


def register(find: FindResponse) -> None:
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
