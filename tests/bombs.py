"""Small bodies that become huge ones, in every content encoding that we undo."""

from __future__ import annotations

import zlib
from functools import cache

import brotli

from scripts.shared import zstd_writer

MIB = 1024 * 1024
BECOMES = 1024 * MIB
"""At least so many bytes."""


@cache
def gzip_bomb(first: bytes = b"") -> bytes:
    packer = zlib.compressobj(9, wbits=zlib.MAX_WBITS | 16)
    member = packer.compress(bytes(64 * MIB)) + packer.flush()
    return gzipped(first) + member * 16


def gzipped(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    return packer.compress(data) + packer.flush()


@cache
def deflate_bomb(first: bytes = b"") -> bytes:
    packer = zlib.compressobj(9)
    start = packer.compress(first) + packer.flush(zlib.Z_FULL_FLUSH)
    # Behind a full flush nothing refers to what came before, so the same bytes can come again and again.
    return start + (packer.compress(bytes(64 * MIB)) + packer.flush(zlib.Z_FULL_FLUSH)) * 16


@cache
def brotli_bomb(first: bytes = b"") -> bytes:
    packer = brotli.Compressor(quality=1)
    pieces = [packer.process(first) + packer.flush()]
    pieces += [packer.process(bytes(256 * MIB)) + packer.flush() for _ in range(4)]
    return b"".join(pieces) + bytes(packer.finish())


@cache
def zstd_bomb(first: bytes = b"") -> bytes:
    return zstd_writer.compress(first) + zstd_writer.compress(bytes(64 * MIB)) * 16


BOMBS = {"gzip": gzip_bomb, "deflate": deflate_bomb, "br": brotli_bomb, "zstd": zstd_bomb}
