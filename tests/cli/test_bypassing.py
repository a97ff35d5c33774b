"""Why a command may have bypassed the proxy: the sentence, and a line that works. `test_e2e_run_failures.py` runs some."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from toolcalls.cli import bypassing


@pytest.fixture(autouse=True)
def _own_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["toolfix"])


@pytest.mark.parametrize(
    ("environ", "hosts", "sentence"),
    [
        (
            {"NO_PROXY": "localhost,.corp,api.openai.com"},
            (),
            "NO_PROXY has api.openai.com: clients bypass the proxy there. This works: NO_PROXY=.corp toolfix run -- ",
        ),
        (
            {"NO_PROXY": ".openai.com", "no_proxy": "anthropic.com,it's.corp"},
            (),
            "NO_PROXY has .openai.com, anthropic.com: clients bypass the proxy there. "
            "This works: NO_PROXY='' no_proxy='it'\"'\"'s.corp' toolfix run -- ",
        ),
        (
            {"NO_PROXY": ".corp"},
            ("llm.corp",),
            "NO_PROXY has .corp: clients bypass the proxy there. This works: NO_PROXY='' toolfix run -- ",
        ),
        (
            {"NO_PROXY": "*.corp", "OPENAI_BASE_URL": "http://llm.corp:8000/v1"},
            (),
            "NO_PROXY has *.corp: clients bypass the proxy there. This works: NO_PROXY='' toolfix run -- ",
        ),
    ],
)
def test_a_no_proxy_of_the_users_own_is_named(environ: dict[str, str], hosts: tuple[str, ...], sentence: str) -> None:
    assert bypassing.of_proxy(("agent", "two words"), environ, hosts) == f"{sentence}agent 'two words'"


@pytest.mark.parametrize("environ", [{}, {"NO_PROXY": "localhost,127.0.0.1"}, {"NO_PROXY": "intranet.example"}])
def test_a_no_proxy_that_names_no_model_is_not_at_fault(environ: dict[str, str]) -> None:
    assert bypassing.of_proxy(("agent",), environ, ()) == ""


@pytest.mark.parametrize(
    ("binary", "sentence"),
    [
        (
            "grok",
            "grok-cli ignores proxies on Node 20. This works: "
            "toolfix run --reverse https://api.x.ai/v1 -- sh -c 'GROK_BASE_URL=$OPENAI_BASE_URL grok'",
        ),
        (
            "kimi",
            "kimi-code bypasses the proxy for servers on this machine. This works: "
            "toolfix run --reverse http://localhost:8000 --port 8081 -- kimi "
            '(with base_url = "http://127.0.0.1:8081/v1" in ~/.kimi-code/config.toml)',
        ),
        (
            "ccr",
            "Claude Code Router sets NO_PROXY for the agent that it starts. This works: "
            'eval "$(ccr activate)" && toolfix run -- claude',
        ),
    ],
)
def test_an_agent_that_bypasses_proxies_gets_the_line_that_works(binary: str, sentence: str) -> None:
    assert bypassing.of_proxy((f"/opt/bin/{binary}",), {}, ()) == sentence


@pytest.mark.parametrize(
    ("version", "hosts", "environ", "url"),
    [
        ("v20.20.2", (), {}, "https://YOUR.LLM.HOST/v1"),
        ("v20.20.2", ("llm.corp",), {}, "https://llm.corp/v1"),
        ("v20.20.2", (), {"OPENAI_BASE_URL": "http://llm.corp:8000/v1"}, "http://llm.corp:8000/v1"),
        ("v24.3.0", (), {}, ""),
    ],
)
def test_a_program_on_a_node_that_ignores_proxies_gets_the_line_that_works(
    version: str, hosts: tuple[str, ...], environ: dict[str, str], url: str, tmp_path: Path
) -> None:
    node = tmp_path / "node"
    node.write_text(f"#!/bin/sh\necho {version}\n")
    node.chmod(0o755)
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    sentence = (
        f"Node {version[1:6]} ignores proxies. If the program reads OPENAI_BASE_URL, "
        f"this works: toolfix run --reverse {url} -- node program.js"
    )
    assert bypassing.of_proxy(("node", "program.js"), {**path, **environ}, hosts) == (sentence if url else "")
