"""Answers and requests that would take long, on every protocol: what tests/test_stalls.py and the lag of a real proxy are tried on.

An answer is written in reads of its protocol: long texts and long arguments in pieces, as servers send them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count
from typing import Any

Json = dict[str, Any]
PIECE = 4000

COMMAND: Json = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
TODOS: Json = {
    "type": "object",
    "properties": {"todos": {"type": "array", "items": {"type": "object"}}},
    "required": ["todos"],
}
SCHEMAS = {"Bash": COMMAND, "Todo": TODOS}


def pieces(text: str) -> Iterable[str]:
    return (text[at : at + PIECE] for at in range(0, len(text), PIECE))


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def data(value: Json, end: str = "\n\n") -> str:
    return f"data: {compact(value)}{end}"


def event(kind: str, **fields: Any) -> str:
    return f"event: {kind}\n" + data({"type": kind, **fields})


@dataclass(frozen=True)
class Wire:
    """How one protocol says a text, and calls; and what asks for them."""

    protocol: str
    path: str
    said: Callable[[str], bytes]
    called: Callable[[list[str], str], bytes]
    """Calls with these arguments, of the tool of this name."""
    request: Json


# Chat


def chat(delta: Json, finish: str | None = None) -> str:
    return data({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def _chat_said(text: str) -> bytes:
    return "".join(
        [*(chat({"content": piece}) for piece in pieces(text)), chat({}, "stop"), "data: [DONE]\n\n"]
    ).encode()


def chat_call(arguments: str, number: int = 0, name: str = "Bash") -> str:
    first = {"index": number, "id": f"call_{number}", "function": {"name": name, "arguments": ""}}
    rest = (
        chat({"tool_calls": [{"index": number, "function": {"arguments": piece}}]}) for piece in pieces(arguments)
    )
    return "".join([chat({"tool_calls": [first]}), *rest])


def _chat_called(calls: list[str], name: str) -> bytes:
    return "".join(
        [
            *(chat_call(arguments, number, name) for number, arguments in enumerate(calls)),
            chat({}, "tool_calls"),
            "data: [DONE]\n\n",
        ]
    ).encode()


# Messages


def _messages(blocks: Iterable[str], reason: str) -> bytes:
    message = {"id": "m", "type": "message", "role": "assistant", "content": [], "usage": {"input_tokens": 1}}
    end = event("message_delta", delta={"stop_reason": reason}, usage={"output_tokens": 1})
    return "".join([event("message_start", message=message), *blocks, end, event("message_stop")]).encode()


def _block(number: int, block: Json, deltas: Iterable[Json]) -> str:
    inside = (event("content_block_delta", index=number, delta=delta) for delta in deltas)
    start = event("content_block_start", index=number, content_block=block)
    return "".join([start, *inside, event("content_block_stop", index=number)])


def _messages_said(text: str) -> bytes:
    deltas = ({"type": "text_delta", "text": piece} for piece in pieces(text))
    return _messages([_block(0, {"type": "text", "text": ""}, deltas)], "end_turn")


def _messages_called(calls: list[str], name: str) -> bytes:
    return _messages(
        (
            _block(
                number,
                {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": {}},
                ({"type": "input_json_delta", "partial_json": piece} for piece in pieces(arguments)),
            )
            for number, arguments in enumerate(calls)
        ),
        "tool_use",
    )


# Responses


def _responses(inside: Iterable[str], output: list[Json]) -> bytes:
    """Each event has a number, as OpenAI's have: one without would get one, and be written anew."""
    response = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "output": []}
    end = {**response, "status": "completed", "output": output}
    begun = event("response.created", response={**response, "status": "in_progress"})
    body = "".join([begun, *inside, event("response.completed", response=end)])
    numbers = count()
    return re.sub(r'data: \{"type"', lambda _: f'data: {{"sequence_number":{next(numbers)},"type"', body).encode()


def _responses_said(text: str) -> bytes:
    item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "in_progress", "content": []}
    part = {"type": "output_text", "text": text, "annotations": []}
    where = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    done = {**item, "status": "completed", "content": [part]}
    inside = [
        event("response.output_item.added", output_index=0, item=item),
        event("response.content_part.added", **where, part={**part, "text": ""}),
        *(event("response.output_text.delta", **where, delta=piece) for piece in pieces(text)),
        event("response.output_text.done", **where, text=text),
        event("response.content_part.done", **where, part=part),
        event("response.output_item.done", output_index=0, item=done),
    ]
    return _responses(inside, [done])


def _responses_called(calls: list[str], name: str) -> bytes:
    inside: list[str] = []
    output: list[Json] = []
    for number, arguments in enumerate(calls):
        item = {"id": f"fc_{number}", "type": "function_call", "call_id": f"call_{number}", "name": name}
        where = {"item_id": item["id"], "output_index": number}
        done = {**item, "arguments": arguments, "status": "completed"}
        output.append(done)
        inside += [
            event("response.output_item.added", output_index=number, item={**item, "arguments": ""}),
            *(event("response.function_call_arguments.delta", **where, delta=piece) for piece in pieces(arguments)),
            event("response.function_call_arguments.done", **where, arguments=arguments),
            event("response.output_item.done", output_index=number, item=done),
        ]
    return _responses(inside, output)


# Ollama: calls come whole; arguments that are no JSON object come as the text that they are


def _arguments(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _ollama(message: Json, reason: str = "") -> str:
    end = {"done": True, "done_reason": reason} if reason else {"done": False}
    return compact({"model": "m", "message": {"role": "assistant", "content": "", **message}, **end}) + "\n"


def _ollama_said(text: str) -> bytes:
    return "".join([*(_ollama({"content": piece}) for piece in pieces(text)), _ollama({}, "stop")]).encode()


def _ollama_called(calls: list[str], name: str) -> bytes:
    functions = ({"function": {"name": name, "arguments": _arguments(arguments)}} for arguments in calls)
    return "".join([*(_ollama({"tool_calls": [one]}) for one in functions), _ollama({}, "stop")]).encode()


# Gemini: the same


def _gemini(part: Json, finish: str = "") -> str:
    candidate: Json = {"content": {"parts": [part], "role": "model"}, "index": 0}
    return data({"candidates": [candidate | ({"finishReason": finish} if finish else {})]}, "\r\n\r\n")


def _gemini_said(text: str) -> bytes:
    return "".join([*(_gemini({"text": piece}) for piece in pieces(text)), _gemini({"text": ""}, "STOP")]).encode()


def _gemini_called(calls: list[str], name: str) -> bytes:
    parts = ({"functionCall": {"name": name, "args": _arguments(arguments)}} for arguments in calls)
    return "".join([*(_gemini(part) for part in parts), _gemini({"text": ""}, "STOP")]).encode()


# Z.AI: text, and calls in deltas of their own phase


def _zai(**said: Any) -> str:
    return data({"type": "chat:completion", "data": said})


def _zai_said(text: str) -> bytes:
    words = (_zai(delta_content=piece, phase="answer") for piece in pieces(text))
    return "".join([*words, _zai(done=True, delta_content="", phase="done")]).encode()


def _zai_called(calls: list[str], name: str) -> bytes:
    told: list[str] = []
    for number, arguments in enumerate(calls):
        first, *rest = pieces(arguments)
        own = {"type": "function", "tool_call_id": f"call_{number}"}
        told.append(_zai(phase="tool_call", delta_name=name, delta_arguments=first, metadata=own))
        told += (_zai(phase="tool_call", delta_arguments=piece, metadata={"type": "function"}) for piece in rest)
    return "".join([*told, _zai(done=True, delta_content="", phase="done")]).encode()


def _functions() -> list[Json]:
    return [
        {"type": "function", "function": {"name": name, "parameters": schema}} for name, schema in SCHEMAS.items()
    ]


ASKED: Json = {"model": "m", "stream": True}
CHAT = Wire(
    "chat", "/v1/chat/completions", _chat_said, _chat_called, {**ASKED, "messages": [], "tools": _functions()}
)
MESSAGES = Wire(
    "messages", "/v1/messages", _messages_said, _messages_called,
    {**ASKED, "messages": [], "tools": [{"name": name, "input_schema": schema} for name, schema in SCHEMAS.items()]},
)  # fmt: skip
RESPONSES = Wire(
    "responses", "/v1/responses", _responses_said, _responses_called,
    {**ASKED, "input": [], "tools": [{"type": "function", "name": name, "parameters": schema} for name, schema in SCHEMAS.items()]},
)  # fmt: skip
OLLAMA = Wire("ollama", "/api/chat", _ollama_said, _ollama_called, {**ASKED, "messages": [], "tools": _functions()})
GEMINI = Wire(
    "gemini", "/v1beta/models/m:streamGenerateContent?alt=sse", _gemini_said, _gemini_called,
    {"contents": [], "tools": [{"functionDeclarations": [{"name": name, "parameters": schema} for name, schema in SCHEMAS.items()]}]},
)  # fmt: skip
ZAI = Wire(
    "zai", "/api/v2/chat/completions", _zai_said, _zai_called, {**ASKED, "messages": [], "tools": _functions()}
)
WIRES = {wire.protocol: wire for wire in (CHAT, MESSAGES, RESPONSES, OLLAMA, GEMINI, ZAI)}

HERMES = '<tool_call>\n{"name":"Bash","arguments":{"command":%s}}\n</tool_call>\n'
WORDS = "def f(a, b):\n    return {'a': [a, b]}\n"

TEXTS: dict[str, Callable[[], str]] = {
    "an f-string of 600 KB": lambda: '<|python_start|>[Bash(command=f"' + "{x}" * 200_000 + '")]<|python_end|>',
    "a list of Python, 600 KB": lambda: "<|python_start|>[Bash(command=[" + "1," * 300_000 + "])]<|python_end|>",
    "escapes of Python, 600 KB": lambda: '<|python_start|>[Bash(command="' + "\\n" * 300_000 + '")]<|python_end|>',
    "Gemma's format, 1 MB": lambda: "<|tool_call>call:Bash{command:[" + "1," * 500_000 + "]}<tool_call|>",
    "a call in tags, 600 KB of numbers": lambda: HERMES % ("[" + "1," * 300_000 + "1]"),
    "20,000 calls in tags": lambda: HERMES % '"ls"' * 20_000,
    "400 calls in tags": lambda: HERMES % '"ls"' * 400,
    "20,000 parameters in tags": lambda: "<tool_call><function=Bash>" + "<parameter=a>\nx\n</parameter>" * 20_000,
    "a message of 600 KB that is JSON": lambda: (
        '{"name":"Bash","arguments":{"command":[' + '"a",' * 150_000 + '"b"]}}'
    ),
    "a call in tags, a text of 4 MB": lambda: HERMES % json.dumps(WORDS * 100_000),
    "a parameter in tags, a text of 4 MB": lambda: (
        f"<tool_call><function=Bash><parameter=command>\n{WORDS * 100_000}\n</parameter></function></tool_call>"
    ),
    "50,000 openers": lambda: "<tool_call>" * 50_000,
    "500,000 brackets": lambda: "<" * 500_000,
    "150,000 fences, then an opener": lambda: "```\n" * 150_000 + "<tool_call>",
    "500 KB of quotes in one line, then an opener": lambda: "a \"b' `c` " * 50_000 + "<tool_call>",
    "500 KB of quotes in one line, then a call": lambda: "a \"b' `c` " * 50_000 + HERMES % '"ls"',
    "1 MB of lists, then a call": lambda: "- one\n" * 170_000 + HERMES % '"ls"',
    "1 MB of blank lines, then a call": lambda: "\n" * 1_000_000 + HERMES % '"ls"',
    "1 MB of words": lambda: "one two three " * 70_000,
    "350,000 indented lines, then a call": lambda: " a\n" * 350_000 + HERMES % '"ls"',
    "150,000 headings, then a call": lambda: "# a\n" * 150_000 + HERMES % '"ls"',
    "150,000 tabs, each in its line": lambda: "\t\n" * 150_000,
    "a message of 10,000 calls in JSON": lambda: "[" + '{"name":"Bash","arguments":{"command":"ls"}},' * 10_000 + "]",
}

CALLS: dict[str, Callable[[], tuple[list[str], str]]] = {
    "900 broken calls of 12 KB": lambda: (['{"command": [' + "'a'," * 3000 + "]}"] * 900, "Bash"),
    "900 calls of 12 KB, a comma too many": lambda: (['{"command": "' + "a" * 12_000 + '",}'] * 900, "Bash"),
    "900 calls of 12 KB, of Python": lambda: (["{'command': '" + "a" * 12_000 + "'}"] * 900, "Bash"),
    "900 valid calls of 12 KB": lambda: (['{"command": "' + "a" * 12_000 + '"}'] * 900, "Bash"),
    "900 broken calls of 50 bytes": lambda: (["{'command': 'ls', 'background': True,}"] * 900, "Bash"),
    "a valid call of 1 million numbers": lambda: (['{"command": [' + "1," * 1_000_000 + "1]}"], "Bash"),
    "a valid call of 200,000 objects": lambda: (['{"todos": [' + '{"id":1},' * 200_000 + "{}]}"], "Todo"),
    "a broken call of 200,000 objects": lambda: (['{"todos": [' + '{"id":1},' * 200_000 + "]}"], "Todo"),
    "a list of 100,000 objects as a text": lambda: ([json.dumps({"todos": json.dumps([{"id": 1}] * 100_000)})], "Todo"),
    "a list of 4,000 objects as a text": lambda: ([json.dumps({"todos": json.dumps([{"id": 1}] * 4_000)})], "Todo"),
    "a valid call of 14 MB, one text": lambda: ([json.dumps({"command": "a" * 14_000_000})], "Bash"),
    "a valid call of 14 MB, lines of code": lambda: ([json.dumps({"command": WORDS * 340_000})], "Bash"),
    "a broken call of 14 MB, one text": lambda: (['{"command": "' + "a" * 14_000_000 + '",}'], "Bash"),
    "a broken call of 14 MB, lines of code": lambda: ['{"command": ' + json.dumps(WORDS * 340_000) + ",}"] and (['{"command": ' + json.dumps(WORDS * 340_000) + ",}"], "Bash"),
    "a call of 7 MB in Python's quotes": lambda: (["{'command': '" + "a b\\n" * 1_400_000 + "'}"], "Bash"),
    "a call of 7 MB, escaped twice": lambda: ([json.dumps(json.dumps({"command": WORDS * 170_000}))], "Bash"),
    "a call of 1 MB, raw line ends": lambda: (['{"command": "' + WORDS * 25_000 + '"}'], "Bash"),
    "a call of 60 KB, inner quotes": lambda: (['{"command": "' + 'echo "a" ' * 7_000 + '"}'], "Bash"),
    "a call of 64 KB, backslashes": lambda: (['{"command": "' + "C:\\new\\q " * 7_000 + '"}'], "Bash"),
    "5 calls with 10,000 comments": lambda: (['{"command": "ls" ' + "// b\n" * 10_000 + "}"] * 5, "Bash"),
    "5 calls with 30,000 unknown escapes": lambda: (['{"command": "' + "\\x" * 30_000 + '"}'] * 5, "Bash"),
    "100,000 levels": lambda: (['{"command": ' + "[" * 100_000], "Bash"),
}  # fmt: skip

RAW: dict[str, Callable[[], bytes]] = {
    "`data: x` and a CR, 125,000 times": lambda: b"data: x\r" * 125_000,
    "`data: x` and a blank line, 60,000 times": lambda: b"data: x\n\n" * 60_000,
    "400,000 CRs": lambda: b"data: x\n\n" + b"\r" * 400_000,
    "one event of 2 million numbers": lambda: b'data: {"choices":[],"x":[' + b"1," * 2_000_000 + b"1]}\n\n",
    "a document of 2 million numbers": lambda: b'{"choices":[],"x":[' + b"1," * 2_000_000 + b"1]}",
    "a line of 2 million numbers": lambda: b'{"message":{},"x":[' + b"1," * 2_000_000 + b"1]}\n{}\n",
    "60,000 lines of nothing": lambda: b"{}\n" * 60_000,
    "an event of 14 MB, one text": lambda: b'data: {"choices":[],"x":"' + b"a" * 14_000_000 + b'"}\n\n',
    "a document of 14 MB, one text": lambda: b'{"choices":[],"x":"' + b"a" * 14_000_000 + b'"}',
    "an event of 14 MB, escapes": lambda: b'data: {"choices":[],"x":"' + b"\\n" * 7_000_000 + b'"}\n\n',
}


def _texts_in_blocks() -> bytes:
    return _messages(
        (
            _block(number, {"type": "text", "text": ""}, [{"type": "text_delta", "text": "a b "}])
            for number in range(5000)
        ),
        "end_turn",
    )


def _texts_of_items() -> bytes:
    return _responses(
        (
            event(
                "response.output_text.delta", item_id=f"m{at}", output_index=at, content_index=0, delta="<tool_call>"
            )
            for at in range(3000)
        ),
        [],
    )


def _items_that_change_their_ids() -> bytes:
    """Many calls are open, and each ends under ids that nobody has heard of."""

    def item(number: int, arguments: str) -> Json:
        ids = {"id": f"fc_{number}", "call_id": f"call_{number}"}
        return {"type": "function_call", **ids, "name": "Bash", "arguments": arguments}

    def arguments(number: int) -> str:
        return f"{{'command': '{number}',}}"

    begun = (
        event("response.output_item.added", output_index=at, item=item(at, ""))
        + event("response.function_call_arguments.delta", item_id=f"fc_{at}", output_index=at, delta=arguments(at))
        for at in range(400)
    )
    ended = (
        event("response.output_item.done", output_index=at + 1000, item=item(at + 1000, arguments(at)))
        for at in range(400)
    )
    return _responses([*begun, *ended], [])


OWN: dict[str, dict[str, Callable[[], bytes]]] = {
    "messages": {"5,000 blocks of text": _texts_in_blocks},
    "responses": {"3,000 texts": _texts_of_items, "400 calls whose ids change": _items_that_change_their_ids},
}
"""Those that only one protocol can say."""


def frames(name: str) -> list[str]:
    """One of them as the messages of a WebSocket: those of Responses, one event each."""
    body = answers("responses")[name]().decode()
    return [line.removeprefix("data: ") for line in body.split("\n") if line.startswith("data: ")]


def answers(protocol: str) -> dict[str, Callable[[], bytes]]:
    """All of them as this protocol says them."""
    wire = WIRES[protocol]
    found: dict[str, Callable[[], bytes]] = {**RAW, **OWN.get(protocol, {})}
    for name, text in TEXTS.items():
        found[name] = lambda text=text: wire.said(text())  # type: ignore[misc]
    for name, calls in CALLS.items():
        found[name] = lambda calls=calls: wire.called(*calls())  # type: ignore[misc]
    return found
