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
from typing import Any, Final

from .. import payload
from ..calls import assemble
from ..finish_reason import FinishWords
from ..mend.finish import Finish
from ..mend.mender import Mender
from ..mend.names import mend_name
from ..parts import Decided, Fragment, Json, Other, Part, Stop, Text, Thought
from ..payload import index_of, string_of
from ..policy import Policy
from ..reasons import CUT_INSIDE, PIECES_UNCLEAR
from ..request.limit import tokens_in
from ..request.request import Request
from ..sizes import LimitReached
from ..wire import sse
from ..wire.sse import Event
from .errors import ERROR, error_in, error_in_text
from .protocol import Failed, Protocol, joined
from .zai_block import BLOCK_END, Block
from .zai_document import BLOCK_TAG, WRAPPER_TAG, Document, New
from .zai_envelope import Patch, call_id_of, data_of, error_of, patch_of, reason_of

_log = logging.getLogger("toolfix.engine")

_THINKING, _CALLING, _ANSWERED = "thinking", "tool_call", "tool_response"
_DONE: Final = b"data: [DONE]\n\n"


class Zai(Protocol):
    words = FinishWords("tool_calls", "stop", frozenset({"length"}))
    passes_calls = False

    def __init__(self, request: Request, policy: Policy, mender: Mender, *, by_path: bool = False) -> None:
        """`by_path`: only the path suggested this protocol, so a request that cannot be read counts as one without
        tools."""
        super().__init__(request, policy, mender)
        unknown = request.choices is None and not by_path
        self._converts = policy.zai == "on" or (policy.zai == "auto" and (len(request.tools) > 0 or unknown))
        # Not the time now, because replaying a recording has to give the same bytes.
        identity = f"chatcmpl-{mender.ids.unique('').removeprefix('call_')}"
        self._head: Json = {"id": identity, "object": "chat.completion.chunk", "created": 0, "model": request.model}
        self._has_role = self._is_done = False
        """The client has the role; `done` arrived, and behind it only the usage counts."""
        self._usage: Json | None = None
        self._reason = ""
        self._phase = ""
        self._document = Document()
        self._unclear = -1
        """Where the block begins of which an edit does not say its place: its call is refused."""
        self._cuts = policy.zai_after_null == "cut"
        """The turn ends at the null patch."""
        self._blocks_of_turn: int | None = None
        """How many blocks belong to the turn, once a null patch has ended it."""
        self._fragments: list[Fragment] = []
        self._called = False
        """The fragments may be of a call of the client's."""
        self._fragments_size = 0
        self._run_by_server: dict[tuple[str, str, int], None] = {}
        """Calls that the server ran itself: the id, the name, and how many fragments came before the result."""
        self._known: dict[str, bool] = {}
        self._thinks_in_document = False
        """Thinking has come in a wrapper, as a part of the document."""
        self._thinks_apart = False
        """Thinking has come outside the document, as reasoning of its own."""
        self._thinking_divided = False
        """A call has come behind such thinking: what the model thinks next begins a paragraph."""

    # The stream

    def take(self, event: Event) -> list[bytes]:
        if not self._converts:
            return [event.raw]
        if self._over or event.data is None:
            # A comment keeps the connection alive, whatever protocol it is in.
            return [event.raw] if not self._over and event.raw.removeprefix(sse.BOM).startswith(b":") else []
        if event.data.strip() == "[DONE]":
            return self._end_turn(Finish.UNKNOWN)
        try:
            out = self.written(self._taken(self.read(event)))
        except Failed as failed:
            parts = self._decided(Finish.CUT, broken_off=True)
            self._over = True
            said: list[Part] = [part for part in parts if not isinstance(part, Stop)]
            return [*self.written(said), *failed.again]
        if len(self._document.units) + self._fragments_size > self._policy.max_held_bytes:
            raise LimitReached
        return out if self._blocks_of_turn is None else [*out, *self.written(self._decided(Finish.COMPLETE))]

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
        if not self._converts:
            return [half] if half else []
        if not self._phase or self._over:
            return []
        if self._is_done:
            return self._end_turn(Finish.COMPLETE)
        # Without `done`, a call that may not be complete is not sent.
        return self.written(self._decided(Finish.CUT, "length", broken_off=True))

    def _end_turn(self, finish: Finish) -> list[bytes]:
        """`done`, or `[DONE]`."""
        rest = self._parts_of(self._document.finish(), len(self._document.blocks))
        out = self.written(self._taken(self._silenced(rest)))
        if self._reason or self._is_done:
            finish = Finish.of(self._reason) if self._reason else Finish.COMPLETE
        reason = "length" if self._reason == "length" else "stop"
        return [*out, *self.written(self._decided(finish, reason))]

    def _decided(self, finish: Finish, reason: str = "stop", *, broken_off: bool = False) -> list[Part]:
        """All that is held, the calls of the turn, and its end; `broken_off`: the end is missing, or an error."""
        tokens = tokens_in(self._usage, "completion_tokens")
        stop = Stop(reason, finish, tokens=tokens, failed=broken_off)
        parts = self._taken([*self._calls(broken_off=broken_off), stop])
        return [*parts, *self._closed(finish, failed=broken_off)]

    def _silenced(self, parts: list[Part]) -> list[Part]:
        silent = self._policy.null_content and self._has_calls
        return [part for part in parts if not (silent and isinstance(part, Text))]

    # One event

    def _read(self, event: Json) -> list[Part]:
        data, error = data_of(event), error_of(event)
        if not data and not error:
            return []
        if not self._has_role:
            named = {"id": string_of(data.get("id")), "created": index_of(data.get("created"))}
            self._head |= {key: value for key, value in named.items() if value}
            self._head["model"] = self._head["model"] or string_of(data.get("model"))
        done = data.get("done") is True or data.get("phase") == "done"
        if error and not (self._is_done or (done and self._is_complete)):
            raise Failed(*_failure(*error))
        usage = data.get("usage")
        self._usage = usage if usage and isinstance(usage, dict) else self._usage
        if self._is_done:
            return []
        if error:
            _log.info("chat.z.ai ended a complete answer with an error: %s", error[0])
        self._reason, self._is_done = reason_of(data) or self._reason, done
        return self._silenced(self._read_fields(data))

    @property
    def _is_complete(self) -> bool:
        """Whether there is a complete answer or call, so that an error behind it can be ignored."""
        said = self._document.content.length > 0 and bool(self._usage or self._reason)
        return said or any(not call.refusal for call in self._calls(broken_off=True))

    def _read_fields(self, data: Json) -> list[Part]:
        """Change the document, and read it: the phase alone does not say what an edit means."""
        self._phase = string_of(data.get("phase")) or "answer"
        patch = patch_of(data)
        self._thinking_divided = self._thinking_divided or (
            self._thinks_apart and self._phase in (_CALLING, _ANSWERED)
        )
        if self._phase == _ANSWERED:
            # The result of one of the server's own tools is no text of the answer.
            if patch is None or patch.kind == "edit":
                return self._change(patch) if patch is not None else []
            self._run_by_server[call_id_of(data), string_of(data.get("tool_name")), len(self._fragments)] = None
            return [Other()]
        parts = self._take_fragments(data)
        if patch is None:
            return parts
        return [*parts, *(self._think(patch) if self._phase == _THINKING else self._change(patch))]

    def _think(self, patch: Patch) -> list[Part]:
        """Thinking that begins with a wrapper is part of the document; else it is reasoning of its own."""
        text = patch.text
        if text.lstrip("\n").startswith(WRAPPER_TAG) or (patch.kind == "edit" and patch.place):
            self._thinks_in_document = True
        if self._thinks_in_document:
            return self._change(patch)
        self._thinks_apart = True
        if self._thinking_divided:
            text = text.lstrip("\n")
            self._thinking_divided = not text
            text = f"\n\n{text}" if text else ""
        return [Thought(text)] if text else []

    def _take_fragments(self, data: Json) -> list[Part]:
        """`delta_name` or a new id begins a call, `delta_arguments` continues it."""
        name, arguments = string_of(data.get("delta_name")), payload.text_of(data.get("delta_arguments"))
        found = [Fragment(None, call_id_of(data), name, arguments)] if name or arguments else []
        listed = data.get("tool_calls")
        for entry in listed if isinstance(listed, list) else []:
            # Some gateways put calls in the form of OpenAI into the envelope.
            function = entry.get("function") if isinstance(entry, dict) else None
            if isinstance(function, dict):
                text, index = payload.text_of(function.get("arguments")), index_of(entry.get("index"))
                found.append(Fragment(index, string_of(entry.get("id")), string_of(function.get("name")), text))
        named = [one.name for one in found if one.name]
        self._called = self._called or (any(map(self._is_clients, named)) if named else bool(found))
        self._fragments += found
        self._fragments_size += sum(len(one.arguments) for one in found)
        return [Other()] if any(one.name and not self._is_clients(one.name) for one in found) else []

    def _change(self, patch: Patch) -> list[Part]:
        document, place = self._document, patch.place
        if place is None and self._is_rest(patch.text):
            return self._take_rest(patch.text)
        if patch.kind != "delta" and 0 <= self._unclear < (place or 0):
            return self._end_at_null(patch.text)  # What an edit without a place did to the document is not known.
        known = len(document.blocks) + document.block_is_open
        by_server = self._phase == _CALLING
        # A block that grows is read when it is over.
        hold = by_server and not document.opens_block(patch.text, None if patch.kind == "delta" else place or 0)
        if patch.kind == "delta":
            new = document.append(patch.text, by_server=by_server, hold=hold)
        else:
            self._unclear = -1
            new = document.edit(place or 0, patch.text, by_server=by_server, hold=hold)
        before: list[Part] = [Other()] if document.taken_back else []
        return [*before, *self._parts_of(new, known)]

    def _is_rest(self, text: str) -> bool:
        """Whether an edit that does not say its place is the rest of the last block: it ends one that it did not
        begin. Any other replaces the document."""
        document, end = self._document, text.find(BLOCK_END)
        if end < 0:
            return self._phase == _CALLING and (document.block_is_open or document.ends_in_tag(text))
        known = document.block_is_open or document.blocks or document.ends_in_tag(text)
        return bool(known) and BLOCK_TAG not in text[:end]

    def _take_rest(self, text: str) -> list[Part]:
        """Where the rest of a block cuts is not known, because edits may repeat what they continue: its call is
        refused. Only the null patch has one place."""
        document = self._document
        if document.ends_in_tag(text):
            return self._parts_of(document.append(text, by_server=True, hold=True), len(document.blocks))
        parts = self._parts_of(document.finish_block(), len(document.blocks))
        if text.startswith("null,") and not document.block_is_open:
            return [*parts, *self._end_at_null(text)]
        self._unclear = document.all_blocks[-1].start
        if document.block_is_open:
            parts += self._parts_of(document.append(text), len(document.blocks))
        return parts

    def _end_at_null(self, text: str) -> list[Part]:
        """The null patch, whose place is not needed, ends the turn; other edits are dropped."""
        blocks = self._document.all_blocks
        if text.startswith("null,") and self._cuts and any(self._is_clients(one.name, one.result) for one in blocks):
            self._blocks_of_turn = len(blocks)
        return []

    def _parts_of(self, new: list[New], known: int) -> list[Part]:
        """The parts of what is new in the document, up to the null patch that ends the turn. `known`: how many blocks
        it had before."""
        parts: list[Part] = []
        for one in new:
            if not isinstance(one, Block):
                parts.append(one)
            elif one.result is None and self._cuts and self._is_clients(one.name):
                # Blocks that were in the document before the null patch belong to the turn, later ones do not.
                self._blocks_of_turn = max(known, self._document.blocks.index(one) + 1)
                return parts
            elif not self._is_clients(one.name, one.result):
                parts.append(Other())
        return parts

    # Calls

    def _is_clients(self, name: str, result: Any = "") -> bool:
        """Whether a call is the client's. One that the server ran is not: it would run a second time."""
        if not name or (result is not None and result != ""):
            return False
        if name not in self._known:
            status = mend_name(name, self._request.tools).status
            self._known[name] = self._request.choices is None or status in ("exact", "mended")
        return self._known[name]

    @property
    def _has_calls(self) -> bool:
        """Whether there is a call that may be the client's."""
        document = self._document
        blocks = document.block_is_open or any(self._is_clients(one.name, one.result) for one in document.blocks)
        return blocks or self._called

    def _calls(self, *, broken_off: bool = False) -> list[Fragment]:
        """The client's calls. `broken_off`: only one that is complete by itself counts."""
        blocks = self._document.all_blocks
        told: list[Fragment] = []
        half: Fragment | None = None
        for block in blocks[: self._blocks_of_turn]:
            if self._is_clients(block.name, block.result):
                one = Fragment(id=block.id, name=block.name, arguments=block.arguments, whole=True)
                one.refusal = PIECES_UNCLEAR if block.start == self._unclear else ""
                half = None if block.whole else one
                told.append(one)
        grows = self._phase == _CALLING and (not told or blocks[-1].result == "")
        calls = assemble(self._fragments, self._request.tools, Finish.COMPLETE)
        ran = set[int]()
        for identity, name, behind in self._run_by_server:
            alike = (call.id == identity if identity else call.name == name for call in calls)
            mine = [call.first.number for call, same in zip(calls, alike, strict=True) if same]
            ran.update([number for number in mine if number < behind][-1:])
        for call in calls:
            if self._is_clients(call.name) and call.first.number not in ran:
                one = Fragment(id=call.id, name=call.name, arguments=call.arguments, whole=True)
                one.refusal, one.steps, half = call.refusal, call.steps, None
                told.append(one)
        for one in told:
            value, final = payload.read_encoded(one.arguments), not (one is told[-1] and grows)
            if final and not one.arguments.strip():
                one.arguments, value = "{}", {}
            complete = isinstance(value, dict) and (bool(value) or final)
            if (broken_off and not complete) or (one is half and not isinstance(value, dict)):
                one.refusal = one.refusal or CUT_INSIDE
        return told

    # Writing

    def write(self, part: Part) -> bytes:
        match part:
            case Text():
                return self._chunk({"content": part.text})
            case Thought():
                return self._chunk({"reasoning_content": part.text})
            case Decided(outcome, number):
                function = {"name": outcome.name, "arguments": outcome.arguments}
                call = {"index": number, "id": outcome.id, "type": "function", "function": function}
                return self._chunk({"tool_calls": [call]})
            case Stop():
                self._over = True
                return self._end_of(part)
        return b""

    def written(self, parts: list[Part]) -> list[bytes]:
        out = [piece for part in joined(parts) if (piece := self.write(part))]
        if out and not self._has_role:
            out.insert(0, self._chunk({"role": "assistant"}))
            self._has_role = True
        return out

    def _chunk(self, delta: Json, reason: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return sse.write(payload.write({**self._head, "choices": [choice], **more}))

    def _end_of(self, stop: Stop) -> bytes:
        """The end of the answer. Its usage comes in a chunk of its own if the client has asked for that."""
        reason = "tool_calls" if self.answer.sent else stop.reason
        usage = {"usage": self._usage} if self._usage else {}
        if usage and self._request.include_usage:
            apart = sse.write(payload.write({**self._head, "choices": [], **usage}))
            return self._chunk({}, reason) + apart + _DONE
        return self._chunk({}, reason, **usage) + _DONE

    def last_words(self, reason: str) -> list[bytes] | None:
        if not self._converts:
            return None
        if self._over:
            return []
        self._over = True
        held = self.written([part for part in self.tail.drain() if isinstance(part, Text)])
        return [*held, *_failure(f"toolfix: {reason}.", None, "conversion_error")]

    def keep_alive(self) -> bytes:
        return self._chunk({}) if self._converts else super().keep_alive()

    def document(self, body: bytes) -> bytes:
        return body  # Clients always stream.

    def write_document(self, body: bytes, parts: list[Part]) -> bytes:
        return body

    @property
    def holds_call_or_reason(self) -> bool:
        return self._converts

    @property
    def holding(self) -> bool:
        return self._converts and not self._over and (bool(self.tail) or self._has_calls)

    @property
    def holds_call(self) -> bool:
        return self.holding and (self._has_calls or super().holds_call)

    @property
    def changed_sent_text(self) -> bool:
        return self._document.rewritten


def _failure(message: str, code: Any, kind: str = "upstream_error") -> list[bytes]:
    """An error and no reason, so that no client takes the answer for complete."""
    error = {"message": message, "type": kind, "param": None, "code": code}
    return [sse.write(payload.write({"error": error})), _DONE]
