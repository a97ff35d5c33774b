"""Mends one complete call: name → arguments → shape → preflight, and the fallback if mending is refused.

Which calls are sent at all, and which are repeats, is decided before, in `turn/outgoing_calls.py`. Every call that
arrives here gets one outcome, and outcomes are reported in the order in which the client gets the calls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any

from ..ids import Ids
from ..outcome import Outcome
from ..policy import Policy
from ..tools.declared import Tool, Tools
from ..tools.schema.check import Check, Exhausted
from ..work import CALL, VALUE, Work
from .arguments import Finish, Mended, mend_arguments
from .continuation import continued
from .nameless import tool_that_fits
from .names import NameMended, mend_name
from .reading.escapes import may_have_path
from .reading.strict import write
from .refusal import CUT_BEFORE
from .shape import preflight
from .shape.json_in_string import mender_of_containers
from .shape.shape import mend_shape
from .steps import INNER_QUOTES, MISSING_BRACES, MISSING_BRACKET, TOO_BOLD_INSIDE_A_TEXT
from .structured import mend_structured

NAMED_BY_ARGUMENTS = "name: the one tool that the arguments fit"
_GUESSED = frozenset({MISSING_BRACKET, INNER_QUOTES})
_DOES_NOT_FIT = "a bracket or an escape is missing, and the arguments that this would make do not fit the tool"
_LOST = "the arguments begin in the middle, and more than a bracket may be missing before it"


class Mender:
    """Mends the calls of one response against the tools and the policy of that response."""

    __slots__ = ("_callable", "_outcomes", "_policy", "_report", "_tools", "ids", "seconds", "work")

    def __init__(
        self,
        tools: Tools,
        policy: Policy,
        ids: Ids,
        report: Callable[[Outcome], None] = lambda _: None,
        callable_tools: Tools | None = None,
        work: Work | None = None,
        outcomes: list[Outcome] | None = None,
    ) -> None:
        """`callable_tools`: the tools that a call without a name may mean; all tools by default.

        `outcomes`: the list to which `report` adds the outcomes.
        """
        self._tools = tools
        self._callable = tools if callable_tools is None else callable_tools
        self._policy = policy
        self._report = report
        self._outcomes = [] if outcomes is None else outcomes
        self.work = work or Work()
        self.ids = ids
        self.seconds: list[float] = []
        """The seconds that mending took, one figure per call."""

    def mend(
        self,
        name: str,
        arguments: str,
        finish: Finish,
        *,
        namespace: str | None = None,
        steps: tuple[str, ...] = (),
        drop_refused: bool = False,
        id: str | None = None,
        safe_ids: bool = False,
        value: dict[str, Any] | None = None,
    ) -> Outcome:
        """Mend one call. `steps`: repairs that the dialect made. `drop_refused`: drop the call if it is refused.

        `id`: the id from the upstream, if calls have ids here; the outcome has the id for the client, with `safe_ids`
        in the alphabet of Messages. `value`: the result of `strict.read` for the arguments, if the dialect has parsed
        them already, because they may be long.
        """
        started = perf_counter()
        original = Outcome("valid", name, arguments, name, arguments, steps, namespace=namespace)
        outcome = self._mend(original, finish, value)
        self.seconds.append(perf_counter() - started)
        if drop_refused and outcome.status == "refused":
            outcome = Outcome("refused", name, "", name, arguments, steps, outcome.reason, dropped=True)
        return self._give_id_and_report(outcome, id, safe_ids)

    def mend_structured(
        self, text: str, sent: str, wanted: Tool, finish: Finish, takes_back: Callable[[str], bool]
    ) -> str | None:
        """The JSON that an answer means, if the request wanted JSON; None if the answer stays unchanged."""
        started = perf_counter()
        mended = mend_structured(text, sent, wanted, finish, self._policy, self.work, takes_back)
        self.seconds.append(perf_counter() - started)
        if mended is None:
            return None
        self._report(Outcome("repaired", wanted.name, mended.text, wanted.name, text, mended.steps))
        return mended.text

    def refuse(
        self,
        name: str,
        arguments: str,
        reason: str,
        *,
        namespace: str | None = None,
        steps: tuple[str, ...] = (),
        drop_refused: bool = False,
        id: str | None = None,
        safe_ids: bool = False,
    ) -> Outcome:
        """Refuse a call that the dialect knows must not run; the fallback is the one for unreadable arguments."""
        original = Outcome("refused", name, arguments, name, arguments, steps, reason, namespace=namespace)
        named = self._mended_name(name, None, namespace)
        if drop_refused:
            outcome = replace(original, arguments="", dropped=True)
        elif named.status == "not_a_name":
            outcome = self._not_a_tool(original)
        else:
            original = replace(original, name=named.name, namespace=named.namespace, steps=(*steps, *named.steps))
            outcome = self._refuse(original, named.tool, reason)
        return self._give_id_and_report(outcome, id, safe_ids)

    def _give_id_and_report(self, outcome: Outcome, wanted: str | None, safe_ids: bool) -> Outcome:
        """Give the call its id and report the outcome."""
        self.work.spend(CALL)
        if wanted is not None and not outcome.dropped:
            if outcome.status == "refused" and self._policy.request:
                # The next request contains this id beside the result, and there the reason is added.
                chosen = self.ids.fresh(wanted, "toolu" if safe_ids else "call", outcome.reason)
            else:
                chosen = self.ids.safe(wanted) if safe_ids else self.ids.unique(wanted)
            outcome = replace(outcome, id=chosen)
        self._report(outcome)
        return outcome

    def put_in_order(self, ordered: list[Outcome]) -> None:
        """Put these outcomes, which were reported in another order, in the order of the calls at the client."""
        moved = {id(outcome) for outcome in ordered}
        places = [place for place, outcome in enumerate(self._outcomes) if id(outcome) in moved]
        for place, outcome in zip(places, ordered, strict=False):
            self._outcomes[place] = outcome

    def mend_rest(
        self,
        name: str,
        arguments: str,
        sent: str,
        finish: Finish,
        *,
        steps: tuple[str, ...] = (),
        drop_refused: bool = False,
        invalid_tail: str = "",
        refusal_reason: str = "",
    ) -> Outcome:
        """Mend a call of which the client already has a strict prefix: the rest can only continue that prefix.

        Name and shape stay unchanged. The outcome's `arguments` are all that the client will have: for a refused
        call, text that is not valid JSON, so that no client runs it. `invalid_tail`: the end of such a text, for
        clients that run even a prefix. `refusal_reason`: the dialect's own reason to refuse the call.
        """
        started = perf_counter()
        original = Outcome("valid", name, arguments, name, arguments, steps)
        outcome = self._mend_rest(original, sent, finish, drop_refused, invalid_tail, refusal_reason)
        self.seconds.append(perf_counter() - started)
        self.work.spend(CALL)
        self._report(outcome)
        return outcome

    def _mend_rest(
        self, original: Outcome, sent: str, finish: Finish, drop_refused: bool, invalid_tail: str, refusal_reason: str
    ) -> Outcome:
        """The outcome of a call of which the client has the beginning (`sent`)."""
        arguments = original.received_arguments
        if not refusal_reason and (not self._policy.arguments or not self._policy.touches(original.name)):
            return replace(original, status="repaired") if original.steps else original
        reason = refusal_reason or CUT_BEFORE
        if not refusal_reason and (arguments.strip() or not (drop_refused or finish is Finish.CUT)):
            mended = _whole(
                self._read(arguments, finish, to_send=True), self._mended_name(original.name, None, None).tool
            )
            text = continued(sent, mended.text, mended.value) if mended.text is not None else None
            if text is not None:
                steps = (*original.steps, *mended.steps)
                return replace(original, status="repaired" if steps else "valid", arguments=text, steps=steps)
            reason = mended.reason or "the mended arguments do not continue what was sent"
        refused = replace(original, status="refused", reason=reason)
        if drop_refused:
            return replace(refused, arguments=sent, dropped=True)
        if self._policy.fallback == "original":
            return refused
        # Clients would read empty text as `{}`, and run a complete object.
        open_prefix = sent.strip() and not sent.rstrip().endswith("}")
        return replace(refused, arguments=sent + (invalid_tail or ("" if open_prefix else "{")))

    def _mend(self, original: Outcome, finish: Finish, value: dict[str, Any] | None) -> Outcome:
        """The outcome of a call: its name is mended first, then its arguments."""
        name, arguments = original.received_name, original.received_arguments
        meant = value if name or value is not None else self._read(arguments, finish).value
        named = self._mended_name(name, meant, original.namespace)
        if not self._policy.arguments or (named.name and not self._policy.touches(named.name)):
            return replace(original, status="repaired") if original.steps else original
        if named.status == "not_a_name":
            return self._not_a_tool(original)
        steps = (*original.steps, *named.steps)
        original = replace(original, name=named.name, namespace=named.namespace, steps=steps)
        if named.tool is not None and named.tool.kind == "custom":
            return replace(original, status="repaired") if original.steps else original
        if named.arguments is not None and self._contradicts(named.arguments, arguments):
            return self._refuse(
                original, named.tool, "the name and the arguments of the call tell different arguments"
            )
        if named.arguments is not None:
            return self._mend_arguments(original, self._arguments_in_name(named, arguments), finish, named.tool)
        if named.status == "unknown" and name and len(self._tools) and self._invalid_tool() not in (None, name):
            return self._to_invalid(original, preflight.unknown_sentence(name), self._read(arguments, finish).value)
        return self._mend_arguments(original, arguments, finish, named.tool, value)

    def _mended_name(self, name: str, value: dict[str, Any] | None, namespace: str | None) -> NameMended:
        """The tool that a call means. `value`: its arguments, which identify the tool of a call without a name."""
        if name:
            return mend_name(name, self._tools, namespace)
        if not len(self._tools):
            return NameMended(name, "unknown", namespace=namespace)
        tool = tool_that_fits(value, self._callable)
        if tool is None:
            return NameMended(name, "not_a_name", namespace=namespace)
        return NameMended(tool.name, "mended", (NAMED_BY_ARGUMENTS,), namespace=tool.namespace, tool=tool)

    def _read(self, arguments: str, finish: Finish = Finish.UNKNOWN, *, to_send: bool = False) -> Mended:
        """Read arguments and mend them if they are broken, within the work budget of the response.

        `to_send`: the result is sent, so cut-off arguments are closed if the user wants that.
        """
        complete = to_send and self._policy.truncated == "complete"
        return mend_arguments(arguments, finish, complete_truncated=complete, work=self.work)

    def _contradicts(self, inside: object, arguments: str) -> bool:
        """Whether the arguments of a call differ from those in its name."""
        in_name = self._read(inside, Finish.COMPLETE).value if isinstance(inside, str) else inside
        own = self._read(arguments, Finish.COMPLETE).value
        return bool(in_name) and bool(own) and in_name != own

    @staticmethod
    def _arguments_in_name(named: NameMended, arguments: str) -> str:
        """The call's own arguments, or those in its name if it has none of its own."""
        if arguments.strip() not in ("", "{}", "null"):
            return arguments
        inside = named.arguments
        return inside if isinstance(inside, str) else write(inside)

    def _mend_arguments(
        self,
        original: Outcome,
        arguments: str,
        finish: Finish,
        tool: Tool | None,
        known: dict[str, Any] | None = None,
    ) -> Outcome:
        """Mend the arguments of a call, then their shape, then check whether required ones are missing."""
        if known is not None:
            mended = Mended("valid", arguments, known)
        else:
            mended = self._read(arguments, finish, to_send=True)
        if mended.text is None and tool is not None and finish is Finish.COMPLETE:
            mended = _with_first_fragment(arguments, tool) or mended
        mended = _whole(mended, tool)
        steps = (*original.steps, *mended.steps)
        if mended.text is None or mended.value is None:
            return self._refuse(replace(original, steps=steps), tool, mended.reason)
        value, text = mended.value, mended.text
        if tool is not None and self._policy.shape:
            self.work.look_at(value)
            shaped = mend_shape(
                value, tool, drop_empty=self._policy.drop_empty, mend_text=partial(self._container, finish)
            )
            if shaped.steps:
                value, steps = shaped.value, (*steps, *shaped.steps)
                text = write(value)
            if shaped.refusal:
                return self._refuse(replace(original, steps=steps), tool, shaped.refusal)
        outcome = replace(original, status="repaired" if steps else "valid", arguments=text, steps=steps)
        missing = preflight.missing_required(value, tool) if tool is not None and self._policy.preflight else ()
        return self._lacking(outcome, value, missing) if missing else outcome

    def _container(self, finish: Finish, text: str) -> Any:
        """The list or object in a string of the arguments; its values cost work like all others."""
        self.work.read_json(text)
        self.work.spend(VALUE * text.count("{"))
        value = _CONTAINERS[finish](text)
        if isinstance(value, dict | list):
            self.work.look_at(value)
        return value

    def _lacking(self, outcome: Outcome, value: dict[str, Any], missing: tuple[str, ...]) -> Outcome:
        """Send a call that lacks required fields to the invalid tool, if there is one; else say what is missing."""
        sentence = preflight.missing_sentence(missing)
        if self._invalid_tool() not in (None, outcome.name):
            return self._to_invalid(outcome, sentence, value)
        # The client will reject the call, but a missing value cannot be invented here.
        return replace(outcome, reason=sentence.rstrip("."))

    def _refuse(self, original: Outcome, tool: Tool | None, reason: str) -> Outcome:
        """Apply `toolfix_fallback` to a call whose arguments have no single reading: it never runs."""
        refused = replace(original, status="refused", reason=reason)
        fallback = self._policy.fallback
        if fallback == "original":
            return replace(refused, arguments=original.received_arguments)
        if fallback == "auto" and self._invalid_tool() is not None:
            return self._to_invalid(refused, preflight.unreadable_sentence(reason), None)
        if fallback == "empty" or tool is None or preflight.missing_required({}, tool):
            return replace(refused, arguments="{}", steps=(*original.steps, "sent with empty arguments"))
        if tool.kind == "function":
            # `{}` would run. The client answers a call of an unknown tool with an error, and the session goes on.
            return self._to_invalid(refused, preflight.unreadable_sentence(reason), None)
        note = f"[toolfix] The call of {original.name} was dropped: {reason}."
        return replace(refused, arguments="", steps=(*original.steps, "dropped"), dropped=True, note=note)

    def _not_a_tool(self, original: Outcome) -> Outcome:
        """Send a call whose name has no letter or digit to the invalid tool, or drop it."""
        sentence = preflight.not_a_name_sentence(original.received_name)
        if self._invalid_tool() is not None:
            return self._to_invalid(original, sentence, self._read(original.received_arguments).value)
        dropped = replace(original, status="refused", arguments="", reason=sentence.rstrip("."), dropped=True)
        return replace(dropped, steps=(*original.steps, "dropped"))

    def _to_invalid(self, original: Outcome, sentence: str, value: dict[str, Any] | None) -> Outcome:
        received = original.received_arguments if value is None else value
        payload = write(preflight.invalid_payload(original.received_name, sentence, received))
        steps = (*original.steps, "sent to the invalid tool")
        name = preflight.invalid_name(self._policy.invalid_tool, self._tools)
        reason = original.reason or sentence.rstrip(".")
        return replace(
            original, status="refused", name=name, arguments=payload, steps=steps, reason=reason, namespace=None
        )

    def _invalid_tool(self) -> str | None:
        return preflight.invalid_tool(self._policy.invalid_tool, self._tools)


def _object_in(text: str, finish: Finish) -> dict[str, Any] | None:
    """The object in a string of the arguments, mended if it has one reading."""
    mended = mend_arguments(text, finish)
    return mended.value if TOO_BOLD_INSIDE_A_TEXT.isdisjoint(mended.steps) else None


_CONTAINERS = {finish: mender_of_containers(partial(_object_in, finish=finish)) for finish in Finish}
"""JSON inside a string may lack only what the arguments may lack: nothing, if they were cut off."""


def _begins_with_the_first(value: dict[str, Any], tool: Tool | None) -> bool:
    """Whether the first key is the first declared one: models keep that order, so no key is missing before it."""
    declared = tool.view.properties if tool is not None and tool.view is not None else {}
    return not declared or next(iter(value), "") == next(iter(declared))


def _whole(mended: Mended, tool: Tool | None) -> Mended:
    """Refuse arguments with added brackets or guessed quotes if the tool shows that they are not what was meant.

    A key before the first one may be missing too, or the tool cannot take what they have become.
    """
    if tool is None or mended.value is None:
        return mended
    if MISSING_BRACES in mended.steps and not _begins_with_the_first(mended.value, tool):
        return Mended("refused", None, None, mended.steps, _LOST)
    if not _GUESSED.isdisjoint(mended.steps) and not _can_take(mended.value, tool):
        return Mended("refused", None, None, mended.steps, _DOES_NOT_FIT)
    return mended


def _can_take(value: dict[str, Any], tool: Tool) -> bool:
    """Whether nothing in these arguments contradicts the schema of the tool."""
    shaped = mend_shape(value, tool).value
    try:
        return preflight.takes(shaped, tool) and (
            tool.prepared is None or Check().admits(tool.prepared, shaped) is not False
        )
    except Exhausted:
        return True


def _with_first_fragment(arguments: str, tool: Tool) -> Mended | None:
    """`command": "ls"}` with its lost first fragment, if the declared properties prove what it was."""
    if not arguments.rstrip().endswith("}") or tool.view is None or may_have_path(arguments):
        return None
    mended = mend_arguments('{"' + arguments)
    if mended.status != "valid" or not mended.value or not set(mended.value) <= set(tool.view.properties):
        return None
    if not _begins_with_the_first(mended.value, tool):
        return None
    return replace(mended, text=write(mended.value), steps=("lost beginning",))
