"""Whether the client got the right answer, even if there was a fault on the way.

An answer that breaks off is right if it is a beginning of the whole right answer: every event in it was final when it
was sent, so it contains no half call.
"""

from __future__ import annotations

import json
import re

from .case import Turn
from .client import Got
from .faults import GARBAGE

_KEEP_ALIVE = re.compile(
    rb'event: ping\ndata: {"type":"ping"}\n\n'
    rb"|event: (?:response.in_progress|keepalive)\ndata: .*\n\n"
    rb'|data: {[^\n]*"choices":\[{"index":\d+,'
    rb'(?:"finish_reason":null,"delta":{}|"delta":{},"finish_reason":null)}\]}\n\n'
    rb'|data: {"candidates": \[\]}\r\n\r\n'
    rb'|{[^\n]*"message":{"role":"assistant","content":""},"done":false}\n'
)


def without_keep_alives(body: bytes) -> bytes:
    """An answer without keep-alive events, whose number depends on how long it took."""
    return _KEEP_ALIVE.sub(b"", body)


def verdict(turn: Turn, got: Got) -> str:
    """What is wrong with what the client got; "" if nothing is."""
    if turn.complaint:
        return turn.complaint
    broken = turn.play.breaks or turn.play.resets
    if broken and (got.status == 502 or (got.error and not got.body)):
        return ""  # mitmproxy reports that the upstream broke, or had nothing to send yet
    if got.error and not broken:
        return f"the transfer broke: {got.error}"
    if got.status != turn.play.status:
        return f"status {got.status}"
    if turn.fault == "error status":
        return "" if got.body == turn.sent else "the error is not the upstream's"
    if turn.fault == "corrupt gzip":
        return _as_it_came(turn, got.body)
    partial = bool(got.error) or got.left
    body = got.body if partial else got.decoded()
    if "content-encoding" in got.headers and partial:
        return ""  # cut off, and still encoded because toolfix does not handle it
    body = without_keep_alives(body)
    whole = without_keep_alives(turn.case.after)
    if (partial and not whole.startswith(body)) or (not partial and not broken and body != whole):
        return f"other bytes: {_difference(whole, body)}"
    return "" if partial or body == whole else f"it ended early, as if complete: {len(body)} of {len(whole)} bytes"


def _as_it_came(turn: Turn, body: bytes) -> str:
    """What is wrong with a corrupt answer, which must be a right beginning, what was held, and the corrupt bytes."""
    same = _common(body, turn.case.after)
    raw = _common(body[same:][::-1], turn.sent[::-1])
    held = body[same : len(body) - raw]
    # Text held as a possible call may be written again, so its bytes may differ.
    event = body[body.rfind(b"\n", 0, same) + 1 : len(body) - raw]
    if raw >= len(GARBAGE) and (held in turn.case.before or _text_in(event) in _text_in(turn.case.before)):
        return ""
    return f"a corrupt body did not pass as it came: {held[:300]!r}"


_TEXT = re.compile(rb'"(?:content|text|delta)"\s*:\s*("(?:[^"\\]|\\.)*")')


def _text_in(body: bytes) -> str:
    """All text of an answer, in any protocol."""
    return "".join(json.loads(text) for text in _TEXT.findall(body))


def _common(one: bytes, other: bytes) -> int:
    """The length of the common beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (left, right) in pairs if left != right), min(len(one), len(other)))


def _difference(expected: bytes, body: bytes) -> str:
    place = _common(expected, body)
    start = max(0, place - 40)
    return f"at {place}: {body[start : place + 120]!r}, expected {expected[start : place + 120]!r}"
