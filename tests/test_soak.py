"""The soak runs, for seconds: everything that it counts adds up, and what it finds wrong ends it with 1."""

from __future__ import annotations

import itertools
import os
import random
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.soaking.case import Recordings
from scripts.soaking.table import headline

ROOT = Path(__file__).parents[1]


def soak(*arguments: str, **environ: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "scripts.soaking", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'addon'}:{ROOT}", **environ},
    )


def figures(table: str) -> dict[str, str]:
    """The rows by name, with the first proxy's figure."""
    return dict(re.findall(r"^\| ([^|]+) \| ([^|]*) \|", table, re.MULTILINE))


def requests_so_far(progress: str) -> int:
    found = re.search(r" of 60 min, ([\d,]+) requests", progress)
    return int(found[1].replace(",", "")) if found else 0


def test_some_seconds_of_soak_lose_nothing_and_ctrl_c_ends_it_with_the_table(tmp_path: Path) -> None:
    page = tmp_path / "evidence.md"
    process = soak("60", "--markdown", str(page))
    assert process.stderr
    # How many come in some seconds depends on what else the machine does.
    while requests_so_far(process.stderr.readline()) <= 20:
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, out + err
    assert out.rstrip().endswith("Nothing is wrong.")
    written = page.read_text(encoding="utf-8")
    assert written == f"<!-- soak -->\n{headline(out.rstrip())}\n<!-- /soak -->\n"
    assert "calls lost" in written and len(written) < len(out)
    rows = figures(out)
    assert int(rows["requests"].replace(",", "")) > 20
    parts = ("chat", "gemini", "messages", "ollama", "responses", "responses, WebSocket")
    asked = [int(rows.get(f"– {name}", "0").replace(",", "")) for name in parts]
    assert sum(asked) == int(rows["requests"].replace(",", ""))
    assert [rows[name] for name in ("calls lost", "answers wrong", "exceptions in the log")] == ["0", "0", "0"]


def test_a_proxy_that_mends_nothing_is_found_out() -> None:
    # On a machine that does much else, no answer that could be wrong comes in the first seconds.
    for minutes in ("0.06", "0.5", "2"):
        process = soak(minutes, TOOLFIX_ARGUMENTS="false")
        out, err = process.communicate(timeout=400)
        assert f" of {minutes} min, " in err
        if int(figures(out)["answers wrong"]) > 0:
            break
    assert process.returncode == 1, out + err
    assert int(figures(out)["answers wrong"]) > 0
    assert "expected" in out.partition(" problems:")[2]


def test_every_protocol_is_in_the_mixture_streamed_and_not_and_with_every_kind_of_call() -> None:
    recordings = Recordings()
    mixture = recordings.cases(random.Random(1), (f"t{number:07d}" for number in itertools.count()))
    seen = list(itertools.islice(mixture, len(recordings.http)))
    assert len({case.name for case in seen}) == len(seen), "each once before the first comes again"
    for protocol in ("chat", "gemini", "messages", "ollama", "responses"):
        kinds = {(case.streamed, status) for case in seen if case.protocol == protocol for status in case.statuses}
        for status in ("valid", "repaired", "refused"):
            assert (True, status) in kinds, protocol
        assert {streamed for streamed, _ in kinds} == {True, False}, protocol
    assert recordings.sockets


@pytest.mark.parametrize("minutes", ["0", "-1"])
def test_it_needs_a_time(minutes: str) -> None:
    process = soak("--", minutes)
    assert "say for how many minutes: scripts/soak 30" in process.communicate(timeout=60)[1]
    assert process.returncode == 2
