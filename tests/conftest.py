"""Hypothesis tries the same examples in every run, so that one commit gives one result on every machine.

    TOOLFIX_EXPLORE=1 scripts/test tests/mend      # other examples each time

`scripts/fuzz` is what looks for new ones.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile("explore" if os.environ.get("TOOLFIX_EXPLORE") else "same")
