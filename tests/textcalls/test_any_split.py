"""Random text built from the fragments of all formats: the split never matters, and nothing is lost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.textcalls.declared import TWENTY, back, scan, scan_pieces
from toolcalls.textcalls.formats import OPENERS as ALL

OPENERS = sorted(ALL)
FRAGMENTS = [
    *OPENERS,
    *(
        "`",
        "``",
        "```",
        "````",
        "~~~",
        "```json\n",
        "```tool_code\n",
        "> ",
        ">>>",
        "    ",
        "- ",
        "1. ",
        "\n",
        "\n\n",
    ),
    *(
        " ",
        "\t",
        "\r\n",
        "x",
        "Ok.",
        "c",
        "commentary to=functions.",
        "Bash",
        "bash",
        "list_tabs",
        "Read",
        "nope",
    ),
    *('{"name": "Bash", "arguments": {"command": "ls"}}', '{"command": "ls"}', "{}", '{"name": "list_tabs"}'),
    *(
        "{'name': 'Read', 'parameters': {'file_path': 'a'}}",
        "{",
        "}",
        "[",
        "]",
        '"',
        "'",
        "\\",
        ",",
        ":",
        ";",
    ),
    *("<function=Bash>", "<function Bash>", "<parameter=command>", "\nls\n", "</parameter>", "</function>"),
    *("</tool_call>", "</tool_calls>", '<invoke name="Bash">', '<parameter name="command">', "</invoke>"),
    *(
        "</function_calls>",
        "<arg_key>command</arg_key>",
        "<arg_value>",
        "</arg_value>",
        "\\n",
        "<command>",
        "</command>",
    ),
    *("functions.Bash:0", "<|tool_call_argument_begin|>", "<|tool_call_end|>", "<|tool_calls_section_end|>"),
    *(
        "<｜DSML｜tool_calls>",
        '<｜DSML｜invoke name="Bash">',
        '<｜DSML｜parameter name="command" string="true">',
    ),
    *(
        "</｜DSML｜parameter>",
        "</｜DSML｜invoke>",
        "</｜DSML｜tool_calls>",
        "<｜tool▁sep｜>",
        "<｜tool▁call▁end｜>",
    ),
    *(
        "<|message|>",
        " to=functions.Bash",
        "<|call|>",
        "<|end|>",
        "analysis",
        "[ARGS]",
        "[/TOOL_CALLS]",
        "[CALL_ID]",
    ),
    *(
        '[Bash(command="ls")]',
        "<|python_end|>",
        "<|tool_call_end|>",
        "call:Bash{",
        "command:",
        '<|"|>',
        "<tool_call|>",
    ),
    *(
        "<think>",
        "</think>",
        "<!--",
        "-->",
        "<pre>",
        "</pre>",
        "<code>",
        "</code>",
        '"""',
        "<<'EOF'",
        "EOF",
        "<<EOF",
    ),
    *('<|open|>call tool="Bash"<|sep|>', "<|close|>call<|sep|>", "<|sep|>", "Action:", "functools["),
    *("<name>Bash</name>", "<arguments>", "</arguments>", "</tool>", "[TOOL_REQUEST_END]", "[/TOOL_CALL]"),
    *("<thinking>", "</thinking>", "[THINK]", "[/THINK]", "◁think▷", "◁/think▷", "<page>", "</page>", "“", "”"),
    *("„", "«", "»", "/*", "*/", "@@ -1 +1 @@\n", "key: |\n", "\u200b", "\u00a0", "User: ", "2026-11-16 10:00 "),
    *("<|eot|>", "<|observation|>", "[e~[", "\\begin{x}", "[code]", "{{{", "}}}", "[[", "= `"),
    *('{tool => "Bash", args => {--command "ls"}}', "]<]minimax[>[", "<", "<<", "commentary"),
]


@st.composite
def texts(draw: st.DrawFn) -> str:
    parts = draw(st.lists(st.sampled_from(FRAGMENTS), max_size=24))
    return "".join(part if draw(st.integers(0, 5)) else part[: draw(st.integers(0, len(part)))] for part in parts)


@settings(max_examples=600, deadline=None)
@given(texts(), st.lists(st.integers(1, 12), min_size=1, max_size=40), st.booleans())
def test_any_split_gives_the_same_result_and_nothing_is_lost(text: str, sizes: list[int], finished: bool) -> None:
    whole = scan(text, finished=finished)
    assert back(whole) == text
    assert scan(text, size=1, finished=finished) == whole
    pieces, at, turn = [], 0, 0
    while at < len(text):
        size = sizes[turn % len(sizes)]
        pieces.append(text[at : at + size])
        at, turn = at + size, turn + 1
    assert scan_pieces(pieces, TWENTY, finished) == whole


@settings(max_examples=150, deadline=None)
@given(texts(), st.integers(1, 60))
def test_any_split_gives_the_same_result_at_the_limit_of_held_text(text: str, limit: int) -> None:
    whole = scan(text, max_held=limit)
    assert back(whole) == text
    assert scan(text, size=1, max_held=limit) == whole
    assert scan(text, size=3, max_held=limit) == whole


LS = '<tool_call>{"name": "Bash", "arguments": {"command": "ls"}}</tool_call>'
NOPE = '<invoke name="nope">\n<parameter name="x">1</parameter>\n</invoke>'
CUTS = {
    "half an opener behind half a longer one": (f"<|im_start|>assistant<|python_tag|>{LS[11:-12]}", 1),
    "half an opener behind a token of reasoning": (f"[THINK]<|tool_call|>{LS[11:-12]}", 1),
    "a word that begins a call behind another call": (
        f'{LS}\ncommentary to=functions.Read json{{"file_path": "a"}}',
        2,
    ),
    "a line that begins a call behind another call": (
        f'{LS}\nAction:```json\n[{{"tool_name": "Read", "parameters": {{"file_path": "a"}}}}]\n```',
        2,
    ),
    "a word that begins a call behind another of its form": (
        'commentary to=functions.Bash json{"command": "ls"}\ncommentary to=functions.Bash json{"command": "pwd"}',
        2,
    ),
    "a semicolon between calls": (f"<|python_tag|>{LS[11:-12]}; {LS[11:-12]}", 2),
    "a semicolon and a list": (f"<|python_tag|>{LS[11:-12]}; [{LS[11:-12]}]", 2),
    "a semicolon behind a call": (f"<|python_tag|>{LS[11:-12]};", 0),
    "an opener behind another": ('<tool_call>\n[TOOL_CALLS]Bash[ARGS]{"command": "ls"}', 1),
    "a call behind a turn that was given away": (f"{LS}<|observation|>{LS}", 0),
    "a call behind one of a tool that nobody declared": (f"{NOPE}\n{LS}", 0),
    "a call in a value of one that nobody declared": (f'<invoke name="nope"><parameter name="content">\n{LS}', 0),
    "a call behind a broken one, and a closer of reasoning before both": (
        f'[/THINK]<tool_call>{{name": "Grep\n{LS}',
        0,
    ),
    "a turn of a tool": (f"Ok.\n<|im_start|>tool\nok\n{LS}", 0),
    "a turn of a function": (f"Ok.\n<|im_start|>function\nok\n{LS}", 0),
    "a turn of K3": (f'Ok.\n<|open|>message role="tool"\n{LS}', 0),
    "a turn behind a closer of reasoning": (f"Human: a</think>\n{LS}", 0),
    "a channel of reasoning": (f"Ok.\n<|channel|>analysis<|message|>Hm.\n{LS}", 0),
    "a channel for the user": (f"<|channel|>analysis<|message|>Hm.<|channel|>final<|message|>{LS}", 1),
    "a word of Python": ('[Bash(command="ls", timeout=None)]', 1),
    "reasoning with a tag in an attribute": (f"Ok.\n\\<think>\n{LS}", 0),
}
"""Texts, and how many calls are in each."""


@pytest.mark.parametrize("name", CUTS)
def test_a_cut_anywhere_changes_nothing(name: str) -> None:
    text, calls = CUTS[name]
    for finished in (True, None):
        whole = scan(text, finished=finished)
        assert sum(not isinstance(part, str) for part in whole) == calls
        for at in range(1, len(text)):
            assert scan_pieces([text[:at], text[at:]], TWENTY, finished) == whole, at
        for size in range(1, 8):
            assert scan(text, size=size, finished=finished) == whole, size
