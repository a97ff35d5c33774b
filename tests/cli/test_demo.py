"""What `toolfix demo` shows."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from toolcalls.cli import demo
from toolcalls.cli.proxy_process import ProxyProcess
from toolcalls.recording import store

from .commands import toolfix

RECORDINGS = Path(__file__).parents[2] / "recordings"


def test_the_list_is_a_table() -> None:
    head, first, *_ = toolfix("demo", "--list").stdout.decode().splitlines()
    assert head.split("  ")[0] == "OUTCOME" and head.endswith("  WHAT WENT WRONG")
    assert head.index("RECORDING") == first.index("chat-")


def test_what_differs_is_in_colour_and_fits_the_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(click, "style", lambda text, fg="", **_: f"[{text}]" if fg in ("red", "green") else text)
    for name in ("chat-python-dict", "chat-text-quoted-then-a-question"):
        demo.show(1, store.load(RECORDINGS / "chat" / name), right=True)
    _, python, json, _, sent, got = capsys.readouterr().out.splitlines()
    assert python.startswith("   model [TodoWrite {'todos'") and json.startswith('   agent [TodoWrite {"todos"')
    assert sent.startswith("   model I will") and got[8:] == sent[8:]
    assert all(len(line) == 80 for line in (python.replace("[", "", 1)[:-1], json.replace("[", "", 1)[:-1], sent))


def test_an_error_of_the_proxy_is_an_unexpected_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No request comes then, and none is waited for."""
    monkeypatch.setattr(demo, "ask", lambda *_: b"502 Bad Gateway")
    with demo.Upstream(lambda _: (200, "text/plain", [])) as upstream:
        recording = store.load(RECORDINGS / "chat" / "chat-python-dict")
        assert not demo._is_right(recording, ProxyProcess(tmp_path), upstream)
