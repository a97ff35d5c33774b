"""A string that holds a quote of another kind, and behind that what looks like the next pair or item, has two ends."""

from __future__ import annotations

import pytest

from tests.must_not_run.arguments_on_wires import always_runs_with, mended, never_runs

MARKS = ["“”", "„“", "„”", "‘’", "‚‘", "«»", "「」", "『』", "＂＂", "＇＇", "``"]
PAIRS = [(own, other) for own in MARKS for other in ('""', "''", *MARKS) if not set(own) & set(other)]
OWN_FAMILY = {"“”": "„", "„“": "”", "„”": "“", "‘’": "‚", "‚‘": "’"}
PAIRS = [(own, other) for own, other in PAIRS if not set(OWN_FAMILY.get(own, "")) & set(other)]


def mixed(own: str, other: str, form: str) -> str:
    """The form with `<` and `>` as marks of the one kind, `(` and `)` as those of the other."""
    return form.translate(str.maketrans({"<": own[0], ">": own[1], "(": other[0], ")": other[1]}))


@pytest.mark.parametrize(("own", "other"), PAIRS)
@pytest.mark.parametrize(
    "form",
    [
        '{"command": <rm -rf ), (path): (/home>}',
        '{"command": <rm -rf ),(path):(/home>, "x": 1}',
        '{"items": [<a), (b>]}',
        '{"items": [1, <a), 5, (b>, 2]}',
        '{"o": {"command": <rm ) , (b) : (c>}}',
    ],
)
def test_every_pair_of_marks_has_two_readings(own: str, other: str, form: str) -> None:
    assert mended(mixed(own, other, form)).status == "refused"


@pytest.mark.parametrize("marks", MARKS)
def test_a_straight_quote_in_each_kind_never_runs(marks: str) -> None:
    assert never_runs(mixed(marks, '""', '{"command": <rm -rf ), (path): (/home>}'))
    assert never_runs(mixed(marks, "''", '{"items": [<a), (b>]}'))


@pytest.mark.parametrize(
    "text",
    [
        """{'command': 'rm -rf ", "path": "/home'}""",
        """{'items': ['a", "b']}""",
        """{'a': "x', 'b': 'y"}""",
        """{'a": "x", "b': 1}""",
        """{“a": "x", "b”: 1}""",
        """{"a": "x', 'b': 'y" "c": 1}""",
        """{'o': [{'command': 'ls", "cwd": "/'}, 2]}""",
        """{'t': ('a", "b', 'c')}""",
        """{'l': [{'a': 'x"}, {"b": "y'}]}""",
        """{"l": [{“a”: “x"}, {"b": "y”}]}""",
        """{“a”: "x”, “b”: “y"}""",
        '{“command”: “rm -rf "\n"path": "/home”}',
        "{„command“: „”“, „timeout“: 1}",
        "{„command“: „rm”“, „path“: „/home“}",
    ],
)
def test_straight_quotes_of_two_kinds_that_fit_both_ways_never_run(text: str) -> None:
    assert never_runs(text)


# Near misses.


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{“command”: “echo "hi" there”}', {"command": 'echo "hi" there'}),
        ('{“command”: “say "hi", then go”}', {"command": 'say "hi", then go'}),
        ("{«command»: «it's here»}", {"command": "it's here"}),
        ("{“a”: “x”, \"b\": 'y'}", {"a": "x", "b": "y"}),
        ('{“items”: [“a”, "b", ‘c’]}', {"items": ["a", "b", "c"]}),
        ("""{'code': 'd = {"a": "1", "b": "2"}'}""", {"code": 'd = {"a": "1", "b": "2"}'}),
        ("""{'items': ['f("a", "b")', 'c']}""", {"items": ['f("a", "b")', "c"]}),
        ("""{'a': "it's", 'b': 'say "x"'}""", {"a": "it's", "b": 'say "x"'}),
        ("""{"code": "{'a': 'x', 'b': 'y'}",}""", {"code": "{'a': 'x', 'b': 'y'}"}),
        ("""{'code': '[{"a": "x"}, {"b": "y"}]'}""", {"code": '[{"a": "x"}, {"b": "y"}]'}),
        ('{“k”: “x”, "a": "say “hi”, “bye”"}', {"k": "x", "a": "say “hi”, “bye”"}),
        ('{"a": "“x”, “b”: “y”",}', {"a": "“x”, “b”: “y”"}),
        ('{“a”: “say \\"x\\", \\"y\\": z”}', {"a": 'say "x", "y": z'}),
        ("{\"a\": \"x', 'b': 'y\"}", {"a": "x', 'b': 'y"}),
    ],
)
def test_quotes_of_another_kind_that_fit_one_way_are_text(text: str, value: object) -> None:
    assert always_runs_with(text, value)
