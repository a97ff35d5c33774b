"""A new user's walk: clone, demo, run, report. With a fresh environment and an empty home."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.e2e.stage import CHAT, EVENT_STREAM, MENDED, ROOT, arguments_of, broken_call, request_body
from toolcalls.cli.certificate import write_certificate
from toolcalls.cli.upstream import Play, Upstream


def walk(clone: Path, home: Path, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
    unwanted = ("proxy", "toolfix", "pythonpath", "virtual_env")
    environ = {name: value for name, value in os.environ.items() if not name.lower().startswith(unwanted)}
    result = subprocess.run(
        command,
        cwd=clone,
        env={**environ, "HOME": str(home), **more},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-2000:]
    assert "Traceback" not in result.stderr
    return result


def test_clone_demo_run_report(tmp_path: Path) -> None:
    home, clone, kept = tmp_path / "home", tmp_path / "toolfix", tmp_path / "kept"
    home.mkdir()
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)

    demo = walk(clone, home, "scripts/toolfix", "demo")
    assert demo.stdout.rstrip().endswith(", 0 not as expected")

    certificate = write_certificate(tmp_path / "upstream.pem", ["localhost"])
    (tmp_path / "request.json").write_bytes(request_body())
    with Upstream(lambda _seen: Play(broken_call(), headers=EVENT_STREAM), certificate) as upstream:
        agent = ("curl", "-sS", "-d", f"@{tmp_path / 'request.json'}", f"{upstream.url}{CHAT}")
        run = walk(
            clone, home, "scripts/toolfix", "run", "--record", str(kept), "--", *agent, SSL_CERT_FILE=str(certificate)
        )
    assert arguments_of(run.stdout.encode()) == [MENDED]
    assert run.stderr.splitlines()[-1] == f"toolfix: 1 call, 1 mended, 0 refused: recorded in {kept}"

    replay = walk(clone, home, "scripts/toolfix", "replay", str(kept), "--check")
    assert replay.stdout == "1 recordings, 0 drifted\n"
    if "report" in walk(clone, home, "scripts/toolfix", "--help").stdout.partition("Commands:")[2].split():
        page = tmp_path / "calls.html"
        walk(clone, home, "scripts/toolfix", "report", str(kept), "-o", str(page))
        assert "Bash" in page.read_text()
    assert walk(clone, home, "scripts/toolfix", "env").stdout.startswith("export HTTPS_PROXY=")
    assert not subprocess.run(["git", "status", "--short"], cwd=clone, capture_output=True, check=True).stdout
