"""OpenAI Responses, over HTTP and WebSocket."""
