"""The script in a mitmproxy of its own. And Hypothesis tries the same examples in every run, so that one commit gives one result on every machine.

    TOOLFIX_EXPLORE=1 scripts/test tests/mend      # other examples each time

`scripts/fuzz` is what looks for new ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings
from mitmproxy.test import taddons

from toolcalls.proxy import flows as live
from toolfix import Toolfix

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile("explore" if os.environ.get("TOOLFIX_EXPLORE") else "same")


LONGEST = (
    *("test_soak.py", "test_sizes.py", "test_resets.py", "test_e2e_run.py", "test_e2e_turns.py", "test_lag.py"),
    *("test_quotations.py", "test_calls_in_reasoning.py", "test_fail_open.py", "test_bench.py", "test_readme.py"),
    *("test_memory.py", "test_mutations.py", "test_regular_expressions.py", "test_false_positives.py"),
    *("test_passed_text.py", "test_any_split.py", "test_text_corpus.py", "test_inflation.py"),
)
"""Files that take long, the longest first: whoever gets one of them last makes all the others wait."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    order = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.name, len(order)))


@pytest.fixture
def addon() -> Toolfix:
    live.flows.clear()  # It outlives the script, and so the test before.
    return Toolfix()


@pytest.fixture
def context(addon: Toolfix) -> Iterator[taddons.context]:
    with taddons.context(addon) as context:
        context.configure(addon, toolfix_mode="repair")
        yield context
