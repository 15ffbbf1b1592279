"""What a machine tells queues of their claims and runs, as events of the queue's core.

Both worlds call these functions: the real daemon sends what they give as messages, the simulation hands it on. So both
say the same, at the same times.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

from roost.base.changed import maker
from roost.classad import ClassAd
from roost.model import effects as ef
from roost.model.claims import Claim, Standing
from roost.model.codes import VacateCode
from roost.model.events import ContinueRequested, SuspendRequested
from roost.model.events import Event as SlotEvent
from roost.model.identifiers import ClaimId
from roost.model.starter import Ending, ExitReport
from roost.node.host_slots import Slot
from roost.schedd import events as ev
from roost.startd.claim_life import is_closing
from roost.startd.policy_inputs import Inputs
from roost.startd.states import BUSY, RETIRING, SUSPENDED

#: Records of which a step makes many, made faster.
_run_ended: Final = maker(ev.RunEnded)
_claim_answered: Final = maker(ev.ClaimAnswered)
_claim_lost: Final = maker(ev.ClaimLost)

#: Reports are said again after this time, and claims told with every so many of these times, s.
REPORT_AGAIN_S: Final = 5.0
CLAIMS_EVERY: Final = 3
#: How often leases are looked at while the shortest of them lasts, and the shortest time between two looks, s.
LOOKS_A_LEASE: Final = 6
#: Longest time without a sign of life after which a machine asks for one, s.
SILENCE_S_MAX: Final = 1200.0
LOOK_S_MIN: Final = 0.25

_Slot = TypeVar("_Slot", bound=Slot)


# -- what is known of claims ---------------------------------------------------------------------------------


def slot_of(slots: Iterable[_Slot], claim_id: str) -> tuple[_Slot, ClaimId] | None:
    """The slot that has a claim, or promises it."""
    for slot in slots:
        state = slot.state
        for claim in (state.claim, state.preempting, state.pre_preempting):
            if claim is not None and claim.id.text == claim_id:
                return slot, claim.id
    return None


def goes_by(slots: Iterable[Slot], slot: Slot, name: str) -> bool:
    """Whether a slot is asked for by a name: its own, or that of the slot it was cut from."""
    parent = slot.plan.id.parent
    return name == slot.plan.name or any(each.plan.id == parent and each.plan.name == name for each in slots)


def runs(slots: Iterable[Slot]) -> dict[str, str]:
    """Claim id to run, for what runs, or will as soon as the last run is cleared up."""
    return {
        slot.starter.claim_id.text: slot.run_name if slot.next_run is None else slot.next_run[0]
        for slot in slots
        if slot.starter is not None
    }


def held_claims(slots: Iterable[Slot]) -> dict[str, dict[str, str]]:
    """Queue to the claims that it holds or waits for: id to run, "" for none."""
    slots = list(slots)
    running = runs(slots)
    found: dict[str, dict[str, str]] = {}
    for schedd, claim in _wanted(slots):
        found.setdefault(schedd, {})[claim.id.text] = running.get(claim.id.text, "")
    return found


def _wanted(slots: Iterable[Slot]) -> Iterator[tuple[str, Claim]]:
    """Queues with the claims that they hold, and those that wait for a running job to leave."""
    for slot in slots:
        claim, waiting = slot.state.claim, slot.state.waiting
        if slot.schedd and claim.granted_at is not None:
            yield slot.schedd, claim
        if waiting is not None and waiting.request is not None and waiting.request.schedd:
            yield waiting.request.schedd, waiting


def silent_claims(slots: Iterable[Slot], now: float) -> dict[str, dict[str, str]]:
    """Queue to its claims with a running job of whose lease half has passed without a sign of life: id to run.

    So do those with longer leases after `SILENCE_S_MAX`: the queue may have ended them, and its word be lost.
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


_STANDINGS: Final = {BUSY: Standing.RUNNING, RETIRING: Standing.RUNNING, SUSPENDED: Standing.SUSPENDED}


def standings(slots: Iterable[Slot]) -> dict[str, str]:
    """Claim id to how its run stands, for runs that a command can suspend or continue."""
    found = {}
    for slot in slots:
        claim, standing = slot.state.claim, _STANDINGS.get(slot.state.pair)
        activation = claim.activation
        if standing is not None and activation is not None and not activation.ended:
            found[claim.id.text] = str(Standing.SUSPENDED_BY_COMMAND if activation.held_still else standing)
    return found


def stand_still(slots: Iterable[_Slot], claim_id: str, run: str, *, still: bool) -> tuple[_Slot, SlotEvent] | None:
    """The order of a queue to suspend or continue a run ("" for whichever there is), and the slot that it is for.

    None where the claim is unknown, or has another run by now.
    """
    slots = list(slots)
    found = slot_of(slots, claim_id)
    if found is None or run not in ("", runs(slots).get(claim_id)):
        return None
    order = SuspendRequested if still else ContinueRequested
    return found[0], order(claim_id=found[1])


def next_look_s(slots: Iterable[Slot]) -> float:
    """Time until leases are looked at again, unless a shorter one begins, s."""
    claims = (slot.state.claim for slot in slots)
    leases = (each.lease_s for each in claims if each.activation is not None and each.lease_s is not None)
    return max(LOOK_S_MIN, min([REPORT_AGAIN_S, *(each / LOOKS_A_LEASE for each in leases)]))


# -- answers and reports -------------------------------------------------------------------------------------


def claim_answered(
    slot: Slot, effect: ef.SendClaimReply, node: str, slot_ad: ClassAd | None = None
) -> ev.ClaimAnswered:
    """Whether a queue has the slot; `slot_ad` is for one that has.

    What is granted is what was asked for. The slot itself may have ended that claim in the same step, and offer its
    next one, which is not this queue's.
    """
    asked = effect.reply_to.rpartition("|")[2]
    return _claim_answered(
        node=node,
        asked_id=asked,
        accepted=effect.accepted,
        refusal="" if effect.refusal is None else str(effect.refusal),
        claim_id=asked,
        slot=slot.plan.name,
        slot_ad=slot_ad,
    )


def claim_lost(effect: ef.TellSchedd, reported: str) -> ev.ClaimLost:
    """The machine has ended a claim; `reported` is a run on it whose end the queue has still to take, "" for none."""
    cause = effect.cause
    text, code = (str(effect.reason), 0) if cause is None else (cause.text, int(cause))
    return _claim_lost(claim_id=effect.claim_id.text, reason=text, code=code, reported=reported)


def run_ended(
    slot: Slot, report: ExitReport, *, node: str, claim_id: str, at: float, traffic: tuple[int, int] = (0, 0)
) -> ev.RunEnded:
    """How a run ended, at `at` (epoch s), and whether its claim ends with it; `traffic`: bytes sent, and received."""
    cause = report.cause
    closing = slot.state.claim.id.text != claim_id or is_closing(Inputs(slot.state, slot.plan.policy, at))
    return _run_ended(
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
    run: str, *, node: str, claim_id: str, at: float, began: bool, text: str = "the end of the run was not observed"
) -> ev.RunEnded:
    """A run whose end was not observed; `began` says whether its program did."""
    return _run_ended(
        node=node,
        claim_id=claim_id,
        run=run,
        at=at,
        ending=str(Ending.EVICT),
        started=began,
        code=int(VacateCode.STARTER_ERROR),
        text=text,
    )
