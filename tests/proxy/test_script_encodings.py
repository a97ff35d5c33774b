"""The script and compressed bodies: requests are mended and packed again, and no body can fill the memory."""

from __future__ import annotations

import gzip
import json
import logging
import tracemalloc
import zlib
from collections.abc import Callable, Iterator

import brotli
import pytest
from mitmproxy.test import taddons

from scripts.shared import zstd_writer
from tests.bombs import BOMBS, MIB
from tests.proxy.test_script import answered, asked, callable_of, document, events
from toolfix import Toolfix

PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstd_writer.compress,
}


@pytest.fixture
def addon() -> Iterator[Toolfix]:
    addon = Toolfix()
    with taddons.context(addon) as context:
        context.configure(addon, toolfix_mode="repair")
        yield addon


def poisoned(arguments: str) -> bytes:
    call = {"id": "c", "type": "function", "function": {"name": "Bash", "arguments": arguments}}
    history = [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c", "content": "x"}]
    return json.dumps({"stream": True, "model": "m", "messages": history}).encode()


@pytest.mark.parametrize("name", PACK)
def test_a_compressed_request_is_mended_and_packed_again_or_goes_up_as_it_came(name: str, addon: Toolfix) -> None:
    for arguments in ("{'command': 'ls'}", '{"command": "ls"}'):
        packed = PACK[name](poisoned(arguments))
        flow = asked(content=packed)
        flow.request.headers["content-encoding"] = name
        addon.request(flow)
        assert flow.request.headers["content-encoding"] == name
        sent = json.loads(flow.request.content or b"")
        assert json.loads(sent["messages"][0]["tool_calls"][0]["function"]["arguments"]) == {"command": "ls"}
        assert (flow.request.raw_content == packed) == (arguments[1] == '"')
        assert addon.http.open[flow].request.stream


@pytest.mark.parametrize("name", BOMBS)
def test_a_request_that_inflates_goes_up_as_it_came(name: str, addon: Toolfix) -> None:
    bomb = BOMBS[name]()
    flow = asked(content=bomb)
    flow.request.headers["content-encoding"] = name
    tracemalloc.start()
    addon.request(flow)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200 * MIB
    assert flow.request.raw_content == bomb


@pytest.mark.parametrize("name", BOMBS)
def test_an_answer_that_inflates_as_a_whole_passes_as_it_came(
    name: str, addon: Toolfix, caplog: pytest.LogCaptureFixture
) -> None:
    bomb = BOMBS[name](document())
    flow = asked(stream=False)
    addon.request(flow)
    response = answered(flow, content=bomb, content_encoding=name)
    tracemalloc.start()
    addon.http.responseheaders(flow)
    addon.http.response(flow)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200 * MIB
    assert response.raw_content == bomb
    assert response.headers["content-encoding"] == name
    assert "it passes unchanged" in caplog.text


@pytest.mark.parametrize("mode", ["repair", "observe"])
def test_a_stream_that_inflates_is_cut_off_and_the_log_says_so(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    addon = Toolfix()
    with taddons.context(addon) as context:
        context.configure(addon, toolfix_mode=mode)
        flow = asked()
        addon.request(flow)
        response = answered(flow, content_encoding="gzip")
        addon.http.responseheaders(flow)
        stream = callable_of(response)
        first, bomb = gzip.compress(events()[0]), BOMBS["gzip"]()
        out = b"".join(piece for chunk in (first, bomb, b"") for piece in stream(chunk))
        addon.http.response(flow)
        assert (out.rstrip(b"\0") if mode == "repair" else out) == (events()[0] if mode == "repair" else first + bomb)
        assert "bytes of gzip decompress to more than 8 MiB" in caplog.text
        assert ("was cut off" in caplog.text) == (mode == "repair")
        assert "please report" not in caplog.text
