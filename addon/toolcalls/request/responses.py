"""The history of a Responses request: the items of `input`, over HTTP and as frames of a WebSocket.

Every call item has its output item behind it, and every output its call. If the server keeps the history
(`previous_response_id`, `conversation`, `item_reference`), an output without its call is correct, and only reasoning
without its item is removed. A call is never separated from the reasoning item before it. Free text is never examined:
a `custom_tool_call` has no JSON.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from functools import partial
from itertools import chain

from ..mend.strict import read
from .answered import GivenBack
from .change import Change
from .history import (
    CANCELLED,
    History,
    Json,
    PastCall,
    PastResult,
    Said,
    Turn,
    objects_in,
    remove,
    same,
    text,
)
from .pairs import Batch, Batches, Placed, arrange, copies_of, kept_as_text

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
        self._odd = False
        self._rows: dict[int, list[Json]] = {}
        """By each call the calls and outputs of which nothing stands between it and them."""
        turn, row = Turn([], [], []), list[Json]()
        reasoned = behind_reasoning = False
        for item in self.entries:
            if type(item) is not dict:
                self.plain = False
                continue
            kind, identity = text(item.get("type")), item.get("call_id")
            if reasoned and not (kind == "reasoning" or _is_of_model(item)):
                self._odd = True
            reasoned = kind == "reasoning"
            behind_reasoning = reasoned or (behind_reasoning and kind in OUTPUTS)
            if kind != "function_call" and not (kind and type(identity) is str):
                row = []
                if not reasoned:
                    turn.spoken = True
                    turn = Turn([], [], [])
                continue
            row.append(item)
            if kind.endswith(_OUTPUT):
                if not (turn.calls or turn.results):
                    self.turns.append(turn)
                turn.results.append(PastResult(text(identity), item, item))
                continue
            if turn.results:
                turn = Turn([], [], [])
            if not turn.calls:
                self.turns.append(turn)
            turn.calls.append(self._call(item, kind))
            self._rows[id(item)] = row
            if behind_reasoning:
                self.reasoned.add(id(item))
            self._odd = self._odd or kind not in OUTPUTS
        self._odd = self._odd or reasoned

    def _call(self, item: Json, kind: str) -> PastCall:
        key = "arguments" if kind == "function_call" else ""
        return PastCall(text(item.get("call_id")), item, item, key, self.entries)

    def has_oddities(self) -> bool:
        called = [call.id for turn in self.turns for call in turn.calls]
        known = [item["id"] for item in objects_in(self.entries) if text(item.get("id"))]
        return self._odd or len(set(called)) < len(called) or len(set(known)) < len(known)

    # Reasoning

    def said(self) -> list[Said]:
        """The user's messages, the outputs and the calls: no other item gets anything back."""
        found: list[Said] = []
        reasons = False
        """The reasoning of the open turn is here, or may be meant by a reference, whose type may be omitted."""
        calls: list[Said] = []
        """The calls of the open turn, before its reasoning."""
        for number, item in enumerate(() if kept_by_server(self.request) else self.entries):
            if type(item) is not dict:
                continue
            kind, role = text(item.get("type")), item.get("role")
            if not _is_of_model(item):
                reasons, calls = False, []
            elif kind in ("reasoning", "item_reference", ""):
                reasons = True
                for said in calls:
                    said.reasons = True
                calls = []
            if kind.endswith(_OUTPUT):
                result = PastResult(text(item.get("call_id")), item, item)
                found.append(Said(number, "results", item.get("output"), [], [result]))
            elif role == "user":
                found.append(Said(number, "user", item.get("content"), [], []))
            elif kind in OUTPUTS:
                # A call without a server's id needs no reasoning.
                kept = reasons or not item.get("id")
                found.append(Said(number, "model", [], [self._call(item, kind)], [], reasons=kept))
                calls.append(found[-1])
        return found

    def give_back(self, said: Said, back: GivenBack, change: Change) -> None:
        change.count("reasoning given back")
        self.entries[said.number : said.number] = map(read, back.blocks)

    # Pairs

    def arrange(self, change: Change) -> None:
        if not (kept_by_server(self.request) or any(map(is_reference, self.entries))):
            copies = [call.entry for call in copies_of(self, change)]
            doubles = self._doubles(set(map(id, copies)))
            change.count("repeated call", len(copies))
            change.count("repeated message", len(doubles))
            remove(self.entries, [item for item in doubles if item.get("type") == "reasoning"])
            leaving = {id(item) for item in (*copies, *doubles)}
            arrange(self, change, partial(self._batches, leaving), leaving)
        self.entries[:] = _without_left_reasoning(self.entries, change)

    def cancelled(self, key: str, call: PastCall) -> Json:
        return {"type": OUTPUTS[call.entry["type"]], "call_id": key, "output": CANCELLED}

    def fill(self, order: list[Json], gone: list[Placed | None], following: Json, change: Change) -> None:
        """Words come before the reasoning of the next item; reasoning that has lost its item goes."""
        at = len(order)
        if any(one is None or one.lost for one in gone):
            while at and order[at - 1].get("type") == "reasoning":
                at -= 1
        reasoning = order[at:]
        if following.get("type") == "reasoning":
            change.count("reasoning without its item", len(reasoning))
            reasoning = []
        order[at:] = [*(_as_text(one) for one in gone if kept_as_text([one])), *reasoning]
        gone.clear()

    def _batches(self, copies: set[int], change: Change) -> Batches:
        """Every call with the first output of its id behind it, and the ids that are unclear."""
        strays = Batch(Turn([], [], []), [], [])
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
                batches.append(Batch(Turn([entry], [], [], self._rows[id(entry.entry)][-1]), [entry.id], []))
                open_calls[entry.id].append(batches[-1])
            else:
                unclear.add(entry.id)
        answered = Counter(one.key for batch in batches for one in batch.results)
        unclear.update(identity for identity, times in called.items() if times > 1 and times != answered[identity])
        return [batch for batch in batches if not unclear.intersection(batch.keys)], unclear

    def _doubles(self, copies: set[int]) -> list[Json]:
        """The items that have a server's id and repeat an earlier item that stays."""
        first: dict[str, Json] = {}
        items = [item for item in self.entries if text(item.get("id")) and id(item) not in copies]
        return [one for one in items if (before := first.setdefault(one["id"], one)) is not one and same(one, before)]


def is_reference(item: Json) -> bool:
    """Whether this refers to an item that the server keeps. The type of a reference may be omitted."""
    return item.get("type") in ("item_reference", None) and "role" not in item


def _is_of_model(item: Json) -> bool:
    """Whether the model made this item."""
    role = item.get("role")
    return bool(role == "assistant") if role is not None else not text(item.get("type")).endswith(_OUTPUT)


def _as_text(orphan: Placed | None) -> Json:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": kept_as_text([orphan])}]}


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
