"""Bytes of the network: content encodings and event-stream framing. Knows nothing of tool calls."""
