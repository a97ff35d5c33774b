"""The arguments engine on the clock: µs by kind and size, as ratios to `json.loads` of the valid text.

`run()` gives the rows; as a script it prints them. Times are processor time, the best of several runs, so
that a busy machine disturbs them little.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from typing import Any

from toolcalls.mend.arguments import mend_arguments

SIZES = (1_000, 10_000, 100_000, 1_000_000)
ADVERSARIAL_SIZE = 64 * 1024
BUDGET_MS = 20.0
ADVERSARIAL_MS = 50.0

_CODE = '''def handler(self, request, *, retries=3):
    """Answer one request; it's called from the loop."""
    if request.path.startswith("/api/") and not self.closed:
        for attempt in range(retries):
            reply = self.send(request, timeout=1.5 * (attempt + 1))
            if reply.status in (200, 204):
                return {"ok": True, "body": reply.text, 'tries': attempt}
        log.warning("gave up on %s after %d tries\\n", request.path, retries)
    return None

'''
_PROSE = 'He said "yes" to the plan and left the room at once.\\nNobody knew why the door was open. '


def code(size: int) -> str:
    return (_CODE * (size // len(_CODE) + 1))[:size]


def valid(size: int) -> str:
    return json.dumps({"file_path": "/home/u/project/handler.py", "content": code(size), "overwrite": True})


def python_style(size: int) -> str:
    return repr({"file_path": "/home/u/project/handler.py", "content": code(size), "overwrite": True})


def truncated(size: int) -> str:
    return valid(size)[:size]


def json5(size: int) -> str:
    body = json.dumps(code(size))
    return f"{{file_path: '/home/u/project/handler.py', /* new */ content: {body}, overwrite: true,}}"


def inner_quotes(size: int) -> str:
    return '{"file_path": "/a.md", "content": "' + _PROSE * (size // len(_PROSE)) + '", "overwrite": true}'


def small_items(size: int) -> str:
    item = '{"id": 7, "name": "x", "done": false,}'
    return '{"items": [' + ", ".join([item] * max(1, size // (len(item) + 2))) + "]}"


KINDS: dict[str, Callable[[int], str]] = {
    "valid": valid,
    "Python-style": python_style,
    "truncated": truncated,
    "JSON5": json5,
    "inner quotes": inner_quotes,
    "small items": small_items,
}

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
    best, spent, runs = math.inf, 0.0, 0
    while runs < at_least or (spent < seconds and runs < 200):
        begin = time.process_time()
        call()
        took = time.process_time() - begin
        best, spent, runs = min(best, took), spent + took, runs + 1
        if spent > 4 * seconds and runs >= 3:
            break
    return best * 1000


def exponent(sizes: list[int], times: list[float]) -> float:
    """The slope of log time over log size, from the first size on which the fixed cost no longer shows."""
    xs, ys = [math.log(size) for size in sizes[1:]], [math.log(spent) for spent in times[1:]]
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)) / sum((x - mean_x) ** 2 for x in xs)


def run() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for kind, make in KINDS.items():
        times: list[float] = []
        for size in SIZES:
            text, reference = make(size), valid(size)
            base = best_ms(lambda reference=reference: json.loads(reference))
            spent = best_ms(lambda text=text: mend_arguments(text))
            times.append(spent)
            rows.append(
                {
                    "bench": "arguments",
                    "kind": kind,
                    "size": size,
                    "us": round(spent * 1000, 1),
                    "ratio": round(spent / base, 2),
                    "status": mend_arguments(text).status,
                }
            )
        for row in rows[-len(SIZES) :]:
            row["exponent"] = round(exponent(list(SIZES), times), 2)
    big = {"2 MB valid": valid(1_750_000), **{f"64 KB {kind}": make(60_000) for kind, make in KINDS.items()}}
    for kind, text in big.items():
        rows.append(_bounded("budget", kind, text, BUDGET_MS))
    for kind, fill in _FILL.items():
        rows.append(_bounded("adversarial", kind, fill(ADVERSARIAL_SIZE), ADVERSARIAL_MS))
    return rows


def _bounded(bench: str, kind: str, text: str, limit: float) -> dict[str, Any]:
    spent = best_ms(lambda: mend_arguments(text), at_least=3, seconds=0.05)
    return {
        "bench": bench,
        "kind": kind,
        "size": len(text),
        "us": round(spent * 1000, 1),
        "limit_ms": limit,
        "status": mend_arguments(text).status,
        "ok": spent <= limit,
    }


def main() -> int:
    rows = run()
    print(f"{'kind':14}{'size':>10}{'µs':>12}{'× json.loads':>14}{'exponent':>10}  status")
    for row in rows:
        if row["bench"] == "arguments":
            print(
                f"{row['kind']:14}{row['size']:10,}{row['us']:12,.0f}{row['ratio']:14.2f}"
                f"{row['exponent']:10.2f}  {row['status']}"
            )
    print()
    print(f"{'within':12}{'kind':20}{'size':>10}{'ms':>9}{'limit':>7}  status")
    for row in rows:
        if row["bench"] != "arguments":
            late = "" if row["ok"] else "  TOO SLOW"
            print(
                f"{row['bench']:12}{row['kind']:20}{row['size']:10,}{row['us'] / 1000:9.2f}"
                f"{row['limit_ms']:7.0f}  {row['status']}{late}"
            )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
