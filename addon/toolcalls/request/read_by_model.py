"""What the model was given to read: the texts of users and tool results, including results in the answer itself.

A call that stands in one of them is only repeated from there (`textcalls/read_aloud.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from .answered import SIGNATURE
from .history import LISTS, objects_in

_OWN = frozenset(("assistant", "model", "ai", "bot", "system", "developer", "none"))
"""The roles whose words are the model's own or its instructions. What all others say counts as read."""
_OWN_CALLS = frozenset(
    ("function_call", "custom_tool_call", "local_shell_call", "computer_call", "image_generation_call")
)
"""Calls that the model itself wrote; every other call item is of a tool that the host ran, with its result."""
_RESULTS = ("tool_result", "_output")
_RESULT_KEYS = ("Result", "Response", "_result", "_response")
_IDS = ("id", "type", "role", "call_id", "tool_call_id", "tool_use_id", "media_type")
_OPAQUE = ("inlineData", SIGNATURE, "signature", "encrypted_content", "encrypted_stdout")
_NEVER_IN_A_CALL = frozenset((*_IDS, *_OPAQUE))

_MOST_IN_ANSWER = 8 * 1024 * 1024
"""The most characters of results in an answer that are kept. After more of them, no text is taken as a call."""


@dataclass(slots=True, eq=False)
class ReadByModel:
    _texts: Iterable[str] = ()
    """Walked only when a call is looked for: few answers have a call as text, and a history is long."""
    before: ReadByModel | None = None
    """What the model had read before the current answer."""
    _results: dict[str, None] = field(default_factory=dict)
    """The texts of results in the answer, and how long they are."""
    _length: int = 0

    @classmethod
    def of_request(cls, request: dict[str, Any]) -> ReadByModel:
        """The texts of users and tool results in a request of any protocol."""
        return cls(_texts_of(request))

    @property
    def texts(self) -> tuple[str, ...] | None:
        """All that was read; None if there was more than is kept: then every call counts as read."""
        self._texts = tuple(self._texts)
        before = self.before.texts if self.before is not None else ()
        if before is None or self._length > _MOST_IN_ANSWER:
            return None
        return (*before, *self._texts, *self._results)

    def add_results(self, entry: object) -> None:
        """Note a block, item or part of the answer: results of the host's own tools are read by the model."""
        for text in _results_in(entry):
            if text in self._results:
                continue
            self._length += len(text)
            if self._length > _MOST_IN_ANSWER:
                self._results.clear()
                return
            self._results[text] = None


def _texts_of(request: dict[str, Any]) -> Iterator[str]:
    asked = request.get("input")
    if isinstance(asked, str):
        yield asked
    for entry in chain.from_iterable(objects_in(request.get(key)) for key in LISTS):
        # Gemini's contents need no role if all of them are the user's.
        role, content = entry.get("role", "user" if "parts" in entry else None), entry.get("content")
        if isinstance(role, str) and role.lower() not in _OWN:
            yield from _texts_in(entry)
        else:
            for part in (entry, *objects_in(content), *objects_in(entry.get("parts"))):
                yield from _results_in(part)


def _results_in(entry: object) -> Iterator[str]:
    """The texts of a block, an item or a part, if it is the result of a tool that the host ran."""
    if not isinstance(entry, dict):
        return
    kind = entry.get("type")
    if isinstance(kind, str):
        if kind.endswith(_RESULTS) or (kind.endswith("_call") and kind not in _OWN_CALLS):
            yield from _texts_in(entry)
        return
    for key, value in entry.items():
        if key.endswith(_RESULT_KEYS):
            yield from _texts_in(value)


def _texts_in(value: object) -> list[str]:
    """The texts in a value, and all of them as one: a page may come in parts."""
    parts = [*_strings(value, 0)]
    return [*parts, "".join(parts)] if len(parts) > 1 else parts


def _strings(value: object, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth > 8:
        return
    elif isinstance(value, dict):
        for key, entry in value.items():
            if key not in _NEVER_IN_A_CALL:
                yield from _strings(entry, depth + 1)
    elif isinstance(value, list):
        for entry in value:
            yield from _strings(entry, depth + 1)
