"""What people get wrong on the command line and in files: one sentence with the fix, an exit status, no traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .commands import ROOT, complaint, toolfix


@pytest.mark.parametrize(
    ("words", "environment", "said"),
    [
        (
            ["run", "--host", "https://llm.example.com/v1", "--", "true"],
            {},
            "'+https://llm.example.com/v1' is not a host name; use names such as api.example.com, *.example.com or +my.host.",
        ),
        (["run", "--host", "", "--", "true"], {}, "'+' is not a host name; use names such as"),
        (
            ["run", "--reverse", "http://[x", "--", "true"],
            {},
            "--reverse 'http://[x' is not a URL: write --reverse https://api.openai.com/v1",
        ),
        (
            ["run", "--reverse", "https://host:port", "--", "true"],
            {},
            "--reverse 'https://host:port' is not a URL: write --reverse https://api.openai.com/v1",
        ),
        (
            ["run", "--", "true"],
            {"HTTPS_PROXY": "http://[::1"},
            "HTTPS_PROXY is not the URL of a proxy that toolfix can use, such as http://proxy.example.com:3128. "
            "Unset it, or run toolfix in a shell without it.",
        ),
        (
            ["run", "--", "true"],
            {"ALL_PROXY": "socks5://me:secret@x:1"},
            "ALL_PROXY is not the URL of a proxy that toolfix can use, such as http://proxy.example.com:3128",
        ),
        (["run", "--port", "70000", "--", "true"], {}, "Invalid value for '--port': 70000 is not in the range 0<=x<=65535."),
        (["run", "--set", "a=1", "--set", "a=2", "--", "true"], {}, "--set a is given twice: a list can be in mitmproxy's"),
        (["run", "--set", "tolfix_mode=x", "--", "true"], {}, "no option 'tolfix_mode'. Did you mean toolfix_mode?"),
        (["run"], {}, "name the command to run: toolfix run -- claude"),
        (["run", "--", "true"], {"HTTPS_PROXY": "garbage"}, "HTTPS_PROXY is not the URL of a proxy"),
        (["doctor", "--patience", "0"], {}, "Invalid value for '--patience': 0 is not in the range x>=1."),
        (["repair", "--finish", "stpo"], {}, "--finish 'stpo' is no reason why a model stops: use stop, tool_calls"),
        (["report", "recordings", "-o", "/no/such/a.html"], {}, "-o /no/such/a.html cannot be written: name a file"),
        (["run", "--record", "--", "true"], {}, "--record needs a directory: write --record recorded -- CMD"),
        (["run", "--record", "README.md", "--", "true"], {}, "Invalid value for '--record': Directory 'README.md' is a file."),
        (["run", "--report", "--", "true"], {}, "--report -- cannot be written: name a file in an existing directory."),
        (["doctor", "nope"], {}, "there is no agent 'nope': name one of claude, codex,"),
        (["demo", "no-such"], {}, "there is no recording 'no-such' to play: see toolfix demo --list."),
        (["demo", "002-responses-json5-websocket"], {}, "there is no recording '002-responses-json5-websocket' to play"),
        (["filter", "README.md"], {}, "Got unexpected extra argument (README.md)"),
    ],
)  # fmt: skip
def test_a_wrong_command_line_exits_2(
    words: list[str], environment: dict[str, str], said: str, tmp_path: Path
) -> None:
    result = toolfix(*words, environment={"HOME": str(tmp_path), **environment})
    assert said in complaint(result)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("command", "line", "said"),
    [
        ("filter", {"body": "x", "chunk_size": "a"}, 'line 1 of the input: "chunk_size" is not a number of bytes.'),
        ("filter", {"body": "x", "chunk_size": -1}, 'line 1 of the input: "chunk_size" is not a number of bytes.'),
        ("repair", {"input": "{}", "schema": 3}, 'line 1 of the input: "schema" is not a JSON object.'),
        ("repair", {"input": "{}", "finish": [1]}, 'line 1 of the input: "finish" is not a text, such as "stop".'),
    ],
)
def test_a_wrong_line_of_many_is_named(command: str, line: dict[str, object], said: str) -> None:
    assert said in complaint(toolfix(command, "--jsonl", stdin=json.dumps(line).encode()))


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["filter", "--report", "calls.json"], "--report"),
        (["filter", "--request", "recordings/chat/chat-python-dict/request.json"], "--request"),
        (["filter", "--chunk-size", "3"], "--chunk-size"),
        (["repair", "--finish", "stop"], "--finish"),
        (["repair", "--schema", "recordings/chat/chat-python-dict/request.json"], "--schema"),
    ],
)
def test_an_option_for_one_input_is_refused_with_many(words: list[str], option: str) -> None:
    said = complaint(toolfix(*words, "--jsonl", stdin=b"{}"))
    assert said == f"toolfix: {option} is for a single input: with --jsonl each line has its own."


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["replay", "/no/such"], 2),
        (["replay", "README.md", "--update"], 2),
        (["report", "docs", "-o", "/tmp/never.html"], 2),
        (["replay", "--no-such-option"], 2),
        (["no-such-command"], 2),
        (["filter", "--set", "x"], 2),
        (["env", "--confdir", "/proc/toolfix"], 1),
    ],
)
def test_every_error_is_a_sentence_of_toolfix(words: list[str], status: int) -> None:
    assert complaint(toolfix(*words), status).startswith("toolfix: ")


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["run", "--", "true"], 125, "/.mitmproxy/mitmproxy-ca.pem cannot be used (it is damaged: delete it)."),
        (["proxy", "-p", "0"], 1, "/.mitmproxy/mitmproxy-ca.pem cannot be used (it is damaged: delete it)."),
        (["env"], 1, "/.mitmproxy/mitmproxy-ca.pem cannot be used (it is damaged: delete it)."),
    ],
)  # fmt: skip
def test_a_damaged_ca_is_named(words: list[str], status: int, said: str, tmp_path: Path) -> None:
    (tmp_path / ".mitmproxy").mkdir()
    (tmp_path / ".mitmproxy/mitmproxy-ca.pem").write_text("broken")
    assert said in complaint(toolfix(*words, environment={"HOME": str(tmp_path)}), status)


def test_doctor_finds_a_damaged_ca(tmp_path: Path) -> None:
    (tmp_path / "mitmproxy-ca.pem").write_text("broken")
    result = toolfix("doctor", "--no-probe", "--confdir", str(tmp_path))
    assert result.returncode == 1
    said = f"wrong  mitmproxy's CA: {tmp_path}/mitmproxy-ca.pem cannot be used (it is damaged: delete it).\n"
    assert said in result.stdout.decode()


@pytest.mark.parametrize("words", [["repair"], ["env", "--confdir", "PLACE/ca"], ["path"]])
def test_an_output_that_cannot_be_written_is_one_sentence(words: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "toolcalls.cli", *(word.replace("PLACE", str(tmp_path)) for word in words)]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command, input=b"{}", stdout=full, stderr=subprocess.PIPE, cwd=ROOT / "addon", timeout=60, check=False
        )
    assert done.returncode == 1
    assert done.stderr == b"toolfix: the output cannot be written (No space left on device).\n"


def test_no_input_at_all_is_said() -> None:
    assert complaint(toolfix("filter"), 1) == "toolfix: the input is empty."
    for nothing in (b"", b" \n"):
        assert complaint(toolfix("repair", stdin=nothing), 1) == "toolfix: the input is empty."


@pytest.mark.parametrize(
    ("line", "status", "said"),
    [
        ("repair <&-", 1, "toolfix: the input is empty.\n"),
        ("filter <&-", 1, "toolfix: the input is empty.\n"),
        ("path >&-", 1, "toolfix: the output cannot be written (not writable).\n"),
        ("path 2>&-", 0, ""),
        ("run -- sh -c 'exit 3' 2>/dev/full", 3, ""),
        ("run -- no-such-command 2>/dev/full", 127, ""),
        ("filter --report /no/such/x", 2, "--report /no/such/x cannot be written: name a file in an existing directory.\n"),
    ],
)  # fmt: skip
def test_streams_that_are_closed_or_full_and_places_that_are_wrong(
    line: str, status: int, said: str, tmp_path: Path
) -> None:
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "addon"), "HOME": str(tmp_path)}
    script = f'exec "$0" -m toolcalls.cli {line}'
    done = subprocess.run(
        ["sh", "-c", script, sys.executable], input=b"", cwd=ROOT, env=environ, capture_output=True, check=False
    )
    assert done.returncode == status
    assert done.stderr.decode().endswith(said) and bool(done.stderr) == bool(said)
