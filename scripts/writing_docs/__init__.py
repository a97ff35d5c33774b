"""Writes the pages that are generated from the code and from the recordings."""
