"""Decides which result answers which call of a history, whatever its protocol, and puts it there.

A result in the position that the protocol wants counts first. A result elsewhere answers its call only if no other
call of the history has that id: ids repeat (`functions.Bash:0`), and then only the position tells results apart.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence, Set

from ..mend.strict import write
from .calls import Change
from .history import LOST, SERVER_CALLS, History, Json, PastCall, PastResult, Turn, same

_SECOND = "[toolfix] Another result of a call that has one already"


def arrange(history: History, change: Change) -> None:
    """Let every call have its result, and every result its call, where the host wants them."""
    repeated = history.repeated(change)
    ids = [call.id for turn in history.turns for call in turn.calls if call.id]
    displaced = [result for turn in history.turns for result in turn.results if result.displaced]
    is_sound = all(map(history.is_paired, history.turns)) and len(set(ids)) == len(ids) and not displaced
    if history.is_complete() and (repeated or not is_sound):
        copies = _copies(history, change)
        if copies or repeated:
            change.count("repeated call", len(copies))
            change.count("repeated message", len(repeated))
            history.rewrite({*(id(call.entry) for call in copies), *map(id, repeated)}, {}, {})
            history.read()
        history.give_own_ids(change)
        _pair(history, change)


def _copies(history: History, change: Change) -> list[PastCall]:
    """The calls that repeat another one: its id, its tool and its arguments.

    One of them stays, if possible the one behind reasoning; or one in each turn that is followed by its result.
    """
    found: dict[tuple[int, str, str], list[tuple[PastCall, int]]] = defaultdict(list)
    called = Counter(call.id for turn in history.turns for call in turn.calls)
    answered: set[tuple[int, str]] = set()
    number = 0
    before: Turn | None = None
    for turn in history.turns:
        # A message of calls that is there twice in a row is one turn.
        if before is None or before.results or before.spoken or not same(before.home, turn.home):
            number += 1
        before = turn
        if history.by_number and history.is_paired(turn):
            continue
        answered.update((number, result.id) for result in turn.results)
        for call in turn.calls:
            if call.id and called[call.id] > 1 and change.touches(call.name):
                spans = history.has_ids and not history.turn_is_message
                found[-1 if spans else number, call.id, write(call.compared)].append((call, number))
    copies: list[PastCall] = []
    for alike in found.values():
        kept = {number: call for call, number in reversed(alike) if (number, call.id) in answered}
        if len(kept) < len(alike):
            stays = [call for call, _ in alike if call.behind_reasoning][:1] or [*kept.values()] or [alike[0][0]]
            copies += [call for call, _ in alike if call not in stays]
    return copies


def _pair(history: History, change: Change) -> None:
    turns = history.turns
    found: list[PastResult] = []
    """The results that answer no call in their position."""
    for together in [turns] if history.results_anywhere else [[turn] for turn in turns]:
        found += [one for one in _match(together, history, change) if not one.pair.startswith(SERVER_CALLS)]
    left = {call.pair for turn in turns for call in turn.calls if call.left and call.pair}
    """What calls that get no result have in common with results: those stay too."""
    shared = Counter(pair for turn in turns for pair in {call.pair for call in turn.calls if not call.left})
    strays = [one for one in found if one.pair not in left and (one.pair in shared or not one.turn.left)]
    held = {result.pair for result in found} & left
    first = {result.pair: result for result in reversed(strays)}
    answers: dict[str, list[PastResult]] = defaultdict(list)
    """The results that calls have or get, by what they have in common."""
    lacking: list[str] = []
    moved: dict[int, PastResult] = {}
    behind: dict[int, list[Json]] = defaultdict(list)
    for turn, call in ((one, call) for one in turns for call in one.calls if not call.left):
        result = call.result or (first.get(call.pair) if shared[call.pair] == 1 else None)
        if result is not None:
            answers[call.pair].append(result)
            if result.displaced or call.result is None:
                moved[id(result.entry)] = result
                behind[id(turn.end)].append(result.entry)
        elif call.pair not in held:
            lacking.append(call.pair)
            behind[id(turn.end)].append(history.cancelled(call))
    change.count("cancelled call", len(lacking))
    change.count("result moved", len(moved))
    strays = [result for result in strays if id(result.entry) not in moved]
    words = _words_of(strays, answers, set(lacking), change)
    history.rewrite({*moved, *(id(result.entry) for result in strays)}, behind, words)


def _match(turns: Sequence[Turn], history: History, change: Change) -> list[PastResult]:
    """Give each call the result in its position, and mark the calls that get no other; returns all other results.

    If calls have the same id, it takes a result for each to tell which of them is answered. Where results have to
    follow their turn, a turn is left as a whole.
    """
    strays: list[PastResult] = []
    waiting: dict[str, deque[PastCall]] = defaultdict(deque)
    for turn in turns:
        for call in turn.calls:
            waiting[call.pair].append(call)
        own = set(map(id, turn.calls))
        for result in turn.results:
            here = not result.pair
            if result.pair:
                if not waiting[result.pair]:
                    strays.append(result)
                    continue
                answered = waiting[result.pair].popleft()
                answered.result = result
                here = id(answered) in own
            if here and not result.displaced:
                turn.end, turn.home = result.entry, result.home
            result.displaced = result.displaced and not history.results_anywhere
    calls = [call for turn in turns for call in turn.calls]
    called = Counter(call.pair for call in calls)
    for call in calls:
        told = called[call.pair] == 1 or not waiting[call.pair]
        ours = call.takes_result and not call.pair.startswith(SERVER_CALLS) and change.touches(call.name)
        call.left = not (call.pair and told and ours)
    if calls and not history.results_anywhere:
        [turn] = turns
        turn.left = any(one.left and one.takes_result for one in calls) or not all(one.pair for one in turn.results)
        for call in calls:
            call.left = call.left or turn.left
    return strays


def _words_of(
    left: Sequence[PastResult], answers: Mapping[str, list[PastResult]], lacking: Set[str], change: Change
) -> dict[int, list[str]]:
    """The words of the results that go, by the identity of the message or item behind which they are kept.

    `answers`: the results that calls have or get. `lacking`: the calls that get none.
    """
    known = {one.pair: {result.words for result in answers.get(one.pair, ())} for one in left}
    words: dict[int, list[str]] = defaultdict(list)
    for result in left:
        said, second = result.words, result.pair in answers and result.pair not in lacking
        # While a call of this id lacks its result, the same words are no repetition: most results are "ok".
        if result.pair not in lacking and said in known[result.pair]:
            change.count("repeated result")
            if second and "cache_control" in result.entry:
                answers[result.pair][0].entry.setdefault("cache_control", result.entry["cache_control"])
            continue
        known[result.pair].add(said)
        change.count("another result" if second else "result without a call")
        place = result.turn.home if result.turn.calls and not result.displaced else result.home
        if said.strip():
            words[id(place)].append(f"{_SECOND if second else LOST}:\n{said}")
    return words
