"""`SubmitResult`: the result of a submission."""

from __future__ import annotations

from roost.compat.classad2 import ClassAd


class SubmitResult:
    """The cluster that jobs were submitted to."""

    def __init__(
        self,
        clusterID: int,
        procID: int,
        num_procs: int,
        clusterAd: ClassAd | None,
        spooled_proc_ads: list[ClassAd] | None = None,
    ) -> None:
        self._cluster = clusterID
        self._first = procID
        self._count = num_procs
        self._ad = clusterAd
        self._spooled = spooled_proc_ads

    def cluster(self) -> int:
        """The number of the cluster."""
        return self._cluster

    def first_proc(self) -> int:
        """The number of the first job in it."""
        return self._first

    def num_procs(self) -> int:
        """How many jobs were submitted."""
        return self._count

    def clusterad(self) -> ClassAd | None:
        """The attributes common to the jobs."""
        return self._ad

    def __int__(self) -> int:
        return self._cluster

    def __str__(self) -> str:
        return f"Submitted {self._count} jobs into cluster {self._cluster},{self._first} :\n{self._ad}"

    def __repr__(self) -> str:
        words = f"cluster={self._cluster}, first_proc={self._first}, num_procs={self._count}"
        return f"SubmitResult({words}, clusterad={self._ad!r})"
