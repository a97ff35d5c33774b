"""textcalls."""
