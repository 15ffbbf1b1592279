"""What a machine reports to queues about their claims and runs, as events of the queue's core.

Both worlds call these functions: the real daemon sends the results as messages, the simulation delivers them directly.
So both report the same at the same times.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

from roost.classad import ClassAd
from roost.model import effects as ef
from roost.model.claims import Claim, RunStanding
from roost.model.codes import VacateCode
from roost.model.events import ContinueRequested, SuspendRequested
from roost.model.events import Event as SlotEvent
from roost.model.identifiers import ClaimId
from roost.model.starter import Ending, ExitReport
from roost.node.host_slots import HostSlot
from roost.schedd import events as ev
from roost.startd.claim_life import is_closing
from roost.startd.policy_inputs import Inputs
from roost.startd.states import BUSY, RETIRING, SUSPENDED

#: Reports are repeated after this time, s; and claims are reported every this many such intervals.
REPORT_AGAIN_S: Final = 5.0
CLAIMS_EVERY: Final = 3
#: Checks of leases per duration of the shortest lease, and the minimum time between two checks, s.
LOOKS_A_LEASE: Final = 6
#: Longest time without a heartbeat from the queue before a machine asks for one, s.
SILENCE_S_MAX: Final = 1200.0
LOOK_S_MIN: Final = 0.25

_Slot = TypeVar("_Slot", bound=HostSlot)


# -- state of claims ---------------------------------------------------------------------------------


def slot_of(slots: Iterable[_Slot], claim_id: str) -> tuple[_Slot, ClaimId] | None:
    """The slot that has a claim or offers it."""
    for slot in slots:
        state = slot.state
        for claim in (state.claim, state.preempting, state.pre_preempting):
            if claim is not None and claim.id.text == claim_id:
                return slot, claim.id
    return None


def goes_by(slots: Iterable[HostSlot], slot: HostSlot, name: str) -> bool:
    """Whether a name refers to a slot: its own name, or that of its parent."""
    parent = slot.plan.id.parent
    return name == slot.plan.name or any(each.plan.id == parent and each.plan.name == name for each in slots)


def runs(slots: Iterable[HostSlot]) -> dict[str, str]:
    """Claim id to run, for runs that are active or start as soon as the last run is cleaned up."""
    return {
        slot.starter.claim_id.text: slot.run_name if slot.next_run is None else slot.next_run[0]
        for slot in slots
        if slot.starter is not None
    }


def held_claims(slots: Iterable[HostSlot]) -> dict[str, dict[str, str]]:
    """Queue to the claims that it holds or waits for: claim id to run, "" for none."""
    slots = list(slots)
    running = runs(slots)
    found: dict[str, dict[str, str]] = {}
    for schedd, claim in _wanted(slots):
        found.setdefault(schedd, {})[claim.id.text] = running.get(claim.id.text, "")
    return found


def _wanted(slots: Iterable[HostSlot]) -> Iterator[tuple[str, Claim]]:
    """Queues with the claims that they hold, and those for which a running job is being preempted."""
    for slot in slots:
        claim, waiting = slot.state.claim, slot.state.waiting
        if slot.schedd and claim.granted_at is not None:
            yield slot.schedd, claim
        if waiting is not None and waiting.request is not None and waiting.request.schedd:
            yield waiting.request.schedd, waiting


def silent_claims(slots: Iterable[HostSlot], now: float) -> dict[str, dict[str, str]]:
    """Queue to its claims with a running job whose lease is half over without a heartbeat: claim id to run.

    Claims with longer leases are included after `SILENCE_S_MAX`: the queue may have ended them, and its message may be
    lost.
    """
    slots = list(slots)
    running = runs(slots)
    found: dict[str, dict[str, str]] = {}
    for slot in slots:
        claim = slot.state.claim
        if claim.activation is None or claim.lease_s is None or claim.lease_until is None or not slot.schedd:
            continue
        if now - (claim.lease_until - claim.lease_s) >= min(claim.lease_s / 2, SILENCE_S_MAX):
            found.setdefault(slot.schedd, {})[claim.id.text] = running.get(claim.id.text, "")
    return found


_STANDINGS: Final = {BUSY: RunStanding.RUNNING, RETIRING: RunStanding.RUNNING, SUSPENDED: RunStanding.SUSPENDED}


def standings(slots: Iterable[HostSlot]) -> dict[str, str]:
    """Claim id to the state of its run, for runs that a command can suspend or continue."""
    found = {}
    for slot in slots:
        claim, standing = slot.state.claim, _STANDINGS.get(slot.state.pair)
        activation = claim.activation
        if standing is not None and activation is not None and not activation.ended:
            found[claim.id.text] = str(RunStanding.SUSPENDED_BY_COMMAND if activation.held_still else standing)
    return found


def stand_still(slots: Iterable[_Slot], claim_id: str, run: str, *, still: bool) -> tuple[_Slot, SlotEvent] | None:
    """The event for a queue's order to suspend or continue a run ("" for the current one), and its slot.

    None if the claim is unknown, or has another run by now.
    """
    slots = list(slots)
    found = slot_of(slots, claim_id)
    if found is None or run not in ("", runs(slots).get(claim_id)):
        return None
    order = SuspendRequested if still else ContinueRequested
    return found[0], order(claim_id=found[1])


def next_look_s(slots: Iterable[HostSlot]) -> float:
    """Time until the next check of leases, unless a shorter lease begins, s."""
    claims = (slot.state.claim for slot in slots)
    leases = (each.lease_s for each in claims if each.activation is not None and each.lease_s is not None)
    return max(LOOK_S_MIN, min([REPORT_AGAIN_S, *(each / LOOKS_A_LEASE for each in leases)]))


# -- replies and reports -------------------------------------------------------------------------------------


def claim_answered(
    slot: HostSlot, effect: ef.SendClaimReply, node: str, slot_ad: ClassAd | None = None
) -> ev.ClaimAnswered:
    """The reply to a claim request; `slot_ad` is sent if it was granted.

    The claim granted is the one requested. The slot may have ended it in the same step and offer its next claim, which
    is not this queue's.
    """
    asked = effect.reply_to.rpartition("|")[2]
    return ev.ClaimAnswered(
        node=node,
        asked_id=asked,
        accepted=effect.accepted,
        refusal="" if effect.refusal is None else str(effect.refusal),
        claim_id=asked,
        slot=slot.plan.name,
        slot_ad=slot_ad,
    )


def claim_lost(effect: ef.TellSchedd, reported: str) -> ev.ClaimLost:
    """The machine has ended a claim; `reported` is a run on it whose end the queue has not acknowledged yet, "" for
    none."""
    cause = effect.cause
    text, code = (str(effect.reason), 0) if cause is None else (cause.text, int(cause))
    return ev.ClaimLost(claim_id=effect.claim_id.text, reason=text, code=code, reported=reported)


def run_ended(
    slot: HostSlot, report: ExitReport, *, node: str, claim_id: str, at: float, traffic: tuple[int, int] = (0, 0)
) -> ev.RunEnded:
    """How a run ended, at `at` (epoch s), and whether its claim ends with it; `traffic`: bytes sent and received."""
    cause = report.cause
    closing = slot.state.claim.id.text != claim_id or is_closing(Inputs(slot.state, slot.plan.policy, at))
    return ev.RunEnded(
        node=node,
        claim_id=claim_id,
        run=slot.run_name,
        at=at,
        ending=str(report.ending),
        started=report.started,
        request="" if cause is None else cause.request,
        code=0 if cause is None else cause.code,
        subcode=0 if cause is None else cause.subcode,
        text="" if cause is None else cause.text,
        exit_code=report.exit_code,
        exit_signal=report.exit_signal,
        core_dumped=report.core_dumped,
        output=str(report.output),
        checkpoints=report.checkpoints,
        attributes=report.attributes,
        closing=closing,
        bytes_sent=traffic[0],
        bytes_received=traffic[1],
    )


def run_lost(
    run: str, *, node: str, claim_id: str, at: float, began: bool, text: str = "it is unknown how the run ended"
) -> ev.RunEnded:
    """The report for a run whose end was not observed; `began` says whether its program started."""
    return ev.RunEnded(
        node=node,
        claim_id=claim_id,
        run=run,
        at=at,
        ending=str(Ending.EVICT),
        started=began,
        code=int(VacateCode.STARTER_ERROR),
        text=text,
    )
