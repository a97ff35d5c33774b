"""The state of every flow that toolfix handles, from its request to the end of its response.

mitmproxy may reload the script while flows are open, but it does not reload this module, so their state is kept here.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from mitmproxy import http

from ..recording.record import Exchange
from ..request.mend import Changed
from ..request.reasoning import ReasoningSession
from ..request.request import Request, Seed
from ..shown import shown
from ..websocket import ResponsesSocket
from ..wire.encoding import decode_if_possible
from .body_stream import BodyStream
from .call_log import CallLog

CHANGED = "toolfix_changed"
"""A key in a flow's metadata: a call in its answer was mended or refused."""


class FlowState:
    """What is known about one flow, from its request to the end of its response."""

    __slots__ = (
        "changed",
        "encoding",
        "exchange",
        "log",
        "protocol",
        "reasoning",
        "request",
        "request_body",
        "seed",
        "stream",
        "upstream_status",
    )

    def __init__(
        self,
        protocol: str,
        request: Request,
        request_body: bytes | None,
        endpoint: str,
        reasoning: ReasoningSession,
    ) -> None:
        self.protocol = protocol
        self.reasoning = reasoning
        self.request = request
        self.request_body = request_body
        self.stream: BodyStream | None = None
        self.exchange: Exchange | None = None
        self.encoding = ""
        self.upstream_status: int | None = None
        """The status of the host's response, if the client gets another one."""
        self.changed: Changed | None = None
        """The mended request, if the request was changed."""
        # Not a method of this object: that would be a reference cycle, and bodies must be freed with their flow.
        self.seed = Seed(request_body)
        self.log = CallLog(endpoint)


flows: WeakKeyDictionary[http.HTTPFlow, FlowState] = WeakKeyDictionary()
sockets: WeakKeyDictionary[http.HTTPFlow, ResponsesSocket] = WeakKeyDictionary()
socket_logs: WeakKeyDictionary[http.HTTPFlow, CallLog] = WeakKeyDictionary()
socket_exchanges: WeakKeyDictionary[http.HTTPFlow, Exchange] = WeakKeyDictionary()


def content(message: http.Message) -> bytes:
    """The body without its content encoding. mitmproxy's own decoding has no limit for the decoded size."""
    return decode_if_possible(message.raw_content, message.headers.get("content-encoding", ""))


def endpoint(flow: http.HTTPFlow) -> str:
    """The host and the path, for a log line."""
    return shown(f"{flow.request.pretty_host}{flow.request.path.partition('?')[0]}")
