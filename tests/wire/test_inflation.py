"""Rule 8 for content encodings: a small body never becomes gigabytes, and what happens instead is defined."""

from __future__ import annotations

import json
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import http
from mitmproxy.test import tutils

from scripts.shared import zstd_writer
from tests.bombs import BOMBS, MIB, gzipped
from tests.chat_client import read
from tests.pace import quick
from tests.protocols.test_chat import chunk, piece, question
from tests.splits import cut
from toolcalls.engine import Response
from toolcalls.proxy import flow_files
from toolcalls.proxy.body_stream import BodyStream
from toolcalls.wire.encoding import (
    MAX_INFLATED,
    MAX_RATIO,
    Corrupt,
    Inflated,
    decode_whole,
    decoder,
)

ROOT = Path(__file__).parents[2]
TEXT = chunk({"content": "before"}).encode()

CHILD = """
import json, resource, sys
from tests.bombs import BOMBS
from toolcalls.engine import Response
from toolcalls.wire.encoding import Inflated, decode_whole

name, how = sys.argv[1:]
bomb = open(0, "rb").read()
start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
if how == "whole":
    try:
        said = f"{len(decode_whole(bomb, name)):,} bytes came out"
    except Inflated as error:
        said = str(error)
else:
    size = int(how)
    answer = Response("chat", encoding=name)
    sent = 0
    for at in range(0, len(bomb), size):
        sent += sum(map(len, answer.feed(bomb[at : at + size])))
    sent += sum(map(len, answer.close()))
    said = sent if isinstance(answer.failure, Inflated) else repr(answer.failure)
print(json.dumps([said, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start) / 1024]))
"""


def grown(name: str, how: str, bomb: bytes) -> tuple[Any, float]:
    """What a process of its own says, and by how many MiB its memory grew."""
    environment = {"PYTHONPATH": f"{ROOT / 'addon'}:{ROOT}"}
    done = subprocess.run(
        [sys.executable, "-c", CHILD, name, how], input=bomb, capture_output=True, env=environment, check=True
    )
    said, mib = json.loads(done.stdout)
    return said, mib


@pytest.mark.parametrize("name", BOMBS)
def test_a_gigabyte_in_a_small_body_is_never_in_memory(name: str) -> None:
    bomb = BOMBS[name](TEXT)
    assert len(bomb) < 2 * MIB
    said, mib = grown(name, "whole", bomb)
    assert "64 MiB" in said
    assert mib < 300
    sent, mib = grown(name, "65535", bomb)
    assert isinstance(sent, int), "it was not cut off"
    assert sent <= MAX_INFLATED * 1.5
    assert mib < 150


@pytest.mark.parametrize("name", BOMBS)
def test_in_small_chunks_it_ends_too(name: str) -> None:
    """Some of it goes on: each chunk alone is not too much."""
    sent, mib = grown(name, "1000", BOMBS[name](TEXT)[:300_000])
    assert isinstance(sent, int), "it was not cut off"
    assert sent <= MAX_INFLATED * 1.5
    assert mib < 150


@pytest.mark.parametrize("name", BOMBS)
def test_the_answer_ends_where_it_inflates_however_it_is_cut(name: str) -> None:
    bomb = BOMBS[name](TEXT)
    ends = set()
    for size in (len(bomb), 40_000, 7919):
        answer = Response("chat", encoding=name)
        out = b"".join(sent for part in (*cut(bomb, size), b"more") for sent in answer.feed(part))
        out += b"".join(answer.close())
        assert out.startswith(TEXT) and not out[len(TEXT) :].strip(b"\0")
        assert isinstance(answer.failure, Inflated)
        assert not answer.holding
        ends.add(len(out))
    assert len(ends) == 1


def test_a_call_that_is_cut_off_by_it_never_runs_and_a_complete_one_comes_out() -> None:
    whole = piece(0, "a", "Bash", '{"command": "ls"}')
    half = piece(1, "b", "Bash", '{"command": "rm -rf /')
    head = "".join([chunk({"content": "x"}), chunk(whole), chunk(half)]).encode()
    answer = Response("chat", question("Bash"), encoding="gzip")
    packed = gzipped(head)
    out = b"".join(answer.feed(packed) + answer.feed(BOMBS["gzip"]()) + answer.close())
    assert b"rm -rf" not in out
    assert ("Bash", '{"command": "ls"}') in read(out.replace(b"\0", b"")).call_list()


@pytest.mark.parametrize("name", BOMBS)
def test_observed_it_passes_as_it_came(name: str) -> None:
    bomb = BOMBS[name](TEXT)
    guard = BodyStream(Response("chat", encoding=name), observe=True)
    assert b"".join([*guard.feed(bomb[:100]), *guard.feed(bomb[100:]), *guard.end()]) == bomb


@pytest.mark.parametrize("observe", [False, True])
@pytest.mark.parametrize("name", BOMBS)
def test_a_recording_holds_what_came_before_it(name: str, observe: bool) -> None:
    stream = BodyStream(Response("chat", encoding=name), observe=observe)
    for part in cut(BOMBS[name](TEXT), 10_000):
        stream.feed(part)
    stream.end()
    out = stream.exchange.before.joined()
    assert out.startswith(TEXT) and not out[len(TEXT) :].strip(b"\0")
    assert len(out) <= MAX_INFLATED * 1.5


def test_a_recording_of_what_is_not_as_its_header_says_holds_the_rest_as_it_came() -> None:
    packed, stream = gzipped(TEXT * 100), BodyStream(Response("chat", encoding="gzip"))
    chunks = [packed[:40], b"no gzip at all", b"nor this"]
    out = b"".join(sent for chunk in chunks for sent in stream.feed(chunk))
    kept = stream.exchange.before.joined()
    assert kept == out and kept.endswith(b"no gzip at allnor this")


def test_a_body_that_is_not_all_there_or_unknown_cannot_be_decoded_as_a_whole() -> None:
    packed = gzipped(TEXT)
    assert decode_whole(packed, "gzip") == TEXT
    assert decode_whole(b"", "gzip") == b""
    for body, name in ((packed[:-5], "gzip"), (packed, "br"), (packed, "bz2")):
        with pytest.raises(Corrupt):
            decode_whole(body, name)
        asked = tutils.treq(headers=http.Headers(content_encoding=name), content=body)
        assert flow_files.content(asked) == body


def test_as_much_as_is_allowed_passes() -> None:
    undo = decoder("gzip")
    assert undo is not None
    assert len(undo.decode(gzipped(bytes(MAX_INFLATED)))) == MAX_INFLATED


def test_a_stream_that_is_packed_well_may_be_of_any_length() -> None:
    """Events that differ in a word: 30 to 1, for as long as they come."""
    events = b"".join(TEXT.replace(b"before", b"%08x" % (word * 2654435761 % 2**32)) for word in range(2000))
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    undo = decoder("gzip")
    assert undo is not None
    made = took = 0
    while made < 4 * MAX_INFLATED:
        packed = packer.compress(events) + packer.flush(zlib.Z_SYNC_FLUSH)
        took += len(packed)
        made += len(undo.decode(packed))
    assert 10 < made / took < MAX_RATIO


def test_a_zstd_frame_cannot_ask_for_more_memory_than_the_standard_allows() -> None:
    with pytest.raises(Corrupt, match="too much memory"):
        decode_whole(zstd_writer.compress_with_window(TEXT, 27), "zstd")


def test_zstd_frames_one_behind_another_are_one_body() -> None:
    packed = b"".join(zstd_writer.compress(TEXT[at : at + 20]) for at in range(0, len(TEXT), 20))
    for size in (1, 7, 1000):
        answer = Response("chat", encoding="zstd")
        out = [sent for part in cut(packed, size) for sent in answer.feed(part)]
        assert b"".join([*out, *answer.close()]) == TEXT


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_many_tiny_members_take_linear_time(name: str) -> None:
    """With a copy of the rest for each of them half a megabyte takes minutes."""
    member = gzipped(b"x") if name == "gzip" else zstd_writer.compress(b"x")
    count = 25_000
    with quick(5):
        assert decode_whole(member * count, name) == b"x" * count


def test_what_follows_behind_the_limit_is_still_decoded() -> None:
    """An HTML page, and a held call beyond the limit: from there on the body passes, but not as it is encoded."""
    for body in (b"<html>" + b"page " * 4000 + b"</html>", b"data: " + b"x" * 4000 + b"\n\n" + TEXT):
        for size in (1, 50, 100_000):
            answer = Response("chat", encoding="gzip")
            out = [sent for part in cut(gzipped(body), size) for sent in answer.feed(part)]
            assert b"".join([*out, *answer.close()]) == body
