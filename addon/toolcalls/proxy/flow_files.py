"""Reads mitmproxy's flow files and HAR files as recordings: what the upstream answered, without an `after`.

mitmproxy's reader recognises which of the two it is. mitmproxy is imported only when there is such a file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..engine import protocol_of
from ..recording import store
from ..recording.store import Frame, NoRecording, Recording


def read(path: Path) -> Iterator[Recording]:
    """The flows of a file that use one of our protocols, numbered from 1."""
    from mitmproxy import exceptions, http
    from mitmproxy.io import FlowReader

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


def _recording(path: Path, number: int, flow: object) -> Recording | None:
    from mitmproxy import http

    from .content_view import content

    assert isinstance(flow, http.HTTPFlow)
    protocol = protocol_of(flow.request.path)
    if protocol is None or flow.response is None:
        return None
    described = {
        "protocol": protocol,
        "method": flow.request.method,
        "host": flow.request.pretty_host,
        "path": flow.request.path,
        "status": flow.response.status_code,
        "content_type": flow.response.headers.get("content-type", ""),
        "broken": flow.error is not None,
    }
    name = path / f"flow {number}"
    if flow.websocket is not None:
        kept = [
            Frame(message.from_client, message.text if message.is_text else message.content, message.timestamp)
            for message in flow.websocket.messages
            if not message.dropped
        ]
        before = b"".join(frame.line(kept[0].when) for frame in kept)
        return Recording(name, described, b"", before, suffix=".jsonl")
    if flow.request.method != "POST" or not 200 <= flow.response.status_code < 300:
        return None
    request, body = content(flow.request), content(flow.response)
    return Recording(name, described, request, body, suffix=store.suffix_of(body))
