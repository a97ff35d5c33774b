"""A strict reader of a Responses event stream, written from the protocol's documentation.

It knows nothing of the engine. It raises `Illegal` on the first event that a conforming server would not
send, and gives back what a client ends with.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


class Illegal(AssertionError):
    """The stream breaks a rule of the protocol."""


@dataclass
class Item:
    index: int
    body: Json
    parts: dict[int, Json] = field(default_factory=dict)
    deltas: list[str] = field(default_factory=list)
    stated: str | None = None
    done: Json | None = None


@dataclass
class Final:
    """What the client holds in the end."""

    items: list[Item]
    terminal: str = ""
    response: Json = field(default_factory=dict)
    events: int = 0

    def calls(self) -> list[tuple[str, str, str]]:
        """Type, name and arguments (or input) of each call, by output index."""
        done: list[Any] = [item.done for item in self.items if item.done]
        return [
            (body["type"], body["name"], body.get("arguments", body.get("input", "")))
            for body in done
            if body["type"] in ("function_call", "custom_tool_call")
        ]

    def texts(self) -> list[str]:
        """The text of each message, as its deltas told it."""
        return ["".join(item.deltas) for item in self.items if item.body["type"] == "message"]


TERMINAL = ("response.completed", "response.incomplete", "response.failed", "error")
NEEDED = {
    "function_call": ("id", "call_id", "name", "arguments"),
    "custom_tool_call": ("id", "call_id", "name", "input"),
    "message": ("id", "role", "content"),
    "reasoning": ("id", "summary"),
}
STRICT = tuple(NEEDED)
CALLS = ("response.function_call_arguments", "response.custom_tool_call_input")
TEXTS = ("response.content_part", "response.output_text", "response.refusal")
INSIDE = (*CALLS, *TEXTS)
"""Events that speak about an item. Each names it: an event that does not is none of the protocol, so what it says is
not to be judged."""


def events_of(stream: bytes) -> list[tuple[str, str]]:
    found = []
    for block in stream.replace(b"\r\n", b"\n").decode().split("\n\n"):
        lines = block.split("\n")
        data = "\n".join(line[5:].removeprefix(" ") for line in lines if line.startswith("data:"))
        kind = next((line[6:].strip() for line in lines if line.startswith("event:")), "")
        if data:
            found.append((kind, data))
    return found


def validate(stream: bytes, *, event_lines: bool = True, one_delta: bool = True) -> Final:
    final = Final([])
    reader = _Reader(final, one_delta)
    for kind, data in events_of(stream):
        if data == "[DONE]":
            continue
        message = json.loads(data)
        if event_lines and kind != message.get("type"):
            raise Illegal(f"event line {kind!r} for {message.get('type')!r}")
        reader.read(message)
    if not final.terminal:
        raise Illegal("no terminal event")
    return final


def need(condition: object, why: str) -> None:
    if not condition:
        raise Illegal(why)


class _Reader:
    def __init__(self, final: Final, one_delta: bool) -> None:
        self.one_delta = one_delta
        self.final = final
        self.number = -1
        self.by_index: dict[int, Item] = {}
        self.call_ids: set[str] = set()

    def read(self, message: Json) -> None:
        kind = message["type"]
        need(not self.final.terminal, f"{kind} after {self.final.terminal}")
        number: Any = message.get("sequence_number")
        if kind != "error":
            need(isinstance(number, int) and number > self.number, f"{kind}: number {number} after {self.number}")
            self.number = number
            need(self.final.events or kind == "response.created", f"{kind} is the first event")
        if kind == "response.created":
            for key in ("id", "created_at", "model"):
                need(message["response"].get(key) is not None, f"the response is announced without {key}")
        self.final.events += 1
        if kind == "response.output_item.added":
            self.added(message)
        elif kind == "response.output_item.done":
            self.done(message)
        elif kind in TERMINAL:
            self.end(kind, message)
        elif "item_id" in message or kind.rpartition(".")[0] in INSIDE:
            need(isinstance(message.get("item_id"), str), f"{kind} names no item")
            self.inside(kind, message)

    def added(self, message: Json) -> None:
        index, body = message["output_index"], message["item"]
        need(index not in self.by_index, f"two items at {index}")
        for key in NEEDED.get(body["type"], ()):
            need(body.get(key) is not None, f"{body['type']} is announced without {key}")
        need(not body.get("arguments") and not body.get("input"), "a call is announced with its arguments")
        item = Item(index, body)
        self.by_index[index] = item
        self.final.items.append(item)
        self.final.items.sort(key=lambda entry: entry.index)

    def inside(self, kind: str, message: Json) -> None:
        item = self.by_index.get(message["output_index"])
        need(item, f"{kind} of an item that was never announced")
        assert item is not None
        need(item.done is None, f"{kind} after the item was done")
        need(item.body["id"] == message["item_id"], f"{kind}: {message['item_id']} is not {item.body['id']}")
        stem, _, verb = kind.rpartition(".")
        of = item.body["type"]
        if stem in CALLS:
            field_name = "arguments" if of == "function_call" else "input"
            need(stem.endswith("arguments") == (of == "function_call"), f"{kind} in a {of}")
            need(item.stated is None, f"{kind} after the arguments were stated")
            if verb == "delta":
                item.deltas.append(message["delta"])
            else:
                item.stated = message[field_name]
                need(item.stated == "".join(item.deltas), "stated arguments are not those of the deltas")
        elif stem in TEXTS:
            self.content(item, stem, verb, message)

    def content(self, item: Item, stem: str, verb: str, message: Json) -> None:
        need(item.body["type"] in ("message", "reasoning"), f"{stem} in a {item.body['type']}")
        place = message["content_index"]
        if stem == "response.content_part" and verb == "added":
            need(place not in item.parts, f"two parts at {place}")
            need(message["part"].get("text", message["part"].get("refusal")) is not None, "a part without text")
            item.parts[place] = {"said": [], "text": None, "closed": False}
            return
        part = item.parts.get(place)
        need(part is not None, f"{stem}.{verb} of a part that was never announced")
        assert part is not None
        need(not part["closed"], f"{stem}.{verb} of a closed part")
        if stem == "response.content_part":
            text = message["part"].get("text", message["part"].get("refusal"))
            need(text == "".join(part["said"]), "the part is not what was said")
            part["closed"] = True
        elif verb == "delta":
            need(part["text"] is None, "a delta after the text was stated")
            part["said"].append(message["delta"])
            item.deltas.append(message["delta"])
        elif verb == "done":
            part["text"] = message.get("text", message.get("refusal"))
            need(part["text"] == "".join(part["said"]), "the stated text is not what was said")

    def done(self, message: Json) -> None:
        index, body = message["output_index"], message["item"]
        kind = body["type"]
        item = self.by_index.get(index)
        if item is None:
            need(kind not in STRICT, f"{kind} is done and was never announced")
            item = self.by_index[index] = Item(index, body)
            self.final.items.append(item)
        need(item.done is None, "an item is done twice")
        need(item.body["type"] == kind, f"a {item.body['type']} became a {kind}")
        need(item.body.get("id") == body.get("id"), "an item changed its id")
        for key in NEEDED.get(kind, ()):
            need(body.get(key) is not None, f"{kind} is done without {key}")
        if kind == "function_call" and self.one_delta:
            need(len(item.deltas) == 1, f"{len(item.deltas)} argument deltas")
        if kind in ("function_call", "custom_tool_call"):
            need(item.body["call_id"] == body["call_id"], "a call changed its call id")
            need(item.body["name"] == body["name"], "a call changed its name")
            need(body["call_id"] not in self.call_ids, "two calls with one id")
            self.call_ids.add(body["call_id"])
            need(item.stated is not None, "a call is done before its arguments are stated")
            need(body.get("arguments", body.get("input")) == item.stated, "the item has other arguments")
        if kind == "message":
            need(all(part["closed"] for part in item.parts.values()), "a message is done with an open part")
            kinds = [part.get("type") for part in body["content"]]
            need(all(kind in ("output_text", "refusal") for kind in kinds), f"a message of {kinds}")
            text = "".join(part.get("text") or part.get("refusal") or "" for part in body["content"])
            need(text == "".join(item.deltas), "the message is not what was said")
        item.done = body

    def end(self, kind: str, message: Json) -> None:
        self.final.terminal = kind
        if kind == "error":
            return
        response = self.final.response = message["response"]
        if kind == "response.failed":
            return
        done: list[Any] = [item.done for item in sorted(self.by_index.values(), key=lambda item: item.index)]
        if kind == "response.completed":
            need(all(done), "completed with an item that is not done")
        finished = [body for body in done if body]
        output = response.get("output")
        need(isinstance(output, list), "no output")
        need(len(output) == len(finished), f"{len(output)} items in the output, {len(finished)} were done")
        for told, body in zip(output, finished, strict=True):
            for key in ("id", "type", "call_id", "name", "namespace", "arguments", "input"):
                need(told.get(key) == body.get(key), f"the output has another {key} than the item")
            if body["type"] == "message":
                texts = [[part.get("text") for part in entry["content"]] for entry in (told, body)]
                need(texts[0] == texts[1], "the output has another text than the item")
