"""The history of a Chat request, and of Ollama's `/api/chat`: `tool_calls`, and messages of role `tool` behind them.

No user message is put behind a tool message: Mistral rejects that. A removed result is replaced by a user's text if
two assistant messages would otherwise meet, or the history would end with one. The words of a lost result behind
other results are added to the last of them.
"""

from __future__ import annotations

from typing import Any

from ..payload import string_of
from .answered import EXTRA, has_reasoning
from .change import Change
from .history import Json, MessageHistory, PastCall, PastResult, Said, Turn, objects_in, with_words

SERVER_CALLS = "srvtoolu_"
"""How Anthropic's ids of calls begin that the host runs and answers itself; gateways keep them over Chat."""


class ChatHistory(MessageHistory):
    inside = "tool_calls"
    ids_span_turns = False
    turn_is_message = True
    signatures = (EXTRA,)

    def read_message(self, number: int, message: Json) -> Said:
        calls, role, old = message.get("tool_calls"), message.get("role"), message.get("function_call")
        who = "model" if role == "assistant" else "user" if role == "user" else "results"
        said = Said(number, who, message.get("content"), speaks=role != "tool")
        if calls:
            said.calls = self._calls(calls, message)
        elif role == "tool":
            said.results = (PastResult(string_of(message.get("tool_call_id")), message, message, message),)
        if isinstance(old, dict):
            said.calls = [*said.calls, PastCall("", old, old, "arguments", message)]
        return said

    def _calls(self, entries: Any, message: Json) -> list[PastCall]:
        calls: list[PastCall] = []
        for entry in objects_in(entries):
            function = entry.get("function")
            body, key = (function, "arguments") if type(function) is dict else (entry, "")
            calls.append(PastCall(string_of(entry.get("id")), entry, body, key, message))
        self.as_expected = self.as_expected and type(entries) is list and len(calls) == len(entries)
        return calls

    def drop_empty(self, change: Change) -> None:
        for said in self.messages:
            message = self.entries[said.number]
            if message.get("tool_calls") == [] and message.get("content") and message.get("role") != "tool":
                change.count("empty list of calls")
                del message["tool_calls"]

    # Reasoning

    def said(self) -> list[Said]:
        for said in self.messages:
            # Calls of custom tools have no outcome, so no turn is known by them.
            said.calls = [call for call in said.calls if call.key]
        return self.messages

    def is_whole(self, said: Said) -> bool:
        return has_reasoning(self.entries[said.number])

    # Pairs

    def takes_result(self, call: PastCall) -> bool:
        # A call of the old form has no id, and its result is no tool message.
        return call.entry is not call.home.get("function_call")

    def is_clear(self, turn: Turn) -> bool:
        own = not any(call.id.startswith(SERVER_CALLS) for call in turn.calls)
        return own and (not turn.calls or all(result.id for result in turn.results))

    def can_be_filled(self, following: Json) -> bool:
        return following.get("role") not in ("tool", "function")

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
