"""Responses: every item and event that the SDK declares, reasoning, annotations, logprobs, refusals, keep-alives."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from .sampling import Sampler, members
from .words import DESCRIPTION, SCHEMAS, Json, arguments, call, deltas, identity, often, said, some

EVENT = "openai.types.responses:ResponseStreamEvent"
ITEM = "openai.types.responses:ResponseOutputItem"
RESPONSE = "openai.types.responses:Response"
TEXT = "openai.types.responses:ResponseOutputText"
TYPES = (EVENT, ITEM, RESPONSE, TEXT)

PIECES = (
    "message",
    "message",
    "reasoning",
    "call",
    "call",
    "call",
    "custom",
    "item",
    "item",
    "unknown",
    "keepalive",
    "event",
)
OWN = ("message", "reasoning", "function_call", "custom_tool_call")


def pieces(chance: random.Random) -> list[Json]:
    kinds = [chance.choice(PIECES) for _ in range(chance.randint(0, 6))]
    return [{"is": kind, "seed": chance.randrange(10**9)} for kind in [*kinds, "finish"]]


def request(chance: random.Random, pieces: list[Json]) -> Json:
    tools: list[Json] = [
        {"type": "function", "name": name, "description": DESCRIPTION, "parameters": schema, "strict": False}
        for name, schema in SCHEMAS.items()
    ]
    tools.append({"type": "custom", "name": "apply_patch", "description": DESCRIPTION})
    tools += [{"type": "web_search"}, {"type": "code_interpreter", "container": {"type": "auto"}}]
    asked: Json = {"model": "m", "input": "Go on."}
    if often(chance, 0.9) or any(piece["is"] in ("call", "custom") for piece in pieces):
        asked["tools"] = tools
    return asked


class _Writer:
    """Writes the events of one response after the other, and keeps its output."""

    def __init__(self, chance: random.Random, sampler: Sampler) -> None:
        self.chance = chance
        self.sampler = sampler
        self.output: list[Json] = []
        self.number = 0
        self.padded = often(chance, 0.3)
        self.logprobs = often(chance, 0.3)

    def event(self, kind: str, **said: Any) -> Json:
        made = {"type": kind, "sequence_number": self.number, **said}
        if self.padded and kind.endswith(".delta"):
            made["obfuscation"] = "x" * self.chance.randrange(9)
        self.number += 1
        return made

    def item(self, piece: Json) -> Iterator[Json]:
        chance = self.chance = random.Random(piece["seed"])
        self.sampler = Sampler(self.sampler.schemas, chance)
        match piece["is"]:
            case "message":
                yield from self._message()
            case "reasoning":
                yield from self._reasoning()
            case "call":
                name, value = call(chance)
                item = {"type": "function_call", "id": identity(chance, "fc_"), "call_id": identity(chance, "call_")}
                item |= {"name": name, **some(chance, {"namespace": lambda: "mcp__github"}, 0.1)}
                text = arguments(chance, value)
                yield from self._called(item, "arguments", "response.function_call_arguments", text)
            case "custom":
                item = {
                    "type": "custom_tool_call",
                    "id": identity(chance, "ctc_"),
                    "call_id": identity(chance, "call_"),
                }
                text = "*** Begin Patch\n" + said(chance) + "\n*** End Patch"
                yield from self._called(
                    {**item, "name": "apply_patch"}, "input", "response.custom_tool_call_input", text
                )
            case "item":
                yield from self._other()
            case "unknown":
                item = {
                    "type": "x_future_call",
                    "id": identity(chance, "x_"),
                    "arguments": "{",
                    "name": "Bash",
                    "status": "done",
                }
                yield from self._whole(item, [("response.x_future_call.delta", {"delta": said(chance, 1)})])
            case "keepalive":
                yield self.event("keepalive")
            case "event":
                kind = chance.choice(("response.x_future", "response.rate_limits.updated", "codex.rate_limits"))
                yield self.event(kind, data={"text": said(chance, 1)})

    def _place(self, item: Json) -> Json:
        return {"item_id": item["id"], "output_index": len(self.output)}

    def _added(self, item: Json) -> Json:
        return self.event("response.output_item.added", output_index=len(self.output), item=item)

    def _done(self, item: Json) -> Json:
        done = self.event("response.output_item.done", output_index=len(self.output), item=item)
        self.output.append(item)
        return done

    def _message(self) -> Iterator[Json]:
        chance = self.chance
        item: Json = {"id": identity(chance, "msg_"), "type": "message", "role": "assistant"}
        item |= some(chance, {"phase": lambda: chance.choice(("commentary", "final_answer"))})
        yield self._added({**item, "status": "in_progress", "content": []})
        content: list[Json] = []
        for number in range(chance.choice((1, 1, 1, 2))):
            place = {**self._place(item), "content_index": number}
            if often(chance, 0.1):
                text = "I cannot help with that."
                yield self.event("response.content_part.added", **place, part={"type": "refusal", "refusal": ""})
                for part in deltas(chance, text):
                    yield self.event("response.refusal.delta", **place, delta=part)
                yield self.event("response.refusal.done", **place, refusal=text)
                content.append({"type": "refusal", "refusal": text})
            else:
                yield from self._text(place, content)
            yield self.event("response.content_part.done", **place, part=content[-1])
        yield self._done({**item, "status": "completed", "content": content})

    def _text(self, place: Json, content: list[Json]) -> Iterator[Json]:
        chance = self.chance
        text = said(chance)
        empty: Json = {"type": "output_text", "annotations": [], "logprobs": [], "text": ""}
        yield self.event("response.content_part.added", **place, part=empty)
        probabilities: list[Json] = []
        annotations: list[Any] = []
        for part in deltas(chance, text):
            found = []
            if self.logprobs:
                tokens = [part[:2], part[2:]] if len(part) > 3 else [part]
                found = [
                    {"token": token, "logprob": -0.5, "bytes": [1], "top_logprobs": []} for token in tokens if token
                ]
            probabilities += found
            yield self.event("response.output_text.delta", **place, delta=part, logprobs=found)
            if often(chance, 0.05):
                annotation = (
                    self.sampler.value(TEXT)["annotations"] or [{"type": "file_path", "file_id": "f", "index": 0}]
                )[0]
                where = {**place, "annotation_index": len(annotations), "annotation": annotation}
                annotations.append(annotation)
                yield self.event("response.output_text.annotation.added", **where)
        yield self.event("response.output_text.done", **place, text=text, logprobs=probabilities)
        content.append({**empty, "text": text, "annotations": annotations, "logprobs": probabilities})

    def _reasoning(self) -> Iterator[Json]:
        chance = self.chance
        item: Json = {"id": identity(chance, "rs_"), "type": "reasoning", "summary": []}
        item |= some(chance, {"encrypted_content": lambda: "gAAAAABo", "content": list, "status": lambda: None})
        yield self._added(dict(item))
        place = self._place(item)
        summary: list[Json] = []
        for number in range(chance.choice((0, 1, 1, 2))):
            where = {**place, "summary_index": number}
            text = said(chance)
            yield self.event(
                "response.reasoning_summary_part.added", **where, part={"type": "summary_text", "text": ""}
            )
            for part in deltas(chance, text):
                yield self.event("response.reasoning_summary_text.delta", **where, delta=part)
            yield self.event("response.reasoning_summary_text.done", **where, text=text)
            summary.append({"type": "summary_text", "text": text})
            yield self.event("response.reasoning_summary_part.done", **where, part=summary[-1])
        item = {**item, "summary": summary}
        if often(chance, 0.3):
            text = said(chance)
            for part in deltas(chance, text):
                yield self.event("response.reasoning_text.delta", **place, content_index=0, delta=part)
            yield self.event("response.reasoning_text.done", **place, content_index=0, text=text)
            item["content"] = [{"type": "reasoning_text", "text": text}]
        yield self._done(item)

    def _called(self, item: Json, key: str, events: str, text: str) -> Iterator[Json]:
        chance = self.chance
        status = some(chance, {"status": lambda: "in_progress"}, 0.8)
        yield self._added({**item, key: "", **status})
        for part in deltas(chance, text):
            yield self.event(f"{events}.delta", **self._place(item), delta=part)
        named = some(chance, {"name": lambda: item["name"]}) if key == "arguments" else {}
        yield self.event(f"{events}.done", **self._place(item), **{key: text}, **named)
        yield self._done({**item, key: text, **({"status": "completed"} if status else {})})

    def _other(self) -> Iterator[Json]:
        """An item of the host: begun, with the events of its kind, and whole."""
        chance = self.chance
        kinds = [kind for kind in members(self.sampler.schemas[ITEM]) if kind not in OWN]
        item = self.sampler.typed(ITEM, chance.choice(kinds))
        item["id"] = identity(chance, "item_")
        if item["type"].endswith("_call") and "call_id" in item:
            item["call_id"] = identity(chance, "call_")
        names = [kind for kind in members(self.sampler.schemas[EVENT]) if kind.startswith(f"response.{item['type']}")]
        between = []
        for name in chance.sample(names, min(len(names), chance.randint(0, 3))):
            event = self.sampler.typed(EVENT, name)
            keys = ("type", "sequence_number", "item_id", "output_index")
            between.append((name, {key: value for key, value in event.items() if key not in keys}))
        yield from self._whole(item, between)

    def _whole(self, item: Json, between: list[tuple[str, Json]]) -> Iterator[Json]:
        yield self._added(item)
        for kind, fields in between:
            yield self.event(kind, **self._place(item), **fields)
        yield self._done(item)


def _response(chance: random.Random, sampler: Sampler) -> Json:
    sampled = sampler.value(RESPONSE)
    kept = [
        key
        for key in sampled
        if key not in ("output", "status", "error", "incomplete_details", "output_text", "usage")
    ]
    made = {key: sampled[key] for key in kept if key in _NEEDED or often(chance, 0.4)}
    return {**made, "id": identity(chance, "resp_"), "object": "response", "output": [], "model": "m"}


_NEEDED = ("created_at", "parallel_tool_calls", "tool_choice", "tools")
_USAGE = {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 5, "total_tokens": 14,
          "output_tokens_details": {"reasoning_tokens": 0}}  # fmt: skip


def stream(chance: random.Random, pieces: list[Json], asked: Json, sampler: Sampler) -> list[tuple[str, Any]]:
    return [(event["type"], event) for event in events(chance, pieces, sampler)]


def events(chance: random.Random, pieces: list[Json], sampler: Sampler) -> list[Json]:
    writer = _Writer(chance, sampler)
    response = _response(chance, sampler)
    made = []
    if often(chance, 0.1):
        made.append(writer.event("response.created", response={**response, "status": "queued"}))
        made.append(writer.event("response.queued", response={**response, "status": "queued"}))
    else:
        made.append(writer.event("response.created", response={**response, "status": "in_progress"}))
    if often(chance, 0.8):
        made.append(writer.event("response.in_progress", response={**response, "status": "in_progress"}))
    for piece in pieces:
        made += writer.item(piece)
    status, more = _end(chance, pieces)
    made.append(
        writer.event(f"response.{status}", response={**response, **more, "status": status, "output": writer.output})
    )
    return made


def _end(chance: random.Random, pieces: list[Json]) -> tuple[str, Json]:
    more: Json = {"usage": _USAGE, "error": None, "incomplete_details": None}
    if any(piece["is"] in ("call", "custom") for piece in pieces) or often(chance, 0.85):
        return "completed", more
    return "incomplete", {
        **more,
        "incomplete_details": {"reason": chance.choice(("max_output_tokens", "content_filter"))},
    }


def document(chance: random.Random, pieces: list[Json], asked: Json, sampler: Sampler) -> Json:
    writer = _Writer(chance, sampler)
    response = _response(chance, sampler)
    for piece in pieces:
        list(writer.item(piece))
    status, more = _end(chance, pieces)
    return {**response, **more, "status": status, "output": writer.output}
