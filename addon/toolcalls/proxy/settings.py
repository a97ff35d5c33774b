"""The options, taken from mitmproxy and checked: the settings that all hooks use."""

from __future__ import annotations

import os

from mitmproxy import ctx
from mitmproxy.addonmanager import Loader
from mitmproxy.proxy import mode_specs

from .. import policy
from ..recording.record import MAX_KEPT, Recorder
from . import hosts
from .body_stream import MAX_KEPT_UNOBSERVED

MAX_GATHERED = str(32 * 2**20)
"""How much of a body mitmproxy gathers before it streams it, unless the user has set `stream_large_bodies`.

More than the largest request that hosts accept (32 MB). In bytes: mitmweb shows "32m" as "NaNundefined"."""


class Settings:
    """The values of the options. One object for all hooks; `updated` changes it in place."""

    def __init__(self) -> None:
        self.mode = "off"
        self.policy = policy.Policy()
        self.patterns: list[str] = []
        """The patterns of the hosts whose TLS is intercepted."""
        self.recorder: Recorder | None = None
        self._recorded_into = ""
        self.bodies_are_wanted = False
        """Whether the bodies of finished flows are wanted."""
        self.metrics_readers = "off"
        """Who may read /metrics."""
        self.texts: dict[str, str] = {}
        """The options as a recording notes them. Asking mitmproxy for each of them for every flow would be slow."""

    @property
    def observes(self) -> bool:
        return self.mode == "observe"

    @property
    def most_kept(self) -> int:
        """The most bytes kept of a response."""
        return MAX_KEPT if self.bodies_are_wanted or self.recorder else MAX_KEPT_UNOBSERVED

    def declare(self, loader: Loader) -> None:
        """Declare our options to mitmproxy."""
        environment = policy.from_environment(os.environ)
        for option in policy.OPTIONS:
            default = environment.get(option.full_name, option.default)
            loader.add_option(option.full_name, str, default, option.help)
        # From the start no TLS of other hosts is intercepted, even if the options turn out to be wrong. After a
        # reload the hosts that were allowed before stay allowed until the options are read.
        self.patterns = [known for known in ctx.options.allow_hosts if hosts.is_ours(known)]
        self._allow(self.patterns or [hosts.NOTHING])

    def updated(self, names: set[str]) -> None:
        """Take over changed options, mitmproxy's or ours. Raises `BadOption`."""
        # By the lists of mitmproxy and mitmweb, a file, or the log.
        writes = any(getattr(ctx.options, name, None) for name in ("save_stream_file", "hardump"))
        view = ctx.master.addons.get("view")  # type: ignore[no-untyped-call]
        self.bodies_are_wanted = writes or view is not None or getattr(ctx.options, "flow_detail", 0) > 2
        if getattr(ctx.options, "stream_large_bodies", "unknown") is None:
            ctx.options.update(stream_large_bodies=MAX_GATHERED)  # type: ignore[no-untyped-call]
        if "allow_hosts" in names and not any(map(hosts.is_ours, ctx.options.allow_hosts)):
            # The user has set allow_hosts. Without our patterns it would intercept every host, or none of ours.
            self._allow(self.patterns)
        if any(name.startswith(policy.PREFIX) for name in names) or "mode" in names:
            # mitmproxy keeps options that nobody declared, in case a script declares them later.
            misspelt = {name: "" for name in ctx.options.deferred if policy.is_ours(name)}
            self._read({**misspelt, **{name: getattr(ctx.options, name) for name in policy.BY_NAME}})

    def _read(self, texts: dict[str, str]) -> None:
        policy.check_variables(os.environ)
        values = policy.read_options(texts)
        self._record_into(values["toolfix_record"])
        self.texts = {name: text for name, text in texts.items() if not policy.BY_NAME[name].secret}
        self.metrics_readers = values["toolfix_metrics"]
        self.mode = values["toolfix_mode"]
        self.policy = policy.make_policy(values)
        wanted = hosts.patterns(hosts.chosen_hosts(values["toolfix_hosts"]))
        # The upstreams of reverse mode are always intercepted.
        modes = map(mode_specs.ProxyMode.parse, ctx.options.mode)
        targets = [mode.address[0] for mode in modes if isinstance(mode, mode_specs.ReverseMode)]
        self._allow([*([hosts.NOTHING] if self.mode == "off" else wanted), *hosts.patterns(targets)])

    def _record_into(self, directory: str) -> None:
        if directory == self._recorded_into:
            return
        try:
            recorder = Recorder(directory) if directory else None
        except OSError as error:
            raise policy.BadOption(
                f"toolfix_record={directory!r} cannot be written ({error.strerror}): name another directory."
            ) from None
        self.close()
        self.recorder, self._recorded_into = recorder, directory

    def _allow(self, patterns: list[str]) -> None:
        """Intercept the TLS of these hosts and of those in the user's own `allow_hosts`, and tunnel all others."""
        others = [known for known in ctx.options.allow_hosts if not hosts.is_ours(known)]
        self.patterns = patterns
        ctx.options.update(allow_hosts=[*patterns, *others])  # type: ignore[no-untyped-call]

    def close(self) -> None:
        if self.recorder is not None:
            self.recorder.close()
