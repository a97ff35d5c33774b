"""One choice of a Chat stream: what is specific to Chat. `AnswerStream` handles its text, its calls and its end."""

from __future__ import annotations

from ...mend.finish import Finish
from ...mend.mender import Mender
from ...policy import Policy
from ...request.request import Request
from ...turn.fragment_answer import FragmentAnswer
from ...turn.parts import Fragment
from ...wire.events import Verdict
from ..answer_stream import AnswerStream
from ..reply_builder import ReplyBuilder, replaced
from .leaked_reasoning import Thinking
from .reader import CALLS, REASONING_KEYS, TRAITS, Json, ReadChoice, has_content
from .writer import DeltaWriter, write_choice


class Choice:
    __slots__ = (
        "_has_reasoning",
        "_has_text",
        "_legacy",
        "_live",
        "_request",
        "_think",
        "_think_key",
        "index",
        "stream",
        "writer",
    )

    def __init__(self, index: int, request: Request, policy: Policy, mender: Mender) -> None:
        self.index = index
        self.writer = DeltaWriter(index)
        self.stream = AnswerStream(
            FragmentAnswer(request, policy, mender, TRAITS), policy, TRAITS, self.writer, str(index)
        )
        self._think = Thinking() if policy.think else None
        self._think_key = f"think {index}"
        self._request = request
        self._legacy = False
        """The calls arrived in the old `function_call` form."""
        self._live = self.stream.live
        self._has_text = False
        self._has_reasoning = False

    @property
    def thinking(self) -> bool:
        """Whether the text may still be reasoning."""
        return self._think is not None and not self._think.done

    def take(self, raw: bytes, chunk: Json, choice: Json, delta: Json, fragments: list[Fragment]) -> Verdict:
        """Handle an event of this choice."""
        if delta is choice.get("message"):
            delta = self._without_repeated_text(delta)
        self._has_text = self._has_text or bool(delta.get("content"))
        self._has_reasoning = self._has_reasoning or any(delta.get(key) for key in REASONING_KEYS)
        legacy = not delta.get("tool_calls")
        if fragments and (legacy or self._legacy):
            fragments = self._in_one_form(fragments, legacy)
        if self._think is not None and not self._think.done:
            return self._take_thinking(self._think, raw, chunk, choice, delta, fragments)
        return self.stream.take(ReadChoice.of(raw, chunk, choice, delta, fragments, self.index))

    def _without_repeated_text(self, message: Json) -> Json:
        """A `message` that repeats the whole answer, without the text and reasoning that the client already has.

        The calls stay, because they are compared with the earlier ones.
        """
        if self._has_text:
            return {key: value for key, value in message.items() if key in CALLS}
        if self._has_reasoning:
            return {key: value for key, value in message.items() if key not in REASONING_KEYS}
        return message

    def _in_one_form(self, fragments: list[Fragment], legacy: bool) -> list[Fragment]:
        """Ignore calls in the old `function_call` form if the same calls also arrive as `tool_calls`."""
        answer = self.stream.answer
        if legacy and not self._legacy and (answer.assembler.calls or answer.outgoing.sent):
            return [Fragment(None, "", "", "") for _ in fragments]
        if self._legacy and not legacy:
            answer.assembler.drop()
            for fragment in fragments if answer.outgoing.sent else ():
                fragment.repeats_answer = True
        self._legacy = legacy
        self.stream.live = self._live and not legacy
        write_legacy = legacy and self._request.legacy_functions
        self.writer.write_legacy(write_legacy)
        answer.needs_ids = not write_legacy
        return fragments

    # Reasoning at the beginning of the text (`toolfix_think`)

    def _take_thinking(
        self, think: Thinking, raw: bytes, chunk: Json, choice: Json, delta: Json, fragments: list[Fragment]
    ) -> Verdict:
        """Handle an event whose text may be reasoning: move reasoning to its own field, hold what is undecided."""
        ends = bool(choice.get("finish_reason"))
        moved = think.split(delta, last=ends)
        read = ReadChoice.of(raw, chunk, choice, delta if moved is None else moved, fragments, self.index)
        if moved is None:
            verdict = self.stream.take(read)
            self.stream.lesson = self.stream.lesson if think.done else None
            return verdict
        self.writer.remember(read)
        raw = read.raw = write_choice(chunk, choice, moved)
        verdict = self.stream.take(read)
        self.stream.lesson = None
        reply = ReplyBuilder()
        if ends or fragments or chunk.get("usage") or has_content(moved):
            reply.add(replaced(verdict, raw))
        reply.release(self._think_key)
        if think.text_held:
            held = {"content": think.text_held}
            reply.hold(self._think_key, write_choice({**chunk, "usage": None}, choice, held))
        return reply.replacement()

    def _end_thinking(self, think: Thinking, reply: ReplyBuilder) -> None:
        """The text is over: what may have been reasoning turns out to be text, or reasoning without an end."""
        moved = None if think.done else think.split({}, last=True)
        if moved is None:
            return
        choice: Json = {"index": self.index}
        raw = write_choice(self.writer.envelope, choice, moved)
        read = ReadChoice.of(raw, self.writer.envelope, choice, moved, [], self.index)
        reply.out += replaced(self.stream.take(read), raw).out
        reply.release(self._think_key)

    # The end

    def fail(self, reply: ReplyBuilder) -> None:
        if self._think is not None:
            self._end_thinking(self._think, reply)
        self.stream.fail(reply)

    def end(self, finish: Finish, reply: ReplyBuilder) -> bool:
        """End the choice, at `[DONE]` or with the stream. True if nothing is missing in the answer."""
        begun = self.stream.answer.engaged
        if self._think is not None:
            self._end_thinking(self._think, reply)
        return self.stream.end(finish, reply) or not begun
