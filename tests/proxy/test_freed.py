"""What is kept of an answer is freed with its flow, at once.

Python's full garbage collection counts objects, not bytes: a few hundred flows with bodies of megabytes in circles
were a gigabyte before it came. So no circle of ours may have the bodies in it.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
from mitmproxy.addons.dumper import Dumper
from mitmproxy.addons.save import Save
from mitmproxy.addons.view import View
from mitmproxy.test import taddons

from tests.proxy.test_script import answered, asked, events, play
from toolcalls.answer import Answer
from toolcalls.engine import Response
from toolcalls.protocols.protocol import Protocol
from toolcalls.proxy.body_stream import BodyStream
from toolcalls.proxy.http_flows import FlowState
from toolcalls.recording import store
from toolcalls.recording.record import Captured
from toolcalls.request.request import Seed, decode, read_request
from toolfix import Toolfix

RECORDINGS = Path(__file__).parents[2] / "recordings"


@pytest.fixture(autouse=True)
def without_the_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def alive(*kinds: type) -> list[str]:
    return [type(known).__name__ for known in gc.get_objects() if isinstance(known, kinds)]


def test_no_answer_of_any_recording_waits_for_the_collector() -> None:
    """Refused arguments too: the frames of an exception know everybody up to the flow."""
    kinds = (BodyStream, Captured, Response, Protocol, Answer)
    before = alive(*kinds)
    count = 0
    for directory in store.find(RECORDINGS):
        recording = store.load(directory)
        stream = BodyStream(Response(recording.protocol, read_request(decode(recording.request))))
        for start in range(0, len(recording.before), 1000):
            stream.feed(recording.before[start : start + 1000])
        stream.end()
        count += 1
    del stream
    assert count > 300
    assert alive(*kinds) == before


@pytest.mark.parametrize("arguments", ["{'command': 'ls'}", "{"], ids=["mended", "refused"])
@pytest.mark.parametrize("recorded", [False, True], ids=["not recorded", "recorded"])
@pytest.mark.parametrize("looked_at", [False, True], ids=["nobody looks", "looked at"])
def test_a_flow_that_is_over_keeps_nothing_alive(
    looked_at: bool, recorded: bool, arguments: str, addon: Toolfix, context: taddons.context, tmp_path: Path
) -> None:
    if recorded:
        context.configure(addon, toolfix_record=str(tmp_path))
    flow = asked()
    addon.request(flow)
    answered(flow)
    gc.collect()  # mitmproxy's own helpers, which made this flow, know it in circles.
    addon.settings.bodies_are_wanted = looked_at
    play(addon, flow, events(arguments))
    assert len(addon.http.closed) == looked_at
    addon.done()
    if looked_at:
        del flow
    assert not addon.http.closed
    assert not alive(BodyStream, Captured, FlowState)


def test_the_body_of_a_flow_and_what_the_view_shows_of_it_are_one_copy(
    addon: Toolfix, context: taddons.context
) -> None:
    flow = asked()
    addon.settings.bodies_are_wanted = True
    addon.request(flow)
    response = answered(flow)
    play(addon, flow, events())
    stream = addon.http.closed[flow].stream
    assert stream is not None
    assert [response.raw_content] == stream.exchange.after.chunks
    assert stream.exchange.after.chunks[0] is response.raw_content


@pytest.mark.parametrize("looks", ["nobody", "a file", "the log", "a list", "a recorder"])
def test_a_large_body_is_kept_only_where_somebody_looks(
    looks: str, addon: Toolfix, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("toolcalls.proxy.settings.MAX_KEPT_UNOBSERVED", 100)
    with taddons.context(Save(), Dumper(), *([View()] if looks == "a list" else []), addon) as context:
        options = {
            "a file": {"save_stream_file": str(tmp_path / "flows")},
            "the log": {"flow_detail": 3},
            "a recorder": {"toolfix_record": str(tmp_path / "recorded")},
        }
        context.configure(addon, toolfix_mode="repair", **options.get(looks, {}))
        flow = asked()
        addon.request(flow)
        state = addon.http.open[flow]
        response = answered(flow)
        out = b"".join(play(addon, flow, events()))
        stream = state.stream
        assert stream is not None
        assert len(out) > 100
        assert response.raw_content == (None if looks == "nobody" else out)
        assert sum(map(len, stream.exchange.before.chunks)) <= 100 or looks != "nobody"
        addon.done()
    if looks == "a recorder":
        (recording,) = store.find(tmp_path)
        assert store.load(recording).after == out


def test_a_seed_that_is_forgotten_keeps_no_request() -> None:
    seed = Seed(b"{}")
    assert seed() == Seed(b"{}")() != ""
    seed.body = None
    assert seed() == ""
