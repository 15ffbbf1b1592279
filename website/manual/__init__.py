"""What of the manual is made from tables and parsers of the source. `make docs` runs it; it is not installed."""
