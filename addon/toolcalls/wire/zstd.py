"""Decodes zstd frames with whichever library is installed: Python's own, or the one that this mitmproxy brings.

mitmproxy up to 12.2 depends on `zstandard`; 12.3 on `backports.zstd`, the module of Python 3.14 for older Pythons.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, Final, Protocol

LIBRARIES: Final = ("compression.zstd", "backports.zstd", "zstandard")
"""The first that is installed is used."""


class CodedFrame(Protocol):
    """The decoder of one frame; all these libraries, and zlib, have objects of this form."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, /) -> bytes: ...


def frames(window: int, names: tuple[str, ...] = LIBRARIES) -> Callable[[], CodedFrame] | None:
    """The factory for decoders of one frame, with a `window` of at most this many bytes; None without a library."""
    library = _library(names)
    if library is None:
        return None
    if hasattr(library, "DecompressionParameter"):
        options = {library.DecompressionParameter.window_log_max: window.bit_length() - 1}
        return lambda: library.ZstdDecompressor(options=options)
    make: Callable[[], CodedFrame] = library.ZstdDecompressor(max_window_size=window).decompressobj
    return make


@cache
def _library(names: tuple[str, ...]) -> Any:
    for name in names:
        try:
            return import_module(name)
        except ImportError:
            continue
    return None
