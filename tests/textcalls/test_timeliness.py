"""No text is later than rule 2 allows: one character at a time, checked after each."""

from __future__ import annotations

import json
import time

import pytest

from tests.pace import check_quick
from tests.textcalls.declared import TWENTY
from toolcalls.textcalls.formats import OPENERS
from toolcalls.textcalls.held import FoundCall
from toolcalls.textcalls.search import Search
from toolcalls.tools.declared import Tools

PROSE = [
    "Plain prose, with commas; a < b and c > d, a[0] = [1, 2], and `inline code` too.\n\nSecond paragraph.\n",
    "Code:\n```python\nx = '<tool_call>'\nprint(x)\n```\nAnd <b>bold</b> text.\n",
    'Notes:\n\n> quoted <tool_call>{}</tool_call>\n\n    indented <invoke name="Bash">\n\n- item <tooling>\n',
    "#include <functional>\nstd::function<void(int)> f;\n<function-card></function-card>\n",
    "See [the docs](https://example.org) and [TOOL chest]. call: commentary on the code.\n",
    "Action items:\n- one\n- two\nActions speak louder.\n",
    "Bashful readers read on. Readers of Read me files write to us. functools is a module.\n",
    "<details><summary>x</summary></details> <DIV> <think about it>\n",
    "日本語のテキスト。<そして> 続きます 🙂\n",
]


def suffix_that_may_open(text: str) -> int:
    """The longest suffix that is a proper prefix of an opener."""
    longest = max(map(len, OPENERS))
    for length in range(min(longest, len(text)), 0, -1):
        if any(len(opener) > length and opener.startswith(text[-length:]) for opener in OPENERS):
            return length
    return 0


@pytest.mark.parametrize("text", PROSE)
def test_after_each_character_everything_but_a_possible_opener_has_come_out(text: str) -> None:
    scanner = Search(TWENTY)
    sent = ""
    for index, char in enumerate(text):
        for item in scanner.feed(char):
            assert isinstance(item, str)
            sent += item
        seen = text[: index + 1]
        held = len(seen) - len(sent)
        # A weak opener is given up as soon as no declared name begins like what stands there.
        weak = next((n for n in range(1, 24) if seen[-n:].startswith(("<function", "<invoke name="))), 0)
        word = len(seen) if seen.strip().isalnum() else 0
        assert held <= max(suffix_that_may_open(seen), weak, word), (seen[-40:], held)
    assert sent + "".join(str(item) for item in scanner.close()) == text


def feed_each(scanner: Search, text: str) -> list[int]:
    """How much has come out after each character."""
    sent, after = 0, []
    for char in text:
        sent += sum(len(item) for item in scanner.feed(char) if isinstance(item, str))
        after.append(sent)
    return after


@pytest.mark.parametrize(
    ("text", "until"),
    [
        ('{"title": "a JSON answer", "items": [1, 2, 3]}', '{"ti'),
        ('{"name": "Launch", "type": "node"}', '{"name": "Lau'),
        ('[{"id": 1, "value": 2}]', '[{"id": 1, "v'),
        ("[1, 2, 3]", "[1"),
        ("[Read](docs/read.md) is the page.", "[Read]"),
        ('```json\n{"version": 1, "name": "x"}\n```\n', '```json\n{"v'),
        ("```python\nprint(1)\n```\n", "```p"),
        ("```\nsome text\n```\n", "```\ns"),
        (">>> print(1)\n1\n", ">>> "),
    ],
)
def test_a_json_answer_streams_per_character_once_it_cannot_be_a_call(text: str, until: str) -> None:
    after = feed_each(Search(TWENTY), text)
    assert text.startswith(until)
    for index in range(len(until) - 1, len(text)):
        seen = text[: index + 1]
        assert len(seen) - after[index] <= suffix_that_may_open(seen), seen


def test_the_text_before_a_region_comes_out_before_the_region_ends() -> None:
    scanner = Search(TWENTY)
    assert scanner.feed("Let me look.\n<tool_call>\n{") == ["Let me look.\n"]
    assert scanner.held
    assert scanner.feed('"name": "list_tabs"}\n</tool_call>') == []
    assert scanner.feed("\n") == []
    [call, text] = scanner.close()
    assert isinstance(call, FoundCall) and text == "\n"
    assert not scanner.held


def test_a_call_that_text_follows_comes_out_as_it_came_with_the_first_character_of_the_text() -> None:
    scanner = Search(TWENTY)
    call = '<tool_call>{"name": "list_tabs"}</tool_call>'
    assert scanner.feed(f"{call}\n\n") == []
    assert scanner.feed("H") == [f"{call}\n\nH"]
    assert scanner.feed("ow shall I proceed?") == ["ow shall I proceed?"]
    assert not scanner.held


def test_a_region_that_turns_out_not_to_be_a_call_comes_out_at_once_and_verbatim() -> None:
    scanner = Search(TWENTY)
    assert scanner.feed("<tool_call>") == []
    assert scanner.feed(" !") == ["<tool_call> !"]
    assert not scanner.held


def test_with_no_declared_tools_nothing_is_scanned_and_nothing_is_held() -> None:
    scanner = Search(Tools())
    text = '<tool_call>{"name": "Bash", "arguments": {}}</tool_call>'
    for char in text:
        assert scanner.feed(char) == [char]
        assert not scanner.held
    assert scanner.close() == []


def test_at_the_limit_of_held_text_everything_goes_out_as_it_came_and_nothing_is_searched_any_more() -> None:
    scanner = Search(TWENTY, max_held=1000)
    call = json.dumps({"name": "Write", "arguments": {"file_path": "a", "content": "x" * 2000}})
    text = f"<tool_call>{call}</tool_call>\n<tool_call>{{}}"
    out = [item for at in range(0, len(text), 10) for item in scanner.feed(text[at : at + 10])]
    assert "".join(str(item) for item in out) == text
    assert not scanner.held
    assert scanner.close() == []


@pytest.mark.parametrize(
    "text", ["{" + " " * 4000, "[" + "\n" * 4000, "```json\n" + " " * 4000, "call:" + "a" * 4000]
)
def test_a_message_that_may_begin_like_a_call_is_held_for_200_characters_at_most(text: str) -> None:
    after = feed_each(Search(TWENTY), text)
    assert all(index + 1 - sent <= 210 for index, sent in enumerate(after))


@pytest.mark.parametrize("text", ['{"id": "%s", "rows": []}' % ("x" * 400), '{"index": [1, 2], "rows": []}'])
def test_a_json_answer_with_a_key_of_calls_streams(text: str) -> None:
    assert feed_each(Search(TWENTY), text)[-1] >= len(text) - 1


@pytest.mark.parametrize(
    "head",
    [
        *('<invoke name="Bash">\n', "<function=Bash>\n", "<tool_call>Bash\n", '<tool_call>{"name": ', "[TOOL_CALLS]"),
        *("<|tool_call_start|>[Bash(", "<|tool_call>call:Bash{", ']<]minimax[>[<invoke name="Bash">', "a <", "<"),
    ],
)
@pytest.mark.parametrize("size", [20_000, 200_000, 2_000_000])
def test_heads_that_are_no_call_stall_nothing(head: str, size: int) -> None:
    text, scanner, slowest = head * (size // len(head)), Search(TWENTY), 0.0
    for at in range(0, len(text) + 1, 65536):
        begin = time.process_time()
        out = (
            scanner.feed(text[at : at + 65536])
            if at + 65536 <= len(text)
            else scanner.feed(text[at:]) + scanner.close()
        )
        slowest = max(slowest, time.process_time() - begin)
        assert all(isinstance(part, str) for part in out)
    check_quick(slowest, 0.1)
