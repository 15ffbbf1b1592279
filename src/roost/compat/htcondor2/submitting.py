"""Turns a `Submit` into plans of clusters, and submits them to the queue."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from roost.classad import ClassAd as Ad
from roost.compat.classad2 import ClassAd
from roost.compat.htcondor2.errors import HTCondorException
from roost.config.not_text import joined
from roost.runtime.identity import user_name
from roost.runtime.queue.descriptions import pool_config
from roost.runtime.queue.submit_host import SystemSubmitHost
from roost.schedd.submit import ClusterPlan, Submission, SubmitContext, fill, read_submission
from roost.wire.requests import queue

if TYPE_CHECKING:
    from roost.compat.htcondor2.asking import Pool
    from roost.compat.htcondor2.submit import Item, Submit
    from roost.schedd.submit.queue_statement import QueueItems


def plan(
    description: Submit, items: QueueItems, pool: Pool | None, *, spool: bool = False, now: float | None = None
) -> Submission:
    """The submission that a description produces. Raises HTCondorException."""
    method = "" if "MY.JobSubmitMethod" in description else f"MY.JobSubmitMethod = {description.getSubmitMethod()}\n"
    context = SubmitContext(
        host=SystemSubmitHost(),
        now=time.time() if now is None else now,
        owner=user_name() if pool is None else pool.user,
        uid_domain="" if pool is None else str(pool.contact.get("uid_domain", "")),
        config=None if pool is None else pool_config(pool.home, pool.contact),
        spooled=spool,
    )
    text = f"{description._text()}{method}queue\n"
    found = read_submission(text, "<Submit>", context, items=items)
    if found.errors:
        raise HTCondorException(joined(found.errors, found.dropped))
    if not found.count:
        raise HTCondorException("the description produces no jobs: nothing was submitted")
    return found


def cluster_ad(plan: ClusterPlan, number: int) -> ClassAd:
    """The attributes common to the jobs of a cluster."""
    ad = plan.for_cluster(number).common.copy()
    ad["ClusterId"] = number
    return ClassAd._of_ad(ad)


def ads(
    description: Submit,
    count: int,
    itemdata: Iterable[Item] | None,
    first: tuple[int, int],
    qdate: int,
    owner: str,
) -> Iterator[ClassAd]:
    """The ads of the jobs as they would be submitted."""
    found = plan(description, description._given_items(count, itemdata, None), None, now=qdate or None)
    number, proc = first
    for cluster in found.clusters:
        for at, ad in enumerate(cluster.for_cluster(number).ads()):
            yield ClassAd._of_ad(_filled(ad, number, proc + at, owner))
        number, proc = number + 1, 0


def _filled(ad: Ad, cluster: int, proc: int, owner: str) -> Ad:
    fill(ad, cluster, proc, schedd="submit", **({"owner": owner} if owner else {}))  # type: ignore[arg-type]
    return ad


def submitted(pool: Pool, submission: Submission) -> list[queue.Submitted]:
    """Submit clusters to the queue."""
    return pool.ask(queue.Submit(clusters=tuple(each.to_data() for each in submission.clusters)))
