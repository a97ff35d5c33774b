"""The entry to the engine: one `Response` object per HTTP response, in any protocol.

The mitmproxy script, the `toolfix` command and the tests all start here. The protocol is chosen by the path or, if
the path is unknown, by the first data that the upstream sends; never by a provider's name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from .body import Body
from .ids import Ids
from .mend.mender import Mender
from .outcome import Outcome
from .parse_failure import Recovered as Recovered
from .parse_failure import Recovery
from .policy import Policy
from .protocols.chat import Chat
from .protocols.gemini import Gemini
from .protocols.messages import Messages
from .protocols.ollama import Ollama
from .protocols.protocol import Protocol
from .protocols.responses.protocol import Responses
from .protocols.zai import Zai
from .request.read_by_model import ReadByModel
from .request.request import Request
from .sizes import Searched
from .sniff import Sniffed
from .wire.encoding import Decoder, decoder
from .wire.events import MOST_CALLS, LimitReached
from .wire.framing import MESSAGES

AUTO: Final = "auto"

_PROTOCOLS: Final[dict[str, Callable[[Request, Policy, Mender], Protocol]]] = {
    "chat": Chat,
    "messages": Messages,
    "responses": Responses,
    "zai": Zai,
    "gemini": Gemini,
    "ollama": Ollama,
}

PROTOCOLS: Final = (AUTO, *_PROTOCOLS)

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
    return next((name for end, name in _PATHS if end.search(bare) and name in PROTOCOLS), None)


class Response:
    """One response: feed it the chunks of the upstream and send the client what it returns. Never raises."""

    __slots__ = ("_mender", "_stream", "close", "feed", "outcomes", "read_by_model", "seconds")

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

        searched = Searched()
        ids = Ids(seed, request.used_ids)
        mender = Mender(request.tools, policy, ids, report, request.callable_tools, searched, outcomes)
        self._mender = mender
        self.seconds = mender.seconds

        def body_of(name: str, undo: Decoder | None = None) -> Body:
            if messages:
                reader: Protocol = Responses(request, policy, mender, MESSAGES)
            elif name == "zai" and protocol == "chat":
                reader = Zai(request, policy, mender, by_path=True)
            else:
                reader = _PROTOCOLS[name](request, policy, mender)
            body = Body(reader, policy.max_held_bytes, undo, outcomes, searched)
            if Recovery.is_wanted(protocol, request, policy, in_stream=True):
                reader.recover = recovery_for(protocol, request, policy, seed).of_event
            return body

        # chat.z.ai uses a protocol of its own at the path of Chat.
        known = {"chat": ("zai",), AUTO: PROTOCOLS}.get(protocol)
        undo = decoder(encoding)
        self._stream: Body | Sniffed
        if known is None:
            self._stream = body_of(protocol, undo)
        else:
            # This reference cycle ends with the first event.
            self._stream = Sniffed(body_of, known, policy.max_held_bytes, undo, self._read_by)
        self.feed = self._stream.feed
        self.close = self._stream.close

    def _read_by(self, body: Body) -> None:
        """From now on, this body takes what arrives."""
        self._stream, self.feed, self.close = body, body.feed, body.close

    @property
    def unsent_bytes(self) -> int:
        """How many bytes arrived that the client does not have: held ones, and those of an incomplete event."""
        return self._stream.unsent_bytes

    def stop_holding(self) -> list[bytes]:
        """Send what is held as it arrived, and let the rest pass, as if this answer had reached its own limit."""
        return self._stream.stop_holding()

    @property
    def holding(self) -> bool:
        """Whether anything is held back right now: a call, the end of a text, a stop reason."""
        return self._stream.holding

    @property
    def holds_call(self) -> bool:
        """Whether a tool call is held back right now."""
        return self._stream.holds_call

    def keep_alive(self) -> bytes:
        """An event of the protocol without new content, sent to the client while a call is held."""
        return self._stream.keep_alive()

    @property
    def mended_events(self) -> int:
        """How many events had data that was mended before it could be read."""
        return self._mender.mended_events

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
        """Whether a limit was reached: held bytes, or the size or number of events or calls."""
        return self._stream.limited


def recovery_for(protocol: str, request: Request, policy: Policy, seed: str | Callable[[], str]) -> Recovery:
    """The handler for errors in which a server quotes a call that it could not parse."""

    def mend(body: bytes) -> list[Outcome]:
        response = Response("chat", replace(request, stream=False), policy, seed=seed)
        mend_whole(response, body)
        return response.outcomes

    return Recovery(protocol, request, policy, mend)


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
