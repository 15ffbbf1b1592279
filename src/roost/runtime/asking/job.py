"""The daemons' data about a waiting job, for `roost.explain.job`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

from roost.classad import ClassAd
from roost.explain.job import JobQuestion, PoolFacts
from roost.explain.verdict import slots_to_trace
from roost.model.audit import AuditRecord
from roost.model.cycle_answers import JobInCell, JobInCycle
from roost.model.job_standing import JobStanding
from roost.policy.explain import Origin
from roost.policy.explain.configured import configured_machine
from roost.runtime.asking.story import job_ad
from roost.runtime.bus.pool_client import PoolClient
from roost.schedd.status import JobStatus
from roost.wire.ads import ad_from
from roost.wire.requests import central, queue

#: Number of ads requested at once.
_ADS_AT_ONCE: Final = 500
#: How long to wait for the negotiator to consider a job, s.
_NEW_S: Final = 2.0
#: Status of a job to the kind of decision that led to it.
_DECIDED: Final = {JobStatus.HELD: "hold", JobStatus.REMOVED: "removal"}


def job_question(pool: PoolClient, name: str) -> JobQuestion:
    """Collect the daemons' data about a job. Raises `error_class`."""
    name, data = job_ad(pool, name)
    ad = ad_from(data)
    status = JobStatus(int(ad.get("JobStatus", JobStatus.IDLE)))
    if status is not JobStatus.IDLE:
        kind = _DECIDED.get(status)
        if status is JobStatus.SUSPENDED:
            return JobQuestion(name=name, ad=ad, slots=_slots(pool, [str(ad.get("RemoteHost", ""))]))
        return JobQuestion(name=name, ad=ad, decided=() if kind is None else _decided(pool, name, kind))
    standing, record = ask_daemons(pool, name)
    if record is None:
        return JobQuestion(name=name, ad=ad, standing=standing, pool=_facts(pool))
    if isinstance(record, JobInCell):
        # A scheduling run of a cell has no verdicts on slots.
        return JobQuestion(name=name, ad=ad, standing=standing, record=record)
    here = str(pool.contact.get("node"))
    of_here = origins_here(pool)

    def origins(slot: str) -> Mapping[str, Origin]:
        return of_here if slot.partition("@")[2] == here else {}

    slots = _slots(pool, slots_to_trace(record))
    return JobQuestion(name=name, ad=ad, standing=standing, record=record, slots=slots, origins=origins)


def ask_daemons(pool: PoolClient, name: str) -> tuple[JobStanding, JobInCycle | JobInCell | None]:
    """Get the queue's and the negotiator's data about a job. A new job is considered within moments."""
    until = time.monotonic() + _NEW_S
    while True:
        standing = pool.ask(queue.Autocluster(job=name))
        record = pool.ask(
            central.ExplainJob(schedd=standing.schedd, submitter=standing.submitter, autocluster=standing.autocluster)
        )
        if record is not None or standing.claim is not None or time.monotonic() > until:
            return standing, record
        time.sleep(0.1)


def _facts(pool: PoolClient) -> PoolFacts:
    has_slots = bool(pool.ask(central.Ads(kind="Machine", limit=1)))
    return PoolFacts(has_slots=has_slots, cycles=pool.ask(central.Cycle()).cycles)


def _slots(pool: PoolClient, names: list[str]) -> dict[str, ClassAd]:
    """The ads of slots."""
    found = {}
    for first in range(0, len(names), _ADS_AT_ONCE):
        for data in pool.ask(central.Ads(kind="Machine", names=tuple(names[first : first + _ADS_AT_ONCE]))):
            found[str(data.get("Name", "?"))] = ad_from(data)
    return found


def _decided(pool: PoolClient, name: str, kind: str) -> list[AuditRecord]:
    """The audit records of a kind about a job, with their authors."""
    try:
        return pool.ask(central.AuditTrail(job=name, kinds=(kind,), limit=1)).records
    except (pool.refused_class, pool.error_class):
        return []


def origins_here(pool: PoolClient) -> Mapping[str, Origin]:
    """Where the policy of this machine is set."""
    roots = pool.contact.get("roots")
    config = pool.home.config(tuple(roots) if roots else None, "STARTD")
    try:
        return configured_machine(config).origins
    except ValueError:
        return {}
