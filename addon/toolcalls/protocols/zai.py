"""The stream of chat.z.ai, `{"type": "chat:completion", "data": {…}}`, converted to Chat chunks while it arrives.

An event changes a document (`zai_document.py`) or has a fragment of a call. Text and reasoning go at once; calls are
decided when the turn ends: until then a call may grow, be cut away, or turn out to be one that the server ran itself.
The turn ends at the first null patch (the server sets `result` to null because it could not run a tool, and the model
goes on without it), or behind `done`, of which only the usage counts. No event passes as it came, because behind a
converted one it would be garbage: a failure ends with an error event. If the request declares no tools, every byte
passes.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from typing import Final, Literal

from .. import payload
from ..calls import assemble
from ..finish_reason import FinishWords
from ..mend.finish import Finish
from ..mend.mender import Mender
from ..mend.names import mend_name
from ..parts import Fragment, Json, Other, Part, Stop, Text, Thought
from ..payload import index_of, string_of
from ..policy import Policy
from ..reasons import CUT_INSIDE
from ..request.request import Request, tokens_in
from ..sizes import LimitReached
from ..wire import sse
from ..wire.sse import Event
from .chat import DONE, Chat
from .chat_choice import fragment_of
from .errors import ERROR, error_in, error_in_text
from .protocol import Failed
from .zai_document import BLOCK_END, BLOCK_TAG, WRAPPER_TAG, Document

_log = logging.getLogger("toolfix.engine")

_THINKING, _CALLING, _ANSWERED = "thinking", "tool_call", "tool_response"
_UNCLEAR: Final = {
    "message": "An edit of chat.z.ai does not say what it replaces.", "type": "upstream_error", "code": None
}  # fmt: skip


class Zai(Chat):
    words = FinishWords("tool_calls", "stop", frozenset({"length"}))

    def __init__(self, request: Request, policy: Policy, mender: Mender) -> None:
        super().__init__(request, policy, mender)
        may_have_tools = len(request.tools) > 0 or request.choices is None
        self._converts = policy.zai == "on" or (policy.zai == "auto" and may_have_tools)
        # Not the time now, because replaying a recording has to give the same bytes.
        identity = f"chatcmpl-{mender.ids.unique('').removeprefix('call_')}"
        self._head = {"id": identity, "object": "chat.completion.chunk", "created": 0, "model": request.model}
        self._has_role = self._is_done = False
        """The client has the role; `done` arrived, and behind it only the usage counts."""
        self._usage: Json | None = None
        self._reason = self._phase = ""
        # A method would make a cycle, and all that is held would wait for a garbage collection.
        self._is_clients = partial(_is_clients, request)
        self._document = Document(self._is_clients, ends_at_null=policy.zai_after_null == "cut")
        self._thinks: Literal["", "in the document", "apart", "behind a call"] = ""
        """Where thinking came last: in a wrapper; outside the document; there, and then came a call, so that what the
        model thinks next begins a paragraph."""
        self._fragments: list[Fragment] = []
        self._fragments_size = 0
        self._called = False
        """The fragments may be of a call of the client's."""
        self._run_by_server = set[str]()
        """The ids of calls that the server ran itself, or their names if it does not say their ids."""

    # The stream

    def take(self, event: Event) -> list[bytes]:
        if not self._converts:
            return [event.raw]
        if self._over or event.data is None:
            # A comment keeps the connection alive, whatever protocol it is in.
            return [event.raw] if not self._over and event.raw.removeprefix(sse.BOM).startswith(b":") else []
        if event.data.strip() == "[DONE]":
            return self.written(self._end_turn())
        try:
            out = self.written(self._taken(self.read(event)))
        except Failed as failed:
            parts = self._end_turn(broken_off=True)
            self._over = True
            return [*self.written([part for part in parts if not isinstance(part, Stop)]), *failed.events]
        if len(self._document) + self._fragments_size > self._policy.max_held_bytes:
            raise LimitReached
        return [*out, *self.written(self._end_turn())] if self._document.ended else out

    def read(self, event: Event) -> list[Part]:
        said = payload.read_strict(event.data or "")
        if not isinstance(said, dict):
            error = error_in(said) or error_in_text(event.data or "", event.type)
            if error is None and "\n" in (event.data or ""):
                return [part for line in sse.lines_alone(event) for part in self.read(line)]
            said = {"error": error} if error is not None else payload.read_glued(event.data or "")
        elif event.type == ERROR:
            said = {"error": error_in(said, event.type)}
        return self._read(said) if said else []

    def end(self, half: bytes = b"") -> list[bytes]:
        if not self._phase or self._over:
            return [half] if half and not self._converts else []
        # Without `done`, a call that may not be complete is not sent.
        return self.written(self._end_turn(broken_off=not self._is_done))

    def _end_turn(self, *, broken_off: bool = False) -> list[Part]:
        """All that is held, the calls of the turn, and its end; `broken_off`: the end is missing, or an error."""
        self._document.read(final=not broken_off)
        finish = Finish.COMPLETE if self._is_done or self._document.ended else Finish.UNKNOWN
        finish = Finish.of(self._reason) if self._reason else finish
        finish = Finish.CUT if broken_off else finish
        reason = "length" if broken_off or self._reason == "length" else "stop"
        tokens = tokens_in(self._usage, "completion_tokens")
        stop = Stop(reason, finish, tokens=tokens, failed=broken_off)
        parts = self._taken([*self._new_parts(), *self._calls(broken_off=broken_off), stop])
        return [*parts, *self._closed(finish, failed=broken_off)]

    # One event

    def _read(self, event: Json) -> list[Part]:
        levels = [event]
        while isinstance(levels[-1].get("data"), dict):
            levels.append(levels[-1]["data"])
        data: Json = levels[1] if len(levels) > 1 else {}
        if len(levels) > 2 and "phase" not in data:
            data = {**levels[2], **data}  # As errors come.
        # On any level, and then in OpenAI's format.
        error = error_in(next(filter(None, map(error_in, levels)), None), ERROR)
        if not data and not error:
            return []
        done = data.get("done") is True or data.get("phase") == "done"
        if error and not self._is_done:
            self._document.read()
            values = (payload.read_encoded(call.arguments) for call in self._calls())
            complete = self._document.content.length > 0 and bool(self._usage or self._reason)
            if not (done and (complete or any(isinstance(value, dict) for value in values))):
                raise Failed(self.write_error(error), DONE)
            _log.info("chat.z.ai ended a complete answer with an error: %s", error["message"])
        usage = data.get("usage")
        self._usage = usage if usage and isinstance(usage, dict) else self._usage
        if self._is_done:
            return []
        choices = data.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        reason = string_of(first.get("finish_reason")) if isinstance(first, dict) else ""
        self._reason, self._is_done = reason or self._reason, done
        return self._read_fields(data)

    def _read_fields(self, data: Json) -> list[Part]:
        """Change the document, and read it: the phase alone does not say what an edit means."""
        self._phase = string_of(data.get("phase")) or "answer"
        edit, content, place = data.get("edit_content"), data.get("content"), None
        # The first text field counts, even if it is empty: the 2025 stream ends with an empty edit.
        if isinstance(edit, str):
            text, place = edit, index_of(data.get("edit_index")) or 0
        elif isinstance(content, str):
            text, place = content, 0
        else:
            text = string_of(data.get("delta_content"))
        if self._thinks == "apart" and self._phase in (_CALLING, _ANSWERED):
            self._thinks = "behind a call"
        parts = [] if self._phase == _ANSWERED else self._take_fragments(data)
        if not text:
            return parts
        if self._phase == _ANSWERED and not isinstance(edit, str):
            # The result of one of the server's own tools is no text of the answer.
            self._run_by_server.add(_call_id_of(data) or string_of(data.get("tool_name")))
            return [Other()]
        return [*parts, *(self._think(text, place) if self._phase == _THINKING else self._change(text, place))]

    def _think(self, text: str, place: int | None) -> list[Part]:
        """Thinking that begins with a wrapper is part of the document; else it is reasoning of its own."""
        if text.lstrip("\n").startswith(WRAPPER_TAG) or place:
            self._thinks = "in the document"
        if self._thinks == "in the document":
            return self._change(text, place)
        if self._thinks == "behind a call":
            text = text.lstrip("\n")
            text = f"\n\n{text}" if text else ""
        self._thinks = "apart" if text else self._thinks
        return [Thought(text, body={"reasoning_content": text})] if text else []

    def _take_fragments(self, data: Json) -> list[Part]:
        """`delta_name` or a new id begins a call, `delta_arguments` continues it."""
        name, arguments = string_of(data.get("delta_name")), payload.text_of(data.get("delta_arguments"))
        found = [Fragment(None, _call_id_of(data), name, arguments)] if name or arguments else []
        listed = data.get("tool_calls")
        for entry in listed if isinstance(listed, list) else []:
            # Some gateways put calls in the form of OpenAI into the envelope.
            found += [fragment_of(entry)] if isinstance(entry, dict) else []
        clients = [not one.name or self._is_clients(one.name) for one in found]
        self._called = self._called or any(clients)
        self._fragments += found
        self._fragments_size += sum(len(one.arguments) for one in found)
        return [] if all(clients) else [Other()]

    def _change(self, text: str, place: int | None) -> list[Part]:
        if place == 0 and BLOCK_END in text.partition(BLOCK_TAG)[0] and self._phase != "answer":
            # It is not known of which block this is the rest, and how much of it comes again.
            raise Failed(self.write_error(_UNCLEAR), DONE)
        self._document.patch(text, place, by_server=self._phase == _CALLING)
        return self._new_parts()

    def _new_parts(self) -> list[Part]:
        """What is new in the document: no text behind a call, with `toolfix_null_content`."""
        new, self._document.new = self._document.new, []
        silent = self._policy.null_content and self._has_calls
        return [one for one in new if not (silent and isinstance(one, Text))]

    # Calls

    @property
    def _has_calls(self) -> bool:
        """Whether there is a call that may be the client's."""
        document = self._document
        return self._called or document.block_is_open or any(block.is_clients for block in document.blocks)

    def _calls(self, *, broken_off: bool = False) -> list[Fragment]:
        """The client's calls. `broken_off`: only one that is complete by itself counts."""
        blocks = self._document.blocks
        told: list[Fragment] = [replace(one) for one in blocks if one.is_clients]
        grows = self._phase == _CALLING and (not told or blocks[-1].result == "")
        for call in assemble(self._fragments, self._request.tools, Finish.COMPLETE):
            if self._is_clients(call.name) and self._run_by_server.isdisjoint((call.id, call.name)):
                told.append(Fragment(id=call.id, name=call.name, arguments=call.arguments, whole=True))
                told[-1].refusal, told[-1].steps = call.refusal, call.steps
        if told and grows and broken_off and not payload.read_encoded(told[-1].arguments):
            told[-1].refusal = told[-1].refusal or CUT_INSIDE
        for one in told:
            one.arguments = one.arguments if one.arguments.strip() or one.refusal else "{}"
            one.cut = one.cut or broken_off
        return told

    # Writing

    def write(self, part: Part) -> bytes:
        if not isinstance(part, Stop):
            return super().write(part)
        self._over = True
        reason, apart = "tool_calls" if self.answer.sent else part.reason, b""
        if self._usage and self._request.include_usage:  # The client has asked for a chunk of its own.
            apart = sse.write(payload.write({**self._head, "choices": [], "usage": self._usage}))
        elif self._usage:
            self._head["usage"] = self._usage
        return self._chunk(0, {}, reason) + apart + DONE

    def written(self, parts: list[Part]) -> list[bytes]:
        out = [piece for piece in super().written(parts) if piece]
        if out and not self._has_role:
            out.insert(0, self._chunk(0, {"role": "assistant"}))
            self._has_role = True
        return out

    def document(self, body: bytes) -> bytes:
        return body  # chat.z.ai only streams.

    def last_words(self, reason: str) -> list[bytes] | None:
        if self._over or not self._converts:
            return [] if self._converts else None
        self._over = True
        held = self.written([part for part in self.tail.drain() if isinstance(part, Text)])
        error = {"message": f"toolfix: {reason}.", "type": "conversion_error", "code": None}
        return [*held, self.write_error(error), DONE]

    @property
    def holds_call(self) -> bool:
        return (self._has_calls and not self._over) or super().holds_call

    @property
    def changed_sent_text(self) -> bool:
        return self._document.content.rewritten or self._document.reasoning.rewritten


def _call_id_of(data: Json) -> str:
    """The id of its call; as everywhere in the envelope, a value of the wrong kind is ignored."""
    metadata = data.get("metadata")
    known: Json = metadata if isinstance(metadata, dict) else {}
    return next(filter(None, (string_of(known.get(key)) for key in ("tool_call_id", "sub_tool_call_id", "id"))), "")


def _is_clients(request: Request, name: str) -> bool:
    """Whether the client has a tool of this name."""
    known = request.choices is None or mend_name(name, request.tools).status in ("exact", "mended")
    return bool(name) and known
