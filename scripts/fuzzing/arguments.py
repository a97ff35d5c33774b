"""The arguments engine: mutated texts, and damaged ones whose meaning is known."""

from __future__ import annotations

import json
import random
from typing import Any

from . import argument_promises
from .damaged_arguments import damaged
from .mutated_arguments import mutated, texts
from .part import Part, chance_of, need

KNOWN = b"\x01"
"""Marks an input whose meaning is known: a list of the text, the object and the damage."""


def make(chance: random.Random) -> bytes:
    if chance.random() < 0.5:
        return mutated(chance, texts()).encode("utf-8", "surrogatepass")
    return KNOWN + json.dumps(damaged(chance)).encode()


def check(data: bytes) -> None:
    text, meant, how = _read(data)
    report = argument_promises.Report()
    argument_promises.check(report, chance_of(data), text, meant, how)
    need(not report.broken, f"broken promise: {report.broken}")
    need(not report.wrong, f"wrong value: {report.wrong}")


def _read(data: bytes) -> tuple[str, dict[str, Any] | None, str]:
    if data.startswith(KNOWN):
        try:
            text, meant, how = json.loads(data[1:])
            if isinstance(text, str) and isinstance(meant, dict) and how.partition(" in ")[0]:
                return text, meant, how
        except (ValueError, TypeError, AttributeError, RecursionError):
            pass
    return data.decode("utf-8", "replace"), None, "mutation"


def _seeds() -> list[bytes]:
    return [text.encode("utf-8", "surrogatepass") for text in texts()[:200]]


_PROMISES = "never raises, strict JSON or a refusal, stable, never another value than was meant"
PARTS = [Part("arguments", _PROMISES, make, check, _seeds)]
