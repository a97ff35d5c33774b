"""toolfix: the mitmproxy script. Options, hooks, and which flows are ours. No repair logic.

    mitmdump -s addon/toolfix.py

The engine is the package `toolcalls` beside this file; it needs nothing but the standard library.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from mitmproxy import command, connection, ctx, exceptions, http, tls
from mitmproxy.addonmanager import Loader
from mitmproxy.proxy import mode_specs

from toolcalls import clients, history, hosts, metrics, policy, request, tally
from toolcalls.calls import Outcome
from toolcalls.dialects.responses.ws import ResponsesSocket
from toolcalls.engine import Answer, protocol_of
from toolcalls.guard import LONG_HOLD_SECONDS, MAX_KEPT, MAX_UNASKED, Guard
from toolcalls.recording import live
from toolcalls.recording.frames import SocketBooks
from toolcalls.recording.record import Exchange, Recorder
from toolcalls.recording.several import deliver
from toolcalls.wire.encoding import Corrupt, Inflated, decode_whole, readable
from toolcalls.wire.events import MOST_CALLS

if TYPE_CHECKING:
    from toolcalls.recording import view

logger = logging.getLogger("toolfix")

SAMPLE = 200
"""Most characters of an upstream's text in one log line."""

MAX_ADVISED = 100
"""Most pieces of advice that are remembered, so that each is given once."""


class Ours:
    """A flow that we look at, from its request to the end of its answer.

    No dataclass: mitmproxy loads scripts under a module name that `dataclasses` does not find.
    """

    __slots__ = ("changed", "encoding", "exchange", "guard", "protocol", "question", "request_body", "seed")

    def __init__(self, protocol: str, question: request.Question, request_body: bytes | None) -> None:
        self.protocol = protocol
        self.question = question
        self.request_body = request_body
        self.guard: Guard | None = None
        self.exchange: Exchange | None = None
        self.encoding = ""
        self.changed: history.Changed | None = None
        """What went up instead of the request that came, if anything."""
        # No method of this object: the answer would know who knows it, and what is in a circle waits for Python's
        # next full garbage collection, which counts objects, however many bytes they have.
        self.seed = request.Seed(request_body)


class Toolfix:
    def __init__(self) -> None:
        self.mode = "off"
        self.policy = policy.Policy()
        self.patterns: list[str] = []
        # The engine is not loaded anew with the script: what is open there goes on after a reload.
        self.flows: WeakKeyDictionary[http.HTTPFlow, Ours] = live.flows
        self.sockets: WeakKeyDictionary[http.HTTPFlow, ResponsesSocket] = live.sockets
        self.socket_exchanges: WeakKeyDictionary[http.HTTPFlow, Exchange] = live.socket_exchanges
        self.recorder: Recorder | None = None
        self.most_kept = MAX_UNASKED
        """Of one answer that is not recorded."""
        self.options: dict[str, str] = {}
        """As a recording notes them. Asking mitmproxy for each of them costs too much to do it for every flow."""
        self.tally = tally.Tally(os.environ.get(tally.VARIABLE, ""))
        self.user_agents: WeakKeyDictionary[connection.Client, str] = WeakKeyDictionary()
        self.advised: set[str] = set()
        self.metrics = metrics.Metrics()
        self.closed: WeakKeyDictionary[http.HTTPFlow, Ours] = WeakKeyDictionary()
        self.remove_view: Callable[[], None] | None = None
        self.refusals = history.Refusals()

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
        self.most_kept = MAX_KEPT if _somebody_looks() else MAX_UNASKED
        if "allow_hosts" in updated and not any(map(hosts.is_ours, ctx.options.allow_hosts)):
            # Somebody has set it anew; without ours it would open every host, or none of ours.
            self._allow(self.patterns)
        if not any(name.startswith(policy.PREFIX) for name in updated) and "mode" not in updated:
            return
        texts = {name: getattr(ctx.options, name) for name in policy.BY_NAME}
        try:
            values = policy.read_options(texts)
            self._record_into(values["toolfix_record"])
        except policy.BadOption as bad:
            if len(updated) == len(ctx.options.keys()):
                # The script is being loaded: an error that is logged ends mitmdump, without a traceback.
                logger.error(str(bad))
                return
            raise exceptions.OptionsError(str(bad)) from None
        self.options = texts
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

    # Clients

    def http_connect(self, flow: http.HTTPFlow) -> None:
        self.user_agents[flow.client_conn] = flow.request.headers.get("user-agent", "")

    def tls_failed_client(self, data: tls.TlsData) -> None:
        """A client that does not know our CA tells nobody what it needs."""
        host = data.conn.sni or (data.context.server.address or ("the host",))[0]
        ca = Path(ctx.options.confdir).expanduser() / "mitmproxy-ca-cert.pem"
        agent = self.user_agents.get(data.context.client, "")
        sentence = clients.advice(data.conn.error or "", agent, host, str(ca))
        if sentence and sentence not in self.advised:
            self.advised = {*self.advised, sentence} if len(self.advised) < MAX_ADVISED else {sentence}
            logger.warning(sentence)
            self.tally.trouble(sentence)

    # Flows

    def _is_ours(self, flow: http.HTTPFlow, method: str = "POST") -> bool:
        if self.mode == "off" or flow.request.method != method:
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

    def request(self, flow: http.HTTPFlow) -> None:
        if live.asks_for_metrics(flow):
            flow.response = live.metrics_response(flow, self.stats)
            return
        protocol = protocol_of(flow.request.path)
        if protocol is None or not self._is_ours(flow):
            return
        body = live.content(flow.request)
        asked = request.decode(body)
        ours = self.flows[flow] = Ours(protocol, request.read_question(asked), body)
        ours.changed = self._mend_request(flow, ours, asked)
        if self.mode != "observe":
            flow.request.headers["Accept-Encoding"] = "identity"
            if ours.changed is not None:
                # Compressed again as it came: mitmproxy follows the header.
                flow.request.content = ours.changed.body

    def _mend_request(self, flow: http.HTTPFlow, ours: Ours, asked: dict[str, Any] | None) -> history.Changed | None:
        try:
            changed = history.mend_request(ours.protocol, ours.request_body or b"", asked, self.policy, self.refusals)
        except Exception:
            logger.exception(
                f"{_place(flow)}: toolfix failed and let the request pass as it came; please report this."
            )
            return None
        if changed is not None:
            would = "would have mended" if self.mode == "observe" else "mended"
            logger.info(f"{_place(flow)}: {would} the request: {changed}")
        return changed

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        ours = self.flows.get(flow)
        if ours is None or flow.response is None or not _may_hold_calls(flow.response) or not ours.question.stream:
            return
        if flow.response.raw_content is not None:
            # mitmproxy replays a flow, or another addon answers: the body is here already.
            return
        headers = flow.response.headers
        ours.encoding = headers.get("content-encoding", "")
        answer = self._answer(ours)
        most = MAX_KEPT if self.recorder else self.most_kept
        observe, doubtful = self.mode == "observe", flow.response.is_http2
        guard = ours.guard = Guard(answer, observe=observe, doubtful_end=doubtful, ends=_is_the_end, most=most)
        if not observe:
            headers.pop("content-encoding", None)
            headers.pop("content-length", None)
            # An HTTP/2 client takes chunked as a protocol error, an HTTP/1.0 client does not know it.
            headers.pop("transfer-encoding", None)
            if flow.request.http_version == "HTTP/1.1":
                headers["transfer-encoding"] = "chunked"

        if self.recorder:
            ours.exchange = live.exchange_of(flow, guard, ours, self.options)
            self.recorder.begin(ours.exchange)
        flow.response.stream = guard.feed

    def response(self, flow: http.HTTPFlow) -> None:
        ours = self.flows.get(flow)
        if ours is None or flow.response is None:
            return
        if ours.guard is None:
            self._mend_at_once(flow, ours)
        elif flow.response.raw_content is None and ours.guard.after.complete:
            kept = ours.guard.before if self.mode == "observe" else ours.guard.after
            # A recording tells when each chunk came.
            flow.response.raw_content = kept.joined() if self.recorder else kept.settled()
        self._close(flow, ours)

    def error(self, flow: http.HTTPFlow) -> None:
        """The connection broke: nothing more reaches the client. What was held is recorded and freed."""
        ours = self.flows.get(flow)
        if ours is None:
            return
        if ours.guard is not None and ours.guard.answer.holding:
            logger.warning(f"{_place(flow)}: the connection broke while a tool call was held; it was not delivered.")
        self._close(flow, ours, broken=True)

    def _answer(self, ours: Ours) -> Answer:
        tell = self.refusals.remember
        return Answer(ours.protocol, ours.question, self.policy, encoding=ours.encoding, seed=ours.seed, tell=tell)

    # WebSockets: Codex speaks Responses over them

    def websocket_start(self, flow: http.HTTPFlow) -> None:
        if protocol_of(flow.request.path) == "responses" and self._is_ours(flow, "GET"):
            socket = self.sockets[flow] = ResponsesSocket(self.policy, self.refusals)
            if self.recorder:
                exchange = live.socket_exchange_of(flow, socket.outcomes, self.options)
                self.socket_exchanges[flow] = exchange
                self.recorder.begin(exchange)
            self.tally.answer([])

    def websocket_message(self, flow: http.HTTPFlow) -> None:
        socket = self.sockets.get(flow)
        message = flow.websocket.messages[-1] if flow.websocket else None
        if socket is None or message is None or message.injected:
            return
        books = self.socket_exchanges[flow].books if flow in self.socket_exchanges else SocketBooks()
        assert isinstance(books, SocketBooks)
        content = message.text if message.is_text else message.content
        books.before.add(message.from_client, content)
        if not message.is_text:
            books.after.add(message.from_client, content)
            return
        if message.from_client:
            mended = socket.client_message(message.text)
            books.after.add(True, mended)
            if mended != message.text and self.mode != "observe":
                message.text = mended
            return
        told = len(socket.outcomes)
        frames = socket.server_message(message.text)
        for frame in frames:
            books.after.add(False, frame)
        for outcome in socket.outcomes[told:]:
            self._log(flow, outcome)
            self.tally.answer([outcome])
        self.metrics.called("responses", socket.outcomes[told:], socket.seconds)
        # A socket lives for hours: only a recording wants the calls of all that time.
        socket.seconds.clear()
        if flow not in self.socket_exchanges:
            socket.outcomes.clear()
        if self.mode != "observe" and frames != [message.text]:
            deliver(flow, message, frames)

    def websocket_end(self, flow: http.HTTPFlow) -> None:
        socket = self.sockets.pop(flow, None)
        exchange = self.socket_exchanges.pop(flow, None)
        if socket is None:
            return
        self.metrics.answered("responses", failed=socket.failure is not None)
        if self.recorder and exchange:
            self.recorder.write(exchange)
        if socket.failure is not None:
            logger.error(f"{_place(flow)}: toolfix failed ({socket.failure!r}) and let messages pass as they came.")

    def _mend_at_once(self, flow: http.HTTPFlow, ours: Ours) -> None:
        """A body that is here as a whole: no stream was asked for, or mitmproxy replays it."""
        response = flow.response
        if response is None or not response.raw_content or not _may_hold_calls(response):
            return
        try:
            body = decode_whole(response.raw_content, response.headers.get("content-encoding", ""))
        except Corrupt as error:
            logger.warning(f"{_place(flow)}: the body cannot be decoded ({error}); it passes as it came.")
            return
        if not body:
            return
        guard = ours.guard = Guard(self._answer(ours))
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
        ours.seed.forget()
        answer = guard.answer
        if isinstance(answer.failure, Inflated):
            cut = "" if self.mode == "observe" else "the answer was cut off there: "
            logger.warning(f"{_place(flow)}: {cut}{answer.failure} when they are decoded as {ours.encoding}.")
        elif isinstance(answer.failure, Corrupt):
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
        if answer.failure is not None:
            # Its frames know the flow, which would never be forgotten with them.
            answer.failure.__traceback__ = answer.failure.__context__ = answer.failure.__cause__ = None
        if answer.limited:
            most = f"more than toolfix_max_held_bytes or {MOST_CALLS:,} calls"
            logger.warning(f"{_place(flow)}: {most} were held; the rest passed untouched.")
        if guard.longest_hold > LONG_HOLD_SECONDS:
            logger.info(f"{_place(flow)}: a tool call was held for {guard.longest_hold:.0f} s until it was complete.")
        for outcome in answer.outcomes:
            self._log(flow, outcome)
        self.tally.answer(answer.outcomes)
        self.metrics.called(ours.protocol, answer.outcomes, answer.seconds)
        self.metrics.answered(
            ours.protocol,
            failed=answer.failure is not None,
            limited=answer.limited,
            long_held=guard.longest_hold > LONG_HOLD_SECONDS,
            broken=broken,
        )
        if self.recorder:
            exchange = ours.exchange or live.exchange_of(flow, guard, ours, self.options)
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

    def _log(self, flow: http.HTTPFlow, outcome: Outcome) -> None:
        if not outcome.touched:
            return
        would = "would have " if self.mode == "observe" else ""
        name = outcome.received_name or "(no name)"
        sizes = f"{len(outcome.received_arguments):,} → {len(outcome.arguments):,} characters"
        if outcome.status == "refused":
            logger.warning(f"{_place(flow)}: {would}refused {name}: {outcome.reason} ({sizes})")
        else:
            logger.info(f"{_place(flow)}: {would}mended {name}: {', '.join(outcome.steps)} ({sizes})")
        logger.debug(f"{_place(flow)}: {name} before {outcome.received_arguments[:SAMPLE]!r}")
        logger.debug(f"{_place(flow)}: {name} after {outcome.arguments[:SAMPLE]!r}")


def _reverse_targets(modes: list[str]) -> list[str]:
    """In reverse mode the upstream is ours, whatever its name."""
    parsed = (mode_specs.ProxyMode.parse(mode) for mode in modes)
    return [hosts.pattern(mode.address[0]) for mode in parsed if isinstance(mode, mode_specs.ReverseMode)]


def _somebody_looks() -> bool:
    """Are the bodies of finished flows wanted: by the lists of mitmproxy and mitmweb, a file, or the log?"""
    writes = any(getattr(ctx.options, name, None) for name in ("save_stream_file", "hardump"))
    return writes or getattr(ctx.options, "flow_detail", 0) > 2 or ctx.master.addons.get("view") is not None


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
