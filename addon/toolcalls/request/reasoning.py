"""Remembers the reasoning and signatures that a host sent with a turn and wants back in the next request.

A turn is found again by the account, the host and the model, and by its first call, if that has an id that no other
session can have: then the client may summarize what was before. Otherwise also by all words of the user and by the
calls and results from the user's last message up to the turn: `functions.Bash:0` and "Go on." are in every session,
and no session may get the reasoning of another. If two conversations are alike but for the reasoning, neither gets
any. In memory only.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..outcome import Outcome
from .answered import EMPTY_FIELDS, NO_REASONING, AnsweredTurn, read_answer
from .given_back import (
    GivenBack,
    KnownCall,
    known_as,
    known_call,
    lacking,
    results_of,
    upstream_id,
    words_of,
)
from .history import History, Json, Said
from .mend import HISTORIES

MAX_TURNS = 4096
MAX_BYTES = 32 * 1024 * 1024
MAX_HOSTS = 1024
MAX_NAME = 256
_OFF = frozenset({"disabled", "none", "off"})

Hash = Any
"""What `hashlib` makes: salted, of what was said so far, which no other conversation has."""


def add(digest: Hash, *parts: str) -> None:
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(data))
        digest.update(data)


_ASKS = re.compile(
    r"must be passed back|is missing in assistant tool call|Missing `reasoning_content` field"
    r"|reasoning details to be preserved|missing a thought_signature|must start with a thinking block"
    r"|without its required 'reasoning' item"
)
_REFUSES = re.compile(
    r"unsupported|not supported|not permitted|extra_forbidden|display purposes only"
    r"|[Uu]nknown (?:name|field|parameter)|[Uu]nrecognized|Invalid `signature`|cannot be modified"
    r"|not valid|could not be verified|not allowed|[Uu]nexpected|[Cc]orrupted"
)
_NAMES_IT = re.compile(r"reasoning_content|reasoning_details|[.']reasoning\b['`]|thought_signature|extra_content")
"""A field of a message, as opposed to an option of the request such as `reasoning_effort`."""
_NAMES_BLOCK = re.compile(r"`thinking`|[Ss]ignature|encrypted content")
"""Clients cause such errors themselves, so they count only if we gave something back."""
_EMPTY_MESSAGE = "Each message must have at least one content element"
"""xAI's error for a field that it does not accept."""
_INDEX = re.compile(r"\bindex (\d{1,6})")


@dataclass(slots=True)
class ReasoningSupport:
    """What a host does with the reasoning of one model."""

    wanted: str = ""
    """The field that the host asked for."""
    taken: str = ""
    """The field that a request had because of us when the host answered it."""
    everywhere: bool = False
    """The host wants the reasoning of turns before the user's last message too."""
    takes_empty: bool = True
    refuses: bool = False
    signs_calls: bool = False
    """The host sends signatures with its calls."""


def asks(error: str) -> bool:
    """Whether an error asks for reasoning that the host did not get."""
    return _ASKS.search(error) is not None


def refuses(error: str, *, given: bool) -> bool:
    """Whether an error refuses reasoning that the host got. `given`: we gave it something back."""
    if given and (_EMPTY_MESSAGE in error or (_NAMES_BLOCK.search(error) and _REFUSES.search(error))):
        return True
    return bool(_NAMES_IT.search(error) and _REFUSES.search(error))


def index_in(error: str) -> int | None:
    """The number of the message that an error is about, if it names one."""
    found = _INDEX.search(error)
    return int(found[1]) if found else None


class _Turn(NamedTuple):
    """A message of the model, and the key under which its turn was kept."""

    said: Said
    key: bytes


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

    def new_hash(self, *parts: str) -> Hash:
        digest = hashlib.sha256(self._salt)
        add(digest, *parts)
        return digest

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
        known = self.find(key)
        if known is not None and (known.ambiguous or not known.has_reasoning_of(turn)):
            turn = known.without_reasoning()
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


@dataclass(slots=True)
class ReasoningSession:
    """One request and its answer: what the request gets back, and what is kept of the answer."""

    memory: ReasoningMemory
    protocol: str
    host: str
    account: str
    model: str
    request: Json
    given: dict[int, GivenBack] = field(default_factory=dict)

    def recall(self, history: History) -> dict[int, GivenBack]:
        """What the messages of this request get back, by their numbers."""
        support = self.memory.known_support(self.host, self.model)
        if support is None or support.refuses or _thinking_is_off(history.request):
            return {}
        messages = history.said()
        for said in messages:
            said.reasons = history.reasons(said)
        if not any(_may_lack(said, support) for said in messages):
            return {}
        conversation = _Conversation(self, history, messages)
        last_user = conversation.last_user
        unknown: list[int] = []
        split: list[Said] = []
        """The texts directly before a message: a client may have split them from it."""
        for said, key in conversation.turns(everywhere=support.everywhere):
            if split and split[-1].number != said.number - 1:
                split = []
            known = self.memory.find(key)
            if known is not None:
                self._give(said.number, lacking(said, known, history))
                self._complete(known, split, said)
            elif not said.reasons and (said.number > last_user or said.calls):
                unknown.append(said.number)
            split = [] if said.calls or known is not None else [*split, said]
        name = support.wanted or self._field_of_the_turn(last_user) or support.taken
        if any(said.reasons and said.number > last_user for said in messages) and not support.wanted:
            # A client that sends reasoning itself knows which messages have none.
            name = ""
        for number in unknown if self.protocol == "chat" and name else ():
            if support.wanted or number > last_user:
                self._give(number, GivenBack({name: NO_REASONING}))
        if not support.takes_empty:
            self.given = {at: one for at, one in self.given.items() if NO_REASONING not in one.fields.values()}
        return self.given

    def _give(self, number: int, given: GivenBack) -> None:
        if given:
            self.given.setdefault(number, given)

    def _complete(self, known: AnsweredTurn, split: list[Said], calls: Said) -> None:
        """Give the words that a client split from the calls of a known turn what they need."""
        halves = [half for half in split if not half.reasons]
        if not halves or (known.blocks and calls.reasons):
            return
        if known.blocks:
            whole = "".join(words_of(half) for half in (*halves, calls))
            if "".join(whole.split()) == "".join(known.text.split()):
                self._give(halves[0].number, GivenBack(blocks=known.blocks))
        for key in [key for key in EMPTY_FIELDS if key in known.fields][:1]:
            for half in halves:
                words = words_of(half).strip()
                if words and words in known.text:
                    self._give(half.number, GivenBack({key: NO_REASONING}))

    def _field_of_the_turn(self, last_user: int) -> str:
        """The field that messages since the user's last one get back; then every one of them gets it."""
        keys = (key for number, back in self.given.items() if number > last_user for key in back.fields)
        return next((key for key in keys if key in EMPTY_FIELDS), "")

    def answered(self, body: bytes, outcomes: Iterable[Outcome]) -> None:
        """Remember a finished answer. `outcomes`: its calls as the client got them."""
        # The host has answered: it takes what the request got back.
        for key in (key for back in self.given.values() for key in back.fields if key in EMPTY_FIELDS):
            self.memory.support(self.host, self.model).taken = key
        turn = read_answer(self.protocol, body)
        history = self._history()
        messages = history.said() if history is not None and turn is not None else []
        if turn is None or history is None or not messages:
            return
        conversation = _Conversation(self, history, messages)
        for _ in conversation.turns(everywhere=False):
            pass
        support = self.memory.support(self.host, self.model)
        support.signs_calls = support.signs_calls or bool(turn.extras)
        delivered = [outcome for outcome in outcomes if not outcome.dropped]
        if history.by_number and len(delivered) != len(turn.ids):
            # A call was left out or added, so the numbers are those of other calls.
            return
        ids = [upstream_id(outcome.id) if history.has_ids else "" for outcome in delivered]
        calls = [known_as(identity, one.name, one.arguments) for identity, one in zip(ids, delivered, strict=True)]
        if self.protocol == "responses":
            # Calls of custom tools have no outcome.
            known = dict(zip(ids, calls, strict=True))
            calls = [known.get(identity) or known_as(identity, None, None) for identity in turn.ids]
        turn.ids = ids
        self.memory.keep(conversation.key(calls, turn.text), turn)

    def over(self) -> None:
        """Release the request when nothing more follows, even if this object is still referred to."""
        self.request = {}

    def rejected(self, status: int, body: bytes) -> None:
        """Learn from an error of the host whether it asks for reasoning or refuses it."""
        if status not in (400, 422):
            return
        error = body[:65536].decode("utf-8", "replace")
        if asks(error):
            support = self.memory.support(self.host, self.model)
            index = index_in(error)
            empty = [number for number, given in self.given.items() if NO_REASONING in given.fields.values()]
            if empty and (index is None or index in empty):
                support.takes_empty = False
            support.wanted = "reasoning_content" if "reasoning_content" in error else support.wanted
            history = self._history()
            if index is not None and history is not None and index < _last_user(history.said()):
                support.everywhere = True
        elif refuses(error, given=bool(self.given)):
            self.memory.support(self.host, self.model).refuses = True

    def _history(self) -> History | None:
        form = HISTORIES.get(self.protocol)
        return form(self.request) if form is not None else None


class _Conversation:
    """The keys of the turns in a history."""

    def __init__(self, session: ReasoningSession, history: History, messages: list[Said]) -> None:
        self._history = history
        self._messages = messages
        self._anywhere = session.memory.new_hash(session.protocol, session.host, session.account, session.model)
        self._so_far = self._anywhere
        self.last_user = _last_user(messages)

    def turns(self, *, everywhere: bool) -> Iterator[_Turn]:
        """The messages of the model with the keys under which they were kept.

        `everywhere`: all of them, not only those since the user's last message.
        """
        asked = self._anywhere.copy()
        self._so_far = asked.copy()
        for said in self._messages:
            if said.role == "user":
                add(asked, words_of(said))
                self._so_far = asked.copy()
            elif said.number < self.last_user and not everywhere:
                continue
            elif said.role == "model":
                calls = [known_call(call, self._history) for call in said.calls]
                yield _Turn(said, self.key(calls, words_of(said)))
                if calls:
                    # Not the text: a client may split it from the calls.
                    add(self._so_far, "assistant", *(call.key for call in calls))
            else:
                add(self._so_far, "results", *results_of(said, self._history))

    def key(self, calls: list[KnownCall], words: str) -> bytes:
        """The key of the next turn: by its first call, because clients split turns, or by its text if it has none."""
        digest = (self._anywhere if calls and calls[0].unique else self._so_far).copy()
        content = ["calls", calls[0].key] if calls else ["text", words.strip()]
        digest.update("\0".join(content).encode("utf-8", "surrogatepass"))
        found: bytes = digest.digest()
        return found


def _last_user(messages: list[Said]) -> int:
    return max((said.number for said in messages if said.role == "user"), default=-1)


def _may_lack(said: Said, support: ReasoningSupport) -> bool:
    """Whether the client may have dropped something: a cheap check of every request to a host with reasoning."""
    return said.role == "model" and (not said.reasons or (support.signs_calls and bool(said.calls)))


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
