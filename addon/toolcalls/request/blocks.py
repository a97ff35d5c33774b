"""Histories whose calls and results are blocks of messages: those of Messages and Gemini requests.

Consecutive messages of one role are one turn, and the user's next turn begins with the results of the calls. Nothing
in a message of the model is moved, because the blocks around thinking must stay unchanged.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterator, Set
from functools import partial
from itertools import count
from typing import Any

from ..ids import MESSAGES_ID
from ..mend.strict import read
from .answered import SIGNATURE, GivenBack, has_reasoning
from .change import Change
from .history import CANCELLED, Json, MessageHistory, PastCall, PastResult, Said, Turn, objects_in, remove, text
from .pairs import SERVER_CALLS, Placed, arrange, batches_of, drop_copies, instead_of, kept_as_text


class BlockHistory(MessageHistory):
    turn_is_message = False

    @abstractmethod
    def call_in(self, block: Json, owner: list[Json]) -> PastCall | None:
        """The call in a block."""

    @abstractmethod
    def result_in(self, block: Json) -> PastResult | None:
        """The result in a block; its id is empty if the client does not have to send it."""

    @abstractmethod
    def is_plain(self, message: Json) -> bool:
        """Whether this is a message as the host expects it, though it may be of another role, or without blocks."""

    @abstractmethod
    def of_user(self, words: str) -> Json:
        """A block with words of the user."""

    def read_message(self, number: int, message: Json) -> Said:
        role, blocks = message.get("role"), message.get(self.inside)
        by_model = role == self.model
        calls: list[PastCall] = []
        results: list[PastResult] = []
        said = Said(number, "model" if by_model else "user", blocks, calls, results, speaks=not blocks)
        if type(blocks) is not list:
            said.speaks, blocks = True, []
            self.plain = self.plain and self.is_plain(message)
        elif not by_model and role != "user":
            self.plain = self.plain and self.is_plain(message)
        for block in blocks:
            if type(block) is not dict:
                self.plain = False
            elif by_model and (call := self.call_in(block, blocks)) is not None:
                calls.append(call)
            elif not by_model and (result := self.result_in(block)) is not None:
                result.displaced = said.speaks
                results.append(result)
            else:
                said.speaks = True
                self.empty = self.empty or block.get("text") == ""
        if results or not (by_model or self.by_number or role == "user"):
            said.role = "results"
        return said

    def drop_copies(self, change: Change) -> None:
        drop_copies(self, change)

    def arrange(self, change: Change) -> None:
        self.drop_copies(change)
        arrange(self, change, partial(batches_of, self))

    def parts(self) -> list[Json]:
        """The messages of the model, and the blocks of all others."""
        self._homes: dict[int, Json] = {}
        """The message that each part is in, or is."""
        parts: list[Json] = []
        for message in self.entries:
            blocks = message.get(self.inside) if message.get("role") != self.model else None
            inside = blocks if blocks and isinstance(blocks, list) else [message]
            self._homes.update((id(one), message) for one in inside)
            parts += inside
        return parts

    def put(self, parts: list[Json], added: Set[int]) -> None:
        """Put the blocks into messages again, an added result into that of the result before it or a new one."""
        self.entries.clear()
        last: Json | None = None
        """The message that the block before is in."""
        for part in parts:
            home = last if id(part) in added else self._homes[id(part)]
            if home is part:
                self.entries.append(part)
                last = None
                continue
            if home is None or home is not last:
                last = {"role": "user"} if home is None else home
                last[self.inside] = []
                self.entries.append(last)
            last[self.inside].append(part)

    def fill(self, order: list[Json], gone: list[Placed | None], following: Json, change: Change) -> None:
        """Words take the place of a result, or form a message at the end of the turn if results stay in it."""
        ends = not following or following.get("role") == self.model
        lost = [one for one in gone if one is not None and kept_as_text([one])]
        if self.result_in(following) is not None or not (ends or all(one is None or one.alone for one in gone)):
            return
        if lost and lost[0].alone:
            for one in lost:
                block = self.of_user(kept_as_text([one]))
                self._homes[id(block)] = self._homes[id(one.result.entry)]
                order.append(block)
        elif lost or (ends and (not order or order[-1].get("role") == self.model)):
            message = {"role": "user", self.inside: [self.of_user(instead_of(gone))]}
            self._homes[id(message)] = message
            order.append(message)
        gone.clear()


class MessagesHistory(BlockHistory):
    """`tool_use` blocks, and the `tool_result` blocks with which the next turn begins.

    The ids of calls are unique: a call that has the id of an earlier one gets another, and so does its result.
    Moved results get a message of their own if text would follow them: MiniMax rejects text behind a result in the
    same message, and accepts it in the next one.
    """

    result_id = "tool_use_id"
    gives_ids = True
    writes_arguments = False

    def has_oddities(self) -> bool:
        ids = [call.id for turn in self.turns for call in turn.calls]
        return len(set(ids)) < len(ids) or any(one.displaced for turn in self.turns for one in turn.results)

    def is_plain(self, message: Json) -> bool:
        return message.get("role") in ("user", "assistant") and isinstance(message.get("content"), str | list)

    def reasons(self, said: Said) -> bool:
        return has_reasoning(self.entries[said.number])

    def give_back(self, said: Said, back: GivenBack, change: Change) -> None:
        change.count("reasoning given back")
        own = said.content if isinstance(said.content, list) else [self.of_user(said.content)]
        self.entries[said.number]["content"] = [*map(read, back.blocks), *own]

    def call_in(self, block: Json, owner: list[Json]) -> PastCall | None:
        if block.get("type") == "tool_use":
            return PastCall(text(block.get("id")), block, block, "input", owner)
        return None

    def result_in(self, block: Json) -> PastResult | None:
        if block.get("type") != "tool_result":
            return None
        identity = text(block.get("tool_use_id"))
        return PastResult("" if identity.startswith(SERVER_CALLS) else identity, block, block)

    def can_stand_alone(self, block: Any) -> bool:
        """Whether a message may consist of this block alone. Thinking alone is no message."""
        if not isinstance(block, dict):
            return False
        if block.get("type") == "text":
            return bool(block.get("text"))
        return block.get("type") not in (None, "thinking", "redacted_thinking")

    def cancelled(self, key: str, call: PastCall) -> Json:
        return {"type": "tool_result", "tool_use_id": key, "content": CANCELLED, "is_error": True}

    def of_user(self, words: str) -> Json:
        return {"type": "text", "text": words}

    def drop_empty(self, change: Change) -> None:
        for message in self.entries if self.empty else ():
            blocks = message.get("content") if isinstance(message, dict) else None
            # If a whole text was a call, the client still keeps its empty block.
            if isinstance(blocks, list) and any(map(self.can_stand_alone, blocks)):
                empty = [one for one in objects_in(blocks) if one.get("type") == "text" and one.get("text") == ""]
                change.count("empty text", len(empty))
                remove(blocks, empty)

    def drop_copies(self, change: Change) -> None:
        # An id that toolfix restored, or with characters that Anthropic rejects, is of a host that repeats ids and
        # gets its own back.
        called = Counter(call.id for turn in self.turns for call in turn.calls)
        repeated = {one for one, times in called.items() if times > 1 and MESSAGES_ID.fullmatch(one)}
        repeated -= change.ids_given_back()
        super().drop_copies(change)
        if repeated:
            self._give_own_ids(repeated, set(called), change)

    def _give_own_ids(self, repeated: set[str], used: set[str], change: Change) -> None:
        """Give every call but the first with a repeated id an id of its own, and the same to its result.

        `used`: the ids of all calls.
        """
        change.begin()
        seen: set[str] = set()
        numbers: dict[str, Iterator[int]] = defaultdict(lambda: count(2))

        def another(identity: str) -> str:
            chosen = next(one for number in numbers[identity] if (one := f"{identity}_{number}") not in used)
            used.add(chosen)
            return chosen

        for turn in self.turns:
            now: dict[str, list[str]] = defaultdict(list)
            """The ids that the calls of the turn have now, by the id that they had."""
            for call in turn.calls:
                if (old := call.id) in repeated:
                    if old in seen and change.touches(call.name):
                        change.count("repeated id")
                        self.set_id(call, another(old))
                    seen.add(old)
                    now[old].append(call.id)
            for result in turn.results:
                if (old := result.id) in repeated:
                    ids = now[old]
                    # A result elsewhere may be that of any of these calls, so it becomes one of no call.
                    result.id = result.body["tool_use_id"] = ids[0] if ids else another(old)
                    del ids[: len(ids) > 1]


_CALL = ("functionCall", "function_call")
_RESULT = ("functionResponse", "function_response")


class GeminiHistory(BlockHistory):
    """A turn with `functionCall` parts is followed by as many `functionResponse` parts.

    Google counts them and rejects a history if the numbers differ. If they are equal, nothing is changed. Most calls
    have no ids; then a result of the next turn answers the call with its tool's name, and a turn with two calls of
    one tool stays unchanged.
    """

    list_key = "contents"
    result_id = "id"
    content = "response"
    inside = "parts"
    model = "model"
    writes_arguments = False
    has_ids = False
    ids_span_turns = False
    by_number = True

    def is_plain(self, message: Json) -> bool:
        return isinstance(message.get("parts"), list)

    def read_message(self, number: int, message: Json) -> Said:
        said = super().read_message(number, message)
        if isinstance(said.content, list):
            said.content = [part for part in said.content if not (isinstance(part, dict) and part.get("thought"))]
        return said

    def reasons(self, said: Said) -> bool:
        return not said.calls or self.is_signed(said.calls[0])

    def is_signed(self, call: PastCall) -> bool:
        return any(call.entry.get(key) for key in (SIGNATURE, "thought_signature"))

    def give_back(self, said: Said, back: GivenBack, change: Change) -> None:
        for number, signature in back.extras.items():
            change.count("signature given back")
            said.calls[int(number)].entry[SIGNATURE] = read(signature)

    def call_in(self, block: Json, owner: list[Json]) -> PastCall | None:
        call = _entry_in(block, _CALL)
        if call is None:
            return None
        return PastCall(text(call.get("id")), block, call, "args" if call.get("args") is not None else "", owner)

    def set_id(self, call: PastCall, identity: str) -> None:
        call.id = call.body["id"] = identity

    def result_in(self, block: Json) -> PastResult | None:
        result = _entry_in(block, _RESULT)
        return None if result is None else PastResult(text(result.get("id")), block, result)

    def is_paired(self, turn: Turn) -> bool:
        """Google only counts them."""
        return len(turn.calls) == len(turn.results)

    def keys(self, turn: Turn) -> tuple[list[str], list[str]]:
        if self.is_paired(turn):
            keys = [f"{id(turn)}\0{number}" for number in range(len(turn.calls))]
            return keys, keys
        entries: list[PastCall | PastResult] = [*turn.calls, *turn.results]
        known = [one.id for one in entries]
        if not all(known):
            names = [one.body.get("name") for one in entries]
            known = [f"{id(turn)}\0{name}" if name else "" for name in names]
        return known[: len(turn.calls)], known[len(turn.calls) :]

    def can_stand_alone(self, block: Json) -> bool:
        return not block.get("thought")

    def words_of(self, result: PastResult) -> str:
        at, response = self.words_at(result), result.body.get("response")
        if at is not None:
            return str(at[0][at[1]])
        # This becomes part of a text, so a number that JSON does not have is no reason to fail.
        return json.dumps(response) if isinstance(response, dict) and response else ""

    def words_at(self, result: PastResult) -> tuple[Json, str] | None:
        """The only value of the response, if that is a text."""
        response = result.body.get("response")
        if not isinstance(response, dict) or [*map(type, response.values())] != [str]:
            return None
        return response, next(iter(response))

    def cancelled(self, key: str, call: PastCall) -> Json:
        known = {"id": call.id} if call.id else {}
        return {"functionResponse": {**known, "name": call.name, "response": {"error": CANCELLED}}}

    def of_user(self, words: str) -> Json:
        return {"text": words}

    def arrange(self, change: Change) -> None:
        # With `cachedContent`, calls may be in the context that the server keeps.
        if not self.request.get("cachedContent"):
            super().arrange(change)


def _entry_in(part: Json, spellings: tuple[str, ...]) -> Json | None:
    """The object under one of these keys: Gemini's JSON has two spellings for each."""
    return next((part[key] for key in spellings if isinstance(part.get(key), dict)), None)
