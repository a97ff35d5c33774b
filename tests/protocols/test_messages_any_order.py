"""Arbitrary interleavings and omissions of legal events, cut anywhere: always a legal stream, nothing lost."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.protocols.messages_wire import (
    ERROR,
    MESSAGE_STOP,
    PING,
    Run,
    begin,
    delta,
    fragment,
    reason,
    say,
    start,
    stop,
    text_start,
    tool_start,
)
from tests.validators import messages as strict
from toolcalls.mend.mender import Mender

TAILS = {
    "whole": reason("tool_use") + MESSAGE_STOP,
    "untrue": reason("end_turn") + MESSAGE_STOP,
    "null": reason(None) + MESSAGE_STOP,
    "cut": reason("max_tokens") + MESSAGE_STOP,
    "no message_stop": reason("tool_use"),
    "no message_delta": MESSAGE_STOP,
    "nothing": b"",
    "error": ERROR,
}


@dataclass
class Upstream:
    """One answer as a server with loose manners sends it, and what is really in it."""

    body: bytes = b""
    tail: str = "whole"
    interleaved: bool = False
    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)


def _pieces(draw: st.DrawFn, token: list[int], kind: str) -> list[str]:
    """Pieces that each hold a word of their own, so that it can be counted."""
    count = draw(st.integers(0 if kind == "tool" else 1, 4))
    words = []
    for _ in range(count):
        token[0] += 1
        words.append(f"w{token[0]}x" + draw(st.sampled_from(["", " ", "\n", "é", '"', "\\", "{", "}", "😀"])))
    return words


def _arguments(words: list[str]) -> list[str]:
    """The words as one JSON object, cut so that each word stays in a piece of its own."""
    if not words:
        return ["{}"]
    parts = [json.dumps(word, ensure_ascii=False)[1:-1] for word in words]
    return ['{"file_path": "' + parts[0], *parts[1:-1], *parts[1:][-1:], '"}']


@st.composite
def upstreams(draw: st.DrawFn) -> Upstream:
    made = Upstream(tail=draw(st.sampled_from(sorted(TAILS))))
    kinds = draw(st.lists(st.sampled_from(["text", "thinking", "tool", "tool"]), max_size=5))
    interleaved = made.interleaved = draw(st.booleans())
    numbering = draw(st.sampled_from(["dense", "gaps"] if interleaved else ["dense", "gaps", "shared", "missing"]))
    token = [0]
    queues: list[list[tuple[bytes, str, str]]] = []
    for number, kind in enumerate(kinds):
        place = {"dense": number, "gaps": number * 3 + 1, "shared": 0, "missing": None}[numbering]
        words = _pieces(draw, token, kind)
        queue: list[tuple[bytes, str, str]] = []
        opening = {
            "text": text_start(place),
            "thinking": start(place, type="thinking", thinking="", signature=""),
            "tool": tool_start(place, f"toolu_{number:02}"),
        }[kind]
        if kind == "tool" or draw(st.integers(0, 3)):
            queue.append((opening, "", ""))
        if kind == "tool":
            arguments = _arguments(words)
            queue += [(fragment(place, piece), "", "") for piece in arguments]
            made.calls.append(("Read", json.loads("".join(arguments))))
        for word in words:
            if kind == "text":
                queue.append((say(place, word), "text", word))
            elif kind == "thinking":
                queue.append((delta(place, type="thinking_delta", thinking=word), "thinking", word))
        # Calls at one index that were never stopped do not run where the answer was cut off.
        needs_stop = kind == "tool" and numbering in ("shared", "missing") and made.tail not in ("whole", "untrue")
        if needs_stop or draw(st.integers(0, 3)):
            queue.append((stop(place), "", ""))
        queues.append(queue)
    parts = [begin()] if draw(st.integers(0, 4)) else []
    open_queues = list(range(len(queues)))
    while open_queues:
        # The starts keep their order: a server numbers its blocks as it opens them.
        window = open_queues[: draw(st.integers(1, len(open_queues)))] if interleaved else open_queues[:1]
        chosen = draw(st.sampled_from(window))
        unopened = [number for number in open_queues if number < chosen and _unopened(queues[number])]
        chosen = unopened[0] if unopened else chosen
        if not queues[chosen]:
            open_queues.remove(chosen)
            continue
        piece, kind, word = queues[chosen].pop(0)
        parts.append(piece)
        if kind:
            (made.texts if kind == "text" else made.thoughts).append(word)
        if not draw(st.integers(0, 12)):
            parts.append(PING)
    made.body = b"".join(parts) + TAILS[made.tail]
    made.tokens = [f"w{number}x" for number in range(1, token[0] + 1)]
    return made


def _unopened(queue: list[tuple[bytes, str, str]]) -> bool:
    return bool(queue) and b"content_block_start" in queue[0][0]


def _cut(body: bytes, cuts: list[int]) -> list[int]:
    return sorted(min(cut % (len(body) + 1), len(body)) for cut in cuts)


CUTS = st.lists(st.integers(0, 1 << 20), max_size=12)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(upstreams(), CUTS, st.booleans())
def test_whatever_comes_the_client_reads_a_legal_stream_with_everything_in_it(upstream, cuts, aggregate):
    run = Run(aggregate=aggregate)
    out = run.whole(upstream.body, _cut(upstream.body, cuts))
    if not upstream.body:
        assert out == b""
        return
    held = aggregate or not upstream.interleaved
    message = strict.read(out, fragments=not aggregate, unfinished_calls=not held)
    assert out == Run(aggregate=aggregate).whole(upstream.body)
    assert message.text == "".join(upstream.texts)
    assert message.thinking == "".join(upstream.thoughts)
    # A call that goes out while it arrives is refused if another block begins inside it.
    assert (message.calls == upstream.calls) if held else all(one in upstream.calls for one in _run(message.calls))
    if not held:
        return
    if upstream.tail in ("nothing", "error"):
        assert message.error or upstream.calls
    else:
        assert message.error is None


def _run(calls):
    return [(name, value) for name, value in calls if value]


SOUP = {
    "ping": PING, "text 0": text_start(0), "text 1": text_start(1),
    "a": say(0, "a"), "b": say(1, "b"), "c": say(7, "c"), "newline": say(0, "\n"),
    "call 0": tool_start(0), "call 1": tool_start(1, "t2"), "list": tool_start(2, "t2", "TaskList"),
    "call": tool_start(None, "x:1"), "incomplete": fragment(0, '{"file_path":'), "other half": fragment(0, '"/a"}'),
    "whole": fragment(1, '{"file_path":"/b"}'), "empty": fragment(2, ""), "placeless": fragment(None, '{"x": 1}'),
    "stop 0": stop(0), "stop 1": stop(1), "stop 2": stop(2), "stop": stop(None),
    "think": delta(0, type="thinking_delta", thinking="t"), "sign": delta(1, type="signature_delta", signature="s"),
    "thinking": start(1, type="thinking", thinking="", signature=""), "count": reason(None),
    "nothing": delta(0), "no block": start(0), "start": begin(), "bare": stop(0).split(b"\n", 1)[1],
}  # fmt: skip


@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(sorted(SOUP)), max_size=16), st.sampled_from(sorted(TAILS)), CUTS, st.booleans())
def test_a_soup_of_events_is_served_as_a_legal_stream_with_its_text_in_order(soup, tail, cuts, aggregate):
    body = begin() + b"".join(SOUP[name] for name in soup) + TAILS[tail]
    run = Run(aggregate=aggregate)
    out = run.whole(body, _cut(body, cuts))
    assert out == Run(aggregate=aggregate).whole(body)
    message = strict.read(out, fragments=not aggregate, unfinished_calls=not aggregate)
    assert re.sub(r"\s|\[toolfix\].*", "", message.text) == "".join(name for name in soup if name in "abc")
    assert len(message.calls) <= len([name for name in soup if "call" in name or name == "list"]) + 3


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(upstreams(), CUTS, st.integers(1, 4), st.booleans())
def test_when_mending_raises_every_word_still_arrives_once(upstream, cuts, which, aggregate):
    count = 0

    def counted(real):
        def mend(self, *arguments, **more):
            nonlocal count
            count += 1
            if count == which:
                raise RuntimeError("mending failed")
            return real(self, *arguments, **more)

        return mend

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Mender, "decide", counted(Mender.decide))
        run = Run(aggregate=aggregate)
        body, edges = upstream.body, [0, *_cut(upstream.body, cuts), len(upstream.body)]
        out = b"".join(run.feed(body[here:there]) for here, there in itertools.pairwise(edges))
        out += b"".join(run.answer.close())
    assert isinstance(run.answer.failure, RuntimeError) == (count >= which)
    arrived = re.findall(r"w\d+x", out.decode())
    if run.answer.failure:  # Else nothing raised, and of a call that was refused no word arrives.
        assert sorted(arrived) == sorted(upstream.tokens)
    assert len(run.outcomes) == min(count, which - 1) or run.answer.failure
