"""Chat: entries of `tool_calls` that are no calls of functions, and what the host itself ran, pass as they came."""

from __future__ import annotations

import json
from itertools import groupby
from typing import Any

import pytest

from tests.protocols.test_chat import DONE, chunk, line, piece
from tests.splits import mend
from toolcalls.engine import Response, mend_whole
from toolcalls.policy import Policy
from toolcalls.request.request import Request, read_request

Json = dict[str, Any]

TOOLS: list[Json] = [
    {"type": "function", "function": {"name": "Bash", "parameters": {"type": "object", "required": ["command"]}}},
    {"type": "custom", "custom": {"name": "apply_patch"}},
    {"type": "builtin_function", "function": {"name": "$web_search"}},
]
ASKED = read_request({"tools": TOOLS, "stream": True})
BROKEN = "{'command': 'ls'}"


def calls(*entries: Json) -> Json:
    return {"tool_calls": list(entries)}


CUSTOM = [
    calls({"index": 0, "id": "call_1", "type": "custom", "custom": {"name": "apply_patch", "input": ""}}),
    calls({"index": 0, "custom": {"input": "*** Begin Patch\n{'a': "}}),
    calls({"index": 0, "custom": {"input": "1}\n*** End Patch"}}),
]
BUILTIN = [
    calls(
        {"index": 0, "id": "s:0", "type": "builtin_function", "function": {"name": "$web_search", "arguments": ""}}
    ),
    calls({"index": 0, "function": {"arguments": '{"query":'}}),
    calls({"index": 0, "function": {"arguments": '"x"}'}}),
]
RAN = [
    calls(
        {"index": 0, "id": "srvtoolu_01A", "type": "function", "function": {"name": "web_search", "arguments": ""}}
    ),
    calls({"index": 0, "function": {"arguments": '{"query": '}}),
    calls({"index": 0, "function": {"arguments": '"x"}'}}),
]
SEARCH = [
    calls({"index": 0, "id": "ws_1", "type": "web_search_call", "status": "completed", "action": {"query": "x"}})
]
MCP = [
    calls({"index": 0, "id": "m_1", "type": "mcp", "name": "look", "server_label": "s", "arguments": ""}),
    calls({"index": 0, "arguments": "{'q': 1}"}),
]
KINDS = {"custom": CUSTOM, "builtin": BUILTIN, "ran": RAN, "search": SEARCH, "mcp": MCP}
OURS = [calls({"id": "call_9", "type": "function", "function": {"name": "Bash", "arguments": BROKEN}})]


def at(index: int, deltas: list[Json]) -> list[Json]:
    """The same deltas with another index."""
    return [{"tool_calls": [{**entry, "index": index} for entry in delta["tool_calls"]]} for delta in deltas]


def stream(*deltas: Json, reason: str | None = None, done: bool = True) -> bytes:
    said = "".join(chunk(delta) for delta in deltas)
    return (said + (chunk({}, reason) if reason else "") + (DONE if done else "")).encode()


def held(out: bytes) -> tuple[dict[int, Json], list[str], list[str]]:
    """What an accumulating client holds: calls by index, the finish reasons, and the order of what began."""
    found: dict[int, Json] = {}
    reasons: list[str] = []
    order: list[str] = []
    for row in out.decode().splitlines():
        if not row.startswith("data: {"):
            continue
        for choice in json.loads(row[6:])["choices"]:
            delta = choice.get("delta") or {}
            if delta.get("content"):
                order.append("text")
            for entry in delta.get("tool_calls") or []:
                if entry["index"] not in found:
                    order.append(entry["id"])
                _join(found.setdefault(entry["index"], {}), {k: v for k, v in entry.items() if k != "index"})
            reasons += [choice["finish_reason"]] if choice.get("finish_reason") else []
    return found, reasons, order


def _join(into: Json, entry: Json) -> None:
    for key, value in entry.items():
        if isinstance(value, dict):
            _join(into.setdefault(key, {}), value)
        elif key in ("arguments", "input"):
            into[key] = into.get(key, "") + value
        else:
            into[key] = value


@pytest.mark.parametrize("policy", [Policy(), Policy(aggregate=False)], ids=["held", "live"])
@pytest.mark.parametrize("reason", ["tool_calls", "length", "content_filter"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_call_of_another_kind_passes_byte_for_byte(kind: str, reason: str, policy: Policy) -> None:
    for deltas in (KINDS[kind], [{"content": "Searching. "}, *KINDS[kind], {"content": "Found it."}]):
        for question in (ASKED, Request()):
            body = stream(*deltas, reason=reason)
            out, answer = mend(body, question=question, policy=policy)
            assert out == body
            assert answer.outcomes == []
            body = stream(*deltas, done=False)
            assert mend(body, question=question, policy=policy)[0] == body, "no end is made up"


@pytest.mark.parametrize("kind", ["builtin", "ran", "search", "mcp"])
def test_what_the_host_runs_changes_no_reason(kind: str) -> None:
    body = stream({"content": "One moment. "}, *KINDS[kind], {"content": "It is 7."}, reason="stop")
    assert mend(body, question=ASKED)[0] == body


def test_a_custom_call_counts_as_one() -> None:
    out, _ = mend(stream(*CUSTOM, reason="stop"), question=ASKED)
    assert held(out)[1] == ["tool_calls"]
    assert held(out)[0] == held(stream(*CUSTOM))[0]


@pytest.mark.parametrize("policy", [Policy(), Policy(aggregate=False)], ids=["held", "live"])
@pytest.mark.parametrize("kind", KINDS)
def test_beside_a_call_of_ours_both_keep_their_place(kind: str, policy: Policy) -> None:
    other = KINDS[kind]
    identity = other[0]["tool_calls"][0]["id"]
    for ours, theirs in ((0, 1), (1, 0), (0, 3)):
        before = at(theirs, other) if theirs < ours else at(ours, OURS)
        after = at(ours, OURS) if theirs < ours else at(theirs, other)
        out, answer = mend(stream(*before, *after, reason="stop"), question=ASKED, policy=policy)
        found, reasons, _ = held(out)
        assert [found[index]["id"] for index in sorted(found)] == (
            [identity, "call_9"] if theirs < ours else ["call_9", identity]
        )
        assert found[theirs] == held(stream(*at(theirs, other)))[0][theirs]
        assert reasons == ["tool_calls"]
        assert [outcome.status for outcome in answer.outcomes] == [
            "repaired"
        ] * policy.aggregate or not policy.aggregate


def test_entries_of_both_kinds_in_one_event() -> None:
    mixed = {"tool_calls": [*at(0, CUSTOM)[0]["tool_calls"], *at(1, OURS)[0]["tool_calls"]], "content": "Both. "}
    out, answer = mend(stream(mixed, *CUSTOM[1:], reason="tool_calls"), question=ASKED)
    found, reasons, _ = held(out)
    assert found[0]["custom"]["input"] == "*** Begin Patch\n{'a': 1}\n*** End Patch"
    assert json.loads(found[1]["function"]["arguments"]) == {"command": "ls"}
    assert (reasons, [outcome.status for outcome in answer.outcomes]) == (["tool_calls"], ["repaired"])
    assert b"Both. " in out


VALID = '{"command":"ls"}'
WHOLE_OURS = piece(0, "call_8", "Bash", VALID)
LAST_OURS = piece(2, "call_9", "Bash", VALID)
HALVES = [piece(0, "call_8", "Bash", VALID[:5]), piece(0, None, None, VALID[5:])]


@pytest.mark.parametrize("policy", [Policy(), Policy(arguments=False)], ids=["mended", "not mended"])
@pytest.mark.parametrize("reason", ["tool_calls", "length"])
@pytest.mark.parametrize("kind", KINDS)
def test_calls_begin_in_their_order(kind: str, reason: str, policy: Policy) -> None:
    """OpenAI's SDKs put a call whose index is lower than that of an earlier one into that one."""
    begins, *rest = at(1, KINDS[kind])
    between = [HALVES[0], begins, HALVES[1], *rest, LAST_OURS]
    together = [calls(*WHOLE_OURS["tool_calls"], *begins["tool_calls"], *LAST_OURS["tool_calls"]), *rest]
    beside = [WHOLE_OURS, {**begins, "content": "And: "}, *rest, LAST_OURS]
    for deltas in ([WHOLE_OURS, begins, *rest, LAST_OURS], between, together, beside):
        body = stream(*deltas, reason=reason)
        out, answer = mend(body, question=ASKED, policy=policy)
        found, reasons, order = held(out)
        assert found == {index: {"type": "function"} | call for index, call in held(body)[0].items()}
        assert [call for call in order if call != "text"] == [found[index]["id"] for index in range(3)]
        assert reasons == [reason]
        assert [outcome.status for outcome in answer.outcomes] == ["valid", "valid"]


def test_half_a_call_before_it_is_refused_in_its_place() -> None:
    half = piece(0, "call_8", "Bash", '{"command":"rm -rf bui')
    for end in ({"reason": "length"}, {"reason": "tool_calls"}, {"done": False}):
        out, answer = mend(stream(half, *at(1, CUSTOM), LAST_OURS, **end), question=ASKED)
        found, _, order = held(out)
        assert order == [found[index]["id"] for index in sorted(found)]
        assert found[1] == held(stream(*at(1, CUSTOM)))[0][1]
        assert found[2]["id"] == "call_9"
        assert [outcome.status for outcome in answer.outcomes] == ["refused", "valid"]


def test_an_entry_of_a_kind_that_nobody_knows_passes() -> None:
    body = stream(calls({"index": 0, "id": "x_1", "lookup": {"query": "x"}}), reason="tool_calls")
    assert mend(body, question=ASKED)[0] == body


def test_a_call_of_ours_that_begins_with_its_id_alone_is_ours() -> None:
    """The near miss: what it says comes later."""
    begins = calls({"index": 0, "id": "call_8", "type": "function"})
    _, answer = mend(stream(begins, piece(0, None, "Bash", VALID), reason="tool_calls"), question=ASKED)
    assert [(outcome.name, outcome.status) for outcome in answer.outcomes] == [("Bash", "valid")]


def test_one_event_with_everything_passes() -> None:
    whole = calls({"index": 0, "id": "c", "type": "custom", "custom": {"name": "apply_patch", "input": "x"}})
    body = (chunk(whole, "tool_calls") + DONE).encode()
    assert mend(body, question=ASKED)[0] == body


def test_text_that_is_held_goes_out_before_it() -> None:
    out, _ = mend(stream({"content": "See <tool"}, *at(0, CUSTOM), reason="tool_calls"), question=ASKED)
    assert [kind for kind, _ in groupby(held(out)[2])] == ["text", "call_1"]


def test_an_answer_with_half_a_custom_call_gets_no_end() -> None:
    body = stream(*at(0, OURS), *at(1, CUSTOM[:2]), done=False)
    assert held(mend(body, question=ASKED)[0])[1] == []


def test_a_final_message_does_not_send_it_again() -> None:
    message = {"role": "assistant", "content": None, "tool_calls": [
        {"id": "call_1", "type": "custom", "custom": {"name": "apply_patch", "input": "x"}}]}  # fmt: skip
    end = line(
        {"id": "c1", "choices": [{"index": 0, "message": message, "delta": {}, "finish_reason": "tool_calls"}]}
    )
    out, _ = mend(stream(*CUSTOM, done=False) + end.encode() + DONE.encode(), question=ASKED)
    assert held(out)[0] == held(stream(*CUSTOM))[0]


def test_a_wrong_type_of_a_function_of_the_client_is_still_mended() -> None:
    """The near miss: the client declared it as a function."""
    for kind in ("tool", "", None, "function_call"):
        entry = {"index": 0, "id": "c", "type": kind, "function": {"name": "Bash", "arguments": BROKEN}}
        out, answer = mend(stream(calls(entry), reason="stop"), question=ASKED)
        assert held(out)[0][0]["type"] == "function"
        assert [outcome.status for outcome in answer.outcomes] == ["repaired"]
    flat = {"index": 0, "id": "c", "name": "Bash", "arguments": BROKEN}
    assert mend(stream(calls(flat), reason="stop"), question=ASKED)[1].outcomes[0].status == "repaired"


def test_a_call_of_ours_at_an_index_of_theirs_is_mended() -> None:
    ours = calls({"index": 0, "id": "call_9", "type": "function", "function": {"name": "Bash", "arguments": ""}})
    rest = [piece(0, None, None, BROKEN[:5]), piece(0, None, None, BROKEN[5:])]
    _, answer = mend(stream(*RAN, ours, *rest, reason="tool_calls"), question=ASKED)
    assert [outcome.arguments for outcome in answer.outcomes] == ['{"command":"ls"}']


def document(*entries: Json, reason: str, content: str | None = None) -> bytes:
    message = {"role": "assistant", "content": content, "tool_calls": list(entries)}
    return json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": reason}]}).encode()


WHOLE = {
    "custom": {"id": "call_1", "type": "custom", "custom": {"name": "apply_patch", "input": "{'a': 1}"}},
    "builtin": {
        "id": "s:0", "type": "builtin_function", "function": {"name": "$web_search", "arguments": "{'query': 1}"},
    },
    "ran": {"id": "srvtoolu_1", "type": "function", "function": {"name": "web_search", "arguments": '{"query": "x"}'}},
    "search": {"id": "ws_1", "type": "web_search_call", "status": "completed"},
    "mcp": {"id": "m_1", "type": "mcp", "name": "look", "arguments": "{'q': 1}"},
}  # fmt: skip


@pytest.mark.parametrize("kind", WHOLE)
def test_documents_keep_it_too(kind: str) -> None:
    other = WHOLE[kind]
    reasons = ["tool_calls", "length"] + (["stop"] if kind != "custom" else [])
    for reason in reasons:
        for content in (None, "", "Here."):
            body = document(other, reason=reason, content=content)
            assert mend_whole(Response("chat", ASKED), body) == body
    ours = {"id": "call_9", "type": "function", "function": {"name": "Bash", "arguments": BROKEN}}
    mended = {**ours, "function": {"name": "Bash", "arguments": '{"command":"ls"}'}}
    for before, after in (((other, ours), [other, mended]), ((ours, other, ours | {"id": "b"}), None)):
        choice = json.loads(mend_whole(Response("chat", ASKED), document(*before, reason="stop")))["choices"][0]
        assert choice["finish_reason"] == "tool_calls"
        assert choice["message"]["tool_calls"] == (after or [mended, other, mended | {"id": "b"}])


def test_a_custom_call_in_a_document_counts() -> None:
    body = document(WHOLE["custom"], reason="stop")
    choice = json.loads(mend_whole(Response("chat", ASKED), body))["choices"][0]
    assert choice == json.loads(document(WHOLE["custom"], reason="tool_calls"))["choices"][0]


# Near cases


def _mixed(*kinds: list[Json]) -> list[Json]:
    """The deltas of several calls in turn."""
    longest = max(map(len, kinds))
    return [kind[at] for at in range(longest) for kind in kinds if at < len(kind)]


FRAGMENTS = [
    calls({"index": 1, "id": "call_9", "type": "function", "function": {"name": "Bash", "arguments": ""}}),
    calls({"index": 1, "function": {"arguments": BROKEN[:5]}}),
    calls({"index": 1, "function": {"arguments": BROKEN[5:]}}),
]


@pytest.mark.parametrize("reason", ["stop", "length", "tool_calls"])
@pytest.mark.parametrize("kind", ["custom", "builtin", "ran", "mcp"])
def test_fragments_of_both_kinds_in_turn(kind: str, reason: str) -> None:
    out, answer = mend(stream(*_mixed(KINDS[kind], FRAGMENTS), reason=reason), question=ASKED)
    found, reasons, order = held(out)
    assert found[0] == held(stream(*KINDS[kind]))[0][0]
    assert json.loads(found[1]["function"]["arguments"]) == {"command": "ls"}
    assert reasons == ["length" if reason == "length" else "tool_calls"]
    assert order == [found[0]["id"], "call_9"]
    assert [outcome.status for outcome in answer.outcomes] == ["repaired"]


def test_calls_of_both_kinds_one_after_the_other_keep_their_order() -> None:
    second = [{"tool_calls": [{**entry, "index": 2}]} for delta in CUSTOM for entry in delta["tool_calls"]]
    second[0]["tool_calls"][0]["id"] = "call_2"
    last = [{"tool_calls": [{**entry, "index": 3}]} for delta in FRAGMENTS for entry in delta["tool_calls"]]
    last[0]["tool_calls"][0]["id"] = "call_3"
    out, _ = mend(stream(*CUSTOM, *FRAGMENTS, *second, *last, reason="stop"), question=ASKED)
    found, reasons, order = held(out)
    assert order == ["call_1", "call_9", "call_2", "call_3"] and reasons == ["tool_calls"]
    assert found[2]["custom"] == found[0]["custom"]
    assert found[3]["function"] == found[1]["function"]


@pytest.mark.parametrize(
    "entry",
    [
        {"index": 0, "id": "x", "custom": {"name": "apply_patch", "input": "abc"}},
        {"id": "x", "type": "custom", "custom": {"name": "apply_patch", "input": "abc"}},
        {"index": 0, "id": "x", "type": "mcp", "function": None, "mcp": {"name": "look"}},
    ],
    ids=["without a type", "without an index", "function is null"],
)
def test_entries_with_less_than_usual_pass_too(entry: Json) -> None:
    body = stream(calls(entry), reason="tool_calls")
    out, answer = mend(body, question=ASKED)
    assert out == body and not answer.outcomes
    message = {"role": "assistant", "content": None, "tool_calls": [entry, *OURS[0]["tool_calls"]]}
    document = {"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    choice = json.loads(mend_whole(Response("chat", ASKED), json.dumps(document).encode()))["choices"][0]
    assert choice["message"]["tool_calls"][0] == entry and choice["finish_reason"] == "tool_calls"
    assert choice["message"]["tool_calls"][1]["function"]["arguments"] == '{"command":"ls"}'
