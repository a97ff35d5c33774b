"""Answers of servers that tell several calls at once: known calls, cut into fragments, shuffled, and told badly.

A generator with the truth beside it: what is meant is known, so whatever else comes out runnable was written by nobody.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.chat_client import read as read_chat
from tests.must_not_run.wires import TOOLS
from tests.protocols import messages_wire
from tests.protocols.responses_wire import Upstream
from tests.protocols.test_chat import DONE, chunk
from tests.protocols.zai_streams import Backend
from tests.splits import cut_at_random, feed
from tests.validators import messages as strict_messages
from tests.validators import responses as strict_responses
from toolcalls.engine import Response
from toolcalls.policy import Policy
from toolcalls.request.request import read_request

Json = dict[str, Any]
Call = tuple[str, Json]

POOL: tuple[Call, ...] = (
    ("Bash", {"command": "rm -rf build"}),
    ("Bash", {"command": "ls /home"}),
    ("Bash", {"command": "ls", "timeout": 5}),
    ("Bash", {"command": 'echo {"a": 1}, x'}),
    ("Bash", {"command": "it's", "description": 'say "hi"'}),
    ("Read", {"file_path": "/etc/passwd"}),
    ("Read", {"file_path": "/a b, c", "limit": 3}),
    ("Write", {"file_path": "/x", "content": 'a\n{"command": "ls"}\n'}),
    ("list_tabs", {}),
)
IDS = ("each", "first", "none", "unstable")
INDICES = ("right", "zero", "missing", "bool")
NAMES = ("first", "each")
STYLES: dict[str, Callable[[Json], str]] = {
    "json": json.dumps,
    "compact": lambda value: json.dumps(value, separators=(",", ":")),
    "indented": lambda value: json.dumps(value, indent=1),
    "python": repr,
    "encoded twice": lambda value: json.dumps(json.dumps(value)),
    "without its last bracket": lambda value: json.dumps(value)[:-1],
}


@dataclass(frozen=True)
class Piece:
    """One fragment: which call it is of, and which of its fragments."""

    call: int
    number: int
    name: str
    arguments: str
    last: bool


@dataclass
class Told:
    """An answer: the calls that are meant, and their fragments in the order in which they come."""

    ids: str
    index: str
    names: str
    style: str
    meant: list[Call] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)
    cut: bool = False
    ends: bool = True
    """Blocks and items are ended, where the protocol has such events."""

    def place(self, call: int) -> Any:
        """The index of a call as this server tells it; None where it tells none."""
        if self.index == "bool":
            return [1, True, 2][call]
        return {"right": call, "zero": 0}.get(self.index)

    def identity(self, piece: Piece) -> str | None:
        """The id of a fragment as this server tells it."""
        if self.ids == "each" or (self.ids == "first" and not piece.number):
            return f"call_{piece.call}"
        return f"call_{piece.call}_{piece.number}" if self.ids == "unstable" else None

    def named(self, piece: Piece) -> bool:
        return self.names == "each" or not piece.number


def told(chance: random.Random) -> Told:
    """A random answer of a random server."""
    made = Told(*(chance.choice(options) for options in (IDS, INDICES, NAMES, tuple(STYLES))))
    made.ends = chance.random() < 0.7
    made.meant = [chance.choice(POOL) for _ in range(chance.choice((2, 2, 3)))]
    queues = [_cut(chance, number, call, made.style) for number, call in enumerate(made.meant)]
    if chance.random() < 0.25:
        made.pieces = [piece for queue in queues for piece in queue]
    else:
        while any(queues):
            queue = chance.choice([queue for queue in queues if queue])
            made.pieces.append(queue.pop(0))
    if chance.random() < 0.2:
        kept = made.pieces[: chance.randrange(1, len(made.pieces) + 1)]
        if not any(_ends_behind_a_value(kept, number) for number in range(len(made.meant))):
            made.pieces, made.cut = kept, True
    return made


def _cut(chance: random.Random, number: int, call: Call, style: str) -> list[Piece]:
    name, arguments = call
    text = STYLES[style](arguments)
    places = sorted(chance.sample(range(len(text) + 1), min(chance.choice((0, 1, 2, 3, 8)), len(text) + 1)))
    parts = [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]
    if chance.random() < 0.4:
        parts = ["", *parts]
    return [Piece(number, at, name, part, at == len(parts) - 1) for at, part in enumerate(parts)]


def _ends_behind_a_value(pieces: list[Piece], call: int) -> bool:
    """Would a call that was cut off here be whole with one more bracket? That is another class."""
    text = "".join(piece.arguments for piece in pieces if piece.call == call)
    over = any(piece.last for piece in pieces if piece.call == call)
    return not over and text.rstrip()[-1:] in tuple("\"'0123456789}]")


# The wires


def chat(said: Told) -> bytes:
    body = ""
    for piece in said.pieces:
        place, identity = said.place(piece.call), said.identity(piece)
        entry: Json = {} if place is None else {"index": place}
        entry |= {"id": identity, "type": "function"} if identity else {}
        function = {"name": piece.name} if said.named(piece) else {}
        body += chunk({"tool_calls": [{**entry, "function": {**function, "arguments": piece.arguments}}]})
    return (body + chunk({}, "length" if said.cut else "tool_calls") + DONE).encode()


def legacy(said: Told) -> bytes:
    body = ""
    for piece in said.pieces:
        named = {"name": piece.name} if said.named(piece) else {}
        body += chunk({"function_call": {**named, "arguments": piece.arguments}})
    return (body + chunk({}, "length" if said.cut else "function_call") + DONE).encode()


def messages(said: Told) -> bytes:
    """Deltas have no ids here. `first`: only the starts have their index."""
    wire = messages_wire
    out = wire.begin()
    for piece in said.pieces:
        place = said.place(piece.call)
        if not piece.number:
            identity = None if said.ids == "none" else f"toolu_{piece.call}"
            out += wire.tool_start(place, identity, piece.name)
        out += wire.fragment(None if said.ids == "first" and said.index == "right" else place, piece.arguments)
        if piece.last and said.ends:
            out += wire.stop(place)
    return out + wire.end("max_tokens" if said.cut else "tool_use")


def responses(said: Told) -> bytes:
    """`first`: only the announcements have an id."""
    upstream = Upstream()
    items: dict[int, Json] = {}
    for piece in said.pieces:
        place = said.place(piece.call)
        where: Json = {} if place is None else {"output_index": place}
        item_id = {"each": f"fc_{piece.call}", "unstable": f"fc_{piece.call}_{piece.number}"}.get(said.ids)
        if not piece.number:
            named = {} if said.ids == "none" else {"id": f"fc_{piece.call}", "call_id": f"call_{piece.call}"}
            items[piece.call] = {**named, "type": "function_call", "name": piece.name, "arguments": ""}
            upstream.say("response.output_item.added", **where, item={**items[piece.call], "status": "in_progress"})
        delta = {**where, **({"item_id": item_id} if item_id else {}), "delta": piece.arguments}
        upstream.say("response.function_call_arguments.delta", **delta)
        if piece.last and said.ends:
            # What it says as a whole is forgotten, as some servers do.
            done = {**items[piece.call], "status": "completed"}
            upstream.say("response.output_item.done", **where, item=done)
    upstream.end("incomplete" if said.cut else "completed")
    return upstream.bytes()


def zai(said: Told) -> bytes:
    backend = Backend(compact=True)
    for piece in said.pieces:
        identity = said.identity(piece)
        metadata = {"type": "function", **({"tool_call_id": identity} if identity else {})}
        named = {"delta_name": piece.name} if said.named(piece) else {}
        backend.say(phase="tool_call", **named, delta_arguments=piece.arguments, metadata=metadata)
    return (backend if said.cut else backend.done()).stream


def _chat_calls(out: bytes) -> list[tuple[str, str]]:
    return read_chat(out).call_list()


def _messages_calls(out: bytes) -> list[tuple[str, str]]:
    message = strict_messages.read(out, fragments=True, unfinished_calls=True)
    return [(name, json.dumps(given)) for name, given in message.calls if given is not None]


def _responses_calls(out: bytes) -> list[tuple[str, str]]:
    return [(name, arguments) for _, name, arguments in strict_responses.validate(out, one_delta=False).calls()]


WIRES: dict[str, tuple[str, Callable[[Told], bytes], Callable[[bytes], list[tuple[str, str]]]]] = {
    "chat": ("chat", chat, _chat_calls),
    "function_call": ("chat", legacy, _chat_calls),
    "messages": ("messages", messages, _messages_calls),
    "responses": ("responses", responses, _responses_calls),
    "zai": ("zai", zai, _chat_calls),
}
QUESTION = read_request({"tools": TOOLS, "stream": True})
_REQUIRED = {tool["function"]["name"]: tool["function"]["parameters"].get("required") for tool in TOOLS}


def accepted_anyway(said: Told) -> list[Call]:
    """What a client that gathers by place reads without us: the fragments of one place, where they happen to be JSON."""
    lanes: dict[str, list[Piece]] = {}
    for piece in said.pieces:
        lanes.setdefault(repr(said.place(piece.call)), []).append(piece)
    lanes["all"] = said.pieces
    texts = [(lane[0].name, "".join(piece.arguments for piece in lane)) for lane in lanes.values()]
    return [call for name, text in texts if (call := _call(name, text)) is not None]


def runnable(wire: str, body: bytes, seed: int, **policy: Any) -> list[Call]:
    """The calls that a client would run, the same however the bytes are cut."""
    protocol, _, calls = WIRES[wire]
    out = feed(Response(protocol, QUESTION, Policy(**policy)), [body])
    again = Response(protocol, QUESTION, Policy(**policy))
    assert feed(again, cut_at_random(body, seed)) == out
    assert again.failure is None, again.failure
    return [call for name, arguments in calls(out) if (call := _call(name, arguments)) is not None]


def _call(name: str, arguments: str) -> Call | None:
    """None for what a client rejects."""
    try:
        value = json.loads(arguments)
    except ValueError:
        return None
    if name not in _REQUIRED:
        return None  # The invalid tool among them.
    rejected = not isinstance(value, dict) or (not value and _REQUIRED[name])
    return None if rejected else (name, value)
