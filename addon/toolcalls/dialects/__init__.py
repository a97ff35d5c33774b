"""The protocols, one folder each: what an event says about text, tool calls and the end of the answer."""
