"""mend."""
