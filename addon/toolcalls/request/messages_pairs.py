"""Pairs in a Messages history: the user's next turn begins with the results of the assistant's calls.

Messages of one role in a row are one turn, as the API reads them. Nothing in an assistant message is moved: what
stands around thinking has to stay as it was. Results that move come in a message of their own where text would
follow them: MiniMax rejects text behind a result in one message, and takes it in the next one.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

from ..mend.reading.strict import write
from .edits import Path, texts_at
from .pairs import CANCELLED, Batch, Pairing, PlacedResult, instead_of, kept_as_text, pair, text_of
from .request_edit import RequestEdit, same

Json = dict[str, Any]
_SERVER = "srvtoolu_"
"""Such calls are run by the host, and answered inside the assistant's own turn."""


def mend_pairs(request: Json, revision: RequestEdit, at: Path, body: bytes) -> None:
    messages = request.get("messages")
    if isinstance(messages, list) and all(map(_is_plain, messages)):
        _MessagesPairs(messages, revision, (*at, "messages"), body).mend()


def _is_plain(message: object) -> bool:
    if not isinstance(message, dict) or message.get("role") not in ("user", "assistant"):
        return False
    content = message.get("content")
    return isinstance(content, str) or (
        isinstance(content, list) and all(isinstance(block, dict) for block in content)
    )


class _UserTurn:
    """The messages of a user in a row, with the results in them."""

    __slots__ = ("batch", "displaced", "messages", "results")

    def __init__(self, messages: list[int], batch: Batch | None) -> None:
        self.messages = messages
        self.batch = batch
        self.results: list[PlacedResult] = []
        self.displaced: set[PlacedResult] = set()
        """Results behind something that is none."""


class _MessagesPairs:
    def __init__(self, messages: list[Json], revision: RequestEdit, at: Path, body: bytes) -> None:
        self._messages = messages
        self._revision = revision
        self._at = at
        self._body = body
        self._batches: list[Batch] = []
        self._turns: list[list[int] | _UserTurn] = []
        self._strays: list[PlacedResult] = []
        self._places: list[tuple[int, int]] = []
        """Message and block of each result."""
        self._doubled: set[int] = set()
        self._texts: dict[Path, str] = {}

    def mend(self) -> None:
        unclear = self._read()
        pairing = pair(self._batches, self._strays, unclear)
        displaced = [
            result
            for turn in self._turns
            if isinstance(turn, _UserTurn) and turn.batch is not None
            for result in turn.batch.kept
            if result in turn.displaced
        ]
        self._texts = texts_at(self._body, map(self._path, (*pairing.moved, *displaced)))
        order: list[int | str] = []
        for turn in self._turns:
            if isinstance(turn, _UserTurn):
                self._write_turn(turn, pairing, order)
            else:
                order += [number for number in turn if number not in self._doubled]
        self._revision.count_pairing(pairing)
        self._revision.count("result moved", len(displaced))
        if order != list(range(len(self._messages))):
            self._revision.edits.arrange(self._at, order)

    # Reading

    def _read(self) -> set[str]:
        """Find the calls and the results of each turn; gives the ids that are unclear."""
        unclear: set[str] = set()
        turns = [(role, list(run)) for role, run in groupby(range(len(self._messages)), self._role)]
        batch: Batch | None = None
        clear = True
        for role, run in turns:
            if role == "assistant":
                batch, clear = self._read_calls(run, unclear)
                self._turns.append(run)
                continue
            turn = self._read_results(run, batch)
            if batch is not None and batch.ambiguous:
                unclear.update(batch.calls)
                clear = False
            if not clear:
                self._turns.append(run)
            else:
                self._turns.append(turn)
                if batch is not None:
                    self._batches.append(batch)
                else:
                    self._strays += turn.results
            batch, clear = None, True
        if batch is not None and clear:
            self._batches.append(batch)
            self._turns.append(_UserTurn([], batch))
        return unclear

    def _role(self, number: int) -> str:
        return str(self._messages[number]["role"])

    def _read_calls(self, run: list[int], unclear: set[str]) -> tuple[Batch | None, bool]:
        """The calls of an assistant's turn, if any; and whether all of them are clear and ours to touch."""
        ids: list[object] = []
        clear = True
        before: Json | None = None
        for number in run:
            message = self._messages[number]
            calls = [block for block in _blocks(message) if block.get("type") == "tool_use"]
            if calls and before is not None and same(before, message):
                self._doubled.add(number)
                self._revision.count("repeated message")
                continue
            before = message
            ids += [call.get("id") for call in calls]
            clear = clear and all(self._revision.touches(call.get("name")) for call in calls)
        texts = [identity for identity in ids if isinstance(identity, str) and identity]
        if not clear or len(texts) < len(ids):
            unclear.update(texts)
            return None, False
        return (Batch(texts) if texts else None), True

    def _read_results(self, run: list[int], batch: Batch | None) -> _UserTurn:
        turn = _UserTurn(run, batch)
        behind = False
        for number in run:
            message = self._messages[number]
            behind = behind or isinstance(message["content"], str)
            for place, block in enumerate(_blocks(message)):
                identity = block.get("tool_use_id")
                if block.get("type") != "tool_result":
                    behind = True
                elif isinstance(identity, str) and not identity.startswith(_SERVER):
                    result = PlacedResult(len(self._places), identity, text_of(block.get("content")))
                    self._places.append((number, place))
                    turn.results.append(result)
                    if behind:
                        turn.displaced.add(result)
        if batch is not None:
            batch.results = turn.results
        return turn

    # Writing

    def _path(self, result: PlacedResult) -> Path:
        message, block = self._places[result.number]
        return (*self._at, message, "content", block)

    def _write_turn(self, turn: _UserTurn, pairing: Pairing, order: list[int | str]) -> None:
        batch = turn.batch or Batch([])
        staying = {result for result in batch.kept if result not in turn.displaced}
        moving = set(batch.kept) - staying
        leaving = [one for one in turn.results if one in pairing.leaving or one in moving]
        added = [self._texts[self._path(one)] for one in (*batch.kept, *batch.late) if one not in staying]
        added += [
            write({"type": "tool_result", "tool_use_id": call, "content": CANCELLED, "is_error": True})
            for call in batch.missing
        ]
        self._revision.count("cancelled call", len(batch.missing))
        first = turn.messages[0] if turn.messages else -1
        lead = sum(self._places[result.number][0] == first for result in staying)
        if added and not (lead and self._leads(first, staying)):
            order.append(f'{{"role":"user","content":[{",".join(added)}]}}')
            added, lead = [], 0
        orphans = [result for result in leaving if result in pairing.orphans]
        written = len(order)
        for number in turn.messages:
            gone = {self._places[one.number][1]: one for one in leaving if self._places[one.number][0] == number}
            blocks: list[int | str] = []
            for place in range(len(_blocks(self._messages[number]))):
                one = gone.get(place)
                if one is None:
                    blocks.append(place)
                elif not staying and (text := kept_as_text([one] if one in pairing.orphans else ())):
                    blocks.append(_text_block(text))
            if number == first and added:
                blocks[lead:lead] = added
            if not gone and not (number == first and added):
                order.append(number)
            elif blocks:
                order.append(number)
                self._revision.edits.arrange((*self._at, number, "content"), blocks)
        if staying and (text := kept_as_text(orphans)):
            order.append(write({"role": "user", "content": [{"type": "text", "text": text}]}))
        if turn.messages and len(order) == written and not (batch.kept or batch.late or batch.missing):
            text = instead_of(leaving, pairing)
            order.append(write({"role": "user", "content": [{"type": "text", "text": text}]}))

    def _leads(self, number: int, staying: set[PlacedResult]) -> bool:
        """Does the message begin with a result that stays?"""
        return any(self._places[result.number] == (number, 0) for result in staying)


def _blocks(message: Json) -> list[Json]:
    content = message["content"]
    return content if isinstance(content, list) else []


def _text_block(text: str) -> str:
    return write({"type": "text", "text": text})
