"""/metrics of a real proxy: the counts are those of what was sent, and only those may ask whom the option names."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.upstream import Play, Upstream
from toolcalls.cli import proxy_process

from .stage import (
    CHAT,
    DONE,
    EVENT_STREAM,
    PATIENCE,
    Clients,
    Lockstep,
    Plays,
    Start,
    broken_call,
    broken_document,
    call_event,
    chat_event,
    outside_address,
    request_body,
)


def get(
    port: int, path: str = "/metrics", *, to: str = "127.0.0.1", host: str = "", token: str = ""
) -> tuple[int, str]:
    connection = http.client.HTTPConnection(to, port, timeout=PATIENCE)
    try:
        headers = {"host": host} if host else {}
        connection.request("GET", path, headers=headers | ({"authorization": f"Bearer {token}"} if token else {}))
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def numbers(port: int, path: str = "/metrics") -> dict[str, float]:
    """The samples of /metrics as `name protocol label`."""
    status, text = get(port, path)
    assert status == 200
    return {
        " ".join([sample.name.removeprefix("toolfix_"), *(sample.labels.values())]): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_the_counts_equal_what_was_sent(
    start: Start, tmp_path: Path, plays: Plays, upstream: Upstream, clients: Clients
) -> None:
    cut = [call_event('{"command": "rm -rf /ho', "Bash"), chat_event({}, "length"), DONE]
    valid = [call_event('{"command": "ls"}', "Bash"), chat_event({}, "tool_calls"), DONE]
    answers = {
        "m-broken": (Play(broken_call(), headers=EVENT_STREAM), 3),
        "m-cut": (Play(cut, headers=EVENT_STREAM), 2),
        "m-valid": (Play(valid, headers=EVENT_STREAM), 4),
        "m-text": (Play([chat_event({"content": "hi"}), chat_event({}, "stop"), DONE], headers=EVENT_STREAM), 5),
        "m-document": (Play([broken_document()], headers={"content-type": "application/json"}), 1),
        "m-dies": (Play(broken_call()[:4], headers=EVENT_STREAM, breaks=True), 1),
    }
    process = start("--set", f"toolfix_record={tmp_path / 'flows'}")
    assert "calls_total chat repaired" not in numbers(process.port)
    for name, (play, times) in answers.items():
        plays.add(name, play)
        for _ in range(times):
            clients.fetch(f"{upstream.url}/{name}{CHAT}", process, request_body(name != "m-document"))
    found = numbers(process.port)
    assert found["answers_total chat"] == 16
    assert found["calls_total chat valid"] == 4
    assert found["calls_total chat repaired"] == 4
    assert found["calls_total chat refused"] == 2
    assert found["refused_total chat cut off"] == 2
    assert found["steps_total chat single quotes"] == 4
    assert found["failed_open_total chat"] == 0
    assert found["broken_total chat"] == 1
    assert found["mending_seconds_count chat"] == 10
    assert found["mending_seconds_bucket chat +Inf"] == 10
    assert 0 < found["mending_seconds_sum chat"] < 5
    assert found["held_bytes chat"] == 0
    assert found["recordings_total written"] + found["recordings_total lost"] <= 16


def test_what_is_held_right_now_is_in_the_numbers(
    start: Start, plays: Plays, upstream: Upstream, clients: Clients
) -> None:
    process = start()
    events = broken_call()
    held: list[float] = []

    def look() -> Iterator[bytes]:
        yield from events[:4]
        deadline = 200
        while not (held and held[-1]) and deadline:
            deadline -= 1
            held.append(numbers(process.port).get("held_bytes chat", 0))
            yield b": wait\n\n"
        yield from events[4:]

    plays.add("m-held", lambda _: Play(look(), headers=EVENT_STREAM, pause=0.02))
    clients.fetch(f"{upstream.url}/m-held{CHAT}", process)
    # A held part counts as one byte more than its event, so that parts without bytes have a limit too.
    assert held[-1] == sum(len(event) + 1 for event in events[1:4])
    assert numbers(process.port)["held_bytes chat"] == 0


def test_only_this_machine_and_only_the_own_address_is_answered(
    start: Start, plays: Plays, plain_upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proxy_process, "listen", lambda port: socket.create_server(("0.0.0.0", port)))
    process = start()
    assert get(process.port)[0] == 200
    assert get(process.port, host=f"localhost:{process.port}")[0] == 200
    assert get(process.port, f"http://127.0.0.1:{process.port}/metrics")[0] == 200
    assert get(process.port, host=f"evil.example:{process.port}")[0] >= 400
    status, text = get(process.port, f"http://127.0.0.1:{plain_upstream.port}/metrics")
    assert (status, "toolfix_info" in text) == (404, False), "of another server it is its own"
    outside = outside_address()
    if outside is not None:
        status, text = get(process.port, to=outside, host=f"{outside}:{process.port}")
        assert (status, "toolfix_info" in text) == (403, False)


TOKEN = "token-of-the-tests-0123456789"


@pytest.mark.parametrize("reverse", [False, True], ids=["regular", "reverse"])
def test_who_may_read_is_said_by_the_option_and_by_default_nobody_may(
    reverse: bool, start: Start, plain_upstream: Upstream, tmp_path: Path
) -> None:
    """Behind a balancer every client is one of this machine: a token tells, or nobody does."""
    mode = ("--mode", f"reverse:{plain_upstream.url}") if reverse else ()
    path = "/toolfix/metrics" if reverse else "/metrics"
    readers = {"off": {"": 403, TOKEN: 403}, TOKEN: {"": 403, TOKEN[:-1]: 403, TOKEN: 200}}
    for option, expected in readers.items():
        recorded = tmp_path / option
        process = start("--set", f"toolfix_metrics={option}", "--set", f"toolfix_record={recorded}", *mode)
        for given, status in expected.items():
            got, text = get(process.port, path, token=given)
            assert (got, "toolfix_info" in text) == (status, status == 200), (option, given)
        assert TOKEN not in process.output


def test_behind_a_reverse_proxy_metrics_are_the_upstreams_and_ours_have_a_path(
    start: Start, plays: Plays, plain_upstream: Upstream
) -> None:
    plays.add("metrics", Play([b"upstream_own 1\n"], headers={"content-type": "text/plain"}))
    process = start("--mode", f"reverse:{plain_upstream.url}")
    assert get(process.port) == (200, "upstream_own 1\n")
    assert "info 0.1.0 repair" in numbers(process.port, "/toolfix/metrics")


def test_lockstep_is_not_disturbed_by_looking(
    start: Start, plays: Plays, upstream: Upstream, clients: Clients
) -> None:
    process = start()
    steps = Lockstep([chat_event({"content": str(number)}) for number in range(20)])
    plays.add("m-steps", Play(steps, headers=EVENT_STREAM))

    def arrived(chunk: bytes) -> None:
        steps.arrived(chunk)
        get(process.port)

    received = clients.fetch(f"{upstream.url}/m-steps{CHAT}", process, on_chunk=arrived)
    assert not steps.late
    assert json.loads(received.body.split(b"\n")[0][6:])["choices"][0]["delta"] == {"content": "0"}
