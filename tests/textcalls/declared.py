"""The tools that the tests declare, and how they run the scanner."""

from __future__ import annotations

from typing import Any

from toolcalls.textcalls.held import FoundCall
from toolcalls.textcalls.search import Search
from toolcalls.tools.declared import Tool, Tools


def tool(name: str, required: str = "", **properties: Any) -> Tool:
    declared = {key: {"type": kind} if isinstance(kind, str) else kind for key, kind in properties.items()}
    return Tool(name, {"type": "object", "properties": declared, "required": required.split()})


TWENTY = Tools(
    [
        tool("Bash", "command", command="string", timeout="integer", description="string"),
        tool("Read", "file_path", file_path="string", offset="integer", limit="integer"),
        tool("Write", "file_path content", file_path="string", content="string"),
        tool(
            "Edit",
            "file_path old_string new_string",
            file_path="string",
            old_string="string",
            new_string="string",
            replace_all="boolean",
        ),
        tool("Grep", "pattern", pattern="string", path="string", head_limit="integer"),
        tool("Glob", "pattern", pattern="string", path="string"),
        tool("Task", "prompt", prompt="string", description="string"),
        tool("TodoWrite", "todos", todos={"type": "array", "items": {"type": "object"}}),
        tool("WebFetch", "url", url={"type": "string", "format": "uri"}, prompt="string"),
        tool("WebSearch", "query", query="string"),
        tool("NotebookEdit", "notebook_path", notebook_path="string", cell="integer"),
        tool("LS", "path", path="string"),
        tool("list_tabs"),
        tool("apply_patch", "input", input="string"),
        tool("shell", "command", command={"type": "array", "items": {"type": "string"}}),
        tool("update_plan", "plan", plan={"type": "array"}, explanation="string"),
        tool("view_image", "path", path="string"),
        tool("read_many_files", "paths", paths={"type": "array", "items": {"type": "string"}}),
        tool("save_memory", "fact", fact="string"),
        tool("exit_plan_mode", "plan", plan="string"),
    ]
)


def scan(
    text: str, tools: Tools = TWENTY, size: int = 0, *, finished: bool | None = True, max_held: int = 1 << 24
) -> list[str | FoundCall]:
    """What comes out of the scanner for `text` in pieces of `size`; neighbouring text joined."""
    size = size or len(text) or 1
    return scan_pieces([text[at : at + size] for at in range(0, len(text), size)], tools, finished, max_held)


def scan_pieces(
    pieces: list[str], tools: Tools = TWENTY, finished: bool | None = True, max_held: int = 1 << 24
) -> list[str | FoundCall]:
    scanner = Search(tools, max_held=max_held)
    out: list[str | FoundCall] = []
    for piece in pieces:
        out += scanner.feed(piece)
    out += scanner.close(finished)
    joined: list[str | FoundCall] = []
    for item in out:
        if isinstance(item, str) and joined and isinstance(joined[-1], str):
            joined[-1] += item
        elif item:
            joined.append(item)
    return joined


def text_of(out: list[str | FoundCall]) -> str:
    return "".join(item for item in out if isinstance(item, str))


def calls_of(out: list[str | FoundCall]) -> list[FoundCall]:
    return [item for item in out if isinstance(item, FoundCall)]


def back(out: list[str | FoundCall]) -> str:
    return "".join(item if isinstance(item, str) else item.raw for item in out)
