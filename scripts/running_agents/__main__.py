"""Runs real agents with a model that calls tools badly, with and without toolfix: prints how each session ends."""

from __future__ import annotations

import argparse
import json
import os
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from .broken_calls import SCENARIOS, Scenario, long_call
from .candidates import CANDIDATES
from .installing import APART, install, without_network
from .others import OTHERS, SCENARIO
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
    parser.add_argument("--scenario", action="append", choices=[scenario.name for scenario in (*SCENARIOS, *STRICT)])
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
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there too")
    parser.add_argument(
        "--from", dest="known", type=Path, metavar="FILE", help="print what --json wrote; run nothing"
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help="write the tables into README.md and docs/agents.md; agents that did not run keep their columns",
    )
    parser.add_argument("--install", action="store_true", help="install the agents and stop")
    options = parser.parse_args()
    if options.write and (options.only or options.scenario or options.others or options.strict or options.long_call):
        parser.error("--write needs every session of an agent, with and without toolfix: name agents alone.")
    if options.known:
        show([Ended(**row) for row in json.loads(options.known.read_text())], options)
        return
    candidates = OTHERS if options.others else CANDIDATES
    wanted = [known for known in candidates if not options.agent or known.agent.binary in options.agent]
    if not os.environ.get(APART):
        install(wanted)
    if options.install:
        return
    without_network()
    scenarios: Sequence[Scenario] = (long_call(options.long_call),) if options.long_call else SCENARIOS
    if options.strict:
        scenarios = STRICT
        wanted = [known for known in wanted if known.agent.protocol in PROTOCOLS]
    if options.others:
        scenarios, options.only = (SCENARIO,), "with"
    ended: list[Ended] = []
    for candidate in wanted:
        for scenario in scenarios:
            if options.scenario and scenario.name not in options.scenario:
                continue
            for toolfix in (False, True):
                if options.only and (options.only == "with") != toolfix:
                    continue
                given = [word for setting in options.options for word in ("--set", setting)]
                one = play(candidate, scenario, toolfix=toolfix, keep=options.keep, idle=options.idle, options=given)
                ended.append(one)
                side = "with toolfix" if toolfix else "without"
                print(f"{one.agent}, {one.scenario}, {side}: {one.how} ({one.seconds:.0f} s)", file=sys.stderr)
                if toolfix and not one.well:
                    print(f"  {textwrap.shorten(one.output[-600:], 400, placeholder=' …')}", file=sys.stderr)
    show(ended, options)
    sys.exit(0 if all(one.well for one in ended if one.toolfix) else 1)


def show(ended: Sequence[Ended], options: argparse.Namespace) -> None:
    print(table(ended))
    if not options.others:
        print(f"\n{short_table(ended)}")
    if options.json:
        rows = [{**asdict(one), "output": "", "seconds": round(one.seconds, 1)} for one in ended]
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    if options.write:
        write(ended)


if __name__ == "__main__":
    main()
