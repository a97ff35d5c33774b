"""Mends a broken history in a request before the upstream sees it.

No input or output, like the rest of the engine: the body goes in, and the body to send comes out, or None if it is
sent byte for byte. A request is first only read; if something has to be changed, it is decoded again with every
number as it is written, changed as values, and written as one JSON text. The changes depend only on the history and
on the refused calls (`Refusals`), so they are the same on every turn and prompt caches hold. Our ids are always
turned back into the upstream's; the rest depends on `toolfix_request`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from ..mend import strict
from ..policy import Policy
from ..reasons import Refusal
from ..tools.declared import Tools
from .answered import GivenBack
from .calls import ARGUMENTS_LEFT, NAME_LEFT, Change, ChangeNeeded, give_back_ids, mend_calls
from .guidance import add_hints, mend_loops, mend_results
from .history import History, Json, inner, objects_in
from .messages import ChatHistory, GeminiHistory, MessagesHistory, OllamaHistory
from .pairs import arrange
from .refusals import Refusals
from .responses import ResponsesHistory

HISTORIES: dict[str, type[History]] = {
    "chat": ChatHistory,
    "messages": MessagesHistory,
    "responses": ResponsesHistory,
    "zai": ChatHistory,
    "ollama": OllamaHistory,
    "gemini": GeminiHistory,
}
HISTORY_LEFT = "history left as it came"
LEFT = frozenset({ARGUMENTS_LEFT, NAME_LEFT, HISTORY_LEFT})
"""What is counted if a history has more than is mended."""

_MOST_ENTRIES = 5_500
"""Messages, calls and blocks of a history that is looked at, so that no long one stops the proxy. A turn of one call
and its result is three or four, so 1,400 to 1,800 turns are mended, in about 45 ms."""
_MOST_VALUES = 100_000
"""The values of a request that may be written anew."""


@dataclass(slots=True, frozen=True)
class Changed:
    """A request that is sent upstream with changes."""

    body: bytes
    steps: dict[str, int]
    reasons: dict[str, str] = field(default_factory=dict)
    """Why calls of this history were refused, by the ids that the client knows."""
    given_back: dict[int, GivenBack] = field(default_factory=dict)
    """What the host gets back of its earlier answers, by the number of the message."""


def mend_request(
    protocol: str,
    body: bytes,
    request: Json | None,
    policy: Policy,
    refusals: Refusals,
    recall: Callable[[History], dict[int, GivenBack]] = lambda _: {},
) -> Changed | None:
    """The body to send instead of this one, or the frame of a WebSocket; None if nothing is changed.

    `request`: the decoded body. `recall`: what its messages get back of the host's earlier answers, by their numbers.
    """
    form = HISTORIES.get(protocol)
    if form is None or request is None:
        return None
    if _entries(form, request) > _MOST_ENTRIES:
        return Changed(body, {HISTORY_LEFT: 1})
    history = form(request)
    tools = Tools.read(history.request)
    given = recall(history) if policy.request and policy.reasoning == "auto" else {}
    if not given:
        with suppress(ChangeNeeded):
            _run(history, Change(policy, refusals, tools, reading=True), given)
            return None
    # Keys, and items of lists. Commas count little, because most are inside texts such as code and tables.
    if (body.count(b'":') >> 1) + (body.count(b",") >> 4) > _MOST_VALUES:
        return Changed(body, {HISTORY_LEFT: 1})
    encoding = json.detect_encoding(body)
    try:
        whole = strict.read(body.decode(encoding, "surrogatepass"))
    except Refusal:
        # It has a value that JSON does not have, such as NaN.
        return None
    history, change = form(whole), Change(policy, refusals, tools, reading=False)
    _run(history, change, given)
    if not change.steps:
        return None
    if not change.steps.keys() <= LEFT:
        body = strict.write(whole).encode(encoding, "surrogatepass")
    return Changed(body, change.steps, change.reasons, given)


def _entries(form: type[History], request: Json) -> int:
    """The number of messages, calls and blocks of a history; a Responses item counts as a message and a call."""
    entries = objects_in(inner(request).get(form.list_key))
    insides = [entry.get(form.inside) for entry in entries]
    inside = sum(len(one) for one in insides if type(one) is list)
    return len(entries) + (len(entries) if form is ResponsesHistory else inside)


def _run(history: History, change: Change, given: dict[int, GivenBack]) -> None:
    """All passes over a history. What is moved or removed changes the turns, so they are read again."""
    policy = change.policy
    # From the end, because items may be inserted.
    for said in reversed(history.messages):
        if said.number in given:
            history.give_back(said, given[said.number], change)
    if given:
        history.read()
    if policy.request:
        add_hints(history.request, change)
        for turn in history.turns:
            mend_calls(turn, history, change)
        # Before ids are given back: no two calls have the same id for the client, whatever the host gave them.
        if history.as_expected:
            arrange(history, change)
        history.tidy(change)
        if change.steps:
            history.read()
    for turn in history.turns:
        give_back_ids(turn, history, change)
        mend_results(turn, history, change)
    if policy.request and policy.loops:
        mend_loops(history, change)
