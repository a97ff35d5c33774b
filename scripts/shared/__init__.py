"""What several packages of scripts/ use."""
