"""Conversations of several turns: a real mitmdump, the real SDKs, an upstream that checks every history."""

from __future__ import annotations

import gzip
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import brotli
import pytest

from scripts.shared import zstd_writer
from tests.upstream import Upstream
from toolcalls.cli.proxy_process import ProxyProcess
from toolcalls.recording import store
from toolcalls.recording.replay import replay

from .stage import CHAT, EVENT_STREAM, Clients, Play, Plays, Start, wait_for
from .talk import SPEECHES, Json, Said, Speech, Strict
from .test_e2e_recording import recorded

REUSED = "functions.read:0"
"""Kimi gives an id like this again in every turn."""
CUT = '{"filePath": "/tmp/a.md", "content": "# A title and then'
REFUSED = "the arguments were cut off inside `content` after"

Ask = Callable[[ProxyProcess | None, list[Json]], Json]


@pytest.fixture(params=SPEECHES)
def speech(request: pytest.FixtureRequest) -> Speech:
    return SPEECHES[request.param]


def agent(speech: Speech, clients: Clients, upstream: Upstream, name: str, **more: Any) -> Ask:
    """An agent that sends its history with an SDK and gives what it gets back."""

    def ask(proxy: ProxyProcess | None, history: list[Json]) -> Json:
        return clients.ask(
            speech.api,
            f"{upstream.url}/{name}{speech.suffix}",
            proxy,
            http2=False,
            stream=True,
            request=speech.request(history),
            **more,
        )

    return ask


def three_turns(
    speech: Speech, strict: Strict, ask: Ask, proxies: list[ProxyProcess], history: list[Json]
) -> tuple[list[Json], list[str]]:
    """A broken call that is mended, a cut-off one that is refused, an answer. Gives the calls and their results."""
    first = ask(proxies[0], history)
    assert not first["error"], first["error"]
    [read] = first["calls"]
    assert json.loads(read["arguments"]) == {"filePath": "/tmp/a.md"}
    history += speech.remember(read, "nothing in it")
    second = ask(proxies[1], history)
    assert not second["error"], second["error"]
    [write] = second["calls"]
    assert json.loads(write["arguments"]) == {}, "half a file is not written"
    history += speech.remember(write, "Error: filePath is missing")
    third = ask(proxies[2], history)
    assert not third["error"], third["error"]
    assert third["text"] == "Done."
    assert strict.complaints == []
    return [read, write], strict.results()


ANSWERS = [
    Said("read", "{'filePath': '/tmp/a.md',}", REUSED),
    Said("write", CUT, REUSED),
    Said(text="Done."),
]


def test_a_conversation_goes_on_whatever_the_model_sends(
    speech: Speech, plays: Plays, proxy: ProxyProcess, clients: Clients, upstream: Upstream
) -> None:
    name = f"turns-{speech.api}"
    strict = Strict(speech, ANSWERS)
    plays.add(name, strict)
    ask = agent(speech, clients, upstream, name)
    calls, results = three_turns(speech, strict, ask, [proxy] * 3, [])
    assert len({call["id"] for call in calls}) == 2, "the client sees each id once"
    assert results[0] == "nothing in it"
    assert results[1].startswith(f"Error: filePath is missing\n\n[toolfix] This call was refused: {REFUSED} ")
    assert results[1].endswith("characters; send the call again.")


def test_the_same_history_goes_up_in_the_same_way_every_turn(
    speech: Speech, plays: Plays, proxy: ProxyProcess, clients: Clients, upstream: Upstream
) -> None:
    name = f"same-{speech.api}"
    strict = Strict(speech, [*ANSWERS, Said(text="Done.")])
    plays.add(name, strict)
    ask = agent(speech, clients, upstream, name)
    history: list[Json] = []
    three_turns(speech, strict, ask, [proxy] * 3, history)
    assert not ask(proxy, [*history, {"role": "user", "content": "And now?"}])["error"]
    turns = [json.loads(body)[speech.history] for body in strict.bodies]
    for earlier, later in itertools.pairwise(turns):
        assert later[: len(earlier)] == earlier


def test_a_conversation_outlives_the_proxy(
    speech: Speech,
    plays: Plays,
    proxy: ProxyProcess,
    start: Start,
    clients: Clients,
    upstream: Upstream,
) -> None:
    name = f"restart-{speech.api}"
    strict = Strict(speech, ANSWERS)
    plays.add(name, strict)
    ask = agent(speech, clients, upstream, name)
    _, results = three_turns(speech, strict, ask, [proxy, start(), start()], [])
    assert results[0] == "nothing in it"
    # Why it was refused is forgotten; that the call does not fit its schema can be read from the call itself.
    assert results[1].startswith("Error: filePath is missing\n\n[toolfix] This call does not fit its schema: ")


def test_a_session_that_was_broken_before_us_goes_on(
    speech: Speech, plays: Plays, proxy: ProxyProcess, clients: Clients, upstream: Upstream, certificate: Path
) -> None:
    name = f"poisoned-{speech.api}"
    strict = Strict(speech, ANSWERS, {"call_old_1", "call_old_2"})
    plays.add(name, strict)
    ask = agent(speech, clients, upstream, name)
    history = [
        *speech.remember({"id": "call_old_1", "name": "write", "arguments": CUT}, "Error"),
        *speech.remember({"id": "call_old_2", "name": "read", "arguments": "{'filePath': '/b'}"}, "b"),
    ]
    direct = Strict(speech, ANSWERS, {"call_old_1", "call_old_2"})
    plays.add(f"direct-{name}", direct)
    refused = agent(speech, clients, upstream, f"direct-{name}", ca=str(certificate))(None, history)
    assert "400" in refused["error"], "without us the upstream refuses this history"
    three_turns(speech, strict, ask, [proxy] * 3, history)


def test_a_block_that_the_client_repeats_goes_up_once(
    plays: Plays, proxy: ProxyProcess, clients: Clients, upstream: Upstream
) -> None:
    speech = SPEECHES["messages"]
    strict = Strict(speech, [Said(text="Done.")], {"toolu_1"})
    plays.add("repeated", strict)
    use, result = speech.remember({"id": "toolu_1", "name": "read", "arguments": '{"filePath": "/a"}'}, "a")
    for message in (use, result):
        message["content"] *= 2
    answer = agent(speech, clients, upstream, "repeated")(proxy, [use, result])
    assert answer["text"] == "Done."
    assert strict.complaints == []


def test_guidance_names_the_missing_field_and_without_it_the_request_is_untouched(
    speech: Speech,
    plays: Plays,
    start: Start,
    clients: Clients,
    upstream: Upstream,
    certificate: Path,
) -> None:
    answers = [Said("read", "{}", "call_1"), Said("read", '{"filePath": "/a"}', "call_2")]
    bodies: dict[bool, tuple[Json, bytes, list[str]]] = {}
    for guided in (False, True):
        name = f"guided-{speech.api}-{guided}"
        strict = Strict(speech, answers)
        plays.add(name, strict)
        ask = agent(speech, clients, upstream, name)
        through = start("--set", f"toolfix_retry_guidance={guided}".lower())
        [call] = ask(through, [])["calls"]
        assert not ask(through, speech.remember(call, "The call was rejected."))["error"]
        bodies[guided] = (call, strict.bodies[-1], strict.results())
    assert bodies[True][2][0].startswith("The call was rejected.\n\n[toolfix] This call failed: ")
    assert "missing required field(s): filePath." in bodies[True][2][0]
    assert "send the call again" in bodies[True][2][0]
    call, body, _ = bodies[False]
    name = f"unguided-{speech.api}"
    direct = Strict(speech, answers[1:], {"call_1"})
    plays.add(name, direct)
    ask = agent(speech, clients, upstream, name, ca=str(certificate))
    assert not ask(None, speech.remember(call, "The call was rejected."))["error"]
    assert direct.bodies == [body]


def test_a_result_that_blames_the_arguments_asks_to_rewrite_them_and_the_session_goes_on(
    speech: Speech, plays: Plays, proxy: ProxyProcess, clients: Clients, upstream: Upstream
) -> None:
    """The checks of the document on the three chains, with the options as they are: {} for a tool that needs more."""
    name = f"blamed-{speech.api}"
    strict = Strict(speech, [Said("read", "{}", "call_1"), Said("read", '{"filePath": "/a"}', "call_2")])
    plays.add(name, strict)
    ask = agent(speech, clients, upstream, name)
    [call] = ask(proxy, [])["calls"]
    blame = "Invalid arguments: missing required field(s): filePath."
    answer = ask(proxy, speech.remember(call, blame))
    assert strict.results()[0].startswith(f"{blame}\n\n[toolfix] This call failed")
    assert "Rewrite the input so that it satisfies the expected schema" in strict.results()[0]
    assert [json.loads(again["arguments"]) for again in answer["calls"]] == [{"filePath": "/a"}]
    assert strict.complaints == []


# Bodies

ENCODINGS: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    "gzip": (gzip.compress, gzip.decompress),
    "br": (brotli.compress, brotli.decompress),
    "zstd": (zstd_writer.compress, zstd_writer.decompress),
}
POISONED = json.dumps(
    {
        "model": "m",
        "messages": SPEECHES["chat"].remember({"id": "a", "name": "read", "arguments": "{'filePath': 1.50}"}, "x"),
        "temperature": 0.50,
    }
).encode()


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_compressed_body_is_mended_and_compressed_again(
    encoding: str, plays: Plays, proxy: ProxyProcess, clients: Clients, upstream: Upstream
) -> None:
    compress, decompress = ENCODINGS[encoding]
    plays.add(f"compressed-{encoding}", Play([b"{}"]))
    url = f"{upstream.url}/compressed-{encoding}{CHAT}"
    clients.fetch(url, proxy, compress(POISONED), headers={"content-encoding": encoding})
    seen = plays.seen[f"compressed-{encoding}"]
    assert seen.headers["content-encoding"] == encoding
    mended = POISONED.replace(b"{'filePath': 1.50}", b'{\\"filePath\\":1.50}')
    assert json.loads(decompress(seen.body)) == json.loads(mended)


@pytest.mark.parametrize("body", [b"\x00\xff not gzip", b"{", b"[]", b'{"messages": 7}'])
def test_what_cannot_be_read_passes(
    body: bytes, plays: Plays, proxy: ProxyProcess, clients: Clients, upstream: Upstream
) -> None:
    plays.add("unreadable", Play([b"{}"]))
    headers = {"content-encoding": "gzip"} if body.startswith(b"\x00") else {}
    clients.fetch(f"{upstream.url}/unreadable{CHAT}", proxy, body, headers=headers)
    assert plays.seen["unreadable"].body == body


def test_observing_changes_no_request(plays: Plays, start: Start, clients: Clients, upstream: Upstream) -> None:
    plays.add("observed", Play([b"{}"]))
    through = start("--set", "toolfix_mode=observe")
    clients.fetch(f"{upstream.url}/observed{CHAT}", through, POISONED)
    assert plays.seen["observed"].body == POISONED
    assert wait_for(lambda: "would have mended the request: 1 × arguments" in through.output)


def test_the_recording_of_a_mended_request_has_both_and_replays(
    plays: Plays, proxy: ProxyProcess, clients: Clients, upstream: Upstream, recordings: Path
) -> None:
    speech = SPEECHES["chat"]
    plays.add("kept", Play(speech.answer(Said(text="Done.")), headers=EVENT_STREAM))
    sent = json.dumps({**json.loads(POISONED), "stream": True}).encode()
    clients.fetch(f"{upstream.url}/kept{CHAT}", proxy, sent)
    [kept] = recorded(recordings, "kept", 1)
    recording = store.load(kept)
    assert recording.request == sent
    assert recording.request_after == plays.seen["kept"].body != sent
    assert replay(recording).drift == []
