"""`scripts/walk` follows what it says it follows."""

import json
from pathlib import Path

import pytest

import toolcalls
from scripts.walking.walks import WALKS, chat_fragment
from scripts.walking.worker import follow

ENGINE = f"{Path(str(toolcalls.__file__)).parent}/"


@pytest.mark.parametrize("name", WALKS)
def test_a_walk_ends_with_a_call_or_holds_one(name: str) -> None:
    walk = WALKS[name]()
    for chunk in walk.before:
        walk.feed(chunk)
    out = [walk.feed(chunk) for chunk in walk.followed]
    assert ("ls -l" in json.dumps(str(out))) == (name != "chat-fragment")


def test_a_walk_names_functions_of_the_engine_only_once_each() -> None:
    functions = follow(chat_fragment(), ENGINE)["functions"]
    assert ("engine.py", "Response.feed") in functions
    assert len(functions) == len(set(functions))
    assert all((Path(ENGINE) / file).is_file() for file, _ in functions)
