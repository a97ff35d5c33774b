"""What `mutations.py` takes away still stands where it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from .mutation import Mutation
from .mutations import MUTATIONS
from .promises import PROMISES

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "mutation", (*MUTATIONS, *PROMISES), ids=lambda mutation: f"{mutation.fault}, {mutation.removed}"
)
def test_the_protection_stands_where_the_mutation_takes_it_away(mutation: Mutation) -> None:
    for file, protection, _ in mutation.changes:
        assert protection in (ROOT / file).read_text(encoding="utf-8")
