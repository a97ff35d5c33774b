"""Runs real agents with a model that calls tools badly, with and without toolfix: prints how each session ends."""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from .broken_calls import BROKEN_CALLS, BrokenCall, long_call
from .candidates import CANDIDATES, OTHERS
from .installing import APART, install, without_network
from .sessions import Ended, play
from .strict_hosts import PROTOCOLS, STRICT
from .tables import short_table, table, write


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/agents", description=__doc__)
    binaries = [known.agent.binary for known in (*CANDIDATES, *OTHERS)]
    parser.add_argument("--agent", action="append", choices=binaries)
    parser.add_argument(
        "--others", action="store_true", help="instead: one broken call for each agent without a column in the table"
    )
    parser.add_argument("--call", action="append", choices=[broken.name for broken in (*BROKEN_CALLS, *STRICT)])
    parser.add_argument(
        "--long-call", type=float, metavar="SECONDS", help="instead: one correct call that takes this long to arrive"
    )
    parser.add_argument(
        "--strict", action="store_true", help="instead: correct calls, at hosts that want their reasoning back"
    )
    parser.add_argument(
        "--idle", type=float, default=0.0, metavar="SECONDS", help="how long the agents wait for the next event"
    )
    parser.add_argument("--set", dest="options", action="append", default=[], metavar="K=V", help="for toolfix run")
    parser.add_argument("--only", choices=["with", "without"], help="half of the table")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the output and the requests of every session")
    parser.add_argument(
        "--write", action="store_true", help="write the tables into README.md and docs/agents.md; needs every session"
    )
    parser.add_argument("--install", action="store_true", help="install the agents and stop")
    options = parser.parse_args()
    less = options.agent or options.only or options.call or options.others or options.strict or options.long_call
    if options.write and less:
        parser.error("--write needs every session of every agent, with and without toolfix: use it alone.")
    candidates = OTHERS if options.others else CANDIDATES
    wanted = [known for known in candidates if not options.agent or known.agent.binary in options.agent]
    if not os.environ.get(APART):
        install(wanted)
    if options.install:
        return
    without_network()
    wanted_calls: Sequence[BrokenCall] = (long_call(options.long_call),) if options.long_call else BROKEN_CALLS
    if options.strict:
        wanted_calls = STRICT
        wanted = [known for known in wanted if known.agent.protocol in PROTOCOLS]
    if options.others:
        wanted_calls, options.only = BROKEN_CALLS[:1], "with"
    ended: list[Ended] = []
    for candidate in wanted:
        for broken in wanted_calls:
            if options.call and broken.name not in options.call:
                continue
            for toolfix in (False, True):
                if options.only and (options.only == "with") != toolfix:
                    continue
                given = [word for setting in options.options for word in ("--set", setting)]
                one = play(candidate, broken, toolfix=toolfix, keep=options.keep, idle=options.idle, options=given)
                ended.append(one)
                side = "with toolfix" if toolfix else "without"
                print(f"{one.agent}, {one.broken}, {side}: {one.how} ({one.seconds:.0f} s)", file=sys.stderr)
                if toolfix and not one.well:
                    print(f"  {textwrap.shorten(one.output[-600:], 400, placeholder=' …')}", file=sys.stderr)
    show(ended, options)
    sys.exit(0 if all(one.well for one in ended if one.toolfix) else 1)


def show(ended: Sequence[Ended], options: argparse.Namespace) -> None:
    print(table(ended))
    if not options.others:
        print(f"\n{short_table(ended)}")
    if options.write:
        write(ended)


if __name__ == "__main__":
    main()
