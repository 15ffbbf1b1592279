"""The one exception of the second bindings."""


class HTCondorException(Exception):
    """An operation failed; the text says why."""
