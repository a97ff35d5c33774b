"""Any interleaving and many omissions of legal events, cut anywhere: always a legal stream, nothing lost."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.protocols.responses_wire import Json, Upstream, run, written
from tests.validators.responses import Illegal, validate

ARGUMENTS = ['{"command":"ls"}', "{'command': 'ls'}", '{"command":"a\\"b","n":[1,{"x":null}]}', '{"command":"é 😀"}']
TEXTS = ["Hello", " wörld", "", '{"type":"function_call"}', "data: x\n\n", "*** Begin Patch"]
OPTIONAL = {
    "message": ["item.added", "part.added"],
    "function_call": ["item.added", "arguments.delta", "arguments.done", "item.done"],
    "custom_tool_call": [],
    "web_search_call": [],
    "reasoning": ["item.added"],
}
FIELDS = ["sequence_number", "output_index", "content_index", "summary_index"]


def pieces(draw: st.DrawFn, text: str) -> list[str]:
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=4)))
    return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


@st.composite
def answers(draw: st.DrawFn) -> tuple[list[Json], Upstream, set[str]]:
    upstream = Upstream(echo=draw(st.booleans()))
    for kind in draw(st.lists(st.sampled_from(list(OPTIONAL)), min_size=1, max_size=4)):
        if kind == "message":
            upstream.message(*draw(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=4)))
        elif kind == "function_call":
            upstream.call("shell", *pieces(draw, draw(st.sampled_from(ARGUMENTS))))
        elif kind == "custom_tool_call":
            upstream.custom("apply_patch", *pieces(draw, "*** Begin Patch\n+{x\n*** End Patch"))
        elif kind == "reasoning":
            upstream.reasoning(draw(st.sampled_from(["", "thinking"])))
        else:
            upstream.search()
    upstream.end()
    flags: set[str] = set()
    events = interleaved(draw, upstream)
    events = omitted(draw, events, flags)
    return events, upstream, flags


def interleaved(draw: st.DrawFn, upstream: Upstream) -> list[Json]:
    """The items side by side: each in its own order, shuffled among each other."""
    head, tail = upstream.events[:2], upstream.events[-1:]
    middle = upstream.events[2:-1]
    if not draw(st.booleans()):
        return [*head, *middle, *tail]
    lanes: dict[int, list[Json]] = {}
    for event in middle:
        lanes.setdefault(event["output_index"], []).append(event)
    mixed: list[Json] = []
    while lanes:
        lane = draw(st.sampled_from(sorted(lanes)))
        mixed.append(lanes[lane].pop(0))
        if not lanes[lane]:
            del lanes[lane]
    events = [*head, *mixed, *tail]
    for number, event in enumerate(events):
        event["sequence_number"] = number
    return events


def omitted(draw: st.DrawFn, events: list[Json], flags: set[str]) -> list[Json]:
    kinds = {item["id"]: item["type"] for item in events[-1]["response"]["output"]}
    # All the deltas of a call or none: what is lost in the middle is lost.
    gone_kinds = {
        owner: {choice for choice in OPTIONAL.get(kind, []) if draw(st.integers(0, 3)) == 0}
        for owner, kind in kinds.items()
    }
    kept = []
    for event in events:
        owner = event.get("item_id") or event.get("item", {}).get("id")
        if not any(event["type"].endswith(choice) for choice in gone_kinds.get(owner, ())):
            kept.append(event)
    if draw(st.integers(0, 3)) == 0:
        kept[-1]["response"] = {**kept[-1]["response"], "output": []}
        flags.add("empty output")
    if draw(st.integers(0, 3)) == 0:
        kept = [event for event in kept if event["type"] != "response.completed"]
        flags.add("no completed")
    if not flags and draw(st.integers(0, 2)) == 0:
        gone = draw(st.sets(st.sampled_from(FIELDS)))
        interleaving = len({event.get("output_index") for event in kept}) > 2
        if interleaving:
            gone.discard("output_index")
        kept = [{key: value for key, value in event.items() if key not in gone} for event in kept]
    return kept


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(answers(), st.lists(st.integers(0, 6000), max_size=12))
def test_what_comes_out_is_always_legal_and_nothing_is_lost(case: Any, cuts: list[int]) -> None:
    events, upstream, flags = case
    body = written(events)
    whole, subject = run(body)
    assert subject.failure is None, subject.failure
    assert run(body, [cut for cut in cuts if cut < len(body)])[0] == whole
    try:
        final = validate(whole)
    except Illegal as illegal:
        raise AssertionError(f"{illegal}\n\n{body.decode()}\n\n{whole.decode()}") from None
    came = [event for event in events if event["type"] == "response.output_text.delta"]
    said: dict[str, str] = {}
    for event in came:
        said[event["item_id"]] = said.get(event["item_id"], "") + event["delta"]
    got = {item.body["id"]: "".join(item.deltas) for item in final.items if item.body["type"] == "message"}
    assert {key: value for key, value in got.items() if key in said} == said
    if flags:
        return
    expected = [
        (
            item["type"],
            item["name"],
            item.get("input", '{"command":"ls"}' if "'" in item.get("arguments", "") else item.get("arguments")),
        )
        for item in upstream.output
        if item["type"] in ("function_call", "custom_tool_call")
    ]
    assert final.calls() == expected
    assert final.terminal == "response.completed"
