"""The tools that a request declared, and their schemas: the oracle for names and shapes."""
