"""The fast path of one answer: events of a learnt template go to a receiver instead of being read.

When a dialect has read an event that passes or is held as a whole, it may say what later events of the same template
mean: a lesson. Whatever is read next replaces the lesson or ends it, so a receiver only ever sees the events that
directly follow the one it was given for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from ..wire.events import PASS, Hold, Pass
from .template import Template, decoded

PATIENCE: Final = 32
"""After so many templates that no event repeated, no more are learnt: this server varies its events."""


class Receiver(Protocol):
    """Who is told the string of an event that is not read."""

    def receive(self, literal: bytes, raw: bytes) -> Pass | Hold | None:
        """Take the inside of a JSON string: its event passes or is held. None: the event has to be read."""


class Lesson(NamedTuple):
    """What an event that was read says about those that differ from it only in the string under `key`."""

    key: str
    value: str
    receiver: Receiver


class FastPath:
    __slots__ = ("_key", "_receiver", "_template", "_unrepeated")

    def __init__(self) -> None:
        self._key = ""
        self._template: Template | None = None
        self._receiver: Receiver | None = None
        self._unrepeated = 0
        """Templates that were learnt since an event repeated one."""

    def take(self, raw: bytes) -> Pass | Hold | None:
        """What becomes of one event, if that is known without reading it. Several events match no template."""
        receiver, template = self._receiver, self._template
        if receiver is None or template is None:
            return None
        literal = template.match(raw)
        if literal is None:
            return None
        self._unrepeated = 0
        return receiver.receive(literal, raw)

    def learn(self, raw: bytes, lesson: Lesson | None) -> None:
        """An event was read. Without a lesson the next one is read too."""
        self._receiver = None
        if lesson is None:
            return
        known = self._template if self._key == lesson.key else None
        if known is None or known.match(raw) is None:
            if self._unrepeated >= PATIENCE:
                return
            self._unrepeated += 1
            self._key = lesson.key
            self._template = Template.learn(raw, lesson.key, lesson.value)
        self._receiver = lesson.receiver


class PassingText:
    """Receives text that nobody searches."""

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
