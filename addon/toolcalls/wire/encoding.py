"""Content encodings, undone piece by piece and within limits. For bodies that come compressed although nobody asked.

A few hundred bytes can say "a gigabyte of zeros", and none of the libraries that mitmproxy brings can be told on
every version to stop. So they are fed with slices that are too short to become much, and counted after each.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Protocol

from . import zstd

MIB = 1024 * 1024

MAX_INFLATED = 8 * MIB
"""So many bytes any stream may become: fewer than are held, so that a call that waits is not let go by them..."""

MAX_RATIO = 64
"""...and so many more for each byte that came: JSON has 5 to 20."""

MAX_WHOLE = 64 * MIB
"""Most bytes that a body may become that is decoded as a whole."""

MAX_WINDOW = 8 * MIB
"""What a zstd frame may ask for as memory: the limit that RFC 9659 sets for content encodings."""


class Corrupt(Exception):
    """The body is not in the encoding that its header names: the upstream's fault, not ours."""


class Inflated(Corrupt):
    """The body becomes so large that nobody can have meant it. `before`: what it was until there."""

    def __init__(self, message: str, before: bytes) -> None:
        super().__init__(message)
        self.before = before


class Codec(Protocol):
    slice: int
    """How many bytes are decoded at once: what becomes of them fits into memory whatever they say."""

    @property
    def ended(self) -> bool:
        """Was the end of the encoded data seen?"""

    def step(self, data: bytes) -> bytes:
        """Decode what is there; raises on corrupt data."""


class _Zlib:
    """gzip, and deflate in both of its readings (zlib-wrapped, or raw as some servers send it)."""

    __slots__ = ("_object", "_started")

    slice = 1024  # a byte becomes 1032 at most

    def __init__(self, bits: int) -> None:
        self._object = zlib.decompressobj(bits)
        self._started = bits != zlib.MAX_WBITS

    @property
    def ended(self) -> bool:
        return self._object.eof

    def step(self, data: bytes) -> bytes:
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

    slice = 16  # ten bytes can say 16 MiB; a limit for the output is known to Brotli 1.2 and newer only

    def __init__(self) -> None:
        import brotli  # mitmproxy brings it; loaded only where an upstream uses it

        self._object = brotli.Decompressor()

    @property
    def ended(self) -> bool:
        return bool(self._object.is_finished())

    def step(self, data: bytes) -> bytes:
        return bytes(self._object.process(data))


class _Zstd:
    """One frame after another, as servers send them that end a frame with each flush."""

    __slots__ = ("_frame", "_frames")

    slice = 256  # a block of four bytes can say 128 KiB

    def __init__(self) -> None:
        frames = zstd.frames(MAX_WINDOW)
        assert frames is not None, "nobody asks for a codec that is not there"
        self._frames = frames
        self._frame = frames()

    @property
    def ended(self) -> bool:
        return self._frame.eof

    def step(self, data: bytes) -> bytes:
        decoded = []
        while data:
            if self._frame.eof:
                self._frame = self._frames()
            decoded.append(self._frame.decompress(data))
            data = self._frame.unused_data
        return b"".join(decoded)


_CODECS: dict[str, Callable[[], Codec]] = {
    "gzip": lambda: _Zlib(zlib.MAX_WBITS | 16),
    "x-gzip": lambda: _Zlib(zlib.MAX_WBITS | 16),
    "deflate": lambda: _Zlib(zlib.MAX_WBITS),
    "br": _Brotli,
    "zstd": _Zstd,
}


class Decoder:
    """One content encoding, undone chunk by chunk; how the network cut them decides nothing."""

    __slots__ = ("_codec", "_made", "_ratio", "_room", "_took")

    def __init__(self, codec: Codec, room: int = MAX_INFLATED, ratio: int = MAX_RATIO) -> None:
        self._codec = codec
        self._room = room
        self._ratio = ratio
        self._took = self._made = 0

    @property
    def ended(self) -> bool:
        return self._codec.ended

    def decode(self, data: bytes) -> bytes:
        """Decode what is there; raises Corrupt, and Inflated where all of it would become too much."""
        step, slice = self._codec.step, self._codec.slice
        decoded: list[bytes] = []
        at = 0
        while at < len(data):
            # The slices are those of the whole stream, and only whole ones are looked at.
            taken = data[at : at + slice - self._took % slice]
            try:
                piece = step(taken)
            except Exception as error:
                raise Corrupt(str(error)) from error
            at += len(taken)
            self._took += len(taken)
            self._made += len(piece)
            most = self._room + self._ratio * self._took
            if self._made > most and self._took % slice == 0:
                raise Inflated(f"{self._took:,} bytes become more than {most // MIB} MiB", b"".join(decoded))
            if piece:
                decoded.append(piece)
        return decoded[0] if len(decoded) == 1 else b"".join(decoded)


def readable(encoding: str) -> bool:
    """Is this a content encoding that we can undo (or none at all)?"""
    name = encoding.strip().lower()
    return name in ("", "identity") or (name in _CODECS and _is_there(name))


@cache
def _is_there(name: str) -> bool:
    """Is the library of this codec there? A mitmproxy that brings another one must not cost anybody an answer."""
    if name == "br":
        return find_spec("brotli") is not None
    return name != "zstd" or zstd.frames(MAX_WINDOW) is not None


def decoder(encoding: str, *limits: int) -> Decoder | None:
    """The decoder of one content encoding, with limits of its own; None where there is nothing to undo."""
    make = _CODECS.get(encoding.strip().lower())
    return Decoder(make(), *limits) if make and readable(encoding) else None


def decode_whole(body: bytes, encoding: str, most: int = MAX_WHOLE) -> bytes:
    """A body that is here as a whole. Raises Corrupt where it is not all there, too."""
    if not readable(encoding):
        raise Corrupt(f"{encoding!r} is not known")
    undo = decoder(encoding, most, 0) if body else None
    if undo is None:
        return body
    decoded = undo.decode(body)
    if not undo.ended:
        raise Corrupt("the end is missing")
    return decoded


def decode_if_possible(body: bytes | None, encoding: str) -> bytes:
    """The decoded body, or the body as it came where it cannot be decoded."""
    try:
        return decode_whole(body or b"", encoding)
    except Corrupt:
        return body or b""
