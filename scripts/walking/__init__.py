"""Counts the functions and files on the way of a few events through the engine, in a tag and in the working tree."""
