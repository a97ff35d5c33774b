"""The history of a Messages request: `tool_use` blocks, and the `tool_result` blocks with which the next turn begins.

The ids of calls are unique: a call that has the id of an earlier one gets another, and so does its result.
Moved results get a message of their own if text would follow them: MiniMax rejects text behind a result in the same
message, and accepts it in the next one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import count
from typing import Any

from ..ids import MESSAGES_ID
from ..mend.strict import read
from .blocks import BlockHistory
from .change import Change
from .given_back import GivenBack, has_reasoning
from .history import CANCELLED, Json, PastCall, PastResult, Said, remove, text
from .pairs import SERVER_CALLS


class MessagesHistory(BlockHistory):
    result_id = "tool_use_id"
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
                empty = [*filter(_is_empty, blocks)]
                change.count("empty text", len(empty))
                remove(blocks, empty)

    def drop_copies(self, change: Change) -> None:
        """Remove copies, and give a call whose id an earlier call has an id of its own, and the same to its result.

        Not if toolfix restored the id, or if it has characters that Anthropic rejects: such ids are of hosts that
        repeat them and get their own back.
        """
        called = Counter(call.id for turn in self.turns for call in turn.calls)
        repeated = {one for one, times in called.items() if times > 1 and MESSAGES_ID.fullmatch(one)}
        repeated -= change.ids_given_back()
        super().drop_copies(change)
        if repeated:
            self._give_own_ids(repeated, set(called), change)

    def _give_own_ids(self, repeated: set[str], used: set[str], change: Change) -> None:
        """Give every call but the first with a repeated id an id of its own. `used`: the ids of all calls."""
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


def _is_empty(block: Any) -> bool:
    return type(block) is dict and block.get("text") == "" and block.get("type") == "text"
