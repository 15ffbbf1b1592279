"""Selecting the jobs of a command: ids, clusters, users, ``-constraint``, ``-all``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from roost.cli.condor.errors import UsageError
from roost.wire.requests import queue

if TYPE_CHECKING:
    from roost.cli.condor.printing.rows import AdRow
    from roost.cli.pool_connection import Pool

_ID: Final = re.compile(r"(\d+)(?:\.(\d*))?\Z")


class JobSelection(NamedTuple):
    """The selected jobs; all of them if nothing is named."""

    jobs: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    constraint: str | None = None

    def asked(self) -> queue.ChosenFields:
        """The fields of a request to the queue."""
        return {"jobs": self.jobs, "owners": self.owners, "constraint": self.constraint}

    def but(self, clause: str) -> JobSelection:
        """Those of them for which an additional clause is true."""
        both = clause if self.constraint is None else f"({self.constraint}) && ({clause})"
        return self._replace(constraint=both)


def clusters(pool: Pool, choice: JobSelection) -> list[queue.ClusterRow]:
    """A row for each cluster of the selected jobs."""
    found = pool.ask(queue.Overview(projection=("ClusterId",), rows_max=-1, **choice.asked()))
    return found.clusters if isinstance(found, queue.Clusters) else []


def is_meant(row: AdRow, choice: JobSelection) -> bool:
    """Whether the ad of a job, from a file, is among the selected jobs."""
    cluster, job = str(row.value("ClusterId")), f"{row.value('ClusterId')}.{row.value('ProcId')}"
    if choice.jobs and not {cluster, job} & set(choice.jobs):
        return False
    if choice.owners and row.text("Owner") not in choice.owners:
        return False
    return choice.constraint is None or row.value(choice.constraint) is True


def check_constraint(text: str) -> None:
    """Raise UsageError for an invalid expression."""
    from roost.classad import ParseError, Syntax, parse_expression

    try:
        parse_expression(text, Syntax.OLD)
    except ParseError as error:
        raise UsageError(f"Error: Invalid constraint: {text}\n{error}") from None


def job_id(word: str) -> str | None:
    """A job or cluster in the queue's form; None if the word is neither."""
    found = _ID.match(word)
    if found is None:
        return None
    cluster, proc = found.groups()
    return f"{int(cluster)}.{int(proc)}" if proc else str(int(cluster))


def owner(word: str) -> str:
    """The user whose jobs are selected: the domain in the name is the pool's own."""
    return word.partition("@")[0]
