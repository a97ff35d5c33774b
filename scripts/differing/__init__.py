"""Runs an earlier version of the engine and the working tree on the same inputs and compares the results."""
