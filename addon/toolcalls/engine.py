"""The front door of the engine: one `Response` for one response, whatever its protocol.

The script, the command and the tests come in here. The protocol follows from the path or, where that
is unknown, from the first thing that the upstream says; never from a provider's name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from .dialects.chat.dialect import Chat
from .dialects.gemini.dialect import Gemini
from .dialects.interface import Dialect
from .dialects.messages.dialect import Messages
from .dialects.ollama.dialect import Ollama
from .dialects.responses.dialect import Responses
from .dialects.sniff import AnyProtocol, ChatOrZai, Sniffer
from .dialects.zai.dialect import Zai
from .ids import Ids
from .mend.mender import Mender
from .outcome import Outcome
from .parse_failure.recovery import Recovered as Recovered
from .parse_failure.recovery import Recovery
from .policy import Policy
from .request.heard import Heard
from .request.request import Request
from .stream import Stream
from .wire.encoding import decoder
from .wire.events import MOST_CALLS, LimitReached
from .wire.framing import MESSAGES
from .work import Work

AUTO: Final = "auto"

_DIALECTS: dict[str, Callable[[Request, Policy, Mender], Dialect]] = {
    "chat": ChatOrZai,
    "messages": Messages,
    "responses": Responses,
    "zai": Zai,
    "gemini": Gemini,
    "ollama": Ollama,
}

PROTOCOLS: Final = (AUTO, *_DIALECTS)

_PATHS = (
    (re.compile(r"/chat/completions\Z"), "chat"),
    (re.compile(r"/messages\Z"), "messages"),
    (re.compile(r"/responses\Z"), "responses"),
    (re.compile(r"/api/chat\Z"), "ollama"),
    (re.compile(r":(?:generateContent|streamGenerateContent)\Z"), "gemini"),
    # Messages behind Vertex, and behind gateways with the paths of Bedrock that speak SSE.
    (re.compile(r":(?:rawPredict|streamRawPredict)\Z"), "messages"),
    (re.compile(r"/model/[^/]+/(?:invoke|invoke-with-response-stream)\Z"), "messages"),
)


def protocol_of(path: str) -> str | None:
    """Which protocol is spoken at this path; None when it is none of ours."""
    bare = path.partition("?")[0].rstrip("/")
    return next((name for end, name in _PATHS if end.search(bare) and name in _DIALECTS), None)


class Response:
    """One response: feed it the chunks of the upstream, send what it gives back. Never raises."""

    __slots__ = ("_stream", "close", "feed", "heard", "outcomes", "seconds")

    def __init__(
        self,
        protocol: str = AUTO,
        request: Request | None = None,
        policy: Policy | None = None,
        *,
        encoding: str = "",
        messages: bool = False,
        seed: str | Callable[[], str] = "",
        tell: Callable[[Outcome], None] = lambda _: None,
    ) -> None:
        """`seed` is what new ids are made from, or how it is found; `tell` hears of each outcome at once.

        `messages`: it is Responses over a WebSocket, and each chunk is one message.
        """
        request = request or Request()
        policy = policy or Policy()
        self.heard = Heard(before=request.heard)
        """What the model was given to read, up to the end of this answer."""
        request = replace(request, heard=self.heard)
        # Not `self` in here: an answer that knows itself waits for the garbage collection, with all that it holds.
        outcomes: list[Outcome] = []
        self.outcomes = outcomes

        def report(outcome: Outcome) -> None:
            if len(outcomes) >= MOST_CALLS:
                raise LimitReached
            outcomes.append(outcome)
            tell(outcome)

        work = Work()
        mender = Mender(request.tools, policy, Ids(seed, request.used_ids), report, request.callable_tools, work)
        self.seconds = mender.seconds
        if messages:
            dialect: Dialect = Responses(request, policy, mender, MESSAGES)
        elif protocol in _DIALECTS:
            dialect = _DIALECTS[protocol](request, policy, mender)
        else:
            makers = {**_DIALECTS, "chat": Chat}
            dialect = AnyProtocol(lambda name: makers[name](request, policy, mender), makers)
        stream = self._stream = Stream(dialect, policy.max_held_bytes, decoder(encoding), outcomes, work)
        if Recovery.is_wanted(protocol, request, policy, in_stream=True):
            stream.recover_event = recovery_for(protocol, request, policy, seed).of_event
        if isinstance(dialect, Sniffer):
            dialect.decided = self._stream.set_dialect
        self.feed = self._stream.feed
        self.close = self._stream.close

    @property
    def holding(self) -> bool:
        """Is a tool call held back right now?"""
        return self._stream.holding

    def keep_alive(self) -> bytes:
        """An event of the protocol that says nothing new, for the client of a call that is held."""
        return self._stream.keep_alive()

    @property
    def held_bytes(self) -> int:
        """How many bytes of events are held back right now."""
        return self._stream.held_bytes

    @property
    def failure(self) -> Exception | None:
        """Why we failed open, if we did."""
        return self._stream.failure

    @property
    def changed_sent_text(self) -> bool:
        """Did the upstream change text that the client had already received, and keeps?"""
        return self._stream.changed_sent_text

    @property
    def limited(self) -> bool:
        """Was the limit of held bytes reached?"""
        return self._stream.limited


def recovery_for(protocol: str, request: Request, policy: Policy, seed: str | Callable[[], str]) -> Recovery:
    """What is made of errors in which a server quotes a call that it could not read."""

    def ask(body: bytes) -> tuple[bytes, list[Outcome]]:
        answer = Response("chat", replace(request, stream=False), policy, seed=seed)
        return mend_whole(answer, body), answer.outcomes

    return Recovery(protocol, request, policy, ask)


def recovered(
    protocol: str, request: Request, policy: Policy, body: bytes, seed: str | Callable[[], str]
) -> Recovered | None:
    """The answer that takes the place of an error document; None where the error goes on as it came."""
    if not Recovery.is_wanted(protocol, request, policy):
        return None
    return recovery_for(protocol, request, policy, seed).of_document(body)


def mend_whole(answer: Response, body: bytes, chunk_size: int = 0) -> bytes:
    """Run a whole body through an answer, in one piece or in chunks of a size."""
    size = chunk_size or max(len(body), 1)
    out = [piece for start in range(0, len(body), size) for piece in answer.feed(body[start : start + size])]
    return b"".join([*out, *answer.close()])
