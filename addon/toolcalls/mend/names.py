"""Which declared tool the name of a call means.

Names of tools, parameters and members of an enum may differ in case and separators only; mere similarity never
counts. The comparisons get weaker step by step: exact; without case and separators; without a known prefix or the
number of the call; without repetition; without a field name glued to the end. The first comparison with a match
decides: if several tools match, none is chosen.

No part that may be a name itself is dropped: `sandbox.Bash` and `mcp__sandbox__Bash` are other tools than `Bash`.
Only the words of `PREFIXES` mean nothing; a server or a namespace counts if it is declared.

Before the first comparison, a chat template's markup is removed, because servers that fail to parse a template leave
its tokens in the name (`read<|channel|>commentary`), and arguments are taken out of the name. Only the tokens, tags
and words below belong to a template: `<dry_run>Bash` and `Bash<|channel|>do not run` mean something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

from ..tools.declared import Tool, Tools

PREFIXES: Final = ("functions", "function", "tools", "tool", "default_api", "repo_browser", "paloma")
"""What models write before a tool's name (`name.namespace_prefix` of the facts): the namespaces of gpt-oss, Kimi and
Gemini, and two that models were seen to invent. Every other prefix is part of the name."""

MCP: Final = "mcp__"

_PREFIX: Final = re.compile(rf"(?:{'|'.join(PREFIXES)})(?:::|[.:/])", re.IGNORECASE)
_NUMBER: Final = re.compile(r":\d{1,6}\Z")
_NAMESPACE: Final = re.compile(r"[.:/]|__")
"""The separators between a namespace and a name."""
_SEPARATOR: Final = re.compile(r"[\s_\-.:/]+")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


_WORD_SEPARATORS: Final = re.compile(r"[\s_\-]+")


def normalize(text: str) -> str:
    """A name without case and separators: `Read_File`, `read-file` and `readFile` become the same.

    A separator between two digits is kept (`v1_0` is not `v10`).
    """
    return _fold(text, _SEPARATOR)


def normalize_value(text: str) -> str:
    """An enum member without case and separators.

    `.`, `:` and `/` carry meaning there, and a leading `-` is a sign.
    """
    stripped = text.strip()
    sign = "-" if stripped[:1] == "-" else ""
    return sign + _fold(stripped, _WORD_SEPARATORS)


def _fold(text: str, separators: re.Pattern[str]) -> str:
    parts = [part for part in separators.split(text.casefold()) if part]
    folded: list[str] = []
    for part in parts:
        if folded and folded[-1][-1].isdigit() and part[0].isdigit():
            folded.append("_")
        folded.append(part)
    return "".join(folded)


_GLUED: Final = ("arguments", "parameters")
"""Field names that servers glue to a tool name: `read_filearguments`."""


class Declared:
    """The tools that the client runs itself, by the spellings under which they are recognised."""

    def __init__(self, tools: Tools) -> None:
        self._exact: dict[str, list[Tool]] = {}
        self._folded: dict[str, list[tuple[Tool, str]]] = {}
        for tool in tools:
            if tool.kind == "server":
                continue
            self._exact.setdefault(tool.name, []).append(tool)
            whole = tool.name if tool.namespace is None else f"{tool.namespace}.{tool.name}"
            for spelling in {tool.name, whole, whole.removeprefix(MCP)}:
                if folded := normalize(spelling):
                    self._folded.setdefault(folded, []).append((tool, spelling))

    def exact(self, name: str) -> list[Tool]:
        """The tools of this name: those outside all namespaces, else all inside."""
        found = self._exact.get(name, [])
        outside = [tool for tool in found if tool.namespace is None]
        return outside or found

    def folded(self, name: str, *, humps: bool = True) -> list[Tool]:
        """The tools whose names differ from this one in case and separators only.

        The part before a `.` or `__` may be a namespace, so a word of the declared name must end there too:
        `linear.list_issues` is `linear_list_issues`, but `ba.sh` is not `Bash`. `humps`: a capital counts as well.
        """
        folded = normalize(name)
        found = self._folded.get(folded, [])
        if found and _NAMESPACE.search(name):
            inside = _places(_NAMESPACE, name) - {len(folded)}
            ends = (_SEPARATOR, _HUMP) if humps else (_SEPARATOR,)
            found = [one for one in found if inside <= {at for end in ends for at in _places(end, one[1])}]
        return list({id(tool): tool for tool, _ in found}.values())

    def begins(self, written: str) -> bool:
        """Whether this can be the beginning of a declared name, or of a prefix before one."""
        low = written.lower()
        if any(prefix.startswith(low) for prefix in PREFIXES):
            return True
        bare = [written, *without_prefixes(written)][-1]
        return any(folded.startswith(normalize(bare)) for folded in self._folded)


def declared_of(tools: Tools) -> Declared:
    """The spellings of these tools, computed on first use."""
    if tools.index is None:
        tools.index = Declared(tools)
    index: Declared = tools.index
    return index


def readings(name: str, declared: Declared, *, bold: bool = False) -> Iterator[tuple[str, list[Tool]]]:
    """Each way to read the name, and the tools that it then means; the boldest last, and the last two if `bold`."""
    yield "", declared.exact(name)
    yield "case or separators", declared.folded(name)
    for rest in without_prefixes(name):
        yield "known prefix dropped", declared.exact(rest) or declared.folded(rest)
    bare = _NUMBER.sub("", name)  # Kimi's ids are `functions.read:0`
    if bare != name:
        for rest in (bare, *without_prefixes(bare)):
            yield "number of the call dropped", declared.exact(rest) or declared.folded(rest)
    # Some clients join server and tool with `_`: their `linear_list_issues` is `mcp__linear__list_issues` elsewhere.
    server, between, tool = name.removeprefix(MCP).partition("__") if name.startswith(MCP) else ("", "", "")
    if between and normalize(server) and normalize(tool):
        yield "mark of an MCP tool dropped", declared.folded(name.removeprefix(MCP), humps=False)
    if bold:
        yield "repetition undone", _repeated(name, declared)
        glued = [name.removesuffix(word) for word in _GLUED if name.endswith(word)]
        yield "glued word dropped", [tool for rest in glued for tool in declared.exact(rest)]


def without_prefixes(name: str) -> Iterator[str]:
    """The name without its first known prefix, without its first two, and so on."""
    at = 0
    while (prefix := _PREFIX.match(name, at)) is not None:
        at = prefix.end()
        yield name[at:]


def _places(pattern: re.Pattern[str], name: str) -> set[int]:
    """The positions of the pattern in a name, counted in characters of its folded form."""
    return {len(normalize(name[: match.start()])) for match in pattern.finditer(name)}


Status = Literal["exact", "mended", "unknown", "not_a_name"]

_MAX_NAME = 512
_MAX_NAME_WITH_ARGUMENTS = 1_000_000


@dataclass(slots=True, frozen=True)
class NameMended:
    name: str
    """The declared name; unchanged if the status is `unknown` or `not_a_name`."""
    status: Status
    steps: tuple[str, ...] = ()
    arguments: dict[str, str] | str | None = None
    """Arguments found inside the name: raw `<arg_value>` strings, still without a type, or JSON text."""
    namespace: str | None = None
    tool: Tool | None = None


def mend_name(name: str, tools: Tools, namespace: str | None = None) -> NameMended:
    """Find the declared tool that a name means. `namespace`: that of the call, if its protocol has such a field.

    Without declared tools nothing can be compared, and the status `unknown` says nothing about the name.
    """
    found = tools.get(name, namespace)
    if found is not None and found.namespace == namespace:
        return NameMended(name, "exact", namespace=namespace, tool=found)
    if not any(character.isalnum() for character in name):
        return NameMended(name, "not_a_name", namespace=namespace)
    unknown = NameMended(name, "unknown", namespace=namespace)
    if not len(tools) or len(name) > _MAX_NAME_WITH_ARGUMENTS:
        return unknown
    bare = name if namespace is None else f"{namespace}.{name}"
    steps: list[str] = []
    arguments: dict[str, str] | str | None = None
    if "<" in bare:
        unmarked = without_markup(bare)
        if unmarked is None:
            return unknown
        bare, arguments = unmarked
        steps.append("name: template tokens cut" if arguments is None else "name: arguments taken out of it")
    if len(bare) > _MAX_NAME:
        return unknown
    for what, matches in readings(bare, declared_of(tools), bold=True):
        if not matches:
            continue
        if len(matches) > 1:
            return unknown
        tool = matches[0]
        if what:
            steps.append(f"name: {what}")
        if tool.namespace != namespace:
            steps.append("name: namespace set as declared")
        return NameMended(tool.name, "mended", tuple(steps), arguments, tool.namespace, tool)
    return unknown


def _repeated(name: str, declared: Declared) -> list[Tool]:
    """The tools whose name was written two or more times in a row."""
    halves = range(1, len(name) // 2 + 1)
    units = [name[:size] for size in halves if name[:size] * (len(name) // size) == name]
    meant = [next((tools for _, tools in readings(unit, declared) if tools), []) for unit in units]
    return list({id(tool): tool for tools in meant for tool in tools}.values())


_TOKENS: Final = (
    r"channel|start|end|message|constrain|call|return|open|close|sep|assistant|user|system|observation|endoftext"
    r"|im_(?:start|end)|eot_id|eom_id|(?:start|end)_header_id|python_(?:tag|start|end)|plugin|(?:start|end)_action"
    r"|action_(?:start|end)|tools_(?:prefix|suffix)"
    r"|tools?[_▁](?:calls?[_▁:]?(?:section_|arguments?_)?(?:begin|end|start|sep|name|args)?|sep)"
)
"""Special tokens, without their `<|` and `|>`; DeepSeek writes `｜` for `|` and `▁` for `_`."""
_TAGS: Final = (
    r"(?:minimax:|seed:|longcat_)?(?:tool_?calls?|function_calls?|function|invoke|tools?|arguments|arg_key|arg_value"
    r"|tool_sep)|s"
)
_WORDS: Final = "commentary|analysis|final|json|code|assistant|function"
"""Words that Harmony writes between its tokens, and DeepSeek before its separator."""

_TOKEN: Final = rf"(?:<[|｜]\s?(?:{_TOKENS})\s?[|｜]>|</?(?:{_TAGS})>)"
# A `</think>` before the name is dropped; a name before `</think>` is part of the reasoning and means no tool.
_LEAD: Final = re.compile(rf"(?>\s*+(?:{_TOKEN}|(?:<think(?:ing)?>\s*+)?</think(?:ing)?>))++", re.IGNORECASE)
_TAIL: Final = re.compile(
    rf"(?>\s*+(?:{_TOKEN}|<think(?:ing)?>(?:\s*+</think(?:ing)?>)?)(?>\s*+(?:{_WORDS})\b)*+)*+\s*+", re.IGNORECASE
)
_ARGUMENTS: Final = "<arg_key>"
_PAIR: Final = re.compile(
    r"\s*<arg_key>([^<>]*)</arg_key>\s*<arg_value>((?>[^<]++|<(?!/arg_value>))*+)</arg_value>", re.ASCII
)
_AFTER_PAIRS: Final = re.compile(r"\s*(?:</tool_call>\s*)?\Z")


def without_markup(name: str) -> tuple[str, dict[str, str] | str | None] | None:
    """The name without a template's tokens, and the arguments behind it: raw `<arg_value>` strings, or JSON text.

    None if there is any other text, or if arguments in it are cut off.
    """
    opened = _LEAD.match(name)
    rest = name[opened.end() :] if opened else name
    cut = rest.find("<")
    if cut < 0:
        return rest.strip(), None
    bare, tail = rest[:cut].strip(), rest[cut:]
    if tail.startswith(_ARGUMENTS) and tail[len(_ARGUMENTS) :].strip():
        pairs = _pairs(tail)
        return None if pairs is None else (bare, pairs)
    markup = _TAIL.match(tail)
    behind = tail[markup.end() :] if markup else tail
    if not behind:
        return bare, None
    return (bare, behind) if behind.startswith("{") and markup and markup.end() else None


def _pairs(text: str) -> dict[str, str] | None:
    """`<arg_key>…</arg_key><arg_value>…</arg_value>` pairs and nothing else; None otherwise."""
    pairs: dict[str, str] = {}
    at = 0
    while opened := _PAIR.match(text, at):
        key = opened[1].strip()
        if not key or key in pairs:
            return None
        pairs[key], at = opened[2], opened.end()
    return pairs if pairs and _AFTER_PAIRS.match(text, at) else None


def tool_that_fits(value: dict[str, Any] | None, tools: Tools) -> Tool | None:
    """The tool that declares all keys of these arguments and requires no others, if there is exactly one."""
    keys = set(value or ())
    viewed = [(tool, tool.view) for tool in tools] if keys else []
    fitting = [tool for tool, view in viewed if view and set(view.required) <= keys <= set(view.properties)]
    return fitting[0] if len(fitting) == 1 else None
