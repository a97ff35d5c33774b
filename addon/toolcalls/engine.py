"""The entry to the engine: one `Response` object per HTTP response, in any protocol.

The mitmproxy script, the `toolfix` command and the tests all start here. The protocol is chosen by the path or, if
the path is unknown, by the first data that the upstream sends; never by a provider's name.
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
from .request.read_by_model import ReadByModel
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

_DEFAULT_POLICY: Final = Policy()

_PATHS = (
    (re.compile(r"/chat/completions\Z"), "chat"),
    (re.compile(r"/messages\Z"), "messages"),
    (re.compile(r"/responses\Z"), "responses"),
    (re.compile(r"/api/chat\Z"), "ollama"),
    (re.compile(r":(?:generateContent|streamGenerateContent)\Z"), "gemini"),
    # Messages on Vertex, and on gateways that have the paths of Bedrock but send SSE.
    (re.compile(r":(?:rawPredict|streamRawPredict)\Z"), "messages"),
    (re.compile(r"/model/[^/]+/(?:invoke|invoke-with-response-stream)\Z"), "messages"),
)


def protocol_of(path: str) -> str | None:
    """The protocol that belongs to this path; None if it is not one of ours."""
    bare = path.partition("?")[0].rstrip("/")
    return next((name for end, name in _PATHS if end.search(bare) and name in _DIALECTS), None)


class Response:
    """One response: feed it the chunks of the upstream and send the client what it returns. Never raises."""

    __slots__ = ("_stream", "close", "feed", "outcomes", "read_by_model", "seconds")

    def __init__(
        self,
        protocol: str = AUTO,
        request: Request | None = None,
        policy: Policy | None = None,
        *,
        encoding: str = "",
        messages: bool = False,
        seed: str | Callable[[], str] = "",
        on_outcome: Callable[[Outcome], None] = lambda _: None,
    ) -> None:
        """`seed`: new ids are derived from this string, or from what this function returns.

        `on_outcome` is called with each outcome at once. `messages`: this is Responses over a WebSocket, and each
        chunk is one message.
        """
        request = request or Request()
        policy = policy or _DEFAULT_POLICY
        self.read_by_model = ReadByModel(before=request.read_by_model)
        """What the model was given to read, up to the end of this answer."""
        request = replace(request, read_by_model=self.read_by_model)
        # `report` must not use `self`: the reference cycle would keep all held data until a garbage collection.
        outcomes: list[Outcome] = []
        self.outcomes = outcomes

        def report(outcome: Outcome) -> None:
            if len(outcomes) >= MOST_CALLS:
                raise LimitReached
            outcomes.append(outcome)
            on_outcome(outcome)

        work = Work()
        ids = Ids(seed, request.used_ids)
        mender = Mender(request.tools, policy, ids, report, request.callable_tools, work, outcomes)
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
            stream.events.recover_event = recovery_for(protocol, request, policy, seed).of_event
        if isinstance(dialect, Sniffer):
            dialect.decided = stream.events.set_dialect
        self.feed = self._stream.feed
        self.close = self._stream.close

    @property
    def holding(self) -> bool:
        """Whether a tool call is held back right now."""
        return self._stream.holding

    def keep_alive(self) -> bytes:
        """An event of the protocol without new content, sent to the client while a call is held."""
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
        """Whether the upstream changed text that the client had already received and cannot take back."""
        return self._stream.changed_sent_text

    @property
    def limited(self) -> bool:
        """Whether a limit was reached: held bytes, calls or work."""
        return self._stream.limited


def recovery_for(protocol: str, request: Request, policy: Policy, seed: str | Callable[[], str]) -> Recovery:
    """The handler for errors in which a server quotes a call that it could not parse."""

    def ask(body: bytes) -> tuple[bytes, list[Outcome]]:
        response = Response("chat", replace(request, stream=False), policy, seed=seed)
        return mend_whole(response, body), response.outcomes

    return Recovery(protocol, request, policy, ask)


def recovered(
    protocol: str, request: Request, policy: Policy, body: bytes, seed: str | Callable[[], str]
) -> Recovered | None:
    """The answer that replaces an error document; None if the error is forwarded unchanged."""
    if not Recovery.is_wanted(protocol, request, policy):
        return None
    return recovery_for(protocol, request, policy, seed).of_document(body)


def mend_whole(response: Response, body: bytes, chunk_size: int = 0) -> bytes:
    """Feed a whole body to a response, in one piece or in chunks of `chunk_size`; the bytes for the client."""
    size = chunk_size or max(len(body), 1)
    out = [piece for start in range(0, len(body), size) for piece in response.feed(body[start : start + size])]
    return b"".join([*out, *response.close()])
