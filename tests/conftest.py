"""The order of the files, the script in a mitmproxy of its own, and Hypothesis with the same examples in every run.

    TOOLFIX_EXPLORE=1 scripts/test tests/mend      # other examples each time

`scripts/fuzz` is what looks for new ones.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator

import pytest
from hypothesis import settings
from mitmproxy.test import taddons

from tests.pace import TRIES, TookTooLong
from tests.sampling import WHOLE
from toolcalls.proxy import http_flows
from toolfix import Toolfix

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile("explore" if os.environ.get("TOOLFIX_EXPLORE") else "same")


collect_ignore = [] if WHOLE else ["test_soak.py", "test_bench.py"]
"""They try the scripts of developers, not what users run."""

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


def pytest_collection_finish() -> None:
    """Leave what pytest keeps of the whole suite to itself: to walk through its 460,000 objects takes 0.3 s each time."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[None]:
    """Try a test again that took too long: its own code is called, with the fixtures that it has."""
    try:
        return (yield)
    except TookTooLong:
        arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
        for left in reversed(range(TRIES - 1)):
            try:
                pyfuncitem.obj(**arguments)
            except TookTooLong:
                if not left:
                    raise
            else:
                break
        return True


@pytest.fixture
def addon() -> Toolfix:
    http_flows.flows.clear()  # It outlives the script, and so the test before.
    return Toolfix()


@pytest.fixture
def context(addon: Toolfix) -> Iterator[taddons.context]:
    with taddons.context(addon) as context:
        context.configure(addon, toolfix_mode="repair")
        yield context
