"""One complete call: name → arguments → shape → preflight, and what to do where mending is refused.

The one place that decides what becomes of a call. It reports an outcome for each, in order.
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
from ..work import CALL, VALUE, Work
from .arguments import Finish, Mended, mend_arguments
from .continuation import continued
from .nameless import tool_that_fits
from .names import NameMended, mend_name
from .reading.strict import write
from .shape import preflight
from .shape.json_in_string import mender_of_containers
from .shape.shape import mend_shape
from .steps import TOO_BOLD_INSIDE_A_TEXT
from .structured import mend_structured

NAMED_BY_ARGUMENTS = "name: the one tool that the arguments fit"


class Mender:
    """Mends the calls of one response against the tools and the policy of that response."""

    __slots__ = ("_callable", "_policy", "_report", "_tools", "ids", "seconds", "work")

    def __init__(
        self,
        tools: Tools,
        policy: Policy,
        ids: Ids,
        report: Callable[[Outcome], None] = lambda _: None,
        callable_tools: Tools | None = None,
        work: Work | None = None,
    ) -> None:
        """`callable_tools`: those that a call without a name may be of; all of them where nothing is said."""
        self._tools = tools
        self._callable = tools if callable_tools is None else callable_tools
        self._policy = policy
        self._report = report
        self.work = work or Work()
        self.ids = ids
        self.seconds: list[float] = []
        """What mending took, one figure a call."""

    def mend(
        self,
        name: str,
        arguments: str,
        finish: Finish,
        *,
        namespace: str | None = None,
        steps: tuple[str, ...] = (),
        before_error: bool = False,
        id: str | None = None,
        safe_ids: bool = False,
        value: dict[str, Any] | None = None,
    ) -> Outcome:
        """Mend one call. `steps` are repairs that the dialect made; unfinished calls before an error are dropped.

        `id` is the one that the upstream gave, if calls have ids here; the outcome has that of the client,
        where `safe_ids` in the alphabet of Messages. `value` is what `strict.read` gives for the arguments, where
        the dialect had to look already: they may be long.
        """
        started = perf_counter()
        outcome = self._mend(name, arguments, finish, namespace, steps, value)
        self.seconds.append(perf_counter() - started)
        if before_error and outcome.status == "refused":
            outcome = Outcome("refused", name, "", name, arguments, steps, outcome.reason, dropped=True)
        return self._give_id_and_report(outcome, id, safe_ids)

    def mend_structured(
        self, text: str, sent: str, wanted: Tool, finish: Finish, takes_back: Callable[[str], bool]
    ) -> str | None:
        """The JSON that an answer means, where it was asked for as such; None where it stays as it is."""
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
        before_error: bool = False,
        id: str | None = None,
        safe_ids: bool = False,
    ) -> Outcome:
        """A call that the dialect itself knows to be none; the fallback is that of arguments without a reading."""
        came = Outcome("refused", name, arguments, name, arguments, steps, reason, namespace=namespace)
        named = self._named(name, None, namespace)
        if before_error:
            outcome = replace(came, arguments="", dropped=True)
        elif named.status == "not_a_name":
            outcome = self._not_a_tool(came)
        else:
            came = replace(came, name=named.name, namespace=named.namespace, steps=(*steps, *named.steps))
            outcome = self._refuse(came, named.tool, reason)
        return self._give_id_and_report(outcome, id, safe_ids)

    def _give_id_and_report(self, outcome: Outcome, wanted: str | None, safe_ids: bool) -> Outcome:
        """Give the call its id and report what became of it."""
        self.work.spend(CALL)
        if wanted is not None and not outcome.dropped:
            outcome = replace(outcome, id=self._identify(outcome, wanted, safe_ids))
        self._report(outcome)
        return outcome

    def _identify(self, outcome: Outcome, wanted: str, safe_ids: bool) -> str:
        if outcome.status == "refused" and self._policy.request:
            # The next request brings it back with the result, and there the reason is told.
            return self.ids.fresh(wanted, "toolu" if safe_ids else "call", outcome.reason)
        return self.ids.safe(wanted) if safe_ids else self.ids.unique(wanted)

    def mend_rest(
        self,
        name: str,
        arguments: str,
        sent: str,
        finish: Finish,
        *,
        steps: tuple[str, ...] = (),
        before_error: bool = False,
        spoiler: str = "",
        doubt: str = "",
    ) -> Outcome:
        """Mend a call of which the client already has a strict prefix: what it gets only continues that prefix.

        Name and shape are as they came. `arguments` of the outcome is all that the client will have: where
        it is refused, text that is no valid JSON, so that nobody runs it. `spoiler` ends such a text where
        clients run even a prefix. `doubt`: why the dialect itself knows that this must not be run.
        """
        started = perf_counter()
        came = Outcome("valid", name, arguments, name, arguments, steps)
        outcome = self._mend_rest(came, sent, finish, before_error, spoiler, doubt)
        self.seconds.append(perf_counter() - started)
        self.work.spend(CALL)
        self._report(outcome)
        return outcome

    def _mend_rest(
        self, came: Outcome, sent: str, finish: Finish, before_error: bool, spoiler: str, doubt: str
    ) -> Outcome:
        arguments = came.received_arguments
        if not doubt and (not self._policy.arguments or not self._policy.touches(came.name)):
            return replace(came, status="repaired") if came.steps else came
        reason = doubt or "the answer was cut off before the arguments"
        if not doubt and (arguments.strip() or not (before_error or finish is Finish.CUT)):
            mended = self._read(arguments, finish, complete=self._completes)
            text = continued(sent, mended.text, mended.value) if mended.text is not None else None
            if text is not None:
                steps = (*came.steps, *mended.steps)
                return replace(came, status="repaired" if steps else "valid", arguments=text, steps=steps)
            reason = mended.reason or "the mended arguments do not continue what was sent"
        refused = replace(came, status="refused", reason=reason)
        if before_error:
            return replace(refused, arguments=sent, dropped=True)
        if self._policy.fallback == "original":
            return refused
        # Nothing at all would be read as `{}`, and a whole object as the call.
        open_prefix = sent.strip() and not sent.rstrip().endswith("}")
        return replace(refused, arguments=sent + (spoiler or ("" if open_prefix else "{")))

    def _mend(
        self,
        name: str,
        arguments: str,
        finish: Finish,
        namespace: str | None,
        steps: tuple[str, ...],
        value: dict[str, Any] | None,
    ) -> Outcome:
        came = Outcome("valid", name, arguments, name, arguments, steps, namespace=namespace)
        meant = value if name or value is not None else self._read(arguments, finish).value
        named = self._named(name, meant, namespace)
        if not self._policy.arguments or (named.name and not self._policy.touches(named.name)):
            return replace(came, status="repaired") if steps else came
        if named.status == "not_a_name":
            return self._not_a_tool(came)
        came = replace(came, name=named.name, namespace=named.namespace, steps=(*steps, *named.steps))
        if named.tool is not None and named.tool.kind == "custom":
            return replace(came, status="repaired") if came.steps else came
        if named.arguments is not None and self._contradicts(named.arguments, arguments):
            return self._refuse(came, named.tool, "the name and the arguments of the call tell different arguments")
        if named.arguments is not None:
            return self._mend_arguments(came, self._arguments_in_name(named, arguments), finish, named.tool)
        if named.status == "unknown" and name and len(self._tools) and self._invalid_tool() not in (None, name):
            return self._to_invalid(came, preflight.unknown_sentence(name), self._read(arguments, finish).value)
        return self._mend_arguments(came, arguments, finish, named.tool, value)

    def _named(self, name: str, value: dict[str, Any] | None, namespace: str | None) -> NameMended:
        """The tool that a call means. `value`: its arguments, by which one without a name is known."""
        if name:
            return mend_name(name, self._tools, namespace)
        if not len(self._tools):
            return NameMended(name, "unknown", namespace=namespace)
        tool = tool_that_fits(value, self._callable)
        if tool is None:
            return NameMended(name, "not_a_name", namespace=namespace)
        return NameMended(tool.name, "mended", (NAMED_BY_ARGUMENTS,), namespace=tool.namespace, tool=tool)

    @property
    def _completes(self) -> bool:
        return self._policy.truncated == "complete"

    def _read(self, arguments: str, finish: Finish = Finish.UNKNOWN, *, complete: bool = False) -> Mended:
        """Read arguments and mend them where they are broken, as long as the answer may still cause work."""
        return mend_arguments(arguments, finish, complete_truncated=complete, work=self.work)

    def _contradicts(self, inside: object, arguments: str) -> bool:
        """Are the arguments of a call others than those that stand in its name?"""
        told = self._read(inside, Finish.COMPLETE).value if isinstance(inside, str) else inside
        own = self._read(arguments, Finish.COMPLETE).value
        return bool(told) and bool(own) and told != own

    @staticmethod
    def _arguments_in_name(named: NameMended, arguments: str) -> str:
        """Arguments that stand in the name count where the call has none of its own."""
        if arguments.strip() not in ("", "{}", "null"):
            return arguments
        inside = named.arguments
        return inside if isinstance(inside, str) else write(inside)

    def _mend_arguments(
        self, came: Outcome, arguments: str, finish: Finish, tool: Tool | None, known: dict[str, Any] | None = None
    ) -> Outcome:
        if known is not None:
            mended = Mended("valid", arguments, known)
        else:
            mended = self._read(arguments, finish, complete=self._completes)
        if mended.text is None and tool is not None and finish is Finish.COMPLETE:
            mended = _with_first_fragment(arguments, tool) or mended
        steps = (*came.steps, *mended.steps)
        if mended.text is None or mended.value is None:
            return self._refuse(replace(came, steps=steps), tool, mended.reason)
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
                return self._refuse(replace(came, steps=steps), tool, shaped.refusal)
        outcome = replace(came, status="repaired" if steps else "valid", arguments=text, steps=steps)
        return self._preflight(outcome, value, tool)

    def _container(self, finish: Finish, text: str) -> Any:
        """The list or object that a text inside the arguments holds: its values are looked at as all others are."""
        self.work.read_json(text)
        self.work.spend(VALUE * text.count("{"))
        value = _CONTAINERS[finish](text)
        if isinstance(value, dict | list):
            self.work.look_at(value)
        return value

    def _preflight(self, outcome: Outcome, value: dict[str, Any], tool: Tool | None) -> Outcome:
        missing = preflight.missing_required(value, tool) if tool is not None and self._policy.preflight else ()
        if not missing:
            return outcome
        sentence = preflight.missing_sentence(missing)
        if self._invalid_tool() not in (None, outcome.name):
            return self._to_invalid(outcome, sentence, value)
        # The client will reject it: nothing can be invented here.
        return replace(outcome, reason=sentence.rstrip("."))

    def _refuse(self, came: Outcome, tool: Tool | None, reason: str) -> Outcome:
        """Arguments that have no one reading never run: see `toolfix_fallback`."""
        refused = replace(came, status="refused", reason=reason)
        fallback = self._policy.fallback
        if fallback == "original":
            return replace(refused, arguments=came.received_arguments)
        if fallback == "auto" and self._invalid_tool() is not None:
            return self._to_invalid(refused, preflight.unreadable_sentence(reason), None)
        if fallback == "empty" or tool is None or tool.required:
            return replace(refused, arguments="{}", steps=(*came.steps, "sent with empty arguments"))
        if tool.kind == "function":
            # `{}` would run. The client answers a call of a tool that it does not have, and the session goes on.
            return self._to_invalid(refused, preflight.unreadable_sentence(reason), None)
        note = f"[toolfix] The call of {came.name} was dropped: {reason}."
        return replace(refused, arguments="", steps=(*came.steps, "dropped"), dropped=True, note=note)

    def _not_a_tool(self, came: Outcome) -> Outcome:
        """A name without a letter or digit is no tool."""
        sentence = preflight.not_a_name_sentence(came.received_name)
        if self._invalid_tool() is not None:
            return self._to_invalid(came, sentence, self._read(came.received_arguments).value)
        dropped = replace(came, status="refused", arguments="", reason=sentence.rstrip("."), dropped=True)
        return replace(dropped, steps=(*came.steps, "dropped"))

    def _to_invalid(self, came: Outcome, sentence: str, value: dict[str, Any] | None) -> Outcome:
        received = came.received_arguments if value is None else value
        payload = write(preflight.invalid_payload(came.received_name, sentence, received))
        steps = (*came.steps, "sent to the invalid tool")
        name = preflight.invalid_name(self._policy.invalid_tool, self._tools)
        reason = came.reason or sentence.rstrip(".")
        return replace(
            came, status="refused", name=name, arguments=payload, steps=steps, reason=reason, namespace=None
        )

    def _invalid_tool(self) -> str | None:
        return preflight.invalid_tool(self._policy.invalid_tool, self._tools)


def _object_in(text: str, finish: Finish) -> dict[str, Any] | None:
    """The object that a text inside the arguments holds, mended where that has one reading."""
    mended = mend_arguments(text, finish)
    return mended.value if TOO_BOLD_INSIDE_A_TEXT.isdisjoint(mended.steps) else None


_CONTAINERS = {finish: mender_of_containers(partial(_object_in, finish=finish)) for finish in Finish}
"""A text inside the arguments lacks what the arguments may lack: where they were cut off, nothing."""


def _with_first_fragment(arguments: str, tool: Tool) -> Mended | None:
    """`command": "ls"}`: the first fragment was lost, and the declared properties prove what it was."""
    if not arguments.rstrip().endswith("}") or tool.view is None:
        return None
    mended = mend_arguments('{"' + arguments)
    if mended.status != "valid" or not mended.value or not set(mended.value) <= set(tool.view.properties):
        return None
    return replace(mended, text=write(mended.value), steps=("lost beginning",))
