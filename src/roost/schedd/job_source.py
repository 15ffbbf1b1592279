"""What the queue asks of a submission: the ads of its jobs, made one at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from roost.classad import ClassAd


class JobSource(Protocol):
    """The common ad of the jobs of a cluster, and their differences."""

    @property
    def common(self) -> ClassAd:
        """The attributes that all jobs have in common."""

    def for_cluster(self, number: int) -> JobSource:
        """The same, with everything filled in that depends on the cluster's number."""

    @property
    def count(self) -> int:
        """Number of jobs in the cluster."""

    @property
    def varying(self) -> frozenset[str]:
        """Folded names of the attributes that differ."""

    def differences(self, index: int) -> Mapping[str, Any]:
        """Attributes in which one job differs from the cluster: name to cell of an ad."""

    def mistake(self, index: int) -> str:
        """Why one job is not what its description says; "" if it is correct."""

    @property
    def longest(self) -> int:
        """The job whose item is the longest, in characters; 0 if jobs do not differ by items."""

    def items(self, jobs: int) -> int:
        """Of how many items the first so many jobs are."""

    def to_data(self) -> Any:
        """All data as JSON."""
