"""The difference of two bodies, or of two lists of calls, as lines for a human.

An event is one long line in which a few characters changed, so only the surroundings of the change are shown.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

AROUND = 40
"""The number of characters shown before and after a difference."""
LONGEST = 300
MOST_LINES = 60
MOST_COMPARED = 2000
"""With more lines than this only the first difference is shown, because comparing all lines takes too long."""


def of_bodies(recorded: bytes, today: bytes, name: str) -> list[str]:
    before = _lines(recorded)
    after = _lines(today)
    out = [f"--- recorded {name}", f"+++ today's {name}"]
    if len(before) + len(after) > MOST_COMPARED:
        first = next((at for at, pair in enumerate(zip_longest(before, after)) if pair[0] != pair[1]), 0)
        return [*out, f"@@ line {first + 1}, the first that differs", *_pairs(before[first:], after[first:])]
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for kind, start, end, new_start, new_end in matcher.get_opcodes():
        if kind != "equal":
            out.append(f"@@ line {start + 1}")
            out += _pairs(before[start:end], after[new_start:new_end])
    return _shortened(out)


def of_calls(expected: Sequence[dict[str, Any]], calls: Sequence[dict[str, Any]]) -> list[str]:
    out = ["--- expected calls.json", "+++ today's calls"]
    if len(expected) != len(calls):
        out.append(f"@@ {len(expected)} calls are expected, {len(calls)} came out")
    for number, (wanted, call) in enumerate(zip_longest(expected, calls), 1):
        if wanted is None or call is None:
            there = wanted or call or {}
            out.append(f"{'-' if call is None else '+'} call {number}: {_cut(json.dumps(there, ensure_ascii=False))}")
            continue
        for key, value in wanted.items():
            if call.get(key) != value:
                out.append(f"@@ call {number}: {key}")
                out += _pair(_text(value), _text(call.get(key)))
    return _shortened(out)


def _lines(body: bytes) -> list[str]:
    return [line for line in body.decode("utf-8", "replace").splitlines() if line.strip()]


def _pairs(before: list[str], after: list[str]) -> list[str]:
    out: list[str] = []
    for old, new in zip_longest(before[:MOST_LINES], after[:MOST_LINES]):
        if old is None or new is None:
            out.append(f"- {_cut(old)}" if new is None else f"+ {_cut(new)}")
        elif old != new:
            out += _pair(old, new)
    return out


def _pair(old: str, new: str) -> list[str]:
    """Both lines, cut to where they differ."""
    shared = min(len(old), len(new))
    start = next((at for at in range(shared) if old[at] != new[at]), shared)
    end = next((at for at in range(shared - start) if old[-1 - at] != new[-1 - at]), shared - start)
    return [f"- {_around(old, start, len(old) - end)}", f"+ {_around(new, start, len(new) - end)}"]


def _around(text: str, start: int, end: int) -> str:
    first, last = max(0, start - AROUND), min(len(text), end + AROUND)
    middle = _cut(text[first:last])
    return f"{'…' if first else ''}{middle}{'…' if last < len(text) else ''}"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text):,} characters)"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _shortened(lines: list[str]) -> list[str]:
    more = len(lines) - MOST_LINES
    return lines if more <= 0 else [*lines[:MOST_LINES], f"… {more} more lines"]
