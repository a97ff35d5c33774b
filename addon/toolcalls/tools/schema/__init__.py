"""The schemas that a request declares, prepared for checking."""
