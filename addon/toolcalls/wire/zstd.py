"""Frames of zstd, by whichever library is there: Python's own, or the one that this mitmproxy brings.

mitmproxy up to 12.2 depends on `zstandard`; 12.3 on `backports.zstd`, which is that of Python 3.14 for older ones.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, Final, Protocol

LIBRARIES: Final = ("compression.zstd", "backports.zstd", "zstandard")
"""In the order in which they are tried."""


class ZstdFrame(Protocol):
    """Decodes one frame. Both kinds of library have objects like this one."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, /) -> bytes: ...


def frames(window: int, names: tuple[str, ...] = LIBRARIES) -> Callable[[], ZstdFrame] | None:
    """What makes the decoder of a frame that may ask for a window of so many bytes; None without a library."""
    library = _library(names)
    if library is None:
        return None
    if hasattr(library, "DecompressionParameter"):
        options = {library.DecompressionParameter.window_log_max: window.bit_length() - 1}
        return lambda: library.ZstdDecompressor(options=options)
    make: Callable[[], ZstdFrame] = library.ZstdDecompressor(max_window_size=window).decompressobj
    return make


@cache
def _library(names: tuple[str, ...]) -> Any:
    for name in names:
        try:
            return import_module(name)
        except ImportError:
            continue
    return None
