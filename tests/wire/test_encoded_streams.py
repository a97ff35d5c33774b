"""An encoded answer that we let go: the client was told of no encoding, so the rest of it has none either."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.e2e.stage import broken_call, chat_event
from tests.upstream import compressed
from toolcalls.engine import Response
from toolcalls.policy import Policy
from toolcalls.protocols.chat import Chat

TEXT = [chat_event({"content": f"word {number} "}) for number in range(20)]
ENCODINGS = pytest.mark.parametrize("encoding", ["gzip", "br"])


def received(answer: Response, pieces: list[bytes], encoding: str) -> bytes:
    out = [piece for chunk in compressed(pieces, encoding) for piece in answer.feed(chunk)]
    return b"".join([*out, *answer.close()])


@ENCODINGS
def test_a_page_is_decoded_to_its_end(encoding: str) -> None:
    page = [b"<!DOCTYPE html><html>", b"<body>502 Bad Gateway", b"</body></html>"]
    assert received(Response("chat", encoding=encoding), page, encoding) == b"".join(page)


@ENCODINGS
def test_past_the_limit_the_rest_is_decoded(encoding: str) -> None:
    answer = Response("chat", policy=replace(Policy(), max_held_bytes=300), encoding=encoding)
    pieces = [*broken_call(), *TEXT]
    assert received(answer, pieces, encoding) == b"".join(pieces)
    assert answer.limited


@ENCODINGS
def test_after_a_failure_of_ours_the_rest_is_decoded(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr(Chat, "read", fail)
    answer = Response("chat", encoding=encoding)
    pieces = [*broken_call(), *TEXT]
    assert received(answer, pieces, encoding) == b"".join(pieces)
    assert isinstance(answer.failure, RuntimeError)


def test_from_where_it_is_corrupt_it_passes_as_it_came() -> None:
    first, *_ = compressed(TEXT, "gzip")
    spoilt = [b"\xff" * 20, b"\xfe" * 20]
    answer = Response("chat", encoding="gzip")
    assert b"".join(piece for chunk in [first, *spoilt] for piece in answer.feed(chunk)) == TEXT[0] + b"".join(spoilt)


@ENCODINGS
def test_a_compressed_chunk_that_decodes_to_nothing_yet_sends_no_empty_chunk(encoding: str) -> None:
    """An empty chunk would end a chunked answer, whatever follows it."""
    answer = Response("chat", encoding=encoding)
    packed = b"".join(compressed(TEXT, encoding))
    out = [sent for at in range(len(packed)) for sent in answer.feed(packed[at : at + 1])]
    assert all(out)
    assert b"".join([*out, *answer.close()]) == b"".join(TEXT)
