"""`toolfix run` where no answer of a model came: one sentence with the fix for each cause, and the command's exit status.

The commands keep their own exit status, whatever toolfix has to say.
"""

from __future__ import annotations

import signal
import socket
import subprocess
from pathlib import Path

import pytest

from tests.upstream import Play, Upstream

from .running import NO_ANSWER, Run, Running, client_environment, command, curl, last_line
from .stage import CHAT, EVENT_STREAM, MENDED, Plays, arguments_of, broken_call


def program(path: Path, lines: str) -> str:
    """A command of the user's."""
    path.write_text(f"#!/bin/sh\n{lines}\n")
    path.chmod(0o755)
    return str(path)


def asked_with(url: str, asked: str, *options: str) -> str:
    """A line of a shell that asks."""
    return " ".join(f"'{word}'" for word in (*curl(url, asked), *options))


# The upstream


def test_a_status_that_is_no_answer_is_named(run: Run, plays: Plays, upstream: Upstream, asked: str) -> None:
    """The sentences for other statuses: tests/proxy/test_upstream_problems.py."""
    plays.add("run-404", Play([b'{"error": {"message": "no"}}'], 404, {"content-type": "application/json"}))
    content = run(*curl(f"{upstream.url}/run-404{CHAT}", asked))
    assert (content.returncode, content.stdout) == (0, '{"error": {"message": "no"}}')
    sentence = f"localhost answered 404 to /run-404{CHAT}: check the base URL and the name of the model."
    assert content.stderr.splitlines() == [f"toolfix: {sentence}", NO_ANSWER]


def test_the_exit_status_of_a_client_that_gives_up_is_passed_on(
    run: Run, plays: Plays, upstream: Upstream, asked: str
) -> None:
    plays.add("run-gives-up", Play([b"{}"], 401, {"content-type": "application/json"}))
    failing = run(*curl(f"{upstream.url}/run-gives-up{CHAT}", asked), "--fail")
    assert failing.stderr.splitlines()[-2:] == [
        "toolfix: localhost answered 401: the API key is missing or wrong.",
        NO_ANSWER,
    ]
    assert failing.returncode == 22


def test_an_error_before_an_answer_is_not_spoken_of(run: Run, plays: Plays, upstream: Upstream, asked: str) -> None:
    plays.add("run-busy", Play([b"{}"], 429, {"content-type": "application/json"}))
    plays.add("run-then", Play(broken_call(), headers=EVENT_STREAM))
    first, then = (asked_with(f"{upstream.url}/{name}{CHAT}", asked) for name in ("run-busy", "run-then"))
    result = run("sh", "-c", f"{first}; {then}")
    assert (result.returncode, result.stderr) == (0, "toolfix: 1 call, 1 mended, 0 refused\n")


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_host_that_cannot_be_reached_is_named(scheme: str, run: Run, asked: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        result = run(*curl(f"{scheme}://127.0.0.1:{port}{CHAT}", asked), "--fail")
    reason, last = result.stderr.splitlines()[-2:]
    assert reason == (
        f"toolfix: 127.0.0.1:{port} cannot be reached (connection refused): check the address and the network."
    )
    assert (result.returncode, last) == (22, NO_ANSWER)


def test_a_host_without_an_address_is_named(run: Run, asked: str) -> None:
    result = run(*curl(f"https://no.such.invalid{CHAT}", asked))
    reason, last = result.stderr.splitlines()[-2:]
    assert reason.startswith("toolfix: no.such.invalid cannot be reached (")
    assert (result.returncode, last) == (56, NO_ANSWER)


def test_a_certificate_that_nobody_trusts_is_named_with_both_ways_to_trust_it(
    confdir: Path, plays: Plays, upstream: Upstream, certificate: Path, asked: str
) -> None:
    plays.add("run-untrusted", Play(broken_call(), headers=EVENT_STREAM))
    asking = (*curl(f"{upstream.url}/run-untrusted{CHAT}", asked), "--fail")

    def session(*options: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command(confdir, *options, cmd=asking), env=client_environment(**environ),
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip

    result = session()
    assert result.returncode == 22
    assert result.stderr.splitlines()[-2:] == [
        "toolfix: the certificate of localhost is not trusted. If it is your own server, name its CA with "
        "--set ssl_verify_upstream_trusted_ca=FILE or SSL_CERT_FILE=FILE; --set ssl_insecure=true accepts any certificate.",
        NO_ANSWER,
    ]
    for way in (
        session("--set", f"ssl_verify_upstream_trusted_ca={certificate}"),
        session(SSL_CERT_FILE=str(certificate)),
        session("--set", "ssl_insecure=true"),
    ):
        assert (way.returncode, way.stderr) == (0, "toolfix: 1 call, 1 mended, 0 refused\n")
        assert arguments_of(way.stdout.encode()) == [MENDED]


def test_a_host_that_is_not_intercepted_shows_its_own_certificate_and_is_trusted(
    run: Run, plays: Plays, upstream: Upstream, asked: str
) -> None:
    plays.add("run-closed", Play(broken_call(), headers=EVENT_STREAM))
    url = f"{upstream.url}/run-closed{CHAT}"
    result = run(*curl(url, asked), "-v", options=("--set", "toolfix_hosts=llm.example"))
    assert result.returncode == 0, result.stderr
    assert result.stdout.encode() == b"".join(broken_call())
    assert "CN=localhost" in result.stderr.replace(" ", "")
    assert result.stderr.splitlines()[-2:] == [
        "toolfix: localhost was tunnelled unchanged, because it is not in the list of LLM hosts: add --host localhost",
        NO_ANSWER,
    ]
    named = run(*curl(url, asked), options=("--set", "toolfix_hosts=llm.example", "--host", "localhost"))
    assert (named.returncode, named.stderr) == (0, "toolfix: 1 call, 1 mended, 0 refused\n")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_server_of_reverse_mode_that_is_down_is_named(host: str, run: Run, asked: str) -> None:
    """mitmproxy connects to it before it reads a request."""
    asking = f"exec curl -sS --noproxy '*' -d {asked} $OPENAI_BASE_URL/chat/completions"
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        result = run("sh", "-c", asking, options=("--reverse", f"http://{host}:{port}"))
    assert (result.returncode, result.stderr.splitlines()[-2:]) == (
        52,
        [f"toolfix: http://{host}:{port} cannot be reached (connection refused): is the server running?", NO_ANSWER],
    )


@pytest.mark.parametrize(("scheme", "variable"), [("http", "HTTPS_PROXY"), ("https", "all_proxy")])
def test_a_proxy_on_the_way_out_that_is_down_is_named_and_not_the_host(
    scheme: str, variable: str, run: Run, asked: str
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        proxy = f"http://127.0.0.1:{port}"
        result = run(
            *curl(f"{scheme}://api.openai.com{CHAT}", asked), **{variable: f"http://me:secret@127.0.0.1:{port}"}
        )
    assert result.stderr.splitlines() == [
        f"toolfix: the proxy {proxy}, which {variable} names, cannot be reached (connection refused): "
        f"check it, or unset {variable}.",
        NO_ANSWER,
    ]


def test_where_no_answer_came_nothing_is_said_to_be_recorded(
    run: Run, plays: Plays, upstream: Upstream, asked: str, tmp_path: Path
) -> None:
    folder = tmp_path / "recorded"
    plays.add("run-unrecorded", Play([b"{}"], 401, {"content-type": "application/json"}))
    asking = curl(f"{upstream.url}/run-unrecorded{CHAT}", asked)
    assert last_line(run(*asking, options=("--record", str(folder)))) == f"{NO_ANSWER}: nothing was recorded"
    assert not folder.exists() or list(folder.iterdir()) == []


# The command


def test_a_command_that_asks_no_model_or_bypasses_the_proxy_is_told_in_one_line(run: Run) -> None:
    for status in (0, 4):
        result = run("sh", "-c", f"exit {status}", NO_PROXY="intranet.example")
        assert (result.returncode, result.stderr) == (status, f"{NO_ANSWER}\n")


def test_after_a_version_or_a_help_nothing_is_said(run: Run, tmp_path: Path) -> None:
    agent = program(tmp_path / "agent", "exit 4")
    for word in ("--version", "--help"):
        result = run(agent, word)
        assert (result.returncode, result.stderr) == (4, "")


def test_behind_another_proxy_a_no_proxy_of_the_users_own_is_named(run: Run, tmp_path: Path) -> None:
    agent = program(tmp_path / "agent", "exit 3")
    environ = {"NO_PROXY": "localhost,.corp", "HTTPS_PROXY": "http://127.0.0.1:9"}
    said = "toolfix: NO_PROXY has .corp: clients bypass the proxy there. Remove the entries that serve a model."
    result = run(agent, **environ)
    assert (result.returncode, result.stderr.splitlines()) == (3, [said, NO_ANSWER])
    assert run(agent, "--version", **environ).stderr == ""


def test_without_another_proxy_no_host_bypasses_ours(run: Run, tmp_path: Path) -> None:
    agent = program(tmp_path / "agent", 'echo "${NO_PROXY-unset} ${no_proxy-unset}"')
    result = run(agent, NO_PROXY="localhost,.corp,api.openai.com", no_proxy="*")
    assert (result.stdout, result.stderr.splitlines()) == ("unset unset\n", [NO_ANSWER])


def test_an_agent_that_bypasses_proxies_gets_the_line_that_works_and_keeps_its_exit_status(
    run: Run, tmp_path: Path
) -> None:
    agent = program(tmp_path / "ccr", "exit 3")
    result = run(agent)
    sentence = (
        "Claude Code Router sets NO_PROXY for the agent that it starts. This works: "
        'eval "$(ccr activate)" && toolfix run -- claude'
    )
    assert (result.returncode, result.stderr.splitlines()) == (3, [f"toolfix: {sentence}", NO_ANSWER])
    assert run(agent, "--version").stderr == ""


def test_an_agent_that_can_bypass_proxies_hears_nothing_of_it_where_an_answer_came(
    run: Run, plays: Plays, upstream: Upstream, asked: str, tmp_path: Path
) -> None:
    plays.add("run-kimi", Play(broken_call(), headers=EVENT_STREAM))
    agent = program(tmp_path / "kimi", f"exec {asked_with(f'{upstream.url}/run-kimi{CHAT}', asked)}")
    assert run(agent, NO_PROXY=".openai.com").stderr == "toolfix: 1 call, 1 mended, 0 refused\n"


def test_a_client_that_rejects_the_certificate_is_told_its_variable(
    run: Run, plays: Plays, upstream: Upstream, asked: str, certificate: Path
) -> None:
    plays.add("run-rejected", Play(broken_call(), headers=EVENT_STREAM))
    result = run(*curl(f"{upstream.url}/run-rejected{CHAT}", asked), "--cacert", str(certificate))
    assert result.returncode == 60
    assert "toolfix: curl does not trust mitmproxy's CA for localhost: it needs CURL_CA_BUNDLE" in result.stderr
    assert last_line(result) == NO_ANSWER


def test_what_was_wrong_is_said_to_a_command_that_was_stopped(
    confdir: Path, certificate: Path, plays: Plays, upstream: Upstream, asked: str
) -> None:
    plays.add("run-stopped", Play([b"{}"], 401, {"content-type": "application/json"}))
    asking = asked_with(f"{upstream.url}/run-stopped{CHAT}", asked)
    session = Running(
        command(confdir, cmd=("sh", "-c", f"{asking}; echo; exec sleep 60")), client_environment(certificate)
    )
    assert session.read_line() == "{}"
    session.process.terminate()
    status, _, err = session.end()
    assert status == 128 + signal.SIGTERM
    assert err.splitlines() == ["toolfix: localhost answered 401: the API key is missing or wrong.", NO_ANSWER]
