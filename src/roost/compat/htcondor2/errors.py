"""The one exception of the second bindings."""


class HTCondorException(Exception):
    """Something can't be done; the text says why."""
