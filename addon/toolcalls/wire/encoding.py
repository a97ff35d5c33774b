"""Content encodings, undone piece by piece and within limits, for servers that compress although we did not ask.

A few hundred bytes can decode to a gigabyte of zeros, and the libraries that mitmproxy brings cannot limit their
output in every version. So they get slices too short to become large, and the output is counted after each slice.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Final, NamedTuple, Protocol

MIB = 1024 * 1024

MAX_INFLATED = 8 * MIB
"""How many bytes any stream may decode to: fewer than may be held, so that they cannot force out a held call..."""

MAX_RATIO = 64
"""...plus this many per byte that arrived; JSON has a ratio of 5 to 20."""

MAX_WHOLE = 64 * MIB
"""How many bytes a body may decode to if it is decoded as a whole."""

MAX_WINDOW = 8 * MIB
"""How much memory a zstd frame may ask for: the limit that RFC 9659 sets for content encodings."""

ZSTD_LIBRARIES: Final = ("compression.zstd", "backports.zstd", "zstandard")
"""The first that is installed is used: Python's own, or the one that this mitmproxy brings. mitmproxy up to 12.2
depends on `zstandard`; 12.3 on `backports.zstd`, the module of Python 3.14 for older Pythons."""


class Corrupt(Exception):
    """The body is not in the encoding that its header names: the upstream's fault, not ours."""


class Inflated(Corrupt):
    """The body decodes to more than the limit. `before`: what was decoded until then."""

    def __init__(self, message: str, before: bytes) -> None:
        super().__init__(message)
        self.before = before


class CodedFrame(Protocol):
    """The decoder of one frame; all zstd libraries, and zlib, have objects of this form."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, /) -> bytes: ...


class _BrotliFrame:
    """A Brotli stream in the form that the decoders of the other encodings have."""

    unused_data = b""

    def __init__(self) -> None:
        import brotli  # mitmproxy brings it; loaded only if an upstream uses it

        self._object = brotli.Decompressor()

    @property
    def eof(self) -> bool:
        return bool(self._object.is_finished())

    def decompress(self, data: bytes, /) -> bytes:
        return bytes(self._object.process(data))


@cache
def zstd_frames(names: tuple[str, ...] = ZSTD_LIBRARIES) -> Callable[[], CodedFrame] | None:
    """The factory for decoders of one zstd frame; None without a library."""
    for name in names:
        try:
            library = import_module(name)
        except ImportError:
            continue
        if hasattr(library, "DecompressionParameter"):
            options = {library.DecompressionParameter.window_log_max: MAX_WINDOW.bit_length() - 1}
            return lambda: library.ZstdDecompressor(options=options)
        make: Callable[[], CodedFrame] = library.ZstdDecompressor(max_window_size=MAX_WINDOW).decompressobj
        return make
    return None


def _zstd(_: bytes) -> CodedFrame:
    make = zstd_frames()
    assert make is not None, "nobody asks for a codec that is not there"
    return make()


class Codec(NamedTuple):
    """`slice`: how many bytes are decoded at once, so few that their output fits into memory in any case.

    `make`: the decoder of the gzip member or zstd frame that begins with these bytes. Some servers end one with each
    flush.
    """

    slice: int
    make: Callable[[bytes], CodedFrame]
    another: Callable[[bytes], bool]
    """Whether another frame may begin with these bytes, behind the end of one."""


def _wrapped(first: bytes) -> bool:
    """Whether deflated data is wrapped as the standard wants it; some servers send it raw."""
    return first[0] & 0x0F == 8


_GZIP = Codec(1024, lambda _: zlib.decompressobj(zlib.MAX_WBITS | 16), bool)  # a byte decodes to at most 1032
_CODECS = {
    "gzip": _GZIP,
    "x-gzip": _GZIP,
    "deflate": Codec(
        1024, lambda first: zlib.decompressobj(zlib.MAX_WBITS * (1 if _wrapped(first) else -1)), _wrapped
    ),
    "br": Codec(16, lambda _: _BrotliFrame(), lambda _: False),  # ten bytes can decode to 16 MiB
    "zstd": Codec(256, _zstd, bool),  # a block of four bytes can decode to 128 KiB
}


class Decoder:
    """One content encoding, undone chunk by chunk; the result does not depend on how the network cut the chunks."""

    def __init__(self, name: str, codec: Codec, room: int = MAX_INFLATED, ratio: int = MAX_RATIO) -> None:
        self._name, self._codec, self._room, self._ratio = name, codec, room, ratio
        self._frame: CodedFrame | None = None
        self._took = self._made = 0

    @property
    def ended(self) -> bool:
        """Whether the end of the encoded data was reached."""
        return self._frame is not None and self._frame.eof

    def decode(self, data: bytes) -> bytes:
        """Decode a chunk; raises Corrupt, or Inflated if the output exceeds the limit."""
        slice = self._codec.slice
        decoded: list[bytes] = []
        at = 0
        while at < len(data):
            # Slices are counted from the beginning of the stream, and the limit is checked only after whole ones.
            taken = data[at : at + slice - self._took % slice]
            try:
                piece = self._step(taken)
            except Exception as error:
                raise Corrupt(str(error)) from error
            at += len(taken)
            self._took += len(taken)
            self._made += len(piece)
            most = self._room + self._ratio * self._took
            if self._made > most and self._took % slice == 0:
                raise Inflated(
                    f"{self._took:,} bytes of {self._name} decompress to more than {most // MIB} MiB",
                    b"".join(decoded),
                )
            decoded.append(piece)
        return b"".join(decoded)

    def _step(self, data: bytes) -> bytes:
        decoded: list[bytes] = []
        while data:
            if self._frame is None or self._frame.eof:
                if self._frame is not None and not self._codec.another(data):
                    raise ValueError("there is something behind the end")
                self._frame = self._codec.make(data)
            decoded.append(self._frame.decompress(data))
            data = self._frame.unused_data
        return b"".join(decoded)


def readable(encoding: str) -> bool:
    """Whether this is a content encoding that we can undo, or none at all.

    The library of a codec may be missing: a mitmproxy that brings another one must not break answers.
    """
    name = encoding.strip().lower()
    if name == "br":
        return find_spec("brotli") is not None
    return zstd_frames() is not None if name == "zstd" else name in ("", "identity", *_CODECS)


def decoder(encoding: str, *limits: int) -> Decoder | None:
    """The decoder of one content encoding, with the `room` and `ratio` given; None if there is nothing to undo."""
    name = encoding.strip().lower()
    codec = _CODECS.get(name)
    return Decoder(name, codec, *limits) if codec and readable(encoding) else None


def decode_whole(body: bytes, encoding: str, most: int = MAX_WHOLE) -> bytes:
    """Decode a whole body. Raises Corrupt also if its end is missing."""
    if not readable(encoding):
        raise Corrupt(f"{encoding!r} is not known")
    undo = decoder(encoding, most, 0) if body else None
    if undo is None:
        return body
    decoded = undo.decode(body)
    if not undo.ended:
        raise Corrupt("the end is missing")
    return decoded
