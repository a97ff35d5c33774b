"""How an outcome is judged against a corpus case, and the corpora themselves."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from toolcalls.mend.arguments import Finish, mend_arguments

CORPUS = Path(__file__).parent / "corpus" / "arguments.jsonl"
_REPO = Path(__file__).parents[2]
_SHARED = [_REPO.parent / "shared", Path("/work/shared")]
DAMAGED = next(
    (path for shared in _SHARED if (path := shared / "corpus" / "arguments-damaged.jsonl").exists()),
    None,
)

Case = dict[str, Any]
Table = dict[str, Counter[str]]


def same(one: Any, other: Any) -> bool:
    """Equal, and of the same JSON types: 1 is not 1.0 and not true."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return isinstance(one, float) == isinstance(other, float) and one == other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and bool(one == other)


def judge(case: Case) -> str:
    """right, tolerated, missed (refused where a repair is required) or wrong."""
    text = mend_arguments(case["input"], Finish.of(case["finish"])).text
    value = None if text is None else json.loads(text)
    # The corpus closes these, but `3` may be the beginning of `300`, whatever the finish reason says.
    never_closed = case["class"] in ("no_close", "trunc_struct") and case["input"][-1:].isalnum()
    if same(value, None if never_closed else case["expected"]):
        return "right"
    if any(same(value, accepted) for accepted in case.get("accept") or ()):
        return "tolerated"
    return "missed" if value is None else "wrong"


def cases(path: Path) -> list[Case]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def table(path: Path) -> Table:
    counts: Table = defaultdict(Counter)
    for case in cases(path):
        counts[case["class"]][judge(case)] += 1
    return counts


def printed(counts: Table) -> str:
    columns = ("right", "tolerated", "missed", "wrong")
    lines = [f"{'class':16}" + "".join(f"{column:>11}" for column in columns)]
    total: Counter[str] = Counter()
    for name in sorted(counts):
        total += counts[name]
        lines.append(f"{name:16}" + "".join(f"{counts[name][column]:11}" for column in columns))
    lines.append(f"{'all':16}" + "".join(f"{total[column]:11}" for column in columns))
    return "\n".join(lines)


def total(counts: Table) -> Counter[str]:
    return sum(counts.values(), Counter())
