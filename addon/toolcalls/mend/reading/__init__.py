"""Reading of broken JSON: characters, strings, the tolerant grammar, and strict JSON itself."""
