"""`toolfix replay`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.commands import ROOT, complaint, toolfix

RECORDING = ROOT / "recordings" / "chat" / "chat-python-dict"


def test_the_committed_recordings_do_not_drift() -> None:
    result = toolfix("replay", "recordings", "--check")
    assert result.returncode == 0, result.stdout.decode()
    assert b" recordings, 0 changed" in result.stdout
    assert result.stderr == b""


def test_drift_exits_1_and_shows_the_difference(tmp_path: Path) -> None:
    copy = Path(shutil.copytree(RECORDING, tmp_path / "recording"))
    (copy / "after.sse").write_bytes((copy / "after.sse").read_bytes().replace(b"Run the tests", b"Walk the dog"))
    result = toolfix("replay", str(copy), "--check")
    assert result.returncode == 1
    assert b"Walk the dog" in result.stdout and b"Run the tests" in result.stdout


def test_update_writes_what_the_client_gets_and_never_the_expectation(tmp_path: Path) -> None:
    copy = Path(shutil.copytree(RECORDING, tmp_path / "recording"))
    good = (copy / "after.sse").read_bytes()
    (copy / "after.sse").unlink()
    expectation = b'[{"status": "valid"}]'
    (copy / "calls.json").write_bytes(expectation)
    assert toolfix("replay", str(copy), "--update").returncode == 0
    assert (copy / "after.sse").read_bytes() == good
    assert (copy / "calls.json").read_bytes() == expectation
    assert toolfix("replay", str(copy), "--check").returncode == 1, "the expectation still does not hold"


def test_what_goes_up_is_checked_and_updated_too(tmp_path: Path) -> None:
    copy = Path(shutil.copytree(ROOT / "recordings" / "chat" / "request-chat-refusal-told", tmp_path / "recording"))
    good = (copy / "request-after.json").read_bytes()
    (copy / "request-after.json").write_bytes(good.replace(b"send the call again", b"never mind"))
    result = toolfix("replay", str(copy), "--check")
    assert result.returncode == 1
    assert b"never mind" in result.stdout and b"send the call again" in result.stdout
    (copy / "request-after.json").unlink()
    assert toolfix("replay", str(copy), "--check").returncode == 1
    *_, wrote, counted = toolfix("replay", str(copy), "--update").stdout.splitlines()
    assert b"wrote request-after.json" in wrote and counted == b"1 recording, 1 rewritten"
    assert toolfix("replay", str(copy), "--update").stdout == b"1 recording, 0 rewritten\n"
    assert (copy / "request-after.json").read_bytes() == good
    (copy / "request.json").write_bytes(b"{}")
    assert toolfix("replay", str(copy), "--update").returncode == 0
    assert not (copy / "request-after.json").exists(), "a request that goes on as it came has no such file"


def test_without_an_option_it_says_what_came_out() -> None:
    assert b"chat-python-dict: 1 mended" in toolfix("replay", str(RECORDING)).stdout


@pytest.mark.parametrize("options", [(), ("--check",)])
def test_a_file_without_an_answer_is_an_error(options: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "flows").touch()
    said = complaint(toolfix("replay", str(tmp_path / "flows"), *options))
    assert "there is no answer of a model in " in said and said.endswith("so nothing was replayed.")


def test_what_is_no_recording_is_one_sentence(tmp_path: Path) -> None:
    assert "there is no recording at" in complaint(toolfix("replay", str(tmp_path)))
    (tmp_path / "flow.json").write_text("{}")
    names = "before.sse, before.json, before.ndjson, before.jsonl"
    assert f"it has none of {names}): record it again" in complaint(toolfix("replay", str(tmp_path)), 1)
    (tmp_path / "flow.json").write_text("[]")
    assert "flow.json is not a JSON object" in complaint(toolfix("replay", str(tmp_path)), 1)
    (tmp_path / "flow.json").write_text("{oops")
    assert "cannot be read (flow.json: Expecting property name" in complaint(toolfix("replay", str(tmp_path)), 1)
    shutil.copytree(RECORDING, tmp_path / "s")
    flow = json.loads((tmp_path / "s" / "flow.json").read_bytes())
    (tmp_path / "s" / "flow.json").write_text(json.dumps({**flow, "policy": {"toolfix_mode": "x"}}))
    assert "is not allowed" in complaint(toolfix("replay", str(tmp_path / "s")), 1)
    (tmp_path / "s" / "flow.json").write_text(json.dumps({**flow, "chunks": [{}]}))
    assert "cannot be read ('offset'): record it again" in complaint(toolfix("replay", str(tmp_path / "s")), 1)


ODD_CALLS = [
    "[5]",
    "5",
    '[{"status": "odd"}]',
    '[{"status": []}]',
    '[{"name": 5}]',
    '[{"steps": "x"}]',
    '[{"steps": [5]}]',
]


@pytest.mark.parametrize(
    "wrong", [{"refusals": 5}, {"status": "x"}, {"status": 1e999}, {"request_steps": 5}, *ODD_CALLS]
)
def test_a_wrong_type_in_a_recording_is_one_sentence(wrong: dict[str, object] | str, tmp_path: Path) -> None:
    shutil.copytree(RECORDING, tmp_path / "s")
    flow = json.loads((tmp_path / "s" / "flow.json").read_bytes())
    (tmp_path / "s" / "flow.json").write_text(json.dumps(flow if isinstance(wrong, str) else {**flow, **wrong}))
    if isinstance(wrong, str):
        (tmp_path / "s" / "calls.json").write_text(wrong)
    for words in (["replay", "--check"], ["report", "-o", str(tmp_path / "report.html")]):
        said = toolfix(words[0], str(tmp_path / "s"), *words[1:])
        assert said.returncode == 1 and b"cannot be read (" in said.stderr and b"Traceback" not in said.stderr
