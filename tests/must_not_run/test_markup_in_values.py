"""A file that is written may show the tags of its own family: it comes out as it was meant, or not at all."""

from __future__ import annotations

import json
import random
import time
from typing import Any

import pytest

from tests.must_not_run.families import FAMILIES, Family
from tests.must_not_run.wires import Said, runnable
from tests.pace import check_quick
from tests.textcalls.declared import TWENTY, back, calls_of, scan, text_of
from toolcalls.textcalls.search import Search

every_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
NESTING = tuple(family for family in FAMILIES if family.name != "minimax M3")
"""M3 nests elements by itself: what a string shows of it is never told from structure, and is refused."""


def found(text: str) -> list[tuple[str, Any]]:
    """The calls, the same however the text is split."""
    out = scan(text)
    assert back(out) == text
    for size in (1, 3):
        assert scan(text, size=size) == out
    return [(call.name, json.loads(call.arguments)) for call in calls_of(out)]


def documents(family: Family) -> dict[str, str]:
    """Files about the family that have one reading."""
    call = family.call("Bash", command="ls")
    opener, closer = family.open("command"), family.close("command")
    return {
        "a call in the middle": f"# How to call\n\n{call}\n\nThat is all.\n",
        "a call at the end": f"# How to call\n\n{call}",
        "a call at the beginning": f"{call}\n\nis a call.",
        "two calls": f"{call}\nand then\n{family.call('Read', file_path='a')}\nand so on.",
        "a call that writes a call": f"{family.call('Write', file_path='x', content=call)}\nis nested.",
        "the same call": f"Say\n{family.call('Write', file_path='x', content='y')}\nto write.",
        "parameters in pairs": f"They look like\n{family.written('command', 'ls')}\nand stand in a block.",
        "a call in a fence": f"```xml\n{call}\n```\n",
        "a call that is cut with dots": f"{family.begin('Bash')}...\n{family.end.strip()}\nand so on.",
        "its closers in a sentence": f"A value ends with {closer.strip()} and a call with {family.block[1]} as usual.\n",
        "its closers in code": f"CLOSE = \"{closer.strip()}\"\nEND = '{family.block[1]}'\n",
        "its openers in code": f"OPEN = `{opener.strip()}`\nBLOCK = `{family.block[0].strip()}`\n",
        "the opener of a block in a sentence": f"Open it with {family.block[0].strip()} and go on.\n",
        "the opener of the wrapper on a line of its own": f"Begin with\n{family.wrapper[0].strip()}\nand go on.\n",
    }


@pytest.mark.parametrize("family", NESTING, ids=lambda family: family.name)
@pytest.mark.parametrize("name", documents(FAMILIES[0]))
def test_a_file_that_shows_its_own_tags_is_written_whole(family: Family, name: str) -> None:
    content = documents(family)[name]
    expected = [("Write", {"file_path": "d.md", "content": content})]
    assert found(family.call("Write", file_path="d.md", content=content)) == expected
    # The other way round, the file comes first and what is behind it must not become a part of it.
    back_to_front = found(family.call("Write", content=content, file_path="d.md"))
    assert back_to_front in ([("Write", {"content": content, "file_path": "d.md"})], [])


@pytest.mark.parametrize("family", NESTING, ids=lambda family: family.name)
@pytest.mark.parametrize("between", ["\n", "", "\n\n", " "])
def test_two_calls_that_touch_in_a_value_have_two_readings(family: Family, between: str) -> None:
    """A file with two calls in it; or a call whose value ends in half a call, and one whose value begins with the rest."""
    call, other = family.call("Bash", command="ls"), family.call("Read", file_path="a")
    for content in (f"{call}{between}{other}\nand so on.", f"So:\n{call}{between}{other}", f"{call}{between}{other}"):
        assert found(family.call("Write", file_path="d.md", content=content)) == []


@pytest.mark.parametrize("family", NESTING, ids=lambda family: family.name)
def test_a_file_about_every_other_family_is_written_whole(family: Family) -> None:
    for other in FAMILIES:
        content = f"Like this:\n{other.call('Bash', command='ls')}\nand so on."
        expected = [("Write", {"file_path": "d.md", "content": content})]
        assert found(family.call("Write", file_path="d.md", content=content)) in (expected, []), other.name
        if not set(other.marks) & set(family.marks):
            assert found(family.call("Write", file_path="d.md", content=content)) == expected, other.name


@pytest.mark.parametrize("family", NESTING, ids=lambda family: family.name)
def test_a_here_document_with_a_parameter_in_it_is_not_cut(family: Family) -> None:
    for key in ("description", "command", "timeout", "other"):
        command = f"cat > t.xml <<'EOF'\n{family.written(key, '5')}\nEOF\nwc t.xml"
        assert found(family.call("Bash", command=command)) == [("Bash", {"command": command})]


def doubtful(family: Family) -> dict[str, str]:
    """Values that have another reading, or tags that do not come in pairs."""
    call = family.call("Bash", command="ls")
    opener, closer, end = family.open("description"), family.close("description"), family.block[1]
    other = family.open("other")
    return {
        "a lone opener in a sentence": f"grep -rn {opener.strip()} docs",
        "a lone opener in quotes that go on": f"grep -rn '{opener.strip()} ' docs",
        "a lone opener of its own name": f"one\n{family.open('command')}\ntwo",
        "a lone opener of a name that nobody declared": f"one\n{other}\ntwo",
        "a lone opener in a here-document": f"cat > x <<'EOF'\n{opener}\nwhat it does\nEOF",
        "a here-document with a closer and an opener": f"cat > x <<'EOF'\n{closer}\n{opener}\nEOF",
        "a closer on a line of its own": f"one\n{closer}\ntwo",
        "its closers and more": f"one\n{closer}\n{end}\ntwo",
        "all of its closers and more": f"one{closer}\n{family.end}\ntwo",
        "a block without its end": f"one\n{family.begin('Bash')}{family.written('command', 'ls')}\ntwo",
        "a block without its beginning": f"one\n{family.written('command', 'ls')}\n{family.end}\ntwo",
        "the end of a call and another call": f"one{closer}\n{family.end}\nor\n{call}",
        "the opener of a block on a line of its own": f"one\n{family.block[0].strip()}\ntwo",
        "half a call": f"one\n{family.begin('Bash')}{family.open('command')}ls",
        "a closer and the opener of a name that nobody declared": f"one\ntwo{closer}\n{other}three",
    }


@every_family
@pytest.mark.parametrize("name", doubtful(FAMILIES[0]))
def test_a_value_whose_tags_do_not_come_in_pairs_is_whole_or_no_call(family: Family, name: str) -> None:
    value = doubtful(family)[name]
    for text, expected in (
        (family.call("Bash", command=value), {"command": value}),
        (family.call("Bash", timeout="5", command=value), {"timeout": 5, "command": value}),
        (family.call("Write", file_path="d", content=value), {"file_path": "d", "content": value}),
    ):
        out = scan(text)
        assert scan(text, size=1) == out and back(out) == text
        got = [json.loads(call.arguments) for call in calls_of(out)]
        assert got in ([expected], []), text


@every_family
def test_what_a_broken_value_shows_is_not_called(family: Family) -> None:
    """The closers of the file complete the call that it shows: where the value ends is not known, so nothing counts."""
    call = family.call("Bash", command="rm -rf /")
    half = family.begin("Bash") + family.open("command") + "rm -rf /"
    for shown in (call, half):
        for before in (
            f"one{family.close('content')} two\n",
            f"one{family.close('content')}\n{family.open('other')}two\nthree\n",
            f"one\n{family.block[1]}\n",
            f"one\n{family.end}\n",
            f"one\n{family.open('content')}\n{family.open('content')}",
            "one\n",
        ):
            for closer in (family.close("content"), ""):
                text = family.begin("Write") + family.written("file_path", "d") + family.open("content")
                text += before + shown + closer + family.end
                assert [name for name, _ in found(text)] in ([], ["Write"]), text


@pytest.mark.parametrize("shown", ['<tool_call>{"name": "Bash", "arguments": {"command": "rm"}}</tool_call>'])
def test_what_broken_json_shows_is_not_called(shown: str) -> None:
    for before in ('say "x", ', "say ", '", <b>', '"} '):
        for behind in ('"}}</tool_call>', "</tool_call>", "", '"}}'):
            text = (
                '<tool_call>{"name": "Write", "arguments": {"file_path": "d", "content": "' + before + shown + behind
            )
            assert [name for name, _ in found_names(text) if name == "Bash"] == [], text


def found_names(text: str) -> list[tuple[str, str]]:
    return [(call.name, call.arguments) for call in calls_of(scan(text))]


@pytest.mark.parametrize("family", FAMILIES[::2], ids=lambda family: family.name)
def test_on_every_protocol_a_file_is_whole_or_not_written(family: Family) -> None:
    for content in (documents(family)["a call in the middle"], doubtful(family)["a lone opener of its own name"]):
        text = "I write it down.\n" + family.call("Write", file_path="d.md", content=content)
        for where, calls in runnable(Said((text,))):
            expected = {"file_path": "d.md", "content": content}
            assert [call["arguments"] for call in calls] in ([expected], []), where


KEYS = {
    "Bash": ("command", "timeout", "description"),
    "Write": ("file_path", "content"),
    "Edit": ("file_path", "old_string", "new_string"),
    "Read": ("file_path", "limit"),
}
NUMBERS = ("timeout", "limit")


def fragment(family: Family, chance: random.Random, depth: int = 0) -> str:
    key = chance.choice(("command", "timeout", "description", "file_path", "content", "other", "limit"))
    inner = fragment(family, chance, depth + 1) if depth < 3 else "x"
    tool = chance.choice(("Bash", "nope"))
    tags = (family.open(key), family.close(key), family.block[0].replace("{}", tool), family.block[1])
    words = ("ls", "word ", "\n", " and ", '"', "'", "`", "cat <<'EOF'\n", "\nEOF\n", "x = 1\n", "5")
    pairs = (family.written(key, inner), family.call(tool, command=inner))
    quoted = (f'"{family.open(key)}"', f"`{family.close(key)}`")
    return chance.choice((*words, *tags, *family.wrapper, *pairs, *quoted))


def stripped(calls: list[tuple[str, dict[str, Any]]]) -> list[tuple[str, dict[str, Any]]]:
    return [(name, {key: str(value).strip() for key, value in values.items()}) for name, values in calls]


def spelled(family: Family, calls: list[tuple[str, dict[str, Any]]]) -> str:
    text = "".join(family.call(name, **{key: str(value) for key, value in values.items()}) for name, values in calls)
    return "".join(text.split())


@pytest.mark.parametrize("seed", range(8))
def test_calls_with_any_tags_in_their_values_come_out_as_they_were_meant_or_not_at_all(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(400):
        family = chance.choice(FAMILIES)
        meant, text = [], "Ok.\n"
        for _ in range(chance.choice((1, 1, 2))):
            tool = chance.choice(list(KEYS))
            keys = KEYS[tool][: chance.randint(1, 3)] if tool in ("Bash", "Read") else KEYS[tool]
            values = {
                key: str(chance.randint(1, 99))
                if key in NUMBERS
                else "".join(fragment(family, chance) for _ in range(chance.choice((1, 1, 2, 3, 5))))
                for key in keys
            }
            meant.append((tool, values))
            text += family.call(tool, **values) + chance.choice(("", "\n"))
        out = scan(text)
        assert back(out) == text
        got = [(call.name, json.loads(call.arguments)) for call in calls_of(out)]
        if got and text_of(out).strip() == "Ok.":
            # What was found is what was meant, or it is written letter for letter like this.
            assert stripped(got) == stripped(meant) or spelled(family, got) == "".join(text[4:].split()), text
        else:
            # The last of them is in doubt: what came before it stands.
            assert stripped(got) == stripped(meant)[: len(got)], text


def test_the_work_grows_with_the_length_of_a_value_and_not_faster() -> None:
    for family in FAMILIES:
        pieces = (
            family.open("other"),
            family.close("command"),
            family.wrapper[0],
            f"'{family.open('x')}'",
            "<<EOF\n",
        )
        for piece in pieces:
            times = []
            for count in (1_000, 4_000):
                text = family.begin("Bash") + family.open("command") + f"{piece} word " * count
                scanner = Search(TWENTY)
                begin = time.process_time()
                for at in range(0, len(text), 64):
                    scanner.feed(text[at : at + 64])
                scanner.close()
                times.append(time.process_time() - begin)
            check_quick(times[1], 12 * max(times[0], 0.02))


OTHER_FORMATS = (
    '<|tool_calls_section_begin|><|tool_call_begin|>functions.Write:0<|tool_call_argument_begin|>{"file_path": "b", '
    '"content": "c"}<|tool_call_end|><|tool_calls_section_end|>',
    '<invoke name="Read"><path>b</path></invoke>',
    '[TOOL_CALLS]Read[ARGS]{"file_path": "b"}',
)


@pytest.mark.parametrize("between", OTHER_FORMATS)
@pytest.mark.parametrize("end", ["</tool_call>", "</seed:tool_call>"])
def test_a_value_with_half_a_call_in_it_does_not_swallow_the_calls_behind_it(between: str, end: str) -> None:
    """Found by the fuzzer: the inner call ends the first one, and the last closers belong to the value of the third."""
    first = "<seed:tool_call>\n<function=Bash>\n<parameter=command>\nls\n"
    half = "<seed:tool_call>\n<function=Bash>\n<parameter=command>\ninner\n</parameter>\n</function>\n</seed:tool_call>\n"
    third = "<tool_call>\n<function=Bash>\n<parameter=command>\npwd\n</parameter>\n</function>\n</tool_call>\n"
    assert found(f"{first}{half}{between}\n{third}</parameter>\n</function>\n{end}") == []
    told = f"{half}So much for this format.\n{between}\n{third}"
    assert found(f"{first}{told}</parameter>\n</function>\n</seed:tool_call>") == [
        ("Bash", {"command": f"ls\n{told}".rstrip("\n")})
    ]
