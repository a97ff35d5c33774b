"""Arguments in pieces, each with the path of the value that it belongs to (Vertex, `streamFunctionCallArguments`).

    {"partialArgs": [{"jsonPath": "$.command", "stringValue": "ls", "willContinue": true}], "willContinue": true}

If the pieces have only one reading, they become one object. If paths contradict each other or leave a gap, the call
must not run.
"""

from __future__ import annotations

import re
from typing import Any, Final

Path = tuple[str | int, ...]

_STEP: Final = re.compile(r"""\.([^.\[\]'"$]+)|\[(\d{1,6})\]|\['([^'\\]*)'\]|\["([^"\\]*)"\]""")
_MOST_STEPS: Final = 32
_VALUES: Final = frozenset({"stringValue", "numberValue", "boolValue", "nullValue"})
_NO_VALUES: Final = frozenset({"jsonPath", "willContinue"})


class _Contradiction(Exception):
    pass


class PartialArguments:
    """The arguments of one call while their pieces arrive."""

    __slots__ = ("_going_on", "_pieces", "_unclear", "id", "index")

    def __init__(self, index: int, identity: str = "", *, begun: bool = True) -> None:
        """`begun`: the beginning of the call arrived, so the pieces do not belong to another call."""
        self.index = index
        self.id = identity
        self._pieces: dict[Path, list[Any]] = {}
        self._going_on: dict[Path, bool] = {}
        """Path → whether more of this value follows."""
        self._unclear = not begun

    def mark_unclear(self) -> None:
        """Refuse the call, because the next pieces may belong to another call."""
        self._unclear = True

    def take(self, pieces: object) -> None:
        """Add pieces. A value of an unknown type makes the arguments unclear, because it may be the important one."""
        if not isinstance(pieces, list):
            self._unclear = self._unclear or pieces is not None
            return
        for piece in pieces:
            path = _path(piece.get("jsonPath")) if isinstance(piece, dict) else ()
            given = [key for key in piece if key not in _NO_VALUES] if path else []
            if not path or len(given) > 1 or not _VALUES.issuperset(given):
                self._unclear = True
            elif given and piece[given[0]] != "" and self._going_on.get(path) is False:
                # More of a value that was complete: the pieces arrived out of order, or one of them twice.
                self._unclear = True
            elif not given:
                self._going_on[path] = piece.get("willContinue") is True
            else:
                value = None if given[0] == "nullValue" else piece[given[0]]
                self._pieces.setdefault(path, []).append(value)
                self._going_on[path] = piece.get("willContinue") is True

    def value(self) -> dict[str, Any] | None:
        """The object; None if the pieces do not form one, or if one of its values is incomplete."""
        if self._unclear or any(self._going_on.values()):
            return None
        root: dict[str, Any] = {}
        try:
            for path, pieces in self._pieces.items():
                _put(root, path, _joined(pieces))
        except _Contradiction:
            return None
        return root


def _joined(pieces: list[Any]) -> Any:
    """The value of one path: strings are joined, any other value may arrive only once."""
    if all(isinstance(piece, str) for piece in pieces):
        return "".join(pieces)
    if len(pieces) > 1:
        raise _Contradiction
    return pieces[0]


def _path(text: object) -> Path:
    """The keys and indices of `$.a[0].b`; empty if the text is not such a path."""
    if not isinstance(text, str) or not text.startswith("$"):
        return ()
    steps: list[str | int] = []
    at = 1
    while at < len(text):
        step = _STEP.match(text, at)
        if step is None or len(steps) >= _MOST_STEPS:
            return ()
        index = step[2]
        steps.append(int(index) if index else next(key for key in (step[1], step[3], step[4]) if key is not None))
        at = step.end()
    return tuple(steps)


def _put(root: dict[str, Any], path: Path, value: Any) -> None:
    """Set the value at a path, and create the lists and objects that lead to it."""
    here: Any = root
    for step, following in zip(path, (*path[1:], None), strict=True):
        inner: Any = value if following is None else [] if isinstance(following, int) else {}
        if isinstance(step, int):
            if not isinstance(here, list) or step > len(here):
                raise _Contradiction
            if step == len(here):
                here.append(inner)
        elif not isinstance(here, dict):
            raise _Contradiction
        else:
            here.setdefault(step, inner)
        if following is None and here[step] is not inner:
            raise _Contradiction
        here = here[step]
