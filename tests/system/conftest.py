"""What needs packages of the system is run by scripts/test-system, which installs them."""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.environ.get("TOOLFIX_SYSTEM_TESTS") else ["test_*.py"]
