"""What the arguments engine costs by kind and size of the text, against `json.loads` of the valid text.

Times are processor time, the best of several runs, so that a busy machine disturbs them little.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from functools import partial

from toolcalls.mend.arguments import mend_arguments

from ..argument_texts import KINDS, valid
from ..measure import Row

SIZES = (1_000, 10_000, 100_000, 1_000_000)
ADVERSARIAL_SIZE = 64 * 1024
BUDGET_MS = 20.0
ADVERSARIAL_MS = 50.0

_FILL: dict[str, Callable[[int], str]] = {
    "{{{{": lambda n: "{" * n,
    "[[[[": lambda n: '{"a":' + "[" * n,
    "((((": lambda n: "{'a':" + "(" * n,
    '""""': lambda n: '"' * n,
    'value of ""': lambda n: '{"a": ' + '"' * n,
    "''''": lambda n: "{'a': " + "'" * n,
    "backslashes": lambda n: '{"a": "' + "\\" * n,
    "escaped quotes": lambda n: '{"a": "' + '\\"' * (n // 2),
    'quote comma "",': lambda n: '{"a": "' + '",' * (n // 2),
    'quote brace "}': lambda n: '{"a": "x ' + 'y"}' * (n // 3),
    'open keys "a":': lambda n: "{" + '"a":' * (n // 4),
    "objects {}{}": lambda n: "{}" * (n // 2),
    "starts {'": lambda n: "{'" * (n // 2),
    "fences": lambda n: "```json\n" * (n // 8) + '{"a": 1}',
    "nested fences": lambda n: "```\n{" * (n // 5),
    "comments": lambda n: "{" + "/*" * (n // 2),
    "line comments": lambda n: '{"a": "x' + '"//' * (n // 3),
    "commas": lambda n: '{"a": 1' + "," * n,
    "blanks": lambda n: '{"a": "x"' + " " * n + "x",
    "digits": lambda n: '{"a": ' + "9" * n + ",}",
    "numbers": lambda n: '{"a": [' + "1," * (n // 2) + "]}",
    "unicode escapes": lambda n: "{'a': '" + "\\ud83d" * (n // 6) + "'}",
    "smart quotes": lambda n: "{“a”: “" + "“x” " * (n // 4) + "”}",
    "deep strings": lambda n: '{"a":' * (n // 5),
    "encoded again": lambda n: json.dumps(json.dumps(json.dumps("{" * (n // 8)))),
}


def best_ms(call: Callable[[], object], *, at_least: int = 5, seconds: float = 0.25) -> float:
    """The best of several runs, in milliseconds of processor time."""
    best, spent, runs = math.inf, 0.0, 0
    while runs < at_least or (spent < seconds and runs < 200):
        begin = time.process_time()
        call()
        took = time.process_time() - begin
        best, spent, runs = min(best, took), spent + took, runs + 1
        if spent > 4 * seconds and runs >= 3:
            break
    return best * 1000


def run() -> list[Row]:
    rows: list[Row] = []
    for kind, make in KINDS.items():
        for size in SIZES:
            text, reference = make(size), valid(size)
            base = best_ms(partial(json.loads, reference))
            spent = best_ms(partial(mend_arguments, text))
            row = {"name": f"{kind}, {size:,}", "figure": spent * 1000, "unit": "µs", "ratio": spent / base}
            rows.append(row)
    big = {"2 MB valid": valid(1_750_000), **{f"64 KB {kind}": make(60_000) for kind, make in KINDS.items()}}
    for kind, text in big.items():
        rows.append(_bounded(kind, text, BUDGET_MS))
    for kind, fill in _FILL.items():
        rows.append(_bounded(f"adversarial, {kind}", fill(ADVERSARIAL_SIZE), ADVERSARIAL_MS))
    return rows


def _bounded(name: str, text: str, limit: float) -> Row:
    spent = best_ms(lambda: mend_arguments(text), at_least=3, seconds=0.05)
    return {"name": f"{name}, {len(text):,}", "figure": spent, "unit": "ms", "goal": limit}
