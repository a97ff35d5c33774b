"""The history of a Responses request: the items of `input`, over HTTP and as frames of a WebSocket.

Every call item has its output item somewhere behind it, and every output its call. If the server keeps the history
(`previous_response_id`, `conversation`, `item_reference`), an output without its call is correct, and only reasoning
without its item is removed. A call is never separated from the reasoning item before it. Free text is never examined:
a `custom_tool_call` has no JSON.
"""

from __future__ import annotations

from ..payload import string_of
from .calls import Change
from .history import CANCELLED, History, Json, PastCall, PastResult, Said, objects_in, same

_OUTPUT = "_output"
OUTPUTS = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}
"""Calls that the client runs and answers with text. For other calls (screenshot, shell) no result can be made up."""

_PAIRED = {*OUTPUTS, *OUTPUTS.values()}


class ResponsesHistory(History):
    list_key = "input"
    id_key = result_id = "call_id"
    part = "input_text"
    results_anywhere = True
    has_reasoning = False
    """The item that is read is reasoning, or a call behind it."""

    def read_message(self, number: int, message: Json) -> Said:
        kind, identity, role = string_of(message.get("type")), message.get("call_id"), message.get("role")
        behind = number > 0 and self.has_reasoning and kind.endswith("_call")
        self.has_reasoning = kind == "reasoning" or behind
        if kind == "function_call" or (kind and type(identity) is str):
            identity = string_of(identity)
            if kind.endswith(_OUTPUT):
                result = PastResult(identity, message, message, message, message, "output")
                if kind not in _PAIRED:
                    result.pair = ""
                return Said(number, message, "results", message.get("output"), results=[result], speaks=False)
            key = "arguments" if kind == "function_call" else ""
            call = PastCall(identity, message, message, message, key, kind in OUTPUTS, self.has_reasoning)
            return Said(number, message, "model", [], [call])
        who = "model" if _is_of_model(message) else string_of(role)
        return Said(number, message, who, message.get("content"), speaks=kind != "reasoning")

    # Reasoning

    @property
    def conversation(self) -> list[Said]:
        messages = self.messages if self.is_complete() else []
        return [one for one in messages if one.role != "model" or any(call.takes_result for call in one.calls)]

    def is_whole(self, said: Said) -> bool:
        # A call without a server's id needs no reasoning.
        return said.calls[0].behind_reasoning or not said.entry.get("id")

    def put_before(self, said: Said, blocks: list[Json]) -> None:
        self.entries[said.number : said.number] = blocks

    # Pairs

    def is_complete(self) -> bool:
        if any(self.request.get(key) for key in ("previous_response_id", "conversation")):
            return False
        # The type of a reference may be omitted.
        return all(
            one.get("type") not in ("item_reference", None) or "role" in one for one in objects_in(self.entries)
        )

    def repeated(self, change: Change) -> list[Json]:
        """But for the items that are paired."""
        first: dict[str, Json] = {}
        found: list[Json] = []
        for item in self.entries:
            identity, kind = string_of(item.get("id")), string_of(item.get("type"))
            if identity and not (kind in _PAIRED and change.touches(item.get("name"))):
                if identity in first and same(item, first[identity]):
                    found.append(item)
                first.setdefault(identity, item)
        return found

    def cancelled(self, call: PastCall) -> Json:
        return {"type": OUTPUTS[call.entry["type"]], "call_id": call.pair, "output": CANCELLED}

    # Writing

    def tidy(self, change: Change) -> None:
        """Servers reject reasoning without the item of the model that it was sent with, right behind it."""
        lost: set[int] = set()
        by_model = False
        for item in reversed(self.entries if self.as_expected else []):
            if item.get("type") != "reasoning":
                by_model = _is_of_model(item)
            elif not by_model and str(item.get("id")).startswith("rs_"):
                lost.add(id(item))
        change.count("reasoning without its item", len(lost))
        self.entries[:] = [item for item in self.entries if id(item) not in lost]

    def fill(self, order: list[Json], words: str, following: Json) -> None:
        """Between reasoning and its item comes nothing; before other reasoning, its item is among what is gone."""
        place = len(order)
        while place and order[place - 1].get("type") == "reasoning":
            place -= 1
        if following.get("type") == "reasoning":
            del order[place:]
        if words:
            content = [{"type": "input_text", "text": words}]
            order.insert(place, {"type": "message", "role": "user", "content": content})


def _is_of_model(item: Json) -> bool:
    """Whether the model made this item."""
    role = item.get("role")
    return bool(role == "assistant") if role is not None else not string_of(item.get("type")).endswith(_OUTPUT)
