"""Calls as Python: `[f(a=1), g(b="x")]` (Llama 4, LFM2), `print(default_api.f(a=1))` (Gemma's tool_code)."""

from __future__ import annotations

from typing import Any

from ..cursor import CutOff, NotACall, Step
from ..python import read_calls
from ..region import Format, Region
from ..values import put, required, write

_STRUCTURE = ('"""', "'''", '"', "'", "(", ")", "[", "]", "{", "}")


def read_list(region: Region, *, known: bool, format: str = "pythonic") -> Step[None]:
    """Read `[f(…), …]`. `known`: no marker comes before it, so it is a call only if the name is declared."""
    region.record()
    region.pos += 1
    if known:
        yield from region.space()
        yield from _declared_name(region)
    yield from _balanced(region, 1)
    add_python(region, region.recorded(), format, strict=known)


def read_code(region: Region, stop: str) -> Step[None]:
    """Read one call per line, with or without `print(…)` around it, up to `stop`."""
    region.record()
    first, _ = yield from region.ahead(("print(",), space=False)
    if first:
        region.pos += len(first)
    yield from _declared_name(region)
    _, found = yield from region.until((f"\n{stop}",))
    if found is None:
        raise CutOff
    region.pos += 1
    add_python(region, region.recorded(), "gemma-tool-code", strict=True)


def _declared_name(region: Region) -> Step[None]:
    written = ""
    while (char := (yield from region.peek())) != "(":
        written += char
        if not char:
            raise CutOff
        if not (char.isalnum() or char in "_.") or len(written) > 128 or not region.names.begins(written):
            raise NotACall
        region.pos += 1
    if region.names.strict(written) is None:
        raise NotACall


def _balanced(region: Region, depth: int) -> Step[None]:
    """Read up to and including the bracket that closes the list."""
    while True:
        _, mark = yield from region.until(_STRUCTURE)
        if mark is None:
            raise CutOff
        region.pos += len(mark)
        if mark in "([{":
            depth += 1
        elif mark in ")]}":
            depth -= 1
            if not depth:
                return
        else:
            yield from _string(region, mark)


def _string(region: Region, quote: str) -> Step[None]:
    while True:
        _, mark = yield from region.until((quote, "\\"))
        if mark is None:
            raise CutOff
        region.pos += len(mark)
        if mark == quote:
            return
        if not (yield from region.peek()):
            raise CutOff
        region.pos += 1


def add_python(region: Region, source: str, format: str, *, strict: bool) -> None:
    """Add the calls of a list of Python expressions to the region."""
    calls = []
    for written, values, named in read_calls(source, region.work):
        name = region.names.resolve(written)
        if values and name is not None:
            _name_the_value(region, name, values, named)
        if strict and (name is None or not region.fits(name, named)):
            raise NotACall
        calls.append((name, write(named)))
    if not calls:
        raise NotACall
    for name, arguments in calls:
        region.add(name, arguments, format)


def _name_the_value(region: Region, name: str, values: list[Any], named: dict[str, Any]) -> None:
    """Give the one value without a name to the one required parameter.

    Several values or required parameters are refused, because the order of the values may be wrong.
    """
    needed = required(region.schema(name))
    if len(values) > 1 or len(needed) != 1:
        raise NotACall
    put(named, needed.pop(), values[0])


def read_tokens(region: Region) -> Step[None]:
    yield from region.expect(("<|python_start|>",))
    yield from region.space()
    if (yield from region.peek()) != "[":
        raise NotACall
    yield from read_list(region, known=False)
    yield from region.optional(("<|python_end|>",))


FORMATS = (Format("pythonic", ("<|python_start|>",), read_tokens),)
