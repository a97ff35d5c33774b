"""The declared tools, as the readers of written calls need them: what a name means, and what a raw value is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..mend.names import declared_of, normalize, readings
from ..tools.check import View
from ..tools.declared import Tools
from ..tools.schema import ARRAY, BOOLEAN, EVERY_TYPE, FRACTION, INTEGER, NULL, OBJECT, STRING

ReadCall = tuple[str | None, str]
"""The declared name, None if no declared tool is meant, and the arguments as JSON text."""

_INTEGER = re.compile(r"[+-]?\d{1,400}(?:\.0+)?")
_NUMBER = re.compile(r"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d{1,3})?")
_SURROGATE = re.compile("[\ud800-\udfff]")
_WRAPPERS = ("arguments", "input", "parameters", "args", "params")
_UNTYPED = frozenset({NULL, INTEGER, FRACTION, BOOLEAN, STRING})


class CutOff(Exception):
    """The text ends inside a call."""


@dataclass(slots=True)
class WrittenTools:
    """The tools whose calls are searched for."""

    tools: Tools
    _resolve: Callable[[str], str | None] | None = None
    """What else a written name may mean."""
    closers_may_be_missing: bool = True
    """The model ended its answer itself, so that closers may be missing at its end."""
    in_a_page: bool = False
    """The call stands in a page, which goes on behind it."""

    def resolve(self, written: str, *, spelled: bool = False) -> str | None:
        """The one declared tool that a written name means, by its spelling or else by the plugged-in resolver.

        `spelled`: by its spelling alone.
        """
        written = written.strip().replace("<|message|>", "")  # Muse's
        for _, matches in readings(written, declared_of(self.tools)):
            if matches and (len(matches) == 1 or spelled):
                return matches[0].name if len(matches) == 1 else None
            if matches:
                break
        return self._resolve(written) if self._resolve and written and not spelled else None

    def begins(self, written: str) -> bool:
        """Whether this can be the beginning of a declared name."""
        return declared_of(self.tools).begins(written)

    def view(self, name: str | None) -> View | None:
        tool = self.tools.get(name) if name else None
        return tool.view if tool else None

    def declared(self, name: str | None) -> Iterable[str]:
        view = self.view(name)
        return view.properties if view else ()

    def lacks_required(self, name: str | None, keys: Iterable[str]) -> bool:
        """Whether a required parameter is not among these keys."""
        view = self.view(name)
        return view is not None and not set(view.required) <= set(keys)

    def accepts(self, name: str | None, arguments: Mapping[str, Any], *, weak: bool) -> bool:
        """Whether the tool can take these arguments. `weak`: the form of the call proves little, so they have to."""
        tool = self.tools.get(name) if name else None
        view = tool.view if tool else None
        declared = view.properties if view else ()
        is_object = "type" not in declared and str(arguments.get("type")).strip("\"'") == "object"
        if is_object or ("properties" in arguments and "properties" not in declared):
            return False  # a JSON schema, because the text is the definition of a tool
        if view is None or not weak or not declared:
            return not weak or name is not None
        return not self.lacks_required(name, arguments) and all(map(view.declares, arguments))

    def values_fit(self, name: str, values: Mapping[str, str]) -> bool:
        """Whether none of these values is empty, and each can be of the type that is declared for it."""
        view = self.view(name)
        for key, value in values.items():
            child = view.child(key) if view else None
            typed = child is None or STRING in child.types or not isinstance(self.value(view, key, value), str)
            if not typed or not value.strip():
                return False
        return True

    def by_arguments(self, arguments: str) -> str | None:
        """The only tool that the arguments fit, for a call without a name; None if none or several do."""
        value = read(arguments)
        if not isinstance(value, dict) or not value:
            return None
        fitting = [tool.name for tool in self.tools if tool.view and tool.view.properties]
        fitting = [name for name in fitting if self.accepts(name, value, weak=True)]
        return fitting[0] if len(fitting) == 1 else None

    def typed(self, name: str | None, raw: Mapping[str, Any]) -> str:
        """Raw values as JSON text: a string becomes a value of the type that the schema declares for it."""
        view = self.view(name)
        declared = view.properties if view else {}
        if len(raw) == 1:
            [(key, value)] = raw.items()
            text = write(value) if isinstance(value, dict) else value.strip() if isinstance(value, str) else ""
            if key in _WRAPPERS and key not in declared and text[:1] == "{" and text[-1:] == "}":
                return text
        return write({key: self.value(view, key, value) for key, value in raw.items()})

    @staticmethod
    def value(view: View | None, key: str, value: Any) -> Any:
        """The value that a raw text means for this parameter."""
        if not isinstance(value, str):
            return value
        child = view.child(key) if view else None
        types = child.types if child else frozenset(_UNTYPED if isinstance(value, Bare) else {STRING})
        if types == EVERY_TYPE:
            types = _UNTYPED if isinstance(value, Bare) else frozenset({STRING})
        return typed(str(value), types)


class Bare(str):
    """A value without quotes in a format that quotes its strings: a number or a word, if nothing else is declared."""

    __slots__ = ()


class TwoValues(ValueError):
    """A name has two values in an object: it has two readings."""


def with_one_value_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these pairs. The mender is stricter: to it 1 and 1.0 are two values (`mend/strict.py`)."""
    found = dict(pairs)
    if len(found) < len(pairs) and any(found[key] != value for key, value in pairs):
        raise TwoValues
    return found


def typed(raw: str, types: frozenset[str]) -> Any:
    """The value that `raw` means under these types; the text itself if nothing else fits."""
    text = raw.strip()
    if types == {STRING}:
        return raw
    if NULL in types and (text == "null" or (text in ("None", "") and STRING not in types)):
        return None
    if INTEGER in types or FRACTION in types:
        if _INTEGER.fullmatch(text):
            return int(text.split(".")[0]) if INTEGER in types or "." not in text else float(text)
        if FRACTION in types and _NUMBER.fullmatch(text):
            number = float(text)
            if number not in (float("inf"), float("-inf")):
                return number
    if BOOLEAN in types and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if text[:1] in ("{", "[") and (OBJECT if text[0] == "{" else ARRAY) in types:
        # With its quotes escaped, it is read as what it is where nothing else is admitted.
        escaped = read(f'"{text}"') if STRING not in types else None
        for each in (text, escaped if isinstance(escaped, str) else ""):
            value = read(each)
            if isinstance(value, dict | list):
                return value
    return raw


def read(text: str) -> Any:
    """The value of a strict JSON text; None if it is invalid."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


def write(arguments: Mapping[str, Any]) -> str:
    text = json.dumps(arguments, ensure_ascii=False)
    # A lone surrogate cannot be sent as UTF-8; escaped it can.
    return json.dumps(arguments) if _SURROGATE.search(text) else text


def same_key(key: str, others: Iterable[str]) -> bool:
    """Whether one of the other names is another spelling of this one."""
    return any(other != key and normalize(other) == normalize(key) for other in others)
