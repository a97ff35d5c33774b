"""Text that reaches the client outside of the protocol's own text deltas protects a call behind it like any other text.

In each case `before` is that text, in another carrier than usual, and HERMES follows in a usual one. Where the text
can be read and quotes nothing, it leaves the call a call. Where it cannot, or follows the call, nothing is a call, and
every byte stays as it was.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.must_not_run.wires import TOOLS
from tests.protocols import messages_wire as wire
from tests.protocols.responses_wire import Upstream, written
from tests.protocols.test_chat import DONE, chunk
from tests.protocols.text_protocols import gemini_answer, gemini_event, ollama_line
from tests.splits import mend
from tests.textcalls.negatives import HERMES
from toolcalls.engine import Response, mend_whole
from toolcalls.request.request import read_request

Json = dict[str, Any]
ASKED = read_request({"tools": TOOLS, "stream": True})
FENCE = "For example:\n```\n"
LEADS = "Let me clean up.\n"

Stream = Callable[[str], bytes]


def calls_in(protocol: str, body: bytes) -> int:
    """How many calls the client gets; the same for every split."""
    out, answer = mend(body, protocol=protocol, question=ASKED)
    if not answer.outcomes:
        assert out == body
    return len(answer.outcomes)


def calls_in_document(protocol: str, document: Json) -> int:
    body, answer = json.dumps(document).encode(), Response(protocol, ASKED)
    out = mend_whole(answer, body)
    if not answer.outcomes:
        assert out == body
    return len(answer.outcomes)


# Streams


def chat(*deltas: Json) -> bytes:
    said = [{"role": "assistant", "content": ""}, *deltas]
    return ("".join(map(chunk, said)) + chunk({}, "stop") + DONE).encode()


def messages(*events: bytes) -> bytes:
    return wire.begin() + b"".join(events) + wire.stop(0) + wire.end("end_turn")


def ollama(*messages: Json) -> bytes:
    end = {"done": True, "done_reason": "stop"}
    return b"".join(map(ollama_line, messages)) + ollama_line({"role": "assistant", "content": ""}, **end)


def gemini(*parts: Json) -> bytes:
    return b"".join(map(gemini_event, parts)) + gemini_event(finish="STOP")


def responses(change: Callable[[Upstream], None], *deltas: str) -> bytes:
    upstream = Upstream().message(*deltas).end()
    change(upstream)
    return upstream.bytes()


def part_added(before: str) -> bytes:
    def change(upstream: Upstream) -> None:
        upstream.of("content_part.added")[0]["part"]["text"] = before
        _say(upstream, before + HERMES)

    return responses(change, HERMES)


def item_added(before: str) -> bytes:
    def change(upstream: Upstream) -> None:
        part = {"type": "output_text", "text": before, "annotations": []}
        upstream.of("output_item.added")[0]["item"]["content"] = [part]
        _say(upstream, before + HERMES)

    return responses(change, HERMES)


def only_done(before: str) -> bytes:
    upstream = Upstream().message(before).message(HERMES).end()
    upstream.events.remove(upstream.of("output_text.delta")[0])
    return upstream.bytes()


def _say(upstream: Upstream, text: str) -> None:
    """Let all events that repeat the first text say this instead."""
    upstream.of("output_text.done")[0]["text"] = text
    upstream.of("content_part.done")[0]["part"] = {"type": "output_text", "text": text, "annotations": []}
    upstream.of("output_item.done")[0]["item"]["content"][0]["text"] = text


READABLE: dict[str, tuple[str, Stream]] = {
    "Messages, the start of the block": (
        "messages",
        lambda before: messages(wire.start(0, type="text", text=before), wire.say(0, HERMES)),
    ),
    "Messages, the start of an earlier block": (
        "messages",
        lambda before: wire.begin() + wire.start(0, type="text", text=before) + wire.stop(0)
        + wire.text(1, HERMES) + wire.end("end_turn"),
    ),
    "Messages, an unknown delta": (
        "messages",
        lambda before: messages(wire.text_start(0), wire.delta(0, type="quote_delta", text=before), wire.say(0, HERMES)),
    ),
    "Chat, a list": (
        "chat",
        lambda before: chat({"content": [{"type": "text", "text": before}]}, {"content": HERMES}),
    ),
    "Chat, a list of strings": ("chat", lambda before: chat({"content": [before]}, {"content": HERMES})),
    "Chat, an object": ("chat", lambda before: chat({"content": {"text": before}}, {"content": HERMES})),
    "Chat, a transcript": ("chat", lambda before: chat({"audio": {"transcript": before}}, {"content": HERMES})),
    "Ollama, a list": (
        "ollama",
        lambda before: ollama({"content": [{"type": "text", "text": before}]}, {"content": HERMES}),
    ),
    "Gemini, a part with another key": (
        "gemini",
        lambda before: gemini({"text": before, "partMetadata": {"a": 1}}, {"text": HERMES}),
    ),
    "Gemini, a part that is a string": (
        "gemini",
        lambda before: b"data: " + json.dumps({"candidates": [{"content": {"parts": [before]}}]}).encode()
        + b"\n\n" + gemini({"text": HERMES}),
    ),
    "Gemini, beside another candidate": (
        "gemini",
        lambda before: b"data: " + json.dumps({"candidates": [
            {"index": 0, "content": {"parts": [{"text": before}]}}, {"index": 1, "content": {"parts": [{"text": "b"}]}}
        ]}).encode() + b"\n\n" + gemini({"text": HERMES}),
    ),
    "Responses, the start of the part": ("responses", part_added),
    "Responses, only the end of an earlier text": ("responses", only_done),
}  # fmt: skip


@pytest.mark.parametrize("where", READABLE)
@pytest.mark.parametrize(
    "before", [FENCE, "> ", "Shall I run this?\n", "<page>\n", "I look.\n<think>\n", "<think>\nmaybe "]
)
def test_text_in_another_carrier_quotes_the_call_behind_it(where: str, before: str) -> None:
    protocol, stream = READABLE[where]
    assert calls_in(protocol, stream(before)) == 0


@pytest.mark.parametrize("where", READABLE)
def test_text_in_another_carrier_may_stand_before_a_call(where: str) -> None:
    protocol, stream = READABLE[where]
    assert calls_in(protocol, stream(LEADS)) == 1


# Text that cannot be read, or that is known only when the call has arrived

TEXT_PART = {"type": "output_text", "text": HERMES, "annotations": []}


def done_says(text: Any) -> Callable[[Upstream], None]:
    return lambda upstream: upstream.of("output_text.done")[0].update(text=text)


def part_done_says(text: Any) -> Callable[[Upstream], None]:
    return lambda upstream: upstream.of("content_part.done")[0].update(part={**TEXT_PART, "text": text})


def item_done_says(*content: Json) -> Callable[[Upstream], None]:
    def change(upstream: Upstream) -> None:
        done = upstream.of("output_item.done")[0]
        done["item"] = {**done["item"], "content": list(content)}

    return change


def list_says(*texts: str) -> Callable[[Upstream], None]:
    """The terminal event lists one message more for each text after the first."""

    def change(upstream: Upstream) -> None:
        response = upstream.events[-1]["response"]
        parts = [{**TEXT_PART, "text": text} for text in texts]
        item = response["output"][0]
        response["output"] = [{**item, "id": f"msg_{at}", "content": [part]} for at, part in enumerate(parts)]

    return change


def unlisted(change: Callable[[Upstream], None]) -> Callable[[Upstream], None]:
    """The same, and the terminal event lists nothing."""

    def both(upstream: Upstream) -> None:
        change(upstream)
        upstream.events[-1]["response"]["output"] = []

    return both


LATER = f"{HERMES}\nThat is the format."
MORE = {
    "the end of the text": done_says(LATER),
    "the end of the text, before it": done_says(FENCE + HERMES),
    "the end of the text, not a string": done_says([LATER]),
    "the end of the part": part_done_says(LATER),
    "the end of the item": item_done_says({**TEXT_PART, "text": LATER}),
    "the end of the item, another part": item_done_says(TEXT_PART, {"type": "text", "text": "So."}),
    "the end of the item, a refusal": unlisted(item_done_says(TEXT_PART, {"type": "refusal", "refusal": "No."})),
    "the end of the text, before a token": done_says(f"{LATER}<|im_end|>"),
    "the end of the text, behind a token": done_says(f"{HERMES}<|im_end|>\nThat is the format."),
    "the list of all items, behind a token": list_says(f"{HERMES}<|im_end|>\nThat is the format."),
    "the list of all items": list_says(LATER),
    "the list of all items, another item": list_says(HERMES, "That is the format."),
}


@pytest.mark.parametrize("where", MORE)
def test_an_event_that_says_more_than_the_deltas_shows_that_the_call_was_quoted(where: str) -> None:
    body = responses(MORE[where], HERMES)
    _, answer = mend(body, protocol="responses", question=ASKED)
    assert answer.outcomes == []


@pytest.mark.parametrize(
    "change",
    [
        *(done_says(f"{HERMES}\n"), done_says(""), done_says(None), part_done_says(HERMES[:20]), list_says(HERMES)),
        *(done_says(HERMES.replace(" ", "\xa0\r\n")), list_says(HERMES.replace(" ", ""))),
        item_done_says({"type": "text", "text": HERMES}),
        *(done_says(f"{HERMES}<|im_end|>"), part_done_says(f"{HERMES}\n<|im_end|>\n"), done_says("<|im_end|>")),
        *(item_done_says({**TEXT_PART, "text": f"{HERMES}<|im_end|><|endoftext|>"}), list_says(f"{HERMES}</s>")),
    ],
)
def test_an_event_that_says_no_more_than_the_deltas_leaves_the_call_a_call(
    change: Callable[[Upstream], None],
) -> None:
    assert calls_in("responses", responses(change, HERMES)) == 1


def test_a_character_that_two_deltas_brought_in_halves_is_repeated_whole() -> None:
    """The ends of the text have the emoji that the deltas cut in two."""
    body = responses(lambda _: None, "Let me clean up @1", "@2.\n" + HERMES)
    assert calls_in("responses", body.replace(b"@1", rb"\ud83d").replace(b"@2", rb"\ude00")) == 1


def test_a_text_that_only_the_end_of_its_item_repeats_leaves_the_next_call_a_call() -> None:
    upstream = Upstream().message("Let me clean up.").message(HERMES).end()
    ends = upstream.of("output_text.done", "content_part.done")
    events = [event for event in upstream.events if event not in ends]
    assert _calls(events) == 1


@pytest.mark.parametrize(
    "first", [done_says(FENCE), part_done_says(FENCE), item_done_says({**TEXT_PART, "text": FENCE})]
)
def test_what_an_earlier_text_turned_out_to_say_quotes_the_next_one(first: Callable[[Upstream], None]) -> None:
    upstream = Upstream().message("Let me clean up.").message(HERMES).end()
    first(upstream)
    assert _calls(upstream.events) == 0


def test_a_delta_behind_the_end_of_its_text_is_not_forgotten() -> None:
    upstream = Upstream().message("Let me clean up.")
    late = {**upstream.of("output_text.delta")[0], "delta": FENCE}
    upstream.events.append({**late, "sequence_number": len(upstream.events)})
    assert _calls(upstream.message(HERMES).end().events) == 0


def test_a_refusal_that_no_list_repeats_leaves_nothing_a_call() -> None:
    upstream = Upstream().message("a").message(HERMES).end()
    refused = upstream.of("output_text.delta")[0]
    refused["type"] = "response.refusal.delta"
    upstream.events[-1]["response"]["output"] = []
    assert _calls(upstream.events) == 0


def _calls(events: list[Json]) -> int:
    return len(mend(written(events), protocol="responses", question=ASKED)[1].outcomes)


UNREADABLE: dict[str, tuple[str, bytes]] = {
    "Messages, the start of the block": (
        "messages",
        messages(wire.start(0, type="text", text=[{"a": FENCE}]), wire.say(0, HERMES)),
    ),
    "Messages, a delta": (
        "messages",
        messages(wire.text_start(0), wire.delta(0, type="text_delta", text=[FENCE]), wire.say(0, HERMES)),
    ),
    "Messages, the start of the message": (
        "messages",
        wire.begin(content=[{"type": "text", "text": FENCE}]) + wire.text(0, HERMES) + wire.end("end_turn"),
    ),
    "Chat, a list": ("chat", chat({"content": [{"type": "x", "content": [FENCE]}]}, {"content": HERMES})),
    "Chat, a number": ("chat", chat({"content": 5}, {"content": HERMES})),
    "Chat, a refusal in a list": (
        "chat",
        chat({"content": [{"type": "refusal", "refusal": "No."}]}, {"content": HERMES}),
    ),
    "Ollama, an object": ("ollama", ollama({"content": {"content": FENCE}}, {"content": HERMES})),
    "Gemini, a text in a list": ("gemini", gemini({"text": [FENCE]}, {"text": HERMES})),
    "Responses, the start of the part": (
        "responses",
        responses(lambda upstream: upstream.of("content_part.added")[0]["part"].update(text=[FENCE]), HERMES),
    ),
    "Responses, the start of the item": (
        "responses",
        responses(lambda upstream: upstream.of("output_item.added")[0]["item"].update(content=FENCE), HERMES),
    ),
    "Responses, a text in the start of the item": ("responses", item_added(LEADS)),
}


@pytest.mark.parametrize("where", UNREADABLE)
def test_behind_text_that_cannot_be_read_nothing_is_a_call(where: str) -> None:
    protocol, body = UNREADABLE[where]
    _, answer = mend(body, protocol=protocol, question=ASKED)
    assert answer.outcomes == []


THOUGHT = {"type": "thinking", "thinking": [{"type": "text", "text": FENCE}]}


@pytest.mark.parametrize("content", [[THOUGHT], [{"type": "image_url", "image_url": {"url": "a"}}], [], [None]])
def test_a_list_without_text_leaves_the_call_a_call(content: list[Any]) -> None:
    assert calls_in("chat", chat({"content": content}, {"content": HERMES})) == 1
    assert calls_in("ollama", ollama({"content": content}, {"content": HERMES})) == 1


def test_reasoning_in_a_list_protects_the_call_that_the_reasoning_ends_with() -> None:
    listed, plain = {"reasoning_content": [{"text": FENCE}]}, {"reasoning_content": HERMES}
    assert calls_in("chat", chat(listed, plain)) == 0
    assert calls_in("chat", chat(plain)) == 1


# A call that stands in such a carrier itself stays text, and so does one that began there

HALF = HERMES[:15], HERMES[15:]


BESIDE_ANOTHER = "Gemini, beside another candidate"


def calls_in_halves(where: str) -> int:
    protocol, stream = READABLE[where]
    second = (json.dumps(text)[1:-1].encode() for text in (HERMES, HALF[1]))
    return calls_in(protocol, stream(HALF[0]).replace(*second))


@pytest.mark.parametrize("where", [where for where in READABLE if where != BESIDE_ANOTHER])
def test_a_call_that_begins_in_another_carrier_is_text(where: str) -> None:
    assert calls_in_halves(where) == 0


def test_text_beside_another_candidate_is_text_of_its_own_candidate() -> None:
    assert calls_in_halves(BESIDE_ANOTHER) == 1


def test_text_that_is_held_comes_before_text_in_another_carrier() -> None:
    listed = [{"type": "text", "text": FENCE}]
    out, _ = mend(chat({"content": "a\n<tool"}, {"content": listed}, {"content": HERMES}), question=ASKED)
    chunks = [json.loads(line[6:]) for line in out.splitlines() if line.startswith(b"data: {")]
    contents = [one["choices"][0]["delta"].get("content") or "" for one in chunks]
    assert [content for content in contents if content] == ["a\n", "<tool", listed, HERMES]
    other = wire.delta(0, type="x", text=FENCE)
    body = messages(wire.text_start(0), wire.say(0, "a\n<tool"), other, wire.say(0, HERMES))
    out, _ = mend(body, protocol="messages", question=ASKED)
    assert out.index(b'"<tool"') < out.index(other) < out.index(b"<tool_call>")


# Documents


def message(*content: Json) -> Json:
    usage = {"input_tokens": 1, "output_tokens": 1}
    whole = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": list(content)}
    return {**whole, "stop_reason": "end_turn", "stop_sequence": None, "usage": usage}


def completion(**fields: Any) -> Json:
    return {"choices": [{"index": 0, "message": {"role": "assistant", **fields}, "finish_reason": "stop"}]}


def listed(*content: Any) -> Json:
    item = {"id": "m", "type": "message", "status": "completed", "role": "assistant", "content": list(content)}
    return {"id": "r", "object": "response", "status": "completed", "output": [item]}


SAID = {"type": "text", "text": HERMES}
DOCUMENTS: dict[str, tuple[str, Json]] = {
    "Messages, a cited text": ("messages", message({"type": "text", "text": FENCE, "citations": [{"a": 1}]}, SAID)),
    "Messages, a string": ("messages", message(FENCE, SAID)),  # type: ignore[arg-type]
    "Messages, a text in a list": ("messages", message({"type": "text", "text": [FENCE]}, SAID)),
    "Messages, an unknown block": ("messages", message({"type": "quote", "text": FENCE}, SAID)),
    "Chat, a transcript": ("chat", completion(content=HERMES, audio={"transcript": FENCE})),
    "Chat, a list": ("chat", completion(content=[{"type": "text", "text": FENCE}, SAID])),
    "Chat, a list of reasoning": ("chat", completion(content=None, reasoning=[FENCE], reasoning_content=HERMES)),
    "Ollama, a list": (
        "ollama",
        {"model": "m", "message": {"role": "assistant", "content": [SAID]}, "done": True, "done_reason": "stop"},
    ),
    "Gemini, a part with another key": (
        "gemini",
        gemini_answer({"text": FENCE, "partMetadata": {}}, {"text": HERMES}, finish="STOP"),
    ),
    "Responses, an unknown part": ("responses", listed({"type": "text", "text": FENCE}, TEXT_PART)),
    "Responses, a refusal": ("responses", listed({"type": "refusal", "refusal": "No."}, TEXT_PART)),
    "Responses, a string": ("responses", listed(FENCE, TEXT_PART)),
}


@pytest.mark.parametrize("where", DOCUMENTS)
def test_text_in_another_carrier_of_a_document_protects_the_call_behind_it(where: str) -> None:
    protocol, document = DOCUMENTS[where]
    assert calls_in_document(protocol, document) == 0


def test_a_cited_text_of_a_document_may_stand_before_a_call() -> None:
    cited = {"type": "text", "text": LEADS, "citations": [{"a": 1}]}
    assert calls_in_document("messages", message(cited, SAID)) == 1
