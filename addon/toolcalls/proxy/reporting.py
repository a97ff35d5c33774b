"""Reports what was done: in the log, in /metrics, in the summary of `toolfix run` and in a recording."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping

from mitmproxy import http

from ..engine import Response
from ..outcome import Outcome
from ..recording.redact import redact
from ..request.request_edit import LEFT
from ..shown import shown
from ..wire.encoding import Corrupt, Inflated
from ..wire.events import MOST_CALLS
from . import session_summary
from .body_stream import LONG_HOLD_SECONDS
from .exchanges import exchange_of
from .flows import CHANGED, FlowState, endpoint
from .log_lines import guard, is_read
from .metrics import Metrics
from .settings import Settings

logger = logging.getLogger("toolfix")

MARK = ":wrench:"
"""The marker of a flow in which a call was changed, in the lists of mitmproxy and mitmweb."""

_MOST_LINES = 50
"""The most calls of an answer that get their own log line: a hostile answer has hundreds, and a line takes time."""
_MASKED = 2048
"""How many characters of the arguments are searched for secrets before a sample is shown."""


class Reporter:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        guard()
        self.metrics = Metrics()
        self.summary = session_summary.SummaryFile(os.environ.get(session_summary.VARIABLE, ""))

    def stats(self, states: Iterable[FlowState]) -> str:
        """What toolfix has done since it started: the text of /metrics."""
        held: dict[str, int] = {}
        for state in states:
            held[state.protocol] = held.get(state.protocol, 0) + (
                state.stream.response.held_bytes if state.stream else 0
            )
        recorder = self._settings.recorder
        recordings = {"written": recorder.written, "lost": recorder.lost} if recorder else {}
        return self.metrics.render(mode=self._settings.mode, held_bytes=held, recordings=recordings)

    def request(self, flow: http.HTTPFlow, protocol: str, steps: Mapping[str, int]) -> None:
        """Log and count what was mended in a request."""
        would = "would have mended" if self._settings.observes else "mended"
        done = ", ".join(f"{number} × {step}" for step, number in steps.items())
        if steps.keys() <= LEFT:
            logger.info(
                f"{endpoint(flow)}: the request is too large to mend in time; these parts were sent unchanged: {done}"
            )
        else:
            logger.info(f"{endpoint(flow)}: {would} the request: {done}")
        self.metrics.mended_request(protocol, steps)

    def calls(self, flow: http.HTTPFlow, outcomes: Iterable[Outcome]) -> None:
        """Log what happened to the calls of an answer or a message, except those that were sent unchanged."""
        touched = [outcome for outcome in outcomes if outcome.touched]
        for outcome in touched[:_MOST_LINES]:
            self.call(flow, outcome)
        if more := touched[_MOST_LINES:]:
            would = "would have " if self._settings.observes else ""
            refused = sum(outcome.status == "refused" for outcome in more)
            logger.info(
                f"{endpoint(flow)}: {would}mended {len(more) - refused} more calls and {would}refused {refused}."
            )

    def call(self, flow: http.HTTPFlow, outcome: Outcome) -> None:
        """Log what happened to a call, unless it was sent unchanged."""
        if not outcome.touched:
            return
        would = "would have " if self._settings.observes else ""
        name = shown(outcome.received_name) or "(no name)"
        sizes = f"{len(outcome.received_arguments):,} → {len(outcome.arguments):,} characters"
        if outcome.status == "refused":
            logger.warning(f"{endpoint(flow)}: {would}refused {name}: {shown(outcome.reason, 400)} ({sizes})")
        else:
            logger.info(f"{endpoint(flow)}: {would}mended {name}: {', '.join(outcome.steps)} ({sizes})")
        if not is_read(logging.DEBUG):
            return
        logger.debug(f"{endpoint(flow)}: {name} before {_sample(outcome.received_arguments)}")
        logger.debug(f"{endpoint(flow)}: {name} after {_sample(outcome.arguments)}")

    def response(self, flow: http.HTTPFlow, state: FlowState, *, broken: bool) -> None:
        """Report what was done with a response that is over."""
        stream = state.stream
        assert stream is not None
        response = stream.response
        if response.failure is not None:
            self._failure(flow, state, response.failure)
        if response.limited:
            most = f"toolfix_max_held_bytes, {MOST_CALLS:,} calls, or work that would delay other streams"
            logger.warning(f"{endpoint(flow)}: the answer is over a limit ({most}); the rest passed unchanged.")
        if response.changed_sent_text and not self._settings.observes:
            changed = "the host changed text that the client had already received"
            logger.warning(f"{endpoint(flow)}: {changed}; the client keeps the old text.")
        long_held = stream.longest_hold > LONG_HOLD_SECONDS
        if long_held:
            logger.info(
                f"{endpoint(flow)}: a tool call was held for {stream.longest_hold:.0f} s until it was complete."
            )
        self.calls(flow, response.outcomes)
        self._mark(flow, response.outcomes)
        state.log.done()
        self._count(state.protocol, response, long_held=long_held, broken=broken)
        recorder = self._settings.recorder
        if recorder:
            exchange = state.exchange or exchange_of(flow, stream, state, self._settings.texts)
            exchange.broken = broken
            recorder.write(exchange)

    def _mark(self, flow: http.HTTPFlow, outcomes: Iterable[Outcome]) -> None:
        """Mark a changed flow in the lists of mitmproxy and mitmweb, with a comment that says what was done."""
        touched = [outcome for outcome in outcomes if outcome.touched]
        if not touched:
            return
        would = "would have " if self._settings.observes else ""
        first = touched[0]
        did = "refused" if first.status == "refused" else "mended"
        why = first.reason if did == "refused" else ", ".join(first.steps)
        more = f" (and {len(touched) - 1} more)" if len(touched) > 1 else ""
        flow.metadata[CHANGED] = True
        flow.marked = flow.marked or MARK
        flow.comment = flow.comment or f"toolfix: {would}{did} {shown(first.received_name)}: {shown(why)}{more}"

    def _count(self, protocol: str, response: Response, *, long_held: bool, broken: bool) -> None:
        self.summary.answer(response.outcomes, observed=self._settings.observes)
        self.metrics.called(protocol, response.outcomes, response.seconds)
        self.metrics.answered(
            protocol,
            failed=response.failure is not None,
            limited=response.limited,
            long_held=long_held,
            broken=broken,
        )

    def _failure(self, flow: http.HTTPFlow, state: FlowState, failure: BaseException) -> None:
        if isinstance(failure, Inflated):
            cut = "" if self._settings.observes else "the answer was cut off: "
            logger.warning(f"{endpoint(flow)}: {cut}{failure}.")
        elif isinstance(failure, Corrupt):
            logger.warning(
                f"{endpoint(flow)}: the body is not {state.encoding}, although its header says so ({failure}); "
                "from there on it passes unchanged."
            )
        else:
            logger.error(
                f"{endpoint(flow)}: toolfix failed ({failure!r}) and let the answer pass unchanged; "
                "please report this with the recording.",
                exc_info=failure,
            )
        # The frames of the traceback refer to the flow, which could never be freed.
        failure.__traceback__ = failure.__context__ = failure.__cause__ = None


def _sample(arguments: str) -> str:
    """The beginning of the arguments, with secrets masked as in a recording."""
    return shown(redact(arguments[:_MASKED]) + arguments[_MASKED:])
