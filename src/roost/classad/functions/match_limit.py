"""The exception of a regular expression that takes too long."""


class MatchLimit(Exception):
    """A match takes too many steps."""


class StepLimit(MatchLimit):
    """The match took more steps than it was given."""
