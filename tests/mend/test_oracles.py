"""What json5 reads and what Python evaluates, we read to the same value; strict JSON comes back untouched."""

from __future__ import annotations

import ast
import json
import re
from typing import Any

import json5
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.mend.judging import same
from toolcalls.mend.arguments import mend_arguments

BOUNDED = settings(max_examples=150, deadline=None)

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.sampled_from(
    ["", "it's", 'say "hi"', "a\\d+", "C:\\x", "a\nb", "\u2028", "{'a': 1}", "`", "// x", "’", "é\U0001f600"]
)
number = (
    st.integers()
    | st.integers(min_value=-(10**40), max_value=10**40)
    | st.floats(allow_nan=False, allow_infinity=False)
)
scalar = st.none() | st.booleans() | number | text
value: st.SearchStrategy[Any] = st.recursive(
    scalar,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(text, value, max_size=5)
MIXED = re.compile(r"[\"'][\s\S]*[,:，：、;；]\s*[\"'][^\"']*\Z")


@BOUNDED
@given(objects, st.booleans(), st.sampled_from([None, 0, 2]), st.sampled_from(["", " ", "\n\t"]))
def test_strict_json_of_any_kind_is_returned_as_the_very_same_text(
    meant: dict[str, Any], ascii_only: bool, indent: int | None, blank: str
) -> None:
    written = blank + json.dumps(meant, ensure_ascii=ascii_only, indent=indent) + blank
    mended = mend_arguments(written)
    assert mended.status == "valid"
    assert mended.text is written
    assert same(mended.value, meant)
    assert mended.steps == ()


@BOUNDED
@given(objects)
def test_a_python_dict_is_read_as_python_reads_it(meant: dict[str, Any]) -> None:
    written = repr(meant)
    assume('"' not in written or not re.search(r"\\[xU]", written))  # code in a JSON string: kept literal
    assume(not re.search(r"['\"][A-Za-z]:\\[^\\]", written))  # may be a Windows path: refused
    assume(not any(map(MIXED.search, strings_of(meant))))  # may be two texts with quotes of two kinds: refused
    assert same(ast.literal_eval(written), meant)
    mended = mend_arguments(written)
    assert same(mended.value, meant), mended


@BOUNDED
@given(st.dictionaries(text, scalar, min_size=1, max_size=3), st.data())
def test_python_tuples_are_lists(meant: dict[str, Any], data: st.DataObject) -> None:
    items = tuple(data.draw(st.lists(scalar, max_size=3)))
    written = repr({"t": items, "rest": meant})
    assume('"' not in written or not re.search(r"\\[xU]", written))
    assume(not re.search(r"['\"][A-Za-z]:\\[^\\]", written))
    assume(not any(map(MIXED.search, strings_of({"t": list(items), "rest": meant}))))
    mended = mend_arguments(written)
    assert same(mended.value, {"t": list(items), "rest": meant})


def quoted(content: str, quote: str) -> str:
    body = json.dumps(content, ensure_ascii=False)[1:-1]
    return "'" + body.replace('\\"', '"').replace("'", "\\'") + "'" if quote == "'" else f'"{body}"'


@st.composite
def json5_documents(draw: st.DrawFn) -> str:
    gap = st.sampled_from(["", " ", "\n", " /* it's \" */ ", "// c, }\n", "\u00a0", "\ufeff"])
    around = st.sampled_from(["", " ", "\n", "\u00a0", "\ufeff"])  # a comment there may say anything of the object
    name = st.from_regex(re.compile(r"\A[A-Za-z_$][\w$]{0,6}\Z", re.ASCII))
    string = st.builds(quoted, text, st.sampled_from("\"'")) | st.just(r"'\x41\v\0'")
    numeral = st.sampled_from(["0x1F", "-0xa", "+1", ".5", "5.", "-.5e3", "1e5", "0", "12345678901234567890", "1.50"])
    word = st.sampled_from(["true", "false", "null"])

    def joined(parts: list[str], brackets: str) -> str:
        comma = draw(st.sampled_from(["", ","])) if parts else ""
        inside = ",".join(draw(gap) + part + draw(gap) for part in parts) + comma
        return f"{brackets[0]}{draw(gap)}{inside}{draw(gap)}{brackets[1]}"

    def node(depth: int) -> str:
        kind = draw(st.integers(0, 5 if depth < 3 else 3))
        if kind == 4:
            return joined([node(depth + 1) for _ in range(draw(st.integers(0, 3)))], "[]")
        if kind == 5:
            return pairs(depth + 1)
        return draw([string, numeral, word, string][kind])

    def pairs(depth: int) -> str:
        keys = draw(st.lists(name | st.builds(quoted, text, st.sampled_from("\"'")), max_size=3))
        return joined([f"{key}{draw(gap)}:{draw(gap)}{node(depth)}" for key in keys], "{}")

    return draw(around) + pairs(0) + draw(around)


@pytest.mark.parametrize("number", ["Infinity", "+Infinity", "-Infinity", "NaN"])
def test_the_numbers_of_json5_that_json_cannot_say_are_refused(number: str) -> None:
    assert json5.loads(f"{{a: {number}}}") is not None
    assert mend_arguments(f"{{a: {number}}}").status == "refused"


@pytest.mark.parametrize("key", [r"\u0061", r"a\u0062", r"\u0020", r"\u007b", r"\x61", r"\u00", r"a\n", r"\u0054rue"])
def test_a_key_without_quotes_has_no_escapes(key: str) -> None:
    """JSON5 admits some; no model writes them."""
    assert mend_arguments(f"{{{key}: 1}}").status == "refused"


@settings(max_examples=150, deadline=None)
@given(json5_documents())
def test_what_json5_reads_we_read_to_the_same_value(document: str) -> None:
    try:
        meant = json5.loads(
            document, allow_duplicate_keys=False
        )  # two values for one key: we refuse, json5 takes the last
    except (ValueError, RecursionError):
        assume(False)
    mended = mend_arguments(document)
    assert mended.value == meant, (document, mended)


def readings(source: str) -> set[str]:
    """The input, and what it says when one to three levels of escaping are taken off."""
    tables = [
        {"n": "\n", "r": "\r", "t": "\t", '"': '"', "'": "'", "\\": "\\"},
        {"n": "\n", "r": "\r", "t": "\t", '"': '"', "'": "'", "\\": "\\", "/": "/", "b": "\b", "f": "\f"}
        | {"v": "\v", "0": "\0", "\n": ""},
    ]
    found = {source}
    for _ in range(3):
        found |= {unescaped(known, table) for known in found for table in tables}
    return found


def unescaped(source: str, table: dict[str, str]) -> str:
    def one(escape: re.Match[str]) -> str:
        body = escape[1]
        if len(body) > 1:
            return chr(int(body[1:], 16)) if body[0] == "u" or "/" in table else escape[0]
        return table.get(body, escape[0])

    return re.sub(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|U[0-9a-fA-F]{8}|[\s\S])", one, source)


def paired(source: str) -> str:
    """Surrogates that were escaped one by one are one character."""
    return source.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def strings_of(node: Any) -> list[str]:
    if isinstance(node, dict):
        return [*node, *(text for item in node.values() for text in strings_of(item))]
    if isinstance(node, list):
        return [text for item in node for text in strings_of(item)]
    return [node] if isinstance(node, str) else []


@settings(max_examples=200, deadline=None)
@given(objects, st.data())
def test_every_string_of_the_output_stands_in_the_input(meant: dict[str, Any], data: st.DataObject) -> None:
    written = data.draw(
        st.sampled_from(
            [
                json.dumps(meant),
                json.dumps(meant, ensure_ascii=False),
                repr(meant),
                json.dumps(json.dumps(meant)),
            ]
        )
    )
    pieces = st.sampled_from(
        ['"', "'", ",", "}", "{", "]", ":", "\\", "\\n", " ", "x", '", "', "'''", "#", "//", "`"]
    )
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(written)))
        drop = data.draw(st.integers(0, 2))
        written = written[:at] + data.draw(pieces) + written[at + drop :]
    mended = mend_arguments(written)
    if mended.value is not None and "joined strings" not in mended.steps:
        known = {paired(reading) for reading in readings(written)}
        for found in strings_of(mended.value):
            assert any(paired(found) in reading for reading in known), (written, mended)
