"""One answer, whatever its protocol: gathering, text search, repeats, release, finish."""
