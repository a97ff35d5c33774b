"""Characters that `str.splitlines` takes for a line end are escaped in what we write.

Clients that read lines of text (httpx, and so google-genai and Ollama in Python) cut an event at them, and lose it and
all that follows. Servers in Go, Java and Python escape them.
"""

from __future__ import annotations

import json

import pytest

from tests.must_not_run.wires import TOOLS, Said, call, stream
from tests.protocols.test_chat import DONE, chunk
from tests.protocols.text_protocols import CHAT, MESSAGES, RESPONSES, Protocol, gemini_answer
from tests.splits import mend
from toolcalls.request.request import read_request

LINE_ENDS = "\x85\u2028\u2029"
COMMAND = f"echo 'a{LINE_ENDS}b'"


def lines(out: bytes) -> list[str]:
    text = out.decode()
    assert len(text.splitlines()) == text.count("\n")
    return [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: {")]


@pytest.mark.parametrize("protocol", [CHAT, MESSAGES, RESPONSES], ids=lambda protocol: protocol.name)
def test_in_a_mended_call(protocol: Protocol) -> None:
    said = Said(calls=(call("Bash", json.dumps({"cmd": COMMAND})),), finish="calls", request={"tools": TOOLS})
    out, _ = mend(stream(protocol, said), protocol=protocol.name, question=said.question)
    assert lines(out)
    assert [each["arguments"] for each in protocol.read(out).calls] == [{"command": COMMAND}]


def test_in_a_mended_call_of_gemini() -> None:
    answers = [
        gemini_answer({"functionCall": {"name": "Bash", "args": {"cmd": COMMAND}}}),
        gemini_answer({"text": ""}, finish="STOP"),
    ]
    body = "".join(f"data: {json.dumps(answer)}\r\n\r\n" for answer in answers)
    out, _ = mend(body, protocol="gemini", question=read_request({"contents": [], "tools": [DECLARED]}))
    first = json.loads(lines(out.replace(b"\r\n", b"\n"))[0])
    assert first["candidates"][0]["content"]["parts"][0]["functionCall"]["args"] == {"command": COMMAND}


BASH = TOOLS[0]["function"]
DECLARED = {"functionDeclarations": [{"name": BASH["name"], "parametersJsonSchema": BASH["parameters"]}]}


def test_in_a_text_that_was_held() -> None:
    body = chunk({"content": f"a{LINE_ENDS}b <"}) + chunk({"content": "c"}) + chunk({}, "stop") + DONE
    out, _ = mend(body, question=read_request({"tools": TOOLS}))
    said = [json.loads(line)["choices"][0]["delta"].get("content", "") for line in lines(out)]
    assert "".join(said) == f"a{LINE_ENDS}b <c"
