"""Broken JSON, read: characters, strings, the tolerant grammar, and strict JSON itself."""
