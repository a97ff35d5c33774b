"""`toolfix doctor`: every finding has the line that fixes it; agents are really started."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from toolcalls.cli import doctor as checks
from toolcalls.cli import environment
from toolcalls.cli.doctor import Finding

from .commands import ROOT


def statuses(findings: list[Finding]) -> list[str]:
    assert all(finding.fix for finding in findings if finding.status == "wrong")
    return [finding.status for finding in findings]


def test_the_ca(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = checks.ca(tmp_path)
    assert found.status == "ok" and (tmp_path / environment.CA_FILE).is_file()
    lasts = int(found.what.split()[-2])
    for days, said in ((12, "expires in 12 days"), (-1, "has expired")):
        now = datetime.now(UTC) + timedelta(lasts - days)
        monkeypatch.setattr(checks, "datetime", SimpleNamespace(now=lambda _zone, now=now: now))
        assert said in checks.ca(tmp_path).what
    assert checks.ca(tmp_path).status == "wrong"
    monkeypatch.undo()
    (tmp_path / environment.CA_FILE).write_text("nonsense")
    assert checks.ca(tmp_path).status == "wrong"


def test_no_proxy_in_a_shell_that_uses_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_listens", lambda _url: True)
    environ = {"NO_PROXY": "localhost,.corp", "HTTPS_PROXY": "http://127.0.0.1:8080"}
    found = list(checks.port_of_the_proxy(8080, environ))
    assert statuses(found) == ["ok", "wrong"]
    assert found[1] == Finding(
        "wrong", "NO_PROXY has localhost,.corp: requests there silently bypass the proxy", "unset NO_PROXY"
    )
    assert statuses(list(checks.port_of_the_proxy(8080, {"NO_PROXY": "localhost"}))) == ["note"]


def test_an_existing_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    environ = {"HTTPS_PROXY": "http://proxy.corp:3128"}
    for answers, status in ((True, "ok"), (False, "wrong")):
        monkeypatch.setattr(checks, "_listens", lambda _url, answers=answers: answers)
        assert statuses(list(checks.variables(environ))) == [status]
    assert statuses(list(checks.variables({"ALL_PROXY": "socks5://x:1"}))) == ["wrong"]
    assert not list(checks.variables({"HTTP_PROXY": "http://x:1"}))


def test_a_place_for_the_ca_where_run_cannot_start_is_wrong(tmp_path: Path) -> None:
    assert checks.ca(tmp_path / "no" / "such").status == "wrong"
    environment.ensure_ca(tmp_path)
    (tmp_path / environment.KEY_FILE).unlink()
    assert checks.ca(tmp_path).status == "wrong"


def test_the_port_that_is_proposed_is_free() -> None:
    with socket.socket() as taken, socket.socket() as other:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        (found,) = checks.port_of_the_proxy(taken.getsockname()[1], {})
        other.bind(("127.0.0.1", int(found.fix.split("-p ")[1].split()[0])))


def doctor(path: Path, confdir: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    kept = {
        name: value for name, value in os.environ.items() if "proxy" not in name.lower() and "TOOLFIX" not in name
    }
    return subprocess.run(
        [sys.executable, "-m", "toolcalls.cli", "doctor", "--confdir", str(confdir), "--port", "1", *words],
        env={**kept, "PYTHONPATH": str(ROOT / "addon"), "PATH": f"{path}:/usr/bin:/bin", **environ},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def agent(path: Path, name: str, script: str) -> None:
    program = path / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def test_an_agent_that_comes_through_and_one_that_does_not(tmp_path: Path) -> None:
    path = tmp_path / "bin"
    path.mkdir()
    agent(path, "claude", 'curl -s -d "{}" "$ANTHROPIC_BASE_URL/v1/messages?beta=true"; sleep 60')
    result = doctor(path, tmp_path / "conf")
    assert result.returncode == 0, result.stdout
    assert (
        "ok     Claude Code: started with a made-up key, its POST /v1/messages came through the proxy"
        in result.stdout
    )
    assert result.stdout.endswith("no problems\n")

    trusting = 'curl -s --cacert /etc/ssl/certs/ca-certificates.crt -A codex_exec -d "{}"'
    base = """$(sed -n 's/^base_url = "\\(.*\\)"/\\1/p' "$HOME/.codex/config.toml")"""
    agent(path, "codex", f'{trusting} "{base}/responses"')
    result = doctor(path, tmp_path / "conf", "codex", "--patience", "6")
    assert result.returncode == 1
    assert (
        "wrong  Codex: started with a made-up key, but none of its requests came through the proxy" in result.stdout
    )
    assert "fix: CODEX_CA_CERTIFICATE" in result.stdout
    assert "Claude" not in result.stdout


def test_an_agent_that_is_unknown_or_not_there(tmp_path: Path) -> None:
    result = doctor(tmp_path, tmp_path / "conf", "emacs")
    assert result.returncode == 2
    assert "there is no agent 'emacs': name one of claude, codex" in result.stderr
    result = doctor(tmp_path, tmp_path / "conf", "pi")
    assert result.returncode == 1
    assert "fix: npm install -g @mariozechner/pi-coding-agent" in result.stdout


def test_looking_alone_starts_nothing(tmp_path: Path) -> None:
    agent(tmp_path, "claude", "touch started")
    result = doctor(tmp_path, tmp_path / "conf", "--no-probe", TOOLFIX_MODE="off")
    assert result.returncode == 1
    assert "fix: unset TOOLFIX_MODE" in result.stdout
    assert "Claude" not in result.stdout


def test_a_home_that_cannot_be_written_is_one_sentence_and_not_well(tmp_path: Path) -> None:
    result = doctor(tmp_path, tmp_path / "no" / "such")
    assert result.returncode == 1
    assert f"wrong  mitmproxy's CA: {tmp_path}/no/such cannot be used (No such file or directory)." in result.stdout
    assert "Traceback" not in result.stderr
    assert result.stdout.endswith("2 problems\n")


def test_agents_that_bypass_a_proxy_have_the_line_that_works(tmp_path: Path) -> None:
    agent(tmp_path, "ccr", "touch started")
    agent(tmp_path, "kimi", "sleep 60")
    agent(tmp_path, "node", "echo v24.1.0")
    result = doctor(tmp_path, tmp_path / "conf", "--patience", "3")
    assert result.returncode == 0, result.stdout
    assert 'fix: eval "$(ccr activate)" && toolfix run -- claude' in result.stdout
    assert (
        "kimi-code: started with a made-up key, but none of its requests came through the proxy: it bypasses"
        in result.stdout
    )
    assert "fix: toolfix run --reverse http://localhost:8000" in result.stdout


def test_of_a_probe_that_fails_the_last_words_of_the_agent_are_quoted(tmp_path: Path) -> None:
    agent(tmp_path, "qwen", "echo starting; echo 'qwen-code needs Node 22 or newer' >&2; echo; exit 1")
    result = doctor(tmp_path, tmp_path / "conf", "qwen", "--patience", "2")
    assert result.returncode == 1
    assert "came through the proxy. It said: qwen-code needs Node 22 or newer\n" in result.stdout


@pytest.mark.parametrize(
    ("environ", "said", "status"),
    [
        ({"TOOLFIX_FALBACK": "empty"}, "Did you mean TOOLFIX_FALLBACK?", "wrong"),
        ({"TOOLFIX_SHAPE": "perhaps"}, "toolfix_shape='perhaps' is not allowed", "wrong"),
        ({"TOOLFIX_MODE": "off"}, "TOOLFIX_MODE=off: nothing is mended", "wrong"),
    ],
)
def test_a_variable_that_is_wrong_or_turns_everything_off(environ: dict[str, str], said: str, status: str) -> None:
    (found,) = checks.variables(environ)
    assert said in found.what and statuses([found]) == [status]
    assert not list(checks.variables({"TOOLFIX_MODE": "repair", "PATH": "/bin"}))
