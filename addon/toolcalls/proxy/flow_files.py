"""Flows as recordings, and mitmproxy's flow files and HAR files: what the upstream answered, without an `after`.

mitmproxy's reader recognises which of the two it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mitmproxy import exceptions, http
from mitmproxy.io import FlowReader

from ..engine import protocol_of
from ..recording import store
from ..recording.store import Frame, NoRecording, Recording
from .content_view import content


def described(flow: http.HTTPFlow, protocol: str) -> dict[str, Any]:
    """What flow.json says of a flow, as far as it has come."""
    response = flow.response
    return {
        "protocol": protocol,
        "method": flow.request.method,
        "host": flow.request.pretty_host,
        "path": flow.request.path,
        "status": response.status_code if response else 0,
        "content_type": response.headers.get("content-type", "") if response else "",
    }


def read(path: Path) -> Iterator[Recording]:
    """The flows of a file that use one of our protocols, numbered from 1."""
    try:
        with path.open("rb") as file:
            # For a socket or body that it cannot read, mitmproxy raises its own exception. It reads a HAR as a whole.
            for number, flow in enumerate(FlowReader(file).stream(), 1):
                if isinstance(flow, http.HTTPFlow) and (recording := _recording(path, number, flow)):
                    yield recording
    except exceptions.FlowReadException as error:
        raise NoRecording(f"{path} is neither a flow file nor a HAR file ({error}): name one of those.") from error
    except OSError as error:
        raise NoRecording(f"{path} cannot be read ({error.strerror}): name a readable file.") from error


def _recording(path: Path, number: int, flow: http.HTTPFlow) -> Recording | None:
    protocol = protocol_of(flow.request.path)
    if protocol is None or flow.response is None:
        return None
    told = {**described(flow, protocol), "broken": flow.error is not None}
    name = path / f"flow {number}"
    if flow.websocket is not None:
        kept = [
            Frame(message.from_client, message.text if message.is_text else message.content, message.timestamp)
            for message in flow.websocket.messages
            if not message.dropped
        ]
        before = b"".join(frame.line(kept[0].when) for frame in kept)
        return Recording(name, told, b"", before, suffix=".jsonl")
    if flow.request.method != "POST" or not 200 <= flow.response.status_code < 300:
        return None
    request, body = content(flow.request), content(flow.response)
    return Recording(name, told, request, body, suffix=store.suffix_of(body))
