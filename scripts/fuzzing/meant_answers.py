"""The bytes of an answer that a recipe describes, on every wire, as a stream and as one document."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

from tests.must_not_run.parts import pieces
from tests.must_not_run.wires import FINISHES
from tests.protocols import messages_wire
from tests.protocols.responses_wire import Upstream
from tests.protocols.test_chat import DONE, chunk
from tests.protocols.text_protocols import gemini_answer, gemini_event, ollama_line
from tests.protocols.zai_streams import Backend

from . import recipes, resent, resent_whole
from .plans import Plan
from .recipes import Json
from .resent import Sent

_OLLAMA_FINISHES = {"stop": "stop", "calls": "stop", "length": "length"}
_GEMINI_FINISHES = {"stop": "STOP", "calls": "STOP", "length": "MAX_TOKENS", "filter": "SAFETY"}


def answer_of(recipe: Json, plan: Plan) -> bytes:
    """The bytes of the answer, cut where the recipe cuts it."""
    where, share = recipe.get("cut") or ("", 1000)
    if where == "said" and plan.parts:
        last = plan.parts[-1]
        if last.sent:
            text = last.sent[-1].text
            last.sent[-1] = Sent(last.sent[-1].id, last.sent[-1].name, text[: len(text) * share // 1000])
        else:
            last.text = last.text[: len(last.text) * share // 1000]
    write = _DOCUMENTS if recipe["form"] == "document" else _STREAMS
    body = write[recipe["protocol"]](recipe, plan, random.Random(recipe["seed"]))
    return body[: len(body) * share // 1000] if where == "bytes" else body


def _deltas(recipe: Json, text: str) -> list[str]:
    return pieces(text, recipe["size"], recipe["seed"])


def _chat(recipe: Json, plan: Plan, chance: random.Random) -> bytes:
    said: list[str] = []
    last: Json = {}
    for part in plan.parts:
        if part.sent:
            calls = resent.CHAT[part.how](chance, part.sent)
            said += [chunk({"tool_calls": [entry]}) for entry in calls.chunks]
            last = calls.last
        else:
            key = "reasoning_content" if part.kind == "reasoning" else "content"
            said += [chunk({key: text}) for text in _deltas(recipe, part.text)]
    reason = FINISHES[recipe["finish"]][0]
    if reason:
        choice = {"index": 0, "delta": {}, "finish_reason": reason, **last}
        said.append(
            f"data: {json.dumps({'id': 'c1', 'object': 'chat.completion.chunk', 'choices': [choice]})}\n\n{DONE}"
        )
    return "".join(said).encode()


def _messages(recipe: Json, plan: Plan, chance: random.Random) -> bytes:
    wire = messages_wire
    out, behind, at = wire.begin(), b"", 0
    for part in plan.parts:
        if part.sent:
            calls = resent.MESSAGES[part.how](chance, at, part.sent)
            out, behind, at = out + calls.blocks, calls.behind, at + 2 * len(part.sent)
        else:
            write = wire.thinking if part.kind == "reasoning" else wire.text
            out += write(at, *_deltas(recipe, part.text))
            at += 1
    reason = FINISHES[recipe["finish"]][1]
    return out + (wire.reason(reason) + behind + wire.MESSAGE_STOP if reason else behind)


def _responses(recipe: Json, plan: Plan, chance: random.Random) -> bytes:
    upstream = _upstream(recipe, plan, chance)
    reason = FINISHES[recipe["finish"]][2]
    return (upstream.end(reason) if reason else upstream).bytes()


def _upstream(recipe: Json, plan: Plan, chance: random.Random) -> Upstream:
    upstream = Upstream()
    for part in plan.parts:
        if part.sent:
            # In an answer that is completed and then cut off the first end counts, so it is not ended twice here.
            twice = part.how == "ended twice" and recipe["finish"] in recipes.CUT
            resent.RESPONSES["one after the other" if twice else part.how](chance, upstream, part.sent)
        elif part.kind == "reasoning":
            upstream.reasoning(part.text)
        else:
            upstream.message(*_deltas(recipe, part.text))
    return upstream


def _zai(recipe: Json, plan: Plan, chance: random.Random) -> bytes:
    backend = Backend()
    for part in plan.parts:
        if part.sent:
            resent.ZAI[part.how](chance, backend, part.sent)
        elif part.kind == "reasoning":
            backend.say(delta_content=part.text, phase="thinking")
        else:
            for text in _deltas(recipe, part.text):
                backend.delta(text)
    return (backend.done() if recipe["finish"] in ("stop", "calls") else backend).stream


def _sent(plan: Plan) -> list[Sent]:
    return [sent for part in plan.parts if part.sent for sent in part.sent * resent.DOCUMENT[part.how]]


def _chat_document(recipe: Json, plan: Plan, chance: random.Random) -> bytes:
    message: Json = {"role": "assistant", "content": "".join(p.text for p in plan.parts if p.kind == "text")}
    message["reasoning_content"] = "".join(p.text for p in plan.parts if p.kind == "reasoning")
    message["tool_calls"] = [
        {"id": sent.id, "type": "function", "function": {"name": sent.name, "arguments": sent.text}}
        for sent in _sent(plan)
    ]
    choice = {"index": 0, "message": message, "finish_reason": FINISHES[recipe["finish"]][0]}
    return json.dumps({"object": "chat.completion", "choices": [choice]}).encode()


def _messages_document(recipe: Json, plan: Plan, chance: random.Random) -> bytes:
    content: list[Json] = []
    for part in plan.parts:
        content += [
            {"type": "tool_use", "id": sent.id, "name": sent.name, "input": sent.value}
            for sent in part.sent * (resent.DOCUMENT[part.how] if part.sent else 0)
        ]
        if part.kind == "reasoning":
            content.append({"type": "thinking", "thinking": part.text, "signature": "EqQB"})
        elif part.text:
            content.append({"type": "text", "text": part.text})
    whole = {"id": "msg_01", "type": "message", "role": "assistant", "model": "m", "content": content}
    ends = {"stop_reason": FINISHES[recipe["finish"]][1], "stop_sequence": None}
    return json.dumps({**whole, **ends, "usage": {"input_tokens": 1, "output_tokens": 1}}).encode()


def _responses_document(recipe: Json, plan: Plan, chance: random.Random) -> bytes:
    upstream = _upstream(recipe, Plan([part for part in plan.parts if not part.sent]), chance)
    for sent in _sent(plan):
        upstream.call(sent.name, sent.text, call_id=sent.id)
    upstream.end(FINISHES[recipe["finish"]][2] or "incomplete")
    return json.dumps(upstream.events[-1]["response"]).encode()


def _ollama(recipe: Json, plan: Plan, chance: random.Random) -> bytes:
    said: list[Json] = []
    last: list[Json] = []
    for part in plan.parts:
        if part.sent:
            lines, last = resent_whole.WAYS[part.how](chance, [_ollama_call(sent) for sent in part.sent])
            said += [{"tool_calls": calls} for calls in lines]
        else:
            key = "thinking" if part.kind == "reasoning" else "content"
            said += [{key: text} for text in _deltas(recipe, part.text)]
    end = {"tool_calls": last} if last else {}
    return b"".join(map(ollama_line, said)) + _ollama_end(recipe["finish"], end)


def _ollama_call(sent: Sent) -> Json:
    return {"id": sent.id, "function": {"name": sent.name, "arguments": sent.value}}


def _ollama_end(finish: str, message: Json) -> bytes:
    if finish == "filter":
        return b'{"error":"the answer was stopped"}\n'
    return ollama_line(message, done_reason=_OLLAMA_FINISHES[finish]) if finish in _OLLAMA_FINISHES else b""


def _ollama_document(recipe: Json, plan: Plan, chance: random.Random) -> bytes:
    message: Json = {"content": "".join(part.text for part in plan.parts if part.kind == "text")}
    message["tool_calls"] = list(map(_ollama_call, _sent(plan)))
    return ollama_line(message, done_reason=_OLLAMA_FINISHES.get(recipe["finish"], "length"))


def _gemini(recipe: Json, plan: Plan, chance: random.Random) -> bytes:
    said: list[list[Json]] = []
    last: list[Json] = []
    for part in plan.parts:
        if part.how in resent_whole.IN_PIECES:
            said += [[each] for each in resent_whole.IN_PIECES[part.how](chance, part.sent)]
        elif part.sent:
            events, last = resent_whole.WAYS[part.how](chance, [_gemini_call(sent) for sent in part.sent])
            said += events
        else:
            thought = {"thought": True} if part.kind == "reasoning" else {}
            said += [[{"text": text, **thought}] for text in _deltas(recipe, part.text)]
    finish = _GEMINI_FINISHES.get(recipe["finish"])
    end = gemini_event(*last, finish=finish) if finish else b""
    return b"".join(gemini_event(*parts) for parts in said) + end


def _gemini_call(sent: Sent) -> Json:
    return {"functionCall": {"id": sent.id, "name": sent.name, "args": sent.value}}


def _gemini_document(recipe: Json, plan: Plan, chance: random.Random) -> bytes:
    parts: list[Json] = []
    for part in plan.parts:
        parts += [_gemini_call(sent) for sent in part.sent * (resent.DOCUMENT[part.how] if part.sent else 0)]
        if part.text:
            parts.append({"text": part.text, **({"thought": True} if part.kind == "reasoning" else {})})
    finish = _GEMINI_FINISHES.get(recipe["finish"], "MAX_TOKENS")
    return json.dumps(gemini_answer(*parts, finish=finish)).encode()


Write = Callable[[Json, Plan, random.Random], bytes]
_STREAMS: dict[str, Write] = {
    "chat": _chat,
    "messages": _messages,
    "responses": _responses,
    "zai": _zai,
    "ollama": _ollama,
    "gemini": _gemini,
}
_DOCUMENTS: dict[str, Write] = {
    "chat": _chat_document,
    "messages": _messages_document,
    "responses": _responses_document,
    "ollama": _ollama_document,
    "gemini": _gemini_document,
}
