"""The server's own parse failure: it could not read the call that its model made, and quotes it in the error."""
