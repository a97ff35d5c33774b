"""Ollama's own `/api/chat`: lines of JSON, calls that come whole."""
