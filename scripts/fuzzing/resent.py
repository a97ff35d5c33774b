"""Ways in which servers send structured calls: in pieces, interleaved ("woven"), under one index, and repeated.

There is one table for each protocol, with one entry for each way. However the calls are sent, they are what was
meant: these calls may run, or fewer.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.protocols import messages_wire as wire
from tests.protocols.responses_wire import Upstream
from tests.protocols.zai_streams import Backend, block

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sent:
    id: str
    name: str
    text: str
    """The arguments as the model wrote them."""

    @property
    def value(self) -> Any:
        """The arguments as a JSON value, or the text if it is not JSON."""
        try:
            return json.loads(self.text)
        except ValueError:
            return self.text


def fragments(chance: random.Random, text: str) -> list[str]:
    """The text in one to four pieces; sometimes one of them is empty."""
    places = sorted(chance.randint(0, len(text)) for _ in range(chance.choice((0, 1, 1, 2, 3))))
    return [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]


def woven(chance: random.Random, rows: list[list[Any]]) -> list[Any]:
    """The rows interleaved at random; each keeps its own order."""
    left = [row[::-1] for row in rows if row]
    out = []
    while left:
        row = chance.choice(left)
        out.append(row.pop())
        left = [row for row in left if row]
    return out


# Chat

Entries = list[Json]


@dataclass
class ChatCalls:
    """Entries of `tool_calls`, one for each chunk, and what the finish chunk contains besides its reason."""

    chunks: Entries
    last: Json = field(default_factory=dict)


def _entry(index: object, sent: Sent, arguments: Any, *, identity: bool = True, name: bool = True) -> Json:
    place = {} if index is None else {"index": index}
    head = {"id": sent.id, "type": "function"} if identity else {}
    return {**place, **head, "function": {**({"name": sent.name} if name else {}), "arguments": arguments}}


def _row(chance: random.Random, index: object, sent: Sent, *, identity: bool = False, name: bool = False) -> Entries:
    """A call in chunks. `identity` and `name`: every chunk has the id or the name, not only the first."""
    first, *rest = fragments(chance, sent.text)
    return [_entry(index, sent, first), *(_entry(index, sent, text, identity=identity, name=name) for text in rest)]


def _rows(chance: random.Random, calls: list[Sent], **each: bool) -> list[Entries]:
    return [_row(chance, index, sent, **each) for index, sent in enumerate(calls)]


def _flat(rows: list[Entries]) -> Entries:
    return [entry for row in rows for entry in row]


def _wholes(calls: list[Sent], begin: int = 0) -> Entries:
    return [_entry(begin + number, sent, sent.text) for number, sent in enumerate(calls)]


def _without(chance: random.Random, key: str, entry: Json) -> Json:
    """The entry, sometimes without this key."""
    return {name: value for name, value in entry.items() if name != key or chance.random() < 0.7}


def _ids_exchanged(entries: Entries, calls: list[Sent]) -> Entries:
    """The entries; in the second half, those that do not begin a call have the id of the next call."""
    ids = [sent.id for sent in calls]
    after = dict(zip(ids, [*ids[1:], ids[0]], strict=True))
    half = len(entries) // 2
    return [
        entry if at < half or "name" in entry["function"] else {**entry, "id": after[entry["id"]]}
        for at, entry in enumerate(entries)
    ]


def _one_beginning_lost(chance: random.Random, rows: list[list[Any]]) -> list[Any]:
    """The rows in sequence, one of them without its first entry, which has the name."""
    lost = chance.randrange(len(rows))
    return [entry for at, row in enumerate(rows) for entry in (row[1:] if at == lost else row)]


def _named_first(chance: random.Random, index: object, sent: Sent) -> Entries:
    """A call whose first chunk has only its id and name."""
    pieces = [_entry(index, sent, text, identity=False, name=False) for text in fragments(chance, sent.text)]
    return [_entry(index, sent, ""), *pieces]


def _name_in_pieces(chance: random.Random, index: object, sent: Sent) -> Entries:
    """A call whose name arrives in two chunks."""
    at = chance.randint(1, len(sent.name))
    first, *rest = _named_first(chance, index, sent)
    begin = {**first, "function": {**first["function"], "name": sent.name[:at]}}
    more = {"index": index, "function": {"name": sent.name[at:], "arguments": ""}}
    return [begin, *([more] if sent.name[at:] else []), *rest]


CHAT: dict[str, Callable[[random.Random, list[Sent]], ChatCalls]] = {
    "one after the other": lambda chance, calls: ChatCalls(_flat(_rows(chance, calls))),
    "woven": lambda chance, calls: ChatCalls(woven(chance, _rows(chance, calls))),
    "woven, ids everywhere": lambda chance, calls: ChatCalls(woven(chance, _rows(chance, calls, identity=True))),
    "woven under one index": lambda chance, calls: ChatCalls(
        woven(chance, [_row(chance, 0, sent) for sent in calls])
    ),
    "woven under one index, ids everywhere": lambda chance, calls: ChatCalls(
        woven(chance, [_row(chance, 0, sent, identity=True, name=chance.random() < 0.5) for sent in calls])
    ),
    "woven without an index": lambda chance, calls: ChatCalls(
        woven(chance, [_row(chance, None, sent, identity=chance.random() < 0.5) for sent in calls])
    ),
    "woven, two of them under one index": lambda chance, calls: ChatCalls(
        woven(chance, [_row(chance, number // 2, sent) for number, sent in enumerate(calls)])
    ),
    "woven, the index missing here and there": lambda chance, calls: ChatCalls(
        [_without(chance, "index", entry) for entry in woven(chance, _rows(chance, calls))]
    ),
    "woven, indices of every kind": lambda chance, calls: ChatCalls(
        [
            {**entry, "index": chance.choice((entry["index"], str(entry["index"]), float(entry["index"]), True))}
            for entry in woven(chance, _rows(chance, calls))
        ]
    ),
    "woven under one index, ids that change case or are null": lambda chance, calls: ChatCalls(
        [
            {**entry, "id": chance.choice((entry["id"], entry["id"], entry["id"].upper(), None))}
            for entry in woven(chance, [_row(chance, 0, sent, identity=True) for sent in calls])
        ]
    ),
    "woven, ids exchanged midway": lambda chance, calls: ChatCalls(
        _ids_exchanged(woven(chance, _rows(chance, calls, identity=True)), calls)
    ),
    "behind the finish chunk": lambda chance, calls: ChatCalls(
        _flat(_rows(chance, calls)), {"delta": {"tool_calls": [_entry(0, calls[0], "", name=False)]}}
    ),
    "again, cut off": lambda chance, calls: ChatCalls(
        [
            *_flat(_rows(chance, calls)),
            *(_entry(n, sent, sent.text[: chance.randint(0, len(sent.text))]) for n, sent in enumerate(calls)),
        ]
    ),
    "woven under 1 and true": lambda chance, calls: ChatCalls(
        woven(chance, [_row(chance, index, sent) for index, sent in zip((1, True, "1", 1.0), calls, strict=False)])
    ),
    "id and name in each": lambda chance, calls: ChatCalls(_flat(_rows(chance, calls, identity=True, name=True))),
    "id and name in each, the last empty": lambda chance, calls: ChatCalls(
        [
            *_flat(_rows(chance, calls, identity=True, name=True)),
            *(_entry(n, sent, "") for n, sent in enumerate(calls)),
        ]
    ),
    "again in the finish chunk": lambda chance, calls: ChatCalls(
        _flat(_rows(chance, calls)), {"delta": {"tool_calls": _wholes(calls)}}
    ),
    "again in the finish chunk, encoded twice": lambda chance, calls: ChatCalls(
        _flat(_rows(chance, calls)),
        {"delta": {"tool_calls": [_entry(n, sent, json.dumps(sent.text)) for n, sent in enumerate(calls)]}},
    ),
    "again in the finish chunk, as an object": lambda chance, calls: ChatCalls(
        _flat(_rows(chance, calls)),
        {"delta": {"tool_calls": [_entry(n, sent, sent.value) for n, sent in enumerate(calls)]}},
    ),
    "again in a message at the end": lambda chance, calls: ChatCalls(
        _flat(_rows(chance, calls)), {"message": {"role": "assistant", "content": None, "tool_calls": _wholes(calls)}}
    ),
    "again in a chunk": lambda chance, calls: ChatCalls([*_flat(_rows(chance, calls)), *_wholes(calls)]),
    "again at the next index": lambda chance, calls: ChatCalls(
        [*_flat(_rows(chance, calls)), *_wholes(calls, len(calls))]
    ),
    "again at the next index, at once": lambda chance, calls: ChatCalls(
        [
            entry
            for n, sent in enumerate(calls)
            for entry in (_entry(2 * n, sent, sent.text), _entry(2 * n + 1, sent, sent.text))
        ]
    ),
    "again at the next index, without arguments": lambda chance, calls: ChatCalls(
        [*_wholes(calls), *(_entry(len(calls) + n, sent, "") for n, sent in enumerate(calls))]
    ),
    "again at the next index, written otherwise": lambda chance, calls: ChatCalls(
        [
            *_wholes(calls),
            *(_entry(len(calls) + n, sent, json.dumps(sent.value, indent=1)) for n, sent in enumerate(calls)),
        ]
    ),
    "all in one chunk and again": lambda chance, calls: ChatCalls(
        [*_wholes(calls), *_wholes(calls), *_wholes(calls)]
    ),
    "a beginning lost": lambda chance, calls: ChatCalls(
        _one_beginning_lost(chance, [_named_first(chance, n, sent) for n, sent in enumerate(calls)])
    ),
    "names in pieces": lambda chance, calls: ChatCalls(
        _flat([_name_in_pieces(chance, n, sent) for n, sent in enumerate(calls)])
    ),
}


# Messages


@dataclass
class MessagesCalls:
    """Events of blocks before the stop reason, and after it."""

    blocks: bytes
    behind: bytes = b""


def _block(chance: random.Random, index: int | None, sent: Sent) -> bytes:
    pieces = b"".join(wire.fragment(index, text) for text in fragments(chance, sent.text))
    return wire.tool_start(index, sent.id, sent.name) + pieces + wire.stop(index)


def _events(chance: random.Random, index: int, sent: Sent, *, placed: bool = True) -> list[bytes]:
    """The events of a block, one by one. `placed`: the fragments have the index too."""
    pieces = [wire.fragment(index if placed else None, text) for text in fragments(chance, sent.text)]
    return [wire.tool_start(index, sent.id, sent.name), *pieces, wire.stop(index)]


def _blocks(chance: random.Random, at: int, calls: list[Sent]) -> bytes:
    return b"".join(_block(chance, at + number, sent) for number, sent in enumerate(calls))


def _open_blocks(chance: random.Random, places: list[int], calls: list[Sent], *, starts_first: bool = True) -> bytes:
    """The events of blocks that are open at the same time."""
    starts = [wire.tool_start(place, sent.id, sent.name) for place, sent in zip(places, calls, strict=True)]
    rows = [
        [wire.fragment(place, text) for text in fragments(chance, sent.text)]
        for place, sent in zip(places, calls, strict=True)
    ]
    stops = b"".join(wire.stop(place) for place in dict.fromkeys(places))
    if starts_first:
        return b"".join([*starts, *woven(chance, rows), stops])
    return b"".join([*woven(chance, [[start, *row] for start, row in zip(starts, rows, strict=True)]), stops])


MESSAGES: dict[str, Callable[[random.Random, int, list[Sent]], MessagesCalls]] = {
    "one after the other": lambda chance, at, calls: MessagesCalls(_blocks(chance, at, calls)),
    "without an index": lambda chance, at, calls: MessagesCalls(
        b"".join(_block(chance, None, sent) for sent in calls)
    ),
    "woven": lambda chance, at, calls: MessagesCalls(
        _open_blocks(chance, [at + number for number in range(len(calls))], calls)
    ),
    "woven from their starts": lambda chance, at, calls: MessagesCalls(
        _open_blocks(chance, [at + number for number in range(len(calls))], calls, starts_first=False)
    ),
    "woven under one index": lambda chance, at, calls: MessagesCalls(
        _open_blocks(chance, [at] * len(calls), calls, starts_first=False)
    ),
    "woven under one index, with their stops": lambda chance, at, calls: MessagesCalls(
        b"".join(woven(chance, [_events(chance, at, sent) for sent in calls]))
    ),
    "woven, indices in the starts only": lambda chance, at, calls: MessagesCalls(
        b"".join(woven(chance, [_events(chance, at + n, sent, placed=False) for n, sent in enumerate(calls)]))
    ),
    "under one index, never stopped": lambda chance, at, calls: MessagesCalls(
        b"".join(event for sent in calls for event in _events(chance, at, sent)[:-1])
    ),
    "under one index": lambda chance, at, calls: MessagesCalls(b"".join(_block(chance, at, sent) for sent in calls)),
    "again": lambda chance, at, calls: MessagesCalls(
        _blocks(chance, at, calls) + _blocks(chance, at + len(calls), calls)
    ),
    "again at its index": lambda chance, at, calls: MessagesCalls(
        _blocks(chance, at, calls) + _blocks(chance, at, calls)
    ),
    "input in the start, and in deltas": lambda chance, at, calls: MessagesCalls(
        b"".join(
            wire.tool_start(at + n, sent.id, sent.name, sent.value)
            + wire.fragment(at + n, sent.text)
            + wire.stop(at + n)
            for n, sent in enumerate(calls)
        )
    ),
    "input of another call in the start": lambda chance, at, calls: MessagesCalls(
        b"".join(
            wire.tool_start(at + n, sent.id, sent.name, calls[n - 1].value if sent.value else {})
            + b"".join(wire.fragment(at + n, text) for text in fragments(chance, sent.text))
            + wire.stop(at + n)
            for n, sent in enumerate(calls)
        )
    ),
    "input in the start alone": lambda chance, at, calls: MessagesCalls(
        b"".join(
            wire.tool_start(at + n, sent.id, sent.name, sent.value) + wire.stop(at + n)
            for n, sent in enumerate(calls)
        )
    ),
    "stopped twice": lambda chance, at, calls: MessagesCalls(
        b"".join(_block(chance, at + n, sent) + wire.stop(at + n) for n, sent in enumerate(calls))
    ),
    "behind the stop reason": lambda chance, at, calls: MessagesCalls(b"", _blocks(chance, at, calls)),
    "again behind the stop reason": lambda chance, at, calls: MessagesCalls(
        _blocks(chance, at, calls), _blocks(chance, at + len(calls), calls)
    ),
    "a beginning lost": lambda chance, at, calls: MessagesCalls(
        b"".join(_one_beginning_lost(chance, [_events(chance, at + n, sent) for n, sent in enumerate(calls)]))
    ),
    "a beginning lost, and again": lambda chance, at, calls: MessagesCalls(
        b"".join(_one_beginning_lost(chance, [_events(chance, at + n, sent) for n, sent in enumerate(calls)]))
        + _blocks(chance, at + len(calls), calls)
    ),
}


# Responses


def _call(chance: random.Random, upstream: Upstream, sent: Sent) -> Json:
    upstream.call(sent.name, *fragments(chance, sent.text), call_id=sent.id)
    return upstream.output[-1]


def _calls(chance: random.Random, upstream: Upstream, calls: list[Sent]) -> None:
    for sent in calls:
        _call(chance, upstream, sent)


def _done_twice(chance: random.Random, upstream: Upstream, calls: list[Sent]) -> None:
    for sent in calls:
        place = len(upstream.output)
        item = _call(chance, upstream, sent)
        upstream.say("response.output_item.done", output_index=place, item=item)


def _stated_twice(chance: random.Random, upstream: Upstream, calls: list[Sent]) -> None:
    for sent in calls:
        item = _call(chance, upstream, sent)
        where = {"item_id": item["id"], "output_index": len(upstream.output) - 1}
        upstream.say("response.function_call_arguments.done", **where, arguments=sent.text)


def _again(chance: random.Random, upstream: Upstream, calls: list[Sent]) -> None:
    _calls(chance, upstream, calls)
    _calls(chance, upstream, calls)


def _listed_twice(chance: random.Random, upstream: Upstream, calls: list[Sent]) -> None:
    _calls(chance, upstream, calls)
    upstream.output += upstream.output[-len(calls) :]


def _only_listed(chance: random.Random, upstream: Upstream, calls: list[Sent]) -> None:
    for sent in calls:
        events = len(upstream.events)
        _call(chance, upstream, sent)
        del upstream.events[events:]


def _ended_twice(chance: random.Random, upstream: Upstream, calls: list[Sent]) -> None:
    _calls(chance, upstream, calls)
    upstream.end("completed")


def _woven_items(*, one_place: bool = False, named: bool = True, wrong: str = "") -> Callable[..., None]:
    def write(chance: random.Random, upstream: Upstream, calls: list[Sent]) -> None:
        begin = len(upstream.output)
        rows, items = [], []
        for number, sent in enumerate(calls):
            place = begin if one_place else begin + number
            kind = {"id": f"fc_w{number}", "type": "function_call", "call_id": sent.id, "name": sent.name}
            item = {**kind, "status": "in_progress", "arguments": ""}
            upstream.say("response.output_item.added", output_index=place, item=item)
            where = {"output_index": place, **({"item_id": item["id"]} if named else {})}
            others = {
                "item_id": f"fc_w{(number + 1) % len(calls)}",
                "output_index": begin + (number + 1) % len(calls),
            }
            rows.append(
                [
                    ({**where, wrong: others[wrong]} if wrong and chance.random() < 0.5 else where, text)
                    for text in fragments(chance, sent.text)
                ]
            )
            items.append((place, {**item, "status": "completed", "arguments": sent.text}))
        for where, text in woven(chance, rows):
            upstream.say("response.function_call_arguments.delta", **where, delta=text)
        for place, item in items:
            upstream.finish(place, item)

    return write


def _stated_otherwise(chance: random.Random, upstream: Upstream, calls: list[Sent]) -> None:
    """Write the deltas of each call, and end its item with the arguments of another call."""
    for sent, other in zip(calls, [*calls[1:], calls[0]], strict=True):
        place = len(upstream.output)
        item = {"id": f"fc_{place}", "type": "function_call", "call_id": sent.id, "name": sent.name}
        upstream.say("response.output_item.added", output_index=place, item={**item, "arguments": ""})
        where = {"item_id": item["id"], "output_index": place}
        for text in fragments(chance, sent.text):
            upstream.say("response.function_call_arguments.delta", **where, delta=text)
        both = isinstance(sent.value, dict) and sent.value and isinstance(other.value, dict)
        upstream.finish(place, {**item, "status": "completed", "arguments": other.text if both else sent.text})


def _renamed(chance: random.Random, upstream: Upstream, calls: list[Sent]) -> None:
    """Write items whose end has other ids than their beginning."""
    for sent in calls:
        begin = len(upstream.events)
        _call(chance, upstream, sent)
        for event in upstream.events[begin:]:
            if event["type"] == "response.output_item.done":
                event["item"] = {**event["item"], "id": f"{event['item']['id']}_d", "call_id": f"{sent.id}_d"}


def _silent(chance: random.Random, upstream: Upstream, calls: list[Sent]) -> None:
    for sent in calls:
        place = len(upstream.output)
        item = {"id": f"fc_{place}", "type": "function_call", "call_id": sent.id, "name": sent.name}
        upstream.say("response.output_item.added", output_index=place, item={**item, "arguments": ""})
        upstream.finish(place, {**item, "status": "completed", "arguments": sent.text})


def _added_lost(chance: random.Random, upstream: Upstream, calls: list[Sent]) -> None:
    """One of the items is never announced."""
    begin = len(upstream.events)
    _calls(chance, upstream, calls)
    added = [event for event in upstream.events[begin:] if event["type"] == "response.output_item.added"]
    upstream.events.remove(chance.choice(added))


RESPONSES: dict[str, Callable[[random.Random, Upstream, list[Sent]], None]] = {
    "one after the other": _calls,
    "without deltas": _silent,
    "woven": _woven_items(),
    "woven in one place": _woven_items(one_place=True),
    "woven, items not named": _woven_items(named=False),
    "woven, the item of another call": _woven_items(wrong="item_id"),
    "woven, the index of another call": _woven_items(wrong="output_index"),
    "stated otherwise": _stated_otherwise,
    "other ids at the end": _renamed,
    "done twice": _done_twice,
    "stated twice": _stated_twice,
    "again as another item": _again,
    "listed twice at the end": _listed_twice,
    "only listed at the end": _only_listed,
    "ended twice": _ended_twice,
    "a beginning lost": _added_lost,
}


# Z.AI


def _blocks_of(backend: Backend, calls: list[Sent], before: str = "\n\n") -> None:
    for sent in calls:
        document = backend.document
        if len(sent.text) > 4:
            backend.become(document + before + block(sent.name, sent.text[: len(sent.text) // 2], sent.id))
        backend.become(document + before + block(sent.name, sent.text, sent.id))


def _zai_blocks(chance: random.Random, backend: Backend, calls: list[Sent]) -> None:
    _blocks_of(backend, calls)
    backend.usage()


def _zai_blocks_again(chance: random.Random, backend: Backend, calls: list[Sent]) -> None:
    _blocks_of(backend, calls)
    _blocks_of(backend, calls)
    backend.usage()


def _zai_delta(sent: Sent, text: str, *, first: bool, identity: bool) -> Json:
    data: Json = {"phase": "tool_call", "delta_arguments": text, "metadata": {"type": "function"}}
    if first:
        data["delta_name"] = sent.name
    if first or identity:
        data["metadata"]["tool_call_id"] = sent.id
    return data


def _zai_rows(chance: random.Random, calls: list[Sent], *, identity: bool = False) -> list[list[Json]]:
    return [
        [
            _zai_delta(sent, text, first=not at, identity=identity)
            for at, text in enumerate(fragments(chance, sent.text))
        ]
        for sent in calls
    ]


def _zai_deltas(rows: list[Json], backend: Backend) -> None:
    for data in rows:
        backend.say(**data)
    backend.usage()


ZAI: dict[str, Callable[[random.Random, Backend, list[Sent]], None]] = {
    "blocks": _zai_blocks,
    "blocks again": _zai_blocks_again,
    "deltas": lambda chance, backend, calls: _zai_deltas(_flat(_zai_rows(chance, calls)), backend),
    "deltas with ids": lambda chance, backend, calls: _zai_deltas(
        _flat(_zai_rows(chance, calls, identity=True)), backend
    ),
    "deltas woven": lambda chance, backend, calls: _zai_deltas(
        woven(chance, _zai_rows(chance, calls, identity=True)), backend
    ),
    "deltas woven, ids at the beginning": lambda chance, backend, calls: _zai_deltas(
        woven(chance, _zai_rows(chance, calls)), backend
    ),
    "deltas again": lambda chance, backend, calls: _zai_deltas(
        [*_flat(_zai_rows(chance, calls)), *_flat(_zai_rows(chance, calls))], backend
    ),
}

DOCUMENT = {"once": 1, "again": 2, "again and again": 3}
"""How often a call appears in a document."""

WAYS: dict[str, list[str]] = {
    "chat": list(CHAT),
    "messages": list(MESSAGES),
    "responses": list(RESPONSES),
    "zai": list(ZAI),
    "document": list(DOCUMENT),
}
"""How calls are sent, by protocol."""
