"""The entry to the engine: one `Response` object per HTTP response, in any protocol.

The mitmproxy script, the `toolfix` command and the tests all start here. The protocol is chosen by the path or, if
the path is unknown, by the first data that the upstream sends; never by a provider's name.

Strategy: undo the content encoding; decide by the first bytes what the body is (an event stream, one JSON document,
or neither); cut a stream into events and give each to the protocol. `feed` and `close` never raise. If anything
fails, and at the limit of held bytes, the client gets as it arrived what it has nothing of (the tail of the protocol,
the event that could not be handled, and what follows), and the rest passes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final, Literal

from .ids import Ids
from .mend.mender import Mender
from .outcome import Outcome
from .parse_failure import Recovery
from .policy import Policy
from .protocols.chat import Chat
from .protocols.gemini import Gemini
from .protocols.messages import Messages
from .protocols.ollama import Ollama
from .protocols.protocol import Protocol
from .protocols.responses.protocol import Responses
from .protocols.zai import Zai
from .request.read_by_model import ReadByModel
from .request.request import Request
from .sizes import MOST_LINES, MOST_MARKS, LimitReached, marks_in
from .sniff import CHAT, by_event, by_rest
from .wire import sse
from .wire.encoding import Inflated, decoder
from .wire.framing import MESSAGES, SSE
from .wire.sse import Event

AUTO: Final = "auto"

_PROTOCOLS: Final[dict[str, Callable[[Request, Policy, Mender], Protocol]]] = {
    "chat": Chat,
    "messages": Messages,
    "responses": Responses,
    "zai": Zai,
    "gemini": Gemini,
    "ollama": Ollama,
}

PROTOCOLS: Final = (AUTO, *_PROTOCOLS)

_DEFAULT_POLICY: Final = Policy()

_PATHS = (
    (re.compile(r"/chat/completions\Z"), "chat"),
    (re.compile(r"/messages\Z"), "messages"),
    (re.compile(r"/responses\Z"), "responses"),
    (re.compile(r"/api/chat\Z"), "ollama"),
    (re.compile(r":(?:generateContent|streamGenerateContent)\Z"), "gemini"),
    # Messages on Vertex, and on gateways that have the paths of Bedrock but send SSE.
    (re.compile(r":(?:rawPredict|streamRawPredict)\Z"), "messages"),
    (re.compile(r"/model/[^/]+/(?:invoke|invoke-with-response-stream)\Z"), "messages"),
)


def protocol_of(path: str) -> str | None:
    """The protocol that belongs to this path; None if it is not one of ours."""
    bare = path.partition("?")[0].rstrip("/")
    return next((name for end, name in _PATHS if end.search(bare)), None)


_FIRST_BYTE = re.compile(rb"[^\s\xef\xbb\xbf]")
_MOST_JOINED: Final = 8 * 1024
"""The bytes of an event in pieces that are looked at again with the next piece."""
_LIMITED: Final = (
    "the answer exceeds a limit of toolfix (toolfix_max_held_bytes, or the size or number of its calls or events)"
)
_WRAPPED: Final = ("data:", "event:")
"""Servers that forward another server's stream inside their own data lines repeat its field names."""

BodyKind = Literal["unknown", "events", "line", "document", "passing", "ended"]
"""What the body is: nothing but white space so far, an event stream, a line that may be one JSON document, one JSON
document; it passes unchanged, or is swallowed because we ended the answer."""


class Response:
    """One response: feed it the chunks of the upstream and send the client what it returns. Never raises."""

    _looked = 0
    """How many bytes of no complete event were searched for the end of one."""
    _decided = 0
    """How many outcomes there were after the last event: if the next one fails, its calls have none."""
    _changed = False
    """An event was held, or written anew."""
    decoded: bytes | None = None
    """The last chunk without its content encoding; None if it had none."""
    failure: Exception | None = None
    limited = False

    def __init__(
        self,
        protocol: str = AUTO,
        request: Request | None = None,
        policy: Policy | None = None,
        *,
        encoding: str = "",
        messages: bool = False,
        is_error: bool = False,
        seed: str | Callable[[], str] = "",
        on_outcome: Callable[[Outcome], None] = lambda _: None,
    ) -> None:
        """`seed`: new ids are derived from this string, or from what this function returns.

        `on_outcome` is called with each outcome at once. `messages`: this is Responses over a WebSocket, and each
        chunk is one message. `is_error`: the status says so; then the body is one document, and passes unless it
        quotes a call that the server could not parse: the client gets an answer with that call.
        """
        request, policy = request or Request(), policy or _DEFAULT_POLICY
        self.read_by_model = ReadByModel(before=request.read_by_model)
        """What the model was given to read, up to the end of this answer."""
        request = replace(request, read_by_model=self.read_by_model)
        mender = Mender(request.tools, policy, Ids(seed, request.used_ids), on_outcome, request.callable_tools)

        recovery = Recovery(protocol, request, policy, partial(_run, policy, seed))
        # Without `self`: the reference cycle would keep all held data until a garbage collection.
        make = partial(_reader, recovery, mender, messages, is_error)
        # chat.z.ai uses a protocol of its own at the path of Chat; there a request that cannot be read has no tools.
        at_chat = ("zai",) if request.choices is not None or policy.zai == "on" else ()
        others = {CHAT: at_chat, AUTO: PROTOCOLS}.get(protocol, ())
        self._others, self._sniffs, self._make = others, bool(others) and not is_error, make
        self._is_error = is_error
        self._protocol = make(CHAT if others else protocol)
        self._framing = self._protocol.framing
        self._mender, self._limit, self._decoder = mender, policy.max_held_bytes, decoder(encoding)
        self.outcomes, self.seconds = mender.outcomes, mender.seconds
        # Messages are events, whatever is in them.
        self._kind: BodyKind = "events" if self._framing.event_per_chunk else "document" if is_error else "unknown"
        self._rest = bytearray()
        """Bytes that form no complete event yet, or the document so far."""

    @property
    def mended_events(self) -> int:
        """How many events had data that was mended before it could be read."""
        return self._mender.mended_events

    @property
    def holding(self) -> bool:
        """Whether anything is held back right now: a call, the end of a text, a stop reason."""
        return self._kind == "events" and (bool(self._protocol.tail) or self._protocol.holds_call)

    @property
    def holds_call(self) -> bool:
        """Whether a tool call is held back right now."""
        return self._kind == "events" and self._protocol.holds_call

    @property
    def changed_sent_text(self) -> bool:
        """Whether the upstream changed text that the client had already received and cannot take back."""
        return self._protocol.changed_sent_text

    @property
    def held_bytes(self) -> int:
        """How many bytes arrived that the client does not have: held ones, and those of an incomplete event."""
        return self._protocol.tail.size + len(self._rest)

    def stop_holding(self) -> list[bytes]:
        """Send what is held as it arrived, and let the rest pass, as if this answer had reached its own limit."""
        return self._give_up(LimitReached())

    def keep_alive(self) -> bytes:
        """An event of the protocol without new content, sent to the client while a call is held."""
        try:
            return self._protocol.keep_alive()
        except Exception:
            return b""

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take a chunk; the chunks for the client, none of them empty."""
        if self._decoder is None:
            return self._take(chunk)
        self.decoded = b""
        if not chunk or self._kind == "ended":
            return []
        try:
            data = self.decoded = self._decoder.decode(chunk)
        except Inflated as error:
            # The rest would fill the memory, and the client could not decode it: its header is gone.
            self.decoded = error.before
            out = [*self._take(error.before), *self.close()]
            self.failure = error
            return out
        except Exception as error:
            # Our header names no encoding, so what was decoded before stays decoded.
            self._decoder = self.decoded = None
            self._rest += chunk
            return self._give_up(error)
        return self._take(data)

    def close(self) -> list[bytes]:
        """The upstream has ended: what is still to be sent. A second call returns nothing."""
        try:
            out = self._sniff_rest() if self._sniffs else []
        except Exception as error:
            out = self._give_up(error)
        kind, rest = self._kind, bytes(self._rest)
        self._rest.clear()
        if kind in ("document", "line"):
            out += self._answer([rest], self._document)
        elif kind == "events":
            out += self._answer([rest], self._end)
        else:
            out += [rest] if rest else []
        self._kind, self._protocol.passing = "ended", None
        return out

    def _take(self, data: bytes) -> list[bytes]:
        """Take decoded bytes."""
        rest, protocol = self._rest, self._protocol
        if protocol.passing is None or len(rest) > _MOST_JOINED or not data:
            return self._read(data)
        if rest:
            data = bytes(rest) + data
            rest.clear()
            self._looked = 0
        try:
            passed = protocol.pass_unparsed(data)
        except Exception as error:
            return self._give_up(error, [data])
        if passed == len(data):
            return [data]
        if not passed:
            return self._read(data)
        more = data[passed:]
        if (b"\n\n" if self._framing is SSE else b"\n") in more or b"\r" in more:
            out = [data[:passed], *self._read(more)]
            return [data] if b"".join(out) == data else out
        rest += more  # Not the whole of an event.
        return [data[:passed]]

    def _read(self, data: bytes) -> list[bytes]:
        """Take decoded bytes, of which the first event is to be parsed."""
        if not data or self._kind in ("passing", "ended"):
            return [data] if data and self._kind == "passing" else []
        rest = self._rest
        block: bytes | bytearray = data
        if rest or self._kind != "events":
            rest += data
            block = rest
        try:
            if self._kind != "events":
                self._kind = self._kind_now()
            events, end = self._framing.cut(block, self._looked) if self._kind == "events" else ([], 0)
            # A blank line has at most four bytes, and three of them may have arrived.
            self._looked = max(0, len(block) - 3) if end < 0 else 0
        except Exception as error:
            return self._give_up(error, [data] if block is data else [])
        if block is rest:
            del rest[: max(end, 0)]
        else:
            rest += data[max(end, 0) :]
        if self._kind == "passing":
            return self._release([])
        out = self._answer(events, self._event) if events else []
        full = self._protocol.tail.size + len(rest) > self._limit
        return [*out, *self._give_up(LimitReached())] if full else out

    # What the body is

    def _kind_now(self) -> BodyKind:
        """What the body is, by its first byte other than white space; if that may begin lines, by the first line."""
        kind, found = self._kind, _FIRST_BYTE.search(self._rest)
        if found is not None and kind == "unknown":
            if self._framing is not SSE:
                # Other servers use the path of a protocol of lines too, with any kind of body.
                kind = "line" if found[0] == b"{" else "passing"
            elif found[0] in (b"{", b"["):
                kind = "document"
            else:
                # A page of HTML, or Amazon's event stream, which is binary and begins with a length.
                kind = "passing" if found[0] in (b"<", b"\0") else "events"
        if kind != "line" or b"\n" not in self._rest or b"\n" not in self._rest.lstrip():
            return kind
        # The first line may be the whole body, or begin a longer document or a stream.
        line, behind = bytes(self._rest).lstrip().split(b"\n", 1)
        if line.strip() == b"{":
            return "document"
        document = self._protocol.is_document(self._framing.read_event(line))
        return "events" if behind.strip() or not document else "line"

    def _sniff_rest(self) -> list[bytes]:
        """The body ends, and no event has shown its protocol: what the client gets if the rest does."""
        self._sniffs, rest = False, bytes(self._rest)
        name = CHAT if self._kind in ("passing", "ended") else by_rest(rest, self._others)
        if name == CHAT:
            return []
        self._rest.clear()
        self._protocol, self._kind = self._make(name), "unknown"
        self._framing = self._protocol.framing
        return self._take(rest)

    # Events

    def _answer(self, events: list[bytes], answer: Callable[[bytes], list[bytes]]) -> list[bytes]:
        """What the client gets for these events, or instead of one that fails and all that follows."""
        out: list[bytes] = []
        for number, raw in enumerate(events):
            try:
                if self._sniffs and (name := by_event(raw, self._others)):
                    self._sniffs = False
                    self._protocol = self._protocol if name == CHAT else self._make(name)
                tail = self._protocol.tail
                if tail.size + len(raw) > self._limit:
                    raise LimitReached
                sent = [piece for piece in answer(raw) if piece]
                self._changed = self._changed or sent != [raw]
                if tail.changes:
                    tail.commit()
                self._decided = len(self.outcomes)
                out += sent
            except Exception as error:
                return [*out, *self._give_up(error, events[number:])]
        if len(out) < 2 or self._framing.event_per_chunk:
            return out
        whole = b"".join(events)
        return [whole] if b"".join(out) == whole else out

    def _event(self, raw: bytes) -> list[bytes]:
        protocol = self._protocol
        if protocol.passing is not None and protocol.pass_unparsed(raw):
            return [raw]
        if protocol.piece is not None and (sent := protocol.take_piece(raw)) is not None:
            return sent
        if raw.isspace() and not protocol.tail:
            return [raw]
        self._mender.searched.size = 0
        if len(raw) > MOST_LINES:
            _check(raw)
        event = self._framing.read_event(raw)
        if event.data is not None and event.data.startswith(_WRAPPED):
            event = sse.unwrapped(event)
        return protocol.take(event)

    def _end(self, rest: bytes) -> list[bytes]:
        """The upstream has ended, perhaps without the end of its last event."""
        protocol, framing, out = self._protocol, self._framing, list[bytes]()
        idle = framing is SSE and sse.COMMENTS.fullmatch(rest.removeprefix(sse.BOM)) is not None
        if rest and framing is not SSE:
            out = self._event(rest)
        elif rest and not idle:
            _check(rest)
            event = sse.unwrapped(framing.read_event(rest))
            # Clients drop an event without its blank line, which is right only for half an event.
            whole = sse.is_whole(event.data, say_done=self._changed)
            event = event._replace(raw=sse.ended(event.raw) if whole else rest)
            out = protocol.take(event) if (event.data or "").strip() else protocol.end(event.raw)
        waits = any(answer.holds_call or answer.reason_waits for answer in protocol.answers.values())
        out = [piece for piece in (*out, *protocol.end(), rest if idle and not waits else b"") if piece]
        # An event that the upstream did not end gets its end before another event follows.
        out[:-1] = [framing.ended(piece) for piece in out[:-1]]
        return out

    def _document(self, body: bytes) -> list[bytes]:
        if marks_in(body) > MOST_MARKS:
            raise LimitReached
        if not self._is_error:
            return [self._protocol.document(body)]
        error = Event(body, body.decode("utf-8", "replace"))
        return self._protocol.recovered(error, whole=True) or [body]

    # Failing open

    def _give_up(self, error: Exception, events: list[bytes] | None = None) -> list[bytes]:
        """Let go of all that the client has nothing of: the tail, the events that were not answered, and the rest."""
        if isinstance(error, LimitReached):
            self.limited, reason = True, _LIMITED
        else:
            self.failure, reason = error, "the answer could not be read"
        # The calls of the event that could not be answered are sent as they came.
        del self.outcomes[self._decided :]
        try:
            last = self._protocol.last_words(reason)
        except Exception as bug:
            self.failure, last = bug, None
        if last is None:
            return self._release(events or [])
        self._kind, self._protocol.passing = "ended", None
        self._rest.clear()
        return last

    def _release(self, events: list[bytes]) -> list[bytes]:
        self._kind, self._protocol.passing = "passing", None
        tail, rest = self._protocol.tail, bytes(self._rest)
        self._rest.clear()
        parts = tail.drain()
        try:
            held = self._protocol.as_it_came(parts)
        except Exception:
            held = list(dict.fromkeys(part.source.raw for part in parts if part.source is not None))
        return [piece for piece in (*held, *events, rest) if piece]


def _reader(recovery: Recovery, mender: Mender, messages: bool, is_error: bool, name: str) -> Protocol:
    """The protocol of this name for one response."""
    request, policy = recovery.request, recovery.policy
    if messages:
        reader: Protocol = Responses(request, policy, mender, MESSAGES)
    else:
        reader = _PROTOCOLS[name](request, policy, mender)
    reader.recover = recovery.answer if recovery.is_wanted(in_stream=not is_error) else None
    return reader


def _run(
    policy: Policy, seed: str | Callable[[], str], request: Request, document: bytes
) -> tuple[bytes, list[Outcome]]:
    """What a document of Chat becomes, and its calls."""
    response = Response(CHAT, request, policy, seed=seed)
    return mend_whole(response, document), response.outcomes


def _check(event: bytes) -> None:
    """An event with more in it than is read passes as it came, with all that follows."""
    lines = event.count(b"\n") + event.count(b"\r")
    if lines > MOST_LINES or marks_in(event) > MOST_MARKS:
        raise LimitReached


def mend_whole(response: Response, body: bytes, chunk_size: int = 0) -> bytes:
    """Feed a whole body to a response, in one piece or in chunks of `chunk_size`; the bytes for the client."""
    size = chunk_size or max(len(body), 1)
    out = [piece for start in range(0, len(body), size) for piece in response.feed(body[start : start + size])]
    return b"".join([*out, *response.close()])
