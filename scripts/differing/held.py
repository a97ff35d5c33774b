"""`scripts/differ --held`: whether a client holds the same after both versions of the engine.

Around a call the bytes may change, as long as a client ends with the same: text, reasoning, calls with their ids and
arguments, finish reasons, errors, usage, in the order of the answer. Where a recording says that nothing changes, the
bytes must be the upstream's. Where a strict reader accepts what the old version sent, it must accept the new.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from typing import Any

from scripts.fuzzing.clients import data_of, entries
from tests.validators import chat as strict_chat
from tests.validators import gemini as strict_gemini
from tests.validators import messages as strict_messages
from tests.validators import ollama as strict_ollama
from tests.validators import responses as strict_responses

Json = dict[str, Any]


class Held:
    """What a client has of one answer, in the order in which it began to arrive."""

    def __init__(self) -> None:
        self.entries: list[list[Any]] = []
        self._at: dict[Any, list[Any]] = {}

    def add(self, kind: str, *values: Any) -> None:
        """Something that stands alone. The same thing twice in a row is one: a reason in every chunk."""
        if not self.entries or self.entries[-1] != [kind, *values]:
            self.entries.append([kind, *values])

    def say(self, kind: str, text: str) -> None:
        """Text that belongs to the text of its kind right before it, if there is any."""
        if text and self.entries and self.entries[-1][0] == kind:
            self.entries[-1][1] += text
        elif text:
            self.entries.append([kind, text])

    def at(self, place: Any, kind: str, start: Json, *, anew: bool = False) -> Json:
        """What arrives in pieces at a place: a call, a block, an item."""
        if anew or place not in self._at:
            self._at[place] = [kind, {}]
            self.entries.append(self._at[place])
        made: Json = self._at[place][1]
        made.update({key: value for key, value in start.items() if key not in made})
        return made


def grow(made: Json, key: str, text: Any) -> None:
    if isinstance(text, str) and text:
        before = made.get(key)
        made[key] = (before if isinstance(before, str) else "") + text


def events_of(body: bytes) -> Iterator[Any]:
    """Each event as JSON, or as text if it is none; of a document, of lines, or of an event stream."""
    if body.lstrip()[:1] in (b"{", b"["):
        try:
            whole = json.loads(body)
            yield from whole if isinstance(whole, list) else [whole]
            return
        except ValueError:
            texts = [line for line in body.decode("utf-8", "replace").split("\n") if line.strip()]
    else:
        texts = data_of(body)
    yield from map(_parsed, texts)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def chat(events: Iterator[Any]) -> Any:
    """Also what the Z.AI stream was converted to."""
    choices: dict[Any, Held] = {}
    rest, usage = Held(), None
    for event in events:
        if not isinstance(event, dict) or not isinstance(event.get("choices"), list):
            rest.add("event", event)
            continue
        usage = event.get("usage") or usage
        for choice in entries(event["choices"]):
            held = choices.setdefault(str(choice.get("index", 0)), Held())
            for key in ("delta", "message"):
                _take_delta(held, choice[key] if isinstance(choice.get(key), dict) else {})
            for key in choice.keys() - {"index", "delta", "message"}:
                if choice[key]:
                    held.add(key, choice[key])
        if event.get("error"):
            rest.add("error", event["error"])
    return [{index: held.entries for index, held in sorted(choices.items())}, rest.entries, usage]


def _take_delta(held: Held, delta: Json) -> None:
    for key, value in delta.items():
        if key == "tool_calls":
            for number, call in enumerate(entries(value)):
                at = ("call", call.get("index", number))
                made = held.at(at, "call", {k: v for k, v in call.items() if v and k != "function"})
                function = call.get("function")
                for name, text in (function if isinstance(function, dict) else {}).items():
                    grow(made, name, text if isinstance(text, str) else json.dumps(text))
        elif key == "function_call" and isinstance(value, dict):
            made = held.at(key, key, {})
            for name, text in value.items():
                grow(made, name, text)
        elif key == "role":
            continue
        elif isinstance(value, str):
            held.say(key, value)
        elif value:
            held.add(key, value)


def messages(events: Iterator[Any]) -> Any:
    held, end = Held(), dict[str, Any]()
    for event in events:
        kind = event.get("type") if isinstance(event, dict) else ""
        if kind == "message":
            for block in event["content"]:
                held.add("block", {**block, "ended": True})
            end.update({key: event.get(key) for key in ("stop_reason", "stop_sequence", "usage")})
        elif kind == "content_block_start":
            block = event.get("content_block")
            made = held.at(event.get("index"), "block", block if isinstance(block, dict) else {}, anew=True)
            if "input" in made and not made["input"]:
                made["input"] = ""
        elif kind == "content_block_delta":
            made = held.at(event.get("index"), "block", {})
            _grow_block(made, event.get("delta") or {})
        elif kind == "content_block_stop":
            held.at(event.get("index"), "block", {})["ended"] = True
        elif kind == "message_delta":
            end.update({key: value for key, value in (event.get("delta") or {}).items() if value is not None})
            end["usage"] = {**end.get("usage", {}), **(event.get("usage") or {})}
        elif kind not in ("ping", "message_start"):
            held.add("event", event)
    return [held.entries, end]


def _grow_block(made: Json, delta: Json) -> None:
    for key, value in delta.items():
        if key == "partial_json":
            grow(made, "input", value)
        elif key == "signature":
            made[key] = value
        elif key == "citation":
            made["citations"] = [*(made.get("citations") or []), value]
        elif key != "type":
            grow(made, key, value)


def responses(events: Iterator[Any]) -> Any:
    held, end = Held(), list[Any]()
    for event in events:
        if not isinstance(event, dict):
            held.add("event", event)
            continue
        kind, index = str(event.get("type") or ""), event.get("output_index")
        if event.get("object") == "response":
            end.append(event)
        elif kind.startswith("response.output_item"):
            item = event.get("item")
            made = held.at(index, "item", {})
            made["done" if kind.endswith("done") else "added"] = item
        elif "item_id" in event and (isinstance(event.get("delta"), str) or kind.endswith(".done")):
            stem = f"{kind.rpartition('.')[0]} {event.get('content_index', '')}"
            told = {k: v for k, v in event.items() if k not in ("sequence_number", "obfuscation", "type", "delta")}
            made = held.at(index, "item", {})
            if "delta" in event:
                grow(made, stem, event["delta"])
                made[stem + " logprobs"] = [*made.get(stem + " logprobs", []), *(told.get("logprobs") or [])]
            else:
                made[stem + " done"] = told
        elif isinstance(event.get("response"), dict):
            end += [] if kind in ("response.created", "response.in_progress") else [kind, event["response"]]
        elif kind not in ("keepalive", "response.content_part.added"):
            held.add("event", {key: value for key, value in event.items() if key != "sequence_number"})
    return [held.entries, end]


def ollama(events: Iterator[Any]) -> Any:
    held = Held()
    for line in events:
        message = line.get("message") if isinstance(line, dict) else None
        if not isinstance(message, dict):
            held.add("event", line)
            continue
        for key, value in message.items():
            if key == "tool_calls":
                for call in entries(value):
                    held.entries.append(["call", call])
            elif isinstance(value, str) and key != "role":
                held.say(key, value)
            elif value and key != "role":
                held.add(key, value)
        rest = {key: value for key, value in line.items() if value and key not in ("message", "model", "created_at")}
        if rest:
            held.add("line", rest)
    return held.entries


def gemini(events: Iterator[Any]) -> Any:
    candidates: dict[Any, Held] = {}
    rest, usage = Held(), None
    for event in events:
        answer = event.get("response", event) if isinstance(event, dict) else event
        if not isinstance(answer, dict) or "candidates" not in answer:
            usage = answer.get("usageMetadata", usage) if isinstance(answer, dict) else usage
            rest.add("event", answer)
            continue
        usage = answer.get("usageMetadata") or usage
        for candidate in entries(answer["candidates"]):
            held = candidates.setdefault(str(candidate.get("index", 0)), Held())
            content = candidate.get("content")
            for part in entries(content.get("parts") if isinstance(content, dict) else None):
                if part.keys() <= {"text", "thought"} and isinstance(part.get("text"), str):
                    held.say("thought" if part.get("thought") else "text", part["text"])
                else:
                    held.entries.append(["part", part])
            for key in candidate.keys() - {"index", "content"}:
                held.add(key, candidate[key])
    return [{index: held.entries for index, held in sorted(candidates.items())}, rest.entries, usage]


CLIENTS: dict[str, Callable[[Iterator[Any]], Any]] = {
    "chat": chat,
    "zai": chat,
    "messages": messages,
    "responses": responses,
    "socket": responses,
    "ollama": ollama,
    "gemini": gemini,
}

READERS: dict[str, Callable[[bytes], Any]] = {
    "chat": strict_chat.validate,
    "zai": strict_chat.validate,
    "messages": strict_messages.read,
    "responses": strict_responses.validate,
    "ollama": strict_ollama.read,
    "gemini": strict_gemini.read,
}
"""The strict readers of tests/validators; a document, or messages of a WebSocket, have none."""


def different(job: Json, old: Any, new: Any) -> tuple[list[str], list[str]] | None:
    """What a client holds after both versions, if that differs or if the new one breaks a promise; else None."""
    untouched = bool(job.get("untouched"))
    if job["kind"] == "request":
        old, new = _goes_up(job, old), _goes_up(job, new)
    if job["kind"] == "request" or not (isinstance(old, list) and isinstance(new, list)):
        return None if old == new else (_lines(old), _lines(new))
    if job["kind"] == "socket":
        told, now = ([text for text in result[0] if isinstance(text, str)] for result in (old, new))
        one, other = (_read("socket", [_parsed(text) for text in texts]) for texts in (told, now))
        broken = "a message was changed" if untouched and now != [text for _, text in job["messages"]] else ""
    else:
        body, before, after = (base64.b64decode(text) for text in (job["body"], old[0], new[0]))
        one, other = (_read(job["protocol"], list(events_of(sent))) for sent in (before, after))
        broken = "bytes were changed" if untouched and after != body else ""
        if not _broken_rule(job["protocol"], before):
            broken = broken or _broken_rule(job["protocol"], after)
    return None if one == other and not broken else (_lines(one), _lines([*other, broken] if broken else other))


def _goes_up(job: Json, result: Any) -> Any:
    """The request that goes up, as a value; what is changed is written anew."""
    try:
        return json.loads(base64.b64decode(result[0] if isinstance(result, list) else job["body"]))
    except ValueError:
        return result


def _read(protocol: str, events: list[Any]) -> list[Any]:
    """What a client holds; the events themselves if no client could read them."""
    try:
        return [CLIENTS[protocol](iter(events))]
    except Exception as error:
        return [repr(error), events]


def _broken_rule(protocol: str, body: bytes) -> str:
    if body.lstrip()[:1] in (b"{", b"[") and protocol != "ollama":
        return ""
    try:
        READERS[protocol](body)
    except Exception as error:  # A body that cannot be read at all is not legal either.
        return f"{type(error).__name__}: {error}"
    return ""


def _lines(value: Any) -> list[str]:
    return json.dumps(value, ensure_ascii=False, indent=1).splitlines()
