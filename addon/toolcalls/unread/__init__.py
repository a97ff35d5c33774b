"""The one folder that exists for speed: an event that resembles a parsed one is recognised by its bytes alone."""
