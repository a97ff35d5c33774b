"""Mending of one complete call: its name, its arguments and their shape."""
