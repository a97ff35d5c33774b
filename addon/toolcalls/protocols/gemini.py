"""Gemini's generateContent and streamGenerateContent: every part of a candidate as it is.

    {"candidates": [{"content": {"parts": […], "role": "model"}, "finishReason": "STOP"}], "usageMetadata": …}
    {"response": {"candidates": …}, "traceId": …}          the same with a Google login (cloudcode-pa)

A call is a part, whole or in pieces (`partial_args.py`); `STOP` is the right reason even if there are calls. Each
candidate is an answer of its own. A signature and what an event says besides its parts wait behind the calls before
them; every event of ours has the newest usage. An array is a stream whose events are its items.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from .. import payload
from ..finish_reason import FinishWords
from ..mend import strict
from ..mend.finish import Finish
from ..mend.mender import Mender
from ..mend.names import mend_name
from ..parts import Fragment, Json, Other, Part, Piece, Stop, Text, Thought
from ..payload import index_of, shown_text, string_of
from ..policy import Policy
from ..reasons import BEHIND_THE_END, PIECES_UNCLEAR
from ..request.answered import SIGNATURE
from ..request.request import Request, tokens_in
from ..textcalls.known import WrittenTools
from ..textcalls.literals import read_calls
from ..textcalls.read_aloud import was_read
from ..wire.sse import Event, in_one_line
from .errors import error_in
from .protocol import Failed, Protocol

_REASONS = ("finishReason", "finish_reason")
_ENDS = (*_REASONS, "finishMessage", "finish_message")
_ONCE = ("candidates", "usageMetadata", "promptFeedback")
_NUMBERED = {1: "STOP", 2: "MAX_TOKENS", 3: "SAFETY", 4: "RECITATION"}
"""The first values of Google's enum. Vertex and the Gemini API number the others differently."""
_CALL = "functionCall"
_FUNCTION = ("id", "name", "args", "partialArgs", "willContinue")
_EMPTY: Json = {"text": ""}
_MALFORMED = "MALFORMED_FUNCTION_CALL"
_QUOTES_A_CALL = "MALFORMED_FUNCTION_CALL that quotes a call"
"""Our own word for that reason, which clients never see."""
_DECODER = json.JSONDecoder()
_BETWEEN = re.compile(r"[\s,]*")
_MESSAGE = re.compile(r"\s*Malformed function call:\s*((?:print\(\s*)?default_api\.\w[\s\S]*)\Z")


class Gemini(Protocol):
    words = FinishWords("STOP", "STOP", frozenset({"finish_reason_unspecified", _QUOTES_A_CALL.lower()}))
    needs_ids = False
    text_needs_reason = True

    def __init__(self, request: Request, policy: Policy, mender: Mender) -> None:
        super().__init__(request, policy, mender)
        self._crlf = self._array = False
        """The line ends of the stream; whether its events are the items of an array."""
        self._head: Json = {}
        """What the last event said about the whole answer: its id, the model."""
        self._wrapper: Json | None = None
        """What stands beside `response`."""
        self._usage: Json = {}
        """The newest usage."""
        self._tokens = 0
        self._in_pieces: set[int] = set()
        """Candidates with a call in pieces that has not ended."""
        self._ended: dict[int, bool] = {}
        """Candidates with a reason to stop → whether it quoted a call."""

    def take(self, event: Event) -> list[bytes]:
        # Some clients read an error without `data:`.
        return self._fail(event.raw) if event.data is None and _is_error(event.raw) else super().take(event)

    def end(self, half: bytes = b"") -> list[bytes]:
        return self._fail(half) if half and _is_error(half) else super().end(half)

    def _taken(self, parts: Sequence[Part]) -> list[Part]:
        out: list[Part] = []
        for part in parts:
            for choice, answer in self.answers.items():
                # Another candidate goes on, with newer usage.
                out += answer.close(Finish.UNKNOWN) if answer.reason_waits and choice != part.choice else []
            out += self.answer_of(part.choice).take(part)
        for part in parts:
            # Only now, because a usage counts its own event too: a call that waited until this event came was
            # complete before the answer reached its limit, and must not be taken for one that was cut off there.
            self.answer_of(part.choice).end.note_tokens(self._tokens)
        return out

    # An event

    def read(self, event: Event) -> list[Part] | None:
        data = payload.read_twice(event.data or "")[0]
        if error_in(data) is not None:
            raise Failed
        if not isinstance(data, dict):
            return None
        answer = _answer_of(data)
        usage, feedback = answer.get("usageMetadata"), answer.get("promptFeedback")
        self._usage = usage if isinstance(usage, dict) else self._usage
        self._tokens = tokens_in(self._usage, "candidatesTokenCount", "thoughtsTokenCount")
        rest: Json = {"answer": {"promptFeedback": feedback}}
        candidates = _candidates_of(answer)
        if not candidates:
            blocked = feedback.get("blockReason") if isinstance(feedback, dict) else None
            if blocked:
                return [Stop(str(blocked), Finish.CUT, rest, choice=0)]
            ended = any(one.reason_waits for one in self.answers.values())
            newest = Other(body={"content": None}, waits=True, choice=next(reversed(self.answers), None))
            return [newest] if usage and self.answers and not ended else []
        self._crlf = event.raw.endswith(b"\r\n")
        self._head = {key: value for key, value in answer.items() if key not in _ONCE}
        self._wrapper = None if answer is data else {key: data[key] for key in data if key != "response"}
        parts = [part for candidate in candidates for part in self._read_candidate(candidate)]
        return [*parts, Other(body=rest, waits=True, choice=_choice_of(candidates[-1]))] if feedback else parts

    def _read_candidate(self, candidate: Json) -> list[Part]:
        choice = _choice_of(candidate)
        self.answer_of(choice).id = string_of(self._head.get("responseId"))
        content = candidate.get("content")
        listed = content.get("parts") if isinstance(content, dict) else content
        parts: list[Part] = []
        for entry in listed if isinstance(listed, list) else [listed]:
            parts += self._read_part(entry, choice) if entry is not None else []
        end = {key: candidate[key] for key in _ENDS if key in candidate} if _reason_of(candidate) else {}
        rest = {key: candidate[key] for key in candidate if key not in ("content", "index", *end)}
        if any(value is not None for value in rest.values()):
            parts.append(Other(body={"candidate": rest}, waits=True))
        parts += self._read_end(end, choice, parts) if end else []
        parts = parts or [Other(waits=True)]  # Its usage is newer than that of what waits.
        for part in parts:
            part.choice = choice
            if isinstance(part, Stop) or (not listed and isinstance(part, Other)):
                part.body["content"] = content if not listed else {"parts": [_EMPTY], "role": "model"}
        return parts

    def _read_part(self, part: Any, choice: int) -> list[Part]:
        body: Json = {"part": part}
        if not isinstance(part, dict):
            return [Other(body=body, shown=shown_text(part))]
        text, thought = part.get("text"), part.get("thought") is True
        if isinstance(part.get(_CALL), dict) and not thought:
            return [self._read_call(part[_CALL], choice, body)]
        if isinstance(text, str) and (thought or part.keys() <= {"text", "thought", SIGNATURE}):
            if thought and text:
                return [Thought(text, body=body)]
            signed: Json = {"part": {**part, "text": ""}, "signs": bool(text)}
            return [
                *([Text(text)] if text else []),
                *([Other(body=signed, waits=True)] if SIGNATURE in part else []),
            ]
        self._request.read_by_model.add_results(part)
        return [Other(body=body, shown="" if thought else shown_text(text))]

    def _read_call(self, call: Json, choice: int, body: Json) -> Fragment:
        args, pieces, goes_on = call.get("args"), call.get("partialArgs"), call.get("willContinue") is True
        refusal = BEHIND_THE_END if self._ended.get(choice) else ""
        made = Fragment(id=string_of(call.get("id")), name=string_of(call.get("name")), refusal=refusal, body=body)
        if "partialArgs" in call or goes_on or not (made.name or "args" in call):
            if not (made.name or pieces or goes_on or choice in self._in_pieces):
                return Fragment()
            made.partial_args, made.begins = pieces or [], bool(made.name)
            made.ends = not goes_on and (made.begins or choice in self._in_pieces)
            made.refusal = refusal or (PIECES_UNCLEAR if args else "")
        else:
            made.whole = True
            made.arguments = args if isinstance(args, str) else strict.write({} if args is None else args)
            made.steps = ("arguments made an object",) if isinstance(args, str) else ()
        (self._in_pieces.discard if made.ends or made.whole else self._in_pieces.add)(choice)
        return made

    def _read_end(self, end: Json, choice: int, before: list[Part]) -> list[Part]:
        reason, answer = _reason_of(end), self.answer_of(choice)
        called = answer.has_calls or any(isinstance(part, Fragment) for part in before)
        quoted = self._quoted_call(end) if reason == _MALFORMED and not called and choice not in self._ended else None
        text = "".join(part.text for part in before if isinstance(part, Text))
        self._ended[choice] = quoted is not None and not answer.text.would_quote_after(text)
        if quoted is None or not self._ended[choice]:
            return [Stop(reason, Finish.of(reason), {"end": end}, self._tokens)]
        return [quoted, Stop(_QUOTES_A_CALL, Finish.COMPLETE, {"end": end}, self._tokens)]

    def _quoted_call(self, end: Json) -> Fragment | None:
        """The call that the message of a reason quotes: of a declared tool, with named literals that fit its schema.

        All others stay as they are, and clients ask again.
        """
        request, message = self._request, _MESSAGE.match(string_of(end.get("finishMessage")))
        if message is None or self._policy.text_calls == "off":
            return None
        try:
            [(written, unnamed, arguments)] = read_calls(message[1])
            tool = mend_name(written, request.tools).tool
            if tool is None or tool.kind != "function" or tool.view is None or unnamed:
                return None
            fits = tool.fits(arguments)
        except (RecursionError, ValueError):
            return None
        wanted = self._policy.touches(tool.name) and (request.allowed is None or tool.name in request.allowed)
        text, tools = strict.write(arguments), WrittenTools(request.tools)
        if not (fits and wanted) or was_read(tool.name, text, request.read_by_model.texts, tools):
            return None
        steps = ("read from the message of a malformed call",)
        return Fragment(name=tool.name, arguments=text, whole=True, steps=steps)

    # Writing

    def write(self, part: Part) -> bytes:
        if isinstance(part, Fragment) and not part.body:
            return b""  # It came as the message of the reason.
        candidate, answer = part.body.get("candidate", {}), part.body.get("answer", {})
        if isinstance(part, Stop):
            candidate = _end_of(part)
        # What had no content gets none, unless the reason is ours.
        came = part.body if candidate == part.body.get("end", candidate) else {}
        content: Any = came.get("content", {"parts": [_written(part)], "role": "model"})
        written = {**({} if content is None else {"content": content}), **candidate, "index": part.choice or 0}
        usage = {"usageMetadata": self._usage} if self._usage else {}
        data = {"candidates": [written], **usage, **answer, **self._head}
        text = strict.write(data if self._wrapper is None else {"response": data, **self._wrapper})
        end = "\r\n\r\n" if self._crlf else "\n\n"
        return (text if self._array else f"data: {in_one_line(text)}{end}").encode("utf-8", "backslashreplace")

    def keep_alive(self) -> bytes:
        """An event without a candidate, because a comment ends the sessions of Gemini CLI."""
        return b'data: {"candidates": []}\r\n\r\n'

    # A document, or an array of events

    def document(self, body: bytes) -> bytes:
        items = _items(body.decode("utf-8", "replace").strip().removeprefix("\ufeff"))
        if items is None:
            return super().document(body)
        self._array = True
        events = [Event(text.encode(), text) for text in items]
        taken = [self.take(event) if event.raw[:1] == b"{" else [event.raw] for event in events]
        out = [piece for pieces in (*taken, self.end()) for piece in pieces if piece]
        return body if out == [event.raw for event in events] else b"[" + b",\n".join(out) + b"]\n"

    def write_document(self, body: bytes, parts: list[Part]) -> bytes:
        data = payload.read_twice(body.decode("utf-8", "replace"))[0]
        answer = _answer_of(data)
        made = {**answer, "candidates": [_with_parts(candidate, parts) for candidate in _candidates_of(answer)]}
        return strict.write(made if answer is data else {**data, "response": made}).encode()


def _is_error(raw: bytes) -> bool:
    return error_in(payload.read_strict(raw.decode("utf-8", "replace"))) is not None


def _items(text: str) -> list[str] | None:
    """The items of a JSON array, as they are written; None if it is none."""
    if not isinstance(payload.read_strict(text), list):
        return None
    items: list[str] = []
    at = 1
    while (between := _BETWEEN.match(text, at)) and between.end() < len(text) - 1:
        at = _DECODER.raw_decode(text, between.end())[1]
        items.append(text[between.end() : at])
    return items


def _answer_of(data: Json) -> Json:
    """The answer without the wrapper of a login."""
    inner = data.get("response")
    return inner if isinstance(inner, dict) and "candidates" not in data else data


def is_gemini(data: Json) -> bool:
    """Whether an event or a body looks like Gemini's."""
    answer = _answer_of(data)
    return isinstance(answer.get("candidates"), list) or isinstance(answer.get("promptFeedback"), dict)


def _candidates_of(answer: Json) -> list[Json]:
    found = answer.get("candidates")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _choice_of(candidate: Json) -> int:
    """Its index; 0 may be left out."""
    return index_of(candidate.get("index")) or 0


def _reason_of(candidate: Json) -> str:
    """The reason to stop, which some servers send as a number; "" if there is none."""
    reason = next((candidate[key] for key in _REASONS if candidate.get(key)), "")
    if isinstance(reason, str):
        return reason
    return strict.write(reason) if isinstance(reason, bool | list | dict) else _NUMBERED.get(reason, str(reason))


def _end_of(stop: Stop) -> Json:
    """The reason and its message: as they came, if the reason is still true."""
    end: Json = stop.body.get("end", {})
    return end if stop.reason in (_reason_of(end), _QUOTES_A_CALL) else {"finishReason": stop.reason}


def _written(part: Part) -> Any:
    """The part as the client gets it. A call that was written as text has no id."""
    if isinstance(part, Text):
        return {"text": part.text}
    if not isinstance(part, Piece):
        return part.body.get("part", _EMPTY)
    came = part.body.get("part", {})
    value = payload.read_twice(part.arguments)[0]
    # Arguments that are no object are written as they are: the user's options leave this call alone.
    made = {"name": part.name, "args": value if isinstance(value, dict) else part.arguments}
    more = {key: value for key, value in came.get(_CALL, {}).items() if key not in _FUNCTION}
    call = {**({"id": part.id} if part.id and part.fragments else {}), **made, **more}
    return {_CALL: call, **{key: value for key, value in came.items() if key != _CALL}}


def _with_parts(candidate: Json, parts: list[Part]) -> Json:
    """The candidate of a document with these parts instead of its own."""
    own = [part for part in parts if part.choice == _choice_of(candidate)]
    end = next((_end_of(part) for part in own if isinstance(part, Stop)), {})
    written: list[Any] = []
    before: Part | None = None
    for part in own:
        if isinstance(before, Text) and part.body.get("signs"):
            written[-1] = {**part.body["part"], **written[-1]}
        elif "part" in part.body or isinstance(part, Text | Piece):
            written.append(_written(part))
        before = part
    content = candidate.get("content")
    content = {**(content if isinstance(content, dict) else {}), "parts": written or [_EMPTY], "role": "model"}
    kept = {key: value for key, value in candidate.items() if key != "content" and (key not in _ENDS or key in end)}
    return {"content": content, **kept, **end}
