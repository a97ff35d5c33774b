"""Mending of one complete call: its name, its arguments, their shape, and what the client would reject."""
