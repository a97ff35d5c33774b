"""Changes of a request: what the changed text says is what the changed value is, so that nobody has to read it again."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from toolcalls.request.edits import Edits, Path, Uneditable, texts_at

KEYS = "abc"


def value(random: Random, depth: int = 0) -> Any:
    kind = random.randrange(6 if depth < 4 else 3)
    if kind < 3:
        return random.choice([1, 1.5, True, None, "ä\n", '"', "\ud800"])
    size = random.randrange(4)
    if kind == 3:
        return [value(random, depth + 1) for _ in range(size)]
    return {key: value(random, depth + 1) for key in KEYS[:size]}


def change(random: Random, edits: Edits, inside: Any, at: Path = ()) -> None:
    """Changes at random places of a value, as many as it likes."""
    if isinstance(inside, list) and random.random() < 0.2:
        order: list[int | str] = [*range(len(inside)), '{"new":1}']
        random.shuffle(order)
        edits.arrange(at, order)
    if isinstance(inside, dict) and random.random() < 0.2:
        edits.add(at, "added", '"new"')
    for step, entry in inside.items() if isinstance(inside, dict) else enumerate(inside):
        place, what = (*at, step), random.randrange(8)
        if what == 0:
            edits.replace(place, '["replaced"]')
        elif what == 1:
            edits.remove(place)
        elif what == 2:
            edits.rewrite(place, lambda text: f'{{"was":{text}}}')
        elif isinstance(entry, dict | list):
            change(random, edits, entry, place)


@pytest.mark.parametrize("seed", range(300))
def test_the_changed_value_is_what_the_changed_text_says(seed: int) -> None:
    random = Random(seed)
    before = {"a": value(random), "b": [value(random) for _ in range(4)], "c": value(random)}
    edits = Edits()
    change(random, edits, before)
    kept = json.dumps(before)
    after = edits.applied_to(json.dumps(before, indent=random.choice([None, 1])).encode())
    assert edits.applied_to_value(before) == json.loads(after)
    assert json.dumps(before) == kept, "what was decoded is shared, and stays as it was"


def test_the_value_of_a_request_inside_a_message_is_changed_too() -> None:
    message = {"type": "x", "response": {"input": [1, 2]}}
    edits = Edits()
    edits.remove(("response", "input", 0))
    edits.applied_to(json.dumps(message).encode())
    assert edits.applied_to_value(message["response"], ("response",)) == {"input": [2]}


def test_of_a_key_that_comes_twice_the_last_one_is_changed() -> None:
    edits = Edits()
    edits.rewrite(("a", "b"), lambda text: text[:-1] + '!"')
    body = b'{"a": {"b": "first", "b": "last"}}'
    assert json.loads(edits.applied_to(body)) == {"a": {"b": "last!"}}
    assert edits.applied_to_value(json.loads(body)) == {"a": {"b": "last!"}}


@pytest.mark.parametrize("number", ["NaN", "1e999"])
def test_a_repeated_key_beside_a_number_that_json_does_not_have_cannot_be_changed(number: str) -> None:
    edits = Edits()
    edits.replace(("a",), "3")
    with pytest.raises(Uneditable):
        edits.applied_to(f'{{"a": 1, "a": 2, "n": {number}}}'.encode())
    assert edits.applied_to(f'{{"a": 1, "n": {number}}}'.encode()) == f'{{"a": 3, "n": {number}}}'.encode()


def test_texts_are_found_as_they_stand() -> None:
    assert texts_at(b'{"a": [1.0, {"b": "\\u00e4"}]}', [("a", 0), ("a", 1, "b")]) == {
        ("a", 0): "1.0",
        ("a", 1, "b"): '"\\u00e4"',
    }
