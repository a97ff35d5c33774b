"""`toolfix filter`."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from tests.cli.commands import ROOT, complaint, lines, toolfix

PYTHON_DICT = ROOT / "recordings" / "chat" / "chat-python-dict"
BEFORE = (PYTHON_DICT / "before.sse").read_bytes()
AFTER = (PYTHON_DICT / "after.sse").read_bytes()


def test_it_prints_what_the_client_would_receive(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    arguments = ("filter", "--protocol", "chat", "--request", str(PYTHON_DICT / "request.json"))
    result = toolfix(*arguments, "--report", str(report), stdin=BEFORE)
    assert (result.returncode, result.stdout) == (0, AFTER)
    assert result.stderr == b"toolfix: 1 call, 1 mended, 0 refused\n"
    assert json.loads(report.read_bytes())[0]["status"] == "repaired"
    assert toolfix(*arguments, "--chunk-size", "3", stdin=BEFORE).stdout == AFTER


def test_it_says_why_a_call_was_refused() -> None:
    cut_off = ROOT / "recordings" / "chat" / "chat-cut-off-write"
    arguments = ("filter", "--protocol", "chat", "--request", str(cut_off / "request.json"))
    counts, reason = toolfix(*arguments, stdin=(cut_off / "before.sse").read_bytes()).stderr.decode().splitlines()
    assert counts == "toolfix: 1 call, 0 mended, 1 refused"
    assert reason.startswith("toolfix: refused Write: ") and "cut off" in reason


def test_what_the_body_is_is_seen_by_looking() -> None:
    body = (ROOT / "recordings" / "chat" / "chat-not-streamed-object" / "before.json").read_bytes()
    assert json.loads(toolfix("filter", stdin=body).stdout)["choices"][0]["finish_reason"] == "tool_calls"
    assert toolfix("filter", stdin=b"<html>").stdout == b"<html>"
    assert toolfix("filter", stdin=b"").stdout == b""


def test_options_are_those_of_mitmproxy() -> None:
    result = toolfix("filter", "--set", "toolfix_arguments=false", stdin=BEFORE)
    assert b"{'todos'" in result.stdout


def test_the_switches_of_the_environment_are_understood_and_set_wins() -> None:
    off = {"RCC_TOOL_ENHANCE": "off"}
    assert b"{'todos'" in toolfix("filter", stdin=BEFORE, environment=off).stdout
    assert (
        b"{'todos'" not in toolfix("filter", "--set", "toolfix_arguments=true", stdin=BEFORE, environment=off).stdout
    )
    live = toolfix("filter", stdin=BEFORE, environment={"RCC_SSE_TOOL_AGGREGATE": "no"}).stdout
    assert live.count(b'"arguments"') > AFTER.count(b'"arguments"')


def test_many_at_once_give_what_each_would_have_given_alone() -> None:
    request = json.loads((PYTHON_DICT / "request.json").read_bytes())
    entries = [
        {"id": 1, "protocol": "chat", "request": request, "body": BEFORE.decode()},
        {
            "id": 2,
            "protocol": "chat",
            "request": request,
            "body_base64": base64.b64encode(BEFORE).decode(),
            "chunk_size": 1,
        },
        {"id": 3, "body": BEFORE.decode(), "set": {"toolfix_arguments": False}},
        {"id": 4, "body_base64": base64.b64encode(b"\xff\xfe").decode()},
    ]
    first, second, third, fourth = lines(
        toolfix("filter", "--jsonl", stdin="\n".join(map(json.dumps, entries)).encode())
    )
    assert first["body"] == second["body"] == AFTER.decode()
    assert first["calls"] == second["calls"] and first["calls"][0]["name"] == "TodoWrite"
    assert "{'todos'" in third["body"]
    assert base64.b64decode(fourth["body_base64"]) == b"\xff\xfe" and fourth["calls"] == []


def test_the_options_of_the_command_hold_for_lines_without_their_own() -> None:
    entries = [{"body": BEFORE.decode()}, {"body": BEFORE.decode(), "protocol": "chat"}]
    stdin = "\n".join(map(json.dumps, entries)).encode()
    other, own = lines(toolfix("filter", "--jsonl", "--protocol", "ollama", stdin=stdin))
    assert other["calls"] == [] and len(own["calls"]) == 1


def test_bad_input_is_one_sentence(tmp_path: Path) -> None:
    assert "toolfix_mode='x' is not allowed" in complaint(toolfix("filter", "--set", "toolfix_mode=x"))
    assert "has no '='" in complaint(toolfix("filter", "--set", "toolfix_mode"))
    assert "there is no option 'nope'" in complaint(toolfix("filter", "--set", "nope=1"))
    assert "'/no/such/file': No such file" in complaint(toolfix("filter", "--request", "/no/such/file"))
    assert "cannot be written" in toolfix("filter", "--report", "/no/such/dir/x").stderr.decode()
    assert "has neither" in complaint(toolfix("filter", "--jsonl", stdin=b"{}"))
    assert "is not base64" in complaint(toolfix("filter", "--jsonl", stdin=b'{"body_base64": "?"}'))
    assert "is not one of" in complaint(toolfix("filter", "--jsonl", stdin=b'{"protocol": "x", "body": ""}'))
    broken = tmp_path / "request.json"
    broken.write_bytes(b"{oops")
    assert f"the request {str(broken)!r} is not a JSON object." in complaint(
        toolfix("filter", "--request", str(broken), stdin=BEFORE)
    )
