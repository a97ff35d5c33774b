"""The clients of the end-to-end tests: the real SDKs, driven by JSON lines.

Runs under a Python of its own, where the SDKs are installed (their pins clash with mitmproxy's). A line in:
{"api", "base_url", "proxy", "ca", "http2", "stream", "request"}, and "helper" for the SDK's own streaming helper where it
has two ways. The answer is a line
{"calls", "text", "finish", "error", "http_version"}: what an agent would end up with. `"api": "raw"` gives the
bytes instead: a line {"chunk"} for each piece as it arrives, then {"status", "headers", "http_version", "error"}.
"""

from __future__ import annotations

import base64
import gc
import json
import ssl
import sys
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import anthropic
import httpx
import ollama
import openai
from google import genai

TIMEOUT = 60.0
Job = dict[str, Any]


def say(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


class Http2First(ssl.SSLContext):
    """Offers HTTP/2 before HTTP/1.1, as all clients but httpx do."""

    def set_alpn_protocols(self, alpn_protocols: Iterable[str]) -> None:
        super().set_alpn_protocols(sorted(alpn_protocols, key=lambda name: name != "h2"))


@lru_cache
def trust(ca: str) -> ssl.SSLContext:
    """Nothing but this CA is trusted."""
    context = Http2First(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(ca)
    return context


def transport(job: Job) -> dict[str, Any]:
    return {
        "verify": trust(job["ca"]) if job.get("ca") else True,
        "proxy": job.get("proxy"),
        "http2": bool(job.get("http2")),
        "trust_env": False,
        "timeout": TIMEOUT,
    }


@lru_cache
def openai_client(setup: str) -> openai.OpenAI:
    job = json.loads(setup)
    http_client = openai.DefaultHttpxClient(**transport(job))
    return openai.OpenAI(
        base_url="https://unused.example", api_key=job["key"], max_retries=0, http_client=http_client
    )


@lru_cache
def anthropic_client(setup: str) -> anthropic.Anthropic:
    job = json.loads(setup)
    http_client = anthropic.DefaultHttpxClient(**transport(job))
    return anthropic.Anthropic(
        base_url="https://unused.example", api_key=job["key"], max_retries=0, http_client=http_client
    )


@lru_cache
def raw_client(setup: str) -> httpx.Client:
    return httpx.Client(**transport(json.loads(setup)))


def setup_of(job: Job) -> str:
    return json.dumps({name: job.get(name) for name in ("ca", "proxy", "http2", "key")})


# Chat


def chat(job: Job, told: dict[str, Any]) -> None:
    client = openai_client(setup_of(job)).with_options(base_url=job["base_url"])
    if job.get("helper"):
        chat_helper(client, job, told)
        return
    request = dict(job["request"], stream=job["stream"])
    raw = client.chat.completions.with_raw_response.create(**request)
    told["http_version"] = raw.http_response.http_version
    if not job["stream"]:
        choice = raw.parse().choices[0]
        told["text"] = choice.message.content or ""
        told["content_is_null"] = choice.message.content is None
        told["finish"] = choice.finish_reason
        told["calls"] = function_calls(choice.message)
        return
    chat_stream(raw.parse(), told)


def function_calls(message: Any) -> list[dict[str, Any]]:
    """The calls of functions; those of custom tools pass as they came, and have no outcome."""
    return [
        {"id": call.id, "name": call.function.name, "arguments": call.function.arguments}
        for call in message.tool_calls or []
        if call.type == "function"
    ]


def chat_helper(client: openai.OpenAI, job: Job, told: dict[str, Any]) -> None:
    """What the SDK itself puts together from the chunks."""
    request = {name: value for name, value in job["request"].items() if name != "stream"}
    with client.chat.completions.stream(**request) as stream:
        for _ in stream:
            pass
        final = stream.get_final_completion()
    told["id"] = final.id
    told["role"] = final.choices[0].message.role
    told["text"] = final.choices[0].message.content or ""
    told["finish"] = final.choices[0].finish_reason
    told["calls"] = function_calls(final.choices[0].message)


def chat_stream(chunks: Iterable[Any], told: dict[str, Any]) -> None:
    """As agents do it: fragments by index, arguments appended."""
    calls: dict[int, dict[str, Any]] = {}
    for chunk in chunks:
        for choice in chunk.choices or []:
            told["text"] += choice.delta.content or ""
            told["finish"] = choice.finish_reason or told["finish"]
            for delta in choice.delta.tool_calls or []:
                if delta.function is None:
                    continue  # A custom tool's call.
                if delta.index not in calls:
                    calls[delta.index] = {"id": "", "name": "", "arguments": "", "deltas": 0}
                    told["calls"].append(calls[delta.index])
                call = calls[delta.index]
                call["deltas"] += 1
                call["id"] = delta.id or call["id"]
                call["name"] += delta.function.name or ""
                call["arguments"] += delta.function.arguments or ""


# Messages


def messages(job: Job, told: dict[str, Any]) -> None:
    client = anthropic_client(setup_of(job)).with_options(base_url=job["base_url"])
    request = {name: value for name, value in job["request"].items() if name != "stream"}
    if job["stream"]:
        with client.messages.stream(**request) as stream:
            told["http_version"] = stream.response.http_version
            for event in stream:
                if event.type == "text":
                    told["text"] += event.text
                elif event.type == "content_block_stop" and event.content_block.type != "text":
                    messages_block(event.content_block, told)
            told["finish"] = stream.current_message_snapshot.stop_reason or ""
        return
    raw = client.messages.with_raw_response.create(**request)
    told["http_version"] = raw.http_response.http_version
    message = raw.parse()
    told["finish"] = message.stop_reason or ""
    for block in message.content:
        messages_block(block, told)


def messages_block(block: Any, told: dict[str, Any]) -> None:
    """A block that is complete; before an error some may be."""
    if block.type == "text":
        told["text"] += block.text
    elif block.type == "tool_use":
        told["calls"].append({"id": block.id, "name": block.name, "arguments": json.dumps(block.input)})


# Responses


def responses(job: Job, told: dict[str, Any]) -> None:
    client = openai_client(setup_of(job)).with_options(base_url=job["base_url"])
    if job.get("helper"):
        responses_helper(client, job, told)
        return
    raw = client.responses.with_raw_response.create(**dict(job["request"], stream=job["stream"]))
    told["http_version"] = raw.http_response.http_version
    final = raw.parse()
    if job["stream"]:
        responses_stream(final, told)
        return
    told["finish"] = final.status or ""
    told["text"] = final.output_text
    told["calls"] = [call for item in final.output for call in responses_call(item)]


def responses_helper(client: openai.OpenAI, job: Job, told: dict[str, Any]) -> None:
    """What the SDK itself puts together from the events."""
    request = {name: value for name, value in job["request"].items() if name != "stream"}
    with client.responses.stream(**request) as stream:
        for _ in stream:
            pass
        final = stream.get_final_response()
    told["id"] = final.id
    told["finish"] = final.status or ""
    told["text"] = final.output_text
    told["calls"] = [call for item in final.output for call in responses_call(item)]


def responses_call(item: Any) -> list[dict[str, Any]]:
    if item.type == "function_call":
        return [{"id": item.call_id, "name": item.name, "arguments": item.arguments}]
    if item.type == "custom_tool_call":
        return [{"id": item.call_id, "name": item.name, "arguments": item.input}]
    return []


def responses_stream(events: Iterable[Any], told: dict[str, Any]) -> None:
    """Agents read the deltas, the finished items or the final response: all of them must agree."""
    deltas: dict[str, str] = {}
    for event in events:
        if event.type == "response.output_text.delta":
            told["text"] += event.delta
        elif event.type in ("response.function_call_arguments.delta", "response.custom_tool_call_input.delta"):
            deltas[event.item_id] = deltas.get(event.item_id, "") + event.delta
        elif event.type == "response.output_item.done":
            calls = responses_call(event.item)
            told["calls"] += calls
            told["carriers_agree"] = told.get("carriers_agree", True) and all(
                deltas.get(event.item.id, "") == call["arguments"] for call in calls
            )
        elif event.type in ("response.completed", "response.incomplete", "response.failed"):
            told["finish"] = event.response.status or ""
            final = [call for item in event.response.output for call in responses_call(item)]
            # A response that has failed may have no output at all.
            agree = final == told["calls"] or (event.type == "response.failed" and not final)
            told["carriers_agree"] = told.get("carriers_agree", True) and agree


# Ollama


@lru_cache
def ollama_client(setup: str, host: str) -> ollama.Client:
    job = json.loads(setup)
    return ollama.Client(host=host, **transport(job))


def ollama_chat(job: Job, told: dict[str, Any]) -> None:
    client = ollama_client(setup_of(job), job["base_url"])
    asked = {name: value for name, value in job["request"].items() if name != "stream"}
    parts = client.chat(**asked, stream=True) if job["stream"] else [client.chat(**asked)]
    for part in parts:
        told["text"] += part.message.content or ""
        told["finish"] = part.done_reason or told["finish"]
        for call in part.message.tool_calls or []:
            arguments = json.dumps(dict(call.function.arguments))
            told["calls"].append({"name": call.function.name, "arguments": arguments})


# Gemini


@lru_cache
def gemini_client(setup: str, base_url: str) -> genai.Client:
    job = json.loads(setup)
    client_args = {key: value for key, value in transport(job).items() if key != "timeout"}
    options = genai.types.HttpOptions(base_url=base_url, client_args=client_args, timeout=int(TIMEOUT * 1000))
    return genai.Client(api_key=job["key"], vertexai=False, http_options=options)


def gemini(job: Job, told: dict[str, Any]) -> None:
    models = gemini_client(setup_of(job), job["base_url"]).models
    request = job["request"]
    config = {
        "tools": request.get("tools"),
        "tool_config": request.get("toolConfig"),
        **request.get("generationConfig", {}),
    }
    config["automatic_function_calling"] = {"disable": True}
    asked = {"model": "gemini-2.5-pro", "contents": request["contents"], "config": config}
    answers = models.generate_content_stream(**asked) if job["stream"] else [models.generate_content(**asked)]
    for answer in answers:
        for candidate in answer.candidates or []:
            told["finish"] = candidate.finish_reason.value if candidate.finish_reason else told["finish"]
            for part in (candidate.content.parts if candidate.content else None) or []:
                gemini_part(part, told)


def gemini_part(part: Any, told: dict[str, Any]) -> None:
    if part.function_call is not None:
        call = {"name": part.function_call.name, "arguments": json.dumps(part.function_call.args or {})}
        signature = base64.b64encode(part.thought_signature).decode("ascii") if part.thought_signature else ""
        told["calls"].append({**call, "signature": signature})
    elif part.text and not part.thought:
        told["text"] += part.text


# Bytes


def raw(job: Job, told: dict[str, Any]) -> None:
    client = raw_client(setup_of(job))
    body = base64.b64decode(job["body"])
    with client.stream("POST", job["base_url"], content=body, headers=job.get("headers")) as response:
        told["status"] = response.status_code
        told["headers"] = dict(response.headers)
        told["http_version"] = response.http_version
        for chunk in response.iter_raw():
            say({"chunk": base64.b64encode(chunk).decode("ascii")})


APIS: dict[str, Callable[[Job, dict[str, Any]], None]] = {
    "chat": chat,
    "messages": messages,
    "responses": responses,
    "ollama": ollama_chat,
    "gemini": gemini,
    "raw": raw,
}


def main() -> None:
    # A stream that was not read to its end closes itself when it is collected. In the middle of another read on the
    # same HTTP/2 connection it would wait for a lock that this thread holds, so garbage is collected between requests.
    gc.disable()
    for line in sys.stdin:
        gc.collect(1)
        job = json.loads(line)
        told: dict[str, Any] = {"calls": [], "text": "", "finish": "", "error": "", "http_version": ""}
        try:
            APIS[job["api"]](job, told)
        except Exception as error:
            told["error"] = f"{type(error).__name__}: {error}"
        say(told)


if __name__ == "__main__":
    main()
