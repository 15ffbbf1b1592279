"""The exception of a regular expression that takes too long."""


class MatchLimit(Exception):
    """A match takes too many steps."""
