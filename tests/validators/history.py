"""Histories as strict servers read them: what any of them answers with 400 is illegal here."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from typing import Any

from . import strict_hosts

Json = dict[str, Any]

_MESSAGES_ID = re.compile(r"^[a-zA-Z0-9_-]+$")


class Illegal(AssertionError):
    """What the server says in its 400."""


def _is_object(arguments: object, where: str) -> None:
    if not isinstance(arguments, str):
        raise Illegal(f"{where}: arguments must be a string")
    try:
        value = json.loads(arguments)
    except ValueError:
        raise Illegal(f"{where}: arguments must be valid JSON: {arguments!r}") from None
    if not isinstance(value, dict):
        raise Illegal(f"{where}: arguments must be an object: {arguments!r}")


def _is_named(name: object, where: str) -> None:
    if not isinstance(name, str) or not name:
        raise Illegal(f"{where}: Invalid 'function.name': empty string. Expected a string with minimum length 1")


class _Pairs:
    """Calls wait for their results; every id is one that the server gave (None: it does not check that)."""

    def __init__(self, given: Collection[str] | None) -> None:
        self._given = given
        self._waiting: set[str] = set()
        self._turn: set[str] = set()

    def call(self, identity: object, where: str) -> None:
        if not isinstance(identity, str) or not identity:
            raise Illegal(f"{where}: expected an id")
        if identity in self._turn:
            raise Illegal(f"{where}: ids must be unique: {identity}")
        if self._given is not None and identity not in self._given:
            raise Illegal(f"{where}: no such call: {identity}")
        self._turn.add(identity)
        self._waiting.add(identity)

    def result(self, identity: object, where: str) -> None:
        if identity not in self._turn:
            raise Illegal(f"{where}: a result without its call: {identity}")
        if identity not in self._waiting:
            raise Illegal(f"{where}: a second result for {identity}")
        self._waiting.discard(str(identity))

    def end_of_turn(self, where: str) -> None:
        if self._waiting:
            raise Illegal(f"{where}: no result for {sorted(self._waiting)}")
        self._turn.clear()


def chat(request: Json, given: Collection[str] | None = None) -> None:
    pairs = _Pairs(given)
    for number, message in enumerate(request["messages"]):
        where = f"messages[{number}]"
        if message["role"] == "tool":
            pairs.result(message.get("tool_call_id"), where)
            continue
        pairs.end_of_turn(where)
        for call in message.get("tool_calls") or []:
            if not str(call.get("id")).startswith("srvtoolu_"):  # the host ran it itself
                pairs.call(call.get("id"), where)
            _is_named(call["function"].get("name"), where)
            _is_object(call["function"].get("arguments"), where)
    pairs.end_of_turn("the end")


def messages(request: Json, given: Collection[str] | None = None) -> None:
    pairs = _Pairs(given)
    before = "user"
    for number, message in enumerate(request["messages"]):
        where = f"messages.{number}"
        blocks = message["content"] if isinstance(message["content"], list) else []
        # Messages of one role in a row are one turn.
        if (before, message["role"]) == ("user", "assistant"):
            pairs.end_of_turn(where)
        before = message["role"]
        if message["role"] == "user":
            for block in blocks:
                if block["type"] == "tool_result":
                    pairs.result(block.get("tool_use_id"), where)
            continue
        for block in blocks:
            if block["type"] == "tool_use":
                pairs.call(block.get("id"), where)
                _is_named(block.get("name"), where)
                if given is None and not _MESSAGES_ID.match(block["id"]):
                    raise Illegal(f"{where}: tool_use.id: string should match pattern")
                if not isinstance(block.get("input"), dict):
                    raise Illegal(f"{where}: tool_use.input: input should be a valid dictionary")
    pairs.end_of_turn("the end")


def responses(request: Json, given: Collection[str] | None = None) -> None:
    if request.get("previous_response_id"):
        return  # The calls are on the server.
    items = request["input"] if isinstance(request["input"], list) else []
    if any("role" not in item and item.get("type") in (None, "item_reference") for item in items):
        return  # References: the calls are on the server.
    pairs = _Pairs(given)
    answered = False
    for number, item in enumerate(items):
        where = f"input[{number}]"
        if item.get("type") == "function_call_output":
            pairs.result(item.get("call_id"), where)
            answered = True
            continue
        if answered or item.get("type") != "function_call":
            pairs.end_of_turn(where)
            answered = False
        if item.get("type") == "function_call":
            pairs.call(item.get("call_id"), where)
            _is_named(item.get("name"), where)
            _is_object(item.get("arguments"), where)
    pairs.end_of_turn("the end")


def ollama(request: Json, given: Collection[str] | None = None) -> None:
    """Ids are optional here, and results may name the tool instead."""
    pairs = _Pairs(given)
    for number, message in enumerate(request["messages"]):
        where = f"messages[{number}]"
        if message["role"] == "tool":
            if "tool_call_id" in message:
                pairs.result(message["tool_call_id"], where)
            elif not message.get("tool_name"):
                raise Illegal(f"{where}: a result of no tool")
            continue
        pairs.end_of_turn(where)
        for call in message.get("tool_calls") or []:
            if call.get("id"):
                pairs.call(call["id"], where)
            if not isinstance(call["function"].get("arguments"), dict):
                raise Illegal(f"{where}: Value looks like object, but can't find closing '}}' symbol")
    pairs.end_of_turn("the end")


def gemini(request: Json, given: Collection[str] | None = None) -> None:
    """Google counts calls and results, and asks for signatures only where its model signs."""
    try:
        strict_hosts.gemini_pairs(request)
    except strict_hosts.Rejected as rejected:
        raise Illegal(str(rejected)) from None


VALIDATORS: dict[str, Callable[..., None]] = {
    "chat": chat,
    "messages": messages,
    "responses": responses,
    "ollama": ollama,
    "gemini": gemini,
}
