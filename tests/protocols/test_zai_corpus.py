"""The sample streams of chat.z.ai, whole, byte by byte and cut at random."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.protocols.zai_streams import convert, question, received

CORPUS = Path(__file__).parent / "corpus" / "zai"
STREAMS = sorted(CORPUS.glob("*.sse"))
FIELDS = ("content", "reasoning", "finish_reason", "usage")


def expected_of(path: Path) -> dict[str, Any]:
    return json.loads(path.with_suffix(".expected.json").read_text())


def calls_of(got: dict[str, Any], expected: dict[str, Any]) -> list[dict[str, Any]]:
    generated = expected.get("id_may_be_generated", [])
    for number in generated:
        assert got["tool_calls"][number]["id"].startswith("call_")
    return [{**call, "id": ""} if number in generated else call for number, call in enumerate(got["tool_calls"])]


def check(out: bytes, expected: dict[str, Any]) -> None:
    got = received(out)
    assert {field: got[field] for field in FIELDS} == {field: expected[field] for field in FIELDS}
    assert calls_of(got, expected) == expected["tool_calls"]
    assert got["error"] == expected.get("error")
    assert got["done"]
    assert len(got["ids"]) <= 1
    assert got["roles"] == (0 if expected.get("error") else 1)


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.stem)
@pytest.mark.parametrize("include_usage", [False, True])
def test_a_sample_gives_what_is_expected(path: Path, include_usage: bool):
    expected = expected_of(path)
    asked = question(expected["request_tools"], stream_options={"include_usage": include_usage})
    out = convert(path.read_bytes(), asked=asked, zai="on")
    check(out, expected)
    apart = b'"choices":[],"usage"' in out
    assert apart == (include_usage and expected["usage"] is not None)


@pytest.mark.parametrize("protocol", ["zai", "chat", "auto"])
@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.stem)
def test_the_output_does_not_depend_on_where_the_network_cut(path: Path, protocol: str):
    stream = path.read_bytes()
    asked = question(expected_of(path)["request_tools"])
    whole = convert(stream, asked=asked, zai="on")
    assert convert(stream, 1 if len(stream) < 10_000 else 997, asked, protocol, zai="on") == whole
    chance = random.Random(path.stem)
    for _ in range(20 if len(stream) < 10_000 else 2):
        cuts = sorted(chance.randrange(len(stream)) for _ in range(chance.randrange(1, 40)))
        assert convert(stream, cuts, asked, protocol, zai="on") == whole


@pytest.mark.parametrize("policy", [{"zai": "off"}, {"zai": "auto"}])
@pytest.mark.parametrize("protocol", ["zai", "chat", "auto"])
@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.stem)
def test_without_declared_tools_or_switched_off_every_byte_passes(path: Path, protocol: str, policy: dict[str, Any]):
    stream = path.read_bytes()
    asked = question(() if policy["zai"] == "auto" else ("Bash",))
    assert convert(stream, 1 if len(stream) < 10_000 else 997, asked, protocol, **policy) == stream
