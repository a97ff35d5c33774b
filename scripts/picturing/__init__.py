"""Makes the pictures of the docs from what the commands really print and show."""
