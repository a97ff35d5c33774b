"""Structured calls, calls that were written as text, and what waits behind them, in the order of the answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .answer_text import Behind, WrittenCall
from .calls import Call
from .mend.arguments import mend_arguments
from .mend.finish import Finish
from .mend.names import mend_name
from .parts import Other
from .tools.declared import Tools


def in_order(calls: list[Call], written: Sequence[WrittenCall | Behind], tools: Tools) -> Iterator[Call | Other]:
    """All of them, in the order in which the model made them.

    A call that is there in both forms comes once, in the place of the first. One that was only written has no
    fragments.
    """
    left = list(calls)
    told = {id(call): (mend_name(call.name, tools).name, _value(call.arguments)) for call in calls if written}
    for one in written:
        while left and left[0].first < one.behind:
            yield left.pop(0)
        if isinstance(one, Behind):
            yield one.part
            continue
        meant = one.call.name, _value(one.call.arguments)
        alike = next((call for call in left if told[id(call)] == meant), None)
        if alike is not None:
            left.remove(alike)
            yield alike
        elif meant not in told.values():
            yield Call(name=one.call.name, arguments=one.call.arguments, steps=(one.step,))
    yield from left


def _value(arguments: str) -> Any:
    value = mend_arguments(arguments, Finish.COMPLETE).value
    return repr(value) if value is not None else arguments
