"""`toolfix filter`: reads an upstream body, and prints what the client would receive."""

from __future__ import annotations

import base64
import binascii
import json
import sys
from pathlib import Path
from typing import Any

import click

from ..engine import AUTO, PROTOCOLS, Response, mend_whole
from ..policy import Policy
from ..recording import store
from ..request.request import Request, decode, read_request, seed_of
from ..shown import shown
from ..wire.events import MOST_CALLS
from . import inputs

_MOST_REASONS = 5
"""How many refused calls are named; the report has all."""


@click.command("filter")
@click.option(
    "--protocol", type=click.Choice(PROTOCOLS), default=AUTO, show_default=True, help="The protocol of the body."
)
@click.option("--request", "request_file", metavar="FILE", help="The request body: its tools guide the mending.")
@click.option("--chunk-size", type=click.IntRange(min=1), metavar="N", help="Feed the body in chunks of N bytes.")
@click.option("--set", "settings", multiple=True, metavar="K=V", help="An option, such as toolfix_shape=false.")
@click.option("--report", metavar="FILE", help="Write the outcome of each call there, as JSON.")
@click.option(
    "--jsonl",
    is_flag=True,
    help='Read many, one JSON object per line: {"id", "protocol", "body" or "body_base64", …}',
)
@click.argument("words", nargs=-1, metavar="< FILE")
def filter(
    protocol: str,
    request_file: str | None,
    chunk_size: int | None,
    settings: tuple[str, ...],
    report: str | None,
    jsonl: bool,
    words: tuple[str, ...],
) -> None:
    """Repair a saved model response (stdin → stdout).

    Reads the body on standard input, an event stream or JSON, and prints what the client would receive.
    """
    inputs.refuse_words("filter", words)
    policy = inputs.policy_from(settings)
    if jsonl:
        for number, entry in inputs.json_lines():
            inputs.write_line(_filter_line(number, entry, settings))
        return
    request = inputs.read_file(request_file, "the request") if request_file else b""
    question = _question(request, protocol) if request_file else Request()
    answer = Response(protocol, question, policy, seed=seed_of(request))
    before = inputs.read_stdin()
    body = mend_whole(answer, before, chunk_size or 0)
    sys.stdout.buffer.write(body)
    sys.stdout.buffer.flush()
    for sentence in _summary(answer) if before else ["the input is empty."]:
        inputs.remark(sentence)
    _warn(answer)
    if report:
        try:
            store.private_report(Path(report), store.pretty(store.calls_json(answer.outcomes)))
        except OSError as error:
            raise click.UsageError(f"the report {report!r} cannot be written ({error.strerror}).") from None


def _question(body: bytes, protocol: str) -> Request:
    request = decode(body)
    if request is None:
        inputs.remark("the request is not a JSON object: mending goes on without its tools.")
    return read_request(request, protocol)


def _summary(answer: Response) -> list[str]:
    """What was done, and why calls were refused."""
    calls = answer.outcomes
    if not calls:
        return ["unchanged: there is no tool call in it."]
    mended = sum(call.status == "repaired" for call in calls)
    refused = [call for call in calls if call.status == "refused"]
    counted = "1 call" if len(calls) == 1 else f"{len(calls)} calls"
    counts = f"{mended} mended, {len(refused)} refused, {len(calls) - mended - len(refused)} unchanged"
    reasons = [f"refused {shown(call.name)}: {shown(call.reason)}" for call in refused[:_MOST_REASONS]]
    return [f"{counted}: {counts}.", *reasons]


def _warn(answer: Response) -> None:
    if answer.failure is not None:
        click.echo(f"toolfix failed ({answer.failure!r}) and let the body pass unchanged.", err=True)
    if answer.limited:
        click.echo(
            f"over a limit (toolfix_max_held_bytes, {MOST_CALLS:,} calls, or more than is read): "
            "the rest passed unchanged.",
            err=True,
        )


def _filter_line(number: int, entry: dict[str, Any], settings: tuple[str, ...]) -> dict[str, Any]:
    protocol = entry.get("protocol", AUTO)
    if protocol not in PROTOCOLS:
        raise click.UsageError(
            f"line {number} of the input: protocol {protocol!r} is not one of {', '.join(PROTOCOLS)}."
        )
    policy = _line_policy(entry, settings)
    request = entry.get("request")
    text = request if isinstance(request, str) else json.dumps(request) if isinstance(request, dict) else ""
    answer = Response(protocol, read_request(decode(text), protocol), policy, seed=seed_of(text.encode()))
    size = entry.get("chunk_size") or 0
    if not isinstance(size, int) or size < 0:
        raise click.UsageError(f'line {number} of the input: "chunk_size" is not a number of bytes.')
    body = mend_whole(answer, _body(number, entry), size)
    _warn(answer)
    return {"id": entry.get("id"), **_written(body), "calls": store.calls_json(answer.outcomes)}


def _line_policy(entry: dict[str, Any], settings: tuple[str, ...]) -> Policy:
    own = entry.get("set")
    if isinstance(own, dict):
        pairs = tuple(f"{name}={_option_text(value)}" for name, value in own.items())
    else:
        pairs = tuple(str(setting) for setting in own) if isinstance(own, list) else ()
    return inputs.policy_from((*settings, *pairs))


def _option_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _body(number: int, entry: dict[str, Any]) -> bytes:
    if isinstance(entry.get("body"), str):
        return str(entry["body"]).encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(entry["body_base64"], validate=True)
    except KeyError:
        raise click.UsageError(f'line {number} of the input has neither "body" nor "body_base64".') from None
    except (binascii.Error, TypeError, ValueError):
        raise click.UsageError(f'line {number} of the input: "body_base64" is not base64.') from None


def _written(body: bytes) -> dict[str, str]:
    try:
        return {"body": body.decode("utf-8")}
    except UnicodeDecodeError:
        return {"body_base64": base64.b64encode(body).decode("ascii")}
