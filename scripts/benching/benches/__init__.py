"""The benches: each module has a function `run` that measures and returns the rows of the table."""
