"""Sends mixed traffic with faults through one real mitmdump at full speed, for minutes or hours."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
import tempfile
from pathlib import Path

from ..shared.sections import write_section
from .soak import Soak
from .table import headline, table


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/soak", description=__doc__)
    parser.add_argument("minutes", type=float, metavar="MINUTES")
    parser.add_argument(
        "--markdown", type=Path, metavar="FILE", help="write the headline into its section of this page"
    )
    parser.add_argument("--log", type=Path, metavar="FILE", help="keep what the mitmdumps log")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="another mixture of the same traffic")
    options = parser.parse_args()
    if options.minutes <= 0:
        parser.error("say for how many minutes: scripts/soak 30")
    with contextlib.ExitStack() as stack:
        temporary = tempfile.TemporaryDirectory(prefix="toolfix-soak-", ignore_cleanup_errors=True)
        log = stack.enter_context(options.log.open("w", encoding="utf-8")) if options.log else None
        soak = Soak(Path(stack.enter_context(temporary)), options.seed, options.minutes * 60, log)
        for part in (soak.plain, soak.tls, soak.proxy, soak.small):
            stack.enter_context(part)
        problems = asyncio.run(soak.run())
    text = table(soak.watched, soak.seconds, options.seed, problems)
    print(text)
    if options.markdown:
        write_section(options.markdown, "soak", headline(text))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
