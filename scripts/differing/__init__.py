"""Compares the engine of a tag with that of the working tree, for as long as the engine is being rebuilt."""
