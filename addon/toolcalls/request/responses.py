"""The history of a Responses request: the items of `input`, over HTTP and as frames of a WebSocket.

Every call item has its output item somewhere behind it, and every output its call. If the server keeps the history
(`previous_response_id`, `conversation`, `item_reference`), an output without its call is correct, and only reasoning
without its item is removed. A call is never separated from the reasoning item before it. Free text is never examined:
a `custom_tool_call` has no JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from ..payload import string_of
from .change import Change
from .history import CANCELLED, History, Json, PastCall, PastResult, Said, Turn, objects_in, remove, same

_OUTPUT = "_output"
OUTPUTS = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}
"""Calls that the client runs and answers with text. For other calls (screenshot, shell) no result can be made up."""


class ResponsesHistory(History):
    list_key = "input"
    id_key = result_id = "call_id"
    content = "output"
    part = "input_text"
    results_anywhere = True

    def read(self) -> None:
        self._has_lost_reasoning = False
        self._reasoning_before = False
        """The item before is reasoning."""
        self._behind_reasoning = False
        """The item before is reasoning, or a call behind it."""
        super().read()
        self._has_lost_reasoning = self._has_lost_reasoning or self._reasoning_before

    def read_message(self, number: int, message: Json) -> Said:
        kind, identity = string_of(message.get("type")), message.get("call_id")
        is_reasoning = kind == "reasoning"
        if self._reasoning_before and not (is_reasoning or _is_of_model(message)):
            self._has_lost_reasoning = True
        self._reasoning_before = is_reasoning
        self._behind_reasoning = is_reasoning or (self._behind_reasoning and kind in OUTPUTS)
        if kind == "function_call" or (kind and type(identity) is str):
            if kind.endswith(_OUTPUT):
                result = PastResult(string_of(identity), message, message, message)
                return Said(number, "results", message.get("output"), results=(result,), speaks=False)
            key = "arguments" if kind == "function_call" else ""
            call = PastCall(string_of(identity), message, message, key, message, self._behind_reasoning)
            return Said(number, "model", [], (call,))
        role = "model" if _is_of_model(message) else string_of(message.get("role"))
        return Said(number, role, message.get("content"), speaks=not is_reasoning)

    # Reasoning

    def said(self) -> list[Said]:
        """The user's messages, the outputs and the calls: no other item gets anything back."""
        found: list[Said] = []
        reasons = False
        """The reasoning of the open turn is here, or may be meant by a reference, whose type may be omitted."""
        calls: list[Said] = []
        """The calls of the open turn, before its reasoning."""
        for said in () if self._is_kept_by_server() else self.messages:
            item = self.entries[said.number]
            if said.role != "model":
                reasons, calls = False, []
            elif item.get("type") in ("reasoning", "item_reference", "", None) and "role" not in item:
                reasons = True
                for one in calls:
                    one.is_whole = True
            if said.calls and item["type"] in OUTPUTS:
                # A call without a server's id needs no reasoning.
                said.is_whole = reasons or not item.get("id")
                calls.append(said)
            if said.role in ("user", "results") or (said.calls and item["type"] in OUTPUTS):
                found.append(said)
        return found

    def put_before(self, said: Said, blocks: list[Json]) -> None:
        self.entries[said.number : said.number] = blocks

    # Pairs

    def _is_kept_by_server(self) -> bool:
        return any(self.request.get(key) for key in ("previous_response_id", "conversation"))

    def is_complete(self) -> bool:
        return not (self._is_kept_by_server() or any(map(_is_reference, self.entries)))

    def has_oddities(self) -> bool:
        called = [call.id for turn in self.turns for call in turn.calls]
        known = [item["id"] for item in self.entries if type(item) is dict and "id" in item and string_of(item["id"])]
        return self._has_lost_reasoning or len(set(called)) < len(called) or len(set(known)) < len(known)

    def takes_result(self, call: PastCall) -> bool:
        return call.entry["type"] in OUTPUTS

    def tell_apart(self, turn: Turn) -> None:
        super().tell_apart(turn)
        for result in turn.results:
            if result.entry["type"] not in OUTPUTS.values():
                result.pair = ""

    def repeated(self, change: Change) -> list[Json]:
        """The items that have a server's id and repeat an earlier item, except calls and outputs that are paired."""
        first: dict[str, Json] = {}
        paired = {*OUTPUTS, *OUTPUTS.values()}
        named = [item for item in objects_in(self.entries) if string_of(item.get("id"))]
        ours = [item.get("type") in paired and change.touches(item.get("name")) for item in named]
        items = [item for item, left_to_pairs in zip(named, ours, strict=True) if not left_to_pairs]
        return [one for one in items if (before := first.setdefault(one["id"], one)) is not one and same(one, before)]

    def drop(self, copies: list[PastCall], repeated: list[Json], change: Change) -> None:
        change.count("repeated call", len(copies))
        change.count("repeated message", len(repeated))
        remove(self.entries, [item for item in repeated if item.get("type") == "reasoning"])
        self.rewrite({id(one) for one in (*repeated, *(call.entry for call in copies))}, {}, {}, change)

    def cancelled(self, call: PastCall) -> Json:
        return {"type": OUTPUTS[call.entry["type"]], "call_id": call.pair, "output": CANCELLED}

    def rewrite(
        self, gone: Set[int], behind: Mapping[int, list[Json]], words: Mapping[int, list[str]], change: Change
    ) -> None:
        order: list[Json | str | None] = []
        """Words of the user as texts, and None for what is gone."""
        for item in self.entries:
            said = filter(None, words.get(id(item), ()))
            order += [None if id(item) in gone else item, *behind.get(id(item), ()), *said]
        self.entries[:] = _with_reasoning_in_place(order, change)


def _with_reasoning_in_place(order: list[Json | str | None], change: Change) -> list[Json]:
    """The items, without reasoning whose call or message is gone: servers reject it.

    Words that would come between reasoning and its item are put before the reasoning.
    """
    kept: list[Json] = []
    """From the end."""
    words: list[Json] = []
    has_item = False
    """The next item is one that the model made."""
    for item in reversed(order):
        if not isinstance(item, dict):
            # The reasoning before it is not that of an item behind the next reasoning.
            has_item = has_item and kept[-1].get("type") != "reasoning"
            if item is not None:
                (words if has_item else kept).append(_of_user(item))
        elif item.get("type") != "reasoning":
            kept += words
            words = []
            has_item = _is_of_model(item)
            kept.append(item)
        elif has_item or not str(item.get("id")).startswith("rs_"):
            kept.append(item)
        else:
            change.count("reasoning without its item")
    return [*kept, *words][::-1]


def _of_user(words: str) -> Json:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": words}]}


def _is_reference(item: Json) -> bool:
    """Whether this refers to an item that the server keeps. The type of a reference may be omitted."""
    return item.get("type") in ("item_reference", None) and "role" not in item


def _is_of_model(item: Json) -> bool:
    """Whether the model made this item."""
    role = item.get("role")
    return bool(role == "assistant") if role is not None else not string_of(item.get("type")).endswith(_OUTPUT)
