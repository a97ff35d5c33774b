"""One response body in flight: bytes of the upstream in, bytes for the client out.

Strategy: undo the content encoding; decide by the first bytes what the body is (an event stream, one JSON document,
or neither); cut a stream into events and give each to the protocol. `feed` and `close` never raise. If anything
fails, and at the limit of held bytes, the client gets as it arrived what it has nothing of (the tail of the protocol,
the event that could not be handled, and what follows), and the rest passes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from .outcome import Outcome
from .protocols.protocol import Protocol
from .sizes import MOST_LINES, MOST_MARKS, LimitReached, Searched, marks_in
from .wire import sse
from .wire.body_kind import BodyKind, kind_of, kind_of_first_line
from .wire.encoding import Decoder, Inflated
from .wire.framing import SSE

_FIRST_BYTE = re.compile(rb"[^\s\xef\xbb\xbf]")
_LF: Final = b"\n"
_LONG_EVENT: Final = 1024
_LIMITED: Final = (
    "the answer exceeds a limit of toolfix (toolfix_max_held_bytes, or the size or number of its calls or events)"
)
_WRAPPED: Final = ("data:", "event:")
"""Servers that forward another server's stream inside their own data lines repeat its field names."""


class Body:
    """`failure` is the exception that made us fail open, if any; `limited`: a limit did."""

    def __init__(
        self, protocol: Protocol, limit: int, decoder: Decoder | None, outcomes: list[Outcome], searched: Searched
    ) -> None:
        self._protocol, self._framing = protocol, protocol.framing
        self._limit, self.decoder, self._outcomes, self._text = limit, decoder, outcomes, searched
        # Messages are events, whatever is in them.
        self._kind = BodyKind.EVENTS if self._framing.event_per_chunk else BodyKind.UNKNOWN
        self._rest = bytearray()
        """Bytes that form no complete event yet, or the document so far."""
        self._searched = 0
        """How many of them were searched for the end of an event."""
        self._decided = 0
        """How many outcomes there were after the last event: if the next one fails, its calls have none."""
        self._changed = False
        """An event was held, or written anew."""
        self.failure: Exception | None = None
        self.limited = False

    @property
    def holding(self) -> bool:
        """Whether something is held back right now."""
        return self._kind is BodyKind.EVENTS and self._protocol.holding

    @property
    def changed_sent_text(self) -> bool:
        """Whether the upstream changed text that the client had already."""
        return self._protocol.changed_sent_text

    @property
    def holds_call(self) -> bool:
        """Whether a tool call is held back right now."""
        return self._kind is BodyKind.EVENTS and self._protocol.holds_call

    def stop_holding(self) -> list[bytes]:
        return self._give_up(LimitReached())

    @property
    def unsent_bytes(self) -> int:
        return self.held_bytes

    @property
    def held_bytes(self) -> int:
        return self._protocol.tail.size + len(self._rest)

    def keep_alive(self) -> bytes:
        try:
            return self._protocol.keep_alive()
        except Exception:
            return b""

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take a chunk; the chunks for the client, none of them empty."""
        if not chunk or self._kind is BodyKind.ENDED:
            return []
        try:
            data = self.decoder.decode(chunk) if self.decoder else chunk
        except Exception as error:
            self.decoder = None
            return self.undecodable(error, chunk)
        return self.take(data)

    def undecodable(self, error: Exception, chunk: bytes) -> list[bytes]:
        """Take a chunk that cannot be decoded."""
        if isinstance(error, Inflated):
            # The rest would fill the memory, and the client could not decode it: its header is gone.
            out = [*self.take(error.before), *self.close()]
            self.failure, self._kind = error, BodyKind.ENDED
            return out
        # Our header names no encoding, so what was decoded before stays decoded.
        out = self._give_up(error)
        return out if self._kind is BodyKind.ENDED else [*out, chunk]

    def close(self) -> list[bytes]:
        """The upstream has ended: what is still to be sent. A second call returns nothing."""
        kind, rest = self._kind, bytes(self._rest)
        self._rest.clear()
        if kind in (BodyKind.DOCUMENT, BodyKind.LINE):
            out = self._answer([rest], self._document)
        elif kind is BodyKind.EVENTS:
            out = self._answer([rest], self._end)
        else:
            out = [rest] if rest else []
        self._kind = BodyKind.ENDED
        return out

    def take(self, data: bytes) -> list[bytes]:
        """Take decoded bytes."""
        kind, rest, protocol = self._kind, self._rest, self._protocol
        if not data or kind is BodyKind.PASSING or kind is BodyKind.ENDED:
            return [data] if data and kind is BodyKind.PASSING else []
        asks = protocol.passing is not None
        try:
            if asks and not rest and protocol.passes_unparsed(data):
                return [data]
        except Exception as error:
            return self._give_up(error, [data])
        asks = asks and bool(rest)
        rest += data
        try:
            if kind is not BodyKind.EVENTS:
                kind = self._kind = self._kind_now()
            block = self._complete_events() if kind is BodyKind.EVENTS else b""
            passes = asks and block and protocol.passes_unparsed(block)
            events = [] if passes or not block else self._framing.split(block)
        except Exception as error:
            return self._give_up(error)
        del rest[: len(block)]
        if passes:
            return [block]
        if kind is BodyKind.PASSING:
            return self._release([])
        # A single event was asked for above whether it passes unparsed.
        out = self._answer(events, self._event if len(events) > 1 else self._parsed) if events else []
        full = protocol.tail.size + len(rest) > self._limit
        return [*out, *self._give_up(LimitReached())] if full else out

    def _kind_now(self) -> BodyKind:
        """What the body is, by its first byte other than white space; if that may begin lines, by the line."""
        kind = self._kind
        if kind is BodyKind.UNKNOWN:
            first = _FIRST_BYTE.search(self._rest)
            kind = kind_of(first[0], lines=self._framing is not SSE) if first else kind
        if kind is not BodyKind.LINE or _LF not in self._rest or _LF not in self._rest.lstrip():
            return kind
        is_document = self._protocol.is_document
        return kind_of_first_line(bytes(self._rest), lambda line: is_document(self._framing.read_event(line)))

    def _complete_events(self) -> bytes:
        """The events that are complete."""
        rest = self._rest
        end = self._framing.end_of_last_event(rest, self._searched)
        if end < 0:
            # A blank line has at most four bytes, and three of them may have arrived.
            self._searched = max(0, len(rest) - 3)
            return b""
        self._searched = 0
        return bytes(rest[:end])

    def _answer(self, events: list[bytes], answer: Callable[[bytes], list[bytes]]) -> list[bytes]:
        """What the client gets for these events, or instead of one that fails and all that follows."""
        out: list[bytes] = []
        tail = self._protocol.tail
        for number, raw in enumerate(events):
            try:
                if tail.size + len(raw) > self._limit:
                    raise LimitReached
                sent = [piece for piece in answer(raw) if piece]
                self._changed = self._changed or sent != [raw]
                if tail.changes:
                    tail.commit()
                self._decided = len(self._outcomes)
                out += sent
            except Exception as error:
                return [*out, *self._give_up(error, events[number:])]
        if len(out) < 2 or self._framing.event_per_chunk:
            return out
        whole = b"".join(events)
        return [whole] if b"".join(out) == whole else out

    def _event(self, raw: bytes) -> list[bytes]:
        if self._protocol.passing is not None and self._protocol.passes_unparsed(raw):
            return [raw]
        return self._parsed(raw)

    def _parsed(self, raw: bytes) -> list[bytes]:
        if self._protocol.piece is not None and (sent := self._protocol.take_piece(raw)) is not None:
            return sent
        if raw.isspace() and not self._protocol.tail:
            return [raw]
        self._text.size = 0
        if len(raw) > _LONG_EVENT:
            _check(raw)
        event = self._framing.read_event(raw)
        if event.data is not None and event.data.startswith(_WRAPPED):
            event = sse.unwrapped(event)
        return self._protocol.take(event)

    def _end(self, rest: bytes) -> list[bytes]:
        """The upstream has ended, perhaps without the end of its last event."""
        idle = self._framing is SSE and sse.has_only_comments(rest)
        waits = self._protocol.waits
        out = self._last_event(rest) if rest and not idle else []
        out = list(filter(None, [*out, *self._protocol.end(), *([rest] if idle and not waits else [])]))
        # An event that the upstream did not end gets its end before another event follows.
        out[:-1] = [self._framing.ended(piece) for piece in out[:-1]]
        return out

    def _last_event(self, raw: bytes) -> list[bytes]:
        """The last event, without its blank line: the stream may have been cut off inside it."""
        if self._framing is not SSE:
            return self._event(raw)
        _check(raw)
        event = sse.unwrapped(self._framing.read_event(raw))
        # Clients drop an event without its blank line, which is right only for half an event.
        whole = sse.is_whole(event.data, say_done=self._changed)
        event = event._replace(raw=sse.ended(event.raw) if whole else raw)
        return self._protocol.take(event) if (event.data or "").strip() else self._protocol.end(event.raw)

    def _document(self, body: bytes) -> list[bytes]:
        if marks_in(body) > MOST_MARKS:
            raise LimitReached
        return [self._protocol.document(body)]

    # Failing open

    def _give_up(self, error: Exception, events: list[bytes] | None = None) -> list[bytes]:
        """Let go of all that the client has nothing of: the tail, the events that were not answered, and the rest."""
        if isinstance(error, LimitReached):
            self.limited, reason = True, _LIMITED
        else:
            self.failure, reason = error, "the answer could not be read"
        # The calls of the event that could not be answered are sent as they came.
        del self._outcomes[self._decided :]
        try:
            last = self._protocol.last_words(reason)
        except Exception as bug:
            self.failure, last = bug, None
        if last is None:
            return self._release(events or [])
        self._kind = BodyKind.ENDED
        self._rest.clear()
        return last

    def _release(self, events: list[bytes]) -> list[bytes]:
        self._kind = BodyKind.PASSING
        tail, rest = self._protocol.tail, bytes(self._rest)
        self._rest.clear()
        parts = tail.drain()
        try:
            held = self._protocol.as_it_came(parts)
        except Exception:
            held = list(dict.fromkeys(part.source.raw for part in parts if part.source is not None))
        return [piece for piece in (*held, *events, rest) if piece]


def _check(event: bytes) -> None:
    """An event with more in it than is read passes as it came, with all that follows."""
    if marks_in(event) > MOST_MARKS or sse.count_lines(event) > MOST_LINES:
        raise LimitReached
