"""One response body in flight: bytes of the upstream in, bytes for the client out.

Strategy: undo the content encoding, decide by the first bytes what the body is (an event stream, one JSON document,
or neither), cut the stream into events, and ask the dialect about each event. An event that resembles one the
dialect has parsed takes the fast path (`unread/`). `feed` and `close` never raise: on any exception, and at the
limit of held bytes, the held bytes are sent as they arrived and the rest passes unchanged; a dialect that converts
the stream ends the answer with an error of its own instead.
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
from .wire.events import PASS, SPLIT_LINES, Event, Hold, LimitReached, Replace, Verdict, joined
from .wire.framing import SSE
from .wire.ledger import Ledger
from .work import CHARACTERS, EVENT, EVENT_WITHOUT_DATA, LINE, Work

_FIRST_BYTE = re.compile(rb"[^\s\xef\xbb\xbf]")
_DOCUMENT = "document"
_LF = b"\n"
_WRAPPED = ("data:", "event:")
"""Servers that forward another server's stream inside their own data lines repeat its field names."""
_LONG_EVENT = 1024
_WHOLE_JSON = (b"}", b"]")
_MOST_VALUES = 250_000
"""How many JSON values the held events of one answer may contain."""
_ENVELOPE = 8
"""In a held event, one value per this many bytes is not counted: these values are the JSON around a fragment."""


class Stream:
    """Feeds the events of one response to a dialect. `failure` is the exception that made us fail open, if any."""

    __slots__ = (
        "_after_cr",
        "_changed",
        "_decided",
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
        self._decided = 0
        """How many outcomes there were after the last event: if the next one fails, its calls have none."""
        self._work = work or Work()
        self._values_left = Work(_MOST_VALUES)
        """How many more values may be held: when a call is complete, all of them are parsed at once."""
        self._fast_path = FastPath()
        self._framing = dialect.framing
        self._ledger = Ledger(dialect.framing)
        self._line_ended = False
        """The line that may be the whole document is complete, and nothing has followed it yet."""
        self._after_cr = False
        self._one_a_chunk = dialect.framing.event_per_chunk
        self._kind = BodyKind.EVENTS if self._one_a_chunk else BodyKind.UNKNOWN
        self._whole_chunks = self._one_a_chunk
        """Most chunks are whole events: an event stream without content encoding, and no LF is due after a CR."""
        self._last, self._ends = dialect.framing.whole_ends(b"")
        """A chunk of whole events usually ends so: its bytes at `_last` are one of `_ends`."""
        self._changed = False
        """Something was not sent as it arrived."""
        self.failure: Exception | None = None
        self.limited = False
        self.recover_event: Callable[[Event, bool], tuple[list[Event], list[Outcome]] | None] | None = None
        """Returns the events that replace an error event, and the calls in them; None if it needs no more events."""

    def set_dialect(self, dialect: Dialect) -> None:
        """Use this dialect from now on: the protocol of the answer has been recognised."""
        self._dialect = dialect

    @property
    def holding(self) -> bool:
        """Whether a tool call of an event stream is held back right now."""
        return self._kind is BodyKind.EVENTS and (self._ledger.held_bytes > 0 or self._dialect.holding)

    @property
    def held_bytes(self) -> int:
        return self._ledger.held_bytes

    @property
    def changed_sent_text(self) -> bool:
        return self._dialect.changed_sent_text

    def keep_alive(self) -> bytes:
        """An event for the client while a call is held. It is not entered in the ledger and changes no state."""
        try:
            return self._dialect.keep_alive()
        except Exception:
            return b""

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take a chunk and return the chunks for the client: an empty list to send nothing, never an empty chunk."""
        # Nearly every chunk of nearly every answer takes this path, so the common case of `_feed` is inlined here.
        if not self._whole_chunks:
            return self._feed(chunk)
        ledger = self._ledger
        ledger.coming = chunk
        try:
            if (not ledger.rest and chunk[self._last] in self._ends) or self._one_a_chunk:
                block = chunk
            elif self._framing is not SSE:
                return self._feed(chunk)
            else:
                usual = ledger.push_simple(chunk)
                if usual is None and chunk.endswith(b"\r"):
                    return self._feed(chunk)
                block = ledger.push(chunk) if usual is None else usual
                if not block:
                    return [] if ledger.held_bytes + len(ledger.rest) <= self._limit else self._stop_holding()
            verdict = self._fast_path.take(block) if ledger.held_bytes + len(block) <= self._limit else None
            if verdict is PASS:
                ledger.block, ledger.coming, ledger.passed_last = b"", b"", True
                return [block]
            ledger.block, ledger.done, ledger.coming = block, 0, b""
            if isinstance(verdict, Hold):
                self._hold(verdict.key, block, len(block))
                return []
        except Exception as error:
            return self._fail(error)
        return self._take_block(block)

    def _take_block(self, block: bytes) -> list[bytes]:
        """Finish `feed` for a block that the fast path does not take as a whole."""
        out: list[bytes] = []
        try:
            self._take_events(block, out)
            if self._ledger.held_bytes + len(self._ledger.rest) > self._limit:
                out += self._stop_holding()
        except Exception as error:
            out += self._fail(error)
        return out

    def _feed(self, chunk: bytes) -> list[bytes]:
        """Take any chunk: the first, an encoded one, one that ends with a CR, or one of a body without events."""
        if not chunk or self._kind is BodyKind.ENDED:
            return []
        try:
            data = self._decoder.decode(chunk) if self._decoder else chunk
        except Inflated as error:
            return [*self._feed_decoded(error.before), *self._cut_off(error)]
        except Exception as error:
            self._decoder = None
            if self._kind is not BodyKind.OPEN:
                return self._fail(error, chunk)
            self.failure = error
            data = chunk
        return self._feed_decoded(data)

    def _feed_decoded(self, data: bytes) -> list[bytes]:
        out: list[bytes] = []
        if self._kind is BodyKind.OPEN:
            # Our header names no content encoding, so the client gets decoded bytes, even after we failed open.
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
            out += self._fail(error)
        return out

    def close(self) -> list[bytes]:
        """The upstream has ended: return what is still to be sent. A second call returns nothing."""
        out: list[bytes] = []
        try:
            if self._kind is BodyKind.EVENTS:
                self._close_events(out)
            elif self._kind in (BodyKind.DOCUMENT, BodyKind.LINE):
                self._close_document(out)
            elif self._kind is BodyKind.UNKNOWN:
                out += self._ledger.drain()
        except Exception as error:
            out += self._fail(error)
        return out

    def _look(self, data: bytes, out: list[bytes]) -> None:
        """Decide what the body is by its first byte other than white space; if that may begin lines, by the line."""
        if self._kind is BodyKind.UNKNOWN:
            first = _FIRST_BYTE.search(data)
            self._kind = kind_of(first[0], lines=self._framing is not SSE) if first else self._kind
            if self._kind is BodyKind.EVENTS and not self._ledger.held_bytes:
                self._read(data, out)
                return
        self._ledger.open(data)
        self._ledger.held(_DOCUMENT, len(data))
        if self._kind is BodyKind.LINE:
            self._kind = self._kind_of_line(data)
        if self._kind is BodyKind.OPEN:
            data = self._ledger.take(_DOCUMENT)
            self._ledger.passed(len(data), data, out)
        elif self._kind is BodyKind.EVENTS:
            self._ledger.take(_DOCUMENT)
            self._read(self._ledger.coming_again(), out)

    def _kind_of_line(self, data: bytes) -> BodyKind:
        """Whether a body of lines is a stream or one document, on one line or several."""
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
                # The LF of a CRLF whose CR ended the last event: it is sent if that event was sent.
                if ledger.passed_last:
                    out.append(b"\n")
                data = ledger.coming = data[1:]
        block = ledger.push(data)
        if block:
            verdict = self._fast_path.take(block) if ledger.held_bytes + len(block) <= self._limit else None
            if verdict is PASS:
                ledger.passed(len(block), block, out)
            elif isinstance(verdict, Hold):
                self._hold(verdict.key, block, len(block))
            else:
                self._take_events(block, out)
        if self._kind is BodyKind.EVENTS:
            self._after_cr = not ledger.rest and block.endswith(b"\r")
            self._whole_chunks = not self._after_cr and self._decoder is None
            if block:
                self._last, self._ends = self._framing.whole_ends(block)

    def _take_events(self, block: bytes, out: list[bytes]) -> None:
        """Take the events of a block that the fast path does not take as a whole."""
        ledger, limit = self._ledger, self._limit
        events = self._framing.split(block)
        if len(events) == 1 and ledger.held_bytes + len(block) <= limit:
            self._read_event(block, out)
            return
        take, room, before = self._fast_path.take, limit - ledger.held_bytes, len(out)
        sent = at = 0  # Between these are events that pass and have not been sent yet.
        for raw in events:
            # The limit and the fast path are checked for each event as if it were a chunk of its own, so that the
            # result does not depend on how the stream was cut.
            fits = len(raw) <= room
            verdict = take(raw) if fits else None
            if verdict is PASS:
                at += len(raw)
                continue
            if at > sent:
                ledger.passed(at - sent, block[sent:at], out)
            sent = at = at + len(raw)
            if isinstance(verdict, Hold):
                self._hold(verdict.key, raw, len(raw))
            elif fits:
                self._read_event(raw, out)
            else:
                out += self._stop_holding()
                return
            room = limit - ledger.held_bytes
        if at > sent:
            ledger.passed(at - sent, block[sent:at], out)
        if len(out) > before + 1 and b"".join(out[before:]) == block:
            out[before:] = [block]

    def _hold(self, key: str, raw: bytes, size: int) -> None:
        """Hold an event, and count its values, except for about as many as the envelope of a fragment has."""
        values = len(raw) - len(raw.translate(None, b",[")) - len(raw) // _ENVELOPE
        if values > 0:
            self._values_left.spend(values)
        self._ledger.held(key, size)

    def _read_event(self, raw: bytes, out: list[bytes]) -> None:
        work, size = self._work, len(raw)
        work.add_bytes(size)
        if size > _LONG_EVENT:
            work.spend(size >> CHARACTERS)
            work.read_json(raw)
            work.spend(LINE * sse.count_lines(raw))
        event = self._framing.read_event(raw)
        work.spend(EVENT_WITHOUT_DATA if event.data is None else EVENT)
        if event.data is not None and event.data.startswith(_WRAPPED):
            event = sse.unwrapped(event)
        if event.data is None or self.recover_event is None or not self._recover(event, size, out):
            self._ask_dialect(event, size, out)

    def _recover(self, event: Event, size: int, out: list[bytes]) -> bool:
        """If the event is an error that quotes a call, ask the dialect about events with that call instead."""
        recovered = self.recover_event and self.recover_event(event, self.holding or bool(self._outcomes))
        if recovered is None:
            self.recover_event = None
            return False
        events, calls = recovered
        known = len(self._outcomes)
        for number, one in enumerate(events):
            if self._framing is not SSE:
                one = one._replace(raw=self._framing.write(one.data or "", one.type))
            self._ask_dialect(one, 0 if number else size, out)
        if len(self._outcomes) == known + len(calls):
            # These outcomes also say how the call was found; what the client got is the same.
            self._outcomes[known:] = calls
        return bool(events)

    def _ask_dialect(self, event: Event, size: int, out: list[bytes]) -> None:
        """Ask the dialect about an event and carry out its verdict; `size`: how many bytes of the block it takes."""
        if event.data is None and not self._dialect.converting and not self._dialect.waits:
            self._ledger.passed(size, event.raw, out)
            return
        verdict = self._dialect.read(event)
        as_arrived = verdict is PASS or isinstance(verdict, Hold)
        self._fast_path.learn(event.raw, self._dialect.lesson if as_arrived else None)
        if verdict is SPLIT_LINES:
            verdict = self._read_lines_alone(event)
        self._changed = self._changed or verdict is not PASS
        if isinstance(verdict, Hold):
            self._hold(verdict.key, event.raw, size)
        elif isinstance(verdict, Replace):
            self._ledger.replied(size, verdict, out)
            # If the replacement ends with the event itself, the LF of the event's last CRLF has to be sent too.
            self._ledger.passed_last = bool(verdict.out) and verdict.out[-1] is event.raw
        else:
            self._ledger.passed(size, event.raw, out)
        self._decided = len(self._outcomes)

    def _read_lines_alone(self, event: Event) -> Verdict:
        """Parse each data line as an event of its own: a "blank" line with spaces in it glued events together."""
        lines = sse.lines_alone(event)
        self._work.spend(EVENT * len(lines))
        return joined((line, self._dialect.read(line)) for line in lines)

    def _close_events(self, out: list[bytes]) -> None:
        last = self._ledger.ended()
        if last:
            self._work.add_bytes(len(last))
            if last.rstrip().endswith(_WHOLE_JSON):
                self._work.read_json(last)
            self._work.spend(LINE * sse.count_lines(last))
            event = sse.unwrapped(self._framing.read_event(last))
            if self._framing is SSE and sse.is_whole(event.data, say_done=self._changed):
                # Clients drop an event without its blank line, which is right only for half an event.
                event = event._replace(raw=self._framing.ended(event.raw))
            self._ask_dialect(event, len(last), out)
        reply = self._dialect.close()
        if reply is not None:
            self._ledger.replied(0, reply, out)
            # An event that the upstream did not end gets its end before another event follows.
            out[:-1] = [self._framing.ended(piece) for piece in out[:-1]]
        # What the dialect has not released by now is no call, and `holding` must not report one.
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

    def _fail(self, error: Exception, unread: bytes = b"") -> list[bytes]:
        if isinstance(error, LimitReached):
            out = self._stop_holding()
        else:
            self.failure = error
            out = self._abort("the answer could not be read")
        if self._kind is BodyKind.OPEN:
            # The calls of the event that could not be handled are sent as they arrived.
            del self._outcomes[self._decided :]
            out += [unread] if unread else []
        return out

    def _cut_off(self, error: Inflated) -> list[bytes]:
        """End the response as if the connection had ended here.

        The rest would fill the memory, and the client could not decode it: the content-encoding header is gone.
        """
        out = self.close()
        self.failure = error
        self._kind = BodyKind.ENDED
        self._whole_chunks = False
        return out

    def _stop_holding(self) -> list[bytes]:
        self.limited = True
        limits = "toolfix_max_held_bytes, the number of calls, or the work of reading it"
        return self._abort(f"the answer exceeds a limit of toolfix ({limits})")

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
