"""Messages between a queue, machines and the negotiator: conversion of the core's values to messages, and back."""

from __future__ import annotations

from collections.abc import Mapping

from roost.model.queue_context import QueueContext
from roost.schedd import effects as ef
from roost.schedd import events as ev
from roost.schedd.claims.held_claims import HeldClaim
from roost.wire import messages as m
from roost.wire.ads import ad_data, ad_from
from roost.wire.errors import WireError
from roost.wire.messages import Message


def order_to(
    effect: ef.Effect, schedd: str, alive_interval_s: float, context: QueueContext | None = None, *, request: str = ""
) -> tuple[str, Message]:
    """A machine, and the order to it.

    `context` has the settings of the queue instance for a starting job, `request` the id of the request that caused it.
    """
    match effect:
        case ef.AskForSlot():
            message: Message = m.RequestClaim(
                slot=effect.slot,
                claim_id=effect.claim_id,
                job_ad=ad_data(effect.job_ad),
                schedd=schedd,
                reply_to=effect.reply_to,
                client_machine=schedd.rpartition("@")[2],
                alive_interval_s=alive_interval_s,
            )
        case ef.GiveBack():
            message = m.ReleaseClaim(claim_id=effect.claim_id, request=request)
        case ef.StartRun():
            job_ad = ad_data(effect.job_ad)
            message = m.ActivateClaim(claim_id=effect.claim_id, job_ad=job_ad, run=effect.run, context=context)
        case ef.EndRun():
            message = m.EndJob(
                claim_id=effect.claim_id,
                run=effect.run,
                ending=effect.ending,
                code=effect.code,
                subcode=effect.subcode,
                text=effect.text,
                hard=effect.hard,
                request=request,
            )
        case ef.StandStill(claim_id=claim_id, run=run, still=still):
            kind = m.SuspendJob if still else m.ContinueJob
            message = kind(claim_id=claim_id, run=run, request=request)
        case ef.Taken():
            message = m.ReportTaken(runs=list(effect.runs))
        case ef.SayAlive():
            message = m.KeepAlive(claim_ids=list(effect.claim_ids), reply_to=str(effect.serial))
        case ef.AskAgain():
            message = m.Reconnect(claims=effect.claims, reply_to=str(effect.serial))
        case _:
            raise AssertionError(f"no handler for the order: {effect}")
    return effect.node, message


def check_speaker(claims: Mapping[str, HeldClaim], message: Message, sender: str) -> None:
    """Check that a machine sends messages only about its own claims. Raises WireError."""
    match message:
        case m.ClaimsKnown():
            named = [*message.known, *message.unknown]
        case m.ClaimAnswered():
            named = [message.asked_id, message.claim_id]
        case _:
            named = [getattr(message, "claim_id", "")]
    for claim_id in named:
        claim = claims.get(claim_id)
        if claim is not None and claim.node != sender:
            raise WireError(f"{sender} sent a message about a claim of {claim.node}")


def events_of(message: Message, sender: str) -> list[ev.Event]:
    """The events in a machine's message. Raises WireError."""
    match message:
        case m.ClaimAnswered():
            ad = None if message.slot_ad is None else ad_from(message.slot_ad, "slot_ad")
            return [
                ev.ClaimAnswered(
                    asked_id=message.asked_id,
                    accepted=message.accepted,
                    refusal=message.refusal,
                    claim_id=message.claim_id,
                    slot=message.slot,
                    slot_ad=ad,
                    node=sender,
                )
            ]
        case m.ActivationAnswered(accepted=accepted):
            if accepted:
                return []
            return [ev.RunRefused(claim_id=message.claim_id, run=message.run, refusal=message.refusal)]
        case m.JobBegan():
            return [ev.RunBegan(claim_id=message.claim_id, run=message.run, at=message.at, slot=message.slot)]
        case m.JobSuspended() | m.JobResumed():
            still = isinstance(message, m.JobSuspended)
            return [
                ev.RunStoodStill(
                    claim_id=message.claim_id,
                    run=message.run,
                    at=message.at,
                    still=still,
                    processes=message.processes if isinstance(message, m.JobSuspended) else 1,
                )
            ]
        case m.FileMoved():
            return [ev.FilesMoved(claim_id=message.claim_id, run=message.run, at=message.at, stage=message.stage)]
        case m.JobMeasured():
            attributes = ad_from(message.attributes, "attributes")
            return [ev.RunMeasured(claim_id=message.claim_id, run=message.run, at=message.at, attributes=attributes)]
        case m.JobCheckpointed():
            return [
                ev.RunSaved(
                    claim_id=message.claim_id,
                    run=message.run,
                    at=message.at,
                    checkpoints=message.checkpoints,
                    attributes=ad_from(message.attributes, "attributes"),
                )
            ]
        case m.RunEnded():
            return [_ended(message, sender)]
        case m.ClaimGone():
            return [
                ev.ClaimLost(claim_id=message.claim_id, reason=message.reason, code=message.code, reported=message.run)
            ]
        case m.ClaimsKnown():
            serial = int(message.reply_to) if message.reply_to.isdecimal() else 0
            known, unknown = message.known, tuple(message.unknown)
            return [
                ev.ClaimsHeard(
                    node=sender,
                    known=known,
                    unknown=unknown,
                    serial=serial,
                    renew=message.renew,
                    standings=message.standings,
                )
            ]
    return []


def given_by(message: m.Matched) -> list[ev.Event]:
    """The negotiator's matches and refusals. Raises WireError."""
    found: list[ev.Event] = [_match(each) for each in message.matches]
    return found + [ev.MatchRefused(autocluster=int(number), text=text) for number, text in message.rejected.items()]


def _match(match: m.Match) -> ev.MatchGiven:
    return ev.MatchGiven(
        submitter=match.submitter,
        autocluster=match.autocluster,
        slot=match.slot,
        node=match.node,
        claim_id=match.claim_id,
        slot_ad=ad_from(match.slot_ad, "slot_ad"),
        task=ad_from(match.task, "task") if match.task else None,
        parts=tuple(
            ev.GivenPart(
                slot=part.slot,
                node=part.node,
                claim_id=part.claim_id,
                slot_ad=ad_from(part.slot_ad, "parts.slot_ad"),
                task=ad_from(part.task, "parts.task"),
            )
            for part in match.parts
        ),
    )


def _ended(message: m.RunEnded, node: str) -> ev.RunEnded:
    return ev.RunEnded(
        node=node,
        claim_id=message.claim_id,
        run=message.run,
        at=message.at,
        ending=message.ending,
        started=message.started,
        code=message.code,
        subcode=message.subcode,
        text=message.text,
        exit_code=message.exit_code,
        exit_signal=message.exit_signal,
        core_dumped=message.core_dumped,
        output=message.output,
        checkpoints=message.checkpoints,
        attributes=ad_from(message.attributes, "attributes"),
        closing=message.closing,
        bytes_sent=max(0, message.bytes_sent),
        bytes_received=max(0, message.bytes_received),
        tasks=tuple(message.tasks),
        request=message.request,
    )
