"""From an error that quotes a call to the answer with that call, in the protocol and form that was asked for."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..mend.reading.strict import write
from ..outcome import Outcome
from ..policy import Policy
from ..request.request import Request
from ..tools.declared import Tool, Tools
from ..wire import sse
from ..wire.events import Event
from .answers import PROTOCOLS, chat_events, write_answer
from .quoted import may_quote, quoted_in
from .reading import Ask, read_calls

_DONE = b"[DONE]"
_OVER = re.compile(rb'"(?:finish_reason|refusal)"\s*+:\s*+"[^"]')
"""The answer has its end, or is a refusal: what an error quotes then is none of it."""
_IN_STREAMS = ("chat", "messages", "responses")
"""Ollama's last line with an error goes on: what its model thought stands before it."""
_SPOKEN = re.compile(rb'"content"\s*+:\s*+"[^"]')


@dataclass(slots=True, frozen=True)
class Recovered:
    """The answer that takes the place of an error."""

    content_type: str
    body: bytes
    outcomes: Sequence[Outcome]


class Recovery:
    """The errors of one response."""

    __slots__ = ("_ask", "_over", "_policy", "_protocol", "_request", "_seen", "_spoken")

    def __init__(self, protocol: str, request: Request, policy: Policy, ask: Ask) -> None:
        self._protocol = protocol
        self._request = request
        self._policy = policy
        self._ask = ask
        self._seen = False
        self._over = False
        self._spoken = False
        """The client got a text of the model. The first event with one is always read."""

    @staticmethod
    def is_wanted(protocol: str, request: Request, policy: Policy, *, in_stream: bool = False) -> bool:
        """May a call be made of what a server quotes? `in_stream`: in an event, and not as the whole answer."""
        if protocol not in (_IN_STREAMS if in_stream else PROTOCOLS) or request.legacy_functions:
            return False
        # Of several choices nobody knows which one the server could not read.
        return policy.text_calls and request.choices == 1 and any(_ours(request, policy))

    def of_document(self, body: bytes) -> Recovered | None:
        """An error that is the whole answer."""
        calls = self._calls(body) if may_quote(body) else []
        if not calls:
            return None
        kind, answer = self._written(calls, body, stream=self._request.stream)
        return Recovered(kind, answer, calls)

    def of_event(self, event: Event, undecided: bool) -> tuple[list[Event], list[Outcome]]:
        """The events that take the place of one with an error, and the calls in them; none where it stays.

        `undecided`: is a call on its way already? Then nobody knows which of the two is meant.
        """
        raw = event.raw
        calls = self._calls(event.data or "") if may_quote(raw) and not self._doubtful(undecided) else []
        first, self._seen = not self._seen, True
        self._over = self._over or _DONE in raw or _OVER.search(raw) is not None
        self._spoken = self._spoken or _SPOKEN.search(raw) is not None
        if not calls:
            return [], []
        if first:
            _, answer = self._written(calls, raw, stream=True)
            blocks = sse.split(answer)
        else:
            head = {"id": f"chatcmpl-{_identity(raw)}", "object": "chat.completion.chunk", "created": 0}
            events = chat_events(calls, {**head, "model": self._request.model})
            blocks = [sse.write(write(one)) for one in events]
        return [sse.read_event(block) for block in blocks], calls

    def _doubtful(self, undecided: bool) -> bool:
        """Is it open what a call would mean here, or where it would stand?"""
        return self._over or undecided or (self._protocol != "chat" and self._seen)

    def _calls(self, body: bytes | str) -> list[Outcome]:
        quoted = quoted_in(body)
        if quoted is None or (quoted.rest and self._spoken):
            # Behind a text it depends on that text whether a call is shown or meant.
            return []
        return read_calls(quoted, self._request, Tools(_ours(self._request, self._policy)), self._ask)

    def _written(self, calls: Sequence[Outcome], raw: bytes, *, stream: bool) -> tuple[str, bytes]:
        return write_answer(self._protocol, calls, _identity(raw), self._request.model, stream=stream)


def _ours(request: Request, policy: Policy) -> Iterator[Tool]:
    """The functions that this answer may call and that the user wants touched."""
    return (tool for tool in request.callable_tools if tool.kind == "function" and policy.touches(tool.name))


def _identity(raw: bytes) -> str:
    """An id for the answer: of the same error the same."""
    return hashlib.sha256(raw).hexdigest()[:24]
