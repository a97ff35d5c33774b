"""The ways in which a model calls a tool badly; each is the broken of a session."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Json = dict[str, Any]
MARK = "mark"
"""The file that the command writes that was meant."""
CUT = "cutoff"
"""The file that only the command writes that was cut off."""
RUN = f"echo ran >> {MARK}"
UNKNOWN = "invalid"
"""A tool that none of the agents declares. toolfix sends a refused call to it if `{}` would run the called tool."""


@dataclass(slots=True, frozen=True)
class Tools:
    """The tools of an agent that broken calls are made with."""

    shell: str = ""
    command: str = ""
    wrong_command: str = ""
    number: str = ""
    list_tool: str = ""
    list_arguments: Json = field(default_factory=dict)
    """Arguments with a list, which the broken sends as a string."""
    list_key: str = ""
    list_done: Callable[[Path, list[str]], bool] = lambda _work, _results: False
    """Tells from the work folder and the tool results whether the tool with the list has done its work."""
    optional_tool: str = ""
    """A tool without required fields; "" if the agent declares none."""
    run: str | list[str] = RUN
    """The command that is meant, in the form that the tool takes."""


@dataclass(slots=True, frozen=True)
class BrokenCall:
    """One way to call a tool badly."""

    name: str
    call: Callable[[Tools], tuple[str, str]]
    """The name and the argument text that the model sends."""
    as_text: bool = False
    finish: str = ""
    """The finish reason `length`, if the answer is cut off and says so."""
    cut: bool = False
    """The call has a command that is cut off and must not run."""
    lists: bool = False
    seconds: float = 0.0
    """How long the call takes to arrive; at most a tenth of this time passes between two events."""
    once: bool = False
    """The model sends the bad call only once; the second attempt is a good call of the shell."""
    strict: str = ""
    """What the host requires in the history: it rejects a request without it. The calls are good."""


def _arguments(tools: Tools, **more: Any) -> Json:
    return {tools.command: tools.run, **more}


def _shell(write: Callable[[Tools], str]) -> Callable[[Tools], tuple[str, str]]:
    return lambda tools: (tools.shell, write(tools))


def _swapped(name: str) -> str:
    return name.title() if name.islower() else name.lower()


def _listed(tools: Tools) -> tuple[str, str]:
    arguments = {**tools.list_arguments, tools.list_key: json.dumps(tools.list_arguments[tools.list_key])}
    return tools.list_tool, json.dumps(arguments)


def _cut(tools: Tools) -> str:
    return f'{{"{tools.command}": "echo cut >> {CUT}'


def long_call(seconds: float) -> BrokenCall:
    """A good call that takes this long to arrive, such as a long file of a slow model."""
    slow = f"{RUN} # {'x' * 900}"
    return BrokenCall(
        f"a call of {seconds:g} s", _shell(lambda tools: json.dumps({tools.command: slow})), seconds=seconds
    )


def _unreadable(tools: Tools) -> tuple[str, str]:
    """Two different objects for a tool that requires nothing; if the agent has none, for an unknown tool."""
    return tools.optional_tool or UNKNOWN, '{"a": 1}{"b": 2}'


BROKEN_CALLS = (
    BrokenCall("Python dict", _shell(lambda tools: repr(_arguments(tools)))),
    BrokenCall("array as string", _listed, lists=True),
    BrokenCall("double-encoded", _shell(lambda tools: json.dumps(json.dumps(_arguments(tools))))),
    BrokenCall("trailing comma", _shell(lambda tools: json.dumps(_arguments(tools))[:-1] + ",}")),
    BrokenCall("fence", _shell(lambda tools: f"```json\n{json.dumps(_arguments(tools))}\n```")),
    BrokenCall("number as string", _shell(lambda tools: json.dumps(_arguments(tools, **{tools.number: "5000"})))),
    BrokenCall("wrong-case name", lambda tools: (_swapped(tools.shell), json.dumps(_arguments(tools)))),
    BrokenCall("wrong key", _shell(lambda tools: json.dumps({tools.wrong_command: RUN}))),
    BrokenCall("text call", _shell(lambda tools: json.dumps(_arguments(tools))), as_text=True),
    BrokenCall("cut off", _shell(_cut), cut=True, once=True),
    BrokenCall("cut off, says so", _shell(_cut), finish="length", cut=True, once=True),
    BrokenCall("refused, nothing required", _unreadable, once=True),
    BrokenCall("unknown tool", lambda _: (UNKNOWN, '{"tool":"x","error":"y","receivedArgs":{}}'), once=True),
)
