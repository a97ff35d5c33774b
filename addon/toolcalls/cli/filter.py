"""`toolfix filter` mends an answer, `toolfix repair` the arguments of one call: standard input to standard output."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import click

from ..call import Call
from ..engine import AUTO, PROTOCOLS, Response, mend_whole
from ..ids import Ids
from ..mend.finish import Finish
from ..mend.mender import Mender
from ..outcome import Outcome
from ..policy import Policy
from ..proxy.session_summary import Summary
from ..recording import store
from ..request.request import decode, read_request, seed_of
from ..shown import LINE, shown
from ..sizes import MOST_CALLS, LimitReached
from ..tools.declared import Tool, Tools
from . import inputs, remark
from .inputs import Settings

_MOST_REASONS = 5
"""How many refused calls are named; the report has all."""
_TOO_LARGE = "the arguments have more values than are read (docs/mended.md has the limits)"
_TOOL = "tool"


def read_stdin() -> bytes:
    """All of standard input. On a terminal, say how to end it."""
    if sys.stdin.isatty():
        click.echo("Reading from the terminal: paste the text, then press Ctrl-D.", err=True)
    text = sys.stdin.buffer.read()
    if not text.strip():
        raise click.ClickException("the input is empty.")
    return text


def write_stdout(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def must(right: bool, otherwise: str) -> None:
    """Refuse a line of the input."""
    if not right:
        raise click.UsageError(otherwise)


def each_line(work: Callable[[dict[str, Any]], dict[str, Any]], **alone: object) -> None:
    """Read JSON objects, one on each line of standard input, and write a line with what `work` makes of each.

    `alone`: the options for a single input, none of which may be given.
    """
    for option, value in alone.items():
        if value:
            name = option.replace("_", "-")
            raise click.UsageError(f"--{name} is for a single input: with --jsonl each line has its own.")
    for number, text in enumerate(sys.stdin.buffer, 1):
        if not text.strip():
            continue
        try:
            line = json.dumps(work(_object_in(text)), ensure_ascii=False) + "\n"
        except click.UsageError as bad:
            raise click.UsageError(f"line {number} of the input: {bad.message}") from None
        write_stdout(line.encode("utf-8", "backslashreplace"))


def _object_in(line: bytes) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise click.UsageError(f"it is not JSON ({error}).") from None
    must(isinstance(entry, dict), "it is not a JSON object.")
    return dict(entry)


# An answer


@click.command("filter", options_metavar="[OPTIONS] < FILE")
@click.option(
    "--protocol", type=click.Choice(PROTOCOLS), default=AUTO, show_default=True, help="The protocol of the body."
)
@click.option(
    "--request", metavar="FILE", type=click.File("rb"), help="The request body: its tools guide the mending."
)
@click.option("--chunk-size", type=click.IntRange(1), metavar="N", help="Feed the body in chunks of N bytes.")
@inputs.SETTINGS
@click.option(
    "--report", metavar="FILE", callback=inputs.writable_file, help="Write the outcome of each call there, as JSON."
)
@click.option(
    "--jsonl",
    is_flag=True,
    help='Read many, one JSON object per line: {"id", "protocol", "body" or "body_base64", …}',
)
def filter(
    protocol: str,
    request: BinaryIO | None,
    chunk_size: int | None,
    settings: Settings,
    report: Path | None,
    jsonl: bool,
) -> None:
    """Repair a saved model response (stdin → stdout).

    Reads the body on standard input, an event stream or JSON, and prints what the client would receive.
    """
    policy = inputs.policy_from(settings)
    if jsonl:
        each_line(partial(_filter_line, protocol, settings), request=request, chunk_size=chunk_size, report=report)
        return
    asked = request.read() if request else b""
    if request and decode(asked) is None:
        raise click.UsageError(f"the request {request.name!r} is not a JSON object.")
    after, calls = _mended(protocol, asked, policy, read_stdin(), chunk_size or 0)
    # Behind the body on a terminal, the summary has a line of its own.
    line_end = b"" if after.endswith(b"\n") or not sys.stdout.isatty() else b"\n"
    write_stdout(after + line_end)
    refused = [call for call in calls if call.status == "refused"]
    mended = sum(call.status == "repaired" for call in calls)
    counts = Summary(calls=len(calls), mended=mended, refused=len(refused)).sentence()
    remark(counts if calls else "unchanged: there is no tool call in it.")
    for call in refused[:_MOST_REASONS]:
        remark(f"refused {shown(call.name)}: {shown(call.reason)}")
    if report:
        store.private_report(report, store.pretty(store.calls_json(calls)))


def _mended(
    protocol: str, request: bytes, policy: Policy, body: bytes, chunk_size: int
) -> tuple[bytes, list[Outcome]]:
    """What the client would receive, and the outcome of each call."""
    answer = Response(protocol, read_request(decode(request), protocol), policy, seed=seed_of(request))
    after = mend_whole(answer, body, chunk_size)
    if answer.failure is not None:
        remark(f"internal error ({answer.failure!r}): the body passes unchanged.")
    if answer.limited:
        limit = f"toolfix_max_held_bytes, {MOST_CALLS:,} calls, or a size that is not read"
        remark(f"over a limit ({limit}): the rest passed unchanged.")
    return after, answer.outcomes


def _filter_line(protocol: str, settings: Settings, entry: dict[str, Any]) -> dict[str, Any]:
    protocol = entry.get("protocol") or protocol
    size, request, own = entry.get("chunk_size") or 0, entry.get("request"), entry.get("set")
    must(protocol in PROTOCOLS, f"protocol {protocol!r} is not one of {', '.join(PROTOCOLS)}.")
    must(isinstance(size, int) and size >= 0, '"chunk_size" is not a number of bytes.')
    text = request if isinstance(request, str) else json.dumps(request) if isinstance(request, dict) else ""
    values = own.items() if isinstance(own, dict) else ()
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in values}
    policy = inputs.policy_from({**settings, **texts})
    body, calls = _mended(protocol, text.encode(), policy, _body(entry), size)
    try:
        written = {"body": body.decode("utf-8")}
    except UnicodeDecodeError:
        written = {"body_base64": base64.b64encode(body).decode("ascii")}
    return {"id": entry.get("id"), **written, "calls": store.calls_json(calls)}


def _body(entry: dict[str, Any]) -> bytes:
    body = entry.get("body")
    if isinstance(body, str):
        return body.encode("utf-8", "surrogatepass")
    must("body_base64" in entry, 'it has neither "body" nor "body_base64".')
    try:
        return base64.b64decode(entry["body_base64"], validate=True)
    except (TypeError, ValueError):
        raise click.UsageError('"body_base64" is not base64.') from None


# The arguments of one call


@click.command(options_metavar="[OPTIONS] < FILE")
@click.option(
    "--schema", metavar="FILE", type=click.File("rb"), help="JSON schema of the arguments: shapes are mended too."
)
@click.option("--finish", metavar="REASON", help="Why the model stopped: stop, tool_calls, length …")
@click.option(
    "--jsonl", is_flag=True, help='Read many, one JSON object per line: {"id", "input", "schema"?, "finish"?}'
)
def repair(schema: BinaryIO | None, finish: str | None, jsonl: bool) -> None:
    """Mend the arguments of a tool call.

    Reads them on standard input and prints strict JSON. If it refuses, it prints the reason and exits with 1;
    with --jsonl the reason is in the line, and the exit status 0.
    """
    if finish is not None and Finish.of(finish) is Finish.UNKNOWN:
        raise click.UsageError(f"--finish {finish!r} is no reason why a model stops: use stop, tool_calls, length …")
    if jsonl:
        each_line(_repair_line, schema=schema, finish=finish)
        return
    declared = decode(schema.read()) if schema else None
    if schema and declared is None:
        raise click.UsageError(f"the schema {schema.name!r} is not a JSON object.")
    try:
        text = read_stdin().decode("utf-8")
    except UnicodeDecodeError as error:
        raise click.ClickException(f"refused: the input is not UTF-8 (byte {error.start}).") from None
    outcome = mend(text, declared, finish)
    if outcome.status == "refused":
        why = shown(outcome.reason, LINE)
        if not finish and mend(text, declared, "stop").status != "refused":
            why = why.replace(" were cut off", " may have been cut off")
            why += "; if the model had finished, add --finish stop"
        raise click.ClickException(f"refused: {why}.")
    end = "" if outcome.arguments.endswith("\n") else "\n"
    write_stdout((outcome.arguments + end).encode("utf-8", "backslashreplace"))
    remark(f"mended: {', '.join(outcome.steps)}." if outcome.steps else "unchanged: this is valid JSON.")


def mend(text: str, schema: Any = None, finish: str | None = None) -> Outcome:
    """Mend one text in the same steps as a call of an answer; a refusal is reported, not replaced by a fallback."""
    tools = Tools([Tool(_TOOL, schema)]) if isinstance(schema, dict) else Tools()
    mender = Mender(tools, Policy(fallback="original", preflight=False), Ids())
    try:
        return mender.decide(Call(name=_TOOL, arguments=text, finish=Finish.of(finish)))
    except LimitReached:
        return Outcome("refused", _TOOL, text, _TOOL, text, reason=_TOO_LARGE)


def _repair_line(entry: dict[str, Any]) -> dict[str, Any]:
    text, schema, finish = (entry.get(key) for key in ("input", "schema", "finish"))
    must(isinstance(text, str), 'it has no text under "input".')
    must(isinstance(schema or {}, dict), '"schema" is not a JSON object.')
    must(isinstance(finish or "", str), '"finish" is not a text, such as "stop".')
    outcome = mend(str(text), schema, finish)
    refused = outcome.status == "refused"
    known = {"id": entry.get("id"), "status": outcome.status}
    arguments, why = (None, {"reason": outcome.reason}) if refused else (outcome.arguments, {})
    return {**known, "arguments": arguments, "steps": list(outcome.steps), **why}
