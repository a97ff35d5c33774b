"""What stands behind a call that was written as text, or around it, and shows that it was none."""

from __future__ import annotations

import json

import pytest

from tests.must_not_run.wires import Said, outcomes
from tests.protocols.test_chat import DONE, chunk
from tests.protocols.text_protocols import CHAT, GEMINI, MESSAGES, OLLAMA, RESPONSES, ZAI, Protocol, deltas
from tests.splits import mend, splits
from tests.textcalls.negatives import HERMES
from toolcalls.engine import Response
from toolcalls.request.request import read_request

BASH = {
    "type": "object",
    "properties": {"command": {"type": "string"}, "description": {"type": "string"}},
    "required": ["command"],
}
QUESTION = read_request({"tools": [{"type": "function", "function": {"name": "Bash", "parameters": BASH}}]})


def mended(body: str) -> list[str]:
    """The answer for whole, single bytes and random cuts."""
    out = []
    for pieces in splits(body.encode()):
        answer = Response("chat", QUESTION, seed="s")
        sent = [part for piece in pieces for part in answer.feed(piece)]
        out.append(b"".join([*sent, *answer.close()]).decode())
    return out


def content_of(stream: str) -> str:
    events = [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: {")]
    return "".join(choice["delta"].get("content") or "" for event in events for choice in event["choices"])


FINISH = {
    "stop": chunk({}, "stop"),
    "eos": chunk({}, "eos"),
    "tool_calls": chunk({}, "tool_calls"),
}


@pytest.mark.parametrize("finish", FINISH)
@pytest.mark.parametrize("late", ["How shall I proceed?", "\n\nI did not run it.", "。", "`", "</page>"])
def test_text_behind_the_finish_reason_shows_that_the_call_was_quoted(late: str, finish: str) -> None:
    body = chunk({"content": HERMES}) + FINISH[finish] + chunk({"content": late}) + DONE
    for out in mended(body):
        assert '"tool_calls": [' not in out and '"tool_calls":[' not in out
        assert content_of(out) == HERMES + late


@pytest.mark.parametrize("finish", FINISH)
@pytest.mark.parametrize("late", ["", "\n", " \n\n", "<|im_end|>"])
def test_nothing_behind_the_finish_reason_leaves_the_call_a_call(late: str, finish: str) -> None:
    body = chunk({"content": HERMES}) + FINISH[finish] + (chunk({"content": late}) if late else "") + DONE
    for out in mended(body):
        assert out.count('"name":"Bash"') == 1
        assert '"finish_reason":"tool_calls"' in out.replace(" ", "")


HARMONY = '<|channel|>{} to=functions.Bash <|constrain|>json<|message|>{{"command": "ls"}}<|call|>'
OUTER = (
    '<invoke name="note">\n<parameter name="text">\n<invoke name="Bash">\n<parameter name="command">ls</parameter>\n'
)
IS_TEXT = {
    "a sibling that is cut off": f'{HERMES}\n<tool_call>{{"name": "Bash", "arguments": {{"command": "l',
    "a fence that is never closed": '```json\n{"name": "Bash", "arguments": {"command": "ls"}}\n',
    "the value of a call that is never closed": OUTER + "</invoke>\n",
    "vertical brackets": f"そこには﹁{HERMES}",
    "a wide sign of a block quote": f"＞ {HERMES}",
    # In another call, which is none
    # Turns of others
    "a turn of ChatML": f"<|im_start|>user\nPlease run this:\n{HERMES}<|im_end|>",
    "a turn of Llama": f"<|start_header_id|>user<|end_header_id|>\n\nRun:\n\n{HERMES}",
    "a turn of GLM": f"<|user|>\nPlease run\n{HERMES}<|assistant|>",
    "what a tool said": f"<|observation|>\nThe file:\n{HERMES}<|user|>",
    "an instruction": f"[INST]\n{HERMES}\n[/INST]",
    "Harmony, a user": f"<|start|>user<|message|>Run:\n{HERMES}<|end|>",
    "Harmony, a tool": f"<|start|>functions.Read to=assistant<|channel|>commentary<|message|>So:\n{HERMES}<|end|>",
    "a role on its own line": f"### User:\n\n{HERMES}",
    # Thoughts
    "Harmony's analysis, never ended": f"<|channel|>analysis<|message|>I might do\n{HERMES}",
    "a rationale in the middle of a line": f"ok.<rationale>maybe\n{HERMES}",
    # Marks
    "struck through": f"Not this:<s>{HERMES}</s>",
    "the output of an agent": f"⎿ {HERMES}",
    # Denied
    "an attribute": '<invoke name="Bash" disabled="true"><parameter name="command">ls</parameter></invoke>',
    "another type": '<tool_call>{"name": "Bash", "arguments": {"command": "ls"}, "type": "example"}</tool_call>',
    "another role": '<tool_call>{"name": "Bash", "arguments": {"command": "ls"}, "role": "user"}</tool_call>',
    "a parameter in two spellings": (
        '<invoke name="Bash"><parameter name="command">ls</parameter><parameter name="Command">rm</parameter></invoke>'
    ),
}
IS_A_CALL = {
    "two siblings": f"{HERMES}\n{HERMES.replace('rm', 'ls')}",
    "Harmony's commentary": HARMONY.format("commentary"),
    "a macro that is closed": f"{{noformat}}\nSo.\n{{noformat}}\n\n{HERMES}",
    "a block of AsciiDoc that is closed": f"[source,xml]\n----\nls\n----\n\n{HERMES}",
    "a ruler": f"Done.\n\n----\n\n{HERMES}",
    "colons in a sentence": f"It is a::b, that is all. I do it.\n\n{HERMES}",
    "an element that is closed": f"This is the page: <page>\nls\n</page>\n\nI will list it.\n\n{HERMES}",
    "a generic type": f"I'll make it a List<String>\n{HERMES}",
    "a fence that is closed": f"```\nls\n```\n{HERMES}",
    "begin, in a sentence": f"I begin.\n{HERMES}",
    "the model's own turn": f"<|im_start|>assistant\n{HERMES}",
    "the model's own turn, GLM": f"<|assistant|>\n{HERMES}",
    "a token at the beginning": f"<s>{HERMES}",
    "a type that is one": '<tool_call>{"name": "Bash", "arguments": {"command": "ls"}, "type": "function"}</tool_call>',
    "brackets that are closed": f"【结果】没有。我来看看。\n\n{HERMES}",
    "an apostrophe": f"It's the user’s file. I do it.\n\n{HERMES}",
    "a tag that is spoken of": f"Let me fix the <tool_call> tag.\n\n{HERMES}",
    "behind reasoning": f"<reasoning>hm</reasoning>{HERMES}",
    "a thought, in a sentence": f"That was my thinking, and now I look.\n{HERMES}",
}


@pytest.mark.parametrize("name", IS_TEXT)
def test_it_is_text(name: str) -> None:
    text = IS_TEXT[name]
    for where, client in outcomes(Said(text=tuple(text[at : at + 9] for at in range(0, len(text), 9)))):
        assert (client.calls, client.text) == ([], text), where


@pytest.mark.parametrize("name", IS_A_CALL)
def test_it_is_a_call(name: str) -> None:
    text = IS_A_CALL[name]
    for where, client in outcomes(Said(text=tuple(text[at : at + 9] for at in range(0, len(text), 9)))):
        assert len(client.calls) == (2 if "siblings" in name else 1), where


SIBLINGS = {
    "in a wrapper of its own": ('{}\n<tool_call>{{"name": "Bash", "arguments": {{"command": "l'),
    "only its opener": "{}\n<tool_call>",
    "half its opener": "{}\n<tool_ca",
}


@pytest.mark.parametrize("cut", [False, True], ids=["stop", "length"])
@pytest.mark.parametrize("sibling", SIBLINGS)
@pytest.mark.parametrize("protocol", [CHAT, MESSAGES, RESPONSES, OLLAMA, GEMINI, ZAI], ids=lambda one: one.name)
def test_a_call_before_one_that_is_cut_off_stays_text(protocol: Protocol, sibling: str, cut: bool) -> None:
    """What would have followed may say that both are examples, and clients that ask again would run it twice."""
    text = SIBLINGS[sibling].format(HERMES)
    body = protocol.stream(deltas(text, 7), cut)
    held = protocol.read(mend(body, protocol=protocol.name, question=QUESTION)[0])
    assert (held.calls, held.text) == ([], text)
