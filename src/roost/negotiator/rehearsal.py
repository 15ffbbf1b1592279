"""A trial run of a pool-wide policy: what it would have changed in a cycle decided by the policy in force.

It reads the snapshot and the verdicts of that cycle; its findings have no effect. The same code (`pool_policy`)
evaluates both policies, so that any difference comes from the expressions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from roost.base.records import dataclass, field
from roost.classad import ClassAd
from roost.classad.vector.kinds import Array
from roost.model.audit import AuditKind, AuditRecord, Effect, some
from roost.model.digests import digest
from roost.model.pool_policy import is_true
from roost.negotiator import pool_policy
from roost.negotiator.memory import Key, Memory
from roost.negotiator.pool_policy import Findings, PoolPolicy
from roost.negotiator.settings import NegotiatorSettings, PolicySettings
from roost.negotiator.snapshot import Plan, Snapshot
from roost.negotiator.verdicts import JOB_REFUSES, POLICY_JOB, POLICY_RESOURCE, SLOT_REFUSES

#: Most pairs of a request and a slot, and matches, examined after one cycle.
PAIRS_MAX: Final = 1_000_000
MATCHES_MAX: Final = 1_000

_Cause = tuple[AuditKind, Effect, str, str, str]


@dataclass(slots=True)
class _Tally:
    count: int = 0
    samples: list[str] = field(default_factory=list)


def rehearse(
    snapshot: Snapshot, settings: NegotiatorSettings, plan: Plan, memory: Memory, *, pairs: bool = True, turn: int = 0
) -> list[AuditRecord]:
    """What the policy on trial would have changed, by cause; without `pairs`, only matches that were made are examined.

    If there are more pairs than PAIRS_MAX, `turn` selects the requests to examine; consecutive numbers continue with
    the next ones.
    """
    if settings.dry_run is None or not len(snapshot.slots):
        return []
    return _Rehearsal(snapshot, settings, settings.dry_run, plan, memory).run(pairs, turn)


class _Rehearsal:
    def __init__(
        self, snapshot: Snapshot, settings: NegotiatorSettings, tried: PolicySettings, plan: Plan, memory: Memory
    ) -> None:
        self.snapshot, self.settings, self.plan, self.memory = snapshot, settings, plan, memory
        self.world = snapshot.world
        self.now = PoolPolicy(settings.policy, Findings(), self.world)
        self.then = PoolPolicy(tried, Findings(), self.world)
        self.tallies: dict[_Cause, _Tally] = {}
        self.ads: dict[Key, ClassAd] = {}
        self.jobs: dict[Key, str] = {}
        #: Requests that the policy on trial would discard, with the knob.
        self.out: dict[Key, str] = {}

    def run(self, pairs: bool, turn: int) -> list[AuditRecord]:
        self._requests()
        gone = self._slots(pairs)
        if pairs:
            keys = [key for key in self.ads if key not in self.out]
            most = max(1, PAIRS_MAX // len(gone))
            first = turn * most % len(keys) if keys and most < len(keys) else 0
            for key in (keys[first:] + keys[:first])[:most]:
                self._pairs(key, gone)
        self._made(gone)
        return [self._record(cause, tally) for cause, tally in self.tallies.items()]

    def _count(self, cause: _Cause, names: list[str], count: int) -> None:
        if not count:
            return
        tally = self.tallies.setdefault(cause, _Tally())
        tally.count += count
        tally.samples += names[: pool_policy.NAMED_MAX - len(tally.samples)]

    def _requests(self) -> None:
        for demand in self.snapshot.demands:
            name = demand.submitter
            out = self._asked(
                self.now.discards_submitter(demand.ad, name),
                self.then.discards_submitter(demand.ad, name),
                pool_policy.SCHEDD_ONLY,
                name,
                [name],
                1,
                "submitters",
            )
            for request in demand.requests:
                key = (demand.schedd, name, request.autocluster)
                self.ads[key], self.jobs[key] = request.ad, request.job
                if out:
                    self.out[key] = pool_policy.SCHEDD_ONLY
                    continue
                now = self.now.discards_job(request.ad, request.job, name) is not None
                then = self.then.discards_job(request.ad, request.job, name) is not None
                self._asked(now, then, pool_policy.JOB_ONLY, name, [request.job], request.count, "jobs")
                if then:
                    self.out[key] = pool_policy.JOB_ONLY

    def _asked(self, now: bool, then: bool, knob: str, user: str, names: list[str], count: int, what: str) -> bool:
        if now != then:
            effect = Effect.WOULD_DISCARD if then else Effect.WOULD_ADMIT
            self._count((AuditKind.DISCARD, effect, knob, user, what), names, count)
        return then

    def _slots(self, tell: bool) -> Array:
        now, then = (policy.discarded_slots(self.snapshot.slots) for policy in (self.now, self.then))
        for effect, mask in ((Effect.WOULD_DISCARD, then & ~now), (Effect.WOULD_ADMIT, now & ~then)):
            if tell:
                rows = np.flatnonzero(mask)
                cause = (AuditKind.DISCARD, effect, pool_policy.STARTD_ONLY, "", "slots")
                self._count(cause, self._names(rows), len(rows))
        return then

    def _names(self, rows: Array, before: str = "") -> list[str]:
        keys = self.snapshot.slots.keys()
        return [f"{before}{keys[row]}" for row in rows[: pool_policy.NAMED_MAX].tolist()]

    def _pairs(self, key: Key, gone: Array) -> None:
        """Pairs of a request and a slot that accept each other."""
        known, view = self.memory.known.get(key), self.memory.view
        if known is None or view is None or len(known.verdicts) != len(gone):
            return
        verdicts = known.verdicts
        agreed = view.available & ~gone & (verdicts != JOB_REFUSES) & (verdicts != SLOT_REFUSES)
        if not agreed.any():
            return
        prevented = (verdicts == POLICY_RESOURCE) | (verdicts == POLICY_JOB)
        allowed = agreed.copy()
        for knob, permitted in self._permitted(known.ad):
            cause = (AuditKind.VETO, Effect.WOULD_PREVENT, knob, self._user(key), _POSSIBLE)
            rows = np.flatnonzero(allowed & ~permitted & ~prevented)
            self._count(cause, self._names(rows, f"{self.jobs[key]} "), len(rows))
            allowed &= permitted
        for code, knob in ((POLICY_RESOURCE, pool_policy.RESOURCE), (POLICY_JOB, pool_policy.JOB)):
            rows = np.flatnonzero(allowed & (verdicts == code))
            cause = (AuditKind.VETO, Effect.WOULD_ALLOW, knob, self._user(key), _POSSIBLE)
            self._count(cause, self._names(rows, f"{self.jobs[key]} "), len(rows))

    def _permitted(self, ad: ClassAd) -> Iterator[tuple[str, Array]]:
        table, tried = self.snapshot.slots, self.then.settings
        if tried.resource is not None:
            yield pool_policy.RESOURCE, table.evaluate(tried.resource, ad, self.world).true
        if tried.job is not None:
            yield pool_policy.JOB, table.evaluate_for(ad, tried.job, self.world).true

    def _made(self, gone: Array) -> None:
        """Matches that were made but would not have been."""
        rows: Mapping[str, int] = {str(name): row for row, name in enumerate(self.snapshot.slots.keys())}
        for match in self.plan.matches[:MATCHES_MAX]:
            key = (match.schedd, match.submitter, match.autocluster)
            knob = self.out.get(key) or (pool_policy.STARTD_ONLY if gone.item(rows[match.slot]) else "")
            if not knob:
                knob = self._forbids(self.ads[key], match.slot)
            if knob:
                cause = (AuditKind.MATCH, Effect.WOULD_PREVENT, knob, match.submitter, "matches that were made")
                self._count(cause, [f"{match.job} {match.slot}"], 1)

    def _forbids(self, ad: ClassAd, name: str) -> str:
        slot, tried = self.snapshot.slots.ad(name), self.then.settings
        if tried.resource is not None and not is_true(slot.eval_expr(tried.resource, ad, self.world)):
            return pool_policy.RESOURCE
        if tried.job is not None and not is_true(ad.eval_expr(tried.job, slot, self.world)):
            return pool_policy.JOB
        return ""

    def _user(self, key: Key) -> str:
        assert isinstance(key, tuple)
        return str(key[1])

    def _record(self, cause: _Cause, tally: _Tally) -> AuditRecord:
        kind, effect, knob, user, what = cause
        twin = knob.replace("NEGOTIATOR_PE_", "NEGOTIATOR_PE_DRYRUN_")
        in_force = self.settings.in_force
        # The trial may consist of leaving an expression out.
        named = twin if in_force.of(twin).text else knob
        return AuditRecord(
            id=f"trial/{digest(*cause)}",
            kind=kind,
            at=self.snapshot.now,
            until=self.snapshot.now,
            effect=effect,
            user=user,
            knob=named,
            expression=in_force.of(named).text,
            place=in_force.of(named).place,
            configuration=in_force.configuration,
            reason=what,
            count=tally.count,
            samples=some(tally.samples),
        )


_POSSIBLE: Final = "pairs of job and slot that accept each other"
