"""docs/written.md is true: what happens to each of its examples is what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.protocols.text_protocols import CHAT, deltas
from toolcalls.engine import Response, mend_whole
from toolcalls.policy import Policy
from toolcalls.request.request import read_request

PAGE = (Path(__file__).parents[2] / "docs" / "written.md").read_text(encoding="utf-8")
PARAMETERS = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
TOOLS = [{"type": "function", "function": {"name": "Bash", "parameters": PARAMETERS}}]
CALL = '<tool_call>{"name": "Bash", "arguments": {"command": "ls"}}</tool_call>'
WHAT_RUNS = {"runs": ["ls"], "both run": ["ls", "pwd"], "`OTHER` runs": ["pwd"], "text": []}
ROWS = re.findall(r"^\| (`.*) \| ([^|]+) \| [^|]*\|$", PAGE.partition("\n## Examples\n")[2], re.MULTILINE)


def text_of(cell: str) -> str:
    """The answer that a cell of the table shows."""
    lines = [re.sub(r"^(`+) ?(.*?) ?\1$", r"\2", line.strip()) for line in cell.split("⏎")]
    text = "\n".join(lines).replace("\\|", "|")
    return text.replace("OTHER", CALL.replace("ls", "pwd")).replace("CALL", CALL)


def test_the_page_has_twenty_examples() -> None:
    assert len(ROWS) == 20 and f"`CALL` is `{CALL}`" in PAGE


@pytest.mark.parametrize(("cell", "result"), ROWS, ids=lambda value: value[:40])
def test_what_the_page_says_happens(cell: str, result: str) -> None:
    shown, _, reason = cell.partition(" (ended with `")
    body = CHAT.stream(deltas(text_of(shown), 9), False)
    body = body.replace(b'"stop"', b'"%b"' % (reason.rstrip("`)") or "stop").encode())
    answer = Response("chat", read_request({"tools": TOOLS, "stream": True}), Policy())
    client = CHAT.read(mend_whole(answer, body))
    assert [call["arguments"]["command"] for call in client.calls] == WHAT_RUNS[result.strip()]
