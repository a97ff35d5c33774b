"""What identifies a turn of the model in a history, and what it gets back of the host's answer.

A turn is told by its words, its results, and its first call with the id that the host gave.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..ids import restore
from .answered import FIELDS, THINKING, AnsweredTurn
from .history import History, Json, PastCall, Said, text_of

_UNIQUE = re.compile(r"(?=[a-z]{0,7}[0-9])(?=[0-9]{0,7}[a-z])[a-z0-9]{8}|[0-9]{12}", re.IGNORECASE)
"""Random letters and digits, or a time."""
_LONGEST_ID = 256


class KnownCall(NamedTuple):
    """A call of a history. `key`: its id, its tool and its arguments."""

    key: str
    unique: bool
    """No other session can have this id; ids such as `functions.Bash:0` and `call_1` are in each of them."""


def known_as(identity: str, name: object, arguments: object) -> KnownCall:
    start = identity[:_LONGEST_ID]
    rest = start.replace(name, "") if isinstance(name, str) and name else start
    return KnownCall(f"{identity}\0{identity_of(name, arguments)}", _UNIQUE.search(rest) is not None)


def known_call(call: PastCall, history: History) -> KnownCall:
    """A call with the id that the host gave. The free text of a custom tool is not examined."""
    identity = upstream_id(call.id) if history.has_ids else ""
    return known_as(identity, call.name, call.given) if call.key else known_as(identity, None, None)


def results_of(said: Said, history: History) -> list[str]:
    """The results in a message, each with what tells its call."""
    if history.by_number:
        return [identity_of(one.body.get("name"), one.body.get("response")) for one in said.results]
    ids = [upstream_id(one.id) if history.has_ids else str(one.body.get("tool_name")) for one in said.results]
    return [
        f"{identity}\0{history.words_of(one)}" for identity, one in zip(ids, said.results, strict=True) if identity
    ]


def words_of(said: Said) -> str:
    return text_of(said.content)


def upstream_id(identity: str) -> str:
    """The id that the host gave to a call, whether or not the client knows it as an id of ours."""
    return restore(identity) or identity


def identity_of(name: object, arguments: object) -> str:
    """A key for a call within its turn: the tool and its arguments, in whatever form a client sends them back."""
    if isinstance(arguments, str):
        with suppress(ValueError, RecursionError):
            arguments = json.loads(arguments)
    return json.dumps([name, _plain(arguments or {}, 0)], sort_keys=True)


def _plain(value: Any, depth: int) -> Any:
    """The value with integers for whole floats, because JavaScript writes 1.0 as 1."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if depth < 64 and isinstance(value, dict):
        return {key: _plain(entry, depth + 1) for key, entry in value.items()}
    if depth < 64 and isinstance(value, list):
        return [_plain(entry, depth + 1) for entry in value]
    return value


@dataclass(slots=True)
class GivenBack:
    """What one assistant message gets back. Values are JSON texts."""

    fields: dict[str, str] = field(default_factory=dict)
    extras: dict[int, str] = field(default_factory=dict)
    """By the number of the call in its message."""
    blocks: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.fields or self.extras or self.blocks)

    def as_json(self) -> Json:
        """The form in flow.json."""
        extras = {str(number): text for number, text in self.extras.items()}
        return {"fields": self.fields, "extras": extras, "blocks": self.blocks}

    @classmethod
    def from_json(cls, entry: Json) -> GivenBack:
        extras = {int(number): str(text) for number, text in entry["extras"].items()}
        return cls(dict(entry["fields"]), extras, list(entry["blocks"]))


def lacking(said: Said, turn: AnsweredTurn, history: History) -> GivenBack:
    """What the client dropped of a turn; nothing for parts that it sent itself."""
    given = GivenBack()
    if turn.blocks and isinstance(said.content, list) and not said.reasons:
        # Hosts reject signed thinking if the other blocks are not the same.
        uses = sum(isinstance(block, dict) and block.get("type") == "tool_use" for block in said.content)
        if words_of(said).strip() == turn.text.strip() and uses in (0, len(turn.ids)):
            given.blocks = turn.blocks
    elif turn.fields and not said.reasons:
        key = next(iter(turn.fields))
        given.fields[key] = turn.fields[key]
    for number, call in enumerate(said.calls):
        identity = str(number) if history.by_number else upstream_id(call.id)
        if identity in turn.extras and not history.is_signed(call):
            given.extras[number] = turn.extras[identity]
    return given


_OF_THE_CLIENT = ("reasoning_content", *FIELDS["chat"], *FIELDS["ollama"], "reasoning_opaque")


def has_reasoning(message: Json) -> bool:
    """Whether the client itself sends reasoning with a message of Chat, Ollama or Messages."""
    for key in _OF_THE_CLIENT:
        if message.get(key) is not None:
            return True
    content = message.get("content")
    blocks = content if isinstance(content, list) else ()
    return any(isinstance(block, dict) and block.get("type") in THINKING for block in blocks)
