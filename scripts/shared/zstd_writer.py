"""Writes zstd with whichever library is installed, the same as `toolcalls.wire.encoding` reads with."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from toolcalls.wire.encoding import ZSTD_LIBRARIES


def _library() -> Any:
    for name in ZSTD_LIBRARIES:
        try:
            return import_module(name)
        except ImportError:
            continue
    raise ImportError(f"none of {', '.join(ZSTD_LIBRARIES)} is installed: mitmproxy brings one of them")


library = _library()


def compress(data: bytes) -> bytes:
    """One frame."""
    packed: bytes = library.compress(data)
    return packed


def compress_with_window(data: bytes, window_log: int) -> bytes:
    """One frame that requires a window of 2 to the power of `window_log` bytes."""
    if hasattr(library, "CompressionParameter"):
        packer = library.ZstdCompressor(options={library.CompressionParameter.window_log: window_log})
        parts = [packer.compress(data), packer.flush()]
    else:
        parameters = library.ZstdCompressionParameters.from_level(3, window_log=window_log)
        packer = library.ZstdCompressor(compression_params=parameters).compressobj()
        parts = [packer.compress(data), packer.flush()]
    return b"".join(parts)


def decompress(data: bytes) -> bytes:
    """The content of one frame, up to a mebibyte."""
    if hasattr(library, "DecompressionParameter"):
        return bytes(library.decompress(data))
    return bytes(library.ZstdDecompressor().decompress(data, 1 << 20))
