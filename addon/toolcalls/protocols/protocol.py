"""What every protocol has: it reads an event into parts, and writes parts as events. All else is the same for all.

`Protocol` is a stream or a document, with one answer or several. A subclass has `read`, `write`, `write_document`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from .. import payload
from ..alike import Alike
from ..answer import Answer, Traits
from ..mend import strict
from ..mend.finish import Finish
from ..mend.mender import Mender
from ..outcome import Outcome
from ..parts import Fragment, Part, SourceEvent, Text, read_together
from ..policy import Policy
from ..request.request import Request
from ..sizes import LimitReached
from ..waiting import Tail
from ..wire import sse
from ..wire.framing import SSE, Framing
from ..wire.sse import Event
from .errors import ERROR_EVENTS, error_in, error_in_text

Json = dict[str, Any]

KEEP_ALIVE_COMMENT: Final = sse.comment(" toolfix holds a tool call until it is complete")
"""Keeps the connection alive if the protocol has no event for that. Some clients count only events, not comments."""
_MOST_ANSWERS: Final = 500
_MOST_LEARNT: Final = 64 * 1024
"""The bytes of an event that others are compared with: to learn from a larger one takes longer than to parse it."""


class Failed(Exception):
    """The event is an error of the upstream. `events`: what the client gets of it, if not the event as it came."""

    def __init__(self, *events: bytes) -> None:
        self.events = events


class Ended(Exception):
    """The event ends the stream, and goes behind all that waits. `raw`: the event as the client gets it."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw


class Instead(Exception):
    """Clients do not know the event as it came: these say the same in the protocol's own words."""

    def __init__(self, *events: Event) -> None:
        self.events = events


class Protocol(Traits, ABC):
    framing: Framing = SSE
    answer_type: type[Answer] = Answer

    def __init__(self, request: Request, policy: Policy, mender: Mender) -> None:
        self._request, self._policy, self._mender = request, policy, mender
        self.tail = Tail()
        self.answers: Mapping[Any, Answer] = {}
        """The answers, by what tells them apart (`choice`)."""
        self._started = self._over = False
        self.recover: Callable[[Event, bool], tuple[Json, list[Json], list[Outcome]]] | None = None
        """Gives the answer that replaces an error which quotes a call, as a document and as events, and the calls in
        it. It is told whether the client got text."""
        self._alike = Alike()
        self.passing: Text | None = None
        """All that the last event that was parsed says, if that is a text, and it passed: others like it may too."""
        self.piece: Text | Fragment | None = None
        """All that the last event that was parsed says, if that is a piece of text or of arguments."""
        self._learns: tuple[type[Part], ...] = (Text, Fragment)
        """Pieces of which only the text need be read, because the rest of their events is like the last one."""

    @abstractmethod
    def read(self, event: Event) -> list[Part] | None:
        """The parts of an event, or of a document; None if it is none of this protocol.

        Raises `Failed`, `Ended` and `Instead`. Parts that already remember an event, because the client needs it in
        other bytes, go on doing so.
        """

    @abstractmethod
    def write(self, part: Part) -> bytes:
        """An event with this part; a fragment as it came."""

    def forward(self, source: SourceEvent) -> bytes:
        """An event all of whose parts go unchanged."""
        return source.raw

    def read_document(self, body: bytes) -> list[Part] | None:
        """The parts of a body that is one document."""
        return self.read(Event(body, body.decode("utf-8", "replace")))

    def write_document(self, body: bytes, parts: list[Part]) -> bytes:
        """The document with these parts instead of its own; as it came, in a protocol that only streams."""
        return body

    def is_document(self, first: Event) -> bool:
        """Whether the first line of a body may be a whole document. Asked if the protocol sends lines."""
        return False

    def keep_alive(self) -> bytes:
        """An event without content, for clients that count events while a call is held. Changes no state."""
        return KEEP_ALIVE_COMMENT if self.framing is SSE else b""

    def write_error(self, error: Json) -> bytes:
        """An event that says what an error in a form of its own says; empty if that passes as it came."""
        return b""

    # Answers

    @cached_property
    def answer(self) -> Answer:
        """The answer, in a stream that has only one."""
        return self.answer_of(None)

    def answer_of(self, choice: Any) -> Answer:
        """The answer that these parts belong to; a new one, if it is the first."""
        known = self.answers.get(choice)
        if known is not None:
            return known
        if len(self.answers) >= _MOST_ANSWERS:
            raise LimitReached
        made = self.answer_type(self._request, self._policy, self._mender, type(self), self.tail, choice)
        self.answers = {**self.answers, choice: made}
        return made

    @property
    def holds_call(self) -> bool:
        return any(answer.holds_call for answer in self.answers.values())

    def _taken(self, parts: Sequence[Part]) -> list[Part]:
        """What goes now, of these parts and of those that wait for them."""
        out: list[Part] = []
        for part in parts:
            out += (self.answers.get(part.choice) or self.answer_of(part.choice)).take(part)
        return out

    def _closed(self, finish: Finish, *, failed: bool = False) -> list[Part]:
        """All that waits."""
        return [part for answer in self.answers.values() for part in answer.close(finish, failed=failed)]

    # A stream

    def take(self, event: Event) -> list[bytes]:
        """What the client gets now."""
        if event.data is None:
            return [event.raw]
        try:
            parts = self.read(event)
            if parts is None:
                return self._take_odd(event)
        except Failed as failed:
            return self.recovered(event) or self._fail(*(failed.events or [event.raw]))
        except Ended as ended:
            return [*self._finish(), ended.raw]
        except Instead as instead:
            return [piece for one in instead.events for piece in self.take(one)]
        if not parts:
            # It belongs to no answer: one whose reason to stop waits has ended.
            stopped = [answer for answer in self.answers.values() if answer.reason_waits]
            closed = [part for answer in stopped for part in answer.close(Finish.UNKNOWN)]
            return [*self.written(closed), event.raw]
        if parts[0].source is None:
            read_together(event.raw, parts)
        ready = self._taken(parts)
        out = self.written(ready) if ready else []
        self.passing = self.piece = None
        if len(parts) == 1 and parts[0].source is not None and parts[0].source.raw == event.raw:
            self._learn(event.raw, parts[0], out)
        return out

    def _learn(self, raw: bytes, part: Part, out: list[bytes]) -> None:
        """If an event says nothing but a text, which passed, or a piece of arguments, others may be like it."""
        if len(raw) > _MOST_LEARNT:
            return
        if isinstance(part, Text) and out == [raw]:
            self._alike.learn(raw, part.text)
            self.passing = part if self.answers[part.choice].rests else None
            # What varies would be missing where the text has to be written.
            self.piece = part if Text in self._learns and not self._alike.varies else None
        elif isinstance(part, Fragment) and part.arguments and not out and Fragment in self._learns:
            says = part.id or part.name or part.namespace or part.body or part.steps or part.given is not None
            marked = part.begins or part.ends or part.whole or part.again or part.followed or part.refusal or part.cut
            if not (says or marked):
                self._alike.learn(raw, part.arguments)
                self.piece = part

    def pass_unparsed(self, chunk: bytes) -> int:
        """How much of a chunk passes as it came, because no byte of it matters: whole events, from its beginning."""
        if self.passing is None:
            return 0
        text = self.answers[self.passing.choice].text
        texts, passed, line_begun = self._alike.texts(chunk, text.line_begun)
        if passed:
            text.pass_texts(texts, passed, line_begun)
        return passed

    def take_piece(self, raw: bytes) -> list[bytes] | None:
        """What the client gets now for an event that differs from the last in its piece alone; else None."""
        last = self.piece
        piece = self._alike.piece(raw) if last is not None else ""
        if last is None or not piece:
            return None
        part: Part
        if isinstance(last, Fragment):
            part = Fragment(last.slot, item=last.item, arguments=piece, placed=last.placed, choice=last.choice)
        else:
            part = Text(piece, last.slot, last.body, choice=last.choice)
        ready = self._taken(read_together(raw, [part]))
        passed = ready == [part]
        self.passing = part if passed and isinstance(part, Text) and self.answers[part.choice].rests else None
        return [raw] if passed else self.written(ready) if ready else []

    def _take_odd(self, event: Event) -> list[bytes]:
        """An event whose data is no object of the protocol."""
        if self.framing is not SSE and self.framing.ended(event.raw) != event.raw:
            return self.end(event.raw)
        data = event.data or ""
        text, value = data.strip(), payload.read_strict(data)
        if text == "[DONE]" and event.type not in ERROR_EVENTS:
            return self._done(event.raw)
        error = error_in(value) or (error_in_text(data, event.type) if value is None else None)
        if error is not None:
            raise Failed(self.write_error(error) or event.raw)
        if not text or text.startswith(":"):
            # A comment that a gateway wrapped as data: clients stumble over it.
            return [sse.comment(text) if text and not event.type and self.framing is SSE else event.raw]
        if "\n" in data:
            return [piece for line in sse.lines_alone(event) for piece in self.take(line)]
        broken = payload.read_broken(data) if value is None and text.startswith("{") else None
        if broken is not None:
            meant = strict.write_event(broken)
            if meant == data:  # It has a number that Python cannot read.
                return [event.raw]
            self._mender.mended_events += 1
            return self.take(Event(self.framing.write(meant, event.type), meant, event.type))
        if self.framing is SSE and not sse.is_ended(event.raw):
            return self.end(event.raw)
        return [event.raw]

    def _done(self, raw: bytes) -> list[bytes]:
        """`[DONE]`, which gateways append to any stream: everything that waits goes before it."""
        self.recover = None
        return [*self._finish(), raw]

    def _finish(self, finish: Finish = Finish.UNKNOWN, *, failed: bool = False) -> list[bytes]:
        """All that waits: the stream has ended, or an error follows (`failed`)."""
        if self._over or not any(answer.has_work for answer in self.answers.values()):
            return []
        self._over = True
        return self.written(self._closed(finish, failed=failed))

    def end(self, half: bytes = b"") -> list[bytes]:
        """The stream has ended, perhaps inside an event: what the client still gets."""
        answers = [] if self._over else list(self.answers.values())
        called = any(answer.has_calls for answer in answers)
        for answer in answers if half and self.passes_calls else ():
            if not answer.end.reasons:  # Half an event may be the one that says that it was cut off.
                answer.end.finishes.add(Finish.CUT)
                answer.end.broken = True
        out = self._finish(Finish.CUT)
        called = called or any(answer.sent for answer in answers)
        # Clients stop at half an event, so they do not get it behind a call that was held.
        return out if (out and called) or not half else [*out, half]

    @property
    def _may_recover(self) -> bool:
        """Whether a call that an error quotes can still be sent."""
        return not self._started

    def recovered(self, error: Event, *, whole: bool = False) -> list[bytes]:
        """What the client gets instead of an error that quotes a call; nothing if it is no such error.

        `whole`: the error is the whole response, so the client gets a document, unless it asked for a stream. If
        another call has begun already, it is not known which of the two is meant.
        """
        outcomes = self._mender.outcomes
        if self.recover is None or self.tail or outcomes or not self._may_recover:
            return []
        has_text = any(answer.has_text for answer in self.answers.values())
        document, events, calls = self.recover(error, has_text)
        if not calls:
            return []
        if whole and not self._request.stream:
            outcomes += calls
            for call in calls:
                self._mender.report(call)
            return [strict.write(document).encode()]
        out: list[bytes] = []
        for event in events:
            data, kind = strict.write(event), event.get("type", "")
            out += self.take(Event(self.framing.write(data, kind), data, kind))
        if whole:
            out += self.end()
        if len(outcomes) == len(calls):
            # These outcomes also say how the call was found; what the client got is the same.
            outcomes[:] = calls
        return out

    def _fail(self, *raw: bytes) -> list[bytes]:
        """An error: complete calls go before it, and unfinished ones are dropped."""
        return [*self._finish(Finish.CUT, failed=True), *raw]

    def written(self, parts: list[Part]) -> list[bytes]:
        """These parts as events: an event all of whose parts are here leaves as it came."""
        out: list[bytes] = []
        at = 0
        parts = joined(parts) if len(parts) > 1 else parts
        while at < len(parts):
            source = parts[at].source
            if source is not None and parts[at : at + len(source.parts)] == source.parts:
                out.append(self.forward(source))
                at += len(source.parts)
            else:
                out.append(self.write(parts[at]))
                at += 1
        return out

    def as_it_came(self, parts: list[Part]) -> list[bytes]:
        """The tail, if something fails: parts of which the client has nothing."""
        return self.written(parts)

    @property
    def changed_sent_text(self) -> bool:
        """Whether the upstream changed text that the client had already."""
        return False

    def last_words(self, reason: str) -> list[bytes] | None:
        """What the client gets if something fails, and nothing behind it; None: all that is left, as it came."""
        return None

    # A document

    def document(self, body: bytes) -> bytes:
        """A body that is one document: one event, whose answers end with it."""
        try:
            parts = self.read_document(body)
        except Failed:
            return body
        except Instead as instead:
            return self.document((instead.events[0].data or "").encode("utf-8", "backslashreplace"))
        if not parts:
            return body
        out = joined([*self._taken(parts), *self._closed(Finish.UNKNOWN)])
        return body if out == parts else self.write_document(body, out)


def joined(parts: list[Part]) -> list[Part]:
    """The parts, with a text that was cut joined again if all of it is here."""
    out: list[Part] = []
    for part in parts:
        last = out[-1] if out else None
        whole = part.piece_of if isinstance(part, Text) else None
        if whole is not None and isinstance(part, Text) and isinstance(last, Text) and last.piece_of is whole:
            text = last.text + part.text
            piece = Text(text, part.slot, part.body, choice=part.choice, piece_of=whole)
            out[-1] = whole if text == whole.text else piece
        else:
            out.append(part)
    return out
