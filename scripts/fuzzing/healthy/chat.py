"""Chat: several choices, parallel and custom calls, what the host ran, reasoning, logprobs, audio, annotations."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from .sampling import Sampler
from .words import DESCRIPTION, SCHEMAS, Json, arguments, call, deltas, identity, often, said, some

TYPES = ("openai.types.chat:ChatCompletionChunk", "openai.types.chat:ChatCompletion")
PIECES = (
    "text",
    "text",
    "reasoning",
    "call",
    "call",
    "custom",
    "hosted",
    "refusal",
    "audio",
    "annotations",
    "images",
    "details",
    "odd",
    "empty",
    "legacy",
)  # fmt: skipp
REASONS = ("stop", "stop", "stop", "length", "content_filter")


def pieces(chance: random.Random) -> list[Json]:
    """What the answer consists of."""
    made = []
    choices = chance.choice((1, 1, 1, 1, 2, 3))
    legacy = often(chance, 0.1)
    for choice in range(choices):
        kinds = [chance.choice(PIECES) for _ in range(chance.randint(0, 5))]
        kinds = [kind for kind in kinds if kind not in (("call", "custom", "hosted") if legacy else ("legacy",))]
        for only in ("audio", "annotations", "legacy", "refusal"):
            kinds = [kind for at, kind in enumerate(kinds) if kind != only or at == kinds.index(only)]
        made += [{"is": kind, "choice": choice, "seed": chance.randrange(10**9)} for kind in kinds]
        made.append({"is": "finish", "choice": choice, "seed": chance.randrange(10**9)})
    return made


def request(chance: random.Random, pieces: list[Json]) -> Json:
    tools: list[Json] = [
        {"type": "function", "function": {"name": name, "description": DESCRIPTION, "parameters": schema}}
        for name, schema in SCHEMAS.items()
    ]
    tools.append({"type": "custom", "custom": {"name": "apply_patch", "description": DESCRIPTION}})
    if any(piece["is"] == "hosted" for piece in pieces):
        tools.append({"type": "builtin_function", "function": {"name": "$web_search"}})
    asked: Json = {"model": "m", "messages": [{"role": "user", "content": "Go on."}]}
    if any(piece["is"] == "legacy" for piece in pieces):
        asked["functions"] = [tool["function"] for tool in tools if tool["type"] == "function"]
    elif often(chance, 0.9) or any(piece["is"] in ("call", "custom", "hosted") for piece in pieces):
        asked["tools"] = tools
    choices = {piece["choice"] for piece in pieces}
    if len(choices) > 1:
        asked["n"] = len(choices)
    if often(chance, 0.7):
        asked["stream_options"] = {"include_usage": True}
    return asked


class _Answer:
    """One choice while its pieces are written: the deltas, and the message of the document."""

    def __init__(self, chance: random.Random, *, logprobs: bool) -> None:
        self.chance = chance
        self.calls = 0
        self.images = 0
        self.logprobs = logprobs
        self.called = False

    def written(self, piece: Json) -> Iterator[Json]:
        """The choices (without their index) that carry this piece."""
        chance = self.chance
        match piece["is"]:
            case "text":
                for text in deltas(chance, said(chance)):
                    yield self._with_logprobs({"content": text}, "content", text)
            case "refusal":
                for text in deltas(chance, "I cannot help with that. "):
                    yield self._with_logprobs({"refusal": text}, "refusal", text)
            case "reasoning":
                key = chance.choice(("reasoning_content", "reasoning"))
                for text in deltas(chance, said(chance)):
                    yield {"delta": {key: text, **some(chance, {"content": lambda: None}, 0.2)}}
            case "call":
                yield from self._call(chance.choice(("", "", "null", "type", "whole")))
            case "custom":
                entry = {"index": self.calls, "id": identity(chance, "call_"), "type": "custom"}
                yield self._calls({**entry, "custom": {"name": "apply_patch", "input": ""}})
                for text in deltas(chance, "*** Begin Patch\n" + said(chance) + "\n*** End Patch"):
                    yield self._calls({"index": self.calls, "custom": {"input": text}})
                self._next()
            case "hosted":
                yield from self._hosted()
            case "legacy":
                name, value = call(chance)
                yield {"delta": {"function_call": {"name": name, "arguments": ""}}}
                for text in deltas(chance, arguments(chance, value)):
                    yield {"delta": {"function_call": {"arguments": text}}}
                self.called = True
            case "audio":
                yield {"delta": {"audio": {"id": identity(chance, "audio_"), "transcript": ""}}}
                for text in deltas(chance, said(chance, 3)):
                    yield {"delta": {"audio": {"data": "UklGRg==", "transcript": text}}}
            case "annotations":
                url = {"start_index": 0, "end_index": 4, "title": said(chance, 1), "url": "https://example.com/"}
                yield {"delta": {"annotations": [{"type": "url_citation", "url_citation": url}]}}
            case "images":
                image = {
                    "index": self.images,
                    "type": "image_url",
                    "image_url": {"url": "data:image/png;base64,iVBO"},
                }
                self.images += 1
                yield {"delta": {"content": "", "images": [image]}}
            case "details":
                detail = {"index": 0, "type": "reasoning.text", "text": said(chance, 2), "signature": "c2ln"}
                yield {"delta": {"content": "", "reasoning": "hm", "reasoning_details": [detail]}}
            case "odd":
                yield {"delta": {"x_future": {"text": said(chance, 1)}, **some(chance, {"content": lambda: None})}}
            case "empty":
                yield {
                    "delta": chance.choice(
                        ({}, {"content": ""}, {"content": None}, {"role": "assistant", "content": ""})
                    )
                }

    def _with_logprobs(self, delta: Json, key: str, text: str) -> Json:
        if not self.logprobs:
            return {"delta": delta}
        entries = []
        for token in ([text[:2], text[2:]] if len(text) > 3 else [text]) if text else []:
            top = [{"token": token, "logprob": -0.1, "bytes": list(token.encode())[:9]}]
            entries.append({"token": token, "logprob": -0.1, "bytes": None, "top_logprobs": top})
        return {"delta": delta, "logprobs": {"content": None, "refusal": None, key: entries}}

    def _calls(self, *entries: Json) -> Json:
        return {"delta": {"tool_calls": list(entries)}}

    def _next(self) -> None:
        self.calls += 1
        self.called = True

    def _call(self, how: str) -> Iterator[Json]:
        chance = self.chance
        name, value = call(chance)
        text = arguments(chance, value)
        begin: Json = {"index": self.calls, "id": identity(chance, "call_"), "type": "function"}
        if often(chance, 0.1):
            begin["extra_content"] = {"google": {"thought_signature": "c2ln"}}
        if how == "whole":
            yield self._calls({**begin, "function": {"name": name, "arguments": text}})
        else:
            first: Json = {"delta": {"tool_calls": [{**begin, "function": {"name": name, "arguments": ""}}]}}
            if often(chance, 0.3):
                first["delta"]["content"] = None
            yield first
            for piece in deltas(chance, text):
                entry: Json = {"index": self.calls, "function": {"arguments": piece}}
                if how == "null":
                    entry = {"index": self.calls, "id": None, "function": {"name": None, "arguments": piece}}
                elif how == "type":
                    entry["type"] = "function"
                yield self._calls(entry)
        self._next()

    def _hosted(self) -> Iterator[Json]:
        """What the host itself ran: it needs no answer of the client and changes no finish reason."""
        chance = self.chance
        entry: Json = {"index": self.calls, "id": identity(chance, chance.choice(("srvtoolu_", "mcp_", "ws_")))}
        match chance.randrange(3):
            case 0:
                function = {"name": "$web_search", "arguments": '{"search_result": {"search_id": "x"}}'}
                yield self._calls({**entry, "type": "builtin_function", "function": function})
            case 1:
                yield self._calls(
                    {**entry, "type": "mcp", "mcp": {"name": "search", "arguments": "{}", "output": "1"}}
                )
            case _:
                yield self._calls(
                    {**entry, "type": "web_search_call", "status": "completed", "action": {"query": "x"}}
                )
        self.calls += 1


def stream(chance: random.Random, pieces: list[Json], asked: Json, sampler: Sampler) -> list[tuple[str, Any]]:
    base = {
        "id": identity(chance, "chatcmpl-"),
        "object": "chat.completion.chunk",
        "created": 1763500000,
        "model": "m",
    }
    base |= some(
        chance, {"system_fingerprint": lambda: "fp_1", "service_tier": lambda: "default", "provider": lambda: "x"}
    )
    padded = often(chance, 0.2)
    usage_null = often(chance, 0.3)
    logprobs = often(chance, 0.25)

    def chunk(choices: list[Json], **more: Any) -> tuple[str, Any]:
        made = {**base, "choices": choices, **({"usage": None} if usage_null else {}), **more}
        if padded:
            made["obfuscation"] = "x" * chance.randrange(9)
        return "", made

    events: list[tuple[str, Any]] = []
    if often(chance, 0.1):
        events.append(("OPENROUTER PROCESSING", None))
    if often(chance, 0.1):
        filters = {"hate": {"filtered": False, "severity": "safe"}}
        events.append(chunk([], prompt_filter_results=[{"prompt_index": 0, "content_filter_results": filters}]))
    waiting: dict[int, list[Json]] = {}
    reasons: dict[int, str] = {}
    answers: dict[int, _Answer] = {}
    for piece in pieces:
        index = piece["choice"]
        answer = answers.setdefault(index, _Answer(random.Random(piece["seed"]), logprobs=logprobs))
        answer.chance = random.Random(piece["seed"])
        if piece["is"] == "finish":
            reason = answer.chance.choice(REASONS)
            reasons[index] = "tool_calls" if answer.called else reason
            if answer.called and asked.get("functions"):
                reasons[index] = "function_call"
        else:
            begun = index in waiting
            entries = list(answer.written(piece))
            if not begun and often(chance, 0.5) and entries:
                entries[0]["delta"] = {"role": "assistant", **entries[0]["delta"]}
            elif not begun:
                entries.insert(
                    0, {"delta": {"role": "assistant", **chance.choice(({"content": ""}, {"content": None}, {}))}}
                )
            if not begun:
                entries[0].pop("logprobs", None)  # The SDK counts those of the event that begins a choice twice.
            waiting.setdefault(index, []).extend(entries)
    for index, reason in reasons.items():
        ends = waiting.setdefault(index, [{"delta": {"role": "assistant", "content": ""}}])
        if often(chance, 0.15) and ends[-1]["delta"].get("content"):
            ends[-1]["finish_reason"] = reason
        else:
            ends.append(
                {"delta": chance.choice(({}, {}, {"content": ""}, {"content": None})), "finish_reason": reason}
            )
    usage = {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14}
    usage |= some(chance, {"completion_tokens_details": lambda: {"reasoning_tokens": 3}, "cost": lambda: 0.1})
    last_usage = len(waiting) == 1 and often(chance, 0.2)
    beginnings = sorted(waiting)  # Servers begin the choices in their order; the SDK counts on it.
    while any(waiting.values()):
        index = (
            beginnings.pop(0)
            if beginnings
            else chance.choice([index for index, entries in waiting.items() if entries])
        )
        entry = waiting[index].pop(0)
        choice = {"index": index, "finish_reason": None, **entry}
        if often(chance, 0.3):
            choice.setdefault("logprobs", None)
        if often(chance, 0.05):
            choice["content_filter_results"] = {"hate": {"filtered": False, "severity": "safe"}}
        more = {"usage": usage} if last_usage and not any(waiting.values()) else {}
        events.append(chunk([choice], **more))
    if often(chance, 0.1):
        moderation = {"type": "moderation_results", "model": "omni", "results": []}
        events.append(chunk([], moderation={"input": moderation, "output": moderation}))
    if not last_usage and (asked.get("stream_options") or often(chance, 0.2)):
        events.append(chunk([], usage=usage))
    return [*events, ("", "[DONE]")]


def document(chance: random.Random, pieces: list[Json], asked: Json, sampler: Sampler) -> Json:
    body = sampler.value("openai.types.chat:ChatCompletion")
    body |= {"id": identity(chance, "chatcmpl-"), "model": "m", "choices": []}
    logprobs = often(chance, 0.25)
    answers: dict[int, _Answer] = {}
    messages: dict[int, Json] = {}
    probabilities: dict[int, Json] = {}
    for piece in pieces:
        index = piece["choice"]
        answer = answers.setdefault(index, _Answer(random.Random(piece["seed"]), logprobs=logprobs))
        answer.chance = random.Random(piece["seed"])
        message = messages.setdefault(index, {"role": "assistant", "content": None})
        for entry in answer.written(piece):
            _add(message, entry["delta"])
            for key, values in (entry.get("logprobs") or {}).items():
                held = probabilities.setdefault(index, {"content": None, "refusal": None})
                held[key] = [*(held[key] or []), *values] if values is not None else held[key]
        if piece["is"] == "finish":
            reason = "tool_calls" if answer.called else answer.chance.choice(REASONS)
            for entry in message.get("tool_calls", ()):
                entry.pop("index", None)
            choice = {
                "index": index,
                "message": message,
                "logprobs": probabilities.get(index),
                "finish_reason": reason,
            }
            if answer.called and asked.get("functions"):
                choice["finish_reason"] = "function_call"
            body["choices"].append(choice)
    return body


def _add(held: Json, delta: Json) -> None:
    """Add a delta to what it is a part of."""
    for key, value in delta.items():
        if isinstance(value, str) and isinstance(held.get(key), str) and key not in ("id", "type", "role"):
            held[key] += value
        elif isinstance(value, dict) and isinstance(held.get(key), dict):
            _add(held[key], value)
        elif isinstance(value, list) and isinstance(held.get(key), list):
            for entry in value:
                same = [one for one in held[key] if one.get("index") == entry.get("index") is not None]
                if same:
                    _add(same[0], entry)
                else:
                    held[key].append(entry)
        elif value is not None or key not in held:
            held[key] = value
