"""Changes a JSON text and leaves every other byte alone.

A change is given by its path in the decoded value and made in the text itself: the C scanner skips the values in
between, so unchanged numbers, escapes, order and white space survive.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from ..mend.reading.strict import read, write
from ..mend.refusal import Refusal

Path = tuple[str | int, ...]
Rewrite = Callable[[str], str]
"""From the text of a value to its new text."""

_scan_value: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder(strict=False).scan_once  # type: ignore[attr-defined]
_scan_key: Callable[[str, int, bool], tuple[str, int]] = json.decoder.scanstring  # type: ignore[attr-defined]
_space = re.compile(r"[ \t\n\r]*+")
_separator = re.compile(r"[ \t\n\r]*+(?:,[ \t\n\r]*+)?")


class _Removed:
    pass


_REMOVED: Final = _Removed()


class _Branch:
    __slots__ = ("added", "below", "order")

    def __init__(self) -> None:
        self.below: dict[str | int, _Branch | _Removed | str | Rewrite] = {}
        self.added: dict[str, str] = {}
        self.order: Sequence[int | str] | None = None


_Change = _Branch | _Removed | str | Rewrite | None


def _changed_value(value: Any, change: _Change) -> Any:
    """A decoded value with the changes that its text gets; unchanged parts are shared with the old value."""
    if isinstance(change, str):
        return json.loads(change)
    if not isinstance(change, _Branch):
        return value
    below = change.below
    if isinstance(value, list):
        if change.order is not None:
            return [
                _changed_value(value[item], below.get(item)) if isinstance(item, int) else json.loads(item)
                for item in change.order
            ]
        return [
            _changed_value(item, below[number]) if number in below else item
            for number, item in enumerate(value)
            if below.get(number) is not _REMOVED
        ]
    if isinstance(value, dict):
        entries = {
            key: _changed_value(entry, below[key]) if key in below else entry
            for key, entry in value.items()
            if below.get(key) is not _REMOVED
        }
        return entries | {key: json.loads(text) for key, text in change.added.items()}
    return value


class _RepeatedKey(Exception):
    """A changed key appears twice in an object: readers take the last one, which is known only at the end."""


class Uneditable(Exception):
    """The text repeats a changed key and has values that are not JSON (NaN, 1e999), so it cannot be rewritten."""


class Edits:
    """The changes to one text. All texts that are passed in are JSON."""

    __slots__ = ("_root",)

    def __init__(self) -> None:
        self._root = _Branch()

    def __bool__(self) -> bool:
        return bool(self._root.below or self._root.added or self._root.order is not None)

    def replace(self, path: Path, text: str) -> None:
        self._branch(path[:-1]).below[path[-1]] = text

    def rewrite(self, path: Path, rewrite: Rewrite) -> None:
        self._branch(path[:-1]).below[path[-1]] = rewrite

    def remove(self, path: Path) -> None:
        """Remove an item from a list, or a key from an object; other paths still use the old item numbers."""
        self._branch(path[:-1]).below[path[-1]] = _REMOVED

    def add(self, path: Path, key: str, text: str) -> None:
        """Add a key that the object does not have."""
        self._branch(path).added[key] = text

    def arrange(self, path: Path, order: Sequence[int | str]) -> None:
        """Write a list in a new order: numbers mean the old items, with their changes; texts are new items."""
        self._branch(path).order = order

    def _branch(self, path: Path) -> _Branch:
        branch = self._root
        for step in path:
            below = branch.below.get(step)
            if not isinstance(below, _Branch):
                below = branch.below[step] = _Branch()
            branch = below
        return branch

    def applied_to(self, body: bytes) -> bytes:
        """The body with all changes, in its own encoding; raises `Uneditable` if they cannot be made."""
        encoding = json.detect_encoding(body)
        text = body.decode(encoding, "surrogatepass")
        try:
            changed = _Splice(text).run(self._root)
        except _RepeatedKey:
            changed = _Splice(_without_repeated_keys(text)).run(self._root)
        return changed.encode(encoding, "surrogatepass")

    def applied_to_value(self, value: Any, at: Path = ()) -> Any:
        """The decoded value at a path of the changed body, without parsing all of it again. `value`: the old one.

        Called after `applied_to`, which has turned every rewrite into a text.
        """
        change: _Change = self._root
        for step in at:
            change = change.below.get(step) if isinstance(change, _Branch) else None
        return _changed_value(value, change)


def _without_repeated_keys(text: str) -> str:
    try:
        return write(read(text))
    except Refusal as refusal:
        raise Uneditable(str(refusal)) from None


def texts_at(body: bytes, paths: Iterable[Path]) -> dict[Path, str]:
    """The JSON texts of the values at these paths of the body."""
    found: dict[Path, str] = {}
    edits = Edits()
    for path in paths:

        def keep(text: str, path: Path = path) -> str:
            found[path] = text
            return text

        edits.rewrite(path, keep)
    if edits:
        edits.applied_to(body)
    return found


class _Splice:
    """One walk over the text. `_done`: everything before this position is copied or replaced already."""

    __slots__ = ("_done", "_out", "_rewritten", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._rewritten: list[tuple[_Branch, str | int, str]] = []
        self._out: list[str] = []
        self._done = 0

    def run(self, root: _Branch) -> str:
        self._value(root, self._skip_space(0))
        self._copy_to(len(self._text))
        for branch, step, text in self._rewritten:
            branch.below[step] = text
        return "".join(self._out)

    def _copy_to(self, at: int) -> None:
        self._out.append(self._text[self._done : at])
        self._done = at

    def _skip_space(self, at: int) -> int:
        return _space.match(self._text, at).end()  # type: ignore[union-attr]

    def _change(self, branch: _Branch, step: str | int, at: int) -> _Change:
        """The change for the value at `at`. A rewrite is called here, with the text of the value."""
        change = branch.below.get(step)
        if callable(change):
            change = change(self._text[at : _scan_value(self._text, at)[1]])
            self._rewritten.append((branch, step, change))
        return change

    def _value(self, change: _Change, at: int) -> int:
        """Go past the value at `at`, making its change if there is one, and return its end."""
        if isinstance(change, _Branch):
            opener = self._text[at]
            if opener == "{":
                return self._object(change, at)
            if opener == "[":
                return self._list(change, at)
        end = _scan_value(self._text, at)[1]
        if isinstance(change, str):
            self._copy_to(at)
            self._out.append(change)
            self._done = end
        return end

    def _object(self, branch: _Branch, at: int) -> int:
        text = self._text
        met: set[str] = set()
        at = end = self._skip_space(at + 1)
        kept = 0
        while text[at] != "}":
            start = at
            key, at = _scan_key(text, at + 1, False)
            at = self._skip_space(self._skip_space(at) + 1)
            change = self._change(branch, key, at)
            if change is not None:
                if key in met:
                    raise _RepeatedKey
                met.add(key)
            if change is _REMOVED:
                # Removed with the comma before it, or, if it is the first one, with the comma behind it.
                self._copy_to(end if kept else start)
                end = self._value(None, at)
                at = self._next(end)
                self._done = end if kept else at
                continue
            at = end = self._value(change, at)
            kept += 1
            at = self._next(at)
        if branch.added:
            self._copy_to(at)
            added = ",".join(f"{write(key)}:{new}" for key, new in branch.added.items())
            self._out.append(f",{added}" if kept else added)
        return at + 1

    def _list(self, branch: _Branch, at: int) -> int:
        if branch.order is not None:
            return self._arranged(branch, branch.order, at)
        text = self._text
        removing = any(change is _REMOVED for change in branch.below.values())
        at = self._skip_space(at + 1)
        if removing:
            self._copy_to(at)
        kept = number = 0
        below = branch.below
        while text[at] != "]":
            if number not in below and not removing:
                number += 1
                at = self._next(_scan_value(text, at)[1])
                continue
            change = self._change(branch, number, at)
            if change is _REMOVED:
                at = self._value(None, at)
            else:
                if removing:
                    self._done = at
                    self._out.append("," if kept else "")
                at = self._value(change, at)
                if removing:
                    self._copy_to(at)
                kept += 1
            number += 1
            at = self._next(at)
        if removing:
            self._done = at
        return at + 1

    def _arranged(self, branch: _Branch, order: Sequence[int | str], at: int) -> int:
        self._copy_to(at + 1)
        before = self._out
        items: list[str] = []
        at = self._skip_space(at + 1)
        while self._text[at] != "]":
            self._out, self._done = [], at
            at = self._value(self._change(branch, len(items), at), at)
            self._copy_to(at)
            items.append("".join(self._out))
            at = self._next(at)
        before.append(",".join(items[item] if isinstance(item, int) else item for item in order))
        self._out, self._done = before, at
        return at + 1

    def _next(self, at: int) -> int:
        """From the end of a value to the next one or to the closing bracket."""
        return _separator.match(self._text, at).end()  # type: ignore[union-attr]
