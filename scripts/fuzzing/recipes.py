"""Answers of which it is known what was meant: a recipe is JSON, made by chance, and says what the answer is made of.

`make` throws the dice; `plan` reads a recipe and gives the parts of the answer, the calls that may come out of it,
and where every other call in it comes from. What is left out of a recipe is left out of the answer, so a finding can
be made smaller by dropping pieces.

A recipe: protocol, form (stream or document), finish, request, seed, size of the deltas, cut, pieces. A piece:
    prose     words that have no call in them
    quoted    a call in a closed quotation, or with prose behind it
    opened    a quotation that is opened and never closed
    thought   a call in a wrapper of reasoning, or an unclosed wrapper
    closer    a lone closer: what was said before it was a thought
    reasoning a call in the reasoning of the protocol
    written   calls as text, meant where nothing but calls, white space and tokens follow
    token     a special token
    sent      structured calls
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.must_not_run import prose_behind, quoted_ends, rehearsals
from tests.must_not_run.meant import TOKENS
from tests.must_not_run.written import COMMON, FORMATS, Format, Made
from toolcalls.textcalls.tokens import ENDS_OF_TURN

from . import resent
from .resent import Sent

Json = dict[str, Any]
Key = tuple[str, str]
"""A call as it is compared: its name, and its arguments in one way to write them."""

STREAMS = ("chat", "messages", "responses", "zai")
DOCUMENTS = ("chat", "messages", "responses")
CUT = ("length", "filter", "none")
"""Finishes that mean that the answer was cut off, or that nobody knows."""


def key_of(name: str, arguments: Any) -> Key:
    return name, json.dumps(arguments, sort_keys=True, ensure_ascii=False)


# What there is to say

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
"""Arguments that say that the call is not to run, or that have two readings."""
SAID_BEHIND = ("do not run", "two objects", "words behind")
"""Arguments of NOT_MEANT that look like meant ones where the answer was cut off."""

_SPANS = [
    (f"{kind}: {name}", opener, closer, name not in quoted_ends.FAINT.get(kind, ()))
    for kind, table in quoted_ends.SPANS.items()
    for name, (opener, closer) in table.items()
]
_OPENERS = [
    (name, opener, closer)
    for name, opener, closer, plain in _SPANS
    if plain and opener.endswith("\n")  # The call stands on a line of its own.
]
_LINES = list(quoted_ends.LINES.items())
_BEHIND = list(prose_behind.WAYS.items())
_WRAPPERS = list({**rehearsals.WRAPPERS, **rehearsals.OTHER_SPELLINGS}.values())
_STYLES = {**ARGUMENTS, **NOT_MEANT}
_MARKS = frozenset("`|\"'<-")
_INNER = re.compile(r"inner \d+")
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
        """A call that no other call of the answer is equal to; `nested`: the format of what stands in its value."""
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

    def nested(self, format: Format, said: str) -> str:
        """A text with the format's own markup in it: a whole call, a piece of one, or a line of one."""
        inner = format(("Bash", {"command": f"inner {self.number}"}))
        at, to = sorted((self.chance.randint(0, len(inner)), self.chance.randint(0, len(inner))))
        lines = inner.split("\n")
        text = self.chance.choice((inner, inner[at:], inner[:to], inner[at:to], self.chance.choice(lines)))
        glue = self.chance.choice(("\n", "", " "))
        return self.chance.choice((said + glue + text, text + glue + said, said + glue + text + glue + "end", text))


def make(chance: random.Random) -> Json:
    dice = Dice(chance)
    form = "document" if dice.often(0.15) else "stream"
    recipe: Json = {
        "protocol": chance.choice(DOCUMENTS if form == "document" else STREAMS),
        "form": form,
        "finish": "stop",
        "request": dice.one_of(("plain", 0.9), ("read aloud", 0.06), ("none", 0.04)),
        "seed": chance.randrange(1 << 30),
        "size": chance.choice((0, 0, 7, 40, -1)),
        "pieces": [],
    }
    kind = dice.one_of(("text", 0.5), ("sent", 0.4), ("both", 0.1))
    if kind != "sent":
        recipe["pieces"] += list(_texts(dice))
    if kind != "text":
        recipe["pieces"].insert(len(recipe["pieces"]) if dice.often(0.8) else 0, _sent(dice, recipe))
    elif dice.often(0.03):
        how = resent.WAYS["document" if form == "document" else recipe["protocol"]][0]
        recipe["pieces"].append({"is": "sent", "copy": True, "how": how, "calls": []})
    if dice.often(0.25):
        recipe["finish"] = chance.choice(CUT)
        where = chance.choice(("said", "bytes")) if form == "stream" else "said"
        recipe["cut"] = [where, chance.randrange(1001)]
    elif kind != "text" and dice.often(0.7):
        recipe["finish"] = "calls"
    return recipe


def _texts(dice: Dice) -> Iterator[Json]:
    chance = dice.chance
    for _ in range(chance.choice((0, 0, 1, 1, 2, 3))):
        yield _said(dice)
    if dice.often(0.08):  # A model whose opener stood in the prompt: all of this is a thought.
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
        piece["how"] = dice.one_of(("span", 3), ("behind", 2), ("lines", 2))
    if kind == "thought":
        piece["how"] = dice.one_of(("closed", 3), ("closed, with words", 3), ("open", 1))
    return piece


def _written(dice: Dice) -> Json:
    format = dice.chance.choice(_FORMATS)
    how = dice.one_of(("plain", 6), ("nested", 2.5), ("unclosed", 1), ("named otherwise", 0.7), ("lines before", 1))
    # Markup in the values of two calls may be that of one call with both of them in its value.
    calls = [
        dice.call(format if how == "nested" and not number else "")
        for number in range(dice.chance.choice((1, 1, 1, 2, 3)))
    ]
    if how == "named otherwise":
        calls[0][0] = dice.chance.choice(PREFIXED) + calls[0][0]
    return {"is": "written", "format": format, "calls": calls, "how": how, "number": dice.chance.randrange(10_000)}


def _sent(dice: Dice, recipe: Json) -> Json:
    chance = dice.chance
    ways = resent.WAYS["document" if recipe["form"] == "document" else recipe["protocol"]]
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
    """Recipes with something left out."""
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


# Reading


@dataclass
class Part:
    kind: str
    """What kind of part it is: text, reasoning or sent."""
    text: str = ""
    sent: list[Sent] = field(default_factory=list)
    keys: list[Key] = field(default_factory=list)
    how: str = ""
    """The way of `resent` in which the calls are sent."""


@dataclass
class Plan:
    parts: list[Part] = field(default_factory=list)
    allowed: Counter[Key] = field(default_factory=Counter)
    """The calls that may come out, and how often."""
    origins: dict[Key, str] = field(default_factory=dict)
    """Why another call must not run."""
    requested: list[str] = field(default_factory=list)
    """Texts that stand in the request."""


@dataclass(slots=True)
class _Call:
    """A call that is written as text, while nothing else was said behind it."""

    key: Key
    thought: str = ""
    """Why the call must not run unless the answer ends with it, where it stands at the end of a thought."""
    requested: bool = False
    """Whether the text of the call stands in the request."""


class _Reader:
    """Walks through the pieces and keeps in mind what is quoted, what is thought and what may still count."""

    def __init__(self, recipe: Json) -> None:
        self.recipe = recipe
        self.plan = Plan()
        self.cut = bool(recipe.get("cut"))
        self.pending: list[_Call] = []
        self.quotation = ""
        """The quotation that was opened and not closed yet."""
        self.closer = ""
        """The mark that would close the open quotation."""
        self.talked = False
        """Whether something was said behind the last thought."""

    def read(self) -> Plan:
        for piece in self.recipe["pieces"]:
            getattr(self, f"read_{piece['is']}")(piece)
        structured = {key for part in self.plan.parts for key in part.keys}
        for call in self.pending:
            if call.key not in structured:
                self.perhaps(call)
        return self.plan

    def never(self, call: Key, origin: str) -> None:
        self.plan.origins.setdefault(call, origin)

    def perhaps(self, call: _Call) -> None:
        """Allow a call to come out, unless the request forbids it."""
        if self.recipe["request"] == "none":
            self.never(call.key, "tool_choice none")
        elif call.requested:
            self.never(call.key, "read aloud")
        else:
            self.plan.allowed[call.key] += 1

    def say(self, text: str, kind: str = "text") -> None:
        parts = self.plan.parts
        if parts and parts[-1].kind == kind:
            parts[-1].text += text
        else:
            parts.append(Part(kind, text))

    def settle(self, *, thoughts_only: bool = False) -> None:
        """Decide on pending calls when something follows them: none is meant, unless the answer may be cut there."""
        kept = []
        for call in self.pending:
            if thoughts_only and not call.thought:
                kept.append(call)
            elif self.cut:
                self.perhaps(call)
            else:
                self.never(call.key, call.thought or "other text follows")
        self.pending = kept

    # The pieces

    def read_prose(self, piece: Json) -> None:
        self.settle()
        self.talked = True
        text = PROSE[piece["number"] % len(PROSE)]
        if set(text) & _MARKS:
            self.quotation = ""
        self.say(text)

    def read_quoted(self, piece: Json) -> None:
        self.settle()
        (call,), text = _calls(piece)
        number, how = piece["number"], piece["how"]
        if FORMATS[piece["format"]].whole and not self.talked:
            self.say("It says:\n")  # A fence around a call that is the whole message is a way to write it.
        plain = not self.closer
        self.quotation = ""
        if how == "span":
            name, opener, closer, clear = _SPANS[number % len(_SPANS)]
            said = opener + text + closer
            plain = plain and clear and closer.strip() not in text
        elif how == "lines":
            name, (first, rest) = _LINES[number % len(_LINES)]
            said = first + text.replace("\n", "\n" + rest) + "\n\nThat was it."
        else:
            name, (before, behind) = _BEHIND[number % len(_BEHIND)]
            said, plain = before + text + behind, False
        self.say(f"\n\n{said}\n\n")
        self.talked = "</think>" not in said
        if self.cut and not plain:
            self.perhaps(_Call(call))
        else:
            self.never(call, f"quoted, {how} — {name}")

    def read_opened(self, piece: Json) -> None:
        if _OPENERS[piece["number"] % len(_OPENERS)][1].strip() in ENDS_OF_TURN:
            return  # What asks for the result of a call opens no quotation behind one.
        self.settle()
        self.talked = True
        name, opener, closer = _OPENERS[piece["number"] % len(_OPENERS)]
        self.say("\n\n" + opener)
        if not self.closer:
            self.quotation, self.closer = f"never closed — {name}", closer.strip()
        elif self.closer.rpartition("\n")[2][:3] in opener:
            self.quotation = ""  # It closes the first one, by the last line of its closer.

    def read_thought(self, piece: Json) -> None:
        self.settle()
        (call,), text = _calls(piece)
        opener, closer = _WRAPPERS[piece["number"] % len(_WRAPPERS)]
        words = "No, I had better ask.\n" if piece["how"] != "closed" else ""
        self.say(f"{opener}\nPerhaps\n{text}\n{words}{closer if piece['how'] != 'open' else ''}\n\n")
        self.quotation = ""
        if words and not self.cut:
            self.never(call, "rehearsed")
        else:
            self.pending.append(_Call(call, "rehearsed"))
        self.talked = self.talked and piece["how"] == "open"  # Behind a thought the message begins once more.

    def read_closer(self, piece: Json) -> None:
        """A lone closer: what was said so far was a thought."""
        for call in self.pending:
            call.thought = call.thought or "rehearsed, a lone closer"
        self.quotation = ""  # In a quotation the closer is quoted as well, or it is not: nobody knows.
        self.talked = False
        closers = [closer for _, closer in _WRAPPERS if "final" not in closer]
        self.say(closers[piece["number"] % len(closers)] + "\n\n")

    def read_reasoning(self, piece: Json) -> None:
        if (self.recipe["protocol"], self.recipe["form"]) == ("chat", "document"):
            return  # There it has no place before or behind the text.
        self.settle()
        self.quotation = ""
        (call,), text = _calls(piece)
        self.say(f"Perhaps\n{text}\n", "reasoning")
        self.pending.append(_Call(call, "rehearsed in the reasoning"))

    def read_written(self, piece: Json) -> None:
        self.settle(thoughts_only=True)
        calls, text = _calls(piece)
        aloud = self.recipe["request"] == "read aloud"
        behind = bool(self.pending)
        """Right behind another call it is one of several, or it is not: either will do."""
        if self.closer and self.closer in text:
            self.quotation = ""  # The call itself closes it, by its form.
        for call in calls:
            if self.quotation:
                self.never(call, self.quotation)
            elif FORMATS[piece["format"]].whole and self.talked and not behind:
                self.never(call, "not the whole message")
            else:
                self.pending.append(_Call(call, requested=aloud))
        if piece["how"] == "unclosed":
            # Does the line end before the next tag belong to a value that is not closed? Either will do.
            others = [other for call in calls for other in _by_a_line_end(call)]
            self.pending += [_Call(other, requested=aloud) for other in others if not self.quotation]
        for name, arguments in piece["calls"]:
            self.another_tool(name, arguments)
            for inner in _inner(arguments):
                self.never(inner, "inside a value")
        self.say(("\n" if piece["how"] == "lines before" else "") + text + "\n")
        if aloud:
            self.plan.requested.append(text)

    def read_token(self, piece: Json) -> None:
        self.say(TOKENS[piece["number"] % len(TOKENS)])

    def read_sent(self, piece: Json) -> None:
        self.settle(thoughts_only=True)
        entries = self.copies() if piece.get("copy") else piece["calls"]
        sent, keys, seen = [], [], set()
        for entry in entries:
            name, arguments = entry["call"]
            call = key_of(name, arguments)
            sent.append(Sent(entry["id"], name, _STYLES[entry["style"]](arguments)))
            keys.append(call)
            self.another_tool(name, arguments)
            if entry["style"] in NOT_MEANT and not (self.cut and entry["style"] in SAID_BEHIND):
                self.never(call, f"arguments that say no — {entry['style']}")
            elif (entry["id"], call) not in seen:
                self.plan.allowed[call] += 1
            seen.add((entry["id"], call))
        if sent:
            self.plan.parts.append(Part("sent", sent=sent, keys=keys, how=piece["how"]))

    def another_tool(self, name: str, arguments: Json) -> None:
        if name not in TOOLS:
            declared = next(tool for tool in TOOLS if name.endswith(tool))
            self.never(key_of(declared, arguments), "another tool's name")

    def copies(self) -> list[Json]:
        """The last call that was written, structured as well."""
        written = [piece for piece in self.recipe["pieces"] if piece["is"] == "written"]
        return [{"id": "call_copy", "call": written[-1]["calls"][-1], "style": "plain"}] if written else []


def _calls(piece: Json) -> tuple[list[Key], str]:
    """The calls of a piece, and how they are written."""
    made: list[Made] = [(name, arguments) for name, arguments in piece["calls"]]
    text = FORMATS[piece["format"]](*made)
    if piece.get("how") == "unclosed":
        text = _without_a_closer(text, piece["number"])
    return [key_of(*call) for call in made], text


def _without_a_closer(text: str, number: int) -> str:
    """The text without one of its closing tags."""
    places = [at for at in range(len(text)) if text.startswith("</", at)]
    if not places:
        return text
    at = places[number % len(places)]
    end = text.index(">", at) + 1
    if text[at - 1] == "\n" and text[end : end + 1] == "\n":
        end += 1  # The tag is missing with its line.
    return text[:at] + text[end:]


def _by_a_line_end(call: Key) -> Iterator[Key]:
    """The call with one line end more, or less, at the end of a value."""
    name, arguments = call[0], json.loads(call[1])
    for key, value in arguments.items():
        if isinstance(value, str):
            yield key_of(name, {**arguments, key: value + "\n"})
            if value.endswith("\n"):
                yield key_of(name, {**arguments, key: value[:-1]})


def _inner(arguments: Json) -> Iterator[Key]:
    """The call that stands in a value."""
    for value in arguments.values():
        if isinstance(value, str) and (found := _INNER.search(value)):
            yield key_of("Bash", {"command": found[0]})


def plan(recipe: Json) -> Plan:
    return _Reader(recipe).read()
