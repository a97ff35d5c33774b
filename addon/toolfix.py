"""toolfix: the mitmproxy script. Options, hooks, and which flows are ours. No repair logic.

    mitmdump -s addon/toolfix.py

The engine is the package `toolcalls` beside this file; it needs nothing but the standard library.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from mitmproxy import command, ctx, exceptions, http
from mitmproxy.addonmanager import Loader
from mitmproxy.proxy import mode_specs
from toolcalls import hosts, metrics, policy, request
from toolcalls.calls import Outcome
from toolcalls.engine import Answer, protocol_of
from toolcalls.guard import LONG_HOLD_SECONDS, Guard
from toolcalls.recording.record import Exchange, Recorder
from toolcalls.wire.encoding import Corrupt, readable

if TYPE_CHECKING:
    from toolcalls.recording import view

logger = logging.getLogger("toolfix")

SAMPLE = 200
"""Most characters of an upstream's text in one log line."""


class Ours:
    """A flow that we look at, from its request to the end of its answer.

    No dataclass: mitmproxy loads scripts under a module name that `dataclasses` does not find.
    """

    __slots__ = ("encoding", "exchange", "guard", "protocol", "question", "request_body", "seed")

    def __init__(self, protocol: str, question: request.Question, request_body: bytes | None) -> None:
        self.protocol = protocol
        self.question = question
        self.request_body = request_body
        self.guard: Guard | None = None
        self.exchange: Exchange | None = None
        self.encoding = ""
        self.seed = request.seed_of(request_body)


class Toolfix:
    def __init__(self) -> None:
        self.mode = "off"
        self.policy = policy.Policy()
        self.patterns: list[str] = []
        self.flows: WeakKeyDictionary[http.HTTPFlow, Ours] = WeakKeyDictionary()
        self.recorder: Recorder | None = None
        self.metrics = metrics.Metrics()
        self.closed: WeakKeyDictionary[http.HTTPFlow, Ours] = WeakKeyDictionary()
        self.remove_view: Callable[[], None] | None = None

    # Options

    def load(self, loader: Loader) -> None:
        environment = policy.from_environment(os.environ)
        for option in policy.OPTIONS:
            default = environment.get(option.full_name, option.default)
            loader.add_option(option.full_name, str, default, option.help)
        # From the first moment on no foreign TLS is opened, even if the options turn out to be wrong. After a
        # reload what was allowed before stays until the options are read.
        self.patterns = [known for known in ctx.options.allow_hosts if hosts.is_ours(known)]
        self._allow(self.patterns or [hosts.NOTHING])

    def running(self) -> None:
        from toolcalls.recording import view

        self.remove_view = view.register(self._look)

    def configure(self, updated: set[str]) -> None:
        if "allow_hosts" in updated and not any(map(hosts.is_ours, ctx.options.allow_hosts)):
            # Somebody has set it anew; without ours it would open every host, or none of ours.
            self._allow(self.patterns)
        if not any(name.startswith(policy.PREFIX) for name in updated) and "mode" not in updated:
            return
        try:
            values = policy.read_options({name: getattr(ctx.options, name) for name in policy.BY_NAME})
            self._record_into(values["toolfix_record"])
        except policy.BadOption as bad:
            if len(updated) == len(ctx.options.keys()):
                # The script is being loaded: an error that is logged ends mitmdump, without a traceback.
                logger.error(str(bad))
                return
            raise exceptions.OptionsError(str(bad)) from None
        for option in policy.OPTIONS:
            if option.later and getattr(ctx.options, option.full_name) != option.default:
                logger.warning(f"{option.full_name} has no effect yet: {option.later} is still to come.")
        self.mode = values["toolfix_mode"]
        self.policy = policy.make_policy(values)
        wanted = (
            [hosts.NOTHING] if self.mode == "off" else hosts.patterns(hosts.chosen_hosts(values["toolfix_hosts"]))
        )
        self._allow([*wanted, *_reverse_targets(ctx.options.mode)])

    def _record_into(self, directory: str) -> None:
        if self.recorder is not None and self.recorder.directory == Path(directory).expanduser():
            return
        try:
            recorder = Recorder(directory) if directory else None
        except OSError as error:
            raise policy.BadOption(
                f"toolfix_record={directory!r} cannot be written ({error.strerror}): name another directory."
            ) from None
        if self.recorder is not None:
            self.recorder.close()
        self.recorder = recorder

    def _allow(self, patterns: list[str]) -> None:
        """Open the TLS of these hosts and of those that the user named himself, and tunnel all others."""
        others = [known for known in ctx.options.allow_hosts if not hosts.is_ours(known)]
        self.patterns = patterns
        ctx.options.update(allow_hosts=[*patterns, *others])

    def done(self) -> None:
        if self.recorder:
            self.recorder.close()
        if self.remove_view:
            self.remove_view()

    # Flows

    def _is_ours(self, flow: http.HTTPFlow) -> bool:
        if self.mode == "off" or flow.request.method != "POST":
            return False
        if flow.request.scheme != "https" or isinstance(flow.client_conn.proxy_mode, mode_specs.ReverseMode):
            return True
        return hosts.matches(flow.request.pretty_host, flow.request.port, self.patterns)

    @command.command("toolfix.stats")
    def stats(self) -> str:
        """What toolfix has done since it started, as /metrics says it."""
        held: dict[str, int] = {}
        for ours in list(self.flows.values()):
            held[ours.protocol] = held.get(ours.protocol, 0) + (ours.guard.answer.held_bytes if ours.guard else 0)
        recorder = self.recorder
        recordings = {"written": recorder.written, "lost": recorder.lost} if recorder else {}
        return self.metrics.render(mode=self.mode, held_bytes=held, recordings=recordings)

    def _metrics(self, flow: http.HTTPFlow) -> http.Response:
        client = flow.client_conn.peername
        if client and hosts.is_loopback(client[0]):
            return http.Response.make(200, self.stats(), {"content-type": metrics.CONTENT_TYPE})
        return http.Response.make(403, "toolfix shows its metrics to this machine alone.\n")

    def request(self, flow: http.HTTPFlow) -> None:
        if _asks_for_metrics(flow):
            flow.response = self._metrics(flow)
            return
        protocol = protocol_of(flow.request.path)
        if protocol is None or not self._is_ours(flow):
            return
        body = flow.request.get_content(strict=False)
        self.flows[flow] = Ours(protocol, request.read_question(request.decode(body)), body)
        if self.mode != "observe":
            flow.request.headers["Accept-Encoding"] = "identity"

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        ours = self.flows.get(flow)
        if ours is None or flow.response is None or not _may_hold_calls(flow.response) or not ours.question.stream:
            return
        if flow.response.raw_content is not None:
            # mitmproxy replays a flow, or another addon answers: the body is here already.
            return
        headers = flow.response.headers
        ours.encoding = headers.get("content-encoding", "")
        answer = Answer(ours.protocol, ours.question, self.policy, encoding=ours.encoding, seed=ours.seed)
        guard = ours.guard = Guard(answer, observe=self.mode == "observe", doubtful_end=flow.response.is_http2)
        if self.mode != "observe":
            headers.pop("content-encoding", None)
            headers.pop("content-length", None)
            # An HTTP/2 client takes chunked as a protocol error, an HTTP/1.0 client does not know it.
            headers.pop("transfer-encoding", None)
            if flow.request.http_version == "HTTP/1.1":
                headers["transfer-encoding"] = "chunked"

        if self.recorder and (exchange := self._exchange(flow, ours)):
            ours.exchange = exchange
            self.recorder.begin(exchange)

        def stream(chunk: bytes) -> list[bytes]:
            return guard.feed(chunk) if chunk else guard.end(_is_the_end(sys._getframe(1)))

        flow.response.stream = stream

    def response(self, flow: http.HTTPFlow) -> None:
        ours = self.flows.get(flow)
        if ours is None or flow.response is None:
            return
        if ours.guard is None:
            self._mend_at_once(flow, ours)
        elif flow.response.raw_content is None and ours.guard.after.complete:
            kept = ours.guard.before if self.mode == "observe" else ours.guard.after
            flow.response.raw_content = kept.joined()
        self._close(flow, ours)

    def error(self, flow: http.HTTPFlow) -> None:
        """The connection broke: nothing more reaches the client. What was held is recorded and freed."""
        ours = self.flows.get(flow)
        if ours is None:
            return
        if ours.guard is not None and ours.guard.answer.holding:
            logger.warning(f"{_place(flow)}: the connection broke while a tool call was held; it was not delivered.")
        self._close(flow, ours, broken=True)

    def _mend_at_once(self, flow: http.HTTPFlow, ours: Ours) -> None:
        """A body that is here as a whole: no stream was asked for, or mitmproxy replays it."""
        response = flow.response
        if response is None or not response.raw_content or not _may_hold_calls(response):
            return
        try:
            body = response.content
        except ValueError as error:
            logger.warning(f"{_place(flow)}: the body cannot be decoded ({error}); it passes as it came.")
            return
        if not body:
            return
        answer = Answer(ours.protocol, ours.question, self.policy, seed=ours.seed)
        guard = ours.guard = Guard(answer)
        mended = b"".join([*guard.feed(body), *guard.end(sure=True)])
        if mended != body and self.mode != "observe":
            # An upstream that compresses unasked may have chosen what the client cannot read.
            response.headers.pop("content-encoding", None)
            response.content = mended

    def _close(self, flow: http.HTTPFlow, ours: Ours, *, broken: bool = False) -> None:
        """Say what was done, once a flow."""
        self.flows.pop(flow, None)
        guard = ours.guard
        if guard is None:
            return
        self.closed[flow] = ours
        answer = guard.answer
        if isinstance(answer.failure, Corrupt):
            logger.warning(
                f"{_place(flow)}: the body is not {ours.encoding} as it says ({answer.failure}); "
                "from there on it passes as it came."
            )
        elif answer.failure is not None:
            logger.error(
                f"{_place(flow)}: toolfix failed ({answer.failure!r}) and let the answer pass as it came; "
                "please report this with the recording.",
                exc_info=answer.failure,
            )
        if answer.limited:
            logger.warning(f"{_place(flow)}: more than toolfix_max_held_bytes were held; the rest passed untouched.")
        if guard.longest_hold > LONG_HOLD_SECONDS:
            logger.info(f"{_place(flow)}: a tool call was held for {guard.longest_hold:.0f} s until it was complete.")
        for outcome in answer.outcomes:
            self._log(flow, outcome)
        self.metrics.answered(
            ours.protocol,
            answer.outcomes,
            answer.seconds,
            failed=answer.failure is not None,
            limited=answer.limited,
            long_held=guard.longest_hold > LONG_HOLD_SECONDS,
            broken=broken,
        )
        if self.recorder and (exchange := ours.exchange or self._exchange(flow, ours)):
            exchange.broken = broken
            self.recorder.write(exchange)

    def _look(self, flow: http.HTTPFlow) -> view.Told | None:
        """What the content view shows of a flow, live or over."""
        from toolcalls.recording import view
        from toolcalls.recording.record import decoded

        ours = self.closed.get(flow) or self.flows.get(flow)
        if ours is None or ours.guard is None:
            return view.would_be(flow, self.policy)
        before = b"".join(decoded(ours.guard.before, ours.encoding))
        note = "Observed only: the client got what came." if self.mode == "observe" else ""
        return view.Told(ours.protocol, before, ours.guard.after.joined(), ours.guard.answer.outcomes, note)

    def _exchange(self, flow: http.HTTPFlow, ours: Ours) -> Exchange | None:
        """What a recording keeps of this flow."""
        if flow.response is None or ours.guard is None:
            return None
        return Exchange(
            protocol=ours.protocol,
            method=flow.request.method,
            host=flow.request.pretty_host,
            path=flow.request.path,
            status=flow.response.status_code,
            content_type=flow.response.headers.get("content-type", ""),
            encoding=ours.encoding,
            id=flow.id,
            seed=ours.seed,
            started=flow.request.timestamp_start,
            options={name: getattr(ctx.options, name) for name in policy.BY_NAME},
            request=ours.request_body or b"",
            books=ours.guard,
            outcomes=ours.guard.answer.outcomes,
        )

    def _log(self, flow: http.HTTPFlow, outcome: Outcome) -> None:
        if not outcome.touched:
            return
        would = "would have " if self.mode == "observe" else ""
        name = outcome.received_name or "(no name)"
        sizes = f"{len(outcome.received_arguments):,} → {len(outcome.arguments):,} characters"
        if outcome.status == "refused":
            sample = outcome.received_arguments[:SAMPLE]
            logger.warning(f"{_place(flow)}: {would}refused {name}: {outcome.reason}. It came as {sample!r}")
        else:
            logger.info(f"{_place(flow)}: {would}mended {name}: {', '.join(outcome.steps)} ({sizes})")
        logger.debug(f"{_place(flow)}: {name} before {outcome.received_arguments[:SAMPLE]!r}")
        logger.debug(f"{_place(flow)}: {name} after {outcome.arguments[:SAMPLE]!r}")


def _reverse_targets(modes: list[str]) -> list[str]:
    """In reverse mode the upstream is ours, whatever its name."""
    parsed = (mode_specs.ProxyMode.parse(mode) for mode in modes)
    return [hosts.pattern(mode.address[0]) for mode in parsed if isinstance(mode, mode_specs.ReverseMode)]


def _asks_for_metrics(flow: http.HTTPFlow) -> bool:
    """Is it /metrics of the proxy itself?

    By the proxy's own address, so that no page can ask with a name of its own. In reverse mode everything is
    the upstream's, which may have a /metrics too: there it is /toolfix/metrics.
    """
    if flow.request.method != "GET" or flow.request.path not in ("/metrics", "/toolfix/metrics"):
        return False
    if isinstance(flow.client_conn.proxy_mode, mode_specs.ReverseMode):
        return flow.request.path == "/toolfix/metrics"
    host, own = flow.request.host, flow.client_conn.sockname
    return bool(own) and flow.request.port == own[1] and (host == own[0] or hosts.is_loopback(host))


def _may_hold_calls(response: http.Response) -> bool:
    return 200 <= response.status_code < 300 and readable(response.headers.get("content-encoding", ""))


def _is_the_end(caller: FrameType) -> bool | None:
    """Is this empty chunk the end of the message? mitmproxy asks alike for an empty HTTP/2 frame in mid-stream.

    Only its caller's event tells the two apart; None when it cannot be told.
    """
    event = type(caller.f_locals.get("event")).__name__
    return {"ResponseData": False, "ResponseEndOfMessage": True}.get(event)


def _place(flow: http.HTTPFlow) -> str:
    return f"{flow.request.pretty_host}{flow.request.path.partition('?')[0]}"


addons = [Toolfix()]
