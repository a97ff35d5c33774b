"""Finds call items that a Responses history contains twice: only one stays, if possible the one behind reasoning.

A copy has the call id, the name and the arguments of another item. Copies that have an output each all stay, and so
do those whose id toolfix restored: some hosts give one id to several calls, and accept them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from .request_edit import RequestEdit, same

Json = dict[str, Any]
_NOT_COMPARED = ("id", "status")


def find_copied_items(items: Sequence[Json], outputs: Mapping[str, str], edit: RequestEdit) -> set[int]:
    """The numbers of the items to remove. `outputs`: the output type of each type of call."""
    calls: dict[str, list[int]] = defaultdict(list)
    answers: dict[str, list[int]] = defaultdict(list)
    reasoned: set[int] = set()
    given_back = edit.ids_given_back()
    in_reasoned_row = False
    for number, item in enumerate(items):
        kind, identity = str(item.get("type")), item.get("call_id")
        if kind not in outputs:
            in_reasoned_row = kind == "reasoning"
        elif in_reasoned_row:
            reasoned.add(number)
        if isinstance(identity, str) and identity and identity not in given_back:
            (answers if kind in outputs.values() else calls)[identity].append(number)
    removed: set[int] = set()
    for identity, numbers in calls.items():
        if len(numbers) < 2 or _each_is_answered(numbers, answers[identity]):
            continue
        if _are_copies([items[number] for number in numbers], outputs, edit):
            kept = next((number for number in numbers if number in reasoned), numbers[0])
            removed.update(number for number in numbers if number != kept)
    return removed


def _are_copies(calls: Sequence[Json], outputs: Mapping[str, str], edit: RequestEdit) -> bool:
    contents = [{key: value for key, value in call.items() if key not in _NOT_COMPARED} for call in calls]
    ours = all(str(call.get("type")) in outputs and edit.touches(call.get("name")) for call in calls)
    return ours and all(same(contents[0], other) for other in contents[1:])


def _each_is_answered(calls: Sequence[int], answers: Sequence[int]) -> bool:
    return len(calls) == len(answers) and all(call < answer for call, answer in zip(calls, answers, strict=True))
