"""Writes what an answer releases as Gemini's events and documents."""

from __future__ import annotations

from ...turn import payload
from ...turn.answer import CompletedCall
from ...turn.finish_reason import FinishWords
from ...turn.parts import ReadEvent
from ..answer_io import AnswerWriter
from .envelope import Envelope, Json, candidates_of, parts_of
from .reader import CALL, SIGNATURE, is_call, is_text


class GeminiWriter(AnswerWriter):
    words = FinishWords("STOP", "STOP", frozenset({"finish_reason_unspecified"}))

    def __init__(self, envelope: Envelope) -> None:
        self._envelope = envelope

    def text(self, read: ReadEvent | None, text: str) -> bytes:
        return self._written(read, [{"text": text}])

    def rest(self, read: ReadEvent) -> bytes:
        return self._written(read, _rest(read))

    def calls(self, read: ReadEvent) -> bytes:
        return self._written(read, list(filter(is_call, _parts(read))))

    def call(self, call: CompletedCall) -> bytes:
        return self._written(None, [_call_part(call)])

    def end(self, read: ReadEvent | None, reason: str) -> bytes:
        rest = _rest(read) if read is not None else []
        data = read.payload if read is not None else None
        return self._envelope.write(self._envelope.like(data, rest, ends=read is not None, reason=reason))

    def document(self, read: ReadEvent, texts: list[str], calls: list[CompletedCall], reason: str | None) -> bytes:
        new_texts, fragments = iter(texts), iter(read.fragments)
        sent = {call.assembled.index: call for call in calls if call.assembled is not None}
        parts: list[Json] = []
        for part in _parts(read):
            if is_call(part):
                call = sent.pop(next(fragments).index, None)
                parts += [_call_part(call)] if call is not None else []
            elif is_text(part) and part["text"]:
                written = {**part, "text": next(new_texts)}
                parts += [written] if written["text"] or SIGNATURE in part else []
            else:
                parts.append(part)
        parts += [{"text": text} for text in new_texts if text]
        parts += map(_call_part, sent.values())
        parts += [_call_part(call) for call in calls if call.assembled is None]
        return self._envelope.write(self._envelope.like(read.payload, parts, ends=True, reason=reason or ""))

    def keep_alive(self) -> bytes:
        """An event without a candidate, because a comment ends the sessions of Gemini CLI."""
        return b'data: {"candidates": []}\r\n\r\n'

    def _written(self, read: ReadEvent | None, parts: list[Json]) -> bytes:
        data = read.payload if read is not None else None
        return self._envelope.write(self._envelope.like(data, parts))


def _parts(read: ReadEvent) -> list[Json]:
    known = candidates_of(read.payload)
    return parts_of(known[0]) if known and isinstance(known[0], dict) else []


def _rest(read: ReadEvent) -> list[Json]:
    """The parts without texts and calls. A text part with a signature stays, with an empty text."""
    kept = [part for part in _parts(read) if not is_call(part) and (not is_text(part) or SIGNATURE in part)]
    return [{**part, "text": ""} if is_text(part) else part for part in kept]


def _call_part(call: CompletedCall) -> Json:
    """A call as a part, with everything that arrived beside it. A call that was written as text has no id."""
    outcome = call.outcome
    function: Json = {"id": outcome.id} if outcome.id and call.assembled is not None else {}
    arguments = payload.read_twice(outcome.arguments)[0]
    # Arguments that are not an object are written unchanged: the user's options leave this call alone.
    args = arguments if isinstance(arguments, dict) else outcome.arguments
    function |= {"name": outcome.name, "args": args, **call.extra.get(CALL, {})}
    return {CALL: function, **{key: value for key, value in call.extra.items() if key != CALL}}
