"""A parameter whose closer was forgotten never swallows what follows it, in any family of tags."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.must_not_run.families import FAMILIES, Family
from tests.must_not_run.wires import Said, runnable
from tests.textcalls.declared import back, calls_of, scan

every_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
FORGIVING = tuple(family for family in FAMILIES if family.name != "minimax M3")
"""The tags of MiniMax M3 are special tokens, which no model half forgets: where one is missing, it is text."""
every_forgiving_family = pytest.mark.parametrize("family", FORGIVING, ids=lambda family: family.name)


def found(text: str, finished: bool = True) -> list[tuple[str, Any]]:
    """The calls, the same however the text is split."""
    out = scan(text, finished=finished)
    assert back(out) == text
    for size in (1, 2, 5):
        assert scan(text, size=size, finished=finished) == out
    return [(call.name, json.loads(call.arguments)) for call in calls_of(out)]


@every_forgiving_family
def test_the_end_of_the_block_ends_a_value_without_a_closer(family: Family) -> None:
    text = family.begin("Bash") + family.open("command") + "ls -la" + family.end
    assert found(text) == [("Bash", {"command": "ls -la"})]


@every_forgiving_family
def test_its_own_line_end_is_not_part_of_a_value_without_a_closer(family: Family) -> None:
    text = family.begin("Read") + family.open("file_path") + "src/a.py\n  " + family.end + "\n"
    assert found(text) == [("Read", {"file_path": "src/a.py"})]


@every_forgiving_family
@pytest.mark.parametrize("gap", ["", "\n", "\n    "])
def test_the_opener_of_a_declared_parameter_ends_a_value_without_a_closer(family: Family, gap: str) -> None:
    text = family.begin("Bash") + family.open("command") + "make all" + gap + family.written("timeout", "50")
    assert found(text + family.end) == [("Bash", {"command": "make all", "timeout": 50})]


@every_forgiving_family
def test_no_closer_at_all_but_that_of_the_block(family: Family) -> None:
    text = family.begin("Edit") + family.open("file_path") + "a.py" + family.open("old_string") + "x"
    text += family.open("new_string") + "y" + family.end
    assert found(text) == [("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"})]


@every_forgiving_family
def test_a_closed_parameter_before_one_that_is_not(family: Family) -> None:
    text = family.begin("Read") + family.written("limit", "3") + family.open("file_path") + "a" + family.end
    assert found(text) == [("Read", {"limit": 3, "file_path": "a"})]


@every_forgiving_family
def test_a_closer_is_forgotten_only_where_the_answer_ends(family: Family) -> None:
    broken = family.begin("Bash") + family.open("command") + "ls" + family.end
    whole = family.call("Read", file_path="a")
    assert found(whole + "\n" + broken) == [("Read", {"file_path": "a"}), ("Bash", {"command": "ls"})]
    assert found(broken + "<|im_end|>") == [("Bash", {"command": "ls"})]
    assert found(broken + "\n" + whole) == []
    # Several blocks in one wrapper.
    blocks = broken.removesuffix(family.wrapper[1]) + "\n" + whole.removeprefix(family.wrapper[0])
    assert found(blocks) == []


M = "]<]minimax[>["


@pytest.mark.parametrize(
    "value",
    [
        *(
            f"ls]{closer}"
            for closer in ("]<]minimax[>[</command", "]<]minimax[>[/command>", "]<]minimax[>[<command>")
        ),
        *("ls]<]minimax[</command>", "ls<]minimax[>[</command>", "ls]minimax[>[</command>", "ls</command>", "ls"),
        *(f"ls{M}</command>{M}</command>", f"ls{M}<timeout>5{M}</command>", f"ls{M}</timeout>", f"{M}</command>ls"),
    ],
)
def test_where_a_tag_of_minimax_m3_is_lost_or_broken_it_is_text(value: str) -> None:
    begin, end = f'{M}<tool_call>\n{M}<invoke name="Bash">', f"{M}</invoke>\n{M}</tool_call>"
    written = f"{M}<timeout>5{M}</timeout>"
    for text in (f"{M}<command>{value}", f"{M}<command>{value}{written}", f"{written}{M}<command>{value}"):
        assert found(begin + text + end) == [], text
    assert found(f"{begin}{M}<command>ls{M}</command>{written}{end}") == [("Bash", {"command": "ls", "timeout": 5})]


REFUSED = {
    "the opener of a parameter that nobody declared": ("Bash", "{open:command}ls{open:force}yes{close:force}"),
    "the opener of the same parameter": ("Bash", "{open:command}ls{open:command}rm -rf /{close:command}"),
    "the opener of a parameter that was there": (
        "Read",
        "{open:limit}3{close:limit}{open:file_path}a{open:limit}5{close:limit}",
    ),
    "nothing before the opener": ("Bash", "{open:command}{open:timeout}5{close:timeout}"),
    "nothing behind the opener": ("Bash", "{open:command}ls{open:description}{close:description}"),
    "a value of another type behind the opener": ("Bash", "{open:command}ls{open:timeout}soon{close:timeout}"),
    "a quotation that goes on": ("Bash", '{open:command}echo "{open:timeout}5{close:timeout}'),
    "a here-document that goes on": ("Bash", "{open:command}cat <<EOF\n{open:timeout}5{close:timeout}"),
    "a quotation that the end of the block stands in": ("Bash", "{open:command}echo 'a{end}"),
    "the end of the block before its own closer": ("Bash", "{open:command}ls{block}{close:command}"),
    "its own closer twice": ("Bash", "{open:command}ls{close:command}{close:command}"),
    "the closer of the parameter inside it, and then its own": (
        "Bash",
        "{open:command}ls{open:timeout}5{close:timeout}{close:command}",
    ),
    "prose behind its closer": ("Bash", "{open:command}ls{close:command} lists the files{close:command}"),
    "the rest of a required parameter": ("Write", "{open:content}x{end}"),
    "another call inside it": ("Bash", "{open:command}ls {call}"),
    "another call inside it, and its own closer": ("Bash", "{open:command}ls {opening}{close:command}"),
}


def filled(family: Family, pattern: str) -> str:
    for key in ("command", "force", "timeout", "description", "limit", "file_path", "content"):
        pattern = pattern.replace(f"{{open:{key}}}", family.open(key)).replace(f"{{close:{key}}}", family.close(key))
    opening = family.begin("Read") + family.open("file_path") + "a" + family.close("file_path")
    pattern = pattern.replace("{block}", family.block[1]).replace("{call}", opening + family.end)
    return pattern.replace("{end}", "").replace("{opening}", opening)


@every_family
@pytest.mark.parametrize("name", REFUSED)
def test_where_it_is_not_clear_where_a_value_ends_it_is_text(family: Family, name: str) -> None:
    tool, pattern = REFUSED[name]
    text = family.begin(tool) + filled(family, pattern) + family.end
    assert found(text) == []


@every_family
def test_a_misspelt_closer_is_not_a_part_of_a_value(family: Family) -> None:
    closer = family.close("command").strip()
    other = closer.replace("argument", "arguments") if "argument" in closer else closer.replace("</", "</x_")
    for written in (
        closer[:-1],
        closer[:-3],
        f"{closer[:-1]} >",
        other,
        closer.replace("</", "< /"),
        "</command>",
        "<\\command>",
        "[/command]",
    ):
        for behind in ("", "\n", family.written("timeout", "5")):
            text = family.begin("Bash") + family.open("command") + "ls" + written + behind + family.end
            assert [values["command"] for _, values in found(text)] in ([], ["ls"]), text


@every_family
def test_a_closer_is_added_only_where_the_model_said_that_it_was_finished(family: Family) -> None:
    text = family.begin("Bash") + family.open("command") + "ls -la"
    assert found(text + family.end, finished=False) == []
    for end in range(len(family.block[1])):
        assert found(text + family.end[:end], finished=False) == []
        assert found(text + family.end[:end]) == []


@every_family
@pytest.mark.parametrize(
    "value", ["ls", "a\nb", "echo 'x' \"y\"", "cat <<EOF\nx\nEOF", "if a < b; then c; fi", "<b>x</b>"]
)
def test_a_value_with_its_closer_is_what_was_written(family: Family, value: str) -> None:
    text = family.call("Bash", command=value, timeout="5")
    assert found(text) == [("Bash", {"command": value, "timeout": 5})]


@every_family
def test_no_value_without_a_closer_has_a_tag_of_its_family(family: Family) -> None:
    """Every order of a few tags and words: what comes out has no tag in it, or tags in pairs."""
    pieces = [family.open("timeout"), family.close("timeout"), family.block[1], "5", "\n", family.open("force")]
    for number in range(len(pieces) ** 4):
        chosen = [pieces[number // len(pieces) ** place % len(pieces)] for place in range(4)]
        text = family.begin("Bash") + family.open("command") + "ls" + "".join(chosen) + family.end
        for call in calls_of(scan(text)):
            value = json.loads(call.arguments).get("command", "")
            opened = sum(value.count(mark) for mark in (family.open("timeout"), family.open("force")))
            closed = value.count(family.close("timeout"))
            assert opened == closed and family.block[1] not in value, text


WIRES = {
    "the end of the block": ("{open:command}ls{end}", {"command": "ls"}),
    "a declared parameter": ("{open:command}ls{open:timeout}5{close:timeout}", {"command": "ls", "timeout": 5}),
    "a parameter that nobody declared": ("{open:command}ls{open:force}5{close:force}", None),
    "its own name again": ("{open:command}ls{open:command}pwd{close:command}", None),
    "the end of the block too early": ("{open:command}ls{block}{close:command}", None),
}


@pytest.mark.parametrize("family", FORGIVING[::3], ids=lambda family: family.name)
@pytest.mark.parametrize("name", WIRES)
def test_on_every_protocol(family: Family, name: str) -> None:
    pattern, expected = WIRES[name]
    text = "Let me see.\n" + family.begin("Bash") + filled(family, pattern) + family.end
    for where, calls in runnable(Said((text,))):
        assert [call["arguments"] for call in calls] == ([expected] if expected else []), where


@pytest.mark.parametrize("finish", ["length", "filter"])
def test_nothing_is_closed_for_an_answer_that_was_cut(finish: str) -> None:
    for family in FAMILIES[::3]:
        text = family.begin("Bash") + family.open("command") + "ls" + family.end
        for where, calls in runnable(Said((text,), finish=finish)):
            assert calls == [], where
