"""What a request asks, and its history on the way up."""
