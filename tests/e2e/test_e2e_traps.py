"""The traps of mitmproxy: options, foreign hosts, reloads, its own replay and flow files, its modes."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import brotli
import pytest
from mitmproxy import http
from mitmproxy.io import FlowReader

from tests.http2 import Http2Upstream
from tests.upstream import Play, Upstream
from toolcalls import policy
from toolcalls.cli.proxy_process import SCRIPT, ProxyFailed, ProxyProcess

from .stage import (
    CHAT,
    DOCUMENT,
    DONE,
    EVENT_STREAM,
    MENDED,
    PATIENCE,
    Clients,
    Plays,
    Start,
    arguments_of,
    broken_call,
    broken_document,
    fingerprint,
    free_port,
    outside_address,
    request_body,
    seen_certificate,
    wait_for,
)

# Bad options

BAD_VALUES = {
    "toolfix_mode": "repiar",
    "toolfix_aggregate": "maybe",
    "toolfix_hosts": "https://api.example/v1",
    "toolfix_tools": "Bash(",
    "toolfix_fallback": "invalid",
    "toolfix_invalid_tool": "two words",
    "toolfix_arguments": "2",
    "toolfix_truncated": "true",
    "toolfix_shape": "nope",
    "toolfix_drop_empty": "pages offset",
    "toolfix_null_content": "null",
    "toolfix_preflight": "-",
    "toolfix_text_calls": "some",
    "toolfix_request": "x",
    "toolfix_hints": "tru",
    "toolfix_retry_guidance": "always",
    "toolfix_zai": "true",
    "toolfix_zai_after_null": "forward",
    "toolfix_record": "/dev/null/recordings",
    "toolfix_max_held_bytes": "-1",
    "toolfix_reasoning": "always",
    "toolfix_loops": "many",
    "toolfix_metrics": "short",
}


@dataclass(frozen=True)
class Ended:
    """How a mitmdump with a bad option ended, and which certificates of a foreign host it showed until then."""

    status: int
    output: str
    certificates: frozenset[str]


@pytest.fixture(scope="module")
def outside(plays: Plays, certificate: Path) -> Iterator[Upstream | None]:
    """A server at an address that is not loopback and so none of the hosts that are opened."""
    address = outside_address()
    if address is None:
        yield None
        return
    with Http2Upstream(plays, certificate, host=address) as upstream:
        yield upstream


WARM = f"""
import json, os, signal, sys
import mitmproxy.tools.dump, toolcalls.engine, toolcalls.recording.record
from mitmproxy.tools.main import mitmdump

for line in sys.stdin:
    arguments, output = json.loads(line)
    child = os.fork()
    if child == 0:
        signal.alarm({int(PATIENCE)})
        file = os.open(output, os.O_WRONLY | os.O_CREAT)
        os.dup2(file, 1)
        os.dup2(file, 2)
        sys.argv = ["mitmdump", *arguments]
        mitmdump()
        sys.exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""mitmdump many times, each a process of its own, but its modules are loaded only once."""


@pytest.fixture(scope="module")
def ended(
    confdir: Path, proxy: ProxyProcess, outside: Upstream | None, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Ended]:
    """Every bad option in a mitmdump of its own, while a client asks for a foreign host."""
    folder = tmp_path_factory.mktemp("bad")
    warm = subprocess.Popen(
        [sys.executable, "-c", WARM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
        env={**os.environ, "PYTHONPATH": str(SCRIPT.parent)},
    )
    assert warm.stdin
    assert warm.stdout

    def ask_for(port: int, over: threading.Event, certificates: set[str]) -> None:
        while outside is not None and not over.wait(0.005):
            with contextlib.suppress(OSError):
                certificates.add(seen_certificate(port, str(outside_address()), outside.port, timeout=1.0))

    results = {}
    for option, value in BAD_VALUES.items():
        port, over, certificates = free_port(), threading.Event(), set[str]()
        client = threading.Thread(target=ask_for, args=(port, over, certificates))
        client.start()
        listen = ["--listen-host", "127.0.0.1", "--listen-port", str(port)]
        settings = ["--set", f"confdir={confdir}", "--set", f"{option}={value}"]
        warm.stdin.write(json.dumps([[*settings, *listen, "-s", str(SCRIPT)], str(folder / option)]) + "\n")
        status = int(warm.stdout.readline())
        over.set()
        client.join()
        results[option] = Ended(status, (folder / option).read_text(), frozenset(certificates))
        if status == -signal.SIGALRM:
            # It goes on: the others would, too.
            results = dict.fromkeys(BAD_VALUES, results[option])
            break
    warm.stdin.close()
    warm.wait(PATIENCE)
    return results


def test_there_is_a_bad_value_of_every_option() -> None:
    assert set(BAD_VALUES) == set(policy.BY_NAME)


@pytest.mark.parametrize("option", policy.BY_NAME)
def test_a_bad_value_ends_mitmdump_with_a_sentence_and_opens_no_other_host(
    option: str, ended: dict[str, Ended], certificate: Path
) -> None:
    end = ended[option]
    assert end.status == 1, end.output
    # What may be a token is not shown.
    shown = option if option == "toolfix_metrics" else f"{option}={BAD_VALUES[option]!r}"
    assert f"{shown} is not allowed: " in end.output or "cannot be written" in end.output
    assert f'File "{SCRIPT}"' not in end.output, "a sentence, no traceback"
    assert end.certificates <= {fingerprint(certificate)}


def test_a_bad_value_in_the_environment_ends_mitmdump_too(start: Start) -> None:
    with pytest.raises(ProxyFailed, match=r"toolfix_mode='repiar' is not allowed: use repair, observe or off\."):
        start(environment={"TOOLFIX_MODE": "repiar"})


def test_an_option_of_ours_that_is_misspelt_ends_mitmdump_too(start: Start) -> None:
    with pytest.raises(ProxyFailed, match=r"there is no option 'toolfix-mode'\. Did you mean toolfix_mode\?"):
        start("--set", "toolfix-mode=observe")


# Hosts that are not ours


def test_another_host_shows_its_own_certificate(
    outside: Upstream | None, proxy: ProxyProcess, upstream: Upstream, certificate: Path
) -> None:
    if outside is None:
        pytest.skip("this machine has no address but loopback")
    own = fingerprint(certificate)
    assert seen_certificate(proxy.port, str(outside_address()), outside.port) == own
    assert seen_certificate(proxy.port, "localhost", upstream.port) != own


def test_a_host_that_is_not_in_the_list_is_tunnelled_after_a_broken_reload_too(
    start: Start, tmp_path: Path, plays: Plays, upstream: Upstream, clients: Clients, certificate: Path
) -> None:
    own = fingerprint(certificate)
    addon = shutil.copytree(SCRIPT.parent, tmp_path / "addon", ignore=shutil.ignore_patterns("__pycache__"))
    script = addon / "toolfix.py"
    source = script.read_text()
    process = start("--set", "toolfix_hosts=api.example", script=script)
    assert seen_certificate(process.port, "localhost", upstream.port) == own

    broken = {
        "a syntax error": "this is no Python",
        "an import that fails": "import no_such_module\n" + source,
        "an exception in load": source.replace(
            "self.settings.declare(loader)", "raise RuntimeError('load')\n        self.settings.declare(loader)"
        ),
        "an exception in configure": source.replace(
            "self.settings.updated(updated)",
            "raise RuntimeError('configure')\n            self.settings.updated(updated)",
        ),
    }
    for what, text in broken.items():
        assert text != source
        loads = process.output.count("Loading script")
        write_newer(script, text)
        assert wait_for(lambda: process.output.count("Loading script") > loads), what  # noqa: B023
        time.sleep(0.1)
        assert seen_certificate(process.port, "localhost", upstream.port) == own, what
    loads = process.output.count("Loading script")
    write_newer(script, source)
    assert wait_for(lambda: process.output.count("Loading script") > loads)
    time.sleep(0.1)
    assert seen_certificate(process.port, "localhost", upstream.port) == own, "after the script was put right again"


def write_newer(script: Path, text: str) -> None:
    """mitmproxy reloads when the time of the file is later than it was."""
    later = script.stat().st_mtime + 1
    script.write_text(text)
    os.utime(script, (later, later))


def test_with_mode_off_everything_is_tunnelled(start: Start, upstream: Upstream, certificate: Path) -> None:
    process = start("--set", "toolfix_mode=off")
    assert seen_certificate(process.port, "localhost", upstream.port) == fingerprint(certificate)


def test_allow_hosts_of_the_user_are_kept_and_ignore_hosts_still_count(
    start: Start, outside: Upstream | None, upstream: Upstream, certificate: Path
) -> None:
    own = fingerprint(certificate)
    process = start("--allow-hosts", "^other.example", "--ignore-hosts", "localhost")
    assert seen_certificate(process.port, "localhost", upstream.port) == own
    if outside is not None:
        assert seen_certificate(process.port, str(outside_address()), outside.port) == own


# Modes


def test_the_target_of_a_reverse_proxy_is_ours_whatever_its_name(
    start: Start, plays: Plays, upstream: Upstream, clients: Clients
) -> None:
    plays.add("reverse", Play(broken_call(), headers=EVENT_STREAM))
    process = start("--set", "toolfix_hosts=api.example", "--mode", f"reverse:{upstream.url}")
    received = clients.fetch(f"{process.url}/reverse{CHAT}", None)
    assert arguments_of(received.body) == [MENDED]
    over_tls = clients.fetch(f"https://localhost:{process.port}/reverse{CHAT}", None, ca=str(process.ca), http2=True)
    assert arguments_of(over_tls.body) == [MENDED], over_tls.error
    assert over_tls.http_version == "HTTP/2"


def test_a_reverse_proxy_that_is_off_still_answers(
    start: Start, plays: Plays, upstream: Upstream, clients: Clients
) -> None:
    plays.add("reverse-off", Play(broken_call(), headers=EVENT_STREAM))
    process = start("--set", "toolfix_mode=off", "--mode", f"reverse:{upstream.url}")
    received = clients.fetch(f"{process.url}/reverse-off{CHAT}", None)
    assert received.body == b"".join(broken_call()), received.error


def test_an_upstream_proxy_behind_ours_is_used_and_the_flow_file_holds_what_the_client_got(
    start: Start, confdir: Path, tmp_path: Path, plays: Plays, upstream: Upstream, clients: Clients
) -> None:
    plays.add("chained", Play(broken_call(), headers=EVENT_STREAM))
    plays.add("chained-document", Play([broken_document()], headers=DOCUMENT))
    plays.add("compressed-unasked", Play([packed(broken_call())], headers={**EVENT_STREAM, "content-encoding": "br"}))
    behind = start(script=None)
    flows = tmp_path / "flows"
    process = ProxyProcess(
        confdir,
        ("--mode", f"upstream:{behind.url}", "-w", str(flows),
         "--set", f"ssl_verify_upstream_trusted_ca={behind.ca}"),
    )  # fmt: skip
    got: dict[str, bytes] = {}
    with process:
        for name in ("chained", "chained-document", "compressed-unasked"):
            for http2 in (False, True):
                received = clients.fetch(
                    f"{upstream.url}/{name}{CHAT}", process, request_body(name != "chained-document"), http2=http2
                )
                assert not received.error
                got.setdefault(name, received.body)
                assert got[name] == received.body
    assert arguments_of(got["chained"]) == [MENDED]
    assert b"localhost" in behind.output.encode() or "CONNECT" in behind.output
    saved = read_flows(flows)
    assert len(saved) == 6
    for flow in saved:
        name = flow.request.path.split("/")[1]
        assert flow.response is not None
        assert flow.response.content == got[name]
        assert flow.response.raw_content == got[name]


def packed(events: list[bytes]) -> bytes:
    body: bytes = brotli.compress(b"".join(events))
    return body


def read_flows(path: Path) -> list[http.HTTPFlow]:
    with path.open("rb") as file:
        return [flow for flow in FlowReader(file).stream() if isinstance(flow, http.HTTPFlow)]


def test_http2_clients_of_an_http1_upstream(start: Start, plays: Plays, certificate: Path, clients: Clients) -> None:
    """With the lazy strategy mitmproxy speaks HTTP/2 to the client before it knows what the upstream speaks."""
    plays.add("lazy", Play(broken_call(), headers=EVENT_STREAM))
    process = start("--set", "connection_strategy=lazy")
    with Upstream(plays, certificate) as old:
        received = clients.fetch(f"{old.url}/lazy{CHAT}", process, http2=True)
    assert not received.error
    assert received.http_version == "HTTP/2"
    assert plays.seen["lazy"].http_version == "HTTP/1.1"
    assert arguments_of(received.body) == [MENDED]
    assert received.body.endswith(DONE)


# mitmproxy's own replay


def test_server_replay_of_a_broken_stream_is_mended(
    start: Start, tmp_path: Path, plays: Plays, upstream: Upstream, clients: Clients
) -> None:
    plays.add("replayed", Play(broken_call(), headers=EVENT_STREAM))
    plays.add("replayed-document", Play([broken_document()], headers=DOCUMENT))
    flows = tmp_path / "broken.flows"
    recorder = start("-w", str(flows), script=None)
    for name in ("replayed", "replayed-document"):
        received = clients.fetch(f"{upstream.url}/{name}{CHAT}", recorder, request_body(name == "replayed"))
        assert received.body in (b"".join(broken_call()), broken_document())
    recorder.stop()
    plays.add("replayed", Play([b"the upstream must not be asked"], 500))
    plays.add("replayed-document", Play([b"the upstream must not be asked"], 500))
    process = start(
        "-S", str(flows),
        "--set", "server_replay_ignore_content=true", "--set", "server_replay_reuse=true",
        "--set", "connection_strategy=lazy",
    )  # fmt: skip
    received = clients.fetch(f"{upstream.url}/replayed{CHAT}", process)
    assert received.status == 200
    assert arguments_of(received.body) == [MENDED]
    assert received.body.endswith(DONE)
    request = {"model": "m", "messages": [{"role": "user", "content": "Please go on."}]}
    answer = clients.ask("chat", f"{upstream.url}/replayed-document/v1", process, stream=False, request=request)
    assert [call["name"] for call in answer["calls"]] == ["Bash"], answer["error"]
    assert answer["finish"] == "tool_calls"


# Observing


def test_observing_passes_the_bytes_and_says_what_would_be_done(
    start: Start, plays: Plays, upstream: Upstream, clients: Clients
) -> None:
    """Set with the environment, to show that too."""
    stream, document = b"".join(broken_call()), broken_document()
    plays.add("observed", Play([stream], headers=EVENT_STREAM, content_length=len(stream)))
    plays.add("observed-document", Play([document], headers=DOCUMENT, content_length=len(document)))
    plays.add("observed-packed", Play([packed(broken_call())], headers={**EVENT_STREAM, "content-encoding": "br"}))
    process = start(environment={"TOOLFIX_MODE": "observe"})
    for http2 in (False, True):
        received = clients.fetch(
            f"{upstream.url}/observed{CHAT}", process, http2=http2, headers={"accept-encoding": "gzip, br"}
        )
        assert received.body == stream
        assert plays.seen["observed"].headers["accept-encoding"] == "gzip, br"
    assert clients.fetch(f"{upstream.url}/observed-document{CHAT}", process, request_body(False)).body == document
    compressed = clients.fetch(f"{upstream.url}/observed-packed{CHAT}", process)
    assert compressed.body == packed(broken_call())
    assert compressed.headers["content-encoding"] == "br"
    assert wait_for(lambda: process.output.count("would have mended Bash") == 4), process.output


def test_the_option_wins_over_the_environment(
    start: Start, plays: Plays, upstream: Upstream, clients: Clients
) -> None:
    plays.add("environment", Play(broken_call(), headers=EVENT_STREAM))
    process = start(
        "--set", "toolfix_mode=repair",
        environment={"TOOLFIX_MODE": "off", "TOOLFIX_FALLBACK": "empty", "RCC_TOOL_ENHANCE": "0"},
    )  # fmt: skip
    received = clients.fetch(f"{upstream.url}/environment{CHAT}", process)
    assert b"{'command'" in received.body.replace(b"\\u0027", b"'"), "RCC_TOOL_ENHANCE=0 leaves arguments as they are"
    assert received.body.count(b'"arguments"') == 1, "but the call is gathered"
