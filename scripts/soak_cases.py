"""What the soak asks for and what must come back: the committed scenarios, and answers that are made up.

Each case is made for one request and carries a token of its own in its ids, and where it is made up in its
arguments and its text too, so that nothing of one flow can pass for another's. What the calls must be is written
by hand (`calls.json`, `Broken.mended`); the bytes around them are what the engine gives for the body in one piece.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from agents_model import Chat, Messages, Responses
from soak_reading import Call, calls_of, texts_of

from toolcalls.cli.demo import recordings_directory
from toolcalls.engine import Answer, mend_whole, protocol_of
from toolcalls.recording import store
from toolcalls.recording.store import Recording
from toolcalls.request.request import decode, read_question, seed_of

Json = dict[str, Any]
PATHS = {"chat": "/v1/chat/completions", "messages": "/v1/messages", "responses": "/v1/responses"}
EVENT_STREAM = "text/event-stream"
_ID = re.compile(rb'"id"\s*:\s*"([^"\\]{4,})"')


@dataclass(slots=True, frozen=True)
class Case:
    """One request, the upstream's answer to it, and what the client must get."""

    name: str
    token: str
    protocol: str
    """As /metrics calls it: by the path."""
    path: str
    request: bytes
    before: bytes
    after: bytes
    statuses: tuple[str, ...]
    """What becomes of each call in `before`."""
    delivered: int
    """Calls that reach the client."""
    request_after: bytes | None = None
    """What must reach the upstream; None where that depends on earlier requests."""
    content_type: str = EVENT_STREAM
    status: int = 200
    fault: str = ""
    """The case is itself something that goes wrong, such as an error event."""
    cuts: tuple[int, ...] = field(default=())
    """Where the upstream's chunks begin in the recording."""

    @property
    def streamed(self) -> bool:
        return self.content_type.startswith(EVENT_STREAM)


class Wrong(Exception):
    """A case whose calls are not those that were written by hand: no soak is needed to see that."""


def engine(case_path: str, request: bytes, body: bytes) -> tuple[bytes, list[str]]:
    """The bytes for the client and the status of each call, as one piece gives them."""
    answer = Answer(protocol_of(case_path) or "", read_question(decode(request)), seed=seed_of(request))
    mended = mend_whole(answer, body)
    if answer.failure is not None:
        raise Wrong(f"the engine failed open: {answer.failure!r}")
    return mended, [outcome.status for outcome in answer.outcomes]


# The committed scenarios


class Scenarios:
    """The recordings that play under the default options."""

    def __init__(self) -> None:
        loaded = [store.load(path) for path in store.find(recordings_directory())]
        self.recordings = [one for one in loaded if not one.options and one.suffix != ".jsonl"]
        self._ids = {one.name: _identity(one) for one in self.recordings}

    def case(self, recording: Recording, token: str) -> Case:
        before, after = recording.before, recording.after or b""
        known = self._ids[recording.name]
        if known:
            unique = known + b"-" + token.encode()
            before, after = before.replace(known, unique), after.replace(known, unique)
        calls = recording.calls or []
        path = str(recording.flow.get("path", PATHS["chat"]))
        told = recording.request_after or recording.request or b"{}"
        defect = str(recording.flow.get("defect", ""))
        return Case(
            name=recording.name,
            token=token,
            protocol=protocol_of(path) or "",
            path=path,
            request=recording.request or b"{}",
            before=before,
            after=after,
            statuses=tuple(str(call["status"]) for call in calls),
            delivered=sum(not call.get("dropped") for call in calls),
            request_after=None if "refusal" in recording.name else told,
            content_type=str(recording.flow.get("content_type") or EVENT_STREAM),
            status=int(recording.flow.get("status", 200)),
            fault="error event" if "error" in defect else "",
            cuts=tuple(recording.offsets) if before is recording.before else (),
        )


def _identity(recording: Recording) -> bytes:
    """An id of the answer that can be made unique without changing anything else; empty where there is none."""
    path = str(recording.flow.get("path", PATHS["chat"]))
    after = recording.after or b""
    for found in dict.fromkeys(_ID.findall(recording.before)):
        changed = recording.before.replace(found, found + b"-token")
        if found in after and engine(path, recording.request, changed)[0] == after.replace(found, found + b"-token"):
            return bytes(found)
    return b""


# Answers that are made up

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
}
WRITERS = {"chat": Chat(), "messages": Messages(), "responses": Responses()}


@dataclass(slots=True, frozen=True)
class Broken:
    """A way to send a call. `mended` is what the client must get for the arguments that were meant."""

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
    return _made(broken, protocol, token, question(protocol), before, EVENT_STREAM, size)


def document(broken: Broken, protocol: str, token: str) -> Case:
    """The same in one piece, as a client gets it that did not ask for a stream."""
    before = json.dumps(_DOCUMENTS[protocol](broken, token)).encode()
    return _made(broken, protocol, token, question(protocol, stream=False), before, "application/json", 0)


def _made(
    broken: Broken, protocol: str, token: str, request: bytes, before: bytes, content_type: str, size: int
) -> Case:
    path = PATHS[protocol]
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
    return Case("text", token, protocol, path, request, before, before, (), 0, request)


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
    arguments = broken.write(meant(token))
    block: Json = {"type": "tool_use", "id": f"toolu_{token}", "name": broken.tool}
    try:
        block["input"] = json.loads(arguments)
    except ValueError:
        block["input"] = arguments
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


_DOCUMENTS: dict[str, Callable[[Broken, str], Json]] = {
    "chat": _chat_document,
    "messages": _messages_document,
    "responses": _responses_document,
}


# The mixture


def cases(chance: random.Random, scenarios: Scenarios, tokens: Iterator[str]) -> Iterator[Case]:
    """Without end: half of them committed scenarios, each of which comes again when all have been."""
    waiting: list[Recording] = []
    for token in tokens:
        kind = chance.random()
        protocol = chance.choice(list(PATHS))
        if kind < 0.5:
            if not waiting:
                waiting = scenarios.recordings.copy()
                chance.shuffle(waiting)
            yield scenarios.case(waiting.pop(), token)
        elif kind < 0.75:
            yield made(chance.choice(BROKEN), protocol, token)
        elif kind < 0.77:
            yield made(chance.choice(BROKEN[:4]), protocol, token, size=chance.randrange(20_000, 60_000))
        elif kind < 0.9:
            yield document(chance.choice([one for one in BROKEN if not one.as_text]), protocol, token)
        else:
            yield prose(protocol, token, chance.choice([5, 50, 300]))
