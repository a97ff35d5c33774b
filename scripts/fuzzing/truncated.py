"""Answers that were cut off: the result is a call of the whole answer, or a refusal, never a part of a value.

Two kinds of input: the beginning of an answer of the corpus, up to any byte; and a call with broken arguments, mostly
with inner quotes, cut at any character and ended in every way that means cut or unknown.
"""

from __future__ import annotations

import json
import random
from dataclasses import asdict
from functools import cache
from typing import Any

from toolcalls.engine import Response
from toolcalls.mend.arguments import Finish, mend_arguments
from toolcalls.policy import Policy
from toolcalls.request.request import Request

from .answers import STREAMS, bodies, questions, run
from .clients import CALLS
from .cut_answers import ENDS, NAME, WIRES, Cut
from .damaged_arguments import damaged
from .mutated_arguments import texts
from .part import Part, need

MADE = b"\x02"
"""Marks an input that is a call and its end, and not the beginning of an answer."""
POLICIES = {"held": Policy(), "live": Policy(aggregate=False)}

VARIABLES = ("$BUILD", "$HOME", "${DIR:-/tmp}", "a b", "*.log", "x", "$(pwd)", "it's", "C")
COMMANDS = ("rm -rf /%s", "rm -rf %s/*", "cp -r %s %s", "git commit -m %s && git push", "find %s -name %s -delete",
            "echo %s > /etc/%s", "mv %s %s", "psql -c %s", "sed -i s/a/%s/ %s", "chown -R %s /%s", "%s")  # fmt: skip


def quoted(chance: random.Random) -> str:
    """Arguments with a command that contains unescaped quotes, written with double or with single quotes."""
    command = chance.choice(COMMANDS)
    while "%s" in command:
        command = command.replace("%s", f'"{chance.choice(VARIABLES)}"', 1)
    command += chance.choice(("", "/out", " && ls", ' "$A"', " 2>&1"))
    more = chance.choice(("", ', "dry_run": true', ', "timeout": 120000', ', "description": "Clean "up" now"'))
    text = f'{{"command": "{command}"{more}}}'
    if chance.random() < 0.3:
        text = text.replace('"', "'")
    if chance.random() < 0.2:
        text = f'{{"path": "/tmp", "steps": [{text}, {text}]}}'
    return f"```json\n{text}\n```" if chance.random() < 0.1 else text


def make(chance: random.Random) -> bytes:
    if chance.random() < 0.3:
        body = chance.choice(bodies(chance.choice(STREAMS)))
        return body[: chance.randint(1, len(body))]
    whole = _whole(chance)
    protocol = chance.choice(list(WIRES))
    cut = Cut(
        whole[: chance.randint(0, len(whole))],
        chance.choice(ENDS[protocol]),
        chance.choice((0, 1, 7)),
        closed=chance.random() < 0.6,
        encoded=chance.random() < 0.2,
        followed=chance.random() < 0.3,
    )
    made = {"protocol": protocol, "whole": whole, "policy": chance.choice(list(POLICIES)), "cut": asdict(cut)}
    return MADE + json.dumps(made).encode()


def _whole(chance: random.Random) -> str:
    match chance.randrange(4):
        case 0:
            return damaged(chance)[0]
        case 1:
            return chance.choice(texts())
        case _:
            return quoted(chance)


def check(data: bytes) -> None:
    if data.startswith(MADE):
        _check_made(data)
    else:
        _check_prefix(data)


def _check_made(data: bytes) -> None:
    try:
        made = json.loads(data[1:])
        cut, whole = Cut(**made["cut"]), made["whole"]
        protocol, policy = made["protocol"], POLICIES[made["policy"]]
        body = WIRES[protocol](cut)
        need(whole.startswith(cut.arguments) and cut.end in ENDS[protocol], "another input")
    except Exception:
        return  # Not such an input any more: it was made smaller.
    out = run(Response(protocol, Request(), policy), [body])
    meant = mend_arguments(whole, Finish.COMPLETE).value
    if meant is None or (made["policy"] == "live" and cut.end == "error"):
        return  # The meaning is unknown; or the client already has the fragments, and the error tells it to stop.
    for name, text in CALLS[protocol](out):
        if name == NAME:
            value = _run_as(text)
            # Arguments that are valid as they are run, whatever was meant to follow them.
            valid = mend_arguments(cut.arguments).status == "valid"
            need(not value or valid or value == meant, f"cut off, {name} runs with {text}, and {whole!r} was to come")


def _run_as(text: Any) -> Any:
    """The arguments with which a client would run the call; None if it rejects them."""
    try:
        return json.loads(text)
    except ValueError:
        return None


@cache
def whole_calls(protocol: str, number: int) -> list[tuple[str, Any]]:
    """The calls of the whole answer."""
    answer = Response(protocol, questions(protocol)[number + 1])
    run(answer, [bodies(protocol)[number]])
    return [(call.name, json.loads(call.arguments)) for call in answer.outcomes if call.status != "refused"]


def _check_prefix(prefix: bytes) -> None:
    for protocol in STREAMS:
        for number, body in enumerate(bodies(protocol)):
            if not body.startswith(prefix):
                continue
            out = run(Response(protocol, questions(protocol)[number + 1]), [prefix])
            for name, text in CALLS[protocol](out):
                made = json.loads(text)
                refused = made == {} or {"tool", "error"} <= set(made)
                need(refused or (name, made) in whole_calls(protocol, number), f"cut off, {name} runs with {text}")


PARTS = [
    Part(
        "truncated",
        "answers cut off at any byte, arguments with inner quotes too: the whole value or nothing",
        make,
        check,
        lambda: [body for name in STREAMS for body in bodies(name)],
    )
]
