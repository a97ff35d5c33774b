"""The reader of the document against a simple model of it: the whole text, parsed from its beginning."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.protocols.zai_streams import CLOSED, TOOLS, WRAPPER, Backend, block, convert, received, utf16
from toolcalls.parts import Part, Text, Thought
from toolcalls.protocols.zai_document import Channel, Document

# The model

_WRAPPER = re.compile(r'<details[ \t](?:[^">\n]|"[^"\n]*")*>')
_TAG = re.compile(r'<glm_block(?:[ \t](?:[^">\n]|"[^"\n]*")*)?>\s*(?=\{)')
_TAIL = re.compile(r"(?:\s*</glm_block>)?")


def of_units(raw: bytes) -> str:
    return raw.decode("utf-16-le", "surrogatepass")


def apply(document: bytes, index: int, text: str) -> bytes:
    """An edit, on the UTF-16 bytes."""
    cut = min(max(index, 0), len(document) // 2)
    before, after = document[2 * cut - 2 : 2 * cut], document[2 * cut : 2 * cut + 2]
    if len(before) == len(after) == 2 and 0xD8 <= before[1] <= 0xDB and 0xDC <= after[1] <= 0xDF:
        cut -= 1
    return document[: 2 * cut] + utf16(text)


def thought(inner: str) -> str:
    inner = re.sub(r"(?:\n[ >]*+)++\Z", "", inner)  # Lines at the end that have nothing but the marks of a quotation.
    inner = re.sub(r"(?m)^<summary>.*?</summary>", "", inner)
    return re.sub(r"(?m)^> ?", "", inner).strip()


def model(document: str) -> tuple[str, str, list[Any]]:
    """Content, reasoning and (name, arguments, result) of every block of a complete document."""
    parts: list[str] = []
    thoughts: list[str] = []
    calls: list[Any] = []
    at = start = 0
    edge = False

    def part(end: int, last: bool) -> None:
        text = document[start:end]
        if edge:
            text = text.lstrip("\n") if text.strip() else ""
        parts.append(text if last else text.rstrip("\n"))

    while at < len(document):
        head = at == 0 or document[at - 1] == "\n" or (edge and at == start)
        if document[at] == "<" and (head or document[at - 1] not in "`'\"‘“«"):
            wrapper, tag = _WRAPPER.match(document, at) if head else None, _TAG.match(document, at)
            if wrapper and ' type="reasoning"' in wrapper[0]:
                part(at, False)
                end = re.compile(r"(?m)^</details>").search(document, wrapper.end())
                inner = document[wrapper.end() : end.start() if end else len(document)]
                thoughts.append(thought(inner))
                at = start = end.end() if end else len(document)
                edge = True
                continue
            if tag:
                try:
                    value, end_of_json = json.JSONDecoder().raw_decode(document, tag.end())
                    metadata = value["data"]["metadata"]
                    call = (metadata["name"], metadata["arguments"], metadata["result"])
                except (ValueError, KeyError, TypeError):
                    at += 1
                    continue
                part(at, False)
                calls.append(call)
                at = start = _TAIL.match(document, end_of_json).end()  # type: ignore[union-attr]
                edge = True
                continue
        at += 1
    part(len(document), True)
    return "\n\n".join(filter(None, parts)), "\n\n".join(filter(None, thoughts)), calls


# Documents

words = st.text(
    st.one_of(
        st.sampled_from("ab \n<>&\"'\\/{}"),
        st.sampled_from("你好世界，。"),
        st.sampled_from("😀🎉𝒳\U0010ffff"),
    ),
    max_size=30,
)
markup = st.sampled_from(
    ["<details>x</details>", "`<glm_block >`", "\n<glm", "\n<details", "\n<glm_block >x", "</details>", "> quoted"]
)
texts = st.lists(st.one_of(words, markup), max_size=4).map("".join)
names = st.sampled_from(["Bash", "Write", "search", "写入"])
values = st.dictionaries(words.map(lambda word: word[:6]), st.one_of(words, markup), max_size=3)
ensure_ascii = st.booleans()


@st.composite
def blocks(draw: st.DrawFn) -> str:
    arguments = json.dumps(draw(values), ensure_ascii=draw(ensure_ascii))
    tag = draw(st.sampled_from(["<glm_block >", '<glm_block view="">', '<glm_block view="" tool_call_name="x">']))
    result = draw(st.sampled_from(["", None, "text </glm_block>"]))
    # An id of its own: with one that comes again a call that is alike would be the same one.
    return "\n\n" + block(draw(names), arguments, f"call_{draw(st.uuids()).hex}", result=result, tag=tag)


@st.composite
def wrappers(draw: st.DrawFn) -> str:
    lines = "\n".join("> " + line for line in draw(texts).split("\n"))
    return (
        "\n"
        + draw(st.sampled_from([WRAPPER, CLOSED, '<details type="reasoning" done="true">\n']))
        + lines
        + "\n</details>\n"
    )


documents = st.lists(st.one_of(texts, blocks(), wrappers()), max_size=6).map("".join)


def common(one: bytes, two: bytes) -> int:
    size = 0
    while one[2 * size : 2 * size + 2] == two[2 * size : 2 * size + 2] and 2 * size < min(len(one), len(two)):
        size += 1
    return size


@st.composite
def edits(draw: st.DrawFn) -> tuple[list[tuple[int, str]], str]:
    """Edits that lead through several documents to the last of them, each from somewhere in the common prefix."""
    states = [utf16(document) for document in draw(st.lists(documents.filter(bool), min_size=1, max_size=3))]
    steps: list[tuple[int, str]] = []
    now = b""
    for state in states:
        while now != state:
            shared = common(now, state)
            if 2 * shared == len(state):
                # An empty edit changes nothing on this wire, so some text has to come again.
                shared = max(shared - 2, 0)
            index = draw(st.integers(max(0, shared - 12), shared)) if draw(st.booleans()) else shared
            kept = len(apply(now, index, "")) // 2
            # Some edits bring all that is missing, some only the beginning of it, cut anywhere.
            rest = state[2 * kept :]
            size = draw(st.sampled_from([len(rest) // 2, 1, 3, 40, 200]))
            text = of_units(rest[: 2 * size])
            beyond = draw(st.sampled_from([0, 0, 5])) if index == len(now) // 2 else 0
            steps.append((index + beyond, text))
            now = apply(now, index, text)
    return steps, of_units(now)


@settings(max_examples=400, deadline=None)
@given(edits())
def test_the_text_and_the_calls_are_those_of_the_model(case: tuple[list[tuple[int, str]], str]):
    steps, final = case
    reader = Document(lambda name: True)
    for index, text in steps:
        reader.patch(text, index, by_server=True)
    reader.read(final=True)
    said = reader.new
    content, reasoning, calls = model(final)
    assert text_of(reader.content) == content
    assert text_of(reader.reasoning) == reasoning
    assert [(call.name, call.arguments) for call in reader.blocks] == [call[:2] for call in calls]
    if not (reader.content.rewritten or reader.reasoning.rewritten):
        # What was sent and cut away later cannot be taken back.
        assert sent(said, Text).startswith(content)
        assert sent(said, Thought).startswith(reasoning)


def text_of(channel: Channel) -> str:
    return channel.getvalue()[: channel.length]


def called(document: Document) -> list[Any]:
    return [(call.id, call.name, call.arguments, call.result, call.cut) for call in document.blocks]


def sent(said: list[Part], kind: type[Text | Thought]) -> str:
    return of_units(utf16("".join(item.text for item in said if isinstance(item, kind))))


@settings(max_examples=300, deadline=None)
@given(documents, st.lists(st.tuples(st.integers(0, 400), documents | texts), max_size=6))
def test_a_document_of_random_edits_reads_like_the_same_document_in_one_piece(
    first: str, changes: list[tuple[int, str]]
):
    reader, plain = Document(lambda name: True), b""
    for index, text in [(0, first), *changes]:
        reader.patch(text, index, by_server=True)
        plain = apply(plain, index, text)
    reader.read(final=True)
    fresh = Document(lambda name: True)
    fresh.patch(of_units(plain), by_server=True)
    fresh.read(final=True)
    assert text_of(reader.content) == text_of(fresh.content)
    assert text_of(reader.reasoning) == text_of(fresh.reasoning)
    assert called(reader) == called(fresh)


@settings(max_examples=100, deadline=None)
@given(edits(), st.lists(st.integers(1, 300), max_size=30))
def test_a_stream_of_edits_gives_the_calls_of_the_model_however_it_is_cut(
    case: tuple[list[tuple[int, str]], str], sizes: list[int]
):
    steps, final = case
    backend = Backend()
    for index, text in steps:
        backend.say(edit_index=index, edit_content=text, phase="tool_call")
    stream = backend.usage().done().stream
    whole = convert(stream, zai="on", zai_after_null="forward_all")
    cuts = [sum(sizes[: number + 1]) for number in range(len(sizes))]
    assert (
        convert(stream, [cut for cut in cuts if cut < len(stream)], zai="on", zai_after_null="forward_all") == whole
    )
    calls = [(name, json.loads(arguments)) for name, arguments, result in model(final)[2] if not result]
    got = [(call["name"], call["arguments"]) for call in received(whole)["tool_calls"]]
    assert got == [call for call in calls if call[0] in TOOLS]


@given(st.text(max_size=40), st.integers(-3, 90))
def test_a_cut_counts_utf16_units_and_never_splits_a_pair(text: str, index: int):
    document = Document(lambda name: True)
    document.patch(text)
    document.patch("|", index)
    document.read(final=True)
    assert document.content.getvalue() == of_units(apply(utf16(text), index, "|"))
    assert len(document) == len(apply(utf16(text), index, "|")) // 2
