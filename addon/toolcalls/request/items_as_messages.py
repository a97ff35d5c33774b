"""Converts the items of a Responses history to messages, for code that looks at turns and not at items."""

from __future__ import annotations

from typing import Any

from .pairs import text_of

Json = dict[str, Any]

_CALLS = ("function_call", "custom_tool_call")


def items_as_messages(items: list[Any]) -> list[tuple[int, Any]]:
    """Messages in the form of Chat, each with the number of an item; for an assistant's turn, that of its first call.

    `reasoning` is set if a turn has its reasoning item or needs none: a call without a server's id needs none.
    """
    found: list[tuple[int, Any]] = []
    turn: Json | None = None
    for number, item in enumerate(items):
        if not isinstance(item, dict):
            continue
        kind, role = str(item.get("type")), item.get("role")
        if kind.endswith("_output"):
            turn = None
            result = {"role": "tool", "tool_call_id": item.get("call_id"), "content": item.get("output")}
            found.append((number, result))
        elif role is not None and role != "assistant":
            turn = None
            if role == "user":
                found.append((number, {"role": role, "content": text_of(item.get("content"))}))
        else:
            if turn is None:
                turn = {"role": "assistant", "content": [], "tool_calls": []}
                found.append((number, turn))
            if kind in ("reasoning", "item_reference", "None"):
                # A reference, whose type may be omitted, may refer to the reasoning.
                turn["reasoning"] = ""
            elif kind in _CALLS:
                if not turn["tool_calls"]:
                    found[-1] = (number, turn)
                # The free text of a custom tool is not examined: its call is identified by the id.
                content = {key: item.get(key) for key in ("name", "arguments")} if kind == _CALLS[0] else {}
                turn["tool_calls"].append({"id": item.get("call_id"), **content})
                if not item.get("id"):
                    turn["reasoning"] = ""
            else:
                turn["content"].append({"type": "text", "text": text_of(item.get("content"))})
    return found
