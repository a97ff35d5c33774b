"""Recordings that a hostile model wrote: whatever breaks pages, in every place that a report shows."""

from __future__ import annotations

import json
from pathlib import Path

from toolcalls.recording import store

ATTACKS = [
    "<script>window.hacked = 1</script>",
    "</script><script>window.hacked = 1</script>",
    "</SCRIPT ><img src=x onerror='window.hacked=1'>",
    "<!--<script>",
    "]]><svg onload=window.hacked=1>",
    "{{script}} {{policy}} {{data}}",
    '"><iframe src="javascript:window.hacked=1">',
    "javascript:window.hacked=1",
    "<style>body{display:none}</style>",
    "\u2028\u2029\u202egnp.exe\x00\x1b[31m\ufeff",
    "\ud800 a lone surrogate",
    "__proto__",
    "constructor",
]


def write_hostile(folder: Path) -> list[str]:
    """One recording for each attack; gives the texts."""
    for number, attack in enumerate(ATTACKS):
        call = {
            "status": "refused" if number % 2 else "repaired",
            "name": attack,
            "arguments": json.dumps({"command": attack}),
            "received_name": attack + "x",
            "received_arguments": "{'command': '" + attack + "'}",
            "steps": [attack, f"array from a string at `{attack}`"],
            "reason": attack,
        }
        flow = {
            "protocol": attack,
            "host": attack,
            "path": "/" + attack,
            "status": 200,
            "title": attack,
            "defect": attack,
            "started": attack,
            "policy": {},
            "versions": {"toolfix": attack},
            "chunks": [],
        }
        body = f"data: {attack}\n\n".encode("utf-8", "surrogatepass")
        directory = folder / f"hostile-{number}"
        directory.mkdir(parents=True)
        store.private_file(directory / "request.json", json.dumps({"model": attack}).encode())
        store.private_file(directory / "before.sse", body)
        store.private_file(directory / "after.sse", body + body)
        store.private_file(directory / "calls.json", json.dumps([call]).encode())
        store.private_file(directory / "flow.json", json.dumps(flow).encode())
    return ATTACKS
