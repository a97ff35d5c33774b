"""The history of a Responses request: the items of `input`, over HTTP and as frames of a WebSocket.

Every call item has its output item behind it, and every output its call. If the server keeps the history
(`previous_response_id`, `conversation`, `item_reference`), an output without its call is correct, and only reasoning
without its item is removed. A call is never separated from the reasoning item before it. Free text is never examined:
a `custom_tool_call` has no JSON.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from itertools import chain
from typing import Any

from ..mend.strict import read
from .change import Change
from .given_back import GivenBack
from .history import CANCELLED, History, Json, PastCall, PastResult, Said, Turn, same, text, text_of
from .pairs import Batch, Placed, kept_as_text, pair

_OUTPUT = "_output"
OUTPUTS = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}
"""Calls that the client runs and answers with text. For other calls (screenshot, shell) no result can be made up."""
_KINDS = frozenset((*OUTPUTS, *OUTPUTS.values()))
_SERVER_STATE = ("previous_response_id", "conversation")


def kept_by_server(request: Json) -> bool:
    return any(request.get(key) for key in _SERVER_STATE)


class ResponsesHistory(History):
    list_key = "input"
    id_key = result_id = "call_id"
    content = "output"
    part = "input_text"

    def read(self) -> None:
        turn = Turn([], [], [], [])
        reasoned = False
        ids: list[Any] = []
        for item in self.entries:
            if type(item) is not dict:
                self.plain = False
                continue
            kind, identity = item.get("type"), item.get("call_id")
            if "id" in item:
                ids.append(item["id"])
            if reasoned and not (kind == "reasoning" or _is_of_model(item)):
                self.odd = True
            reasoned = kind == "reasoning"
            if type(kind) is not str or (type(identity) is not str and kind != "function_call"):
                if not reasoned:
                    turn.spoken = True
                    turn = Turn([], [], [], [])
                continue
            if kind not in _KINDS:
                self.odd = True
            if kind.endswith(_OUTPUT):
                if not (turn.calls or turn.results):
                    self.turns.append(turn)
                turn.results.append(PastResult(text(identity), item, item, self.entries))
                continue
            if turn.results:
                turn = Turn([], [], [], [])
            if not turn.calls:
                self.turns.append(turn)
            turn.calls.append(self._call(item, kind))
        called = [call.id for turn in self.turns for call in turn.calls]
        known = [one for one in ids if isinstance(one, str) and one]
        repeated = len(set(called)) < len(called) or len(set(known)) < len(known)
        self.odd = self.odd or reasoned or repeated or not all(map(self.is_paired, self.turns))

    def _call(self, item: Json, kind: str) -> PastCall:
        key = "arguments" if kind == "function_call" else ""
        return PastCall(text(item.get("call_id")), item, item, key, self.entries)

    # Reasoning

    def said(self) -> list[Said]:
        found: list[Said] = []
        turn: Said | None = None
        for number, item in enumerate(() if kept_by_server(self.request) else self.entries):
            if type(item) is not dict:
                continue
            kind, role = str(item.get("type")), item.get("role")
            if kind.endswith(_OUTPUT):
                turn = None
                result = PastResult(text(item.get("call_id")), item, item, self.entries)
                found.append(Said(number, "results", item.get("output"), [], [result]))
            elif role is not None and role != "assistant":
                turn = None
                if role == "user":
                    found.append(Said(number, "user", item.get("content")))
            else:
                if turn is None:
                    turn = Said(number, "model", [])
                    found.append(turn)
                self._add_item(item, kind, number, turn)
        return found

    def _add_item(self, item: Json, kind: str, number: int, turn: Said) -> None:
        """Add an item that the model made to its turn."""
        if kind in ("reasoning", "item_reference", "None"):
            # A reference, whose type may be omitted, may refer to the reasoning.
            turn.reasons = True
        elif kind in OUTPUTS:
            if not turn.calls:
                turn.number = number
            turn.calls.append(self._call(item, kind))
            # A call without a server's id needs no reasoning.
            turn.reasons = turn.reasons or not item.get("id")
        else:
            turn.content.append(text_of(item.get("content")))

    def give_back(self, said: Said, back: GivenBack, change: Change) -> None:
        change.count("reasoning given back")
        self.entries[said.number : said.number] = map(read, back.blocks)

    # Pairs

    def arrange(self, change: Change) -> None:
        known = kept_by_server(self.request) or any(map(is_reference, self.entries))
        order = self.entries if known else self._in_pairs(change)
        self.entries[:] = _without_left_reasoning(order, change)

    def _in_pairs(self, change: Change) -> list[Json]:
        """The items in their new order: every output behind its call, and what is missing."""
        copies = self._copies(change)
        change.count("repeated call", len(copies))
        batches = self._batches(copies, change)
        pairing = pair(*batches, change)
        gone = {id(one.result.entry) for one in pairing.leaving}
        orphans = {id(one.result.entry): one for one in pairing.orphans}
        with_calls = {id(batch.turn.calls[0].entry): batch for batch in batches[0] if batch.keys}
        order: list[Json] = []
        reasoning: list[Json] = []
        """Reasoning that waits for its item: nothing may come between the two."""
        waiting: list[Json] = []
        gone_behind = False
        """What stood behind that reasoning is removed."""
        known: dict[str, Json] = {}
        for item in self.entries:
            if waiting and not (text(item.get("type")) and isinstance(item.get("call_id"), str)):
                # Nothing is inserted within a row of calls and outputs.
                order += reasoning + waiting
                reasoning, waiting = [], []
            if id(item) in copies:
                gone_behind = bool(reasoning)
                continue
            if _is_double(item, known):
                gone_behind = bool(reasoning) and item.get("type") != "reasoning"
                change.count("repeated message")
            elif id(item) in orphans:
                gone_behind = bool(reasoning)
                order += _as_text(orphans[id(item)])
            elif item.get("type") == "reasoning":
                if gone_behind:
                    change.count("reasoning without its item", len(reasoning))
                    reasoning, gone_behind = [], False
                reasoning.append(item)
            elif id(item) not in gone:
                order += [*reasoning, item]
                reasoning, gone_behind = [], False
            batch = with_calls.get(id(item))
            if batch is not None:
                waiting += [late.result.entry for late in batch.late]
                kind = OUTPUTS[item["type"]]
                waiting += [{"type": kind, "call_id": call, "output": CANCELLED} for call in batch.missing]
        return order + reasoning + waiting

    def _batches(self, copies: set[int], change: Change) -> tuple[list[Batch], set[str]]:
        """Every call with the first output of its id behind it, and the ids that are unclear."""
        strays = Batch(Turn([], [], [], []), [], [])
        batches = [strays]
        open_calls: dict[str, deque[Batch]] = defaultdict(deque)
        called: Counter[str] = Counter()
        unclear: set[str] = set()
        entries: Iterator[PastCall | PastResult] = chain.from_iterable(
            (*turn.calls, *turn.results) for turn in self.turns
        )
        for entry in entries:
            kind = entry.entry["type"]
            if id(entry.entry) in copies or not entry.id:
                continue
            if isinstance(entry, PastResult):
                if kind in OUTPUTS.values():
                    calls = open_calls[entry.id]
                    batch = calls.popleft() if calls else strays
                    batch.results.append(Placed(entry, entry.id, self.words_of(entry)))
            elif kind in OUTPUTS and change.touches(entry.name):
                called[entry.id] += 1
                batches.append(Batch(Turn([entry], [], [], []), [entry.id], []))
                open_calls[entry.id].append(batches[-1])
            else:
                unclear.add(entry.id)
        answered = Counter(one.key for batch in batches for one in batch.results)
        unclear.update(identity for identity, times in called.items() if times > 1 and times != answered[identity])
        return [batch for batch in batches if not unclear.intersection(batch.keys)], unclear

    def _copies(self, change: Change) -> set[int]:
        """The call items that repeat another one, so that only one stays, if possible the one behind reasoning.

        Copies that have an output each all stay, and so do those whose id toolfix restored: some hosts give one id
        to several calls, and accept them.
        """
        items: dict[str, list[tuple[int, Json]]] = defaultdict(list)
        answers: dict[str, list[int]] = defaultdict(list)
        reasoned: set[int] = set()
        restored = change.ids_given_back()
        behind_reasoning = False
        for number, item in enumerate(self.entries):
            kind, identity = str(item.get("type")), text(item.get("call_id"))
            if kind not in OUTPUTS:
                behind_reasoning = kind == "reasoning"
            elif behind_reasoning:
                reasoned.add(id(item))
            if identity and identity not in restored:
                if kind in OUTPUTS.values():
                    answers[identity].append(number)
                else:
                    items[identity].append((number, item))
        copies: set[int] = set()
        for identity, alike in items.items():
            calls = [item for _, item in alike]
            answered = [number for number, _ in alike]
            if len(alike) > 1 and not _each_is_answered(answered, answers[identity]) and _are_copies(calls, change):
                kept = next((item for item in calls if id(item) in reasoned), calls[0])
                copies.update(id(item) for item in calls if item is not kept)
        return copies


def is_reference(item: Json) -> bool:
    """Whether this refers to an item that the server keeps. The type of a reference may be omitted."""
    return item.get("type") in ("item_reference", None) and "role" not in item


def _is_of_model(item: Json) -> bool:
    """Whether the model made this item."""
    if item.get("role") is not None:
        return bool(item["role"] == "assistant")
    return is_reference(item) or (isinstance(item.get("type"), str) and not item["type"].endswith(_OUTPUT))


def _are_copies(calls: list[Json], change: Change) -> bool:
    contents = [{key: value for key, value in call.items() if key not in ("id", "status")} for call in calls]
    ours = all(str(call.get("type")) in OUTPUTS and change.touches(call.get("name")) for call in calls)
    return ours and all(same(contents[0], other) for other in contents[1:])


def _each_is_answered(calls: list[int], answers: list[int]) -> bool:
    return len(calls) == len(answers) and all(call < answer for call, answer in zip(calls, answers, strict=True))


def _is_double(item: Json, known: dict[str, Json]) -> bool:
    """Whether this item has a server's id and repeats an earlier item. `known`: the earlier items by id."""
    identity = text(item.get("id"))
    first = known.setdefault(identity, item) if identity else item
    return first is not item and same(item, first)


def _as_text(orphan: Placed) -> list[Json]:
    words = kept_as_text([orphan])
    part = {"type": "input_text", "text": words}
    return [{"type": "message", "role": "user", "content": [part]}] if words else []


def _without_left_reasoning(order: list[Json], change: Change) -> list[Json]:
    """The order without reasoning items whose call or message is gone: servers reject them."""
    kept: list[Json] = []
    followed = False
    """The next item is one that the model made."""
    for item in reversed(order):
        reasoning = item.get("type") == "reasoning"
        if reasoning and not followed and str(item.get("id")).startswith("rs_"):
            change.count("reasoning without its item")
            continue
        followed = followed if reasoning else _is_of_model(item)
        kept.append(item)
    return kept[::-1]
