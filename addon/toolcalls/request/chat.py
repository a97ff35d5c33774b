"""The history of a Chat request, and of Ollama's `/api/chat`: `tool_calls`, and messages of role `tool` behind them.

No user message is put behind a tool message: Mistral rejects that. A removed result is replaced by a user's text if
two assistant messages would otherwise meet, or the history would end with one. The words of a lost result behind
other results are added to the last of them.
"""

from __future__ import annotations

from ..payload import string_of
from .answered import EXTRA
from .calls import Change
from .history import History, Json, PastCall, PastResult, Said, objects_in, with_words


class ChatHistory(History):
    inside = "tool_calls"
    turn_is_message = True
    signatures = (EXTRA,)

    def read_message(self, number: int, message: Json) -> Said:
        entries, role, old = message.get("tool_calls"), message.get("role"), message.get("function_call")
        who = "model" if role == "assistant" else "user" if role == "user" else "results"
        said = Said(number, message, who, message.get("content"), speaks=role != "tool")
        if entries:
            said.calls = calls = []
            for entry in objects_in(entries):
                function = entry.get("function")
                body, key = (function, "arguments") if type(function) is dict else (entry, "")
                calls.append(PastCall(string_of(entry.get("id")), entry, body, message, key))
            self.as_expected = self.as_expected and type(entries) is list and len(calls) == len(entries)
        elif role == "tool":
            identity = string_of(message.get("tool_call_id"))
            said.results = (PastResult(identity, message, message, message, message, "content"),)
        if isinstance(old, dict):
            # The old form of a call has no id, and its result is no tool message.
            said.calls = [*said.calls, PastCall("", old, old, message, "arguments", takes_result=False)]
        return said

    def tidy(self, change: Change) -> None:
        for message in objects_in(self.entries):
            if message.get("tool_calls") == [] and message.get("content") and message.get("role") != "tool":
                change.count("empty list of calls")
                del message["tool_calls"]

    def fill(self, order: list[Json], words: str, instead: str, following: Json) -> None:
        before = order[-1] if order else {}
        if not _takes_words(before) and _takes_words(following):
            following["content"] = with_words(following["content"], words, before=True)
        elif not _takes_words(before) and before.get("role") not in ("tool", "function"):
            order.append({"role": "user", "content": words or instead})
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
