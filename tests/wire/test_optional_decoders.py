"""Which optional decoders a supported mitmproxy brings, and that each of them is one that we know."""

from __future__ import annotations

import re
import sys
from importlib.metadata import requires, version
from importlib.util import find_spec

import pytest

from scripts.shared import zstd_writer
from toolcalls.wire.encoding import ZSTD_LIBRARIES, readable, zstd_frames

BROUGHT = {"zstandard": "zstandard", "backports.zstd": "backports.zstd"}
"""The packages that mitmproxy depends on for zstd, and the modules in them: the first up to 12.2, the second from 12.3 on."""


def depended_on() -> set[str]:
    """The packages that the installed mitmproxy depends on, on this Python."""
    names = set()
    for line in requires("mitmproxy") or []:
        words, _, condition = line.partition(";")
        older = re.search(r'python_version < "3\.(\d+)"', condition)
        if "extra" not in condition and (older is None or sys.version_info < (3, int(older[1]))):
            names.add(re.split(r"[<>=~! ]", words, maxsplit=1)[0].lower())
    return names


def test_mitmproxy_brings_a_library_for_each_encoding_that_we_undo() -> None:
    known = depended_on()
    assert "brotli" in known
    brought = [module for package, module in BROUGHT.items() if package in known]
    if not brought:
        assert sys.version_info >= (3, 14), f"mitmproxy {version('mitmproxy')} brings no zstd that we know"
        brought = ["compression.zstd"]
    assert zstd_frames(tuple(brought)) is not None
    assert all(map(readable, ("gzip", "deflate", "br", "zstd")))


def installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.parametrize("name", [name for name in ZSTD_LIBRARIES if installed(name)])
def test_every_library_that_is_there_reads_frames_and_keeps_to_the_window(name: str) -> None:
    make = zstd_frames((name,))
    assert make is not None
    frame = make()
    packed = zstd_writer.compress(b"hello " * 1000)
    got = b"".join(frame.decompress(packed[at : at + 1]) for at in range(len(packed)))
    assert (got, frame.eof, frame.unused_data) == (b"hello " * 1000, True, b"")
    frame = make()
    frame.decompress(packed + b"more")
    assert (frame.eof, frame.unused_data) == (True, b"more")
    with pytest.raises(Exception, match="too much memory"):
        make().decompress(zstd_writer.compress_with_window(b"x" * 1000, 27))


def test_without_any_library_a_zstd_answer_passes_as_it_came() -> None:
    assert zstd_frames(()) is None
