"""One complete call: name → arguments → shape → preflight, and what to do where mending is refused.

The one place that decides what becomes of a call. It appends an outcome for each, in order.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from ..calls import Ids, Outcome
from ..policy import Policy
from ..tools import Tool, Tools
from .arguments import Finish, mend_arguments

DEFAULT_INVALID_TOOL = "invalid"


class Mender:
    """Mends the calls of one response against the tools and the policy of that response."""

    __slots__ = ("_policy", "_report", "_tools", "ids")

    def __init__(
        self, tools: Tools, policy: Policy, ids: Ids, report: Callable[[Outcome], None] = lambda _: None
    ) -> None:
        self._tools = tools
        self._policy = policy
        self._report = report
        self.ids = ids

    def mend(
        self,
        name: str,
        arguments: str,
        finish: Finish,
        *,
        steps: tuple[str, ...] = (),
        before_error: bool = False,
    ) -> Outcome:
        """Mend one call. `steps` are repairs that the dialect made; unfinished calls before an error are dropped."""
        outcome = self._mend(name, arguments, finish, steps)
        if before_error and outcome.status == "refused":
            outcome = Outcome(
                "refused",
                name,
                "",
                name,
                arguments,
                steps,
                outcome.reason or "the answer ended with an error",
                True,
            )
        self._report(outcome)
        return outcome

    def drop(self, name: str, arguments: str, reason: str) -> Outcome:
        """A call that must not go out, however well its arguments could be mended."""
        outcome = Outcome("refused", name, "", name, arguments, ("dropped",), reason, dropped=True)
        self._report(outcome)
        return outcome

    def _mend(self, name: str, arguments: str, finish: Finish, steps: tuple[str, ...]) -> Outcome:
        if not self._policy.arguments or (name and not self._policy.touches(name)):
            return Outcome("repaired" if steps else "valid", name, arguments, name, arguments, steps)
        mended = mend_arguments(arguments, finish, complete_truncated=self._policy.truncated == "complete")
        steps += mended.steps
        if mended.text is None:
            return self._refuse(name, arguments, steps, mended.reason)
        return Outcome("repaired" if steps else "valid", name, mended.text, name, arguments, steps)

    def _refuse(self, name: str, arguments: str, steps: tuple[str, ...], reason: str) -> Outcome:
        """Arguments that have no one reading never run: see `toolfix_fallback`."""
        fallback = self._policy.fallback
        if fallback == "original":
            return Outcome("refused", name, arguments, name, arguments, steps, reason)
        invalid = self._invalid_tool() if fallback == "auto" else None
        if invalid:
            payload = {"tool": name, "error": f"{reason}.", "receivedArgs": arguments}
            text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
            return Outcome("refused", invalid, text, name, arguments, (*steps, "sent to the invalid tool"), reason)
        tool = self._tools.get(name)
        if fallback == "empty" or tool is None or _has_required(tool):
            return Outcome("refused", name, "{}", name, arguments, (*steps, "sent with empty arguments"), reason)
        note = f"[toolfix] The call of {name} was dropped: {reason}."
        return Outcome("refused", name, "", name, arguments, (*steps, "dropped"), reason, dropped=True, note=note)

    def _invalid_tool(self) -> str | None:
        if self._policy.invalid_tool:
            return self._policy.invalid_tool
        return DEFAULT_INVALID_TOOL if self._tools.get(DEFAULT_INVALID_TOOL) else None


def _has_required(tool: Tool) -> bool:
    return bool(tool.schema and tool.schema.get("required"))
