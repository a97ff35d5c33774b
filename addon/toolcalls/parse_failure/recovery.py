"""Turns an error that quotes a call into an answer with that call, in the protocol and form of the request."""

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
"""The answer has ended or is a refusal, so a call that an error quotes later does not belong to it."""
_IN_STREAMS = ("chat", "messages", "responses")
"""Not Ollama: its last line, if it is an error, is passed on, because the model's reasoning came before it."""
_TEXT = re.compile(rb'"content"\s*+:\s*+"[^"]')


@dataclass(slots=True, frozen=True)
class Recovered:
    """The answer that replaces an error."""

    content_type: str
    body: bytes
    outcomes: Sequence[Outcome]


class Recovery:
    """Recovers calls from the errors of one response."""

    __slots__ = ("_ask", "_has_text", "_over", "_policy", "_protocol", "_request", "_seen")

    def __init__(self, protocol: str, request: Request, policy: Policy, ask: Ask) -> None:
        self._protocol = protocol
        self._request = request
        self._policy = policy
        self._ask = ask
        self._seen = False
        self._over = False
        self._has_text = False
        """The client got text of the model. The first event with text is always parsed."""

    @staticmethod
    def is_wanted(protocol: str, request: Request, policy: Policy, *, in_stream: bool = False) -> bool:
        """Whether a quoted call may become a call. `in_stream`: the error is an event, not the whole response."""
        if protocol not in (_IN_STREAMS if in_stream else PROTOCOLS) or request.legacy_functions:
            return False
        # With several choices it is not known which one the server could not read.
        return policy.text_calls and request.choices == 1 and any(_ours(request, policy))

    def of_document(self, body: bytes) -> Recovered | None:
        """The answer that replaces an error which is the whole response; None if the error stays."""
        calls = self._calls(body) if may_quote(body) else []
        if not calls:
            return None
        kind, answer = self._written(calls, body, stream=self._request.stream)
        return Recovered(kind, answer, calls)

    def of_event(self, event: Event, undecided: bool) -> tuple[list[Event], list[Outcome]] | None:
        """The events that replace an event with an error, and the calls in them; empty if the event stays.

        None if every later event stays too. `undecided`: another call has begun already, so it is not known which of
        the two is meant.
        """
        first, self._seen = not self._seen, True
        if not first and self._protocol != "chat":
            # Only in Chat an answer that has begun can simply go on with a call.
            return None
        raw = event.raw
        calls = self._calls(event.data or "") if may_quote(raw) and not (self._over or undecided) else []
        self._over = self._over or _DONE in raw or _OVER.search(raw) is not None
        self._has_text = self._has_text or _TEXT.search(raw) is not None
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

    def _calls(self, body: bytes | str) -> list[Outcome]:
        quoted = quoted_in(body)
        if quoted is None or (quoted.rest and self._has_text):
            # The text before a call decides whether the call is meant or quoted as an example.
            return []
        return read_calls(quoted, self._request, Tools(_ours(self._request, self._policy)), self._ask)

    def _written(self, calls: Sequence[Outcome], raw: bytes, *, stream: bool) -> tuple[str, bytes]:
        return write_answer(self._protocol, calls, _identity(raw), self._request.model, stream=stream)


def _ours(request: Request, policy: Policy) -> Iterator[Tool]:
    """The functions that this answer may call and that the user wants to be mended."""
    return (tool for tool in request.callable_tools if tool.kind == "function" and policy.touches(tool.name))


def _identity(raw: bytes) -> str:
    """An id for the answer, which is always the same for the same error."""
    return hashlib.sha256(raw).hexdigest()[:24]
