"""What a request asks for, as far as its answer depends on it: tools, number of choices, the old form.

Read once from the request body. A body that is missing, huge or broken gives an empty `Request`: the answer is then
mended without knowing the tools.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import Any

from ..policy import Policy
from ..sizes import marks_in
from ..tools.declared import Tools, read_tool
from .history import inner, object_under, objects_in, used_ids
from .read_by_model import ReadByModel

MAX_BODY = 64 * 1024 * 1024
"""A larger request body is not parsed: no agent sends one, and parsing it would stall every stream."""
MOST_VALUES = 480_000
"""Commas and opening brackets of a request that is read; its texts may have one more for each 32 bytes."""


@dataclass(slots=True, frozen=True)
class Request:
    tools: Tools = field(default_factory=Tools)
    choices: int | None = None
    """How many choices were asked for; None if the request could not be read."""
    legacy_functions: bool = False
    """The client declared `functions`, so it expects `function_call` and not `tool_calls`."""
    stream: bool = False
    model: str = ""
    used_ids: frozenset[str] = frozenset()
    """The ids in the client's history: no new call gets one of them."""
    include_usage: bool = False
    """The client asked for a chunk with the usage at the end of the stream."""
    allowed: frozenset[str] | None = None
    """The tools that the client allows for this answer; None if it allows all that it declares.

    It allows none with `tool_choice: none`, or if it asked Ollama for JSON: then no text becomes a call.
    """
    json_wanted: bool = False
    """The client asked for JSON: an answer of nothing but JSON is that answer, whatever it looks like."""
    limit: int | None = None
    """How many tokens the answer may have, all choices together; None if the request does not say."""
    read_by_model: ReadByModel = field(default_factory=ReadByModel)
    """What the model was given to read: a call that appears there is only repeated from it."""

    @property
    def callable_tools(self) -> Tools:
        """The tools that the client lets this answer call."""
        allowed = self.allowed
        return self.tools if allowed is None else Tools(tool for tool in self.tools if tool.name in allowed)

    def written_tools(self, policy: Policy) -> Tools:
        """The functions that this answer may call and that the user wants mended: others are not searched for."""
        tools = self.callable_tools
        if tools.only_functions and not policy.tools:
            return tools
        return Tools(tool for tool in tools if tool.kind == "function" and policy.touches(tool.name))


def decode(body: bytes | str | None) -> dict[str, Any] | None:
    """The request body as an object; None if it is not a JSON object, or too large."""
    if not body or len(body) > MAX_BODY:
        return None
    try:
        if marks_in(body) > MOST_VALUES + len(body) // 32:
            return None
        request = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return request if isinstance(request, dict) else None


def seed_of(body: bytes | None) -> str:
    """What new ids are made from: the same request gives the same ids, another turn gives others."""
    return hashlib.sha256(body).hexdigest()[:16] if body else ""


@dataclass(slots=True)
class Seed:
    """The seed of a request, computed only when it is needed: that costs a tenth of reading the request."""

    body: bytes | None
    """None when the answer is over: this object may still be referred to."""

    def __call__(self) -> str:
        return seed_of(self.body)


_JSON = ("json_object", "json_schema", "json")
_STREAMS = re.compile(r":stream(?:GenerateContent|RawPredict)\Z|/invoke-with-response-stream\Z")
"""Paths whose responses are always streams."""


def read_request(request: dict[str, Any] | None, protocol: str = "", path: str = "") -> Request:
    """What a decoded body asks for. `protocol` and `path`: those of the request, if they are known."""
    streams = _STREAMS.search(path.partition("?")[0].rstrip("/")) is not None
    unasked = protocol == "ollama"
    """Whether the response is a stream if the request does not say."""
    if request is None:
        return Request(stream=streams or unasked)
    request = inner(request)
    count, model, options = (request.get(key) for key in ("n", "model", "stream_options"))
    choices, asked = [request.get("tool_choice"), request.get("function_call")], request.get("stream")
    config = object_under(request, "toolConfig", "tool_config") or {}
    gemini = object_under(config, "functionCallingConfig", "function_calling_config") or {}
    names = gemini.get("allowedFunctionNames", gemini.get("allowed_function_names"))
    named = isinstance(names, list) and bool(names)
    wants_json = _wants_json(request)
    # Ollama's and Gemini's servers answer with nothing but JSON, others also with calls.
    only_json = (protocol == "ollama" and bool(request.get("format"))) or ("contents" in request and wants_json)
    no_call = only_json or any(map(_is_none, (*choices, gemini.get("mode"))))
    return Request(
        tools=Tools.read(request),
        choices=count if isinstance(count, int) and count > 0 else 1,
        limit=limit_of(request),
        legacy_functions=bool(request.get("functions")) and not request.get("tools"),
        stream=streams or asked is True or (unasked and asked is None),
        model=model if isinstance(model, str) else "",
        used_ids=used_ids(request),
        include_usage=isinstance(options, dict) and options.get("include_usage") is True,
        allowed=frozenset() if no_call else _allowed({"tools": names} if named else choices[0] or choices[1]),
        json_wanted=wants_json,
        read_by_model=ReadByModel.of_request(request),
    )


def _wants_json(request: dict[str, Any]) -> bool:
    """Whether the answer should be JSON: each protocol has a field of its own. Ollama's may be the schema itself."""
    config = object_under(request, "generationConfig", "generation_config") or {}
    if "json" in str(config.get("responseMimeType", config.get("response_mime_type"))).lower():
        return True
    wanted = (
        *(request.get(key) for key in ("response_format", "output_format", "format")),
        *((object_under(request, key) or {}).get("format") for key in ("text", "output_config")),
    )
    return any(
        (one.get("type") if isinstance(one, dict) else one) in _JSON
        or (one is request.get("format") and isinstance(one, dict) and bool(one))
        for one in wanted
    )


def _allowed(choice: object) -> frozenset[str] | None:
    """The tools that a `tool_choice` names; None if it leaves the choice to the model."""
    if isinstance(choice, str):
        return None if choice.strip().lower() in _ANY_TOOL else frozenset({choice})
    if not isinstance(choice, dict):
        return None
    inner = choice.get("allowed_tools")
    listed = (inner if isinstance(inner, dict) else choice).get("tools")
    if isinstance(listed, list):
        tools = filter(None, map(read_tool, objects_in(listed)))
        return frozenset([*(tool.name for tool in tools), *(name for name in listed if isinstance(name, str))])
    tool = read_tool(choice)
    if tool is not None and tool.kind != "server":
        return frozenset({tool.name})
    # Any other type names a tool of the server, such as a search: then no tool of the client is allowed.
    return None if str(choice.get("type") or "auto").lower() in _ANY_TOOL else frozenset()


_ANY_TOOL = frozenset({"", "auto", "any", "required", "none", "function", "tool", "validated", "allowed_tools"})


def _is_none(choice: object) -> bool:
    """Whether the client wants no call."""
    if isinstance(choice, dict):
        return any(_is_none(choice.get(key)) for key in ("type", "mode", "allowed_tools"))
    return choice is False or (isinstance(choice, str) and choice.strip().lower() in ("none", "disabled"))


_LIMITS = (
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "maxOutputTokens",
    "max_new_tokens",
    "num_predict",
    "n_predict",
)


def tokens_in(usage: object, *keys: str) -> int:
    """The sum of these numbers of tokens; 0 if there are none."""
    values = [usage.get(key) for key in keys] if isinstance(usage, dict) else []
    return sum(value for value in values if isinstance(value, int) and not isinstance(value, bool))


def tokens_of_chat(said: dict[str, Any]) -> int:
    """The tokens that all choices of a Chat chunk or answer have so far; 0 if it does not say so.

    Groq also says it under `x_groq`, Moonshot in the choice. xAI counts reasoning beside `completion_tokens`, as its
    total shows.
    """
    most = 0
    for place in (said, said.get("x_groq"), *objects_in(said.get("choices"))):
        usage = place.get("usage") if isinstance(place, dict) else None
        if isinstance(usage, dict):
            completed = tokens_in(usage, "completion_tokens")
            everything = completed + tokens_in(usage.get("completion_tokens_details"), "reasoning_tokens")
            total = tokens_in(usage, "total_tokens") - tokens_in(usage, "prompt_tokens")
            most = max(most, everything if total == everything else completed)
    return most


def limit_of(request: dict[str, Any]) -> int | None:
    """The most tokens that a request of any protocol allows, for all choices together; None if it sets no limit."""
    places = [request, *map(request.get, ("options", "generationConfig", "generation_config"))]
    choices = max(tokens_in(place, key) for place in places for key in ("n", "candidateCount", "candidate_count"))
    limits = [tokens_in(place, key) for place in places for key in _LIMITS]
    return min((limit * max(choices, 1) for limit in limits if limit > 0), default=None)
