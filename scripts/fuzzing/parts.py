"""All parts of the fuzzer, by name."""

from __future__ import annotations

from . import answers, arguments, document, healthy_answers, meant, requests, text, truncated, wire, written
from .part import Part

PARTS: dict[str, Part] = {
    part.name: part
    for module in (wire, answers, truncated, meant, written, arguments, text, document, requests, healthy_answers)
    for part in module.PARTS
}
