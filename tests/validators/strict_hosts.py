"""Hosts that reject a history, in the words of the real ones (shared/facts/history.md has where each was seen)."""

from __future__ import annotations

import json
from itertools import groupby
from typing import Any

Json = dict[str, Any]


class Rejected(Exception):
    """The status and the body with which a host answers."""

    def __init__(self, message: str, *, status: int = 400, body: Any = None) -> None:
        super().__init__(message)
        self.status = status
        error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
        self.body = json.dumps({"error": error} if body is None else body).encode()


def openai_chat(request: Json) -> None:
    """OpenAI, and with other endings DeepSeek and DashScope."""
    waiting: list[str] = []
    open_calls: set[str] = set()
    for number, message in enumerate([*request["messages"], {"role": "end"}]):
        if message["role"] == "tool":
            identity = message["tool_call_id"]
            if identity not in open_calls:
                raise Rejected(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message "
                    "with 'tool_calls'."
                )
            if identity not in waiting:
                raise Rejected(
                    f"Invalid parameter: Duplicate value for 'tool_call_id' of '{identity}', "
                    f"in messages[{number - 1}] and messages[{number}]."
                )
            waiting.remove(identity)
            continue
        if waiting:
            raise Rejected(
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
                "'tool_call_id'. The following tool_call_ids did not have response messages: " + ", ".join(waiting)
            )
        if message.get("tool_calls") == []:
            raise Rejected(f"Invalid 'messages[{number}].tool_calls': empty array.")
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
        open_calls = set(waiting)


def mistral_chat(request: Json) -> None:
    """Mistral: as OpenAI, and no message of a user behind a result."""
    openai_chat(request)
    before = ""
    for message in request["messages"]:
        if before == "tool" and message["role"] == "user":
            body = {
                "object": "error",
                "message": "Unexpected role 'user' after role 'tool'",
                "type": "invalid_request_message_order",
                "param": None,
                "code": "3230",
            }
            raise Rejected("Unexpected role 'user' after role 'tool'", body=body)
        before = message["role"]
    if before == "assistant":
        raise Rejected(
            "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant"
        )


def anthropic(request: Json) -> None:
    """Anthropic: messages of one role in a row are one turn."""
    turns = [
        (role, [block for message in run for block in _blocks(message)])
        for role, run in groupby(request["messages"], lambda message: message["role"])
    ]
    seen: set[str] = set()
    waiting: list[str] = []
    for number, (role, blocks) in enumerate(turns):
        if any(block["type"] == "text" and not block["text"] for block in blocks) or not blocks:
            raise _messages_error("messages: text content blocks must be non-empty")
        if role == "assistant":
            waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
            if len({*seen, *waiting}) < len(seen) + len(waiting):
                raise _messages_error(f"messages.{number}.content.0: `tool_use` ids must be unique")
            seen.update(waiting)
            continue
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        leading = []
        for block in blocks:
            if block["type"] != "tool_result":
                break
            leading.append(block["tool_use_id"])
        for identity in results:
            if identity not in waiting:
                raise _messages_error(
                    f"messages.{number}.content.0: unexpected `tool_use_id` found in `tool_result` blocks: {identity}. "
                    "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
                )
        _need_results(number, [identity for identity in waiting if identity not in leading])
        if len(set(results)) < len(results):
            raise _messages_error(
                f"messages.{number}.content.0: each tool_use must have a single result. "
                f"Found multiple `tool_result` blocks with id: {results[0]}"
            )
        waiting = []
    _need_results(len(turns), waiting)


def _need_results(number: int, missing: list[str]) -> None:
    if missing:
        raise _messages_error(
            f"messages.{number - 1}: `tool_use` ids were found without `tool_result` blocks immediately after: "
            f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in the "
            "next message."
        )


def minimax(request: Json) -> None:
    """MiniMax' Messages: as Anthropic, and no text behind a result in one message."""
    anthropic(request)
    for message in request["messages"]:
        kinds = [block["type"] for block in _blocks(message)]
        if "tool_result" in kinds and kinds[-1] != "tool_result":
            said = "invalid params, tool call result does not follow tool call (2013)"
            raise Rejected(said, body={"type": "error", "error": {"type": "bad_request_error", "message": said}})


def _blocks(message: Json) -> list[Json]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _messages_error(message: str) -> Rejected:
    error = {"type": "invalid_request_error", "message": message}
    return Rejected(message, body={"type": "error", "error": error, "request_id": "req_1"})


def openai_responses(request: Json) -> None:
    """OpenAI's Responses without any state on the server."""
    items = request["input"]
    called: set[str] = set()
    answered: set[str] = set()
    for number, item in enumerate(items):
        kind = item.get("type")
        if kind == "function_call":
            called.add(item["call_id"])
        elif kind == "function_call_output":
            identity = item["call_id"]
            if identity not in called:
                raise Rejected(f"No tool call found for function call output with call_id {identity}.")
            if identity in answered:
                raise Rejected(f"Duplicate function call output with call_id {identity}.")
            answered.add(identity)
        elif kind == "reasoning":
            following = items[number + 1] if number + 1 < len(items) else {}
            of_model = following.get("role", "assistant") == "assistant" and following
            if not of_model or str(following.get("type")).endswith("_output"):
                raise Rejected(
                    f"Item '{item['id']}' of type 'reasoning' was provided without its required following item."
                )
    for identity in sorted(called - answered):
        raise Rejected(f"No tool output found for function call {identity}.")
    ids = [item["id"] for item in items if "id" in item]
    if len(set(ids)) < len(ids):
        raise Rejected("Duplicate item found. Remove duplicate items from your input and try again.")


# Reasoning


def wants_reasoning(request: Json) -> None:
    """DeepSeek V4: behind the last message of the user every assistant message has the key."""
    openai_chat(request)
    for message in _open_turn(request["messages"]):
        if message["role"] == "assistant" and not isinstance(message.get("reasoning_content"), str):
            raise Rejected("The `reasoning_content` in the thinking mode must be passed back to the API.")


def wants_reasoning_everywhere(request: Json) -> None:
    """Kimi: every message with calls has it."""
    openai_chat(request)
    for number, message in enumerate(request["messages"]):
        if message.get("tool_calls") and not isinstance(message.get("reasoning_content"), str):
            raise Rejected(
                "thinking is enabled but reasoning_content is missing in assistant tool call message "
                f"at index {number}"
            )


def refuses_reasoning_content(request: Json) -> None:
    """Cerebras: sends `reasoning` and takes nothing else."""
    for number, message in enumerate(request["messages"]):
        if "reasoning_content" in message:
            where = f"messages.{number}.assistant.reasoning_content"
            said = f"{where}: property '{where}' is unsupported"
            body = {
                "message": said,
                "type": "invalid_request_error",
                "param": "validation_error",
                "code": "wrong_api_format",
            }
            raise Rejected(said, body=body)


def refuses_reasoning(request: Json) -> None:
    """A model of Groq that does not reason."""
    for number, message in enumerate(request["messages"]):
        if "reasoning" in message:
            raise Rejected(f"`messages[{number}].reasoning`: reasoning is not supported with this model")


def forbids_extra_fields(request: Json) -> None:
    """Mistral."""
    for number, message in enumerate(request["messages"]):
        if message["role"] == "assistant" and "reasoning_content" in message:
            where = ["body", "messages", number, "assistant", "reasoning_content"]
            detail = {"type": "extra_forbidden", "loc": where, "msg": "Extra inputs are not permitted"}
            raise Rejected("Extra inputs are not permitted", status=422, body={"detail": [detail]})


def wants_signatures(request: Json) -> None:
    """Gemini 3 over Chat: of the calls of a message in the open turn the first is signed. The body is a list."""
    openai_chat(request)
    for message in _open_turn(request["messages"]):
        for call in (message.get("tool_calls") or [])[:1]:
            google = (call.get("extra_content") or {}).get("google") or {}
            if not google.get("thought_signature"):
                said = (
                    "Function call is missing a thought_signature in functionCall parts. This is required for tools "
                    "to work correctly, and missing thought_signature may lead to degraded model performance. "
                    f"Additional data, function call `default_api:{call['function']['name']}` , position 2."
                )
                raise Rejected(said, body=[{"error": {"code": 400, "message": said, "status": "INVALID_ARGUMENT"}}])


def wants_thinking(request: Json) -> None:
    """Anthropic with thinking on: in the open turn a turn of the assistant begins with a thinking block."""
    anthropic(request)
    for role, run in groupby(_open_turn(request["messages"]), lambda message: message["role"]):
        first = next(block for message in run for block in _blocks(message))["type"]
        if role == "assistant" and first not in ("thinking", "redacted_thinking"):
            raise _messages_error(
                f"messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{first}`. "
                "When `thinking` is enabled, a final `assistant` message must start with a thinking block"
            )


def wants_reasoning_items(request: Json) -> None:
    """OpenAI's Responses: a call with an id of the server has the reasoning item that it was sent with before it."""
    openai_responses(request)
    before: Json = {}
    for item in request["input"]:
        if item.get("type") == "function_call" and item.get("id") and before.get("type") != "reasoning":
            raise Rejected(
                f"Item '{item['id']}' of type 'function_call' was provided without its required 'reasoning' item: "
                f"'rs_{item['id'].removeprefix('fc_')}'."
            )
        before = item


def _open_turn(messages: list[Json]) -> list[Json]:
    """The messages behind the last one in which a user said something."""
    said = [
        number
        for number, message in enumerate(messages)
        if message["role"] == "user" and not any(block["type"] == "tool_result" for block in _blocks(message))
    ]
    return messages[said[-1] + 1 :]


# The own wires of Gemini and Ollama


def _gemini_turns(request: Json) -> list[tuple[bool, list[Json]]]:
    contents = request.get("request", request)["contents"]
    return [
        (of_model, [part for content in run for part in content["parts"]])
        for of_model, run in groupby(contents, lambda content: content.get("role") == "model")
    ]


def gemini_pairs(request: Json) -> None:
    """Google: behind a turn with calls comes one with as many results."""
    waiting = 0
    for of_model, parts in [*_gemini_turns(request), (False, [])]:
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
        results = [part["functionResponse"] for part in parts if "functionResponse" in part]
        if not parts and of_model:
            raise _google("* GenerateContentRequest.contents.parts: contents.parts must not be empty.")
        if any(not isinstance(call.get("args", {}), dict) for call in calls):
            raise _google("Invalid value at 'contents[1].parts[0].function_call.args' (type.googleapis.com/…Struct)")
        if any(not result.get("name") for result in results):
            raise _google(
                "* GenerateContentRequest.contents[2].parts[0].function_response.name: Name cannot be empty."
            )
        if len(results) != waiting:
            raise _google(
                "Please ensure that the number of function response parts is equal to the number of function call "
                "parts of the function call turn."
            )
        waiting = len(calls)


def gemini(request: Json) -> None:
    """Gemini 3: as Google in general, and in the open turn the first call of a turn is signed."""
    gemini_pairs(request)
    turns = _gemini_turns(request)
    spoken = [
        at for at, (of_model, parts) in enumerate(turns) if not of_model and any("text" in one for one in parts)
    ]
    for of_model, parts in turns[spoken[-1] + 1 :] if spoken else ():
        signed = [bool(part.get("thoughtSignature")) for part in parts if "functionCall" in part]
        if of_model and signed and not signed[0]:
            name = next(part["functionCall"]["name"] for part in parts if "functionCall" in part)
            raise _google(
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to "
                "work correctly, and missing thought_signature may lead to degraded model performance. Additional "
                f"data, function call `default_api:{name}` , position 2. Please refer to "
                "https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
            )


def _google(message: str) -> Rejected:
    return Rejected(message, body={"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}})


def ollama(request: Json) -> None:
    """Ollama: arguments in the history are objects. It pairs nothing and asks for no thoughts."""
    for message in request["messages"]:
        for call in message.get("tool_calls") or ():
            if not isinstance(call["function"].get("arguments"), dict):
                said = "Value looks like object, but can't find closing '}' symbol"
                raise Rejected(said, body={"error": said})
