"""Each format of the catalogue with the malformed variants that were seen, beyond what the corpus shows."""

from __future__ import annotations

import json
from typing import Any

import json5
import pytest

from tests.textcalls.declared import TWENTY, back, calls_of, scan, text_of
from toolcalls.textcalls.search import Search
from toolcalls.tools.declared import Tools

LS = [("Bash", {"command": "ls"})]
TWO = [("Bash", {"command": "ls"}), ("Read", {"file_path": "a"})]
TABS: list[tuple[str, Any]] = [("list_tabs", {})]
A = "antml" + ":"  # the namespace
M = "]<]minimax[>["

CASES: dict[str, tuple[str, list[tuple[str, Any]], str]] = {
    "Laguna, which may write the user's tag for the call's": (
        "I look.<user>Bash\n<arg_key>command</arg_key>\n<arg_value>ls</arg_value>\n</user>",
        LS,
        "I look.",
    ),
    "several invokes in one wrapper": (
        '<function_calls>\n<invoke name="Bash">\n<parameter name="command">ls</parameter>\n</invoke>\n'
        '<invoke name="Read">\n<parameter name="file_path">a</parameter>\n</invoke>\n</function_calls>',
        TWO,
        "",
    ),
    "the namespace on all tags": (
        f'<{A}function_calls>\n<{A}invoke name="Bash">\n<{A}parameter name="command">ls</{A}parameter>\n'
        f"</{A}invoke>\n</{A}function_calls>",
        LS,
        "",
    ),
    "the namespace dropped on some tags": (
        f'<{A}function_calls>\n<invoke name="Bash">\n<{A}parameter name="command">ls</{A}parameter>\n'
        f"</invoke>\n</{A}function_calls>",
        LS,
        "",
    ),
    "a bare invoke with the namespace": (
        f'Ok.\n<{A}invoke name="Bash">\n<{A}parameter name="command">ls</{A}parameter>\n</{A}invoke>',
        LS,
        "Ok.\n",
    ),
    "a lone word in the place of the wrapper": (
        'court\n<invoke name="Bash">\n<parameter name="command">ls</parameter>\n</invoke>',
        LS,
        "court\n",
    ),
    "an attribute that says string": (
        '<invoke name="Bash">\n<parameter name="command" string="true">ls</parameter>\n</invoke>',
        LS,
        "",
    ),
    "an invoke with a JSON body": ('<invoke name="Bash">{"command": "ls"}</invoke>', LS, ""),
    "a value that documents the same syntax": (
        '<function_calls>\n<invoke name="Write">\n<parameter name="file_path">d.md</parameter>\n'
        '<parameter name="content">Call:\n<invoke name="Bash">\n<parameter name="command">ls</parameter>\n'
        "</invoke>\nand so on</parameter>\n</invoke>\n</function_calls>",
        [
            (
                "Write",
                {
                    "file_path": "d.md",
                    "content": 'Call:\n<invoke name="Bash">\n<parameter name="command">ls</parameter>\n'
                    "</invoke>\nand so on",
                },
            )
        ],
        "",
    ),
    "qwen with several functions in one wrapper": (
        "<tool_call>\n<function=Bash>\n<parameter=command>\nls\n</parameter>\n</function>\n"
        "<function=Read>\n<parameter=file_path>\na\n</parameter>\n</function>\n</tool_call>",
        TWO,
        "",
    ),
    "qwen without the outer close": (
        "<tool_call>\n<function=Bash>\n<parameter=command>\nls\n</parameter>\n</function>",
        LS,
        "",
    ),
    "qwen without the close of the last parameter": (
        "<tool_call>\n<function=Bash>\n<parameter=command>\nls\n</function>\n</tool_call>",
        LS,
        "",
    ),
    "qwen without any inner close": (
        "<tool_call>\n<function=Bash>\n<parameter=command>\nls\n</tool_call>",
        LS,
        "",
    ),
    "qwen with a space for the sign": (
        "<function Bash>\n<parameter=command>\nls\n</parameter>\n</function>",
        LS,
        "",
    ),
    "qwen with the name glued": (
        "<functionBash>\n<parameter=command>\nls\n</parameter>\n</function>",
        LS,
        "",
    ),
    "qwen with toolcall": (
        "<toolcall>\n<function=Bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</toolcall>",
        LS,
        "",
    ),
    "qwen glued to prose": (
        "Let me see:<tool_call>\n<function=Bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>",
        LS,
        "Let me see:",
    ),
    "qwen strips one newline a side and no more": (
        "<tool_call>\n<function=Bash>\n<parameter=command>\n\nls\n\n</parameter>\n</function>\n</tool_call>",
        [("Bash", {"command": "\nls\n"})],
        "",
    ),
    "qwen with CRLF": (
        "<tool_call>\r\n<function=Bash>\r\n<parameter=command>\r\nls\r\n</parameter>\r\n</function>\r\n</tool_call>",
        LS,
        "",
    ),
    "qwen that writes about qwen": (
        "<tool_call>\n<function=Write>\n<parameter=file_path>\nd\n</parameter>\n<parameter=content>\n"
        "<tool_call>\n<function=Bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>\nend\n"
        "</parameter>\n</function>\n</tool_call>",
        [
            (
                "Write",
                {
                    "file_path": "d",
                    "content": "<tool_call>\n<function=Bash>\n<parameter=command>\nls\n</parameter>\n</function>\n"
                    "</tool_call>\nend",
                },
            )
        ],
        "",
    ),
    "the name of the tool in another case": (
        "<tool_call>bash\n<arg_key>command</arg_key>\n<arg_value>ls</arg_value>\n</tool_call>",
        LS,
        "",
    ),
    "glm 4.7 inline and glued to a sentence": (
        "好的。<tool_call>Bash<arg_key>command</arg_key><arg_value>ls</arg_value></tool_call>",
        LS,
        "好的。",
    ),
    "glm name and json on one line": ('<tool_call>Bash {"command": "ls"}</tool_call>', LS, ""),
    "glm without the close at the end": (
        "<tool_call>Bash\n<arg_key>command</arg_key>\n<arg_value>ls</arg_value>\n",
        LS,
        "\n",
    ),
    "glm without the close of a value before the next key": (
        "<tool_call>Read\n<arg_key>file_path</arg_key>\n<arg_value>a\n<arg_key>limit</arg_key>\n"
        "<arg_value>3</arg_value>\n</tool_call>",
        [("Read", {"file_path": "a", "limit": 3})],
        "",
    ),
    "hermes with a fence inside": (
        '<tool_call>\n```json\n{"name": "Bash", "arguments": {"command": "ls"}}\n```\n</tool_call>',
        LS,
        "",
    ),
    "hermes with string-encoded arguments": (
        '<tool_call>\n{"name": "Bash", "arguments": "{\\"command\\": \\"ls\\"}"}\n</tool_call>',
        LS,
        "",
    ),
    "hermes in tools": ('<tools>\n{"name": "Bash", "arguments": {"command": "ls"}}\n</tools>', LS, ""),
    "hermes without the close before the next call": (
        '<tool_call>\n{"name": "Bash", "arguments": {"command": "ls"}}\n<tool_call>\n'
        '{"name": "Read", "arguments": {"file_path": "a"}}\n</tool_call>',
        TWO,
        "",
    ),
    "hermes with a bracket too many": (
        '<tool_call>{"name": "Bash", "arguments": {"command": "ls"}}}</tool_call>',
        LS,
        "",
    ),
    "hermes with the last bracket missing at the end": (
        '<tool_call>{"name": "Bash", "arguments": {"command": "ls"}',
        LS,
        "",
    ),
    "hermes with an end token behind it": (
        '<tool_call>{"name": "Bash", "arguments": {"command": "ls"}}</tool_call><|im_end|>',
        LS,
        "",
    ),
    "hermes with a close too many": (
        '<tool_call>{"name": "list_tabs"}</tool_call></tool_call>',
        TABS,
        "",
    ),
    "two objects in one hermes tag": (
        '<tool_call>\n{"name": "Bash", "arguments": {"command": "ls"}}\n'
        '{"name": "Read", "arguments": {"file_path": "a"}}\n</tool_call>',
        TWO,
        "",
    ),
    "dsml with function_calls": (
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="Bash">\n<｜DSML｜parameter name="command" string="true">ls'
        "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        LS,
        "",
    ),
    "dsml without the section": (
        '<｜DSML｜invoke name="Bash">\n<｜DSML｜parameter name="command" string="true">ls</｜DSML｜parameter>\n'
        "</｜DSML｜invoke>",
        LS,
        "",
    ),
    "dsml 4.1 with leading spaces": (
        '<｜DSML｜ calls>\n<｜DSML｜ invoke name="Bash">\n<｜DSML｜ parameter name="command" string="true">ls'
        "</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n</｜DSML｜ calls>",
        LS,
        "",
    ),
    "dsml closing itself": (
        '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="list_tabs"/>\n</｜DSML｜tool_calls>',
        TABS,
        "",
    ),
    "dsml with a JSON body": (
        '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="Bash">\n{"command": "ls"}\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>',
        LS,
        "",
    ),
    "dsml with JSON in the section": (
        '<｜DSML｜tool_calls>\n{"name": "Bash", "arguments": {"command": "ls"}}\n</｜DSML｜tool_calls>',
        LS,
        "",
    ),
    "dsml with input for a wrapper": (
        '<｜DSML｜invoke name="Bash"><｜DSML｜parameter name="input" string="false">{"command": "ls"}'
        "</｜DSML｜parameter></｜DSML｜invoke>",
        LS,
        "",
    ),
    "dsml with ASCII bars": (
        '<|DSML|tool_calls><|DSML|invoke name="Bash"><|DSML|parameter name="command" string="true">ls'
        "</|DSML|parameter></|DSML|invoke></|DSML|tool_calls>",
        LS,
        "",
    ),
    "dsml with spaced bars": (
        '< | DSML | tool_use>\n< | DSML | invoke name="Bash">\n< | DSML | parameter name="command" string="true">ls'
        "</ | DSML | parameter>\n</ | DSML | invoke>\n</ | DSML | tool_use>",
        LS,
        "",
    ),
    "dsml with JSON for an undeclared parameter": (
        '<｜DSML｜invoke name="list_tabs"><｜DSML｜parameter name="depth" string="false">{"a": [1]}'
        "</｜DSML｜parameter></｜DSML｜invoke>",
        [("list_tabs", {"depth": {"a": [1]}})],
        "",
    ),
    "kimi without the section": (
        '<|tool_call_begin|>functions.Bash:0<|tool_call_argument_begin|>{"command": "ls"}<|tool_call_end|>',
        LS,
        "",
    ),
    "kimi in parallel": (
        "Ok. <|tool_calls_section_begin|><|tool_call_begin|>functions.Bash:0<|tool_call_argument_begin|>"
        '{"command": "ls"}<|tool_call_end|><|tool_call_begin|>functions.Read:1<|tool_call_argument_begin|>'
        '{"file_path": "a"}<|tool_call_end|><|tool_calls_section_end|>',
        TWO,
        "Ok. ",
    ),
    "kimi encoded twice": (
        '<|tool_call_begin|>functions.Bash:0<|tool_call_argument_begin|>"{\\"command\\": \\"ls\\"}"<|tool_call_end|>',
        LS,
        "",
    ),
    "kimi without its ends": (
        '<|tool_calls_section_begin|><|tool_call_begin|>functions.Bash:0<|tool_call_argument_begin|>{"command": "ls"}',
        LS,
        "",
    ),
    "kimi K3 with entities and several calls": (
        '<|open|>tools<|sep|><|open|>call tool="Bash" index="1"<|sep|><|open|>argument key="command" type="string"'
        '<|sep|>ls<|close|>argument<|sep|><|close|>call<|sep|><|open|>call tool="Read" index="2"<|sep|>'
        '<|open|>argument key="file_path" type="string"<|sep|>a<|close|>argument<|sep|><|close|>call<|sep|>'
        "<|close|>tools<|sep|>",
        TWO,
        "",
    ),
    "kimi K3 with an object": (
        '<|open|>tools<|sep|><|open|>call tool="update_plan"<|sep|><|open|>argument key="plan" type="array"<|sep|>'
        '[{"step": "a &amp; b"}]<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>',
        [("update_plan", {"plan": [{"step": "a &amp; b"}]})],
        "",
    ),
    "minimax in tool_calls": (
        '<tool_calls>\n<invoke name="Bash">\n<parameter name="command">ls</parameter>\n</invoke>\n</tool_calls>',
        LS,
        "",
    ),
    "minimax M1": (
        '<tool_calls>\n{"name": "Bash", "arguments": {"command": "ls"}}\n'
        '{"name": "Read", "arguments": {"file_path": "a"}}\n</tool_calls>',
        TWO,
        "",
    ),
    "minimax with arrows": (
        '[TOOL_CALL]\n{tool => "Bash", args => {\n  --command "ls"\n  --timeout 5\n}}\n[/TOOL_CALL]',
        [("Bash", {"command": "ls", "timeout": 5})],
        "",
    ),
    "minimax M3 nests": (
        f'{M}<tool_call>\n{M}<invoke name="TodoWrite">\n{M}<todos>{M}<item>{M}<content>a{M}</content>{M}</item>'
        f"{M}<item>{M}<content>b{M}</content>{M}</item>{M}</todos>\n{M}</invoke>\n{M}</tool_call>",
        [("TodoWrite", {"todos": [{"content": "a"}, {"content": "b"}]})],
        "",
    ),
    "harmony with the recipient in the role": (
        '<|start|>assistant to=functions.Bash<|channel|>commentary json<|message|>{"command": "ls"}<|call|>',
        LS,
        "",
    ),
    "harmony stripped and glued": (
        'Need to look.assistantcommentary to=functions.Bash json{"command": "ls"}',
        LS,
        "Need to look.",
    ),
    "harmony glued, with its channel token": (
        'Need to look.assistant<|channel|>commentary to=functions.Bash <|constrain|>json<|message|>{"command": "ls"}<|call|>',
        LS,
        "Need to look.",
    ),
    "harmony glued, the recipient in the role": (
        'Need to look.assistant to=functions.Bash<|channel|>commentary <|constrain|>json<|message|>{"command": "ls"}<|call|>',
        LS,
        "Need to look.",
    ),
    "harmony glued, every token stripped": (
        'Need to look.assistant to=functions.Bashcommentary json{"command": "ls"}',
        LS,
        "Need to look.",
    ),
    "harmony without its first token, as the whole message": (
        'assistant<|channel|>commentary to=functions.Bash <|constrain|>json<|message|>{"command": "ls"}<|call|>',
        LS,
        "",
    ),
    "harmony stripped, as the whole message": ('assistantcommentary to=functions.Bash json{"command": "ls"}', LS, ""),
    "harmony stripped, two calls on two lines": (
        'commentary to=functions.Bash json{"command": "ls"}\ncommentary to=functions.Read json{"file_path": "a"}',
        TWO,
        "",
    ),
    "harmony stripped, two calls": (
        'commentary to=functions.Bash json{"command": "ls"}assistantcommentary to=functions.Read json{"file_path": "a"}',
        TWO,
        "",
    ),
    "mistral several": (
        '[TOOL_CALLS]Bash[ARGS]{"command": "ls"}[TOOL_CALLS]Read[ARGS]{"file_path": "a"}</s>',
        TWO,
        "",
    ),
    "mistral with ids in the array": (
        '[TOOL_CALLS][{"name": "Bash", "arguments": {"command": "ls"}, "id": "abcdefghi"}]',
        LS,
        "",
    ),
    "mistral without its first token": ('Bash[ARGS]{"command": "ls"}', LS, ""),
    "mistral without its first token, with an id": ('Bash[CALL_ID]abcdefghi[ARGS]{"command": "ls"}', LS, ""),
    "mistral several, without the first token": (
        'Bash[ARGS]{"command": "ls"}[TOOL_CALLS]Read[ARGS]{"file_path": "a"}',
        TWO,
        "",
    ),
    "deepseek V3 in parallel": (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>Bash\n```json\n"
        '{"command": "ls"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>Read\n```json\n'
        '{"file_path": "a"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
        TWO,
        "",
    ),
    "llama several": (
        '<|python_tag|>{"name": "Bash", "parameters": {"command": "ls"}}; '
        '{"name": "Read", "parameters": {"file_path": "a"}}',
        TWO,
        "",
    ),
    "pythonic several": ('[Bash(command="ls"), Read(file_path="a")]', TWO, ""),
    "pythonic without arguments": ("[list_tabs()]", TABS, ""),
    "pythonic nested values": (
        '[update_plan(plan=[{"step": "x", "done": False}], explanation="a\\nb")]',
        [("update_plan", {"plan": [{"step": "x", "done": False}], "explanation": "a\nb"})],
        "",
    ),
    "pythonic strings in brackets": (
        '[Bash(command=("git add -A && "\n  "git commit -m x"), timeout=(1))]',
        [("Bash", {"command": "git add -A && git commit -m x", "timeout": 1})],
        "",
    ),
    "pythonic tuples": (
        '[update_plan(plan=("a",)), update_plan(plan=("a", "b")), update_plan(plan=())]',
        [("update_plan", {"plan": ["a"]}), ("update_plan", {"plan": ["a", "b"]}), ("update_plan", {"plan": []})],
        "",
    ),
    "pythonic over several lines": ('[\n    Bash(command="ls"),\n    Read(file_path="a"),\n]', TWO, ""),
    "tool_code of several lines": (
        '```tool_code\nprint(default_api.Bash(command="ls"))\nprint(default_api.Read(file_path="a"))\n```',
        TWO,
        "",
    ),
    **{
        f"{token} for the closer": (
            f'<tool_call>[{{"name": "Bash", "arguments": {{"command": "ls"}}}}]{token}',
            LS,
            "",
        )
        for token in ("<|end_of_text|>", "<|im_end|>", "</s>", "\n<|eot_id|>")
    },
    **{
        f"{token} behind": (
            f'<TOOLCALL>[{{"name": "Bash", "arguments": {{"command": "ls"}}}}]</TOOLCALL>{token}',
            LS,
            "",
        )
        for token in (
            "<SPECIAL_12>",
            "<|assistant_end|>",
            "<|calls|>",
            "</longcat_s>",
            "<|role_end|>",
            "[|endofturn|]",
        )
    },
    "tool_code without print": ('```tool_code\nBash(command="ls")\n```', LS, ""),
    "gemma 4 nested": (
        '<|tool_call>call:update_plan{plan:[{step:<|"|>a, {b}<|"|>,n:2}],explanation:<|"|>x<|"|>}<tool_call|>',
        [("update_plan", {"plan": [{"step": "a, {b}", "n": 2}], "explanation": "x"})],
        "",
    ),
    "gemma 4 with commas behind the last": (
        '<|tool_call>call:update_plan{plan:[<|"|>a<|"|>,<|"|>b<|"|>,],explanation:<|"|>x<|"|>,}<tool_call|>',
        [("update_plan", {"plan": ["a", "b"], "explanation": "x"})],
        "",
    ),
    "gemma 4 with a comma before each end": (
        '<|tool_call>call:update_plan{plan:[{step:<|"|>a<|"|>,n:2, }, ], }<tool_call|>',
        [("update_plan", {"plan": [{"step": "a", "n": 2}]})],
        "",
    ),
    "functiongemma": (
        "<start_function_call>call:Read{file_path:<escape>a<escape>,limit:3}<end_function_call>",
        [("Read", {"file_path": "a", "limit": 3})],
        "",
    ),
    "granite 3.1": ('<tool_call>[{"name": "Bash", "arguments": {"command": "ls"}}]', LS, ""),
    "xlam after thinking": (
        '<think>hm</think>\n[{"name": "Bash", "arguments": {"command": "ls"}}]',
        LS,
        "<think>hm</think>\n",
    ),
    **{
        f"xlam after {tag}": (
            f'<{tag}>hm</{tag}>\n[{{"name": "Bash", "arguments": {{"command": "ls"}}}}]',
            LS,
            f"<{tag}>hm</{tag}>\n",
        )
        for tag in ("thinking", "thought", "reasoning", "scratchpad", "analysis", "reflection")
    },
    "xlam fenced": ('```json\n[{"name": "Bash", "arguments": {"command": "ls"}}]\n```', LS, ""),
    "longcat pairs": (
        "<longcat_tool_call>Bash\n<longcat_arg_key>command</longcat_arg_key>\n"
        "<longcat_arg_value>ls</longcat_arg_value>\n</longcat_tool_call>",
        LS,
        "",
    ),
    "hunyuan V3 without a nonce": (
        "<tool_calls>\n<tool_call>Bash<tool_sep>\n<arg_key>command</arg_key>\n<arg_value>ls</arg_value>\n"
        "</tool_call>\n<tool_call>Read<tool_sep>\n<arg_key>file_path</arg_key>\n<arg_value>a</arg_value>\n"
        "</tool_call>\n</tool_calls>",
        TWO,
        "",
    ),
    "functools": ('functools[{"name": "Bash", "arguments": {"command": "ls"}}]', LS, ""),
    "command r plus": (
        'I will look.\nAction: ```json\n[\n    {\n        "tool_name": "Bash",\n        "parameters": '
        '{"command": "ls"}\n    }\n]\n```',
        LS,
        "I will look.\n",
    ),
    "functionary several": ('>>>Bash\n{"command": "ls"}\n>>>Read\n{"file_path": "a"}', TWO, ""),
    "functionary with text for the user": (
        '>>>all\nI look.\n>>>Bash\n{"command": "ls"}\n>>>Read\n{"file_path": "a"}',
        TWO,
        ">>>all\nI look.\n",
    ),
    "internlm": (
        'Ok.<|action_start|> <|plugin|>\n{"name": "Bash", "parameters": {"command": "ls"}}<|action_end|>',
        LS,
        "Ok.",
    ),
    "lfm2 JSON": (
        '<|tool_call_start|>[{"name": "Bash", "arguments": {"command": "ls"}}]<|tool_call_end|>',
        LS,
        "",
    ),
    "nemotron": ('<TOOLCALL>[{"name": "list_tabs", "arguments": {}}]</TOOLCALL>', TABS, ""),
    "apertus": (
        '<|tools_prefix|>[{"Bash": {"command": "ls"}}, {"Read": {"file_path": "a"}}]<|tools_suffix|>',
        TWO,
        "",
    ),
    "minicpm": (
        '<function name="Bash"><param name="command"><![CDATA[ls]]></param></function>',
        LS,
        "",
    ),
    "minicpm without CDATA": ('<function name="Bash"><param name="command">ls</param></function>', LS, ""),
    "solar": (
        '<|tool_call:begin|>c1<|tool_call:name|>Bash<|tool_call:args|>{"command": "ls"}<|tool_call:end|>',
        LS,
        "",
    ),
    "lm studio": (
        '[TOOL_REQUEST]\n{"name": "Bash", "arguments": {"command": "ls"}}\n[END_TOOL_REQUEST]',
        LS,
        "",
    ),
    "lm studio by name, in its block": ('[TOOL_REQUEST]\nBash {"command": "ls"}\n[END_TOOL_REQUEST]', LS, ""),
    "lm studio by name, on a line of its own": ('[TOOL_REQUEST]\nBash\n{"command": "ls"}[END_TOOL_REQUEST]', LS, ""),
    "lm studio by name": ('Bash {"command": "ls"}[TOOL_REQUEST_END]', LS, ""),
    "atem": (
        '<atem:function_calls><atem:invoke name="Bash"><atem:parameter name="command">ls</atem:parameter>'
        "</atem:invoke></atem:function_calls>",
        LS,
        "",
    ),
    "xai": (
        '<xai:function_call name="Bash"><parameter name="command">ls</parameter></xai:function_call>',
        LS,
        "",
    ),
    "the generic tag": ("<tool><name>list_tabs</name><arguments>{}</arguments></tool>", TABS, ""),
    "bare json with string arguments": (
        '{"name": "Bash", "arguments": "{\\"command\\": \\"ls\\"}"}',
        LS,
        "",
    ),
    "bare json in OpenAI's envelope": (
        '{"type": "function", "function": {"name": "Bash", "arguments": {"command": "ls"}}}',
        LS,
        "",
    ),
    "bare json in a list of calls": (
        '{"tool_calls": [{"name": "Bash", "arguments": {"command": "ls"}}, '
        '{"id": "c", "type": "function", "function": {"name": "Read", "arguments": "{\\"file_path\\": \\"a\\"}"}}]}',
        TWO,
        "",
    ),
    "a fenced list of calls": (
        '```json\n{"tool_calls": [{"name": "Bash", "arguments": {"command": "ls"}}]}\n```',
        LS,
        "",
    ),
    "a list of calls in hermes": (
        '<tool_call>{"tool_calls": [{"name": "Bash", "arguments": {"command": "ls"}}]}</tool_call>',
        LS,
        "",
    ),
    "bare json arguments first": ('{"arguments": {"command": "ls"}, "name": "Bash"}', LS, ""),
    "a call in thinking that never ended": (
        '<think>\nI should look.\n<tool_call>{"name": "list_tabs"}</tool_call>\n',
        TABS,
        "<think>\nI should look.\n\n",
    ),
    "a call behind one that was rehearsed in thinking": (
        '<think>\n<tool_call>{"name": "Bash", "arguments": {"command": "no"}}</tool_call>\n</think>\n'
        '<tool_call>{"name": "list_tabs"}</tool_call>',
        TABS,
        '<think>\n<tool_call>{"name": "Bash", "arguments": {"command": "no"}}</tool_call>\n</think>\n',
    ),
    "behind a fence that was closed": (
        "```sh\nls\n```\n<tool_call>list_tabs</tool_call>",
        TABS,
        "```sh\nls\n```\n",
    ),
    "behind inline code on the same line": (
        "I run `ls`: <tool_call>list_tabs</tool_call>",
        TABS,
        "I run `ls`: ",
    ),
    "behind a quote": ("> a quote\n\n<tool_call>list_tabs</tool_call>", TABS, "> a quote\n\n"),
    "behind a list": ("- look\n- fix it\n\n<tool_call>list_tabs</tool_call>\n", TABS, "- look\n- fix it\n\n\n"),
    "a sibling that is cut off": (
        '<tool_call>{"name": "list_tabs"}</tool_call><tool_call>{"name": "Bash", "arguments": {"command": "l',
        [],
        '<tool_call>{"name": "list_tabs"}</tool_call><tool_call>{"name": "Bash", "arguments": {"command": "l',
    ),
}


@pytest.mark.parametrize("size", [0, 1, 4])
@pytest.mark.parametrize("name", CASES)
def test_a_call_in_a_format_of_the_catalogue_is_found(name: str, size: int) -> None:
    text, expected, rest = CASES[name]
    out = scan(text, TWENTY, size)
    assert [(call.name, _read(call.arguments)) for call in calls_of(out)] == expected
    assert text_of(out) == rest
    assert back(out) == text


def _read(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except ValueError:
        return json5.loads(arguments)


NO_CALLS = {
    "an address that ends in a recipient": 'https://x.org/?to=functions.Bash json{"command": "ls"}',
    "a word that ends in a recipient": 'goto=functions.Bash json{"command": "ls"}',
    "a recipient alone": 'Send it to=functions.Bash json{"command": "ls"}',
    "the channel in the middle of a line": 'It is commentary to=functions.Bash json{"command": "ls"}',
    "the role behind a space": 'The assistantcommentary to=functions.Bash json{"command": "ls"}',
    "the role with another word": 'Ask.assistants to=functions.Bash json{"command": "ls"}',
    "arguments that are not the tool's behind a name": 'Bash[ARGS]{"cmdline": "ls"}',
    "a name that nobody declared before its arguments": 'nope[ARGS]{"command": "ls"}',
    "a name and its arguments behind prose": 'So: Bash[ARGS]{"command": "ls"}',
    "an item of something named like a tool": "Bash[0] is the first of them",
    "a bracket behind a call that is not its own": '{ x\n[TOOL_CALLS] [{"name": "Bash", "arguments": {"command": "ls"}}]\n}',
    "text behind a token for the closer": '<tool_call>[{"name": "Bash", "arguments": {"command": "ls"}}]<|im_end|> ends it.',
    "a cut list before a token": '<tool_call>[{"name": "Bash", "arguments": {"command": "ls<|im_end|>',
    "an empty box before a name": "[ ] Bash(command='ls')",
    "a link over two lines": "[\n  Bash](docs/bash.md)",
    "a list in reasoning that goes on": '<analysis>[{"name": "Bash", "arguments": {"command": "ls"}}]</analysis>\nNo need.',
    "a list behind an element of a page": '<section>hm</section>\n[{"name": "Bash", "arguments": {"command": "ls"}}]',
    "words between reasoning and a list": '<analysis>hm</analysis>\nSee [{"name": "Bash", "arguments": {"command": "ls"}}]',
    "a list of no calls": '{"tool_calls": []}',
    "a list of calls and more": '{"tool_calls": [{"name": "Bash", "arguments": {"command": "ls"}}], "usage": 3}',
    "a list of calls of a name that nobody declared": '{"tool_calls": [{"name": "nope", "arguments": {}}]}',
    "a number of calls": '{"tool_calls": 3, "name": "Bash"}',
    "a sibling of an unknown name": '<tool_call>{"name": "list_tabs"}</tool_call><tool_call>{"name": "nope"}</tool_call>',
    "text for the user alone": ">>>all\nI look.\n>>> print(1)\n",
    "text for the user, and arguments that are not the tool's": '>>>all\nI look.\n>>>Bash\n{"x": 1}',
    "a request of a name that nobody declared": '[TOOL_REQUEST]\nnope {"command": "ls"}\n[END_TOOL_REQUEST]',
    "a request without its end": '[TOOL_REQUEST]\nBash {"command": "ls"}\n',
    "a definition in a request": '[TOOL_REQUEST]Bash {"type": "object", "properties": {}}[END_TOOL_REQUEST]',
}


@pytest.mark.parametrize("size", [0, 1, 4])
@pytest.mark.parametrize("name", NO_CALLS)
def test_what_only_looks_like_a_format_is_text(name: str, size: int) -> None:
    assert scan(NO_CALLS[name], TWENTY, size) == [NO_CALLS[name]]


def test_text_for_the_user_is_not_held_for_the_call_behind_it() -> None:
    scanner = Search(TWENTY)
    sent = ""
    for char in ">>>all\nHello, this is for you.\n":
        sent += "".join(str(item) for item in scanner.feed(char))
    assert sent == ">>>all\nHello, this is for you.\n"


@pytest.mark.parametrize("name", ["N", "No", "Note"])
@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_a_word_at_the_beginning_may_be_a_tool_of_any_length(name: str, size: int) -> None:
    tools = Tools.read({"tools": [{"name": name, "input_schema": {"type": "object"}}]})
    text = name + ' {"a": 1}[TOOL_REQUEST_END]'
    scanner = Search(tools)
    out = [item for at in range(0, len(text), size) for item in scanner.feed(text[at : at + size])] + scanner.close()
    assert [(call.name, call.arguments) for call in out if not isinstance(call, str)] == [(name, '{"a": 1}')]
