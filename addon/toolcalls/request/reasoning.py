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
from typing import Any

from ..outcome import Outcome
from ..payload import canonical, object_in
from .answered import EMPTY_FIELDS, NO_REASONING, AnsweredTurn, GivenBack, read_answer
from .history import History, Json, Said
from .mend import HISTORIES
from .refusals import Bounded

MAX_TURNS = 4096
MAX_BYTES = 32 * 1024 * 1024
MAX_HOSTS = 1024
MAX_NAME = 256
_OFF = frozenset({"disabled", "none", "off"})
_UNIQUE = re.compile(r"(?=[a-z]{0,7}[0-9])(?=[0-9]{0,7}[a-z])[a-z0-9]{8}|[0-9]{12}", re.IGNORECASE)
"""Random letters and digits, or a time."""

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
        self.turns: Bounded[bytes, AnsweredTurn] = Bounded(most_turns, most_bytes)
        self.hosts: Bounded[tuple[str, str], ReasoningSupport] = Bounded(MAX_HOSTS)
        """What is known about how a host handles reasoning, by its name and the model."""
        self.salt = secrets.token_bytes()

    def session(
        self, protocol: str, host: str, account: str, request: Json | None, path: str = ""
    ) -> ReasoningSession:
        """A session for one request of a client and the answer to it."""
        model = request.get("model") if request else None
        if not isinstance(model, str):
            # Gemini has the model in the path: `/v1beta/models/M:streamGenerateContent`.
            model = path.partition("?")[0].rpartition(":")[0]
        return ReasoningSession(self, protocol, host, account, model[:MAX_NAME], request or {})

    def keep(self, key: bytes, turn: AnsweredTurn) -> None:
        known = self.turns.get(key)
        if known is not None and known.back != turn.back:
            # It may be that of another conversation: only the fields that one of them had are known.
            fields = {name: NO_REASONING for name in EMPTY_FIELDS if name in known.back.fields | turn.back.fields}
            turn = AnsweredTurn(turn.ids, turn.text, GivenBack(fields))
        if turn.size <= self._most_bytes // 8:
            self.turns.put(key, turn, turn.size)


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
        support = self.memory.hosts.get((self.host, self.model))
        if support is None or support.refuses or _thinking_is_off(history.request):
            return {}
        of_model = [said for said in history.conversation if said.role == "model"]
        if all(history.is_whole(said) and not (support.signs_calls and said.calls) for said in of_model):
            return {}
        conversation = _Conversation(self, history, everywhere=support.everywhere)
        unknown: list[int] = []
        split: list[Said] = []
        """The texts directly before a message: a client may have split them from it."""
        for said, key in conversation.turns:
            if split and split[-1].number != said.number - 1:
                split = []
            turn = self.memory.turns.get(key)
            if turn is not None and turn.back:
                self._give_back(turn, said, split, history)
                split = []
                continue
            if not history.is_whole(said) and (said.number > conversation.last_user or said.calls):
                unknown.append(said.number)
            split = [] if said.calls else [*split, said]
        if self.protocol == "chat":
            # A client that sends reasoning itself knows which messages have none.
            after = (said for said, _ in conversation.turns if said.number > conversation.last_user)
            self._fill(unknown, conversation.last_user, support, sends_itself=any(map(history.is_whole, after)))
        for number, given in [] if support.takes_empty else [*self.given_back.items()]:
            if NO_REASONING in given.fields.values():
                del self.given_back[number]
        return self.given_back

    def _give_back(self, turn: AnsweredTurn, said: Said, split: list[Said], history: History) -> None:
        """Give back what the client dropped of a turn; nothing for parts that it sent itself.

        `split`: words before it; those that are words of the turn get what they need.
        """
        given, back = GivenBack(), turn.back
        halves = [half for half in split if not history.is_whole(half)]
        calls = [call for call in said.calls if call.entry is not call.home]
        for number, call in enumerate(said.calls):
            identity = str(number) if history.by_number else history.host_id(call.id)
            if identity in back.extras and not history.is_signed(call):
                given.extras[str(number)] = back.extras[identity]
        if not history.is_whole(said):
            given.fields = back.fields
            for parts in ([said], [*halves, said]):
                # Hosts reject signed thinking if the other blocks are not the same.
                words = "".join("".join(part.words for part in parts).split())
                if back.blocks and words == "".join(turn.text.split()) and len(calls) in (0, len(turn.ids)):
                    self.given_back[parts[0].number] = GivenBack(blocks=back.blocks)
                    return
        if given:
            self.given_back[said.number] = given
        for key in (key for key in back.fields if key in EMPTY_FIELDS):
            for half in halves:
                if (words := half.words.strip()) and words in turn.text:
                    self.given_back[half.number] = GivenBack({key: NO_REASONING})

    def _fill(self, unknown: list[int], last_user: int, support: ReasoningSupport, *, sends_itself: bool) -> None:
        """Give unknown turns the empty text, if the host asked for it or if others of the same turn get theirs."""
        new = (key for number, one in self.given_back.items() if number > last_user for key in one.fields)
        taken = next((key for key in new if key in EMPTY_FIELDS), support.taken)
        name = support.wanted or ("" if sends_itself else taken)
        for number in unknown if name else ():
            if support.wanted or number > last_user:
                self.given_back.setdefault(number, GivenBack({name: NO_REASONING}))

    def answered(self, body: bytes, outcomes: Iterable[Outcome]) -> None:
        """Remember a finished answer. `outcomes`: its calls as the client got them."""
        # The host has answered: it takes what the request got back.
        for key in (key for back in self.given_back.values() for key in back.fields if key in EMPTY_FIELDS):
            self._support().taken = key
        turn = read_answer(self.protocol, body)
        delivered = [outcome for outcome in outcomes if not outcome.dropped]
        if turn is None and delivered and self.memory.hosts.get((self.host, self.model)) is not None:
            # A conversation that looks the same must not get the reasoning of another one for this turn.
            turn = AnsweredTurn()
        history = self._history()
        if turn is None or history is None or not history.conversation:
            return
        self._support().signs_calls |= bool(turn.back.extras)
        if history.by_number and turn.back and len(delivered) != len(turn.ids):
            # A call was left out or added, so the numbers are those of other calls.
            return
        ids = [history.host_id(outcome.id) for outcome in delivered]
        calls = [known_as(identity, one.name, one.arguments) for identity, one in zip(ids, delivered, strict=True)]
        if self.protocol == "responses" and turn.back:
            # Calls of custom tools have no outcome.
            known = dict(zip(ids, calls, strict=True))
            calls = [known.get(identity) or known_as(identity, None, None) for identity in turn.ids]
        turn.ids = ids
        self.memory.keep(_Conversation(self, history).key(calls, turn.text), turn)

    def over(self) -> None:
        """Release the request when nothing more follows, even if this object is still referred to."""
        self.request = {}

    def rejected(self, status: int, body: bytes) -> None:
        """Learn from an error of the host whether it asks for reasoning or refuses it."""
        if status not in (400, 422):
            return
        error = body[:65536].decode("utf-8", "replace")
        if _ASKS.search(error):
            support = self._support()
            found = _INDEX.search(error)
            index = int(found[1]) if found else None
            empty = [number for number, given in self.given_back.items() if NO_REASONING in given.fields.values()]
            if empty and (index is None or index in empty):
                support.takes_empty = False
            support.wanted = "reasoning_content" if "reasoning_content" in error else support.wanted
            history = self._history()
            if index is not None and history is not None and index < _last_user(history):
                support.everywhere = True
        elif (_NAMES_IT.search(error) and _REFUSES.search(error)) or (
            self.given_back and (_EMPTY_MESSAGE in error or (_NAMES_BLOCK.search(error) and _REFUSES.search(error)))
        ):
            self._support().refuses = True

    def _support(self) -> ReasoningSupport:
        """What is known of the host, to be changed by what it did now."""
        where = self.host, self.model
        known = self.memory.hosts.get(where) or ReasoningSupport()
        self.memory.hosts.put(where, known)
        return known

    def _history(self) -> History | None:
        form = HISTORIES.get(self.protocol)
        return form(self.request) if form is not None else None


class _Conversation:
    """The messages of the model in a history, with the keys under which their turns were kept."""

    def __init__(self, session: ReasoningSession, history: History, *, everywhere: bool = False) -> None:
        """`everywhere`: all of them, not only those since the user's last message."""
        self._anywhere: Hash = hashlib.sha256(session.memory.salt)
        add(self._anywhere, session.protocol, session.host, session.account, session.model)
        self._so_far = self._anywhere.copy()
        self.last_user = _last_user(history)
        self.turns: list[tuple[Said, bytes]] = []
        asked = self._anywhere.copy()
        for said in history.conversation:
            if said.role == "user":
                add(asked, said.words)
                self._so_far = asked.copy()
            elif said.number < self.last_user and not everywhere:
                continue
            elif said.role == "model":
                calls = [known_as(history.host_id(call.id), call.name, call.arguments) for call in said.calls]
                self.turns.append((said, self.key(calls, said.words)))
                if calls:
                    # Not the text: a client may split it from the calls.
                    add(self._so_far, "assistant", *(key for key, _ in calls))
            else:
                add(self._so_far, "results", *(result.words for result in said.results))

    def key(self, calls: list[KnownCall], words: str) -> bytes:
        """The key of the next turn: by its first call, because clients split turns, or by its text if it has none."""
        found: Hash = (self._anywhere if calls and calls[0][1] else self._so_far).copy()
        content = ["calls", calls[0][0]] if calls else ["text", words.strip()]
        found.update("\0".join(content).encode("utf-8", "surrogatepass"))
        return bytes(found.digest())


KnownCall = tuple[str, bool]
"""What tells a call from others, and whether it does so in all sessions."""


def known_as(identity: str, name: object, arguments: object) -> KnownCall:
    """An id that no other session can have is enough. `functions.Bash:0` and `call_1` are in each of them.

    Arguments count as values, in whatever form a client sends them back.
    """
    if _UNIQUE.search(identity.replace(name, "") if isinstance(name, str) and name else identity):
        return identity, True
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    with suppress(RecursionError):
        written = canonical(object_in(written) or {})
    return f"{identity}\0{json.dumps(name)}{written}", False


def add(digest: Hash, *parts: str) -> None:
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(data))
        digest.update(data)


def _last_user(history: History) -> int:
    return max((said.number for said in history.messages if said.role == "user"), default=-1)


def _thinking_is_off(request: Json) -> bool:
    thinking, template = request.get("thinking"), request.get("chat_template_kwargs")
    switches = [
        thinking.get("type") if isinstance(thinking, dict) else thinking,
        template.get("enable_thinking") if isinstance(template, dict) else None,
        *(request.get(key) for key in ("enable_thinking", "think", "reasoning_effort")),
    ]
    return any(switch is False or (isinstance(switch, str) and switch in _OFF) for switch in switches)
