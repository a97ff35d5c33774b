"""What an event says, in the words that every protocol shares: text, thoughts, calls, the reason to stop.

A protocol's `read` turns each event into parts, and `answer.py` decides which of them go to the client, and when. A
part remembers the event that it came in, so that an event all of whose parts go unchanged leaves as its own bytes.
All others are written anew, part by part: `body` is the piece of the upstream's JSON that belongs to the part, and
only the protocol itself looks into it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .mend.finish import Finish
from .outcome import Outcome

Json = dict[str, Any]

Slot = Any
"""Where a text or a call arrives: an index, a block, an item; None if the event does not say."""


@dataclass(slots=True, eq=False)
class SourceEvent:
    """The event that parts came in: its bytes, and all of its parts in order."""

    raw: bytes
    parts: list[Part]


@dataclass(slots=True, eq=False, kw_only=True)
class _InAnswer:
    """`choice`: which of several answers a part belongs to; `source`: the event that it came in."""

    choice: Any = None
    source: SourceEvent | None = None


@dataclass(slots=True, eq=False)
class Text(_InAnswer):
    """Text of the answer. It is searched for calls. `piece_of`: the text that it was cut from."""

    text: str
    slot: Slot = None
    body: Json = field(default_factory=dict)
    piece_of: Text | None = None


@dataclass(slots=True, eq=False)
class Thought(_InAnswer):
    """Reasoning. It passes at once; only its end is looked at, if the answer has nothing else."""

    text: str
    slot: Slot = None
    body: Json = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Other(_InAnswer):
    """Anything else for the client: a citation, an image, usage. It is not searched."""

    slot: Slot = None
    body: Json = field(default_factory=dict)
    shown: str | None = ""
    """Text in it that the client sees: no call, but it may quote one. None: text in a form that cannot be read."""
    refusal: bool = False
    """The model refuses to answer: nothing in its text is a call."""
    quiet: bool = False
    """It says nothing about the answer, so what waits for the end goes on waiting. A document can do without it."""
    waits: bool = False
    """It goes behind what waits, which goes on waiting: a signature, what an event says about the whole answer."""
    of_text: bool = False
    """It waits only as long as the text of its event: the log probabilities of its tokens."""
    begins: bool = False
    """A block or an item begins that is no call: the text and the calls before it are over. It may stay empty."""
    ends: bool = False
    """The block or the item at this slot ends: this goes behind its text, and no sooner."""


@dataclass(slots=True, eq=False)
class Fragment(_InAnswer):
    """What one event says about one call: a piece of its arguments, its beginning, its end, or all of it."""

    slot: Slot = None
    """Where it belongs: its index or its block."""
    id: str = ""
    name: str = ""
    arguments: str = ""
    """A piece of the arguments; all of them, if this is a whole call."""
    item: str = ""
    """The id of its place, in protocols in which that is not the id of the call."""
    begins: bool = False
    """The call begins with an event of its own: this one."""
    ends: bool = False
    """The call ends with an event of its own: this one."""
    given: Any = None
    """All arguments at once, in an event for the beginning or for the end: a text or an object."""
    whole: bool = False
    """It is all of the call: nothing is added to it."""
    partial_args: Any = None
    """Arguments in pieces, each with its path (`partial_args.py`)."""
    again: bool = False
    """It is all of a call, in an event that repeats the answer: `output` in `response.completed`, or a `message` in
    the last chunk of Chat. A call that came in pieces is compared with it; if none did, it is a call of its own."""
    placed: bool = True
    """The event says itself where this belongs; else the reader has filled in what began last."""
    followed: bool = False
    """Something else has begun behind the end: nothing of the call was cut off."""
    refusal: str = ""
    """Why the call must not run, whatever else is said about it."""
    cut: bool = False
    """The event says that the call was cut off, however the answer ended."""
    steps: tuple[str, ...] = ()
    """What had to be done to read it."""
    namespace: str = ""
    """The namespace of the tool, in protocols that have namespaces."""
    body: Json = field(default_factory=dict)
    answer_id: str = ""
    """The id of the answer that it came in."""
    number: int = 0
    """Its position among the fragments of the answer."""

    @property
    def key(self) -> str:
        """The id that tells it from fragments of other calls; ids that differ only in case are the same."""
        return self.item or self.id.casefold()


@dataclass(slots=True, eq=False)
class Stop(_InAnswer):
    """Why the model stopped, in the protocol's word, and what that means for a call that lacks its end."""

    reason: str
    finish: Finish
    body: Json = field(default_factory=dict)
    tokens: int = 0
    """How many tokens the answer has, if the event says so: at the limit of the request it was cut off."""
    failed: bool = False
    """The reason says that the upstream failed: calls that are not complete are dropped."""


@dataclass(slots=True, eq=False)
class Piece(_InAnswer):
    """A call as the client gets it, or a piece of one that goes while it arrives. `number`: the position of the call
    in the answer."""

    number: int
    id: str
    name: str
    arguments: str
    begins: bool = False
    ends: bool = False
    outcome: Outcome | None = None
    """What was decided, if the call is complete: this is all of it, or the last piece."""
    slot: Slot = None
    """Where the call arrives."""
    fragments: Sequence[Fragment] = ()
    """The first and the last that arrived of the call; at its end, all. None, if it was written as text."""
    body: Json = field(default_factory=dict)


Part = Text | Thought | Other | Fragment | Stop | Piece


def read_together(raw: bytes, parts: list[Part]) -> list[Part]:
    """The parts of one event, which remember it."""
    source = SourceEvent(raw, parts)
    for part in parts:
        part.source = source
    return parts
