"""chat.z.ai: phases, whose calls, the end of the turn, errors, limits."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest

from tests.protocols.zai_streams import CLOSED, WRAPPER, Backend, block, convert, question, received
from toolcalls.engine import Response
from toolcalls.policy import Policy
from toolcalls.protocols import zai, zai_document
from toolcalls.request.request import Request

LS = '{"command":"ls"}'


def got(backend: Backend, **policy: Any) -> dict[str, Any]:
    return received(convert(backend.stream, **policy))


def calls(answer: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(call["name"], call["arguments"]) for call in answer["tool_calls"]]


# Text


def test_text_goes_out_in_the_callback_in_which_it_came():
    answer = Response("zai", question())
    backend = Backend().delta("你好").delta("，世界")
    out = [b"".join(answer.feed(event)).decode() for event in backend.events]
    assert '"role":"assistant"' in out[0]
    assert '"content":"你好"' in out[0]
    assert '"content":"，世界"' in out[1]


def test_a_surrogate_pair_that_came_in_two_deltas_is_one_character():
    backend = Backend().say(delta_content="a\ud83d").say(delta_content="\ude00b").done()
    assert got(backend)["content"] == "a😀b"


def test_an_edit_behind_an_emoji_counts_two_units_for_it():
    backend = Backend().delta("😀😀 ok").become("😀😀 on and on", "other").done()
    assert b'"edit_index": 6' in backend.stream
    assert got(backend)["content"] == "😀😀 okn and on"


def test_an_edit_beyond_the_document_appends_and_an_empty_one_changes_nothing():
    backend = (
        Backend().delta("one").say(edit_index=999, edit_content=" two").say(edit_index=1, edit_content="").done()
    )
    assert got(backend)["content"] == "one two"


def test_content_replaces_the_whole_document():
    backend = Backend().delta("Hel").say(content="Hello", phase="answer").say(content="Hello you").done()
    assert got(backend)["content"] == "Hello you"


def test_the_first_text_field_counts():
    backend = (
        Backend().say(edit_content="a", content="b", delta_content="c").say(content="ad", delta_content="e").done()
    )
    assert got(backend)["content"] == "ad"


def test_newlines_of_the_answer_itself_are_kept():
    assert got(Backend().delta("a\n").delta("\nb\n\n").delta("c\n").done())["content"] == "a\n\nb\n\nc\n"


def test_html_and_blocks_without_a_call_are_text():
    text = '# A\n<details>\nb\n</details>\n<glm_block >no json\n<glm_block >{"a": 1}</glm_block>\n<glm'
    assert got(Backend().delta(text).done())["content"] == text


def test_fields_one_level_deeper_are_read():
    event = {"type": "chat:completion", "data": {"data": {"phase": "answer", "delta_content": "deep"}}}
    assert got(Backend().raw(event).done())["content"] == "deep"


def test_unknown_types_phases_and_wrong_fields_do_no_harm():
    backend = Backend().raw({"type": "chat:title", "data": {"delta_content": "a", "phase": "new"}})
    backend.raw({"type": "x", "data": None}).raw({"data": []}).raw([1]).raw("text").raw({})
    backend.say(edit_index="x", edit_content=7, delta_content="b", usage=3, choices="?", metadata=4, tool_calls=9)
    assert got(backend.done())["content"] == "ab"


# Reasoning


def test_reasoning_around_a_tool_and_the_answer_behind_it_come_apart():
    backend = Backend().delta(WRAPPER + "> one\n> two", "thinking")
    backend.become(CLOSED + "> one\n> two\n</details>\nLet me look.", "answer")
    backend.become(backend.document + "\n\n" + block("search", "{}", result=""))
    backend.become(backend.document.replace('"result": ""', '"result": "found"'), "other")
    backend.delta('\n\n<details type="reasoning" done="true">\n> three\n</details>\nIt is 4.', "answer")
    answer = got(backend.usage().done())
    assert answer["reasoning"] == "one\ntwo\n\nthree"
    assert answer["content"] == "Let me look.\n\nIt is 4."
    assert (answer["tool_calls"], answer["finish_reason"]) == ([], "stop")


def test_thinking_around_a_hidden_call_of_the_backend_is_separated():
    backend = Backend().say(phase="thinking", delta_content="I search.")
    backend.say(phase="tool_call", delta_name="search", delta_arguments="{}")
    backend.say(phase="tool_response", tool_name="search", status="completed", delta_content="rows")
    for text in ("\n", "Found ", "it."):
        backend.say(phase="thinking", delta_content=text)
    answer = got(backend.delta("It is 4.").done())
    assert (answer["reasoning"], answer["content"]) == ("I search.\n\nFound it.", "It is 4.")


def test_a_block_of_the_backend_counts_wherever_it_stands_in_the_line():
    for before in ("Let me look. ", "a < b, so ", "<g", "x <"):
        backend = Backend().delta(before)
        answer = got(backend.become(before + block("Bash", LS)).done())
        assert calls(answer) == [("Bash", {"command": "ls"})], before
        assert answer["content"].strip() == before.strip()
    behind = block("Bash", LS) + " " + block("Read", LS, "call_2") + " and so on"
    answer = got(Backend().become("I do both: " + behind).done())
    assert [name for name, _ in calls(answer)] == ["Bash", "Read"]
    assert answer["content"].split() == ["I", "do", "both:", "and", "so", "on"]


@pytest.mark.parametrize("before", ["The form is `", 'He wrote "', "Blocks look so: "])
def test_a_block_in_the_line_that_is_quoted_or_said_by_the_model_is_text(before: str):
    phase = "answer" if before.endswith(" ") else "tool_call"
    answer = got(Backend().become(before + block("Bash", LS), phase).done())
    assert (answer["tool_calls"], answer["finish_reason"]) == ([], "stop")
    assert "<glm_block" in answer["content"]


def test_thinking_without_a_wrapper_is_no_part_of_the_document():
    backend = (
        Backend().say(phase="thinking", delta_content="😀 hm").delta("Hi").say(edit_index=2, edit_content=" you")
    )
    answer = got(backend.done())
    assert (answer["reasoning"], answer["content"]) == ("😀 hm", "Hi you")


# Whose call it is


def round_of(backend: Backend, name: str, identity: str, result: Any) -> Backend:
    """A block whose arguments grow, the usage, and the result patch."""
    before = backend.document + "\n\n"
    backend.become(before + block(name, '{"comm', identity)).become(before + block(name, LS, identity)).usage()
    return backend.become(before + block(name, LS, identity, result), "other")


def test_a_server_tool_never_becomes_a_call():
    answer = got(round_of(Backend().delta("a"), "search", "s1", "rows").delta("\n\nb").done())
    assert (answer["content"], answer["tool_calls"], answer["finish_reason"]) == ("a\n\nb", [], "stop")


def test_a_declared_tool_that_the_backend_ran_is_not_run_again():
    answer = got(round_of(Backend(), "Bash", "c1", "total 0").delta("\n\nempty").done())
    assert (answer["content"], answer["tool_calls"], answer["finish_reason"]) == ("empty", [], "stop")


def test_a_server_tool_first_and_then_the_client_s():
    backend = round_of(Backend(), "search", "s1", [{"type": "text", "text": "rows"}])
    answer = got(round_of(backend, "Bash", "c1", None).done())
    assert calls(answer) == [("Bash", {"command": "ls"})]
    assert answer["finish_reason"] == "tool_calls"


def test_a_request_that_is_unknown_leaves_it_to_the_result():
    backend = round_of(round_of(Backend(), "search", "s1", "rows"), "Foo", "c1", None).done()
    answer = received(convert(backend.stream, asked=Request()))
    assert calls(answer) == [("Foo", {"command": "ls"})]


def test_an_unknown_request_at_the_path_alone_passes_untouched():
    stream = Backend().delta("a").done().stream
    assert convert(stream, asked=Request(), protocol="chat") == stream
    assert convert(stream, asked=Request(), protocol="auto") != stream


# The turn


def three_rounds() -> Backend:
    backend = round_of(Backend().delta("go"), "Bash", "c1", None)
    backend.delta("\n\nIt seems to work.")
    return round_of(round_of(backend, "Read", "c2", None), "Bash", "c3", None).delta("\n\nDone.").usage(99).done()


def test_the_turn_ends_at_the_first_null_patch():
    answer = got(three_rounds())
    assert [call["id"] for call in answer["tool_calls"]] == ["c1"]
    assert (answer["content"], answer["finish_reason"], answer["done"]) == ("go", "tool_calls", True)
    assert answer["usage"]["total_tokens"] == 7


def test_the_end_is_sent_with_the_null_patch():
    answer = Response("zai", question())
    backend = round_of(Backend(), "Bash", "c1", None)
    for event in backend.events[:-1]:
        answer.feed(event)
    assert answer.holding
    assert answer.feed(backend.events[-1])[-1].endswith(b"data: [DONE]\n\n")
    assert not answer.holding
    assert answer.close() == []


def test_forward_all_goes_on():
    answer = got(three_rounds(), zai_after_null="forward_all")
    assert [call["id"] for call in answer["tool_calls"]] == ["c1", "c2", "c3"]
    assert answer["content"] == "go\n\nIt seems to work.\n\nDone."
    assert answer["usage"]["total_tokens"] == 99


def test_a_block_that_the_null_patch_brings_along_belongs_to_the_next_turn():
    backend = Backend().become(block("Bash", LS, "c1")).usage()
    backend.become(block("Bash", LS, "c1", None) + "\n\n" + block("Read", "{}", "c2") + "\n\nmore", "other")
    answer = got(backend.done())
    assert [call["id"] for call in answer["tool_calls"]] == ["c1"]
    assert answer["content"] == ""


def test_the_upstream_stop_of_a_tool_turn_is_not_copied():
    backend = Backend().become(block("Bash", LS)).say(choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}])
    assert got(backend.done())["finish_reason"] == "tool_calls"


def test_length_is_kept_where_no_call_went_out():
    backend = Backend().delta("a").say(choices=[{"index": 0, "delta": {}, "finish_reason": "length"}]).done()
    assert got(backend)["finish_reason"] == "length"


def test_after_done_only_usage_counts():
    backend = Backend().delta("a").usage(5).done()
    backend.say(delta_content="b").say(usage={"total_tokens": 9}, done=True, edit_index=0, edit_content="c")
    answer = got(backend)
    assert (answer["content"], answer["usage"]) == ("a", {"total_tokens": 9})


def test_done_ends_the_stream_like_the_other_markers():
    assert got(Backend().delta("a"), zai="on")["finish_reason"] == "length"
    assert received(convert(Backend().delta("a").stream + b"data: [DONE]\n\n"))["finish_reason"] == "stop"


# Arguments


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"command": "ls"}, {"command": "ls"}),
        (json.dumps(LS), {"command": "ls"}),
        ("", {}),
        (None, {}),
        ("{'command': 'ls',}", {"command": "ls"}),
        (
            '{"command":"echo \\"</glm_block>\\n<glm_block >{\\" 中"}',
            {"command": 'echo "</glm_block>\n<glm_block >{" 中'},
        ),
    ],
)
def test_arguments_come_in_every_form(arguments: Any, expected: Any):
    assert calls(got(Backend().become(block("Bash", arguments)).done())) == [("Bash", expected)]


def test_the_second_form_of_a_block_is_read():
    body = json.dumps({"id": "c7", "type": "function", "function": {"name": "Bash", "arguments": LS}})
    answer = got(Backend().become(f'<glm_block type="tool_call">\n{body}\n</glm_block>\n\nok').done())
    assert answer["tool_calls"] == [{"id": "c7", "name": "Bash", "arguments": {"command": "ls"}}]
    assert answer["content"] == "ok"


def test_a_repeated_or_missing_id_is_replaced():
    document = "\n\n".join(
        block("Bash", arguments, identity)
        for arguments, identity in ((LS, "c1"), ('{"command":"pwd"}', "c1"), ('{"command":"id"}', ""))
    )
    ids = [call["id"] for call in got(Backend().become(document).done())["tool_calls"]]
    assert ids[0] == "c1"
    assert len(set(ids)) == 3
    assert all(ids)


def test_half_a_value_is_never_a_call_although_the_answer_is_done():
    answer = Response("zai", question(("Write",)), Policy(fallback="empty"))
    out = answer.feed(Backend().become(block("Write", '{"file_path":"a","content":"rm -rf /srv')).done().stream)
    assert calls(received(b"".join([*out, *answer.close()]))) == [("Write", {})]
    assert [outcome.status for outcome in answer.outcomes] == ["refused"]


def test_a_block_that_never_closes_is_judged_by_its_arguments():
    whole = block("Bash", LS).partition(', "result"')[0]
    assert calls(got(Backend().become(whole).done())) == [("Bash", {"command": "ls"})]
    half = block("Bash", '{"command":"rm -rf /tmp/\\u4e').partition('\\u4e"')[0]
    assert calls(got(Backend().become(half).done(), fallback="empty")) == [("Bash", {})]


def test_a_block_that_never_closes_is_not_read_again_with_each_delta(monkeypatch: pytest.MonkeyPatch):
    sizes: list[int] = []
    real = zai_document.read_block
    monkeypatch.setattr(zai_document, "read_block", lambda text: (sizes.append(len(text)), real(text))[1])
    backend = Backend().become("\n\n" + block("Bash", LS).partition(', "result"')[0])
    for _ in range(50):
        backend.delta("word ")
    got(backend.done())
    assert len(sizes) < 8


# The stream breaks off


@pytest.mark.parametrize(
    ("arguments", "left", "expected"),
    [
        (LS, False, [("Bash", {"command": "ls"})]),
        (LS, True, [("Bash", {"command": "ls"})]),
        ('{"command":"l', True, []),
        ('{"command":"ls"', True, []),
        ("", False, []),
        ("", True, [("Bash", {})]),
        ("{}", False, []),
        ("{}", True, [("Bash", {})]),
    ],
)
def test_without_done_a_call_counts_only_when_it_is_whole(arguments: str, left: bool, expected: list[Any]):
    backend = Backend().delta("a").become("a\n\n" + block("Bash", arguments))
    answer = got(backend.usage() if left else backend)
    assert calls(answer) == expected
    assert answer["finish_reason"] == ("tool_calls" if expected else "length")
    assert answer["content"] == "a"
    assert answer["done"]


# Delta shape


def delta(name: str = "", arguments: str = "", identity: str = "", **more: Any) -> dict[str, Any]:
    metadata = {"type": "function", **({"tool_call_id": identity} if identity else {})}
    named = {"delta_name": name} if name else {}
    return {"phase": "tool_call", **named, "delta_arguments": arguments, "metadata": metadata, **more}


def test_delta_calls_of_client_and_server():
    backend = Backend(compact=True).say(**delta("search", '{"q":', "s1")).say(**delta(arguments='"x"}')).usage()
    backend.say(phase="tool_response", tool_name="search", status="completed", delta_content="rows",
                metadata={"tool_call_id": "s1"})  # fmt: skip
    backend.delta("Now: ").say(**delta("Bash", '{"command"', "c1")).usage().say(**delta(arguments=':"ls"}'))
    answer = got(backend.delta(".").done())
    assert answer["tool_calls"] == [{"id": "c1", "name": "Bash", "arguments": {"command": "ls"}}]
    assert (answer["content"], answer["finish_reason"]) == ("Now: .", "tool_calls")


def test_a_declared_tool_that_a_tool_response_answers_was_run_upstream():
    backend = Backend().say(**delta("Bash", LS, "c1")).say(**delta("Bash", LS, "c2"))
    backend.say(phase="tool_response", tool_name="Bash", delta_content="x", metadata={"tool_call_id": "c1"})
    assert [call["id"] for call in got(backend.done())["tool_calls"]] == ["c2"]


def test_two_calls_of_one_name_without_ids_are_two():
    backend = Backend().say(**delta("Bash", LS)).say(**delta("Bash", '{"command":"pwd"}')).done()
    assert calls(got(backend)) == [("Bash", {"command": "ls"}), ("Bash", {"command": "pwd"})]


def test_a_name_that_is_said_again_before_any_arguments_is_that_of_the_same_call():
    backend = Backend().say(**delta("Bash", "")).say(**delta("Bash", LS)).done()
    assert calls(got(backend)) == [("Bash", {"command": "ls"})]


def test_interleaved_fragments_go_where_their_id_says():
    backend = Backend().say(**delta("Bash", '{"command":', "c1")).say(**delta("Read", '{"file_path":', "c2"))
    backend.say(**delta(arguments='"ls"}', identity="c1")).say(**delta(arguments='"a"}', identity="c2"))
    assert calls(got(backend.done())) == [("Bash", {"command": "ls"}), ("Read", {"file_path": "a"})]


@pytest.mark.parametrize(("arguments", "kept"), [(LS, 1), ('{"command":"l', 0), ("", 0)])
def test_a_delta_call_that_is_cut_off_counts_only_when_it_is_whole(arguments: str, kept: int):
    answer = got(Backend().say(**delta("Bash", arguments, "c1")))
    assert len(answer["tool_calls"]) == kept
    assert answer["finish_reason"] == ("tool_calls" if kept else "length")


def test_openai_calls_inside_the_envelope_pass():
    entry = {"index": 0, "id": "c1", "type": "function", "function": {"name": "Bash", "arguments": '{"command"'}}
    backend = Backend().say(phase="tool_call", tool_calls=[entry])
    backend.say(phase="tool_call", tool_calls=[{"index": 0, "function": {"arguments": ':"ls"}'}}])
    assert calls(got(backend.done())) == [("Bash", {"command": "ls"})]


@pytest.mark.parametrize(("tokens", "made"), [(19, []), (18, [("Bash", {"command": "rm -rf out00"})])])
def test_an_answer_that_reached_the_limit_of_the_request_was_cut_off(tokens: int, made: list[Any]):
    asked = question(("Bash",), max_tokens=19)
    backend = Backend().say(**delta("Bash", '{"command":"rm -rf out00"', "c1"))
    backend.say(usage={"completion_tokens": tokens}, phase="other")
    assert calls(received(convert(backend.done().stream, asked=asked, fallback="empty"))) == (made or [("Bash", {})])


# Errors


@pytest.mark.parametrize(
    ("event", "error"),
    [
        ({"error": "down"}, {"code": None, "message": "down"}),
        ({"data": {"error": {"message": "no"}}}, {"code": None, "message": "no"}),
        ({"data": {"data": {"error": {"code": "INTERNAL_ERROR", "detail": "x"}}}},
         {"code": "INTERNAL_ERROR", "message": "x"}),
        ({"data": {"error_code": "FRONTEND_CAPTCHA_REQUIRED", "detail": "y"}},
         {"code": "FRONTEND_CAPTCHA_REQUIRED", "message": "y"}),
    ],
)  # fmt: skip
def test_errors_go_on_as_errors(event: dict[str, Any], error: dict[str, Any]):
    alone = received(convert(Backend().raw({"type": "chat:completion", **event}).done().stream))
    assert (alone["error"], alone["chunks"], alone["finish_reason"]) == (error, 0, None)
    behind = received(convert(Backend().delta("a").raw({"type": "chat:completion", **event}).delta("b").stream))
    assert (behind["error"], behind["content"], behind["finish_reason"]) == (error, "a", None)


def test_complete_calls_come_out_before_an_error_and_others_do_not():
    backend = Backend().become(block("Bash", LS, "c1") + "\n\n" + block("Write", '{"file_path":"a', "c2"))
    answer = got(backend.say(error={"code": 1, "detail": "x"}))
    assert [call["id"] for call in answer["tool_calls"]] == ["c1"]
    assert (answer["error"]["message"], answer["finish_reason"]) == ("x", None)


def test_an_error_that_trails_a_complete_answer_is_none():
    trailing = {"error": {"code": "INTERNAL_ERROR", "detail": "x"}, "done": True}
    answer = got(Backend().delta("a").usage().say(**trailing))
    assert (answer["content"], answer["finish_reason"], answer["error"]) == ("a", "stop", None)
    answer = got(Backend().become(block("Bash", LS)).say(**trailing))
    assert (len(answer["tool_calls"]), answer["finish_reason"], answer["error"]) == (1, "tool_calls", None)


# The client


def test_chunks_carry_one_id_and_the_model_of_the_request():
    first, second = (got(Backend().delta("a").delta("b").done()) for _ in range(2))
    assert first["ids"] == second["ids"]
    ((identity, created, model),) = first["ids"]
    assert identity.startswith("chatcmpl-")
    assert (created, model) == (0, "glm-4.6")


def test_null_content_drops_the_text_behind_a_client_s_call_and_no_other():
    backend = round_of(Backend().delta("a"), "search", "s1", "rows").delta("\n\nb")
    backend.become(backend.document + "\n\n" + block("Bash", LS)).delta("\n\nc")
    assert got(backend.done(), null_content=True)["content"] == "a\n\nb"


# Limits and failures


def test_at_the_limit_the_stream_ends_with_an_error_event():
    backend = Backend().delta("a")
    for size in range(10):
        backend.become("a\n\n" + block("Write", '{"content":"' + "x" * 500 * size))
    stream = backend.done().stream
    for cuts in (0, 1, 700):
        answer = Response("zai", question(), Policy(max_held_bytes=4000))
        size = cuts or len(stream)
        pieces = [piece for at in range(0, len(stream), size) for piece in answer.feed(stream[at : at + size])]
        out = received(b"".join([*pieces, *answer.close()]))
        assert answer.limited
        assert answer.failure is None
        assert (out["content"], out["tool_calls"], out["finish_reason"], out["done"]) == ("a", [], None, True)
        assert "toolfix_max_held_bytes" in out["error"]["message"]


@pytest.mark.parametrize("protocol", ["zai", "chat", "auto"])
def test_an_exception_ends_the_stream_with_an_error_event(monkeypatch: pytest.MonkeyPatch, protocol: str):
    def explode(_: Any) -> Any:
        raise RuntimeError("boom")

    answer = Response(protocol, question())
    out = answer.feed(Backend().delta("a").stream)
    monkeypatch.setattr(zai, "string_of", explode)
    out += answer.feed(Backend().delta("b").delta("c").stream)
    monkeypatch.undo()
    out += answer.feed(Backend().delta("d").stream) + answer.close()
    got = received(b"".join(out))
    assert isinstance(answer.failure, RuntimeError)
    assert (got["content"], got["finish_reason"], got["done"]) == ("a", None, True)
    assert got["error"]


def test_fifty_answers_at_once_do_not_mix():
    backends = [round_of(Backend().delta(f"text {n}"), "Bash", f"call_{n}", None).done() for n in range(50)]
    answers = [Response("chat", question(), seed=str(n)) for n in range(50)]
    streams = [backend.stream for backend in backends]
    out: list[list[bytes]] = [[] for _ in answers]
    for at in range(0, max(map(len, streams)), 97):
        for answer, stream, received_so_far in zip(answers, streams, out, strict=True):
            received_so_far += answer.feed(stream[at : at + 97])
    for number, (answer, pieces) in enumerate(zip(answers, out, strict=True)):
        got = received(b"".join([*pieces, *answer.close()]))
        assert got["content"] == f"text {number}"
        assert [call["id"] for call in got["tool_calls"]] == [f"call_{number}"]
    assert len({next(iter(received(b"".join(pieces))["ids"])) for pieces in out}) == 50


@pytest.mark.parametrize("option", ["auto", "on", "off"])
def test_a_document_passes_as_it_came_because_chat_z_ai_only_streams(option: Literal["auto", "on", "off"]):
    call = {"id": "c1", "type": "function", "function": {"name": "Bash", "arguments": "{'command': 'ls'}"}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    body = json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode()
    answer = Response("zai", question(("Bash",)), Policy(zai=option))
    assert b"".join([*answer.feed(body), *answer.close()]) == body
    assert answer.outcomes == []
