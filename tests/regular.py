"""Every regular expression of the addon, and texts that drive a backtracking matcher as far as it goes."""

from __future__ import annotations

import ast
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

ADDON = Path(__file__).parents[1] / "addon"
METHODS = ("match", "fullmatch", "search", "finditer", "findall", "sub", "subn", "split")

# Finding them

COLLECT = """
import pathlib, pkgutil, importlib, re, sys
addon = sys.argv[1]
found = set()
compiled = re._compile

def spy(pattern, flags):
    made = compiled(pattern, flags)
    frame = sys._getframe(1)
    while frame.f_code.co_filename.endswith(("re.py", "re/__init__.py")):
        frame = frame.f_back
    if frame.f_code.co_filename.startswith(addon):
        found.add((made.pattern, made.flags))
    return made

re._compile = spy
sys.path.insert(0, addon)
import toolfix, toolcalls
for module in pkgutil.walk_packages(toolcalls.__path__, "toolcalls."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)

# Made when they are first needed.
from toolcalls.mend import lexer, strings
for quote in lexer.QUOTES:
    for place in (lexer.KEY, lexer.OBJECT, lexer.ARRAY):
        for typographic in (True, False):
            strings.has_two_ends(": ' : \\" : `", quote, place, typographic=typographic)

names = set()

def look(name, value, depth=0):
    if isinstance(value, re.Pattern):
        names.add((value.pattern, name))
    elif depth < 3 and type(value).__module__.startswith("toolcalls"):
        for slot in getattr(value, "__slots__", ()) or getattr(value, "__dict__", ()):
            look(slot, getattr(value, slot, None), depth + 1)
    elif depth < 3 and isinstance(value, (list, tuple)):
        for item in value:
            look(name + "[]", item, depth + 1)
    elif depth < 3 and isinstance(value, dict):
        for item in value.values():
            look(name + "[]", item, depth + 1)

for module in list(sys.modules.values()):
    if getattr(module, "__name__", "").startswith(("toolcalls", "toolfix")):
        for name, value in vars(module).items():
            look(name, value)
print(repr((sorted(found, key=repr), sorted(names, key=repr))))
"""


@dataclass(frozen=True)
class Known:
    pattern: Any
    flags: int

    def __str__(self) -> str:
        return repr(self.pattern)[:60]


@cache
def _compiled() -> tuple[list[tuple[Any, int]], list[tuple[Any, str]]]:
    """What is compiled when all modules are loaded, and the names under which they keep it."""
    # Some are made of sets: with one seed every process of the tests finds the same texts.
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    command = [sys.executable, "-c", COLLECT, str(ADDON)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    found: tuple[list[tuple[Any, int]], list[tuple[Any, str]]] = ast.literal_eval(done.stdout)
    return found


@cache
def patterns() -> list[Known]:
    """The compiled ones, and the texts that stand in calls of `re` themselves."""
    found = {Known(pattern, flags) for pattern, flags in _compiled()[0]}
    known = {each.pattern for each in found}
    for path in ADDON.rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.args:
                of_re = isinstance(call.func.value, ast.Name) and call.func.value.id == "re"
                text = call.args[0]
                if not of_re or call.func.attr not in ("compile", *METHODS) or not isinstance(text, ast.Constant):
                    continue
                if text.value not in known:
                    found.add(Known(text.value, int(re.compile(text.value).flags)))
    return sorted(found, key=repr)


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")


@cache
def _used() -> dict[str, set[str]]:
    """By which methods a name is used anywhere."""
    used: dict[str, set[str]] = {}
    for path in ADDON.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            # Also without a call: `match = pattern.match` is bound once before a loop.
            if isinstance(node, ast.Attribute) and node.attr in METHODS:
                owner = node.value
                if isinstance(owner, ast.Subscript):
                    used.setdefault(_name(owner.value) + "[]", set()).add(node.attr)
                used.setdefault(_name(owner), set()).add(node.attr)
    return used


def is_searched(known: Known) -> bool:
    """May any code try this pattern at every place of a text?"""
    names = {name for pattern, name in _compiled()[1] if pattern == known.pattern}
    methods = {method for name in names for method in _used().get(name, ())}
    return not methods or not methods <= {"match", "fullmatch"}


# Attacking them


def attacks(known: Known, chance: random.Random) -> Iterator[tuple[str, str, str]]:
    """Beginning, what is repeated, and end: for each repetition in the pattern."""
    tree = list(_parser.parse(known.pattern, known.flags))
    ends = ("", "\x00", "!", "\n", "\\", '"')
    for before, body in _repetitions(tree, []):
        for _ in range(3):
            head = "".join(_example(item, chance) for item in before)
            # Two ways through the body, one after the other: where they overlap a matcher can choose.
            pump = "".join(_example(item, chance) for _ in range(chance.choice((1, 2))) for item in body)
            if pump:
                yield head, pump, chance.choice(ends)
                yield "", pump, chance.choice(ends)


def _repetitions(tree: list[Any], before: list[Any]) -> Iterator[tuple[list[Any], list[Any]]]:
    for number, (op, value) in enumerate(tree):
        here = [*before, *tree[:number]]
        if op in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            body = list(value[2])
            if value[1] > 8:
                yield here, body
            yield from _repetitions(body, here)
        elif op is sre.SUBPATTERN:
            yield from _repetitions(list(value[3]), here)
        elif op is sre.ATOMIC_GROUP:
            yield from _repetitions(list(value), here)
        elif op is sre.BRANCH:
            for branch in value[1]:
                yield from _repetitions(list(branch), here)
        elif op in (sre.ASSERT, sre.ASSERT_NOT):
            yield from _repetitions(list(value[1]), here)


def _example(item: Any, chance: random.Random) -> str:
    """A text that this part of a pattern matches (or nearly: what looks around is not obeyed)."""
    op, value = item
    if op is sre.LITERAL:
        return chr(value)
    if op is sre.NOT_LITERAL:
        return "a" if value != ord("a") else "b"
    if op is sre.ANY:
        return chance.choice("a <\"'{")
    if op is sre.IN:
        return _member(value, chance)
    if op in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
        count = chance.randint(value[0], min(value[1], value[0] + 2))
        return "".join(_example(inner, chance) for _ in range(count) for inner in value[2])
    if op is sre.SUBPATTERN:
        return "".join(_example(inner, chance) for inner in value[3])
    if op is sre.ATOMIC_GROUP:
        return "".join(_example(inner, chance) for inner in value)
    if op is sre.BRANCH:
        return "".join(_example(inner, chance) for inner in chance.choice(value[1]))
    return ""


_CATEGORIES = {
    sre.CATEGORY_SPACE: " \t\n",
    sre.CATEGORY_NOT_SPACE: "a<",
    sre.CATEGORY_DIGIT: "07",
    sre.CATEGORY_NOT_DIGIT: "a ",
    sre.CATEGORY_WORD: "a_0",
    sre.CATEGORY_NOT_WORD: " -<",
}


def _member(choices: list[Any], chance: random.Random) -> str:
    negated = choices[0][0] is sre.NEGATE
    within: list[str] = []
    for op, value in choices[negated:]:
        if op is sre.LITERAL:
            within.append(chr(value))
        elif op is sre.RANGE:
            within += [chr(value[0]), chr(value[1])]
        elif op is sre.CATEGORY:
            within += _CATEGORIES[value]
    if not negated:
        return chance.choice(within)
    return chance.choice([each for each in "aZ0 _<\"'\\\n\t{}[]:,.`=é" if each not in within] or ["\u4e00"])
