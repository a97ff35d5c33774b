"""Calls as Python: `[f(a=1), g(b="x")]` (Llama 4, LFM2), `print(default_api.f(a=1))` (Gemma's tool_code)."""

from __future__ import annotations

import ast
import re
from typing import Any

from ..cursor import CutOff, NotACall, Step
from ..region import Format, Region
from ..values import properties, write

_STRUCTURE = re.compile(r"""["'()\[\]{}]""")
_STRING = {quote: re.compile(rf"[{quote}\\]") for quote in "\"'"}
_MOST = 1 << 20
"""A syntax tree takes many times the memory of its text."""
_FAULTS = (SyntaxError, ValueError, TypeError, RecursionError, MemoryError)


def read_list(region: Region, *, known: bool, format: str = "pythonic") -> Step[None]:
    """`[f(…), …]`. `known`: there is no marker, only a declared name makes it a call."""
    region.record()
    region.pos += 1
    if known:
        yield from _declared_name(region)
    yield from _balanced(region, 1)
    add_python(region, region.recorded(), format, strict=known)


def read_code(region: Region, stop: str) -> Step[None]:
    """One call a line, maybe printed, up to `stop`."""
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
    """To behind the bracket that closes the list."""
    while True:
        match = _STRUCTURE.search(region.window, region.pos)
        if match is None:
            region.pos = len(region.window)
            if region.eof:
                raise CutOff
            yield
            continue
        region.pos = match.end()
        char = match.group()
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if not depth:
                return
        else:
            yield from _string(region, char)


def _string(region: Region, quote: str) -> Step[None]:
    pattern = _STRING[quote]
    while True:
        match = pattern.search(region.window, region.pos)
        if match is None:
            region.pos = len(region.window)
            if region.eof:
                raise CutOff
            yield
            continue
        region.pos = match.end()
        if match.group() != "\\":
            return
        if not (yield from region.peek()):
            raise CutOff
        region.pos += 1


def add_python(region: Region, source: str, format: str, *, strict: bool) -> None:
    """Report the calls of a Python expression list."""
    if len(source) > _MOST:
        raise NotACall
    try:
        body = ast.parse(source.strip()).body
        nodes = [node for statement in body for node in _expressions(statement)]
        calls = [_call(node) for node in nodes]
    except _FAULTS:
        raise NotACall from None
    if not calls:
        raise NotACall
    named = [(region.names.resolve(written), written, arguments, keys) for written, arguments, keys in calls]
    if strict and any(name is None or not region.fits(name, keys) for name, _, _, keys in named):
        raise NotACall
    for name, _, arguments, _ in named:
        region.add(name, _positional(region, name, arguments), format)


def _expressions(statement: ast.stmt) -> list[ast.expr]:
    if not isinstance(statement, ast.Expr):
        raise ValueError
    value = statement.value
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "print" and value.args:
        value = value.args[0]
    return value.elts if isinstance(value, ast.List | ast.Tuple) else [value]


def _call(node: ast.expr) -> tuple[str, dict[str, Any] | list[Any], dict[str, Any]]:
    if not isinstance(node, ast.Call):
        raise ValueError
    written = ast.unparse(node.func)
    if node.args and node.keywords:
        raise ValueError
    if node.args:
        return written, [_literal(argument) for argument in node.args], {}
    arguments: dict[str, Any] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise ValueError
        arguments[keyword.arg] = _literal(keyword.value)
    return written, arguments, arguments


def _literal(node: ast.expr) -> Any:
    if isinstance(node, ast.Name) and node.id in ("true", "false", "null"):
        return {"true": True, "false": False, "null": None}[node.id]
    value = ast.literal_eval(node)
    if isinstance(value, str | bool | int | float | list | dict) or value is None:
        return value
    if isinstance(value, tuple):
        return list(value)
    raise ValueError


def _positional(region: Region, name: str | None, arguments: dict[str, Any] | list[Any]) -> str:
    """Positional values take the names of the declared parameters, where there are as many."""
    try:
        if isinstance(arguments, dict):
            return write(arguments)
        declared = list(properties(region.schema(name)))
        if len(declared) < len(arguments):
            raise NotACall
        return write(dict(zip(declared, arguments, strict=False)))
    except _FAULTS:
        raise NotACall from None


def read_tokens(region: Region) -> Step[None]:
    yield from region.expect(("<|python_start|>",))
    yield from region.space()
    if (yield from region.peek()) != "[":
        raise NotACall
    yield from read_list(region, known=False)
    yield from region.optional(("<|python_end|>",))


FORMATS = (Format("pythonic", ("<|python_start|>",), read_tokens, tokens=True),)
