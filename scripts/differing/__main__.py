"""`scripts/differ`: runs both versions on every job and shows where they differ."""

from __future__ import annotations

import argparse
import base64
import difflib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

from scripts.shared.versions import ROOT, comparing, environment_of, unpacked

from . import held, jobs


def main() -> int:
    parser = comparing("scripts/differ", __doc__)
    parser.add_argument(
        "--held",
        action="store_true",
        help="compare what a client holds, on every recording at several splits; bytes only where nothing may change",
    )
    parser.add_argument("--inputs", type=int, help="inputs made by chance (default 50,000; with --held 0)")
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--only", choices=("recordings", "chance"), help="one half of the inputs")
    parser.add_argument(
        "--protocol",
        nargs="+",
        choices=jobs.PROTOCOLS,
        help="only answers and requests of these (default: all); `socket` is Responses in WebSocket messages",
    )
    parser.add_argument("--show", type=int, default=10, help="most differences that are shown (default %(default)s)")
    parser.add_argument(
        "--without", nargs="+", default=[], metavar="OPTION", help="leave out jobs that set one of these options"
    )
    asked = parser.parse_args()
    with unpacked(asked.tag) as tagged:
        old, new = _start(tagged / "addon"), _start(ROOT / "addon")
        recorded, made = _work(asked, tagged)
        began = time.monotonic()
        count = differences = 0
        compare = held.different if asked.held else _different
        for job, one, other in _both(chain(recorded, made), old, new):
            count += 1
            shown = compare(job, one, other)
            if shown is not None:
                differences += 1
                if differences <= asked.show:
                    _show(job, *shown)
            if count % 5_000 == 0:
                print(f"{count:,} jobs, {differences:,} differences", file=sys.stderr)
        for process in (old, new):
            _input(process).close()
            process.wait()
    print(f"{asked.tag}: {count:,} jobs in {time.monotonic() - began:.0f} s, {differences:,} differences")
    return 1 if differences else 0


def _work(asked: argparse.Namespace, tagged: Path) -> tuple[Iterator[jobs.Job], Iterator[jobs.Job]]:
    """The jobs of the recordings, and those made by chance."""
    count = asked.inputs if asked.inputs is not None else 0 if asked.held else 50_000
    if asked.only == "chance":
        recorded: Iterator[jobs.Job] = iter(())
    elif asked.held:
        recorded = jobs.of_recordings_held(ROOT / "recordings", asked.protocol)
    else:
        recorded = jobs.of_recordings(jobs.kept_recordings(tagged / "recordings", ROOT / "recordings"))
    made = jobs.of_chance(asked.seed, asked.protocol) if asked.only != "recordings" else iter(())
    recorded, made = (_asked_for(work, asked.protocol, asked.without) for work in (recorded, made))
    return recorded, islice(made, count)


def _different(job: jobs.Job, one: Any, other: Any) -> tuple[list[str], list[str]] | None:
    return None if one == other else (_lines(one), _lines(other))


def _asked_for(work: Iterator[jobs.Job], protocols: list[str] | None, without: list[str]) -> Iterator[jobs.Job]:
    named = (job for job in work if not protocols or job["protocol"] in protocols)
    return (job for job in named if job["set"].keys().isdisjoint(without))


def _start(addon: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "scripts.differing.worker"],
        env=environment_of(addon),
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def _both(
    work: Iterator[jobs.Job], old: subprocess.Popen[str], new: subprocess.Popen[str]
) -> Iterator[tuple[jobs.Job, Any, Any]]:
    """Each job with the results of both versions, which work on it at the same time."""
    for job in work:
        line = json.dumps(job) + "\n"
        for process in (old, new):
            _input(process).write(line)
            _input(process).flush()
        yield job, _result(old), _result(new)


def _input(process: subprocess.Popen[str]) -> IO[str]:
    assert process.stdin is not None
    return process.stdin


def _result(process: subprocess.Popen[str]) -> Any:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise SystemExit("a version of the engine has stopped: run its worker by hand to see why")
    return json.loads(line)


def _show(job: jobs.Job, one: list[str], other: list[str]) -> None:
    """Print the lines in which the two results differ."""
    print(f"DIFFERENT: {job['where']}, {job['protocol']}, {json.dumps(job['set'])}, chunks of {job.get('size', 0)}")
    lines = difflib.unified_diff(one, other, "old", "new", n=1, lineterm="")
    print("\n".join(line[:600] for line in islice(lines, 40)))


def _lines(result: Any) -> list[str]:
    """A result as text: the lines of the body, then everything else, one entry per line."""
    if not isinstance(result, list):
        return [json.dumps(result)]
    lines: list[str] = []
    for number, part in enumerate(result):
        if number == 0 and isinstance(part, str):
            lines += base64.b64decode(part).decode("utf-8", "replace").splitlines()
        else:
            lines += [json.dumps(entry) for entry in (part if isinstance(part, list) else [part])]
    return lines


sys.exit(main())
