"""The protocols: mutated answers of each protocol, as a stream and as one document."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from tests.validators import chat as chat_validator
from tests.validators import gemini as gemini_validator
from tests.validators import messages as messages_validator
from tests.validators import ollama as ollama_validator
from tests.validators import responses as responses_validator
from toolcalls.engine import Response
from toolcalls.mend.arguments import mend_arguments
from toolcalls.policy import Policy
from toolcalls.request.request import Request, read_request

from .clients import CALLS, entries, inside, is_ended, is_sound, payloads
from .mutation import MAX_INPUT, mutated_bytes, mutated_json, mutated_stream
from .part import Part, chance_of, corpus, cuts, need

STREAMS = ("chat", "messages", "responses", "zai")
WHOLE_CALLS: dict[str, Callable[[bytes], object]] = {"ollama": ollama_validator.read, "gemini": gemini_validator.read}
"""Protocols in which each call arrives in one piece, each with its validator."""
DEFAULT = Policy()
POLICIES = [
    DEFAULT,
    DEFAULT,
    DEFAULT,
    Policy(aggregate=False),
    Policy(null_content=True),
    Policy(text_calls="off"),
    Policy(fallback="empty"),
    Policy(fallback="original", arguments=False),
    Policy(truncated="complete"),
    Policy(max_held_bytes=400),
    Policy(zai_after_null="forward_all", zai="on"),
]
ONLY_GATHERED = Policy(shape=False, preflight=False, drop_empty=frozenset(), text_calls="off")
"""With this policy and no declared tools, only the number of fragments of a legal call may change."""
VALIDATORS: dict[str, Callable[[bytes], object]] = {
    "chat": chat_validator.validate,
    "messages": messages_validator.read,
    "responses": responses_validator.validate,
}


def one_choice(body: bytes) -> None:
    """Raises if the body is not legal Chat with one choice: only one is sent, even if the server sends more."""
    chat_validator.validate(body)
    choices = [choice for chunk in payloads(body) for choice in entries(chunk.get("choices"))]
    need(all(choice.get("index") == 0 for choice in choices), "several choices")


FRAGMENTS: dict[str, Callable[[bytes], object]] = {
    "chat": one_choice,
    "messages": partial(messages_validator.read, fragments=True),
    "responses": partial(responses_validator.validate, one_delta=False),
}
OF_CALLS = (b"tool", b"function", b"custom", b"mcp", b"computer", b"shell", b"patch")
"""An answer that contains none of these has no call."""


@cache
def questions(name: str) -> list[Request]:
    return [Request(), *(read_request(entry["request"], name) for entry in corpus(name))]


@cache
def bodies(name: str) -> list[bytes]:
    return [entry["body"].encode("utf-8", "surrogatepass") for entry in corpus(name)]


def run(answer: Response, pieces: list[bytes]) -> bytes:
    out = [sent for piece in pieces for sent in answer.feed(piece)]
    out += answer.close()
    need(all(out), "an empty chunk ends a chunked answer")
    need(answer.failure is None, f"failed open: {answer.failure!r}")
    need(not answer.close(), "closing twice sends something twice")
    need(not answer.holding, "something is still held at the end")
    return b"".join(out)


def accepts(validate: Callable[[bytes], object], body: bytes) -> str:
    """Why the body is not legal; "" if it is."""
    try:
        validate(body)
    except AssertionError as error:
        return str(error) or "illegal"
    except Exception as error:
        return repr(error)
    return ""


def check_stream(protocol: str, body: bytes) -> None:
    chance = chance_of(body)
    question = chance.choice(questions(protocol))
    policy = chance.choice(POLICIES)
    whole = Response(protocol, question, policy, seed="s")
    out = run(whole, [body])
    other = Response(protocol, question, policy, seed="s")
    need(run(other, cuts(body, chance)) == out, "another output when it is cut otherwise")
    need(other.outcomes == whole.outcomes, "other outcomes when it is cut otherwise")
    if protocol != "zai":
        silent = policy.text_calls == "off" or not len(question.tools)
        if silent and not any(word in body for word in OF_CALLS):
            # In a stream that is broken itself (no usage, no end) more is mended than the calls.
            sound = is_sound(body) if protocol == "chat" else not accepts(VALIDATORS[protocol], body)
            need(not sound or not is_ended(body) or out == body, "an answer without a call was changed")
        check_legal(protocol, question, body)
    # If a call was dropped, the rest of the text around it may look like another call.
    sound = not accepts(VALIDATORS["chat" if protocol == "zai" else protocol], out)
    if policy is DEFAULT and sound and not whole.limited and not any(call.dropped for call in whole.outcomes):
        check_calls(protocol, question, out)


def check_whole_calls(protocol: str, body: bytes) -> None:
    """Check a stream of a protocol in which calls arrive in one piece."""
    chance = chance_of(body)
    question, policy = chance.choice(questions(protocol)), chance.choice(POLICIES)
    whole, other = (Response(protocol, question, policy, seed="s") for _ in range(2))
    out = run(whole, [body])
    need(run(other, cuts(body, chance)) == out, "another output when it is cut otherwise")
    need(other.outcomes == whole.outcomes, "other outcomes when it is cut otherwise")
    read = WHOLE_CALLS[protocol]
    # `original` sends arguments unchanged, and those of a call in text need not be an object.
    why = accepts(read, out) if policy.fallback != "original" else ""
    need(not why or bool(accepts(read, body)), f"legal before, not legal after: {why}")


def check_legal(protocol: str, question: Request, body: bytes) -> None:
    """If a strict client accepts the stream, it must accept the mended one too, with the same calls."""
    if b"\r" in body.replace(b"\r\n", b""):
        return  # A CR ends a line, even in the middle of JSON; the validators do not know that.
    if not accepts(FRAGMENTS[protocol], body):
        out = run(Response(protocol, question, seed="s"), [body])
        why = accepts(VALIDATORS[protocol], out)
        need(not why, f"legal before, not legal after: {why}")
        out = run(Response(protocol, Request(), ONLY_GATHERED), [body])
        made = CALLS[protocol](body)
        # A call that an error leaves unfinished is dropped, and `CALLS` does not read the old `function_call`.
        exempt = (b'"error"',) if protocol == "responses" else (b'"error"', b'"function_call"')
        if not any(word in body for word in exempt) and all(is_sound_call(*call) for call in made):
            after = CALLS[protocol](out)
            need(after == [(name, text or "{}") for name, text in made], f"calls {made} became {after}")


def is_sound_call(name: Any, text: Any) -> bool:
    return isinstance(name, str) and any(map(str.isalnum, name)) and mend_arguments(text or "{}").status == "valid"


def check_calls(protocol: str, question: Request, out: bytes) -> None:
    """A second toolfix behind this one must find nothing to mend, except that it replaces our ids by its own."""
    # Text that was no call because its answer was cut may look complete to a second proxy, so it is not searched.
    policy = Policy(text_calls="off")
    protocol = "chat" if protocol == "zai" else protocol
    if not all(isinstance(inside(said, "item", "type"), str) for said in payloads(out) if "item" in said):
        return  # An item without a type may be understood differently each time.
    again = run(Response(protocol, question, policy, seed="t"), [out])
    need(CALLS[protocol](again) == CALLS[protocol](out), "mended again the calls change again")


def make_stream(protocol: str, chance: random.Random) -> bytes:
    return mutated_stream(chance, chance.choice(bodies(protocol)), chance.choice(bodies(protocol)))


# Documents


def check_document(body: bytes) -> None:
    chance = chance_of(body)
    entry = chance.choice(corpus_of_documents())
    policy = chance.choice(POLICIES)
    question = read_request(entry["request"])
    whole = Response(entry["protocol"], question, policy, seed="s")
    out = run(whole, [body])
    other = Response(entry["protocol"], question, policy, seed="s")
    need(run(other, cuts(body, chance)) == out, "another output when it is cut otherwise")
    if policy is DEFAULT and all(call.status != "refused" for call in whole.outcomes):
        again = Response(entry["protocol"], question, seed="t")
        run(again, [out])
        made = [[(call.name, json.loads(call.arguments)) for call in answer.outcomes] for answer in (whole, again)]
        # Outcomes are in the order of mending, with calls in text after the structured ones, so both are sorted.
        need(sorted(made[0], key=repr) == sorted(made[1], key=repr), f"mended again the calls change again: {made}")


@cache
def corpus_of_documents() -> list[dict[str, Any]]:
    return corpus("bodies")


def make_document(chance: random.Random) -> bytes:
    text = chance.choice(corpus_of_documents())["body"]
    for _ in range(chance.choice((1, 1, 2, 3))):
        text = mutated_json(chance, text)
    body = text.encode("utf-8", "backslashreplace")
    return mutated_bytes(chance, body)[:MAX_INPUT] if chance.random() < 0.2 else body


_PROMISES = {
    "chat": "never fails open, same for every split, text untouched, legal stays legal, calls kept, stable",
    "messages": "the same",
    "responses": "the same",
    "zai": "never fails open, same for every split, what comes out is stable Chat",
}
PARTS = [
    *(
        Part(name, _PROMISES[name], partial(make_stream, name), partial(check_stream, name), partial(bodies, name))
        for name in STREAMS
    ),
    *(
        Part(
            name,
            "never fails open, same for every split, legal stays legal",
            partial(make_stream, name),
            partial(check_whole_calls, name),
            partial(bodies, name),
        )
        for name in WHOLE_CALLS
    ),
    Part(
        "documents",
        "answers that are not streamed: never fail open, same for every split, stable",
        make_document,
        check_document,
        lambda: [entry["body"].encode() for entry in corpus_of_documents()],
    ),
]
