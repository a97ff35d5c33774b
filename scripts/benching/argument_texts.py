"""Argument texts of any size: valid ones, and ones that are broken in one way."""

from __future__ import annotations

import json
from collections.abc import Callable

_CODE = '''def handler(self, request, *, retries=3):
    """Answer one request; it's called from the loop."""
    if request.path.startswith("/api/") and not self.closed:
        for attempt in range(retries):
            reply = self.send(request, timeout=1.5 * (attempt + 1))
            if reply.status in (200, 204):
                return {"ok": True, "body": reply.text, 'tries': attempt}
        log.warning("gave up on %s after %d tries\\n", request.path, retries)
    return None

'''
_PROSE = 'He said "yes" to the plan and left the room at once.\\nNobody knew why the door was open. '


def code(size: int) -> str:
    return (_CODE * (size // len(_CODE) + 1))[:size]


def valid(size: int) -> str:
    return json.dumps({"file_path": "/home/u/project/handler.py", "content": code(size), "overwrite": True})


def python_style(size: int) -> str:
    return repr({"file_path": "/home/u/project/handler.py", "content": code(size), "overwrite": True})


def truncated(size: int) -> str:
    return valid(size)[:size]


def json5(size: int) -> str:
    body = json.dumps(code(size))
    return f"{{file_path: '/home/u/project/handler.py', /* new */ content: {body}, overwrite: true,}}"


def inner_quotes(size: int) -> str:
    return '{"file_path": "/a.md", "content": "' + _PROSE * (size // len(_PROSE)) + '", "overwrite": true}'


def small_items(size: int) -> str:
    item = '{"id": 7, "name": "x", "done": false,}'
    return '{"items": [' + ", ".join([item] * max(1, size // (len(item) + 2))) + "]}"


KINDS: dict[str, Callable[[int], str]] = {
    "valid": valid,
    "Python-style": python_style,
    "truncated": truncated,
    "JSON5": json5,
    "inner quotes": inner_quotes,
    "small items": small_items,
}
