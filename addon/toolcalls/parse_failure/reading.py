"""Reads the quoted text as calls, if it is nothing but complete calls of declared tools and has one reading."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace

from ..mend.arguments import Finish, mend_arguments
from ..mend.nameless import tool_that_fits
from ..mend.steps import CLOSED
from ..outcome import Outcome
from ..request.request import Request
from ..tools.declared import Tool, Tools
from .quoted import Quoted

Ask = Callable[[bytes], tuple[bytes, list[Outcome]]]
"""Runs a Chat document through the engine: the document for the client, and the outcomes of its calls."""

STEP = "call taken out of the error of the server"
_ELEMENTS = re.compile(r"<(?:parameter\b|arg_key>)")
_CLOSING_TAG = re.compile(r"</(?!parameter\b|arg_)[\w:-]+>\s*\Z")
"""If each argument is an element of its own, more arguments may be missing until the call's closing tag."""
_LIST = re.compile(r'(?>\[TOOL_CALLS\]|[^\[{])*+((?:\{\s*+"tool_calls"\s*+:\s*+)?\[\s*+\{)')
_BRACKETS = re.compile(r'"(?>[^"\\]|\\.)*+"|[\[\]{}]', re.DOTALL)
_NAMED = re.compile(r"([\w.:-]{1,128}+)\s*+(\{.*+)", re.DOTALL)
_WRAPPED = re.compile(r"\s*<tool-use>\s*(\{.*\})\s*</tool-use>\s*", re.DOTALL)


def read_calls(quoted: Quoted, request: Request, tools: Tools, ask: Ask) -> list[Outcome]:
    """The calls that the server could not read, mended; none if they are not certain. `tools`: those that may run."""
    readings = [_from_text(quoted.text, tools, ask)]
    if quoted.nameless and (tool := _tool_of(quoted.text, request.tools)) is not None:
        if not request.read_by_model.contains_call(tool.name, quoted.text):
            readings.append(_from_call(tool.name, quoted.text, tools, ask))
    elif (named := _match_named(quoted.text)) and not request.read_by_model.contains_call(named[1], quoted.text):
        readings.append(_from_call(named[1], named[2], tools, ask))
    readings = [reading for reading in readings if reading]
    if len(readings) != 1:
        return []
    return [replace(outcome, status="repaired", steps=(STEP, *outcome.steps)) for outcome in readings[0]]


def _tool_of(arguments: str, tools: Tools) -> Tool | None:
    value = mend_arguments(arguments, Finish.CUT).value
    return tool_that_fits(value, tools) if isinstance(value, dict) else None


def _match_named(text: str) -> re.Match[str] | None:
    """Match a name followed by arguments: `web_search{"query": …}</function>`."""
    return _NAMED.fullmatch(text.strip().removesuffix("</function>").rstrip())


def _from_text(text: str, tools: Tools, ask: Ask) -> list[Outcome]:
    if _ELEMENTS.search(text) and not _CLOSING_TAG.search(text):
        return []
    if _is_open_list(text):
        return []
    if wrapped := _WRAPPED.fullmatch(text):
        text = wrapped[1]
    return _asked({"role": "assistant", "content": text}, "stop", tools, ask)


def _is_open_list(text: str) -> bool:
    """Whether this is a list of calls whose closing brackets are missing, so that another call may be missing too."""
    found = _LIST.match(text)
    if found is None:
        return False
    brackets = [token[0] for token in _BRACKETS.finditer(text, found.start(1))]
    return sum((token in ("[", "{")) - (token in ("]", "}")) for token in brackets) > 0


def _from_call(name: str, arguments: str, tools: Tools, ask: Ask) -> list[Outcome]:
    call = {"id": "", "type": "function", "function": {"name": name, "arguments": arguments}}
    return _asked({"role": "assistant", "content": None, "tool_calls": [call]}, "length", tools, ask)


def _asked(message: dict[str, object], finish: str, tools: Tools, ask: Ask) -> list[Outcome]:
    choice = {"index": 0, "message": message, "finish_reason": finish}
    after, outcomes = ask(json.dumps({"object": "chat.completion", "choices": [choice]}).encode())
    left = json.loads(after)["choices"][0]["message"].get("content")
    if not outcomes or left or not all(_is_sound(outcome, tools) for outcome in outcomes):
        return []
    return outcomes


def _is_sound(outcome: Outcome, tools: Tools) -> bool:
    if outcome.status == "refused" or outcome.dropped or not CLOSED.isdisjoint(outcome.steps):
        return False
    # If the mending of arguments is off, they may be anything.
    return tools.get(outcome.name, outcome.namespace) is not None and _is_object(outcome.arguments)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
