"""Random objects, written with one kind of damage, so that it is known which object was meant."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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


DAMAGES: dict[str, Callable[[random.Random, dict[str, Any]], str]] = {
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
    """A damaged text, the object that it means, and the kind of damage."""
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
    """Writes a value as JSON, with the given deviations."""

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
