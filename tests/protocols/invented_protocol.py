"""A protocol that nobody speaks: what a new protocol costs.

{"say": "Hello"}                                          the model speaks
{"muse": "Hmm"}                                           it thinks
{"call": {"n": 0, "id": "c1", "tool": "Bash"}}            a call begins
{"args": {"n": 0, "json": "{\"command\":"}}               a piece of its arguments
{"calls": [{"id": "c1", "tool": "Bash", "json": "{}"}]}   whole calls
{"stop": "calls"}                                         why it stopped: calls, done, full
{"oops": "overloaded"}                                    it failed
{"say": "…", "calls": […], "stop": …}                     a whole answer
"""

from __future__ import annotations

from toolcalls import payload
from toolcalls.finish_reason import FinishWords
from toolcalls.mend.finish import Finish
from toolcalls.parts import Fragment, Json, Other, Part, Piece, Stop, Text
from toolcalls.payload import index_of, string_of
from toolcalls.protocols.protocol import Failed, Protocol
from toolcalls.wire import sse
from toolcalls.wire.sse import Event

FINISHES = {"calls": Finish.COMPLETE, "done": Finish.COMPLETE, "full": Finish.CUT}
PARTS = {"say", "call", "args", "calls", "stop"}


class Invented(Protocol):
    words = FinishWords("calls", "done", frozenset({"done", "calls"}))

    def read(self, event: Event) -> list[Part] | None:
        said = payload.read_strict(event.data or "")
        if not isinstance(said, dict):
            return None
        if said.get("oops"):
            raise Failed
        calls = [_fragment(said[key], {key: said[key]}) for key in ("call", "args") if key in said]
        calls += [_fragment(call, {"calls": [call]}, whole=True) for call in said.get("calls", [])]
        silent = calls and self._policy.null_content
        parts: list[Part] = [*([Text(said["say"])] if said.get("say") and not silent else []), *calls]
        rest = {key: value for key, value in said.items() if key not in PARTS}
        if said.get("stop"):
            return [*parts, Stop(said["stop"], FINISHES.get(said["stop"], Finish.UNKNOWN), rest)]
        return [*parts, Other(body=rest)] if rest else parts

    def write(self, part: Part) -> bytes:
        match part:
            case Text():
                return _event({"say": part.text})
            case Stop():
                return _event({**part.body, "stop": part.reason})
            case Piece():
                begin = {"n": part.number, "id": part.id, "tool": part.name}
                args = {"args": {"n": part.number, "json": part.arguments}}
                return _event({**({"call": begin} if part.begins else {}), **args})
        return _event(part.body)

    def write_document(self, body: bytes, parts: list[Part]) -> bytes:
        say = "".join(part.text for part in parts if isinstance(part, Text))
        calls = [_entry(part) for part in parts if isinstance(part, Fragment | Piece)]
        stop = next((part.reason for part in parts if isinstance(part, Stop)), None)
        return payload.write({**(payload.object_in(body) or {}), "say": say, "calls": calls, "stop": stop}).encode()


def _fragment(call: Json, body: Json, *, whole: bool = False) -> Fragment:
    identity, tool = string_of(call.get("id")), string_of(call.get("tool"))
    return Fragment(index_of(call.get("n")), identity, tool, string_of(call.get("json")), whole=whole, body=body)


def _entry(part: Fragment | Piece) -> Json:
    if isinstance(part, Piece):
        return {"id": part.id, "tool": part.name, "json": part.arguments}
    entry: Json = part.body["calls"][0]
    return entry


def _event(said: Json) -> bytes:
    return sse.write(payload.write(said))
