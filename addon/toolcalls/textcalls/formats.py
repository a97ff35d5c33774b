"""The formats in which models write calls, as data: a new format is a row.

`openers` are the literals that a call begins with; `head` matches what follows one of them, with the group `name` if
it names the tool; `param` and `param_end` are the tags around a value; `end` is the closer. Every row has an example,
the call of `read` with `path` set to `a.py`, from which its tests are made.

`SECTIONS` are wrappers around calls: they say nothing themselves, and their closers may be missing or doubled.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ..mend.lexer import end_of
from .json_calls import read_json
from .known import SPACE, CutOff, ReadCall, WrittenTools
from .literals import read_gemma, read_python
from .minimax import read_arrows, read_elements
from .tags import read_tags
from .tokens import BEHIND_A_CALL, skip_tokens
from .wrappers import ENDS

Reader = Callable[["Row", re.Match[str], WrittenTools, bool], "tuple[list[ReadCall], int] | None"]
"""Reads the call behind a head that matched: its calls and where they end. If it is no call, it gives None or raises
ValueError; `CutOff` where the text ends inside the call. The last argument: nothing follows the text, so that closers
may be missing."""

_MAY_BEGIN, _SHORT = re.compile(r"[<\[`\]◁&|]|[;,]\s*+\[?\s*+\Z"), 64
"""The first character of every token, closer and opener, and what may stand between two calls."""
_NONE = re.compile(r"(?!)")


@dataclass(slots=True, frozen=True)
class Row:
    format: str
    read: Reader
    openers: tuple[str, ...]
    head: str
    example: str
    end: str = ""
    param: str = ""
    param_end: str = ""
    weak: bool = False
    """The head may be prose: the tool must be declared, and take exactly these parameters."""
    bare: bool = False
    """Without a wrapper the closer must not be missing."""
    must_close: bool = False
    keyed: bool = False
    """The keys of its objects are the names of tools."""
    fenced: bool = False
    """The arguments stand in a fence."""
    trim: bool = False
    """One newline on each side of a value belongs to the markup."""
    children: bool = False
    """`<command>…</command>` may stand for `<parameter name="command">…`."""
    entities: bool = False
    """`&lt;` may stand for `<` in a value that has no `<`."""
    unquotes: bool = False
    """A string may be written in quotes, as JSON."""
    line: bool = False
    """It counts only at the beginning of a line."""
    opener: str = field(init=False)
    whole_head: re.Pattern[str] = field(init=False)
    """An opener and the head behind it."""
    shut: re.Pattern[str] = field(init=False)
    closer: re.Pattern[str] = field(init=False)
    """The closer, and with the white space before it."""

    def __post_init__(self) -> None:
        opener = "|".join(map(re.escape, self.openers))
        head = f"(?:{opener}){self.head}" if opener else self.head
        object.__setattr__(self, "opener", re.sub(r"\(\?P<\w+>", "(?:", head) if self.param else opener)
        object.__setattr__(self, "whole_head", re.compile(head))
        object.__setattr__(self, "shut", re.compile(self.end) if self.end else _NONE)
        object.__setattr__(self, "closer", re.compile(rf"\s*+(?:{self.end})") if self.end else _NONE)

    def end_at(self, text: str, at: int, final: bool) -> int | None:
        """Where the call ends whose arguments end here; None if what follows shows that it is none."""
        if (end := self.closer.match(text, at)) is not None:
            return end.end()
        rest = text[at : at + 256].lstrip()
        if not final and (not rest or may_begin(rest)):
            raise CutOff
        if not self.end:
            return at
        if self.must_close or (rest and not (BEHIND_A_CALL.match(text, at) or OPENER.match(rest))):
            return None
        return at

    @staticmethod
    def touches_call(text: str, at: int) -> bool:
        """Whether nothing but tokens stands between this place and the head of a call."""
        return OPENER.match(text, end_of(SPACE, text, skip_tokens(text, at)[0])) is not None


def is_special(opener: str) -> bool:
    """Whether an opener is a special token, which no prose has."""
    return opener.startswith(("<|", "<｜", "<‖", "< |", "< ｜", "[TOOL_CALLS]", "]<]", "<start_function_call>"))


_N = r"(?P<name>[\w.:/-]{1,128})"
_Q = r"[\"']?"
_WORDS = r"[^\"'<>\n]{1,128}?"
_STRAYED = r"(?:[^\"'<>\n]|<\|message\|>){1,128}?"
_MORE = r"(?:\s[^<>]{0,200}?)?"
_NAMED = (
    rf"[^<>]{{0,200}}?\b(?:name|tool|function)\s*=\s*{_Q}(?P<name>{_STRAYED}){_Q}(?P<rest>{_MORE})(?P<closed>/?)>"
)
_KEYED = rf"[^<>]{{0,200}}?\b(?:name|key)\s*=\s*{_Q}(?P<key>{_WORDS}){_Q}(?P<more>{_MORE})(?P<empty>/?)>"
_NS = ("", "antml" + ":", "atem:", "minimax:", "steptml:", "xai:")
_ANY_NS = f"(?:{'|'.join(_NS[1:])})?"
_BARS = ("｜", "|", "||", "‖")
_DSML = tuple(f"<{space}{bar}{gap}DSML{gap}{bar}" for space in ("", " ") for bar in _BARS for gap in ("", " "))
_D = r"<\s?(?:[|｜]{1,2}|‖)\s?DSML\s?(?:[|｜]{1,2}|‖)?\s?"
_D_END = _D.replace("<", "</", 1)


def _spelled(words: str, *, kimi: bool = True) -> tuple[str, ...]:
    """A token of DeepSeek in all its spellings: with fullwidth bars or others, and what renderers make of U+2581."""
    found = (f"<{bar}{words.replace(' ', join)}{bar}>" for bar in "｜|" for join in ("▁", "_", " ", "\\_"))
    return tuple(token for token in found if kimi or token != "<|tool_call_begin|>")


def _any_of(*tokens: str) -> str:
    return f"(?:{'|'.join(map(re.escape, tokens))})"


_CALL_END = _any_of(*_spelled("tool call end"))
_SEP = _any_of(*_spelled("tool sep"))
_LIST = r"(?=\s*+(?:```\w*\s*)?[{\[])"
_OBJECT = r"\s*+(?=\{)"
_ENDS = r"<\|(?:call|end|return)\|>"

SECTIONS = (
    *(f"<{ns}{word}>" for ns in _NS for word in ("function_calls", "tool_calls", "tool_call")),
    "<dots_function_call>",
    *("<toolcall>", "<seed:tool_call>", "<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"),
    *_spelled("tool calls begin"),
    *("<|open|>tools<|sep|>", "<|open|>response<|sep|>", "]<]minimax[>[<tool_call>"),
)
_HEADERS = (
    *("<tool_calls:", "to=", "<|message|>", "<|message_model|>"),
    *(f"{dsml}{word}>" for dsml in _DSML for word in ("function_calls", "tool_calls", " calls", "tool_use")),
)
"""What other wrappers begin with."""
_NONCED = r"(?::[\w-]{1,64})?"


def _json(format: str, openers: str, ends: str, *, weak: bool = False, must_close: bool = False) -> Row:
    """A row of JSON between two of these tokens, which two spaces separate."""
    first, last = openers.split("  "), ends.split("  ")
    example = f'{first[0]}{{"name": "read", "arguments": {{"path": "a.py"}}}}{last[0]}'
    return Row(format, read_json, tuple(first), _LIST, example, _any_of(*last), weak=weak, must_close=must_close)


_CALL = '{"path": "a.py"}'
_XML = '<parameter name="path">a.py</parameter>'

TABLE: tuple[Row, ...] = (
    # JSON with the name inside.
    _json("hermes", "<tool_call>  <toolcall>", "</tool_call>  </toolcall>"),
    _json("hermes", "<tools>", "</tools>", weak=True, must_close=True),
    _json("hunyuan", "<tool_calls>", "</tool_calls>"),
    _json("longcat", "<longcat_tool_call>", "</longcat_tool_call>"),
    _json("granite", "<|tool_call|>", "<|/tool_call|>"),
    _json("granite", "<function_call>", "</function_call>"),
    _json("dots", "<dots_function_call>", "</dots_function_call>"),
    _json("nemotron", "<TOOLCALL>", "</TOOLCALL>"),
    _json("command-r", "<|START_ACTION|>", "<|END_ACTION|>"),
    _json("internlm", "<|action_start|> <|plugin|>  <|action_start|><|plugin|>", "<|action_end|>"),
    _json("lfm2", "<|tool_call_start|>", "<|tool_call_end|>"),
    _json("minimax-m2", "<minimax:tool_call>  [TOOL_CALL]", "</minimax:tool_call>  [/TOOL_CALL]"),
    _json("mistral", "[TOOL_CALLS]", "[/TOOL_CALLS]"),
    _json("gigachat", "<|function_call|>", "<|message_sep|>"),
    _json("gigachat", "<|message_sep|>\n\nfunction call<|role_sep|>\n  function call<|role_sep|>\n",
          "<|message_sep|>"),
    _json("inkling", "<|content_invoke_tool_json|>", "<|end_message|>"),
    _json("llama3", "<|python_tag|>", "<|eom_id|>"),
    _json("llama3", "<|start_header_id|>assistant<|end_header_id|>", "<|eot_id|>"),
    _json("lmstudio", "[TOOL_REQUEST]", "[END_TOOL_REQUEST]  [TOOL_REQUEST_END]  [/TOOL_REQUEST]  [TOOL_REQUEST]",
          must_close=True),
    Row("deepseek-dsml", read_json, _DSML, rf"\s?(?:function_calls|tool_calls?|calls)>{_LIST}",
        f'<｜DSML｜tool_calls>[{{"name": "read", "arguments": {_CALL}}}]</｜DSML｜tool_calls>', rf"{_D_END}\w+>"),
    Row("apertus", read_json, ("<|tools_prefix|>",), _LIST,
        f'<|tools_prefix|>[{{"read": {_CALL}}}]<|tools_suffix|>', r"<\|tools_suffix\|>", keyed=True),
    # JSON behind a name.
    Row("mistral", read_json, ("[TOOL_CALLS]",), rf"\s*{_N}(?:\[CALL_ID\]\w+)?(?:\[ARGS\])?{_OBJECT}",
        f"[TOOL_CALLS]read[ARGS]{_CALL}", r"\[/TOOL_CALLS\]"),
    Row("lmstudio", read_json, ("[TOOL_REQUEST]",), rf"\s*{_N}{_OBJECT}",
        f"[TOOL_REQUEST]read {_CALL}[END_TOOL_REQUEST]", r"\[END_TOOL_REQUEST\]|\[/?TOOL_REQUEST(?:_END)?\]",
        must_close=True),
    Row("kimi-k2", read_json, ("<|tool_call_begin|>",),
        rf"\s*{_N}\s*(?:<\|tool_call_arguments?_begin\|>\s*|(?=\{{|<\|tool_calls?_(?:section_)?end))",
        f"<|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>{_CALL}<|tool_call_end|>",
        r"<\|tool_call_end\|>"),
    Row("deepseek-v3", read_json, _spelled("tool call begin", kimi=False),
        rf"\s*function{_SEP}{_N}\s*(?:```(?:json)?\s*)?(?=\{{)",
        f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>read\n```json\n{_CALL}\n```<｜tool▁call▁end｜>",
        _CALL_END, fenced=True),
    Row("deepseek-v3.1", read_json, _spelled("tool call begin", kimi=False),
        rf"\s*{_N}\s*(?:{_SEP})?\s*(?:```(?:json)?\s*)?(?=\{{)",
        f"<｜tool▁call▁begin｜>read<｜tool▁sep｜>{_CALL}<｜tool▁call▁end｜>", _CALL_END, fenced=True),
    Row("solar", read_json, ("<|tool_call:begin|>",),
        rf"[\w-]{{0,80}}<\|tool_call:name\|>{_N}<\|tool_call:args\|>\s*",
        f"<|tool_call:begin|>1a<|tool_call:name|>read<|tool_call:args|>{_CALL}<|tool_call:end|>",
        r"<\|tool_call:end\|>"),
    Row("harmony", read_json, ("<|channel|>", "<|start|>assistant", "assistant<|channel|>", "<|start|>functions."),
        r"[^\n{]{0,80}?\bto=(?:functions\.)?(?P<name>[\w.-]+)[^\n{]{0,120}?<\|message\|>\s*(?=\{)",
        f"<|channel|>commentary to=functions.read <|constrain|>json<|message|>{_CALL}<|call|>", _ENDS),
    Row("harmony", read_json, ("commentary to=functions.", "assistantcommentary to=functions.", "to=functions.",
        "assistant to=functions."),
        r"(?P<name>[\w.-]+?)(?:<\|channel\|>)?(?:commentary|analysis)?\s*+(?:<\|constrain\|>\s*+)?(?:(?:json|code)\s*+)?(?:<\|message\|>)?(?=\{)",
        f"commentary to=functions.read json{_CALL}", _ENDS, weak=True),
    Row("llama3", read_json, ("<function=",), rf"{_N}>{_OBJECT}", f"<function=read>{_CALL}</function>", "</function>",
        weak=True),
    Row("tool-tag", read_json, ("<tool>",),
        rf"\s*<(?:tool_)?name>{_N}</(?:tool_)?name>\s*<(?:arguments|parameters|args|input)>{_OBJECT}",
        f"<tool><name>read</name><arguments>{_CALL}</arguments></tool>",
        r"</(?:arguments|parameters|args|input)>\s*</tool>", weak=True, must_close=True),
    Row("invoke", read_json, tuple(f"<{ns}invoke" for ns in _NS), rf"\s{_NAMED}{_OBJECT}",
        f'<invoke name="read">{_CALL}</invoke>', rf"</{_ANY_NS}invoke>"),
    Row("deepseek-dsml", read_json, _DSML, rf"\s?invoke\s{_NAMED}{_OBJECT}",
        f'<｜DSML｜invoke name="read">{_CALL}</｜DSML｜invoke>', rf"{_D_END}invoke>"),
    Row("glm", read_json, ("<tool_call>",), rf"\s*{_N}{_OBJECT}", f"<tool_call>read\n{_CALL}\n</tool_call>",
        "</tool_call>", must_close=True),
    # Tags around each value.
    Row("invoke", read_tags, tuple(f"<{ns}invoke" for ns in _NS), rf"\s{_NAMED}",
        f'<invoke name="read">\n{_XML}\n</invoke>', rf"</{_ANY_NS}invoke>", rf"<{_ANY_NS}parameter{_KEYED}",
        rf"</{_ANY_NS}parameter\s?>", bare=True, children=True, entities=True),
    Row("xai", read_tags, ("<xai:function_call",), rf"\s{_NAMED}",
        f'<xai:function_call name="read">{_XML}</xai:function_call>', "</xai:function_call>",
        rf"<(?:xai:)?parameter{_KEYED}", "</(?:xai:)?parameter>"),
    Row("step3", read_tags, _spelled("tool call begin", kimi=False),
        rf"\s*(?:function{_SEP})?\s*<{_ANY_NS}invoke\s{_NAMED}",
        '<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="read"><steptml:parameter name="path">a.py'
        "</steptml:parameter></steptml:invoke><｜tool_call_end｜>",
        rf"</{_ANY_NS}invoke>(?:\s*{_CALL_END})?", rf"<{_ANY_NS}parameter{_KEYED}", rf"</{_ANY_NS}parameter\s?>"),
    Row("deepseek-dsml", read_tags, _DSML, rf"\s?invoke\s{_NAMED}",
        '<｜DSML｜invoke name="read">\n<｜DSML｜parameter name="path" string="true">a.py</｜DSML｜parameter>\n'
        "</｜DSML｜invoke>",
        rf"{_D_END}invoke>", rf"{_D}parameter{_KEYED}", rf"{_D_END}parameter>"),
    Row("minicpm5", read_tags, ("<function",), r"[\sĠ]{0,4}name=[\"']?(?P<name>[\w.:/-]{1,128})[\"']?(?P<closed>/?)>",
        '<function name="read"><param name="path">a.py</param></function>', "</function>",
        r"<param(?:eter)?[\sĠ]{0,4}name=[\"']?(?P<key>[^<>\n\"']{1,128})[\"']?>", "</param(?:eter)?>",
        weak=True, bare=True),
    Row("tool-tag", read_tags, ("<tool>",),
        rf"\s*<(?:tool_)?name>{_N}</(?:tool_)?name>\s*<(?:arguments|parameters|args|input)>",
        "<tool><name>read</name><arguments><path>a.py</path></arguments></tool>",
        r"</(?:arguments|parameters|args|input)>\s*</tool>", r"<(?!tool>)(?P<key>\w{1,128})>",
        r"</(?!(?:arguments|parameters|args|input|tool)>)\w{1,128}>", weak=True),
    Row("qwen3-coder", read_tags, ("<function=", "<function ", "<functionname=", "<function"),
        rf"{_Q}(?!_calls?>){_N}{_Q}(?P<closed>/?)>",
        "<function=read>\n<parameter=path>\na.py\n</parameter>\n</function>",
        "</function>|(?=</(?:seed:)?tool_?call>)",
        r"<parameter(?:\s?=\s?[\"']?(?P<key>[^<>\n\"']{1,128}?)[\"']?|\s+name=[\"']?(?P<key2>[^<>\n\"']{1,128}?)[\"']?)>",
        r"</parameter\s?>", weak=True, bare=True, trim=True),
    Row("kimi-k3", read_tags, ("<|open|>call",),
        r"\s[^<]{0,200}?(?:tool|name)=\"(?P<name>[^\"]{1,128})\"[^<]{0,200}<\|sep\|>",
        '<|open|>call tool="read" index="1"<|sep|><|open|>argument key="path" type="string"<|sep|>a.py<|close|>'
        "argument<|sep|><|close|>call<|sep|>", r"<\|close\|>call<\|sep\|>",
        r"<\|open\|>argument\s[^<]{0,200}?(?:key|name)=\"(?P<key>[^\"]{1,128})\"(?P<more>[^<]{0,200})<\|sep\|>",
        r"<\|close\|>argument<\|sep\|>"),
    Row("longcat", read_tags, ("<longcat_tool_call>",), rf"\s*{_N}(?=[\s<])",
        "<longcat_tool_call>read\n<longcat_arg_key>path</longcat_arg_key>\n<longcat_arg_value>a.py"
        "</longcat_arg_value>\n</longcat_tool_call>", "</longcat_tool_call>",
        r"<longcat_arg_key>(?P<key>[^<]{1,128})(?:</longcat_arg_key>)?\s*<longcat_arg_value>",
        "</longcat_arg_value>"),
    Row("glm", read_tags, ("<tool_call",), rf"{_NONCED}>\s*{_N}(?=[\s<\\])(?:\s*<tool_sep{_NONCED}>)?",
        "<tool_call>read\n<arg_key>path</arg_key>\n<arg_value>a.py</arg_value>\n</tool_call>",
        rf"</tool_call{_NONCED}>",
        rf"<arg_key{_NONCED}>(?P<key>[^<]{{1,128}})(?:</arg_key{_NONCED}>)?(?:\s|\\n)*<arg_value{_NONCED}>",
        rf"</arg_value{_NONCED}>", unquotes=True),
    Row("laguna", read_tags, ("<user>",), rf"{_N}(?=\s*<arg_key>)",
        "<user>read\n<arg_key>path</arg_key>\n<arg_value>a.py</arg_value>\n</user>", "</user>",
        r"<arg_key>(?P<key>[^<]{1,128})</arg_key>\s*<arg_value>", "</arg_value>", weak=True, must_close=True),
    # Python, and values that are written in ways of their own.
    Row("lfm2", read_python, ("<|tool_call_start|>",), r"\s*(?=\[)",
        '<|tool_call_start|>[read(path="a.py")]<|tool_call_end|>',
        r"<\|tool_call_end\|>"),
    Row("pythonic", read_python, ("<|python_start|>",), r"\s*(?=\[)",
        '<|python_start|>[read(path="a.py")]<|python_end|>',
        r"<\|python_end\|>"),
    Row("olmo3", read_python, ("<function_calls>",), r"\s*(?=[\w.]{1,128}\()",
        '<function_calls>read(path="a.py")</function_calls>', "</function_calls>", must_close=True),
    Row("llama3", read_python, ("<|python_tag|>",), r"\s*(?=[\w.]{1,128}\()", '<|python_tag|>read.call(path="a.py")',
        r"<\|eom_id\|>"),
    Row("gemma4", read_gemma, ("<|tool_call>",), r"\s*call:(?P<name>[\w.:-]+)(?=\{)",
        '<|tool_call>call:read{path:<|"|>a.py<|"|>}<tool_call|>', r"<tool_call\|>", '<|"|>'),
    Row("functiongemma", read_gemma, ("<start_function_call>",), r"\s*call:(?P<name>[\w.:-]+)(?=\{)",
        "<start_function_call>call:read{path:<escape>a.py<escape>}<end_function_call>",
        "<end_function_call>", "<escape>"),
    Row("minimax-m3", read_elements, ("]<]minimax[>[<invoke",), r"\s+name=\"(?P<name>[^\"]+)\">",
        ']<]minimax[>[<invoke name="read">]<]minimax[>[<path>a.py]<]minimax[>[</path>]<]minimax[>[</invoke>',
        r"\]<\]minimax\[>\[</invoke>", must_close=True),
    Row("minimax-m2", read_arrows, ("[TOOL_CALL]",), r"\s*\{\s*tool\s*=>\s*[\"'](?P<name>[^\"']+)[\"']",
        '[TOOL_CALL]{tool => "read", args => {--path "a.py"}}[/TOOL_CALL]', r"\[/TOOL_CALL\]"),
    # At the beginning of a line.
    Row("command-r", read_json, ("Action:",), r"\s*```(?:json)?\s*(?=[{\[])",
        f'Action:```json\n[{{"tool_name": "read", "parameters": {_CALL}}}]\n```', "```", line=True, must_close=True),
    Row("functionary", read_json, (">>>",), rf"{_N}\n", f">>>read\n{_CALL}", weak=True, line=True),
)  # fmt: skip
"""Formats that count wherever a call may begin."""

WEAK: tuple[Row, ...] = (
    Row("json", read_json, (), r"(?=\{|\[\s*\{)", f'{{"name": "read", "arguments": {_CALL}}}', weak=True),
    Row("json-fence", read_json, (),
        r"`{3,16}(?:json5?|tool_calls?|tool|function_call|tool_code)?[ \t]*\n\s*(?=\{|\[\s*\{)",
        f'```json\n{{"name": "read", "arguments": {_CALL}}}\n```', "`{3,16}", weak=True, must_close=True),
    Row("functools", read_json, (), r"functools(?=\[)",
        f'functools[{{"name": "read", "arguments": {_CALL}}}]', weak=True),
    Row("mistral", read_json, (), rf"{_N}(?:\[CALL_ID\]\w+)?\[ARGS\]{_OBJECT}", f"read[ARGS]{_CALL}", weak=True),
    Row("functionary", read_json, (), rf"{_N}\n(?=\{{)", f"read\n{_CALL}", weak=True),
    Row("lmstudio", read_json, (), rf"{_N}[ ]*(?=\{{)", f"read {_CALL}[TOOL_REQUEST_END]",
        r"\[(?:END_TOOL_REQUEST|TOOL_REQUEST_END)\]", weak=True, must_close=True),
    Row("pythonic", read_python, (), r"(?=\[\s*[\w.]+\()", '[read(path="a.py")]', weak=True),
    Row("pythonic", read_python, (), r"`{3,16}(?:json|python|tool_code|tool_call)?[ \t]*\n\s*(?=\[\s*[\w.]+\()",
        '```\n[read(path="a.py")]\n```', "`{3,16}", weak=True, must_close=True),
    Row("gemma-tool-code", read_python, (), r"`{3,16}tool_code[ \t]*\n\s*(?=[\w.]+\()",
        '```tool_code\nprint(default_api.read(path="a.py"))\n```', r"`{3,16}", weak=True, must_close=True),
    Row("gemma4", read_gemma, (), r"call:(?P<name>[\w.:-]+)(?=\{)", 'call:read{path:"a.py"}', r"<tool_call\|>",
        '<|"|>', weak=True),
)  # fmt: skip
"""Formats that count only as the whole message."""

_BY_OPENER: dict[str, list[Row]] = {opener: [] for opener in (*SECTIONS, *_HEADERS)}
for _row in TABLE:
    for _opener in _row.openers:
        _BY_OPENER.setdefault(_opener, []).append(_row)
OPENERS = tuple(sorted(_BY_OPENER, key=len, reverse=True))
_ROWS = {
    opener: [row for each in OPENERS if opener.startswith(each) for row in _BY_OPENER[each]] for opener in OPENERS
}
LONGEST = len(OPENERS[0])


def one_of(literals: Iterable[str]) -> str:
    """A pattern for the longest of these literals at a place: their trie, so that each character is tried once."""
    branches: dict[str, list[str]] = {}
    for literal in filter(None, sorted(set(literals))):
        branches.setdefault(literal[0], []).append(literal[1:])
    parts = (f"{re.escape(first)}(?:{one_of(rests)}){'?' * ('' in rests)}" for first, rests in branches.items())
    return "|".join(parts)


OPENER = re.compile(one_of(OPENERS))
"""An opener; the longest that begins here."""
OPENER_OR_END = re.compile(one_of((*OPENERS, *ENDS)))
BEGINNINGS = {
    opener[:size]: is_special(opener)
    for opener in sorted(OPENERS, key=is_special)
    for size in range(1, len(opener) + 1)
}
"""What openers begin with, openers too, for a longer one may begin like a shorter one; whether one of them is a
special token."""
AT_LINE = frozenset(opener for opener, rows in _BY_OPENER.items() if rows and all(row.line for row in rows))
_SECTION = re.compile(
    rf"(?:{one_of(SECTIONS)}|<tool_calls{_NONCED}>|{_D}(?:function_calls|tool_calls?|calls|tool_use)>"
    r"|(?:<\|start\|>assistant)?\s?(?:to=[\w.:-]{1,128})?<\|message\|>(?=\s*<atem:)"
    r"|<\|message_model\|>[\w.-]{0,128}(?=<\|content_invoke_tool_json\|>))\s*+"
)


def may_begin(rest: str) -> bool:
    """Whether what stands behind a call may be the beginning of a token, a closer or another call."""
    return rest in BEGINNINGS or (len(rest) < _SHORT and _MAY_BEGIN.match(rest) is not None)


def rows_at(text: str, at: int) -> list[Row]:
    """The rows whose call may begin here."""
    opener = OPENER.match(text, at)
    return [] if opener is None else _ROWS[opener[0]]


def behind_section(text: str, at: int) -> int:
    """Where the wrapper ends that begins here, with the white space behind it; `at` if none begins here."""
    found = _SECTION.match(text, at)
    return found.end() if found else at
