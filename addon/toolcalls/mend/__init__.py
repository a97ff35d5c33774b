"""Mending one tool call: its name, its arguments, their shape. Knows no protocol and no prose."""
