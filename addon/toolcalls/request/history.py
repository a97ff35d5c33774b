"""A request's history as turns: calls of the model, and the results that follow them. One view for every protocol.

The view holds the objects of the decoded request, so what a pass sets on a call or a result is set in the request.
How a protocol writes them is told by its subclass: `messages.py`, `responses.py`.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

from ..ids import restore
from ..mend.strict import read
from .answered import FIELDS, NO_REASONING, THINKING, GivenBack

if TYPE_CHECKING:
    from .calls import Change

Json = dict[str, Any]

LISTS = ("messages", "input", "contents")
"""Where a request has its messages or items; one list by protocol."""
CREATE = "response.create"
"""The type of a frame with a request."""
CANCELLED = (
    "[toolfix] This call has no result: it was cancelled, or its result was lost. "
    "Nobody knows whether it ran; look before you send it again."
)
"""The result of a call that has none."""
LATE = "[toolfix] A result stood here: it is with its call further up, or its call is gone."
LOST = "[toolfix] The result of a call that is no longer part of this conversation"
BETWEEN = "\n\n"
"""Between the words of a message and those that are added."""
SERVER_CALLS = "srvtoolu_"
"""How Anthropic's ids of calls begin that the host runs and answers itself; gateways keep them over Chat."""
_NOT_COMPARED = ("id", "call_id", "status", "cache_control")


@dataclass(slots=True, eq=False)
class Past:
    id: str
    """The id of the call, as the client sent it; empty if there is none."""
    entry: Json
    """What a list of the request contains."""
    body: Json
    """Where the name and the arguments are, or the id and the content of a result."""
    home: Json
    """The message that contains the entry, or the item that it is."""
    pair: str = field(init=False)
    """What a call has in common with its result: the id, or what tells it apart in its turn; empty if unknown."""

    def __post_init__(self) -> None:
        self.pair = self.id


@dataclass(slots=True, eq=False)
class PastCall(Past):
    key: str
    """The key of the arguments; empty if they are of a kind that is not mended."""
    takes_result: bool = True
    """The client answers it with a result of the usual kind, which can be made up."""
    behind_reasoning: bool = False
    """Its reasoning is the item before it, or before the calls before it."""
    result: PastResult | None = None
    """The result in its position, once that is known."""
    left: bool = False
    """It gets no result: nobody knows which one is its, or its tool is not mended."""

    @property
    def name(self) -> Any:
        return self.body.get("name")

    @property
    def arguments(self) -> Any:
        return self.body.get(self.key)

    @property
    def compared(self) -> Json:
        """What it has in common with a copy of it."""
        return {key: value for key, value in self.body.items() if key not in _NOT_COMPARED}


@dataclass(slots=True, eq=False)
class PastResult(Past):
    place: Json
    """The object that has its words, under the `key`."""
    key: str
    turn: Turn = field(init=False)
    call: PastCall | None = None
    """The last call before it that has its id."""
    displaced: bool = False
    """It is behind words, which some hosts reject."""

    @property
    def content(self) -> Any:
        return self.place.get(self.key)

    @property
    def words(self) -> str:
        return text_of(self.content)


@dataclass(slots=True, eq=False)
class Said:
    """One message of a history, or one item of it."""

    number: int
    entry: Json
    role: str
    """`model`, `user`, `results`, or empty for an item that has nothing to do with reasoning."""
    content: Any
    calls: list[PastCall] = field(default_factory=list)
    results: list[PastResult] = field(default_factory=list)
    speaks: bool = True
    """It has words, or anything else that is neither a call nor a result."""

    @property
    def words(self) -> str:
        return text_of(self.content)


@dataclass(slots=True, eq=False)
class Turn:
    """Calls without anything between them, and the results behind them. No calls: results in a wrong position."""

    end: Json
    """The last entry with a call, or with a result of one: a result that is missing belongs behind it."""
    home: Json
    """The message that contains the end, or the item that it is."""
    calls: list[PastCall] = field(default_factory=list)
    results: list[PastResult] = field(default_factory=list)
    spoken: bool = False
    """Words follow: of the user, or of the model without a call."""
    answered: bool = False
    """Words of the user follow, so further results are displaced."""
    left: bool = False
    """Its calls get no results."""


class History(ABC):
    """The history of one request. Reading changes nothing."""

    list_key: ClassVar[str] = "messages"
    model: ClassVar[str] = "assistant"
    """The role of the model."""
    inside: ClassVar[str] = "content"
    """The key of the list in an entry that calls are in."""
    id_key: ClassVar[str] = "id"
    result_id: ClassVar[str] = "tool_call_id"
    """The key of a call's id in its result."""
    part: ClassVar[str] = "text"
    """The type of a text in a list of parts."""
    turn_is_message: ClassVar[bool] = False
    """Whether a turn has its calls in one message. If not, what the model says in a row is one turn."""
    results_anywhere: ClassVar[bool] = False
    """Whether a result may stand anywhere behind its call, and not only directly behind its turn."""
    writes_arguments: ClassVar[bool] = True
    """Whether arguments are an object written as a string."""
    has_ids: ClassVar[bool] = True
    """Whether calls and results belong together by their ids; Gemini and Ollama go by the position."""
    by_number: ClassVar[bool] = False
    """Whether the host only counts the calls and the results of a turn; then a result is an object and no text."""
    signatures: ClassVar[tuple[str, ...]] = ()
    """The keys of the signature of a call: as it is given back, and in other spellings."""

    def __init__(self, request: Json) -> None:
        self.request = request = inner(request)
        listed = request.get(self.list_key)
        self.entries: list[Any] = listed if isinstance(listed, list) else []
        self.read()

    # Reading

    def read(self) -> None:
        """Find the messages and the turns; again after entries were added, moved or removed."""
        self.messages: list[Said] = []
        self.turns: list[Turn] = []
        self.as_expected = True
        """Every entry has the form that the protocol wants, so entries may be moved."""
        known: dict[str, PastCall] = {}
        turn: Turn | None = None
        of_model = False
        for number, entry in enumerate(self.entries):
            if type(entry) is not dict:
                self.as_expected = False
                continue
            said = self.read_message(number, entry)
            self.messages.append(said)
            before, of_model = of_model, said.role == "model" or bool(said.calls)
            if of_model and (self.turn_is_message or not before):
                turn = None
            if turn is None and (said.calls or said.results):
                turn = Turn(entry, entry)
                self.turns.append(turn)
            if turn is not None:
                self._add(said, turn, known)
            if self.results_anywhere and said.role == "model" and not said.calls:
                turn = None
            if self.turns and said.speaks and not said.calls:
                self.turns[-1].spoken = True
                if self.turn_is_message:
                    turn = None

    def _add(self, said: Said, turn: Turn, known: dict[str, PastCall]) -> None:
        """Add what a message says to its turn. `known`: the calls so far, by their ids."""
        turn.calls += said.calls
        turn.results += said.results
        for call in said.calls:
            known[call.id] = call
        for result in said.results:
            result.turn, result.call = turn, known.get(result.id)
            result.displaced = result.displaced or turn.answered
        if said.calls or (said.role == "model" and not self.results_anywhere):
            turn.end = turn.home = said.entry
        elif said.speaks and said.role != "model":
            turn.answered = True

    @abstractmethod
    def read_message(self, number: int, message: Json) -> Said:
        """What a message or an item says, its calls and its results."""

    # Reasoning

    def host_id(self, identity: str) -> str:
        """The id that the host gave to a call, whether or not the client knows it as an id of ours; or none."""
        return restore(identity) or identity if self.has_ids else ""

    @property
    def conversation(self) -> list[Said]:
        """The messages that have to do with reasoning; none if the server keeps the history."""
        return self.messages

    def is_whole(self, said: Said) -> bool:
        """Whether the client sends the reasoning of a message of the model itself, or none can be missing."""
        thinks = any(block.get("type") in THINKING for block in objects_in(said.content))
        return thinks or any(said.entry.get(key) is not None for key in (*FIELDS, "reasoning_opaque"))

    def is_signed(self, call: PastCall) -> bool:
        """Whether the client sends the signature that the host gave to a call."""
        return any(call.entry.get(key) for key in self.signatures)

    def give_back(self, said: Said, back: GivenBack, change: Change) -> None:
        """Write what the host gets back of its earlier answer."""
        for key, words in back.fields.items():
            change.count("empty reasoning" if words == NO_REASONING else "reasoning given back")
            said.entry[key] = read(words)
        for number, signature in back.extras.items():
            change.count("signature given back")
            said.calls[int(number)].entry[self.signatures[0]] = read(signature)
        if back.blocks:
            change.count("reasoning given back")
            self.put_before(said, [*map(read, back.blocks)])

    def put_before(self, said: Said, blocks: list[Json]) -> None:
        """Put blocks or items of reasoning before everything else of a message."""
        own = said.content if isinstance(said.content, list) else [{"type": "text", "text": said.content}]
        said.entry[self.inside] = [*blocks, *own]

    # Calls and results in pairs

    def is_complete(self) -> bool:
        """Whether the request has the whole history, and its host wants a result for every call."""
        return True

    def is_paired(self, turn: Turn) -> bool:
        """Whether every call of a turn has its result, and every result its call."""
        if self.by_number:
            return len(turn.calls) == len(turn.results)
        called, answered = [call.id for call in turn.calls], [result.id for result in turn.results]
        return "" not in called and (called == answered or sorted(called) == sorted(answered))

    def repeated(self, change: Change) -> list[Json]:
        """The entries that have the server's id of an earlier one, and are the same."""
        return []

    # Writing

    def set_id(self, call: PastCall, identity: str) -> None:
        call.id = call.pair = call.entry[self.id_key] = identity

    def tidy(self, change: Change) -> None:  # noqa: B027
        """Remove what the host rejects wherever it is: what is empty, or reasoning of which the rest is gone."""

    def give_own_ids(self, change: Change) -> None:  # noqa: B027
        """Give different calls different ids, if the host wants that."""

    def cancelled(self, call: PastCall) -> Json:
        """The result that says that a call has none."""
        return {"role": "tool", "tool_call_id": call.pair, "content": CANCELLED}

    def can_stand_alone(self, entry: Any) -> bool:
        """Whether a message may have nothing but this call or block."""
        return True

    def rewrite(self, gone: Set[int], behind: Mapping[int, list[Json]], words: Mapping[int, list[str]]) -> None:
        """Write the entries without those that are gone, and with results and words of the user behind some of them.

        Each by the identity of the entry: for words that of a message or an item.
        """
        order: list[Json] = []
        said: list[str] = []
        """Words for which there was no place yet."""
        gap = False
        for message in [*self.entries, {}]:
            written = self.written(message, gone, behind) if message else [message]
            # Not before results: some hosts reject words of the user in front of them.
            if written and (gap or said) and written[0].get("role") not in ("tool", "function"):
                self.fill(order, BETWEEN.join(said), written[0])
                gap, said = False, []
            order += written
            # No result is missing where a copy of a message of the model stood.
            gap = gap or (not written and (self.results_anywhere or message.get("role") != self.model))
            said += words.get(id(message), ())
        self.entries[:] = order[:-1]

    def written(self, message: Json, gone: Set[int], behind: Mapping[int, list[Json]]) -> list[Json]:
        """A message without what is gone, if anything is left, and the results behind it."""
        parts, added = message.get(self.inside), self.answers(behind.get(id(message), []))
        if id(message) in gone:
            return added
        if isinstance(parts, list):
            left: list[Json] = []
            for part in parts:
                left += [] if id(part) in gone else [part]
                left += behind.get(id(part), [])
            if len(left) < len(parts) and not any(map(self.can_stand_alone, left)):
                return added
            parts[:] = left
        return [message, *added]

    def answers(self, results: list[Json]) -> list[Json]:
        """The messages of results, or the items that they are."""
        return results

    @abstractmethod
    def fill(self, order: list[Json], words: str, following: Json) -> None:
        """Put words of the user behind `order`; without any, `LATE` if no host takes that nothing stands there.

        `following`: the next message, empty at the end.
        """


def same(one: object, other: object) -> bool:
    """Whether two values are the same JSON: true is not 1, and the order counts. Unequal values are not written."""
    return one == other and json.dumps(one) == json.dumps(other)


def text_of(content: Any) -> str:
    """The words of a content: a text, or the texts of its parts without thoughts; of anything else its JSON text."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return "" if content is None else json.dumps(content, ensure_ascii=False)
    parts = (part for part in content if not (isinstance(part, dict) and part.get("thought")))
    texts = (part.get("text") if isinstance(part, dict) else part for part in parts)
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
    """The request itself: with a Google login, or in a frame of a WebSocket, it is inside another object."""
    framed = request.get("type") == CREATE
    inside = request.get("response" if framed else "request")
    return inside if isinstance(inside, dict) and (framed or "contents" in inside) else request


def used_ids(request: Json) -> frozenset[str]:
    """The ids in a request of any protocol, as the client wrote them: a new call must not get one of them again."""
    found: list[Any] = []
    for entry in chain.from_iterable(objects_in(request.get(key)) for key in LISTS):
        found.append(entry.get("call_id"))
        for parts in (entry.get("tool_calls"), entry.get("content"), entry.get("parts")):
            if type(parts) is list:
                found += [one.get("functionCall", one) for one in parts if type(one) is dict]
    ids = [one.get("id") if type(one) is dict else one for one in found]
    return frozenset(one for one in ids if type(one) is str and one)


def objects_in(entries: object) -> list[Json]:
    """The objects in a list; none if it is no list."""
    return [entry for entry in entries if type(entry) is dict] if type(entries) is list else []


def object_under(value: Json, *keys: str) -> Json | None:
    """The object under one of these keys: Gemini's JSON has two spellings for each."""
    return next((value[key] for key in keys if isinstance(value.get(key), dict)), None)
