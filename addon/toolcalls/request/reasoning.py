"""Remembers the reasoning and signatures that a host sent with a turn and wants back in the next request.

A turn is found again by the account, the host and the model, and by its first call, if that has an id that no other
session can have: then the client may summarize what was before. Otherwise also by all words of the user and by the
calls and results from the user's last message up to the turn: `functions.Bash:0` and "Go on." are in every session,
and no session may get the reasoning of another. If two conversations are alike but for the reasoning, neither gets
any. In memory only.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..ids import restore
from ..outcome import Outcome
from .answered import EMPTY_FIELDS, NO_REASONING, AnsweredTurn, GivenBack, read_answer
from .history import History, Json, PastCall, Said, text_of
from .mend import HISTORIES
from .refusals import Bounded

MAX_TURNS = 4096
MAX_BYTES = 32 * 1024 * 1024
MAX_HOSTS = 1024
MAX_NAME = 256
_LONGEST_ID = 256
_OFF = frozenset({"disabled", "none", "off"})
_UNIQUE = re.compile(r"(?=[a-z]{0,7}[0-9])(?=[0-9]{0,7}[a-z])[a-z0-9]{8}|[0-9]{12}", re.IGNORECASE)
"""Random letters and digits, or a time."""

Key = bytes
Hash = Any
"""What `hashlib` makes: salted, of what was said so far, which no other conversation has."""

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


class ReasoningMemory:
    """The turns of all sessions. Bounded in number and in bytes: the least recently used is forgotten."""

    def __init__(self, most_turns: int = MAX_TURNS, most_bytes: int = MAX_BYTES) -> None:
        self._most_bytes = most_bytes
        self._turns: Bounded[Key, AnsweredTurn] = Bounded(most_turns, most_bytes)
        self._hosts: Bounded[tuple[str, str], ReasoningSupport] = Bounded(MAX_HOSTS)
        self._salt = secrets.token_bytes()

    def __len__(self) -> int:
        return len(self._turns)

    @property
    def bytes(self) -> int:
        return self._turns.size

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
        known = self._hosts.get((host, model)) or ReasoningSupport()
        self._hosts.put((host, model), known)
        return known

    def keep(self, key: Key, turn: AnsweredTurn) -> None:
        known = self.find(key)
        if known is not None and (known.ambiguous or known.back != turn.back):
            turn = (turn if known.unknown else known).without_reasoning()
        if turn.size <= self._most_bytes // 8:
            self._turns.put(key, turn, turn.size)

    def find(self, key: Key) -> AnsweredTurn | None:
        return self._turns.get(key)


@dataclass(slots=True)
class ReasoningSession:
    """One request and its answer: what the request gets back, and what is kept of the answer."""

    memory: ReasoningMemory
    protocol: str
    host: str
    account: str
    model: str
    request: Json
    given_back: dict[int, GivenBack] = field(default_factory=dict)

    def recall(self, history: History) -> dict[int, GivenBack]:
        """What the messages of this request get back, by their numbers."""
        support = self.memory.known_support(self.host, self.model)
        if support is None or support.refuses or _thinking_is_off(history.request):
            return {}
        messages = history.said()
        for said in messages:
            said.is_whole = said.role == "model" and history.is_whole(said)
        if not any(_may_lack(said, support) for said in messages):
            return {}
        conversation = _Conversation(self, history, messages, everywhere=support.everywhere)
        last_user = conversation.last_user
        unknown: list[int] = []
        split: list[Said] = []
        """The texts directly before a message: a client may have split them from it."""
        for said, key in conversation.turns:
            if split and split[-1].number != said.number - 1:
                split = []
            known = self.memory.find(key)
            if known is not None and not known.unknown:
                self._give(said.number, _lacking(said, known, history))
                self._complete(known, split, said)
            elif not said.is_whole and (said.number > last_user or said.calls):
                unknown.append(said.number)
            split = [] if said.calls or (known is not None and not known.unknown) else [*split, said]
        name = support.wanted or self._field_of_the_turn(last_user) or support.taken
        if any(said.is_whole and said.number > last_user for said in messages) and not support.wanted:
            # A client that sends reasoning itself knows which messages have none.
            name = ""
        for number in unknown if self.protocol == "chat" and name else ():
            if support.wanted or number > last_user:
                self._give(number, GivenBack({name: NO_REASONING}))
        if not support.takes_empty:
            self.given_back = {
                at: one for at, one in self.given_back.items() if NO_REASONING not in one.fields.values()
            }
        return self.given_back

    def _give(self, number: int, given: GivenBack) -> None:
        if given:
            self.given_back.setdefault(number, given)

    def _complete(self, known: AnsweredTurn, split: list[Said], calls: Said) -> None:
        """Give the words that a client split from the calls of a known turn what they need."""
        halves = [half for half in split if not half.is_whole]
        if not halves or (known.back.blocks and calls.is_whole):
            return
        if known.back.blocks:
            whole = "".join(words_of(half) for half in (*halves, calls))
            if "".join(whole.split()) == "".join(known.text.split()):
                self._give(halves[0].number, GivenBack(blocks=known.back.blocks))
        for key in [key for key in EMPTY_FIELDS if key in known.back.fields][:1]:
            for half in halves:
                words = words_of(half).strip()
                if words and words in known.text:
                    self._give(half.number, GivenBack({key: NO_REASONING}))

    def _field_of_the_turn(self, last_user: int) -> str:
        """The field that messages since the user's last one get back; then every one of them gets it."""
        keys = (key for number, back in self.given_back.items() if number > last_user for key in back.fields)
        return next((key for key in keys if key in EMPTY_FIELDS), "")

    def answered(self, body: bytes, outcomes: Iterable[Outcome]) -> None:
        """Remember a finished answer. `outcomes`: its calls as the client got them."""
        # The host has answered: it takes what the request got back.
        for key in (key for back in self.given_back.values() for key in back.fields if key in EMPTY_FIELDS):
            self.memory.support(self.host, self.model).taken = key
        turn = read_answer(self.protocol, body)
        if turn is None and self.memory.known_support(self.host, self.model) is not None:
            # A conversation that looks the same must not get the reasoning of another one for this turn.
            turn = AnsweredTurn(unknown=True)
        history = self._history()
        messages = history.said() if history is not None and turn is not None else []
        if turn is None or history is None or not messages:
            return
        conversation = _Conversation(self, history, messages)
        support = self.memory.support(self.host, self.model)
        support.signs_calls = support.signs_calls or bool(turn.back.extras)
        delivered = [outcome for outcome in outcomes if not outcome.dropped]
        if turn.unknown and not delivered:
            return
        if history.by_number and not turn.unknown and len(delivered) != len(turn.ids):
            # A call was left out or added, so the numbers are those of other calls.
            return
        ids = [upstream_id(outcome.id) if history.has_ids else "" for outcome in delivered]
        calls = [known_as(identity, one.name, one.arguments) for identity, one in zip(ids, delivered, strict=True)]
        if self.protocol == "responses" and not turn.unknown:
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
        if _ASKS.search(error):
            support = self.memory.support(self.host, self.model)
            found = _INDEX.search(error)
            index = int(found[1]) if found else None
            empty = [number for number, given in self.given_back.items() if NO_REASONING in given.fields.values()]
            if empty and (index is None or index in empty):
                support.takes_empty = False
            support.wanted = "reasoning_content" if "reasoning_content" in error else support.wanted
            history = self._history()
            if index is not None and history is not None and index < _last_user(history.said()):
                support.everywhere = True
        elif (_NAMES_IT.search(error) and _REFUSES.search(error)) or (
            self.given_back and (_EMPTY_MESSAGE in error or (_NAMES_BLOCK.search(error) and _REFUSES.search(error)))
        ):
            self.memory.support(self.host, self.model).refuses = True

    def _history(self) -> History | None:
        form = HISTORIES.get(self.protocol)
        return form(self.request) if form is not None else None


class _Conversation:
    """The messages of the model in a history, with the keys under which their turns were kept."""

    def __init__(
        self, session: ReasoningSession, history: History, messages: list[Said], *, everywhere: bool = False
    ) -> None:
        """`everywhere`: all of them, not only those since the user's last message."""
        self._anywhere = session.memory.new_hash(session.protocol, session.host, session.account, session.model)
        self._so_far = self._anywhere.copy()
        self.last_user = _last_user(messages)
        self.turns: list[tuple[Said, Key]] = []
        asked = self._anywhere.copy()
        for said in messages:
            if said.role == "user":
                add(asked, words_of(said))
                self._so_far = asked.copy()
            elif said.number < self.last_user and not everywhere:
                continue
            elif said.role == "model":
                calls = [_known_call(call, history) for call in said.calls]
                self.turns.append((said, self.key(calls, words_of(said))))
                if calls:
                    # Not the text: a client may split it from the calls.
                    add(self._so_far, "assistant", *(call.key for call in calls))
            else:
                add(self._so_far, "results", *_results_of(said, history))

    def key(self, calls: list[KnownCall], words: str) -> Key:
        """The key of the next turn: by its first call, because clients split turns, or by its text if it has none."""
        digest = (self._anywhere if calls and calls[0].unique else self._so_far).copy()
        content = ["calls", calls[0].key] if calls else ["text", words.strip()]
        digest.update("\0".join(content).encode("utf-8", "surrogatepass"))
        found: Key = digest.digest()
        return found


class KnownCall(NamedTuple):
    """A call of a history. `key`: its id, its tool and its arguments."""

    key: str
    unique: bool
    """No other session can have this id; ids such as `functions.Bash:0` and `call_1` are in each of them."""


def known_as(identity: str, name: object, arguments: object) -> KnownCall:
    start = identity[:_LONGEST_ID]
    rest = start.replace(name, "") if isinstance(name, str) and name else start
    return KnownCall(f"{identity}\0{identity_of(name, arguments)}", _UNIQUE.search(rest) is not None)


def _known_call(call: PastCall, history: History) -> KnownCall:
    """A call with the id that the host gave. The free text of a custom tool is not examined."""
    identity = upstream_id(call.id) if history.has_ids else ""
    return known_as(identity, call.name, call.arguments) if call.key else known_as(identity, None, None)


def _results_of(said: Said, history: History) -> list[str]:
    """The results in a message, each with what tells its call."""
    if history.by_number:
        return [identity_of(one.body.get("name"), one.body.get("response")) for one in said.results]
    ids = [upstream_id(one.id) if history.has_ids else str(one.body.get("tool_name")) for one in said.results]
    return [f"{identity}\0{one.words}" for identity, one in zip(ids, said.results, strict=True) if identity]


def words_of(said: Said) -> str:
    return text_of(said.content)


def upstream_id(identity: str) -> str:
    """The id that the host gave to a call, whether or not the client knows it as an id of ours."""
    return restore(identity) or identity


def identity_of(name: object, arguments: object) -> str:
    """A key for a call within its turn: the tool and its arguments, in whatever form a client sends them back."""
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    with suppress(ValueError, RecursionError):
        arguments = json.loads(written, parse_float=_number)
    return json.dumps([name, arguments or {}], sort_keys=True)


def _number(written: str) -> float:
    """An integer for a whole float, because JavaScript writes 1.0 as 1."""
    number = float(written)
    return int(number) if number.is_integer() else number


def _lacking(said: Said, turn: AnsweredTurn, history: History) -> GivenBack:
    """What the client dropped of a turn; nothing for parts that it sent itself."""
    given, back = GivenBack(), turn.back
    if back.blocks and isinstance(said.content, list) and not said.is_whole:
        # Hosts reject signed thinking if the other blocks are not the same.
        uses = sum(isinstance(block, dict) and block.get("type") == "tool_use" for block in said.content)
        if words_of(said).strip() == turn.text.strip() and uses in (0, len(turn.ids)):
            given.blocks = back.blocks
    elif back.fields and not said.is_whole:
        given.fields = dict([*back.fields.items()][:1])
    for number, call in enumerate(said.calls):
        identity = str(number) if history.by_number else upstream_id(call.id)
        if identity in back.extras and not history.is_signed(call):
            given.extras[str(number)] = back.extras[identity]
    return given


def add(digest: Hash, *parts: str) -> None:
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(data))
        digest.update(data)


def _last_user(messages: list[Said]) -> int:
    return max((said.number for said in messages if said.role == "user"), default=-1)


def _may_lack(said: Said, support: ReasoningSupport) -> bool:
    """Whether the client may have dropped something: a cheap check of every request to a host with reasoning."""
    return said.role == "model" and (not said.is_whole or (support.signs_calls and bool(said.calls)))


def _thinking_is_off(request: Json) -> bool:
    thinking, template = request.get("thinking"), request.get("chat_template_kwargs")
    switches = [
        thinking.get("type") if isinstance(thinking, dict) else thinking,
        template.get("enable_thinking") if isinstance(template, dict) else None,
        *(request.get(key) for key in ("enable_thinking", "think", "reasoning_effort")),
    ]
    return any(switch is False or (isinstance(switch, str) and switch in _OFF) for switch in switches)
