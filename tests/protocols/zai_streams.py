"""A chat.z.ai backend for tests and benches: it keeps the document and says its changes as the real one does."""

from __future__ import annotations

import itertools
import json
from typing import Any

from toolcalls.engine import Response
from toolcalls.policy import Policy
from toolcalls.request.request import read_request

TOOLS = ("Bash", "Write", "Read", "Edit", "Grep", "TodoWrite")
WRAPPER = '<details type="reasoning" done="false" view="" last_tool_call_name="">\n<summary>Thinking…</summary>\n'
CLOSED = (
    '<details type="reasoning" done="true" duration="4" view="" last_tool_call_name="">\n'
    "<summary>Thought for 4 seconds</summary>\n"
)


def utf16(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass")


def units(text: str) -> int:
    return len(utf16(text)) // 2


def block(name: str, arguments: Any, identity: str = "call_1", result: Any = "", tag: str = "<glm_block >") -> str:
    metadata = {"id": identity, "name": name, "arguments": arguments, "result": result, "display_result": ""}
    more = {"duration": "...", "status": "completed", "is_error": False, "mcp_server": {"name": "mcp-server"}}
    data = {"metadata": {**metadata, **more}, "thought": None, "ppt": None, "browser": None}
    return f"{tag}{json.dumps({'type': 'mcp', 'data': data})}</glm_block>"


class Backend:
    """Collects the events of one answer."""

    def __init__(self, *, compact: bool = False) -> None:
        self.document = ""
        self.events: list[bytes] = []
        self._separators = (",", ":") if compact else (", ", ": ")

    def raw(self, event: Any) -> Backend:
        line = json.dumps(event, ensure_ascii=False, separators=self._separators)
        self.events.append(f"data: {line}\n\n".encode("utf-8", "backslashreplace"))
        return self

    def say(self, **data: Any) -> Backend:
        return self.raw({"type": "chat:completion", "data": data})

    def delta(self, text: str, phase: str = "answer", **more: Any) -> Backend:
        self.document += text
        return self.say(delta_content=text, phase=phase, **more)

    def think(self, text: str) -> Backend:
        """Thinking without a wrapper, which is no part of the document."""
        return self.say(delta_content=text, phase="thinking")

    def become(self, document: str, phase: str = "tool_call", overlap: int = 0, **more: Any) -> Backend:
        """Patch the document into another one, from the end of their common prefix on."""
        index = 0
        while index < min(len(document), len(self.document)) and document[index] == self.document[index]:
            index += 1
        index = max(index - overlap, 0)
        self.document = document
        return self.say(edit_index=units(document[:index]), edit_content=document[index:], phase=phase, **more)

    def usage(self, total: int = 7, **more: Any) -> Backend:
        tokens = {"prompt_tokens": total - 2, "completion_tokens": 2, "total_tokens": total}
        return self.say(usage=tokens, phase=more.pop("phase", "other"), **more)

    def done(self) -> Backend:
        return self.say(done=True, delta_content="", phase="done")

    @property
    def stream(self) -> bytes:
        return b"".join(self.events)


def question(tools: tuple[str, ...] | list[str] = TOOLS, **more: Any) -> Any:
    declared = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in tools]
    return read_request({"model": "glm-4.6", "stream": True, "tools": declared, **more})


def convert(
    stream: bytes, cuts: list[int] | int = 0, asked: Any = None, protocol: str = "zai", **policy: Any
) -> bytes:
    """What the client receives; `cuts` are offsets, or the size of every chunk."""
    answer = Response(protocol, asked if asked is not None else question(), Policy(**policy))
    if isinstance(cuts, int):
        cuts = list(range(cuts, len(stream), cuts)) if cuts else []
    edges = [0, *cuts, len(stream)]
    out = [piece for start, end in itertools.pairwise(edges) for piece in answer.feed(stream[start:end])]
    out += answer.close()
    assert answer.failure is None
    assert all(out)
    return b"".join(out)


def received(out: bytes) -> dict[str, Any]:
    """What an OpenAI client makes of it."""
    got: dict[str, Any] = {"content": "", "reasoning": "", "tool_calls": [], "finish_reason": None, "usage": None}
    got.update(error=None, done=False, ids=set(), roles=0, chunks=0)
    for line in out.decode().splitlines():
        if not line.startswith("data:"):
            assert not line or line.startswith((":", "\ufeff:")), line
            continue
        assert not got["done"], "something after [DONE]"
        if line == "data: [DONE]":
            got["done"] = True
            continue
        chunk = json.loads(line.removeprefix("data:"))
        if "error" in chunk:
            got["error"] = {key: chunk["error"][key] for key in ("code", "message")}
            continue
        assert chunk["object"] == "chat.completion.chunk"
        got["chunks"] += 1
        got["ids"].add((chunk["id"], chunk["created"], chunk["model"]))
        got["usage"] = chunk.get("usage") or got["usage"]
        for choice in chunk["choices"]:
            assert got["finish_reason"] is None, "something after the finish reason"
            delta = choice["delta"]
            got["roles"] += "role" in delta
            got["content"] += delta.get("content") or ""
            got["reasoning"] += delta.get("reasoning_content") or ""
            for call in delta.get("tool_calls", ()):
                assert call["index"] == len(got["tool_calls"])
                function = call["function"]
                arguments = json.loads(function["arguments"])
                got["tool_calls"].append({"id": call["id"], "name": function["name"], "arguments": arguments})
            got["finish_reason"] = choice["finish_reason"]
    return got
