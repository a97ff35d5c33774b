"""Requests and responses over HTTP: a streamed response is fed to the engine as it arrives, any other as a whole."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakKeyDictionary

from mitmproxy import ctx, http
from mitmproxy.proxy import mode_specs

from ..engine import Response
from ..outcome import Outcome
from ..recording.record import Captured
from ..recording.store import Recording, calls_json, suffix_of
from ..request.mend import mend_request
from ..request.reasoning import ReasoningMemory, ReasoningSession
from ..request.refusals import Refusals
from ..request.request import Request, Seed, decode, read_request
from ..sizes import MOST_CALLS
from ..wire.encoding import Corrupt, decode_whole, readable
from . import advice, content_view
from .body_stream import BodyStream, HeldBytes
from .flow_files import content, described
from .reporting import FlowReport, Reporter, endpoint

logger = logging.getLogger("toolfix")

_ANSWERS = 8
"""All answers together hold about this many times what one answer may hold."""
_SHORT_ERROR = 1024 * 1024
_TYPES = {".sse": "text/event-stream", ".ndjson": "application/x-ndjson", ".json": "application/json"}
"""The content type of an answer that replaces an error, by the suffix of its body."""


@dataclass(slots=True, eq=False)
class FlowState:
    """What is known about one flow, from its request to the end of its response."""

    request: Request
    reasoning: ReasoningSession
    seed: Seed
    report: FlowReport
    stream: BodyStream | None = None


flows: WeakKeyDictionary[http.HTTPFlow, FlowState] = WeakKeyDictionary()
"""The open flows. mitmproxy may reload the script while flows are open, but it does not reload this module."""


class HttpFlows:
    """The hooks of a flow behind its beginning, which the script chooses."""

    def __init__(self, reporter: Reporter, refusals: Refusals) -> None:
        self._settings, self._reporter = reporter.settings, reporter
        self._refusals, self._reasoning = refusals, ReasoningMemory()
        self.open = flows
        self.all_held = HeldBytes(lambda: _ANSWERS * self._settings.policy.max_held_bytes)
        self.closed: WeakKeyDictionary[http.HTTPFlow, FlowState] = WeakKeyDictionary()
        """Finished flows, for the content view, while mitmproxy keeps them. Empty if their bodies are not wanted."""

    def start(self, flow: http.HTTPFlow, protocol: str) -> None:
        """Read a request, and mend it before it is sent."""
        if flow.request.stream:
            limit = getattr(ctx.options, "stream_large_bodies", None)
            logger.warning(
                f"{endpoint(flow)}: the request is larger than stream_large_bodies={limit}: "
                "it and its answer pass unchanged."
            )
            return
        body, host, path = content(flow.request), flow.request.pretty_host, flow.request.path
        request_json = decode(body)
        account = account_of(flow.request.headers, path)
        session = self._reasoning.session(protocol, host, account, request_json, path)
        report = FlowReport(self._reporter, flow, protocol, body)
        self.open[flow] = FlowState(read_request(request_json, protocol, path), session, Seed(body), report)
        if flow.request.headers.get("authorization", "").startswith("AWS4-HMAC-SHA256"):
            # A signature covers the body and the headers: Amazon answers 403 if anything was changed.
            return
        policy, refusals = self._settings.policy, self._refusals
        changed = report.exchange.changed = report.attempt(
            "failed and let the request pass unchanged",
            lambda: mend_request(protocol, body, request_json, policy, refusals, session.recall),
        )
        if changed is not None:
            report.request(changed.steps)
        if not self._settings.observes:
            flow.request.headers["Accept-Encoding"] = "identity"
            if changed is not None and changed.body is not body:
                # mitmproxy compresses it again, as the request's header says.
                flow.request.content = changed.body

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """Decide whether the response is mended while it streams, passes, or is mended as a whole."""
        state, response = self.open.get(flow), flow.response
        if response is None or response.raw_content is not None:
            # When mitmproxy replays a flow, or another addon answers, the body is already there.
            return
        if state is None:
            # mitmproxy must not wait for the end of a stream of events.
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            streams = kind in ("text/event-stream", "application/x-ndjson")
        elif state.request.stream and _may_hold_calls(response):
            self._stream(flow, response, state)
            return
        else:
            # A small error may quote a call.
            length = response.headers.get("content-length", "")
            is_short = length.isdigit() and int(length) <= _SHORT_ERROR
            streams = state.request.stream and not (response.status_code >= 400 and is_short)
        if streams and not response.stream:
            response.stream = Captured(self._settings.most_kept).pass_on

    def _stream(self, flow: http.HTTPFlow, response: http.Response, state: FlowState) -> None:
        """Mend the response as it arrives."""
        headers = response.headers
        state.report.exchange.encoding = headers.get("content-encoding", "")
        response.stream = self._new_stream(flow, state).feed
        if not self._settings.observes:
            for name in ("content-encoding", "content-length", "transfer-encoding"):
                headers.pop(name, None)
            # For an HTTP/2 client "chunked" is a protocol error, and an HTTP/1.0 client does not know it.
            if flow.request.http_version == "HTTP/1.1":
                headers["transfer-encoding"] = "chunked"
        if self._settings.recorder:
            self._settings.recorder.begin(state.report.exchange)

    def _new_stream(self, flow: http.HTTPFlow, state: FlowState) -> BodyStream:
        """The stream that mends the response of a flow, which a recording follows."""
        settings, exchange, report = self._settings, state.report.exchange, state.report
        remember = self._refusals.remember

        def on_outcome(outcome: Outcome) -> None:
            remember(outcome)
            report.decided(outcome)

        engine = Response(
            report.protocol,
            state.request,
            settings.policy,
            encoding=exchange.encoding,
            is_error=flow.response is not None and flow.response.status_code >= 400,
            seed=state.seed,
            on_outcome=on_outcome,
        )
        stream = state.stream = BodyStream(
            engine,
            exchange,
            observe=settings.observes,
            most=settings.most_kept,
            timed=settings.recorder is not None,
            found=report.found,
            all_held=self.all_held,
        )
        exchange.flow, exchange.options = described(flow, report.protocol), settings.texts
        exchange.outcomes = engine.outcomes
        return stream

    def held_now(self) -> Counter[str]:
        """How many bytes of open answers are held, by protocol."""
        held: Counter[str] = Counter()
        for state in list(self.open.values()):
            held[state.report.protocol] += state.stream.response.held_bytes if state.stream else 0
        return held

    def response(self, flow: http.HTTPFlow) -> None:
        """Take a response that is complete, and report what was done with it."""
        state, response = self.open.get(flow), flow.response
        passed = getattr(response and response.stream, "__self__", None)
        if response and isinstance(passed, Captured) and passed.complete:
            response.raw_content, response.stream = passed.joined(), True
        if state is None or response is None:
            return
        if response.status_code >= 400:
            # It may ask for reasoning.
            state.reasoning.rejected(response.status_code, content(response))
        if state.stream is None and passed is None:
            self._mend_at_once(flow, state, response)
        elif state.stream is not None and response.raw_content is None:
            exchange = state.report.exchange
            kept = exchange.before if self._settings.observes else exchange.after
            if kept.complete:
                # What is kept is decoded. A recording needs the chunks as they arrived.
                response.headers.pop("content-encoding", None)
                response.raw_content = kept.joined() if self._settings.recorder else exchange.as_one_chunk(kept)
        self._close(flow, state)

    def error(self, flow: http.HTTPFlow) -> None:
        """The connection broke: nothing more can reach the client. What is held is recorded and freed."""
        state = self.open.get(flow)
        if state is None:
            return
        if flow.error is not None and flow.response is None:
            # If reverse or upstream mode cannot connect, `server_connect_error` has already reported it.
            known = flow.server_conn.via or isinstance(flow.client_conn.proxy_mode, mode_specs.ReverseMode)
            if not (known and advice.ERRNO.search(flow.error.msg)):
                sentence = advice.of_connection(flow.request.pretty_host, flow.request.port, flow.error.msg)
                self._reporter.summary.no_answer(sentence)
        if state.stream is not None and state.stream.response.holds_call:
            state.report.warn("the connection broke while a tool call was held; it was not delivered.")
        self._close(flow, state, broken=True)

    def _mend_at_once(self, flow: http.HTTPFlow, state: FlowState, response: http.Response) -> None:
        """Mend a body that is complete already, because no stream was asked for or mitmproxy replays the flow."""
        is_error = response.status_code >= 400
        if not response.raw_content or not (is_error or _may_hold_calls(response)):
            return
        try:
            body = decode_whole(response.raw_content, response.headers.get("content-encoding", ""))
        except Corrupt as error:
            state.report.warn(f"the body cannot be decoded ({error}); it passes unchanged.")
            return
        stream = self._new_stream(flow, state)
        mended = b"".join([*stream.feed(body), *stream.end()])
        if is_error and not (stream.response.outcomes or stream.response.failure):
            state.stream = None  # There is no answer.
        elif mended != body:
            if is_error:
                response.status_code, response.reason = 200, "OK"
                told = state.report.exchange.flow
                told["content_type"] = response.headers["content-type"] = _TYPES[suffix_of(mended)]
            # The upstream compressed although we asked for identity, perhaps as the client cannot decode it.
            response.headers.pop("content-encoding", None)
            response.content = mended

    def _close(self, flow: http.HTTPFlow, state: FlowState, *, broken: bool = False) -> None:
        """Forget the open flow and report what was done, once for each flow."""
        self.open.pop(flow, None)
        if flow.response is not None and flow.response.status_code >= 400:
            sentence = advice.of_status(flow.request.pretty_host, flow.response.status_code, flow.request.path)
            self._reporter.summary.no_answer(sentence)
        if state.stream is not None:
            self._report(flow, state, state.stream, broken=broken)
            if self._settings.bodies_are_wanted:
                self.closed[flow] = state
            elif flow.response is not None and flow.response.stream:
                # Dozens of finished flows wait for the garbage collection; without this they would keep our streams.
                flow.response.stream = True
        state.reasoning.over()
        state.seed.body = None

    def _report(self, flow: http.HTTPFlow, state: FlowState, stream: BodyStream, *, broken: bool) -> None:
        """Report what was done with a response that is over, and remember what the host may want back."""
        response, report, before = stream.response, state.report, stream.exchange.before
        self.all_held.release(stream)
        if not broken and self._settings.policy.reasoning == "auto" and before.complete:
            report.attempt(
                "cannot remember the reasoning of this answer",
                lambda: state.reasoning.answered(before.joined(), response.outcomes),
            )
        if response.limited:
            most = f"toolfix_max_held_bytes, {MOST_CALLS:,} calls, or a size that is not read"
            report.warn(f"the answer is over a limit ({most}); the rest passed unchanged.")
        if response.mended_events:
            report.say(f"{report.would}mended the data of {response.mended_events} events, which was no JSON.")
        if response.changed_sent_text and not report.would:
            report.warn("the host changed text that the client had already received; the client keeps the old text.")
        report.calls(response.outcomes, response.seconds, flow)
        report.exchange.broken = broken
        happened = {"mended_events": response.mended_events, "limited": response.limited, "broken": broken}
        held_for = stream.hold.longest if response.outcomes else 0.0
        report.over(response.failure, held_for, **happened)

    def shown(self, flow: http.HTTPFlow) -> Recording | None:
        """What the content view shows of a flow, open or finished."""
        state = self.closed.get(flow) or self.open.get(flow)
        if state is None or state.stream is None:
            return content_view.preview(flow, self._settings.texts)
        exchange = state.report.exchange
        before, after = exchange.before.joined(), exchange.after.joined()
        title = {"title": "Observed only: the client got the original answer."} if self._settings.observes else {}
        return Recording(Path(), exchange.flow | title, b"", before, after, calls_json(exchange.outcomes))


def _may_hold_calls(response: http.Response) -> bool:
    return 200 <= response.status_code < 300 and readable(response.headers.get("content-encoding", ""))


_HEADERS = re.compile(r"(?:proxy-)?authorization|cookie|(?:.+-)?api-?key|(?:.+-)?(?:auth|access)-token")
_IN_PATHS = re.compile(r"[?&]((?:api[_-]?)?key|access_token)=([^&#]+)", re.IGNORECASE)


def account_of(headers: Mapping[str, str], path: str) -> str:
    """Everything in a request that identifies its sender: `Authorization`, `x-goog-api-key`, `?key=…` and so on."""
    named = [f"{name.lower()}={value}" for name, value in headers.items() if _HEADERS.fullmatch(name.lower())]
    return "\0".join([*sorted(named), *(match[0][1:] for match in _IN_PATHS.finditer(path))])
