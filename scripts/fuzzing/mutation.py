"""Random changes that respect the structure: of JSON values, of events of a stream, of bytes."""

from __future__ import annotations

import json
import random
from copy import deepcopy
from typing import Any

MAX_INPUT = 32_768
MAX_PUMPED = 16_384

STRINGS = [
    "",
    " ",
    "{",
    "}",
    "{}",
    '{"command": "ls"}',
    "{'command': 'ls', }",
    '{"command": "rm -rf /',
    "[]",
    "null",
    "stop",
    "tool_calls",
    "length",
    "end_turn",
    "tool_use",
    "max_tokens",
    "content_filter",
    "error",
    "function",
    "assistant",
    "text",
    "thinking",
    "input_json_delta",
    "text_delta",
    "function_call",
    "custom_tool_call",
    "message",
    "Bash",
    "bash",
    "nope",
    "call_1",
    "x:0",
    "\x00",
    "\ud800",
    "😀",
    "é",
    "\\",
    '"',
    "\n",
    "<tool_call>",
    "</tool_call>",
    "<think>",
    '<tool_call>{"name": "Bash", "arguments": {"command": "ls"}}</tool_call>',
    "<｜DSML｜tool_calls>",
    "```",
    "x" * 300,
]
VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    -1,
    7,
    10**20,
    1.5,
    -0.0,
    [],
    {},
    [[]],
    [None],
    {"a": 1},
    [{}],
    *STRINGS,
]
KEYS = [
    "index",
    "id",
    "type",
    "name",
    "arguments",
    "function",
    "tool_calls",
    "content",
    "delta",
    "choices",
    "role",
    "text",
    "finish_reason",
    "stop_reason",
    "usage",
    "error",
    "input",
    "output",
    "item",
    "response",
    "output_index",
    "call_id",
    "partial_json",
    "content_block",
    "message",
    "function_call",
    "reasoning_content",
    "data",
    "edit_index",
    "done",
    "edit_content",
    "delta_content",
    "phase",
    "sequence_number",
    "item_id",
    "status",
    "part",
    "tool_use_id",
    "is_error",
]
RAW = [
    b"\n",
    b"\r",
    b"\r\n",
    b"\n\n",
    b"\r\n\r\n",
    b"\r\r",
    b"\n \n",
    b":",
    b": ping\n\n",
    b"data:",
    b"data: ",
    b"event: ",
    b"id: 1\n",
    b"\xef\xbb\xbf",
    b"\xff",
    b"\x00",
    b"{",
    b"}",
    b'"',
    b"\\",
    b"[DONE]",
    b"data: [DONE]\n\n",
    b"data\n",
    b"retry: 5\n",
    b"\xe2\x80\xa8",
    b"[",
    b"]",
    b",",
    b"'",
    b"\xed\xa0\x80",
    b"\\ud83d",
]


def mutated_bytes(chance: random.Random, data: bytes, other: bytes = b"") -> bytes:
    """The bytes with one change."""
    at = chance.randint(0, len(data))
    to = min(len(data), at + chance.choice((1, 1, 2, 8, 40, 200)))
    match chance.randrange(9):
        case 0:
            return data[:at] + data[to:]
        case 1:
            return data[:at] + chance.choice(RAW) + data[at:]
        case 2:
            return data[:at] + chance.choice(RAW) + data[to:]
        case 3:
            return data[:to] + data[at:]
        case 4:
            return data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
        case 5:
            return data[:at]
        case 6:
            return data[:at] + other[chance.randint(0, len(other)) :]
        case 7:
            return data.replace(*chance.choice(((b"\n", b"\r\n"), (b"\n", b"\r"), (b"data: ", b"data:"))))
        case _:
            return pumped(chance, data)


def pumped(chance: random.Random, data: bytes) -> bytes:
    """The data with a part of it repeated many times, which reveals work that is not linear."""
    at = chance.randint(0, len(data))
    stretch = data[at : at + chance.choice((1, 2, 5, 20, 100, 1000))]
    most = chance.choice((500, 2_000, 2_000, MAX_PUMPED))
    room = max(0, min(most, MAX_INPUT - len(data)))
    return data[:at] + stretch * chance.randint(2, 2 + room // max(1, len(stretch))) + data[at:]


def mutated_value(chance: random.Random, value: Any) -> Any:
    """A JSON value with one change somewhere inside; the value itself is changed in place."""
    holders: list[tuple[Any, Any]] = []
    _places(value, holders)
    if not holders:
        return deepcopy(chance.choice(VALUES))
    holder, key = chance.choice(holders)
    match chance.randrange(7):
        case 0 if isinstance(holder, dict):
            del holder[key]
        case 1 if isinstance(holder, dict):
            holder[chance.choice(KEYS)] = holder.pop(key)
        case 2 if isinstance(holder, list):
            holder.insert(key, json.loads(json.dumps(holder[key])))
        case 3 if isinstance(holder, list):
            del holder[key]
        case 4 if isinstance(holder[key], str):
            holder[key] = _text(chance, holder[key])
        case 5:
            holder[key] = [holder[key]] if chance.random() < 0.5 else json.dumps(holder[key])
        case _:
            # A copy, because the next change may be made inside it.
            holder[key] = deepcopy(chance.choice(VALUES))
    return value


def _places(value: Any, found: list[tuple[Any, Any]]) -> None:
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            found.append((value, key))
            _places(value[key], found)


def _text(chance: random.Random, text: str) -> str:
    at = chance.randint(0, len(text))
    match chance.randrange(4):
        case 0:
            return text[:at]
        case 1:
            return text[:at] + chance.choice(STRINGS) + text[at:]
        case 2:
            return text[at:]
        case _:
            return text + text[at:]


def with_twice_a_key(chance: random.Random, text: str) -> str:
    """The text of an object with one more key, which may be there already."""
    again = json.dumps({chance.choice(KEYS): chance.choice(VALUES)})[1:-1]
    return f"{text[:-1]}, {again}}}" if text.endswith("}") and len(text) > 2 else text


def mutated_json(chance: random.Random, text: str) -> str:
    """A JSON text with one change; unchanged if it is not JSON, or nested too deeply."""
    try:
        value = json.loads(text)
        if chance.random() < 0.1:
            return with_twice_a_key(chance, text)
        return json.dumps(mutated_value(chance, value), ensure_ascii=chance.random() < 0.3)
    except (ValueError, RecursionError):
        return text


def mutated_stream(chance: random.Random, stream: bytes, other: bytes) -> bytes:
    """An event stream with one to four changes: of the order of events, of the content of one, or of bytes."""
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        if chance.random() < 0.25:
            stream = mutated_bytes(chance, stream, other)
            continue
        end = next((end for end in (b"\r\n\r\n", b"\n\n") if end in stream), b"\n")
        events = stream.split(end)
        at, to = chance.randrange(len(events)), chance.randrange(len(events))
        match chance.randrange(8):
            case 0:
                del events[at]
            case 1:
                events.insert(at, events[at])
            case 2:
                events[at], events[to] = events[to], events[at]
            case 3:
                events.insert(at, chance.choice(other.split(end)))
            case _:
                events[at] = _mutated_event(chance, events[at])
        stream = end.join(events)
    return stream[:MAX_INPUT]


def _mutated_event(chance: random.Random, event: bytes) -> bytes:
    head, mark, data = event.partition(b"data: ") if b"data: " in event else (b"", b"", event)
    text = mutated_json(chance, data.decode("utf-8", "replace"))
    return head + mark + text.encode("utf-8", "backslashreplace")
