"""The bench runs and prints its table. Nothing here is timed: what it measures is read by people."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "scripts.benching", *arguments],
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'addon'}:{ROOT}"},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def test_chat_and_proxy_give_one_table_and_save_it(tmp_path: Path) -> None:
    saved = tmp_path / "deep" / "table.json"
    done = bench("--quick", "chat", "proxy", "--json", str(saved))
    assert done.returncode == 0, done.stderr
    head, *lines, total = done.stdout.splitlines()
    assert head.split() == ["name", "figure", "unit", "ratio", "goal"]
    assert "goals met" in total
    rows = json.loads(saved.read_text(encoding="utf-8"))["rows"]
    assert len(rows) == len(lines)
    names = [f"{row['bench']}: {row['name']}" for row in rows]
    assert all(line.startswith(name) for line, name in zip(lines, names, strict=True))
    assert {row["bench"] for row in rows} == {"chat", "proxy"}
    for row in rows:
        measured = row["figure"] if row["ratio"] is None else row["ratio"]
        over = row["goal"] is not None and measured > row["goal"]
        assert row["verdict"] == ("" if row["goal"] is None else "OVER" if over else "ok")


def test_lag_and_memory_run_and_their_goals_are_a_section_of_a_page(tmp_path: Path) -> None:
    written = tmp_path / "docs" / "evidence.md"
    written.parent.mkdir()
    written.write_text("# Evidence\n\n<!-- bench -->\nold\n<!-- /bench -->\n\nWhy it is so.\n", encoding="utf-8")
    done = bench("--quick", "lag", "memory", "--json", str(tmp_path / "table.json"), "--markdown", str(written))
    assert done.returncode == 0, done.stderr
    saved = json.loads((tmp_path / "table.json").read_text(encoding="utf-8"))
    text = written.read_text(encoding="utf-8")
    assert text.startswith("# Evidence\n\n<!-- bench -->\n    scripts/bench --quick lag memory --markdown ")
    assert str(tmp_path / "table.json") not in text
    assert text.endswith("\n<!-- /bench -->\n\nWhy it is so.\n") and "old" not in text
    for name in ("commit", "python", "mitmproxy", "machine"):
        assert f"{name} {saved['run'][name]}" in text
    for name in ("lag", "memory"):
        goals = [row["verdict"] for row in saved["rows"] if row["bench"] == name and row["verdict"]]
        assert f"\n| {name} | {goals.count('ok')} of {len(goals)} | " in text


def test_a_module_that_measures_nothing_is_no_bench() -> None:
    assert "there is no bench 'prose'" in bench("prose").stderr


def test_strict_tells_of_a_missed_goal(tmp_path: Path) -> None:
    saved = tmp_path / "table.json"
    done = bench("--quick", "--strict", "chat", "--json", str(saved))
    rows = json.loads(saved.read_text(encoding="utf-8"))["rows"]
    assert done.returncode == any(row["verdict"] == "OVER" for row in rows)


def test_an_unknown_bench_is_named_with_those_that_exist() -> None:
    done = bench("chatt")
    assert done.returncode == 2
    assert "there is no bench 'chatt'" in done.stderr
    assert "chat, " in done.stderr
