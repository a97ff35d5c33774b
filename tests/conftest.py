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


@pytest.fixture
def addon() -> Toolfix:
    live.flows.clear()  # It outlives the script, and so the test before.
    return Toolfix()


@pytest.fixture
def context(addon: Toolfix) -> Iterator[taddons.context]:
    with taddons.context(addon) as context:
        context.configure(addon, toolfix_mode="repair")
        yield context
