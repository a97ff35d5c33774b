"""Tool calls that a model wrote as text: told by their form, position and provenance, never by the words around them.

`formats` is the table of what is a call, with its readers; `structure` says what is open where one begins; `search`
holds text from a head on and reads it once, at the end; `read_aloud` finds the calls that the model was given.
"""
