"""The one exception of the second bindings."""


class HTCondorException(Exception):
    """Something cannot be done; the text says why."""
