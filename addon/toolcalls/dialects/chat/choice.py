"""One choice of a Chat stream: its calls, its text, its end.

Fragments of calls are held, the rest of their events goes on at once. At the end each call goes out as
one delta. With aggregation off fragments flow on for as long as they are strict JSON. The event with the finish
reason waits for the end of the stream, so that a late call still precedes it.
"""

from __future__ import annotations

from typing import NamedTuple

from ...mend.call import Mender
from ...mend.finish import Finish
from ...policy import Policy
from ...request.request import Request
from ...turn.answer import Answer, CompletedCall
from ...turn.assembled_call import Fragment, Slot
from ...turn.finish import NEEDS_CALLS
from ...turn.text_search import SearchResult, TextPiece
from ...wire.events import PASS, Event, Hold, Replace, Verdict
from .calls import LEGACY_WORDS, WORDS, Json, finish_of, reasoning_in, says_otherwise, says_something
from .deltas import DeltaWriter, Write
from .think import Thinking


def replied(answer: Verdict, event: Event) -> Replace:
    """The answer to an event of ours, which must not pass as the one that came."""
    if isinstance(answer, Hold):
        return Replace(hold=((answer.key, event.raw),))
    return answer if isinstance(answer, Replace) else Replace((event.raw,))


class HeldUnder(NamedTuple):
    """The keys under which the ledger holds the events of a choice."""

    calls: str
    text: str
    end: str
    thinking: str
    """Text that may be reasoning."""


class Choice:
    __slots__ = (
        "_cut",
        "_end",
        "_end_came",
        "_legacy",
        "_policy",
        "_request",
        "_think",
        "_writer",
        "answer",
        "hold",
        "index",
        "last",
        "spoke",
        "thought",
    )

    def __init__(self, index: int, request: Request, policy: Policy, mender: Mender, write: Write) -> None:
        self.index = index
        self.answer = Answer(request, policy, mender)
        self._writer = DeltaWriter(index, write)
        self._think = Thinking() if policy.think else None
        self._request = request
        self._policy = policy
        self.hold = Hold(f"calls {index}")
        self._cut = False
        """A call was cut off with the stream: nothing is synthesised for such an answer."""
        self._legacy = False
        """The calls came in the old `function_call` form."""
        self._end: Json | None = None
        """The event with the finish reason, which waits."""
        self._end_came: tuple[bytes, str] | None = None
        """That event as it came, with its reason, where it says nothing else."""
        self.spoke = False
        """It has said some text."""
        self.thought = False
        """It has said some reasoning."""
        self.last: Slot | None = None
        """The call that a lone fragment without a name went to: an event of the same template goes there too."""

    @property
    def thinking(self) -> bool:
        """May the text still be reasoning?"""
        return self._think is not None and not self._think.over

    @property
    def engaged(self) -> bool:
        """Was a call or a finish reason seen, or is text held?"""
        return self.answer.engaged

    @property
    def keys(self) -> HeldUnder:
        """The keys under which its events are held."""
        return HeldUnder(self.hold.key, f"text {self.index}", f"end {self.index}", f"think {self.index}")

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
        writer = self._writer
        writer.remember(chunk)
        told = Event(writer.chunk(chunk, choice, moved), None)
        answer = self._take(told, chunk, choice, moved, fragments, legacy)
        if says_something(moved) or fragments or chunk.get("usage"):
            answer = replied(answer, told)
        else:
            writer.keep_role(moved)
            answer = Replace()
        held = self._think.held if self._think is not None else ""
        kept = (
            ((self.keys.thinking, writer.chunk({**chunk, "usage": None}, choice, {"content": held})),) if held else ()
        )
        return Replace(answer.out, (*answer.release, self.keys.thinking), (*answer.hold, *kept))

    def _take(
        self, event: Event, chunk: Json, choice: Json, delta: Json, fragments: list[Fragment], legacy: bool
    ) -> Verdict:
        said = self._say(event, chunk, choice, delta)
        if not fragments and said is None and not self._silenced(delta):
            return PASS
        self._writer.remember(chunk)
        flowing = self._gather(fragments, legacy)
        rest = self._rest(delta, said)
        spoken = says_something(rest) or bool(chunk.get("usage")) or bool(choice.get("logprobs"))
        spoken = spoken or bool(flowing and rest.get("role"))
        if fragments and not spoken and not flowing and said is None:
            self._writer.keep_role(rest)
            return self.hold
        out = [self._writer.chunk(chunk, choice, rest)] if spoken else []
        out += self._spoken(chunk, choice, said)
        hold = [*self._hold_calls(chunk, choice, delta, fragments), *self._hold_text(chunk, choice, delta, said)]
        released = (self.keys.text,) if said is not None and said.parts else ()
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
        self._writer.remember(chunk)
        told = Event(self._writer.chunk(chunk, choice, moved), None)
        answer = replied(self._finish(told, chunk, choice, moved, fragments, legacy), told)
        return Replace(answer.out, (*answer.release, self.keys.thinking), answer.hold)

    def _finish(
        self, event: Event, chunk: Json, choice: Json, delta: Json, fragments: list[Fragment], legacy: bool
    ) -> Verdict:
        reason = str(choice["finish_reason"])
        said = self._say(event, chunk, choice, delta)
        if not (fragments or self.engaged or said or self.answer.undecided) and reason not in NEEDS_CALLS:
            return PASS
        answer, writer = self.answer, self._writer
        writer.remember(chunk)
        flowing = self._gather(fragments, legacy)
        # Text may follow a finish reason too, and then the call that was written before it is text.
        finish = Finish.CUT if answer.refused else finish_of(choice)
        waits = answer.undecided and finish is not Finish.CUT
        last = SearchResult() if waits else answer.end_text(finish)
        rest = self._rest(delta, said)
        bare, unfinished = {**chunk, "usage": None}, {**choice, "finish_reason": None}
        spoken = [writer.chunk(bare, unfinished, rest)] if says_something(rest) else []
        silent = not spoken and said is None and not fragments
        spoken += self._spoken(bare, unfinished, said) + self._spoken(bare, unfinished, last)
        whole = reason == "error" or (not waits and all(slot.whole() for slot in answer.assembler.slots))
        calls = self._send(self._complete(finish, before_error=reason == "error")) if whole else []
        waiting = [] if whole else self._hold_calls(bare, unfinished, delta, fragments)
        keys = self.keys
        released = keys if whole else (keys.end, keys.thinking) if waits else (keys.text, keys.end, keys.thinking)
        answer.stop(reason, finish)
        if self._end is None or chunk.get("usage"):
            self._end = {**chunk, "choices": [{**choice, "index": self.index, "delta": {}}]}
            self._end_came = (event.raw, reason) if silent and choice.get("index") == self.index else None
        end = (self.keys.end, self._written_end())
        return Replace((*spoken, *flowing, *calls), release=released, hold=(*waiting, end))

    def end(self, finish: Finish) -> tuple[list[bytes], bool]:
        """`[DONE]` or the end of the stream: what is still to come out, and whether the answer is complete."""
        answer = self.answer
        out = self._end_text(answer.believed(finish))
        calls = self._complete(answer.believed(finish))
        out += self._send(calls)
        refused = sum(call.outcome.status == "refused" for call in calls if call.live is None)
        self._cut = self._cut or (finish is Finish.CUT and refused > 0)
        if self._end is not None:
            out.append(self._written_end())
            self._end = None
        elif not answer.reasons and not self._cut and answer.turn.sent + refused:
            out.append(self._writer.end(self.reason))
            answer.reasons.append(self.reason)
        return out, not self._cut and bool(answer.turn.sent or answer.reasons) and "error" not in answer.reasons

    def fail(self) -> list[bytes]:
        """Before an error: held text and complete calls come out, unfinished calls are dropped."""
        out = self._end_text(Finish.CUT)
        return [*out, *self._send(self._complete(Finish.CUT, before_error=True)), *self.take_end()]

    def take_end(self) -> list[bytes]:
        """The event with the finish reason, if it waits, and before it the calls that waited for more of them."""
        if self._end is None:
            return []
        finish = self.answer.believed(Finish.UNKNOWN)
        out = [*self._end_text(finish), *self._send(self._complete(finish)), self._written_end()]
        self._end = None
        return out

    @property
    def reason(self) -> str:
        """The finish reason that is true, given those that the server sent."""
        return str(self.answer.true_reason(LEGACY_WORDS if self._writer.legacy else WORDS) or "stop")

    def _written_end(self) -> bytes:
        if self._end_came is not None and self._end_came[1] == self.reason:
            return self._end_came[0]
        return self._writer.end(self.reason, self._end)

    # Text

    def _say(self, event: Event, chunk: Json, choice: Json, delta: Json) -> SearchResult | None:
        """The text of the delta after the search; None when it goes on as it is."""
        content = delta.get("content")
        answer = self.answer
        answer.refused = answer.refused or bool(delta.get("refusal"))
        thought = reasoning_in(delta)
        passed = answer.think(thought) if thought is not None else None
        self.thought = self.thought or bool(thought)
        if says_otherwise(delta):
            passed = answer.say_otherwise() or passed
        if not isinstance(content, str) or not content:
            return passed
        if answer.search is None:
            return None
        self.spoke = True
        alone = not (chunk.get("usage") or choice.get("logprobs") or choice.get("finish_reason"))
        alone = alone and not says_something({**delta, "content": None}) and choice.get("index") == self.index
        said = answer.say(content, event.raw if alone else None)
        if passed is None:
            return said
        return SearchResult(passed.parts + (said.parts if said is not None else (TextPiece(content),)))

    def _spoken(self, chunk: Json, choice: Json, said: SearchResult | None) -> list[bytes]:
        """Text that was searched: the events that it came in, where they say nothing else."""
        if said is None or (self._policy.null_content and self.engaged):
            return []
        bare = {**chunk, "usage": None} if chunk.get("usage") else chunk
        return [piece.source or self._writer.chunk(bare, choice, {"content": piece.text}) for piece in said.pieces]

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
            out += [self._writer.rest(rest)] if says_something(rest) else []
            out += self._spoken(self._writer.envelope, {"index": self.index}, said)
        return out + self._spoken(self._writer.envelope, {"index": self.index}, self.answer.end_text(finish))

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
        if said is None:
            return []
        kept = [(self.hold.key, call.raw) for call in said.calls]
        kept.append((self.keys.text, self.answer.held_text if said.parts else delta["content"]))
        bare = {**chunk, "usage": None}
        return [(key, self._writer.chunk(bare, choice, {"content": text})) for key, text in kept if text]

    # Calls

    def _gather(self, fragments: list[Fragment], legacy: bool) -> list[bytes]:
        """Take the fragments; give the events that may flow on at once."""
        self.last = None
        answer = self.answer
        if not fragments:
            return []
        answer.goes_on()
        if legacy and not self._legacy and (answer.assembler.slots or answer.turn.sent):
            # `function_call` beside `tool_calls` is the same call in the old form.
            return []
        if self._legacy and not legacy:
            answer.assembler.drop()
            for fragment in fragments if answer.turn.sent else ():
                fragment.whole = True
        self._legacy = legacy
        self._writer.legacy = legacy and self._request.legacy_functions
        out: list[bytes] = []
        slot = None
        for fragment in fragments:
            slot = answer.gather(fragment)
            if slot is not None and (self._policy.aggregate or legacy):
                slot.quoted.grew(slot.fragments, len(fragment.arguments))
            elif slot is not None:
                part = answer.go_on_live(slot)
                out += [self._writer.live(part)] if part is not None else []
        if len(fragments) == 1 and not fragments[0].name and self._policy.aggregate:
            self.last = slot
        return out

    def _hold_calls(
        self, chunk: Json, choice: Json, delta: Json, fragments: list[Fragment]
    ) -> list[tuple[str, bytes]]:
        if not fragments:
            return []
        calls = {key: delta[key] for key in ("tool_calls", "function_call") if delta.get(key)}
        return [(self.hold.key, self._writer.chunk({**chunk, "usage": None}, {**choice, "logprobs": None}, calls))]

    def _complete(self, finish: Finish, *, before_error: bool = False) -> list[CompletedCall]:
        return self.answer.complete(finish, before_error=before_error, ids=not self._writer.legacy)

    def _send(self, calls: list[CompletedCall]) -> list[bytes]:
        """One delta a call, and what is to be said of those that were dropped."""
        written = [self._writer.call(call) for call in calls]
        notes = [self._writer.note(note) for note in self.answer.turn.take_notes()]
        return [delta for delta in written if delta is not None] + notes

    def keep_alive(self) -> bytes:
        return self._writer.keep_alive()
