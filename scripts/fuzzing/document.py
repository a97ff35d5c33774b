"""The document that chat.z.ai patches: any edits, compared with the same document read in one piece."""

from __future__ import annotations

import json
import random
from typing import Any

from toolcalls.protocols.zai_document import Channel, Document

from .part import Part, need

PIECES = [
    "a", " ", "\n", "\n\n", "<", ">", '"', "\\", "{", "}", "你好", "😀", "\ud83d", "\ude00", "> quoted\n",
    "<details", '<details type="reasoning" done="false">\n', '<details type="reasoning" done="true" duration="4">\n',
    "<summary>Thinking…</summary>\n", "\n</details>\n", "</details>", "<glm_block", "<glm_block >", "</glm_block>",
    '<glm_block view="" tool_call_name="x">', '{"type": "mcp", "data": {"metadata": {"id": "c", "name": "Bash", ',
    '"arguments": "{\\"command\\": \\"ls\\"}", "result": "", "display_result": ""}, "thought": null}}',
    '"arguments": "{}", "result": "text </glm_block>"}}}', '"arguments": {}}}}', "`<glm_block >`", "\n<glm_block >",
]  # fmt: skip


def make(chance: random.Random) -> bytes:
    edits = []
    size = 0
    for _ in range(chance.randint(1, 12)):
        text = "".join(chance.choices(PIECES, k=chance.randint(1, 8)))
        if chance.random() < 0.1:
            text *= chance.choice((10, 100))
        index = chance.choice((size, size, chance.randint(0, size + 2), chance.randint(-2, 3)))
        edits.append([index, text])
        size = max(0, min(index, size)) + len(text)
    return json.dumps(edits).encode()


def check(data: bytes) -> None:
    edits = _edits(data)
    patched, plain = Document(lambda name: True), b""
    for index, text in edits:
        patched.patch(text, index, by_server=True)
        plain = _applied(plain, index, text)
    patched.read(final=True)
    once = Document(lambda name: True)
    once.patch(plain.decode("utf-16-le", "surrogatepass"), by_server=True)
    once.read(final=True)
    need(_text_of(patched.content) == _text_of(once.content), "patched it reads otherwise")
    need(_text_of(patched.reasoning) == _text_of(once.reasoning), "patched its reasoning reads otherwise")
    need(_calls_of(patched) == _calls_of(once), "patched it has other calls")


def _text_of(channel: Channel) -> str:
    return channel.getvalue()[: channel.length]


def _calls_of(document: Document) -> list[Any]:
    return [(call.id, call.name, call.arguments, call.result, call.cut) for call in document.blocks]


def _edits(data: bytes) -> list[tuple[int, str]]:
    """The edits in the input; none if it is something else."""
    try:
        value: Any = json.loads(data)
    except (ValueError, RecursionError):
        return []
    pairs = value if isinstance(value, list) else []
    return [
        (pair[0], pair[1])
        for pair in pairs
        if isinstance(pair, list) and len(pair) == 2 and type(pair[0]) is int and isinstance(pair[1], str) and pair[1]
    ]


def _applied(document: bytes, index: int, text: str) -> bytes:
    """The document after an edit of its UTF-16 bytes, as the web client does it; a surrogate pair is never cut."""
    cut = min(max(index, 0), len(document) // 2)
    before, after = document[2 * cut - 2 : 2 * cut], document[2 * cut : 2 * cut + 2]
    if len(before) == len(after) == 2 and 0xD8 <= before[1] <= 0xDB and 0xDC <= after[1] <= 0xDF:
        cut -= 1
    return document[: 2 * cut] + text.encode("utf-16-le", "surrogatepass")


def _seeds() -> list[bytes]:
    return [make(random.Random(number)) for number in range(8)]


PARTS = [
    Part("document", "the Z.AI document: any edits read like the same document in one piece", make, check, _seeds)
]
