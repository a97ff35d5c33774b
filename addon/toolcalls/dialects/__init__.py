"""The protocols, one folder each: reading and writing their text, tool calls and finish reasons."""
