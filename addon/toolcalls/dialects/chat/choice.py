"""One choice of a Chat stream: its calls, its text, its end.

Fragments of calls are held, the rest of their events goes on at once. At the end each call goes out as
one delta. With aggregation off fragments flow on for as long as they are strict JSON (`live.py`). The event
with the finish reason waits for the end of the stream, so that a late call still precedes it.
"""

from __future__ import annotations

from collections.abc import Callable

from ...calls import Outcome
from ...mend.arguments import Finish
from ...mend.call import Mender
from ...policy import Policy
from ...request.request import Request
from ...turn.assembled_call import Fragment, Slot
from ...turn.assembler import CallAssembler
from ...turn.finish import NEEDS_CALLS
from ...turn.text_search import SearchResult, TextSearch, searches
from ...turn.turn import Turn
from ...wire.escaper import PLACEHOLDER, fill_placeholder
from ...wire.events import PASS, Event, Hold, Replace, Verdict
from .calls import WORDS, Json, finish_of, gathered, says_something, true_reason, written_call
from .live import LiveCall
from .think import Thinking

Write = Callable[[Json], bytes]


def replied(answer: Verdict, event: Event) -> Replace:
    """The answer to an event of ours, which must not pass as the one that came."""
    if isinstance(answer, Hold):
        return Replace(hold=((answer.key, event.raw),))
    return answer if isinstance(answer, Replace) else Replace((event.raw,))


_OTHER_WORDS = ("reasoning_content", "reasoning", "reasoning_details", "thinking", "refusal", "audio", "annotations")
"""Where a delta or a message says something that is not its text."""


def says_otherwise(said: Json) -> bool:
    """Is something said besides the text, or in another form: reasoning, a refusal, citations?"""
    words = (said.get(key) for key in _OTHER_WORDS)
    if any(word.strip() if isinstance(word, str) else word for word in words):
        return True
    return bool(said.get("content")) and not isinstance(said["content"], str)


class Choice:
    __slots__ = (
        "_cut",
        "_end",
        "_end_came",
        "_envelope",
        "_finishes",
        "_late",
        "_legacy",
        "_lives",
        "_mender",
        "_policy",
        "_reasons",
        "_refused",
        "_request",
        "_role",
        "_slots",
        "_think",
        "_turn",
        "_write",
        "hold",
        "index",
        "last",
        "prose",
        "spoke",
    )

    def __init__(self, index: int, request: Request, policy: Policy, mender: Mender, write: Write) -> None:
        self.index = index
        self.prose = TextSearch(request, policy) if searches(request, policy) else None
        self._think = Thinking() if policy.think else None
        self._request = request
        self._policy = policy
        self._mender = mender
        self._write = write
        self._slots = CallAssembler(request.tools)
        self._turn = Turn(request.tools, mender, awaits_arguments=False)
        self.hold = Hold(f"calls {index}")
        self._envelope: Json = {}
        self._role = ""
        """A role that came with a held fragment: the first call that goes out carries it."""
        self._cut = False
        """A call was cut off with the stream: nothing is synthesised for such an answer."""
        self._legacy = False
        self._refused = False
        """The model refused to answer: nothing that it says is a call."""
        self._late = False
        """Fragments came behind a finish reason: it did not say that the calls were finished."""
        self._reasons: list[str] = []
        self._finishes: list[Finish] = []
        self._end: Json | None = None
        """The event with the finish reason, which waits."""
        self._end_came: tuple[bytes, str] | None = None
        """That event as it came, with its reason, where it says nothing else."""
        self._lives: dict[int, LiveCall] = {}
        self.spoke = False
        """It has said some text."""
        self.last: Slot | None = None
        """The call that a lone fragment without a name went to: an event of the same template goes there too."""

    @property
    def thinking(self) -> bool:
        """May the text still be reasoning?"""
        return self._think is not None and not self._think.over

    @property
    def engaged(self) -> bool:
        """Was a call or a finish reason seen, or is text held?"""
        return bool(
            self._turn.sent
            or self._turn.has_found
            or self._slots.slots
            or self._reasons
            or (self.prose and self.prose.holding)
        )

    @property
    def keys(self) -> tuple[str, str, str, str]:
        """The keys under which its events are held: calls, text, end, text that may be reasoning."""
        return self.hold.key, f"text {self.index}", f"end {self.index}", f"think {self.index}"

    # What an event says

    def take(
        self, event: Event, chunk: Json, choice: Json, delta: Json, fragments: list[Fragment], legacy: bool
    ) -> Verdict:
        """An event of this choice without a finish reason."""
        if not self.thinking:
            return self._take(event, chunk, choice, delta, fragments, legacy)
        moved = self._move(delta)
        if moved is None:
            return self._take(event, chunk, choice, delta, fragments, legacy)
        self._remember(chunk)
        told = Event(self._render_chunk(chunk, choice, moved), None)
        answer = self._take(told, chunk, choice, moved, fragments, legacy)
        if says_something(moved) or fragments or chunk.get("usage"):
            answer = replied(answer, told)
        else:
            self._role = self._role or str(moved.get("role") or "")
            answer = Replace()
        held = self._think.held if self._think is not None else ""
        kept = (
            ((self.keys[3], self._render_chunk({**chunk, "usage": None}, choice, {"content": held})),) if held else ()
        )
        return Replace(answer.out, (*answer.release, self.keys[3]), (*answer.hold, *kept))

    def _take(
        self, event: Event, chunk: Json, choice: Json, delta: Json, fragments: list[Fragment], legacy: bool
    ) -> Verdict:
        said = self._say(event, chunk, choice, delta)
        if not fragments and said is None and not self._silenced(delta):
            return PASS
        self._remember(chunk)
        flowing = self._gather(fragments, legacy)
        rest = self._rest(delta, said)
        spoken = says_something(rest) or bool(chunk.get("usage")) or bool(choice.get("logprobs"))
        if fragments and not spoken and not flowing and said is None:
            self._role = self._role or str(rest.get("role") or "")
            return self.hold
        out = [self._render_chunk(chunk, choice, rest)] if spoken else []
        out += self._spoken(chunk, choice, said)
        hold = [*self._hold_calls(chunk, choice, delta, fragments), *self._hold_text(chunk, choice, delta, said)]
        released = (self.keys[1],) if said is not None and said.parts else ()
        return Replace((*out, *flowing), release=released, hold=tuple(hold))

    def finish(
        self, event: Event, chunk: Json, choice: Json, delta: Json, fragments: list[Fragment], legacy: bool
    ) -> Verdict:
        """An event with a finish reason: whole calls come out, the event itself waits for the end of the stream.

        Broken calls wait with it: there are servers that name a reason in every event, and what looks like a call
        with a bracket too few may go on in the next one.
        """
        moved = self._move(delta, last=True) if self.thinking else None
        if moved is None:
            return self._finish(event, chunk, choice, delta, fragments, legacy)
        self._remember(chunk)
        told = Event(self._render_chunk(chunk, choice, moved), None)
        answer = replied(self._finish(told, chunk, choice, moved, fragments, legacy), told)
        return Replace(answer.out, (*answer.release, self.keys[3]), answer.hold)

    def _finish(
        self, event: Event, chunk: Json, choice: Json, delta: Json, fragments: list[Fragment], legacy: bool
    ) -> Verdict:
        reason = str(choice["finish_reason"])
        said = self._say(event, chunk, choice, delta)
        if not fragments and not self.engaged and said is None and reason not in NEEDS_CALLS:
            return PASS
        self._remember(chunk)
        flowing = self._gather(fragments, legacy)
        # Text may follow a finish reason too, and then the call that was written before it is text.
        finish = Finish.CUT if self._refused else finish_of(choice)
        waits = self.prose is not None and self.prose.undecided and finish is not Finish.CUT
        last = SearchResult() if waits else self._close_text(finish)
        rest = self._rest(delta, said)
        bare, unfinished = {**chunk, "usage": None}, {**choice, "finish_reason": None}
        spoken = [self._render_chunk(bare, unfinished, rest)] if says_something(rest) else []
        silent = not spoken and said is None and not fragments
        spoken += self._spoken(bare, unfinished, said) + self._spoken(bare, unfinished, last)
        whole = reason == "error" or (not waits and all(slot.whole() for slot in self._slots.slots))
        calls = self.emit(finish, before_error=reason == "error") if whole else []
        waiting = [] if whole else self._hold_calls(bare, unfinished, delta, fragments)
        released = self.keys if whole else self.keys[2 if waits else 1 :]
        self._reasons.append(reason)
        self._finishes.append(finish)
        if self._end is None or chunk.get("usage"):
            self._end = {**chunk, "choices": [{**choice, "index": self.index, "delta": {}}]}
            self._end_came = (event.raw, reason) if silent and choice.get("index") == self.index else None
        end = (self.keys[2], self._written_end())
        return Replace((*spoken, *flowing, *calls), release=released, hold=(*waiting, end))

    def end(self, finish: Finish) -> tuple[list[bytes], bool]:
        """`[DONE]` or the end of the stream: what is still to come out, and whether the answer is complete."""
        out = self._end_text(self._believed(finish))
        refused: list[Outcome] = []
        out += self.emit(self._believed(finish), refused=refused)
        self._cut = self._cut or (finish is Finish.CUT and bool(refused))
        if self._end is not None:
            out.append(self._written_end())
            self._end = None
        elif not self._reasons and not self._cut and self._turn.sent + len(refused):
            reason = self._finish_reason(None)
            out.append(self._render_chunk(self._envelope, {"index": self.index, "finish_reason": reason}, {}))
            self._reasons.append(reason or "")
        return out, not self._cut and bool(self._turn.sent or self._reasons) and "error" not in self._reasons

    def fail(self) -> list[bytes]:
        """Before an error: held text and complete calls come out, unfinished calls are dropped."""
        out = self._end_text(Finish.CUT)
        return [*out, *self.emit(Finish.CUT, before_error=True), *self.take_end()]

    def take_end(self) -> list[bytes]:
        """The event with the finish reason, if it waits, and before it the calls that waited for more of them."""
        if self._end is None:
            return []
        finish = self._believed(Finish.UNKNOWN)
        out = [*self._end_text(finish), *self.emit(finish), self._written_end()]
        self._end = None
        return out

    def _believed(self, finish: Finish) -> Finish:
        """How the answer ended: as the reason says that came, unless fragments came behind one."""
        if self._late or not self._finishes:
            return finish
        said = [*self._finishes, *([Finish.CUT] if self._refused else [])]
        return next((cut for cut in (Finish.CUT, Finish.UNKNOWN) if cut in said), Finish.COMPLETE)

    @property
    def reason(self) -> str:
        """The finish reason that is true, given those that the server sent."""
        return self._finish_reason(WORDS.believed(self._reasons))

    def _finish_reason(self, reason: str | None) -> str:
        return true_reason(reason, calls=self._turn.sent > 0, legacy=self._speaks_legacy)

    def _written_end(self) -> bytes:
        if self._end_came is not None and self._end_came[1] == self.reason:
            return self._end_came[0]
        chunk = self._end or self._envelope
        choice = chunk["choices"][0] if self._end else {"index": self.index}
        return self._render_chunk(chunk, {**choice, "finish_reason": self.reason}, {})

    # Text

    def _say(self, event: Event, chunk: Json, choice: Json, delta: Json) -> SearchResult | None:
        """The text of the delta after the search; None when it goes on as it is."""
        content = delta.get("content")
        self._refused = self._refused or bool(delta.get("refusal"))
        if self.prose is None:
            return None
        if not isinstance(content, str) or not content:
            return self.prose.pass_on() if self.prose.undecided and says_otherwise(delta) else None
        self.spoke = True
        alone = not (chunk.get("usage") or choice.get("logprobs") or choice.get("finish_reason"))
        alone = alone and not says_something({**delta, "content": None}) and choice.get("index") == self.index
        said = self.prose.take(content, event.raw if alone else None)
        self._found(said)
        return None if len(said.parts) == 1 and said.text == content and not self.prose.holding else said

    def _spoken(self, chunk: Json, choice: Json, said: SearchResult | None) -> list[bytes]:
        """Text that was searched: the events that it came in, where they say nothing else."""
        if said is None or (self._policy.null_content and self.engaged):
            return []
        bare = {**chunk, "usage": None} if chunk.get("usage") else chunk
        return [piece.source or self._render_chunk(bare, choice, {"content": piece.text}) for piece in said.pieces]

    def _move(self, delta: Json, *, last: bool = False) -> Json | None:
        """The delta with its reasoning where it belongs; None where nothing changes."""
        return self._think.split(delta, last=last) if self._think is not None else None

    def _end_text(self, finish: Finish) -> list[bytes]:
        """The answer is over without a finish reason: what is held of the text."""
        out: list[bytes] = []
        moved = self._move({}, last=True) if self.thinking else None
        if moved is not None:
            said = self._say(Event(b"", None), {}, {}, moved)
            rest = self._rest(moved, said)
            out += [self._render_chunk(self._envelope, {"index": self.index}, rest)] if says_something(rest) else []
            out += self._spoken(self._envelope, {"index": self.index}, said)
        return out + self._spoken(self._envelope, {"index": self.index}, self._close_text(finish))

    def _close_text(self, finish: Finish) -> SearchResult:
        if self.prose is None:
            return SearchResult()
        said = self.prose.close(Finish.CUT if self._refused else finish)
        self._found(said)
        return said

    def _found(self, said: SearchResult) -> None:
        self._turn.found(said.calls)

    def _silenced(self, delta: Json) -> bool:
        return self._policy.null_content and bool(delta.get("content")) and self.engaged

    def _rest(self, delta: Json, said: SearchResult | None) -> Json:
        """What a delta says besides its calls."""
        rest = {key: value for key, value in delta.items() if key not in ("tool_calls", "function_call")}
        if said is not None:
            rest = {key: value for key, value in rest.items() if key != "content" or not isinstance(value, str)}
        if self._silenced(rest):
            rest["content"] = None
        return rest

    def _hold_text(
        self, chunk: Json, choice: Json, delta: Json, said: SearchResult | None
    ) -> list[tuple[str, bytes]]:
        """What would still have to go out if we failed: the text of calls that were found, and text that waits."""
        if said is None or self.prose is None:
            return []
        kept = [(self.hold.key, call.raw) for call in said.calls]
        kept.append((self.keys[1], self.prose.held if said.parts else delta["content"]))
        bare = {**chunk, "usage": None}
        return [(key, self._render_chunk(bare, choice, {"content": text})) for key, text in kept if text]

    # Calls

    def _remember(self, chunk: Json) -> None:
        if not self._envelope:
            self._envelope = {key: value for key, value in chunk.items() if key not in ("choices", "usage")}

    def _gather(self, fragments: list[Fragment], legacy: bool) -> list[bytes]:
        """Take the fragments; give the events that may flow on at once."""
        self.last = None
        self._late = self._late or bool(fragments and self._reasons)
        # `function_call` beside `tool_calls` is the same call in the old form.
        if not fragments or (legacy and not self._legacy and (self._slots.slots or self._turn.sent)):
            return []
        if self._legacy and not legacy:
            self._slots.drop()
            for fragment in fragments if self._turn.sent else ():
                fragment.whole = True
        self._legacy = legacy
        out: list[bytes] = []
        slot = None
        for fragment in fragments:
            slot = self._slots.add(fragment)
            if slot is not None and (self._policy.aggregate or legacy):
                slot.quoted.grew(slot.fragments, len(fragment.arguments))
            elif slot is not None:
                out += self._go_on_live(slot)
        if len(fragments) == 1 and not fragments[0].name and self._policy.aggregate:
            self.last = slot
        return out

    def _go_on_live(self, slot: Slot) -> list[bytes]:
        live = self._lives.get(id(slot))
        if live is None:
            unclear = slot.doubt or slot.unsure
            if unclear or not slot.names or slot.again or slot.restated or self._turn.resent.knows(slot.key):
                return []
            live = self._lives[id(slot)] = LiveCall(self._turn.sent, self._mender.ids.unique(slot.id))
            self._turn.count_sent()
        delta = live.take(slot)
        return [self._delta({"tool_calls": [delta]})] if delta else []

    def _hold_calls(
        self, chunk: Json, choice: Json, delta: Json, fragments: list[Fragment]
    ) -> list[tuple[str, bytes]]:
        if not fragments:
            return []
        calls = {key: delta[key] for key in ("tool_calls", "function_call") if delta.get(key)}
        return [(self.hold.key, self._render_chunk({**chunk, "usage": None}, {**choice, "logprobs": None}, calls))]

    def emit(
        self, finish: Finish, *, before_error: bool = False, refused: list[Outcome] | None = None
    ) -> list[bytes]:
        """Write the gathered calls, one delta each."""
        out: list[bytes] = []
        slots = self._slots.take(finish)
        lives = [self._lives.pop(id(slot), None) for slot in slots]
        calls = [
            gathered(slot, self._request.tools, legacy=self._speaks_legacy, live=live.arguments if live else None)
            for slot, live in zip(slots, lives, strict=True)
        ]
        outcomes = self._turn.complete(calls, finish, before_error=before_error)
        for slot, live, outcome in zip(slots, lives, outcomes, strict=True):
            if outcome is None:
                continue
            if live is not None:
                rest = live.rest(outcome)
                out += [self._delta({"tool_calls": [rest]})] if rest else []
                continue
            if refused is not None and outcome.status == "refused":
                refused.append(outcome)
            if not outcome.dropped:
                out.append(self._call(outcome, slot.extra, slot.pieces(outcome.arguments)))
        for outcome in self._turn.complete_found(before_error=before_error):
            if refused is not None and outcome.status == "refused":
                refused.append(outcome)
            if not outcome.dropped:
                out.append(self._call(outcome, {}, []))
        return out + [self._delta({"content": note}) for note in self._turn.take_notes()]

    def _call(self, outcome: Outcome, extra: Json, pieces: list[str]) -> bytes:
        arguments = PLACEHOLDER if pieces else outcome.arguments
        if self._speaks_legacy:
            written = self._delta({"function_call": {"name": outcome.name, "arguments": arguments}})
        else:
            call = {"index": self._turn.sent - 1, **written_call(outcome, arguments, extra)}
            written = self._delta({"tool_calls": [call]})
        return fill_placeholder(written, pieces)

    @property
    def _speaks_legacy(self) -> bool:
        return self._legacy and self._request.legacy_functions

    def _delta(self, delta: Json) -> bytes:
        if self._role:
            delta = {"role": self._role, **delta}
            self._role = ""
        return self._render_chunk(self._envelope, {"index": self.index, "finish_reason": None}, delta)

    def keep_alive(self) -> bytes:
        """A chunk with an empty delta. No role: clients that put deltas together would have it twice."""
        return self._render_chunk(self._envelope, {"index": self.index, "finish_reason": None}, {})

    def _render_chunk(self, chunk: Json, choice: Json, delta: Json) -> bytes:
        written = {key: value for key, value in choice.items() if key != "message"}
        return self._write({**chunk, "choices": [{**written, "delta": delta}]})
