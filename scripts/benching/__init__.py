"""Measures what toolfix costs: each module of `benches` measures one thing and returns rows of one table."""
