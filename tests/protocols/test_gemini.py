"""Gemini's own wire: streams, arrays and documents, at every split, against a validator of the protocol."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.splits import mend
from tests.upstream import delivered
from tests.validators.gemini import Answer, read
from toolcalls.engine import Response, protocol_of
from toolcalls.policy import Policy
from toolcalls.recording import store
from toolcalls.request.request import Request, read_request

Json = dict[str, Any]
RECORDINGS = Path(__file__).parents[2] / "recordings" / "gemini"

TEXT_CALL = '<tool_call>\n{"name": "Bash", "arguments": {"command": "ls"}}\n</tool_call>'
FENCE = '```tool_code\nprint(default_api.Bash(command = "ls"))\n```'


def declared(**config: Any) -> Request:
    bash = {
        "type": "OBJECT",
        "properties": {"command": {"type": "STRING"}, "timeout": {"type": "INTEGER"}},
        "required": ["command"],
    }
    todo = {
        "type": "object",
        "properties": {
            "todoList": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"id": {"type": "integer"}, "title": {"type": "string"}},
                    "required": ["id"],
                },
            }
        },
        "required": ["todoList"],
        "additionalProperties": False,
    }
    functions = [
        {"name": "Bash", "description": "Run", "parameters": bash},
        {"name": "Todo", "parametersJsonSchema": todo},
        {"name": "ls", "parametersJsonSchema": {"type": "object", "properties": {"dir": {"type": "string"}}}},
    ]
    asked: Json = {
        "contents": [{"role": "user", "parts": [{"text": "go"}]}],
        "tools": [{"functionDeclarations": functions}, {"googleSearch": {}}],
    }
    if config:
        asked["toolConfig"] = {"functionCallingConfig": config}
    return read_request(asked)


TOOLS = declared()


def said(*parts: Json, finish: str = "", message: str = "", **more: Any) -> Json:
    candidate: Json = {"content": {"parts": list(parts), "role": "model"}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    if message:
        candidate["finishMessage"] = message
    usage = {"promptTokenCount": 5, "totalTokenCount": 7}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m", "responseId": "r", **more}


def call(name: str, args: Any = None, identity: str = "", signature: str = "") -> Json:
    function: Json = {"name": name} if args is None else {"name": name, "args": args}
    if identity:
        function["id"] = identity
    return {"functionCall": function, **({"thoughtSignature": signature} if signature else {})}


def text(words: str, **more: Any) -> Json:
    return {"text": words, **more}


def stream(*events: Json, end: str = "\r\n\r\n") -> str:
    return "".join(f"data: {json.dumps(event)}{end}" for event in events)


def run(
    body: str, request: Request = TOOLS, policy: Policy | None = None, protocol: str = "gemini"
) -> tuple[Answer, str, Response]:
    out, answer = mend(body, protocol=protocol, question=request, policy=policy)
    return read(out), out.decode(), answer


LS = {"command": "ls"}


def test_what_needs_no_mending_passes_byte_for_byte() -> None:
    bodies = [
        stream(said(text("a < b ")), said(text("and c"), finish="STOP")),
        stream(
            said(text("Hm", thought=True)),
            said(text("I look: ")),
            said(call("Bash", LS, signature="s=="), finish="STOP"),
        ),
        stream(said(call("Bash", LS)), said(call("ls"), call("ls", {"dir": "."})), said(text(""), finish="STOP")),
        stream(said(text("Hm", thought=True), text("Hi"), finish="STOP"), end="\n\n"),
        stream(said(text("", thoughtSignature="s")), {"candidates": []}, {"usageMetadata": {"totalTokenCount": 1}}),
        stream({"promptFeedback": {"blockReason": "SAFETY"}}),
        stream(said(text("I "), finish="SAFETY")),
        stream({"candidates": [said(text("one"))["candidates"][0], {"index": 1, "content": {"parts": [text("2")]}}]}),
        stream({"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}),
        json.dumps(said(call("Bash", LS), finish="STOP"), indent=1),
        f"[{json.dumps(said(text('Hi')), indent=1)},\r\n{json.dumps(said(call('Bash', LS), finish='STOP'))}\n]\n",
        json.dumps([{"error": {"code": 400, "message": "no", "status": "INVALID_ARGUMENT"}}]),
    ]
    for body in bodies:
        assert run(body)[1] == body


def test_text_and_thoughts_are_not_late() -> None:
    answer = Response("gemini", TOOLS)
    for event in (said(text("first ")), said(text("Hm", thought=True)), said(text("second "))):
        raw = stream(event).encode()
        assert b"".join(answer.feed(raw)) == raw


def test_broken_calls_are_mended_and_keep_their_signatures_ids_and_line_ends() -> None:
    events = said(text("I look: "), call("default_api.Bash", "{'command': 'ls'}", "c1", "c2ln+/=="), finish="STOP")
    held, out, answer = run(stream(events))
    assert (held.text, held.calls, held.ids, held.finishes) == ("I look: ", [("Bash", LS)], ["c1"], ["STOP"])
    assert held.signatures == [("Bash", "c2ln+/==")]
    assert out.count("\r\n\r\n") == out.count("data: ") and out.endswith("\r\n\r\n")
    assert out.count("usageMetadata") == out.count("data: ")
    assert [outcome.status for outcome in answer.outcomes] == ["repaired"]


def test_arguments_that_are_a_text_become_an_object_even_if_the_text_is_valid() -> None:
    held, _, answer = run(stream(said(call("Bash", '{"command": "ls"}'), finish="STOP")))
    assert held.calls == [("Bash", LS)]
    assert answer.outcomes[0].steps == ("arguments made an object",)
    assert run(json.dumps(said(call("Bash", '{"command": "ls"}'), finish="STOP")))[0].calls == [("Bash", LS)]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({"command": "ls", "timeout": "5"}, {"command": "ls", "timeout": 5}),
        ({"cmd": "ls"}, LS),
        ({"arguments": {"command": "ls"}}, LS),
        ([{"command": "ls"}], LS),
    ],
)
def test_shapes_follow_declarations_in_capitals(args: Any, expected: Json) -> None:
    for body in (
        stream(said(call("Bash", args), finish="STOP")),
        json.dumps(said(call("Bash", args), finish="STOP")),
    ):
        assert run(body)[0].calls == [("Bash", expected)]


def test_order_is_kept_in_an_event_that_says_several_things() -> None:
    event = said(text("a"), call("BASH", LS), text("b"), call("ls", {"dir": "."}), text("c"))
    held, _, _ = run(stream(event, said(text(""), finish="STOP")))
    assert held.order == ["a", "Bash", "b", "ls", "c"]
    held, _, _ = run(json.dumps(event))
    assert held.order == ["a", "Bash", "b", "ls", "c"]


def test_equal_calls_without_ids_are_two_and_a_repeated_id_is_one() -> None:
    assert len(run(stream(said(call("Bash", LS), call("Bash", LS), finish="STOP")))[0].calls) == 2
    twice = stream(said(call("Bash", LS, "c1")), said(call("Bash", LS, "c1"), finish="STOP"))
    assert run(twice)[0].ids == ["c1"]
    other = stream(said(call("Bash", LS, "c1")), said(call("Bash", {"command": "pwd"}, "c1"), finish="STOP"))
    held, _, _ = run(other)
    assert len(held.calls) == len(set(held.ids)) == 2


@pytest.mark.parametrize("reason", ["MAX_TOKENS", "SAFETY", "MALFORMED_FUNCTION_CALL", "PROHIBITED_CONTENT"])
def test_the_last_call_beside_a_limit_is_not_run_and_those_before_it_are(reason: str) -> None:
    rm = {"command": "rm -rf /"}
    bodies = [
        stream(said(call("Bash", LS)), said(call("Bash", rm), finish=reason)),
        stream(said(call("Bash", LS)), said(call("Bash", rm)), said(text("", thoughtSignature="s"), finish=reason)),
        stream(said(call("Bash", LS), call("Bash", rm), finish=reason)),
        stream(said(call("Bash", LS), call("Bash", rm)), said(finish="STOP"), said(finish=reason)),
        json.dumps(said(call("Bash", LS), call("Bash", rm), finish=reason)),
    ]
    for body in bodies:
        held, _, answer = run(body)
        assert held.calls[-1] == ("Bash", {})
        assert reason in held.finishes
        assert answer.outcomes[-1].status == "refused"
    assert run(bodies[0])[0].calls[0] == ("Bash", LS)
    spoken = stream(said(call("Bash", LS)), said(text("and then"), finish=reason))
    assert run(spoken)[0].calls == [("Bash", LS)]


def test_an_answer_that_just_ends_behind_a_whole_call_gets_its_finish() -> None:
    held, _, _ = run(stream(said(call("Bash", LS))))
    assert (held.calls, held.finishes) == ([("Bash", LS)], ["STOP"])


def test_before_an_error_whole_calls_come_out_and_the_error_goes_on() -> None:
    held, _, _ = run(stream(said(call("BASH", LS)), {"error": {"code": 503, "message": "overloaded"}}))
    assert held.calls == [("Bash", LS)]
    assert held.errors


# Text


def test_a_call_written_as_text_is_a_call_at_the_end_and_text_before_something_else() -> None:
    for written in (TEXT_CALL, FENCE):
        held, _, _ = run(
            stream(said(text(written[:9])), said(text(written[9:], thoughtSignature="s"), finish="STOP"))
        )
        assert (held.calls, held.ids, held.text.strip()) == ([("Bash", LS)], [None], "")
        assert held.finishes == ["STOP"]
        assert held.signatures == [("text", "s")]
        assert run(json.dumps(said(text(written), finish="STOP")))[0].calls == [("Bash", LS)]
        for behind in (text(" is what I would send."), text("no", thought=True)):
            quoted = stream(said(text(written)), said(behind, finish="STOP"))
            assert run(quoted)[0].calls == []
    cut = stream(said(text(TEXT_CALL[:-20]), finish="MAX_TOKENS"))
    assert run(cut)[1] == cut


def test_a_thought_is_no_answer() -> None:
    body = stream(said(text(TEXT_CALL, thought=True)), said(text("Done."), finish="STOP"))
    assert run(body)[1] == body


@pytest.mark.parametrize("config", [{"mode": "NONE"}, {"mode": "ANY", "allowedFunctionNames": ["ls"]}])
def test_text_makes_no_call_that_the_client_does_not_want(config: Json) -> None:
    malformed = said(
        finish="MALFORMED_FUNCTION_CALL", message="Malformed function call: default_api.Bash(command='ls')"
    )
    for body in (stream(said(text(TEXT_CALL), finish="STOP")), stream(malformed)):
        assert run(body, declared(**config))[1] == body


def test_an_answer_that_was_asked_for_as_json_is_never_a_call() -> None:
    asked = {
        "contents": [],
        "tools": [{"functionDeclarations": [{"name": "Bash", "parameters": {"type": "OBJECT"}}]}],
        "generationConfig": {"responseMimeType": "application/json"},
    }
    body = stream(said(text('{"name": "Bash", "arguments": {}}'), finish="STOP"))
    assert run(body, read_request(asked))[1] == body


def test_odd_parts_stay_where_they_are_in_a_document_that_is_mended() -> None:
    odd = [
        {"functionCall": None},
        {"functionCall": {}},
        {**call("Bash", LS), "thought": True},
        {"executableCode": {}},
    ]
    body = json.dumps(
        said(*odd, call("BASH", LS), text("x"), BEGIN["candidates"][0]["content"]["parts"][0], finish="STOP")
    )
    out, answer = mend(body, protocol="gemini", question=TOOLS)
    *parts, last = json.loads(out)["candidates"][0]["content"]["parts"]
    assert parts == [odd[0], odd[2], odd[3], call("Bash", LS), text("x")]
    assert (last["functionCall"]["name"], last["functionCall"]["args"]) == ("Todo", {})
    assert [outcome.status for outcome in answer.outcomes] == ["repaired", "refused"]


# MALFORMED_FUNCTION_CALL and UNEXPECTED_TOOL_CALL


def malformed(code: str, **more: Any) -> Json:
    answer = said(finish="MALFORMED_FUNCTION_CALL", message=f"Malformed function call: {code}", **more)
    del answer["candidates"][0]["content"]
    return answer


def test_the_one_whole_call_that_a_malformed_answer_quotes_is_made() -> None:
    for code in ("print(default_api.Bash(command='ls'))", 'default_api.Bash(command="ls",)'):
        for body in (stream(said(text("Hm", thought=True)), malformed(code)), json.dumps(malformed(code))):
            held, _, answer = run(body)
            assert (held.calls, held.finishes, held.messages) == ([("Bash", LS)], ["STOP"], [])
            assert answer.outcomes[0].status == "repaired"


def test_a_call_behind_the_one_that_a_malformed_answer_quotes_is_refused() -> None:
    """It may be the same one in other words: only one of the two runs."""
    for again in ({"command": "ls -l"}, {"command": "rm -rf /"}):
        held, _, answer = run(stream(malformed("print(default_api.Bash(command='ls'))"), said(call("Bash", again))))
        assert [made for made in held.calls if made == ("Bash", again)] == []
        assert answer.outcomes[-1].status == "refused"


@pytest.mark.parametrize(
    "code",
    [
        "print(default_api.Bash(command='rm -rf ",
        "print(default_api.Bash('ls'))",
        "print(default_api.Bash(command='ls', timeout=(0.07 / 12)))",
        "print(default_api.Bash(command='ls'))\nprint(default_api.Bash(command='pwd'))",
        "print(default_api.Bash(command=5))",
        "print(default_api.Bash(command='ls', sudo=True))",
        "print(default_api.Bash(timeout=5))",
        "print(default_api.rm(path='/'))",
        "print(Bash(command='ls'))",
        "call Bash with ls",
    ],
)
def test_any_other_malformed_call_goes_on_as_it_came(code: str) -> None:
    for body in (stream(malformed(code)), json.dumps(malformed(code)), json.dumps([malformed(code)])):
        held, out, _ = run(body)
        assert out == body
        assert held.finishes == ["MALFORMED_FUNCTION_CALL"]
    bare = stream(said(finish="MALFORMED_FUNCTION_CALL"))
    assert run(bare)[1] == bare


@pytest.mark.parametrize(
    "before",
    [
        "The page says:\n\n```\n",
        "> ",
        "<think>maybe ",
        "Shall I run this?\n\n",
        "The docs show `",
    ],
)
def test_a_malformed_call_that_the_text_before_it_quotes_goes_on_as_it_came(before: str) -> None:
    end = malformed("print(default_api.Bash(command='ls'))")
    both = said(text(before), finish="MALFORMED_FUNCTION_CALL", message=end["candidates"][0]["finishMessage"])
    words = [said(text(before[:4])), *(said(text(letter)) for letter in before[4:])]
    for body in (stream(said(text(before)), end), stream(*words, end), stream(both), json.dumps(both)):
        held, out, _ = run(body)
        assert (out, held.calls, held.finishes) == (body, [], ["MALFORMED_FUNCTION_CALL"])


@pytest.mark.parametrize(
    "before",
    [
        "Listing now.\n",
        "I'll look.",
        "```sh\nls\n```\n\nNow I run it.\n\n",
        # Words do not decide, here as for any written call.
        "I will not run the call on this page:\n\n",
        "cat <<EOF\n",
    ],
)
def test_a_malformed_call_behind_other_text_is_made(before: str) -> None:
    end = malformed("print(default_api.Bash(command='ls'))")
    both = said(text(before), finish="MALFORMED_FUNCTION_CALL", message=end["candidates"][0]["finishMessage"])
    for body in (stream(said(text(before)), end), stream(both), json.dumps(both)):
        held, _, _ = run(body)
        assert (held.calls, held.finishes, held.text) == ([("Bash", LS)], ["STOP"], before)


def test_an_unexpected_call_is_never_silent() -> None:
    message = "Unexpected tool call: Model tried to call an undeclared function: default_api:Bash"
    held, _, _ = run(stream(said(call("default_api:Bash", LS), finish="UNEXPECTED_TOOL_CALL", message=message)))
    assert (held.calls, held.finishes) == ([("Bash", LS)], ["UNEXPECTED_TOOL_CALL"])
    empty = stream(said(finish="UNEXPECTED_TOOL_CALL", message=message))
    assert run(empty)[1] == empty


# Arguments in pieces and flattened ones


def piece(**function: Any) -> Json:
    return said({"functionCall": function})


def partial(path: str, **value: Any) -> Json:
    return {"jsonPath": path, **value}


BEGIN = piece(name="Todo", id="c1", willContinue=True)
PIECES = [
    piece(partialArgs=[partial("$.todoList[0].id", numberValue=1)], willContinue=True),
    piece(partialArgs=[partial("$.todoList[0].title", stringValue="a ", willContinue=True)], willContinue=True),
    piece(partialArgs=[partial("$.todoList[0].title", stringValue="b")], willContinue=True),
]
TODO = {"todoList": [{"id": 1, "title": "a b"}]}


@pytest.mark.parametrize(
    "end",
    [
        piece(),
        piece(partialArgs=[partial("$.todoList[0].title", stringValue="")]),
        piece(partialArgs=[partial("$.todoList[0].title", willContinue=False)]),
    ],
)
def test_arguments_in_pieces_are_sent_once(end: Json) -> None:
    events = [BEGIN, *PIECES, end, said(text(""), finish="STOP")]
    for body in (stream(*events), json.dumps(events)):
        held, _, _ = run(body)
        assert (held.calls, held.ids, held.finishes) == ([("Todo", TODO)], ["c1"], ["STOP"])


@pytest.mark.parametrize("ends", [(), (said(text(""), finish="STOP"),), (said(text(""), finish="MAX_TOKENS"),)])
def test_arguments_in_pieces_that_were_cut_off_are_refused(ends: tuple[Json, ...]) -> None:
    held, _, answer = run(stream(BEGIN, *PIECES, *ends))
    assert held.calls == [("Todo", {})]
    assert [outcome.status for outcome in answer.outcomes] == ["refused"]


def test_a_value_that_was_not_told_to_its_end_is_cut_off_though_the_call_ends() -> None:
    held, _, answer = run(stream(BEGIN, *PIECES[:2], piece(), said(text(""), finish="STOP")))
    assert held.calls == [("Todo", {})]
    assert [outcome.status for outcome in answer.outcomes] == ["refused"]


def test_pieces_behind_another_call_or_with_the_id_of_another_one_never_run() -> None:
    begin = piece(name="Bash", id="c1", willContinue=True)
    half = piece(partialArgs=[partial("$.command", stringValue="rm -r /", willContinue=True)], willContinue=True)
    rest = piece(partialArgs=[partial("$.command", stringValue="tmp/x")])
    foreign = piece(id="c2", partialArgs=[partial("$.command", stringValue="tmp/x")])
    end = said(text(""), finish="STOP")
    for events in ([begin, half, said(call("ls")), rest, end], [begin, half, foreign, rest, end], [rest, end]):
        _, out, answer = run(stream(*events))
        assert "tmp/x" not in out
        assert all(outcome.status == "refused" for outcome in answer.outcomes if outcome.name != "ls")


@pytest.mark.parametrize("identity", [{}, {"id": "c1"}])
def test_the_call_behind_pieces_of_no_call_is_refused_and_the_next_one_is_not(identity: Json) -> None:
    orphan = piece(**identity, partialArgs=[partial("$.command", stringValue="cd /tmp && ")])
    whole = piece(name="Bash", id="c1", partialArgs=[partial("$.command", stringValue="rm -r *")])
    begun = [
        piece(name="Bash", id="c1", willContinue=True),
        piece(id="c1", partialArgs=[partial("$.command", stringValue="rm -r *")]),
    ]
    later = piece(name="ls", id="c2", partialArgs=[partial("$.dir", stringValue=".")])
    for events in ([orphan, whole], [orphan, *begun]):
        held, out, _ = run(stream(*events, later, said(text(""), finish="STOP")))
        assert "rm -r" not in out
        assert held.calls[-1] == ("ls", {"dir": "."})
    held, _, _ = run(stream(whole, later, said(text(""), finish="STOP")))
    assert held.calls == [("Bash", {"command": "rm -r *"}), ("ls", {"dir": "."})]


@pytest.mark.parametrize(
    "pieces",
    [
        [partial("$.todoList[1].id", numberValue=1)],
        [partial("$.todoList", stringValue="x"), partial("$.todoList[0].id", numberValue=1)],
        [partial("$.todoList[0].id", numberValue=1), partial("$.todoList[0].id", numberValue=2)],
        [partial("todoList", stringValue="x")],
        [partial("$.todoList[0].id", numberValue=1, stringValue="1")],
        [partial("$.todoList[0].id", numberValue=1), partial("$.todoList[0].title", listValue=["a"])],
        [partial("$.todoList[0].id", numberValue=1), partial("$.todoList[0].title", structValue={})],
        {"jsonPath": "$.todoList[0].id", "numberValue": 1},
    ],
)
def test_pieces_that_contradict_each_other_or_that_nobody_knows_are_refused(pieces: Any) -> None:
    held, _, answer = run(stream(BEGIN, piece(partialArgs=pieces), said(finish="STOP")))
    assert held.calls == [("Todo", {})]
    assert answer.outcomes[0].status == "refused"


def test_flattened_arrays_are_put_together_where_no_index_is_missing() -> None:
    flat = {"todoList[0].id": 1, "todoList[0].title": "a", "todoList[1].id": 2}
    held, _, _ = run(stream(said(call("Todo", flat), finish="STOP")))
    assert held.calls == [("Todo", {"todoList": [{"id": 1, "title": "a"}, {"id": 2}]})]
    for broken in ({"todoList[1].id": 2}, {"todoList[0].id": 1, "todoList[0].x": 2}, {"other[0].id": 1}):
        assert run(stream(said(call("Todo", broken), finish="STOP")))[0].calls == [("Todo", broken)]


# Around it


def test_the_envelope_of_a_login_is_kept() -> None:
    events = [
        {"response": said(text("Hi ")), "traceId": "t"},
        {"response": said(call("BASH", LS), finish="STOP"), "traceId": "t"},
    ]
    held, out, _ = run(stream(*events))
    assert held.calls == [("Bash", LS)]
    assert out.count('"response"') == out.count('"traceId"') == out.count("data: ")
    asked = {
        "model": "m",
        "project": "p",
        "request": {"contents": [], "tools": [{"functionDeclarations": [{"name": "x"}]}]},
    }
    assert [tool.name for tool in read_request(asked).tools] == ["x"]


def test_an_array_is_mended_item_by_item() -> None:
    events = [said(text("I look: ")), said(call("BASH", LS)), said(text(""), finish="STOP")]
    held, out, _ = run(json.dumps(events))
    assert (held.text, held.calls, held.finishes) == ("I look: ", [("Bash", LS)], ["STOP"])
    assert isinstance(json.loads(out), list)


def test_auto_knows_it_by_its_first_event() -> None:
    event = said(call("BASH", LS), finish="STOP")
    for body in (stream(event), json.dumps(event), json.dumps([event]), stream({"response": event})):
        assert run(body, protocol="auto")[0].calls == [("Bash", LS)]


def test_our_own_exception_gives_back_what_came(monkeypatch: pytest.MonkeyPatch) -> None:
    from toolcalls.protocols.gemini import Gemini

    def broken(*_: object) -> bytes:
        raise RuntimeError("a bug")

    monkeypatch.setattr(Gemini, "write", broken)
    body = stream(said(text("I look: ")), said(call("BASH", LS)), said(text(""), finish="STOP"))
    out, answer = mend(body, protocol="gemini", question=TOOLS, may_fail=True)
    assert out.decode() == body
    assert isinstance(answer.failure, RuntimeError)


def test_the_path_tells_protocol_and_stream() -> None:
    google = "/v1beta1/projects/p/locations/l/publishers"
    paths = {
        "/v1beta/models/gemini-3-pro:generateContent": ("gemini", False),
        "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse": ("gemini", True),
        f"{google}/google/models/m:streamGenerateContent": ("gemini", True),
        "/v1internal:streamGenerateContent?alt=sse": ("gemini", True),
        f"{google}/anthropic/models/claude:streamRawPredict": ("messages", True),
        f"{google}/anthropic/models/claude:rawPredict": ("messages", False),
        "/bedrock/model/anthropic.claude-v2:1/invoke-with-response-stream": ("messages", True),
        "/model/anthropic.claude-v2:1/invoke": ("messages", False),
        "/openai/deployments/d/chat/completions?api-version=1": ("chat", False),
        "/openai/v1/responses": ("responses", False),
        "/gateway/anthropic/v1/messages?beta=true": ("messages", False),
        "/v1beta/models/gemini-3-pro:countTokens": (None, False),
        "/v1/messages/count_tokens": (None, False),
    }
    assert {path: (protocol_of(path), read_request({}, path=path).stream) for path in paths} == paths


@pytest.mark.parametrize("directory", sorted(RECORDINGS.iterdir()), ids=lambda path: path.name)
def test_what_clients_get_of_every_recording_is_legal(directory: Path) -> None:
    recording = store.load(directory)
    held = read(recording.after or b"")
    expected = delivered(recording)
    assert held.calls == [(call["name"], json.loads(call["arguments"])) for call in expected]


def test_a_malformed_call_that_stands_in_the_request_is_read_aloud() -> None:
    quoted = "print(default_api.Bash(command='ls'))"
    bash = {"name": "Bash", "parameters": {"type": "OBJECT", "properties": {"command": {"type": "STRING"}}}}
    asked: Json = {"contents": [], "tools": [{"functionDeclarations": [bash]}]}
    body = stream(said(finish="MALFORMED_FUNCTION_CALL", message=f"Malformed function call: {quoted}"))
    assert run(body, read_request(asked))[0].calls == [("Bash", LS)]
    asked["contents"] = [{"role": "user", "parts": [{"text": f"Never say {quoted}"}]}]
    assert run(body, read_request(asked))[1] == body


def test_a_call_behind_a_cut_answer_is_refused() -> None:
    for late in (said(call("Bash", LS)), said(call("Bash", LS), finish="STOP")):
        held, _, answer = run(stream(said(text("Hi"), finish="MAX_TOKENS"), late))
        assert held.calls == [("Bash", {})]
        assert [outcome.status for outcome in answer.outcomes] == ["refused"]


def test_an_error_without_data_comes_behind_the_call_that_is_held() -> None:
    failed = stream(said(call("Bash", LS))) + json.dumps({"error": {"code": 500, "message": "x"}})
    assert mend(failed, protocol="gemini", question=TOOLS)[0].decode() == failed


def test_nothing_that_is_held_comes_behind_done() -> None:
    done = "data: [DONE]\r\n\r\n"
    _, out, answer = run(stream(said(call("Bash", LS))))
    body = stream(said(call("Bash", LS))) + done
    assert mend(body, protocol="gemini", question=TOOLS)[0].decode() == out + done
    assert [outcome.status for outcome in answer.outcomes] == ["valid"]
    for untouched in (stream(said(text("<tool_call>"))), stream(said(call("Bash", LS), finish="STOP"))):
        assert mend(untouched + done, protocol="gemini", question=TOOLS)[0].decode() == untouched + done
