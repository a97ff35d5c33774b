"""What the official SDKs hold of an answer: their own accumulators, and all that a client that reads every event sees.

Runs under a Python of its own, where the SDKs are installed (their pins clash with mitmproxy's). A line in:
{"op": "schemas", "names": ["module:Type", …]} → a line {"schemas": {name: JSON schema}};
{"op": "held", "protocol", "form", "bodies": [base64, …]} → a line {"held": [{"sdk", "error", "seen"}, …]}, one for each body.
`sdk` is what the accumulator of the SDK holds, `error` what it raised, `seen` everything that its decoder delivered, with
deltas of one place put together. The bodies arrive over the SDK's own transport, without a network.
"""

from __future__ import annotations

import base64
import importlib
import itertools
import json
import sys
import warnings
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

Json = dict[str, Any]
URL = "http://127.0.0.1:9"


@lru_cache
def transport_of(library: str) -> Any:
    """A transport of httpx, or of httpx2, that answers every request with `BODY`."""
    httpx = importlib.import_module(library)
    return httpx.Client(
        transport=httpx.MockTransport(lambda _: httpx.Response(200, headers=HEADERS, content=BODY[0]))
    )


HEADERS: dict[str, str] = {}
BODY = [b""]


@lru_cache
def openai_client() -> Any:
    import openai

    return openai.OpenAI(base_url=URL, api_key="k", max_retries=0, http_client=transport_of("httpx2"))


@lru_cache
def anthropic_client() -> Any:
    import anthropic

    return anthropic.Anthropic(base_url=URL, api_key="k", max_retries=0, http_client=transport_of("httpx2"))


@lru_cache
def gemini_client() -> Any:
    from google import genai

    transport = transport_of("httpx")
    options = genai.types.HttpOptions(base_url=URL, httpx_client=transport)
    return genai.Client(api_key="k", vertexai=False, http_options=options)


@lru_cache
def ollama_client() -> Any:
    import ollama

    client = ollama.Client(host=URL)
    client._client = transport_of("httpx")
    client._client.base_url = URL
    return client


def plain(value: Any) -> Any:
    """A value of an SDK as JSON."""
    if hasattr(value, "model_dump"):
        value = value.model_dump(mode="json", warnings=False, exclude_none=True)
    return json.loads(json.dumps(value, default=repr))


def add(held: Any, new: Any) -> Any:
    """A fragment added to what came before it, as the deltas of OpenAI are meant."""
    if isinstance(held, str) and isinstance(new, str):
        return held + new
    if isinstance(held, dict) and isinstance(new, dict):
        for key, value in new.items():
            if value is None:
                continue  # A null adds nothing.
            if key in ("index", "type", "id") and held.get(key) is not None:
                held[key] = value
            else:
                held[key] = add(held.get(key), value)
        return held
    if isinstance(held, list) and isinstance(new, list):
        for entry in new:
            index = entry.get("index") if isinstance(entry, dict) else None
            at = next((at for at, one in enumerate(held) if index is not None and one.get("index") == index), None)
            if at is None:
                held.append(add(None, entry))
            else:
                held[at] = add(held[at], entry)
        return held
    if new is None:
        return held
    return add({}, new) if isinstance(new, dict) else add([], new) if isinstance(new, list) else new


def decoded(client: Any, body: bytes) -> Iterator[tuple[str, Any]]:
    """The events as the decoder of the SDK delivers them: type and data."""
    for event in client._make_sse_decoder().iter_bytes(iter([body])):
        try:
            yield event.event or "", json.loads(event.data)
        except ValueError:
            yield event.event or "", event.data


# Chat


def chat(body: bytes, held: Json) -> None:
    from openai.lib.streaming.chat import ChatCompletionStreamState

    held["seen"] = chat_seen(decoded(openai_client(), body))
    state: Any = ChatCompletionStreamState()
    try:
        for chunk in openai_client().chat.completions.create(model="m", messages=[], stream=True):
            state.handle_chunk(chunk)
    finally:
        if state._ChatCompletionStreamState__current_completion_snapshot is not None:
            held["sdk"] = plain(state.current_completion_snapshot)
            for choice in held["sdk"]["choices"]:
                # Of unknown fields of a choice it keeps those of the first chunk only; `seen` has all.
                for key in choice.keys() - {"index", "message", "finish_reason", "logprobs"}:
                    del choice[key]


def chat_seen(events: Iterator[tuple[str, Any]]) -> Json:
    choices: dict[str, Json] = {}
    beside: list[Any] = []
    for _, chunk in events:
        if not isinstance(chunk, dict):
            beside.append(chunk)
            continue
        # The padding of a chunk says nothing, and where a call is one chunk there are fewer of them.
        rest = {key: value for key, value in chunk.items() if key not in ("choices", "obfuscation")}
        rest = {key: value for key, value in rest.items() if value is not None}
        if rest not in beside:
            beside.append(rest)
        for choice in chunk.get("choices") or []:
            index = str(choice.get("index"))
            held = choices.setdefault(index, {"delta": {}, "logprobs": {}})
            held["delta"] = add(held["delta"], choice.pop("delta", None))
            held["logprobs"] = add(held["logprobs"], choice.pop("logprobs", None))
            held.update({key: value for key, value in choice.items() if value is not None})
    return {"choices": choices, "beside": beside}


# Messages


def messages(body: bytes, held: Json) -> None:
    from anthropic.lib.streaming._beta_messages import accumulate_event as beta_event
    from anthropic.lib.streaming._messages import accumulate_event

    held["seen"] = messages_seen(decoded(anthropic_client(), body))
    snapshots: dict[str, Any] = {"plain": None, "beta": None}
    asked: Json = {"model": "m", "max_tokens": 9, "messages": [], "stream": True}
    try:
        buffers: dict[int, bytes] = {}
        for event in anthropic_client().messages.create(**asked):
            snapshot = snapshots["plain"]
            snapshots["plain"] = accumulate_event(event=event, current_snapshot=snapshot, json_bufs=buffers)
        buffers = {}
        for event in anthropic_client().beta.messages.create(**asked):
            snapshots["beta"] = beta_event(
                event=event, current_snapshot=snapshots["beta"], json_bufs=buffers, request_headers=None
            )
    finally:
        held["sdk"] = {name: plain(snapshot) for name, snapshot in snapshots.items() if snapshot is not None}


def inside(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def messages_seen(events: Iterator[tuple[str, Any]]) -> Json:
    order: list[Any] = []
    pings = 0
    for kind, event in events:
        if kind == "ping":
            pings += 1  # While a call is held, a ping passes at once: where it stands says nothing.
            continue
        last = order[-1] if order else None
        if kind == "content_block_delta" and isinstance(event.get("delta"), dict):
            same = last and last[0] == kind and last[1].get("index") == event.get("index")
            if (
                same
                and last[1]["delta"].get("type") == event["delta"].get("type")
                and "citation" not in event["delta"]
            ):
                last[1]["delta"] = add(last[1]["delta"], event["delta"])
                continue
        order.append([kind, event])
    # `{}`, an empty piece and no piece at all mean the same: the accumulator holds an empty object.
    order = [[kind, event] for kind, event in order if inside(event, "delta", "partial_json") not in ("", "{}")]
    return {"order": order, "pings": pings}


# Responses


def responses(body: bytes, held: Json) -> None:
    from openai._types import omit
    from openai.lib.streaming.responses._responses import ResponseStreamState

    held["seen"] = responses_seen(decoded(openai_client(), body))
    state: Any = ResponseStreamState(input_tools=omit, text_format=omit)
    try:
        for event in openai_client().responses.create(model="m", input="x", stream=True):
            state.handle_event(event)
    finally:
        held["sdk"] = plain({
            "snapshot": plain(state._ResponseStreamState__current_snapshot),
            "completed": plain(state._completed_response),
            "items": {index: plain(item) for index, item in state._output_items.items()},
            "done": {index: plain(item) for index, item in state._completed_output.items()},
        })  # fmt: skip


def responses_seen(events: Iterator[tuple[str, Any]]) -> Json:
    order: list[Any] = []
    numbers = []
    keepalives = 0
    for kind, event in events:
        if not isinstance(event, dict):
            order.append([kind, event])
            continue
        if isinstance(number := event.pop("sequence_number", None), int):
            numbers.append(number)
        if kind == "keepalive":
            keepalives += 1  # It passes at once while something waits: where it stands says nothing.
            continue
        event.pop("obfuscation", None)  # The padding of a delta says nothing.
        last = order[-1] if order else None
        if isinstance(event.get("delta"), str):
            place = {key: value for key, value in event.items() if key not in ("delta", "logprobs")}
            if last and last[0] == kind and place.items() <= last[1].items():
                last[1]["delta"] += event["delta"]
                last[1]["logprobs"] = [*(last[1].get("logprobs") or []), *(event.get("logprobs") or [])]
                continue
            if event.get("logprobs") is None:
                event["logprobs"] = []
        order.append([kind, event])
    increasing = all(first < second for first, second in itertools.pairwise(numbers))
    return {"order": order, "increasing": increasing, "keepalives": keepalives}


# Gemini


def gemini(body: bytes, held: Json) -> None:
    held["sdk"] = made = {"candidates": {}, "beside": {}, "feedback": []}
    for answer in gemini_client().models.generate_content_stream(model="m", contents="x"):
        chunk = answer.model_dump(mode="json", warnings=False, exclude_none=True)
        chunk.pop("sdk_http_response", None)
        for candidate in chunk.pop("candidates", []):
            gemini_candidate(
                candidate, made["candidates"].setdefault(str(candidate.get("index") or 0), {"parts": []})
            )
        # Of the usage, the model and the id, clients keep the newest.
        if feedback := chunk.pop("prompt_feedback", None):
            made["feedback"].append(feedback)
        made["beside"].update(chunk)


def gemini_candidate(candidate: Json, held: Json) -> None:
    content = candidate.pop("content", None) or {}
    held["role"] = content.get("role") or held.get("role")
    for part in content.get("parts") or []:
        last = held["parts"][-1] if held["parts"] else {}
        if part == {"text": ""}:
            continue  # An empty text adds nothing.
        if "text" in part and set(part) <= {"text", "thought"} and set(part) == set(last):
            last["text"] += part["text"]
        else:
            held["parts"].append(part)
    for key, value in candidate.items():
        if key != "index":
            held.setdefault(key, []).append(value)


# Ollama


def ollama(body: bytes, held: Json) -> None:
    held["sdk"] = made = {"message": {}, "last": {}, "logprobs": []}
    for part in ollama_client().chat(model="m", messages=[], stream=True):
        line = part.model_dump(mode="json", warnings=False, exclude_none=True)
        message = line.pop("message")
        made["message"].setdefault("role", message.pop("role"))
        made["message"] = add(made["message"], message)
        made["logprobs"] += line.pop("logprobs", [])
        made["last"].update(line)
    lines = [json.loads(line) for line in body.splitlines() if line.strip()]
    # The SDK drops ids and unknown keys; other clients read them.
    held["seen"] = add(None, [{"index": 0, **(line.get("message") or {}), "role": None} for line in lines])


STREAMS = {"chat": chat, "messages": messages, "responses": responses, "gemini": gemini, "ollama": ollama}


def document(protocol: str, body: bytes, held: Json) -> None:
    """What the SDK makes of an answer that is not streamed."""
    held["seen"] = json.loads(body)
    match protocol:
        case "chat":
            answer = openai_client().chat.completions.create(model="m", messages=[])
        case "messages":
            answer = anthropic_client().beta.messages.create(model="m", max_tokens=9, messages=[])
        case "responses":
            answer = openai_client().responses.create(model="m", input="x")
        case "gemini":
            answer = gemini_client().models.generate_content(model="m", contents="x")
        case _:
            answer = ollama_client().chat(model="m", messages=[])
    held["sdk"] = plain(answer)


def read(job: Json, body: bytes) -> Json:
    held: Json = {"sdk": None, "seen": None, "error": ""}
    streamed = job["form"] != "document"
    BODY[0] = body
    HEADERS.clear()
    kind = (
        "application/json"
        if not streamed
        else "application/x-ndjson"
        if job["protocol"] == "ollama"
        else "text/event-stream"
    )
    HEADERS["content-type"] = kind
    try:
        if streamed:
            STREAMS[job["protocol"]](body, held)
        else:
            document(job["protocol"], body, held)
    except Exception as error:
        held["error"] = f"{type(error).__name__}: {error}"
    return held


def schema(name: str) -> Json:
    from pydantic import TypeAdapter

    module, _, kind = name.partition(":")
    made: Json = TypeAdapter(getattr(importlib.import_module(module), kind)).json_schema()
    return made


def main() -> None:
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        job = json.loads(line)
        if job["op"] == "schemas":
            said: Json = {"schemas": {name: schema(name) for name in job["names"]}}
        else:
            said = {"held": [read(job, base64.b64decode(body)) for body in job["bodies"]]}
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
