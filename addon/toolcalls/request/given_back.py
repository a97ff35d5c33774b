"""What an assistant message gets back of the host's answer, and how that is written into the request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .answered import EXTRA, SIGNATURE, AnsweredTurn
from .contents_as_messages import NUMBER, call_parts, inner
from .conversation import has_reasoning, listed, upstream_id
from .edits import Edits, Path
from .pairs import text_of

Json = dict[str, Any]

NO_REASONING = '""'
"""The JSON text of empty reasoning, for hosts that insist on the field."""


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


def put_back(given: Mapping[int, GivenBack], request: Json, edits: Edits, at: Path) -> dict[str, int]:
    """Write what the messages get back; returns the steps and their counts."""
    steps: dict[str, int] = {}

    def count(step: str) -> None:
        steps[step] = steps.get(step, 0) + 1

    if isinstance(request.get("input"), list):
        order: list[int | str] = []
        for number in range(len(request["input"])):
            order += given[number].blocks if number in given else ()
            order.append(number)
        edits.arrange((*at, "input"), order)
        return {"reasoning given back": len(given)}
    asked, inside = inner(request)
    if isinstance(asked.get("contents"), list):
        for number, back in given.items():
            content = asked["contents"][number]
            numbers = call_parts(content)
            for call, text in back.extras.items():
                part = (*at, *inside, "contents", number, "parts", numbers[call])
                _set(edits, part, content["parts"][numbers[call]], SIGNATURE, text)
                count("signature given back")
        return steps
    for number, back in given.items():
        message = request["messages"][number]
        path = (*at, "messages", number)
        for key, text in back.fields.items():
            _set(edits, path, message, key, text)
            count("empty reasoning" if text == NO_REASONING else "reasoning given back")
        for call, text in back.extras.items():
            _set(edits, (*path, "tool_calls", call), message["tool_calls"][call], EXTRA, text)
            count("signature given back")
        if back.blocks:
            edits.arrange((*path, "content"), [*back.blocks, *range(len(message["content"]))])
            count("reasoning given back")
    return steps


def _set(edits: Edits, path: Path, entry: Json, key: str, text: str) -> None:
    if key in entry:
        edits.replace((*path, key), text)
    else:
        edits.add(path, key, text)


def lacking(message: Json, turn: AnsweredTurn) -> GivenBack:
    """What the client dropped of a turn; nothing for parts that it sent itself."""
    given = GivenBack()
    content = message.get("content")
    if turn.blocks and isinstance(content, list) and not has_reasoning(message):
        # Hosts reject signed thinking if the other blocks are not the same.
        if text_of(content).strip() == turn.text.strip():
            given.blocks = turn.blocks
    elif turn.fields and not has_reasoning(message):
        key = next(iter(turn.fields))
        given.fields[key] = turn.fields[key]
    for number, call in enumerate(listed(message.get("tool_calls"))):
        identity = (call.get(NUMBER) or upstream_id(call.get("id"))) if isinstance(call, dict) else ""
        if identity in turn.extras and call.get(EXTRA) is None:
            given.extras[number] = turn.extras[identity]
    return given
