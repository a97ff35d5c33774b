"""Calls as models write them: one writer a format, for the tests and for `scripts/fuzz meant`.

A text of several calls is a head, the calls with something between them, and a tail.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
Made = tuple[str, Json]
"""The name and the arguments of a call."""

NAMESPACE = "antml" + ":"


def raw(value: Any) -> str:
    """A value in a format that has no quotes: a string is written as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def body(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True)
class FormatWriter:
    name: str
    one: Callable[[str, Json], str]
    head: str = ""
    between: str = "\n"
    tail: str = ""
    whole: bool = False
    """It counts only where the message is nothing else."""
    raw: bool = False
    """Its values are raw text between tags."""

    def __call__(self, *calls: Made) -> str:
        return self.head + self.between.join(self.one(*call) for call in calls) + self.tail


def _each(pattern: str, arguments: Json, between: str = "\n", value: Callable[[Any], str] = raw) -> str:
    """The pairs of a call, each written by the pattern."""
    return between.join(pattern.replace("KEY", key).replace("VALUE", value(said)) for key, said in arguments.items())


def _invoke(space: str = "", prefix: str = "") -> Callable[[str, Json], str]:
    def write(name: str, arguments: Json) -> str:
        pairs = _each(f'<{space}parameter name="KEY">VALUE</{space}parameter>', arguments)
        return f'{prefix}<{space}invoke name="{name}">\n{pairs}\n</{space}invoke>'

    return write


def _dsml(name: str, arguments: Json) -> str:
    pairs = "\n".join(
        f'<｜DSML｜parameter name="{key}" string="{str(isinstance(value, str)).lower()}">{raw(value)}</｜DSML｜parameter>'
        for key, value in arguments.items()
    )
    return f'<｜DSML｜invoke name="{name}">\n{pairs}\n</｜DSML｜invoke>'


def _qwen(name: str, arguments: Json) -> str:
    pairs = _each("<parameter=KEY>\nVALUE\n</parameter>", arguments)
    return f"<function={name}>\n{pairs}\n</function>"


def _wrapped(opener: str, closer: str, inner: Callable[[str, Json], str]) -> Callable[[str, Json], str]:
    return lambda name, arguments: opener + inner(name, arguments) + closer


def _glm(between: str = "") -> Callable[[str, Json], str]:
    def write(name: str, arguments: Json) -> str:
        pairs = _each(f"<arg_key>KEY</arg_key>{between}<arg_value>VALUE</arg_value>", arguments, between)
        return f"<tool_call>{name}{between}{pairs}{between}</tool_call>"

    return write


def _object(key: str = "arguments", name_key: str = "name") -> Callable[[str, Json], str]:
    return lambda name, arguments: body({name_key: name, key: arguments})


def _pythonic(name: str, arguments: Json) -> str:
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"


def _gemma(mark: str) -> Callable[[str, Json], str]:
    def write(name: str, arguments: Json) -> str:
        pairs = (
            f"{key}:{mark}{value}{mark}" if isinstance(value, str) else f"{key}:{body(value)}"
            for key, value in arguments.items()
        )
        return f"call:{name}{{{','.join(pairs)}}}"

    return write


def _kimi_k3(name: str, arguments: Json) -> str:
    def argument(key: str, value: Any) -> str:
        kind = "string" if isinstance(value, str) else "object"
        return f'<|open|>argument key="{key}" type="{kind}"<|sep|>{raw(value)}<|close|>argument<|sep|>'

    pairs = "".join(argument(key, value) for key, value in arguments.items())
    return f'<|open|>call tool="{name}" index="1"<|sep|>{pairs}<|close|>call<|sep|>'


def _before(pattern: str, closer: str = "") -> Callable[[str, Json], str]:
    """The name in a pattern, then the arguments as JSON."""
    return lambda name, arguments: pattern.replace("NAME", name) + body(arguments) + closer


_ROWS = [
    FormatWriter("function_calls", _invoke(), "<function_calls>\n", tail="\n</function_calls>", raw=True),
    FormatWriter("antml", _invoke(NAMESPACE), f"<{NAMESPACE}function_calls>\n", tail=f"\n</{NAMESPACE}function_calls>", raw=True),
    FormatWriter("invoke", _invoke(), raw=True),
    FormatWriter("hermes", _wrapped("<tool_call>\n", "\n</tool_call>", _object())),
    FormatWriter("qwen3-coder", _wrapped("<tool_call>\n", "\n</tool_call>", _qwen), raw=True),
    FormatWriter("qwen3-coder, no wrapper", _qwen, raw=True),
    FormatWriter("glm", _glm(), raw=True),
    FormatWriter("glm, lines", _glm("\n"), raw=True),
    FormatWriter("dsml", _dsml, "<｜DSML｜tool_calls>\n", tail="\n</｜DSML｜tool_calls>", raw=True),
    FormatWriter("kimi-k2", _before("<|tool_call_begin|>functions.NAME:0<|tool_call_argument_begin|>", "<|tool_call_end|>"), "<|tool_calls_section_begin|>", "", "<|tool_calls_section_end|>"),
    FormatWriter("kimi-k3", _kimi_k3, "<|open|>tools<|sep|>", "", "<|close|>tools<|sep|>", raw=True),
    FormatWriter("minimax", _invoke(), "<minimax:tool_call>\n", tail="\n</minimax:tool_call>", raw=True),
    FormatWriter("mistral", _object(), "[TOOL_CALLS] [", ", ", "]"),
    FormatWriter("mistral, v11", _before("[TOOL_CALLS]NAME[ARGS]"), between=""),
    FormatWriter("harmony", _before("<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>", "<|call|>"), between="<|start|>assistant"),
    FormatWriter("harmony, stripped", _before("commentary to=functions.NAME json")),
    FormatWriter("deepseek", _before("<｜tool▁call▁begin｜>NAME<｜tool▁sep｜>", "<｜tool▁call▁end｜>"), "<｜tool▁calls▁begin｜>", "", "<｜tool▁calls▁end｜>"),
    FormatWriter("deepseek, fenced", _before("<｜tool▁call▁begin｜>function<｜tool▁sep｜>NAME\n```json\n", "\n```<｜tool▁call▁end｜>"), "<｜tool▁calls▁begin｜>", "", "<｜tool▁calls▁end｜>"),
    FormatWriter("gemma", _wrapped("<|tool_call>", "<tool_call|>", _gemma('<|"|>'))),
    FormatWriter("functiongemma", _wrapped("<start_function_call>", "<end_function_call>", _gemma("<escape>"))),
    FormatWriter("llama", _object("parameters"), "<|python_tag|>", "; "),
    FormatWriter("llama, function tag", _before("<function=NAME>", "</function>")),
    FormatWriter("granite", _object(), "<|tool_call|>[", ", ", "]"),
    FormatWriter("hunyuan", _object(), "<tool_calls>[", ", ", "]</tool_calls>"),
    FormatWriter("seed", _wrapped("<seed:tool_call>\n", "\n</seed:tool_call>", _qwen), raw=True),
    FormatWriter("longcat", _wrapped("<longcat_tool_call>\n", "\n</longcat_tool_call>", _object())),
    FormatWriter("command-r", _object("parameters", "tool_name"), "<|START_ACTION|>[", ", ", "]<|END_ACTION|>"),
    FormatWriter("internlm", _wrapped("<|action_start|> <|plugin|>\n", "<|action_end|>", _object("parameters"))),
    FormatWriter("lfm2", _pythonic, "<|tool_call_start|>[", ", ", "]<|tool_call_end|>"),
    FormatWriter("nemotron", _object(), "<TOOLCALL>[", ", ", "]</TOOLCALL>"),
    FormatWriter("apertus", lambda name, arguments: body({name: arguments}), "<|tools_prefix|>[", ", ", "]<|tools_suffix|>"),
    FormatWriter("solar", _before("<|tool_call:begin|>a1<|tool_call:name|>NAME<|tool_call:args|>", "<|tool_call:end|>"), between=""),
    FormatWriter("lmstudio", _wrapped("[TOOL_REQUEST]", "[END_TOOL_REQUEST]", _object())),
    FormatWriter("tool tag", _before("<tool>\n<name>NAME</name>\n<arguments>", "</arguments>\n</tool>")),
    FormatWriter("json", _object(), whole=True),
    FormatWriter("json, fenced", _object(), "```json\n", "\n", "\n```", whole=True),
    FormatWriter("json, listed", _object(), "[", ", ", "]", whole=True),
    FormatWriter("pythonic", _pythonic, "[", ", ", "]", whole=True),
    FormatWriter("functionary", _before(">>>NAME\n")),
    FormatWriter("functools", _object(), "functools[", ", ", "]", whole=True),
]  # fmt: skip
FORMATS: dict[str, FormatWriter] = {each.name: each for each in _ROWS}

COMMON = ("function_calls", "hermes", "qwen3-coder", "glm", "dsml", "kimi-k2", "mistral", "harmony")
"""What users of agents meet most: every way to quote is tried with each of these, and with some of the others in turn."""
RARE = tuple(name for name in FORMATS if name not in COMMON)


def written(format: str, calls: Iterable[Made]) -> str:
    return FORMATS[format](*calls)
