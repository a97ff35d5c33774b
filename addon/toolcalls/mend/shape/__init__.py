"""Valid JSON of the wrong shape, and what is missing in it."""
