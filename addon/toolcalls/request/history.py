"""A request's history as turns: calls of the model, and the results that follow them. One view for every protocol.

The view holds the objects of the decoded request, so what a pass sets on a call or a result is set in the request.
How a protocol writes them is told by its subclass: `chat.py`, `blocks.py`, `responses.py`.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from .answered import GivenBack
    from .change import Change
    from .pairs import Placed

Json = dict[str, Any]

CANCELLED = (
    "[toolfix] This call has no result: it was cancelled, or its result was lost. "
    "Nobody knows whether it ran; look before you send it again."
)
"""The result of a call that has none."""
BETWEEN = "\n\n"
"""Between the words of a message and those that are added."""
_NOT_COMPARED = ("id", "call_id", "status", "cache_control")


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

    @property
    def content(self) -> Json:
        """What it has in common with a copy of it."""
        return {key: value for key, value in self.body.items() if key not in _NOT_COMPARED}


@dataclass(slots=True, eq=False)
class PastResult:
    id: str
    """The id of the call that it answers, as the client sent it; empty if there is none."""
    entry: Json
    body: Json
    """Where the id and the content are."""
    displaced: bool = False
    """It is behind words, which some hosts reject."""


@dataclass(slots=True, eq=False)
class Said:
    """One message of a history, or one item of it."""

    number: int
    """Its number in the request."""
    role: str
    """`model`, `user`, or `results` for anything else."""
    content: Any
    calls: list[PastCall]
    results: list[PastResult]
    speaks: bool = True
    """It has words, or anything else that is neither a call nor a result."""
    reasons: bool = False
    """The client sends the reasoning itself, or none can be missing; set from `History.reasons` when it is needed."""


@dataclass(slots=True, eq=False)
class Turn:
    """Calls without anything between them, and the results behind them. No calls: results in a wrong position."""

    calls: list[PastCall]
    results: list[PastResult]
    messages: list[Json]
    """The messages with the calls, if calls are parts of messages."""
    end: Json | None = None
    """The last entry of the row of calls and results: a result that is missing belongs behind it."""
    spoken: bool = False
    """Words follow: of the user, or of the model without a call."""
    answered: bool = False
    """Words of the user follow, so further results are displaced."""


class History(ABC):
    """The history of one request. Reading changes nothing."""

    list_key: ClassVar[str] = "messages"
    inside: ClassVar[str] = "content"
    """The key of the list in an entry that calls are in."""
    model: ClassVar[str] = "assistant"
    """The role of the model."""
    id_key: ClassVar[str] = "id"
    """The key of a call's id; `result_id` is that of the id in its result."""
    result_id: ClassVar[str] = "tool_call_id"
    content: ClassVar[str] = "content"
    """The key of a result's words."""
    part: ClassVar[str] = "text"
    """The type of a text in a list of parts."""
    ids_span_turns: ClassVar[bool] = True
    """Whether an id names one call of the whole history, and not only of its turn."""
    gives_ids: ClassVar[bool] = False
    """Whether calls with one id get ids of their own."""
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
        self.loose: list[PastCall] = []
        """Calls of the old form, which have no ids."""
        self.plain = True
        """Every entry has the expected form, so entries may be moved."""
        self.reasoned: set[int] = set()
        """The calls behind their reasoning, by the identity of their entries."""
        self.empty = False
        """Some message has a part that is empty, which hosts reject."""
        self.read()
        self.odd = not all(map(self.is_paired, self.turns)) or self.has_oddities()
        """Something may have to be moved, added or removed. If not, there is nothing to arrange."""

    @abstractmethod
    def read(self) -> None:
        """Find the turns."""

    @abstractmethod
    def said(self) -> list[Said]:
        """The messages, in their order; none if the server keeps the history."""

    def has_oddities(self) -> bool:
        """Whether there is anything else that this host rejects, besides calls and results without each other."""
        return False

    # Reasoning

    def reasons(self, said: Said) -> bool:
        """Whether the client sends the reasoning of a message itself, or none can be missing."""
        return said.reasons

    @abstractmethod
    def give_back(self, said: Said, back: GivenBack, change: Change) -> None:
        """Write what the host gets back of its earlier answer."""

    def is_signed(self, call: PastCall) -> bool:
        """Whether the client sends the signature that the host gave to a call."""
        return False

    # Calls and results in pairs

    def drop_empty(self, change: Change) -> None:  # noqa: B027
        """Remove what the host rejects because it is empty."""

    def arrange(self, change: Change) -> None:  # noqa: B027
        """Let every call have its result, and every result its call, where the host wants them."""

    def is_paired(self, turn: Turn) -> bool:
        """Whether every call of a turn has its result, and every result its call."""
        if len(turn.calls) == 1 and len(turn.results) == 1:
            return bool(turn.calls[0].id) and turn.calls[0].id == turn.results[0].id
        called = {call.id for call in turn.calls}
        answered = {result.id for result in turn.results}
        return called == answered and len(called) == len(turn.calls) == len(turn.results) and "" not in called

    def keys(self, turn: Turn) -> tuple[list[str], list[str]]:
        """Keys for the calls of a turn, and for each result the key of the call that it answers; "" if unknown."""
        return [call.id for call in turn.calls], [result.id for result in turn.results]

    def is_clear(self, turn: Turn) -> bool:
        """Whether the calls of this turn may get other results."""
        return True

    def parts(self) -> list[Json]:
        """What is arranged: the entries, or for a message of results its blocks."""
        return self.entries

    def put(self, parts: list[Json], added: Set[int]) -> None:
        """Write the parts in their new order. `added`: which of them are results that were not there before."""
        self.entries[:] = parts

    def cancelled(self, key: str, call: PastCall) -> Json:
        """The result that says that a call has none."""
        return {"role": "tool", "tool_call_id": key, "content": CANCELLED}

    def fill(self, order: list[Json], gone: list[Placed | None], following: Json, change: Change) -> None:  # noqa: B027
        """Put the words of results that are gone, or something else that has to be there, behind `order`.

        `following`: the next entry, empty at the end. Whatever is not taken from `gone` is offered again before the
        entry behind that.
        """

    # Words and ids

    def words_of(self, result: PastResult) -> str:
        return text_of(result.body.get(self.content))

    def words_at(self, result: PastResult) -> tuple[Json, str] | None:
        """The object and the key of a result's words; None if there is no such place."""
        return result.body, self.content

    def set_id(self, call: PastCall, identity: str) -> None:
        call.id = call.entry[self.id_key] = identity


class MessageHistory(History):
    """A history of messages, as opposed to items."""

    turn_is_message: ClassVar[bool] = True
    """Whether a turn has its calls in one message. If not, messages of one role in a row are one turn."""

    def read(self) -> None:
        self._said: list[Said] = []
        turn: Turn | None = None
        of_model = False
        for number, message in enumerate(self.entries):
            if type(message) is not dict:
                self.plain = False
                continue
            said = self.read_message(number, message)
            self._said.append(said)
            before, of_model = of_model, said.role == "model" or bool(said.calls)
            if of_model and (self.turn_is_message or not before):
                turn = None
            if turn is None and (said.calls or said.results):
                turn = Turn([], [], [])
                self.turns.append(turn)
            if turn is not None:
                self._add(said, message, turn, of_model)
            if self.turns and (not said.calls if of_model else said.speaks):
                self.turns[-1].spoken = True
                if self.turn_is_message:
                    turn = None

    def _add(self, said: Said, message: Json, turn: Turn, of_model: bool) -> None:
        """Add the calls or the results of a message to its turn."""
        if of_model:
            turn.end = message
        if said.calls:
            turn.calls += said.calls
            turn.messages.append(message)
        for result in said.results:
            result.displaced = result.displaced or turn.answered
            if not result.displaced:
                turn.end = result.entry
        turn.results += said.results
        turn.answered = turn.answered or (said.speaks and not of_model)

    def said(self) -> list[Said]:
        return self._said

    @abstractmethod
    def read_message(self, number: int, message: Json) -> Said:
        """What a message says, its calls and its results."""

    def can_stand_alone(self, entry: Any) -> bool:
        """Whether a message may have nothing but this call or block."""
        return True


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
    for key, places in (("messages", ("tool_calls", "content")), ("contents", ("parts",)), ("input", ())):
        for entry in objects_in(request.get(key)):
            if not places:
                found.append(entry.get("call_id"))
            for place in places:
                for one in objects_in(entry.get(place)):
                    call = one.get("functionCall", one)
                    found.append(call.get("id") if type(call) is dict else None)
    return frozenset(one for one in found if type(one) is str and one)


def objects_in(entries: object) -> list[Json]:
    """The objects in a list; none if it is no list."""
    return [entry for entry in entries if type(entry) is dict] if type(entries) is list else []
