"""The history of a Chat request, and of Ollama's `/api/chat`: `tool_calls`, and messages of role `tool` behind them.

No user message is put behind a tool message: Mistral rejects that. A removed result is replaced by a user's text if
two assistant messages would otherwise meet, or the history would end with one. The words of a lost result behind
other results are added to the last of them.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

from ..mend.strict import read
from .answered import EXTRA, NO_REASONING, GivenBack, has_reasoning
from .change import Change
from .history import Json, MessageHistory, PastCall, PastResult, Said, Turn, remove, same, text, with_words
from .pairs import SERVER_CALLS, Placed, arrange, batches_of, drop_copies, instead_of, kept_as_text


class ChatHistory(MessageHistory):
    inside = "tool_calls"
    ids_span_turns = False

    def read(self) -> None:
        self._has_custom = False
        super().read()
        for said in self.said() if self._has_custom else ():
            # Calls of custom tools have no outcome, so no turn is known by them.
            said.calls = [call for call in said.calls if call.key]

    def read_message(self, number: int, message: Json) -> Said:
        calls, role = message.get("tool_calls"), message.get("role")
        who = "model" if role == "assistant" else "user" if role == "user" else "results"
        said = Said(number, who, message.get("content"), [], [], role != "tool")
        if calls:
            said.calls = self._calls(calls)
        elif role == "tool":
            said.results = [PastResult(text(message.get("tool_call_id")), message, message)]
        elif calls == [] and message.get("content"):
            self.empty = True
        old = message.get("function_call")
        if isinstance(old, dict):
            self.loose.append(PastCall("", old, old, "arguments", []))
        return said

    def _calls(self, entries: Any) -> list[PastCall]:
        calls: list[PastCall] = []
        for entry in entries if type(entries) is list else ():
            if type(entry) is dict:
                function = entry.get("function")
                if type(function) is dict:
                    calls.append(PastCall(text(entry.get("id")), entry, function, "arguments", entries))
                else:
                    self._has_custom = True
                    calls.append(PastCall(text(entry.get("id")), entry, entry, "", entries))
        self.plain = self.plain and type(entries) is list and len(calls) == len(entries)
        return calls

    # Reasoning

    def reasons(self, said: Said) -> bool:
        return has_reasoning(self.entries[said.number])

    def is_signed(self, call: PastCall) -> bool:
        return call.entry.get(EXTRA) is not None

    def give_back(self, said: Said, back: GivenBack, change: Change) -> None:
        for key, words in back.fields.items():
            change.count("empty reasoning" if words == NO_REASONING else "reasoning given back")
            self.entries[said.number][key] = read(words)
        for number, extra in back.extras.items():
            change.count("signature given back")
            said.calls[int(number)].entry[EXTRA] = read(extra)

    # Pairs

    def has_oddities(self) -> bool:
        return self.empty

    def is_clear(self, turn: Turn) -> bool:
        own = not any(call.id.startswith(SERVER_CALLS) for call in turn.calls)
        return own and (not turn.calls or all(result.id for result in turn.results))

    def arrange(self, change: Change) -> None:
        for message in self.entries if self.empty else ():
            if message.get("tool_calls") == [] and message.get("content") and message.get("role") != "tool":
                change.count("empty list of calls")
                del message["tool_calls"]
        repeated = [one.messages[0] for one, after in pairwise(self.turns) if self._is_repeated(one, after, change)]
        if repeated:
            change.count("repeated message", len(repeated))
            remove(self.entries, repeated)
            self.read_again()
        drop_copies(self, change)
        arrange(self, change, partial(batches_of, self))

    def _is_repeated(self, one: Turn, after: Turn, change: Change) -> bool:
        """Whether a message with calls is followed by itself."""
        if not one.calls or one.results or one.spoken or not same(one.messages, after.messages):
            return False
        return self.is_clear(one) and all(call.id and change.touches(call.name) for call in one.calls)

    def fill(self, order: list[Json], gone: list[Placed | None], following: Json, change: Change) -> None:
        if following.get("role") == "tool":
            return
        words = kept_as_text(gone)
        before = order[-1] if order else {}
        if not _takes_words(before) and _takes_words(following):
            following["content"] = with_words(following["content"], words, before=True)
        elif not _takes_words(before) and before.get("role") not in ("tool", "function"):
            order.append({"role": "user", "content": instead_of(gone)})
        elif words:
            before["content"] = with_words(before.get("content"), words)
        gone.clear()


def _takes_words(message: Json) -> bool:
    """Whether this is a message of the user to which words can be added."""
    return message.get("role") == "user" and isinstance(message.get("content"), str | list)


class OllamaHistory(ChatHistory):
    """Ollama has no ids to pair by, and rejects neither calls nor results without their counterpart.

    It answers arguments in a string with status 400.
    """

    writes_arguments = False
    has_ids = False

    def arrange(self, change: Change) -> None:
        """Nothing is arranged."""
