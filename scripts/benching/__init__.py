"""Measures what toolfix costs: each module of `benches` measures one thing, and all give rows of one table."""
