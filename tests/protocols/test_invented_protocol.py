"""A protocol that only reads and writes has all rules of the others: shown with one that nobody speaks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.protocols import invented_protocol
from tests.protocols.test_chat import question
from tests.splits import mend
from toolcalls import engine
from toolcalls.mend.finish import Finish
from toolcalls.parts import Part, Stop, Text
from toolcalls.policy import Policy
from toolcalls.wire.sse import Event

BASH = question("Bash", "Read")
TEXT_CALL = '<tool_call>\n{"name": "Bash", "arguments": {"command": "ls"}}\n</tool_call>'


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(engine._PROTOCOLS, "invented", invented_protocol.Invented)


def line(**said: Any) -> str:
    return f"data: {json.dumps(said)}\n\n"


def begin(n: int | None, tool: str, identity: str = "", **more: Any) -> str:
    return line(call={"n": n, "id": identity, "tool": tool}, **more)


def pieces(n: int | None, arguments: str, size: int = 4) -> str:
    parts = [arguments[at : at + size] for at in range(0, len(arguments), size)]
    return "".join(line(args={"n": n, "json": part}) for part in parts)


def run(body: str, policy: Policy | None = None) -> tuple[str, engine.Response]:
    out, answer = mend(body, protocol="invented", question=BASH, policy=policy)
    return out.decode(), answer


def read(out: str) -> dict[str, Any]:
    """What a client of this protocol has in the end."""
    held: dict[str, Any] = {"say": "", "muse": "", "calls": {}, "stops": [], "oops": []}
    for event in filter(None, out.split("\n\n")):
        said = json.loads(event.removeprefix("data: "))
        held["say"] += said.get("say", "")
        held["muse"] += said.get("muse", "")
        held["stops"] += [said["stop"]] if "stop" in said else []
        held["oops"] += [said["oops"]] if "oops" in said else []
        if "call" in said:
            held["calls"][said["call"]["n"]] = [said["call"]["tool"], ""]
        if "args" in said:
            held["calls"][said["args"]["n"]][1] += said["args"]["json"]
    held["calls"] = [(tool, arguments) for tool, arguments in held["calls"].values()]
    return held


def test_what_a_new_protocol_costs() -> None:
    assert len(Path(invented_protocol.__file__).read_text(encoding="utf-8").splitlines()) <= 100


def test_an_answer_without_calls_passes_byte_for_byte() -> None:
    body = "".join(line(say=f"word < {n} ") for n in range(200)) + line(muse="hm") + line(stop="done", tokens=3)
    assert run(body)[0] == body


def test_broken_arguments_are_mended_and_text_beside_them_is_not_late() -> None:
    body = begin(0, "Bash", "c1", say="I look: ") + pieces(0, "{'command': 'ls'}") + line(stop="done", tokens=3)
    out, answer = run(body)
    held = read(out)
    assert held["calls"] == [("Bash", '{"command":"ls"}')]
    assert (held["say"], held["stops"]) == ("I look: ", ["calls"])
    assert '"tokens":3' in out
    assert [outcome.status for outcome in answer.outcomes] == ["repaired"]


def test_calls_that_are_woven_into_each_other_stay_two() -> None:
    body = begin(0, "Bash", "c1") + begin(1, "Read", "c2")
    for part in ('{"command"', ': "ls"}'):
        body += line(args={"n": 0, "json": part}) + line(args={"n": 1, "json": part})
    assert read(run(body + line(stop="calls"))[0])["calls"] == [
        ("Bash", '{"command": "ls"}'),
        ("Read", '{"command": "ls"}'),
    ]


def test_fragments_of_two_calls_at_one_place_never_become_a_third() -> None:
    body = (
        begin(0, "Bash") + pieces(0, '{"command": "rm -rf ') + begin(0, "Bash") + pieces(0, '{"command": "ls /home"}')
    )
    held = read(run(body + line(stop="calls"))[0])
    assert all("rm -rf" not in arguments and "/home" not in arguments for _, arguments in held["calls"])


def test_a_call_that_is_sent_again_runs_once() -> None:
    whole = '{"command": "ls"}'
    body = (
        begin(0, "Bash", "c1") + pieces(0, whole) + line(calls=[{"n": 0, "id": "c1", "tool": "Bash", "json": whole}])
    )
    assert read(run(body + line(stop="calls"))[0])["calls"] == [("Bash", whole)]


@pytest.mark.parametrize("end", [line(stop="full"), line(oops="overloaded"), "", line(stop="who knows")])
@pytest.mark.parametrize("cut", range(1, 33, 4))
def test_nothing_that_was_cut_off_runs(end: str, cut: int) -> None:
    whole = '{"command": "rm -rf /"$BUILD"/o"}'
    held = read(run(begin(0, "Bash", "c1") + pieces(0, whole[:cut]) + end)[0])
    assert all(arguments == "{}" for _, arguments in held["calls"])


def test_before_an_error_without_ids_come_out_and_the_error_goes_on() -> None:
    body = begin(0, "Bash", "c1") + pieces(0, '{"command": "ls"}') + begin(1, "Bash", "c2") + pieces(1, '{"comm')
    held = read(run(body + line(oops="overloaded"))[0])
    assert held["calls"] == [("Bash", '{"command": "ls"}')]
    assert held["oops"] == ["overloaded"]


def test_a_call_written_as_text_is_a_call_at_the_end_and_text_before_something_else() -> None:
    body = "".join(line(say=part) for part in ("I look. ", TEXT_CALL[:20], TEXT_CALL[20:])) + line(stop="done")
    held = read(run(body)[0])
    assert held["calls"] == [("Bash", '{"command": "ls"}')]
    assert (held["say"].strip(), held["stops"]) == ("I look.", ["calls"])
    for behind in (line(say=" is what I would send."), line(muse="no")):
        quoted = line(say=TEXT_CALL) + behind + line(stop="done")
        assert run(quoted)[0] == quoted


def test_a_call_behind_the_finish_reason_still_precedes_it() -> None:
    body = begin(0, "Bash", "c1") + pieces(0, '{"command": "a"}') + line(stop="calls")
    body += begin(1, "Bash", "c2") + pieces(1, '{"command": "b"}')
    held = read(run(body)[0])
    assert [arguments for _, arguments in held["calls"]] == ['{"command": "a"}', '{"command": "b"}']
    assert held["stops"] == ["calls"]


def test_a_finish_reason_that_promises_calls_where_none_came_says_done() -> None:
    assert read(run(line(say="Hello") + line(stop="calls"))[0])["stops"] == ["done"]
    assert read(run(begin(0, "⚙", "c1") + line(stop="calls"))[0])["stops"] == ["done"]


def test_an_answer_that_ends_without_a_finish_reason_gets_one_if_its_calls_are_whole() -> None:
    held = read(run(begin(0, "Bash", "c1") + pieces(0, '{"command": "ls"}'))[0])
    assert (held["calls"], held["stops"]) == ([("Bash", '{"command": "ls"}')], ["calls"])


def test_with_aggregation_off_fragments_go_out_as_they_come() -> None:
    policy = Policy(aggregate=False)
    body = begin(0, "Bash", "c1") + pieces(0, '{"command": "ls", }')
    answer = engine.Response("invented", BASH, policy)
    first = b"".join(answer.feed((begin(0, "Bash", "c1") + pieces(0, '{"command": "l')).encode()))
    assert read(first.decode())["calls"] == [("Bash", '{"command": "l')]
    assert read(run(body + line(stop="calls"), policy)[0])["calls"] == [("Bash", '{"command": "ls"}')]


def test_a_whole_answer_is_mended_as_a_stream_is() -> None:
    call = {"id": "c1", "tool": "Bash", "json": "{'command': 'ls'}"}
    out, _ = run(json.dumps({"say": "Hi", "calls": [call], "stop": "done", "tokens": 3}))
    assert json.loads(out) == {
        "tokens": 3,
        "say": "Hi",
        "calls": [{**call, "json": '{"command":"ls"}'}],
        "stop": "calls",
    }
    written = json.loads(run(json.dumps({"say": TEXT_CALL, "stop": "done"}))[0])
    assert [entry["tool"] for entry in written["calls"]] == ["Bash"]
    for untouched in (
        {"say": "Hi", "stop": "done"},
        {"say": "", "calls": [{**call, "json": '{"command": "ls"}'}], "stop": "calls"},
    ):
        assert run(json.dumps(untouched))[0] == json.dumps(untouched)


CUT = {"tool": "Bash", "json": '{"command": "rm -rf /home/user/tmp"}'}
LS = {"tool": "Bash", "json": '{"command": "ls"}'}


@pytest.fixture
def _without_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    """An id is optional."""
    monkeypatch.setattr(invented_protocol.Invented, "needs_ids", False)


@pytest.mark.usefixtures("_without_ids")
def test_calls_that_come_whole_are_never_joined_and_go_out_when_something_follows() -> None:
    twins = line(calls=[LS, LS]) + line(calls=[LS])
    assert run(twins + line(stop="calls"))[0] == twins + line(stop="calls")
    nameless = line(calls=[{"tool": "Bash", "json": '{"command": '}, {"json": '"ls"}'}])
    assert all("ls" not in arguments for _, arguments in read(run(nameless + line(stop="full"))[0])["calls"])
    answer = engine.Response("invented", BASH)
    assert answer.feed(line(calls=[LS]).encode()) == []
    assert b"".join(answer.feed(line(muse="next").encode())).decode() == line(calls=[LS]) + line(muse="next")


@pytest.mark.usefixtures("_without_ids")
def test_the_last_of_the_calls_that_come_whole_is_refused_where_the_answer_was_cut_off() -> None:
    for body in (
        line(calls=[LS]) + line(calls=[CUT]) + line(stop="full"),
        line(calls=[LS, CUT]) + line(stop="full"),
        line(calls=[LS]) + line(calls=[CUT], stop="full"),
        line(calls=[LS, CUT], stop="full").removeprefix("data: ").rstrip(),
    ):
        out, answer = run(body)
        assert "rm -rf" not in out
        assert [outcome.status for outcome in answer.outcomes] == ["valid", "refused"]
    for body in (line(calls=[CUT]) + line(say="Then"), line(calls=[CUT]) + line(muse="hm")):
        assert "rm -rf" in run(body + line(stop="full"))[0], "it was complete before the model went on"


@pytest.mark.usefixtures("_without_ids")
def test_text_that_was_held_stays_before_the_call_that_follows_it() -> None:
    body = line(say="Look ") + line(say="<") + line(calls=[LS]) + line(say="next") + line(stop="calls")
    assert run(body)[0] == body


def test_the_last_event_goes_out_as_it_came_where_its_text_is_no_call() -> None:
    for end in (line(say="I write <tool_call>", stop="full"), line(say=f"It is {TEXT_CALL} here.", stop="done")):
        assert run(line(say="<") + end)[0] == line(say="<") + end


@pytest.mark.usefixtures("_without_ids")
def test_nothing_is_held_of_a_call_that_was_sent_again_once_something_follows_it() -> None:
    again = {"id": "c1", **LS}
    answer = engine.Response("invented", BASH)
    events = line(calls=[again]), line(calls=[again]), line(say="next")
    out = b"".join(piece for event in events for piece in answer.feed(event.encode()))
    assert (out.decode(), answer.held_bytes) == (line(calls=[again]) + line(say="next"), 0)


@pytest.mark.usefixtures("_without_ids")
def test_calls_with_the_finish_reason_go_out_as_they_came_unless_another_end_follows() -> None:
    end = line(calls=[LS, CUT], stop="calls")
    assert run(line(say="I look: ") + end)[0] == line(say="I look: ") + end
    assert "rm -rf" not in run(end + line(stop="full"))[0]


def test_a_call_in_an_earlier_text_of_a_document_is_text_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def two_texts(_: Any, event: Event) -> list[Part]:
        texts = json.loads(event.data or "")["texts"]
        return [*(Text(text, slot) for slot, text in enumerate(texts)), Stop("done", Finish.COMPLETE)]

    monkeypatch.setattr(invented_protocol.Invented, "read", two_texts)
    body = json.dumps({"texts": [TEXT_CALL, " was an example."]})
    assert run(body)[0] == body


def test_our_own_exception_gives_back_what_came(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> bytes:
        raise RuntimeError("a bug")

    monkeypatch.setattr(invented_protocol.Invented, "write", broken)
    body = line(say="I look: ") + begin(0, "Bash", "c1") + pieces(0, "{'command': 'ls'}") + line(stop="done")
    out, answer = mend(body, protocol="invented", question=BASH, may_fail=True)
    assert out.decode() == body
    assert isinstance(answer.failure, RuntimeError)


def test_with_null_content_text_beside_and_behind_a_call_is_dropped_and_text_that_is_no_call_stays() -> None:
    silent = Policy(null_content=True)
    call = begin(0, "Bash", "c1", say="beside") + pieces(0, '{"command": "ls"}')
    out = read(run(line(say="before") + call + line(say="behind") + line(stop="calls"), silent)[0])
    assert (out["say"], out["calls"]) == ("before", [("Bash", '{"command": "ls"}')])
    quoted = line(say="before\n" + TEXT_CALL) + line(say=" is what I would send.") + line(stop="done")
    assert read(run(quoted, silent)[0])["say"] == "before\n" + TEXT_CALL + " is what I would send."
