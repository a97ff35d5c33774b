"""Reports what was done: in the log, in /metrics, in the summary of `toolfix run` and in a recording."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping

from mitmproxy import http

from ..request.mend import LEFT
from ..wire.encoding import Corrupt, Inflated
from ..wire.events import MOST_CALLS
from . import session_summary
from .body_stream import LONG_HOLD_SECONDS
from .flows import FlowState, http_exchange_of
from .log_lines import endpoint, guard, mark
from .metrics import Metrics
from .settings import Settings

logger = logging.getLogger("toolfix")


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
            bytes_held = state.stream.response.held_bytes if state.stream else 0
            held[state.protocol] = held.get(state.protocol, 0) + bytes_held
        recorder = self._settings.recorder
        recordings = {"written": recorder.written, "lost": recorder.lost} if recorder else {}
        return self.metrics.render(mode=self._settings.mode, held_bytes=held, recordings=recordings)

    def request(self, flow: http.HTTPFlow, protocol: str, steps: Mapping[str, int]) -> None:
        """Log and count what was mended in a request."""
        done = ", ".join(f"{number} × {step}" for step, number in steps.items())
        if steps.keys() <= LEFT:
            what = "the request is too large to mend in time; these parts were sent unchanged"
        else:
            what = f"{'would have ' if self._settings.observes else ''}mended the request"
        logger.info(f"{endpoint(flow)}: {what}: {done}")
        self.metrics.mended_request(protocol, steps)

    def response(self, flow: http.HTTPFlow, state: FlowState, *, broken: bool) -> None:
        """Report what was done with a response that is over."""
        stream, observed = state.stream, self._settings.observes
        assert stream is not None
        response = stream.response
        if response.failure is not None:
            self._failure(flow, state, response.failure)
        if response.limited:
            most = f"toolfix_max_held_bytes, {MOST_CALLS:,} calls, or more than is read of an answer"
            state.log.say(f"the answer is over a limit ({most}); the rest passed unchanged.", logging.WARNING)
        if response.mended_events:
            would = "would have " if observed else ""
            state.log.say(f"{would}mended the data of {response.mended_events} events, which was no JSON.")
        if response.changed_sent_text and not observed:
            changed = "the host changed text that the client had already received; the client keeps the old text."
            state.log.say(changed, logging.WARNING)
        long_held = stream.longest_hold > LONG_HOLD_SECONDS and bool(response.outcomes)
        if long_held:
            state.log.say(f"a tool call was held for {stream.longest_hold:.0f} s until it was complete.")
        state.log.calls(response.outcomes)
        state.log.done()
        mark(flow, response.outcomes, observed=observed)
        self.summary.answer(response.outcomes, observed=observed)
        self.metrics.called(state.protocol, response.outcomes, response.seconds)
        self.metrics.answered(
            state.protocol,
            failed_open=response.failure is not None,
            mended_events=response.mended_events,
            limited=response.limited,
            long_held=long_held,
            broken=broken,
        )
        if recorder := self._settings.recorder:
            exchange = state.exchange or http_exchange_of(flow, stream, state, self._settings.texts)
            exchange.broken = broken
            recorder.write(exchange)

    def _failure(self, flow: http.HTTPFlow, state: FlowState, failure: BaseException) -> None:
        if isinstance(failure, Inflated):
            cut = "" if self._settings.observes else "the answer was cut off: "
            state.log.say(f"{cut}{failure}.", logging.WARNING)
        elif isinstance(failure, Corrupt):
            what = f"the body is not {state.encoding}, although its header says so ({failure})"
            state.log.say(f"{what}; from there on it passes unchanged.", logging.WARNING)
        else:
            logger.error(
                f"{endpoint(flow)}: toolfix failed ({failure!r}) and let the answer pass unchanged; "
                "please report this with the recording.",
                exc_info=failure,
            )
        # The frames of the traceback refer to the flow, which could never be freed.
        failure.__traceback__ = failure.__context__ = failure.__cause__ = None
