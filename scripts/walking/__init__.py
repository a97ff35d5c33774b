"""Counts the functions and files that a few events pass through, in an earlier version and in the working tree."""
