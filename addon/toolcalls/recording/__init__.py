"""Recordings of answers before and after mending: writing, masking, replaying and reporting them."""
