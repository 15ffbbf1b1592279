"""The daemons' data about a slot, for `roost.explain.slot`.

The ad is requested from the machine itself, so it is as recent as its last poll.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

from roost.explain.slot import SlotQuestion
from roost.model.cycle_answers import SlotInCycle
from roost.model.slot_transition import SlotTransition
from roost.policy.explain import Origin
from roost.runtime.asking.story import job_ad
from roost.runtime.bus.pool_client import PoolClient
from roost.wire.ads import ad_from
from roost.wire.requests import central
from roost.wire.requests import machine as requests

#: How long to wait for a machine's answer before the pool's ad is shown instead, s.
_ANSWER_S: Final = 4.0
#: Number of transition records requested to find the last informative one.
_RECORDS: Final = 8


def slot_question(pool: PoolClient, slot: str, for_job: str | None) -> SlotQuestion:
    """Collect the daemons' data about a slot. Raises `error_class`."""
    data, fresh = _slot_ad(pool, slot)
    name, machine = str(data["Name"]), str(data.get("Machine", ""))
    job = for_job or data.get("JobId")
    target = None
    try:
        if job:
            job, found = job_ad(pool, str(job))
            target = ad_from(found)
    except (pool.refused_class, pool.error_class):
        # The job of a slot may belong to another pool's queue.
        if for_job:
            raise
    return SlotQuestion(
        ad=ad_from(data),
        fresh=fresh,
        job=None if job is None else str(job),
        target=target,
        as_for_job=for_job is not None,
        origins=_origins(pool, machine, name) if fresh else {},
        records=_records(pool, machine, name) if fresh else (),
        seen=_matchmaker(pool, name),
        now=time.time(),
    )


def _slot_ad(pool: PoolClient, name: str) -> tuple[dict[str, Any], bool]:
    """The ad of a slot, and whether it came from its machine. Raises `error_class`."""
    machine = name.rpartition("@")[2] if "@" in name else str(pool.contact["node"])
    full = name if "@" in name else f"{name}@{machine}"
    fresh, rows = True, []
    try:
        rows = pool.ask(requests.Ads(), machine=machine, within_s=_ANSWER_S)
    except (pool.refused_class, pool.error_class):
        fresh, rows = False, pool.ask(central.Ads(kind="Machine"))
    for row in rows:
        if str(row.get("Name", "")).lower() == full.lower():
            return row, fresh
    raise pool.error_class(f"there is no slot {full}; `roost status` lists the slots")


def _matchmaker(pool: PoolClient, name: str) -> SlotInCycle | None:
    """The result of the negotiator's last cycle for the slot."""
    try:
        return pool.ask(central.ExplainSlot(slot=name))
    except (pool.refused_class, pool.error_class):
        return None


def _origins(pool: PoolClient, machine: str, name: str) -> Mapping[str, Origin]:
    """Where the policy of a slot is set; empty if its machine does not answer."""
    try:
        found = pool.ask(requests.Origins(slot=name), machine=machine)
    except (pool.refused_class, pool.error_class):
        return {}
    return {attribute: Origin(file=each.file, line=each.line, via=each.via) for attribute, each in found.items()}


def _records(pool: PoolClient, machine: str, name: str) -> list[SlotTransition]:
    try:
        return pool.ask(requests.Story(slot=name, limit=_RECORDS), machine=machine)
    except (pool.refused_class, pool.error_class):
        return []
