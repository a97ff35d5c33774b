"""Which parameter a value belongs to is said, or there is only one that it can be; and no parameter has two values."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.must_not_run.families import FAMILIES, Family
from tests.must_not_run.wires import Said, runnable
from tests.textcalls.declared import back, calls_of, scan

LS: list[tuple[str, Any]] = [("Bash", {"command": "ls"})]


def found(text: str) -> list[tuple[str, Any]]:
    """The calls, the same however the text is split."""
    out = scan(text)
    assert back(out) == text
    for size in (1, 4):
        assert scan(text, size=size) == out
    return [(call.name, json.loads(call.arguments)) for call in calls_of(out)]


PYTHON = {
    "one value for the one required parameter": ('[Bash("ls")]', LS),
    "one value, and a parameter with its name": (
        '[Bash("ls", timeout=5)]',
        [("Bash", {"timeout": 5, "command": "ls"})],
    ),
    "one value that is a list": ('[shell(["ls", "-l"])]', [("shell", {"command": ["ls", "-l"]})]),
    "a name and the same value without one": ('[Bash("ls", command="ls")]', LS),
    "each by its name": ('[Write(content="a", file_path="b")]', [("Write", {"content": "a", "file_path": "b"})]),
    "two values for two required parameters": ('[Write("a", "b")]', []),
    "two values, the second of them optional": ('[Bash("ls", 5)]', []),
    "three values": ('[Edit("a", "b", "c")]', []),
    "one value for one of two required parameters": ('[Write("a", content="b")]', []),
    "a value for a tool that requires nothing": ('[list_tabs("all")]', []),
    "a value and another one under its name": ('[Bash("ls", command="rm -rf /")]', []),
    "values in another order than the declared ones": ('[WebFetch("summarize", "https://x")]', []),
    "a list spread out": ('[Bash(*["ls"])]', []),
    "an object spread out": ('[Bash(**{"command": "ls"})]', []),
    "a name twice": ('[Bash(command="ls", command="rm -rf /")]', []),
    "a name twice with one value": ('[Bash(command="ls", command="ls")]', LS),
    "a key twice in an object": ('[update_plan(plan=[{"step": "a", "step": "b"}])]', []),
}


@pytest.mark.parametrize("name", PYTHON)
def test_in_python_a_value_without_a_name_is_that_of_the_one_required_parameter(name: str) -> None:
    text, expected = PYTHON[name]
    assert found(text) == expected
    assert found(f"<|python_start|>{text}<|python_end|>") == expected
    assert found(f"<|tool_call_start|>{text}<|tool_call_end|>") == expected
    assert found(f"```tool_code\n{text[1:-1]}\n```") == expected


JSON = {
    "a value in the place of the arguments": '{"name": "Bash", "arguments": "ls"}',
    "a list in the place of the arguments": '{"name": "Write", "arguments": ["a", "b"]}',
    "a key twice": '{"name": "Bash", "arguments": {"command": "ls", "command": "rm -rf /"}}',
    "a key twice, not strict": "{'name': 'Bash', 'arguments': {'command': 'ls', 'command': 'rm -rf /',}}",
    "a key twice, further inside": '{"name": "update_plan", "arguments": {"plan": [{"a": 1, "a": 2}]}}',
    "a key twice, in a string": '{"name": "Bash", "arguments": "{\\"command\\": \\"ls\\", \\"command\\": \\"rm\\"}"}',
    "the name twice": '{"name": "Bash", "name": "Task", "arguments": {"command": "ls"}}',
    "the name under two keys": '{"name": "Bash", "tool": "Task", "arguments": {"command": "ls"}}',
    "the arguments twice": '{"name": "Bash", "arguments": {"command": "ls"}, "arguments": {"command": "rm"}}',
    "the arguments under two keys": '{"name": "Bash", "arguments": {"command": "ls"}, "input": {"command": "rm"}}',
    "arguments inside and outside": '{"function": {"name": "list_tabs"}, "arguments": {"command": "rm"}}',
}
AROUND = {
    "hermes": "<tool_call>{}</tool_call>",
    "bare": "{}",
    "a fence": "```json\n{}\n```",
    "mistral": "[TOOL_CALLS][{}]",
    "llama": "<|python_tag|>{}",
    "command-r": "<|START_ACTION|>[{}]<|END_ACTION|>",
    "functools": "functools[{}]",
    "nemotron": "<TOOLCALL>[{}]</TOOLCALL>",
    "a list of calls": '{"tool_calls": [{}]}',
}


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("name", JSON)
def test_json_that_says_two_things_is_no_call(name: str, around: str) -> None:
    assert found(AROUND[around].replace("{}", JSON[name])) == []


SAME = {
    "a key twice with one value": '{"name": "Bash", "arguments": {"command": "ls", "command": "ls"}}',
    "the arguments under two keys, the same": (
        '{"name": "Bash", "arguments": {"command": "ls"}, "parameters": {"command": "ls"}}'
    ),
}


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("name", SAME)
def test_json_that_says_one_thing_twice_is_a_call(name: str, around: str) -> None:
    assert found(AROUND[around].replace("{}", SAME[name])) == LS


BODIES = {
    "kimi": "<|tool_call_begin|>functions.Bash:0<|tool_call_argument_begin|>{}<|tool_call_end|>",
    "deepseek": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>Bash<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "harmony": "<|channel|>commentary to=functions.Bash <|constrain|>json<|message|>{}<|call|>",
    "mistral": "[TOOL_CALLS]Bash[ARGS]{}",
    "glm": "<tool_call>Bash {}</tool_call>",
    "invoke": '<invoke name="Bash">{}</invoke>',
    "llama": "<function=Bash>{}</function>",
    "solar": "<|tool_call:begin|>c<|tool_call:name|>Bash<|tool_call:args|>{}<|tool_call:end|>",
    "apertus": '<|tools_prefix|>[{"Bash": {}}]<|tools_suffix|>',
    "tool tag": "<tool><name>Bash</name><arguments>{}</arguments></tool>",
    "functionary": ">>>Bash\n{}",
    "lm studio": "[TOOL_REQUEST]Bash {}[END_TOOL_REQUEST]",
}


@pytest.mark.parametrize("format", BODIES)
def test_arguments_with_a_key_twice_are_no_call_in_any_format(format: str) -> None:
    assert found(BODIES[format].replace("{}", '{"command": "ls", "command": "rm -rf /"}')) == []
    assert found(BODIES[format].replace("{}", '{"command": "ls", "command": "ls"}')) == LS
    assert found(BODIES[format].replace("{}", '{"command": "ls"}')) == LS


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_parameter_between_tags_has_one_value(family: Family) -> None:
    for first, second, calls in (("ls", "rm -rf /", []), ("ls", "ls", LS)):
        body = family.written("command", first) + "\n" + family.written("command", second)
        assert found(family.begin("Bash") + body + family.end) == calls


MORE = {
    "gemma": '<|tool_call>call:Bash{command:<|"|>ls<|"|>,command:<|"|>rm<|"|>}<tool_call|>',
    "functiongemma": "<start_function_call>call:Bash{command:<escape>ls<escape>,command:<escape>rm<escape>}<end_function_call>",
    "arrows": '[TOOL_CALL]{tool => "Bash", args => {--command "ls" --command "rm"}}[/TOOL_CALL]',
    "child tags": '<invoke name="Bash"><command>ls</command><command>rm</command></invoke>',
    "a tag without a name": '<invoke name="Bash"><parameter>ls</parameter></invoke>',
    "a value without a key": "<tool_call>Bash<arg_value>ls</arg_value></tool_call>",
    "a bare value": '<invoke name="Bash">ls</invoke>',
    "a comma in a value without quotes": "<|tool_call>call:Write{content:a, b,file_path:c}<tool_call|>",
    "two tools under one key": '<|tools_prefix|>[{"Bash": {"command": "ls"}, "Bash": {"command": "rm"}}]<|tools_suffix|>',
}


@pytest.mark.parametrize("name", MORE)
def test_other_ways_to_say_two_things(name: str) -> None:
    assert found(MORE[name]) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[Bash("ls")]', {"command": "ls"}),
        ('[Write("a.txt", "text")]', None),
        ('<tool_call>{"name": "Bash", "arguments": {"command": "ls", "command": "rm"}}</tool_call>', None),
        (
            '<tool_call>{"name": "Bash", "arguments": {"command": "ls", "command": "ls"}}</tool_call>',
            {"command": "ls"},
        ),
    ],
)
def test_on_every_protocol(text: str, expected: object) -> None:
    for where, calls in runnable(Said((text,))):
        assert [call["arguments"] for call in calls] == ([expected] if expected else []), where
