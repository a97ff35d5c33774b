"""Keys in the wrong place or under the wrong name: drifted names, dotted keys, wrappers.

Each function proposes a change; the caller keeps it only if the result violates the schema less.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from ...tools.normalize import normalize
from ...tools.schema.node import OBJECT, Node
from ...tools.schema.views import View, view_of
from .synonyms import ROWS, WRAPPERS

_MAX_KEYS = 200
_MAX_LEVELS = 6


@dataclass(slots=True, frozen=True)
class Rename:
    source: str
    target: str


def _rows() -> dict[str, frozenset[str]]:
    known: dict[str, frozenset[str]] = {}
    for row in ROWS:
        folded = frozenset(normalize(name) for name in row)
        for name in folded:
            known[name] = known.get(name, frozenset()) | folded
    return known


_SYNONYMS: Final = _rows()


def drifted(view: View, value: dict[str, Any]) -> list[Rename]:
    """Undeclared keys that are another name of exactly one declared and absent property.

    A synonym counts only for a required property, a name in another case or with other separators for any. If the
    schema admits unknown keys, renaming to an optional property gains nothing, so the caller does not keep it.
    """
    if not view.keys_known or len(value) > _MAX_KEYS:
        return []
    sources = [(key, normalize(key)) for key in value if not view.declares(key)]
    if not sources:
        return []
    absent = [(name, folded) for name, folded in view.folded.items() if name not in value]
    renames: list[Rename] = []
    claimed: dict[str, int] = {}
    for source, folded in sources:
        if not folded:
            continue
        targets = [name for name, other in absent if other == folded]
        spelled = bool(targets)
        if not spelled:
            row = _SYNONYMS.get(folded, frozenset())
            targets = [name for name, other in absent if other in row]
        for target in targets:
            claimed[target] = claimed.get(target, 0) + 1
        if len(targets) == 1 and (spelled or targets[0] in view.required):
            renames.append(Rename(source, targets[0]))
    return [rename for rename in renames if claimed[rename.target] == 1]


def renamed(value: dict[str, Any], rename: Rename, content: Any) -> dict[str, Any]:
    return {
        (rename.target if key == rename.source else key): (content if key == rename.source else item)
        for key, item in value.items()
    }


def dotted(view: View, value: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    """The dotted keys by object, for each declared and absent object that was sent as dotted keys."""
    groups: dict[str, tuple[str, ...]] = {}
    if not view.keys_known or len(value) > _MAX_KEYS:
        return groups
    for key in value:
        head, dot, _ = key.partition(".")
        if dot and head in view.properties and head not in value and not view.declares(key):
            groups[head] = (*groups.get(head, ()), key)
    return groups


def nested(view: View, value: dict[str, Any], head: str, keys: tuple[str, ...]) -> dict[str, Any] | None:
    """The value with these keys nested under their head; None if one of them is not declared there."""
    built = _build(view, value, keys)
    if built is None:
        return None
    result: dict[str, Any] = {}
    for key, item in value.items():
        if key == keys[0]:
            result[head] = built[head]
        elif key not in keys:
            result[key] = item
    return result


def _build(view: View, value: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any] | None:
    built: dict[str, Any] = {}
    for key in keys:
        steps = key.split(".")
        if len(steps) > _MAX_LEVELS:
            return None
        here, node = built, view
        for step in steps[:-1]:
            child = node.child(step) if step in node.properties else None
            if child is None or OBJECT not in child.types:
                return None
            node = child.narrowed(OBJECT)
            if not node.keys_known:
                return None
            here = here.setdefault(step, {})
            if not isinstance(here, dict):
                return None
        if steps[-1] not in node.properties or steps[-1] in here:
            return None
        here[steps[-1]] = value[key]
    return built


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
