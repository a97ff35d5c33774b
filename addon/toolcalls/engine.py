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
from .sniff import CHAT
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
    return next((name for end, name in _PATHS if end.search(bare)), None)


class Response(Body):
    """One response: feed it the chunks of the upstream and send the client what it returns. Never raises."""

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
        ids = Ids(seed, request.used_ids)
        mender = Mender(request.tools, policy, ids, on_outcome, request.callable_tools)

        # It must not use `self`: the reference cycle would keep all held data until a garbage collection.
        def reader_of(name: str) -> Protocol:
            if messages:
                reader: Protocol = Responses(request, policy, mender, MESSAGES)
            else:
                reader = _PROTOCOLS[name](request, policy, mender)
            recovery = recovery_for(protocol, request, policy, seed)
            reader.recover = recovery.of_event if recovery.is_wanted(in_stream=True) else None
            return reader

        # chat.z.ai uses a protocol of its own at the path of Chat; there a request that cannot be read has no tools.
        at_chat = ("zai",) if request.choices is not None or policy.zai == "on" else ()
        others = {CHAT: at_chat, AUTO: PROTOCOLS}.get(protocol, ())
        super().__init__(reader_of, CHAT if others else protocol, others, mender, encoding)

    @property
    def mended_events(self) -> int:
        """How many events had data that was mended before it could be read."""
        return self._mender.mended_events


def recovery_for(protocol: str, request: Request, policy: Policy, seed: str | Callable[[], str]) -> Recovery:
    """The handler for errors in which a server quotes a call that it could not parse."""

    def run(protocol: str, request: Request, body: bytes) -> tuple[bytes, list[Outcome]]:
        response = Response(protocol, request, policy, seed=seed)
        return mend_whole(response, body), response.outcomes

    return Recovery(protocol, request, policy, run)


def recovered(
    protocol: str, request: Request, policy: Policy, body: bytes, seed: str | Callable[[], str]
) -> Recovered | None:
    """The answer that replaces an error document; None if the error is forwarded unchanged."""
    recovery = recovery_for(protocol, request, policy, seed)
    return recovery.of_document(body) if recovery.is_wanted() else None


def mend_whole(response: Response, body: bytes, chunk_size: int = 0) -> bytes:
    """Feed a whole body to a response, in one piece or in chunks of `chunk_size`; the bytes for the client."""
    size = chunk_size or max(len(body), 1)
    out = [piece for start in range(0, len(body), size) for piece in response.feed(body[start : start + size])]
    return b"".join([*out, *response.close()])
