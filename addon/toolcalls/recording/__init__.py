"""Evidence: before/after recordings, their replay and their report."""
