"""What is said around structured arguments may say that they are no call: then they do not run."""

from __future__ import annotations

import json

import pytest

from tests.must_not_run.arguments_on_wires import always_runs_with, mended, never_runs
from toolcalls.mend.arguments import Finish, mend_arguments

CALL = '{"command": "rm -rf build"}'
VALUE = {"command": "rm -rf build"}

IN_FRONT = [
    "Never run ",
    "Never run: ",
    "Do not call the tool with: ",
    "I would not use these arguments: ",
    "Example: ",
    "For example, ",
    "The user wrote: ",
    "If you agree: ",
    "Here is an example of the JSON: ",
    "The previous arguments: ",
    "Invalid arguments: ",
    "Tool result: ",
    "Observation: ",
    "Maybe ",
    "# ",
    "// ",
    "-- ",
    "; ",
    "/* ",
    "<!-- ",
    "> ",
    "- ",
    "1. ",
    "$ ",
    "echo ",
    "args = ",
    "# do not run\n",
    "// do not run\n",
    "/* do not run */ ",
    "<think>maybe ",
    "<think>",
    "<think></think>",
    "<thinking>",
    "<Reasoning>",
    "[THINK]",
    "◁think▷",
    "<seed:think>",
    "<|START_THINKING|>",
    "<|channel|>analysis<|message|>",
    "<scratchpad>",
    "<example>",
    "<del>",
    "<s>",
    "<tool_response>",
    "<function_results>",
    "<|observation|>",
    "<fake_tool_call>",
    '<tool_call note="do not run">',
    "```diff\n",
    "[Not a tool call] ",
    "(do not run) ",
    "~~",
]
PRECEDED_BY = [
    " (do not run)",
    " is what I would never run.",
    " // do not run",
    " # no\n",
    "\n\nLet me know whether I should run it.",
    " ?",
    " Done.",
    "\nIgnore this.",
    "</think>",
    "[/THINK]",
    "◁/think▷",
    "</example>",
    "</del>",
    "</tool_response>",
    " -->",
    " */",
    "~~",
    "\n```\nDo not run this.",
    "</tool_call> was wrong",
    "</tool do not run",
    "<|do not run|>",
    "<cancel>",
    "[CANCELLED]",
    " I will not run this.",
    " I'll now run this only if you agree.",
    " Note: this deletes everything.",
    " Note: do not run it.",
    " Note: this lists nothing.",
    "\nObservation: nothing was run",
    f" or {CALL}",
    " ~ " + CALL,
]


@pytest.mark.parametrize("front", IN_FRONT)
def test_text_in_front_that_is_no_label_is_refused(front: str) -> None:
    assert mended(front + CALL).status == "refused"


@pytest.mark.parametrize("behind", PRECEDED_BY)
def test_text_behind_is_refused(behind: str) -> None:
    assert mended(CALL + behind).status == "refused"


@pytest.mark.parametrize(
    "text",
    [
        f"Never run {CALL}",
        f"{CALL} (do not run)",
        f"# {CALL}",
        f"// {CALL}\n",
        f"<think>maybe {CALL}</think>",
        f"<think>no</think>{CALL}",
        f"Never run this:\n```json\n{CALL}\n```",
        f"```json\n{CALL}\n```\nThat would be wrong.",
        f"Never run {CALL.replace(chr(34), chr(39))}",
        f"Here is the JSON: {CALL} but do not use it",
        f"# do not run\n{CALL}",
        f"{CALL} // never",
        f"<example><tool_call>{CALL}</tool_call></example>",
        f"Never: {CALL}{CALL}",
        f"{CALL}...",
        f"[INST]{CALL}",
    ],
)
def test_the_worst_never_run(text: str) -> None:
    assert never_runs(text)


# Near misses.


@pytest.mark.parametrize(
    "text",
    [
        f"arguments: {CALL}",
        f"Here is the JSON: {CALL}",
        f"Sure! Here are the arguments: {CALL}",
        f"**Arguments:**\n{CALL}",
        f"json\n{CALL}",
        f"[Tool call] {CALL}",
        f"参数：{CALL}",
        f"```json\n{CALL}\n```",
        f"Here is the call:\n```json\n{CALL}\n```\n",
        f"`{CALL}`",
        f"<tool_call>\n{CALL}\n</tool_call>",
        f'<invoke name="x"><arguments>{CALL}</arguments></invoke>',
        f"[TOOL_CALLS]{CALL}[/TOOL_CALLS]",
        f"{CALL}</tool_call><|im_end|>",
        f"{CALL}<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
        f"{CALL}<end_of_turn>",
        f"{CALL}<|observation|>",
        f"{CALL}</s>",
        f"{CALL}[/INST]",
        f"{CALL}<|call|><|start|>assistant",
        f"{CALL}}}",
        f"{CALL}{CALL}",
        f"{{}}{CALL}",
        f"\ufeff{CALL}",
        f"Arguments: {CALL.replace(chr(34), chr(39))}",
        # As the corpora have it.
        f'{CALL}\n\nI\'ll now run this "command".',
        f"Action Input: {CALL}\nObservation: 20C",
    ],
)
def test_fences_templates_and_labels_are_dropped(text: str) -> None:
    assert always_runs_with(text, VALUE)


def test_the_same_words_inside_a_text_stay() -> None:
    said = "Never run {…} # </think> (do not run)"
    assert always_runs_with(f"{{'command': '{said}'}}", {"command": said})


@pytest.mark.parametrize(
    "text", ['{"limit": 5}"', "{'limit': 5}'", '{"limit": 5}\\"', '{\\"limit\\": 5}"', '{"limit": 5}”']
)
def test_a_stray_quote_behind_an_object_without_texts_is_dropped(text: str) -> None:
    assert always_runs_with(text, {"limit": 5})


def test_a_stray_quote_that_may_end_a_text_is_not() -> None:
    assert never_runs('{"command": "echo "}"')
    assert never_runs('{"limit": 5}"}')


@pytest.mark.parametrize("last", ["5", "-1.5", "true", "false", "null", "[]", "[1, 2]", "{}", '{"a": 1}'])
def test_a_stray_quote_behind_a_last_value_without_quotes_is_dropped(last: str) -> None:
    call = f'{{"command": "ls", "x": {last}}}'
    for text in (f'{call}"', f"{call}\n'", f"'{call}'", f'"{call}"', f"“{call}”"):
        assert mend_arguments(text, Finish.COMPLETE).value == json.loads(call), text
        for finish in (Finish.CUT, Finish.UNKNOWN):
            assert mend_arguments(text, finish).status == "refused", text
    for text in (f'{call}""', f'{call}"}}', f'{call}" // no', f'{call[:-1]}"}}', f'{call[:-1]}"'):
        assert mend_arguments(text, Finish.COMPLETE).status == "refused", text


@pytest.mark.parametrize("text", ["({})", "({});", "(\n{}\n)", "({}", "( {} ) ;"])
def test_round_brackets_around_the_object_are_dropped(text: str) -> None:
    for finish in Finish:
        assert mend_arguments(text.format(CALL), finish).value == VALUE
    assert mend_arguments(f"(do not run) {CALL}").status == "refused"
    assert mend_arguments(f"({CALL}) (do not run)").status == "refused"
    assert mend_arguments(f"f({CALL})").status == "refused"
