"""Content encodings, undone piece by piece. For upstreams that compress although they were asked not to."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Protocol


class Corrupt(Exception):
    """The body is not in the encoding that its header names: the upstream's fault, not ours."""


class Decoder(Protocol):
    def decode(self, data: bytes) -> bytes:
        """Decode what is there; raises on corrupt data."""


class _Zlib:
    """gzip, and deflate in both of its readings (zlib-wrapped, or raw as some servers send it)."""

    __slots__ = ("_object", "_started")

    def __init__(self, bits: int) -> None:
        self._object = zlib.decompressobj(bits)
        self._started = bits != zlib.MAX_WBITS

    def decode(self, data: bytes) -> bytes:
        if not self._started and data:
            self._started = True
            if data[0] & 0x0F != 8:
                self._object = zlib.decompressobj(-zlib.MAX_WBITS)
        decoded = self._object.decompress(data)
        while self._object.eof and self._object.unused_data:
            following = self._object.unused_data
            self._object = zlib.decompressobj(zlib.MAX_WBITS | 16)
            decoded += self._object.decompress(following)
        return decoded


class _Brotli:
    __slots__ = ("_object",)

    def __init__(self) -> None:
        import brotli  # mitmproxy brings it; loaded only where an upstream uses it

        self._object = brotli.Decompressor()

    def decode(self, data: bytes) -> bytes:
        return bytes(self._object.process(data))


class _Zstd:
    __slots__ = ("_object",)

    def __init__(self) -> None:
        import zstandard

        self._object = zstandard.ZstdDecompressor().decompressobj()

    def decode(self, data: bytes) -> bytes:
        return self._object.decompress(data)


_DECODERS: dict[str, Callable[[], Decoder]] = {
    "gzip": lambda: _Zlib(zlib.MAX_WBITS | 16),
    "x-gzip": lambda: _Zlib(zlib.MAX_WBITS | 16),
    "deflate": lambda: _Zlib(zlib.MAX_WBITS),
    "br": _Brotli,
    "zstd": _Zstd,
}


def readable(encoding: str) -> bool:
    """Is this a content encoding that we can undo (or none at all)?"""
    return encoding.strip().lower() in {"", "identity", *_DECODERS}


def decoder(encoding: str) -> Decoder | None:
    """The decoder of one content encoding; None where there is nothing to undo."""
    make = _DECODERS.get(encoding.strip().lower())
    return make() if make else None
