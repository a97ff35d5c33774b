"""The stream of chat.z.ai, turned into OpenAI chunks in flight.

Strategy: every event changes a document (`reader.py`) or a call (`calls.py`); what the client has not seen of
the text goes out at once, calls are kept until the turn ends. It ends at the first null patch (the backend
could not run a client's tool and lets the model go on without its result), at `done`, or with the stream.
Nothing of the upstream passes as it came: after one converted event a raw one would be garbage, so failing
ends with an error event. Without declared tools nothing is converted, and every byte passes.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from ...calls import Outcome
from ...mend.arguments import Finish
from ...mend.call import Mender
from ...policy import Policy
from ...request.request import Request
from ...turn import payload
from ...turn.resent import ComparedCall
from ...turn.turn import CUT_INSIDE, GatheredCall, Turn
from ...wire import sse
from ...wire.events import LINES_ALONE, PASS, Event, LimitReached, Replace, Verdict
from ..interface import Dialect
from ..trouble import ERROR, trouble_in, trouble_in_text
from .blocks import CallResult, GlmBlock
from .calls import Candidate, DeltaCalls, Owners, block_candidates
from .chunks import Chunks
from .envelope import Json, Patch, Trouble, data_of, is_done, patch_of, phase_of, reason_of, trouble_of, usage_of
from .reader import Reader, Said

_log = logging.getLogger(__name__)

_WRAPPER = "<details"
_NOTHING = Replace()


class Zai(Dialect):
    """The dialect of `chat.z.ai/api/chat/completions` and `/api/v2/chat/completions`."""

    __slots__ = (
        "_calls",
        "_chunks",
        "_done",
        "_events",
        "_mender",
        "_over",
        "_owners",
        "_parted",
        "_phase",
        "_policy",
        "_reader",
        "_reason",
        "_request",
        "_spoke",
        "_thinking",
        "_turn",
        "_undecided",
        "_usage",
        "converting",
    )
    converting: bool

    def __init__(self, request: Request, policy: Policy, mender: Mender, *, by_path: bool = False) -> None:
        """`by_path`: nobody named this protocol, so an unreadable request is taken for one without tools."""
        self._request = request
        self._policy = policy
        self._mender = mender
        unknown = request.choices is None and not by_path
        self.converting = policy.zai == "on" or (policy.zai == "auto" and (len(request.tools) > 0 or unknown))
        self._reader = Reader()
        self._calls = DeltaCalls(request.tools, mender.work)
        self._owners = Owners(request)
        self._turn = Turn(request.tools, mender, awaits_arguments=False)
        self._chunks = Chunks(f"chatcmpl-{mender.ids.unique('').removeprefix('call_')}", request.model)
        self._thinking = ""
        """Where thinking goes: `document` or `apart`; empty before the first of it."""
        self._undecided = ""
        self._parted = False
        """A call of the backend's own came between two parts of thinking that is no part of the document."""
        self._phase = ""
        self._usage: Json | None = None
        self._reason: str | None = None
        self._spoke = False
        self._events = False
        self._done = False
        self._over = False

    # The interface of a dialect

    def read(self, event: Event) -> Verdict:
        if not self.converting:
            return PASS
        if self._over:
            return _NOTHING
        if event.data is None:
            # A comment keeps the connection alive, whatever protocol it is in.
            return PASS if event.raw.removeprefix(sse.BOM).startswith(b":") else _NOTHING
        data = event.data
        chunk = payload.read_strict(data)
        if not isinstance(chunk, dict):
            if data.strip() == "[DONE]":
                return Replace(tuple(self._end()))
            trouble = trouble_in(chunk) or trouble_in_text(data, event.type)
            if trouble is None and "\n" in data:
                return LINES_ALONE
            chunk = {"error": trouble} if trouble is not None else payload.read_glued(data)
        elif event.type == ERROR:
            chunk = {"error": trouble_in(chunk, event.type)}
        return Replace(tuple(self._take(chunk))) if chunk else _NOTHING

    def close(self) -> Replace | None:
        if not self._events or self._over:
            return None
        return Replace(tuple(self._end() if self._done else self._cut_off()))

    def body(self, body: bytes) -> bytes:
        """There is no plain JSON answer: clients always stream."""
        return body

    @property
    def holding(self) -> bool:
        return self.converting and not self._over and self._has_calls()

    def keep_alive(self) -> bytes:
        return self._chunks.keep_alive() if self.converting else super().keep_alive()

    def abort(self, reason: str) -> tuple[bytes, ...] | None:
        if not self.converting:
            return None
        ended, self._over = self._over, True
        return () if ended else tuple(Chunks.fail(f"toolfix: {reason}.", "conversion_error"))

    # One event

    def _take(self, event: Json) -> list[bytes]:
        data = data_of(event)
        trouble = trouble_of(event)
        if not data and not trouble:
            return []
        self._events = True
        self._chunks.learn(data)
        done = is_done(data)
        if trouble and not self._done and not (done and self._is_complete()):
            return self._fail(trouble)
        self._usage = usage_of(data) or self._usage
        if self._done:
            # After `done` only usage counts.
            return []
        if trouble:
            _log.info("chat.z.ai ended a complete answer with an error: %s", trouble.message)
        self._reason = reason_of(data) or self._reason
        out = self._change(data)
        if done and not self._over:
            out += self._end_turn(Finish.COMPLETE)
            self._done = True
        return out

    def _change(self, data: Json) -> list[bytes]:
        """Apply the event, then look at the document: the phase alone does not tell what an edit means."""
        phase = self._phase = phase_of(data)
        self._parted = self._parted or (self._thinking == "apart" and phase in ("tool_call", "tool_response"))
        patch = patch_of(data)
        known = self._reader.block_count
        if phase == "tool_response":
            if patch is not None and patch.kind == "edit":
                return self._tell(self._apply(patch), known)
            if patch is not None:
                self._calls.answered(data)
            return []
        if phase == "tool_call" or data.get("tool_calls") or data.get("delta_name"):
            self._calls.add(data)
        elif patch is not None:
            self._calls.settle()
        out = self._decide_thinking() if phase != "thinking" else []
        if patch is not None:
            said = self._think(patch) if phase == "thinking" else self._apply(patch)
            out += self._tell(said, known)
        if len(self._reader.document) + self._calls.size > self._policy.max_held_bytes:
            raise LimitReached
        return out

    def _apply(self, patch: Patch) -> list[Said]:
        calling = self._phase == "tool_call"
        if patch.kind == "delta":
            return self._reader.append(patch.text, calling=calling)
        return self._reader.edit(patch.index, patch.text, calling=calling)

    # Thinking without the wrapper is no part of the document

    def _think(self, patch: Patch) -> list[Said]:
        text = self._undecided + patch.text
        opening = text.lstrip("\n")
        if self._thinking != "document":
            if opening.startswith(_WRAPPER) or (patch.kind == "edit" and patch.index > 0):
                self._thinking = "document"
            elif not self._thinking and _WRAPPER.startswith(opening):
                self._undecided = text
                return []
            else:
                self._thinking = "apart"
        self._undecided = ""
        if self._thinking == "apart":
            return self._think_apart(text)
        return self._apply(Patch(patch.kind, text, patch.index))

    def _think_apart(self, text: str) -> list[Said]:
        """Parts with a hidden call between them join with a blank line, as wrappers do."""
        if self._parted:
            text = text.lstrip("\n")
            if not text:
                return []
            self._parted = False
            text = f"\n\n{text}"
        return [("reasoning", text)]

    def _decide_thinking(self) -> list[bytes]:
        """Thinking that looked like the beginning of a wrapper was none."""
        text, self._undecided = self._undecided, ""
        if not text:
            return []
        self._thinking = "apart"
        return self._chunks.say({"reasoning_content": text})

    # What goes out

    def _tell(self, said: Iterable[Said], known: int) -> list[bytes]:
        """Send what was said anew; at the first null patch the turn is over, and what follows it unsaid."""
        out: list[bytes] = []
        texts: list[str] = []
        speaking = ""
        for item in said:
            if isinstance(item, GlmBlock):
                if self._is_null_patch(item):
                    out += self._render_chunk(speaking, texts)
                    return out + self._freeze(max(known, self._reader.blocks.index(item) + 1))
                continue
            kind, text = item
            if kind != speaking:
                out += self._render_chunk(speaking, texts)
                speaking, texts = kind, []
            texts.append(text)
        return out + self._render_chunk(speaking, texts)

    def _render_chunk(self, kind: str, texts: list[str]) -> list[bytes]:
        if not texts:
            return []
        if kind == "reasoning":
            return self._chunks.say({"reasoning_content": "".join(texts)})
        if self._policy.null_content and self._has_calls():
            return []
        self._spoke = True
        return self._chunks.say({"content": "".join(texts)})

    def _is_null_patch(self, block: GlmBlock) -> bool:
        document = self._reader.document
        return (
            self._policy.zai_after_null == "cut"
            and block.result(document) is CallResult.NULL
            and self._owners.is_clients(block.name(document), CallResult.NULL)
        )

    def _freeze(self, count: int) -> list[bytes]:
        """The first null patch. Blocks that stood in the document before it belong to the turn, later ones do not."""
        out = self._emit(Finish.COMPLETE, count)
        return out + self._finish("stop")

    # The calls

    def _candidates(self, count: int | None = None, *, complete: bool) -> list[Candidate]:
        left = self._done or self._phase not in ("tool_call", "")
        blocks = self._reader.block_count if count is None else count
        return [*block_candidates(self._reader, blocks, left=left), *self._calls.candidates(complete=complete)]

    def _has_calls(self) -> bool:
        """Is there a call that may be the client's?"""
        reader, document = self._reader, self._reader.document
        if reader.open_block is not None or self._calls.size:
            return True
        return any(self._owners.is_clients(block.name(document), block.result(document)) for block in reader.blocks)

    def _is_complete(self) -> bool:
        """Is there a complete answer or call that a trailing error takes nothing from?"""
        if self._spoke and (self._usage or self._reason):
            return True
        return any(
            call.stands_alone and self._owners.is_clients(call.name, call.result)
            for call in self._candidates(complete=True)
        )

    def _emit(self, finish: Finish, count: int | None = None) -> list[bytes]:
        """Write the client's calls, each as one delta. Cut off: only what is complete by itself goes out."""
        candidates = self._candidates(count, complete=finish is Finish.COMPLETE)
        ours = [call for call in candidates if self._owners.is_clients(call.name, call.result)]
        out: list[bytes] = []
        for outcome in self._turn.complete([self._gathered(call, finish) for call in ours], finish):
            if outcome is not None and not outcome.dropped:
                out += self._chunks.say({"tool_calls": [self._written(outcome)]})
        for note in self._turn.take_notes():
            out += self._chunks.say({"content": note})
        return out

    def _gathered(self, call: Candidate, finish: Finish) -> GatheredCall:
        doubt = call.doubt
        if finish is Finish.CUT and not doubt and not call.stands_alone:
            doubt = CUT_INSIDE
        compared = ComparedCall(call.id, call.name, call.arguments, certain=not call.doubt)
        return GatheredCall(
            call.name,
            call.arguments,
            call.id,
            doubt=doubt,
            unfinished=bool(doubt) and finish is Finish.CUT,
            finish=self._finish_of(call, finish),
            compared=compared,
        )

    def _finish_of(self, call: Candidate, finish: Finish) -> Finish:
        """How the answer ended for a call: as the finish reason says, if one came and the call was not cut off."""
        if call.stands_alone:
            return Finish.COMPLETE
        if not call.whole:
            return Finish.CUT
        return Finish.of(self._reason) if self._reason else finish

    def _written(self, outcome: Outcome) -> Json:
        return {
            "index": self._turn.sent - 1,
            "id": outcome.id,
            "type": "function",
            "function": {"name": outcome.name, "arguments": outcome.arguments},
        }

    # The end

    def _end_turn(self, finish: Finish) -> list[bytes]:
        out = self._decide_thinking()
        count = self._reader.block_count
        out += self._tell(self._reader.finish(), count)
        # The last text may have been the block that never closed: it is judged as it stood.
        return out + self._emit(finish)

    def _end(self) -> list[bytes]:
        """`[DONE]`, or the stream is over after `done`."""
        self._events = True
        out = [] if self._done else self._end_turn(Finish.UNKNOWN)
        return out + self._finish("length" if self._reason == "length" else "stop")

    def _cut_off(self) -> list[bytes]:
        """The stream ended without `done`: nothing that may be half goes out."""
        out = self._decide_thinking()
        out += self._emit(Finish.CUT)
        return out + self._finish("length")

    def _finish(self, reason: str) -> list[bytes]:
        self._over = True
        if self._reader.rewritten:
            _log.warning("chat.z.ai changed text that the client had received already")
        truth = "tool_calls" if self._turn.sent else reason
        return self._chunks.finish(truth, self._usage, apart=self._request.include_usage)

    def _fail(self, trouble: Trouble) -> list[bytes]:
        """Complete calls come out, unfinished ones are dropped, the error goes on."""
        self._over = True
        out = self._decide_thinking() + self._emit(Finish.CUT)
        return out + Chunks.fail(trouble.message, "upstream_error", trouble.code)
