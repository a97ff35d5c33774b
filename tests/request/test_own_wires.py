"""Gemini's and Ollama's own wires: sessions whose client drops what the host wants back go on for 20 turns."""

from __future__ import annotations

import copy
import json
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.validators import strict_hosts
from tests.validators.strict_hosts import Rejected
from toolcalls.outcome import Outcome
from toolcalls.policy import Policy
from toolcalls.request.answered import read_answer
from toolcalls.request.guidance import looped as sentence
from toolcalls.request.history import CANCELLED, LATE
from toolcalls.request.mend import Changed, mend_request
from toolcalls.request.messages import GeminiHistory
from toolcalls.request.reasoning import ReasoningMemory
from toolcalls.request.refusals import Refusals
from toolcalls.request.request import decode

Json = dict[str, Any]
PATH = "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse"
LOST = "[toolfix] The result of a call that is no longer part of this conversation"


def up(protocol: str, request: Json) -> tuple[Json, dict[str, int]]:
    """What goes up, and the steps."""
    body = json.dumps(request).encode()
    changed = mend_request(protocol, body, decode(body), Policy(), Refusals())
    if changed is None:
        return request, {}
    again = mend_request(protocol, changed.body, decode(changed.body), Policy(), Refusals())
    assert again is None, "what was mended is mended again"
    after: Json = json.loads(changed.body)
    return after, changed.steps


# Gemini


def user(text: str = "Go.") -> Json:
    return {"role": "user", "parts": [{"text": text}]}


def made(name: str = "read", args: Any = None, identity: str = "", **more: Any) -> Json:
    call = {**({"id": identity} if identity else {}), "name": name, "args": {"n": 1} if args is None else args}
    return {"functionCall": call, **more}


def model(*parts: Json) -> Json:
    return {"role": "model", "parts": list(parts)}


def result(name: str = "read", said: str = "ok", identity: str = "") -> Json:
    known = {"id": identity} if identity else {}
    return {"functionResponse": {**known, "name": name, "response": {"output": said}}}


def results(*parts: Json) -> Json:
    return {"role": "user", "parts": list(parts)}


def cancelled(name: str = "read", identity: str = "") -> Json:
    known = {"id": identity} if identity else {}
    return {"functionResponse": {**known, "name": name, "response": {"error": CANCELLED}}}


def gemini_stream(*parts: Json, login: bool = False) -> bytes:
    answers: list[Json] = [
        {"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}]} for part in parts
    ]
    answers = [{"response": answer} for answer in answers] if login else answers
    return b"".join(b"data: " + json.dumps(answer).encode() + b"\r\n\r\n" for answer in answers)


class Session:
    """One client, one host; the client keeps of an answer what its test says."""

    def __init__(self, protocol: str, memory: ReasoningMemory | None = None, path: str = PATH, **more: Any) -> None:
        self.protocol = protocol
        self.memory = memory or ReasoningMemory()
        self.path = path
        self.more = more
        self.history: list[Json] = []
        self.changed: Changed | None = None
        self.sent: Json = {}

    def ask(self, reply: bytes, *calls: tuple[str, Json]) -> None:
        """Send the history; the host rejects it, or answers with calls that the client gets so."""
        key = "contents" if self.protocol == "gemini" else "messages"
        request: Json = {**self.more, key: self.history}
        if self.more.get("login"):
            request = {"model": "m", "request": {key: self.history}}
        body = json.dumps(request).encode()
        session = self.memory.session(self.protocol, "host", "me", decode(body), self.path)
        self.changed = mend_request(self.protocol, body, decode(body), Policy(), Refusals(), session.recall)
        self.sent = json.loads(self.changed.body if self.changed else body)
        getattr(strict_hosts, self.protocol)(self.sent)
        outcomes = [Outcome("valid", name, json.dumps(given), name, json.dumps(given)) for name, given in calls]
        session.answered(reply, outcomes)
        session.over()


@pytest.mark.parametrize("login", [False, True])
@pytest.mark.parametrize("keeps", [False, True])
def test_a_gemini_client_that_drops_the_signatures_goes_on_for_20_turns(login: bool, keeps: bool) -> None:
    session = Session("gemini", **({"login": True} if login else {}))
    session.history.append(user())
    for number in range(20):
        first = made("read", {"n": number, "x": 1.0}, thoughtSignature=f"sig{number}==")
        second = made("list", {})
        answer = gemini_stream({"text": "Hm.", "thought": True}, first, second, {"text": ""}, login=login)
        session.ask(answer, ("read", {"n": number, "x": 1.0}), ("list", {}))
        assert (session.changed is None) is (keeps or number == 0)
        # JavaScript writes 1.0 as 1, and a client may give ids of its own.
        kept = made(
            "read", {"n": number, "x": 1}, f"read_{number}", **({"thoughtSignature": "its own"} if keeps else {})
        )
        session.history += [model({"text": "Hm."}, kept, second), results(result(), result("list"))]
    if not keeps:
        contents = session.sent.get("request", session.sent)["contents"]
        signatures = [content["parts"][1].get("thoughtSignature") for content in contents[1::2]]
        assert signatures == [f"sig{number}==" for number in range(19)]
        assert all("thoughtSignature" not in content["parts"][2] for content in contents[1::2])
        assert session.changed is not None
        assert session.changed.steps == {"signature given back": 19}


def test_a_signature_goes_back_to_its_model_and_session_alone() -> None:
    answer = gemini_stream(made(thoughtSignature="mine"))
    first = Session("gemini")
    first.history.append(user())
    first.ask(answer, ("read", {"n": 1}))
    rest = [model(made()), results(result())]
    for other in (
        Session("gemini", first.memory, "/v1beta/models/another:streamGenerateContent"),
        Session("gemini", first.memory),
        Session("gemini"),
    ):
        other.history = [
            user("Something else." if other.path == PATH and other.memory is first.memory else "Go."),
            *rest,
        ]
        with pytest.raises(Rejected, match="missing a thought_signature"):
            other.ask(b"")
        assert other.changed is None
    first.history += rest
    first.ask(b"")
    assert first.changed is not None
    session = first.memory.session("gemini", "host", "somebody else", {"contents": first.history}, PATH)
    assert session.recall(GeminiHistory({"contents": first.history})) == {}


def test_the_signature_of_a_call_without_arguments_goes_back() -> None:
    session = Session("gemini")
    session.history.append(user())
    bare = {"functionCall": {"name": "list"}}
    session.ask(gemini_stream({**bare, "thoughtSignature": "s"}), ("list", {}))
    session.history += [model(bare), results(result("list"))]
    session.ask(b"")
    assert session.sent["contents"][1] == model({**bare, "thoughtSignature": "s"})


def test_a_signature_of_a_turn_in_which_a_call_was_left_out_is_nobodys() -> None:
    session = Session("gemini")
    session.history.append(user())
    session.ask(gemini_stream(made(thoughtSignature="a"), made(thoughtSignature="b")), ("read", {"n": 1}))
    assert len(session.memory.turns) == 0


@pytest.mark.parametrize("form", ["stream", "array", "document"])
def test_gemini_answers_are_read_in_every_form(form: str) -> None:
    part = made(thoughtSignature="s")
    whole = {"candidates": [{"content": {"parts": [{"text": "x"}, part]}, "index": 0}]}
    body = {
        "stream": gemini_stream({"text": "x"}, part),
        "array": json.dumps([whole, {"usageMetadata": {}}]).encode(),
        "document": json.dumps(whole).encode(),
    }[form]
    turn = read_answer("gemini", body)
    assert turn is not None
    assert turn.back.extras == {"0": '"s"'}
    assert read_answer("gemini", body.replace(b'"index": 0', b'"index": 1')) is None


@pytest.mark.parametrize(
    ("came", "goes", "steps"),
    [
        pytest.param(
            [user(), model(made(), made("list")), results(result())],
            [user(), model(made(), made("list")), results(result(), cancelled("list"))],
            {"cancelled call": 1},
            id="partly answered",
        ),
        pytest.param(
            [user(), model(made(identity="a"), made(identity="b")), results(result(identity="b")), user("And?")],
            [
                user(),
                model(made(identity="a"), made(identity="b")),
                results(result(identity="b"), cancelled(identity="a")),
                user("And?"),
            ],
            {"cancelled call": 1},
            id="told apart by ids",
        ),
        pytest.param(
            [user(), model(made()), user("No, stop.")],
            [user(), model(made()), results(cancelled()), user("No, stop.")],
            {"cancelled call": 1},
            id="cancelled, and the user goes on (gemini-cli 16415)",
        ),
        pytest.param(
            [user(), model(made())],
            [user(), model(made()), results(cancelled())],
            {"cancelled call": 1},
            id="cancelled at the end",
        ),
        pytest.param(
            [user("Summary."), results(result(said="42")), model({"text": "Fine."}), user()],
            [
                user("Summary."),
                {"role": "user", "parts": [{"text": f"{LOST}:\n42"}]},
                model({"text": "Fine."}),
                user(),
            ],
            {"result without a call": 1},
            id="compacted",
        ),
        pytest.param(
            [user(), model(made(identity="a")), user("Hm."), model({"text": "?"}), results(result(identity="a"))],
            [
                user(),
                model(made(identity="a")),
                results(result(identity="a")),
                user("Hm."),
                model({"text": "?"}),
                {
                    "role": "user",
                    "parts": [{"text": LATE}],
                },
            ],
            {"result moved": 1},
            id="a late result",
        ),
        pytest.param(
            [user(), model(made(identity="a")), results(result(identity="a"), result(identity="a"))],
            [user(), model(made(identity="a")), results(result(identity="a"))],
            {"repeated result": 1},
            id="a result twice",
        ),
        pytest.param(
            [
                user(),
                model(made(identity="a"), made("list", identity="b"), made(identity="a")),
                results(result(), result("list")),
            ],
            [user(), model(made(identity="a"), made("list", identity="b")), results(result(), result("list"))],
            {"repeated call": 1},
            id="a call twice",
        ),
        pytest.param(
            [
                user(),
                model(made(identity="a")),
                model({"text": "Hm."}),
                model(made(identity="a")),
                results(result(identity="a")),
            ],
            [user(), model(made(identity="a")), model({"text": "Hm."}), results(result(identity="a"))],
            {"repeated call": 1},
            id="a message twice, with another between",
        ),
    ],
)
@pytest.mark.parametrize("login", [False, True])
def test_gemini_pairs(came: list[Json], goes: list[Json], steps: dict[str, int], login: bool) -> None:
    def asked(contents: list[Json]) -> Json:
        return {"request": {"contents": contents}} if login else {"contents": contents}

    with pytest.raises(Rejected, match="number of function response parts"):
        strict_hosts.gemini(asked(came))
    after, done = up("gemini", asked(came))
    assert after == asked(goes)
    assert done == steps


@pytest.mark.parametrize(
    "contents",
    [
        [user(), model(made(), made()), results(result())],
        [user(), model(made()), model(made()), results(result(), result())],
        [user(), model(made(identity="a")), model(made(identity="a")), results(result(), result())],
        [user(), model(made(), made("")), results(result())],
        [user(), model(made(identity="a")), results(result(identity="another"))],
        [user(), model(made()), {"role": "user", "parts": [result(), {"text": "And go on."}]}],
        [user(), model(made(), made()), results(result()), results(result())],
        [user(), model(made()), {"role": "function", "parts": [result()]}],
    ],
)
def test_what_google_takes_and_what_nobody_can_tell_apart_stays(contents: list[Json]) -> None:
    assert up("gemini", {"contents": contents}) == ({"contents": contents}, {})
    assert up("gemini", {"contents": [results(result())], "cachedContent": "c/1"})[1] == {}


@pytest.mark.parametrize(("came", "goes"), [('{"n": 1}', {"n": 1}), ([{"n": 1}], {"n": 1}), ("{'n': 1,}", {"n": 1})])
def test_gemini_arguments_go_up_as_an_object(came: Any, goes: Json) -> None:
    contents = [user(), model(made(args=came)), results(result())]
    assert up("gemini", {"contents": contents})[0]["contents"][1] == model(made(args=goes))


# Loops


def ollama_turn(number: int, said: str = "nothing") -> list[Json]:
    call = {"function": {"name": "read", "arguments": {"path": "a"}}}
    return [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_name": "read", "content": said},
    ]


@pytest.mark.parametrize("turns", [3, 4, 6])
def test_the_third_result_of_a_loop_says_so_on_both_wires(turns: int) -> None:
    gemini = [user(), *(entry for _ in range(turns) for entry in (model(made()), results(result(said="nothing"))))]
    after, steps = up("gemini", {"contents": gemini})
    assert steps == {"loop": 1}
    gemini[6] = results(result(said=f"nothing\n\n{sentence(3)}"))
    assert after == {"contents": gemini}
    ollama = [
        {"role": "user", "content": "Go."},
        *(entry for number in range(turns) for entry in ollama_turn(number)),
    ]
    after, steps = up("ollama", {"messages": ollama})
    assert steps == {"loop": 1}
    ollama[6] = {**ollama[6], "content": f"nothing\n\n{sentence(3)}"}
    assert after == {"messages": ollama}


def test_polling_parallel_calls_and_the_users_words_are_no_loop() -> None:
    polling = [user(), *(entry for n in range(5) for entry in (model(made()), results(result(said=f"{n} %"))))]
    asked = [user(), *(entry for _ in range(4) for entry in (model(made()), results(result()), user("Again.")))]
    twins = [user(), *(entry for _ in range(4) for entry in (model(made(), made()), results(result(), result())))]
    for contents in (polling, asked, twins):
        assert up("gemini", {"contents": contents})[1] == {}
    polled = [entry for number in range(5) for entry in ollama_turn(number, f"{number} %")]
    spoken = [entry for number in range(4) for entry in (*ollama_turn(number), {"role": "user", "content": "Again."})]
    for messages in (polled, spoken):
        assert up("ollama", {"messages": messages})[1] == {}


# Ollama


@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("streamed", [True, False])
def test_an_ollama_client_gets_the_thoughts_back_for_20_turns(keeps: bool, streamed: bool) -> None:
    session = Session("ollama", path="/api/chat", model="gpt-oss")
    session.history.append({"role": "user", "content": "Go."})
    for number in range(20):
        call = {"function": {"name": "read", "arguments": {"path": f"/{number}"}}}
        pieces = [{"thinking": f"Thought {number}"}, {"thinking": "."}, {"tool_calls": [call]}]
        if not streamed:
            pieces = [{"thinking": f"Thought {number}.", "tool_calls": [call]}]
        lines = [
            {"model": "gpt-oss", "message": {"role": "assistant", "content": "", **piece}, "done": False}
            for piece in pieces
        ]
        session.ask(b"".join(json.dumps(line).encode() + b"\n" for line in lines), ("read", {"path": f"/{number}"}))
        assert (session.changed is None) is (keeps or number == 0)
        session.history += [
            {"role": "assistant", "content": "", "tool_calls": [call], **({"thinking": "its own"} if keeps else {})},
            {"role": "tool", "tool_name": "read", "content": f"result {number}"},
        ]
    if not keeps:
        thoughts = [one["thinking"] for one in session.sent["messages"] if one["role"] == "assistant"]
        assert thoughts == [f"Thought {number}." for number in range(19)]
        session.more["think"] = False
        session.ask(b"")
        assert session.changed is None


# Any history


@st.composite
def sound(draw: st.DrawFn) -> list[Json]:
    """A history that Google takes."""
    contents = [user()]
    for turn in range(draw(st.integers(1, 4))):
        ids = draw(st.booleans())
        names = draw(st.lists(st.sampled_from(["read", "list", "write"]), min_size=1, max_size=3))
        known = [f"{turn}-{at}" if ids else "" for at in range(len(names))]
        parts = [made(name, {"n": turn}, identity) for name, identity in zip(names, known, strict=True)]
        parts[0]["thoughtSignature"] = "s"
        contents += [model(*parts), results(*map(result, names, ["ok"] * len(names), known))]
        if draw(st.booleans()):
            contents += [model({"text": "Fine."}), user("And now?")]
    return contents


@settings(max_examples=150, deadline=None)
@given(sound(), st.data())
def test_a_sound_history_keeps_its_bytes_and_a_broken_one_is_taken(contents: list[Json], data: st.DataObject) -> None:
    strict_hosts.gemini({"contents": contents})
    assert up("gemini", {"contents": contents})[1].keys() <= {"loop"}
    broken = copy.deepcopy(contents)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(broken) - 1))
        what = data.draw(st.sampled_from(["drop", "drop part", "double part"]))
        parts = broken[place]["parts"]
        if what == "drop" and len(broken) > 1:
            del broken[place]
        elif "functionResponse" in parts[-1] and what == "drop part" and len(parts) > 1:
            del parts[-1]
        elif "functionResponse" in parts[-1] and what == "double part":
            parts.append(copy.deepcopy(parts[-1]))
    after, _ = up("gemini", {"contents": broken})
    try:
        strict_hosts.gemini(after)
    except Rejected as rejected:
        # Two calls of one tool without ids, of which one has a result: nobody knows which.
        assert "number of function response parts" in str(rejected)
        assert _has_twins(broken)


def _has_twins(contents: list[Json]) -> bool:
    """Has a turn two calls of one tool of which one has no id?"""
    for _, run in groupby(contents, lambda content: str(content["role"])):
        parts = [part for content in run for part in content["parts"]]
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
        if len({call["name"] for call in calls}) < len(calls) and not all(call.get("id") for call in calls):
            return True
    return False
