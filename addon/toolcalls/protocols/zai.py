"""The stream of chat.z.ai, `{"type": "chat:completion", "data": {…}}`, converted to Chat chunks while it arrives.

An event changes a document (`zai_document.py`) or has a fragment of a call. Text and reasoning go at once; calls are
decided when the turn ends: until then a call may grow, be cut away, or turn out to be one that the server ran itself.
The turn ends at the first null patch (the server sets `result` to null because it could not run a tool, and the model
goes on without it), at `done`, or with the stream. No event passes as it came, because behind a converted one it
would be garbage: a failure ends with an error event. If the request declares no tools, every byte passes.
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
from ..parts import Decided, Fragment, Json, Other, Part, Text, Thought
from ..payload import index_of, string_of
from ..policy import Policy
from ..reasons import CUT_INSIDE, PIECES_UNCLEAR
from ..request.request import Request
from ..sizes import LimitReached
from ..wire import sse
from ..wire.events import Event
from .errors import ERROR, error_in, error_in_text
from .protocol import Protocol
from .zai_block import BLOCK_END, Block, place_of_rest
from .zai_document import BLOCK_TAG, WRAPPER_TAG, Document, New, Origin
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
        self._most: int | None = None
        """How many blocks belong to the turn, once a null patch has ended it."""
        self._fragments: list[Fragment] = []
        self._called = False
        """The fragments may be of a call of the client's."""
        self._fragments_size = 0
        self._ran: dict[tuple[str, str, int], None] = {}
        """Calls that the server ran itself: the id, the name, and how many fragments came before the result."""
        self._in_fragments = False
        """More fragments of a call may follow."""
        self._known: dict[str, bool] = {}
        self._thoughts = ""
        """Thinking that may be the beginning of a wrapper."""
        self._wrapped = self._apart = self._parted = False
        """Thinking is part of the document; it is not; a call of the server's own divides it."""

    # The stream

    def take(self, event: Event) -> list[bytes]:
        if not self._converts:
            return [event.raw]
        if self._over or event.data is None:
            # A comment keeps the connection alive, whatever protocol it is in.
            return [event.raw] if not self._over and event.raw.removeprefix(sse.BOM).startswith(b":") else []
        said = payload.read_strict(event.data)
        if not isinstance(said, dict):
            if event.data.strip() == "[DONE]":
                return self._end()
            error = error_in(said) or error_in_text(event.data, event.type)
            if error is None and "\n" in event.data:
                return [piece for line in sse.lines_alone(event) for piece in self.take(line)]
            said = {"error": error} if error is not None else payload.read_glued(event.data)
        elif event.type == ERROR:
            said = {"error": error_in(said, event.type)}
        return self._take(said) if said else []

    def _take(self, event: Json) -> list[bytes]:
        data, error = data_of(event), error_of(event)
        if not data and not error:
            return []
        if not self._has_role:
            named = {
                key: data.get(key) for key, kind in (("id", str), ("created", int)) if isinstance(data.get(key), kind)
            }
            self._head |= {key: value for key, value in named.items() if value}
            self._head["model"] = self._head["model"] or string_of(data.get("model"))
        done = data.get("done") is True or data.get("phase") == "done"
        if error and not self._is_done and not (done and self._is_complete):
            return [*self._break_off(), *self._failure(*error)]
        usage = data.get("usage")
        self._usage = usage if usage and isinstance(usage, dict) else self._usage
        if self._is_done:
            return []
        if error:
            _log.info("chat.z.ai ended a complete answer with an error: %s", error[0])
        self._reason = reason_of(data) or self._reason
        out = self.written(self._taken(self._silenced(self._read(data))))
        if len(self._document.units) + self._fragments_size > self._policy.max_held_bytes:
            raise LimitReached
        if self._most is not None:
            return [*out, *self._decide(Finish.COMPLETE), *self._write_end("stop")]
        if done:
            self._is_done = True
            return [*out, *self._end_turn(Finish.COMPLETE)]
        return out

    def end(self, half: bytes = b"") -> list[bytes]:
        if not self._converts:
            return [half] if half else []
        if not self._phase or self._over:
            return []
        # Without `done`, a call that may not be complete is not sent.
        return self._end() if self._is_done else [*self._break_off(), *self._write_end("length")]

    def _end(self) -> list[bytes]:
        """`[DONE]`, or the stream is over behind `done`."""
        out = [] if self._is_done else self._end_turn(Finish.UNKNOWN)
        return [*out, *self._write_end("length" if self._reason == "length" else "stop")]

    def _end_turn(self, finish: Finish) -> list[bytes]:
        new = self._parts_of(self._document.finish(), len(self._document.blocks))
        out = self.written(self._taken(self._silenced([*self._end_thinking(), *new])))
        return [*out, *self._decide(Finish.of(self._reason) if self._reason else finish)]

    def _break_off(self) -> list[bytes]:
        """The answer is not complete: its text, and the calls that are."""
        return [*self.written(self._taken(self._end_thinking())), *self._decide(Finish.CUT, broken_off=True)]

    def _decide(self, finish: Finish, *, broken_off: bool = False) -> list[bytes]:
        """All that is held, and the calls of the turn."""
        parts = self._taken(self._calls(broken_off=broken_off))
        parts += self.answer.end_text(finish)
        return self.written([*parts, *self.answer.close(finish, failed=broken_off)])

    def _silenced(self, parts: list[Part]) -> list[Part]:
        silent = self._policy.null_content and self._has_calls
        return [part for part in parts if not (silent and isinstance(part, Text))]

    @property
    def _is_complete(self) -> bool:
        """Whether there is a complete answer or call, so that an error behind it can be ignored."""
        said = self._document.content.length > 0 and bool(self._usage or self._reason)
        return said or any(not call.refusal for call in self._calls(broken_off=True))

    # One event

    def _read(self, data: Json) -> list[Part]:
        """Change the document, and read it: the phase alone does not say what an edit means."""
        self._phase = string_of(data.get("phase")) or "answer"
        patch = patch_of(data)
        self._parted = self._parted or (self._apart and self._phase in (_CALLING, _ANSWERED))
        parts = [] if self._phase in (_THINKING, _ANSWERED) else self._end_thinking()
        if self._phase == _ANSWERED:
            # The result of one of the server's own tools is no text of the answer.
            if patch is None or patch.kind == "edit":
                return self._change(patch) if patch is not None else []
            self._ran[call_id_of(data), string_of(data.get("tool_name")), len(self._fragments)] = None
            return [Other()]
        if self._phase == _CALLING or data.get("tool_calls") or data.get("delta_name"):
            parts += self._take_fragments(data)
        elif patch is not None:
            self._in_fragments = False
        if patch is not None and self._phase == _THINKING:
            return [*parts, *self._think(patch)]
        return [*parts, *self._change(patch)] if patch is not None else parts

    def _think(self, patch: Patch) -> list[Part]:
        """Thinking that begins with a wrapper is part of the document; else it is reasoning of its own."""
        text, self._thoughts = self._thoughts + patch.text, ""
        opening = text.lstrip("\n")
        if opening.startswith(WRAPPER_TAG) or (patch.kind == "edit" and patch.place):
            self._wrapped = True
        elif not (self._wrapped or self._apart) and WRAPPER_TAG.startswith(opening):
            self._thoughts = text
            return []
        if self._wrapped:
            return self._change(patch._replace(text=text))
        self._apart = True
        if self._parted:
            text = text.lstrip("\n")
            self._parted = not text
            text = f"\n\n{text}" if text else ""
        return [Thought(text)] if text else []

    def _end_thinking(self) -> list[Part]:
        """What looked like the beginning of a wrapper is reasoning."""
        text, self._thoughts = self._thoughts, ""
        self._apart = self._apart or bool(text)
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
        self._in_fragments = self._in_fragments or bool(found)
        return [Other()] if any(one.name and not self._is_clients(one.name) for one in found) else []

    def _change(self, patch: Patch) -> list[Part]:
        document, calling, held = self._document, self._phase == _CALLING, self._document.held_text
        known = len(document.blocks) + document.block_is_open
        by_model = self._phase == _THINKING or (self._phase == "answer" and patch.kind == "delta")
        origin = Origin.CALLS if calling else Origin.MODEL if by_model else Origin.UNKNOWN
        # A block that grows is read when it is over.
        hold = (
            calling and BLOCK_TAG not in patch.text and BLOCK_END not in patch.text.rstrip().removesuffix(BLOCK_END)
        )
        if patch.kind == "delta":
            new = document.append(patch.text, origin, hold=hold)
        else:
            new = document.edit(self._place(patch), patch.text, origin, hold=hold)
        before: list[Part] = [Other()] if document.taken_back else []
        return [*before, *self._parts_of(new, known, held)]

    def _place(self, patch: Patch) -> int:
        """Where an edit cuts the document: at its beginning if it has no index, unless it is the rest of a block."""
        document, text, place = self._document, patch.text, patch.place
        end = text.find(BLOCK_END)
        if place is None and self._phase == _CALLING and document.ends_in_tag_of(text):
            return len(document.units)
        if place is None and (document.blocks or document.block_is_open):
            document.settle()
            is_rest = self._phase == _CALLING if end < 0 else BLOCK_TAG not in text[:end]
            if is_rest and (end >= 0 or document.block_is_open):
                start = document.all_blocks[-1].start
                place, certain = place_of_rest(document.units.read(start), text)
                self._unclear = self._unclear if certain else start
                return start + place
        if self._unclear >= (place or 0):
            self._unclear = -1
        return place or 0

    def _parts_of(self, new: list[New], known: int, held: str = "") -> list[Part]:
        """The parts of what is new in the document, up to the null patch that ends the turn.

        `known`, `held`: how many blocks it had before, and the text that was held.
        """
        cuts = self._policy.zai_after_null == "cut"
        parts: list[Part] = []
        for at, one in enumerate(new):
            if not isinstance(one, Block):
                parts.append(one)
            elif one.result is None and cuts and self._is_clients(one.name):
                # Blocks that were in the document before the null patch belong to the turn, later ones do not.
                self._most = max(known, self._document.blocks.index(one) + 1)
                return [*parts, *self._still_held(held, [*new[at + 1 :], *self._document.finish()] if held else [])]
            elif not self._is_clients(one.name, one.result):
                parts.append(Other())
        return parts

    def _still_held(self, held: str, new: list[New]) -> list[Part]:
        """The text that was held before the turn ended, if the document still goes on with it."""
        text = "".join(one.text for one in new if isinstance(one, Text))
        begin = len(text) - len(text.lstrip("\n"))
        return [Text(text[: begin + len(held)])] if held and text.startswith(held, begin) else []

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
        for block in blocks[: self._most]:
            if self._is_clients(block.name, block.result):
                one = Fragment(id=block.id, name=block.name, arguments=block.arguments, whole=True)
                one.refusal = PIECES_UNCLEAR if block.start == self._unclear else ""
                half = None if block.whole else one
                told.append(one)
        grows = blocks[-1].result == "" and self._phase == _CALLING if told else self._in_fragments
        calls = assemble(self._fragments, self._request.tools, Finish.COMPLETE)
        ran = set[int]()
        for identity, name, behind in self._ran:
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

    def read(self, event: Event) -> list[Part] | None:
        raise NotImplementedError

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
        return b""

    def written(self, parts: list[Part]) -> list[bytes]:
        out = [piece for piece in super().written(parts) if piece]
        return self._with_role(out) if out else []

    def _with_role(self, out: list[bytes]) -> list[bytes]:
        known, self._has_role = self._has_role, True
        return out if known else [self._chunk({"role": "assistant"}), *out]

    def _chunk(self, delta: Json, reason: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return sse.write(payload.write({**self._head, "choices": [choice], **more}))

    def _write_end(self, reason: str) -> list[bytes]:
        """The end of the answer. Its usage comes in a chunk of its own if the client has asked for that."""
        self._over = True
        truth = "tool_calls" if self.answer.sent else reason
        usage = {"usage": self._usage} if self._usage else {}
        if usage and self._request.include_usage:
            apart = sse.write(payload.write({**self._head, "choices": [], **usage}))
            return self._with_role([self._chunk({}, truth), apart, _DONE])
        return self._with_role([self._chunk({}, truth, **usage), _DONE])

    def _failure(self, message: str, code: Any, kind: str = "upstream_error") -> list[bytes]:
        """An error and no reason, so that no client takes the answer for complete."""
        self._over = True
        error = {"message": message, "type": kind, "param": None, "code": code}
        return [sse.write(payload.write({"error": error})), _DONE]

    def last_words(self, reason: str) -> list[bytes] | None:
        if not self._converts:
            return None
        if self._over:
            return []
        held = self.written([part for part in self.tail.drain() if isinstance(part, Text)])
        return [*held, *self._failure(f"toolfix: {reason}.", None, "conversion_error")]

    def keep_alive(self) -> bytes:
        return self._chunk({}) if self._converts else super().keep_alive()

    def document(self, body: bytes) -> bytes:
        return body  # Clients always stream.

    def write_document(self, body: bytes, parts: list[Part]) -> bytes:
        return body

    @property
    def waits(self) -> bool:
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
