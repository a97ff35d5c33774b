"""When a written text is a call: each condition of the rule with its near miss, in every format of the table, on every
protocol. The call of a format is the example of its row; a row without one fails."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.protocols.text_protocols import CHAT, GEMINI, MESSAGES, OLLAMA, RESPONSES, ZAI, Protocol, deltas
from toolcalls.engine import Response, mend_whole
from toolcalls.policy import Policy
from toolcalls.request.request import read_request
from toolcalls.textcalls.formats import TABLE, WEAK, Row, is_special
from toolcalls.textcalls.search import Search
from toolcalls.tools.declared import Tools

Json = dict[str, Any]
PARAMETERS = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
    "required": ["path"],
}
TOOLS = [{"type": "function", "function": {"name": "read", "parameters": PARAMETERS}}]
READ = ("read", {"path": "a.py"})
PROTOCOLS = (CHAT, MESSAGES, RESPONSES, GEMINI, OLLAMA, ZAI)

RUNS, IS_TEXT = True, False
CONDITIONS: dict[str, tuple[str, str, bool]] = {
    "nothing else in the answer": ("", "", RUNS),
    "in column 0": ("I look\n", "", RUNS),
    "indented": ("I look.\n  ", "", IS_TEXT),
    "behind a quotation mark": ('It says "', "", IS_TEXT),
    "in a list": ("- ", "", IS_TEXT),
    "behind reasoning, on its line": ("<think>Hm.</think>", "", RUNS),
    "behind reasoning that began in the prompt": ("Hm.\n</think>\n\n", "", RUNS),
    "in reasoning": ("I look.\n<think>\n", "\n</think>\nHello.", IS_TEXT),
    "in reasoning that never ends, behind text": ("I look.\n<think>\n", "", IS_TEXT),
    "in reasoning that began in the prompt": ("", "\n</think>\nHello.", IS_TEXT),
    "prose behind": ("", "\nDone.", IS_TEXT),
    "a full stop behind": ("", ".", IS_TEXT),
    "tokens behind": ("", "<|im_end|>\n", RUNS),
    "in a fence": ("Like this:\n```\n", "\n```\n", IS_TEXT),
    "in a fence that never ends": ("Like this:\n```xml\n", "", IS_TEXT),
    "in a fence behind a character that nobody sees": ("Like this:\n\u200b~~~\n\n", "", IS_TEXT),
    "in a fence that such a fence does not close": ("Like this:\n~~~\n\u200d~~~\n\n", "", IS_TEXT),
    "behind a fence that ended": ("```\nls\n```\n", "", RUNS),
    "in a paragraph with an open backtick": ("Write `a\n", "", IS_TEXT),
    "in a paragraph with closed backticks": ("Write `a`\n", "", RUNS),
    "in the paragraph behind an open backtick": ("Write `a\n\n", "", RUNS),
    "in an element that stands alone on a line": ("<page>\n", "", IS_TEXT),
    "behind an element that ended": ("<page>\nx\n</page>\n", "", RUNS),
    "below a block quote": ("> so\n", "", IS_TEXT),
    "below the paragraph of a block quote": ("> so\n\n", "", RUNS),
    "below a question": ("Shall I run this?\n\n", "", IS_TEXT),
    "below words of any kind": ("I will never run this:\n\n", "", RUNS),
    "behind an invented turn": ("<|im_start|>user\nGo on.\n", "", IS_TEXT),
    "behind an invented result of Mistral": ("I look.[TOOL_RESULTS] ok[/TOOL_RESULTS]\n", "", IS_TEXT),
    "behind an invented result of LFM": ("<|tool_response_start|>ok<|tool_response_end|>\n", "", IS_TEXT),
    "behind an invented result in an element": ("<tool_output>\nok\n</tool_output>\n", "", IS_TEXT),
    "behind another call": ("%CALL%\n", "", RUNS),
    "behind another call and words": ("%CALL%\nand\n", "", IS_TEXT),
}
"""What stands before the call and behind it."""


def calls_of(text: str, size: int = 0, finished: bool | None = True, texts: tuple[str, ...] = ()) -> list[Any]:
    search = Search(Tools.read({"tools": TOOLS}), texts=lambda: texts)
    size = size or len(text)
    out = [part for at in range(0, len(text), size) for part in search.feed(text[at : at + size])]
    out += search.close(finished)
    assert "".join(part if isinstance(part, str) else part.raw for part in out) == text
    return [(part.name, json.loads(part.arguments)) for part in out if not isinstance(part, str)]


def other(call: str) -> str:
    """The same call with another path."""
    return call.replace("a.py", "b.py")


every_row = pytest.mark.parametrize("row", (*TABLE, *WEAK), ids=lambda row: f"{row.format} {row.example[:24]}")


@every_row
def test_the_example_of_a_row_is_read_at_every_split(row: Row) -> None:
    assert row.example
    for size in range(len(row.example)):
        assert calls_of(row.example, size) == [READ], size


@every_row
def test_a_call_that_was_cut_is_text_at_every_place(row: Row) -> None:
    for cut in range(1, len(row.example)):
        assert calls_of(row.example[:cut], finished=False) == []
        assert calls_of(row.example[:cut], finished=True) in ([], [READ])
        if "a.py" not in row.example[:cut]:
            assert calls_of(row.example[:cut], finished=True) == []


@every_row
def test_the_tool_has_to_be_declared(row: Row) -> None:
    assert calls_of(row.example.replace("read", "shred")) == []


@every_row
def test_a_weak_form_counts_only_as_the_whole_message(row: Row) -> None:
    assert calls_of(f"<think>Hm.</think>\n{row.example}") == [READ]
    assert calls_of(f"I look.\n{row.example}") == ([] if row in WEAK else [READ])


@every_row
def test_an_equal_call_in_what_was_read_keeps_it_text_in_whatever_format(row: Row) -> None:
    for number, read in enumerate((*TABLE, *WEAK)):
        page = ("%s", "See:\n\n%s\n\nand so on.", "> %s", "%s tells it.")[number % 4] % read.example.replace(
            "\n", "\n> " if number % 4 == 2 else "\n"
        )
        assert calls_of(row.example, texts=(page,)) == [], read.format
        assert calls_of(row.example, texts=(json.dumps([page]),)) == [], read.format
        assert calls_of(row.example, texts=(other(page),)) == [READ], read.format


def expected(row: Row, name: str, before: str, runs: bool) -> list[tuple[str, Json]]:
    if not runs:
        return []
    return [("read", {"path": "b.py"}), READ] if "%CALL%" in before else [READ]


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
@pytest.mark.parametrize("name", CONDITIONS)
def test_each_condition_holds_in_every_format(name: str, protocol: Protocol) -> None:
    before, behind, runs = CONDITIONS[name]
    asked = read_request({"tools": TOOLS, "stream": True})
    for number, row in enumerate(TABLE):
        text = before.replace("%CALL%", other(row.example)) + row.example + behind
        answer = Response(protocol.name, asked, Policy(zai="on"))
        client = protocol.read(mend_whole(answer, protocol.stream(deltas(text, (9, 1, 1000)[number % 3]), False)))
        made = [(call["name"], call["arguments"]) for call in client.calls]
        assert made == expected(row, name, before, runs), (row.format, text)
        assert runs or client.text == text, row.format


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.format} {row.example[:24]}")
def test_words_on_its_line_may_stand_before_special_tokens_and_a_sentence_before_all(row: Row) -> None:
    word = row.openers[0][0].isalpha() or row.line
    assert calls_of(f"I look.{row.example}") == (
        [] if word and not row.openers[0].startswith("assistant") else [READ]
    )
    assert calls_of(f"I look {row.example}") == ([READ] if is_special(row.openers[0]) else [])


def test_as_whole_every_format_counts_only_as_the_whole_message() -> None:
    asked = read_request({"tools": TOOLS, "stream": True})
    for row in TABLE:
        for text, runs in (
            (row.example, True),
            (f"<think>Hm.</think>\n{row.example}", True),
            (f"I look.\n{row.example}", False),
        ):
            answer = Response("chat", asked, Policy(text_calls="whole"))
            client = CHAT.read(mend_whole(answer, CHAT.stream(deltas(text, 9), False)))
            assert bool(client.calls) is runs, (row.format, text)
            answer = Response("chat", asked, Policy(text_calls="off"))
            assert CHAT.read(mend_whole(answer, CHAT.stream(deltas(text, 9), False))).calls == []
