"""From an error that quotes a call to the answer with that call, in the protocol and form that was asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..calls import Outcome
from ..mend.reading.strict import write
from ..policy import Policy
from ..request.request import Request
from ..wire import sse
from ..wire.events import Event
from .answers import chat_events, write_answer
from .quoted import may_quote, quoted_in
from .reading import Ask, read_calls


@dataclass(slots=True, frozen=True)
class Recovered:
    """The answer that takes the place of an error."""

    content_type: str
    body: bytes
    outcomes: Sequence[Outcome]


class Recovery:
    """The errors of one response."""

    __slots__ = ("_ask", "_protocol", "_request", "_seen")

    def __init__(self, protocol: str, request: Request, ask: Ask) -> None:
        self._protocol = protocol
        self._request = request
        self._ask = ask
        self._seen = False

    @staticmethod
    def is_wanted(protocol: str, request: Request, policy: Policy) -> bool:
        """May a call be made of what a server quotes?"""
        if protocol not in ("chat", "messages", "responses") or request.legacy_functions:
            return False
        return policy.text_calls and request.calls_wanted and len(request.tools) > 0

    def of_document(self, body: bytes) -> Recovered | None:
        """An error that is the whole answer."""
        calls = self._calls(body) if may_quote(body) else []
        if not calls:
            return None
        kind, answer = self._written(calls, body, stream=self._request.stream)
        return Recovered(kind, answer, calls)

    def of_event(self, event: Event, undecided: Callable[[], bool]) -> tuple[list[Event], list[Outcome]]:
        """The events that take the place of one with an error, and the calls in them; none where it stays.

        `undecided`: is a call on its way already? Then nobody knows which of the two is meant.
        """
        first, self._seen = not self._seen, True
        if not may_quote(event.raw) or undecided() or (self._protocol != "chat" and not first):
            return [], []
        calls = self._calls(event.data or "")
        if not calls:
            return [], []
        if first:
            _, answer = self._written(calls, event.raw, stream=True)
            blocks = sse.split(answer)
        else:
            head = {"id": f"chatcmpl-{_identity(event.raw)}", "object": "chat.completion.chunk", "created": 0}
            events = chat_events(calls, {**head, "model": self._request.model})
            blocks = [sse.write(write(one)) for one in events]
        return [sse.read_event(block) for block in blocks], calls

    def _calls(self, body: bytes | str) -> list[Outcome]:
        quoted = quoted_in(body)
        calls = read_calls(quoted, self._request.tools, self._ask) if quoted else []
        allowed = self._request.allowed
        return calls if allowed is None or all(call.name in allowed for call in calls) else []

    def _written(self, calls: Sequence[Outcome], raw: bytes, *, stream: bool) -> tuple[str, bytes]:
        return write_answer(self._protocol, calls, _identity(raw), self._request.model, stream=stream)


def _identity(raw: bytes) -> str:
    """An id for the answer: of the same error the same."""
    return hashlib.sha256(raw).hexdigest()[:24]
