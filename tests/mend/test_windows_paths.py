"""Windows paths whose backslashes were not doubled: literal as a whole or refused, never decoded by half."""

from __future__ import annotations

import json
import random

import pytest

from toolcalls.call import Call
from toolcalls.ids import Ids
from toolcalls.mend.arguments import Finish, Mended, mend_arguments
from toolcalls.mend.mender import Mender
from toolcalls.policy import Policy
from toolcalls.tools.declared import Tool, Tools


def mended(text: str) -> Mended:
    return mend_arguments(text, Finish.COMPLETE)


@pytest.mark.parametrize(
    "string",
    [
        r"cd C:\new && grep \d+ f",
        r"cd C:\new",
        r"cd \"C:\Program Files\new\" && dir",
        r"type D:\report.txt",
        r"echo a\nC:\tools\run.exe",
        r"copy C:\Users\bob \\srv\share",
        r"dir C:\Users\\bob && ls",
        r"set X=C:\build\bin",
        r"cd C:\t\vendor && ls",
        r"start C:\r2\x",
        r"C:\new\temp",
        r"..\new\file.txt",
        r".\test",
        r"src\test\new.py",
        r"src\build\file.spec.ts",
    ],
)
@pytest.mark.parametrize(
    "form",
    [
        '{{"command": "{}",}}',
        '{{"command": "{}", "x": "\\d"}}',
        '{{"x": "a\nb", "command": "{}"}}',
        '{{command: "{}"}}',
        "{{'command': '{}'}}",
        '{{"command": "{}"',
        '{{"command": "{}"}}</tool_call>',
        '{{"command": "{}"}}{{"command": "{}"}}',
        '"command": "{}"',
        "{{“command”: “{}”}}",
    ],
)
def test_a_path_with_backslashes_that_may_be_escapes_is_refused_in_broken_text(string: str, form: str) -> None:
    assert mended(form.format(string, string)).status == "refused"


@pytest.mark.parametrize(
    "text",
    [
        r'"{\"path\": \"C:\new\"}"',
        r'"{\"path\": \"C:\\new\"}"',
        r"{\"path\": \"C:\new\"}",
        r"{\"path\": \"C:\\new\"}",
        r'"{\"command\": \"dir C:\\new\", }"',
        r"{&quot;command&quot;: &quot;dir C:\new&quot;}",
    ],
)
def test_such_a_path_is_refused_in_text_that_was_encoded_twice(text: str) -> None:
    assert mended(text).status == "refused"


@pytest.mark.parametrize(
    "string",
    [
        r"cd C:\Users && grep \d+ f",
        r"cd C:\Users\bob && dir",
        r"dir C:\docs\build\files",
        r"cd D:\vendor",
        r"C:\Program Files\Git\cmd",
        r"C:\Users\new",
        r"src\docs\main.py",
        r"echo C:\文档\x",
    ],
)
def test_a_path_whose_backslashes_are_no_escapes_is_kept_as_it_is(string: str) -> None:
    for form in ('{{"command": "{}"}}', '{{"command": "{}",}}', '{{"x": "a\nb", "command": "{}"}}'):
        value = mended(form.format(string)).value
        assert value is not None
        assert value["command"] == string


@pytest.mark.parametrize("finish", Finish)
@pytest.mark.parametrize(
    "string",
    [
        r"cd C:\(x)\temp && dir",
        r"cd C:\(old)\new",
        r"cd C:\(x)\u00e9",
        r"cd C:\#1\t",
        r"cd C:\n1\docs",
        r"cd C:\(my files)\temp && dir",
        r"type C:\[app]\readme.md",
        r"copy a.txt C:\!inbox\new.txt",
        r"cd \"C:\(my files)\temp\" && dir",
        r"cd 'C:\(my files)\temp'",
    ],
)
def test_a_folder_that_begins_with_a_mark_is_one_of_a_path_too(string: str, finish: Finish) -> None:
    for form in ('{{"command": "{}", "timeout": 3}}', '{{"command": "{}",}}', '{{command: "{}"}}'):
        assert mend_arguments(form.format(string), finish).status == "refused"


@pytest.mark.parametrize("string", [r"cd C:\(x)\bin && dir", r"type C:\[app]\docs.md"])
def test_a_folder_that_begins_with_a_mark_is_kept_as_it_is(string: str) -> None:
    assert mended(f'{{"command": "{string}", "timeout": 3}}').value == {"command": string, "timeout": 3}


def test_quotes_around_a_path_are_still_escaped() -> None:
    assert mended(r'{"command": "cd \"C:\Program Files\" && dir"}').value == {
        "command": r'cd "C:\Program Files" && dir'
    }


@pytest.mark.parametrize(
    "string",
    [
        r"cd C:\\new && grep x",
        r"if x:\n    return",
        r"for c in s:\n\tprint(c)",
        r"Plan A:\n1. Read\nPlan B:\n- Write",
        r"Q:\nWhat?\n\nA:\r\nNothing",
        r"a.py\nb.py",
        r"see x:\u00e9",
        r"first line\nsecond.txt",
        r"12:\tnoon",
        r"key:\tvalue",
        r"\\d:\\d",
        r"{a:\"b\"}",
    ],
)
def test_a_line_break_or_a_doubled_backslash_is_no_path(string: str) -> None:
    expected = mend_arguments(f'{{"a": "{string}"}}').value
    assert expected is not None
    assert mended(f'{{"a": "{string}",}}').value == expected
    assert mended(f'{{"a": "{string}", /* c */ b: 1}}').value == {**expected, "b": 1}


def test_code_between_escaped_quotes_is_no_path() -> None:
    code = 'print "a".\n\t"b".\n"c";'
    text = json.dumps({"content": code})
    for damaged in (json.dumps(text)[1:-1], json.dumps(text), text[:-1] + ",}"):
        assert mended(damaged).value == {"content": code}, damaged


def test_valid_json_is_never_second_guessed() -> None:
    text = r'{"path": "C:\new\temp", "command": "cd D:\report && dir", "file": "src\test\new.py"}'
    assert (mended(text).status, mended(text).text) == ("valid", text)


def test_a_path_in_arguments_whose_beginning_was_lost_is_not_decoded() -> None:
    tool = Tool("Bash", {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]})
    mender = Mender(Tools([tool]), Policy(), Ids())
    assert (
        mender.decide(Call(name="Bash", arguments=r'command": "cd src"}', finish=Finish.COMPLETE)).status
        == "repaired"
    )
    assert (
        mender.decide(Call(name="Bash", arguments=r'command": "cd C:\new"}', finish=Finish.COMPLETE)).status
        == "refused"
    )


def _damaged(text: str, chance: random.Random) -> str:
    ways = [
        lambda: text[:-1] + ",}",
        lambda: text[:-1],
        lambda: text[:-1] + " /* c */}",
        lambda: text.replace('"a"', "a"),
        lambda: text.replace('{"', '{"n": "1\n2", "'),
        lambda: text.replace("'", r"\'").replace(r"\"", "\0").replace('"', "'").replace("\0", '"'),
        lambda: text + text,
        lambda: f"```json\n{text}\n```",
        lambda: text.replace('"', "&quot;"),
        lambda: text[1:-1],
        lambda: text.replace('"', r"\""),
        lambda: '"' + text.replace('"', r"\"") + '"',
        lambda: text.replace('"', "", 1),
    ]
    return chance.choice(ways)()


@pytest.mark.parametrize("seed", range(20))
def test_no_path_is_ever_decoded_however_the_text_is_damaged(seed: int) -> None:
    chance = random.Random(seed)
    folders = ["new", "temp", "tools", "build", "files", "Users", "Program Files", "report", "docs", "node", "u1"]
    beside = [r"\d+", r"\w+\s*", r"\nabla \times", r"\frac{a}{b}", "dir", "&&", r"\"q\"", "it's", r"a\nb"]
    for _ in range(100):
        path = "\\".join([chance.choice("CDz") + ":", *chance.choices(folders, k=chance.randint(1, 4))])
        words = [path, *chance.choices(beside, k=chance.randint(0, 3))]
        chance.shuffle(words)
        found = mended(_damaged(f'{{"a": "{" ".join(words)}"}}', chance))
        if found.status == "repaired":
            assert found.value is not None
            assert path in found.value["a"]
