"""toolfix: the mitmproxy script. Options, hooks, and the choice of flows to handle. No repair logic.

    mitmdump -s addon/toolfix.py

The engine is the package `toolcalls` beside this file; it needs nothing but the standard library.
The hooks only call `toolcalls/proxy`.
"""

from __future__ import annotations

import gc
import logging
from pathlib import Path
from weakref import WeakKeyDictionary

from mitmproxy import command, connection, ctx, exceptions, http, tls
from mitmproxy.addonmanager import Loader
from mitmproxy.proxy import mode_specs, server_hooks

from toolcalls import policy
from toolcalls.engine import protocol_of
from toolcalls.proxy import advice, content_view, hosts, metrics
from toolcalls.proxy.http_flows import HttpFlows
from toolcalls.proxy.reporting import Reporter
from toolcalls.proxy.settings import Settings
from toolcalls.proxy.websocket_flows import WebSocketFlows
from toolcalls.request.refusals import Refusals

logger = logging.getLogger("toolfix")


class Toolfix:
    def __init__(self) -> None:
        refusals = Refusals()
        self.settings = Settings()
        self.reporter = Reporter(self.settings)
        self.http = HttpFlows(self.reporter, refusals)
        self.websockets = WebSocketFlows(self.reporter, refusals, self.http.all_held)
        self.addons = [self.http, self.websockets]
        """What follows the beginning of a flow: mitmproxy calls their hooks too."""
        self.user_agents: WeakKeyDictionary[connection.Client, str] = WeakKeyDictionary()

    # Options

    def load(self, loader: Loader) -> None:
        self.settings.declare(loader)

    def running(self) -> None:
        content_view.register(self.http.shown)
        # The objects of mitmproxy and the addon live as long as the process; scanning them in every full garbage
        # collection takes up to 50 ms.
        if not gc.get_freeze_count():
            gc.collect()
            gc.freeze()

    def configure(self, updated: set[str]) -> None:
        try:
            self.settings.updated(updated)
        except policy.BadOption as bad:
            if len(updated) == len(ctx.options.keys()):
                # The script is being loaded: mitmdump exits on a logged error, without a traceback.
                logger.error("%s%s", policy.LOGGED, bad)
                return
            raise exceptions.OptionsError(str(bad)) from None

    def done(self) -> None:
        self.settings.close()

    # Clients

    def http_connect(self, flow: http.HTTPFlow) -> None:
        self.user_agents[flow.client_conn] = flow.request.headers.get("user-agent", "")

    def http_connected(self, flow: http.HTTPFlow) -> None:
        host, port = flow.request.host, flow.request.port
        tunnelled = self.settings.mode != "off" and not hosts.matches(host, port, self.settings.patterns)
        if tunnelled and (sentence := advice.of_tunnel(host, port)):
            self.reporter.summary.no_answer(sentence)

    def server_connect_error(self, data: server_hooks.ServerConnectionHookData) -> None:
        mode = data.client.proxy_mode
        if isinstance(mode, mode_specs.ReverseMode | mode_specs.UpstreamMode) and data.server.address == mode.address:
            error = data.server.error or "the connection failed"
            self.reporter.summary.no_answer(advice.of_mode(mode.type_name, mode.data, error))

    def http_connect_error(self, flow: http.HTTPFlow) -> None:
        error = flow.server_conn.error or "the connection failed"
        self.reporter.summary.no_answer(advice.of_connection(flow.request.host, flow.request.port, error))

    def tls_failed_client(self, data: tls.TlsData) -> None:
        """Log how the client can be made to trust our CA, because its own error does not say."""
        host = data.conn.sni or (data.context.server.address or ("the host",))[0]
        ca = Path(ctx.options.confdir).expanduser() / "mitmproxy-ca-cert.pem"
        agent = self.user_agents.get(data.context.client, "")
        sentence = advice.of_distrust(data.conn.error or "", agent, host, str(ca))
        if sentence and self.reporter.summary.warning(sentence):
            logger.warning(sentence)

    # Flows

    def _is_ours(self, flow: http.HTTPFlow, method: str) -> bool:
        if self.settings.mode == "off" or flow.request.method != method:
            return False
        if flow.request.scheme != "https" or isinstance(flow.client_conn.proxy_mode, mode_specs.ReverseMode):
            return True
        return hosts.matches(flow.request.pretty_host, flow.request.port, self.settings.patterns)

    @command.command("toolfix.stats")
    def stats(self) -> str:
        """What toolfix has done since it started, in the format of /metrics."""
        recorder = self.settings.recorder
        recordings = {"written": recorder.written, "lost": recorder.lost} if recorder else {}
        held = self.http.held_now()
        return self.reporter.metrics.render(mode=self.settings.mode, held_bytes=held, recordings=recordings)

    def request(self, flow: http.HTTPFlow) -> None:
        if metrics.is_asked_for(flow):
            flow.response = metrics.response(flow, self.settings.metrics_readers, self.stats)
            return
        protocol = protocol_of(flow.request.path)
        if protocol is not None and self._is_ours(flow, "POST"):
            self.http.start(flow, protocol)

    def websocket_start(self, flow: http.HTTPFlow) -> None:
        if protocol_of(flow.request.path) == "responses" and self._is_ours(flow, "GET"):
            self.websockets.start(flow)


addons = [Toolfix()]
