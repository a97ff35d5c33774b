"""The tools that a request declared, and their schemas: names and shapes are decided by them."""
