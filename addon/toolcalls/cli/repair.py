"""`toolfix repair`: reads the arguments of a call, and prints strict JSON."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from ..call import Call
from ..ids import Ids
from ..mend.arguments import Finish
from ..mend.mender import Mender
from ..outcome import Outcome
from ..policy import Policy
from ..shown import LINE, shown
from ..tools.declared import Tool, Tools
from . import inputs

_TOOL = "tool"


@click.command()
@click.option("--schema", metavar="FILE", help="JSON schema of the arguments: shapes are mended too.")
@click.option("--finish", metavar="REASON", help="Why the model stopped: stop, tool_calls, length …")
@click.option(
    "--jsonl", is_flag=True, help='Read many, one JSON object per line: {"id", "input", "schema"?, "finish"?}'
)
@click.argument("words", nargs=-1, metavar="< FILE")
def repair(schema: str | None, finish: str | None, jsonl: bool, words: tuple[str, ...]) -> None:
    """Mend the arguments of a tool call.

    Reads them on standard input and prints strict JSON. If it refuses, it prints the reason and exits with 1.
    """
    inputs.refuse_words("repair", words)
    if jsonl:
        for number, entry in inputs.json_lines():
            if not isinstance(entry.get("input"), str):
                raise click.UsageError(f'line {number} of the input has no text under "input".')
            if not isinstance(entry.get("schema") or {}, dict):
                raise click.UsageError(f'line {number} of the input: "schema" is not a JSON object.')
            if not isinstance(entry.get("finish") or "", str):
                raise click.UsageError(f'line {number} of the input: "finish" is not a text, such as "stop".')
            outcome = mend(entry["input"], entry.get("schema"), entry.get("finish"))
            inputs.write_line({"id": entry.get("id"), **_reported(outcome)})
        return
    try:
        text = inputs.read_stdin().decode("utf-8")
    except UnicodeDecodeError as error:
        inputs.remark(f"refused: the input is not UTF-8 (byte {error.start}).")
        sys.exit(1)
    outcome = mend(text, _read_schema(schema) if schema else None, finish)
    if outcome.status == "refused":
        inputs.remark(f"refused: {shown(outcome.reason, LINE)}." if text.strip() else "the input is empty.")
        sys.exit(1)
    sys.stdout.buffer.write(outcome.arguments.encode("utf-8", "backslashreplace"))
    inputs.end_line(outcome.arguments)
    inputs.remark(f"mended: {', '.join(outcome.steps)}." if outcome.steps else "unchanged: this is valid JSON.")


def mend(text: str, schema: Any = None, finish: Any = None) -> Outcome:
    """Mend one text in the same steps as a call of an answer; a refusal is reported, not replaced by a fallback."""
    tools = Tools([Tool(_TOOL, schema)]) if isinstance(schema, dict) else Tools()
    mender = Mender(tools, Policy(fallback="original", preflight=False), Ids())
    return mender.decide(Call(name=_TOOL, arguments=text, finish=Finish.of(finish)))


def _reported(outcome: Outcome) -> dict[str, Any]:
    refused = outcome.status == "refused"
    entry: dict[str, Any] = {
        "status": outcome.status,
        "arguments": None if refused else outcome.arguments,
        "steps": list(outcome.steps),
    }
    return {**entry, "reason": outcome.reason} if refused else entry


def _read_schema(path: str) -> Any:
    try:
        schema = json.loads(inputs.read_file(path, "the schema"))
    except ValueError as error:
        raise click.UsageError(f"the schema {path!r} is not JSON ({error}).") from None
    if not isinstance(schema, dict):
        raise click.UsageError(f"the schema {path!r} is not a JSON object.")
    return schema
