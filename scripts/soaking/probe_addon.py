"""A mitmproxy script beside the addon: reports what is alive in mitmdump, as JSON at /soak/probe of the proxy."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import json
import os
from pathlib import Path
from typing import Any

from mitmproxy import ctx, http

from toolcalls.proxy import http_flows, websocket_flows

PATH = "/soak/probe"


def kept(addon: Any) -> dict[str, int]:
    """How many flows and connections the addon keeps; it must forget each when mitmproxy does."""
    return {
        "flows": len(http_flows.flows),
        "sockets": len(websocket_flows.sockets),
        "closed": len(addon.http.closed),
        "user_agents": len(addon.user_agents),
    }


def alive() -> dict[str, Any]:
    """Memory, descriptors, tasks and objects of this process, and what the addon keeps."""
    loaded: Any = ctx.master.addons  # its methods have no types
    addon = loaded.get("toolfix")
    return {
        "rss": int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE"),
        "fds": len(os.listdir("/proc/self/fd")),  # noqa: PTH208
        "tasks": len(asyncio.all_tasks()),
        "objects": len(gc.get_objects()),
        "kept": kept(addon),
    }


def request(flow: http.HTTPFlow) -> None:
    path, _, question = flow.request.path.partition("?")
    if path == PATH:
        if question == "collect":
            # What is left then is really in use: neither cyclic garbage nor memory that malloc keeps for later.
            gc.collect()
            if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
                trim(0)
        flow.response = http.Response.make(200, json.dumps(alive()), {"content-type": "application/json"})
