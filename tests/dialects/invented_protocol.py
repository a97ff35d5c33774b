"""A protocol that nobody speaks, as a reader and a writer: what a new protocol costs.

{"say": "Hello"}                                          the model speaks
{"muse": "Hmm"}                                           it thinks
{"call": {"n": 0, "id": "c1", "tool": "Bash"}}            a call begins
{"args": {"n": 0, "json": "{\"command\":"}}               a piece of its arguments
{"stop": "calls"}                                         why it stopped: calls, done, full
{"oops": "overloaded"}                                    it failed
{"say": "…", "calls": [{"id": …, "tool": …, "json": …}], "stop": …}       a whole answer
"""

from __future__ import annotations

import json
from typing import Any

from toolcalls.dialects.answer_io import AnswerReader, AnswerWriter, ProtocolTraits
from toolcalls.dialects.reader_writer import ReaderWriterDialect
from toolcalls.mend.finish import Finish
from toolcalls.mend.mender import Mender
from toolcalls.policy import Policy
from toolcalls.request.request import Request
from toolcalls.turn import payload
from toolcalls.turn.answer import CompletedCall
from toolcalls.turn.finish_reason import FinishWords
from toolcalls.turn.live import LivePart
from toolcalls.turn.parts import Failure, Fragment, OtherDelta, Part, ReadEvent, Stop, TextDelta, index_of
from toolcalls.wire import sse
from toolcalls.wire.events import Event

Json = dict[str, Any]

FINISHES = {"calls": Finish.COMPLETE, "done": Finish.COMPLETE, "full": Finish.CUT}
PARTS = {"say", "muse", "call", "args", "calls", "stop", "oops"}


class InventedReader(AnswerReader):
    traits = ProtocolTraits(text_key="say", arguments_key="json")

    def read(self, event: Event) -> ReadEvent | None:
        said = payload.read_strict(event.data or "")
        if not isinstance(said, dict):
            return None
        parts: list[Part] = []
        if said.get("oops"):
            parts.append(Failure())
        if said.get("muse"):
            parts.append(OtherDelta())
        if said.get("say"):
            parts.append(TextDelta(str(said["say"])))
        calls = [said[key] for key in ("call", "args") if isinstance(said.get(key), dict)]
        parts += [_fragment(call) for call in [*calls, *said.get("calls", [])]]
        if said.get("stop"):
            reason = str(said["stop"])
            parts.append(Stop(reason, FINISHES.get(reason, Finish.UNKNOWN)))
        return ReadEvent(event.raw, said, parts, has_other_content=bool(said.keys() - PARTS or said.get("muse")))


def _fragment(call: Json) -> Fragment:
    arguments = payload.text_of(call.get("json"))
    return Fragment(index_of(call.get("n")), str(call.get("id") or ""), str(call.get("tool") or ""), arguments)


class InventedWriter(AnswerWriter):
    words = FinishWords("calls", "done", frozenset({"done", "calls"}))

    def text(self, read: ReadEvent | None, text: str) -> bytes:
        return _event({"say": text})

    def rest(self, read: ReadEvent) -> bytes:
        kept = {key: value for key, value in read.payload.items() if key not in PARTS or key == "muse"}
        return _event(kept)

    def calls(self, read: ReadEvent) -> bytes:
        return _event({key: value for key, value in read.payload.items() if key in ("call", "args", "calls")})

    def call(self, call: CompletedCall) -> bytes:
        outcome = call.outcome
        begin = {"call": {"n": call.number, "id": outcome.id, "tool": outcome.name}}
        return _event({**begin, "args": {"n": call.number, "json": outcome.arguments}})

    def end(self, read: ReadEvent | None, reason: str) -> bytes:
        kept = read.payload if read is not None else {}
        return _event({**{key: value for key, value in kept.items() if key not in PARTS}, "stop": reason})

    def document(self, read: ReadEvent, texts: list[str], calls: list[CompletedCall], reason: str | None) -> bytes:
        kept = {key: value for key, value in read.payload.items() if key not in PARTS}
        entries = [
            {"id": call.outcome.id, "tool": call.outcome.name, "json": call.outcome.arguments} for call in calls
        ]
        return json.dumps({**kept, "say": "".join(texts), "calls": entries, "stop": reason}).encode()

    def live(self, part: LivePart) -> bytes:
        args = {"args": {"n": part.live.number, "json": part.arguments}}
        begin = (
            {"call": {"n": part.live.number, "id": part.live.id, "tool": part.assembled.name}} if part.begins else {}
        )
        return _event({**begin, **args})

    def rest_of_call(self, number: int, arguments: str) -> bytes:
        return _event({"args": {"n": number, "json": arguments}})


def _event(said: Json) -> bytes:
    return sse.write(payload.write(said))


def invented(request: Request, policy: Policy, mender: Mender) -> ReaderWriterDialect:
    return ReaderWriterDialect(request, policy, mender, InventedReader(), InventedWriter())
