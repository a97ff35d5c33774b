"""Reasoning and signatures that a host wants back: what it said beside the calls of a turn, for the next request.

A turn is found again by the account, the host and the model, by all that the user said, by all that was said from his
last message up to it, and by its own ids: `functions.Bash:0` and "Go on." are in every session, and nobody gets what
another session thought.
A client that changes what was said before gets nothing back, and its request goes up as it came. In memory only.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..ids import restore
from .answered import EXTRA, FIELDS, THINKING, AnsweredTurn, read_answer
from .edits import Edits, Path
from .items_as_messages import items_as_messages
from .pairs import text_of
from .responses_pairs import SERVER_STATE

Json = dict[str, Any]

MAX_TURNS = 4096
MAX_BYTES = 32 * 1024 * 1024
MAX_HOSTS = 1024
_NOTHING_SAID = '""'

_ASKS = re.compile(
    r"must be passed back|is missing in assistant tool call|Missing `reasoning_content` field"
    r"|reasoning details to be preserved|missing a thought_signature|must start with a thinking block"
    r"|without its required 'reasoning' item"
)
_REFUSES = re.compile(
    r"unsupported|not supported|not permitted|extra_forbidden|display purposes only"
    r"|[Uu]nknown (?:name|field|parameter)|[Uu]nrecognized|Invalid `signature`|cannot be modified"
    r"|not valid|could not be verified"
)
_NAMES_IT = re.compile(r"reasoning_content|reasoning_details|[.']reasoning\b['`]|thought_signature")
"""The field of a message, and not an option of the request such as `reasoning_effort`."""
_NAMES_BLOCK = re.compile(r"`thinking`|[Ss]ignature|encrypted content")
"""Clients have such trouble of their own: it counts where we gave something back."""
_EMPTY_MESSAGE = "Each message must have at least one content element"
"""What xAI says to a field that it does not take."""
_INDEX = re.compile(r"\bindex (\d{1,6})")
_OFF = frozenset({"disabled", "none", "off"})


@dataclass(slots=True)
class GivenBack:
    """What one assistant message gets back. Values are JSON texts."""

    fields: dict[str, str] = field(default_factory=dict)
    extras: dict[int, str] = field(default_factory=dict)
    """By the number of the call in its message."""
    blocks: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.fields or self.extras or self.blocks)

    def as_json(self) -> Json:
        """The form in flow.json."""
        extras = {str(number): text for number, text in self.extras.items()}
        return {"fields": self.fields, "extras": extras, "blocks": self.blocks}

    @classmethod
    def from_json(cls, entry: Json) -> GivenBack:
        extras = {int(number): str(text) for number, text in entry["extras"].items()}
        return cls(dict(entry["fields"]), extras, list(entry["blocks"]))


@dataclass(slots=True)
class _Manners:
    """What a host does with the reasoning of one model."""

    wanted: str = ""
    """The field that it asked for."""
    everywhere: bool = False
    """It asks for the turns before the last message of the user too."""
    takes_empty: bool = True
    refuses: bool = False
    signs_calls: bool = False
    """It sends signatures with its calls."""


class ReasoningMemory:
    """The turns of all sessions. Bounded in number and in bytes: the one not asked for longest is forgotten."""

    def __init__(self, most_turns: int = MAX_TURNS, most_bytes: int = MAX_BYTES) -> None:
        self._most_turns = most_turns
        self._most_bytes = most_bytes
        self._turns: OrderedDict[bytes, tuple[AnsweredTurn, int]] = OrderedDict()
        """Each with its size."""
        self._hosts: OrderedDict[tuple[str, str], _Manners] = OrderedDict()
        self._salt = secrets.token_bytes()
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._turns)

    def session(self, protocol: str, host: str, account: str, request: Json | None) -> ReasoningSession:
        """One request of a client, and the answer to it."""
        model = request.get("model") if request else None
        return ReasoningSession(self, protocol, host, account, model if isinstance(model, str) else "", request or {})

    def start(self, *parts: str) -> _Digest:
        return _Digest(self._salt, *parts)

    def manners(self, host: str, model: str) -> _Manners | None:
        return self._hosts.get((host, model))

    def learn(self, host: str, model: str) -> _Manners:
        known = self._hosts.setdefault((host, model), _Manners())
        self._hosts.move_to_end((host, model))
        if len(self._hosts) > MAX_HOSTS:
            self._hosts.popitem(last=False)
        return known

    def keep(self, key: bytes, turn: AnsweredTurn) -> None:
        size = turn.size
        if size > self._most_bytes // 8:
            return
        self._forget(key)
        self._turns[key] = turn, size
        self.bytes += size
        while len(self._turns) > self._most_turns or self.bytes > self._most_bytes:
            self._forget(next(iter(self._turns)))

    def _forget(self, key: bytes) -> None:
        if key in self._turns:
            self.bytes -= self._turns.pop(key)[1]

    def find(self, key: bytes) -> AnsweredTurn | None:
        if key not in self._turns:
            return None
        self._turns.move_to_end(key)
        return self._turns[key][0]


class _Digest:
    """What was said so far, as a number that nobody else comes to."""

    __slots__ = ("_hash",)

    def __init__(self, salt: bytes, *parts: str) -> None:
        self._hash = hashlib.sha256(salt)
        self.add(*parts)

    def add(self, *parts: str) -> None:
        for part in parts:
            data = part.encode("utf-8", "surrogatepass")
            self._hash.update(b"%d:" % len(data))
            self._hash.update(data)

    def copy(self) -> _Digest:
        """One that goes on from here."""
        twin = _Digest.__new__(_Digest)
        twin._hash = self._hash.copy()
        return twin

    def with_turn(self, ids: list[str], text: str) -> bytes:
        """The key of a turn that follows."""
        after = self._hash.copy()
        after.update("\0".join(["calls", *ids] if ids else ["text", text.strip()]).encode("utf-8", "surrogatepass"))
        return after.digest()


class ReasoningSession:
    """One request and its answer: what the request gets back, and what is kept of the answer."""

    __slots__ = ("_account", "_given", "_host", "_last_user", "_memory", "_model", "_protocol", "_request", "_said")

    def __init__(
        self, memory: ReasoningMemory, protocol: str, host: str, account: str, model: str, request: Json
    ) -> None:
        self._memory = memory
        self._protocol = protocol
        self._host = host
        self._account = account
        self._model = model
        self._request = request
        self._said: _Digest | None = None
        """All that was said before the answer; known when it is asked for."""
        self._given: dict[int, GivenBack] = {}
        self._last_user = -1

    def recall(self, request: Json) -> dict[int, GivenBack]:
        """What the messages of this request get back, by their numbers."""
        manners = self._memory.manners(self._host, self._model)
        if manners is None or manners.refuses or _thinking_is_off(request):
            return {}
        messages = _history(request)
        if not _may_lack(messages, manners):
            return {}
        for number, message, key in self._turns(messages, everywhere=manners.everywhere):
            turn = self._memory.find(key)
            given = _lacking(message, turn) if turn else GivenBack()
            unknown = turn is None and manners.wanted and manners.takes_empty and self._protocol == "chat"
            if unknown and not _has_reasoning(message) and (number > self._last_user or message.get("tool_calls")):
                given.fields[manners.wanted] = _NOTHING_SAID
            if given:
                self._given[number] = given
        return self._given

    def _turns(self, messages: History, *, everywhere: bool) -> Iterator[tuple[int, Json, bytes]]:
        """The assistant messages of the open turn, or of all turns, with the keys that they were kept under."""
        last = max((place for place, (_, message) in enumerate(messages) if _is_of_user(message)), default=0)
        self._last_user = messages[last][0] if messages and _is_of_user(messages[last][1]) else -1
        asked = self._memory.start(self._protocol, self._host, self._account, self._model)
        digest = asked.copy()
        for place, (number, message) in enumerate(messages):
            if not isinstance(message, dict):
                continue
            role = message.get("role")
            if _is_of_user(message):
                asked.add(text_of(message.get("content")))
                digest = asked.copy()
            elif place < last and not everywhere:
                continue
            elif role == "assistant":
                ids = _ids(message)
                text = text_of(message.get("content"))
                yield number, message, digest.with_turn(ids, text)
                digest.add("assistant", *(ids or [text.strip()]))
            else:
                digest.add("results", *_results(message))
        self._said = digest

    def answered(self, body: bytes, client_ids: list[str]) -> None:
        """The answer is over. `client_ids` are those of its calls that the client knows."""
        turn = read_answer(self._protocol, body)
        messages = _history(self._request)
        if turn is None or not messages:
            return
        for _ in self._turns(messages, everywhere=False):
            pass
        assert self._said is not None
        manners = self._memory.learn(self._host, self._model)
        manners.signs_calls = manners.signs_calls or bool(turn.extras)
        ids = [restore(identity) or identity for identity in client_ids]
        self._memory.keep(self._said.with_turn(ids or turn.ids, turn.text), turn)

    def over(self) -> None:
        """Nothing more comes. Whoever still has this does not keep the request alive."""
        self._request = {}

    def rejected(self, status: int, body: bytes) -> None:
        """The host answered with an error: does it ask for reasoning, or refuse it?"""
        if status not in (400, 422):
            return
        text = body[:65536].decode("utf-8", "replace")
        if _ASKS.search(text):
            manners = self._memory.learn(self._host, self._model)
            if any(_NOTHING_SAID in given.fields.values() for given in self._given.values()):
                manners.takes_empty = False
            manners.wanted = "reasoning_content" if "reasoning_content" in text else manners.wanted
            index = _INDEX.search(text)
            if index and int(index[1]) < self._before_user():
                manners.everywhere = True
        elif self._is_refusal(text):
            self._memory.learn(self._host, self._model).refuses = True

    def _is_refusal(self, text: str) -> bool:
        if self._given and (_EMPTY_MESSAGE in text or (_NAMES_BLOCK.search(text) and _REFUSES.search(text))):
            return True
        return bool(_NAMES_IT.search(text) and _REFUSES.search(text))

    def _before_user(self) -> int:
        return max((number for number, message in _history(self._request) if _is_of_user(message)), default=-1)


def put_back(given: Mapping[int, GivenBack], request: Json, edits: Edits, at: Path) -> dict[str, int]:
    """Write what the messages get back; gives the steps."""
    steps: dict[str, int] = {}

    def count(step: str) -> None:
        steps[step] = steps.get(step, 0) + 1

    if isinstance(request.get("input"), list):
        order: list[int | str] = []
        for number in range(len(request["input"])):
            order += given[number].blocks if number in given else ()
            order.append(number)
        edits.arrange((*at, "input"), order)
        return {"reasoning given back": len(given)}
    for number, back in given.items():
        message = request["messages"][number]
        place = (*at, "messages", number)
        for key, text in back.fields.items():
            _set(edits, place, message, key, text)
            count("empty reasoning" if text == _NOTHING_SAID else "reasoning given back")
        for call, text in back.extras.items():
            _set(edits, (*place, "tool_calls", call), message["tool_calls"][call], EXTRA, text)
            count("signature given back")
        if back.blocks:
            edits.arrange((*place, "content"), [*back.blocks, *range(len(message["content"]))])
            count("reasoning given back")
    return steps


def _set(edits: Edits, place: Path, entry: Json, key: str, text: str) -> None:
    if key in entry:
        edits.replace((*place, key), text)
    else:
        edits.add(place, key, text)


def _lacking(message: Json, turn: AnsweredTurn) -> GivenBack:
    """What the client dropped of a turn; nothing where it sent its own."""
    given = GivenBack()
    content = message.get("content")
    if turn.blocks and isinstance(content, list) and not _has_reasoning(message):
        # With other blocks around it a signed thought is rejected.
        if text_of(content).strip() == turn.text.strip():
            given.blocks = turn.blocks
    elif turn.fields and not _has_reasoning(message):
        key = next(key for key in FIELDS if key in turn.fields)
        given.fields[key] = turn.fields[key]
    for number, call in enumerate(_listed(message.get("tool_calls"))):
        identity = _upstream_id(call.get("id")) if isinstance(call, dict) else ""
        if identity in turn.extras and call.get(EXTRA) is None:
            given.extras[number] = turn.extras[identity]
    return given


History = list[tuple[int, Any]]
"""Messages with their numbers."""


def _history(request: Json) -> History:
    """Who said what; nothing where the server keeps the history."""
    messages, items = request.get("messages"), request.get("input")
    if isinstance(messages, list):
        return list(enumerate(messages))
    if not isinstance(items, list) or any(request.get(key) for key in SERVER_STATE):
        return []
    return items_as_messages(items)


def _may_lack(messages: History, manners: _Manners) -> bool:
    """Did the client drop anything? Asked of every request to a host that sends reasoning, so it has to be cheap."""
    for _, message in messages:
        if type(message) is dict and message.get("role") == "assistant":
            if message.get("reasoning_content") is None and not _has_reasoning(message):
                return True
            if manners.signs_calls and message.get("tool_calls"):
                return True
    return False


def _has_reasoning(message: Json) -> bool:
    """Does the client send reasoning of its own with this message?"""
    if any(message.get(key) is not None for key in (*FIELDS, "reasoning_opaque")):
        return True
    content = message.get("content")
    return isinstance(content, list) and any(
        isinstance(block, dict) and block.get("type") in THINKING for block in content
    )


def _is_of_user(message: object) -> bool:
    """Is this what a user said, and not the results of calls?"""
    if not isinstance(message, dict) or message.get("role") != "user":
        return False
    content = message.get("content")
    return not isinstance(content, list) or not any(
        isinstance(block, dict) and block.get("type") == "tool_result" for block in content
    )


def _ids(message: Json) -> list[str]:
    """The ids of the calls of a message, as the host gave them."""
    entries = _listed(message.get("tool_calls")) or _listed(message.get("content"))
    calls = [
        entry for entry in entries if isinstance(entry, dict) and entry.get("type") in (None, "function", "tool_use")
    ]
    return [_upstream_id(call.get("id")) for call in calls]


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _upstream_id(identity: object) -> str:
    return (restore(identity) or identity) if isinstance(identity, str) else ""


def _results(message: Json) -> list[str]:
    content = message.get("content")
    blocks = content if message.get("role") == "user" and isinstance(content, list) else [message]
    results = [block for block in blocks if isinstance(block, dict)]
    return [
        f"{_upstream_id(block.get('tool_call_id') or block.get('tool_use_id'))}\0{text_of(block.get('content'))}"
        for block in results
        if block.get("tool_call_id") or block.get("type") == "tool_result"
    ]


def _thinking_is_off(request: Json) -> bool:
    thinking = request.get("thinking")
    kind = thinking.get("type") if isinstance(thinking, dict) else thinking
    template = request.get("chat_template_kwargs")
    switches = [
        request.get("enable_thinking"),
        template.get("enable_thinking") if isinstance(template, dict) else None,
    ]
    words = (kind, request.get("reasoning_effort"))
    return False in switches or any(word in _OFF for word in words if isinstance(word, str)) or kind is False
