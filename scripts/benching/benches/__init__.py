"""The benches: each module has a function `run` that measures and gives the rows of the table."""
