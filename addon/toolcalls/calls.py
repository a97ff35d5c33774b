"""From what the events said about calls to the calls themselves: one pure function over all fragments of an answer.

Nothing is decided while fragments arrive: they are kept, and read together when the calls are wanted.

* *By item.* If events repeat the calls as a whole, what they say is believed. Pieces count only if each says clearly
  whose it is.
* *By place.* If every fragment says where it belongs (its id; or its index; or a block that is open), and nothing
  contradicts that, each call stands for itself, and may be mended.
* *By order.* Otherwise a fragment begins a call, or continues the last one. A single call may still be mended. Of
  several, all run or none: all if each is strict JSON that its tool can take, the answer is complete, and no fragment
  points back to an earlier call. Even valid JSON may have got the words of another call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from . import payload
from .call import Call, settle
from .fragments import begins_midway, full_name, is_empty, may_begin
from .mend.finish import Finish
from .mend.names import mend_name
from .mend.shape import mend_shape
from .partial_args import put_together
from .parts import Fragment, Json
from .payload import meaning_of
from .reasons import MIXED
from .sizes import MOST_CALLS, LimitReached
from .tools.declared import Tools

_LONG: Final = 4096
"""Arguments with more characters are compared as text: reading them takes long."""


def assemble(fragments: Sequence[Fragment], tools: Tools, finish: Finish) -> list[Call]:
    """The calls of these fragments, in order; what must not run is refused. `finish`: how the answer ended."""
    for number, one in enumerate(fragments):
        one.number = number
    if any(one.partial_args is not None for one in fragments):
        fragments = put_together(fragments)
    whole = [one for one in fragments if one.whole or one.again]
    told = [one for one in fragments if not (one.whole or one.again)]
    if any(one.item or (one.given is not None and not one.begins) for one in told):
        calls = _by_item([one for one in fragments if not one.whole])
        whole = [one for one in whole if one.whole]
    else:
        placed = _by_place(told, tools, finish) if told else []
        calls = _by_order(told, tools, finish) if placed is None else placed
    for one in whole:
        calls.append(call := Call(ended=True))
        call.add(one)
    # What has neither a name nor arguments is no call, unless it is a block.
    calls = [
        call for call in calls if call.block or call.names or call.pieces or any(one.given for one in call.fragments)
    ]
    calls.sort(key=lambda call: call.fragments[0].number)
    if len(calls) > MOST_CALLS:
        raise LimitReached
    for call in calls:
        settle(call, tools, finish)
    return calls


def are_certain(fragments: Sequence[Fragment], tools: Tools, finish: Finish = Finish.CUT) -> bool:
    """Whether these are calls in which nothing can be missing: they are valid as they came; or the answer says that
    it is complete, and their brackets are closed."""
    last = fragments[-1]
    calls = [] if last.partial_args is not None else assemble(fragments, tools, finish)
    for call in calls:
        certain = finish is Finish.COMPLETE and call.looks_complete()
        if finish is not Finish.COMPLETE:
            value = payload.read_encoded(call.arguments)
            # Behind an empty object, and behind a beginning that says nothing, the real one may follow. Where calls
            # end, each ends with an event of its own.
            says = value or call.pieces or call.stated if call.ended else value and not last.ends
            certain = isinstance(value, dict) and bool(says)
        if not (call.name and certain) or call.refusal:
            return False
    return bool(calls)


# By item


def _by_item(fragments: Sequence[Fragment]) -> list[Call]:
    """The calls, if some fragments name the items that they are about, or repeat a call as a whole.

    Servers give one item several ids, and several items one id or one index.
    """
    names = {one.item: one.name for one in fragments if one.item and (one.begins or one.ends)}
    calls: list[Call] = []
    going: list[Call] = []
    clear = True
    for one in fragments:
        piece = not (one.begins or one.ends or one.again)
        owners = _owners(one, [call for call in calls if not call.restated] if one.again else going, names)
        if piece and len(owners) > 1:
            clear = False
            continue
        if not owners:
            if piece and any(one.item and one.item in call.keys for call in calls):
                continue  # A piece of an item that has ended.
            owners = [Call()]
            calls += owners
            going += owners
        owners[0].add(one)
        if (one.ends or one.again) and owners[0] in going:
            going.remove(owners[0])
            owners[0].ended = True
    real = [call for call in calls if call.names or call.block] or calls
    clear = clear and not any(call.says for call in calls if call not in real)
    for call in real if not clear else ():
        call.pieces = []
        if not any(payload.object_in(payload.text_of(one.given)) for one in call.fragments):
            call.refuse(MIXED)
    return real


def _owners(one: Fragment, calls: list[Call], names: dict[str, str]) -> list[Call]:
    """The calls that a fragment may belong to: those that share most of its id, its item and its place with it, or
    that mean what it says; none if it begins one. `names`: those of the items that begin or end with an event.
    Another id says only that its pieces are of one call."""
    known, shared = one.item in names, dict[int, list[Call]]()
    mine = {call for call in calls if one.item and one.item in call.keys and (known or not call.block)}
    name = one.name or ("" if mine else names.get(one.item, ""))
    for call in calls:
        if name and call.last_name not in ("", name):
            continue
        here = one.slot in (None, call.fragments[0].slot) and not one.again
        other_id = one.id and call.ids and one.id not in call.ids and (one.begins or call not in mine)
        apart = (other_id and not one.again) or (one.begins and not (call in mine and here))
        shared.setdefault(0 if apart else 2 * (one.id in call.ids) + (call in mine) + here, []).append(call)
    most = max(shared, default=0)
    if most or one.given is None or one.begins:
        return shared[most] if most else []
    text = payload.text_of(one.given)
    for call in shared.get(0, []):
        alike = call.says == text != "" or (
            not is_empty(text) and len(text) <= _LONG and meaning_of(call.says)[1] == meaning_of(text)[1]
        )
        if not call.ended and (alike or (one.ends and not call.says)):
            return [call]
    return []


# By place


def _by_place(told: Sequence[Fragment], tools: Tools, finish: Finish) -> list[Call] | None:
    """The calls, if every fragment says where it belongs and nothing contradicts that; else None."""
    has_ids = all(one.key for one in told) and not any(one.begins for one in told)
    calls = _at_places(told, tools, ids=True) if has_ids else None
    calls = _at_places(told, tools) if calls is None else calls
    odd = [call for call in calls or () if call.odd]
    return None if odd and not _all_strict(odd, tools, finish) else calls


def _at_places(told: Sequence[Fragment], tools: Tools, *, ids: bool = False) -> list[Call] | None:
    """The calls, if the fragments of each stand at one place. `ids`: the places are ids, which name a call even if it
    is sent again."""
    blocks = any(one.begins for one in told)
    open_at: dict[Any, Call] = {}
    calls: list[Call] = []
    goes_on_behind = False
    for one in told:
        place = one.key if ids else one.slot
        call = open_at.get(place)
        if place is None or not (one.placed or len(open_at) < 2) or (blocks and one.begins != (call is None)):
            return None
        if call is None:
            for earlier in calls if blocks else ():
                earlier.followed = True
            calls.append(call := Call())
        elif not continues(call, one, tools):
            again = bool(one.key) and one.key in call.keys and one.name == call.last_name
            if again and meaning_of(one.arguments) == meaning_of("".join(call.pieces)):
                continue
            if not (again and ids and call.is_complete()):
                return None
            calls.append(call := Call())  # Sent again, or another call with this id.
        elif one.key and one.key not in call.keys and any(one.key in other.keys for other in calls):
            return None  # The id is that of a call at another place.
        elif one.arguments.strip() and (not blocks or len(open_at) > 1) and call.looks_complete():
            goes_on_behind = True  # It may belong to another call: in a block, to one that is open.
        open_at[place] = call
        call.add(one)
        if blocks and one.ends:
            del open_at[place]
    lost = goes_on_behind or (ids and (_differ(calls) or any(begins_midway(call.pieces) for call in calls)))
    if any(call.begun and not call.names for call in calls) or (lost and len(calls) > 1):
        return None
    return _real(calls)


def continues(call: Call, one: Fragment, tools: Tools) -> bool:
    """Whether this fragment can be the next of the call at its place: no second call begins in it."""
    starts = may_begin(one.arguments)
    if one.slot not in call.slots:
        return False
    comes_back = one.key in call.keys or not call.keys
    if one.key and one.key != call.last_key and (comes_back or one.name or starts):
        return False  # The id may change with every fragment, but in none in which a call may begin.
    if not (one.name and (call.names or one.arguments.strip())):  # The name may come behind the arguments.
        return len(call.names) < 2 or not call.begun
    if one.name == call.last_name:
        return len(call.names) == len(call.fragments) and not (call.begun and starts and call.is_complete())
    return not call.begun and _goes_on(call, one.name, tools)


def _goes_on(call: Call, name: str, tools: Tools) -> bool:
    """Whether a name is a longer form of the one so far, or its next piece: not each of the two is that of a tool."""
    return len(tools) > 0 and None in (tools.get(name), tools.get(call.last_name))


# By order


def _by_order(told: Sequence[Fragment], tools: Tools, finish: Finish) -> list[Call]:
    """The calls, one behind the other; all are refused if anything shows that this may not be their order."""
    calls: list[Call] = []
    clear = True
    for one in told:
        if one.ends and not one.begins:
            for call in calls:
                call.ended = call.ended or one.slot in call.slots
            continue
        last = calls[-1] if calls else None
        if last is None or _begins(last, one, tools):
            for call in calls:
                call.followed = True
            calls.append(Call())
        elif last.block and last.begun and one.slot not in last.slots:
            clear = False
            continue  # A piece of a block that is over, or was lost.
        else:  # It may be of an earlier call.
            told_id = one.key != last.last_key and any(one.key in call.keys for call in calls)
            told_slot = one.slot not in (None, *last.slots) and any(one.slot in call.slots for call in calls)
            starts = last.begun and may_begin(one.arguments)
            announced = any(starts or (call.keys and not one.key) for call in calls[:-1] if not call.begun)
            clear = clear and not (told_id or told_slot or announced)
        calls[-1].add(one)
    calls = _once(_real(calls))
    alone = len(calls) == 1
    if any(one.begins for one in told):
        lost = not all(call.block for call in calls)
    else:
        lost = not all(call.names or (alone and (call.id or len(call.fragments) == 1)) for call in calls)
        lost = lost or any(call.named_late and not call.keys and call.slots == {None} for call in calls)
    slots = {one.slot for one in told}
    if None in slots and len(slots) > 1:
        # What has no index may go on with any of the calls that have one.
        clear = clear and alone and len(slots) == 2 and len(calls[0].keys) < 2
    doubted = not alone or calls[0].odd
    if not clear or lost or _differ(calls) or (doubted and not _all_strict(calls, tools, finish)):
        for call in calls:
            call.refuse(MIXED)
    return calls


def _begins(last: Call, one: Fragment, tools: Tools) -> bool:
    """Whether a fragment begins another call behind the last one: with an event of its own, with another name, or, if
    the last one is complete, with a name, another id or another index."""
    if one.begins and last.block:
        return last.is_complete() or not one.id or (one.id, one.name) != (last.id, last.last_name)
    if one.begins:
        return one.slot not in last.slots
    if one.arguments.strip() and not may_begin(one.arguments):
        return False
    other_id = bool(one.key and last.keys) and one.key not in last.keys
    other_slot = one.slot is not None and last.slots.isdisjoint({one.slot, None})
    if one.name and last.names and one.name != last.last_name:
        return last.begun or not _goes_on(last, one.name, tools)
    if one.name and other_id and (last.begun or len(last.keys) < 2):
        return True
    return bool(other_id or other_slot or (one.name and last.names)) and last.is_complete()


def _real(calls: list[Call]) -> list[Call]:
    """The calls without those that have no arguments and only repeat the name of another."""
    named = {(call.last_name, call.fragments[0].slot) for call in calls if call.begun}
    return [
        call for call in calls if call.begun or call.block or (call.last_name, call.fragments[0].slot) not in named
    ]


def _once(calls: list[Call]) -> list[Call]:
    """The calls without those that repeat one before: its id (without ids, its index), its name and what it means."""
    kept: list[Call] = []
    seen: set[Any] = set()
    for call in calls if len(calls) > 1 else ():
        meaning = meaning_of("".join(call.pieces))
        told = {(place, call.last_name, meaning) for place in call.keys or (frozenset(call.slots),)}
        if seen.isdisjoint(told):
            kept.append(call)
        seen |= told
    return kept or calls


def _differ(calls: list[Call]) -> bool:
    """Whether one id has different arguments, in fragments: one call with two readings."""
    seen: dict[str, Call] = {}
    for call in calls:
        for key in call.keys:
            one = seen.setdefault(key, call)
            if one is not call and len(one.fragments) + len(call.fragments) > 2 and _value(one) != _value(call):
                return True
    return False


def _all_strict(calls: list[Call], tools: Tools, finish: Finish) -> bool:
    """Whether the answer is complete, and the arguments of each call, as they came, are one object that its tool can
    take."""
    for call in calls:
        value = _value(call) if call.pieces else call.fragments[0].given
        tool = mend_name(full_name(call.names, tools), tools).tool
        if not isinstance(value, dict) or not (tool is None or tool.takes(mend_shape(value, tool).value)):
            return False
    return finish is Finish.COMPLETE


def _value(call: Call) -> Json | None:
    return payload.object_in("".join(call.pieces))
