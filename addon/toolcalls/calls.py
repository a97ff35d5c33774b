"""From what the events said about calls to the calls themselves: pure functions over all fragments of an answer.

Nothing is decided while fragments arrive: they are kept, and read together when the calls are wanted.

* *By place.* If every fragment says where it belongs (its id; or its index; or a block that is open), and nothing
  contradicts that, each call stands for itself, and may be mended.
* *By item.* If calls are items with ids, see `calls_by_item.py`.
* *By order.* Otherwise a fragment begins a call, or continues the last one. A single call may still be mended. Of
  several, all run or none: all if each is strict JSON that its tool can take, and the answer is complete. If an id or
  an index points to an earlier call, none runs: even valid JSON may have got the words of another call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from . import payload
from .call import Call as Call
from .calls_by_item import by_item, name_by_item, restated
from .fragments import begins_midway, full_arguments, full_name, may_begin, mixed, why_mixed, with_pairs
from .mend.arguments import mend_arguments
from .mend.finish import Finish
from .mend.lexer import Lexer
from .mend.names import mend_name
from .mend.shape import mend_shape
from .partial_args import put_together
from .parts import Fragment, Json
from .payload import meaning_of
from .reasons import CUT_INSIDE, EVENTS_CONTRADICTORY, MIXED, START_CONTRADICTED
from .sizes import MOST_CALLS, LimitReached
from .tools.declared import Tools

INPUT_FROM_START: Final = "input from the start event"
CARRIERS: Final = ("done", "the item", "the announced item", "the response")
"""The events that repeat a call as a whole, the most reliable first."""


def assemble(fragments: Sequence[Fragment], tools: Tools, finish: Finish) -> list[Call]:
    """The calls of these fragments, in order; what must not run is refused. `finish`: how the answer ended."""
    for number, one in enumerate(fragments):
        one.number = number
    if any(one.partial_args is not None for one in fragments):
        fragments = put_together(fragments)
    whole = [one for one in fragments if one.whole or one.again]
    told = [one for one in fragments if not (one.whole or one.again)]
    if len(whole) > MOST_CALLS:
        raise LimitReached
    calls = _placed(told, tools, finish)
    if calls is None:
        calls = _by_order(told, tools, finish)
    elif any(one.item for one in told):
        whole = restated(calls, whole)
    for one in whole:
        calls.append(call := Call(ended=True))
        call.add(one)
    calls = sorted((call for call in calls if call.block or not call.empty), key=lambda call: call.first.number)
    if len(calls) > MOST_CALLS:
        raise LimitReached
    for call in calls:
        _settle(call, tools, finish)
    return calls


def are_certain(fragments: Sequence[Fragment], tools: Tools, *, ended: bool = True) -> bool:
    """Whether these are calls that are valid and certain as they came: no reason is needed. `ended`: all of them must
    have ended, with an event of their own."""
    placed = all(one.begins or one.placed or one.item for one in fragments)
    calls = _placed(fragments, tools, Finish.CUT) if placed else None
    for call in calls or ():
        _settle(call, tools, Finish.CUT)
    return bool(calls) and all(_is_certain(call, ended=ended) for call in calls or ())


def _is_certain(call: Call, *, ended: bool) -> bool:
    value = payload.read_encoded(call.arguments) if call.name and not call.refusal else None
    if not isinstance(value, dict):
        return False
    # Behind an empty object, and behind a beginning that says nothing, the real one may follow.
    return bool((call.ended and (value or call.pieces or call.stated)) or (value and not ended))


def look_complete(fragments: Sequence[Fragment], tools: Tools) -> bool:
    """Whether these are calls without events for their ends that are certain, and whose brackets are all closed."""
    if any(last.whole or last.begins or last.ends or last.item for last in fragments[-1:]):
        return False
    calls = _by_place(fragments, tools, Finish.COMPLETE)
    return bool(calls) and all(call.looks_complete() for call in calls or ())


def _placed(told: Sequence[Fragment], tools: Tools, finish: Finish) -> list[Call] | None:
    """The calls, if the fragments themselves say to which they belong; else None."""
    if any(one.item for one in told):
        return by_item(told)
    return _by_place(told, tools, finish) if told else []


# By place


def _by_place(told: Sequence[Fragment], tools: Tools, finish: Finish) -> list[Call] | None:
    """The calls, if every fragment says where it belongs and nothing contradicts that; else None."""
    if any(one.begins for one in told):
        return _at_places(told, tools, [one.slot for one in told], blocks=True)
    keys = [one.key for one in told]
    calls = _at_places(told, tools, keys, by_keys=True) if all(keys) else None
    calls = _at_places(told, tools, [one.slot for one in told]) if calls is None else calls
    odd = [call for call in calls or () if len(call.keys) > 1 or call.named_late]
    if odd and not (finish is Finish.COMPLETE and all(_is_strict(call, tools) for call in odd)):
        return None
    return calls


def _at_places(
    told: Sequence[Fragment], tools: Tools, at: Sequence[Any], *, blocks: bool = False, by_keys: bool = False
) -> list[Call] | None:
    places: dict[Any, Call] = {}
    calls: list[Call] = []
    for one, place in zip(told, at, strict=True):
        if place is None or not (one.placed or len(places) < 2):
            return None
        call = places.get(place)
        if one.begins or (call is None and not blocks):
            if call is not None:
                return None
            for earlier in calls if blocks else ():
                earlier.followed = True
            calls.append(call := Call())
            places[place] = call
        elif call is None:
            if one.ends and not (one.arguments or one.given):
                continue  # The end of something else, or of a call that has ended.
            return None
        elif not continues(call, one, tools):
            again = bool(one.key and one.name) and one.key in call.keys and one.name == call.last_name
            if again and meaning_of(one.arguments) == meaning_of("".join(call.pieces)):
                continue
            if not (again and by_keys and call.is_complete(another=True)):
                return None
            calls.append(call := Call())  # Sent again, or another call with this id.
            places[place] = call
        elif one.key and one.key not in call.keys and any(one.key in other.keys for other in calls):
            return None  # The id is that of a call at another place.
        call.add(one)
        call.overlaps = call.overlaps or len(places) > 1
        if blocks and one.ends:
            del places[place]
    if _contradicted(calls, by_keys=by_keys) or (by_keys and _differ(calls)):
        return None
    return calls if blocks else [call for call in calls if call.begun or not _only_names(call, calls)]


def continues(call: Call, one: Fragment, tools: Tools) -> bool:
    """Whether this fragment can be the next of the call at its place: no second call begins in it."""
    if one.key and call.keys and one.key not in call.keys and (one.begins or one.name or may_begin(one.arguments)):
        return False
    if (
        (one.key in call.keys and one.key != call.last_key)
        or one.slot not in call.slots
        or (one.key and not call.keys)
    ):
        return False
    named = len(call.names)
    if not one.name or (not named and call.begun and one.placed and not one.arguments.strip()):
        return named < 2 or not call.begun  # The name may come behind the arguments.
    if one.name == call.last_name:
        begins = call.begun and may_begin(one.arguments) and call.is_complete(another=True)
        return named == len(call.fragments) and not begins
    return not call.begun and not _named_otherwise(call, one, tools)


def _named_otherwise(call: Call, one: Fragment, tools: Tools) -> bool:
    """Whether a name is that of another call: not the name so far, a longer form of it, or its next piece."""
    longer = one.name.startswith(call.last_name) or tools.get("".join([*call.names, one.name])) is not None
    if longer or call.begun:
        return not longer
    if len(tools):
        return tools.get(one.name) is not None and tools.get(call.last_name) is not None
    return one.slot is None


def _contradicted(calls: list[Call], *, by_keys: bool) -> bool:
    """Whether the calls show that the fragments of two of them were mixed."""
    if any(not call.names and call.begun for call in calls):
        return True
    if len(calls) < 2:
        return False
    if by_keys and any(begins_midway(call.pieces) for call in calls):
        return True
    # Words behind a complete call may be those of another that is not complete before them.
    return any(
        call.block or (other is not call and (other.last_words > words or _value(other) is None))
        for call in calls
        if (call.overlaps or not call.block) and (words := _words_behind(call)) is not None
        for other in calls
    )


def _words_behind(call: Call) -> int | None:
    """The number of the fragment in which something follows the complete arguments; None if nothing does."""
    if len(call.pieces) < 2 or _value(call) is not None:
        return None
    lexer = Lexer()
    for one in call.fragments:
        if lexer.closed and one.arguments.strip():
            return one.number
        lexer.follow(one.arguments)
    return None


# By order


def _by_order(told: Sequence[Fragment], tools: Tools, finish: Finish) -> list[Call]:
    calls: list[Call] = []
    contradicted = False
    for one in told:
        last = calls[-1] if calls else None
        if one.ends and not one.begins and one.given is None:
            for call in calls:
                call.ended = call.ended or one.slot in call.slots
            continue
        if last is None or _begins(last, one, tools):
            if last is not None:
                last.followed = True
            calls.append(last := Call())
        elif last.block and one.slot not in last.slots and last.begun:
            contradicted = True
            continue  # A piece of a block that is over, or was lost.
        elif (
            any(_points_at(call, one, last) for call in calls[:-1])
            or (one.key in last.keys and one.key != last.last_key)  # Two calls were taken for one.
            or (
                may_begin(one.arguments)
                and last.begun
                and not last.awaits_a_value()
                and any(not call.begun for call in calls[:-1])
            )
        ):
            contradicted = True
        last.add(one)
    real = [call for call in calls if call.begun or call.block or not _only_names(call, calls)]
    blocks = any(one.begins for one in told)
    alone = len(real) == 1
    lost = any(not (call.block if blocks else call.names or (alone and _stands_alone(call))) for call in real)
    odd = lost or any(1 < sum(map(bool, call.names)) < len(call.fragments) or len(call.keys) > 1 for call in real)
    real = _once(real)
    several = len(real) > 1
    changing = any(len(call.keys) > 1 or (len(call.slots - {None}) > 1 and call.keys) for call in real)
    if (several or changing) and len({slot is None for call in real for slot in call.slots}) > 1:
        # `{"index": 0, …}`, `{"index": 1, …}`, and then arguments without an index: they may go on with either call.
        contradicted = True
    late = any(call.block and not call.first.begins for call in real)
    doubted = several or late or (odd and bool(len(tools)))
    strict = finish is Finish.COMPLETE and not lost and all(_is_strict(call, tools) for call in real)
    if contradicted or (doubted and not strict) or _differ(real):
        for call in real:
            call.refuse(MIXED)
    for call in real:
        if call.named_late and not (finish is Finish.COMPLETE and _fits_its_name(call, tools)):
            call.refuse(MIXED)
    return real


def _begins(last: Call, one: Fragment, tools: Tools) -> bool:
    """Whether a fragment begins another call behind the last one."""
    starts = not one.arguments.strip() or may_begin(one.arguments)
    if one.begins:
        again = bool(one.id) and (one.id, one.name) == (last.id, last.last_name)
        if not last.block:
            return one.slot not in last.slots
        return not (again and not last.is_complete()) and not last.empty
    if one.name and not (last.names or one.arguments.strip()) and (last.keys or one.slot is not None):
        return False  # The name arrives after the arguments.
    if one.key and one.key in last.keys:
        return bool(one.name and last.names) and starts and last.is_complete()
    if one.slot is not None and last.slots.isdisjoint({one.slot, None}) and one.name:
        return True
    if one.name and last.names and one.name != last.last_name and starts:
        return _named_otherwise(last, one, tools)
    if one.name and starts and last.is_complete(another=True):
        return True
    if one.key and last.keys and one.name:
        return starts and (last.begun or len(last.keys) < 2)
    return bool(one.key and last.keys) and starts and last.is_complete()


def _points_at(call: Call, one: Fragment, last: Call) -> bool:
    """Whether the key or the slot of a fragment is that of an earlier call, and not that of the last one."""
    if one.key and one.key in call.keys and one.key not in last.keys:
        return True
    return one.slot is not None and one.slot in call.slots and one.slot not in last.slots


def _only_names(call: Call, calls: list[Call]) -> bool:
    """Whether a call without arguments only repeats the name of another."""
    return any(
        one is not call and one.begun and one.last_name == call.last_name and one.home == call.home for one in calls
    )


def _stands_alone(call: Call) -> bool:
    """Whether nothing of a call without a name can be missing but the name."""
    return bool(call.id) or len(call.fragments) == 1


def _once(calls: list[Call]) -> list[Call]:
    """The calls without those that repeat one before: its id, its name and what it means."""
    kept: list[Call] = []
    meanings: dict[int, tuple[bool, bytes]] = {}
    for call in calls:
        alike = [one for one in kept if one.last_name == call.last_name and _share_a_place(one, call)]
        for one in [call, *alike] if alike else ():
            meanings.setdefault(id(one), meaning_of("".join(one.pieces)))
        if not any(meanings[id(one)] == meanings[id(call)] for one in alike):
            kept.append(call)
    return kept


def _share_a_place(one: Call, call: Call) -> bool:
    """Whether two calls have an id in common; without ids, whether they are at the same index."""
    if one.keys or call.keys:
        return not one.keys.keys().isdisjoint(call.keys)
    return one.slots == call.slots


def _differ(calls: list[Call]) -> bool:
    """Whether one id has different arguments, in fragments: one call with two readings."""
    seen: dict[str, Call] = {}
    for call in calls:
        for key in call.keys:
            one = seen.setdefault(key, call)
            if one is not call and len(one.fragments) + len(call.fragments) > 2 and _value(one) != _value(call):
                return True
    return False


def _is_strict(call: Call, tools: Tools) -> bool:
    """Whether the arguments, as they came, are one object that the tool can take."""
    given = (one.given for one in call.fragments if one.given is not None)
    value = _value(call) if call.pieces else next(given, None)
    return isinstance(value, dict) and _suits(value, call, tools)


def _fits_its_name(call: Call, tools: Tools) -> bool:
    """Whether the tool can take the arguments that came before its name: as they came, if an id may be another's."""
    if call.keys:
        return _is_strict(call, tools)
    value = mend_arguments("".join(call.pieces), Finish.COMPLETE).value
    return value is None or _suits(value, call, tools)


def _suits(value: Json, call: Call, tools: Tools) -> bool:
    tool = mend_name(full_name(call.names, tools), tools).tool
    return tool is None or tool.takes(mend_shape(value, tool).value)


def _value(call: Call) -> Json | None:
    return payload.object_in("".join(call.pieces))


# One call


def _settle(call: Call, tools: Tools, finish: Finish) -> None:
    """The name, the arguments and the finish of a call; a refusal, if its own fragments are not of one call."""
    if any(one.item for one in call.fragments):
        name_by_item(call)
    call.name = full_name(call.names, tools)
    text, steps = full_arguments(call.pieces)
    value = payload.read_strict(text)
    if call.stated:
        chosen, more = _agreed(call, text)
    else:
        chosen, more = _with_start(call, text, value, finish)
    own = chosen is text
    if own and not steps and len(call.pieces) > 1 and not isinstance(value, dict) and mixed(call.pieces):
        call.refuse(why_mixed(text))
    call.arguments, call.steps = chosen, (*call.steps, *(steps if own else ()), *more)
    call.finish = _finish_of(call, chosen, finish)
    if not chosen and call.finish is Finish.COMPLETE and any(one.given == {} for one in call.fragments):
        call.arguments = "{}"  # The event that began it says that it has no arguments.


def _with_start(call: Call, text: str, value: Any, finish: Finish) -> tuple[str, tuple[str, ...]]:
    """The arguments of a call whose beginning may have arguments, and what had to be done for them."""
    told = [one.given for one in call.fragments if one.given not in (None, {}, "")]
    given = next((one for one in told if one or not text.strip()), None)
    if given is None or (isinstance(value, dict) and value):
        other = payload.read_strict(given) if isinstance(given, str) else given
        if payload.contradict((value, other)):
            call.refuse(START_CONTRADICTED)
        return text, ()
    if text.strip() not in ("", "{}"):
        return text, ()
    if not call.ended and finish is not Finish.COMPLETE:
        call.refuse(CUT_INSIDE)  # Fragments with other arguments may have been cut off.
    return payload.text_of(given), (INPUT_FROM_START,)


def _agreed(call: Call, text: str) -> tuple[str, tuple[str, ...]]:
    """One text for the arguments, of a call that events repeat as a whole, and what had to be done to choose it.

    The pieces count, unless they are no object and another event has one.
    """
    told = {_carrier(one): payload.text_of(one.given) for one in call.fragments if one.given is not None}
    told = {kind: told[kind] for kind in CARRIERS if kind in told and (told[kind] or kind != CARRIERS[2])}
    if all(other in (text, with_pairs(text)) for other in told.values()):
        return text, ()
    texts = [("", text), *told.items()] if text else [(kind, other) for kind, other in told.items() if other]
    objects = [(kind, other, read) for kind, other in texts if isinstance(read := payload.read_strict(other), dict)]
    if payload.contradict(read for *_, read in objects):
        call.refuse(EVENTS_CONTRADICTORY)
    if objects:
        # Some servers send an empty object before, or instead of, the real one.
        kind, chosen, _ = next((one for one in objects if one[2]), objects[0])
    else:
        kind, chosen = texts[0] if texts else ("", text)
        for other, longer in texts[1:]:
            if len(longer) > len(chosen) and chosen in longer:
                kind, chosen = other, longer
    if not texts:
        return text, ()
    if not kind:
        return text, ("carriers made to agree",)
    return chosen, (f"arguments taken from {kind}" if text else f"arguments only in {kind}",)


def _carrier(one: Fragment) -> str:
    """Which of the events that repeat a call this is."""
    return CARRIERS[3 if one.again else 2 if one.begins else 1 if one.ends else 0]


def _finish_of(call: Call, text: str, finish: Finish) -> Finish:
    """How the answer ended for a call."""
    if any(one.cut for one in call.fragments):
        return Finish.CUT
    if call.followed and text.strip():
        # The server has sent all of it, but the model may have left out a bracket.
        return Finish.UNKNOWN
    items = any(one.item for one in call.fragments)
    if call.block and not (call.ended or call.stated) and (call.pieces or items) and finish is Finish.COMPLETE:
        return Finish.UNKNOWN  # The reason came in the middle of the call: more may follow.
    if (call.block or call.first.again) and call.ended and call.followed:
        return Finish.COMPLETE  # Anthropic sends a call without arguments as a block without fragments.
    return finish
