"""A name is never cut to another tool's: what stands before it or around it is part of it."""

from __future__ import annotations

import json

import pytest

from tests.must_not_run.wires import TOOLS, Said, call, outcomes, runnable
from tests.protocols.test_chat import DONE, chunk, piece
from tests.protocols.text_protocols import CHAT
from tests.splits import mend
from toolcalls.request.request import read_request

LS = '{"command":"ls"}'

ANOTHERS = [
    "sandbox.Bash",
    "dry_run.Bash",
    "never.list_tabs",
    "mcp__sandbox__Bash",
    "mcp__files__Read",
    "mcp__Bash",
    "container/Bash",
    "remote:Bash",
    "docker::Bash",
    "functions.sandbox.Bash",
    "sandbox.functions.Bash",
    "notBash",
    "un.Bash",
    "ba.sh",
    "browser.Read",
    ".Bash",
    "Bash.Bash",
    "sandbox.Bashsandbox.Bash",
    "sandbox.Basharguments",
    "dry_run<|x|>Bash",
    "<dry_run>Bash</dry_run>",
    "<think>Bash</think>",
    "Bash<|channel|>do not run",
    "<|tool_call_begin|>sandbox.Bash:0<|tool_call_argument_begin|>",
]

OURS = [
    "Bash",
    "bash",
    "functions.Bash",
    "functions.Bash:3",
    "default_api.bash",
    "default_api:Bash",
    "tools.Bash",
    "tools/Bash",
    "repo_browser.Bash",
    "BashBash",
    "Basharguments",
    "Bash<|channel|>commentary",
    "</think>Bash",
]

DECLARED_SERVERS = {
    "mcp__sandbox__run": "mcp__sandbox__run",
    "sandbox.run": "mcp__sandbox__run",
    "functions.mcp__sandbox__run": "mcp__sandbox__run",
    "linear.list_issues": "linear_list_issues",
    "mcp__linear__list_issues": "linear_list_issues",
}


@pytest.mark.parametrize("name", ANOTHERS)
def test_a_structured_call_of_another_tool_never_becomes_ours(name: str) -> None:
    for where, client in outcomes(Said(calls=(call(name, LS),), finish="calls")):
        assert [each["name"] for each in client.calls] == [name], where


@pytest.mark.parametrize("name", OURS)
def test_a_structured_call_of_our_tool_is_mended(name: str) -> None:
    for where, calls in runnable(Said(calls=(call(name, LS),), finish="calls")):
        assert calls == [{"name": "Bash", "arguments": {"command": "ls"}}], where


@pytest.mark.parametrize("name", [name for name in ANOTHERS if "<" not in name and name != "notBash"])
@pytest.mark.parametrize(
    "form",
    [
        '<tool_call>{{"name": "{}", "arguments": {{"command": "ls"}}}}</tool_call>',
        '<invoke name="{}"><parameter name="command">ls</parameter></invoke>',
        '<|channel|>commentary to={} <|constrain|>json<|message|>{{"command":"ls"}}<|call|>',
        "<tool_call>{}<arg_key>command</arg_key><arg_value>ls</arg_value></tool_call>",
        '[TOOL_CALLS]{}[ARGS]{{"command":"ls"}}',
        '{{"name": "{}", "arguments": {{"command": "ls"}}}}',
        '[{}(command="ls")]',
    ],
)
def test_a_written_call_of_another_tool_stays_text(name: str, form: str) -> None:
    text = form.format(name)
    for where, client in outcomes(Said(text=(text,))):
        assert client.calls == [], where
        assert client.text == text, where


@pytest.mark.parametrize("name", ["functions.Bash", "default_api.Bash", "tools.Bash", "bash"])
def test_a_written_call_of_our_tool_is_one(name: str) -> None:
    text = f'<tool_call>{{"name": "{name}", "arguments": {LS}}}</tool_call>'
    for where, calls in runnable(Said(text=(text,))):
        assert calls == [{"name": "Bash", "arguments": {"command": "ls"}}], where


@pytest.mark.parametrize(("name", "tool"), DECLARED_SERVERS.items())
def test_a_server_that_is_declared_is_no_invented_prefix(name: str, tool: str) -> None:
    names = ("mcp__sandbox__run", "linear_list_issues", "run", "list_issues")
    tools = [{"type": "function", "function": {"name": declared, "parameters": {}}} for declared in names]
    said = Said(calls=(call(name, '{"a":1}'),), finish="calls", request={"tools": tools})
    for where, calls in runnable(said):
        assert calls == [{"name": tool, "arguments": {"a": 1}}], where


@pytest.mark.parametrize("places", [(0, 0), (None, None)])
@pytest.mark.parametrize(
    "pieces", [("sandbox.", "Bash"), ("dry_run_", "Bash"), ("not", "Bash"), ("mcp__box__", "Bash")]
)
def test_a_name_in_pieces_is_all_of_its_pieces(
    pieces: tuple[str, str], places: tuple[int | None, int | None]
) -> None:
    first, last = pieces
    body = chunk(piece(places[0], "c0", first)) + chunk(piece(places[1], None, last, LS))
    out, _ = mend(body + chunk({}, "tool_calls") + DONE, question=read_request({"tools": TOOLS}))
    [made] = CHAT.read(out).calls
    assert made["name"] == first + last


def test_a_name_in_pieces_that_is_ours_is_found() -> None:
    for pieces in (("functions.", "Bash"), ("Ba", "sh"), ("Bash", "Bash"), ("Ba", "Bash")):
        body = chunk(piece(0, "c0", pieces[0])) + chunk(piece(0, None, pieces[1], LS))
        out, _ = mend(body + chunk({}, "tool_calls") + DONE, question=read_request({"tools": TOOLS}))
        assert CHAT.read(out).calls == [{"name": "Bash", "arguments": {"command": "ls"}}]


def test_the_namespace_that_a_call_carries_is_no_decoration() -> None:
    tools = [
        {"type": "function", "name": "Bash", "parameters": {}},
        {"type": "namespace", "name": "mcp__repl", "tools": [{"type": "function", "name": "js", "parameters": {}}]},
    ]
    for namespace, name, expected in (
        ("mcp__sandbox", "Bash", ("mcp__sandbox", "Bash")),
        ("functions", "Bash", (None, "Bash")),
        (None, "mcp__repl.js", ("mcp__repl", "js")),
        (None, "js", ("mcp__repl", "js")),
        (None, "mcp__other.js", (None, "mcp__other.js")),
    ):
        item = {"id": "fc_1", "type": "function_call", "status": "completed", "call_id": "call_1", "name": name,
                "arguments": '{"a":1}', **({"namespace": namespace} if namespace else {})}  # fmt: skip
        events = [
            {"type": "response.created", "response": {"id": "r", "object": "response", "status": "in_progress", "output": []}},
            {"type": "response.output_item.added", "output_index": 0, "item": {**item, "arguments": "", "status": "in_progress"}},
            {"type": "response.function_call_arguments.done", "output_index": 0, "item_id": "fc_1", "arguments": '{"a":1}'},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {"id": "r", "object": "response", "status": "completed", "output": [item]}},
        ]  # fmt: skip
        body = "".join(
            f"event: {said['type']}\ndata: {json.dumps({**said, 'sequence_number': number})}\n\n"
            for number, said in enumerate(events)
        )
        out, _ = mend(body, protocol="responses", question=read_request({"tools": tools, "stream": True}))
        last = json.loads(out.decode().rsplit("data: ", 1)[1])["response"]["output"][0]
        assert (last.get("namespace"), last["name"]) == expected
