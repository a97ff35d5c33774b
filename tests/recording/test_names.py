"""Whatever an upstream, a host or a path is called: a recording lies in its directory, and nothing beside it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.recording.test_record import EVENT, exchange
from toolcalls.recording import store
from toolcalls.recording.record import Recorder, directory_name

HOSTILE = [
    "../../etc/passwd", "..", ".", "/", "/etc/cron.d/x", "a/../../b", "..\\..\\x", "C:\\x", "\x00", "a\x00b", "\n", "x" * 5000,
    "é" * 300, "\u202egnp", "\ud800", "~", "~root", "$(touch x)", "`touch x`", "; rm -rf /", "-rf", "*", "%2e%2e%2f", "con", "",
    "．．／", "a\u2215b", " ", "--help", "|x", "&", "'", '"',
]  # fmt: skip
names = st.sampled_from(HOSTILE) | st.text(max_size=40) | st.lists(st.sampled_from(HOSTILE), max_size=3).map("/".join)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names, names, names, names, names)
def test_a_name_is_one_plain_part_of_a_path(host: str, path: str, identity: str, method: str, kind: str) -> None:
    given = exchange(EVENT, host=host, path=path, id=identity, method=method, content_type=kind)
    name = directory_name(given)
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{1,120}", name)
    assert Path(name).name == name


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_nothing_is_written_outside_of_the_record_directory(hostile: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    recorder = Recorder(str(home / "recorded"))
    recorder.write(
        exchange(EVENT, host=hostile, path=hostile, id=hostile, method=hostile, content_type=hostile, protocol="chat")
    )
    recorder.close()
    assert recorder.written == 1
    assert [path.name for path in tmp_path.iterdir()] == ["home"]
    assert [path.name for path in home.iterdir()] == ["recorded"]
    made, *more = (home / "recorded").iterdir()
    assert more == []
    assert {path.name for path in made.iterdir()} == {
        "request.json",
        "before.sse",
        "after.sse",
        "calls.json",
        "flow.json",
    }
    assert store.load(made).before == EVENT


@pytest.mark.parametrize(
    ("body", "suffix"),
    [
        (b'data: {"a":1}\n\n', ".sse"),
        (b'{"a":{"b":1}}\n', ".json"),
        (b'{\n "a": {},\n "b": "}\\n{"\n}\n', ".json"),
        (b'[{"a":1}\n,\n{"a":2}]', ".json"),
        (b'{"a":1}\n{"a":2}\n', ".ndjson"),
        (b'{"a":1}\r\n{"a"', ".ndjson"),
    ],
)
def test_a_body_is_named_by_what_it_is(body: bytes, suffix: str) -> None:
    assert store.suffix_of(body) == suffix
