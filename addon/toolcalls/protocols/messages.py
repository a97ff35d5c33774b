"""Anthropic Messages: an answer is a sequence of blocks, each with events for its beginning, its pieces and its end.

    message_start · (content_block_start · content_block_delta* · content_block_stop)* · message_delta · message_stop

Clients insist on one open block at a time, on indices without gaps, on usage, and on an `event:` line. Servers
interleave blocks, repeat or leave out indices, and forget ends: what does not fit is closed, opened and numbered
here. An answer that just stops ends with an error, unless it lacks only its end.
"""

from __future__ import annotations

from typing import Any, Final

from .. import payload
from ..finish_reason import FinishWords
from ..mend import strict
from ..mend.finish import Finish
from ..mend.mender import Mender
from ..parts import Fragment, Json, Other, Part, Piece, Slot, SourceEvent, Stop, Text, Thought, read_together
from ..payload import index_of, shown_text, string_of
from ..policy import Policy
from ..request.request import Request, tokens_in
from ..wire import sse
from ..wire.sse import Event
from .errors import error_in
from .protocol import Ended, Failed, Instead, Protocol

_TOOL_USE, _SERVER_TOOL = "tool_use", "_tool_use"
"""A block with a call; how the type ends of one in which the server calls its own tool: `server_tool_use`."""
_START, _DELTA, _STOP = "content_block_start", "content_block_delta", "content_block_stop"
_EVENTS: Final = {_START, _DELTA, _STOP, "message_start", "message_delta", "message_stop", "ping", "error"}
_KIND_OF_KEY: Final = {"partial_json": "input_json", "text": "text", "thinking": "thinking", "signature": "signature"}
_NEEDS: Final = {"citations_delta": "text", "thinking_delta": "thinking", "signature_delta": "thinking"}
"""The kind of block that a delta needs. Deltas of other types may be in any block."""
_EMPTY: Final[dict[str, Json]] = {
    "text": {"type": "text", "text": ""},
    "thinking": {"type": "thinking", "thinking": "", "signature": ""},
}
_NO_USAGE: Final = {"input_tokens": 0, "output_tokens": 0}


def _written(event: Json) -> bytes:
    return sse.write(payload.write(event), event["type"])


_MESSAGE_STOP: Final = _written({"type": "message_stop"})
_CUT_OFF = {"type": "api_error", "message": "The upstream ended the stream before the answer was complete."}


class Messages(Protocol):
    words = FinishWords(calls=_TOOL_USE, stop="end_turn")
    one_block = True

    def __init__(self, request: Request, policy: Policy, mender: Mender) -> None:
        mender.ids.safe = True
        super().__init__(request, policy, mender)
        self.answer.call_may_follow = request.choices is None or len(request.tools) > 0
        self._last: Slot = None
        """The block that began last: events without an index belong to it."""
        self._kinds: dict[Slot, str] = {}
        """The blocks that have not ended, and those in which the server called a tool of its own."""
        self._delta: Json = {}
        """The message_deltas with a reason, as one."""
        self._tokens, self._called_behind = 0, False
        self._open: tuple[str, Slot] | None = None
        """The kind and the slot of the client's open block. It is the last of `_count`."""
        self._count = 0
        self._space: tuple[Slot, str] = (None, "")
        """White space without a block: hosts refuse a block of nothing else in the next request."""
        self._has_message_delta = False
        self._document: Json = {}

    def take(self, event: Event) -> list[bytes]:
        if event.data is not None:
            return super().take(event)
        return self.written(self._taken(_as_it_is(event.raw)))

    def read(self, event: Event) -> list[Part] | None:
        data = payload.read_strict(event.data or "")
        if not isinstance(data, dict):
            text = (event.data or "").strip()
            if text[:1] not in ("", ":") or event.type not in ("", "ping", "message_stop"):
                return None
            if not event.type:
                return _as_it_is(sse.comment(text))
            data = {}
        kind, raw, data = _typed(event, data)
        if self._over:
            return self._read_behind(kind, raw, data)
        if kind == "error":
            raise Failed(raw)
        if kind == "message_start":
            return self._read_message_start(raw, data)
        if kind == "ping" or kind not in _EVENTS:
            return _as_it_is(raw, waits=kind != "ping")
        if not self._started:
            raise Instead(self._message_start(), event)
        if kind == "message_stop":
            raise Ended(raw)
        if kind == "message_delta":
            return self._read_message_delta(raw, data)
        self._delta = {}
        index = index_of(data.get("index"))
        slot = self._last if index is None and kind != _START else index
        reader = {_START: self._read_start, _DELTA: self._read_delta, _STOP: self._read_stop}[kind]
        parts = reader(slot, data)
        if index is None and isinstance(parts[0], Fragment):
            parts[0].placed = False
        return read_together(raw, parts)

    def _read_behind(self, kind: str, raw: bytes, data: Json) -> list[Part]:
        """An event behind the end: a call, or a block of an answer with calls, would run unmended, or again."""
        block, delta = data.get("content_block"), data.get("delta")
        calls = isinstance(block, dict) and block.get("type") == _TOOL_USE
        self._called_behind = self._called_behind or calls or (isinstance(delta, dict) and "partial_json" in delta)
        blocks = kind.startswith("content_block") and (self._called_behind or self.answer.sent > 0)
        return read_together(raw, [Other(quiet=True)]) if blocks or kind == "message_stop" else _as_it_is(raw)

    def _message_start(self) -> Event:
        head = {"id": self._mender.ids.new(kind="msg"), "type": "message", "role": "assistant"}
        rest: Json = {"content": [], "stop_reason": None, "stop_sequence": None, "usage": _NO_USAGE}
        start = {"type": "message_start", "message": {**head, "model": self._request.model, **rest}}
        return Event(_written(start), payload.write(start), "message_start")

    def _read_message_start(self, raw: bytes, data: Json) -> list[Part]:
        message = data.get("message")
        if not (isinstance(message, dict) and message):
            raise Instead(*([] if self._started else [self._message_start()]))
        self.answer.id = string_of(message.get("id"))
        if self._started:
            return read_together(raw, [Other(quiet=True)])
        self._started = True
        self._tokens = tokens_in(message.get("usage"), "output_tokens")
        if not isinstance(message.get("usage"), dict):
            raw = _written({**data, "message": {**message, "usage": _NO_USAGE}})
        return _as_it_is(raw, None if message.get("content") else "")

    # Blocks

    def _read_start(self, slot: Slot, data: Json) -> list[Part]:
        block = data.get("content_block")
        kind = block.get("type") if isinstance(block, dict) else None
        if not isinstance(block, dict) or not isinstance(kind, str):
            return [Other(quiet=True)]  # The deltas open the block that they need.
        before = self._kinds.get(slot, _TOOL_USE)
        self._kinds[slot], self._last = kind, slot
        if kind != _TOOL_USE:
            return self._read_block(slot, block, data)
        # A block that is open at this index has lost its end.
        parts: list[Part] = [] if before == _TOOL_USE else [Other(slot, ends=True)]
        call = Fragment(slot, string_of(block.get("id")), string_of(block.get("name")), begins=True)
        call.given, call.body = block.get("input"), {"block": block}
        return [*parts, call]

    def _read_block(self, slot: Slot, block: Json, body: Json) -> list[Part]:
        """The beginning of a block that is no call, in a stream or a document."""
        kind, shown = string_of(block.get("type")), shown_text(block.get("text"))
        self._request.read_by_model.add_results(block)
        self.answer.end.other_tools = self.answer.end.other_tools or kind.endswith(_TOOL_USE)
        quiet = kind in ("text", "thinking", "redacted_thinking") and shown is not None and not shown.strip()
        thought = string_of(block.get("thinking")) if kind == "thinking" else ""
        begins = Other(slot, body, "" if quiet else shown, quiet=quiet, begins=True)
        return [begins, Thought(thought, slot)] if thought else [begins]

    def _read_stop(self, slot: Slot, data: Json) -> list[Part]:
        kind = self._kinds.get(slot, "")
        if not kind.endswith(_SERVER_TOOL):
            self._kinds.pop(slot, None)
        waits = kind == _TOOL_USE and self.answer.sent_at(slot) is None
        return [Fragment(slot, ends=True) if waits else Other(slot, data, quiet=True, ends=True)]

    def _read_delta(self, slot: Slot, data: Json) -> list[Part]:
        delta = data.get("delta")
        if not isinstance(delta, dict) or not delta:
            return [Other(quiet=True)]
        kind = string_of(delta.get("type")).removesuffix("_delta")
        if kind == "input_json":
            arguments = payload.text_of(delta.get("partial_json"))
            idle = self._open == (_TOOL_USE, slot) and not arguments
            if idle or self._kinds.get(slot, "").endswith(_SERVER_TOOL):
                return [Other(slot, data, quiet=True)]
            if slot not in self._kinds:
                sent = self.answer.sent_at(slot)
                others = _TOOL_USE in self._kinds.values() and arguments.strip()
                if sent is not None and (not others or arguments == sent.arguments):
                    return [Other(quiet=True)]  # Its call is complete.
                self._kinds[slot] = _TOOL_USE
            return [Fragment(slot, arguments=arguments)]
        text = delta.get(kind)
        if kind == "text" and text and isinstance(text, str):
            return [Text(text, slot, data)]
        if kind == "thinking" and text:
            return [Thought(payload.text_of(text), slot, data)]
        shown = shown_text(delta.get("text"))
        waits = kind == "citations" or (kind == "text" and shown == "")
        return [Other(slot, data, shown, quiet=shown == "" and kind != "citations", waits=waits)]

    def _read_message_delta(self, raw: bytes, data: Json) -> list[Part]:
        """A message_delta, with all that the one before it said, and with usage. One without a reason counts tokens
        in passing, if anything follows it."""
        delta, usage = (one if isinstance(one := data.get(key), dict) else {} for key in ("delta", "usage"))
        told = self._delta.get("delta", {})
        reason = string_of(delta.get("stop_reason")) or string_of(told.get("stop_reason"))
        self._tokens = tokens_in(usage, "output_tokens") or self._tokens
        self.answer.end.note_tokens(tokens_in(usage, "output_tokens"))
        if self._delta or not isinstance(data.get("usage"), dict):
            # Only what is known is added: 0 input tokens would overwrite the number of message_start.
            usage = {"output_tokens": self._tokens, **self._delta.get("usage", {}), **usage}
            data = {**self._delta, **data, "delta": {**told, **delta}, "usage": usage}
            raw = self._message_delta(reason or None, data)
        self._delta = data
        return read_together(raw, [Stop(reason, Finish.of(reason), data)])

    def _finish(self, finish: Finish = Finish.UNKNOWN, *, failed: bool = False) -> list[bytes]:
        self._over = True
        parts = self._closed(Finish.UNKNOWN)
        told = self._has_message_delta or self.answer.end.left_alone
        if not told and not any(isinstance(part, Stop) for part in parts):
            parts.append(Stop(self.answer.end.true_reason(), Finish.UNKNOWN))
        return [*self.written(parts), self._closed_block()]

    def _done(self, raw: bytes) -> list[bytes]:
        return [raw] if self._over or not self._started else [*self.end(whole=True), raw]

    @property
    def _told(self) -> bool:
        """Whether a reason waits. A message_delta without one only counts tokens."""
        return self.answer.reason_waits and any(self.answer.end.reasons)

    def end(self, half: bytes = b"", *, whole: bool = False) -> list[bytes]:
        answer = self.answer
        if self._over or not self._started:
            return [half] if half else []
        if whole or self._has_message_delta or (self._told and not answer.went_on_after_reason):
            out = self._finish()
            return out if answer.end.left_alone else [*out, _MESSAGE_STOP]
        self._over = True
        stopped, parts = self._told, self._closed(Finish.CUT, failed=True)
        if answer.end.left_alone:
            return self.written(parts)
        stop = next((part for part in parts if isinstance(part, Stop)), Stop(answer.end.true_reason(), Finish.CUT))
        out = self.written([part for part in parts if not isinstance(part, Stop)])
        # The client has what it needs to go on, if it has complete calls. Text that just stops was cut off.
        complete = answer.sent and (self._open is None or self._open[0] == _TOOL_USE)
        if answer.call_refused or not (stopped or complete):
            return [*out, self.write_error(_CUT_OFF)]
        return [*out, *self.written([stop]), _MESSAGE_STOP]

    def _fail(self, *raw: bytes) -> list[bytes]:
        ended = self._told and not self.answer.went_on_after_reason  # The reason came before the error.
        parts = [] if self._over else self._closed(Finish.UNKNOWN if ended else Finish.CUT, failed=not ended)
        self._over = True
        return [*self.written(parts), *raw]

    def keep_alive(self) -> bytes:
        return _written({"type": "ping"})

    def write_error(self, error: Json) -> bytes:
        return _written({"type": "error", "error": error})

    # Writing

    def forward(self, source: SourceEvent) -> bytes:
        return b"".join(self.write(part, source.raw) for part in source.parts)

    def write(self, part: Part, raw: bytes = b"") -> bytes:
        match part:
            case Text():
                return self._said(part, raw)
            case Piece():
                return self._call(part, raw)
            case Fragment():
                self._open = None if part.ends else self._open
                rest = {"type": _DELTA, "delta": {"type": "input_json_delta", "partial_json": part.arguments}}
                return part.source.raw if part.source is not None else self._numbered(rest)
            case Stop():
                self._has_message_delta = True
                return self._closed_block() + (raw or self._message_delta(part.reason, part.body))
            case Other() if part.begins:
                return self._opened(part.slot, part.body["content_block"], part.body, raw)
            case Other() if part.ends:
                return self._closed_block(part.body, raw) if self._open and self._open[1] == part.slot else b""
            case Thought() | Other() if "delta" in part.body:
                return self._other_delta(part, raw)
        return raw if part.body else b""

    def _said(self, part: Text, raw: bytes) -> bytes:
        said, before = part.text, b""
        if self._open != ("text", part.slot):
            slot, space = self._space
            said = space + said if slot == part.slot else said
            self._space = (part.slot, "" if said.strip() else said)
            if not said.strip():
                return b""
            before, raw = self._opened(part.slot, _EMPTY["text"]), b""
        delta = {**part.body.get("delta", {"type": "text_delta"}), "text": said}
        return before + self._numbered({"type": _DELTA, **part.body, "delta": delta}, raw)

    def _other_delta(self, part: Thought | Other, raw: bytes) -> bytes:
        """A delta that is no text and no piece of a call, in its open block or in a new one of the kind it needs."""
        need = _NEEDS.get(string_of(part.body["delta"].get("type")), "")
        kind, slot = self._open or ("", object())
        if slot == part.slot and need in ("", kind):
            return self._numbered(part.body, raw)
        if not need or (isinstance(part, Other) and part.quiet):
            return b""
        return self._opened(part.slot, _EMPTY[need]) + self._numbered(part.body, raw)

    def _call(self, part: Piece, raw: bytes = b"") -> bytes:
        place, out = {"index": part.slot}, b""
        if part.begins:
            came = part.body.get("block", {})
            block = {"type": _TOOL_USE, **came, "id": part.id, "name": part.name, "input": {}}
            start = {"type": _START, **place, "content_block": block}
            out = self._opened(part.slot, block, start, raw if block == came else b"")
        if part.arguments or (part.begins and part.ends):
            delta = {"type": "input_json_delta", "partial_json": part.arguments}
            out += self._numbered({"type": _DELTA, **place, "delta": delta}, raw)
        return out + self._closed_block({"type": _STOP, **place}, raw) if part.ends else out

    def _opened(self, slot: Slot, block: Json, event: Json | None = None, raw: bytes = b"") -> bytes:
        """A block begins, after the one that is open. `event`: with what; one of ours, if there is none."""
        before = self._closed_block()
        self._open = string_of(block.get("type")), slot
        self._count += 1
        return before + self._numbered(event or {"type": _START, "index": 0, "content_block": block}, raw)

    def _closed_block(self, event: Json | None = None, raw: bytes = b"") -> bytes:
        # A call that is not mended gets no end of ours.
        alone = event is None and self._open is not None and self._open[0] == _TOOL_USE and self.answer.end.left_alone
        end = b"" if alone or self._open is None else self._numbered(event or {"type": _STOP}, raw if event else b"")
        self._open = None
        return end

    def _numbered(self, data: Json, raw: bytes = b"") -> bytes:
        number = self._count - 1
        return raw if raw and index_of(data.get("index")) == number else _written({**data, "index": number})

    def _message_delta(self, reason: str | None, event: Json) -> bytes:
        delta, usage = event.get("delta"), event.get("usage") or {"output_tokens": self._tokens}
        stopped = {**(delta if isinstance(delta, dict) else {}), "stop_reason": reason or None}
        stopped.setdefault("stop_sequence", None)
        return _written({"type": "message_delta", **event, "delta": stopped, "usage": usage})

    # A document

    def read_document(self, body: bytes) -> list[Part] | None:
        message = self._document = payload.read_twice(body.decode("utf-8", "replace"))[1] or {}
        content, usage, reason = message.get("content"), message.get("usage"), string_of(message.get("stop_reason"))
        ours = message.get("type") == "message" or "stop_reason" in message
        if not (ours and isinstance(content, list)) or message.get("error"):
            return None
        if not isinstance(usage, dict):
            raise Instead(Event(b"", strict.write({**message, "usage": _NO_USAGE})))
        parts = [part for slot, block in enumerate(content) for part in self._read_whole(slot, block)]
        return [*parts, Stop(reason, Finish.of(reason), tokens=tokens_in(usage, "output_tokens"))]

    def _read_whole(self, slot: int, whole: Any) -> list[Part]:
        block = whole if isinstance(whole, dict) else {"text": whole}
        text, given = block.get("text"), block.get("input")
        if block.get("type") == _TOOL_USE:
            call = Fragment(slot, string_of(block.get("id")), string_of(block.get("name")), begins=True)
            call.given, call.body = {} if given == {} else None, {"block": block}
            if isinstance(given, dict):
                call.arguments, call.ends = strict.write(given) if given else "", True
                return [call]
            call.steps = ("input as a string",) if isinstance(given, str) else ()
            # In several fragments, it is never the call as it came.
            return [call, Fragment(slot, arguments=payload.text_of(given)), Fragment(slot, ends=True)]
        parts = self._read_block(slot, block, {"whole": whole})
        if block.get("type") == "text" and isinstance(text, str) and text.strip() and not block.get("citations"):
            parts = [Other(slot, {"text": block}, quiet=True, begins=True), Text(text, slot)]
        return [*parts, Other(slot, quiet=True, ends=True)]

    def write_document(self, body: bytes, parts: list[Part]) -> bytes:
        content: list[Any] = []
        begun, text = dict[str, Any](), ""
        for part in [*parts, Other()]:
            if isinstance(part, Text):
                text += part.text
                continue
            content += [{"type": "text", **begun, "text": text}] if text.strip() else []
            begun, text = part.body.get("text", {}), ""
            if isinstance(part, Piece):
                block = {"type": _TOOL_USE, **part.body.get("block", {})}
                value = payload.read_twice(part.arguments)[1]
                block |= {"id": part.id, "name": part.name} | ({} if value is None else {"input": value})
                content.append(block)
            elif part.body.keys() & {"block", "whole"}:
                content += part.body.values()
        reason = next((part.reason for part in parts if isinstance(part, Stop)), "")
        changed = {**self._document, "content": content, **({"stop_reason": reason} if reason else {})}
        return body if strict.write(changed) == strict.write(self._document) else strict.write(changed).encode()


def _as_it_is(raw: bytes, shown: str | None = "", *, waits: bool = False) -> list[Part]:
    return read_together(raw, [Other(body={"type": ""}, shown=shown, quiet=shown == "", waits=waits)])


def _typed(event: Event, data: Json) -> tuple[str, bytes, Json]:
    """The type of an event, its bytes for the client, and its data with the types that the server left out."""
    kind, delta = string_of(data.get("type")) or event.type, data.get("delta")
    if kind not in _EVENTS or (kind == "error" and not isinstance(data.get("error"), dict)):
        error = error_in(data, event.type)
        if error is None:
            return kind, event.raw, data
        kind, data = "error", {"error": {"type": "api_error", **error}}
    elif kind == _DELTA and isinstance(delta, dict) and not delta.get("type"):
        known = next((kind for key, kind in _KIND_OF_KEY.items() if key in delta), "")
        data = {**data, "delta": {"type": f"{known}_delta", **delta} if known else delta}
    elif event.type == kind == data.get("type"):
        # The SDKs do not strip a BOM, and would lose the message_start behind it.
        return kind, event.raw.removeprefix(sse.BOM), data
    data = {"type": kind} | data | {"type": kind}
    # The SDKs look at the `event:` line before the data, and skip events without it.
    return kind, _written(data), data
