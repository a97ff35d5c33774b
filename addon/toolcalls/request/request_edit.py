"""What is changed in one request, whatever its protocol: ids, arguments, results.

A protocol says where calls and results stand; here it is decided what becomes of them. Calls come in batches
(those of one assistant turn), because an id must tell the calls of a batch apart.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ..ids import restore
from ..mend.arguments import Finish, Mended, mend_arguments
from ..mend.nameless import tool_that_fits
from ..mend.reading.strict import write
from ..mend.shape.preflight import invalid_name
from ..policy import Policy
from ..tools.declared import Tools
from ..work import TooMuchWork, Work
from . import arguments, guidance
from .added_text import with_text
from .edits import Edits, Path
from .pairs import Pairing
from .refusals import Refusals

Json = Mapping[str, Any]

_MOST_MENDING = 100_000
"""Steps: about 25 ms, 300 short arguments or 20 of 3 KB."""
_BROKEN = 160
"""Arguments that are not strict JSON, or a name that is none, however short they are: all that is tried with them."""
_EDIT = 120
"""A change that is written into the text."""
_COMPARED = 4
"""Steps for each declared tool that a call without a name is compared with."""
ARGUMENTS_LEFT = "arguments left as they came"
NAME_LEFT = "name left as it came"
HISTORY_LEFT = "history left as it came"
LEFT = frozenset({ARGUMENTS_LEFT, NAME_LEFT, HISTORY_LEFT})
"""What is counted where there was too much to do."""


@dataclass(slots=True)  # not frozen: that costs three times as much, for each call of each history
class HistoryCall:
    """A call in the history: where it stands, its id, and what a repetition of it must say too."""

    at: Path
    id: str
    entry: Json
    said: object


@dataclass(slots=True)
class HistoryResult:
    """The result of a call. `key` holds its content: a text, or a list of parts of which `part` is a text."""

    at: Path
    id: str
    id_key: str
    entry: Json
    key: str
    part: str = "text"
    failed: bool = False
    """The client itself says that the call failed."""


@dataclass(slots=True)
class RequestEdit:
    policy: Policy
    refusals: Refusals
    known: arguments.KnownGoodArguments
    tools: Tools = field(default_factory=Tools)
    """The tools that the request declares."""
    edits: Edits = field(default_factory=Edits)
    steps: dict[str, int] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    """The refusals that were told in this request, by the id that the client knows."""
    _given: dict[str, str] = field(default_factory=dict)
    """What the upstream is told instead of an id of ours."""
    _shared: set[str] = field(default_factory=set)
    """Ids that several different calls of one batch have: their results are told apart by nothing but order."""
    _noted: dict[str, tuple[str, object]] = field(default_factory=dict)
    """The name and the arguments of each call, by the id that the client knows."""
    _named: dict[str, str] = field(default_factory=dict)
    """The names that calls without one got, by the ids that the client knows."""
    _work: Work | None = field(default_factory=lambda: Work(_MOST_MENDING))
    """What mending arguments may still cost; None where it was too much, and the rest goes up as it came."""
    _read: dict[str, Mended] = field(default_factory=dict)
    """Arguments that were read: the same text comes for the name, for the arguments and for the guidance."""

    @property
    def mends(self) -> bool:
        return self.policy.request

    @property
    def guides(self) -> bool:
        return self.policy.request and self.policy.retry_guidance is not False

    def count(self, step: str, times: int = 1) -> None:
        if times:
            self.steps[step] = self.steps.get(step, 0) + times

    def ids_given_back(self) -> frozenset[str]:
        """The ids that the client knows under others: those of hosts that repeat them are among these."""
        return frozenset(original for ours, original in self._given.items() if ours != original)

    def count_pairing(self, pairing: Pairing) -> None:
        self.count("result moved", len(pairing.moved))
        self.count("repeated result", len(pairing.repeated))
        self.count("result without a call", len(pairing.orphans))

    def settle(self, body: bytes, request: dict[str, Any], at: Path) -> tuple[bytes, dict[str, Any]]:
        """The body with the changes so far, and what it says at a path; the next changes are changes of that."""
        if not self.edits:
            return body, request
        edits, self.edits = self.edits, Edits()
        return edits.applied_to(body), edits.applied_to_value(request, at)

    # Calls

    def take_calls(self, calls: Sequence[HistoryCall], id_key: str) -> list[HistoryCall]:
        """Give the calls of one batch their own ids back, drop those that only repeat; gives the others."""
        if len(calls) > 1:
            calls = self._without_repetitions(calls)
            plain = {call.id for call in calls}
        else:
            plain = set()
        for call in calls:
            original = restore(call.id)
            if original is None:
                continue
            if original in plain:
                # The upstream gave one id to two calls of a turn: it accepts that from nobody.
                self._given[call.id] = call.id
                continue
            plain.add(original)
            self._given[call.id] = original
            self._give_back((*call.at, id_key), original)
        return list(calls)

    def _without_repetitions(self, calls: Sequence[HistoryCall]) -> list[HistoryCall]:
        kept: dict[str, HistoryCall] = {}
        others: list[HistoryCall] = []
        for call in calls:
            first = kept.setdefault(call.id, call)
            if first is call or not call.id:
                others.append(call)
            elif self.mends and same(first.said, call.said):
                self.edits.remove(call.at)
                self.count("repeated call")
            else:
                self._shared.add(call.id)
                others.append(call)
        return others

    def take_arguments(self, at: Path, entry: Json, key: str, name: object) -> None:
        """Arguments that must be a string of JSON."""
        value = entry.get(key)
        if not self.touches(name):
            return
        if isinstance(value, str):
            if self.known.is_object(value):
                return
            read = self._read_arguments(value)
            if read is None:
                self.count(ARGUMENTS_LEFT)
            elif read.text != value:
                self.edits.replace((*at, key), write(read.text or arguments.NOTHING))
                self.count("arguments")
        elif key not in entry:
            self.edits.add(at, key, write(arguments.NOTHING))
            self.count("arguments")
        elif self._may_look_at(value):
            self.edits.rewrite((*at, key), arguments.quoted)
            self.count("arguments")
        else:
            self.count(ARGUMENTS_LEFT)

    def _read_arguments(self, text: str) -> Mended | None:
        """The arguments that were meant; None where the history has more broken ones than can be mended.

        Calls are looked at from the first to the last, so that the next turn leaves the same ones as they are. The
        call is past, and it failed or it ran: what counts is that the upstream can read it. Why the model stopped is
        not known any more, so nothing that was cut off is completed.
        """
        found = self._read.get(text)
        if found is None and self._work is not None:
            try:
                found = self._read[text] = mend_arguments(text, Finish.UNKNOWN, work=self._work)
                if found.status != "valid":
                    self._work.spend(_BROKEN + _EDIT)
            except TooMuchWork:
                self._work = None
        return found

    def _may_spend(self, steps: int) -> bool:
        try:
            if self._work is not None:
                self._work.spend(steps)
        except TooMuchWork:
            self._work = None
        return self._work is not None

    def _may_look_at(self, value: object) -> bool:
        """May every value inside this one be read and written once more?"""
        try:
            if self._work is not None and isinstance(value, dict | list):
                self._work.look_at(value)
        except TooMuchWork:
            self._work = None
        return self._may_spend(_BROKEN)

    def take_object(self, at: Path, entry: Json, key: str, name: object) -> None:
        """Arguments that must be an object."""
        value = entry.get(key)
        if isinstance(value, dict) or not self.touches(name):
            return
        if isinstance(value, str):
            read = self._read_arguments(value)
            if read is None:
                self.count(ARGUMENTS_LEFT)
                return
            self.edits.replace((*at, key), read.text or arguments.NOTHING)
        elif key in entry:
            self.edits.rewrite((*at, key), arguments.one_object)
        else:
            self.edits.add(at, key, arguments.NOTHING)
        self.count("arguments")

    def take_name(self, at: Path, entry: Json, identity: str, given: object) -> str:
        """The name of a call. One that is none gets that of the one tool that its arguments fit, else the invalid
        tool's: hosts refuse a history with an empty name for ever, and its result needs a call to answer."""
        name = entry.get("name")
        if not self.mends or is_name(name):
            return name if isinstance(name, str) else ""
        if not self._may_spend(_BROKEN + _COMPARED * len(self.tools)):
            self.count(NAME_LEFT)
            return ""
        tool = tool_that_fits(self._object(given), self.tools)
        if tool is not None and tool.namespace is None and is_name(tool.name):
            good = tool.name
        else:
            good = invalid_name(self.policy.invalid_tool, self.tools)
        if "name" in entry:
            self.edits.replace((*at, "name"), write(good))
        else:
            self.edits.add(at, "name", write(good))
        self._named[identity] = good
        self.count("name")
        return good

    def note_call(self, identity: object, name: object, given: object) -> None:
        """Remember a call for the guidance that its result may get."""
        if self.guides and isinstance(identity, str) and isinstance(name, str):
            self._noted[identity] = name, given

    def _object(self, given: object) -> dict[str, Any] | None:
        """The arguments of a call as an object, where they are one or can be mended."""
        read = self._read_arguments(given) if isinstance(given, str) else None
        value = read.value if read is not None else given
        return value if isinstance(value, dict) else None

    def _lacking(self, identity: str) -> str | None:
        """What a call lacks, by the id that the client knows."""
        name, given = self._noted.get(identity, ("", None))
        if not name or (isinstance(given, str) and self._read_arguments(given) is None):
            return None
        return guidance.lacking(name, self._object(given) or {}, self.tools, self.policy)

    def touches(self, name: object) -> bool:
        return self.mends and (not isinstance(name, str) or self.policy.touches(name))

    # Results

    def take_results(self, results: Sequence[HistoryResult]) -> None:
        """The results that answer one batch."""
        met: dict[str, HistoryResult] = {}
        for result in results:
            first = met.setdefault(result.id, result)
            if first is not result and self.mends and result.id not in self._shared and _same_result(first, result):
                self.edits.remove(_dispensable(first, result).at)
                self.count("repeated result")
                if _dispensable(first, result) is result:
                    continue
                met[result.id] = result
            self._take_result(result)

    def _take_result(self, result: HistoryResult) -> None:
        original = self._given.get(result.id)
        if original is None:
            original = restore(result.id)
        if original is not None and original != result.id:
            self._give_back((*result.at, result.id_key), original)
        if result.id in self._named and "name" in result.entry:
            self.edits.replace((*result.at, "name"), write(self._named[result.id]))
        if self.mends:
            self._tell(result)

    def _tell(self, result: HistoryResult) -> None:
        reason = self.refusals.reason(result.id)
        content = result.entry.get(result.key)
        if reason is not None:
            self.reasons[result.id] = reason
        line = self._line(result, reason, content)
        if not line or guidance.says(content, line) or guidance.told(content) or not self._may_spend(_EDIT):
            return
        self.count("reason in a result")
        place = (*result.at, result.key)
        if isinstance(content, str):
            self.edits.replace(place, write(f"{content}\n\n{line}" if content else line))
        elif isinstance(content, list):
            self.edits.rewrite(place, partial(with_text, behind=line, part=result.part))
        elif result.key in result.entry:
            self.edits.replace(place, write(line))
        else:
            self.edits.add(result.at, result.key, write(line))

    def restore_id(self, place: Path, identity: str) -> None:
        """Give an id of ours back to the upstream; any other stays."""
        original = restore(identity)
        if original is not None:
            self._given[identity] = original
            self._give_back(place, original)

    def _line(self, result: HistoryResult, reason: str | None, content: object) -> str:
        """What a result is to say besides; empty where it is nothing."""
        every = self.policy.retry_guidance is True
        blames = self.guides and self._work is not None and guidance.blames_arguments(content, failed=result.failed)
        if reason is not None:
            if every or blames or (self.guides and guidance.concerns_arguments(reason)):
                return guidance.rewrite(None if guidance.says(content, reason) else reason)
            return "" if guidance.says(content, reason) else guidance.refused(reason)
        missing = self._lacking(result.id) if blames or every else None
        if blames or (every and missing):
            return guidance.rewrite(missing)
        failed = every and (result.failed or guidance.plainly_failed(content, result.part))
        return guidance.correct() if failed else ""

    def _give_back(self, place: Path, original: str) -> None:
        self.edits.replace(place, write(original))
        self.count("id")


def is_name(name: object) -> bool:
    """Can this be the name of a tool? It has a letter or a digit."""
    return isinstance(name, str) and any(map(str.isalnum, name))


def same(one: object, other: object) -> bool:
    """As JSON, so that true is not 1 and the order counts. Written only where they are equal: one may be long."""
    return one == other and json.dumps(one) == json.dumps(other)


def _same_result(one: HistoryResult, other: HistoryResult) -> bool:
    return same(_said(one.entry), _said(other.entry))


def _said(entry: Json) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key not in ("cache_control", "id")}


def _dispensable(first: HistoryResult, second: HistoryResult) -> HistoryResult:
    """Of two equal results the later one, unless the client marked it as the end of what is to be cached."""
    marked = second.entry.get("cache_control") is not None and first.entry.get("cache_control") is None
    return first if marked else second
