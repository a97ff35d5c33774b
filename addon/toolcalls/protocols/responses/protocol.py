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
from typing import Any, Final

from ... import payload
from ...finish_reason import FinishWords
from ...mend.finish import Finish
from ...mend.mender import Mender
from ...parts import Json, Part, Piece, Stop, Text
from ...policy import Policy
from ...request.request import Request
from ...wire import sse
from ...wire.events import Event
from ...wire.framing import SSE, Framing
from ..errors import error_in
from ..odd_data import DataKind, classify_data
from ..protocol import Protocol, joined
from .freeform import AnswerOfItems
from .items import Items
from .live import LiveWriter
from .output import output_of
from .read import ARGUMENTS, COMPLETED, CREATED, DELTA, FAILED, TERMINAL, Incoming, Reader, status_of
from .write import Writer

_ABOUT_A_CALL: Final = re.compile(
    r'"(?:function_call|custom_tool_call|response\.(?:function_call_arguments|custom_tool_call_input)\.\w+)"'
)
"""In an event about a call: the type of the event or of an item in it. In a text its quotes would be escaped."""
_KINDS: Final = {"completed": COMPLETED, "incomplete": "response.incomplete", "failed": "response.failed"}
_UNFINISHED: Final = frozenset({"in_progress", "queued"})


class Responses(Protocol):
    words = FinishWords(calls=COMPLETED, stop=COMPLETED)

    def __init__(self, request: Request, policy: Policy, mender: Mender, framing: Framing = SSE) -> None:
        super().__init__(request, policy, mender)
        self.framing = framing
        answer = self.answers[None] = AnswerOfItems(request, policy, mender, self.words, self.tail)
        self._items = Items(mender.ids.unique)
        self._reader = Reader(answer, self._items, mender.ids, request.read_by_model)
        self._writer = Writer(framing, self._items, request.model)
        self._live = LiveWriter(self._writer, self._items)
        self._flows = not policy.aggregate
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
        if self._flows:
            self._live.note(source)
        if kind in TERMINAL:
            return self._finish_with(source)
        parts = self._reader.read(source)
        out = self._sent(source, parts)
        if not self._flows:
            self._learn(event.raw, parts, out)
        return out

    def passes_unparsed(self, chunk: bytes) -> bool:
        texts = self._alike.texts(chunk) if self.passing is not None else None
        if texts is None or self.passing is None:
            return False
        self.answer.pass_texts(texts)
        self._writer.passed(self.passing, texts, chunk)
        return True

    def _sent(self, source: Incoming, parts: list[Part]) -> list[bytes]:
        """What the client gets of these parts of an event."""
        if not parts:
            return []
        source.parts = parts
        for part in parts:
            part.source = source
        return self.written(self._taken(parts))

    def written(self, parts: list[Part]) -> list[bytes]:
        out: list[bytes] = []
        for part in joined(parts) if len(parts) > 1 else parts:
            out += self._live.write(part) if isinstance(part, Piece) else self._writer.write(part)
        return out

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

    def _finish_with(self, source: Incoming, *, streamed: bool = True) -> list[bytes]:
        """The terminal event: all that waits goes before it."""
        self._over = True
        response = source.message.get("response")
        response = response if isinstance(response, dict) else {}
        parts = self._reader.read_end(source.kind, response, streamed=streamed)
        end = parts[-1]
        self._writer.cut = isinstance(end, Stop) and end.finish is Finish.CUT
        self._live.failed = isinstance(end, Stop) and end.failed
        return [*self._sent(source, parts), *self.written(self._closed(Finish.UNKNOWN))]

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
        self._over = True
        self._writer.cut = finish is Finish.CUT
        answer = self.answer
        out = self._end_of_all(finish)
        if self._writer.left_alone:
            return out
        known = [item for item in self._items.all if item.told or not item.over]
        response = self._writer.announced()
        if known and all(item.complete for item in known) and not (answer.call_refused or self._error):
            for item in known:
                if item.done is None:
                    body = {"type": item.kind, **item.body, "status": "completed"}
                    out += self.written(self._taken(self._ended(item, body)))
            fields = {**response, "status": "completed", "output": output_of(self._items, None)}
            return [*out, self._writer.new(COMPLETED, {"response": fields})]
        fields = {
            **response,
            "status": "failed",
            "error": _failure(self._error),
            "output": output_of(self._items, None),
        }
        return [*out, self._writer.new("response.failed", {"response": fields})]

    def _ended(self, item: Any, body: Json) -> list[Part]:
        source = Incoming(b"", [], {}, COMPLETED, COMPLETED)
        source.parts = self._reader.end(item, body)
        for part in source.parts:
            part.source = source
        return source.parts

    def _end_of_all(self, finish: Finish) -> list[bytes]:
        """All that waits, without the reason that the answer makes up."""
        self._live.failed = True
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
        if self.framing is not SSE:
            return [] if unread else [event.raw]
        odd = classify_data(event, payload.read_strict(event.data or ""))
        if odd.kind is DataKind.ERROR:
            return self._fail_with(odd.value, event.raw)
        if odd.kind is DataKind.OTHER and unread:
            return []
        return super()._take_odd(event)

    def write_broken(self, event: Event, meant: Json) -> Event:
        text = payload.write(meant)
        return Event(sse.write(text, event.type), text, event.type)

    # A document

    def document(self, body: bytes) -> bytes:
        """Mend a document as if it were the terminal event of a stream without other events."""
        response = payload.object_in(body)
        if response is None or not isinstance(response.get("output"), list):
            return body
        if str(response.get("status") or "") in _UNFINISHED:
            return body
        kind = (
            "response.failed" if response.get("error") else _KINDS.get(str(response.get("status")), "response.done")
        )
        source = Incoming(body, [], {"response": response}, kind, kind)
        self._finish_with(source, streamed=False)
        output = output_of(self._items, response["output"], failed=status_of(kind, response) in FAILED)
        if output == response["output"]:
            return body
        return payload.write({**response, "output": output}).encode("utf-8", "backslashreplace")

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
