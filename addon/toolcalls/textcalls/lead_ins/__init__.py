"""The words before a call, by language: whether they announce it, refuse it, or present it as an example."""
