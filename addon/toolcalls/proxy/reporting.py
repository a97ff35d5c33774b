"""Says what was done with an answer: in the log, in /metrics, in the summary of `toolfix run` and in a recording.

Log lines are visible and cut, whatever a model or a server wrote.
"""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from mitmproxy import http, log

from ..outcome import Outcome
from ..reasons import STATUS_WORDS
from ..recording.record import Exchange
from ..recording.redact import redact
from ..request.mend import LEFT
from ..shown import LINE, shown, shown_lines
from . import session_summary
from .metrics import Metrics
from .settings import Settings

logger = logging.getLogger("toolfix")

CHANGED = "toolfix_changed"
"""A key in a flow's metadata: a call in its answer was mended or refused."""
MARK = ":wrench:"
"""The marker of such a flow, in the lists of mitmproxy and mitmweb."""

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


def attempt(flow: http.HTTPFlow, otherwise: str, work: Callable[[], Done]) -> Done | None:
    """The result of some work of ours; None if it failed, which is logged with what happens otherwise."""
    try:
        return work()
    except Exception:
        logger.exception(f"{endpoint(flow)}: toolfix {otherwise}; please report this.")
        return None


def _told(outcome: Outcome, would: str) -> str:
    """What was done with a call."""
    name = shown(outcome.received_name) or "(no name)"
    if outcome.status == "refused":
        return f"{would}refused {name}: {shown(outcome.reason, 400)}"
    return f"{would}mended {name}: {shown(', '.join(outcome.steps), LINE)}"


class CallLog:
    """The log of one answer. It keeps the endpoint as text and not the flow, which could not be freed otherwise."""

    def __init__(self, flow: http.HTTPFlow, would: str = "") -> None:
        """`would`: what stands before what was done, if it was only observed."""
        self._endpoint = endpoint(flow)
        self._would = would
        self._found = False
        self._counts: Counter[str] = Counter()

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

    def calls(self, outcomes: Iterable[Outcome]) -> None:
        """A line for each call of an answer or a message, except those that were sent unchanged."""
        touched = [outcome for outcome in outcomes if outcome.touched]
        for outcome in touched[:_MOST_LINES]:
            self._call(outcome)
        if more := touched[_MOST_LINES:]:
            refused = sum(outcome.status == "refused" for outcome in more)
            self.say(f"{self._would}mended {len(more) - refused} more calls and {self._would}refused {refused}.")

    def _call(self, outcome: Outcome) -> None:
        sizes = f"{len(outcome.received_arguments):,} → {len(outcome.arguments):,} characters"
        level = logging.WARNING if outcome.status == "refused" else logging.INFO
        self.say(f"{_told(outcome, self._would)} ({sizes})", level)
        name = shown(outcome.received_name) or "(no name)"
        self._debug(f"{name} before ", outcome.received_arguments)
        self._debug(f"{name} after ", outcome.arguments)

    def done(self) -> None:
        """The answer is over."""
        counts = ", ".join(f"{number} {status}" for status, number in sorted(self._counts.items()))
        self._debug(f"the answer is done; calls: {counts or 'none'}.")

    def say(self, line: str, level: int = logging.INFO) -> None:
        logger.log(level, f"{self._endpoint}: {line}")

    def warn(self, line: str) -> None:
        self.say(line, logging.WARNING)

    def _debug(self, line: str, arguments: str = "") -> None:
        """A line with the beginning of the arguments, whose secrets are masked as in a recording."""
        if is_read(logging.DEBUG):
            sample = shown(redact(arguments[:_MASKED]) + arguments[_MASKED:])
            self.say(f"{line}{sample}", logging.DEBUG)


def mark(flow: http.HTTPFlow, outcomes: Iterable[Outcome], would: str) -> None:
    """Mark a changed flow in the lists of mitmproxy and mitmweb, with a comment that says what was done."""
    touched = [outcome for outcome in outcomes if outcome.touched]
    if not touched:
        return
    more = f" (and {len(touched) - 1} more)" if len(touched) > 1 else ""
    flow.metadata[CHANGED] = True
    flow.marked = flow.marked or MARK
    flow.comment = flow.comment or f"toolfix: {_told(touched[0], would)}{more}"


class Reporter:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        guard()
        self.metrics = Metrics()
        self.summary = session_summary.SummaryFile(os.environ.get(session_summary.VARIABLE, ""))

    def advise(self, sentence: str) -> None:
        """Say once what keeps a client from using the proxy, if anything does."""
        if sentence and self.summary.warning(sentence):
            logger.warning(sentence)

    def stats(self, held: Iterable[tuple[str, int]]) -> str:
        """The text of /metrics. `held`: protocols, and how many bytes of them are held."""
        held_bytes: Counter[str] = Counter()
        for protocol, size in held:
            held_bytes[protocol] += size
        recorder = self._settings.recorder
        recordings = {"written": recorder.written, "lost": recorder.lost} if recorder else {}
        return self.metrics.render(mode=self._settings.mode, held_bytes=held_bytes, recordings=recordings)

    def request(self, flow: http.HTTPFlow, protocol: str, steps: Mapping[str, int]) -> None:
        """Report what was mended in a request."""
        done = ", ".join(f"{number} × {step}" for step, number in steps.items())
        if steps.keys() <= LEFT:
            what = "the request is too large to mend in time; these parts were sent unchanged"
        else:
            what = f"{self._settings.would}mended the request"
        logger.info(f"{endpoint(flow)}: {what}: {done}")
        self.metrics.mended_request(protocol, steps)

    def calls(self, log: CallLog, protocol: str, outcomes: Sequence[Outcome], seconds: Iterable[float]) -> None:
        """Report the calls of an answer or a message. `seconds`: how long mending took, one number for each call."""
        log.calls(outcomes)
        self.summary.answer(outcomes, observed=self._settings.observes)
        self.metrics.called(protocol, outcomes, seconds)

    def over(self, log: CallLog, protocol: str, exchange: Exchange | None, **happened: int) -> None:
        """Report an answer that is over, or a WebSocket with all of its answers, and what happened by its counter."""
        log.done()
        self.metrics.answered(protocol, **happened)
        if self._settings.recorder and exchange:
            self._settings.recorder.write(exchange)

    def exchange(self, flow: http.HTTPFlow, protocol: str) -> Exchange:
        """What a recording keeps of a flow, as far as it has come."""
        request, response = flow.request, flow.response
        exchange = Exchange(
            protocol,
            request.method,
            request.pretty_host,
            request.path,
            flow.id,
            request.timestamp_start,
            self._settings.texts,
        )
        if response is not None:
            exchange.status, exchange.content_type = response.status_code, response.headers.get("content-type", "")
        return exchange
