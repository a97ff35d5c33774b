"""Parse failures of the server: it could not read a call of its model, and quotes the call in an error."""
