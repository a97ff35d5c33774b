"""What a request asks for, and the mending of its history before it is sent upstream."""
