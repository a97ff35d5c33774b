"""A protection that is taken away, and the test that has to fail then."""

from __future__ import annotations

from typing import NamedTuple

ENGINE = "addon/toolcalls/"


class Mutation(NamedTuple):
    fault: str
    test: str
    """File and words of the name."""
    removed: str
    """What is taken away, for the table."""
    changes: tuple[tuple[str, str, str], ...]
    """File, what stands there, what stands there instead."""
