"""What `mend_arguments` promises beside the values: steps, reasons, truncation, limits."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from toolcalls.mend.arguments import Finish, mend_arguments
from toolcalls.mend.strict import ExactFloat

CALL = {
    "path": "src/a.py",
    "content": 'line 1\nsay "hi", it\'s {fine}\n',
    "edits": [{"old": "a", "new": "b"}, {"old": "c", "new": "d"}],
    "options": {"force": True, "depth": 120000, "tags": ["x", "y"]},
}


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("{'a': 1,}", ("single quotes", "trailing comma")),
        ('"{\\"a\\": 1}"', ("double-encoded",)),
        ('```json\n{"a": 1}\n```', ("code fence",)),
        ('{"a": "x\ty"}', ("raw control characters",)),
        ('{"a": "x\ty",}', ("raw control characters", "trailing comma")),
        ('{"a": "x\ty\\d"}', ("invalid escapes", "raw control characters")),
        ("", ("no arguments",)),
        ('{"a": "say "hi" now"}', ("quotes inside a string",)),
        ("{a: True, // done\n}", ("unquoted keys", "Python literals", "comments", "trailing comma")),
        ('{"a": 1}}', ("extra closing bracket",)),
        ('\ufeff{"a": 1}', ("invisible characters",)),
        ('{}{"a": 1}{"a": 1}', ("empty object beside the real one", "repeated object")),
        ('Sure: {"a": 1}', ("text around the object",)),
        ("{“a”：1}", ("typographic quotes", "full-width punctuation")),
    ],
)
def test_the_steps_are_named_in_words(text: str, steps: tuple[str, ...]) -> None:
    mended = mend_arguments(text, Finish.COMPLETE)
    assert mended.status == "repaired"
    assert sorted(mended.steps) == sorted(steps)


def test_a_refusal_says_where_the_text_was_cut_off() -> None:
    text = json.dumps({"path": "a", "content": "x" * 12_320})[:12_345]
    mended = mend_arguments(text, Finish.CUT)
    assert mended.status == "refused"
    assert mended.text is None
    assert mended.value is None
    assert mended.reason == f"the arguments were cut off inside `content` after {len(text):,} characters"


@pytest.mark.parametrize(
    ("word", "finish"),
    [
        ("stop", Finish.COMPLETE),
        ("tool_calls", Finish.COMPLETE),
        ("tool_use", Finish.COMPLETE),
        ("end_turn", Finish.COMPLETE),
        ("function_call", Finish.COMPLETE),
        ("completed", Finish.COMPLETE),
        ("length", Finish.CUT),
        ("max_tokens", Finish.CUT),
        ("content_filter", Finish.CUT),
        ("error", Finish.CUT),
        ("incomplete", Finish.CUT),
        ("stop_sequence", Finish.UNKNOWN),
        ("", Finish.UNKNOWN),
        (None, Finish.UNKNOWN),
        ("something new", Finish.UNKNOWN),
    ],
)
def test_wire_words_say_why_the_model_stopped(word: str | None, finish: Finish) -> None:
    assert Finish.of(word) is finish


@pytest.mark.parametrize(
    "text",
    [
        '{"n": "12"',
        '{"a": [{"b": "c"',
        '{"command": "ls"',
        '{"a": [1, 2}',
        '{"a": [{"b": 1, "c": 2]}',
        r'"{\"a\": \"b\"}',
        r'"{\"a\": \"b\""',
        "",
        "null",
    ],
)
def test_nothing_is_added_where_the_model_did_not_say_that_it_was_finished(text: str) -> None:
    assert mend_arguments(text, Finish.COMPLETE).status == "repaired"
    assert mend_arguments(text, Finish.CUT).status == "refused"
    assert mend_arguments(text, Finish.UNKNOWN).status == "refused"
    assert mend_arguments(text, Finish.CUT, complete_truncated=True).status == "repaired"


@pytest.mark.parametrize(
    "text",
    [
        '{"n": 12', '{"n": true', '{"a": [1', "{'n': None", r'"{\"n\": 12"', '{"a": 1.', '{"a": "x", "b": fal',
        '{"command": "rm -rf out00", "timeout": 3', '{"a": "x", b',
    ],
)  # fmt: skip
@pytest.mark.parametrize("complete", [False, True])
def test_nothing_that_ends_in_a_bare_number_or_word_is_ever_closed(text: str, complete: bool) -> None:
    """`3` may be the beginning of `300`, whatever the finish reason or the user says."""
    for finish in Finish:
        assert mend_arguments(text, finish, complete_truncated=complete).status == "refused"


def test_what_ends_behind_a_number_or_word_is_closed_where_the_user_wants_it() -> None:
    """The near miss."""
    for text in ('{"n": 12\n', '{"n": 12,', '{"n": [12]', '{"n": 12, "s": "x'):
        assert mend_arguments(text, Finish.CUT, complete_truncated=True).status == "repaired"


@pytest.mark.parametrize("style", [json.dumps, repr, lambda call: json.dumps(json.dumps(call))])
@pytest.mark.parametrize("finish", [Finish.CUT, Finish.UNKNOWN])
def test_no_cut_anywhere_gives_a_part_of_the_call(style: object, finish: Finish) -> None:
    text = style(CALL)  # type: ignore[operator]
    for end in range(1, len(text)):
        assert mend_arguments(text[:end], finish).status == "refused", text[:end]


@pytest.mark.parametrize(
    "text",
    [
        '{"command":"rm -rf {"command":"lsbuild"} /home"}',
        "{'command': 'rm -rf {'command': 'ls'} /home'}",
        '{"command":"rm -rf {"timeout": 5} /home"}',
        "{“command”:“rm -rf {“command”:“ls”} /home”}",
    ],
)
def test_the_beginning_of_other_arguments_inside_a_text_is_refused(text: str) -> None:
    for finish in Finish:
        assert mend_arguments(text, finish).status == "refused"
    assert mend_arguments(text.replace('"', '\\"').join('""'), Finish.COMPLETE).status == "refused"


def test_truncated_arguments_are_completed_where_the_user_asked_for_it() -> None:
    def completed(text: str) -> object:
        return mend_arguments(text, Finish.CUT, complete_truncated=True).value

    assert completed('{"a": "x y') == {"a": "x y"}
    assert completed('{"a": "x\\u00') == {"a": "x"}
    assert completed('{"a": "x\\') == {"a": "x"}
    assert completed('{"a": 1, "b') == {"a": 1}
    assert completed('{"a": 1, "b":') == {"a": 1}
    assert completed('{"a": [1, 2, ') == {"a": [1, 2]}
    assert completed('{"a": [{"b": "c"}, {"b": "d') == {"a": [{"b": "c"}, {"b": "d"}]}
    assert completed("{'a': 'it\\'s") == {"a": "it's"}
    text = json.dumps(CALL)
    for end in range(12, len(text)):
        mended = mend_arguments(text[:end], Finish.CUT, complete_truncated=True)
        bare = re.search(r": \w+\Z", text[:end]) is not None
        assert mended.status == ("refused" if bare else "repaired"), text[:end]


def test_numbers_of_any_size_and_form_are_kept() -> None:
    long = "9" * 6_000
    mended = mend_arguments('{"a": 1.50, "b": 1E5, "c": 12345678901234567890123, "d": -0.0, "e": ' + long + ",}")
    assert mended.text == '{"a":1.50,"b":1E5,"c":12345678901234567890123,"d":-0.0,"e":' + long + "}"
    assert mended.value is not None
    assert isinstance(mended.value["a"], ExactFloat)
    assert mend_arguments(mended.text).status == "valid"
    assert mend_arguments('{"e": ' + long + "}").status == "valid"
    assert mend_arguments('{"a": 1e999}').status == "refused"
    assert mend_arguments("{'a': " + "9" * 400 + ".0}").status == "refused"


def test_broken_text_with_very_many_parts_is_refused_with_a_reason() -> None:
    text = "{'items': [" + "{'a': True, 'b': None}, " * 20_000 + "]}"
    mended = mend_arguments(text)
    assert mended.status == "refused"
    assert "too many parts" in mended.reason


def test_a_megabyte_of_code_in_python_quotes_is_not_too_many_parts() -> None:
    call = {"path": "a.py", "content": "print('it\\'s', \"x\")\n" * 50_000}
    assert mend_arguments(repr(call)).value == call


def test_nesting_is_bounded_from_a_deep_stack_too() -> None:
    def deeper(levels: int) -> str:
        return deeper(levels - 1) if levels else mend_arguments("{'a': " + "[" * 140 + "]" * 140 + "}").status

    assert deeper(0) == "repaired"
    assert deeper(850) in ("repaired", "refused")


def test_lone_surrogates_leave_as_escapes() -> None:
    mended = mend_arguments("{'a': '\\ud83d', 'b': '\ud83d'}")
    assert mended.text == '{"a":"\\ud83d","b":"\\ud83d"}'
    mended.text.encode()


def test_the_engine_imports_nothing_but_the_standard_library() -> None:
    script = (
        "import sys; import toolcalls.mend.arguments; "
        "print([name for name in sys.modules if name.split('.')[0] in ('mitmproxy', 'json5')]); "
        "print(sorted({name.split('.')[1] for name in sys.modules if name.startswith('toolcalls.')}))"
    )
    addon = Path(__file__).parents[2] / "addon"
    done = subprocess.run([sys.executable, "-c", script], cwd=addon, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n['mend', 'reasons', 'tools']\n"


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": true,}',
        "{'a': 1, 'a': True}",
        "{'a': [0], 'a': [False]}",
        '{"a": 1, "a": 1.0,}',
        '{"a":1,"a":2,}',
    ],
)
def test_a_key_with_two_values_is_refused_even_if_python_calls_them_equal(text: str) -> None:
    assert mend_arguments(text, Finish.COMPLETE).status == "refused"


def test_a_key_with_one_value_twice_is_one_pair() -> None:
    text = "{'a': {'b': 1, 'c': 2}, 'a': {'c': 2, 'b': 1}}"
    assert mend_arguments(text, Finish.COMPLETE).value == {"a": {"b": 1, "c": 2}}


def test_where_only_the_quotes_were_escaped_the_other_escapes_keep_their_meaning() -> None:
    text = r"{\"command\": \"grep a\\\\b x\ny\"}"
    assert mend_arguments(text, Finish.COMPLETE).value == {"command": "grep a\\\\b x\ny"}
