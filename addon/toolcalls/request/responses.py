"""The history of a Responses request: the items of `input`, over HTTP and as frames of a WebSocket.

Every call item has its output item somewhere behind it, and every output its call. If the server keeps the history
(`previous_response_id`, `conversation`, `item_reference`), an output without its call is correct, and only reasoning
without its item is removed. A call is never separated from the reasoning item before it. Free text is never examined:
a `custom_tool_call` has no JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from itertools import groupby

from ..payload import string_of
from .change import Change
from .history import CANCELLED, History, Json, PastCall, PastResult, Said, remove, same

_OUTPUT = "_output"
OUTPUTS = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}
"""Calls that the client runs and answers with text. For other calls (screenshot, shell) no result can be made up."""

_PAIRED = {*OUTPUTS, *OUTPUTS.values()}


class ResponsesHistory(History):
    list_key = "input"
    id_key = result_id = "call_id"
    part = "input_text"
    results_anywhere = True

    def read_message(self, number: int, message: Json) -> Said:
        kind, identity = string_of(message.get("type")), message.get("call_id")
        if kind == "function_call" or (kind and type(identity) is str):
            identity = string_of(identity)
            if kind.endswith(_OUTPUT):
                result = PastResult(identity, message, message, message, message, "output")
                if kind not in _PAIRED:
                    result.pair = ""
                return Said(number, message, "results", message.get("output"), results=(result,), speaks=False)
            before = self.messages[-1] if self.messages else None
            behind_reasoning = before is not None and (
                before.calls[0].behind_reasoning if before.calls else before.entry.get("type") == "reasoning"
            )
            key = "arguments" if kind == "function_call" else ""
            call = PastCall(identity, message, message, message, key, kind in OUTPUTS, behind_reasoning)
            return Said(number, message, "model", [], (call,))
        role = "model" if _is_of_model(message) else string_of(message.get("role"))
        return Said(number, message, role, message.get("content"), speaks=kind != "reasoning")

    # Reasoning

    def said(self) -> list[Said]:
        """The user's messages, the outputs and the calls: no other item gets anything back."""
        found: list[Said] = []
        messages = [] if self._is_kept_by_server() else self.messages
        for of_model, run in groupby(messages, lambda said: said.role == "model"):
            group = [*run]
            # The reasoning of the calls is here, or may be meant by a reference, whose type may be omitted.
            reasons = any(
                one.entry.get("type") in ("reasoning", "item_reference", "", None) and "role" not in one.entry
                for one in group
            )
            for said in group:
                if of_model and said.calls and said.calls[0].takes_result:
                    # A call without a server's id needs no reasoning.
                    said.is_whole = reasons or not said.entry.get("id")
                    found.append(said)
                elif said.role in ("user", "results"):
                    found.append(said)
        return found

    def put_before(self, said: Said, blocks: list[Json]) -> None:
        self.entries[said.number : said.number] = blocks

    # Pairs

    def _is_kept_by_server(self) -> bool:
        return any(self.request.get(key) for key in ("previous_response_id", "conversation"))

    def is_complete(self) -> bool:
        # The type of a reference may be omitted.
        refers = any(item.get("type") in ("item_reference", None) and "role" not in item for item in self.entries)
        return not (refers or self._is_kept_by_server())

    def has_oddities(self) -> bool:
        called = [call.id for turn in self.turns for call in turn.calls]
        known = [item["id"] for item in self.entries if string_of(item.get("id"))]
        followed = [*(said.role == "model" for said in self.messages[1:]), False]
        lost_reasoning = any(
            said.entry.get("type") == "reasoning" and not by_model
            for said, by_model in zip(self.messages, followed, strict=False)
        )
        return lost_reasoning or len(set(called)) < len(called) or len(set(known)) < len(known)

    def drop(self, copies: list[PastCall], change: Change) -> bool:
        """The items that have a server's id and repeat an earlier item go too, but for those that are paired."""
        gone = {id(call.entry) for call in copies}
        first: dict[str, Json] = {}
        repeated: list[Json] = []
        for item in self.entries:
            identity, kind = string_of(item.get("id")), string_of(item.get("type"))
            if identity and not (kind in _PAIRED and change.touches(item.get("name"))):
                if identity in first and same(item, first[identity]):
                    repeated.append(item)
                first.setdefault(identity, item)
        change.count("repeated call", len(copies))
        change.count("repeated message", len(repeated))
        remove(self.entries, [item for item in repeated if item.get("type") == "reasoning"])
        if copies or repeated:
            self.rewrite({*gone, *map(id, repeated)}, {}, {}, change)
        return bool(copies or repeated)

    def cancelled(self, call: PastCall) -> Json:
        return {"type": OUTPUTS[call.entry["type"]], "call_id": call.pair, "output": CANCELLED}

    def rewrite(
        self, gone: Set[int], behind: Mapping[int, list[Json]], words: Mapping[int, list[str]], change: Change
    ) -> None:
        """Reasoning whose call or message is gone goes too, because servers reject it.

        Words that would come between reasoning and its item are put before the reasoning.
        """
        order: list[Json | str | None] = []
        """Words of the user as texts, and None for what is gone."""
        for item in self.entries:
            said = filter(None, words.get(id(item), ()))
            order += [None if id(item) in gone else item, *behind.get(id(item), ()), *said]
        kept: list[Json] = []
        """From the end."""
        waiting: list[Json] = []
        has_item = False
        """The next item is one that the model made."""
        for item in reversed(order):
            if not isinstance(item, dict):
                # The reasoning before it is not that of an item behind the next reasoning.
                has_item = has_item and kept[-1].get("type") != "reasoning"
                content = [{"type": "input_text", "text": item}]
                if item is not None:
                    (waiting if has_item else kept).append({"type": "message", "role": "user", "content": content})
            elif item.get("type") != "reasoning":
                kept += [*waiting, item]
                waiting = []
                has_item = _is_of_model(item)
            elif has_item or not str(item.get("id")).startswith("rs_"):
                kept.append(item)
            else:
                change.count("reasoning without its item")
        self.entries[:] = [*kept, *waiting][::-1]


def _is_of_model(item: Json) -> bool:
    """Whether the model made this item."""
    role = item.get("role")
    return bool(role == "assistant") if role is not None else not string_of(item.get("type")).endswith(_OUTPUT)
