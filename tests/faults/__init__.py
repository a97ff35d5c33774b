"""Faults: a real mitmdump with the addon between a raw client and a hostile upstream, both on this machine."""
