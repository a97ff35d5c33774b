"""Flows as recordings: what flow.json says of one, and mitmproxy's flow files and HAR files, without an `after`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mitmproxy import exceptions, http
from mitmproxy.io import FlowReader

from ..engine import protocol_of
from ..recording import store
from ..recording.store import Frame, NoRecording, Recording
from ..wire.encoding import Corrupt, decode_whole


def content(message: http.Message) -> bytes:
    """The body without its content encoding, or as it came if it cannot be decoded. mitmproxy's own decoding has no
    limit for the decoded size."""
    body = message.raw_content or b""
    try:
        return decode_whole(body, message.headers.get("content-encoding", ""))
    except Corrupt:
        return body


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
    """The flows of a file that use one of our protocols, numbered from 1. mitmproxy recognises which file it is."""
    try:
        with path.open("rb") as file:
            # For a socket or body that it cannot read, mitmproxy raises its own exception. It reads a HAR as a whole.
            for number, flow in enumerate(FlowReader(file).stream(), 1):
                if isinstance(flow, http.HTTPFlow) and (found := recording_of(flow, path / f"flow {number}")):
                    yield found
    except exceptions.FlowReadException as error:
        raise NoRecording(f"{path} is neither a flow file nor a HAR file ({error}): name one of those.") from error
    except OSError as error:
        raise NoRecording(f"{path} cannot be read ({error.strerror}): name a readable file.") from error


def recording_of(flow: http.HTTPFlow, name: Path, options: Mapping[str, str] | None = None) -> Recording | None:
    """A flow with an answer of one of our protocols, to be replayed with these options."""
    protocol = protocol_of(flow.request.path)
    if protocol is None or flow.response is None:
        return None
    told = {**described(flow, protocol), "broken": flow.error is not None, "policy": options or {}}
    if flow.websocket is not None:
        kept = [message for message in flow.websocket.messages if message.is_text and not message.dropped]
        frames = (Frame(one.from_client, one.text, one.timestamp) for one in kept)
        return Recording(
            name, told, b"", b"".join(frame.line(kept[0].timestamp) for frame in frames), suffix=".jsonl"
        )
    if flow.request.method != "POST" or not 200 <= flow.response.status_code < 300:
        return None
    request, body = content(flow.request), content(flow.response)
    return Recording(name, told, request, body, suffix=store.suffix_of(body))
