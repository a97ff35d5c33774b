"""What a recipe means: the parts of the answer, the calls that may run, and why every other call must not."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.must_not_run.meant import TOKENS
from tests.must_not_run.written import FORMATS, Made
from toolcalls.textcalls.tokens import ENDS_OF_TURN

from .recipes import (
    BEHIND,
    NOT_MEANT,
    OPENERS,
    PROSE,
    SAID_BEHIND,
    SPANS,
    STYLES,
    TOOLS,
    WRAPPERS,
    Json,
    Key,
    key_of,
)
from .resent import Sent

_MARKS = frozenset("`|\"'<-")
_INNER = re.compile(r"inner \d+")


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
    """The calls that may run, and how often."""
    origins: dict[Key, str] = field(default_factory=dict)
    """Why another call must not run."""
    requested: list[str] = field(default_factory=list)
    """Texts that the request contains."""


@dataclass(slots=True)
class _Call:
    """A call written as text, while no other text has followed it."""

    key: Key
    thought: str = ""
    """For a call at the end of reasoning: why it must not run unless the answer ends with it."""
    requested: bool = False
    """Whether the request contains the text of the call."""


class _Reader:
    """Walks through the pieces and tracks what is quoted, what is reasoning, and which calls may still run."""

    def __init__(self, recipe: Json) -> None:
        self.recipe = recipe
        self.plan = Plan()
        self.cut = bool(recipe.get("cut"))
        self.pending: list[_Call] = []
        self.quotation = ""
        """The quotation that was opened and is not closed yet."""
        self.closer = ""
        """The mark that would close the open quotation."""
        self.talked = False
        """Whether text followed the last reasoning."""

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
        """Allow a call to run, unless the request forbids it."""
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
        """Decide about pending calls when something follows: none is meant, unless the answer may be cut there."""
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
            self.say("It says:\n")  # If a call is the whole message, a fence around it is one way to write it.
        plain = not self.closer
        self.quotation = ""
        if how == "span":
            name, opener, closer, clear = SPANS[number % len(SPANS)]
            said = opener + text + closer
            plain = plain and clear and closer.strip() not in text
        else:
            name, (before, behind) = BEHIND[number % len(BEHIND)]
            said, plain = before + text + behind, False
        self.say(f"\n\n{said}\n\n")
        if "```" in text and said.count("```") > text.count("```"):
            self.closer = self.closer or "```"  # Fences around a call with fences: it is unclear what is open.
        self.talked = "</think>" not in said
        if self.cut and not plain:
            self.perhaps(_Call(call))
        else:
            self.never(call, f"quoted, {how} — {name}")

    def read_opened(self, piece: Json) -> None:
        if OPENERS[piece["number"] % len(OPENERS)][1].strip() in ENDS_OF_TURN:
            return  # A token that asks for the result of a call opens no quotation after one.
        self.settle()
        self.talked = True
        name, opener, closer = OPENERS[piece["number"] % len(OPENERS)]
        self.say("\n\n" + opener)
        if not self.closer:
            self.quotation, self.closer = f"never closed — {name}", closer.strip()
        elif self.closer.rpartition("\n")[2][:3] in opener:
            self.quotation = ""  # This opener closes the first quotation, because it matches its closer.

    def read_thought(self, piece: Json) -> None:
        self.settle()
        (call,), text = _calls(piece)
        opener, closer = WRAPPERS[piece["number"] % len(WRAPPERS)]
        words = "No, I had better ask.\n" if piece["how"] != "closed" else ""
        self.say(f"{opener}\nPerhaps\n{text}\n{words}{closer if piece['how'] != 'open' else ''}\n\n")
        self.quotation = ""
        if words and not self.cut:
            self.never(call, "rehearsed")
        else:
            self.pending.append(_Call(call, "rehearsed"))
        self.talked = self.talked and piece["how"] == "open"  # After reasoning the message begins again.

    def read_closer(self, piece: Json) -> None:
        """A closing tag without an opening one: everything before it was reasoning."""
        for call in self.pending:
            call.thought = call.thought or "rehearsed, a lone closer"
        self.quotation = ""  # In a quotation it is unclear whether the closer is quoted as well.
        self.talked = False
        closers = [closer for _, closer in WRAPPERS if "final" not in closer]
        self.say(closers[piece["number"] % len(closers)] + "\n\n")

    def read_reasoning(self, piece: Json) -> None:
        if self.recipe["protocol"] in ("chat", "ollama") and self.recipe["form"] == "document":
            return  # A document of these protocols does not say whether reasoning is before or after the text.
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
        """Directly after another call this one may count as one of several or not: either is right."""
        if self.closer and self.closer in text:
            self.quotation = ""  # The text of the call itself closes the quotation.
        for call in calls:
            if self.quotation:
                self.never(call, self.quotation)
            elif FORMATS[piece["format"]].whole and self.talked and not behind:
                self.never(call, "not the whole message")
            else:
                self.pending.append(_Call(call, requested=aloud))
        if piece["how"] == "unclosed":
            # Whether the line break before the next tag belongs to an unclosed value is unclear: either is right.
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
        entries = self.copies() if piece.get("copy") else piece["calls"]
        if not entries:
            return  # A copy of nothing: nothing follows.
        self.settle(thoughts_only=True)
        sent, keys, seen = [], [], set()
        for entry in entries:
            name, arguments = entry["call"]
            call = key_of(name, arguments)
            sent.append(Sent(entry["id"], name, STYLES[entry["style"]](arguments)))
            keys.append(call)
            if "lost" in piece["how"] and name not in TOOLS:
                # Its name may be what was lost: then it goes to the one tool that it fits, as the design says.
                self.plan.allowed[key_of(_declared(name), arguments)] += 1
            else:
                self.another_tool(name, arguments)
            if entry["style"] in NOT_MEANT and not (self.cut and entry["style"] in SAID_BEHIND):
                self.never(call, f"arguments that say no — {entry['style']}")
            elif (entry["id"], call) not in seen:
                self.plan.allowed[call] += 1
            seen.add((entry["id"], call))
        self.plan.parts.append(Part("sent", sent=sent, keys=keys, how=piece["how"]))

    def another_tool(self, name: str, arguments: Json) -> None:
        if name not in TOOLS:
            self.never(key_of(_declared(name), arguments), "another tool's name")

    def copies(self) -> list[Json]:
        """The last call that was written as text, sent as a structured call too."""
        written = [piece for piece in self.recipe["pieces"] if piece["is"] == "written"]
        return [{"id": "call_copy", "call": written[-1]["calls"][-1], "style": "plain"}] if written else []


def _declared(name: str) -> str:
    """The declared tool whose name this one resembles."""
    return next(tool for tool in TOOLS if name.endswith(tool))


def _calls(piece: Json) -> tuple[list[Key], str]:
    """The calls of a piece, and their text."""
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
        end += 1  # The whole line of the tag is missing.
    return text[:at] + text[end:]


def _by_a_line_end(call: Key) -> Iterator[Key]:
    """The call with one line break more, or less, at the end of a value."""
    name, arguments = call[0], json.loads(call[1])
    for key, value in arguments.items():
        if isinstance(value, str):
            yield key_of(name, {**arguments, key: value + "\n"})
            if value.endswith("\n"):
                yield key_of(name, {**arguments, key: value[:-1]})


def _inner(arguments: Json) -> Iterator[Key]:
    """The call inside a value."""
    for value in arguments.values():
        if isinstance(value, str) and (found := _INNER.search(value)):
            yield key_of("Bash", {"command": found[0]})


def plan(recipe: Json) -> Plan:
    return _Reader(recipe).read()
