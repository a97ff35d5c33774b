"""A container that was sent as a string: `"[{\\"content\\": …}]"`.

The text inside is read as a container or not at all. A callable of the caller reads broken text; this module rejects
readings that the text does not support: a glob such as `[ab]*` or a checkbox such as `[x] done` is no list.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

MendText = Callable[[str], Any]
"""Text → the decoded dict or list, or None if it is refused."""

_CLOSERS = ("]", "}")
_HOLDER = "toolfix: the container in a string"


class Contained(NamedTuple):
    value: Any
    """A dict or a list."""
    broken: bool = False
    """Whether the text was not strict JSON."""


def strict_text(text: str) -> Any | None:
    """The dict or list that the text is in strict JSON, else None."""
    try:
        value = json.loads(
            text,
            parse_float=_finite,
            parse_constant=_refuse,
            object_pairs_hook=_without_repeats,
        )
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, (dict, list)) else None


def mender_of_containers(mend_object: Callable[[str], dict[str, Any] | None]) -> MendText:
    """Make a mender of containers from a mender of objects: an array is read as the only value of an object."""

    def mend(text: str) -> Any | None:
        if text.startswith("{"):
            return mend_object(text)
        holder = mend_object(f'{{"{_HOLDER}": {text}}}')
        return holder[_HOLDER] if holder is not None and list(holder) == [_HOLDER] else None

    return mend


def container_in(text: str, mend_text: MendText) -> Contained | None:
    """The container that a string holds, if the string holds nothing else."""
    stripped = _decoded_once_more(text.strip())
    if not stripped.startswith(("[", "{")) or not stripped.endswith(_CLOSERS):
        return None
    # The callable comes first because it limits the work.
    value = mend_text(stripped)
    strict = strict_text(stripped)
    if strict is not None:
        # The callable may keep numbers more exactly than `strict_text`, but must not read anything else.
        same = isinstance(value, type(strict)) and value == strict
        return Contained(value if same else strict)
    if _repeats_a_key(stripped):
        return None
    if not isinstance(value, (dict, list)) or isinstance(value, list) != stripped.startswith("["):
        return None
    if "'" not in stripped and '"' not in stripped and _has_string(value):
        return None
    return Contained(value, broken=True)


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


def _finite(token: str) -> float:
    value = float(token)
    if value in (float("inf"), float("-inf")):
        raise ValueError("a number beyond the range of a double")
    return value


def _refuse(token: str) -> NoReturn:
    raise ValueError(f"{token} is not JSON")


class _Repeated(ValueError):
    pass


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise _Repeated("a key twice in one object")
    return value


def _repeats_a_key(text: str) -> bool:
    try:
        json.loads(text, object_pairs_hook=_without_repeats)
    except _Repeated:
        return True
    except (ValueError, RecursionError):
        return False
    return False


def _has_string(value: Any) -> bool:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            return True
        if isinstance(item, dict):
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
    return False
