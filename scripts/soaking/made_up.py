"""Made-up cases: answers with one call that is broken in a known way, and answers without a call."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from ..shared.answer_writers import Chat, Gemini, Json, Messages, Ollama, Responses, Writer, value_of
from .case import EVENT_STREAM, PATHS, STREAMS, WHOLE_PATHS, Case, Wrong, engine
from .reading import Call, calls_of, texts_of

TOOL = "Bash"
SCHEMA: Json = {
    "type": "object",
    "properties": {
        "command": {"type": "string"},
        "background": {"type": "boolean"},
        "timeout": {"type": "integer"},
        "paths": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["command"],
}
DECLARED: dict[str, Json] = {
    "chat": {"type": "function", "function": {"name": TOOL, "parameters": SCHEMA}},
    "messages": {"name": TOOL, "input_schema": SCHEMA},
    "responses": {"type": "function", "name": TOOL, "parameters": SCHEMA},
    "ollama": {"type": "function", "function": {"name": TOOL, "parameters": SCHEMA}},
    "gemini": {"functionDeclarations": [{"name": TOOL, "parametersJsonSchema": SCHEMA}]},
}
GEMINI, OLLAMA = Gemini(), Ollama()
WRITERS: dict[str, Writer] = {
    "chat": Chat(),
    "messages": Messages(),
    "responses": Responses(),
    "ollama": OLLAMA,
    "gemini": GEMINI,
}


@dataclass(slots=True, frozen=True)
class Broken:
    """A way to send a call; `mended` returns what the client must get for the arguments that were meant."""

    name: str
    write: Callable[[Json], str]
    status: str = "repaired"
    tool: str = TOOL
    as_text: bool = False
    finish: str = ""
    mended: Callable[[Json], Json] = lambda meant: meant


def _stringed(meant: Json, key: str) -> str:
    return json.dumps({**meant, key: json.dumps(meant[key])})


BROKEN = (
    Broken("valid", json.dumps, "valid"),
    Broken("Python dict", repr),
    Broken("trailing comma", lambda meant: json.dumps(meant)[:-1] + ",}"),
    Broken("double-encoded", lambda meant: json.dumps(json.dumps(meant))),
    Broken("fence", lambda meant: f"```json\n{json.dumps(meant)}\n```"),
    Broken("array as string", lambda meant: _stringed(meant, "paths")),
    Broken("number as string", lambda meant: _stringed(meant, "timeout")),
    Broken("missing bracket", lambda meant: json.dumps(meant)[:-1]),
    Broken("wrong-case name", json.dumps, tool="bash"),
    Broken("wrong key", lambda meant: json.dumps(meant).replace('"command"', '"cmd"')),
    Broken("text call", json.dumps, as_text=True),
    Broken("cut off", lambda meant: json.dumps(meant)[:20], "refused", finish="length", mended=lambda meant: {}),
)


def question(protocol: str, *, stream: bool = True) -> bytes:
    """A request that declares the tool."""
    if protocol == "gemini":
        contents = [{"role": "user", "parts": [{"text": "Please go on."}]}]
        return json.dumps({"contents": contents, "tools": [DECLARED[protocol]]}).encode()
    said = [{"role": "user", "content": "Please go on."}]
    asked: Json = {"model": "m", "stream": stream, "tools": [DECLARED[protocol]]}
    asked["input" if protocol == "responses" else "messages"] = said
    return json.dumps(asked | ({"max_tokens": 4096} if protocol == "messages" else {})).encode()


def meant(token: str, size: int = 0) -> Json:
    """The arguments that a model meant to send."""
    command = f"echo {token} " + "x" * size
    return {"command": command.strip(), "background": True, "timeout": 5000, "paths": ["a.py", f"{token}.py"]}


def written(broken: Broken, protocol: str, token: str, size: int = 0) -> list[bytes]:
    """The events of an answer with one call."""
    writer, arguments = WRITERS[protocol], broken.write(meant(token, size))
    if broken.as_text:
        return writer.text(f'<tool_call>\n{{"name": "{broken.tool}", "arguments": {arguments}}}\n</tool_call>')
    return writer.call(f"call_{token}", broken.tool, arguments, broken.finish)


def made(broken: Broken, protocol: str, token: str, *, size: int = 0) -> Case:
    """A streamed answer with one call."""
    before = b"".join(written(broken, protocol, token, size))
    content_type = STREAMS.get(protocol, EVENT_STREAM)
    return _made(broken, protocol, token, PATHS[protocol], question(protocol), before, content_type, size)


def document(broken: Broken, protocol: str, token: str) -> Case:
    """An answer with one call in one piece, for a client that did not ask for a stream."""
    before = json.dumps(_DOCUMENTS[protocol](broken, token)).encode()
    request = question(protocol, stream=False)
    return _made(broken, protocol, token, WHOLE_PATHS[protocol], request, before, "application/json", 0)


def _made(
    broken: Broken, protocol: str, token: str, path: str, request: bytes, before: bytes, content_type: str, size: int
) -> Case:
    after, statuses = engine(path, request, before)
    expected = [Call(TOOL, broken.mended(meant(token, size)))]
    if calls_of(protocol, after) != expected or statuses != [broken.status]:
        raise Wrong(f"{protocol}, {broken.name}: {calls_of(protocol, after)} ({statuses}), expected {expected}")
    status = (broken.status,)
    return Case(
        f"{broken.name}, made", token, protocol, path, request, before, after, status, 1, request, content_type
    )


def prose(protocol: str, token: str, words: int) -> Case:
    """An answer without a call, which must not change."""
    path, request = PATHS[protocol], question(protocol)
    text = " ".join(f"{token} says word {number}." for number in range(words))
    before = b"".join(WRITERS[protocol].text(text))
    if texts_of(protocol, before) != text:
        raise Wrong(f"{protocol}: the text cannot be read back")
    content_type = STREAMS.get(protocol, EVENT_STREAM)
    return Case("text", token, protocol, path, request, before, before, (), 0, request, content_type)


def _chat_document(broken: Broken, token: str) -> Json:
    function = {"name": broken.tool, "arguments": broken.write(meant(token))}
    message = {"role": "assistant", "content": None}
    call = {"id": f"call_{token}", "type": "function", "function": function}
    choice = {
        "index": 0,
        "message": {**message, "tool_calls": [call]},
        "finish_reason": broken.finish or "tool_calls",
    }
    return {"id": token, "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def _messages_document(broken: Broken, token: str) -> Json:
    block: Json = {"type": "tool_use", "id": f"toolu_{token}", "name": broken.tool}
    block["input"] = value_of(broken.write(meant(token)))
    reason = "max_tokens" if broken.finish else "tool_use"
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": token, "type": "message", "role": "assistant", "model": "m", "content": [block]}
    return {**message, "stop_reason": reason, "stop_sequence": None, "usage": usage}


def _responses_document(broken: Broken, token: str) -> Json:
    item = {"id": f"fc_{token}", "type": "function_call", "call_id": f"call_{token}", "name": broken.tool}
    item |= {"arguments": broken.write(meant(token)), "status": "incomplete" if broken.finish else "completed"}
    answer = {"id": token, "object": "response", "created_at": 1, "model": "m", "output": [item], "error": None}
    cut = {"incomplete_details": {"reason": "max_output_tokens"}} if broken.finish else {}
    return {**answer, "status": "incomplete" if cut else "completed", **cut}


def _ollama_document(broken: Broken, token: str) -> Json:
    return OLLAMA.answer(OLLAMA.call_message(broken.tool, broken.write(meant(token))), broken.finish or "stop")


def _gemini_document(broken: Broken, token: str) -> Json:
    return GEMINI.call_answer(broken.tool, broken.write(meant(token)), broken.finish)


_DOCUMENTS: dict[str, Callable[[Broken, str], Json]] = {
    "chat": _chat_document,
    "messages": _messages_document,
    "responses": _responses_document,
    "ollama": _ollama_document,
    "gemini": _gemini_document,
}
