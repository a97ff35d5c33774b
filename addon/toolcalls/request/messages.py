"""The histories that are messages: those of Chat, Ollama, Messages and Gemini requests.

Chat and Ollama have `tool_calls`, and messages of role `tool` behind them. No user message is put behind a tool
message: Mistral rejects that. A removed result is replaced by a user's text if two assistant messages would
otherwise meet, or the history would end with one. The words of a lost result behind other results are added to the
last of them.

In Messages and Gemini calls and results are blocks. Consecutive messages of one role are one turn, and the user's
next turn begins with the results of the calls. Nothing in a message of the model is moved, because the blocks around
thinking must stay unchanged.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import count
from typing import Any, ClassVar

from ..ids import MARK, MESSAGES_ID
from ..payload import string_of
from .answered import EXTRA, SIGNATURE, THINKING
from .calls import Change
from .history import CANCELLED, LATE, History, Json, PastCall, PastResult, Said, object_under, objects_in, with_words


class ChatHistory(History):
    inside = "tool_calls"
    turn_is_message = True
    signatures = (EXTRA,)

    def read_message(self, number: int, message: Json) -> Said:
        entries, role, old = message.get("tool_calls") or [], message.get("role"), message.get("function_call")
        who = "model" if role == "assistant" else "user" if role == "user" else "results"
        said = Said(number, message, who, message.get("content"), speaks=role != "tool")
        for entry in objects_in(entries):
            function = entry.get("function")
            body, key = (function, "arguments") if type(function) is dict else (entry, "")
            said.calls.append(PastCall(string_of(entry.get("id")), entry, body, message, key))
        self.as_expected = self.as_expected and type(entries) is list and len(said.calls) == len(entries)
        if role == "tool" and not entries:
            identity = string_of(message.get("tool_call_id"))
            said.results.append(PastResult(identity, message, message, message, message, "content"))
        if isinstance(old, dict):
            # The old form of a call has no id, and its result is no tool message.
            said.calls.append(PastCall("", old, old, message, "arguments", takes_result=False))
        return said

    def tidy(self, change: Change) -> None:
        for message in objects_in(self.entries):
            if message.get("tool_calls") == [] and message.get("content") and message.get("role") != "tool":
                change.count("empty list of calls")
                del message["tool_calls"]

    def fill(self, order: list[Json], words: str, following: Json) -> None:
        before = order[-1] if order else {}
        if not _takes_words(before) and _takes_words(following):
            following["content"] = with_words(following["content"], words, before=True)
        elif not _takes_words(before) and before.get("role") not in ("tool", "function"):
            order.append({"role": "user", "content": words or LATE})
        elif words:
            before["content"] = with_words(before.get("content"), words)


def _takes_words(message: Json) -> bool:
    """Whether this is a message of the user to which words can be added."""
    return message.get("role") == "user" and isinstance(message.get("content"), str | list)


class OllamaHistory(ChatHistory):
    """Ollama has no ids to pair by, and rejects neither calls nor results without their counterpart.

    It answers arguments in a string with status 400.
    """

    writes_arguments = False
    has_ids = False

    def is_complete(self) -> bool:
        return False


class BlockHistory(History):
    text: ClassVar[Json] = {"type": "text"}
    """What a block with words has besides them."""
    writes_arguments = False

    @abstractmethod
    def read_block(self, block: Json, message: Json) -> PastCall | PastResult | None:
        """The call or the result in a block."""

    def read_message(self, number: int, message: Json) -> Said:
        role, blocks = message.get("role"), message.get(self.inside)
        by_model = role == self.model
        said = Said(number, message, "model" if by_model else "results", blocks)
        # Gemini takes any role for one of the user.
        if not isinstance(blocks, str | list) or not (by_model or role == "user" or self.by_number):
            self.as_expected = False
        said.speaks = not blocks or type(blocks) is not list
        for block in () if said.speaks else blocks or ():
            found = self.read_block(block, message) if type(block) is dict else None
            if by_model and isinstance(found, PastCall):
                said.calls.append(found)
            elif not by_model and isinstance(found, PastResult):
                found.displaced = said.speaks
                said.results.append(found)
            elif type(block) is dict:
                said.speaks = True
            else:
                self.as_expected = False
        if not (by_model or said.results) and (self.by_number or role == "user"):
            said.role = "user"
        return said

    def answers(self, results: list[Json]) -> list[Json]:
        """One message, without text: MiniMax rejects text behind a result, and accepts it in the next message."""
        return [{"role": "user", self.inside: results}] if results else []

    def fill(self, order: list[Json], words: str, following: Json) -> None:
        ends = not following or following.get("role") == self.model
        if words or (ends and (not order or order[-1].get("role") == self.model)):
            order.append({"role": "user", self.inside: [{**self.text, "text": words or LATE}]})


class MessagesHistory(BlockHistory):
    """`tool_use` blocks, and the `tool_result` blocks with which the next turn begins.

    The ids of calls are unique: a call that has the id of an earlier one gets another, and so does its result.
    """

    result_id = "tool_use_id"

    def read_block(self, block: Json, message: Json) -> PastCall | PastResult | None:
        if block.get("type") == "tool_use":
            return PastCall(string_of(block.get("id")), block, block, message, "input")
        if block.get("type") != "tool_result":
            return None
        return PastResult(string_of(block.get("tool_use_id")), block, block, message, block, "content")

    def can_stand_alone(self, entry: Any) -> bool:
        """Whether a message may consist of this block alone. Thinking alone is no message."""
        kind = entry.get("type") if isinstance(entry, dict) else None
        return bool(entry.get("text")) if kind == "text" else kind not in (None, *THINKING)

    def tidy(self, change: Change) -> None:
        for message in objects_in(self.entries):
            blocks = objects_in(message.get("content"))
            empty = {id(one) for one in blocks if one.get("type") == "text" and one.get("text") == ""}
            # If a whole text was a call, the client still keeps its empty block.
            if empty and any(map(self.can_stand_alone, blocks)):
                change.count("empty text", len(empty))
                message["content"] = [one for one in message["content"] if id(one) not in empty]

    def cancelled(self, call: PastCall) -> Json:
        return {"type": "tool_result", "tool_use_id": call.pair, "content": CANCELLED, "is_error": True}

    def give_own_ids(self, change: Change) -> None:
        """Give every call but the first with a repeated id an id of its own, and the same to its result.

        An id of ours, or with characters that Anthropic rejects, is of a host that repeats ids.
        """
        called = Counter(call.id for turn in self.turns for call in turn.calls)
        repeated = [one for one, times in called.items() if times > 1 and MESSAGES_ID.fullmatch(one)]
        others = {old: _others(old, called) for old in repeated if MARK not in old}
        seen: set[str] = set()
        for turn in self.turns if others else ():
            now: dict[str, list[str]] = defaultdict(list)
            """The ids that the calls of the turn have now, by the id that they had."""
            for call in turn.calls:
                if (old := call.id) in others:
                    if old in seen and change.touches(call.name):
                        change.count("repeated id")
                        self.set_id(call, next(others[old]))
                    seen.add(old)
                    now[old].append(call.id)
            for result in turn.results:
                if (old := result.id) in others and not change.reading:
                    ids = now[old] or [next(others[old])]
                    # A result elsewhere may be that of any of these calls, so it becomes one of no call.
                    result.id = result.pair = result.body[self.result_id] = ids[0]
                    del ids[: len(ids) > 1]


def _others(identity: str, taken: Counter[str]) -> Iterator[str]:
    """Ids for the calls that have this one too."""
    return (one for number in count(2) if (one := f"{identity}_{number}") not in taken)


class GeminiHistory(BlockHistory):
    """A turn with `functionCall` parts is followed by as many `functionResponse` parts.

    Google counts them and rejects a history if the numbers differ. If they are equal, nothing is changed. Most calls
    have no ids; then a result of the next turn answers the call with its tool's name, and a turn with two calls of
    one tool stays unchanged.
    """

    list_key = "contents"
    result_id = "id"
    inside = "parts"
    model = "model"
    text: ClassVar[Json] = {}
    has_ids = False
    by_number = True
    signatures = (SIGNATURE, "thought_signature")

    def read(self) -> None:
        """Tell calls and results apart by number if all have a counterpart, else by id, else by the tool's name."""
        super().read()
        for turn in self.turns:
            paired = self.is_paired(turn)
            by_id = not paired and all(one.id for one in (*turn.calls, *turn.results))
            for entries in (turn.calls, turn.results):
                for number, one in enumerate(entries, start=1):
                    name = number if paired else one.body.get("name")
                    one.pair = one.id if by_id else f"{id(turn)}\0{name}" if name else ""
            for result in turn.results:
                # Google counts a result, wherever it is in its turn.
                result.displaced = False

    def read_block(self, block: Json, message: Json) -> PastCall | PastResult | None:
        """The words of a result are the only value of its response, if that is a text."""
        call = object_under(block, "functionCall", "function_call")
        if call is not None:
            key = "args" if call.get("args") is not None else ""
            return PastCall(string_of(call.get("id")), block, call, message, key)
        result = object_under(block, "functionResponse", "function_response")
        if result is None:
            return None
        place, key, response = result, "response", result.get("response")
        if isinstance(response, dict) and [*map(type, response.values())] == [str]:
            place, key = response, next(iter(response))
        return PastResult(string_of(result.get("id")), block, result, message, place, key)

    def set_id(self, call: PastCall, identity: str) -> None:
        call.id = call.body["id"] = identity

    def is_whole(self, said: Said) -> bool:
        return not said.calls or self.is_signed(said.calls[0])

    def is_complete(self) -> bool:
        # With `cachedContent`, calls may be in the context that the server keeps.
        return not self.request.get("cachedContent")

    def can_stand_alone(self, entry: Any) -> bool:
        return not entry.get("thought")

    def cancelled(self, call: PastCall) -> Json:
        known = {"id": call.id} if call.id else {}
        return {"functionResponse": {**known, "name": call.name, "response": {"error": CANCELLED}}}
