"""Formats that are a marker, JSON with the calls, and a closer: each a line of a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..cursor import NotACall, Step
from ..envelope import read_calls
from ..region import Format, Region


@dataclass(slots=True, frozen=True)
class Listed:
    format: str
    openers: tuple[str, ...]
    closers: tuple[str, ...]
    tokens: bool = True


_TABLE = (
    Listed("llama3", ("<|python_tag|>",), ("<|eom_id|>", "<|eot_id|>")),
    Listed("granite", ("<|tool_call|>",), ("<|end_of_text|>",)),
    Listed("granite", ("<function_call>",), ("</function_call>",), tokens=False),
    Listed("command-r", ("<|START_ACTION|>",), ("<|END_ACTION|>",)),
    Listed("internlm", ("<|action_start|> <|plugin|>", "<|action_start|><|plugin|>"), ("<|action_end|>",)),
    Listed("nemotron", ("<TOOLCALL>",), ("</TOOLCALL>",), tokens=False),
    Listed("lmstudio", ("[TOOL_REQUEST]",), ("[END_TOOL_REQUEST]", "[TOOL_REQUEST_END]", "[/TOOL_REQUEST]")),
)


def _reader(row: Listed) -> Callable[[Region], Step[None]]:
    def read(region: Region) -> Step[None]:
        yield from region.expect(row.openers)
        yield from region.space()
        if (yield from region.peek()) not in ("{", "[", "`", ""):
            raise NotACall
        yield from read_calls(region, row.format, row.closers)

    return read


FORMATS = tuple(Format(row.format, row.openers, _reader(row), row.tokens) for row in _TABLE)
