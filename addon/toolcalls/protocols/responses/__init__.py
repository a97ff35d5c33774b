"""OpenAI Responses: over HTTP, streamed and not, and over a WebSocket."""
