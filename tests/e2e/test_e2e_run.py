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
from pathlib import Path

import pytest

from tests.terminal import screen_of
from tests.upstream import Play, Seen, Upstream, play_recording
from toolcalls.cli.proxy_process import ProxyProcess
from toolcalls.recording import store

from .running import NO_ANSWER, PATIENCE, Run, Running, client_environment, command, curl, last_line
from .stage import (
    CHAT,
    DONE,
    EVENT_STREAM,
    MENDED,
    ROOT,
    Plays,
    arguments_of,
    broken_call,
    call_event,
    chat_event,
)

CLIENTS_PYTHON = os.environ.get("TOOLFIX_CLIENTS_PYTHON", str(ROOT / ".venv-clients/bin/python"))
SCRIPT = str(Path(__file__).with_name("sdk_script.py"))


# Clients


def test_the_sdk_of_openai_gets_a_mended_call(run: Run, plays: Plays, upstream: Upstream) -> None:
    plays.add("run-chat", Play(broken_call(), headers=EVENT_STREAM))
    result = run(CLIENTS_PYTHON, SCRIPT, "chat", f"{upstream.url}/run-chat/v1")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == MENDED
    assert result.stderr == "toolfix: 1 call, 1 mended, 0 refused\n"


def test_the_sdk_of_anthropic_gets_a_mended_call(run: Run, plays: Plays, upstream: Upstream) -> None:
    recording = store.load(ROOT / "recordings/messages/messages-args-python-literals")
    plays.add("run-messages", play_recording(recording))
    result = run(CLIENTS_PYTHON, SCRIPT, "messages", f"{upstream.url}/run-messages")
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


# Wishes


def test_observe_changes_nothing_and_says_what_would_be_done(
    run: Run, plays: Plays, upstream: Upstream, asked: str
) -> None:
    plays.add("run-observe", Play(broken_call(), headers=EVENT_STREAM))
    result = run(*curl(f"{upstream.url}/run-observe{CHAT}", asked), options=("--observe", "--verbose"))
    assert result.stdout.encode() == b"".join(broken_call())
    assert "would have mended Bash" in result.stderr
    assert last_line(result) == "toolfix: 1 call, 1 would have been mended, 0 would have been refused"


def test_verbose_shows_each_call_on_its_way(run: Run, plays: Plays, upstream: Upstream, asked: str) -> None:
    plays.add("run-verbose", Play(broken_call(), headers=EVENT_STREAM))
    result = run(*curl(f"{upstream.url}/run-verbose{CHAT}", asked), options=("-v",))
    for words in ("found a tool call", "sent Bash (", "the answer is done; calls: 1 mended"):
        assert words in result.stderr


def test_whoever_has_a_call_refused_hears_where_the_reason_is(
    run: Run, plays: Plays, upstream: Upstream, asked: str
) -> None:
    cut_off = [call_event("", "Bash"), call_event('{"command": "rm -rf /tmp/bu'), chat_event({}, "length"), DONE]
    plays.add("run-refused", Play(cut_off, headers=EVENT_STREAM))
    asking = curl(f"{upstream.url}/run-refused{CHAT}", asked)
    told = "toolfix: 1 call, 0 mended, 1 refused"
    assert last_line(run(*asking)) == f"{told} (why: run it with -v, or --report calls.html)"
    verbose = run(*asking, options=("-v",))
    assert last_line(verbose) == told
    assert ": refused Bash: " in verbose.stderr


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
        environ = client_environment(
            before.ca,
            HTTPS_PROXY=f"http://me:p%40ss@127.0.0.1:{before.port}",
            NODE_EXTRA_CA_CERTS=str(certificate),
            NO_PROXY="localhost,127.0.0.1,intranet.example",
        )
        far = " ".join(f"'{word}'" for word in curl(f"https://llm.example/run-upstream{CHAT}", asked))
        near = " ".join(f"'{word}'" for word in curl(f"{upstream.url}/run-upstream{CHAT}", asked))
        script = f"{far} > '{tmp_path}/far'; echo \"$NO_PROXY\"; read _; {near}"
        words = command(confdir, "--host", "llm.example", cmd=("sh", "-c", script))
        session = Running(words, environ)
        assert session.read_line() == "intranet.example"
        arguments = subprocess.run(["ps", "-ww", "-ef"], capture_output=True, text=True, check=True).stdout
        assert "mitmdump_child.py" in arguments
        assert "upstream_auth" not in arguments and "p@ss" not in arguments.replace("proxyauth=me:p@ss", "")
        session.write_line()
        status, out, err = session.end()
        assert status == 0, err
        assert arguments_of((tmp_path / "far").read_bytes()) == arguments_of(out.encode()) == [MENDED]
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
    session = Running(words, client_environment())
    assert session.read_line() == "ready"
    session.process.send_signal(getattr(signal, name))
    status, out, err = session.end()
    assert (status, out.strip()) == (5, "heard 1")
    assert "Traceback" not in err


def test_a_signal_that_ends_the_command_ends_with_its_status(confdir: Path) -> None:
    session = Running(command(confdir, cmd=("sh", "-c", "echo ready; exec sleep 60")), client_environment())
    assert session.read_line() == "ready"
    session.process.terminate()
    status, _, err = session.end()
    assert status == 128 + signal.SIGTERM
    assert err == f"{NO_ANSWER}\n"


def test_a_signal_before_the_command_has_started_leaves_nothing_behind(confdir: Path, tmp_path: Path) -> None:
    words = command(confdir, "--record", str(tmp_path / "recorded"), cmd=("echo", "never"))
    (tmp_path / "temporary").mkdir()
    session = Running(words, client_environment(TMPDIR=str(tmp_path / "temporary")))
    deadline = time.monotonic() + PATIENCE
    while not list((tmp_path / "temporary").iterdir()) and time.monotonic() < deadline:
        time.sleep(0.01)
    session.process.terminate()
    status, out, err = session.end()
    assert (status, out, err) == (128 + signal.SIGTERM, "", "")
    assert not list((tmp_path / "temporary").iterdir())


def test_ctrl_c_on_a_terminal_is_the_commands_own(confdir: Path) -> None:
    ours, theirs = os.openpty()

    def take_terminal() -> None:
        os.setsid()
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

    words = command(confdir, cmd=(sys.executable, "-c", COUNTS_SIGNALS.format(name="SIGINT")))
    process = subprocess.Popen(
        words, env=client_environment(), stdin=theirs, stdout=theirs, stderr=theirs, preexec_fn=take_terminal
    )
    os.close(theirs)
    screen = screen_of(ours, b"ready", b"\x03")
    assert process.wait(PATIENCE) == 5
    assert b"heard 1" in screen
    assert b"Traceback" not in screen
    *_, heard, said = screen.split(b"\r\n")[:-1]
    assert heard.endswith(b"heard 1") and said == NO_ANSWER.encode()


# The proxy's own trouble


def test_a_port_that_is_taken_is_one_sentence(run: Run) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        result = run("echo", "never", options=("--port", str(port)))
    assert result.returncode == 125
    assert result.stdout == ""
    why = "address already in use"
    advice = "leave --port out for a free one, or name another."
    assert result.stderr == f"toolfix: port {port} cannot be used ({why}): {advice}\n"


def test_a_bad_option_is_one_sentence(run: Run) -> None:
    result = run("echo", "never", options=("--set", "toolfix_mode=fast"))
    assert (result.returncode, result.stdout) == (2, "")
    assert "toolfix_mode='fast' is not allowed: use repair, observe or off." in result.stderr
    result = run("echo", "never", options=("--set", "flow_detail=much"))
    assert (result.returncode, result.stdout) == (125, "")
    assert result.stderr.startswith("toolfix: the proxy did not start: ")
    assert "not an integer: much" in result.stderr.lower()
    assert "mitmdump_child" not in result.stderr
    assert len(result.stderr.splitlines()) == 1
    result = run("echo", "never", options=("--set", "foo=bar"))
    assert (result.returncode, result.stdout) == (125, "")
    assert result.stderr == "toolfix: the proxy did not start: unknown option: foo=bar.\n"


def test_a_directory_of_recordings_into_which_others_can_write_is_one_sentence(run: Run, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "file").touch()
    shared.chmod(0o777)
    result = run("echo", "never", options=("--record", str(shared)))
    assert (result.returncode, result.stdout) == (125, "")
    assert result.stderr.startswith("toolfix: the proxy did not start: toolfix_record=")
    assert "cannot be written (others can write into it, until chmod go-w): name another directory." in result.stderr


def test_a_bad_option_in_mitmproxys_own_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("toolfix_mode: obsreve\n")
    result = subprocess.run(
        command(tmp_path, cmd=("echo", "never")),
        env=client_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stdout) == (125, "")
    why = "toolfix_mode='obsreve' is not allowed: use repair, observe or off."
    assert result.stderr == f"toolfix: the proxy did not start: {why}\n"


def test_a_proxy_that_dies_is_said_at_once_and_nobody_waits_for_it(
    confdir: Path, certificate: Path, plays: Plays, upstream: Upstream, asked: str
) -> None:
    plays.add("run-dies", Play(broken_call(), headers=EVENT_STREAM))
    asking = " ".join(f"'{word}'" for word in curl(f"{upstream.url}/run-dies{CHAT}", asked))
    words = command(confdir, cmd=("sh", "-c", f"{asking} | tail -n 1; echo ready; read _; {asking}"))
    session = Running(words, client_environment(certificate))
    while session.read_line() != "ready":
        pass
    os.kill(session.proxy_pid(), signal.SIGKILL)
    session.hear("the proxy has ended (signal 9); the agent's requests will fail from now on.")
    session.write_line()
    status, out, err = session.end()
    assert (status, out) == (7, ""), "curl could not connect"
    assert err.splitlines()[-1] == "toolfix: 1 call, 1 mended, 0 refused"


def test_nothing_is_left_behind(confdir: Path, tmp_path: Path) -> None:
    """Even when toolfix itself is killed, its proxy ends."""
    environ = client_environment(TMPDIR=str(tmp_path))
    session = Running(command(confdir, "-v", cmd=("sh", "-c", "echo ready; read _")), environ)
    assert session.read_line() == "ready"
    proxy = session.proxy_pid()
    session.process.kill()
    session.process.wait(PATIENCE)
    deadline = time.monotonic() + PATIENCE
    while Path(f"/proc/{proxy}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(f"/proc/{proxy}").exists()
    ended = Running(command(confdir, cmd=("true",)), client_environment(TMPDIR=str(tmp_path / "sub")))
    (tmp_path / "sub").mkdir()
    ended.end()
    assert list((tmp_path / "sub").iterdir()) == []
