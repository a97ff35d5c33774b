"""The protocols: one file each, which reads its events into parts and writes parts as its events."""
