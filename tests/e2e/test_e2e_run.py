"""`toolfix run`: real clients over TLS behind it, and everything that can go wrong around them."""

from __future__ import annotations

import fcntl
import io
import json
import os
import signal
import socket
import subprocess
import sys
import termios
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from toolcalls.cli.proxy_process import ProxyProcess
from toolcalls.cli.upstream import Play, Seen, Upstream, play_recording
from toolcalls.recording import store

from .running import PATIENCE, Running, command, surroundings
from .stage import CHAT, EVENT_STREAM, MENDED, ROOT, Plays, arguments_of, broken_call, request_body

CLIENTS_PYTHON = os.environ.get("TOOLFIX_CLIENTS_PYTHON", str(ROOT / ".venv-clients/bin/python"))
SCRIPT = str(Path(__file__).with_name("sdk_script.py"))
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(confdir: Path, certificate: Path) -> Run:
    """`toolfix run OPTIONS -- CMD`, in the environment of a user whose company has a CA."""

    def start(*cmd: str, options: tuple[str, ...] = (), **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command(confdir, *options, cmd=cmd),
            env=surroundings(certificate, **environ),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return start


@pytest.fixture
def asked(tmp_path: Path) -> str:
    """A file with a request, for curl's -d."""
    (tmp_path / "request.json").write_bytes(request_body())
    return f"@{tmp_path / 'request.json'}"


def curl(url: str, asked: str) -> tuple[str, ...]:
    return ("curl", "-sS", "--max-time", "30", "-H", "content-type: application/json", "-d", asked, url)


def last_line(result: subprocess.CompletedProcess[str]) -> str:
    assert "Traceback" not in result.stderr, result.stderr
    return result.stderr.splitlines()[-1]


# Clients


def test_the_sdk_of_openai_gets_a_mended_call(run: Run, plays: Plays, upstream: Upstream) -> None:
    plays.add("run-chat", Play(broken_call(), headers=EVENT_STREAM))
    result = run(CLIENTS_PYTHON, SCRIPT, "chat", f"{upstream.url}/run-chat/v1")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == MENDED
    assert result.stderr == "toolfix: 1 call, 1 mended, 0 refused\n"


@pytest.mark.parametrize(("api", "base"), [("messages", ""), ("responses", "/v1")])
def test_the_sdks_of_the_other_protocols_get_a_mended_call(
    api: str, base: str, run: Run, plays: Plays, upstream: Upstream
) -> None:
    plays.add(f"run-{api}", play_recording(store.load(ROOT / f"recordings/{api}/{api}-args-python-literals")))
    result = run(CLIENTS_PYTHON, SCRIPT, api, f"{upstream.url}/run-{api}{base}")
    assert result.returncode == 0, result.stderr
    assert isinstance(json.loads(result.stdout), dict)
    assert last_line(result) == "toolfix: 1 call, 1 mended, 0 refused"


def test_curl_gets_a_mended_call(run: Run, plays: Plays, upstream: Upstream, asked: str) -> None:
    plays.add("run-curl", Play(broken_call(), headers=EVENT_STREAM))
    result = run(*curl(f"{upstream.url}/run-curl{CHAT}", asked))
    assert result.returncode == 0, result.stderr
    assert arguments_of(result.stdout.encode()) == [MENDED]


def test_git_and_pip_trust_the_proxy(run: Run, plays: Plays, upstream: Upstream, tmp_path: Path) -> None:
    revision = "0123456789abcdef0123456789abcdef01234567"
    plays.add("run-git", Play([f"{revision}\trefs/heads/main\n".encode()], headers={"content-type": "text/plain"}))
    result = run("git", "ls-remote", f"{upstream.url}/run-git", "refs/heads/main")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(revision)

    plays.add("run-pip", package_index)
    index = f"{upstream.url}/run-pip/simple"
    pip = (sys.executable, "-m", "pip", "--no-cache-dir", "download", "--no-deps", "--dest", str(tmp_path))
    result = run(*pip, "--retries", "0", "--index-url", index, "toolfix-nothing")
    assert result.returncode == 0, result.stdout + result.stderr
    assert (tmp_path / WHEEL).is_file()


def test_a_local_server_over_plain_http_is_not_bypassed(
    run: Run, plays: Plays, plain_upstream: Upstream, asked: str
) -> None:
    plays.add("run-plain", Play(broken_call(), headers=EVENT_STREAM))
    result = run(CLIENTS_PYTHON, SCRIPT, "chat", f"{plain_upstream.url}/run-plain/v1", NO_PROXY="localhost,127.0.0.1")
    assert json.loads(result.stdout) == MENDED
    assert last_line(result) == "toolfix: 1 call, 1 mended, 0 refused"


WHEEL = "toolfix_nothing-1.0-py3-none-any.whl"


def package_index(seen: Seen) -> Play:
    if not seen.path.endswith(".whl"):
        return Play([f'<a href="/run-pip/{WHEEL}">{WHEEL}</a>'.encode()], headers={"content-type": "text/html"})
    wheel = io.BytesIO()
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr(
            "toolfix_nothing-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: toolfix-nothing\nVersion: 1.0\n"
        )
        file.writestr("toolfix_nothing-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        file.writestr("toolfix_nothing-1.0.dist-info/RECORD", "")
    return Play([wheel.getvalue()], headers={"content-type": "application/zip"})


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
        "toolfix: localhost was tunnelled untouched, because it is not in the list of LLM hosts: add --host localhost",
        "toolfix: no answer of a model went through the proxy",
    ]


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (401, "localhost answered 401: the API key is missing or wrong."),
        (403, "localhost answered 403: this key may not use this model or this address."),
        (
            404,
            "localhost answered 404 to /run-404/v1/chat/completions: check the base URL and the name of the model.",
        ),
        (429, "localhost answered 429: too many requests, or the quota is used up: wait, or look at the account."),
        (503, "localhost answered 503: the server failed. Try again later."),
    ],
)
def test_a_status_that_is_no_answer_is_named(
    status: int, sentence: str, run: Run, plays: Plays, upstream: Upstream, asked: str
) -> None:
    plays.add(f"run-{status}", Play([b'{"error": {"message": "no"}}'], status, {"content-type": "application/json"}))
    result = run(*curl(f"{upstream.url}/run-{status}{CHAT}", asked))
    expected = [f"toolfix: {sentence}", "toolfix: no answer of a model went through the proxy"]
    assert result.stderr.splitlines() == expected


def test_a_host_that_cannot_be_reached_is_named(run: Run, asked: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        result = run(*curl(f"http://127.0.0.1:{taken.getsockname()[1]}{CHAT}", asked))
    assert "toolfix: 127.0.0.1 cannot be reached (" in result.stderr
    assert last_line(result) == "toolfix: no answer of a model went through the proxy"


def test_a_certificate_that_nobody_trusts_is_named_with_both_ways_to_trust_it(
    confdir: Path, plays: Plays, upstream: Upstream, asked: str
) -> None:
    result = subprocess.run(
        command(confdir, cmd=curl(f"{upstream.url}/x{CHAT}", asked)),
        env={"PATH": os.environ["PATH"], "HOME": str(confdir)},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (
        "toolfix: the certificate of localhost is not trusted. If it is your own server, name its CA" in result.stderr
    )


def test_where_nothing_was_asked_nothing_is_said(run: Run) -> None:
    assert run("true").stderr == ""


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
def test_an_agent_that_bypasses_proxies_gets_the_line_that_works_and_keeps_its_exit_status(
    binary: str, sentence: str, run: Run, tmp_path: Path
) -> None:
    agent = tmp_path / binary
    agent.write_text("#!/bin/sh\nexit 3\n")
    agent.chmod(0o755)
    result = run(str(agent))
    expected = [f"toolfix: {sentence}", "toolfix: no answer of a model went through the proxy"]
    assert (result.returncode, result.stderr.splitlines()) == (3, expected)
    assert run(str(agent), "--version").stderr == ""


def test_an_agent_that_can_bypass_proxies_hears_nothing_of_it_where_an_answer_came(
    run: Run, plays: Plays, upstream: Upstream, asked: str, tmp_path: Path
) -> None:
    plays.add("run-kimi", Play(broken_call(), headers=EVENT_STREAM))
    agent = tmp_path / "kimi"
    agent.write_text(f"#!/bin/sh\nexec curl -sS -d {asked} {upstream.url}/run-kimi{CHAT}\n")
    agent.chmod(0o755)
    assert run(str(agent)).stderr == "toolfix: 1 call, 1 mended, 0 refused\n"


def test_a_client_that_rejects_the_certificate_is_told_its_variable(
    run: Run, plays: Plays, upstream: Upstream, asked: str, certificate: Path
) -> None:
    plays.add("run-rejected", Play(broken_call(), headers=EVENT_STREAM))
    result = run(*curl(f"{upstream.url}/run-rejected{CHAT}", asked), "--cacert", str(certificate))
    assert result.returncode == 60
    assert "toolfix: curl does not trust mitmproxy's CA for localhost: it needs CURL_CA_BUNDLE" in result.stderr


# Wishes


def test_observe_changes_nothing_and_says_what_would_be_done(
    run: Run, plays: Plays, upstream: Upstream, asked: str
) -> None:
    plays.add("run-observe", Play(broken_call(), headers=EVENT_STREAM))
    result = run(*curl(f"{upstream.url}/run-observe{CHAT}", asked), options=("--observe", "--verbose"))
    assert result.stdout.encode() == b"".join(broken_call())
    assert "would have mended Bash" in result.stderr
    assert last_line(result) == "toolfix: 1 call, 1 would have been mended, 0 would have been refused"


def test_what_is_recorded_is_where_it_says(
    run: Run, plays: Plays, upstream: Upstream, asked: str, tmp_path: Path
) -> None:
    plays.add("run-record", Play(broken_call(), headers=EVENT_STREAM))
    folder = tmp_path / "kept"
    result = run(*curl(f"{upstream.url}/run-record{CHAT}", asked), options=("--record", str(folder)))
    assert last_line(result) == f"toolfix: 1 call, 1 mended, 0 refused: recorded in {folder}"
    assert len(store.find(folder)) == 1


def test_a_report_is_where_it_says(run: Run, plays: Plays, upstream: Upstream, asked: str, tmp_path: Path) -> None:
    plays.add("run-report", Play(broken_call(), headers=EVENT_STREAM))
    page = tmp_path / "calls.html"
    result = run(*curl(f"{upstream.url}/run-report{CHAT}", asked), options=("--report", str(page)))
    assert result.returncode == 0
    assert last_line(result) == f"toolfix: 1 call, 1 mended, 0 refused: report at {page}"
    assert "Bash" in page.read_text()


def test_a_report_that_cannot_be_written_is_said_before_the_command_runs(run: Run, tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "nowhere" / "calls.html"):
        result = run("echo", "never", options=("--report", str(place)))
        assert (result.returncode, result.stdout) == (2, "")
        assert f"--report {place} cannot be written: name a file in an existing directory." in result.stderr


def test_reverse_mode_needs_neither_a_proxy_variable_nor_a_ca(
    run: Run, plays: Plays, upstream: Upstream, asked: str
) -> None:
    plays.add("run-reverse", Play(broken_call(), headers=EVENT_STREAM))
    shell = f'test -z "$HTTPS_PROXY" && curl -sS --noproxy "*" -d {asked} "$OPENAI_BASE_URL/chat/completions"'
    result = run("sh", "-c", shell, options=("--reverse", f"{upstream.url}/run-reverse/v1"))
    assert result.returncode == 0, result.stderr
    assert arguments_of(result.stdout.encode()) == [MENDED]
    assert last_line(result) == "toolfix: 1 call, 1 mended, 0 refused"


def test_a_proxy_that_was_there_before_is_on_the_way_and_a_local_server_is_not_behind_it(
    confdir: Path, certificate: Path, plays: Plays, upstream: Upstream, asked: str, tmp_path: Path
) -> None:
    """The company's proxy opens TLS too, wants a password and knows where llm.example is."""
    plays.add("run-upstream", Play(broken_call(), headers=EVENT_STREAM))
    company = (
        "--map-remote", f"|//llm.example|//localhost:{upstream.port}", "--set", "connection_strategy=lazy",
        "--set", f"ssl_verify_upstream_trusted_ca={certificate}", "--set", "proxyauth=me:p@ss",
    )  # fmt: skip
    with ProxyProcess(tmp_path / "company", company, script=None) as before:
        environ = surroundings(
            before.ca,
            HTTPS_PROXY=f"http://me:p%40ss@127.0.0.1:{before.port}",
            NODE_EXTRA_CA_CERTS=str(certificate),
            NO_PROXY="localhost,127.0.0.1,intranet.example",
        )
        far = " ".join(f"'{word}'" for word in curl(f"https://llm.example/run-upstream{CHAT}", asked))
        near = " ".join(f"'{word}'" for word in curl(f"{upstream.url}/run-upstream{CHAT}", asked))
        words = command(
            confdir, "--host", "llm.example", cmd=("sh", "-c", f'echo "$NO_PROXY"; {far}; read _; {near}')
        )
        session = Running(words, environ)
        assert session.read_line() == "intranet.example"
        arguments = subprocess.run(["ps", "-ww", "-ef"], capture_output=True, text=True, check=True).stdout
        assert "upstream:http://127.0.0.1" in arguments
        assert "upstream_auth" not in arguments
        session.write_line()
        status, out, err = session.end()
        assert status == 0, err
        assert [arguments_of(part.encode()) for part in out.split("[DONE]")[:2]] == [[MENDED], [MENDED]]
        assert err == "toolfix: 2 calls, 2 mended, 0 refused\n"
        assert before.output.count(": POST ") == 1


# Signals and exit statuses


def test_the_exit_status_is_that_of_the_command(run: Run) -> None:
    assert run("sh", "-c", "exit 7").returncode == 7
    assert run("sh", "-c", "kill -9 $$").returncode == 128 + signal.SIGKILL


def test_a_command_that_does_not_exist_is_one_sentence(run: Run) -> None:
    result = run("no-such-agent", "--help")
    assert result.returncode == 127
    assert result.stderr == "toolfix: there is no command 'no-such-agent': is it installed and on the PATH?\n"


def test_a_command_that_cannot_be_executed_is_one_sentence(run: Run, tmp_path: Path) -> None:
    result = run(str(tmp_path))
    assert result.returncode == 126
    assert result.stderr == f"toolfix: {str(tmp_path)!r} cannot be started (Permission denied).\n"


COUNTS_SIGNALS = """
import signal, sys, time
heard = []
signal.signal(signal.{name}, lambda number, frame: heard.append(number))
print("ready", flush=True)
deadline = time.monotonic() + 60
while not heard and time.monotonic() < deadline:
    time.sleep(0.02)
time.sleep(0.3)
print("heard", len(heard), flush=True)
sys.exit(5)
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_reaches_the_command_once(name: str, confdir: Path) -> None:
    words = command(confdir, cmd=(sys.executable, "-c", COUNTS_SIGNALS.format(name=name)))
    session = Running(words, surroundings())
    assert session.read_line() == "ready"
    session.process.send_signal(getattr(signal, name))
    status, out, err = session.end()
    assert (status, out.strip()) == (5, "heard 1")
    assert "Traceback" not in err


def test_a_signal_that_ends_the_command_ends_with_its_status(confdir: Path) -> None:
    session = Running(command(confdir, cmd=("sh", "-c", "echo ready; exec sleep 60")), surroundings())
    assert session.read_line() == "ready"
    session.process.terminate()
    status, _, err = session.end()
    assert status == 128 + signal.SIGTERM
    assert err == ""


def test_ctrl_c_on_a_terminal_is_the_commands_own(confdir: Path) -> None:
    ours, theirs = os.openpty()

    def take_terminal() -> None:
        os.setsid()
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

    words = command(confdir, cmd=(sys.executable, "-c", COUNTS_SIGNALS.format(name="SIGINT")))
    process = subprocess.Popen(
        words, env=surroundings(), stdin=theirs, stdout=theirs, stderr=theirs, preexec_fn=take_terminal
    )
    os.close(theirs)
    screen = b""
    pressed = False
    with os.fdopen(ours, "r+b", buffering=0) as terminal:
        while True:
            try:
                chunk = terminal.read(1024)
            except OSError:  # The other side is closed.
                break
            if not chunk:
                break
            screen += chunk
            if b"ready" in screen and not pressed:
                pressed = True
                terminal.write(b"\x03")
    assert process.wait(PATIENCE) == 5
    assert b"heard 1" in screen
    assert b"Traceback" not in screen
    assert screen.rstrip().endswith(b"heard 1")


# The proxy's own trouble


def test_a_port_that_is_taken_is_one_sentence(run: Run) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        result = run("echo", "never", options=("--port", str(port)))
    assert result.returncode == 125
    assert result.stdout == ""
    assert result.stderr == f"toolfix: port {port} is taken: leave --port out for a free one, or name another.\n"


def test_a_bad_option_is_one_sentence(run: Run) -> None:
    result = run("echo", "never", options=("--set", "toolfix_mode=fast"))
    assert (result.returncode, result.stdout) == (2, "")
    assert "toolfix_mode='fast' is not allowed: say repair, observe or off." in result.stderr
    result = run("echo", "never", options=("--set", "flow_detail=much"))
    assert (result.returncode, result.stdout) == (125, "")
    assert result.stderr.startswith("toolfix: the proxy did not start: ")
    assert "not an integer: much" in result.stderr.lower()
    assert "mitmdump_child" not in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_proxy_that_dies_is_said_at_once_and_comes_back(
    confdir: Path, certificate: Path, plays: Plays, upstream: Upstream, asked: str
) -> None:
    plays.add("run-dies", Play(broken_call(), headers=EVENT_STREAM))
    asking = " ".join(f"'{word}'" for word in curl(f"{upstream.url}/run-dies{CHAT}", asked))
    words = command(confdir, cmd=("sh", "-c", f"{asking} | tail -n 1; echo ready; read _; {asking}"))
    session = Running(words, surroundings(certificate))
    while session.read_line() != "ready":
        pass
    first = session.proxy_pid()
    os.kill(first, signal.SIGKILL)
    session.hear("the proxy has ended (signal 9); what was under way is lost. It is started again.")
    deadline = time.monotonic() + PATIENCE
    while not listening(session) and time.monotonic() < deadline:
        time.sleep(0.1)
    session.write_line()
    status, out, err = session.end()
    assert status == 0, err
    assert arguments_of(out.encode()) == [MENDED]
    assert err.splitlines()[-1] == "toolfix: 2 calls, 2 mended, 0 refused"


def listening(session: Running) -> bool:
    try:
        pid = session.proxy_pid()
    except AssertionError:
        return False
    return f"pid={pid}," in subprocess.run(["ss", "-ltnp"], capture_output=True, text=True, check=True).stdout


def test_nothing_is_left_behind(confdir: Path, tmp_path: Path) -> None:
    """Even when toolfix itself is killed, its proxy ends."""
    environ = surroundings(TMPDIR=str(tmp_path))
    session = Running(command(confdir, cmd=("sh", "-c", "echo ready; read _")), environ)
    assert session.read_line() == "ready"
    proxy = session.proxy_pid()
    session.process.kill()
    session.process.wait(PATIENCE)
    deadline = time.monotonic() + PATIENCE
    while Path(f"/proc/{proxy}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(f"/proc/{proxy}").exists()
    ended = Running(command(confdir, cmd=("true",)), surroundings(TMPDIR=str(tmp_path / "sub")))
    (tmp_path / "sub").mkdir()
    ended.end()
    assert list((tmp_path / "sub").iterdir()) == []
