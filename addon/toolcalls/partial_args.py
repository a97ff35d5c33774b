"""Arguments in pieces, each with the path of the value that it belongs to (Gemini on Vertex).

    {"partialArgs": [{"jsonPath": "$.command", "stringValue": "ls", "willContinue": true}], "willContinue": true}

If the pieces of a call have only one reading, they become one object. A call is refused if its paths contradict each
other, or if a piece may belong to another one: pieces name no call, so they belong to the one that began last.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from .mend.strict import write
from .parts import Fragment, Json
from .reasons import CUT_INSIDE, PIECES_UNCLEAR

Path = tuple[str | int, ...]

_STEP: Final = re.compile(r"""\.([^.\[\]'"$]+)|\[(\d{1,6})\]|\['([^'\\]*)'\]|\["([^"\\]*)"\]""")
_PATH: Final = re.compile(rf"\$(?:{_STEP.pattern}){{1,32}}")
_VALUES: Final = frozenset({"stringValue", "numberValue", "boolValue", "nullValue"})
_NO_VALUES: Final = frozenset({"jsonPath", "willContinue"})


def put_together(fragments: Iterable[Fragment]) -> list[Fragment]:
    """The fragments, with one whole call instead of those that are pieces of one."""
    calls: list[list[Fragment]] = []
    goes_on, clear = False, True
    for one in fragments:
        piece, first = one.partial_args is not None, calls[-1][0] if goes_on else one
        if piece and goes_on and not (one.name or (one.id and first.id and one.id != first.id)):
            calls[-1].append(one)
        else:
            # No call may begin before another has ended, and no piece may come that belongs to none.
            clear = clear and not goes_on and bool(one.name or not piece)
            calls.append([one])
        goes_on = piece and not one.ends
    return [_whole(pieces, clear=clear) for pieces in calls]


def _whole(pieces: list[Fragment], *, clear: bool) -> Fragment:
    if pieces[0].partial_args is None:
        return pieces[0]
    ended = pieces[-1].ends
    value = _object(one.partial_args for one in pieces) if clear and ended else None
    # Of several, one may be missing.
    why = "" if value is not None else PIECES_UNCLEAR if ended and len(pieces) == 1 else CUT_INSIDE
    part: Json = {key: value for one in pieces for key, value in one.body["part"].items()}
    call = {key: value for one in pieces for key, value in one.body["part"]["functionCall"].items()}
    return replace(
        pieces[0],
        arguments="" if value is None else write(value),
        whole=True,
        partial_args=None,
        begins=False,
        ends=False,
        refusal=next((one.refusal for one in pieces if one.refusal), why),
        steps=("put together",),
        body={"part": {**part, "functionCall": call}},
    )


def _object(told: Iterable[Any]) -> Json | None:
    """The object; None if the pieces do not form one, or if one of its values is incomplete."""
    values: dict[Path, list[Any]] = {}
    goes_on: dict[Path, bool] = {}
    for pieces in told:
        for piece in pieces if isinstance(pieces, list) else [{}]:
            path = _path(piece.get("jsonPath")) if isinstance(piece, dict) else ()
            given = [key for key in piece if key not in _NO_VALUES] if path else []
            # A value of an unknown kind may be the important one.
            if not path or len(given) > 1 or not _VALUES.issuperset(given):
                return None
            if given and piece[given[0]] != "" and goes_on.get(path) is False:
                return None  # More of a value that was complete.
            goes_on[path] = piece.get("willContinue") is True
            if given:
                values.setdefault(path, []).append(None if given[0] == "nullValue" else piece[given[0]])
    root: Json = {}
    complete = not any(goes_on.values())
    return root if complete and all(_put(root, path, pieces) for path, pieces in values.items()) else None


def _path(text: object) -> Path:
    """The keys and indices of `$.a[0].b`; empty if the text is not such a path."""
    steps = _STEP.findall(text) if isinstance(text, str) and _PATH.fullmatch(text) else []
    return tuple(int(index) if index else name or single or double for name, index, single, double in steps)


def _put(root: Json, path: Path, pieces: list[Any]) -> bool:
    """Set the value at a path, and create the lists and objects that lead to it; False if that contradicts it."""
    text = all(isinstance(piece, str) for piece in pieces)
    value = "".join(pieces) if text else pieces[0]
    here: Any = root
    for step, following in zip(path, (*path[1:], None), strict=True):
        inner: Any = value if following is None else [] if isinstance(following, int) else {}
        if isinstance(here, dict) and isinstance(step, str):
            here.setdefault(step, inner)
        elif not isinstance(here, list) or not isinstance(step, int) or step > len(here):
            return False
        elif step == len(here):
            here.append(inner)
        here = here[step]
    return here is value and (text or len(pieces) == 1)
