"""Says what was done with an answer: in the log, in /metrics, in the summary of `toolfix run` and in a recording.

Log lines are visible and cut, whatever a model or a server wrote.
"""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar
from weakref import WeakSet

from mitmproxy import http, log

from ..outcome import Outcome
from ..reasons import STATUS_WORDS
from ..recording.record import Exchange
from ..recording.redact import redact
from ..request.mend import LEFT
from ..shown import LINE, shown, shown_lines
from ..wire.encoding import Corrupt, Inflated
from . import session_summary
from .flow_files import described
from .metrics import Metrics
from .settings import Settings

logger = logging.getLogger("toolfix")
_open: WeakSet[FlowReport] = WeakSet()

CHANGED = "toolfix_changed"
"""A key in a flow's metadata: a call in its answer was mended or refused."""
MARK = ":wrench:"
"""The marker of such a flow, in the lists of mitmproxy and mitmweb."""

LONG_HOLD_SECONDS = 60.0
_MOST_LINES = 50
"""The most calls of an answer that get their own log line: a hostile answer has hundreds, and a line takes time."""
_MASKED = 2048
"""How many characters of the arguments are searched for secrets before a sample is shown."""
_MOST_OF_A_TRACEBACK = 16 * 1024
_formatter = logging.Formatter()

Done = TypeVar("Done")


def _make_visible(record: logging.LogRecord) -> bool:
    """Escape and cut the message and the traceback of a record."""
    record.msg, record.args = shown(record.getMessage(), LINE), ()
    if record.exc_info:
        record.exc_text = shown_lines(_formatter.formatException(record.exc_info), _MOST_OF_A_TRACEBACK)
    return True


def guard() -> None:
    """Filter our loggers: each of them, because child loggers do not inherit it. Repeating this is harmless."""
    for name in ("toolfix", "toolfix.engine"):
        logging.getLogger(name).addFilter(_make_visible)


_OF_SCRIPTS = getattr(log, "LegacyLogEvents", ())
"""mitmproxy's old log hook for scripts, which gets every line; a later version may not have it."""


def is_read(level: int) -> bool:
    """Whether any handler shows or keeps lines of this level: a line costs mitmproxy as much time if none does."""
    handlers = (handler for handler in logging.root.handlers if not isinstance(handler, _OF_SCRIPTS))
    return logging.root.level <= level and any(handler.level <= level for handler in handlers)


def endpoint(flow: http.HTTPFlow) -> str:
    """The host and the path, for a log line."""
    return shown(f"{flow.request.pretty_host}{flow.request.path.partition('?')[0]}")


class Reporter:
    """What all flows report to: the counts, the summary and the recorder."""

    def __init__(self, settings: Settings) -> None:
        guard()
        self.settings = settings
        self.metrics = Metrics()
        self.summary = session_summary.SummaryFile(os.environ.get(session_summary.VARIABLE, ""))
        for report in _open:
            # Its flow began before the script was loaded again.
            report.reporter = self


class FlowReport:
    """What is said of one flow. It keeps the endpoint as text: the flow could not be freed otherwise."""

    def __init__(
        self, reporter: Reporter, flow: http.HTTPFlow, protocol: str, request: bytes = b"", suffix: str = ""
    ) -> None:
        self.reporter, self.protocol = reporter, protocol
        about, started, options = described(flow, protocol), flow.request.timestamp_start, reporter.settings.texts
        self.exchange = Exchange(about, flow.id, started, options, request, suffix=suffix)
        self._endpoint = endpoint(flow)
        self.would = "would have " if reporter.settings.observes else ""
        self._found = False
        self._counts: Counter[str] = Counter()
        _open.add(self)

    def say(self, line: str, level: int = logging.INFO, failure: Exception | None = None) -> None:
        logger.log(level, f"{self._endpoint}: {line}", exc_info=failure)

    def warn(self, line: str) -> None:
        self.say(line, logging.WARNING)

    def _debug(self, line: str, arguments: str = "") -> None:
        """A line with the beginning of the arguments, whose secrets are masked as in a recording."""
        if is_read(logging.DEBUG):
            sample = shown(redact(arguments[:_MASKED]) + arguments[_MASKED:])
            self.say(f"{line}{sample}", logging.DEBUG)

    def attempt(self, otherwise: str, work: Callable[[], Done]) -> Done | None:
        """The result of some work of ours; None if it failed, which is logged with what happens otherwise."""
        try:
            return work()
        except Exception as failure:
            self.say(f"toolfix {otherwise}; please report this.", logging.ERROR, failure)
            return None

    def request(self, steps: Mapping[str, int]) -> None:
        """What was mended in a request."""
        done = ", ".join(f"{number} × {step}" for step, number in steps.items())
        if steps.keys() <= LEFT:
            what = "the request is too large to mend in time; these parts were sent unchanged"
        else:
            what = f"{self.would}mended the request"
        self.say(f"{what}: {done}")
        for step, number in steps.items():
            self.reporter.metrics.count("request_steps_total", number, protocol=self.protocol, step=step)

    def found(self) -> None:
        """The first fragment or block of a call arrived. Logged once, and again only after a call was sent."""
        if not self._found:
            self._found = True
            self._debug("found a tool call; it is held until it is complete.")

    def decided(self, outcome: Outcome) -> None:
        """The outcome of a call is known."""
        self.found()
        self._found = False
        status = STATUS_WORDS[outcome.status]
        self._counts["dropped" if outcome.dropped else status] += 1
        identity = f" ({outcome.id})" if outcome.id else ""
        what = "dropped" if outcome.dropped else "sent"
        size = f"{len(outcome.arguments):,} characters"
        self._debug(f"{what} {outcome.name or '(no name)'}{identity}: {status}, {size}.")

    def calls(
        self, outcomes: Sequence[Outcome], seconds: Iterable[float] = (), flow: http.HTTPFlow | None = None
    ) -> None:
        """The calls of an answer or a message. `seconds`: how long mending took, one number for each call.

        Each has a line in the log, except those that were sent unchanged. If there are others, `flow` is marked in
        the lists of mitmproxy and mitmweb, with a comment that says what was done.
        """
        touched = [outcome for outcome in outcomes if outcome.touched]
        for outcome in touched[:_MOST_LINES]:
            sizes = f"{len(outcome.received_arguments):,} → {len(outcome.arguments):,} characters"
            level = logging.WARNING if outcome.status == "refused" else logging.INFO
            self.say(f"{_told(outcome, self.would)} ({sizes})", level)
            name = shown(outcome.received_name) or "(no name)"
            self._debug(f"{name} before ", outcome.received_arguments)
            self._debug(f"{name} after ", outcome.arguments)
        if more := touched[_MOST_LINES:]:
            refused = sum(outcome.status == "refused" for outcome in more)
            self.say(f"{self.would}mended {len(more) - refused} more calls and {self.would}refused {refused}.")
        if flow and touched:
            others = f" (and {len(touched) - 1} more)" if len(touched) > 1 else ""
            flow.metadata[CHANGED] = True
            flow.marked = flow.marked or MARK
            flow.comment = flow.comment or f"toolfix: {_told(touched[0], self.would)}{others}"
        self.reporter.summary.answer(outcomes, observed=bool(self.would))
        self.reporter.metrics.called(self.protocol, outcomes, seconds)

    def over(self, failure: Exception | None, held_for: float = 0.0, **happened: int) -> None:
        """An answer is over, or a WebSocket with all of its answers; `happened`: what else, by its counter.

        `failure`: why what arrived passed unchanged from there on. `held_for`: the longest time that a call was held,
        in seconds.
        """
        if isinstance(failure, Inflated):
            self.warn(f"{'' if self.would else 'the answer was cut off: '}{failure}.")
        elif isinstance(failure, Corrupt):
            what = f"the body is not {self.exchange.encoding}, although its header says so ({failure})"
            self.warn(f"{what}; from there on it passes unchanged.")
        elif failure is not None:
            what = f"toolfix failed ({failure!r}) and let the answer pass unchanged"
            self.say(f"{what}; please report this with the recording.", logging.ERROR, failure)
        if failure is not None:
            # The frames of the traceback refer to the flow, which could never be freed.
            failure.__traceback__ = failure.__context__ = failure.__cause__ = None
        if long_held := held_for > LONG_HOLD_SECONDS:
            self.say(f"a tool call was held for {held_for:.0f} s until it was complete.")
        counts = ", ".join(f"{number} {status}" for status, number in sorted(self._counts.items()))
        self._debug(f"the answer is done; calls: {counts or 'none'}.")
        metrics, recorder = self.reporter.metrics, self.reporter.settings.recorder
        metrics.answered(self.protocol, failed_open=failure is not None, long_held=long_held, **happened)
        if recorder and self.exchange.before.chunks:
            recorder.write(self.exchange)


def _told(outcome: Outcome, would: str) -> str:
    """What was done with a call."""
    name = shown(outcome.received_name) or "(no name)"
    if outcome.status == "refused":
        return f"{would}refused {name}: {shown(outcome.reason, 400)}"
    return f"{would}mended {name}: {shown(', '.join(outcome.steps), LINE)}"
