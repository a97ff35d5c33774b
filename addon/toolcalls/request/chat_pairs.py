"""Pairs in a Chat history: an assistant message is directly followed by the tool messages that answer its calls.

No user message is put behind a tool message: Mistral rejects that. A removed result is replaced by a user's text if
two assistant messages would otherwise meet, or the history would end with one. The words of a lost result behind
other results are added to the last of them.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from ..mend.reading.strict import write
from .added_text import BETWEEN, with_text
from .edits import Path
from .pairs import CANCELLED, SERVER_CALLS, Batch, Pairing, PlacedResult, instead_of, kept_as_text, pair, text_of
from .request_edit import RequestEdit, same

Json = dict[str, Any]
_TOOL = ("tool", "function")


def mend_pairs(request: Json, edit: RequestEdit, at: Path, body: bytes) -> None:
    messages = request.get("messages")
    if isinstance(messages, list) and all(isinstance(message, dict) for message in messages):
        _ChatPairs(messages, edit, (*at, "messages")).mend()


class _ChatPairs:
    def __init__(self, messages: list[Json], edit: RequestEdit, at: Path) -> None:
        self._messages = messages
        self._edit = edit
        self._at = at
        self._batches: dict[int, Batch] = {}
        """By the number of the message with the calls."""
        self._results: dict[int, PlacedResult] = {}
        self._strays: list[PlacedResult] = []
        self._doubled: set[int] = set()

    def mend(self) -> None:
        unclear = self._read()
        pairing = pair(list(self._batches.values()), self._strays, unclear)
        order = self._arranged(pairing)
        if order != list(range(len(self._messages))):
            self._edit.edits.arrange(self._at, order)

    def _read(self) -> set[str]:
        """Find the calls and the results behind them; returns the ids that are unclear."""
        behind: Batch | None = None
        unclear: set[str] = set()
        last = -1
        for number, message in enumerate(self._messages):
            calls = message.get("tool_calls")
            if calls:
                self._leave_ambiguous(last, unclear)
                if last == number - 1 and last in self._batches and same(self._messages[last], message):
                    self._doubled.add(last)
                    del self._batches[last]
                    self._edit.count("repeated message")
                behind, last = self._batch(calls, unclear), number
                if behind is not None:
                    self._batches[number] = behind
            elif message.get("role") == "tool":
                self._read_result(number, message, behind, last, unclear)
            else:
                self._leave_ambiguous(last, unclear)
                behind, last = None, -1
                if calls == [] and message.get("content"):
                    self._edit.edits.remove((*self._at, number, "tool_calls"))
                    self._edit.count("empty list of calls")
        self._leave_ambiguous(last, unclear)
        return unclear

    def _batch(self, calls: object, unclear: set[str]) -> Batch | None:
        """The calls of a message; None, so that all stays unchanged, if one has no id or must not be touched."""
        entries = calls if isinstance(calls, list) else []
        ids = [entry.get("id") if isinstance(entry, dict) else None for entry in entries]
        texts = [identity for identity in ids if isinstance(identity, str) and identity]
        of_host = any(one.startswith(SERVER_CALLS) for one in texts)
        if len(texts) == len(ids) and not of_host and all(self._edit.touches(_name(entry)) for entry in entries):
            return Batch(texts)
        unclear.update(texts)
        return None

    def _read_result(self, number: int, message: Json, behind: Batch | None, last: int, unclear: set[str]) -> None:
        identity = message.get("tool_call_id")
        if not isinstance(identity, str) or not identity:
            if behind is not None and last in self._batches:
                unclear.update(behind.calls)
                del self._batches[last]
            return
        result = self._results[number] = PlacedResult(number, identity, text_of(message.get("content")))
        if last < 0:
            self._strays.append(result)
        elif behind is not None and last in self._batches:
            behind.results.append(result)

    def _leave_ambiguous(self, last: int, unclear: set[str]) -> None:
        """All results of a message are read: leave the message alone if they are ambiguous."""
        batch = self._batches.get(last)
        if batch is not None and batch.ambiguous:
            unclear.update(batch.calls)
            del self._batches[last]

    def _arranged(self, pairing: Pairing) -> list[int | str]:
        """The messages in their new order: numbers, and texts of new ones."""
        out: list[int | str] = []
        gone: list[PlacedResult] = []
        kept = {result.number for batch in self._batches.values() for result in batch.kept}
        words = _AddedWords()
        for number in range(len(self._messages)):
            if number in self._doubled or number in kept:
                continue
            result = self._results.get(number)
            if result is not None and result in pairing.leaving:
                gone.append(result)
                continue
            self._close_gap(out, gone, number, pairing, words)
            out.append(number)
            batch = self._batches.get(number)
            if batch is not None:
                out += [one.number for one in (*batch.kept, *batch.late)]
                out += [write({"role": "tool", "tool_call_id": call, "content": CANCELLED}) for call in batch.missing]
                self._edit.count("cancelled call", len(batch.missing))
        self._close_gap(out, gone, None, pairing, words)
        self._edit.count_pairing(pairing)
        words.write(self._edit, self._at)
        return out

    def _close_gap(
        self,
        out: list[int | str],
        gone: list[PlacedResult],
        following: int | None,
        pairing: Pairing,
        words: _AddedWords,
    ) -> None:
        """Fill the gap that removed results leave before `following`, if it needs filling or their words are kept."""
        if not gone:
            return
        text = kept_as_text(one for one in gone if one in pairing.orphans)
        before = out[-1] if out else None
        if isinstance(before, int) and self._is_user(before):
            words.behind.setdefault(before, []).append(text)
        elif following is not None and self._is_user(following):
            words.before.setdefault(following, []).append(text)
        elif isinstance(before, str):
            # `before` is our own result for a cancelled call.
            cancelled = json.loads(before)
            cancelled["content"] = BETWEEN.join(filter(None, (cancelled["content"], text)))
            out[-1] = write(cancelled)
        elif before is None or self._messages[before].get("role") not in _TOOL:
            out.append(write({"role": "user", "content": instead_of(gone, pairing)}))
        elif isinstance(self._messages[before].get("content"), str | list):
            words.behind.setdefault(before, []).append(text)
        gone.clear()

    def _is_user(self, number: int) -> bool:
        """Whether this is a message of the user to which words can be added."""
        message = self._messages[number]
        return message.get("role") == "user" and isinstance(message.get("content"), str | list)


class _AddedWords:
    """Words to add to messages, by the number of the message."""

    def __init__(self) -> None:
        self.before: dict[int, list[str]] = {}
        self.behind: dict[int, list[str]] = {}

    def write(self, edit: RequestEdit, at: Path) -> None:
        for number in {*self.before, *self.behind}:
            before, behind = (BETWEEN.join(filter(None, side.get(number, ()))) for side in (self.before, self.behind))
            if before or behind:
                edit.edits.rewrite((*at, number, "content"), partial(with_text, before=before, behind=behind))


def _name(entry: Json) -> object:
    function = entry.get("function")
    return function.get("name") if isinstance(function, dict) else None
