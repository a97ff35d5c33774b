"""Turns Responses events about a function call into the types of `turn/`."""

from __future__ import annotations

from ...turn import payload
from ...turn.item_call import CallSnapshot
from ...turn.parts import Fragment, string_of
from .events import IncomingEvent, Json


def fragment_in(incoming: IncomingEvent) -> Fragment:
    """The fragment in a `function_call_arguments.delta`."""
    text = payload.text_of(incoming.message.get("delta"))
    return Fragment(incoming.number("output_index"), incoming.text("item_id"), "", text)


def arguments_in(incoming: IncomingEvent) -> CallSnapshot:
    """The report in a `function_call_arguments.done`."""
    return CallSnapshot(
        incoming.text("item_id"),
        incoming.number("output_index"),
        name=incoming.text("name"),
        arguments=payload.text_of(incoming.message.get("arguments")),
        source=incoming,
    )


def item_in(incoming: IncomingEvent) -> CallSnapshot:
    """The report in an `output_item.added` or `output_item.done`."""
    return entry_in(incoming.item, incoming.number("output_index"), incoming)


def entry_in(item: Json, index: int | None, source: IncomingEvent | None = None) -> CallSnapshot:
    """The report in an item. `source`: its event; None if the item is in the output of a terminal event."""
    return CallSnapshot(
        string_of(item.get("id")),
        index,
        call_id=string_of(item.get("call_id")),
        name=string_of(item.get("name")),
        namespace=string_of(item.get("namespace")),
        arguments=payload.text_of(item.get("arguments")),
        cut=item.get("status") == "incomplete",
        body=item,
        source=source,
    )
