"""Decides what happens to one complete call: name → arguments → shape → preflight, and the fallback if it is refused.

Which calls are sent at all, and which are repeats, is decided before. Every call that arrives here gets one outcome,
and outcomes are reported in the order in which the client gets the calls.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

from .. import reasons
from ..ids import Ids
from ..outcome import Outcome
from ..policy import Policy
from ..sizes import MOST_ARGUMENTS, MOST_BROKEN, MOST_CALLS, MOST_MARKS, LimitReached, Searched, marks_in, parts_in
from ..tools.declared import INVALID, Tool, Tools
from .arguments import Finish, Mended, mend_arguments
from .lexer import StrictPrefix
from .names import NameMended, mend_name, tool_that_fits
from .shape import mend_shape
from .strict import continued, write
from .strings import may_have_path

NAMED_BY_ARGUMENTS = "name: the one tool that the arguments fit"
_GUESSED = frozenset({reasons.MISSING_BRACKET, reasons.INNER_QUOTES, reasons.BARE_TEXT, reasons.MISSING_QUOTE})
_DOES_NOT_FIT = "a bracket or an escape is missing, and the arguments that this would make do not fit the tool"
_EMPTY_LIST = re.compile(r"\s*\[\s*\]\s*")
"""What PHP and GLM's endpoint send for an empty object. Elsewhere it may be what is left of a lost value."""
_LOST = "the arguments begin in the middle, and more than a bracket may be missing before it"


@dataclass(slots=True, eq=False)
class ReceivedCall:
    """A complete call as it was put together."""

    name: str = ""
    namespace: str = ""
    """That of its tool; empty if it has none."""
    arguments: str = ""
    finish: Finish = Finish.COMPLETE
    """How the answer ended for this call."""
    steps: tuple[str, ...] = ()
    """What had to be done to put it together."""
    refusal: str = ""
    """Why it must not run, whatever its arguments are."""
    sent: str | None = None
    """The arguments that the client has already, if the call was sent while it arrived."""


@dataclass(slots=True)
class Mender:
    """Decides on the calls of one response, by the tools and the policy of that response."""

    tools: Tools
    policy: Policy
    ids: Ids
    report: Callable[[Outcome], None] = lambda _: None
    callable_tools: Tools | None = None
    """The tools that a call without a name may mean; all tools by default."""
    searched: Searched = field(default_factory=Searched)
    outcomes: list[Outcome] = field(default_factory=list)
    """All outcomes so far, in the order in which `report` was called with them."""
    mended_events: int = 0
    """Events whose data had to be mended before it could be read."""
    seconds: list[float] = field(default_factory=list)
    """The seconds that deciding took, one figure per call."""
    _size: int = 0
    """How many characters the arguments of the calls so far have."""
    _marks: int = 0
    """How many commas and opening brackets."""
    _broken: int = 0
    """How many parts the broken ones among them have."""

    def decide(
        self, call: ReceivedCall, *, drop: bool = False, id: str | None = None, invalid_tail: str = ""
    ) -> Outcome:
        """What happens to one call. `drop`: if it is refused, the client does not get it.

        `id`: the id from the upstream, if calls have ids here; the outcome has the id for the client.
        `invalid_tail`: the end of the arguments of a refused call of which the client has the beginning, for clients
        that run even a prefix; of a dropped one too.
        """
        started = perf_counter()
        self._size += len(call.arguments)
        self._marks += marks_in(call.arguments)
        if self._size > MOST_ARGUMENTS or self._marks > MOST_MARKS or len(self.outcomes) >= MOST_CALLS:
            raise LimitReached
        name, arguments = call.name, call.arguments
        original = Outcome("valid", name, arguments, name, arguments, call.steps, namespace=call.namespace or None)
        whole, tail = call.sent is None, invalid_tail
        outcome = self._decide_whole(original, call) if whole else self._decide_rest(original, call, drop, tail)
        if drop and outcome.status == "refused":
            had = outcome.arguments if tail and not whole else call.sent or ""
            why = call.refusal or outcome.reason
            outcome = replace(original, status="refused", arguments=had, reason=why, dropped=True)
        self.seconds.append(perf_counter() - started)
        if id is not None and not outcome.dropped and whole:
            # The next request contains the id of a refused call beside the result, and there the reason is added.
            told = outcome.status == "refused" and self.policy.request
            outcome = replace(outcome, id=self.ids.new(id, outcome.reason) if told else self.ids.unique(id))
        self.outcomes.append(outcome)
        self.report(outcome)
        return outcome

    def _decide_rest(self, original: Outcome, call: ReceivedCall, drop: bool, tail: str) -> Outcome:
        """The outcome of a call of which the client has a strict prefix (`sent`): the rest can only continue it.

        Name and shape stay unchanged. The outcome's `arguments` are all that the client will have: for a refused
        call, text that is not valid JSON, so that no client runs it.
        """
        if not call.refusal and self.leaves_alone(call.name):
            return _as_it_came(original)
        sent, reason = call.sent or "", call.refusal or reasons.CUT_BEFORE
        if not call.refusal and (call.arguments.strip() or not (drop or call.finish is Finish.CUT)):
            tool = mend_name(call.name, self.tools, original.namespace).tool
            mended = _proven(self._read(call.arguments, call.finish, tool, to_send=True), tool)
            text = continued(sent, mended.text, mended.value) if mended.text is not None else None
            if text is not None:
                steps = (*original.steps, *mended.steps)
                return replace(original, status="repaired" if steps else "valid", arguments=text, steps=steps)
            reason = mended.reason or "the mended arguments do not continue what was sent"
        refused = replace(original, status="refused", reason=reason)
        if self.policy.fallback == "original" and not drop:
            return refused
        if tail:
            # Anthropic's SDK for JavaScript leaves out a string that is open at the end, and runs the rest.
            prefix = StrictPrefix()
            prefix.feed(sent)
            return replace(refused, arguments=sent + prefix.closing + tail)
        # Clients would read empty text as `{}`, and run a complete object.
        ends_open = sent.strip() and not sent.rstrip().endswith("}")
        return replace(refused, arguments=sent if ends_open else sent + "{")

    def _decide_whole(self, original: Outcome, call: ReceivedCall) -> Outcome:
        """The outcome of a call: its name is mended first, then its arguments."""
        name, arguments, finish = call.name, call.arguments, call.finish
        named = mend_name(name, self.tools, original.namespace) if name else self._named_by_arguments(call)
        if not call.refusal and self.leaves_alone(named.name, named.namespace):
            return _as_it_came(original)
        if named.status == "not_a_name":
            # It has no letter or digit.
            original = replace(original, reason=call.refusal)
            sentence = f"Not a tool name: {name or 'empty'}."
            if self._invalid_tool() is not None:
                return self._to_invalid(original, sentence, self._read(arguments).value)
            return _dropped(replace(original, status="refused", reason=sentence.rstrip(".")))
        steps, tool = (*original.steps, *named.steps), named.tool
        original = replace(original, name=named.name, namespace=named.namespace, steps=steps)
        if call.refusal:
            return self._refuse(original, tool, call.refusal)
        if tool is not None and tool.kind == "custom":
            return replace(_as_it_came(original), left_alone=finish is not Finish.COMPLETE and not original.steps)
        if named.arguments is not None:
            chosen = self._own_or_named(arguments, named.arguments)
            if chosen is None:
                return self._refuse(original, tool, reasons.NAME_CONTRADICTED)
            arguments = chosen
        elif named.status == "unknown" and name and len(self.tools) and self._invalid_tool() not in (None, name):
            sentence = f"Unknown tool requested by the model: {name}."
            return self._to_invalid(original, sentence, self._read(arguments, finish).value)
        return self._mend_arguments(original, arguments, finish, tool)

    def leaves_alone(self, name: str, namespace: str | None = None) -> bool:
        """Whether the options leave calls of this name as they come. One without a name may be of any tool."""
        if not (self.policy.arguments and name):
            return not self.policy.arguments
        return not self.policy.touches(mend_name(name, self.tools, namespace).name)

    def _named_by_arguments(self, call: ReceivedCall) -> NameMended:
        """The tool that a call without a name means, by its arguments."""
        namespace = call.namespace or None
        if not len(self.tools):
            return NameMended("", "unknown", namespace=namespace)
        meant = None if call.refusal else self._read(call.arguments, call.finish).value
        tool = tool_that_fits(meant, self.tools if self.callable_tools is None else self.callable_tools)
        if tool is None:
            return NameMended("", "not_a_name", namespace=namespace)
        return NameMended(tool.name, "mended", (NAMED_BY_ARGUMENTS,), namespace=tool.namespace, tool=tool)

    def _read(
        self, arguments: str, finish: Finish = Finish.UNKNOWN, tool: Tool | None = None, *, to_send: bool = False
    ) -> Mended:
        """Read arguments and mend them if they are broken.

        `to_send`: the result is sent, so cut-off arguments are closed if the user wants that.
        """
        complete = to_send and self.policy.truncated == "complete"
        view = None if tool is None else tool.view
        mended = mend_arguments(arguments, finish, complete_truncated=complete, view=view)
        if mended.status != "valid":
            self._broken += parts_in(arguments)
            if self._broken > MOST_BROKEN:
                raise LimitReached
        return mended

    def _own_or_named(self, arguments: str, inside: dict[str, str] | str) -> str | None:
        """The call's own arguments, or those in its name if it has none of its own; None if they differ."""
        in_name = self._read(inside, Finish.COMPLETE).value if isinstance(inside, str) else inside
        own = self._read(arguments, Finish.COMPLETE).value
        if in_name and own and in_name != own:
            return None
        if arguments.strip() not in ("", "{}", "null"):
            return arguments
        return inside if isinstance(inside, str) else write(inside)

    def _mend_arguments(self, original: Outcome, arguments: str, finish: Finish, tool: Tool | None) -> Outcome:
        """Mend the arguments of a call, then their shape, then check whether required ones are missing."""
        mended = self._read(arguments, finish, tool, to_send=True)
        if mended.status != "valid" and tool is not None:
            mended = _proven(_with_lost_beginning(mended, arguments, finish, tool), tool)
        steps = (*original.steps, *mended.steps)
        if mended.text is None or mended.value is None:
            return self._refuse(replace(original, steps=steps), tool, mended.reason)
        value, text = mended.value, mended.text
        if tool is not None and self.policy.shape:
            shaped = mend_shape(value, tool, drop_empty=self.policy.drop_empty, finish=finish)
            if shaped.steps:
                value, steps = shaped.value, (*steps, *shaped.steps)
                text = write(value)
            if shaped.refusal:
                return self._refuse(replace(original, steps=steps), tool, shaped.refusal)
        outcome = replace(original, status="repaired" if steps else "valid", arguments=text, steps=steps)
        missing = tool.missing(value) if tool is not None and self.policy.preflight else ()
        return self._lacking(outcome, value, missing) if missing else outcome

    def _lacking(self, outcome: Outcome, value: dict[str, Any], missing: tuple[str, ...]) -> Outcome:
        """Send a call that lacks required fields to the invalid tool, if there is one; else say what is missing."""
        sentence = reasons.missing_sentence(missing)
        if self._invalid_tool() not in (None, outcome.name):
            return self._to_invalid(outcome, sentence, value)
        # The client will reject the call, but a missing value cannot be invented here.
        status = "refused" if reasons.NO_ARGUMENTS in outcome.steps else outcome.status
        return replace(outcome, status=status, reason=sentence.rstrip("."))

    def _refuse(self, original: Outcome, tool: Tool | None, reason: str) -> Outcome:
        """Apply `toolfix_fallback` to a call whose arguments have no single reading: it never runs."""
        refused = replace(original, status="refused", reason=reason)
        fallback = self.policy.fallback
        if fallback == "original":
            return replace(refused, arguments=original.received_arguments)
        declared = fallback == "auto" and self._invalid_tool() is not None
        if not declared and (fallback == "empty" or tool is None or tool.missing({})):
            return replace(refused, arguments="{}", steps=(*original.steps, "sent with empty arguments"))
        if declared or (tool is not None and tool.kind == "function"):
            # `{}` would run. The client answers a call of an unknown tool with an error, and the session goes on.
            sentence = f"Invalid arguments: they could not be read as JSON: {reason.rstrip('.')}."
            return self._to_invalid(refused, sentence, None)
        return _dropped(refused, f"[toolfix] The call of {original.name} was dropped: {reason}.")

    def _to_invalid(self, original: Outcome, sentence: str, value: dict[str, Any] | None) -> Outcome:
        received = original.received_arguments if value is None else value
        payload = {"tool": original.received_name, "error": sentence, "receivedArgs": received}
        return replace(
            original,
            status="refused",
            name=self._invalid_tool() or INVALID,
            namespace=None,
            arguments=write(payload),
            steps=(*original.steps, "sent to the invalid tool"),
            reason=original.reason or sentence.rstrip("."),
        )

    def _invalid_tool(self) -> str | None:
        return self.tools.invalid(self.policy.invalid_tool)


def _dropped(refused: Outcome, note: str = "") -> Outcome:
    return replace(refused, arguments="", steps=(*refused.steps, "dropped"), dropped=True, note=note)


def _as_it_came(original: Outcome) -> Outcome:
    """The outcome of a call that is not mended; what had to be done to gather it is still a change."""
    return replace(original, status="repaired" if original.steps else "valid", left_alone=True)


def _begins_with_the_first(value: dict[str, Any], tool: Tool) -> bool:
    """Whether the first key is the first declared one: models keep that order, so no key is missing before it."""
    declared = tool.view.properties if tool.view is not None else {}
    return not declared or next(iter(value), "") == next(iter(declared))


def _proven(mended: Mended, tool: Tool | None) -> Mended:
    """Refuse arguments with added brackets or guessed quotes if the tool shows that they are not what was meant.

    A key before the first one may be missing too, or the tool cannot take what they have become.
    """
    if tool is None or mended.value is None:
        return mended
    if reasons.LEADING_COMMA in mended.steps and not _begins_with_the_first(mended.value, tool):
        return Mended("refused", None, None, mended.steps, _LOST)
    if _GUESSED.isdisjoint(mended.steps):
        return mended
    fits = tool.fits(mend_shape(mended.value, tool).value) is not False
    return mended if fits else Mended("refused", None, None, mended.steps, _DOES_NOT_FIT)


def _with_lost_beginning(mended: Mended, arguments: str, finish: Finish, tool: Tool) -> Mended:
    """What the declared properties prove about arguments that are refused: `[]` for a tool without parameters, or
    `command": "ls"}`, whose first fragment was lost."""
    if _EMPTY_LIST.fullmatch(arguments) and tool.takes_nothing:
        return Mended("repaired", "{}", {}, (reasons.LIST_INPUT,))
    lost = mended.text is None and finish is Finish.COMPLETE and arguments.rstrip().endswith("}")
    if not lost or tool.view is None or may_have_path(arguments):
        return mended
    for beginning in ('{"', "{"):
        whole = mend_arguments(beginning + arguments)
        declared = whole.status == "valid" and whole.value and set(whole.value) <= set(tool.view.properties)
        if declared and whole.value and _begins_with_the_first(whole.value, tool):
            return replace(whole, text=write(whole.value), steps=("lost beginning",))
    return mended
