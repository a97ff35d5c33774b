"""The mitmproxy script: its options, which flows are ours, and what its hooks do to them."""

from __future__ import annotations

import gc
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import exceptions, http
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.proxy import mode_specs
from mitmproxy.test import taddons, tflow, tutils

from tests.protocols.zai_streams import Backend
from tests.protocols.zai_streams import block as glm_block
from toolcalls import policy
from toolcalls.cli.proxy_process import SCRIPT
from toolcalls.proxy import hosts
from toolcalls.proxy.body_stream import MAX_KEPT_UNOBSERVED
from toolfix import Toolfix

CHAT = "/v1/chat/completions"
BROKEN = "{'command': 'ls'}"
TOOLS = [{"type": "function", "function": {"name": "Bash", "parameters": {"type": "object"}}}]


def asked(
    host: str = "api.openai.com", path: str = CHAT, *, stream: bool = True, scheme: str = "https", **more: Any
) -> http.HTTPFlow:
    """A flow whose request is complete."""
    flow = tflow.tflow()
    body = json.dumps({"stream": stream, "model": "m", "tools": TOOLS}).encode()
    flow.request = tutils.treq(
        method=more.pop("method", b"POST"),
        scheme=scheme.encode(),
        host=host,
        authority=b"",
        port=443 if scheme == "https" else 80,
        path=path.encode(),
        content=more.pop("content", body),
        http_version=more.pop("http_version", b"HTTP/1.1"),
        headers=http.Headers([(b"host", host.encode()), (b"accept-encoding", b"gzip, br")]),
    )
    return flow


def answered(
    flow: http.HTTPFlow, *, content: bytes | None = None, status: int = 200, version: str = "HTTP/1.1", **headers: str
) -> http.Response:
    """The response of a flow as `responseheaders` sees it: without a body, unless it is replayed."""
    fields = {"content-type": "text/event-stream", **{name.replace("_", "-"): text for name, text in headers.items()}}
    encoded = http.Headers([(name.encode(), text.encode()) for name, text in fields.items()])
    flow.response = tutils.tresp(http_version=version.encode(), status_code=status, headers=encoded, content=content)
    return flow.response


def events(arguments: str = BROKEN) -> list[bytes]:
    call = {"index": 0, "id": "c", "type": "function", "function": {"name": "Bash", "arguments": arguments}}
    chunks = [{"delta": {"content": "x"}}, {"delta": {"tool_calls": [call]}}, {"delta": {}, "finish_reason": "stop"}]
    lines = [json.dumps({"choices": [{"index": 0, **chunk}]}) for chunk in chunks]
    return [f"data: {line}\n\n".encode() for line in (*lines, "[DONE]")]


def document(arguments: Any = BROKEN) -> bytes:
    call = {"id": "c", "type": "function", "function": {"name": "Bash", "arguments": arguments}}
    return json.dumps(
        {"choices": [{"index": 0, "message": {"tool_calls": [call]}, "finish_reason": "stop"}]}
    ).encode()


def callable_of(response: http.Response) -> Callable[[bytes], list[bytes]]:
    assert callable(response.stream)
    stream: Any = response.stream
    return stream  # type: ignore[no-any-return]


def play(addon: Toolfix, flow: http.HTTPFlow, chunks: list[bytes]) -> list[bytes]:
    """Run a streamed response through the hooks as mitmproxy does."""
    addon.http.responseheaders(flow)
    assert flow.response is not None
    stream = callable_of(flow.response)
    out = [stream(chunk) for chunk in [*chunks, b""]]
    assert all(isinstance(pieces, list) and b"" not in pieces for pieces in out), "an empty chunk ends the response"
    addon.http.response(flow)
    return [piece for pieces in out for piece in pieces]


# Options


@pytest.mark.parametrize("option", policy.OPTIONS, ids=lambda option: option.name)
def test_every_option_is_declared_as_text_with_its_help(option: policy.Option, context: taddons.context) -> None:
    assert context.options._options[option.full_name].typespec is str
    assert context.options._options[option.full_name].help == option.help


def test_a_bad_value_is_refused_with_a_sentence_and_the_old_one_stays(
    addon: Toolfix, context: taddons.context
) -> None:
    with pytest.raises(exceptions.OptionsError, match="use repair, observe or off"):
        context.configure(addon, toolfix_mode="on")
    assert context.options.toolfix_mode == "repair"


@pytest.mark.parametrize("name", ["toolfix_mod", "tolfix_mode", "toolfix-mode"])
def test_a_misspelt_option_is_refused_with_the_one_that_was_meant(
    name: str, addon: Toolfix, context: taddons.context
) -> None:
    """mitmproxy keeps unknown options for scripts that are loaded later, and says nothing."""
    context.options.deferred[name] = "observe"
    with pytest.raises(exceptions.OptionsError, match=rf"no option '{name}'. Did you mean toolfix_mode\?"):
        context.configure(addon, toolfix_shape="false")


def test_a_bad_value_at_the_start_is_logged_and_nothing_is_opened(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLFIX_MODE", "on")
    addon = Toolfix()
    with taddons.context(addon) as context:
        addon.configure(set(context.options.keys()))
        assert "toolfix_mode='on' is not allowed: use repair, observe or off." in caplog.text
        assert context.options.allow_hosts == [hosts.NOTHING]
        assert addon.settings.mode == "off"


def test_the_environment_gives_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLFIX_MODE", "observe")
    monkeypatch.setenv("RCC_SSE_TOOL_AGGREGATE", "0")
    addon = Toolfix()
    with taddons.context(addon) as context:
        assert context.options.toolfix_mode == "observe"
        assert context.options.toolfix_aggregate == "false"


def test_a_record_directory_that_cannot_be_made_is_refused(
    addon: Toolfix, context: taddons.context, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(exceptions.OptionsError, match=r"toolfix_record=.* cannot be written \(Not a directory\)"):
        context.configure(addon, toolfix_record=str(file / "recordings"))


def test_a_record_directory_into_which_others_can_write_is_refused(
    addon: Toolfix, context: taddons.context, tmp_path: Path
) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "file").write_text("")
    (tmp_path / "shared").chmod(0o777)
    with pytest.raises(exceptions.OptionsError, match="others can write into it, until chmod go-w"):
        context.configure(addon, toolfix_record=str(tmp_path / "shared"))
    assert addon.settings.recorder is None


# Which TLS is opened


def is_opened(context: taddons.context, host: str, port: int = 443) -> bool:
    return hosts.matches(host, port, context.options.allow_hosts)


def test_only_llm_hosts_are_opened(context: taddons.context) -> None:
    assert is_opened(context, "api.openai.com")
    assert is_opened(context, "127.0.0.1", 8443)
    assert not is_opened(context, "bank.example")
    assert not is_opened(context, "api.openai.com.evil.example")


@pytest.mark.parametrize(
    ("mode", "host", "told"),
    [
        ("repair", "llm.corp.example", True),
        ("repair", "registry.npmjs.org", False),
        ("repair", "api.openai.com", False),
        ("off", "llm.corp.example", False),
        ("off", "api.openai.com", False),
    ],
)
def test_only_the_tunnel_of_a_model_is_named(
    mode: str, host: str, told: bool, addon: Toolfix, context: taddons.context, monkeypatch: pytest.MonkeyPatch
) -> None:
    context.configure(addon, toolfix_mode=mode)
    flow = tflow.tflow()
    flow.request.host, flow.request.port = host, 443
    said: list[str] = []
    monkeypatch.setattr(type(addon.reporter.summary), "no_answer", lambda _, sentence: said.append(sentence))
    addon.http_connected(flow)
    assert [host in sentence for sentence in said] == [True] * told


def test_from_the_load_on_nothing_else_is_opened() -> None:
    addon = Toolfix()
    with taddons.context(addon) as context:
        assert context.options.allow_hosts == [hosts.NOTHING]


def test_a_reload_keeps_what_was_opened_until_the_options_are_read(addon: Toolfix, context: taddons.context) -> None:
    context.configure(addon, toolfix_hosts="api.example")
    before = context.options.allow_hosts
    reloaded = Toolfix()
    context.master.addons.remove(addon)
    context.master.addons.add(reloaded)
    assert context.options.allow_hosts == before
    reloaded.configure(set(context.options.keys()))
    assert context.options.allow_hosts == before


def test_hosts_that_the_user_allows_himself_stay(addon: Toolfix, context: taddons.context) -> None:
    context.options.allow_hosts = ["mine.example"]
    assert is_opened(context, "mine.example")
    assert is_opened(context, "api.openai.com")
    assert not is_opened(context, "bank.example")
    context.configure(addon, toolfix_mode="off")
    assert is_opened(context, "mine.example")
    assert not is_opened(context, "api.openai.com")


def test_emptying_allow_hosts_does_not_open_everything(context: taddons.context) -> None:
    context.options.allow_hosts = []
    assert is_opened(context, "api.openai.com")
    assert not is_opened(context, "bank.example")


def test_the_target_of_a_reverse_proxy_is_opened_in_every_mode(addon: Toolfix, context: taddons.context) -> None:
    context.configure(addon, mode=["reverse:https://llm.internal:8443"])
    assert is_opened(context, "llm.internal", 8443)
    context.configure(addon, toolfix_mode="off")
    assert is_opened(context, "llm.internal", 8443)
    assert not is_opened(context, "api.openai.com")
    context.configure(addon, mode=["regular"])
    assert not is_opened(context, "llm.internal", 8443)


# Which flows are ours


@pytest.mark.parametrize(
    ("ours", "request_"),
    [
        (True, {}),
        (True, {"path": CHAT + "?api-version=2025"}),
        (True, {"path": CHAT + "/"}),
        (True, {"path": "/openai/deployments/x/chat/completions"}),
        (True, {"host": "anything.example", "scheme": "http"}),
        (False, {"host": "anything.example"}),
        (False, {"method": b"GET"}),
        (False, {"path": "/v1/models"}),
        (False, {"path": "/v1/chat/completions/7"}),
    ],
)
def test_flows_are_chosen_by_host_and_path(
    ours: bool, request_: dict[str, Any], addon: Toolfix, context: taddons.context
) -> None:
    flow = asked(**request_)
    addon.request(flow)
    assert (flow in addon.http.open) is ours
    assert flow.request.headers["accept-encoding"] == ("identity" if ours else "gzip, br")


def test_in_reverse_mode_every_host_is_ours(addon: Toolfix, context: taddons.context) -> None:
    flow = asked("anything.example")
    flow.client_conn.proxy_mode = mode_specs.ProxyMode.parse("reverse:https://anything.example")
    addon.request(flow)
    assert flow in addon.http.open


def test_nothing_is_ours_when_the_mode_is_off(addon: Toolfix, context: taddons.context) -> None:
    context.configure(addon, toolfix_mode="off")
    flow = asked(scheme="http")
    addon.request(flow)
    assert flow not in addon.http.open


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe", b"[" * 100_000, b'{"stream": 1}'])
def test_a_request_that_cannot_be_read_is_ours_and_not_streamed(
    content: bytes | None, addon: Toolfix, context: taddons.context
) -> None:
    flow = asked(content=content)
    addon.request(flow)
    response = answered(flow)
    addon.http.responseheaders(flow)
    assert not response.stream
    response.content = b"".join(events())
    addon.http.response(flow)
    assert b'{\\"command\\":\\"ls\\"}' in (response.content or b"")


# Headers


@pytest.mark.parametrize(
    ("client", "upstream", "chunked"),
    [
        (b"HTTP/1.1", "HTTP/1.1", True),
        (b"HTTP/1.1", "HTTP/2.0", True),
        (b"HTTP/1.0", "HTTP/1.1", False),
        (b"HTTP/2.0", "HTTP/2.0", False),
        (b"HTTP/2.0", "HTTP/1.1", False),
    ],
)
@pytest.mark.parametrize("framing", [{"content_length": "7"}, {"transfer_encoding": "chunked"}, {}])
def test_framing_headers_suit_the_client(
    client: bytes, upstream: str, chunked: bool, framing: dict[str, str], addon: Toolfix, context: taddons.context
) -> None:
    flow = asked(http_version=client)
    addon.request(flow)
    response = answered(flow, version=upstream, content_encoding="gzip", **framing)
    addon.http.responseheaders(flow)
    assert callable(response.stream)
    assert response.headers.get("transfer-encoding", "") == ("chunked" if chunked else "")
    assert "content-length" not in response.headers
    assert "content-encoding" not in response.headers
    assert response.headers["content-type"] == "text/event-stream"


def test_observing_leaves_every_header(addon: Toolfix, context: taddons.context) -> None:
    context.configure(addon, toolfix_mode="observe")
    flow = asked()
    addon.request(flow)
    assert flow.request.headers["accept-encoding"] == "gzip, br"
    response = answered(flow, content_length="7", content_encoding="identity")
    before = response.headers.copy()
    addon.http.responseheaders(flow)
    assert callable(response.stream)
    assert response.headers == before


@pytest.mark.parametrize(
    ("request_", "response_"),
    [
        ({}, {"status": 500, "content_length": "1048577"}),
        ({}, {"status": 302}),
        ({}, {"content_encoding": "compress"}),
        ({"path": "/events"}, {}),
    ],
    ids=["a long error", "elsewhere", "an encoding that is not known", "a stream of nobody's"],
)
def test_what_is_streamed_and_not_mended_passes_as_it_came_and_is_kept_for_the_views(
    request_: dict[str, Any], response_: dict[str, Any], addon: Toolfix, context: taddons.context
) -> None:
    flow = asked(**request_)
    addon.request(flow)
    response = answered(flow, **{"content_length": "7", **response_})
    before = response.headers.copy()
    addon.http.responseheaders(flow)
    assert callable(response.stream)
    out = [sent for chunk in (b"abc", b"", b"defg", b"") for sent in response.stream(chunk)]
    assert out == [b"abc", b"defg"], "no empty chunk: it would end the response"
    addon.http.response(flow)
    assert response.headers == before
    assert response.raw_content == b"abcdefg"
    assert flow not in addon.http.open


def test_a_short_error_is_not_streamed_for_it_may_quote_a_call(addon: Toolfix, context: taddons.context) -> None:
    flow = asked()
    addon.request(flow)
    response = answered(flow, status=400, content_length="1048576")
    addon.http.responseheaders(flow)
    assert not response.stream


def test_of_what_is_not_mended_no_more_is_kept_than_of_what_is(addon: Toolfix, context: taddons.context) -> None:
    flow = asked()
    addon.request(flow)
    response = answered(flow, status=500)
    addon.http.responseheaders(flow)
    assert callable(response.stream)
    for _ in range(3):
        response.stream(b"x" * MAX_KEPT_UNOBSERVED)
    addon.http.response(flow)
    assert response.raw_content is None


def test_a_request_that_mitmproxy_streams_passes_with_its_answer(
    addon: Toolfix, context: taddons.context, caplog: pytest.LogCaptureFixture
) -> None:
    flow = asked(content=None)
    flow.request.stream = True
    addon.request(flow)
    assert flow not in addon.http.open
    assert "it and its answer pass unchanged" in caplog.text


def test_mitmproxy_lets_large_bodies_stream_unless_the_user_has_said_when() -> None:
    with taddons.context(Proxyserver()) as context:
        addon = Toolfix()
        context.master.addons.add(addon)
        context.configure(addon, toolfix_mode="repair")
        assert context.options.stream_large_bodies == str(32 * 2**20)
        context.options.update(stream_large_bodies="1m")
        context.configure(addon, toolfix_mode="observe")
        assert context.options.stream_large_bodies == "1m"


@pytest.mark.parametrize(
    ("request_", "response_"),
    [({"stream": False}, {}), ({}, {"content": b"here already"})],
    ids=["not asked for", "replayed"],
)
def test_what_is_not_streamed_keeps_its_headers(
    request_: dict[str, Any], response_: dict[str, Any], addon: Toolfix, context: taddons.context
) -> None:
    flow = asked(**request_)
    addon.request(flow)
    response = answered(flow, **{"content_length": "7", **response_})
    before = response.headers.copy()
    addon.http.responseheaders(flow)
    assert not response.stream
    assert response.headers == before


# Answers


def test_a_stream_is_mended_and_its_body_kept(
    addon: Toolfix, context: taddons.context, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    flow = asked()
    addon.request(flow)
    response = answered(flow)
    out = play(addon, flow, events())
    assert out[0] == events()[0]
    assert b'"arguments":"{\\"command\\":\\"ls\\"}"' in b"".join(out)
    assert response.raw_content == b"".join(out)
    assert f"api.openai.com{CHAT}: mended Bash: " in caplog.text
    assert not addon.http.open


@pytest.mark.parametrize("wire", ["chat", "zai"])
def test_at_v_a_valid_call_leaves_three_lines(
    wire: str, addon: Toolfix, context: taddons.context, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    said = '{"command": "ls"}'
    block = Backend().delta("x").become(f"x\n\n{glm_block('Bash', said, 'c')}").done()
    host, path, chunks = {
        "chat": ("api.openai.com", CHAT, events(said)),
        "zai": ("chat.z.ai", "/api/v2/chat/completions", block.events),
    }[wire]
    flow = asked(host, path)
    addon.request(flow)
    answered(flow)
    play(addon, flow, chunks)
    where = f"{host}{path}: "
    lines = [line.partition(where)[2] for line in caplog.text.splitlines() if where in line]
    assert lines == [
        "found a tool call; it is held until it is complete.",
        "sent Bash (c): unchanged, 17 characters.",
        "the answer is done; calls: 1 unchanged.",
    ]


def test_text_that_the_host_changes_after_the_client_has_it_is_logged_with_its_flow(
    addon: Toolfix, context: taddons.context, caplog: pytest.LogCaptureFixture
) -> None:
    path = "/api/v2/chat/completions"
    flow = asked("chat.z.ai", path)
    addon.request(flow)
    answered(flow)
    out = b"".join(play(addon, flow, Backend().delta("It is seven.").become("It was eight.").done().events))
    assert b"It is seven." in out
    said = "the host changed text that the client had already received; the client keeps the old text."
    assert [record.message for record in caplog.records] == [f"chat.z.ai{path}: {said}"]


@pytest.mark.parametrize("said", ["Hi", BROKEN])
def test_a_mended_event_is_logged_and_counted(
    said: str, addon: Toolfix, context: taddons.context, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    flow = asked()
    addon.request(flow)
    answered(flow)
    call = {"index": 0, "id": "c", "function": {"name": "Bash", "arguments": said}}
    delta = {"content": said} if said == "Hi" else {"tool_calls": [call]}
    chunk = {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    play(addon, flow, [f"data: {chunk}\n\n".encode(), b"data: [DONE]\n\n"])
    assert f"api.openai.com{CHAT}: mended the data of 1 events, which was no JSON." in caplog.text
    assert 'toolfix_mended_events_total{protocol="chat"} 1' in addon.stats()


def test_observing_a_stream_passes_its_bytes_and_says_what_would_be_done(
    addon: Toolfix, context: taddons.context, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    context.configure(addon, toolfix_mode="observe")
    flow = asked()
    addon.request(flow)
    response = answered(flow)
    assert play(addon, flow, events()) == events()
    assert response.raw_content == b"".join(events())
    assert "would have mended Bash: " in caplog.text
    assert not addon.http.open


def test_a_whole_document_is_mended(addon: Toolfix, context: taddons.context) -> None:
    flow = asked(stream=False)
    addon.request(flow)
    response = answered(flow, content=document(), content_type="application/json")
    addon.http.responseheaders(flow)
    addon.http.response(flow)
    message = json.loads(response.content or b"")["choices"][0]
    assert message["message"]["tool_calls"][0]["function"]["arguments"] == '{"command":"ls"}'
    assert message["finish_reason"] == "tool_calls"
    assert response.headers["content-length"] == str(len(response.raw_content or b""))
    assert not addon.http.open


def test_a_document_without_a_defect_keeps_its_bytes_and_headers(addon: Toolfix, context: taddons.context) -> None:
    flow = asked(stream=False)
    addon.request(flow)
    body = b' {"choices": [{"index": 0, "message": {"content": "x"}, "finish_reason": "stop"}]}\n'
    response = answered(flow, content=body, content_type="application/json", content_length=str(len(body)))
    before = response.headers.copy()
    addon.http.responseheaders(flow)
    addon.http.response(flow)
    assert response.raw_content == body
    assert response.headers == before


def test_a_stream_that_is_here_already_is_mended_in_one_piece(addon: Toolfix, context: taddons.context) -> None:
    """mitmproxy's own replay calls the hooks, but never the stream callable."""
    flow = asked()
    addon.request(flow)
    response = answered(flow, content=b"".join(events()))
    addon.http.responseheaders(flow)
    addon.http.response(flow)
    assert b'"arguments":"{\\"command\\":\\"ls\\"}"' in (response.content or b"")


@pytest.mark.parametrize("when", ["before the answer", "before the body", "in the call"])
def test_a_broken_connection_leaves_nothing_behind(
    when: str, addon: Toolfix, context: taddons.context, caplog: pytest.LogCaptureFixture
) -> None:
    flow = asked()
    addon.request(flow)
    if when != "before the answer":
        response = answered(flow)
        addon.http.responseheaders(flow)
        for chunk in events()[:2] if when == "in the call" else []:
            callable_of(response)(chunk)
    assert (addon.http.all_held.total > 0) == (when == "in the call")
    addon.http.error(flow)
    assert not addon.http.open and not addon.http.all_held.total
    assert ("the connection broke while a tool call was held" in caplog.text) == (when == "in the call")


def test_a_flow_that_is_forgotten_by_mitmproxy_is_forgotten_by_us(addon: Toolfix, context: taddons.context) -> None:
    flow = asked()
    addon.request(flow)
    callable_of_a_call = answered(flow)
    addon.http.responseheaders(flow)
    callable_of(callable_of_a_call)(b"".join(events()[:2]))
    assert len(addon.http.open) == 1 and addon.http.all_held.total
    del flow, callable_of_a_call
    gc.collect()
    assert not addon.http.open and not addon.http.all_held.total


def test_hooks_of_flows_that_are_not_ours_do_nothing(addon: Toolfix, context: taddons.context) -> None:
    flow = asked("bank.example")
    response = answered(flow, content=document())
    addon.http.responseheaders(flow)
    addon.http.response(flow)
    addon.http.error(flow)
    assert response.content == document()


def test_a_failure_of_ours_is_logged_once_with_its_flow(
    addon: Toolfix, context: taddons.context, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RecursionError("too deep")

    monkeypatch.setattr("toolcalls.protocols.chat.Chat.read", fail)
    flow = asked()
    addon.request(flow)
    answered(flow)
    assert b"".join(play(addon, flow, events())) == b"".join(events())
    assert caplog.text.count("toolfix failed (RecursionError('too deep')) and let the answer pass unchanged") == 1
    assert f"api.openai.com{CHAT}" in caplog.text


def test_a_recording_is_written_when_the_answer_is_over(
    addon: Toolfix, context: taddons.context, tmp_path: Path
) -> None:
    context.configure(addon, toolfix_record=str(tmp_path / "recordings"))
    flow = asked()
    addon.request(flow)
    answered(flow)
    play(addon, flow, events())
    addon.done()
    (recording,) = (tmp_path / "recordings").iterdir()
    assert (recording / "before.sse").read_bytes() == b"".join(events())


def test_an_answer_that_was_arriving_when_recording_was_turned_on_is_recorded_without_times(
    addon: Toolfix, context: taddons.context, tmp_path: Path
) -> None:
    flow = asked()
    addon.request(flow)
    answered(flow)
    addon.http.responseheaders(flow)
    assert flow.response is not None
    stream = callable_of(flow.response)
    first, *others = events()
    stream(first)
    context.configure(addon, toolfix_record=str(tmp_path / "recordings"))
    for chunk in others:
        stream(chunk)
    addon.http.response(flow)
    addon.done()
    (recording,) = (tmp_path / "recordings").iterdir()
    assert (recording / "before.sse").read_bytes() == b"".join(events())
    assert json.loads((recording / "flow.json").read_bytes())["chunks"] == []


def test_the_script_is_where_the_command_looks_for_it() -> None:
    assert SCRIPT.is_file()


def test_a_flow_whose_answer_failed_is_forgotten_with_it(addon: Toolfix, context: taddons.context) -> None:
    """The frames of the exception know the flow."""
    flow = asked()
    addon.settings.bodies_are_wanted = True
    addon.request(flow)
    answered(flow, content_encoding="gzip")
    play(addon, flow, [b"\x1f\x8b no gzip", b"and more"])
    assert len(addon.http.closed) == 1
    del flow
    gc.collect()
    assert not addon.http.closed


# Ollama


def ollama_line(message: dict[str, Any], **end: Any) -> bytes:
    line = {"model": "m", "created_at": "t", "message": {"role": "assistant", "content": "", **message}}
    return json.dumps({**line, "done": bool(end), **end}).encode() + b"\n"


OLLAMA_CALL = {"tool_calls": [{"function": {"name": "Bash", "arguments": BROKEN}}]}


def asked_ollama(path: str = "/api/chat", **said: Any) -> http.HTTPFlow:
    return asked(
        "localhost", path, scheme="http", content=json.dumps({"model": "m", "tools": TOOLS, **said}).encode()
    )


@pytest.mark.usefixtures("context")
@pytest.mark.parametrize("said", [{}, {"stream": None}, {"stream": True}])
def test_ollama_streams_unless_the_client_says_no(addon: Toolfix, said: dict[str, Any]) -> None:
    flow = asked_ollama(**said)
    addon.request(flow)
    answered(flow, content_type="application/x-ndjson")
    text, call, end = ollama_line({"content": "x"}), ollama_line(OLLAMA_CALL), ollama_line({}, done_reason="stop")
    out = play(addon, flow, [text, call, end])
    assert out[0] == text
    assert b'"arguments":{"command":"ls"}' in b"".join(out[1:])


@pytest.mark.usefixtures("context")
def test_an_answer_of_ollama_that_is_not_streamed_is_mended_at_once(addon: Toolfix) -> None:
    flow = asked_ollama(stream=False)
    addon.request(flow)
    response = answered(flow, content_type="application/json; charset=utf-8")
    addon.http.responseheaders(flow)
    assert not response.stream
    response.content = ollama_line(OLLAMA_CALL, done_reason="stop").rstrip()
    addon.http.response(flow)
    assert b'"arguments":{"command":"ls"}' in (response.content or b"")


@pytest.mark.usefixtures("context")
def test_ollama_generate_declares_no_tools_and_is_none_of_ours(addon: Toolfix) -> None:
    flow = asked_ollama("/api/generate")
    addon.request(flow)
    assert flow not in addon.http.open


def test_a_flow_in_which_something_was_mended_is_marked_and_says_so(addon: Toolfix, context: taddons.context) -> None:
    flow = asked()
    addon.request(flow)
    answered(flow)
    play(addon, flow, events())
    assert (flow.marked, flow.comment) == (":wrench:", "toolfix: mended Bash: single quotes")
    healthy = asked()
    addon.request(healthy)
    answered(healthy)
    play(addon, healthy, events('{"command": "ls"}'))
    assert (healthy.marked, healthy.comment) == ("", "")


def test_a_mark_and_a_comment_of_the_users_own_stay(addon: Toolfix, context: taddons.context) -> None:
    flow = asked()
    flow.marked, flow.comment = ":star:", "mine"
    addon.request(flow)
    answered(flow)
    play(addon, flow, events())
    assert (flow.marked, flow.comment) == (":star:", "mine")


@pytest.mark.parametrize("directory", [".", "recordings"])
def test_recording_can_be_turned_off_whatever_the_directory_is_called(
    directory: str, addon: Toolfix, context: taddons.context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.chdir(tmp_path)
    context.configure(addon, toolfix_record=directory)
    assert addon.settings.recorder is not None
    context.configure(addon, toolfix_record="")
    assert addon.settings.recorder is None
