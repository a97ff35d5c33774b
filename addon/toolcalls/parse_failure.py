"""Errors in which a server quotes a call that it could not parse: the client gets an answer with that call.

Only where the quotation is nothing but complete calls of declared tools, and has one reading. Otherwise the error
goes on as it came.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from .mend.arguments import Finish, mend_arguments
from .mend.names import tool_that_fits
from .mend.strict import read, write
from .outcome import Outcome
from .payload import read_strict, string_of
from .policy import Policy
from .reasons import CLOSED
from .request.request import Request
from .sizes import MOST_SEARCHED
from .textcalls.known import WrittenTools
from .textcalls.read_aloud import was_read
from .wire.sse import Event

Json = dict[str, Any]

_STEP: Final = "call taken out of the error of the server"
_MARKS: Final = (b"tool_use_failed", b"error parsing tool call: raw=", b"Failed to parse input at pos ")
_ARGUMENTS = re.compile(r"error parsing tool call: raw='(.*)', err=(.*)", re.DOTALL)
"""Ollama, unescaped: from the first `raw='` to the last `', err=`. It must begin the message: an error with text
before it only quotes such an error of another server."""
_REST = re.compile(r"Failed to parse input at pos \d+: (.*)", re.DOTALL)
"""llama.cpp of spring 2026, as the whole message: the rest of the model's output, from where parsing failed."""
_NAMED = re.compile(r"([\w.:-]{1,128}+)\s*+(\{.*+)", re.DOTALL)
"""A name followed by arguments: `web_search{"query": …}</function>`."""
_GOES_ON = re.compile(r"<(?:\w+:)?(?:parameter\b|arg_key>)|\[\s*+\{")
"""Arguments that are elements of their own, and lists of calls, may go on until the closing tag of it all."""
_CLOSED = re.compile(r"</(?!(?:\w+:)?parameter\b|arg_)[\w:-]+>\Z")
_WRAPPED = re.compile(r"<tool-use>\s*(\{.*\})\s*</tool-use>", re.DOTALL)


@dataclass(slots=True, frozen=True)
class Recovery:
    """Recovers calls from the errors of one response. `run`: runs a document of Chat through the engine."""

    protocol: str
    request: Request
    policy: Policy
    run: Callable[[Request, bytes], tuple[bytes, Sequence[Outcome]]]

    def is_wanted(self, *, in_stream: bool) -> bool:
        """Whether a quoted call may become a call. `in_stream`: the error is an event, not the whole response."""
        request, policy = self.request, self.policy
        # Ollama's last line, if it is an error, is passed on, because the model's reasoning came before it.
        if self.protocol not in _WRITERS or request.legacy_functions or (in_stream and self.protocol == "ollama"):
            return False
        # With several choices it is not known which one the server could not read.
        return policy.text_calls != "off" and request.choices == 1 and len(request.written_tools(policy)) > 0

    def answer(self, error: Event, has_text: bool) -> tuple[Json, list[Json], list[Outcome]]:
        """The answer that replaces an error, as a document and as the fewest events of which the engine makes a
        stream, and the calls in it; all empty if the error stays. Its id is always the same for the same error.

        `has_text`: the events go on with an answer that has text of the model.
        """
        calls = self._calls(error, has_text)
        if not calls:
            return {}, [], []
        identity = hashlib.sha256(error.raw).hexdigest()[:24]
        return *_WRITERS[self.protocol](calls, identity, self.request.model), calls

    # What is quoted

    def _calls(self, error: Event, has_text: bool) -> list[Outcome]:
        """The calls that the server could not read, mended; none if they are not certain."""
        kind, text = _quoted_in(error.data or "") if any(mark in error.raw for mark in _MARKS) else ("", "")
        if not kind or (kind == "rest" and has_text):
            # The text before a call decides whether the call is meant or quoted as an example.
            return []
        # The calls in the markup of their formats, if the text is nothing else.
        wrapped = _WRAPPED.fullmatch(text)
        reason = None if _GOES_ON.search(text) and not _CLOSED.search(text) else "stop"
        written = self._mended({"content": wrapped[1] if wrapped else text}, reason)
        # The call without markup: only its arguments, or its name before them.
        name, arguments = "", text
        if kind == "arguments":
            tool = tool_that_fits(mend_arguments(text, Finish.CUT).value, self.request.tools)
            name = tool.name if tool is not None else ""
        elif named := _NAMED.fullmatch(text.removesuffix("</function>").rstrip()):
            name, arguments = named[1], named[2]
        bare: list[Outcome] = []
        if name and not _was_read(name, arguments, self.request):
            function = {"name": name, "arguments": arguments}
            bare = self._mended({"tool_calls": [{"id": "", "type": "function", "function": function}]}, "length")
        calls = [] if written and bare else written or bare
        return [replace(one, status="repaired", steps=(_STEP, *one.steps)) for one in calls]

    def _mended(self, message: Json, reason: str | None) -> list[Outcome]:
        """The calls of this message as the client would get them; none if it has text, or if one is not sound."""
        choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": reason}
        body = write({"object": "chat.completion", "choices": [choice]}).encode()
        sent, outcomes = self.run(replace(self.request, stream=False), body)
        if (read_strict(sent)["choices"][0]["message"].get("content") or "").strip():
            return []
        for call in outcomes:
            # If the mending of arguments is off, they may be anything.
            tool = self.request.written_tools(self.policy).get(call.name, call.namespace)
            whole = CLOSED.isdisjoint(call.steps) and isinstance(read_strict(call.arguments), dict)
            if call.status == "refused" or call.dropped or tool is None or not whole:
                return []
        return [*outcomes]


def _quoted_in(body: str) -> tuple[str, str]:
    """What an error quotes: a `call`, only its `arguments`, or the `rest` of the output; and the text of it. Nothing,
    if that is no call, or the error says that the call was cut off."""
    answer = read_strict(body)
    if not isinstance(answer, dict) or ("choices" in answer and "error" not in answer):
        return "", ""
    error = answer.get("error", answer)
    error = error if isinstance(error, dict) else {"message": error}
    if error.get("code") == "tool_use_failed":
        return "call", string_of(error.get("failed_generation")).strip()
    message = string_of(error.get("message"))
    if len(message) > MOST_SEARCHED:
        return "", ""
    if found := _ARGUMENTS.match(message):
        return "" if found[2].startswith("unexpected end of JSON input") else "arguments", found[1]
    found = _REST.match(message)
    return ("rest", found[1].strip()) if found else ("", "")


def _was_read(name: str, arguments: str, request: Request) -> bool:
    """Whether the model was given the call to read, or just its arguments: the error quotes no markup."""
    known, texts = WrittenTools(request.tools), request.read_by_model.texts
    if texts is None:
        return True
    value = mend_arguments(arguments, Finish.CUT).value
    text = arguments if value is None else json.dumps(value)
    bare = _without_space(arguments), _without_space(text)
    if any(one in _without_space(read_by_model) for read_by_model in texts for one in bare):
        return True
    tool = known.resolve(name)
    return was_read(tool.name if tool else name, text, texts, known)


def _without_space(text: str) -> str:
    return "".join(html.unescape(text).split())


# An answer of nothing but calls, as a document and as the fewest events of a stream


def _chat(calls: Sequence[Outcome], identity: str, model: str) -> tuple[Json, list[Json]]:
    head: Json = {"id": f"chatcmpl-{identity}", "object": "chat.completion", "created": 0, "model": model}
    made = [
        {"id": one.id, "type": "function", "function": {"name": one.name, "arguments": one.arguments}}
        for one in calls
    ]
    said, end = {"role": "assistant", "content": None, "tool_calls": made}, {"finish_reason": "tool_calls"}
    usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    chunk = {**head, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": said, **end}]}
    return {**head, "choices": [{"index": 0, "message": said, **end}], "usage": usage}, [chunk]


def _messages(calls: Sequence[Outcome], identity: str, model: str) -> tuple[Json, list[Json]]:
    blocks = [{"type": "tool_use", "id": one.id, "name": one.name, "input": read(one.arguments)} for one in calls]
    head: Json = {"id": f"msg_{identity}", "type": "message", "role": "assistant", "model": model}
    usage, end = {"input_tokens": 0, "output_tokens": 0}, {"stop_reason": "tool_use", "stop_sequence": None}
    begun = {**head, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    events: list[Json] = [{"type": "message_start", "message": begun}]
    for at, block in enumerate(blocks):
        events.append({"type": "content_block_start", "index": at, "content_block": block})
        events.append({"type": "content_block_stop", "index": at})
    events += [{"type": "message_delta", "delta": end, "usage": {"output_tokens": 0}}, {"type": "message_stop"}]
    return {**head, "content": blocks, **end, "usage": usage}, events


def _responses(calls: Sequence[Outcome], identity: str, model: str) -> tuple[Json, list[Json]]:
    items: list[Json] = []
    for at, one in enumerate(calls):
        space = {"namespace": one.namespace} if one.namespace else {}
        said = {"call_id": one.id, "name": one.name, "arguments": one.arguments, **space}
        items.append({"id": f"fc_{identity}_{at}", "type": "function_call", "status": "completed", **said})
    begun: Json = {"id": f"resp_{identity}", "object": "response", "created_at": 0, "status": "in_progress"}
    begun |= {"model": model, "output": [], "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    begun["usage"] = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
    done = {**begun, "status": "completed", "output": items}
    events = [{"type": "response.created", "response": begun}, {"type": "response.completed", "response": done}]
    return done, [{**event, "sequence_number": number} for number, event in enumerate(events)]


def _ollama(calls: Sequence[Outcome], identity: str, model: str) -> tuple[Json, list[Json]]:
    made = [{"function": {"name": one.name, "arguments": read(one.arguments)}} for one in calls]
    head: Json = {"model": model, "created_at": "1970-01-01T00:00:00Z"}
    message, end = {"role": "assistant", "content": ""}, {"done": True, "done_reason": "stop"}
    line = {**head, "message": {**message, "tool_calls": made}}
    return {**line, **end}, [{**line, "done": False}, {**head, "message": message, **end}]


_WRITERS: Final = {"chat": _chat, "messages": _messages, "responses": _responses, "ollama": _ollama}
