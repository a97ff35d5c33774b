"""OpenAI Responses, streamed (over HTTP or as messages of a WebSocket) and as a document.

    response.created                      the response, and what was asked
    response.output_item.added, .done     an item begins and ends: a message, reasoning, a call, a tool of the host
    response.….delta, .done               a piece of a text or of arguments, and then the whole
    response.completed, .failed …         the terminal event: how it ended, and all items again

A call is said four times and in the list at the end: all of them agree. The terminal event lists what was sent.
If none came, `response.completed` is written if every item is done; otherwise `response.failed`, so that clients
retry and nothing runs incompletely.
"""

from __future__ import annotations

import re
from typing import Final

from ... import payload
from ...finish_reason import FinishWords
from ...mend import strict
from ...mend.finish import Finish
from ...mend.mender import Mender
from ...parts import Json, Part, Stop, Text
from ...policy import Policy
from ...request.request import Request
from ...wire import sse
from ...wire.events import Event
from ...wire.framing import SSE, Framing
from ..errors import error_in
from ..protocol import Protocol, joined
from .events import ARGUMENTS, COMPLETED, CREATED, DELTA, FAILED, NUMBER, TERMINAL, Incoming
from .freeform import AnswerOfItems
from .items import Items
from .read import Reader
from .write import Writer

_ABOUT_A_CALL: Final = re.compile(
    r'"(?:function_call|custom_tool_call|response\.(?:function_call_arguments|custom_tool_call_input)\.\w+)"'
)
"""In an event about a call: the type of the event or of an item in it. In a text its quotes would be escaped."""
_KINDS: Final = {"completed": COMPLETED, "incomplete": "response.incomplete", "failed": "response.failed"}
_UNFINISHED: Final = frozenset({"in_progress", "queued"})


class Responses(Protocol):
    words = FinishWords(calls=COMPLETED, stop=COMPLETED)
    answer_type = AnswerOfItems

    def __init__(self, request: Request, policy: Policy, mender: Mender, framing: Framing = SSE) -> None:
        super().__init__(request, policy, mender)
        self.framing = framing
        self._items = Items(mender.ids.unique)
        self._reader = Reader(self.answer, self._items, mender.ids, request.read_by_model)
        self._writer = Writer(framing, self._items, request.model)
        self._begun = 0
        """How many times the answer began."""
        self._error: Json = {}
        """An error that is no event of the protocol: `response.failed` repeats it at the end."""

    def take(self, event: Event) -> list[bytes]:
        self.passing = self.piece = None
        if event.data is None:
            return [event.raw]
        if self._over:
            # A call after the terminal event would run unmended, or again.
            return [] if _ABOUT_A_CALL.search(event.data) else [event.raw]
        message = payload.read_strict(event.data)
        if not isinstance(message, dict):
            return self._take_odd(event)
        kind = str(message.get("type") or event.type)
        source = Incoming(event.raw, [], message, event.type, kind)
        if not kind.startswith("response.") or kind == "response.error":
            error = error_in(message, event.type)
            if error is not None:
                if recovered := self._recovered(event):
                    return recovered
                self._over = message.get("type") == "error"
                return self._fail_with(error, source)
        else:
            self._started = True
        if kind == CREATED:
            self._begun += 1
            self.answer.id = str(self._begun)
        if kind in TERMINAL:
            return self._finish_with(source, source.finish)
        parts = self._reader.read(source)
        out = self._sent(source, parts)
        if self.answer.live is None:
            self._learn(event.raw, parts, out)
        return out

    def _learn(self, raw: bytes, parts: list[Part], out: list[bytes]) -> None:
        super()._learn(raw, parts, out)
        if isinstance(self.piece, Text):
            self.piece = None  # The reader needs the text too.

    def pass_unparsed(self, chunk: bytes) -> int:
        if self.passing is None:
            return 0
        texts, passed, line_begun = self._alike.texts(chunk, self.answer.line_begun)
        if passed:
            self.answer.pass_texts(texts, line_begun)
            self._writer.passed(self.passing, texts, chunk[:passed])
        return passed

    def _sent(self, source: Incoming, parts: list[Part]) -> list[bytes]:
        """What the client gets of these parts of an event."""
        source.parts = parts or source.parts
        for part in parts:
            part.source = source
        return self.written(self._taken(parts)) if parts else []

    def written(self, parts: list[Part]) -> list[bytes]:
        return [event for part in joined(parts) for event in self._writer.write(part)]

    def as_it_came(self, parts: list[Part]) -> list[bytes]:
        out: list[bytes] = []
        for part in parts:
            if isinstance(part, Text) and (part.source is None or part.piece_of is not None):
                item_id = "" if part.slot is None else part.slot.id
                out.append(self._writer.written({"type": DELTA, "item_id": item_id, "delta": part.text}, DELTA))
            elif part.source is not None and part.source.raw not in out[-1:]:
                out.append(part.source.raw)
        return out

    def keep_alive(self) -> bytes:
        return self._writer.keep_alive()

    # The end

    def _finish_with(self, source: Incoming, finish: Finish, *, streamed: bool = True) -> list[bytes]:
        """The terminal event: all that waits goes before it."""
        self._over = True
        self._writer.cut, self._writer.failed = finish is Finish.CUT, source.status in FAILED
        out = self._sent(source, self._reader.read_end(source, finish, streamed=streamed))
        return [*out, *self.written(self._closed(Finish.UNKNOWN))]

    def _finish(self) -> list[bytes]:
        return self._stop(Finish.UNKNOWN)

    def end(self, half: bytes = b"") -> list[bytes]:
        if self._over or not self._started:
            return [half] if half else []
        return self._stop(Finish.CUT)  # Half an event is dropped: our own end follows.

    def _stop(self, finish: Finish) -> list[bytes]:
        """End a response that has no terminal event."""
        if self._over or not self._started:
            return []
        self._over, self._writer.cut = True, finish is Finish.CUT
        out = self._end_of_all(finish)
        if self._writer.left_alone:
            return out
        known = [item for item in self._items.all if item.told or not item.over]
        response = self._writer.announced
        if known and all(item.complete for item in known) and not (self.answer.call_refused or self._error):
            ended = {**response, "status": "completed", "output": None}
            message: Json = {"type": COMPLETED, NUMBER: None, "response": ended}
            return [*out, *self._finish_with(Incoming(b"", [], message, COMPLETED, COMPLETED), finish)]
        failed = {"status": "failed", "error": _failure(self._error), "output": self._items.output(None)}
        return [*out, self._writer.new("response.failed", {"response": {**response, **failed}})]

    def _end_of_all(self, finish: Finish) -> list[bytes]:
        """All that waits, without the reason that the answer makes up."""
        self._writer.failed = True
        parts = self._closed(finish, failed=finish is Finish.CUT)
        return self.written([part for part in parts if not isinstance(part, Stop)])

    # Errors, and what is no event

    def _fail_with(self, error: Json, event: bytes | Incoming) -> list[bytes]:
        """Forward an error. If it is no event of the protocol, `response.failed` repeats it at the end; if it is the
        first event, it becomes the protocol's own, because there is no response yet that could fail."""
        if not self._over:
            self._error = error
        out = self._end_of_all(Finish.CUT)
        if not (self._over or self._started):
            self._over = True
            told = {**_failure(error), "param": error.get("param")}
            out.append(self._writer.new("error", {**told, "error": {"type": told["code"], **error, **told}}))
            return out
        return [*out, event if isinstance(event, bytes) else self._writer.in_order(event)]

    def _take_odd(self, event: Event) -> list[bytes]:
        # Nothing of a held call may be sent, whether it can be read or not.
        unread = event.type == f"{ARGUMENTS}.delta" and self.answer.holds_call
        out = super()._take_odd(event) if self.framing is SSE else [event.raw]
        return [] if unread and out == [event.raw] else out

    def _take_error(self, event: Event, error: Json) -> list[bytes]:
        return self._fail_with(error, event.raw)

    def write_broken(self, event: Event, meant: Json) -> Event:
        text = strict.write_event(meant)
        return Event(sse.write(text, event.type), text, event.type)

    # A document

    def document(self, body: bytes) -> bytes:
        """Mend a document as if it were the terminal event of a stream without other events."""
        response = payload.object_in(body) or {}
        output, status = response.get("output"), str(response.get("status") or "")
        if not isinstance(output, list) or status in _UNFINISHED:
            return body
        kind = "response.failed" if response.get("error") else _KINDS.get(status, "response.done")
        source = Incoming(body, [], {"response": response}, kind, kind)
        self._writer.in_document = True
        self._finish_with(source, source.finish, streamed=False)
        made = self._items.output(output, failed=source.status in FAILED)
        if made == output:
            return body
        return payload.write({**response, "output": made}).encode("utf-8", "backslashreplace")

    def read(self, event: Event) -> list[Part] | None:
        raise NotImplementedError  # `take` reads.

    def write(self, part: Part) -> bytes:
        return b"".join(self._writer.write(part))

    def write_document(self, body: bytes, parts: list[Part]) -> bytes:
        raise NotImplementedError  # `document` writes.


def _failure(error: Json) -> Json:
    """The error of a failed response: the one that the server reported, or else that it ended too early."""
    return {
        "code": str(error.get("code") or error.get("type") or "server_error"),
        "message": str(error.get("message") or "The answer of the server ended before it was complete."),
    }
