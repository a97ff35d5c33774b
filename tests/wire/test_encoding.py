"""Content encodings undone piece by piece."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import brotli
import pytest

from scripts.shared import zstd_writer
from tests.splits import splits
from toolcalls.wire.encoding import Corrupt, decoder, readable

TEXT = ("data: " + "渐变 streaming " * 50 + "\n\n").encode()


def raw_deflate(data: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return compressor.compress(data) + compressor.flush()


@pytest.mark.parametrize(
    ("name", "compress"),
    [
        ("gzip", gzip.compress),
        ("x-gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", raw_deflate),
        ("br", brotli.compress),
        ("zstd", zstd_writer.compress),
        ("gzip", lambda data: gzip.compress(data[:100]) + gzip.compress(data[100:])),
    ],
)
def test_a_compressed_body_is_read_however_it_is_cut(name: str, compress: Callable[[bytes], bytes]) -> None:
    for pieces in splits(compress(TEXT)):
        undo = decoder(name)
        assert undo is not None
        assert b"".join(undo.decode(piece) for piece in pieces) == TEXT


def test_an_unknown_encoding_is_left_alone() -> None:
    assert not readable("compress")
    assert readable("") and readable("identity") and readable("GZip ")
    assert decoder("identity") is None


@pytest.mark.parametrize("name", ["gzip", "deflate", "br", "zstd"])
def test_corrupt_data_raises_so_that_the_stream_can_fail_open(name: str) -> None:
    undo = decoder(name)
    assert undo is not None
    with pytest.raises(Exception, match=r"."):
        undo.decode(b"\x08\xffthis is not compressed at all" * 10)


@pytest.mark.parametrize("behind", [b"\n", brotli.compress(b"more"), b"\r\n\r\n"])
@pytest.mark.parametrize("name", ["br", "deflate"])
def test_what_follows_the_end_of_an_encoding_without_frames_is_corrupt_however_it_is_cut(
    name: str, behind: bytes
) -> None:
    whole = (brotli.compress if name == "br" else zlib.compress)(b"data: x\n\n" * 60)
    for at in (len(whole) // 2, len(whole), len(whole) + 1):
        undo = decoder(name)
        assert undo is not None
        with pytest.raises(Corrupt):
            for piece in ((whole + behind)[:at], (whole + behind)[at:], b""):
                undo.decode(piece)
