"""One response body in flight: bytes of the upstream in, bytes for the client out.

Strategy: undo the content encoding, look once at the first bytes (an event stream, one JSON document,
or neither), cut the stream into events, ask the dialect about each of them. An event like one that the
dialect has read takes the fast path (`unread/`). `feed` and `close` never raise: on any exception, and
at the limit of held bytes, what is held goes out as it came and the rest passes untouched; a dialect that
converts says instead how the answer ends.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from .dialects.interface import Dialect
from .outcome import Outcome
from .unread.fast_path import FastPath
from .wire import sse
from .wire.body_kind import BodyKind, kind_of, kind_of_first_line
from .wire.encoding import Decoder, Inflated
from .wire.events import PASS, SPLIT_LINES, Event, Hold, LimitReached, Pass, Replace, Verdict, joined
from .wire.framing import SSE
from .wire.ledger import Ledger
from .work import CHARACTERS, EVENT, LINE, SILENT, Work

_FIRST_BYTE = re.compile(rb"[^\s\xef\xbb\xbf]")
_DOCUMENT = "document"
_LF = b"\n"
_WRAPPED = ("data:", "event:")
"""Servers that forward another server's stream as data repeat its field names."""
_LONG_EVENT = 1024
_WHOLE_JSON = (b"}", b"]")
_MOST_VALUES = 250_000
"""Values in the events of one answer that are held."""
_SEPARATING_BYTES = b",["
_ENVELOPE = 8
"""Bytes for each value of the event around a fragment. Code has fewer values, lists of numbers four times as many."""


class Stream:
    """Feeds a dialect. `failure` is the exception that made us fail open, if one did."""

    __slots__ = (
        "_after_cr",
        "_changed",
        "_decoder",
        "_dialect",
        "_ends",
        "_fast_path",
        "_framing",
        "_kind",
        "_last",
        "_ledger",
        "_limit",
        "_line_ended",
        "_one_a_chunk",
        "_outcomes",
        "_values_left",
        "_whole_chunks",
        "_work",
        "failure",
        "limited",
        "recover_event",
    )

    def __init__(
        self,
        dialect: Dialect,
        limit: int,
        decoder: Decoder | None = None,
        outcomes: list[Outcome] | None = None,
        work: Work | None = None,
    ) -> None:
        self._dialect = dialect
        self._limit = limit
        self._decoder = decoder
        self._outcomes = [] if outcomes is None else outcomes
        self._work = work or Work()
        self._values_left = Work(_MOST_VALUES)
        """The values that may still be gathered: when a call is complete they are read all at once."""
        self._fast_path = FastPath()
        self._framing = dialect.framing
        self._ledger = Ledger(dialect.framing)
        self._line_ended = False
        """The line that may be a document is here, and nothing behind it yet."""
        self._after_cr = False
        self._one_a_chunk = dialect.framing.one_a_chunk
        self._kind = BodyKind.EVENTS if self._one_a_chunk else BodyKind.UNKNOWN
        self._whole_chunks = self._one_a_chunk
        """An event stream without a content encoding, and no LF is awaited: most chunks are whole events."""
        self._last, self._ends = dialect.framing.whole_ends(b"")
        """The last bytes of these chunks are one of the ends."""
        self._changed = False
        """Something did not go out as it came."""
        self.failure: Exception | None = None
        self.limited = False
        self.recover_event: Callable[[Event, bool], tuple[list[Event], list[Outcome]]] | None = None
        """The events that take the place of one, and the calls in them, where somebody looks for such."""

    def set_dialect(self, dialect: Dialect) -> None:
        """It turned out which dialect the answer is in: that one is asked from now on."""
        self._dialect = dialect

    @property
    def holding(self) -> bool:
        """Is a tool call of an event stream held back right now?"""
        if self._kind is not BodyKind.EVENTS:
            return False
        return self._ledger.held_bytes > 0 or self._dialect.holding

    @property
    def held_bytes(self) -> int:
        return self._ledger.held_bytes

    @property
    def changed_sent_text(self) -> bool:
        return self._dialect.changed_sent_text

    def keep_alive(self) -> bytes:
        """An event for the client while a call is held. The ledger does not count it, and nothing changes."""
        try:
            return self._dialect.keep_alive()
        except Exception:
            return b""

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take a chunk; give the chunks for the client. Never an empty chunk: an empty list holds back."""
        # Nearly every chunk of nearly every answer comes here, so this is `_feed` in one piece.
        if not self._whole_chunks:
            return self._feed(chunk)
        ledger = self._ledger
        ledger.coming = chunk
        try:
            if (not ledger.rest and chunk[self._last] in self._ends) or self._one_a_chunk:
                block = chunk
                ledger.block, ledger.done, ledger.coming = chunk, 0, b""
            elif self._framing is not SSE:
                return self._feed(chunk)
            else:
                usual = ledger.push_simple(chunk)
                if usual is None and chunk.endswith(b"\r"):
                    return self._feed(chunk)
                block = ledger.push(chunk) if usual is None else usual
            if not block:
                return [] if ledger.held_bytes + len(ledger.rest) <= self._limit else self._stop_holding()
            size = len(block)
            verdict = self._fast_path.take(block) if ledger.held_bytes + size <= self._limit else None
            if verdict is PASS and ledger.held_bytes + len(ledger.rest) <= self._limit:
                ledger.done = size
                ledger.passed_last = True
                return [block]
        except Exception as error:
            return self._fail(error, len(self._outcomes))
        return self._take_block(block, verdict)

    def _take_block(self, block: bytes, verdict: Pass | Hold | None) -> list[bytes]:
        """The rest of `feed`: a block for which the fast path gave this verdict."""
        out: list[bytes] = []
        outcomes_before = len(self._outcomes)
        try:
            self._take_events(block, verdict, out)
            if self._ledger.held_bytes + len(self._ledger.rest) > self._limit:
                out += self._stop_holding()
        except Exception as error:
            out += self._fail(error, outcomes_before)
        return out

    def _feed(self, chunk: bytes) -> list[bytes]:
        """Any chunk: the first one, one that is encoded or ends with a CR, one of a body that is no event stream."""
        if not chunk or self._kind is BodyKind.ENDED:
            return []
        try:
            data = self._decoder.decode(chunk) if self._decoder else chunk
        except Inflated as error:
            return [*self._feed_decoded(error.before), *self._cut_off(error)]
        except Exception as error:
            self._decoder = None
            if self._kind is not BodyKind.OPEN:
                return self._fail(error, len(self._outcomes), chunk)
            self.failure = error
            data = chunk
        return self._feed_decoded(data)

    def _feed_decoded(self, data: bytes) -> list[bytes]:
        out: list[bytes] = []
        outcomes_before = len(self._outcomes)
        if self._kind is BodyKind.OPEN:
            # The client was told of no encoding, so it gets none, whatever it was that made us let go.
            return [data] if data else []
        self._ledger.coming = data
        try:
            if self._kind is BodyKind.EVENTS:
                self._read(data, out)
            elif data:
                self._look(data, out)
            if self._ledger.held_bytes + len(self._ledger.rest) > self._limit:
                out += self._stop_holding()
        except Exception as error:
            out += self._fail(error, outcomes_before)
        return out

    def close(self) -> list[bytes]:
        """The upstream is done; what is still held goes out. A second call finds nothing to do."""
        out: list[bytes] = []
        outcomes_before = len(self._outcomes)
        try:
            if self._kind is BodyKind.EVENTS:
                self._close_events(out)
            elif self._kind in (BodyKind.DOCUMENT, BodyKind.LINE):
                self._close_document(out)
            elif self._kind is BodyKind.UNKNOWN:
                out += self._ledger.drain()
        except Exception as error:
            out += self._fail(error, outcomes_before)
        return out

    def _look(self, data: bytes, out: list[bytes]) -> None:
        """Decide by the first byte that is not white space what the body is; by the first line, where it is lines."""
        self._ledger.open(data)
        self._ledger.held(_DOCUMENT, len(data))
        if self._kind is BodyKind.UNKNOWN:
            first = _FIRST_BYTE.search(data)
            self._kind = kind_of(first[0], lines=self._framing is not SSE) if first else self._kind
        if self._kind is BodyKind.LINE:
            self._kind = self._kind_of_line(data)
        if self._kind is BodyKind.OPEN:
            data = self._ledger.take(_DOCUMENT)
            self._ledger.passed(len(data), data, out)
        elif self._kind is BodyKind.EVENTS:
            self._ledger.take(_DOCUMENT)
            self._read(self._ledger.coming_again(), out)

    def _kind_of_line(self, data: bytes) -> BodyKind:
        """A body of lines: one document, on one line or several, or a stream."""
        if self._line_ended:
            return BodyKind.EVENTS if data.strip() else BodyKind.LINE
        if _LF not in data:
            return BodyKind.LINE
        body = self._ledger.take(_DOCUMENT)
        self._ledger.held(_DOCUMENT, len(body))
        if _LF not in body.lstrip():
            return BodyKind.LINE
        kind = kind_of_first_line(body, lambda line: self._dialect.is_document(self._framing.read_event(line)))
        self._line_ended = kind is BodyKind.LINE
        return kind

    # An event stream

    def _read(self, data: bytes, out: list[bytes]) -> None:
        ledger = self._ledger
        if self._after_cr and data:
            self._after_cr = False
            if data.startswith(b"\n"):
                # The LF of a CRLF whose CR ended the last event: it goes where that event went.
                if ledger.passed_last:
                    out.append(b"\n")
                data = ledger.coming = data[1:]
        block = ledger.push(data)
        if block:
            verdict = self._fast_path.take(block) if ledger.held_bytes + len(block) <= self._limit else None
            self._take_events(block, verdict, out)
        if self._kind is BodyKind.EVENTS:
            self._after_cr = not ledger.rest and block.endswith(b"\r")
            self._whole_chunks = not self._after_cr and self._decoder is None
            if block:
                self._last, self._ends = self._framing.whole_ends(block)

    def _take_events(self, block: bytes, verdict: Pass | Hold | None, out: list[bytes]) -> None:
        """Take the events of a block, or the one event for which the fast path gave a verdict."""
        if isinstance(verdict, Hold):
            self._hold(verdict.key, block, len(block))
            return
        if verdict is PASS:
            self._pass(block, out)
            return
        ledger, limit, take = self._ledger, self._limit, self._fast_path.take
        events = self._framing.split(block)
        if len(events) == 1 and ledger.held_bytes + len(block) <= limit:
            self._read_event(block, out)
            return
        before = len(out)
        start = end = 0  # Between them stand the events that pass and are not out yet.
        for raw in events:
            # All is asked for each event, so that the result is the same however the stream was cut: whether the
            # limit is reached, and whether the event takes the fast path, as it would in a chunk of its own.
            size = len(raw)
            if ledger.held_bytes + size > limit:
                self._pass(block[start:end], out)
                out += self._stop_holding()
                return
            verdict = take(raw)
            if verdict is not PASS:
                self._pass(block[start:end], out)
                start = end + size
                if isinstance(verdict, Hold):
                    self._hold(verdict.key, raw, size)
                else:
                    self._read_event(raw, out)
            end += size
        self._pass(block[start:end], out)
        if len(out) > before + 1 and b"".join(out[before:]) == block:
            out[before:] = [block]

    def _pass(self, events: bytes, out: list[bytes]) -> None:
        """Events that were not read, if any, go out as they came."""
        if events:
            self._ledger.passed(len(events), events, out)

    def _hold(self, key: str, raw: bytes, size: int) -> None:
        """Hold an event, and account for its values, but for about as many as the envelope of a fragment has."""
        values = len(raw) - len(raw.translate(None, _SEPARATING_BYTES)) - len(raw) // _ENVELOPE
        if values > 0:
            self._values_left.spend(values)
        self._ledger.held(key, size)

    def _read_event(self, raw: bytes, out: list[bytes]) -> None:
        work = self._work
        work.came(len(raw))
        if len(raw) > _LONG_EVENT:
            work.spend(len(raw) >> CHARACTERS)
            work.read_json(raw)
            work.spend(LINE * sse.count_lines(raw))
        event = self._framing.read_event(raw)
        work.spend(SILENT if event.data is None else EVENT)
        if event.data is not None and event.data.startswith(_WRAPPED):
            event = sse.unwrapped(event)
        if event.data is None or not self._recover(event, len(raw), out):
            self._ask_dialect(event, len(raw), out)

    def _recover(self, event: Event, size: int, out: list[bytes]) -> bool:
        """Was it an error that quotes a call? Then events with that call are read in its place."""
        events, calls = (
            self.recover_event(event, self.holding or bool(self._outcomes)) if self.recover_event else ([], [])
        )
        known = len(self._outcomes)
        for number, one in enumerate(events):
            if self._framing is not SSE:
                one = one._replace(raw=self._framing.write(one.data or "", one.type))
            self._ask_dialect(one, 0 if number else size, out)
        if len(self._outcomes) == known + len(calls):
            # They say how the call was found; what the client got of it is the same.
            self._outcomes[known:] = calls
        return bool(events)

    def _ask_dialect(self, event: Event, size: int, out: list[bytes]) -> None:
        """Ask the dialect about an event that came as so many bytes."""
        if event.data is None and not self._dialect.converting and not self._dialect.waits:
            verdict: Verdict = PASS
        else:
            verdict = self._dialect.read(event)
            whole = isinstance(verdict, Pass | Hold)
            self._fast_path.learn(event.raw, self._dialect.lesson if whole else None)
        if verdict is SPLIT_LINES:
            verdict = self._read_lines_alone(event)
        self._changed = self._changed or verdict is not PASS
        if isinstance(verdict, Hold):
            self._hold(verdict.key, event.raw, size)
        elif isinstance(verdict, Replace):
            self._ledger.replied(size, verdict, out)
            # The event may be the end of its own reply: then the LF of its last CRLF belongs there too.
            self._ledger.passed_last = bool(verdict.out) and verdict.out[-1] is event.raw
        else:
            self._ledger.passed(size, event.raw, out)

    def _read_lines_alone(self, event: Event) -> Verdict:
        """A "blank" line of spaces glued events together: each data line is read alone, and counts as one event."""
        return joined((line, self._read_line_alone(line)) for line in sse.lines_alone(event))

    def _read_line_alone(self, line: Event) -> Verdict:
        self._work.spend(EVENT)
        return self._dialect.read(line)

    def _close_events(self, out: list[bytes]) -> None:
        last = self._ledger.ended()
        if last:
            self._work.came(len(last))
            if last.rstrip().endswith(_WHOLE_JSON):
                self._work.read_json(last)
            self._work.spend(LINE * sse.count_lines(last))
            event = sse.unwrapped(self._framing.read_event(last))
            if self._framing is SSE and sse.is_whole(event.data, say_done=self._changed):
                # Clients drop an event without its blank line. Half an event is dropped by right.
                event = event._replace(raw=self._framing.ended(event.raw))
            self._ask_dialect(event, len(last), out)
        reply = self._dialect.close()
        if reply is not None:
            self._ledger.replied(0, reply, out)
            # The event that the upstream did not end, wherever it stands, is ended before another one follows.
            out[:-1] = [self._framing.ended(piece) for piece in out[:-1]]
        # What the dialect still has not asked for is no call: nobody may think that one is held.
        self._ledger.drain()

    def _close_document(self, out: list[bytes]) -> None:
        body = self._ledger.take(_DOCUMENT)
        framing = self._dialect.framing_of(body)
        if framing is not self._framing:
            self._kind, self._framing = BodyKind.EVENTS, framing
            ledger = Ledger(framing)
            ledger.coming = body
            self._ledger = ledger
            self._read(body, out)
            self._close_events(out)
        elif body:
            self._work.read_json(body)
            self._ledger.passed(len(body), self._dialect.body(body), out)

    # Failing open

    def _fail(self, error: Exception, outcomes_before: int, unread: bytes = b"") -> list[bytes]:
        if isinstance(error, LimitReached):
            out = self._stop_holding()
        else:
            self.failure = error
            out = self._abort("the answer could not be read")
        if self._kind is BodyKind.OPEN:
            # What this step claimed to have mended goes out as it came.
            del self._outcomes[outcomes_before:]
            out += [unread] if unread else []
        return out

    def _cut_off(self, error: Inflated) -> list[bytes]:
        """The rest would fill the memory, and as it came nobody could read it: its header is gone.

        So it is as if the connection had ended here.
        """
        out = self.close()
        self.failure = error
        self._kind = BodyKind.ENDED
        self._whole_chunks = False
        return out

    def _stop_holding(self) -> list[bytes]:
        self.limited = True
        return self._abort(
            "the answer is more than toolfix holds (toolfix_max_held_bytes, its calls) or reads in time"
        )

    def _abort(self, reason: str) -> list[bytes]:
        self._whole_chunks = False
        try:
            last_words = self._dialect.abort(reason)
        except Exception as error:
            self.failure = error
            last_words = None
        if last_words is not None:
            self._kind = BodyKind.ENDED
            self._ledger.drain()
            return list(last_words)
        self._kind = BodyKind.OPEN
        return self._ledger.drain()
