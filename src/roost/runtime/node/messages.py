"""Messages and attributes about a machine and its slots."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from typing import Any

from roost.config import Config
from roost.model import effects as ef
from roost.model.cell_accounting import TaskUse
from roost.node.claim_news import claim_answered
from roost.node.machine import NodeSlot
from roost.schedd import events as ev
from roost.startd.slot_ad.ad import platform_of
from roost.wire import messages as m
from roost.wire.ads import ad_data


def ended_run(slot: NodeSlot, ended: ev.RunEnded, tasks: Sequence[TaskUse] = ()) -> m.RunEnded:
    """The message about the end of a run; `tasks` is the usage of its slave tasks."""
    return m.RunEnded(
        claim_id=ended.claim_id,
        run=ended.run,
        at=ended.at,
        ending=ended.ending,
        started=ended.started,
        code=ended.code,
        subcode=ended.subcode,
        text=ended.text,
        exit_code=ended.exit_code,
        exit_signal=ended.exit_signal,
        core_dumped=ended.core_dumped,
        output=ended.output,
        checkpoints=ended.checkpoints,
        slot=slot.name,
        attributes=ad_data(ended.attributes),
        closing=ended.closing,
        bytes_sent=ended.bytes_sent,
        bytes_received=ended.bytes_received,
        tasks=list(tasks),
        request=ended.request,
    )


def claim_answer(slot: NodeSlot, effect: ef.SendClaimReply, ad: dict[str, Any] | None) -> tuple[str, m.ClaimAnswered]:
    """A queue, and the message whether it has the slot; `ad` is the slot's if it does."""
    answer = claim_answered(slot, effect, node="")
    return effect.reply_to.rpartition("|")[0], m.ClaimAnswered(
        asked_id=answer.asked_id,
        reply_to=answer.asked_id,
        accepted=answer.accepted,
        refusal=answer.refusal,
        claim_id=answer.claim_id,
        slot=answer.slot,
        slot_ad=ad,
    )


def activation_answer(effect: ef.SendActivationReply) -> tuple[str, m.ActivationAnswered]:
    """A queue, and the message whether its job is accepted."""
    schedd, claim_id, run = effect.reply_to.split("|", 2)
    text = "" if effect.refusal is None else str(effect.refusal)
    return schedd, m.ActivationAnswered(claim_id=claim_id, run=run, accepted=effect.accepted, refusal=text)


def system_platform(config: Config) -> dict[str, Any]:
    """Platform attributes of this machine, from its configuration or else from the system."""
    return platform_of(config, architecture=platform.machine().upper(), system=platform.system().upper())
