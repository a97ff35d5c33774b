"""One call is mended here: its name, its arguments, their shape, and what the client would reject."""
