"""Which call a fragment belongs to if calls are items with ids, each told by several events.

Servers give one item several ids, and several items one id or one index. What an event says as a whole is believed;
pieces that may belong to two calls count for neither, and a call that only they tell does not run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from . import payload
from .call import Call
from .fragments import is_empty
from .parts import Fragment
from .payload import brief_meaning
from .reasons import MIXED

_MOST_COMPARED: Final = 8
"""How many calls the end of an item is compared with by what they mean, if its ids match none of them."""


def by_item(told: Sequence[Fragment]) -> list[Call]:
    """The calls, if some fragments name the items that they are about."""
    named = {one.item for one in told if one.item and (one.begins or one.ends)}
    calls: list[Call] = []
    of_item: dict[str, list[Call]] = {}
    doubted: set[Call] = set()
    for one in told:
        owners = _owners(one, calls, of_item.get(one.item, []), named)
        if owners is None:
            continue  # A piece of an item that has ended.
        if len(owners) > 1:
            doubted.update(owners)
            continue
        if not owners:
            calls.append(call := Call())
        elif (
            one.item and one.item not in named and one.item in (call := owners[0]).keys and one.item != call.last_key
        ):
            doubted.add(call)  # Its ids change with every event, so this one names another call.
        else:
            call = owners[0]
        call.add(one)
        if one.item and call not in of_item.setdefault(one.item, []):
            of_item[one.item].append(call)
    for end in [call for call in calls if not call.block]:
        beginning = _beginning_of(end, calls)
        if beginning is not None:
            calls = [call for call in calls if call is not end and call is not beginning]
            calls.append(joined := Call())
            for one in sorted([*beginning.fragments, *end.fragments], key=lambda one: one.number):
                joined.add(one)
            doubted.update({joined} if doubted & {beginning, end} else ())
    for stray in [call for call in calls if not (call.names or call.block)]:
        rest = [call for call in calls if call.names]
        known = not stray.says or any(_mean_the_same(call, stray.says) for call in rest)
        if rest:
            calls.remove(stray)
            doubted.update(() if known else rest)
    for call in doubted:
        call.pieces = []
        if not any(
            isinstance(value := payload.read_strict(payload.text_of(one.given)), dict) and value
            for one in call.fragments
        ):
            call.refuse(MIXED)
    return calls


def name_by_item(call: Call) -> None:
    """Give a call the id that its last events give it; without any, that of its item."""
    told = [one for one in call.fragments if one.id]
    told.sort(key=lambda one: (not one.ends, not one.again))
    call.id = told[0].id if told else call.id or next((one.item for one in call.fragments if one.item), "")


def _owners(one: Fragment, calls: list[Call], mine: list[Call], named: set[str]) -> list[Call] | None:
    """The calls that a fragment may belong to, none if it begins one; None if its item has ended.

    `mine`: those of its item. `named`: the ids that items begin or end with. A fragment with another id belongs where
    it came.
    """
    going = [call for call in mine if not call.ended]
    if one.begins:
        return [call for call in going[-1:] if _may_be(call, one)]
    own = going[0] if len(going) == 1 else None
    if own is not None and one.ends and _may_be(own, one):
        return going
    if own is not None and not one.ends and one.item in named and (one.slot is None or own.home in (None, one.slot)):
        return going
    rest = [call for call in calls if not call.ended]
    if one.ends:
        return _ended_by(one, going, rest)
    if one.item in named and (going or not mine):
        return going + [call for call in rest if own is not None and call is not own and call.home == one.slot]
    if one.item in named and one.slot in (None, mine[-1].home):
        return None
    here = [call for call in rest if call.block and one.slot in (None, call.home)]
    strays = [call for call in rest if not (call.block or call.names or call.stated)]
    return here or [call for call in strays if call in going or (not one.item and call.home == one.slot)][-1:]


def _ended_by(one: Fragment, going: list[Call], rest: list[Call]) -> list[Call]:
    """The call that an event ends which repeats it as a whole. `going`: the calls of its item that have not ended;
    `rest`: all that have not ended."""
    by_id = [call for call in rest if one.id and one.id in call.ids]
    fits = [call for call in going if _may_be(call, one)]
    both = [call for call in by_id if call in fits]
    if both or len(by_id) == 1 or fits:
        return (both or (by_id if len(by_id) == 1 else fits))[-1:]
    text = payload.text_of(one.given)
    here = [call for call in rest if one.name and call.last_name in ("", one.name) and call.home == one.slot]
    return here if len(here) == 1 and text.startswith("".join(here[0].pieces)) else []


def _may_be(call: Call, one: Fragment) -> bool:
    """Whether a fragment may be about a call, by their ids or, if they have none, by their names."""
    if one.id and call.ids:
        return one.id in call.ids
    return not one.name or call.last_name in ("", one.name)


def _beginning_of(end: Call, calls: list[Call]) -> Call | None:
    """The call that began with another id, and of which this is the rest."""
    open_calls = [call for call in calls if call.block and not call.ended and call.first.number < end.first.number]
    alike = [call for call in open_calls if end.last_name in ("", call.last_name)]
    for call in alike:
        here = call.home == end.home and (call.home is not None or len(open_calls) == 1)
        if (here and not (call.pieces and end.says)) or (call.pieces and _mean_the_same(call, end.says)):
            return call
    return next((call for call in alike if end.ended and not call.pieces), None)


def _told_by(call: Call) -> list[str]:
    """All that its events say to be its arguments."""
    return ["".join(call.pieces), *(payload.text_of(one.given) for one in call.fragments if one.given is not None)]


def _mean_the_same(call: Call, text: str) -> bool:
    texts = dict.fromkeys(filter(None, _told_by(call)))
    if is_empty(text) or not texts:
        return False
    return text in texts or brief_meaning(text) in map(brief_meaning, texts)


def restated(calls: list[Call], whole: list[Fragment]) -> list[Fragment]:
    """Tell the calls what an event that repeats the answer says about them; the fragments that are none of them."""
    left = list(calls)
    for about in (_has_id, _is_open_and_means):
        rest: list[Fragment] = []
        for one in whole:
            call = next((call for call in left if call.last_name in ("", one.name) and about(call, one)), None)
            if call is None or not one.again:
                rest.append(one)
                continue
            left.remove(call)
            call.add(one)
            call.ended = True
        whole = rest
    return whole


def _has_id(call: Call, one: Fragment) -> bool:
    return one.id in call.ids or (bool(one.item) and one.item in call.keys)


def _is_open_and_means(call: Call, one: Fragment) -> bool:
    return not call.ended and _mean_the_same(call, payload.text_of(one.given))
