"""Formats of a marker, JSON with the calls or `N {…}`, and a closer: each is a row of a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..cursor import NotACall, Step
from ..envelope import keys_of, read_calls
from ..jsontext import read_json
from ..region import Format, Region, is_tool_definition
from ..values import properties


@dataclass(slots=True, frozen=True)
class MarkedFormat:
    format: str
    openers: tuple[str, ...]
    closers: tuple[str, ...]
    named: bool = False
    """The name may come before the arguments: `N {…}`."""


_TABLE = (
    MarkedFormat("llama3", ("<|python_tag|>",), ("<|eom_id|>", "<|eot_id|>")),
    MarkedFormat("granite", ("<|tool_call|>",), ("<|end_of_text|>",)),
    MarkedFormat("granite", ("<function_call>",), ("</function_call>",)),
    MarkedFormat("command-r", ("<|START_ACTION|>",), ("<|END_ACTION|>",)),
    MarkedFormat("internlm", ("<|action_start|> <|plugin|>", "<|action_start|><|plugin|>"), ("<|action_end|>",)),
    MarkedFormat("nemotron", ("<TOOLCALL>",), ("</TOOLCALL>",)),
    MarkedFormat(
        "lmstudio", ("[TOOL_REQUEST]",), ("[END_TOOL_REQUEST]", "[TOOL_REQUEST_END]", "[/TOOL_REQUEST]"), named=True
    ),
)


def _reader(row: MarkedFormat) -> Callable[[Region], Step[None]]:
    def read(region: Region) -> Step[None]:
        yield from region.expect(row.openers)
        yield from region.space()
        char = yield from region.peek()
        if row.named and char.isalpha():
            yield from _read_named(region, row)
        elif char in ("{", "[", "`", ""):
            yield from read_calls(region, row.format, row.closers, ends=row.openers)
        else:
            raise NotACall

    return read


def _read_named(region: Region, row: MarkedFormat) -> Step[None]:
    """Read `N {…}` and a closer: the JSON is only the arguments."""
    name = region.names.strict((yield from region.word("{")))
    if name is None:
        raise NotACall
    body = yield from read_json(region, row.closers)
    yield from region.expect(row.closers)
    if is_tool_definition(keys_of(body), properties(region.schema(name))):
        raise NotACall
    region.add(name, body, row.format)


FORMATS = tuple(Format(row.format, row.openers, _reader(row)) for row in _TABLE)
