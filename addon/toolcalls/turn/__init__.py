"""One answer, in any protocol: gathering calls, searching text, finding repeated calls, releasing, the finish."""
