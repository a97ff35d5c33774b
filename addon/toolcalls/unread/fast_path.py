"""The fast path of one answer: events of a learnt template go to a receiver instead of being parsed.

When a dialect has parsed an event that passes or is held as a whole, it may say what later events of the same
template mean: a lesson. The next event that is parsed replaces the lesson or ends it, so a receiver only gets the
events that directly follow the one it was given for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from ..wire.events import PASS, Hold, Pass
from .template import Template, decoded

PATIENCE: Final = 32
"""After this many templates that no event matched, no more are learnt: this server varies its events."""


class Receiver(Protocol):
    """Takes the one string that varies, from events that are not parsed."""

    def receive(self, literal: bytes, raw: bytes) -> Pass | Hold | None:
        """Take the inside of a JSON string and say whether its event passes or is held; None: parse the event."""


class Lesson(NamedTuple):
    """What a parsed event says about later events that differ from it only in the string under `key`."""

    key: str
    value: str
    receiver: Receiver


class FastPath:
    __slots__ = ("_key", "_learnt", "_template", "_unrepeated")

    def __init__(self) -> None:
        self._key = ""
        self._template: Template | None = None
        """The last template, of the string under `_key`."""
        self._learnt: tuple[Template, Receiver] | None = None
        """What the next event is compared with, and who gets its string."""
        self._unrepeated = 0
        """How many templates were learnt since an event last matched one."""

    def take(self, raw: bytes) -> Pass | Hold | None:
        """The verdict on one event if it is known without parsing, else None. Several events match no template."""
        if self._learnt is None:
            return None
        template, receiver = self._learnt
        literal = template.match(raw)
        if literal is None:
            return None
        self._unrepeated = 0
        verdict = receiver.receive(literal, raw)
        if verdict is None:
            # The event is parsed next; until then its receiver is not asked about it again.
            self._learnt = None
        return verdict

    def learn(self, raw: bytes, lesson: Lesson | None) -> None:
        """Learn from an event that was parsed. Without a lesson the next event is parsed too."""
        self._learnt = None
        if lesson is None:
            return
        template = self._template if self._key == lesson.key else None
        if template is None or template.match(raw) is None:
            if self._unrepeated >= PATIENCE:
                return
            self._unrepeated += 1
            self._key = lesson.key
            template = self._template = Template.learn(raw, lesson.key, lesson.value)
        self._learnt = (template, lesson.receiver) if template is not None else None


class PassingText:
    """Receives text that is not searched for calls."""

    __slots__ = ()

    def receive(self, literal: bytes, raw: bytes) -> Pass:
        return PASS


PASSING_TEXT: Final = PassingText()


class CallFragments(NamedTuple):
    """Receives the arguments of one call, whose events are held."""

    add: Callable[[str], None]
    hold: Hold

    def receive(self, literal: bytes, raw: bytes) -> Hold | None:
        fragment = decoded(literal)
        if fragment is None:
            return None
        self.add(fragment)
        return self.hold
