"""OpenAI Responses, streamed (over HTTP or as messages of a WebSocket) and as a document.

    response.created                      the response, and what was asked
    response.output_item.added, .done     an item begins and ends: a message, reasoning, a call, a tool of the host
    response.….delta, .done               a piece of a text or of arguments, and then the whole
    response.completed, .failed …         the terminal event: how it ended, and all items again

A call is said four times and in the list at the end: all of them agree. The terminal event lists what was sent, if a
call was held, and passes otherwise. If none came, `response.completed` is written if every item is done; otherwise
`response.failed`, so that clients retry and nothing runs incompletely.
"""

from __future__ import annotations

import re
from typing import Final

from ... import payload
from ...finish_reason import FinishWords
from ...mend.finish import Finish
from ...mend.mender import Mender
from ...parts import Fragment, Json, Part, Stop
from ...policy import Policy
from ...request.request import Request
from ...wire.framing import SSE, Framing
from ...wire.sse import Event
from ..errors import error_in
from ..protocol import Failed, Protocol, joined
from .answer import AnswerOfItems
from .items import Items
from .read import COMPLETED, CREATED, TERMINAL, Incoming, Reader
from .write import Writer

_ABOUT_A_CALL: Final = re.compile(r'(?<!\\)"(?:response\.)?(?:function|custom_tool)_call')
"""In an event about a call: the type of the event or of an item in it. In a text its quotes would be escaped."""


class Responses(Protocol):
    words = FinishWords(calls=COMPLETED, stop=COMPLETED)
    answer_type = AnswerOfItems
    passes_calls = False

    def __init__(self, request: Request, policy: Policy, mender: Mender, framing: Framing = SSE) -> None:
        super().__init__(request, policy, mender)
        self.framing = framing
        self._items = Items(mender.ids.unique)
        assert isinstance(self.answer, AnswerOfItems)
        self._reader = Reader(self.answer, self._items, request.read_by_model)
        self._writer = Writer(framing, self._items, request.model)
        # The reader needs the texts, and an event that may leave as it came has to be read.
        self._learns = (Fragment,) if self.answer.live is None else ()
        self._begun = 0
        """How many times the answer began."""
        self._failed_by: tuple[Json, Incoming | None] = {}, None
        """The error that was read last, and its event, if that is JSON."""
        self._document: Json = {}

    # Reading

    def take(self, event: Event) -> list[bytes]:
        if self._over and event.data is not None:
            # A call after the terminal event would run unmended, or again.
            return [] if _ABOUT_A_CALL.search(event.data) else [event.raw]
        out = super().take(event)
        return [*out, *self._all_that_waits(Finish.UNKNOWN)] if self._over else out

    def read(self, event: Event) -> list[Part] | None:
        message = payload.read_strict(event.data or "")
        if not isinstance(message, dict):
            return None
        kind = str(message.get("type") or event.type)
        source = Incoming(event.raw, [], message, event.type, kind)
        if not kind.startswith("response.") or kind == "response.error":
            error = error_in(message, event.type)
            if error is not None:
                self._failed_by = error, source
                raise Failed
        else:
            self._started = True
        if kind == CREATED:
            self._begun += 1
            self.answer.id = str(self._begun)
        self._over = kind in TERMINAL
        return self._reader.read(source)

    def pass_unparsed(self, chunk: bytes) -> int:
        if self.passing is None:
            return 0
        texts, passed, line_begun = self._alike.texts(chunk, self.answer.text.line_begun)
        if passed:
            self.answer.text.pass_texts(texts, passed, line_begun)
            self._writer.passed(self.passing, texts, chunk[:passed])
        return passed

    def _take_odd(self, event: Event) -> list[bytes]:
        return super()._take_odd(event) if self.framing is SSE else [event.raw]

    # Writing

    def written(self, parts: list[Part]) -> list[bytes]:
        parts = joined(parts) if len(parts) > 1 else parts
        return [event for part in parts for event in self._writer.write(part)]

    def write(self, part: Part) -> bytes:
        return b"".join(self._writer.write(part))

    def as_it_came(self, parts: list[Part]) -> list[bytes]:
        out: list[bytes] = []
        last = None
        for part in parts:
            if part.source is None or part.source is not last:
                out.append(self.write(part) if part.source is None else part.source.raw)
            last = part.source
        return out

    def keep_alive(self) -> bytes:
        return self._writer.keep_alive()

    # The end

    def _finish(self, finish: Finish = Finish.UNKNOWN, *, failed: bool = False) -> list[bytes]:
        return self._end_response(finish)

    def end(self, half: bytes = b"") -> list[bytes]:
        if self._over or not self._started:
            return [half] if half else []
        return self._end_response(Finish.CUT)  # Half an event is dropped: our own end follows.

    def _all_that_waits(self, finish: Finish) -> list[bytes]:
        """All that waits, without the reason that the answer makes up."""
        parts = self._closed(finish, failed=finish is Finish.CUT)
        return self.written([part for part in parts if not isinstance(part, Stop) or part.source is not None])

    def _end_response(self, finish: Finish, error: Json | None = None) -> list[bytes]:
        """End a response that has no terminal event. `error`: what the server reported instead of one."""
        if self._over or not self._started:
            return []
        self._over = True
        out = self._all_that_waits(finish)
        if any(outcome.left_alone for outcome in self._mender.outcomes):
            return out  # No end is made up for a call that goes as it came.
        items, response = self._items, self._writer.response
        if not response:
            identity = items.fresh("response")
            response = {"id": identity, "object": "response", "created_at": 0, "model": self._request.model}
        response = {**response, "output": items.output(None)}
        if items.all and all(one.done for one in items.all) and not (self.answer.call_refused or error):
            return [*out, self._writer.send(COMPLETED, {"response": {**response, "status": "completed"}})]
        failed = {"status": "failed", "error": _failure(error or {})}
        return [*out, self._writer.send("response.failed", {"response": {**response, **failed}})]

    def _fail(self, *raw: bytes) -> list[bytes]:
        """Forward an error; complete calls go before it, and unfinished ones are dropped.

        If it is no event of the protocol, `response.failed` repeats it; if it is the first event, it is written as
        one of the protocol, because there is no response yet that could fail.
        """
        out = self._all_that_waits(Finish.CUT)
        error, source = self._failed_by
        ends = source is not None and source.message.get("type") == "error"
        if ends or self._started:
            out += raw if source is None else [self._writer.send(source.kind, {}, source)]
            self._over = ends
            return [*out, *self._end_response(Finish.CUT, error)]
        self._over = True
        said = {**_failure(error), "param": error.get("param")}
        return [*out, self._writer.send("error", {**said, "error": {"type": said["code"], **error, **said}})]

    def write_error(self, error: Json) -> bytes:
        self._failed_by = error, None
        return b""

    # A document

    def read_document(self, body: bytes) -> list[Part] | None:
        """The parts of a document, as if it were the terminal event of a stream without other events."""
        response = self._document = payload.object_in(body) or {}
        status = str(response.get("status") or "")
        if not isinstance(response.get("output"), list) or status in ("in_progress", "queued"):
            return None
        kind = "response.failed" if response.get("error") else f"response.{status}"
        source = Incoming(body, [], {"response": response}, kind, kind)
        return self._reader.read(source, document=True)

    def write_document(self, body: bytes, parts: list[Part]) -> bytes:
        self.written(parts)
        made = self._writer.response
        return body if made == self._document else payload.write(made).encode("utf-8", "backslashreplace")


def _failure(error: Json) -> Json:
    """The error of a failed response: the one that the server reported, or else that it ended too early."""
    return {
        "code": str(error.get("code") or error.get("type") or "server_error"),
        "message": str(error.get("message") or "The answer of the server ended before it was complete."),
    }
