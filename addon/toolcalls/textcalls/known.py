"""The declared tools, as the readers of written calls need them: what a name means, and what a raw value is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..mend import strict
from ..mend.names import mend_name, normalize
from ..mend.values import WRAPPERS, scalar_in
from ..reasons import Refusal
from ..tools.check import View
from ..tools.declared import Tool, Tools
from ..tools.schema import ARRAY, EVERY_TYPE, NULL, OBJECT, STRING

ReadCall = tuple[Tool | None, str]
"""The tool, None if no declared one is meant, and the arguments as JSON text."""

SPACE = re.compile(r"\s*+")
_SURROGATE = re.compile("[\ud800-\udfff]")


class CutOff(Exception):
    """The text ends inside a call."""


@dataclass(slots=True)
class WrittenTools:
    """The tools whose calls are searched for."""

    tools: Tools
    declared: Tools | None = None
    """All that the request declares, if these are more: what a name means is decided among them."""
    closers_may_be_missing: bool = True
    """The model ended its answer itself, so that closers may be missing at its end."""
    in_a_page: bool = False
    """The call stands in a page, which goes on behind it."""

    def resolve(self, written: str) -> Tool | None:
        """The one tool that a written name means; None if its calls are not searched for."""
        written = written.strip().replace("<|message|>", "")  # Muse's
        named = mend_name(written, self.declared or self.tools)
        return named.tool and self.tools.get(named.name, named.namespace)


def accepts(tool: Tool | None, arguments: dict[str, Any], *, weak: bool = False) -> bool:
    """Whether the tool can take these arguments. `weak`: the form of the call proves little, so they have to."""
    declared = tool.view.properties if tool and tool.view else ()
    is_object = "type" not in declared and str(arguments.get("type")).strip("\"'") == "object"
    if is_object or ("properties" in arguments and "properties" not in declared):
        return False  # a JSON schema, because the text is the definition of a tool
    return not weak or (tool is not None and tool.takes(arguments))


def arguments_of(tool: Tool, raw: Mapping[str, Any]) -> str:
    """Raw values as JSON text: a string becomes a value of the type that the schema declares for it."""
    view = tool.view
    for key in WRAPPERS.intersection(raw) if len(raw) == 1 else ():
        value = raw[key]
        text = write(value) if isinstance(value, dict) else str(value).strip()
        if text.startswith("{") and text.endswith("}") and not (view and key in view.properties):
            return text
    return write(
        {key: typed(one, view.child(key)) if view and isinstance(one, str) else one for key, one in raw.items()}
    )


def typed(raw: str, view: View | None) -> Any:
    """The value that a raw text means under a schema; the text itself if nothing else fits."""
    if view is None or view.types in (EVERY_TYPE, {STRING}):
        return raw
    text, types = raw.strip(), view.types
    if NULL in types and (text == "null" or (text in ("None", "") and STRING not in types)):
        return None
    if (scalar := scalar_in(view, text)) is not None:
        return scalar
    if text[:1] in ("{", "[") and (OBJECT if text[0] == "{" else ARRAY) in types:
        # With its quotes escaped, it is read as what it is where nothing else is admitted.
        escaped = read(f'"{text}"') if STRING not in types else None
        for each in (text, escaped if isinstance(escaped, str) else ""):
            value = read(each)
            if isinstance(value, dict | list):
                return value
    return raw


def put(found: dict[str, Any], key: str, value: Any) -> None:
    """Add a value to an object. Raises ValueError if the name has another one: the object has two readings."""
    if found.setdefault(key, value) != value:
        raise ValueError


def read(text: str) -> Any:
    """The value of a strict JSON text; None if it is invalid."""
    try:
        return strict.read(text)
    except (ValueError, Refusal):
        return None


def write(arguments: Mapping[str, Any]) -> str:
    text = json.dumps(arguments, ensure_ascii=False)
    # A lone surrogate cannot be sent as UTF-8; escaped it can.
    return json.dumps(arguments) if _SURROGATE.search(text) else text


def same_key(key: str, others: Iterable[str]) -> bool:
    """Whether one of the other names is another spelling of this one."""
    return any(other != key and normalize(other) == normalize(key) for other in others)
