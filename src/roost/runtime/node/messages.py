"""What a machine says of its slots and of itself, as messages and attributes."""

from __future__ import annotations

import platform
from typing import Any

from roost.config import Config
from roost.model import effects as ef
from roost.model.compatible import CONDOR_VERSION
from roost.model.starter import Ending, ExitReport
from roost.node.host_slots import Starter
from roost.node.machine import NodeSlot
from roost.startd.claim_life import is_closing
from roost.startd.policy_inputs import Inputs
from roost.wire import messages as m
from roost.wire.ads import ad_data


def ended_run(
    slot: NodeSlot, report: ExitReport, claim_id: str, at: float, traffic: tuple[int, int] = (0, 0)
) -> m.RunEnded:
    """How a run ended, at `at` (epoch s), and whether its claim ends with it; `traffic`: bytes sent, and received."""
    cause = report.cause
    closing = slot.state.claim.id.text != claim_id or is_closing(Inputs(slot.state, slot.plan.policy, at))
    return m.RunEnded(
        claim_id=claim_id,
        run=slot.run,
        at=at,
        ending=str(report.ending),
        started=report.started,
        code=0 if cause is None else cause.code,
        subcode=0 if cause is None else cause.subcode,
        text="" if cause is None else cause.text,
        exit_code=report.exit_code,
        exit_signal=report.exit_signal,
        core_dumped=report.core_dumped,
        output=str(report.output),
        checkpoints=report.checkpoints,
        slot=slot.name,
        attributes=ad_data(report.attributes),
        closing=closing,
        bytes_sent=traffic[0],
        bytes_received=traffic[1],
    )


def lost_run(slot: NodeSlot, starter: Starter, at: float) -> m.RunEnded:
    """A run of which nobody saw the end."""
    return m.RunEnded(
        claim_id=starter.claim_id.text,
        run=slot.run,
        at=at,
        ending=str(Ending.EVICT),
        started=starter.state.started_at is not None,
        code=1007,
        text="the end of the run was not observed",
        slot=slot.name,
    )


def claim_answer(slot: NodeSlot, effect: ef.SendClaimReply, ad: dict[str, Any] | None) -> tuple[str, m.ClaimAnswered]:
    """A queue, and whether it has the slot; `ad` is the slot's for one that has.

    What is granted is what was asked for. The slot itself may have ended that claim in the same step, and offer its
    next one, which is not this queue's.
    """
    schedd, _, asked = effect.reply_to.rpartition("|")
    accepted = effect.accepted
    return schedd, m.ClaimAnswered(
        asked_id=asked,
        reply_to=asked,
        accepted=accepted,
        refusal="" if effect.refusal is None else str(effect.refusal),
        claim_id=asked,
        slot=slot.name,
        slot_ad=ad,
    )


def activation_answer(effect: ef.SendActivationReply) -> tuple[str, m.ActivationAnswered]:
    """A queue, and whether its job is taken."""
    schedd, claim_id, run = effect.reply_to.split("|", 2)
    text = "" if effect.refusal is None else str(effect.refusal)
    return schedd, m.ActivationAnswered(claim_id=claim_id, run=run, accepted=effect.accepted, refusal=text)


def platform_of(config: Config) -> dict[str, Any]:
    """Attributes of the machine that its configuration, or else the system, says."""
    found: dict[str, Any] = {
        "Arch": config.get("ARCH") or platform.machine().upper(),
        "OpSys": config.get("OPSYS") or platform.system().upper(),
        "HasFileTransfer": True,
        "HasJobDeferral": True,
        "CondorVersion": CONDOR_VERSION,
    }
    version = config.get("OPSYSANDVER")
    if version:
        found["OpSysAndVer"] = version
    return found
