"""The parts of Messages that its streamed and its whole answers share: inputs in, calls out, the stop reason."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...calls import Outcome, PartialCall
from ...mend.arguments import Finish
from ...mend.call import Mender
from ...unread.echo import Echo
from ...wire.escaper import BATCH, IncrementalEscaper
from .. import payload
from ..fragments import MIXED, full_arguments, mixed
from ..resent import ToldCall

Json = dict[str, Any]

TOOL_USE = "tool_use"
AS_CALLS = frozenset({None, "", "end_turn", "eos", "stop", "tool_use", "tool_calls", "function_call"})
"""Stop reasons that mean nothing but "the model stopped": with calls they become `tool_use`."""
NEEDS_CALLS = frozenset({"tool_use", "tool_calls", "function_call"})

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
    rivals: list[ToolUse] = field(default_factory=list)
    """The calls that were open at the same index when it was started."""
    before: list[ToolUse] = field(default_factory=list)
    """The calls at the same index that were whole, and not stopped, when it was started."""
    after: ToolUse | None = None
    """The last one that was started at the same index before this one was stopped."""
    stopped: bool = False
    owed: int = 0
    """So many calls at the same index were never stopped: the next stop may be one of theirs."""
    doubt: str = ""
    """Why its fragments may be those of another call."""
    steps: tuple[str, ...] = ()
    """What had to be done to make arguments of the fragments."""
    echo: Echo = field(default_factory=lambda: Echo("partial_json"))
    whole: bool | None = None
    """Are the arguments so far strictly valid? None when nobody has looked since the last fragment."""
    value: Json | None = None
    """What they are, as far as the look has told: they need not be read again to be mended."""

    def add(self, text: str) -> None:
        self.fragments.append(text)
        self.whole = None
        quoted = self.quoted
        quoted.fresh += len(text)
        if quoted.fresh > BATCH:
            quoted.take(self.fragments)

    def is_whole(self) -> bool:
        if self.whole is None:
            text, steps = full_arguments(self.fragments)
            value, self.value = payload.read_twice(text)
            self.whole = isinstance(value, dict)
            if steps:
                self.fragments, self.quoted, self.steps = [text], IncrementalEscaper(), steps
            elif not self.whole and mixed(self.fragments):
                self.doubt = self.doubt or MIXED
            elif self.fragments:
                self.join(text)
        return self.whole and not self.doubt

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
        if self.doubt:
            return False
        if self.is_whole():
            return True
        given = self.block.get("input")
        if isinstance(given, str) and not isinstance(payload.read_strict(given), dict):
            return False
        return bool(given) and not self.arguments.strip()


def true_reason(reason: Any, *, calls: bool, other_tools: bool = False) -> Any:
    """The stop reason that fits the calls that really went out. `max_tokens` and the like are never rewritten."""
    if not isinstance(reason, str | None) or reason not in AS_CALLS:
        return reason
    if calls:
        return TOOL_USE
    return "end_turn" if reason in NEEDS_CALLS and not other_tools else reason


def mend_call(
    call: ToolUse, mender: Mender, finish: Finish, *, steps: tuple[str, ...] = (), before_error: bool = False
) -> Outcome:
    """What becomes of a gathered call."""
    call.is_whole()
    if finish is Finish.COMPLETE and not call.closed and call.fragments:
        # A stop reason in the middle of a block: more of it may follow.
        finish = Finish.UNKNOWN
    arguments, more = full_input(call, finish)
    steps += (*call.steps, *more)
    if not mender.ids.keeps(call.id):
        steps = (*steps, "new id")
    if call.doubt:
        # Without a name there is nobody to tell.
        unfinished = before_error or not call.name
        return mender.refuse(
            call.name, arguments, call.doubt, steps=steps, before_error=unfinished, id=call.id, legal=True
        )
    if finish is not Finish.COMPLETE and not arguments.strip():
        # Not one character of its input arrived: that is no call without arguments, it is half a call.
        reason = "the answer was cut off before the arguments"
        return mender.refuse(
            call.name, arguments, reason, steps=steps, before_error=before_error, id=call.id, legal=True
        )
    value = call.take_value(arguments)
    return mender.mend(
        call.name, arguments, finish, steps=steps, before_error=before_error, id=call.id, legal=True, value=value
    )


def full_input(call: ToolUse, finish: Finish) -> tuple[str, tuple[str, ...]]:
    """The arguments from the deltas and from the start event, which some servers use instead of them."""
    text = call.arguments
    given = call.block.get("input")
    if text.strip() not in ("", "{}"):
        return as_object(text)
    if given:
        arguments, steps = as_object(payload.text_of(given))
        return arguments, (*steps, "input from the start event")
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
