"""Writes the pages that are made from the code and from the recordings."""
