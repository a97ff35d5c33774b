"""One response body in flight: bytes of the upstream in, bytes for the client out.

Strategy: undo the content encoding, and decide by the first bytes what the body is: an event stream, one JSON
document, or neither. Events that resemble one the dialect has parsed take the fast path (`unread/`); the others are
read by `event_reader.py`. `feed` and `close` never raise: on any exception, and at the limit of held bytes, the held
bytes are sent as they arrived and the rest passes unchanged; a dialect that converts the stream ends the answer with
an error of its own instead.
"""

from __future__ import annotations

import re

from .dialects.interface import Dialect
from .event_reader import EventReader
from .outcome import Outcome
from .unread.fast_path import FastPath
from .wire.body_kind import BodyKind, kind_of, kind_of_first_line
from .wire.encoding import Decoder, Inflated
from .wire.events import PASS, Hold, LimitReached
from .wire.framing import SSE
from .wire.ledger import Ledger
from .work import Work

_FIRST_BYTE = re.compile(rb"[^\s\xef\xbb\xbf]")
_DOCUMENT = "document"
_LF = b"\n"


class Stream:
    """Feeds the events of one response to a dialect. `failure` is the exception that made us fail open, if any."""

    __slots__ = (
        "_chunks_are_events",
        "_decoder",
        "_fast_path",
        "_kind",
        "_ledger",
        "_limit",
        "_line_ended",
        "_outcomes",
        "_work",
        "events",
        "failure",
        "limited",
    )

    def __init__(
        self,
        dialect: Dialect,
        limit: int,
        decoder: Decoder | None = None,
        outcomes: list[Outcome] | None = None,
        work: Work | None = None,
    ) -> None:
        self._limit = limit
        self._decoder = decoder
        self._outcomes = [] if outcomes is None else outcomes
        self._work = work or Work()
        self._fast_path = FastPath()
        self._ledger = Ledger(dialect.framing)
        self.events = EventReader(dialect, self._ledger, self._fast_path, self._outcomes, self._work)
        self._line_ended = False
        """The line that may be the whole document is complete, and nothing has followed it yet."""
        self._chunks_are_events = dialect.framing.event_per_chunk
        """Chunks are bytes of events: the body is known to be an event stream, and has no content encoding."""
        self._kind = BodyKind.EVENTS if self._chunks_are_events else BodyKind.UNKNOWN
        self.failure: Exception | None = None
        self.limited = False

    @property
    def holding(self) -> bool:
        """Whether a tool call of an event stream is held back right now."""
        return self._kind is BodyKind.EVENTS and self.events.holding

    @property
    def held_bytes(self) -> int:
        return self._ledger.held_bytes

    @property
    def changed_sent_text(self) -> bool:
        return self.events.dialect.changed_sent_text

    def keep_alive(self) -> bytes:
        """An event for the client while a call is held. It is not entered in the ledger and changes no state."""
        try:
            return self.events.dialect.keep_alive()
        except Exception:
            return b""

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take a chunk and return the chunks for the client: an empty list to send nothing, never an empty chunk."""
        if not self._chunks_are_events:
            return self._feed_any(chunk)
        ledger = self._ledger
        ledger.coming = chunk
        out: list[bytes] = []
        try:
            # Nearly every chunk of nearly every answer is one event that the fast path knows; it needs no framing.
            block = ledger.push(chunk) if ledger.rest else chunk
            verdict = self._fast_path.take(block) if ledger.held_bytes + len(block) <= self._limit else None
            if verdict is PASS:
                ledger.block, ledger.coming = b"", b""
                out.append(block)
            elif isinstance(verdict, Hold):
                self.events.hold(verdict.key, ledger.begin(block), len(block))
            else:
                self._take_block(ledger.push(chunk) if block is chunk else block, out)
        except Exception as error:
            out += self._fail(error)
        return out

    def _feed_any(self, chunk: bytes) -> list[bytes]:
        """Take a chunk of a body whose kind is not known yet, that is encoded, or that is not an event stream."""
        if not chunk or self._kind is BodyKind.ENDED:
            return []
        try:
            data = self._decoder.decode(chunk) if self._decoder else chunk
        except Inflated as error:
            return [*self._take_decoded(error.before), *self._cut_off(error)]
        except Exception as error:
            self._decoder = None
            if self._kind is not BodyKind.PASSING:
                return self._fail(error, chunk)
            self.failure = error
            data = chunk
        return self._take_decoded(data)

    def _take_decoded(self, data: bytes) -> list[bytes]:
        """Take decoded bytes."""
        out: list[bytes] = []
        if self._kind is BodyKind.PASSING:
            # Our header names no content encoding, so the client gets decoded bytes, even after we failed open.
            return [data] if data else []
        self._ledger.coming = data
        try:
            if self._kind is BodyKind.EVENTS:
                self._read_events(data, out)
            elif data:
                self._decide_kind(data, out)
                if self._ledger.held_bytes > self._limit:
                    out += self._stop_holding()
        except Exception as error:
            out += self._fail(error)
        return out

    def close(self) -> list[bytes]:
        """The upstream has ended: return what is still to be sent. A second call returns nothing."""
        out: list[bytes] = []
        try:
            if self._kind is BodyKind.EVENTS:
                self.events.close(out)
            elif self._kind in (BodyKind.DOCUMENT, BodyKind.LINE):
                self._close_document(out)
            elif self._kind is BodyKind.UNKNOWN:
                out += self._ledger.drain()
        except Exception as error:
            out += self._fail(error)
        return out

    def _decide_kind(self, data: bytes, out: list[bytes]) -> None:
        """Decide what the body is by its first byte other than white space; if that may begin lines, by the line."""
        if self._kind is BodyKind.UNKNOWN:
            first = _FIRST_BYTE.search(data)
            self._kind = kind_of(first[0], lines=self._ledger.framing is not SSE) if first else self._kind
            if self._kind is BodyKind.EVENTS and not self._ledger.held_bytes:
                self._read_events(data, out)
                return
        self._ledger.begin(data)
        self._ledger.held(_DOCUMENT, len(data))
        if self._kind is BodyKind.LINE:
            self._kind = self._kind_of_line(data)
        if self._kind is BodyKind.PASSING:
            data = self._ledger.begin_held(_DOCUMENT)
            self._ledger.passed(len(data), data, out)
        elif self._kind is BodyKind.EVENTS:
            self._ledger.begin_held(_DOCUMENT)
            self._read_events(self._ledger.put_back(), out)

    def _kind_of_line(self, data: bytes) -> BodyKind:
        """Whether a body of lines is a stream or one document, on one line or several."""
        if self._line_ended:
            return BodyKind.EVENTS if data.strip() else BodyKind.LINE
        if _LF not in data:
            return BodyKind.LINE
        body = self._ledger.begin_held(_DOCUMENT)
        self._ledger.held(_DOCUMENT, len(body))
        if _LF not in body.lstrip():
            return BodyKind.LINE
        kind = kind_of_first_line(
            body, lambda line: self.events.dialect.is_document(self._ledger.framing.read_event(line))
        )
        self._line_ended = kind is BodyKind.LINE
        return kind

    # An event stream

    def _read_events(self, data: bytes, out: list[bytes]) -> None:
        """Take bytes of an event stream."""
        self._take_block(self._ledger.push(data), out)

    def _take_block(self, block: bytes, out: list[bytes]) -> None:
        """Take the complete events that have arrived, if any, and note how the stream goes on."""
        ledger = self._ledger
        if block:
            self.events.take(block, self._limit, out)
        self._chunks_are_events = self._decoder is None
        if ledger.held_bytes + len(ledger.rest) > self._limit:
            out += self._stop_holding()

    def _close_document(self, out: list[bytes]) -> None:
        body = self._ledger.begin_held(_DOCUMENT)
        framing = self.events.dialect.framing_of(body)
        if framing is not self._ledger.framing:
            self._kind = BodyKind.EVENTS
            self._ledger.framing = framing
            self._read_events(self._ledger.put_back(), out)
            self.events.close(out)
        elif body:
            self._work.read_json(body)
            self._ledger.passed(len(body), self.events.dialect.body(body), out)

    # Failing open

    def _fail(self, error: Exception, unread: bytes = b"") -> list[bytes]:
        if isinstance(error, LimitReached):
            out = self._stop_holding()
        else:
            self.failure = error
            out = self._abort("the answer could not be read")
        if self._kind is BodyKind.PASSING:
            # The calls of the event that could not be handled are sent as they arrived.
            del self._outcomes[self.events.decided :]
            out += [unread] if unread else []
        return out

    def _cut_off(self, error: Inflated) -> list[bytes]:
        """End the response as if the connection had ended here.

        The rest would fill the memory, and the client could not decode it: the content-encoding header is gone.
        """
        out = self.close()
        self.failure = error
        self._kind = BodyKind.ENDED
        self._chunks_are_events = False
        return out

    def _stop_holding(self) -> list[bytes]:
        self.limited = True
        limits = "toolfix_max_held_bytes, the number of calls, or the work of reading it"
        return self._abort(f"the answer exceeds a limit of toolfix ({limits})")

    def _abort(self, reason: str) -> list[bytes]:
        self._chunks_are_events = False
        try:
            last_words = self.events.dialect.abort(reason)
        except Exception as error:
            self.failure = error
            last_words = None
        if last_words is not None:
            self._kind = BodyKind.ENDED
            self._ledger.drain()
            return list(last_words)
        self._kind = BodyKind.PASSING
        return self._ledger.drain()
