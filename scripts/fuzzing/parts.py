"""All parts by their names."""

from __future__ import annotations

from . import answers, arguments, document, meant, requests, text, wire
from .part import Part

PARTS: dict[str, Part] = {
    part.name: part for module in (wire, answers, meant, arguments, text, document, requests) for part in module.PARTS
}
