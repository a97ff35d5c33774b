"""The parts of Messages that its streamed and its whole answers share: inputs in, calls out, the stop reason."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...calls import PartialCall
from ...mend.arguments import Finish
from ...turn import payload
from ...turn.finish import FinishWords
from ...turn.fragments import MIXED, full_arguments, mixed
from ...turn.resent import ToldCall
from ...turn.turn import CUT_INSIDE, GatheredCall
from ...wire.escaper import IncrementalEscaper

Json = dict[str, Any]

TOOL_USE = "tool_use"
CONTRADICTION = "the start of the call and its fragments tell different arguments"
WORDS = FinishWords("tool_use", "end_turn")
INPUT_FROM_START = "input from the start event"
NO_USAGE = {"input_tokens": 0, "output_tokens": 0}


@dataclass(slots=True)
class ToolUse(PartialCall):
    """One tool_use block on its way to a complete call."""

    key: str = ""
    block: Json = field(default_factory=dict)
    """The content block as its start gave it."""
    closed: bool = False
    followed: bool = False
    """Another block began after it: whatever cut the answer off did not cut this call."""
    done: bool = False
    doubt: str = ""
    """Why its fragments may be those of another call."""
    unsure: bool = False
    """Only the order of fragments tells whose they are: nothing of it goes out before the end."""
    steps: tuple[str, ...] = ()
    """What had to be done to make arguments of the fragments."""
    whole: bool | None = None
    """Are the arguments so far strictly valid? None when nobody has looked since the last fragment."""
    value: Json | None = None
    """What they are, as far as the look has told: they need not be read again to be mended."""

    def add(self, text: str) -> None:
        self.fragments.append(text)
        self.whole = None
        self.quoted.grew(self.fragments, len(text))

    def is_whole(self) -> bool:
        if self.whole is None:
            text, steps = full_arguments(self.fragments)
            value, self.value = payload.read_twice(text)
            self.whole = isinstance(value, dict)
            given = self.block.get("input")
            if value and given and isinstance(value, dict) and isinstance(given, dict) and value != given:
                self.doubt = self.doubt or CONTRADICTION
            if steps:
                self.fragments, self.quoted, self.steps = [text], IncrementalEscaper(), steps
            elif not self.whole and mixed(self.fragments):
                self.doubt = self.doubt or MIXED
            elif self.fragments:
                self.join(text)
        return self.whole and not self.doubt

    def is_strict(self) -> bool:
        """Is its input, as it came, one JSON object?"""
        given = self.block.get("input")
        return isinstance(payload.read_strict(self.arguments), dict) or (
            not self.fragments and isinstance(given, dict) and bool(given)
        )

    def take_value(self, arguments: str) -> Json | None:
        """What these arguments are, if they are those that were looked at. It is given once: it may be large."""
        value, self.value = self.value, None
        return value if self.whole and arguments is self.arguments else None

    @property
    def told(self) -> ToldCall:
        """What the answer says about it, for those who look whether it was sent before."""
        self.is_whole()
        return ToldCall(self.id, self.name, full_input(self, Finish.COMPLETE)[0], certain=not self.doubt)

    def ready(self) -> bool:
        """Complete beyond doubt: it needs no stop reason to be believed."""
        if self.doubt or self.unsure:
            return False
        if self.is_whole():
            return True
        given = self.block.get("input")
        if isinstance(given, str) and not isinstance(payload.read_strict(given), dict):
            return False
        return bool(given) and not self.arguments.strip()


def gathered(call: ToolUse, finish: Finish, *, steps: tuple[str, ...] = ()) -> GatheredCall:
    """A call as its block tells it. `finish`: how the answer ended."""
    told = call.told
    if finish is Finish.COMPLETE and not call.closed and call.fragments:
        # A stop reason in the middle of a block: more of it may follow.
        finish = Finish.UNKNOWN
    arguments, more = full_input(call, finish)
    steps += (*call.steps, *more)
    doubt = call.doubt
    if not doubt and not call.closed and finish is not Finish.COMPLETE and INPUT_FROM_START in more:
        # Deltas may have been cut off that say something else.
        doubt = CUT_INSIDE
    value = call.take_value(arguments)
    return GatheredCall(call.name, arguments, call.id, steps, doubt, finish=finish, value=value, told=told)


def full_input(call: ToolUse, finish: Finish) -> tuple[str, tuple[str, ...]]:
    """The arguments from the deltas and from the start event, which some servers use instead of them."""
    text = call.arguments
    given = call.block.get("input")
    if text.strip() not in ("", "{}"):
        return as_object(text)
    if given:
        arguments, steps = as_object(payload.text_of(given))
        return arguments, (*steps, INPUT_FROM_START)
    if not text and given == {} and (finish is Finish.COMPLETE or (call.closed and call.followed)):
        # `"input":{}` and no delta is how Anthropic itself sends a call without arguments. Where the model went on
        # behind the end of the block, that was all of it.
        return "{}", ()
    return text, ()


def as_object(text: str) -> tuple[str, tuple[str, ...]]:
    """GLM's endpoint sends lists; an empty one is no input. (One of a single object is mended with the arguments.)"""
    if text.lstrip().startswith("[") and payload.read_strict(text) == []:
        return "{}", ("list input",)
    return text, ()


def named_block(block: Json, identity: str, name: str, value: Any) -> Json:
    """A tool_use block with the keys that it had, in their order."""
    return {"type": TOOL_USE, **block, "id": identity, "name": name, "input": value}
