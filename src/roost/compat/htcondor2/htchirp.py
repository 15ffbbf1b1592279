"""`htchirp`: the protocol by which a job speaks to its queue while it runs. Roost's jobs have no such line."""

from __future__ import annotations

from typing import Any, NoReturn

from roost.compat.htcondor2.errors import HTCondorException

__version__ = "1"
__all__ = ("HTChirp", "condor_chirp")

_WHY = "a job of Roost has no chirp connection; the attributes that it may set are in its job ad, by condor_qedit"


class HTChirp:
    """Not possible in Roost."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise HTCondorException(_WHY)


def condor_chirp(*args: Any, **kwargs: Any) -> NoReturn:
    """Not possible in Roost."""
    raise HTCondorException(_WHY)
