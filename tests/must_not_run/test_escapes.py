r"""Escapes are read one by one: `\\'` is a backslash and an apostrophe, and beside `\alpha` an `\nabla` is no line break."""

from __future__ import annotations

import pytest

from tests.must_not_run.arguments_on_wires import always_runs_with, mended, never_runs


@pytest.mark.parametrize(
    "text",
    [
        r'{"tex": "\alpha + \nabla"}',
        r'{"tex": "\cdot \times \theta"}',
        r'{"tex": "\sum \rho"}',
        r'{"tex": "\alpha", "more": "\nu"}',
        r'{"more": "\tau", "tex": "\cdot x"}',
        r'{"tex": "\alpha", "more": "\beta"}',
        r'{"tex": "\alpha", "more": ["x", {"deep": "\forall"}]}',
        r'{"tex": "\gamma \uface"}',
        r"{'tex': '\alpha \theta'}",
        r'{"tex": "\\alpha \cdot \tau"}',
        r'{"command": "cd \alpha\nrm -rf /"}',
    ],
)
def test_a_word_beside_undoubled_backslashes_may_be_either(text: str) -> None:
    assert never_runs(text)


@pytest.mark.parametrize("quote", "\"'`")
@pytest.mark.parametrize("line_end", ["\n", "\r", "\r\n", "\u2028", "\u2029"])
def test_a_backslash_before_a_raw_line_end_has_three_readings(quote: str, line_end: str) -> None:
    assert mended(f"{{'command': {quote}rm -rf a \\{line_end}b{quote}}}").status == "refused"


@pytest.mark.parametrize(
    "text",
    [
        '{"command": "make \\\nclean"}',
        '{"command": "make \\\nclean\nls"}',
        "{'command': 'rm -rf \\\n/'}",
        '{"a": 1, "command": "x \\d \\\ny"}',
        "{'command': '''rm -rf \\\n/'''}",
    ],
)
def test_a_command_with_one_never_runs(text: str) -> None:
    assert never_runs(text)


@pytest.mark.parametrize(
    "text",
    [
        r"""{"command": "echo 'it'\''s'" "n": 1}""",
        r"""{"command": "echo \'x\' done" "n": 1}""",
        r"""{"command": "a\'b \d"}""",
    ],
)
def test_a_single_backslash_before_an_apostrophe_stays_refused(text: str) -> None:
    assert never_runs(text)


@pytest.mark.parametrize(
    "text",
    [
        r"{“command“: “echo \“$B\“/out“}",
        r"{“command”: “rm -rf \“$B\”/out”}",
        r"{“command”: “a”, “more”: [“x \” y”]}",
        r"{‘command’: ‘it\’s’}",
        r"{«command»: «a \» b»}",
        r"{「command」: 「a \」 b」}",
    ],
)
def test_a_backslash_before_a_typographic_quote_is_text_or_an_escape(text: str) -> None:
    assert never_runs(text)


# Near misses.


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"""{"command": "echo 'it'\\''s'" "n": 1}""", {"command": r"echo 'it'\''s'", "n": 1}),
        (r"""{"command": "bash -c 'a '\\''b'\\'' c'", 'n': 1}""", {"command": r"bash -c 'a '\''b'\'' c'", "n": 1}),
        (r"""{"command": "printf '%s\\n' \\'x" "n": 1}""", {"command": r"printf '%s\n' \'x", "n": 1}),
        (r"""{"command": "sed 's/\\'/x/' \d"}""", {"command": r"sed 's/\'/x/' \d"}),
        (r"""{"text": "it\'s fine" "n": 1}""", {"text": "it's fine", "n": 1}),
        (r'{"pattern": "\d+\nfoo"}', {"pattern": "\\d+\nfoo"}),
        (r'{"pattern": "^\s*\w+", "text": "a\nb\tc"}', {"pattern": r"^\s*\w+", "text": "a\nb\tc"}),
        (r'{"tex": "\alpha \beta \frac{1}{2}"}', {"tex": r"\alpha \beta \frac{1}{2}"}),
        (r'{"tex": "\alpha \n", "more": "x\n1"}', {"tex": "\\alpha \n", "more": "x\n1"}),
        (r'{"tex": "\\tau \cdot \\nu"}', {"tex": r"\tau \cdot \nu"}),
        (r'{"tex": "\alpha \u00e9t\u00e9"}', {"tex": "\\alpha été"}),
        (r'{"path": "D:\projects\new", "text": "a\nb"}', {"path": r"D:\projects\new", "text": "a\nb"}),
        (r'{"path": "src\main\app.py", "text": "a\nb"}', {"path": r"src\main\app.py", "text": "a\nb"}),
        ('{"command": "make \\\\\nclean"}', {"command": "make \\\nclean"}),
        (r'{"text": "\\x41 \q", "more": 1}', {"text": r"\x41 \q", "more": 1}),
        (r'{"tex": "\nabla"}', {"tex": "\nabla"}),
        (r"{“command”: “sed 's/\d+/x/'”}", {"command": r"sed 's/\d+/x/'"}),
        (r"{“command”: “say \"hi\"”}", {"command": 'say "hi"'}),
        (r"{“command”: “a \\ b”}", {"command": r"a \ b"}),
    ],
)
def test_what_has_one_reading_is_still_mended(text: str, value: object) -> None:
    assert always_runs_with(text, value)
