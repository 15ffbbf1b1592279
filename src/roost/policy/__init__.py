"""Policy: the catalogue of expressions and attributes, explanation of a value, and the linter."""
