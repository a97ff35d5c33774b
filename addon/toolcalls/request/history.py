"""A request's history as turns: calls of the model, and the results that follow them. One view for every protocol.

The view holds the objects of the decoded request, so what a pass sets on a call or a result is set in the request.
How a protocol writes them is told by its subclass: `chat.py`, `messages.py`, `gemini.py`, `responses.py`.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar, Literal

if TYPE_CHECKING:
    from .change import Change
    from .given_back import GivenBack

Json = dict[str, Any]

CANCELLED = (
    "[toolfix] This call has no result: it was cancelled, or its result was lost. "
    "Nobody knows whether it ran; look before you send it again."
)
"""The result of a call that has none."""
BETWEEN = "\n\n"
"""Between the words of a message and those that are added."""


@dataclass(slots=True, eq=False)
class PastCall:
    id: str
    """The id that the client sent; empty if there is none."""
    entry: Json
    """What a list of the request contains."""
    body: Json
    """Where the name and the arguments are."""
    key: str
    """The key of the arguments; empty if they are of a kind that is not mended."""
    owner: list[Any]
    """The list that contains the entry."""

    @property
    def name(self) -> Any:
        return self.body.get("name")

    @property
    def given(self) -> Any:
        return self.body.get(self.key)


@dataclass(slots=True, eq=False)
class PastResult:
    id: str
    """The id of the call that it answers, as the client sent it; empty if there is none."""
    entry: Json
    body: Json
    """Where the id and the content are."""
    owner: list[Any]


@dataclass(slots=True, eq=False)
class Said:
    """One message of a history; in Responses, all items of one turn of the model."""

    number: int
    """Its number in the request; for items, that of the first call."""
    role: Literal["user", "model", "results"]
    content: Any = None
    calls: list[PastCall] = field(default_factory=list)
    results: list[PastResult] = field(default_factory=list)
    reasons: bool = False
    """The client itself sends reasoning or a signature with it, or none can be missing."""


@dataclass(slots=True, eq=False)
class Turn:
    """Calls without anything between them, and the results behind them. No calls: results in a wrong position."""

    calls: list[PastCall]
    results: list[PastResult]
    messages: list[Json]
    """The messages with the calls, if calls are parts of messages."""
    behind: list[Json]
    """The user's messages behind the calls, if results are blocks of messages."""
    spoken: bool = False
    """Words follow: of the user, or of the model without a call."""


class History(ABC):
    """The history of one request. Reading changes nothing."""

    list_key: ClassVar[str] = "messages"
    inside: ClassVar[str] = "content"
    """The key of the list in an entry that calls are in."""
    id_key: ClassVar[str] = "id"
    """The key of a call's id; `result_id` is that of the id in its result."""
    result_id: ClassVar[str] = "tool_call_id"
    content: ClassVar[str] = "content"
    """The key of a result's words."""
    part: ClassVar[str] = "text"
    """The type of a text in a list of parts."""
    writes_arguments: ClassVar[bool] = True
    """Whether arguments are an object written as a string."""
    has_ids: ClassVar[bool] = True
    """Whether calls and results belong together by their ids; Gemini and Ollama go by the position."""
    by_number: ClassVar[bool] = False
    """Whether the host only counts the calls and the results of a turn; then a result is an object and no text."""

    def __init__(self, request: Json) -> None:
        self.request = request = inner(request)
        listed = request.get(self.list_key)
        self.entries: list[Any] = listed if isinstance(listed, list) else []
        self.read_again()

    def read_again(self) -> None:
        self.turns: list[Turn] = []
        self.loose: list[Json] = []
        """Calls of the old form, which have no ids."""
        self.plain = True
        """Every entry has the expected form, so entries may be moved."""
        self.odd = False
        """Something may have to be moved, added or removed. If not, there is nothing to arrange."""
        self.read()

    @abstractmethod
    def read(self) -> None:
        """Find the turns."""

    def drop_empty_texts(self, change: Change) -> None:  # noqa: B027
        """Remove blocks that the host rejects because they are empty."""

    def arrange(self, change: Change) -> None:  # noqa: B027
        """Let every call have its result, and every result its call, where the host wants them."""

    @abstractmethod
    def said(self) -> list[Said]:
        """The messages, in their order; none if the server keeps the history."""

    @abstractmethod
    def give_back(self, said: Said, back: GivenBack, change: Change) -> None:
        """Write what the host gets back of its earlier answer."""

    def is_signed(self, call: PastCall) -> bool:
        """Whether the client sends the signature that the host gave to a call."""
        return False

    def keys(self, turn: Turn) -> tuple[list[str], list[str]]:
        """Keys for the calls of a turn, and for each result the key of the call that it answers; "" if unknown."""
        return [call.id for call in turn.calls], [result.id for result in turn.results]

    def is_paired(self, turn: Turn) -> bool:
        """Whether every call of a turn has its result, and every result its call."""
        if len(turn.calls) == 1 and len(turn.results) == 1:
            return bool(turn.calls[0].id) and turn.calls[0].id == turn.results[0].id
        called = {call.id for call in turn.calls}
        answered = {result.id for result in turn.results}
        return called == answered and len(called) == len(turn.calls) == len(turn.results) and "" not in called

    def is_clear(self, turn: Turn) -> bool:
        """Whether the calls of this turn may get other results."""
        return True

    def words_of(self, result: PastResult) -> str:
        return text_of(result.body.get(self.content))

    def set_id(self, call: PastCall, identity: str) -> None:
        call.id = call.entry[self.id_key] = identity

    def words_at(self, result: PastResult) -> tuple[Json, str] | None:
        """The object and the key of a result's words; None if there is no such place."""
        return result.body, self.content


def by_owner(entries: Sequence[Any]) -> Iterator[list[Any]]:
    """The calls or results of one message at a time."""
    if len(entries) < 2 or entries[0].owner is entries[-1].owner:
        return iter((list(entries),))
    return (list(group) for _, group in groupby(entries, lambda entry: id(entry.owner)))


def remove(owner: list[Any], entries: Iterable[Any]) -> None:
    """Take these objects out of their list."""
    gone = set(map(id, entries))
    owner[:] = [entry for entry in owner if id(entry) not in gone]


def same(one: object, other: object) -> bool:
    """Whether two values are the same JSON: true is not 1, and the order counts. Unequal values are not written."""
    return one == other and json.dumps(one) == json.dumps(other)


def text(value: object) -> str:
    return value if isinstance(value, str) else ""


def text_of(content: Any) -> str:
    """The words of a content: a text, or the texts of its parts; of anything else its JSON text."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return "" if content is None else json.dumps(content, ensure_ascii=False)
    texts = (part.get("text") if isinstance(part, dict) else part for part in content)
    return "\n".join(one for one in texts if isinstance(one, str))


def with_words(content: Any, words: str, part: str = "text", *, before: bool = False) -> Any:
    """A content with words added before or behind its own: a text stays a text, and a list gets a part."""
    if not words:
        return content
    if isinstance(content, list):
        added = {"type": part, "text": words}
        return [added, *content] if before else [*content, added]
    own = text_of(content)
    return BETWEEN.join(filter(None, (words, own) if before else (own, words)))


def inner(request: Json) -> Json:
    """The request itself: with a Google login it is inside another one."""
    inside = request.get("request")
    return inside if isinstance(inside, dict) and "contents" in inside else request


def used_ids(request: Json) -> frozenset[str]:
    """The ids in a request of any protocol, as the client wrote them: a new call must not get one of them again."""
    found: list[Any] = []
    for key, inner in (("messages", ("tool_calls", "content")), ("contents", ("parts",)), ("input", ())):
        entries = request.get(key)
        for entry in entries if type(entries) is list else ():
            if type(entry) is not dict:
                continue
            if not inner:
                found.append(entry.get("call_id"))
            for inside in inner:
                calls = entry.get(inside)
                for one in calls if type(calls) is list else ():
                    if type(one) is dict:
                        call = one.get("functionCall", one)
                        found.append(call.get("id") if type(call) is dict else None)
    return frozenset(one for one in found if type(one) is str and one)
