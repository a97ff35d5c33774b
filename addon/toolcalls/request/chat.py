"""The history of a Chat request, and of Ollama's `/api/chat`: `tool_calls`, and messages of role `tool` behind them.

No user message is put behind a tool message: Mistral rejects that. A removed result is replaced by a user's text if
two assistant messages would otherwise meet, or the history would end with one. The words of a lost result behind
other results are added to the last of them.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from ..mend.strict import read
from .answered import EXTRA, NO_REASONING
from .change import Change
from .given_back import GivenBack, has_reasoning
from .history import CANCELLED, History, Json, PastCall, PastResult, Said, Turn, remove, same, text, with_words
from .pairs import SERVER_CALLS, Batch, Pairing, Placed, instead_of, kept_as_text, pair, read_batches


class ChatHistory(History):
    inside = "tool_calls"

    def read(self) -> None:
        turn: Turn | None = None
        for message in self.entries:
            if type(message) is not dict:
                self.plain = False
                continue
            calls = message.get("tool_calls")
            if calls:
                turn = Turn(self._calls(calls), [], [message], [])
                self.turns.append(turn)
            elif message.get("role") == "tool":
                if turn is None:
                    turn = Turn([], [], [], [])
                    self.turns.append(turn)
                    self.odd = True
                turn.results.append(PastResult(text(message.get("tool_call_id")), message, message, self.entries))
            else:
                if self.turns:
                    self.turns[-1].spoken = True
                turn = None
                if calls == [] and message.get("content"):
                    self.odd = True
            old = message.get("function_call")
            if isinstance(old, dict):
                self.loose.append(old)
        self.odd = self.odd or not all(map(self.is_paired, self.turns))

    def _calls(self, entries: Any) -> list[PastCall]:
        calls: list[PastCall] = []
        for entry in entries if type(entries) is list else ():
            if type(entry) is dict:
                function = entry.get("function")
                if type(function) is dict:
                    calls.append(PastCall(text(entry.get("id")), entry, function, "arguments", entries))
                else:
                    calls.append(PastCall(text(entry.get("id")), entry, entry, "", entries))
        return calls

    # Reasoning

    def said(self) -> list[Said]:
        calls = {id(turn.messages[0]): turn.calls for turn in self.turns if turn.messages}
        found: list[Said] = []
        for number, message in enumerate(self.entries):
            if type(message) is dict:
                role, content = message.get("role"), message.get("content")
                if role == "user":
                    found.append(Said(number, "user", content))
                elif role == "assistant":
                    made = [call for call in calls.get(id(message), ()) if call.key]
                    found.append(Said(number, "model", content, made, [], has_reasoning(message)))
                else:
                    result = PastResult(text(message.get(self.result_id)), message, message, self.entries)
                    found.append(Said(number, "results", content, [], [result] if role == "tool" else []))
        return found

    def is_signed(self, call: PastCall) -> bool:
        return call.entry.get(EXTRA) is not None

    def give_back(self, said: Said, back: GivenBack, change: Change) -> None:
        for key, words in back.fields.items():
            change.count("empty reasoning" if words == NO_REASONING else "reasoning given back")
            self.entries[said.number][key] = read(words)
        for number, extra in back.extras.items():
            change.count("signature given back")
            said.calls[number].entry[EXTRA] = read(extra)

    # Pairs

    def is_clear(self, turn: Turn) -> bool:
        if not turn.messages:
            return True
        whole = [call.entry for call in turn.calls] == turn.messages[0]["tool_calls"]
        own = not any(call.id.startswith(SERVER_CALLS) for call in turn.calls)
        return whole and own and all(result.id for result in turn.results)

    def arrange(self, change: Change) -> None:
        for message in self.entries:
            if message.get("tool_calls") == [] and message.get("content") and message.get("role") != "tool":
                change.count("empty list of calls")
                del message["tool_calls"]
        batches, unclear = read_batches(self, change)
        repeated = {one for one, after in pairwise(batches) if _is_repeated(one, after)}
        change.count("repeated message", len(repeated))
        batches = [batch for batch in batches if batch not in repeated]
        pairing = pair(batches, unclear, change)
        if repeated or pairing.leaving or any(batch.missing for batch in batches):
            remove(self.entries, [message for batch in repeated for message in batch.turn.messages])
            self._write(batches, pairing)

    def _write(self, batches: list[Batch], pairing: Pairing) -> None:
        """Put the results behind their calls."""
        with_calls = {id(batch.turn.messages[0]): batch for batch in batches if batch.keys}
        kept = {id(one.result.entry) for batch in batches for one in batch.kept}
        leaving = {id(one.result.entry): one for one in pairing.leaving}
        gone: list[Placed] = []
        before, self.entries[:] = self.entries[:], []
        for message in before:
            if id(message) in leaving:
                gone.append(leaving[id(message)])
            elif id(message) not in kept:
                self._close_gap(gone, message, pairing)
                self.entries.append(message)
                batch = with_calls.get(id(message))
                if batch is not None:
                    self.entries += [one.result.entry for one in (*batch.kept, *batch.late)]
                    self.entries += [
                        {"role": "tool", "tool_call_id": call, "content": CANCELLED} for call in batch.missing
                    ]
        self._close_gap(gone, {}, pairing)

    def _close_gap(self, gone: list[Placed], following: Json, pairing: Pairing) -> None:
        """Fill the gap that removed results leave before a message, if it needs filling or their words are kept."""
        if not gone:
            return
        words = kept_as_text(one for one in gone if one in pairing.orphans)
        before = self.entries[-1] if self.entries else {}
        if not _takes_words(before) and _takes_words(following):
            following["content"] = with_words(following["content"], words, before=True)
        elif not _takes_words(before) and before.get("role") not in ("tool", "function"):
            self.entries.append({"role": "user", "content": instead_of(gone, pairing)})
        elif words:
            before["content"] = with_words(before.get("content"), words)
        gone.clear()


def _takes_words(message: Json) -> bool:
    """Whether this is a message of the user to which words can be added."""
    return message.get("role") == "user" and isinstance(message.get("content"), str | list)


def _is_repeated(one: Batch, after: Batch) -> bool:
    """Whether a message with calls is followed by itself."""
    alone = bool(one.keys) and not one.turn.results and not one.turn.spoken
    return alone and same(one.turn.messages, after.turn.messages)


class OllamaHistory(ChatHistory):
    """Ollama has no ids to pair by, and rejects neither calls nor results without their counterpart.

    It answers arguments in a string with status 400.
    """

    writes_arguments = False
    has_ids = False

    def arrange(self, change: Change) -> None:
        """Nothing is arranged."""
