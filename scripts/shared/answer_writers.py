"""Streamed answers as servers write them: a text or one call, in each protocol, in pieces of nine characters."""

from __future__ import annotations

import json
from typing import Any

Json = dict[str, Any]


def _pieces(text: str, size: int = 9) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)] or [""]


def value_of(arguments: str) -> Any:
    """Arguments for a protocol in which they are an object; a text that is not JSON is sent as a text."""
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


class Writer:
    """Writes the events of an answer. A call with `finish` was cut off, and `finish` is the reason that is sent."""

    def text(self, text: str) -> list[bytes]:
        raise NotImplementedError

    def call(self, ident: str, name: str, arguments: str, finish: str, piece: int = 9) -> list[bytes]:
        raise NotImplementedError


class Chat(Writer):
    """Answers of Chat Completions."""

    def _event(self, delta: Json, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
        return b"data: " + json.dumps(chunk).encode() + b"\n\n"

    def _end(self, finish: str) -> list[bytes]:
        usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
        last = {
            "id": "c",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "m",
            "choices": [],
            "usage": usage,
        }
        return [self._event({}, finish), b"data: " + json.dumps(last).encode() + b"\n\n", b"data: [DONE]\n\n"]

    def text(self, text: str) -> list[bytes]:
        first = self._event({"role": "assistant", "content": ""})
        return [first, *(self._event({"content": piece}) for piece in _pieces(text)), *self._end("stop")]

    def call(self, ident: str, name: str, arguments: str, finish: str, piece: int = 9) -> list[bytes]:
        function = {"name": name, "arguments": ""}
        start = {"index": 0, "id": ident, "type": "function", "function": function}
        events = [self._event({"role": "assistant", "content": None, "tool_calls": [start]})]
        deltas = [{"index": 0, "function": {"arguments": piece}} for piece in _pieces(arguments, piece)]
        events += [self._event({"tool_calls": [delta]}) for delta in deltas]
        return [*events, *self._end(finish or "tool_calls")]


class Messages(Writer):
    """Answers of Messages."""

    def _event(self, kind: str, **fields: Any) -> bytes:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()

    def _answer(self, block: Json, deltas: list[Json], finish: str) -> list[bytes]:
        usage = {"input_tokens": 10, "output_tokens": 1}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
        stop = {"stop_reason": finish, "stop_sequence": None}
        return [
            self._event("message_start", message={**message, "stop_reason": None, "stop_sequence": None}),
            self._event("content_block_start", index=0, content_block=block),
            *(self._event("content_block_delta", index=0, delta=delta) for delta in deltas),
            self._event("content_block_stop", index=0),
            self._event("message_delta", delta=stop, usage={"output_tokens": 10}),
            self._event("message_stop"),
        ]

    def text(self, text: str) -> list[bytes]:
        deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(text)]
        return self._answer({"type": "text", "text": ""}, deltas, "end_turn")

    def call(self, ident: str, name: str, arguments: str, finish: str, piece: int = 9) -> list[bytes]:
        block = {"type": "tool_use", "id": f"toolu_{ident}", "name": name, "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in _pieces(arguments, piece)]
        return self._answer(block, deltas, "max_tokens" if finish else "tool_use")


class Responses(Writer):
    """Answers of Responses."""

    def _answer(self, item: Json, between: list[Json], final: Json, finish: str) -> list[bytes]:
        usage: Json = {"input_tokens": 10, "output_tokens": 10, "total_tokens": 20}
        usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        response = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "in_progress"}
        end = {**response, "status": "incomplete" if finish else "completed", "output": [final], "usage": usage}
        if finish:
            end["incomplete_details"] = {"reason": "max_output_tokens"}
        events: list[Json] = [
            {"type": "response.created", "response": {**response, "output": []}},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            *between,
            {"type": "response.output_item.done", "output_index": 0, "item": final},
            {"type": "response.incomplete" if finish else "response.completed", "response": end},
        ]
        numbered = [{**event, "sequence_number": number} for number, event in enumerate(events)]
        return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in numbered]

    def text(self, text: str) -> list[bytes]:
        item = {"id": "msg_1", "type": "message", "status": "in_progress", "role": "assistant", "content": []}
        part = {"type": "output_text", "text": text, "annotations": []}
        where = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
        deltas = [{"type": "response.output_text.delta", **where, "delta": piece} for piece in _pieces(text)]
        between = [
            {"type": "response.content_part.added", **where, "part": {**part, "text": ""}},
            *deltas,
            {"type": "response.output_text.done", **where, "text": text},
            {"type": "response.content_part.done", **where, "part": part},
        ]
        return self._answer(item, between, {**item, "status": "completed", "content": [part]}, "")

    def call(self, ident: str, name: str, arguments: str, finish: str, piece: int = 9) -> list[bytes]:
        item = {"id": f"fc_{ident}", "type": "function_call", "call_id": ident, "name": name, "arguments": ""}
        where = {"item_id": item["id"], "output_index": 0}
        kind = "response.function_call_arguments"
        between: list[Json] = [
            *({"type": f"{kind}.delta", **where, "delta": piece} for piece in _pieces(arguments, piece)),
            {"type": f"{kind}.done", **where, "name": name, "arguments": arguments},
        ]
        status = "incomplete" if finish else "completed"
        started = {**item, "status": "in_progress"}
        return self._answer(started, between, {**item, "arguments": arguments, "status": status}, finish)


class Gemini(Writer):
    """Answers of `:streamGenerateContent?alt=sse`, in which calls arrive whole."""

    def answer(self, part: Json, finish: str = "") -> Json:
        candidate: Json = {"content": {"parts": [part], "role": "model"}, "index": 0}
        candidate |= {"finishReason": finish} if finish else {}
        usage = {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m", "responseId": "r"}

    def _event(self, part: Json, finish: str = "") -> bytes:
        return b"data: " + json.dumps(self.answer(part, finish)).encode() + b"\r\n\r\n"

    def text(self, text: str) -> list[bytes]:
        """A text in one piece, because Gemini's pieces are long."""
        return [self._event({"text": text}), self._event({"text": ""}, "STOP")]

    def call_answer(self, name: str, arguments: str, finish: str) -> Json:
        call = {"functionCall": {"name": name, "args": value_of(arguments)}}
        return self.answer(call, "MAX_TOKENS" if finish else "STOP")

    def call(self, ident: str, name: str, arguments: str, finish: str, piece: int = 9) -> list[bytes]:
        return [b"data: " + json.dumps(self.call_answer(name, arguments, finish)).encode() + b"\r\n\r\n"]


class Ollama(Writer):
    """Answers of `/api/chat`: a JSON document on each line, in which calls arrive whole."""

    def answer(self, message: Json, finish: str = "") -> Json:
        said = {"role": "assistant", "content": "", **message}
        end = {"done_reason": finish, "done": True, "eval_count": 10} if finish else {"done": False}
        return {"model": "m", "created_at": "2026-11-17T12:00:00Z", "message": said, **end}

    def _line(self, message: Json, finish: str = "") -> bytes:
        return json.dumps(self.answer(message, finish)).encode() + b"\n"

    def text(self, text: str) -> list[bytes]:
        return [*(self._line({"content": piece}) for piece in _pieces(text)), self._line({}, "stop")]

    def call_message(self, name: str, arguments: str) -> Json:
        return {"tool_calls": [{"function": {"name": name, "arguments": value_of(arguments)}}]}

    def call(self, ident: str, name: str, arguments: str, finish: str, piece: int = 9) -> list[bytes]:
        return [self._line(self.call_message(name, arguments)), self._line({}, finish or "stop")]
