"""Which group of idle jobs each job of a large cluster belongs to: found out in parts, while others are served.

Jobs that differ in what matching or their order depends on are looked at one by one. None of a cluster is offered
before all were, for one that comes last may be the first to run.
"""

from __future__ import annotations

from typing import Final

from roost.schedd.jobs.crontab import has_crontab
from roost.schedd.work import Work

#: What is done in one step of the queue, in jobs, some 20 ms; one that runs by a crontab counts as several, and so does
#: one with an expression of its own.
JOBS_A_STEP: Final = 1000
PLANNED_COST: Final = 5
EXPRESSION_COST: Final = 20
#: Folded names of the expressions that jobs have of their own at times.
_EXPRESSIONS: Final = frozenset(("requirements", "rank"))
#: Jobs of one cluster that are looked at before those of the next one.
_JOBS_A_CLUSTER: Final = 250


def place_some(work: Work) -> None:
    """Put some more jobs into their groups; clusters take turns."""
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
