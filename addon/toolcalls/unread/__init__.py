"""The one folder that exists for speed: an event like one that was read is recognised by its bytes and not read."""
