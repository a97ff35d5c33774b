"""Every `toolfix_…` option: its default, its help text and the check of its value.

The mitmproxy script declares its options from this table, the command checks `--set` with it, and recordings store
the values. All options are declared as text, because mitmproxy silently drops an addon if a typed option has a bad
value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import Any, Literal

MIB = 1024 * 1024

PREFIX = "toolfix_"
ENVIRONMENT = "TOOLFIX_"
LOGGED = "wrong option: "
"""What every error in an option begins with in mitmproxy's log, so that who starts mitmdump finds it there."""


class BadOption(ValueError):
    """The value of an option is not allowed; the message says which values are."""


@dataclass(slots=True, frozen=True)
class Policy:
    """The options that decide what happens inside one request and its response."""

    aggregate: bool = True
    tools: tuple[re.Pattern[str], ...] = ()
    fallback: Literal["auto", "empty", "original"] = "auto"
    invalid_tool: str = ""
    arguments: bool = True
    truncated: Literal["refuse", "complete"] = "refuse"
    shape: bool = True
    drop_empty: frozenset[str] = frozenset({"pages"})
    null_content: bool = False
    preflight: bool = True
    text_calls: Literal["native", "whole", "off"] = "native"
    request: bool = True
    hints: bool = False
    retry_guidance: bool | Literal["auto"] = "auto"
    reasoning: Literal["auto", "off"] = "auto"
    loops: int = 3
    zai: Literal["auto", "on", "off"] = "auto"
    zai_after_null: Literal["cut", "forward_all"] = "cut"
    max_held_bytes: int = 16 * MIB

    def touches(self, tool: str) -> bool:
        """Whether calls of this tool are to be mended."""
        return not self.tools or any(pattern.search(tool) for pattern in self.tools)


@dataclass(slots=True, frozen=True)
class Option:
    """One option as the user sees it. `read` turns its text into a value or raises BadOption."""

    name: str
    default: str
    help: str
    read: Callable[[str], Any] = field(repr=False)
    secret: bool = False
    """The value never appears in a message, not even if it is invalid."""

    @property
    def full_name(self) -> str:
        return PREFIX + self.name

    @property
    def variable(self) -> str:
        return ENVIRONMENT + self.name.upper()

    def check(self, text: str) -> Any:
        try:
            return self.read(text)
        except BadOption as bad:
            given = self.full_name if self.secret else f"{self.full_name}={text!r}"
            raise BadOption(f"{given} is not allowed: {bad}") from None


_ON, _OFF = {"true", "1", "yes", "on"}, {"false", "0", "no", "off"}
_SWITCH = dict.fromkeys(_ON, True) | dict.fromkeys(_OFF, False)


def _choice(*named: str, **meant: Any) -> Callable[[str], Any]:
    """Reads one of these words. `meant`: what some of them mean, and others that the message does not name."""
    words: dict[str, Any] = dict(zip(named, named, strict=True)) | meant

    def read(text: str) -> Any:
        word = text.strip().lower()
        if word not in words:
            raise BadOption(f"use {', '.join(named[:-1])} or {named[-1]}.")
        return words[word]

    return read


_switch = _choice("true", "false", **_SWITCH)
_switch_or_auto = _choice("auto", "true", "false", **_SWITCH)
_text_calls = _choice("native", "whole", "off", true="native", false="off")
"""It was a switch once."""


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _patterns(text: str) -> tuple[re.Pattern[str], ...]:
    patterns = []
    for part in _listed(text):
        try:
            patterns.append(re.compile(part))
        except re.error as error:
            raise BadOption(f"{part!r} is not a regular expression ({error}).") from None
    return tuple(patterns)


def _names(text: str) -> frozenset[str]:
    names = frozenset(_listed(text))
    if any(len(name.split()) > 1 for name in names):
        raise BadOption("use property names, separated by commas.")
    return names


_SIZES = {"": 1, "b": 1, "k": 1024, "kib": 1024, "m": MIB, "mib": MIB, "g": 1024 * MIB, "gib": 1024 * MIB}


def _size(text: str) -> int:
    match = re.fullmatch(r"\s*(\d{1,15})\s*([a-z]*)\s*", text.lower())
    if not match or match[2] not in _SIZES or int(match[1]) == 0:
        raise BadOption("use a number of bytes above 0, such as 1048576, 512k or 16 MiB.")
    return int(match[1]) * _SIZES[match[2]]


def _matching(pattern: str, else_use: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if not re.fullmatch(pattern, text.strip()):
            raise BadOption(f"use {else_use}.")
        return text.strip()

    return read


_times = _matching(r"(?!0*1\Z)\d{1,4}", "0 for off, or a number from 2 to 9999")
_tool_name = _matching(r"\S*", "one tool name without spaces, or leave it empty")
_readers = _matching(r"off|loopback|[!-~]{16,}", "off, loopback, or a token of 16 characters or more without spaces")


_HOST = re.compile(
    r"\+?(\*|(\*\.)?[A-Za-z0-9_]([A-Za-z0-9_*-]*[A-Za-z0-9_*])?(\.[A-Za-z0-9_*-]+)*|\[?[0-9A-Fa-f:]+\]?)"
)


def _hosts(text: str) -> tuple[str, ...]:
    hosts = tuple(_listed(text))
    for host in hosts:
        if not _HOST.fullmatch(host):
            raise BadOption(
                f"{host!r} is not a host name; use names such as api.example.com, *.example.com or +my.host."
            )
    return hosts


OPTIONS: tuple[Option, ...] = (
    Option("mode", "repair",
           "repair: mend; observe: pass bytes unchanged, log and record what would be done; off: touch nothing.",
           _choice("repair", "observe", "off")),
    Option("aggregate", "true",
           "Hold a tool call and send it complete. false: stream one call at a time, while valid.",
           _switch),
    Option("hosts", "", "Hosts to intercept, comma-separated; +host adds to the built-in list of LLM hosts.",
           _hosts),
    Option("tools", "", "Regular expressions for the tools to mend, comma-separated; empty: all.", _patterns),
    Option("fallback", "auto", "Arguments that cannot be mended: auto, empty ({}), original (unchanged).",
           _choice("auto", "empty", "original")),
    Option("invalid_tool", "", "The client's tool for invalid calls. Empty: `invalid` if the request declares it.",
           _tool_name),
    Option("arguments", "true", "Mend the arguments of tool calls.", _switch),
    Option("truncated", "refuse", "Arguments cut off inside a value: refuse (never run) or complete (close them).",
           _choice("refuse", "complete")),
    Option("shape", "true", "Mend shapes that the declared schema proves wrong.", _switch),
    Option("drop_empty", "pages", "Optional properties that count as absent when they are an empty string.", _names),
    Option("null_content", "false", "Remove text that accompanies a tool call: content becomes null.", _switch),
    Option("preflight", "true", "Send calls with missing required fields to the client's invalid tool.", _switch),
    Option("text_calls", "native", "Turn calls written as text into real calls: native (told by their form), "
           "whole (only as the whole message), off.", _text_calls),
    Option("request", "true", "Mend requests: broken history, calls without results; say why a call was "
           "refused. Replaced ids are always restored.", _switch),
    Option("hints", "false", "Add shape hints to the descriptions of shell-like tools.", _switch),
    Option("retry_guidance", "auto", "Retry instruction in results: auto (call does not fit its schema, or "
           "the agent refused it), true (all failed), false.", _switch_or_auto),
    Option("reasoning", "auto", "Send reasoning and signatures back to the host that sent them, if the client "
           "dropped them: auto or off.", _choice("auto", "off")),
    Option("loops", "3", "A call sent this many times in a row with the same result gets a sentence in that result; "
           "0: off.", lambda text: int(_times(text))),
    Option("zai", "auto", "Convert the chat.z.ai stream: auto (when the request declares tools), on, off.",
           _choice("auto", "on", "off")),
    Option("zai_after_null", "cut", "What follows the null patch of chat.z.ai: cut or forward_all.",
           _choice("cut", "forward_all")),
    Option("record", "off", "A directory to record before/after flows into; off: do not record.",
           lambda text: "" if text.strip().lower() in {"", "off"} else text.strip()),
    Option("metrics", "off", "Who may read /metrics: off, loopback (any client on this machine), or a bearer token.",
           _readers, secret=True),
    Option("max_held_bytes", "16 MiB", "The most bytes held for one response; beyond that the rest passes unchanged.",
           _size),
)  # fmt: skip

BY_NAME: dict[str, Option] = {option.full_name: option for option in OPTIONS}

_GONE = ("toolfix_schemas", "toolfix_structured", "toolfix_think")
_LEGACY_SWITCHES = {"RCC_TOOL_ENHANCE": "toolfix_arguments", "RCC_SSE_TOOL_AGGREGATE": "toolfix_aggregate"}


def from_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The option texts set in the environment: TOOLFIX_… variables, and two switches of other tools."""
    said = {name: environment.get(variable, "") for variable, name in _LEGACY_SWITCHES.items()}
    # Other values of another tool's switch are not ours to check.
    texts = {name: "false" for name, text in said.items() if text.strip().lower() in _OFF}
    for option in OPTIONS:
        if option.variable in environment:
            texts[option.full_name] = environment[option.variable]
    return texts


def read_options(texts: Mapping[str, str]) -> dict[str, Any]:
    """Check every text and return the values of all options by full name."""
    unknown = sorted(set(texts) - set(BY_NAME))
    if unknown and unknown[0] in _GONE:
        raise BadOption(f"{unknown[0]} is gone, because toolfix mends tool calls alone: leave it out.")
    if unknown:
        raise BadOption(f"there is no option {unknown[0]!r}. {_meant(unknown[0], BY_NAME)}")
    return {name: option.check(texts.get(name, option.default)) for name, option in BY_NAME.items()}


_NEAR = 0.85
"""From this similarity on, one name is a misspelling of the other. High, because all names begin alike."""


def check_variables(environment: Mapping[str, str]) -> None:
    """Raise BadOption if a TOOLFIX_… variable is a misspelt option; others may belong to another program."""
    known = [option.variable for option in OPTIONS]
    for name in sorted(environment):
        if name.startswith(ENVIRONMENT) and name not in known and get_close_matches(name, known, 1, _NEAR):
            raise BadOption(f"{name} in the environment is not an option. {_meant(name, known)}")


def _meant(name: str, known: Iterable[str]) -> str:
    """A hint: the option that a misspelt name probably means, or else all options."""
    names = list(known)
    near = get_close_matches(name, names, 1, _NEAR)
    return f"Did you mean {near[0]}?" if near else f"The options are {', '.join(names)}."


def is_ours(name: str) -> bool:
    """Whether a name in mitmproxy's options is one of ours, or a misspelling of one."""
    return name.startswith(PREFIX) or bool(get_close_matches(name, BY_NAME, 1, _NEAR))


def make_policy(values: Mapping[str, Any]) -> Policy:
    """The policy for one request and its response, from the checked option values."""
    return Policy(**{known.name: values[PREFIX + known.name] for known in fields(Policy)})
