"""Texts of our own that speak about calls and are none: 25 for each tier, with names that are declared."""

from __future__ import annotations

A = "antml" + ":"
HERMES = '<tool_call>\n{"name": "Bash", "arguments": {"command": "rm -rf build"}}\n</tool_call>'
QWEN = "<tool_call>\n<function=Bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>"
GLM = "<tool_call>Bash<arg_key>command</arg_key><arg_value>ls</arg_value></tool_call>"
INVOKE = '<invoke name="Bash">\n<parameter name="command">ls</parameter>\n</invoke>'
KIMI = (
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.Bash:0<|tool_call_argument_begin|>"
    '{"command": "ls"}<|tool_call_end|><|tool_calls_section_end|>'
)
DSML = (
    '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="Bash">\n<｜DSML｜parameter name="command" string="true">ls'
    "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>"
)
MISTRAL = '[TOOL_CALLS] [{"name": "Bash", "arguments": {"command": "ls"}}]'
HARMONY = '<|channel|>commentary to=functions.Bash <|constrain|>json<|message|>{"command": "ls"}<|call|>'
CALL = '{"name": "Bash", "arguments": {"command": "ls"}}'


def quoted(text: str) -> str:
    return "\n".join("> " + line for line in text.split("\n"))


def indented(text: str, by: str = "    ") -> str:
    return "\n".join(by + line for line in text.split("\n"))


TIER_A = {
    "a fence with a language": f"The model must answer like this:\n\n```xml\n{HERMES}\n```\n\nNothing else.",
    "a fence of tildes": f"Beispiel:\n\n~~~\n{QWEN}\n~~~\n\nDanach geht es weiter.",
    "a fence of five backticks around a fence of three": f"`````md\n```\n{HERMES}\n```\n{QWEN}\n`````\nEnd.",
    "a fence that is never closed": f"Here is the template:\n```\n{HERMES}\n\nand it goes on\n\n{GLM}",
    "a fence in a list": f"1. Send this:\n\n   ```\n   {GLM}\n   ```\n\n2. Wait.\n- ```\n  {HERMES}\n  ```\n",
    "an indented block": f"The transcript was:\n\n{indented(HERMES)}\n\nand then it stopped.",
    "a block indented by a tab": f"Log:\n\n{indented(DSML, chr(9))}\n\nEnd of log.",
    "a quoted AGENTS file": quoted(f"# AGENTS.md\n\nCall tools like this:\n\n{HERMES}\n\nor\n\n{QWEN}")
    + "\n\nI read it.",
    "a nested quote": f"> > {GLM}\n> > {MISTRAL}\n\nwas the first message.",
    "inline code": f"GLM writes `{GLM}` and Mistral writes ``{MISTRAL}``.",
    "inline code over two lines": "Write `<tool_call>\n" + CALL + "\n</tool_call>` to call it.",
    "a sentence in English": f"The string {GLM} makes the server call Bash.",
    "a sentence in German": f"Mit {GLM} wird Bash aufgerufen, wie in der Anleitung steht.",
    "a sentence in Chinese": f"例如 {GLM} 表示调用 Bash。",
    "a sentence in Russian": f"Строка {KIMI} вызывает инструмент.",
    "a table": f"| format | example |\n| --- | --- |\n| GLM | {GLM} |\n| Mistral | {MISTRAL} |\n",
    "an HTML comment": f"<!--\n{HERMES}\n{QWEN}\n-->\n<p>Nothing to see.</p>",
    "an HTML page": f"<html><body>\n<pre>\n{HERMES}\n</pre>\n<p>Use <code>{GLM}</code></p>\n</body></html>",
    "JSX": "export const Demo = () => (\n  <Code\n    text={`" + HERMES + "`}\n  />\n);\n",
    "a here-document": f"cat > prompt.txt <<'EOF'\n{HERMES}\n{KIMI}\nEOF\nwc prompt.txt\n",
    "a Python string": f'PROMPT = """\nCall a tool:\n{HERMES}\n{DSML}\n"""\n\nEXAMPLE = "{GLM}"\n',
    "JSON data": '{"examples": ["' + GLM + '", "[TOOL_CALLS]Bash[ARGS]{}"], "count": 2}',
    "an example tag and a tool response": (
        f"<example>\n{HERMES}\n</example>\n<tool_response>\n{CALL}\n{QWEN}\n</tool_response>\nOk."
    ),
    "definitions in tools": (
        '<tools>\n[{"type": "function", "function": {"name": "Bash", "description": "Run", "parameters": '
        '{"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}}}]\n</tools>\n'
    ),
    "names that nobody declared, and a cut value": (
        QWEN.replace("Bash", "get_weather")
        + "\n"
        + DSML.replace("Bash", "search_web")
        + "\n"
        + HARMONY.replace("Bash", "python")
        + '\n<tool_call>{"name": "Bash", "arguments": {"command": "rm -rf /tm'
    ),
}

TIER_B = {
    "a C++ header": "#include <functional>\n#include <function_traits>\nstd::function<void(int)> Bash;\n",
    "a C++ template": "template <function Read> struct Bash {};\ntemplate <functionBash> struct X;\n",
    "a sentence about invoke": f"Claude writes {INVOKE} and then waits for the result.",
    "an opened invoke": 'Then comes <invoke name="Bash"> and its parameters, and a closing tag.',
    "an invoke in a fence": f"```\n{INVOKE}\n```\n",
    "an invoke in a quote": quoted(INVOKE),
    "an invoke in an indented block": f"The old log:\n\n{indented(INVOKE)}\n\nends here.",
    "an invoke in inline code": f"It printed `{INVOKE}` and stopped.",
    "an invoke of a name that nobody declared": INVOKE.replace("Bash", "tool-name-1"),
    "an invoke that is cut off": '<invoke name="Write">\n<parameter name="file_path">a</parameter>\n'
    '<parameter name="content">half a fi',
    "an invoke that is not closed": 'Ok.\n<invoke name="Bash">\n<parameter name="command">ls</parameter>\n',
    "an invoke with prose inside": '<invoke name="Bash">\nThis tag opens a call.\n</invoke>\n',
    "custom elements": '<invoke-button name="Bash"></invoke-button><function-card></function-card>\n<functions>\n',
    "Symfony parameters": '<parameters>\n  <parameter name="command">ls</parameter>\n</parameters>\n',
    "an Ant build file": '<target name="Bash">\n  <exec executable="ls"/>\n</target>\n<macrodef name="Read"/>\n',
    "grep output": 'a.py:1:OPEN = "<function="\na.py:2:X = "<function=Bash>"\na.py:3:END = "</function>"\n',
    "a function tag in a sentence": 'Llama writes <function=Bash>{"command": "ls"}</function> for this.\n',
    "a function tag in a list": '- <function=Bash>{"command": "ls"}</function>\n* <function=Read>{}</function>\n',
    "a function tag in a string": "x = \"<function=Bash>{}</function>\"\ny = '<function=Bash>{}</function>'\n",
    "stripped harmony in a sentence": 'It said commentary to=functions.Bash json{"command": "ls"} and stopped.\n',
    "stripped harmony without JSON": "The commentary to=functions.Bash channel is for calls.\nIts commentary is dry.\n",
    "stripped harmony of an unknown name": 'commentary to=functions.python json{"code": "1"}\n',
    "an assignment from a module that is called functions": 'x=functions.Bash json{"command": "ls"}\n'
    '=functions.Bash json{"command": "ls"}\n',
    "the generic tag in documentation": "<tool>\n<name>hammer</name>\n<price>10</price>\n</tool>\n"
    "<tool><name>Bash</name> is the usual one</tool>\n",
    "a function with a name attribute": '<function name="Bash">documented below</function>\n'
    '<function name="malloc"><param name="size">int</param></function>\n',
    "a here-document with an invoke": f"tee notes <<EOF\n{INVOKE}\nEOF\ncat notes\n",
}

TIER_C = {
    "a definition dumped as JSON": '{"name": "Read", "description": "Reads", "parameters": {"type": "object", '
    '"properties": {"file_path": {"type": "string"}}}}',
    "a definition without properties": '{"name": "list_tabs", "parameters": {"type": "object"}}',
    "a list of definitions": '[{"type": "function", "function": {"name": "Bash", "parameters": {"type": "object", '
    '"properties": {}}}}]',
    "a definition in Anthropic's form": '{"name": "Bash", "input_schema": {"type": "object"}}',
    "a fenced definition": '```json\n{"name": "Bash", "parameters": {"type": "object", "properties": {}}}\n```',
    "a package": '```json\n{"name": "Bash", "version": "1.0.0", "scripts": {"test": "ls"}}\n```',
    "a launch configuration": '{"name": "Read", "type": "node", "request": "launch", "args": ["--x"]}',
    "a call and then prose": f"{CALL}\n\nis what the model wrote.",
    "prose and then a call": f"The model wrote\n{CALL}",
    "a fenced call and then prose": f"```json\n{CALL}\n```\nThis is the body of the request.",
    "prose and then a fenced call": f"The body of the request:\n\n```json\n{CALL}\n```",
    "two fenced calls": f"```json\n{CALL}\n```\n\n```json\n{CALL}\n```",
    "arguments that the tool does not have": '{"name": "Bash", "arguments": {"cmdline": "ls", "force": true}}',
    "a required argument missing": '{"name": "Write", "arguments": {"file_path": "a"}}',
    "a name that nobody declared": '{"name": "get_weather", "arguments": {"city": "Paris"}}',
    "a log record": '{"level": "info", "name": "Bash", "arguments": {"command": "ls"}}',
    "a record with more keys": '{"name": "Bash", "arguments": {"command": "ls"}, "duration_ms": 12, "ok": true}',
    "JSON lines": '{"id": 1, "name": "Read me"}\n{"id": 2, "name": "Bash script"}\n',
    "markdown links": "[Read](docs/read.md), [Bash](docs/bash.md) and [list_tabs()](x.md)\n",
    "a Python list": "[Read, Bash, Write]\n[Read(1), 2]\n",
    "a pythonic call in a sentence": 'Use [Bash(command="ls")] in the prompt.',
    "a pythonic call and then prose": '[Bash(command="ls")]\nThat is the pythonic form.',
    "pythonic arguments that the tool does not have": '[Bash(cmd="ls")]',
    "a Python session": '>>> Bash(command="ls")\n0\n>>>Bash\nNameError\n>>>Bash\n{"cmd": 1}\n',
    "YAML, functools and a shell in a fence": "steps:\n  - name: Bash\n    arguments:\n      command: ls\n"
    'functools[0]\n```bash\nBash {"command": "ls"}\n```\n',
}

MORE = {
    "prose on the line behind a call": f"{MISTRAL}\nDone.",
    "prose on the line behind an invoke": f"{INVOKE}\nDone.",
    "prose glued behind a token": f"{KIMI}Done.",
    "a diff": f"+{GLM}\n-{GLM}\n+ {MISTRAL}\n",
    "comments": f"# {GLM}\n// {GLM}\n/// {MISTRAL}\n-- {GLM}\n## {KIMI}\n",
    "pre in the middle of a line": f"<div><pre><code class=x>{HERMES}\n</code></pre></div>\n",
    "fences of one length nested": f"```markdown\n# A\n```xml\n{HERMES}\n```\nand\n{QWEN}\n```\nDone.",
    "a Chinese sentence glued to tokens": f"使用{KIMI}来调用工具\n",
    "tokens in a sentence": "Kimi's <|tool_call_begin|> token starts a call, and <|channel|> is a token of Harmony.\n",
    "rehearsed while thinking": f"<think>\nI could say\n{HERMES}\nbut no.\n</think>\nHello.",
    "thought and dropped": f"<think>\n{HERMES}\n</think>\nHello.",
    "an attribute": f"<Tool example='{GLM}' other=\"{GLM}\" />\n",
    "an AGENTS file in a document tag": f'<document name="AGENTS.md">\n{HERMES}\n</document>\nI read it.\n',
    "a fence behind a list marker": f"* ```xml\n  {GLM}\n  ```\n",
    "a fence with a title": f'```xml title="a.xml" {{1,2}}\n{HERMES}\n```\n',
    "escaped in JSON": '{"prompt": "Use <tool_call>{\\"name\\": \\"Bash\\"}</tool_call>"}\n',
    "two backticks and one inside": f"``a ` {GLM}``\n",
    "an unknown call that quotes a known one": QWEN.replace("Bash", "note").replace("ls", f"see\n{GLM}\nabove")
    + "\n",
    "a call that is cut and quotes one": '<tool_call>{"name": "Write", "arguments": {"content": "' + GLM + "\n",
    "a quoted wrapper": (
        f'x = "<function_calls>\n{INVOKE}\n</function_calls>"\n- <function_calls>{INVOKE}</function_calls>\n'
    ),
}
"""What else came up."""

TIERS = {"A": TIER_A, "B": TIER_B, "C": TIER_C}
