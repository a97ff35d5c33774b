"""Our log: what was done with an answer, in lines that are visible and cut, whatever a model or a server wrote."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable

from mitmproxy import http, log

from ..outcome import Outcome
from ..reasons import STATUS_WORDS
from ..recording.redact import redact
from ..shown import LINE, shown, shown_lines

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


class VisibleLines(logging.Filter):
    """Escapes and cuts the message and the traceback of each record."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = shown(record.getMessage(), LINE), ()
        if record.exc_info:
            record.exc_text = shown_lines(_formatter.formatException(record.exc_info), _MOST_OF_A_TRACEBACK)
        return True


_visible = VisibleLines()


def guard() -> None:
    """Add the filter to our loggers: to each, because child loggers do not inherit it. Repeating this is harmless."""
    for name in ("toolfix", "toolfix.engine"):
        logging.getLogger(name).addFilter(_visible)


_OF_SCRIPTS = getattr(log, "LegacyLogEvents", ())
"""mitmproxy's old log hook for scripts, which gets every line; a later version may not have it."""


def is_read(level: int) -> bool:
    """Whether any handler shows or keeps lines of this level: a line costs mitmproxy as much time if none does."""
    handlers = (handler for handler in logging.root.handlers if not isinstance(handler, _OF_SCRIPTS))
    return logging.root.level <= level and any(handler.level <= level for handler in handlers)


def endpoint(flow: http.HTTPFlow) -> str:
    """The host and the path, for a log line."""
    return shown(f"{flow.request.pretty_host}{flow.request.path.partition('?')[0]}")


class CallLog:
    """The log of one answer. It keeps the endpoint as text and not the flow, which could not be freed otherwise."""

    __slots__ = ("_counts", "_endpoint", "_found", "_would")

    def __init__(self, flow: http.HTTPFlow, *, observed: bool = False) -> None:
        self._endpoint = endpoint(flow)
        self._would = "would have " if observed else ""
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
        self._counts["dropped" if outcome.dropped else STATUS_WORDS[outcome.status]] += 1
        name = outcome.name or "(no name)"
        identity = f" ({outcome.id})" if outcome.id else ""
        what = "dropped" if outcome.dropped else "sent"
        size = f"{len(outcome.arguments):,} characters"
        self._debug(f"{what} {name}{identity}: {STATUS_WORDS[outcome.status]}, {size}.")

    def calls(self, outcomes: Iterable[Outcome]) -> None:
        """A line for each call of an answer or a message, except those that were sent unchanged."""
        touched = [outcome for outcome in outcomes if outcome.touched]
        for outcome in touched[:_MOST_LINES]:
            self._call(outcome)
        if more := touched[_MOST_LINES:]:
            refused = sum(outcome.status == "refused" for outcome in more)
            self.say(f"{self._would}mended {len(more) - refused} more calls and {self._would}refused {refused}.")

    def _call(self, outcome: Outcome) -> None:
        name = shown(outcome.received_name) or "(no name)"
        sizes = f"{len(outcome.received_arguments):,} → {len(outcome.arguments):,} characters"
        if outcome.status == "refused":
            self.say(f"{self._would}refused {name}: {shown(outcome.reason, 400)} ({sizes})", logging.WARNING)
        else:
            self.say(f"{self._would}mended {name}: {', '.join(outcome.steps)} ({sizes})")
        self._debug(f"{name} before ", outcome.received_arguments)
        self._debug(f"{name} after ", outcome.arguments)

    def done(self) -> None:
        """The answer is over."""
        counts = ", ".join(f"{number} {status}" for status, number in sorted(self._counts.items()))
        self._debug(f"the answer is done; calls: {counts or 'none'}.")

    def say(self, line: str, level: int = logging.INFO) -> None:
        logger.log(level, f"{self._endpoint}: {line}")

    def _debug(self, line: str, arguments: str = "") -> None:
        """A line with the beginning of the arguments, whose secrets are masked as in a recording."""
        if is_read(logging.DEBUG):
            sample = shown(redact(arguments[:_MASKED]) + arguments[_MASKED:])
            self.say(f"{line}{sample}", logging.DEBUG)


def mark(flow: http.HTTPFlow, outcomes: Iterable[Outcome], *, observed: bool) -> None:
    """Mark a changed flow in the lists of mitmproxy and mitmweb, with a comment that says what was done."""
    touched = [outcome for outcome in outcomes if outcome.touched]
    if not touched:
        return
    first = touched[0]
    did, why = ("refused", first.reason) if first.status == "refused" else ("mended", ", ".join(first.steps))
    would = "would have " if observed else ""
    more = f" (and {len(touched) - 1} more)" if len(touched) > 1 else ""
    flow.metadata[CHANGED] = True
    flow.marked = flow.marked or MARK
    flow.comment = flow.comment or f"toolfix: {would}{did} {shown(first.received_name)}: {shown(why)}{more}"
