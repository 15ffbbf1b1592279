"""How long a job may stay once its claim must end: retirement, then vacate time.

Retirement counts from the start of the job, in time that it ran, not from the moment it is asked to leave. What remains
is the smaller of the machine's MaxJobRetirementTime and the job's own, less the time it has run. The eviction begins
early enough for the hard kill to happen at the end of the retirement.

While a machine drains gracefully, all its jobs wait for the longest: a job that had retirement left when the drain
began may stay until the last original job of the machine must leave. If the drain accepts jobs by a START expression,
that holds for the jobs it accepts; others keep their own time. So does a job that has to leave for another reason as
well: a returning owner does not wait for other slots. If the drain has a deadline, nothing goes beyond it.
"""

from __future__ import annotations

import math

from roost.classad import UNDEFINED, ClassAd
from roost.classad.ad import MISSING
from roost.model.events import DrainSchedule, ShutdownKind
from roost.startd.policy_inputs import Inputs, whole
from roost.startd.states import Activity


def remaining_s(inputs: Inputs) -> float:
    """RetirementTimeRemaining of the running job, s; 0 where none runs, infinite in a peaceful shutdown."""
    activation = inputs.state.claim.activation
    if activation is None or is_denied(inputs):
        return 0.0
    return _granted_s(inputs, activation.job_ad, activation.run_time_s(inputs.now))


def _granted_s(inputs: Inputs, job: ClassAd, run_s: float) -> float:
    """The time left to a job that has run for `run_s` of the retirement that machine and job agree on, s."""
    state = inputs.state
    granted: float = inputs.whole("MaxJobRetirementTime", job)
    if state.shutdown is ShutdownKind.PEACEFUL and granted != -1:
        granted = math.inf
    asked = inputs.of_job("MaxJobRetirementTime", job)
    if asked is not UNDEFINED:
        granted = min(granted, whole(asked))
    left = granted - run_s
    if state.draining is not None and state.draining.deadline_at is not None:
        left = min(left, state.draining.deadline_at - inputs.now)
    return max(0.0, left)


def is_denied(inputs: Inputs) -> bool:
    """Whether no retirement is granted, whatever the policy says."""
    draining = inputs.state.draining
    if inputs.state.eviction.hard or inputs.state.eviction.no_retirement:
        return True
    return draining is not None and (draining.schedule is not DrainSchedule.GRACEFUL or draining.originals_gone)


def vacate_time_s(inputs: Inputs) -> float:
    """Maximum time between soft and hard kill of the running job, s."""
    activation = inputs.state.claim.activation
    if activation is None:
        return 0.0
    pledged: float = activation.vacate_pledge_s
    wanted = _wanted_s(inputs, activation.job_ad, pledged)
    return wanted if wanted <= pledged else min(wanted, max(remaining_s(inputs), pledged))


def vacate_time_of_s(inputs: Inputs, job: ClassAd) -> float:
    """Maximum time between soft and hard kill of a job that would begin now, s."""
    pledged: float = pledge_s(inputs, job)
    wanted = _wanted_s(inputs, job, pledged)
    return wanted if wanted <= pledged else min(wanted, max(_granted_s(inputs, job, 0.0), pledged))


def pledge_s(inputs: Inputs, job: ClassAd) -> int:
    """MachineMaxVacateTime as pledged to a job that begins now, s."""
    return max(0, inputs.whole("MachineMaxVacateTime", job))


def _wanted_s(inputs: Inputs, job: ClassAd, pledged: float) -> float:
    """The vacate time that a job requests, s; the machine's if it requests none."""
    for name in ("JobMaxVacateTime", "KillSigTimeout"):
        if job.cell(name.lower()) is not MISSING:
            value = inputs.of_job(name, job)
            return max(0.0, value) if isinstance(value, int) and not isinstance(value, bool) else 0.0
    return pledged


def drain_leaves_s(inputs: Inputs) -> float:
    """How long a gracefully draining machine can still run jobs that begin during the drain, s."""
    draining = inputs.state.draining
    assert draining is not None
    return max(0.0, draining.takes_until - inputs.now)


def is_over(inputs: Inputs) -> bool:
    """Whether the eviction of the claim's job begins now, given that the claim must end."""
    state = inputs.state
    if state.eviction.hard:
        return True
    remaining = remaining_s(inputs)
    draining = state.draining
    if draining is not None and not is_denied(inputs):
        shared = drain_leaves_s(inputs)
        alone = not state.eviction.irrevocable and state.waiting is None
        if state.activity is Activity.IDLE:
            remaining = shared
        elif _accepted_since(inputs):
            remaining = shared if alone else min(remaining, shared)
        elif alone and draining.had_retirement and _shares(inputs):
            remaining = max(remaining, shared)
    return remaining <= 0 or vacate_time_s(inputs) >= remaining


def _accepted_since(inputs: Inputs) -> bool:
    """Whether the running job began during the drain."""
    activation = inputs.state.claim.activation
    return activation is not None and activation.accepted_while_draining


def _shares(inputs: Inputs) -> bool:
    """Whether a job that began before the drain may stay as long as the machine's last original job."""
    draining, activation = inputs.state.draining, inputs.state.claim.activation
    assert draining is not None and activation is not None
    return draining.start is None or inputs.decide("START", activation.job_ad).truth is True


def lease_s(job_lease: object, alive_interval_s: float, missed_max: int) -> float:
    """How long a claim lasts without a keepalive, s, from JobLeaseDuration of its job."""
    if isinstance(job_lease, int) and not isinstance(job_lease, bool) and job_lease > 0:
        return float(job_lease)
    return missed_max * alive_interval_s
