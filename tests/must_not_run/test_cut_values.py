"""A value that was cut off never runs: where the answer was cut, or nobody knows, nothing is added to a call."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from scripts.fuzzing.clients import CALLS
from scripts.fuzzing.cut_answers import ENDS, NAME, OTHER, WIRES, Cut
from tests.mend.judging import CORPUS, cases
from tests.must_not_run.inner_quotes import TEXTS
from tests.must_not_run.wires import CHAT, FINISHES, MESSAGES, RESPONSES, Said, call, document, outcomes, runnable
from tests.protocols import messages_wire as wire
from tests.protocols.responses_wire import Upstream
from tests.protocols.test_chat import DONE, chunk, piece
from tests.protocols.text_protocols import gemini_event, ollama_line
from tests.splits import mend
from toolcalls.call import Call
from toolcalls.cli.filter import mend as repair
from toolcalls.engine import Response, mend_whole
from toolcalls.ids import Ids
from toolcalls.mend.arguments import Finish, mend_arguments
from toolcalls.mend.mender import Mender
from toolcalls.policy import Policy
from toolcalls.request.request import Request
from toolcalls.tools.declared import Tool, Tools

NOT_SAID = (Finish.CUT, Finish.UNKNOWN)
RM = '{"command": "rm -rf /"$BUILD"/out", "dry_run": true}'
HALF = '{"command": "rm -rf /"'
WHOLE = {"command": 'rm -rf /"$BUILD"/out', "dry_run": True}


def prefixes(text: str) -> list[str]:
    step = 1 + len(text) // 1_500
    return [text[:end] for end in [*range(0, len(text), step), len(text)]]


def comes_out(protocol: str, cut: Cut, policy: Policy | None = None) -> list[Any]:
    """The values with which a careless client would run the call that was cut; refusals left out."""
    answer = Response(protocol, Request(), policy)
    out = b"".join([*answer.feed(WIRES[protocol](cut)), *answer.close()])
    values = []
    for name, text in CALLS[protocol](out):
        try:
            values += [json.loads(text)] if name == NAME else []
        except ValueError:
            continue
    return [value for value in values if value]


def test_our_own_texts_are_fifty_and_each_is_mended_when_the_model_was_finished() -> None:
    assert len(set(TEXTS)) == 50
    for text in TEXTS:
        assert mend_arguments(text, Finish.COMPLETE).status == "repaired", text


@pytest.mark.parametrize("finish", NOT_SAID)
def test_cut_at_every_character_a_text_gives_its_whole_value_or_nothing(finish: Finish) -> None:
    for text in [*TEXTS, *(case["input"] for case in cases(CORPUS))]:
        whole = mend_arguments(text, Finish.COMPLETE).value
        for prefix in prefixes(text) if whole is not None else ():
            mended = mend_arguments(prefix, finish)
            assert not mended.value or mended.value == whole, (prefix, mended.text)
            assert mended.status != "repaired" or mended.value == whole, (prefix, mended.text)


@pytest.mark.parametrize("protocol", WIRES)
def test_no_end_that_is_not_the_models_word_completes_a_call(protocol: str) -> None:
    for number, text in enumerate(TEXTS):
        whole = mend_arguments(text, Finish.COMPLETE).value
        ends = [at for at, character in enumerate(text, 1) if character in "\"'}]”,"]
        for at in ends:
            for turn, end in enumerate(ENDS[protocol]):
                shape = (number + at + turn) % 8
                cut = Cut(text[:at], end, size=7, closed=shape < 4, encoded=shape % 4 == 1, followed=shape % 2 == 0)
                for value in comes_out(protocol, cut):
                    assert value == whole, (text[:at], end, value)


@pytest.mark.parametrize("policy", [Policy(), Policy(aggregate=False)], ids=["held", "live"])
@pytest.mark.parametrize("protocol", WIRES)
def test_the_worst_of_them_gives_nothing_on_any_wire(protocol: str, policy: Policy) -> None:
    for end in ENDS[protocol]:
        for size in (0, 1, 5):
            for closed in (True, False):
                for followed in (True, False):
                    assert comes_out(protocol, Cut(HALF, end, size, closed, followed=followed), policy) == [], end
                    encoded = Cut(HALF, end, size, closed, encoded=True, followed=followed)
                    assert comes_out(protocol, encoded, policy) == [], end


@pytest.mark.parametrize("protocol", ["chat", "messages", "responses"])
def test_a_cut_call_is_refused_however_its_stream_is_split(protocol: str) -> None:
    for end in ENDS[protocol]:
        out, _ = mend(WIRES[protocol](Cut(HALF, end, 3, followed=True)), protocol=protocol, question=Request())
        made = [(name, text) for name, text in CALLS[protocol](out) if name in (NAME, OTHER)]
        assert [json.loads(text) for name, text in made if name == NAME] in ([], [{}]), end
        assert [json.loads(text) for name, text in made if name == OTHER] == [{"path": "/"}], end


@pytest.mark.parametrize("finish", ["length", "filter", "none"])
@pytest.mark.parametrize("arguments", [HALF, RM[:-1], json.dumps(HALF), "{'command': 'ls'", '"command": "ls"', ""])
def test_an_answer_in_one_piece_completes_nothing_either(arguments: str, finish: str) -> None:
    said = Said(calls=(call("Bash", arguments),), finish=finish)
    for where, calls in runnable(said):
        assert calls == [], where


@pytest.mark.parametrize("finish", NOT_SAID)
@pytest.mark.parametrize(
    "text",
    [
        '{"command": "awk "{print "$1"}',
        '{"command": "rm -rf "$HOME"/"}',
        '{"command": "echo "{rm -rf "/"}',
        '{"edits": [{"new": "say "a" and "b"}]}',
        '{"command": "echo "a" "b"}\n```',
        "{'command': 'echo 'a' 'b'}",
    ],
)
def test_a_bracket_behind_inner_quotes_may_be_one_of_the_value(text: str, finish: Finish) -> None:
    assert mend_arguments(text, finish).status == "refused"


@pytest.mark.parametrize("finish", NOT_SAID)
def test_inner_quotes_before_another_value_have_an_end(finish: Finish) -> None:
    assert mend_arguments('{"command": "echo "a"", "timeout": 5}', finish).value == {
        "command": 'echo "a"',
        "timeout": 5,
    }


def test_a_container_in_a_string_lacks_nothing_where_its_call_may_not() -> None:
    schema = {"type": "object", "properties": {"edits": {"type": "array", "items": {"type": "object"}}}}
    tools = Tools([Tool("tool", schema)])
    text = json.dumps({"edits": '[{"old": "a", "new": "b"}'})
    mender = Mender(tools, Policy(), Ids())
    assert json.loads(mender.decide(Call(name="tool", arguments=text, finish=Finish.COMPLETE)).arguments) == {
        "edits": [{"old": "a", "new": "b"}]
    }
    for finish in NOT_SAID:
        assert json.loads(mender.decide(Call(name="tool", arguments=text, finish=finish)).arguments) == json.loads(
            text
        )


@pytest.mark.parametrize("finish", [Finish.CUT, Finish.UNKNOWN])
def test_a_quote_that_was_escaped_twice_ends_no_text_of_a_cut_answer(finish: Finish) -> None:
    text = json.dumps(json.dumps({"command": 'rm -rf "}/x"'}))[1:-1]
    for size in range(len(text)):
        assert mend_arguments(text[:size], finish).value is None, text[:size]
    directory = r"{\"command\": \"C:\\x\\\"}"
    assert mend_arguments(directory, finish).value is None
    assert mend_arguments(directory, Finish.COMPLETE).value == {"command": "C:\\x\\"}


def test_a_lost_beginning_is_found_only_where_the_model_was_finished() -> None:
    schema = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
    mender = Mender(Tools([Tool("Bash", schema)]), Policy(), Ids())
    assert (
        mender.decide(Call(name="Bash", arguments='command": "ls"}', finish=Finish.COMPLETE)).arguments
        == '{"command":"ls"}'
    )
    for finish in NOT_SAID:
        assert mender.decide(Call(name="Bash", arguments='command": "ls"}', finish=finish)).status == "refused"


def test_a_responses_item_that_is_incomplete_was_cut_even_where_the_response_is_completed() -> None:
    upstream = Upstream().call("Bash", HALF)
    for event in upstream.events:
        if event["type"] == "response.output_item.done":
            event["item"]["status"] = "incomplete"
    out, _ = mend(upstream.end("completed").bytes(), protocol="responses", question=Said().question)
    assert [json.loads(text) for _, text in CALLS["responses"](out)] == [{}]


def test_a_finish_reason_in_every_chunk_ends_no_call() -> None:
    pieces = ['{"command": "rm -rf /"', '$BUILD"/out"', ', "dry_run": true}']
    body = chunk(piece(0, "call_0", "Bash", pieces[0]), "tool_calls")
    body += "".join(chunk(piece(0, arguments=text), "tool_calls") for text in pieces[1:])
    out, _ = mend(body + DONE, question=Request())
    assert [json.loads(text) for _, text in CALLS["chat"](out)] == [WHOLE]
    out, _ = mend(chunk(piece(0, "call_0", "Bash", pieces[0]), "stop") + chunk(piece(0, arguments="x"), "stop"))
    assert [json.loads(text) for _, text in CALLS["chat"](out)] == [{}]


def test_a_stop_reason_in_the_middle_of_a_block_ends_no_call() -> None:
    body = wire.begin() + wire.tool_start(0, name="Bash") + wire.fragment(0, HALF)
    reason = wire.event(
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}}
    )
    rest = wire.fragment(0, '$BUILD"/out"}') + wire.stop(0) + wire.event({"type": "message_stop"})
    out, _ = mend(body + reason + rest, protocol="messages", question=Said().question)
    assert [json.loads(text) for _, text in CALLS["messages"](out)] in ([{}], [{"command": WHOLE["command"]}])


def test_repair_completes_nothing_without_the_models_word() -> None:
    assert repair(HALF).status == "refused"
    assert repair(HALF, None, "length").status == "refused"
    assert repair(HALF, None, "stop_sequence").status == "refused"
    assert repair('{"command": "ls"', None, "stop").arguments == '{"command":"ls"}'


# Near misses: what stays as it is, or is still mended.


@pytest.mark.parametrize("finish", ["stop", "calls"])
def test_a_bracket_that_the_model_forgot_is_added_when_it_says_that_it_was_finished(finish: str) -> None:
    said = Said(calls=(call("Bash", '{"command": ', '"ls"'),), finish=finish)
    for where, calls in runnable(said):
        assert calls == [{"name": "Bash", "arguments": {"command": "ls"}}], where


@pytest.mark.parametrize("finish", ["length", "filter", "none"])
def test_a_whole_call_of_a_cut_answer_runs(finish: str) -> None:
    said = Said(calls=(call("Bash", '{"command": "ls"}'),), finish=finish)
    for where, calls in runnable(said):
        assert calls == [{"name": "Bash", "arguments": {"command": "ls"}}], where


@pytest.mark.parametrize("arguments", [RM, RM.replace('"', "'").replace("true", "True"), f"```json\n{RM}\n```"])
def test_a_broken_call_that_is_whole_is_mended_in_a_cut_answer(arguments: str) -> None:
    whole = {"command": WHOLE["command"].replace('"', "'") if "'" in arguments else WHOLE["command"], "dry_run": True}
    for protocol in ("chat", "messages", "responses"):
        for end in ENDS[protocol]:
            assert comes_out(protocol, Cut(arguments, end)) == [whole], end


def test_whole_calls_before_one_that_was_cut_run() -> None:
    said = Said(calls=(call("Read", '{"file_path": "a"}'), call("Bash", HALF)), finish="length")
    for where, calls in runnable(said):
        assert calls == [{"name": "Read", "arguments": {"file_path": "a"}}], where


def test_the_finish_of_a_cut_answer_is_not_rewritten() -> None:
    said = Said(calls=(call("Bash", HALF),), finish="length")
    for where, client in outcomes(said):
        assert client.finish in FINISHES["length"], where


def test_a_call_without_arguments_runs_when_the_model_was_finished_or_went_on() -> None:
    for where, client in outcomes(Said(calls=(call("list_tabs", ""),), finish="calls")):
        assert client.calls == [{"name": "list_tabs", "arguments": {}}], where
    went_on = wire.begin() + wire.tool_start(0, name="list_tabs") + wire.stop(0)
    went_on += wire.tool(1, '{"command": "l', identity="toolu_1", name="Bash") + wire.end("max_tokens")
    _, answer = mend(went_on, protocol="messages", question=Said().question)
    assert [outcome.status for outcome in answer.outcomes] == ["valid", "refused"]


def test_a_call_that_was_cut_before_its_arguments_does_not_run() -> None:
    for finish in ("length", "filter", "none"):
        for protocol in (CHAT, MESSAGES, RESPONSES):
            said = Said(calls=(call("list_tabs", ""),), finish=finish)
            answer = Response(protocol.name, said.question)
            mend_whole(answer, document(protocol, said))
            assert [outcome.status for outcome in answer.outcomes] == ["refused"], (protocol.name, finish)


@pytest.mark.parametrize("protocol", WIRES)
def test_who_wants_cut_calls_completed_gets_them_completed(protocol: str) -> None:
    policy = Policy(truncated="complete")
    end = ENDS[protocol][0]
    assert comes_out(protocol, Cut('{"command": "ls -', end), policy) == [{"command": "ls -"}]
    assert comes_out(protocol, replace(Cut('{"command": "ls"', end), size=1), policy) == [{"command": "ls"}]


# Calls that come whole: what follows one says nothing about its end


@pytest.mark.parametrize("finish", ["length", None])
@pytest.mark.parametrize("behind", ["a call", "the call again", "text"])
@pytest.mark.parametrize("protocol", ["ollama", "gemini"])
def test_what_follows_a_call_does_not_complete_its_arguments(protocol: str, behind: str, finish: str | None) -> None:
    half = '{"file_path": "a.md", "content": "x"'
    follows = {"a call": ("c2", "Read", {"file_path": "b"}), "the call again": ("c1", "Write", half)}.get(behind)
    if protocol == "ollama":
        said = [{"tool_calls": [ollama_call("c1", "Write", half)]}]
        said.append({"tool_calls": [ollama_call(*follows)]} if follows else {"content": "So."})
        body = b"".join(map(ollama_line, said)) + (ollama_line({}, done_reason=finish) if finish else b"")
    else:
        parts = [gemini_call("c1", "Write", half), gemini_call(*follows) if follows else {"text": "So."}]
        end = gemini_event({"text": ""}, finish="MAX_TOKENS") if finish else b""
        body = b"".join(map(gemini_event, parts)) + end
    out, _ = mend(body, protocol=protocol)
    assert ("Write", {"file_path": "a.md", "content": "x"}) not in CALLS[protocol](out)


def ollama_call(identity: str, name: str, arguments: Any) -> dict[str, Any]:
    return {"id": identity, "function": {"name": name, "arguments": arguments}}


def gemini_call(identity: str, name: str, arguments: Any) -> dict[str, Any]:
    return {"functionCall": {"id": identity, "name": name, "args": arguments}}


@pytest.mark.parametrize("finish", NOT_SAID)
@pytest.mark.parametrize("text", ['{"command": "rm -rf a"}"', '\'{"command": "rm -rf a"}\'', '{"command": "ls"}”'])
def test_a_quote_behind_the_object_may_be_one_of_the_value(text: str, finish: Finish) -> None:
    """The text may be the beginning of `{"command": "rm -rf a"}"$B"/out"}`."""
    assert mend_arguments(text, finish).value is None
    assert mend_arguments(text, Finish.COMPLETE).value is not None
