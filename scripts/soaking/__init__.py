"""Sends mixed traffic with faults through a real mitmdump for as long as one likes, and accounts for every call."""
