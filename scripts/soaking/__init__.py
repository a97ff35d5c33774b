"""Sends mixed traffic with faults through a real mitmdump for as long as you like, and accounts for every call."""
