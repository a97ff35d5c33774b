"""The pictures of the docs, made from what the commands really print and show."""
