"""The changes to one request, whatever its protocol: ids, arguments, results.

The module of a protocol finds the calls and results; this one decides what happens to them. Calls are passed in
batches (the calls of one assistant turn), because ids must be unique within a batch.
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
"""The steps for mending: about 25 ms, 300 short arguments or 20 of 3 KB."""
_BROKEN = 160
"""Steps for all attempts to mend arguments that are not strict JSON, or a name that is none, however short."""
_EDIT = 120
"""Steps for a change that is written into the text."""
_COMPARED = 4
"""Steps for each declared tool that a call without a name is compared with."""
ARGUMENTS_LEFT = "arguments left as they came"
NAME_LEFT = "name left as it came"
HISTORY_LEFT = "history left as it came"
LEFT = frozenset({ARGUMENTS_LEFT, NAME_LEFT, HISTORY_LEFT})
"""The steps that are counted when there was too much work."""


@dataclass(slots=True)  # not frozen: that costs three times as much, for each call of each history
class HistoryCall:
    """A call in the history. `at`: its path. `content`: what it has in common with a repetition of it."""

    at: Path
    id: str
    entry: Json
    content: object


@dataclass(slots=True)
class HistoryResult:
    """The result of a call. `key`: where its content is (a text or a list of parts). `part`: the type of a text."""

    at: Path
    id: str
    id_key: str
    entry: Json
    key: str
    part: str = "text"
    failed: bool = False
    """The client itself marked the call as failed."""


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
    """Why calls of this history were refused, by the id that the client knows."""
    _given: dict[str, str] = field(default_factory=dict)
    """The id that the upstream gets for each id of ours."""
    _shared: set[str] = field(default_factory=set)
    """Ids that several different calls of one batch share: only the order tells their results apart."""
    _noted: dict[str, tuple[str, object]] = field(default_factory=dict)
    """The name and the arguments of each call, by the id that the client knows."""
    _named: dict[str, str] = field(default_factory=dict)
    """The names that were given to calls without a name, by the ids that the client knows."""
    _work: Work | None = field(default_factory=lambda: Work(_MOST_MENDING))
    """The work budget that is left for mending; None once it is exceeded, and the rest is sent unchanged."""
    _read: dict[str, Mended] = field(default_factory=dict)
    """Arguments that were read: the name, the arguments and the guidance all need them."""

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
        """The upstream's ids that the client knows as other ids, among them all ids that the host repeats."""
        return frozenset(original for ours, original in self._given.items() if ours != original)

    def count_pairing(self, pairing: Pairing) -> None:
        self.count("result moved", len(pairing.moved))
        self.count("repeated result", len(pairing.repeated))
        second = sum(result.second for result in pairing.orphans)
        self.count("another result", second)
        self.count("result without a call", len(pairing.orphans) - second)

    def apply_edits(self, body: bytes, request: dict[str, Any], at: Path) -> tuple[bytes, dict[str, Any]]:
        """Apply the changes so far: the new body, and its value at a path, which later changes refer to."""
        if not self.edits:
            return body, request
        edits, self.edits = self.edits, Edits()
        return edits.applied_to(body), edits.applied_to_value(request, at)

    # Calls

    def mend_calls(self, calls: Sequence[HistoryCall], id_key: str) -> list[HistoryCall]:
        """Restore the upstream's ids of one batch of calls, and drop repetitions; returns the other calls."""
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
                # The upstream gave one id to two calls of a turn, but does not accept that in a history.
                self._given[call.id] = call.id
                continue
            plain.add(original)
            self._given[call.id] = original
            self._give_back((*call.at, id_key), original)
        return list(calls)

    def _without_repetitions(self, calls: Sequence[HistoryCall]) -> list[HistoryCall]:
        """These calls without those that repeat another one, which are removed."""
        kept: dict[str, HistoryCall] = {}
        others: list[HistoryCall] = []
        for call in calls:
            first = kept.setdefault(call.id, call)
            if first is call or not call.id:
                others.append(call)
            elif self.mends and self._are_one_call(first.content, call.content):
                self.edits.remove(call.at)
                self.count("repeated call")
            else:
                self._shared.add(call.id)
                others.append(call)
        return others

    def _are_one_call(self, one: object, other: object) -> bool:
        """Whether two calls with one id are the same, now or when their arguments are mended."""
        return same(one, other) or same(self._with_mended_arguments(one), self._with_mended_arguments(other))

    def _with_mended_arguments(self, content: object) -> object:
        """A call with its arguments as they are sent; the same call if they need no change or are not a string."""
        text = content.get("arguments") if isinstance(content, dict) else None
        if not isinstance(content, dict) or not isinstance(text, str) or not self.touches(content.get("name")):
            return content
        read = None if self.known.is_object(text) else self._read_arguments(text)
        return content if read is None else {**content, "arguments": read.text or arguments.NOTHING}

    def mend_call_arguments(self, at: Path, entry: Json, key: str, name: object) -> None:
        """Mend arguments that must be a string of JSON."""
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
        """The arguments that were meant; None if the history has more broken arguments than can be mended.

        Calls are mended from first to last, so that the next turn leaves the same ones unchanged. The call has
        already failed or run: it only matters that the upstream can read it. Why the model stopped is not known any
        more, so nothing that was cut off is completed.
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
        """Whether the work budget allows reading and writing every value inside this one."""
        try:
            if self._work is not None and isinstance(value, dict | list):
                self._work.look_at(value)
        except TooMuchWork:
            self._work = None
        return self._may_spend(_BROKEN)

    def mend_call_object(self, at: Path, entry: Json, key: str, name: object) -> None:
        """Mend arguments that must be an object."""
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

    def mend_call_name(self, at: Path, entry: Json, identity: str, given: object) -> str:
        """The name of a call. A call without one gets the name of the only tool that its arguments fit, or else of
        the invalid tool: hosts reject a history with an empty name for ever, and the result needs a call."""
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
        """The arguments of a call as an object, if they are one or can be mended."""
        read = self._read_arguments(given) if isinstance(given, str) else None
        value = read.value if read is not None else given
        return value if isinstance(value, dict) else None

    def _lacking(self, identity: str) -> str | None:
        """The sentence about what a call lacks; None if nothing is missing. `identity`: the client's id for it."""
        name, given = self._noted.get(identity, ("", None))
        if not name or (isinstance(given, str) and self._read_arguments(given) is None):
            return None
        return guidance.lacking(name, self._object(given) or {}, self.tools, self.policy)

    def touches(self, name: object) -> bool:
        return self.mends and (not isinstance(name, str) or self.policy.touches(name))

    # Results

    def mend_results(self, results: Sequence[HistoryResult]) -> None:
        """Mend the results that answer one batch."""
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
            self._add_sentence(result)

    def _add_sentence(self, result: HistoryResult) -> None:
        """Add the sentence to a result that says why its call was refused or failed, if there is one."""
        reason = self.refusals.reason(result.id)
        content = result.entry.get(result.key)
        if reason is not None:
            self.reasons[result.id] = reason
        sentence = self._sentence(result, reason, content)
        if not sentence or guidance.contains(content, sentence) or guidance.ends_with_ours(content):
            return
        if not self._may_spend(_EDIT):
            return
        self.count("reason in a result")
        path = (*result.at, result.key)
        if isinstance(content, str):
            self.edits.replace(path, write(f"{content}\n\n{sentence}" if content else sentence))
        elif isinstance(content, list):
            self.edits.rewrite(path, partial(with_text, behind=sentence, part=result.part))
        elif result.key in result.entry:
            self.edits.replace(path, write(sentence))
        else:
            self.edits.add(result.at, result.key, write(sentence))

    def restore_id(self, path: Path, identity: str) -> None:
        """Turn an id of ours back into the upstream's; any other id stays."""
        original = restore(identity)
        if original is not None:
            self._given[identity] = original
            self._give_back(path, original)

    def _sentence(self, result: HistoryResult, reason: str | None, content: object) -> str:
        """The sentence to add to a result; empty if there is none."""
        every = self.policy.retry_guidance is True
        blames = self.guides and self._work is not None and guidance.blames_arguments(content, failed=result.failed)
        if reason is not None:
            if every or blames or (self.guides and guidance.concerns_arguments(reason)):
                return guidance.rewrite(None if guidance.contains(content, reason) else reason)
            return "" if guidance.contains(content, reason) else guidance.refused(reason)
        missing = self._lacking(result.id) if blames or every else None
        if blames or (every and missing):
            return guidance.rewrite(missing)
        failed = every and (result.failed or guidance.plainly_failed(content))
        return guidance.correct() if failed else ""

    def _give_back(self, path: Path, original: str) -> None:
        self.edits.replace(path, write(original))
        self.count("id")


def is_name(name: object) -> bool:
    """Whether this can be the name of a tool: it has a letter or a digit."""
    return isinstance(name, str) and any(map(str.isalnum, name))


def same(one: object, other: object) -> bool:
    """Whether two values are the same JSON: true is not 1, and the order counts. Unequal values are not written."""
    return one == other and json.dumps(one) == json.dumps(other)


def _same_result(one: HistoryResult, other: HistoryResult) -> bool:
    return same(_content(one.entry), _content(other.entry))


def _content(entry: Json) -> dict[str, Any]:
    """What a result has in common with a repetition of it."""
    return {key: value for key, value in entry.items() if key not in ("cache_control", "id")}


def _dispensable(first: HistoryResult, second: HistoryResult) -> HistoryResult:
    """The one of two equal results to drop: the later one, unless only that one has the client's cache mark."""
    marked = second.entry.get("cache_control") is not None and first.entry.get("cache_control") is None
    return first if marked else second
