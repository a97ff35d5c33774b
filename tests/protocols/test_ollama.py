"""Ollama's `/api/chat`, streamed: every stream at every split, and what a strict client ends with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.splits import mend
from tests.upstream import delivered
from tests.validators import ollama as strict
from toolcalls.engine import Response
from toolcalls.policy import Policy
from toolcalls.protocols.ollama import Ollama
from toolcalls.recording import store
from toolcalls.request.request import Request, read_request

Json = dict[str, Any]
ROOT = Path(__file__).parents[2]
HEAD = {"model": "qwen3", "created_at": "2026-08-21T10:00:00.123456789Z"}
COUNTS = {"total_duration": 12, "eval_count": 7}
SCHEMAS: dict[str, Json] = {
    "Bash": {
        "type": "object",
        "properties": {"command": {"type": "string"}, "timeout": {"type": "number"}},
        "required": ["command"],
    },
    "Read": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    "list_tabs": {"type": "object", "properties": {}},
}
TEXT_CALL = '<tool_call>\n{"name": "Bash", "arguments": {"command": "ls"}}\n</tool_call>'


def question(**more: Any) -> Request:
    tools = [
        {"type": "function", "function": {"name": name, "parameters": schema}} for name, schema in SCHEMAS.items()
    ]
    return read_request({"model": "qwen3", "tools": tools, **more}, "ollama")


ASKED = question()


def go(value: Any) -> str:
    """JSON as Go writes it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def line(content: str = "", *calls: Json, done: bool = False, **more: Any) -> str:
    thinking = {"thinking": more.pop("thinking")} if "thinking" in more else {}
    message = {"role": "assistant", "content": content, **thinking, **({"tool_calls": list(calls)} if calls else {})}
    return go({**HEAD, "message": message, "done": done, **more}) + "\n"


def call(name: str, arguments: Any, identity: str = "", index: int | None = None) -> Json:
    function = {} if index is None else {"index": index}
    return {**({"id": identity} if identity else {}), "function": {**function, "name": name, "arguments": arguments}}


def done(reason: str = "stop", content: str = "", *calls: Json) -> str:
    return line(content, *calls, done=True, done_reason=reason, **COUNTS)


def run(body: str, asked: Request = ASKED, policy: Policy | None = None) -> tuple[strict.Chat, str, Response]:
    out, answer = mend(body, protocol="ollama", question=asked, policy=policy)
    return strict.read(out, complete=False), out.decode(), answer


LS = {"command": "ls"}
UNTOUCHED = {
    "text": "".join(line(f"word < {n} & ") for n in range(40)) + line(thinking="hm") + done(),
    "a call and text before it": line("I look.") + line("", call("Bash", LS, "call_k3j9x0ab", 0)) + done(),
    "a call without an id": line("", call("Bash", LS)) + done(),
    "two equal calls without ids": line("", call("Bash", LS)) + line("", call("Bash", LS)) + done(),
    "two equal calls without arguments": line("", call("list_tabs", {}), call("list_tabs", {})) + done(),
    "two equal calls with ids": line("", call("Bash", LS, "a", 0), call("Bash", LS, "b", 1)) + done(),
    "numbers": '{"model":"m","created_at":"t","message":{"role":"assistant","content":"","tool_calls":[{"function":'
    '{"name":"Bash","arguments":{"command":"ls","timeout":1.50E2}}}]},"done":false}\n' + done(),
    "an error alone": '{"error":"model \'m\' not found"}\n',
    "an error in mid-stream": line("I look") + '{"error":"EOF"}\n',
    "a load answer": line("", done=True, done_reason="load"),
    "status lines": '{"status":"pulling manifest"}\n{"status":"success"}\n',
    "no newline at the end": line("Hi") + done().rstrip("\n"),
    "a blank line first": "\n" + line("Hi") + done(),
    "a number that nobody reads": line("", call("Bash", {"command": "ls", "timeout": 1})).replace(":1}", ":1e400}")
    + done(),
    "CRLF": ("\n" + line("Hi") + line("", call("Bash", LS)) + done()).replace("\n", "\r\n"),
    "no reason": line("", call("Bash", LS)) + line("", done=True),
    "somebody else's stream": 'data: {"type":"text-delta","delta":"Hi"}\n\ndata: [DONE]\n\n',
    "somebody else's text": "Hello there,\nhow are you",
}


@pytest.mark.parametrize("name", UNTOUCHED)
def test_what_is_right_stays_as_it_came(name: str) -> None:
    assert mend(UNTOUCHED[name], protocol="ollama", question=ASKED)[0].decode() == UNTOUCHED[name]


@pytest.mark.parametrize(
    ("came", "expected"),
    [
        ('{"command":"ls"}', LS),
        ("{'command': 'ls', 'timeout': 5,}", {**LS, "timeout": 5}),
        ('{"command": "ls"', LS),
        ({"name": "Bash", "arguments": LS}, LS),
        ({"command": "ls", "timeout": "5"}, {**LS, "timeout": 5}),
        ({"command": "ls", "timeout": None}, LS),
        ([LS], LS),
    ],
    ids=["text", "Python", "a missing bracket", "wrapped", "a number as text", "optional null", "a list of one"],
)
def test_arguments_become_the_object_that_they_mean(came: Any, expected: Json) -> None:
    for body in (
        line("", call("Bash", came, "call_1", 0)) + done(),
        line("I look.", call("Bash", came, "call_1", 0)) + done(),
        done("stop", "", call("Bash", came, "call_1", 0)),
        line("", call("Bash", came, "call_1", 0)),
    ):
        if "done_reason" not in body and came == '{"command": "ls"':
            continue
        chat, _, answer = run(body)
        assert (chat.calls, chat.ids, chat.done_reason) == ([("Bash", expected)], ["call_1"], "stop")
        assert [outcome.status for outcome in answer.outcomes] == ["repaired"]


@pytest.mark.parametrize("came", [None, ""])
def test_no_arguments_are_an_empty_object_where_nothing_is_required(came: Any) -> None:
    absent = call("list_tabs", None)
    del absent["function"]["arguments"]
    assert run(line("", call("list_tabs", came)) + line("", absent) + done())[0].calls == [("list_tabs", {})] * 2
    chat, _, answer = run(line("", call("Bash", came)) + done())
    assert (chat.calls, answer.outcomes[0].reason) == (
        [("Bash", {})],
        "Invalid arguments: missing required field(s): command",
    )


def test_names_and_entries_without_a_function_are_mended() -> None:
    flat = {"id": "call_1", "name": "bash", "arguments": LS}
    chat, _, _ = run(line("", flat, call("functions.Read", {"path": "a"}, "call_2")) + done())
    assert (chat.calls, chat.ids) == ([("Bash", LS), ("Read", {"path": "a"})], ["call_1", "call_2"])


def test_calls_that_share_an_index_get_their_own() -> None:
    body = line("", call("Bash", LS, "a", 0)) + line("", call("Bash", LS, "b", 0), call("Bash", LS, "c", 0)) + done()
    chat, out, _ = run(body)
    assert (chat.indices, chat.ids) == ([0, 1, 2], ["a", "b", "c"])
    assert out.startswith(body.splitlines()[0])


def test_a_call_that_is_sent_again_runs_once_and_another_one_of_its_id_gets_a_new_one() -> None:
    again = line("", call("Bash", LS, "a", 0)) + done("stop", "", call("Bash", LS, "a", 0))
    assert run(again)[0].calls == [("Bash", LS)]
    other = line("", call("Bash", LS, "a", 0)) + done("stop", "", call("Bash", {"command": "pwd"}, "a", 1))
    chat, _, _ = run(other)
    assert [arguments["command"] for _, arguments in chat.calls] == ["ls", "pwd"]


CUT = {"command": "rm -rf /home/user/tmp"}


def test_beside_length_the_last_call_is_refused_for_servers_close_what_was_cut_off() -> None:
    """gemma4's parser closes the string that is open and sends the call."""
    for body in (
        line("", call("Bash", LS, "a", 0)) + line("", call("Bash", CUT, "b", 1)) + done("length"),
        line("", call("Bash", LS, "a", 0), call("Bash", CUT, "b", 1)) + done("length"),
        line("", call("Bash", LS, "a", 0)) + done("length", "", call("Bash", CUT, "b", 1)),
        line("", call("Bash", LS, "a", 0)) + done("length") + line("", call("Bash", CUT, "b", 1)),
    ):
        chat, out, answer = run(body)
        assert "rm -rf" not in out
        assert (chat.calls[-1], chat.done_reason) == (("Bash", {}), "length")
        assert [outcome.status for outcome in answer.outcomes][-1] == "refused"
    chat, out, _ = run(line("", call("Bash", LS, "a", 0)) + line("Then I") + done("length"))
    assert chat.calls == [("Bash", LS)], "it was complete before the model went on"
    kept = run(done("length", "", call("Bash", CUT)), policy=Policy(truncated="complete"))
    assert kept[0].calls == [("Bash", CUT)]


def test_a_call_is_held_until_something_follows_it() -> None:
    answer = Response("ollama", ASKED)
    assert answer.feed(line("", call("Bash", LS)).encode()) == []
    assert answer.holding
    empty = line("").encode()
    assert answer.feed(empty) == [empty], "an empty line says nothing about the call"
    sent = b"".join(answer.feed(line("", thinking="next").encode()))
    assert strict.read(sent, complete=False).calls == [("Bash", LS)]
    assert not answer.holding


def test_the_keep_alive_is_a_line_that_every_client_reads() -> None:
    answer = Response("ollama", ASKED)
    answer.feed(line("", call("Bash", LS)).encode())
    said = json.loads(answer.keep_alive())
    assert said == {**HEAD, "message": {"role": "assistant", "content": ""}, "done": False}
    assert answer.keep_alive().count(b"\n") == 1


def test_a_call_written_as_text_is_a_call_at_the_end_and_text_before_something_else() -> None:
    said = "".join(line(part) for part in ("I look.\n", TEXT_CALL[:4], TEXT_CALL[4:30], TEXT_CALL[30:]))
    chat, _, _ = run(said + done())
    assert (chat.text.strip(), chat.calls, chat.done_reason) == ("I look.", [("Bash", LS)], "stop")
    assert run(said)[1] == said, "it may have been cut off"
    assert '"eval_count":7' in run(said + done())[1]
    for behind in (line(" is what I would send."), line("", thinking="no")):
        quoted = said + behind + done()
        assert run(quoted)[1] == quoted
    cut = line(TEXT_CALL[:40]) + done("length")
    assert run(cut)[1] == cut


def test_text_that_was_asked_for_as_json_is_no_call() -> None:
    body = line('{"name": "Bash", "arguments": {"command": "ls"}}') + done()
    assert run(body)[0].calls == [("Bash", LS)]
    for wanted in ("json", {"type": "object"}):
        assert run(body, question(format=wanted))[1] == body


def test_before_an_error_the_calls_come_out_and_the_error_goes_on() -> None:
    chat, out, _ = run(line("", call("Bash", "{'command': 'ls'}")) + '{"error":"EOF"}\n')
    assert (chat.calls, chat.error) == ([("Bash", LS)], "EOF")
    chat, out, _ = run(line("", call("Bash", '{"command": "rm -rf /')) + '{"error":"EOF"}\n')
    assert (chat.calls, chat.error, "rm -rf" in out) == ([], "EOF", False)


def test_a_call_behind_the_last_line_comes_before_it() -> None:
    """The JS client never reads it there."""
    chat, _, _ = run(line("Hi") + line("", call("Bash", LS)) + done() + line("", call("Read", {"path": "a"})))
    assert ([name for name, _ in chat.calls], chat.done_reason) == (["Bash", "Read"], "stop")
    assert chat.last["eval_count"] == 7


def test_an_answer_that_ends_without_its_last_line_gets_one_if_its_calls_are_whole() -> None:
    body = line("", call("Bash", LS, "call_1", 0))
    _, out, _ = run(body)
    assert out == body + line("", done=True, done_reason="stop")
    assert run(line("I was about to"))[1] == line("I was about to")
    assert run(line("", call("Bash", '{"command": "rm -rf /')))[0].calls == [("Bash", {})]


def test_half_a_line_ends_an_answer_that_was_cut_off() -> None:
    """The facts: servers close what was cut off, and the half line may be the one that says `length`."""
    begun = line("", call("Bash", LS, "c1", 0)) + line("", call("Bash", CUT, "c2", 1))
    ended = done("length")
    for size in (1, 20, 60, ended.index("total_dur") + 9):
        chat, out, answer = run(begun + ended[:size])
        assert (chat.calls, chat.done_reason) == ([("Bash", LS), ("Bash", {})], None), "no end is made up"
        assert "rm -rf" not in out and out.endswith("}\n")
        assert [outcome.status for outcome in answer.outcomes] == ["valid", "refused"]
    for said in (line("", call("Bash", LS)) + line("Then I"), line("<tool_c"), line(TEXT_CALL)):
        cut = said + ended[:60]
        assert mend(cut, protocol="ollama", question=ASKED)[0].decode() == cut
    assert run(begun)[0].calls == [("Bash", LS), ("Bash", CUT)], "a clean end behind a whole line is none"
    assert run(begun + done() + ended[:60])[1] == begun + done(), "it had ended before"


def test_a_line_alone_that_is_not_the_last_one_is_a_stream_that_was_cut_off() -> None:
    begun = line(TEXT_CALL)
    for body in (begun, begun.rstrip("\n"), json.dumps(json.loads(begun), indent=1)):
        for protocol in ("ollama", "auto"):
            assert mend(body, protocol=protocol, question=ASKED)[0].decode() == body
    whole = done("stop", TEXT_CALL).rstrip("\n")
    assert mend(whole, protocol="ollama", question=ASKED)[0].decode() != whole
    thought = line("", thinking=TEXT_CALL).rstrip("\n")
    assert mend(thought, protocol="ollama", question=ASKED)[0].decode() == thought


def test_a_call_behind_an_answer_that_was_cut_off_is_refused() -> None:
    late = line("Hi") + done("length") + line("", call("Bash", LS, "c1", 0))
    out, answer = mend(late, protocol="ollama", question=ASKED)
    assert [outcome.status for outcome in answer.outcomes] == ["refused"]
    assert b'"ls"' not in out


def test_a_blank_line_never_comes_before_a_call_that_is_held() -> None:
    body = line("Hi") + "\n" + line("", call("Bash", LS)) + "\n" + done() + "\n"
    assert (
        mend(body, protocol="ollama", question=ASKED)[0].decode()
        == line("Hi") + "\n" + line("", call("Bash", LS)) + done()
    )


def test_our_own_exception_gives_back_what_came(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> bytes:
        raise RuntimeError("a bug")

    monkeypatch.setattr(Ollama, "write", broken)
    came = [call("Bash", "{'command': 'ls'}", "a", 0), call("Bash", {"timeout": 1.5}, "b", 1)]
    body = line("I look: ", came[0]) + done("stop", "And", came[1])
    out, answer = mend(body, protocol="ollama", question=ASKED, may_fail=True)
    said = [json.loads(one)["message"] for one in out.splitlines()]
    assert "".join(message["content"] for message in said) == "I look: And"
    assert [entry for message in said for entry in message.get("tool_calls", [])] == came
    assert isinstance(answer.failure, RuntimeError)
    assert json.loads(out.splitlines()[-1])["eval_count"] == 7


def test_a_word_of_another_protocol_for_the_end_says_stop() -> None:
    assert run(line("", call("Bash", LS)) + done("tool_calls"))[0].done_reason == "stop"
    assert run(line("Hi") + done("tool_calls"))[0].done_reason == "stop"


def test_what_a_line_says_besides_text_and_calls_is_kept() -> None:
    body = line("", call("Bash", "{'command': 'ls'}", "a", 0), thinking="I look") + done()
    chat, out, _ = run(body)
    assert (chat.thinking, chat.calls, chat.last["eval_count"]) == ("I look", [("Bash", LS)], 7)
    both = done("stop", "Done.", {**call("Bash", "{'command': 'ls'}", "a", 0), "signature": "xyz"})
    chat, out, _ = run(both)
    assert (chat.text, chat.calls, chat.last["eval_count"]) == ("Done.", [("Bash", LS)], 7)
    assert '"signature":"xyz"' in out


def test_false_and_zero_are_kept_where_a_line_is_written_anew() -> None:
    beside = {"odd": 0, "flag": False}
    told = {"message": {"content": "", "tool_calls": [call("Bash", "{'command': 'ls'}")], **beside, "none": None}}
    _, out, _ = run(go({**HEAD, **told, "done": False, **beside, "empty": {}}) + "\n" + done())
    lines = [json.loads(one) for one in out.splitlines()]
    assert [one["message"] for one in lines if "odd" in one["message"]] == [
        {"role": "assistant", "content": "", **beside}
    ]
    assert [{key: one[key] for key in beside} for one in lines if "odd" in one] == [beside]
    assert not any("none" in one["message"] or "empty" in one for one in lines)


def test_lines_of_ours_have_no_character_that_python_clients_cut_at() -> None:
    chat, _, _ = run(line("", call("Bash", "{'command': 'a\u2028b\x85c'}")) + done())
    assert chat.calls == [("Bash", {"command": "a\u2028b\x85c"})]


@pytest.mark.parametrize("directory", sorted((ROOT / "recordings" / "ollama").iterdir()), ids=lambda path: path.name)
def test_what_clients_get_of_every_recording_is_legal(directory: Path) -> None:
    recording = store.load(directory)
    before = recording.before
    cut = not before.rstrip().endswith(b"}") or before.endswith(b'"done":false}')
    told = strict.read(recording.after or b"", complete=not cut and b'"error"' not in before)
    expected = delivered(recording)
    assert told.calls == [(call["name"], json.loads(call["arguments"])) for call in expected]


# A body that is one document


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_whole_answer_is_mended_as_a_stream_is(end: str) -> None:
    body = done("stop", "I look.", call("Bash", "{'command': 'ls'}", "call_1", 0)).rstrip("\n") + end
    _, out, _ = run(body)
    assert out == done("stop", "I look.", call("Bash", LS, "call_1", 0)).rstrip("\n") + end
    chat, out, _ = run(done("stop", f"I look.\n{TEXT_CALL}").rstrip("\n") + end)
    assert (out.count("\n"), chat.text.strip(), chat.calls) == (len(end), "I look.", [("Bash", LS)])
    chat, out, _ = run(done("length", "", call("Bash", LS, "a", 0), call("Bash", CUT, "b", 1)).rstrip("\n") + end)
    assert (chat.calls, chat.done_reason) == ([("Bash", LS), ("Bash", {})], "length")
    for untouched in (done("stop", "Hi"), done("stop", "", call("Bash", LS)), '{"error":"no such model"}\n'):
        assert run(untouched.rstrip("\n") + end)[1] == untouched.rstrip("\n") + end


def test_a_whole_answer_over_several_lines_is_one_too() -> None:
    spread = json.dumps(json.loads(done("stop", "", call("Bash", "{'command': 'ls'}"))), indent=1)
    assert run(spread)[0].calls == [("Bash", LS)]
    untouched = json.dumps(json.loads(done("stop", "Hi")), indent=1) + "\n"
    assert mend(untouched, protocol="ollama", question=ASKED)[0].decode() == untouched


def test_where_nothing_is_known_of_the_protocol_lines_show_it() -> None:
    body = line("Hi") + line("", call("Bash", "{'command': 'ls'}")) + done()
    expected = run(body)[1]
    assert mend(body, protocol="auto", question=ASKED)[0].decode() == expected
    whole = done("stop", "", call("Bash", "{'command': 'ls'}"))
    assert mend(whole, protocol="auto", question=ASKED)[0].decode() == run(whole)[1]


@pytest.mark.parametrize("before", [line("Hm."), line("<tool_call>")])
def test_a_line_that_is_no_json_is_not_the_end(before: str) -> None:
    made = call("Bash", {"command": "ls"})
    body = before + "retrying\n" + line("", made) + line(done=True, done_reason="stop")
    out, _ = mend(body, protocol="ollama", question=ASKED)
    held = [json.loads(one)["message"].get("tool_calls") for one in out.splitlines() if one.startswith(b"{")]
    assert [entry["function"]["arguments"] for calls in held for entry in calls or ()] == [{"command": "ls"}]
    assert b"retrying\n" in out
