"""The content of an event in terms that all protocols share: a dialect's reader turns each event into these parts.

Whatever else an event contains does not matter in `turn/`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..mend.finish import Finish

Index = int | tuple[int, int] | None
"""The index at which a call's fragments are gathered; `(choice, index)` in a choice that was not asked for; None if
there is no index."""


def index_of(value: object) -> int | None:
    """The value if it is an index, else None. A bool is no index, although it is an int in Python."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def string_of(value: object) -> str:
    """The value if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def shown_text(value: object) -> str | None:
    """The value as text that the client sees, "" if there is none; None if it is in a form that is not known."""
    return value if isinstance(value, str) else None if value else ""


@dataclass(slots=True)
class Fragment:
    """What one delta says about one call. Not frozen, because that would make creating one twice as slow."""

    index: Index
    id: str
    name: str
    arguments: str
    extra: dict[str, Any] = field(default_factory=dict)
    repeats_answer: bool = False
    """It is a whole call, from a message that repeats the answer: it is compared with the others, never appended."""
    steps: tuple[str, ...] = ()
    """What had to be done to parse it. If anything was, its event cannot be sent as it arrived."""
    unfinished: bool = False
    """The upstream said that more of this call follows."""
    refusal_reason: str = ""
    """Why the call must be refused, whatever else arrives."""
    has_index: bool = True
    """False if the event has no index, and `index` is only that of the block that began last."""

    @property
    def key(self) -> str:
        """The id for comparisons: ids that differ only in case are the same."""
        return self.id.casefold()

    @property
    def empty(self) -> bool:
        return not (self.id or self.name or self.arguments or self.extra)


@dataclass(slots=True, frozen=True)
class TextDelta:
    """Text of the answer. It is searched for calls."""

    text: str
    block: Index = None
    """The index of its block, in protocols that send text in blocks."""


@dataclass(slots=True, frozen=True)
class ReasoningDelta:
    """Reasoning. It is searched for a call only if the answer has nothing else (`reasoning_search.py`)."""

    text: str
    """Empty if the reasoning is encrypted, or this is only a signature."""
    key: str = ""
    """The JSON key of the text, if similar events need not be parsed."""


@dataclass(slots=True, frozen=True)
class OtherDelta:
    """Content that is not searched: a citation, an image, text outside of the protocol's own deltas."""

    refusal: bool = False
    """The model refuses to answer: nothing in its text is a call."""
    key: str = ""
    """The JSON key of its string, if similar events need not be parsed; `text` is that string."""
    text: str = ""
    block: Index = None
    """The index of its block, in protocols that send text in blocks."""
    kind: str = ""
    """The kind of block that it belongs in; "" if any will do."""
    of_other_answer: bool = False
    """It belongs to another answer, so it does not show that this answer went on after a call."""
    shown: str | None = ""
    """Text of the answer that the client sees in it. It is no call, but it may quote what follows. None: there may be
    text in a form that is not known, so nothing that follows is a call."""


@dataclass(slots=True, frozen=True)
class BlockStart:
    """The beginning of a block that is no call."""

    block: Index
    kind: str
    calls: bool = False
    """In this block the server calls a tool of its own."""
    shown: str | None = ""
    """Text that the block begins with (see `OtherDelta`)."""


@dataclass(slots=True, frozen=True)
class BlockEnd:
    """The end of a block, or of a call that began with an event of its own."""

    block: Index


@dataclass(slots=True, frozen=True)
class CallStart:
    """The beginning of a call, as an event of its own; its fragments follow, and then its end."""

    index: Index
    id: str
    name: str
    given: Any = None
    """The arguments, if this event contains them."""
    extra: dict[str, Any] = field(default_factory=dict)
    """Everything that this event contains."""


@dataclass(slots=True, frozen=True)
class Stop:
    """Why the model stopped: the protocol's word, and what it means for incomplete calls."""

    reason: str
    finish: Finish
    failed: bool = False
    """The reason says that the upstream failed: incomplete calls are dropped."""


@dataclass(slots=True, frozen=True)
class Failure:
    """The upstream failed."""


Part = TextDelta | ReasoningDelta | OtherDelta | BlockStart | BlockEnd | CallStart | Fragment | Stop | Failure


@dataclass(slots=True)
class ReadEvent:
    """A parsed event. `text`, `fragments` and `stop` are derived from its parts."""

    raw: bytes
    payload: dict[str, Any]
    parts: list[Part] = field(default_factory=list)
    """In the order in which the event contains them."""
    has_other_content: bool = False
    """Whether the event has more than its parts that the client should get: usage, reasoning, a signature."""
    reassigned: bool = False
    """The event names another answer than the one it is counted to, so whatever is sent of it is written anew."""
    answer_id: str = ""
    """The id of the answer, if the event has it: another one means that the answer begins again."""
    text: str = field(init=False)
    fragments: list[Fragment] = field(init=False)
    stop: Stop | None = field(init=False)

    def __post_init__(self) -> None:
        self.text = "".join(part.text for part in self.parts if isinstance(part, TextDelta))
        self.fragments = [part for part in self.parts if isinstance(part, Fragment)]
        self.stop = next((part for part in self.parts if isinstance(part, Stop)), None)
