"""All parts of the fuzzer, by name."""

from __future__ import annotations

from . import answers, arguments, document, meant, requests, text, truncated, wire
from .part import Part

PARTS: dict[str, Part] = {
    part.name: part
    for module in (wire, answers, truncated, meant, arguments, text, document, requests)
    for part in module.PARTS
}
