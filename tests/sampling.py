"""A part of many cases of one kind, another part for each wire, so that CI stays short. WHOLE=1 runs all of them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

Case = TypeVar("Case")
WHOLE = os.environ.get("WHOLE") == "1"


def part(cases: Iterable[Case], one_in: int, first: int = 0) -> list[Case]:
    """One case in so many, from the `first` on; where there are few of them, all."""
    every = list(cases)
    return every if WHOLE or len(every) < 4 * one_in else every[first % one_in :: one_in]
