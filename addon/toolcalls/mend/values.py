"""What a value or a key that does not fit its schema can stand for: the only other reading, if there is exactly one.

Nothing here looks at the surroundings or decides: the caller uses a candidate only if the result violates the schema
less. A value can be another value: a number, a member of an enum, a container in a string, the only item of a list. A
key can be in the wrong place or under the wrong name: drifted, dotted, with an index, a wrapper.

A container that was sent as a string (`"[{\\"content\\": …}]"`) is read as a container or not at all, and readings
that the text does not support are rejected: a glob such as `[ab]*` or a checkbox such as `[x] done` is no list.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from contextlib import suppress
from typing import Any, Final, NamedTuple

from ..reasons import TOO_BOLD_INSIDE_A_TEXT, Refusal
from ..tools.check import View, view_of
from ..tools.schema import ARRAY, BOOLEAN, FRACTION, INTEGER, OBJECT, STRING, type_of
from .arguments import mend_arguments
from .finish import Finish
from .names import normalize, normalize_value
from .strict import contains, read, read_number

_WHOLE: Final = re.compile(r"(-?(?:0|[1-9][0-9]*))(?P<zeros>\.0+)?")
_BOOLEANS: Final = {"true": True, "false": False}
_EXACT: Final = 2**53
_MAX_DIGITS = 400
_MAX_MEMBER = 256

# A string with one of these may be several items written as text: splitting it would be a guess, and so would
# keeping it whole.
_LIST_LIKE: Final = re.compile(r"[,;\n\r\t]")
# Under these keys a string of several words is a command line, which has more than one item as an argv.
_ARGV: Final = frozenset({"command", "cmd", "argv", "args"})


def member_for(view: View, text: str) -> str | None:
    """The admitted string that differs from the text only in case and separators, if there is exactly one."""
    members = view.strings()
    if not members or len(text) > _MAX_MEMBER:
        return None
    folded = normalize_value(text)
    if not any(character.isalnum() for character in folded):
        return None
    matching = [member for member in members if normalize_value(member) == folded]
    return matching[0] if len(matching) == 1 else None


def admits_free_strings(view: View) -> bool:
    return STRING in view.types and view.strings() is None


def scalar_in(view: View, text: str) -> int | float | bool | None:
    """The number or boolean that a string holds, if the schema wants one instead of a string."""
    if BOOLEAN in view.types and text.lower() in _BOOLEANS and text.isascii():
        return _BOOLEANS[text.lower()]
    if INTEGER not in view.types or len(text) > _MAX_DIGITS:
        return None
    if FRACTION in view.types:
        with suppress(Refusal):
            number: int | float
            number, as_json = read_number(text)
            if as_json:
                return number
    return _whole(text)


def integer_in(view: View, value: float) -> int | None:
    """The integer that equals a float such as `120000.0`, if the schema wants integers: clients can read it."""
    wanted = INTEGER in view.types and FRACTION not in view.types
    return _whole(getattr(value, "text", repr(value))) if wanted else None


def _whole(number: str) -> int | None:
    """The integer that is written here, perhaps with zeros behind a point."""
    found = _WHOLE.fullmatch(number)
    if found is None or (found["zeros"] and (found[1] == "-0" or abs(int(found[1])) > _EXACT)):
        return None
    return int(found[1])


def only_item(view: View, value: Any, key: str | None) -> View | None:
    """The view of an array's items, if the value has their type and can be nothing else here."""
    if ARRAY not in view.types or value is None or isinstance(value, list):
        return None
    kind = type_of(value)
    if kind in view.types:
        return None
    item = view.item(0)
    if item is None or not item.says(kind):
        return None
    if isinstance(value, str):
        odd = not value.strip() or value.lstrip()[0] in "[{\"'`" or _LIST_LIKE.search(value)
        if admits_free_strings(item) and (odd or (key in _ARGV and len(value.split()) > 1)):
            return None
    elif kind == OBJECT:
        branches = [view_of(branch) for union in item.unions for branch in union]
        if not any(name in node.properties for node in (item, *branches) for name in value):
            return None
    return item


_CLOSERS = ("]", "}")
_HOLDER = "toolfix: the container in a string"


def container_in(text: str, finish: Finish | None = None) -> tuple[Any, bool] | None:
    """The container that a string holds, if the string holds nothing else, and whether it is broken JSON; without
    `finish`, in strict JSON only."""
    text = _decoded_once_more(text.strip())
    if not text.startswith(("[", "{")) or not text.endswith(_CLOSERS):
        return None
    try:
        value, broken = read(text), False
        read(text, lax=True)  # refuses two values of a key
    except Refusal:
        return None
    except ValueError:
        value, broken = None if finish is None else _mended(text, finish), True
    unsupported = broken and "'" not in text and '"' not in text and contains(value, str)
    return None if value is None or unsupported else (value, broken)


def _mended(text: str, finish: Finish) -> Any:
    """The container in a text that is no JSON. A list is read as the only value of an object."""
    listed = text.startswith("[")
    mended = mend_arguments(f'{{"{_HOLDER}": {text}}}' if listed else text, finish)
    if mended.value is None or not TOO_BOLD_INSIDE_A_TEXT.isdisjoint(mended.steps):
        return None
    if not listed:
        return mended.value
    value = mended.value.get(_HOLDER)
    return value if len(mended.value) == 1 and isinstance(value, list) else None


def looks_like_container(text: str) -> bool:
    return _decoded_once_more(text.strip()).startswith(("[", "{"))


def _decoded_once_more(text: str) -> str:
    """The text inside a JSON string, if a container was encoded twice; else the text itself."""
    if not text.startswith('"') or not text.endswith(('}"', ']"')):
        return text
    try:
        inner = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return inner.strip() if isinstance(inner, str) else text


ROWS: Final = (
    ("path", "file", "filename", "file_name", "file_path", "target_file", "absolute_path"),
    ("path", "dir", "directory", "folder", "dir_path", "directory_path", "folder_path"),
    ("cmd", "command", "shell_command", "bash_command", "command_line"),
    ("old_str", "old_text", "old_string", "old_content", "old"),
    ("new_str", "new_text", "new_string", "new_content", "new"),
    ("content", "contents", "file_content", "file_contents", "file_text"),
    ("query", "q", "search_query", "search_term"),
    ("url", "uri"),
    ("cwd", "workdir", "working_dir", "working_directory"),
    ("start_line", "line_start"),
    ("end_line", "line_end"),
    ("todos", "todo_list"),
)
"""Parameter names that mean the same in the tools of coding agents, compared after folding the case style. Names that
differ in unit, kind or scope (`timeout` and `timeout_ms`, `pattern` and `regex`) are not in one row."""
_FOLDED_ROWS: Final = [frozenset(map(normalize, row)) for row in ROWS]
WRAPPERS: Final = frozenset({"arguments", "input", "parameters", "args", "raw_arguments", "params", "result"})
"""Keys under which models nest the whole arguments object."""
_MAX_KEYS = 200
_MAX_LEVELS = 6


class KeyChange(NamedTuple):
    """A key, with its content, that is meant instead of other keys."""

    keys: tuple[str, ...]
    name: str
    content: Any
    what: str
    """The name of the step."""
    renames: bool = False
    """It is told where the object is, not where the new key is."""


def drifted(view: View, value: dict[str, Any]) -> list[KeyChange]:
    """Undeclared keys that are another name of exactly one declared and absent property.

    A synonym counts only for a required property, a name in another case or with other separators for any. If the
    schema admits unknown keys, renaming to an optional property gains nothing, so the caller does not keep it.
    """
    if not view.keys_known or len(value) > _MAX_KEYS:
        return []
    sources = {key: normalize(key) for key in value if not view.declares(key)}
    absent = {name: normalize(name) for name in view.properties if name not in value} if sources else {}
    targets: dict[str, list[str]] = {}
    for source, spelling in sources.items():
        row = frozenset[str]().union(*(row for row in _FOLDED_ROWS if spelling in row))
        spelled = [name for name, other in absent.items() if spelling and other == spelling]
        targets[source] = spelled or [name for name, other in absent.items() if other in row]
    claimed = Counter(target for names in targets.values() for target in names)
    return [
        KeyChange((source,), names[0], value[source], f"`{source}` renamed to `{names[0]}`", renames=True)
        for source, names in targets.items()
        if len(names) == 1 and claimed[names[0]] == 1
        if absent[names[0]] == sources[source] or names[0] in view.required
    ]


_PATH: Final = re.compile(r"([^\[\].]+)((?:\.[^\[\].]+)+|\[\d{1,4}\](?:\.[^\[\].]+)?)")
_STEP: Final = re.compile(r"[^\[\].]+|\[\d+\]")
_Entries = list[tuple[list[str], Any]]
"""Values, each with the keys and indices that lead to it."""


def folded(view: View, value: dict[str, Any]) -> list[KeyChange]:
    """The objects and arrays that were written as keys: `a.b`, `a[0]`, `a[0].b`."""
    if not view.keys_known or len(value) > _MAX_KEYS:
        return []
    found: dict[str, dict[str, list[str]]] = {}
    for key in [key for key in value if key not in view.properties]:
        path = _PATH.fullmatch(key)
        if path and path[1] in view.properties and path[1] not in value and not view.declares(key):
            found.setdefault(path[1], {})[key] = _STEP.findall(path[2])
    changes: list[KeyChange] = []
    for name, paths in found.items():
        with suppress(LookupError):
            content = _unfolded(view.child(name), [(path, value[key]) for key, path in paths.items()])
            listed = isinstance(content, list)
            what = "array from keys with indices" if listed else "object from dotted keys"
            changes.append(KeyChange(tuple(paths), name, content, what))
    return changes


def _unfolded(view: View | None, entries: _Entries) -> Any:
    """What these entries say together; LookupError if a key is not declared, an index is missing, or two disagree."""
    if not all(path for path, _ in entries):
        (_, value), *others = entries
        if others:
            raise LookupError
        return value
    below: dict[str, _Entries] = {}
    for (step, *path), value in entries:
        below.setdefault(step, []).append((path, value))
    kind = ARRAY if entries[0][0][0].startswith("[") else OBJECT
    if view is None or kind not in view.types:
        raise LookupError
    inside = view.narrowed(kind)
    if kind == ARRAY:
        return [_unfolded(inside.item(index), below[f"[{index}]"]) for index in range(len(below))]
    if len(entries[0][0]) > _MAX_LEVELS or not inside.keys_known or not below.keys() <= inside.properties.keys():
        raise LookupError
    return {key: _unfolded(inside.child(key), found) for key, found in below.items()}


def wrapper_key(view: View, value: dict[str, Any], tool: str) -> str | None:
    """The only key, if models wrap arguments in it and the schema does not declare it.

    The name of the tool may be beside it: then the whole call was written inside its own arguments.
    """
    keys = [key for key in value if key != "name" or value[key] != tool]
    if len(keys) != 1 or keys[0] not in WRAPPERS:
        return None
    views = [view, *(view_of(branch) for union in view.unions for branch in union)]
    return None if any(view.declares(key) for view in views for key in value) else keys[0]
