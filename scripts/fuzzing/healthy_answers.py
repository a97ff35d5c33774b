"""Healthy answers of every protocol: what the official SDK holds is the same with and without us.

An input is a recipe, which lists the pieces of the answer. The answer goes through the engine whole, at random cuts
and byte by byte, and then broken off anywhere; the SDK reads what came out and what went in.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from functools import cache
from types import ModuleType
from typing import Any

from toolcalls.engine import Response
from toolcalls.request.request import read_request
from toolcalls.websocket import ResponsesSocket
from toolcalls.wire import sse

from .healthy import broken, chat, framing, gemini, messages, ollama, responses, zai
from .healthy.sampling import Sampler, Schemas
from .healthy.words import Json
from .part import Part, cuts, need
from .sdks import sdks

PROTOCOLS: dict[str, ModuleType] = {
    "chat": chat,
    "messages": messages,
    "responses": responses,
    "gemini": gemini,
    "ollama": ollama,
    "zai": zai,
}
FORMS = {"responses": ("stream", "stream", "websocket", "document"), "zai": ("stream",)}
ONE_FRAMING = ("gemini", "ollama")
"""Protocols whose SDK reads one way of framing only (facts: a comment or a missing space is an error)."""
SMALL = 40_000
"""Longer answers are not fed byte by byte."""


@cache
def schemas(protocol: str) -> Schemas:
    names = PROTOCOLS[protocol].TYPES
    return sdks().schemas(names) if names else {}


def make(protocol: str) -> Callable[[random.Random], bytes]:
    def made(chance: random.Random) -> bytes:
        recipe = {
            "protocol": protocol,
            "form": chance.choice(FORMS.get(protocol, ("stream", "stream", "stream", "document"))),
            "seed": chance.randrange(10**9),
            "framing": framing.framing(chance, plain=protocol in ONE_FRAMING),
            "pieces": PROTOCOLS[protocol].pieces(chance),
        }
        if protocol in ONE_FRAMING:
            recipe["framing"]["end"] = chance.choice(("\n", "\r\n"))
        return json.dumps(recipe).encode()

    return made


def smaller(data: bytes) -> Iterator[bytes]:
    """The recipe without one of its pieces, with the plainest framing, or as a stream."""
    recipe = json.loads(data)
    for at, piece in enumerate(recipe["pieces"]):
        if piece["is"] != "finish":
            yield json.dumps({**recipe, "pieces": recipe["pieces"][:at] + recipe["pieces"][at + 1 :]}).encode()
    if recipe["framing"] != framing.PLAIN:
        yield json.dumps({**recipe, "framing": framing.PLAIN}).encode()
    if recipe["form"] != "stream":
        yield json.dumps({**recipe, "form": "stream"}).encode()


def answer_of(recipe: Json) -> tuple[Json, list[bytes]]:
    """The request, and the body; of a WebSocket the messages."""
    protocol, form, how, pieces = (recipe[key] for key in ("protocol", "form", "framing", "pieces"))
    chance = random.Random(recipe["seed"])
    sampler = Sampler(schemas(protocol), chance)
    asked = PROTOCOLS[protocol].request(chance, pieces)
    if protocol != "gemini":
        asked["stream"] = form != "document"
    if form == "document":
        return asked, [framing.text_of(PROTOCOLS[protocol].document(chance, pieces, asked, sampler), how).encode()]
    events = PROTOCOLS[protocol].stream(chance, pieces, asked, sampler)
    if protocol == "ollama":
        return asked, [framing.lines(events, how)]
    if form == "websocket":
        return asked, [framing.text_of(event, how).encode() for _, event in events]
    return asked, [framing.stream(events, how, chance)]


def check(data: bytes) -> None:
    recipe = json.loads(data)
    asked, bodies = answer_of(recipe)
    if recipe["form"] == "websocket":
        _check_messages(asked, bodies)
        return
    (body,) = bodies
    protocol = recipe["protocol"]
    chance = random.Random(recipe["seed"])
    whole, outcomes = through(protocol, asked, [body])
    need(all(outcome.status == "valid" for outcome in outcomes), f"a healthy call is not valid: {outcomes}")
    need(through(protocol, asked, cuts(body, chance))[0] == whole, "another output at random cuts")
    if len(body) < SMALL:
        single = [body[at : at + 1] for at in range(len(body))]
        need(through(protocol, asked, single)[0] == whole, "another output byte by byte")
    if protocol == "zai":
        need(whole == body, "the stream of the web page was changed")
        return
    compare(protocol, recipe["form"], body, whole)
    if recipe["form"] == "stream":
        part = _up_to(body, chance.randrange(1, len(body)), protocol)
        compare_broken(protocol, part, through(protocol, asked, [part])[0])


def through(protocol: str, asked: Json, pieces: list[bytes]) -> tuple[bytes, list[Any]]:
    answer = Response(protocol, read_request(asked, protocol), seed="s")
    out = [sent for piece in pieces for sent in answer.feed(piece)]
    out += answer.close()
    need(answer.failure is None, f"failed open: {answer.failure!r}")
    need(all(out), "an empty chunk ends a chunked answer")
    return b"".join(out), answer.outcomes


def _check_messages(asked: Json, frames: list[bytes]) -> None:
    """Responses over a WebSocket: the SDK reads the messages as it reads events."""
    socket = ResponsesSocket()
    socket.client_message(json.dumps({"type": "response.create", **asked}))
    sent = [text for frame in frames for text in socket.server_message(frame.decode())]
    need(socket.failure is None, f"failed open: {socket.failure!r}")
    need(
        all(outcome.status == "valid" for outcome in socket.outcomes),
        f"a healthy call is not valid: {socket.outcomes}",
    )
    compare("responses", "stream", _as_events(frame.decode() for frame in frames), _as_events(sent))


def _as_events(messages: Any) -> bytes:
    return "".join(f"event: {json.loads(text)['type']}\ndata: {text}\n\n" for text in messages).encode()


def compare(protocol: str, form: str, body: bytes, out: bytes) -> None:
    """What the SDK holds must be the same; bytes that are the same need no SDK."""
    if out == body:
        return
    without, withus = held(protocol, form, body, out)
    need(without == withus, f"held {difference(without, withus)}")


def held(protocol: str, form: str, *bodies: bytes) -> list[Json]:
    """What the SDK holds of each body."""
    # The SDKs do not know the byte order mark, which the standard allows; we drop it with an event that we write.
    return sdks().held(protocol, form, [body.removeprefix(sse.BOM) for body in bodies])


def compare_broken(protocol: str, body: bytes, out: bytes) -> None:
    """A stream that breaks: all but the call that was cut off is the same."""
    if out == body:
        return
    without, withus = (
        broken.read(protocol, one) for one in held(protocol, "stream", _whole_events(body, protocol), out)
    )
    broken.forget_unfinished(protocol, without, withus)
    need(without == withus, f"broken {difference(without, withus)}")


def _up_to(body: bytes, size: int, protocol: str) -> bytes:
    """The beginning of a stream that breaks in the middle of an event, or behind it."""
    end = body.rfind(b"\n", 0, size) + 1 if protocol == "ollama" else max(sse.cut(body[:size])[1], 0)
    try:
        json.loads(body[end:size] if protocol == "ollama" else sse.read_event(body[end:size]).data or "")
    except ValueError:
        return body[:size]
    return body[:end]  # The data arrived whole, but not the event: each client decides otherwise.


def _whole_events(body: bytes, protocol: str) -> bytes:
    """The events that arrived whole: half an event is read by no client."""
    return body[: body.rfind(b"\n") + 1 if protocol == "ollama" else max(sse.cut(body)[1], 0)]


def difference(one: Any, other: Any) -> str:
    """Where two values differ first; it begins with the place without numbers, to tell kinds of findings apart."""
    path: list[str] = []
    while one != other:
        if type(one) is type(other) is dict:
            key = next(key for key in [*one, *other] if one.get(key, path) != other.get(key, path))
            path.append(f".{key}")
            one, other = one.get(key), other.get(key)
        elif type(one) is type(other) is list:
            at = next(at for at in range(max(len(one), len(other))) if one[at : at + 1] != other[at : at + 1])
            path.append(f"[{at}]")
            one, other = (each[at] if at < len(each) else None for each in (one, other))
        else:
            break
    place = "".join(path)
    return f"{re.sub(r'[.]?[0-9]+|[^a-z]', '', place)[-26:]} — {place}: {str(one)[:400]} became {str(other)[:400]}"


def _seeds() -> list[bytes]:
    return []


PARTS = [
    Part(
        f"healthy-{protocol}",
        "what the official SDK holds of a healthy answer is the same with and without us"
        if protocol == "chat"
        else "the same",
        make(protocol),
        check,
        _seeds,
        smaller,
    )
    for protocol in PROTOCOLS
]
