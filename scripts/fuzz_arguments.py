"""Fuzzing of the arguments engine: mutated corpus texts, and objects written and damaged by rule.

Whatever comes in, nothing may be raised, and what comes out is a refusal or strict JSON that mends to itself.
Where the damage is known, so is the object: anything but that object or a refusal is a wrong value. A text that was
cut off gives the whole object or nothing, unless the model is said to have been finished.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any

from toolcalls.mend.arguments import Finish, mend_arguments
from toolcalls.mend.reading.strict import write

REPO = Path(__file__).parents[1]
CORPUS = REPO / "tests" / "mend" / "corpus" / "arguments.jsonl"

PIECES = [
    *"{}[]()<>\"'`,:;/\\|#&%$=+-._*! \n\t\r\x00\x08",
    "“",
    "”",
    "‘",
    "’",
    "：",
    "，",
    "｛",
    "｝",
    "\ufeff",
]
PIECES += [
    "\\n",
    '\\"',
    "\\'",
    "\\\\",
    "\\u00e9",
    "\\ud83d",
    "\\x41",
    "\\d",
    "0",
    "1",
    "-1.5e3",
    "1e999",
    "NaN",
]
PIECES += [
    "true",
    "None",
    "True",
    "null",
    '"a":',
    "'a':",
    "a:",
    '", "',
    '"}',
    "'}",
    "```",
    "```json\n",
    "{}",
    "//",
]
PIECES += [
    "/*",
    "*/",
    "</tool_call>",
    "<|im_end|>",
    '"""',
    "'''",
    "r'",
    "é",
    "\U0001f600",
    "\ud83d",
    "\u2028",
    "\xa0",
]

STRINGS = [
    "",
    " ",
    "ls -la",
    "src/main.py",
    "it's",
    "don't, won't: can't",
    'say "hi", then go',
    'echo "$HOME" && ls',
    "awk '{print $1}' f",
    "line1\nline2\n",
    "\tif x {\n\t}\n",
    "^\\s*def\\s+(\\w+)\\(",
    "C:\\Users\\bob\\new",
    '{"a": [1, 2], "b": "c"}',
    "{'a': True, 'b': None}",
    'd = {"a": 1,}\nprint(d["a"], "x")\n',
    "a, b: c; d",
    "http://x.y/z?q=1#f",
    "// not a comment",
    "# heading\n\n- item",
    "```sh\nls\n```",
    "</tool_call>",
    "“smart” ‘quotes’",
    "你好，世界：测试",
    "\U0001f600 é \u200d",
    "x" * 50,
    "true",
    "null",
    "5",
    "[1, 2]",
    "}",
    '"',
    "'",
    "\\",
    "a\\",
    '\\"',
    'f("a", "b")',
    '<a href="x">y</a>',
    "SELECT 'a', \"b\" FROM t;",
    'x = "y", "z": 1',
    'rm -rf /"$BUILD"/out',
    'rm -rf "$TMP"/*',
    'git commit -m "x" && git push "$REMOTE"',
    'find . -name "*.py" -newer "a b"',
    '"a" "b"',
]
KEYS = ["path", "content", "command", "old_string", "n", "-n", "items", "a b", "k.v", "é", "description"]


@dataclass
class Report:
    inputs: int = 0
    seconds: float = 0.0
    statuses: Counter[str] = field(default_factory=Counter)
    wrong: list[tuple[str, str, Any, Any]] = field(default_factory=list)
    broken: list[tuple[str, str]] = field(default_factory=list)

    def __str__(self) -> str:
        told = ", ".join(f"{self.statuses[status]:,} {status}" for status in ("valid", "repaired", "refused"))
        return (
            f"{self.inputs:,} inputs in {self.seconds:.1f} s: {told}; "
            f"{len(self.broken)} broken promises, {len(self.wrong)} wrong values"
        )


def run(count: int, seed: int = 0) -> Report:
    chance = random.Random(seed)
    report = Report()
    begin = time.perf_counter()
    corpus = [json.loads(line)["input"] for line in CORPUS.read_text(encoding="utf-8").splitlines()]
    corpus = [text for text in corpus if len(text) < 2_000]
    for number in range(count):
        if number % 2:
            text, meant, how = mutated(chance, corpus), None, "mutation"
        else:
            text, meant, how = damaged(chance)
        check(report, chance, text, meant, how)
    report.seconds = time.perf_counter() - begin
    return report


def check(report: Report, chance: random.Random, text: str, meant: dict[str, Any] | None, how: str) -> None:
    report.inputs += 1
    finish = chance.choice(list(Finish))
    if how.endswith(CUT) and how.startswith(UNCLEAR) and finish is Finish.COMPLETE:
        # Nobody can tell half of such a text from a whole one: that is what the finish is for.
        finish = Finish.CUT
    try:
        mended = mend_arguments(text, finish, complete_truncated=meant is None and chance.random() < 0.2)
    except BaseException as error:
        report.broken.append((text, f"raised {error!r}"))
        return
    report.statuses[mended.status] += 1
    problem = broken_promise(text, mended.status, mended.text, mended.value, mended.reason)
    if problem:
        report.broken.append((text, problem))
    elif (
        meant is not None
        and mended.status == "repaired"
        and not as_meant(json.loads(mended.text or ""), meant, how, finish)
    ):
        report.wrong.append((how, text, meant, json.loads(mended.text or "")))


def as_meant(got: Any, meant: Any, how: str, finish: Finish) -> bool:
    """Where the model says that it was finished, whole values of a cut text may come out."""
    finished = finish is Finish.COMPLETE
    return bool(got == meant) or (how.endswith(CUT) and finished and complete_part(meant, got))


def broken_promise(text: str, status: str, out: str | None, value: Any, reason: str) -> str:
    if status == "refused":
        return "" if out is None and value is None and reason else "a refusal without its reason"
    if out is None or not isinstance(value, dict):
        return "no object"
    if status == "valid":
        return "" if out is text else "valid text was copied"
    try:
        read = json.loads(out, parse_constant=lambda name: 1 / 0)
        out.encode()
    except Exception as error:
        return f"not strict JSON: {error!r}"
    if not isinstance(read, dict) or not all(isfinite(n) for n in numbers(read)):
        return "not an object of finite numbers"
    if write(value) != out:
        return "text and value differ"
    again = mend_arguments(out)
    return "" if again.status == "valid" and again.text is out else "not idempotent"


def numbers(value: Any) -> Iterator[float]:
    if isinstance(value, float):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from numbers(item)
    elif isinstance(value, list):
        for item in value:
            yield from numbers(item)


# Mutation


def mutated(chance: random.Random, corpus: list[str]) -> str:
    text = chance.choice(corpus)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 6))):
        at = chance.randint(0, len(text))
        to = min(len(text), at + chance.choice((1, 1, 2, 5, 20)))
        match chance.randrange(6):
            case 0:
                text = text[:at] + text[to:]
            case 1:
                text = text[:at] + chance.choice(PIECES) + text[at:]
            case 2:
                text = text[:at] + chance.choice(PIECES) + text[to:]
            case 3:
                text = text[:to] + text[at:]
            case 4:
                text = text[:at] + chance.choice(corpus)[chance.randrange(30) :]
            case _:
                text = text[:at]
    return text[:4_000]


# Grammar


def an_object(chance: random.Random, depth: int = 0) -> dict[str, Any]:
    keys = chance.sample(KEYS, chance.randint(0 if depth else 1, 4))
    return {key: a_value(chance, depth) for key in keys}


def a_value(chance: random.Random, depth: int) -> Any:
    match chance.randrange(9 if depth < 3 else 7):
        case 0:
            return chance.choice((True, False, None))
        case 1:
            return chance.choice((0, 5, -1, 120000, 10**20, 1.5, -0.25, 1e-7))
        case 7:
            return [a_value(chance, depth + 1) for _ in range(chance.randint(0, 3))]
        case 8:
            return an_object(chance, depth + 1)
        case 2:
            return chance.choice(STRINGS) + chance.choice(STRINGS)
        case _:
            return chance.choice(STRINGS)


DAMAGES = {
    "none": lambda chance, value: json.dumps(value, ensure_ascii=chance.random() < 0.5),
    "python": lambda chance, value: repr(value),
    "indented": lambda chance, value: json.dumps(value, indent=2),
    "single quotes": lambda chance, value: Writer(chance, quote="'").text(value),
    "bare keys": lambda chance, value: Writer(chance, bare=1.0).text(value),
    "mixed": lambda chance, value: Writer(chance, quote="", bare=0.3, trailing=0.3, comments=0.2).text(value),
    "smart quotes": lambda chance, value: Writer(chance, quote="“").text(value),
    "full width": lambda chance, value: Writer(chance, comma="，", colon="：").text(value),
    "no commas": lambda chance, value: Writer(chance, comma=" ").text(value),
    "raw newlines": lambda chance, value: unescaped(chance, json.dumps(value), {"\\n": "\n", "\\t": "\t"}, 1.0),
    "inner quotes": lambda chance, value: unescaped(chance, json.dumps(value), {'\\"': '"'}, 1.0),
    "some inner quotes": lambda chance, value: some_inner_quotes(chance, json.dumps(value)),
    "single inner quotes": lambda chance, value: unescaped(
        chance, Writer(chance, quote="'").text(value), {"\\'": "'"}, 1.0
    ),
    "lost comma": lambda chance, value: once(chance, json.dumps(value), ", ", " "),
    "lost opening quote": lambda chance, value: lost_quote(chance, json.dumps(value), 0),
    "lost closing quote": lambda chance, value: lost_quote(chance, json.dumps(value), -1),
    "lost colon": lambda chance, value: once(chance, json.dumps(value), ": ", " "),
    "lost bracket": lambda chance, value: json.dumps(value)[:-1],
    "extra bracket": lambda chance, value: json.dumps(value)[:-1] + chance.choice(("}}", "]}", "}]", "}}}")),
    "extra comma": lambda chance, value: once(chance, json.dumps(value), ", ", ",, "),
    "double-encoded": lambda chance, value: json.dumps(json.dumps(value)),
    "escaped": lambda chance, value: json.dumps(json.dumps(value))[1:-1],
    "single backslashes": lambda chance, value: single_backslashes(json.dumps(value)),
}
AROUND = [
    "",
    "",
    "",
    "```json\n%s\n```",
    "Here: %s",
    "%s</tool_call>",
    "%s}",
    "%s\n\nDone.",
    "{}%s",
    "\ufeff%s",
    "%s]}",
]


CUT = ", cut"
UNCLEAR = ("lost", "some", "inner", "single inner")
"""Damage that makes a part of a text look like a whole one."""


def damaged(chance: random.Random) -> tuple[str, dict[str, Any], str]:
    value = an_object(chance)
    how = chance.choice(list(DAMAGES))
    text = DAMAGES[how](chance, value)
    around = chance.choice(AROUND)
    if around:
        text, how = around.replace("%s", text), f"{how} in {around!r}"
    if chance.random() < 0.15:
        end = chance.randrange(len(text) + 1)
        if end and (how.startswith(UNCLEAR) or text[end:].strip('}]\n`" .')):
            text, how = text[:end], how + CUT
    return text, value, how


def complete_part(whole: Any, part: Any) -> bool:
    """What a cut text may still give: whole values only. A number may be cut where nothing says so."""
    if isinstance(whole, dict) and isinstance(part, dict):
        return all(key in whole and complete_part(whole[key], part[key]) for key in part)
    if isinstance(whole, list) and isinstance(part, list):
        return len(part) <= len(whole) and all(map(complete_part, whole, part))
    if isinstance(whole, int | float) and isinstance(part, int | float):
        return True
    return type(whole) is type(part) and bool(whole == part)


TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|, |: |[{}\[\]]|[^\s,:{}\[\]]+')
ESCAPE = re.compile(r"\\.")


def once(chance: random.Random, text: str, old: str, new: str) -> str:
    """Replace one token of the structure."""
    tokens = TOKEN.findall(text)
    places = [at for at, token in enumerate(tokens) if token == old]
    if places:
        tokens[chance.choice(places)] = new
    return "".join(tokens)


def lost_quote(chance: random.Random, text: str, which: int) -> str:
    tokens = TOKEN.findall(text)
    at = chance.choice([at for at, token in enumerate(tokens) if token[0] == '"'])
    tokens[at] = tokens[at][1:] if which == 0 else tokens[at][:-1]
    return "".join(tokens)


def some_inner_quotes(chance: random.Random, text: str) -> str:
    tokens = TOKEN.findall(text)
    return "".join(unescaped(chance, t, {'\\"': '"'}, float(chance.random() < 0.5)) for t in tokens)


def unescaped(chance: random.Random, text: str, table: dict[str, str], share: float) -> str:
    return ESCAPE.sub(lambda found: table.get(found[0], found[0]) if chance.random() < share else found[0], text)


def single_backslashes(text: str) -> str:
    return text.replace("\\\\s", "\\s").replace("\\\\w", "\\w").replace("\\\\(", "\\(")


@dataclass
class Writer:
    chance: random.Random
    quote: str = '"'
    bare: float = 0.0
    trailing: float = 0.0
    comments: float = 0.0
    comma: str = ", "
    colon: str = ": "

    def text(self, value: Any) -> str:
        if isinstance(value, dict):
            pairs = [f"{self.key(key)}{self.colon}{self.text(item)}" for key, item in value.items()]
            return "{" + self.joined(pairs) + "}"
        if isinstance(value, list):
            return "[" + self.joined([self.text(item) for item in value]) + "]"
        return self.string(value) if isinstance(value, str) else json.dumps(value)

    def joined(self, parts: list[str]) -> str:
        if parts and self.chance.random() < self.trailing:
            parts[-1] += ","
        comma = self.comma + ("/* it's */" if self.chance.random() < self.comments else "")
        return comma.join(parts)

    def key(self, key: str) -> str:
        if key.isidentifier() and self.chance.random() < self.bare:
            return key
        return self.string(key)

    def string(self, text: str) -> str:
        quote = self.quote or self.chance.choice("\"'")
        body = json.dumps(text, ensure_ascii=False)[1:-1]
        if quote == "'":
            return "'" + body.replace('\\"', '"').replace("'", "\\'") + "'"
        return f"“{body}”" if quote == "“" else f'"{body}"'


def main() -> int:
    parser = argparse.ArgumentParser(description="Fuzz the arguments engine.")
    parser.add_argument("count", nargs="?", type=int, default=100_000, help="how many inputs (default 100000)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    report = run(options.count, options.seed)
    for text, problem in report.broken[:10]:
        print(f"BROKEN {problem}: {text!a}")
    for how, text, meant, got in report.wrong[:20]:
        print(f"WRONG  {how}\n  text  {text!a}\n  meant {meant!a}\n  got   {got!a}")
    print(report)
    return 1 if report.broken or report.wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
