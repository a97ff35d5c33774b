"""The flows that we look at: what is known of each, from its request to the end of its response.

The script may be reloaded while flows are open; this module is not, so what is open is kept here.
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
"""Is in the metadata of a flow in whose answer a call was mended or refused."""


class FlowState:
    """One flow, from its request to the end of its response."""

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
        where: str,
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
        """What the host answered with, where the client gets something else."""
        self.changed: Changed | None = None
        """What went up instead of the request that came, if anything."""
        # No method of this object: that would be a reference cycle, and bodies must be freed with their flow.
        self.seed = Seed(request_body)
        self.log = CallLog(where)


flows: WeakKeyDictionary[http.HTTPFlow, FlowState] = WeakKeyDictionary()
sockets: WeakKeyDictionary[http.HTTPFlow, ResponsesSocket] = WeakKeyDictionary()
socket_logs: WeakKeyDictionary[http.HTTPFlow, CallLog] = WeakKeyDictionary()
socket_exchanges: WeakKeyDictionary[http.HTTPFlow, Exchange] = WeakKeyDictionary()


def content(message: http.Message) -> bytes:
    """The body without its content encoding; mitmproxy's own way knows no limit to what it may become."""
    return decode_if_possible(message.raw_content, message.headers.get("content-encoding", ""))


def place(flow: http.HTTPFlow) -> str:
    """Host and path, for a log line."""
    return shown(f"{flow.request.pretty_host}{flow.request.path.partition('?')[0]}")
