"""Random answers whose meaning is known: a recipe is JSON that says what the answer is made of.

`make` makes recipes for answers of all kinds; `make_calls` and `make_text` for the hardest ones: several structured
calls, and quotations before written calls. `plans` says what a recipe means. What is left out of a recipe is left out
of the answer, so a finding can be made smaller by dropping pieces.

A recipe: protocol, form (stream or document), finish, request, seed, size of the deltas, cut, pieces, and live:
whether calls are sent while they arrive (`toolfix_aggregate=false`). A piece:
    prose     words that have no call in them
    quoted    a call in a closed quotation, or with prose behind it
    opened    a quotation that is opened and never closed
    thought   a call in a wrapper of reasoning, or an unclosed wrapper
    closer    a closing tag of reasoning without an opening one: everything before it was reasoning
    reasoning a call in the reasoning of the protocol
    written   calls as text, which are meant if nothing but calls, white space and tokens follow
    token     a special token
    sent      structured calls
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tests.must_not_run import prose_behind, quoted_ends, rehearsals
from tests.must_not_run.meant import TOKENS
from tests.must_not_run.written import COMMON, FORMATS, FormatWriter

from . import resent, resent_whole

Json = dict[str, Any]
Key = tuple[str, str]
"""A call in the form in which calls are compared: its name, and its arguments in one spelling."""

STREAMS = ("chat", "messages", "responses", "zai", "ollama", "gemini")
DOCUMENTS = ("chat", "messages", "responses", "ollama", "gemini")
WAYS = {
    **resent.WAYS,
    "ollama": list(resent_whole.WAYS),
    "gemini": [*resent_whole.WAYS, *resent_whole.IN_PIECES],
}
"""How calls are sent, by protocol."""
CUT = ("length", "filter", "none")
"""Finish reasons that mean that the answer was cut off, or may have been."""


def key_of(name: str, arguments: Any) -> Key:
    return name, json.dumps(arguments, sort_keys=True, ensure_ascii=False)


# The material

TOOLS: dict[str, Json] = {
    "Bash": {
        "type": "object",
        "properties": {"command": {"type": "string"}, "description": {"type": "string"}},
        "required": ["command"],
    },
    "Read": {
        "type": "object",
        "properties": {"file_path": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["file_path"],
    },
    "Write": {
        "type": "object",
        "properties": {"file_path": {"type": "string"}, "content": {"type": "string"}},
        "required": ["file_path", "content"],
    },
    "list_tabs": {"type": "object", "properties": {}},
}

PROSE = (
    "Let me look.",
    "I found it in src/<name>.py, it's the user's file.\n\n",
    "Plan:\n1. Look\n2. Fix it\n\n",
    "```python\nprint(1)\n```\n\n",
    "我来看一下。",
    "| a | b |\n| - | - |\n",
    'He said "so" and went.\n',
    "The `ls` command is enough.\n\n",
    "Done.\n\n---\n\n",
)
COMMANDS = (
    "echo {n}",
    'rm -rf /"$B{n}"/out',
    'git commit -m "it is {n}" && echo "done"',
    "awk '{{print ${n}}}' \"a b\"",
    "cat <<EOF\n{n}\nEOF",
    "printf '%s\\n' {n} | sed 's/a\\d/\\t/'",
    "日本 {n} 🎉",
    "a{n} < b && c > d",
    '{{"n": {n}, "m": "x"}}',
    "ls {n}\n",
    " {n} ",
)
PREFIXED = ("sandbox.", "dry_run.", "mcp__sandbox__", "never/", "other::")
"""Prefixes that make the name of a declared tool the name of another tool."""


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


Write = Callable[[Json], str]

ARGUMENTS: dict[str, Write] = {
    "plain": _json,
    "compact": lambda value: json.dumps(value, separators=(",", ":")),
    "Python": repr,
    "a trailing comma": lambda value: _json(value)[:-1] + ",}" if value else "{}",
    "a fence": lambda value: f"```json\n{_json(value)}\n```",
    "encoded twice": lambda value: _json(_json(value)),
    "inner quotes": lambda value: _json(value).replace('\\"', '"'),
    "raw line ends": lambda value: _json(value).replace("\\n", "\n"),
    "a label": lambda value: f"arguments: {_json(value)}",
    "the object twice": lambda value: _json(value) * 2,
    "typographic quotes": lambda value: (
        "{" + ", ".join(f"“{key}”: “{_json(str(said))[1:-1]}”" for key, said in value.items()) + "}"
    ),
    "a bracket missing": lambda value: _json(value)[:-1],
    "a token behind": lambda value: _json(value) + "<|im_end|>",
}
"""How a model writes the arguments of a structured call that it means."""
NOT_MEANT: dict[str, Write] = {
    "never run": lambda value: f"Never run {_json(value)}",
    "do not run": lambda value: f"{_json(value)} (do not run)",
    "a comment": lambda value: f"# {_json(value)}",
    "a comment of C": lambda value: f"// {_json(value)}",
    "a thought": lambda value: f"<think>maybe {_json(value)}</think>",
    "two objects": lambda value: _json(value) + _json({**value, "description": "or so"}),
    "words behind": lambda value: f"{_json(value)}\n\nis what I would send.",
}
"""Arguments that say that the call should not run, or that have two readings."""
SAID_BEHIND = ("do not run", "two objects", "words behind")
"""Arguments of NOT_MEANT that look like meant ones if the answer was cut off."""

SPANS = [
    (f"{kind}: {name}", opener, closer, kind == "fence")
    for kind, table in quoted_ends.SPANS.items()
    for name, (opener, closer) in table.items()
]
OPENERS = [
    (name, opener, closer)
    for name, opener, closer, plain in SPANS
    if plain and opener.endswith("\n")  # The call is on a line of its own.
]
BEHIND = list(prose_behind.WAYS.items())
WRAPPERS = list({**rehearsals.WRAPPERS, **rehearsals.OTHER_SPELLINGS}.values())
STYLES = {**ARGUMENTS, **NOT_MEANT}
_FORMATS = (*COMMON, *COMMON, *FORMATS)


# Making


class Dice:
    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.number = 0

    def one_of(self, *weights: tuple[str, float]) -> str:
        return self.chance.choices([name for name, _ in weights], [weight for _, weight in weights])[0]

    def often(self, share: float) -> bool:
        return self.chance.random() < share

    def call(self, nested: str = "") -> list[Any]:
        """A call that differs from all others of the answer. `nested`: the format of a call inside its value."""
        self.number += 1
        name = self.chance.choice(("Bash", "Bash", "Bash", "Read", "Write"))
        said = self.chance.choice(COMMANDS).format(n=self.number)
        if nested:
            said = self.nested(FORMATS[nested], said)
        if name == "Bash":
            more = {"description": f"Run {self.number}"} if self.often(0.2) else {}
            return [name, {"command": said, **more}]
        if name == "Read":
            return [name, {"file_path": said, **({"limit": self.number} if self.often(0.5) else {})}]
        return [name, {"file_path": f"a{self.number}.md", "content": said}]

    def nested(self, format: FormatWriter, said: str) -> str:
        """A text that contains markup of the format: a whole call, a piece of one, or a line of one."""
        inner = format(("Bash", {"command": f"inner {self.number}"}))
        at, to = sorted((self.chance.randint(0, len(inner)), self.chance.randint(0, len(inner))))
        lines = inner.split("\n")
        text = self.chance.choice((inner, inner[at:], inner[:to], inner[at:to], self.chance.choice(lines)))
        glue = self.chance.choice(("\n", "", " "))
        return self.chance.choice((said + glue + text, text + glue + said, said + glue + text + glue + "end", text))


def make(chance: random.Random, protocols: Sequence[str] = STREAMS) -> Json:
    dice = Dice(chance)
    recipe = _empty(dice, 0.15, ("plain", 0.9), ("read aloud", 0.06), ("none", 0.04), protocols=protocols)
    form = recipe["form"]
    kind = dice.one_of(("text", 0.5), ("sent", 0.4), ("both", 0.1))
    if kind != "sent":
        recipe["pieces"] += list(_texts(dice))
    if kind != "text":
        recipe["pieces"].insert(len(recipe["pieces"]) if dice.often(0.8) else 0, _sent(dice, recipe))
    elif dice.often(0.03):
        how = WAYS["document" if form == "document" else recipe["protocol"]][0]
        recipe["pieces"].append({"is": "sent", "copy": True, "how": how, "calls": []})
    if dice.often(0.25):
        _cut(dice, recipe)
    elif kind != "text" and dice.often(0.7):
        recipe["finish"] = "calls"
    return recipe


def make_calls(chance: random.Random) -> Json:
    """A recipe of structured calls only: two or more, sent in any way, with arguments in any style."""
    dice = Dice(chance)
    recipe = _empty(dice, 0.1, ("plain", 1))
    recipe["finish"] = chance.choice(("stop", "calls", "calls"))
    piece = _sent(dice, recipe)
    while len(piece["calls"]) < 2:
        piece = _sent(dice, recipe)
    calls = piece["calls"]
    for entry in calls:
        if entry["call"][1]:
            kind = dice.one_of(("as it is", 0.55), ("meant", 0.3), ("not meant", 0.15))
            if kind != "as it is":
                entry["style"] = chance.choice(list(ARGUMENTS if kind == "meant" else NOT_MEANT))
    if dice.often(0.1):
        calls.append({"id": "call_tabs2", "call": ["list_tabs", {}], "style": "plain"})
    styles: dict[str, str] = {}
    for entry in calls:  # Equal calls are written alike, because it cannot be told which of them ran.
        entry["style"] = styles.setdefault(_json(entry["call"]), entry["style"])
    chance.shuffle(calls)
    if dice.often(0.1):
        for entry in calls:
            entry["id"] = "call_0"
    recipe["pieces"] = [piece]
    if dice.often(0.25):
        _cut(dice, recipe)
    if dice.often(0.15):
        _let_out_live(recipe)
    return recipe


def _let_out_live(recipe: Json) -> None:
    """Send the calls while they arrive. Their shape is not mended then, so give them a correct one."""
    recipe["live"] = True
    for entry in recipe["pieces"][0]["calls"]:
        if entry["style"] == "typographic quotes":
            entry["style"] = "plain"


def make_text(chance: random.Random) -> Json:
    """A recipe of text only: quotations, mostly one that is never closed, reasoning, and written calls at the end."""
    dice = Dice(chance)
    recipe = _empty(dice, 0.05, ("plain", 1))
    pieces = recipe["pieces"]
    pieces += [_said(dice) for _ in range(chance.choice((0, 0, 1, 1, 2)))]
    if dice.often(0.8):
        pieces.append({"is": "opened", "number": chance.randrange(10_000)})
    if dice.often(0.25):
        pieces.append(_said(dice))
    for _ in range(chance.choice((1, 1, 2, 2, 3))):
        pieces.append(_written(dice))
        if dice.often(0.15):
            pieces.append({"is": "token", "number": chance.randrange(len(TOKENS))})
    if dice.often(0.08):
        _cut(dice, recipe)
    return recipe


def _empty(dice: Dice, documents: float, *requests: tuple[str, float], protocols: Sequence[str] = STREAMS) -> Json:
    """A recipe without pieces. `documents`: the share of documents; `requests`: the kinds of requests and weights."""
    chance = dice.chance
    form = "document" if dice.often(documents) else "stream"
    return {
        "protocol": chance.choice([name for name in protocols if form == "stream" or name in DOCUMENTS]),
        "form": form,
        "finish": "stop",
        "request": dice.one_of(*requests),
        "seed": chance.randrange(1 << 30),
        "size": chance.choice((0, 0, 7, 40, -1)),
        "pieces": [],
    }


def _cut(dice: Dice, recipe: Json) -> None:
    recipe["finish"] = dice.chance.choice(CUT)
    where = dice.chance.choice(("said", "bytes")) if recipe["form"] == "stream" else "said"
    recipe["cut"] = [where, dice.chance.randrange(1001)]


def _texts(dice: Dice) -> Iterator[Json]:
    chance = dice.chance
    for _ in range(chance.choice((0, 0, 1, 1, 2, 3))):
        yield _said(dice)
    if dice.often(0.08):  # The prompt contained the opening tag, so all of this is reasoning.
        yield _written(dice)
        yield {"is": "closer", "number": chance.randrange(10_000)}
    if dice.often(0.7):
        for _ in range(chance.choice((1, 1, 1, 2))):
            yield _written(dice)
            if dice.often(0.15):
                yield {"is": "token", "number": chance.randrange(len(TOKENS))}
    if dice.often(0.12):
        yield _said(dice)


def _said(dice: Dice) -> Json:
    chance = dice.chance
    kind = dice.one_of(
        ("prose", 3), ("quoted", 4), ("opened", 1.5), ("thought", 2), ("closer", 1), ("reasoning", 1)
    )  # fmt: skip
    piece: Json = {"is": kind, "number": chance.randrange(10_000)}
    if kind in ("quoted", "thought", "reasoning"):
        piece |= {"format": chance.choice(_FORMATS), "calls": [dice.call()]}
    if kind == "quoted":
        piece["how"] = dice.one_of(("span", 3), ("behind", 2))
    if kind == "thought":
        piece["how"] = dice.one_of(("closed", 3), ("closed, with words", 3), ("open", 1))
    return piece


def _written(dice: Dice) -> Json:
    format = dice.chance.choice(_FORMATS)
    how = dice.one_of(("plain", 6), ("nested", 2.5), ("unclosed", 1), ("named otherwise", 0.7), ("lines before", 1))
    number = dice.chance.choice((1, 1, 1, 2, 3))
    calls = [dice.call(format if how == "nested" and dice.often(0.7) else "") for _ in range(number)]
    if how == "named otherwise":
        calls[0][0] = dice.chance.choice(PREFIXED) + calls[0][0]
    return {"is": "written", "format": format, "calls": calls, "how": how, "number": dice.chance.randrange(10_000)}


def _sent(dice: Dice, recipe: Json) -> Json:
    chance = dice.chance
    ways = WAYS["document" if recipe["form"] == "document" else recipe["protocol"]]
    calls: list[Json] = []
    for number in range(chance.choice((1, 1, 1, 2, 2, 3))):
        name, arguments = dice.call()
        style = chance.choice(list(ARGUMENTS)) if dice.often(0.5) else "plain"
        if dice.often(0.06):
            style = chance.choice(list(NOT_MEANT))
        calls.append({"id": f"call_{number}", "call": [name, arguments], "style": style})
    if dice.often(0.1):
        calls[0]["call"][0] = chance.choice(PREFIXED) + calls[0]["call"][0]
    if dice.often(0.1):
        calls.append({**calls[0], "id": "call_twin"})
    if len(calls) > 1 and dice.often(0.1):
        calls[1]["id"] = calls[0]["id"]
    if dice.often(0.08):
        calls.append({"id": "call_tabs", "call": ["list_tabs", {}], "style": "plain"})
    return {"is": "sent", "how": chance.choice(ways), "calls": calls}


def smaller(recipe: Json) -> Iterator[Json]:
    """The recipe with one thing left out or made simpler, in every way."""
    pieces = recipe["pieces"]
    for at in range(len(pieces)):
        yield {**recipe, "pieces": pieces[:at] + pieces[at + 1 :]}
    for at, piece in enumerate(pieces):
        for number in range(len(piece.get("calls", ())) if len(piece.get("calls", ())) > 1 else 0):
            fewer = {**piece, "calls": piece["calls"][:number] + piece["calls"][number + 1 :]}
            yield {**recipe, "pieces": [*pieces[:at], fewer, *pieces[at + 1 :]]}
    for key, plain in (("size", 0), ("cut", None), ("form", "stream"), ("protocol", "chat"), ("request", "plain")):
        if recipe.get(key) != plain:
            yield {**recipe, key: plain}
