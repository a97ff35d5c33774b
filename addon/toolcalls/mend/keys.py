"""Keys in the wrong place or under the wrong name: drifted names, dotted keys, keys with indices, wrappers.

Each function proposes a change; the caller keeps it only if the result violates the schema less.
"""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from typing import Any, Final, NamedTuple

from ..tools.check import View, view_of
from ..tools.schema import ARRAY, OBJECT, Node
from ..tools.spelling import normalize

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

    def made_in(self, value: dict[str, Any], content: Any) -> dict[str, Any]:
        """The value with this key, and the mended content, at the position of the first of the others."""
        first = self.keys[0]
        return {
            (self.name if key == first else key): (content if key == first else item)
            for key, item in value.items()
            if key == first or key not in self.keys
        }


def _rows() -> dict[str, frozenset[str]]:
    known: dict[str, frozenset[str]] = {}
    for row in ROWS:
        folded = frozenset(normalize(name) for name in row)
        for name in folded:
            known[name] = known.get(name, frozenset()) | folded
    return known


_SYNONYMS: Final = _rows()


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
        row = _SYNONYMS.get(spelling, frozenset())
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
    branches: list[Node] = [branch for union in view.unions for branch in union]
    views = [view, *(view_of(branch) for branch in branches)]
    return None if any(view.declares(key) for view in views for key in value) else keys[0]
