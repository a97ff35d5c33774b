"""What an event of an answer says, in words that every protocol has: what a reader makes of it.

Whatever else an event says concerns nobody here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..mend.finish import Finish

Place = int | tuple[int, int] | None
"""An index; `(choice, index)` for calls in a choice that was not asked for; None if there is no index."""


def index_of(value: object) -> int | None:
    """A number that counts something. A bool is none, although Python takes it for 0 or 1."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


@dataclass(slots=True)
class Fragment:
    """What one delta says about one call. Not frozen: that doubles what making one costs."""

    place: Place
    id: str
    name: str
    arguments: str
    extra: dict[str, Any] = field(default_factory=dict)
    whole: bool = False
    """It tells a whole call, in a message that repeats the answer: to be compared, never appended."""
    steps: tuple[str, ...] = ()
    """What had to be done to read it: then its event cannot go out as it came."""
    unfinished: bool = False
    """The upstream said that more of this call follows."""
    doubt: str = ""
    """Why the call must not run, whatever else comes."""
    placed: bool = True
    """False where `place` is only that of the block that began last."""

    @property
    def key(self) -> str:
        """The id as it is compared: one that differs in case only is no other one."""
        return self.id.casefold()

    @property
    def empty(self) -> bool:
        return not (self.id or self.name or self.arguments or self.extra)


@dataclass(slots=True, frozen=True)
class TextDelta:
    """The model speaks: this is searched for calls."""

    text: str
    block: Place = None
    """Where it is said, in protocols whose texts come in blocks."""


@dataclass(slots=True, frozen=True)
class ReasoningDelta:
    """The model thinks. It is no part of the answer, unless the answer is nothing else (`reasoning_search.py`)."""

    text: str
    """Nothing where reasoning is only signed, or encrypted."""
    key: str = ""
    """The key of the JSON string that it is, where an event like it need not be read."""


@dataclass(slots=True, frozen=True)
class OtherDelta:
    """The model says something that is not searched: a citation, an image."""

    refusal: bool = False
    """It refuses to answer: nothing that it says is a call."""
    key: str = ""
    """The key of the JSON string that it is, where an event like it need not be read; `text` is that string."""
    text: str = ""
    block: Place = None
    """Where it is said, in protocols whose texts come in blocks."""
    kind: str = ""
    """The kind of block that it needs; "" where it is said in any."""
    aside: bool = False
    """It is said in another answer: that it follows a call of this one proves nothing."""


@dataclass(slots=True, frozen=True)
class BlockStart:
    """A block that is no call begins."""

    block: Place
    kind: str
    calls: bool = False
    """The server calls a tool of its own in it."""


@dataclass(slots=True, frozen=True)
class BlockEnd:
    """A block ends, or a call that began with an event of its own."""

    block: Place


@dataclass(slots=True, frozen=True)
class CallStart:
    """A call begins with an event of its own; its fragments follow, and then its end."""

    place: Place
    id: str
    name: str
    given: Any = None
    """The arguments, where the beginning tells them."""
    extra: dict[str, Any] = field(default_factory=dict)
    """All that the beginning says."""


@dataclass(slots=True, frozen=True)
class Stop:
    """Why the model stopped: the protocol's word, and what that means for calls that are not closed."""

    reason: str
    finish: Finish
    failed: bool = False
    """The upstream failed, and says so in the place of a reason: what is not complete is dropped."""


@dataclass(slots=True, frozen=True)
class Failure:
    """The upstream failed."""


Part = TextDelta | ReasoningDelta | OtherDelta | BlockStart | BlockEnd | CallStart | Fragment | Stop | Failure


@dataclass(slots=True)
class ReadEvent:
    """An event that was read. Its text, its fragments and its stop are taken from the parts when it is made."""

    raw: bytes
    payload: dict[str, Any]
    parts: list[Part] = field(default_factory=list)
    """In the order in which they are said."""
    has_other_content: bool = False
    """Is there anything besides the parts that the client should get: usage, reasoning, a signature?"""
    moved: bool = False
    """It belongs to another answer than the one that it names: what goes out of it is written anew."""
    text: str = field(init=False)
    fragments: list[Fragment] = field(init=False)
    stop: Stop | None = field(init=False)

    def __post_init__(self) -> None:
        self.text = "".join(part.text for part in self.parts if isinstance(part, TextDelta))
        self.fragments = [part for part in self.parts if isinstance(part, Fragment)]
        self.stop = next((part for part in self.parts if isinstance(part, Stop)), None)
