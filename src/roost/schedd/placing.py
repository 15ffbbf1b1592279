"""Assigning the jobs of a large cluster to groups of idle jobs: in batches, between which other events are handled.

Jobs that differ in what matching or their order depends on are examined one by one. None of a cluster is offered before
all are done, because the last one may have to run first.
"""

from __future__ import annotations

from typing import Final

from roost.schedd.jobs.crontab import has_crontab
from roost.schedd.work import Work

#: Work done in one step of the queue, in jobs, some 20 ms; a crontab job counts as several, and so does one with its
#: own expression.
JOBS_A_STEP: Final = 1000
PLANNED_COST: Final = 5
EXPRESSION_COST: Final = 20
#: Folded names of expressions that may differ between jobs.
_EXPRESSIONS: Final = frozenset(("requirements", "rank"))
#: Jobs of one cluster that are examined before those of the next.
_JOBS_A_CLUSTER: Final = 250


def place_some(work: Work) -> None:
    """Put the next batch of jobs into groups; clusters take turns."""
    book, left = work.book, JOBS_A_STEP
    while left > 0 and book.unplaced:
        number, unplaced = next(iter(book.unplaced.items()))
        del book.unplaced[number]
        cluster, plan_from = book.clusters[number], unplaced.plan_from
        cost = 1 if plan_from is None else PLANNED_COST
        if cluster.plan is not None and not cluster.plan.varying.isdisjoint(_EXPRESSIONS):
            cost = EXPRESSION_COST
        part = unplaced.procs[unplaced.at : unplaced.at + min(_JOBS_A_CLUSTER, -(-left // cost))]
        for proc in part:
            recurs = plan_from is not None and proc >= plan_from and cluster.is_idle(proc)
            if recurs and has_crontab(cluster.ad_of(proc)):
                work.plan_start(cluster.job(proc))
            book.place(cluster, proc)
        left -= cost * len(part)
        unplaced.at += len(part)
        if unplaced.at < len(unplaced.procs):
            book.unplaced[number] = unplaced
        else:
            work.offer()
