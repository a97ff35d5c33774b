"""OpenAI Chat Completions, streamed and not.

Strategy: an event without a tool call passes as it came. From the first fragment of a call on, every
event is read and handed to its choice (`choice.py`), which holds fragments and lets everything else
go on. On a finish reason, `[DONE]`, an error or the end of the stream each complete call goes out as one
delta, and the finish reason follows the calls that really went out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ...mend.arguments import Finish
from ...mend.call import Mender
from ...policy import Policy
from ...request.request import Request
from ...unread.echo import Echo
from ...wire import sse
from ...wire.escaper import BATCH
from ...wire.events import LINES_ALONE, MOST_CALLS, PASS, Event, Hold, LimitReached, Replace, Verdict
from .. import payload
from ..assembled_call import Slot, index_of
from ..interface import Dialect
from ..text_search import TextSearch, searches
from ..trouble import trouble_in, trouble_in_text
from .body import mend_body
from .calls import FAILURES, FOREIGN_REASONS, Json, said_in, says_something
from .choice import CONTENT, Choice
from .plain import Plain

DONE = b"data: [DONE]\n\n"
_DELTA = re.compile(rb'"delta": ?\{(?:"\w+": ?(?:null|"assistant"), ?)*"content": ?"')


class Chat(Dialect):
    """The dialect of `/chat/completions`."""

    __slots__ = (
        "_choices",
        "_done",
        "_echo",
        "_errored",
        "_last",
        "_look",
        "_mender",
        "_policy",
        "_prose",
        "_request",
        "_searching",
        "_unmarked",
        "reads_everything",
    )
    reads_everything: bool

    def __init__(self, request: Request, policy: Policy, mender: Mender) -> None:
        self._request = request
        self._policy = policy
        self._mender = mender
        self._choices: dict[int, Choice] = {}
        self._errored = False
        self._done = False
        self._echo = Echo("arguments")
        self._last: tuple[Slot, Hold] | None = None
        """Where the fragment of the last event went, if the next one may repeat its form."""
        # With several choices each has its own text to search: then every event is read.
        self._searching = searches(request, policy)
        self._unmarked = Plain().passes
        self._prose: TextSearch | None = None
        """The text of the first choice, once that is all that is searched for."""
        watching = self._searching or policy.think
        self._look: Callable[[bytes], bool] = self._searched if watching else self._unmarked
        self.reads_everything = watching and (request.choices or 1) > 1

    # The stream

    def try_pass(self, block: bytes) -> bool:
        return self._look(block)

    def _searched(self, block: bytes) -> bool:
        prose = self._prose
        if prose is not None and (prose.repeats(block) or prose.all_repeat(block)):
            return True
        return self._unmarked(block) and self._quiet(block)

    def _quiet(self, block: bytes) -> bool:
        """Can the search for calls and for reasoning in the text skip these events?"""
        state = self._choices.get(0)
        if state is None:
            state = self._choice({"index": 0}, has_calls=False)
        if state.thinking or state.prose is None:
            return not state.thinking
        self._prose = state.prose
        passes = state.prose.passes(block, state.prose.alike(block) or _one_text_each(block))
        state.spoke = state.spoke or (passes and not CONTENT.says_nothing(block))
        return passes

    def try_hold(self, block: bytes) -> Hold | None:
        """A block that is a fragment like the last one belongs where that went; None to have it read."""
        if self._last is None:
            return None
        arguments = self._echo.match(block)
        if arguments is None:
            return None
        slot, hold = self._last
        if arguments:
            slot.fragments.append(arguments)
            slot.quoted.fresh += len(arguments)
            if slot.quoted.fresh > BATCH:
                slot.quoted.take(slot.fragments)
        return hold

    def read(self, event: Event) -> Verdict:
        answer = self._read(event)
        if not self.reads_everything:
            self.reads_everything = any(choice.reads_everything for choice in self._choices.values())
        return answer

    def _read(self, event: Event) -> Verdict:
        self._last = None
        data = event.data or ""
        chunk = payload.read_strict(data)
        if isinstance(chunk, dict):
            return self._read_chunk(event, chunk)
        if data.strip() == "[DONE]":
            self._done = True
            return self._end(event.raw, Finish.UNKNOWN)
        text = data.strip()
        if text.startswith(":") and "\n" not in text and not event.type:
            # A keep-alive that a gateway wrapped as data: clients stumble over it, as a comment it keeps its purpose.
            return Replace((sse.comment(text),))
        trouble = trouble_in(chunk) or (trouble_in_text(data, event.type) if chunk is None else None)
        if trouble is not None:
            return self._fail(Event(write({"error": trouble}), None), rewritten=True)
        if "\n" in data:
            return LINES_ALONE
        mended = payload.read_broken(data) if chunk is None and data.lstrip().startswith("{") else None
        if mended is None:
            # Half an event at the end of a cut stream is no event: behind it comes our own end.
            whole = event.raw.endswith((b"\n\n", b"\r\n\r\n", b"\r\r"))
            return PASS if whole or not self.reads_everything or self._done else Replace()
        rewritten = Event(sse.write(payload.write(mended), event.type), "", event.type)
        answer = self._read_chunk(rewritten, mended)
        return Replace((rewritten.raw,)) if answer is PASS else answer

    def close(self) -> Replace | None:
        if self._done:
            return None
        answer = self._end(b"", Finish.CUT)
        return answer if isinstance(answer, Replace) else None

    def body(self, body: bytes) -> bytes:
        return mend_body(body, self._request, self._policy, self._mender)

    def _read_chunk(self, event: Event, chunk: Json) -> Verdict:
        if chunk.get("error"):
            return self._fail(event)
        choices = chunk.get("choices")
        trouble = trouble_in(chunk, event.type) if not choices else None
        if trouble is not None:
            # No client knows this form: it is told again in the protocol's own.
            return self._fail(event, write({"error": trouble}))
        if not isinstance(choices, list):
            if "usage" not in chunk or "choices" in chunk:
                return PASS
            # Usage without choices crashes clients.
            return self._after_ends(write({**chunk, "choices": []}), rewritten=True)
        if not choices:
            return self._after_ends(event.raw)
        if len(choices) == 1 and isinstance(choices[0], dict):
            return self._read_choice(event, chunk, choices[0])
        return self._read_choices(event, chunk, choices)

    def _read_choices(self, event: Event, chunk: Json, choices: list[Any]) -> Verdict:
        """Several choices in one event: each is read as if it had come alone, usage with the last."""
        bare = {key: value for key, value in chunk.items() if key != "usage"}
        out: list[bytes] = []
        release: list[str] = []
        hold: list[tuple[str, bytes]] = []
        untouched = True
        for number, choice in enumerate(choices):
            if not isinstance(choice, dict):
                return PASS
            part = {**(chunk if number == len(choices) - 1 else bare), "choices": [choice]}
            raw = write(part)
            answer = self._read_choice(Event(raw, None, event.type), part, choice)
            if isinstance(answer, Hold):
                hold.append((answer.key, raw))
            elif isinstance(answer, Replace):
                out += answer.out
                release += answer.release
                hold += answer.hold
            else:
                out.append(raw)
                continue
            untouched = False
        # What one of the choices taught no longer holds after the next one.
        self._last = None
        return PASS if untouched else Replace(tuple(out), tuple(release), tuple(hold))

    def _read_choice(self, event: Event, chunk: Json, choice: Json) -> Verdict:
        reason = choice.get("finish_reason")
        if choice.get("error") and not reason:
            return self._fail(event)
        if isinstance(reason, str) and (reason in FOREIGN_REASONS or reason in FAILURES):
            return self._read_odd_end(event, chunk, choice, reason)
        delta, fragments, legacy = said_in(choice)
        state = self._choice(choice, bool(fragments))
        number = index_of(choice.get("index"))
        if number is not None and number != state.index:
            for fragment in fragments:
                fragment.place = (number, fragment.place) if isinstance(fragment.place, int) else None
        if state.spoke and delta is choice.get("message"):
            # It repeats the whole answer: the calls are compared, the text was said.
            delta = {key: value for key, value in delta.items() if key in ("tool_calls", "function_call")}
        if reason:
            return state.finish(event, chunk, choice, delta, fragments, legacy)
        answer = state.take(event, chunk, choice, delta, fragments, legacy)
        if isinstance(answer, Hold) and state.last is not None:
            # A name may begin another call. Without one the index and the id decide, and they are part of the form.
            self._last = (state.last, answer) if self._echo.learn(event.raw, fragments[0].arguments) else None
        return answer

    def _choice(self, choice: Json, has_calls: bool) -> Choice:
        number = index_of(choice.get("index")) or 0
        if self._request.choices == 1 and (has_calls or number not in self._choices):
            # One choice was asked for: calls that come in a second one belong to the first.
            number = 0
        state = self._choices.get(number)
        if state is None:
            if len(self._choices) >= MOST_CALLS:
                raise LimitReached
            state = self._choices[number] = Choice(number, self._request, self._policy, self._mender, write)
        return state

    # The end

    def _read_odd_end(self, event: Event, chunk: Json, choice: Json, reason: str) -> Verdict:
        """A finish reason that no client knows: said in the protocol's words, or as the error that it is."""
        told = {**choice, "finish_reason": FOREIGN_REASONS.get(reason)}
        part = {**chunk, "choices": [told]}
        answer = self._read_choice(Event(write(part), None, event.type), part, told)
        if isinstance(answer, Hold):
            answer = Replace(hold=((answer.key, write(part)),))
        elif not isinstance(answer, Replace):
            delta = choice.get("delta")
            silent = told["finish_reason"] is None and not (isinstance(delta, dict) and says_something(delta))
            answer = Replace() if silent else Replace((write(part),))
        if reason in FOREIGN_REASONS:
            return answer
        error = {"message": f"The upstream ended the answer with {reason}.", "type": reason, "code": reason}
        failed = Event(write({"error": error}), None)
        ended = self._fail(failed)
        return Replace((*answer.out, *(ended.out if isinstance(ended, Replace) else (failed.raw,))), self._keys())

    def _after_ends(self, raw: bytes, *, rewritten: bool = False) -> Verdict:
        """An event behind the choices (usage): the finish reasons that wait go out before it."""
        ends = [end for choice in self._choices.values() for end in choice.take_end()]
        if not ends and not rewritten:
            return PASS
        return Replace((*ends, raw), tuple(key for choice in self._choices.values() for key in choice.keys[::2]))

    def _end(self, terminator: bytes, finish: Finish) -> Verdict:
        """`[DONE]` or the end of the stream: everything that is held comes out, with the finish that was missing."""
        out: list[bytes] = []
        complete = True
        for choice in self._choices.values():
            pieces, whole = choice.end(finish) if not self._errored else (choice.fail(), True)
            out += pieces
            complete = complete and whole
        if not out:
            return PASS
        if not terminator and complete and not self._errored:
            terminator = DONE
        return Replace((*out, terminator) if terminator else tuple(out), self._keys())

    def _fail(self, event: Event, again: bytes = b"", *, rewritten: bool = False) -> Verdict:
        """An error event: complete calls come out, unfinished ones are dropped, the error goes on.

        `again`: the same error in another form. `rewritten`: the event is one of ours.
        """
        self._errored = True
        out = [piece for choice in self._choices.values() for piece in choice.fail()]
        if not out and not again and not rewritten and not self.reads_everything:
            return PASS
        return Replace((*out, event.raw, *((again,) if again else ())), self._keys())

    def _keys(self) -> tuple[str, ...]:
        return tuple(key for choice in self._choices.values() for key in choice.keys)


def _one_text_each(block: bytes) -> int:
    """How many events these are, if each has the text of the first choice and nothing else that looks like it."""
    count = block.count(b"data:")
    if block.count(CONTENT.key) != count or len(_DELTA.findall(block)) != count:
        return 0
    return count if block.count(b'"index":0') + block.count(b'"index": 0') == count else 0


def write(chunk: Json) -> bytes:
    return sse.write(payload.write(chunk))
