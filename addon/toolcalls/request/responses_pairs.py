"""Pairs in a Responses history: every call item has its output item behind it, and every output its call.

If the server keeps the history (`previous_response_id`, `conversation`, `item_reference`), an output without its
call is correct, and nothing is changed. A call is never separated from the reasoning item before it.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import Any

from ..mend.reading.strict import write
from .copied_items import find_copied_items
from .edits import Path
from .pairs import CANCELLED, Batch, PlacedResult, kept_as_text, pair, text_of
from .request_edit import RequestEdit, same

Json = dict[str, Any]
_OUTPUT = "_output"
_OUTPUTS = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}
"""Calls that the client runs and answers with text. For other calls (screenshot, shell) no result can be made up."""
SERVER_STATE = ("previous_response_id", "conversation")


def mend_pairs(request: Json, edit: RequestEdit, at: Path, body: bytes) -> None:
    items = request.get("input")
    if not isinstance(items, list) or any(request.get(key) for key in SERVER_STATE):
        return
    if all(isinstance(item, dict) and not is_reference(item) for item in items):
        _ResponsesPairs(items, edit, (*at, "input")).mend()


def is_reference(item: Json) -> bool:
    """Whether this refers to an item that the server keeps. The type of a reference may be omitted."""
    return item.get("type") in ("item_reference", None) and "role" not in item


class _ResponsesPairs:
    def __init__(self, items: list[Json], edit: RequestEdit, at: Path) -> None:
        self._items = items
        self._edit = edit
        self._at = at
        self._batches: dict[int, Batch] = {}
        self._results: dict[int, PlacedResult] = {}
        self._copies = find_copied_items(items, _OUTPUTS, edit)

    def mend(self) -> None:
        """Put every output behind its call, and write what is missing."""
        strays, unclear = self._read()
        pairing = pair(list(self._batches.values()), strays, unclear)
        gone = {result.number for result in pairing.leaving}
        orphans = {result.number for result in pairing.orphans}
        order: list[int | str] = []
        reasoning: list[int | str] = []
        """Reasoning that waits for its item: nothing may come between the two."""
        waiting: list[int | str] = []
        known: dict[str, Json] = {}
        for number, item in enumerate(self._items):
            if waiting and not self._belongs(number):
                order += reasoning + waiting
                reasoning, waiting = [], []
            if number in self._copies:
                continue
            if _is_double(item, known):
                self._edit.count("repeated message")
            elif number in orphans:
                order += self._as_text(self._results[number])
            elif item.get("type") == "reasoning":
                reasoning.append(number)
            elif number not in gone:
                order += [*reasoning, number]
                reasoning = []
            batch = self._batches.get(number)
            if batch is not None:
                waiting += [late.number for late in batch.late]
                kind = _OUTPUTS[item["type"]]
                waiting += [write({"type": kind, "call_id": call, "output": CANCELLED}) for call in batch.missing]
                self._edit.count("cancelled call", len(batch.missing))
        order += reasoning + waiting
        self._edit.count("repeated call", len(self._copies))
        self._edit.count_pairing(pairing)
        order = self._without_left_reasoning(order)
        if order != list(range(len(self._items))):
            self._edit.edits.arrange(self._at, order)

    def _read(self) -> tuple[list[PlacedResult], set[str]]:
        """Find the calls and their outputs; returns the outputs without a call before them, and the unclear ids."""
        strays: list[PlacedResult] = []
        open_calls: dict[str, deque[Batch]] = {}
        unclear: set[str] = set()
        for number, item in enumerate(self._items):
            kind, identity = item.get("type"), item.get("call_id")
            if number in self._copies:
                continue
            if not isinstance(identity, str) or not identity or not isinstance(kind, str):
                continue
            if kind in _OUTPUTS.values():
                result = self._results[number] = PlacedResult(number, identity, text_of(item.get("output")))
                if open_calls.get(identity):
                    open_calls[identity].popleft().results.append(result)
                else:
                    strays.append(result)
            elif kind in _OUTPUTS and self._edit.touches(item.get("name")):
                batch = self._batches[number] = Batch([identity])
                open_calls.setdefault(identity, deque()).append(batch)
            else:
                unclear.add(identity)
        called = Counter(batch.calls[0] for batch in self._batches.values())
        answered = Counter(result.id for result in self._results.values())
        unclear.update(identity for identity, times in called.items() if times > 1 and times != answered[identity])
        for number in [number for number, batch in self._batches.items() if batch.calls[0] in unclear]:
            del self._batches[number]
        return strays, unclear

    def _belongs(self, number: int) -> bool:
        """Whether this item belongs to a row of calls and outputs, between which nothing is inserted."""
        kind = self._items[number].get("type")
        return isinstance(kind, str) and isinstance(self._items[number].get("call_id"), str)

    def _as_text(self, orphan: PlacedResult) -> list[int | str]:
        text = kept_as_text([orphan])
        part = {"type": "input_text", "text": text}
        return [write({"type": "message", "role": "user", "content": [part]})] if text else []

    def _without_left_reasoning(self, order: list[int | str]) -> list[int | str]:
        """The order without reasoning items whose call or message is gone: servers reject them."""
        kept: list[int | str] = []
        followed = False
        """The next item is one that the model made."""
        for entry in reversed(order):
            item = self._items[entry] if isinstance(entry, int) else {"role": "user"}
            reasoning = item.get("type") == "reasoning"
            if reasoning and not followed and str(item.get("id")).startswith("rs_"):
                self._edit.count("reasoning without its item")
                continue
            followed = followed if reasoning else _is_of_model(item)
            kept.append(entry)
        return kept[::-1]


def _is_double(item: Json, known: dict[str, Json]) -> bool:
    """Whether this item has a server's id and repeats an earlier item. `known`: the earlier items by id."""
    identity = item.get("id")
    if not isinstance(identity, str) or not identity:
        return False
    first = known.setdefault(identity, item)
    return first is not item and same(item, first)


def _is_of_model(item: Json) -> bool:
    """Whether the model made this item."""
    kind = item.get("type")
    if item.get("role") is not None:
        return bool(item["role"] == "assistant")
    return isinstance(kind, str) and not kind.endswith(_OUTPUT)
