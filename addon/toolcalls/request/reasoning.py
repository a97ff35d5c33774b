"""Remembers the reasoning and signatures that a host sent with a turn and wants back in the next request.

A turn is found again by the account, the host and the model, by all words of the user, by everything from the user's
last message up to the turn, and by its own ids: `functions.Bash:0` and "Go on." are in every session, and no session
may get the reasoning of another. If a client changes the earlier conversation, it gets nothing back and its request
is sent unchanged. In memory only.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any

from ..outcome import Outcome
from .answered import AnsweredTurn, read_answer
from .conversation import (
    Conversation,
    calls_of,
    conversation_of,
    has_reasoning,
    is_of_user,
    known_as,
    results_of,
    upstream_id,
)
from .conversation_hash import ConversationHash
from .given_back import NO_REASONING, GivenBack, lacking
from .history_work import RECALLING, HistoryWork
from .pairs import text_of
from .reasoning_support import ReasoningSupport, asks, index_in, refuses

Json = dict[str, Any]

MAX_TURNS = 4096
MAX_BYTES = 32 * 1024 * 1024
MAX_HOSTS = 1024
MAX_NAME = 256
_OFF = frozenset({"disabled", "none", "off"})
_WITHOUT_IDS = ("ollama", "gemini")


class ReasoningMemory:
    """The turns of all sessions. Bounded in number and in bytes: the least recently used is forgotten."""

    def __init__(self, most_turns: int = MAX_TURNS, most_bytes: int = MAX_BYTES) -> None:
        self._most_turns = most_turns
        self._most_bytes = most_bytes
        self._turns: OrderedDict[bytes, tuple[AnsweredTurn, int]] = OrderedDict()
        """Each with its size."""
        self._hosts: OrderedDict[tuple[str, str], ReasoningSupport] = OrderedDict()
        self._salt = secrets.token_bytes()
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._turns)

    def session(
        self, protocol: str, host: str, account: str, request: Json | None, path: str = ""
    ) -> ReasoningSession:
        """A session for one request of a client and the answer to it."""
        model = request.get("model") if request else None
        if not isinstance(model, str):
            # Gemini has the model in the path: `/v1beta/models/M:streamGenerateContent`.
            model = path.partition("?")[0].rpartition(":")[0]
        if len(model) > MAX_NAME:
            # A `ReasoningSupport` is kept under this name, and the memory must be bounded.
            model = hashlib.sha256(model.encode("utf-8", "surrogatepass")).hexdigest()
        return ReasoningSession(self, protocol, host, account, model, request or {})

    def new_hash(self, *parts: str) -> ConversationHash:
        return ConversationHash(self._salt, *parts)

    def known_support(self, host: str, model: str) -> ReasoningSupport | None:
        """What is known about how a host handles reasoning; None if nothing is."""
        return self._hosts.get((host, model))

    def support(self, host: str, model: str) -> ReasoningSupport:
        """What is known about how a host handles reasoning, to be changed by what it did now."""
        known = self._hosts.setdefault((host, model), ReasoningSupport())
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


class ReasoningSession:
    """One request and its answer: what the request gets back, and what is kept of the answer."""

    __slots__ = (
        "_account",
        "_before_answer",
        "_given",
        "_host",
        "_last_user",
        "_memory",
        "_model",
        "_protocol",
        "_request",
    )

    def __init__(
        self, memory: ReasoningMemory, protocol: str, host: str, account: str, model: str, request: Json
    ) -> None:
        self._memory = memory
        self._protocol = protocol
        self._host = host
        self._account = account
        self._model = model
        self._request = request
        self._before_answer: ConversationHash | None = None
        """The hash of everything before the answer; set by `_turns`."""
        self._given: dict[int, GivenBack] = {}
        self._last_user = -1

    def recall(self, request: Json, work: HistoryWork) -> dict[int, GivenBack]:
        """What the messages of this request get back, by their numbers; nothing if that is too much work."""
        support = self._memory.known_support(self._host, self._model)
        if support is None or support.refuses or _thinking_is_off(request):
            return {}
        messages = conversation_of(self._protocol, request)
        if not _may_have_dropped_reasoning(messages, support) or not work.allows_changes(RECALLING):
            return {}
        for number, message, key in self._turns(messages, everywhere=support.everywhere):
            turn = self._memory.find(key)
            given = lacking(message, turn) if turn else GivenBack()
            unknown = turn is None and support.wanted and support.takes_empty and self._protocol == "chat"
            if unknown and not has_reasoning(message) and (number > self._last_user or message.get("tool_calls")):
                given.fields[support.wanted] = NO_REASONING
            if given:
                self._given[number] = given
        return self._given

    def _turns(self, messages: Conversation, *, everywhere: bool) -> Iterator[tuple[int, Json, bytes]]:
        """The assistant messages with the keys under which they were kept.

        `everywhere`: all of them, not only those since the user's last message.
        """
        last = max((at for at, (_, message) in enumerate(messages) if is_of_user(message)), default=0)
        self._last_user = messages[last][0] if messages and is_of_user(messages[last][1]) else -1
        asked = self._memory.new_hash(self._protocol, self._host, self._account, self._model)
        digest = asked.copy()
        for at, (number, message) in enumerate(messages):
            if not isinstance(message, dict):
                continue
            role = message.get("role")
            if is_of_user(message):
                asked.add(text_of(message.get("content")))
                digest = asked.copy()
            elif at < last and not everywhere:
                continue
            elif role == "assistant":
                ids = calls_of(message)
                text = text_of(message.get("content"))
                yield number, message, digest.with_turn(ids, text)
                digest.add("assistant", *(ids or [text.strip()]))
            else:
                digest.add("results", *results_of(message))
        self._before_answer = digest

    def answered(self, body: bytes, outcomes: Iterable[Outcome]) -> None:
        """Remember a finished answer. `outcomes`: its calls as the client got them."""
        turn = read_answer(self._protocol, body)
        messages = conversation_of(self._protocol, self._request)
        if turn is None or not messages:
            return
        for _ in self._turns(messages, everywhere=False):
            pass
        assert self._before_answer is not None
        support = self._memory.support(self._host, self._model)
        support.signs_calls = support.signs_calls or bool(turn.extras)
        delivered = [outcome for outcome in outcomes if not outcome.dropped]
        if self._protocol == "gemini" and len(delivered) != len(turn.ids):
            # A call was left out or added, so the numbers are those of other calls.
            return
        ids = ["" if self._protocol in _WITHOUT_IDS else upstream_id(outcome.id) for outcome in delivered]
        calls = [known_as(identity, one.name, one.arguments) for identity, one in zip(ids, delivered, strict=True)]
        if self._protocol == "responses":
            # Calls of custom tools have no outcome.
            known = dict(zip(ids, calls, strict=True))
            calls = [known.get(identity) or known_as(identity, None, None) for identity in turn.ids]
        self._memory.keep(self._before_answer.with_turn(calls, turn.text), turn)

    def over(self) -> None:
        """Release the request when nothing more follows, even if this object is still referred to."""
        self._request = {}

    def rejected(self, status: int, body: bytes) -> None:
        """Learn from an error of the host whether it asks for reasoning or refuses it."""
        if status not in (400, 422):
            return
        error = body[:65536].decode("utf-8", "replace")
        if asks(error):
            support = self._memory.support(self._host, self._model)
            if any(NO_REASONING in given.fields.values() for given in self._given.values()):
                support.takes_empty = False
            support.wanted = "reasoning_content" if "reasoning_content" in error else support.wanted
            index = index_in(error)
            if index is not None and index < self._before_user():
                support.everywhere = True
        elif refuses(error, given=bool(self._given)):
            self._memory.support(self._host, self._model).refuses = True

    def _before_user(self) -> int:
        conversation = conversation_of(self._protocol, self._request)
        return max((number for number, message in conversation if is_of_user(message)), default=-1)


def _may_have_dropped_reasoning(messages: Conversation, support: ReasoningSupport) -> bool:
    """Whether the client may have dropped something: a cheap check of every request to a host with reasoning."""
    for _, message in messages:
        if type(message) is dict and message.get("role") == "assistant":
            if message.get("reasoning_content") is None and not has_reasoning(message):
                return True
            if support.signs_calls and message.get("tool_calls"):
                return True
    return False


def _thinking_is_off(request: Json) -> bool:
    thinking = request.get("thinking")
    kind = thinking.get("type") if isinstance(thinking, dict) else thinking
    template = request.get("chat_template_kwargs")
    switches = [
        request.get("enable_thinking"),
        request.get("think"),
        template.get("enable_thinking") if isinstance(template, dict) else None,
    ]
    words = (kind, request.get("reasoning_effort"))
    return False in switches or any(word in _OFF for word in words if isinstance(word, str)) or kind is False
