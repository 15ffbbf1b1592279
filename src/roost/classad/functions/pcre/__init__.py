"""Regular expressions in PCRE2's language, on bytes."""
