"""Ollama's own `/api/chat`: lines of JSON, and calls that arrive in one piece."""
