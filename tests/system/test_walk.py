"""A new user's walk: clone, demo, run, report. With a fresh environment and an empty home."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.e2e.stage import CHAT, EVENT_STREAM, MENDED, ROOT, arguments_of, broken_call, request_body
from tests.upstream import Play, Upstream, write_certificate


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


def assert_call_in(page: Path) -> None:
    """The page holds the call as it came and as it went."""
    text = page.read_text()
    assert "Bash" in text
    assert "'background': True" in text
    assert '\\"background\\":true' in text


def test_clone_demo_run_report(tmp_path: Path) -> None:
    home, clone = tmp_path / "home", tmp_path / "toolfix"
    kept, page = tmp_path / "kept", tmp_path / "calls.html"
    home.mkdir()
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)

    demo = walk(clone, home, "scripts/toolfix", "demo")
    assert "5 of 5 as expected\n" in demo.stdout

    certificate = write_certificate(tmp_path / "upstream.pem", ["localhost"])
    (tmp_path / "request.json").write_bytes(request_body())
    with Upstream(lambda _seen: Play(broken_call(), headers=EVENT_STREAM), certificate) as upstream:
        agent = ("curl", "-sS", "-d", f"@{tmp_path / 'request.json'}", f"{upstream.url}{CHAT}")
        wishes = ("--record", str(kept), "--report", str(page))
        run = walk(clone, home, "scripts/toolfix", "run", *wishes, "--", *agent, SSL_CERT_FILE=str(certificate))
    assert arguments_of(run.stdout.encode()) == [MENDED]
    said = f"toolfix: 1 call, 1 mended, 0 refused: report at {page}, recorded in {kept}"
    assert run.stderr.splitlines()[-1] == said
    assert_call_in(page)

    replay = walk(clone, home, "scripts/toolfix", "replay", str(kept), "--check")
    assert replay.stdout == "1 recording, 0 changed\n"
    page.unlink()
    walk(clone, home, "scripts/toolfix", "report", str(kept), "-o", str(page))
    assert_call_in(page)
    assert walk(clone, home, "scripts/toolfix", "env").stdout.startswith("export HTTPS_PROXY=")
    assert not subprocess.run(["git", "status", "--short"], cwd=clone, capture_output=True, check=True).stdout
