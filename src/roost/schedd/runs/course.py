"""From an idle job to the end of its run: matches, claims, starts and ends.

Every function handles one event in a `Work`. An event about a run that is not the job's current one is outdated: it
changes nothing, and the end of such a run is acknowledged, so that the machine does not repeat it forever.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from roost.classad import ClassAd, unparse_value
from roost.classad.ad import MISSING, key_of
from roost.classad.values import fold
from roost.classad.world import World
from roost.model.audit import AuditKind, Source
from roost.model.cell_accounting import RESCHEDULED, UNOBSERVED
from roost.model.cell_requests import FOLLOWS, LIMIT_EXCEEDED
from roost.model.codes import HoldCode, VacateCode
from roost.model.one_run import drop_earlier_run
from roost.model.pool_policy import KNOBS, PLACES
from roost.schedd.admission.rules import too_large
from roost.schedd.cell.accounting import account_end, account_lost, with_tasks
from roost.schedd.cell.errors import note_error
from roost.schedd.cell.rerun import is_over, lease_s, note_clean_up
from roost.schedd.cell.usage import charge, forget_run
from roost.schedd.claims.claim_table import ClaimTable
from roost.schedd.claims.claim_transitions import ClaimOn, move_claim
from roost.schedd.claims.held_claims import Gang, HeldClaim, Stage
from roost.schedd.decisions import Ruling
from roost.schedd.effects import AskForSlot, Decline, EndRun, GiveBack, StartRun, Taken
from roost.schedd.event_log import log
from roost.schedd.events import ClaimAnswered, ClaimLost, MatchGiven, RunBegan, RunEnded, RunRefused, RunSkipped
from roost.schedd.job_policy.expressions import raised_request
from roost.schedd.job_policy.pool_policy import forbids, imposes, kept
from roost.schedd.jobs.book import Job
from roost.schedd.jobs.crontab import has_crontab
from roost.schedd.jobs.job_transitions import On
from roost.schedd.jobs.local import is_local
from roost.schedd.runs import gangs
from roost.schedd.runs.gangs import back_to_idle
from roost.schedd.runs.match_macros import Unexpandable, expanded
from roost.schedd.runs.news import address, count_checkpoints, count_suspension, present, take_over
from roost.schedd.runs.outcome import HoldReason, at_exit, hold, leave_removed, remove, requeue
from roost.schedd.runs.provisioned import provisioned
from roost.schedd.status import LEAVING, JobStatus
from roost.schedd.work import PLAIN, Work

#: Attribute of one run to the attribute that totals it over all runs.
_SUMMED: Final = tuple(
    (fold(of_run), fold(of_all), of_all)
    for of_run, of_all in (
        ("RemoteUserCpu", "CumulativeRemoteUserCpu"), ("RemoteSysCpu", "CumulativeRemoteSysCpu"),
    )
)  # fmt: skip
#: How often a run is ordered from a machine that does not know it.
_ORDERS_MAX: Final = 5
#: Evictions that concern only the job, not the claim.
_CLAIM_STAYS: Final = (VacateCode.JOB_POLICY, VacateCode.SYSTEM_POLICY, VacateCode.USER_VACATE_JOB)
#: Attributes that record the start of a run.
_OF_START: Final = (
    "NumShadowStarts", "JobRunCount", "ShadowBday", "JobCurrentStartDate", "JobStartDate", "InitialWaitDuration",
    "RemoteHost", "CellTask",
)  # fmt: skip


# -- getting a claim -----------------------------------------------------------------------------------------


def match_given(work: Work, claim_table: ClaimTable, event: MatchGiven) -> None:
    """Request the slot, and all others of a parallel job, for the next job to which the match applies."""
    if event.claim_id in claim_table.claims:
        return
    beside = claim_table.is_local(event.node)
    full = not beside and not claim_table.places(work.now)
    full = full or any(claim_table.is_of_other_cell(each.node, each.task, work.now) for each in event.slots)
    job = None if full else work.book.take_idle(event.submitter, event.autocluster, local=beside)
    if job is None:
        _decline(work, event)
        work.offer()
        return
    if any(_forbidden(work, claim_table, job.ad, each.slot_ad, event.submitter) for each in event.slots):
        # Its autocluster was judged by other attributes than those that the pool's policy needs now.
        _decline(work, event)
        back_to_idle(work, job)
        return
    claim = HeldClaim(
        id=event.claim_id,
        node=event.node,
        slot=event.slot,
        submitter=event.submitter,
        autocluster=event.autocluster,
        slot_ad=event.slot_ad,
        offered=event.slot_ad,
        limits=_limits(job.ad, event.slot_ad, work.world),
        task=event.task,
        job=job.id,
        wanted_at=work.now,
        heard_at=work.now,
        alive_s=claim_table.settings.alive_interval_s,
        alive_at=work.now,
    )
    claim_table.claims[claim.id] = claim
    claim_table.nodes[claim.node] = None
    job.claim_id = claim.id
    if not beside:
        claim_table.starts.asked(claim_table.settings.limits, work.now)
    # A request does not have to be stored: after a crash it is forgotten, and whatever the machine grants is released
    # as soon as it names the claim. Only the run is stored. The machine is therefore asked without waiting for the
    # disk.
    gangs.form(work, claim_table, claim, event, job)
    for each in [claim] if claim.gang is None else claim.gang.claims:
        ask_for_slot(work, each, job)
    work.offer()


def _decline(work: Work, event: MatchGiven) -> None:
    for each in event.slots:
        work.order(Decline(claim_id=each.claim_id))


def ask_for_slot(work: Work, claim: HeldClaim, job: Job) -> None:
    """Request a slot for a job; a repeated request counts once."""
    claim.asked_at = work.now
    claim.askings += 1
    ad = job.ad
    if claim.task is not None:
        ad = ad.copy()
        ad["CellTask"] = claim.task
        ad["JobLeaseDuration"] = lease_s(ad, is_part=claim.is_part)
        if "Gang" in claim.task:
            # Each slot of a parallel job is one core.
            ad["RequestCpus"] = int(claim.task.get("Slots", 1))
    work.order(AskForSlot(node=claim.node, slot=claim.slot, claim_id=claim.id, job_ad=ad, reply_to=claim.id))


def claim_answered(work: Work, claim_table: ClaimTable, event: ClaimAnswered) -> None:
    """Handle the answer to a claim request: granted or refused."""
    claim = claim_table.claims.get(event.asked_id)
    if claim is None or claim.stage is not Stage.ASKED:
        granted = event.claim_id or event.asked_id
        if event.accepted and granted not in claim_table.claims:
            # Nothing waits for it any longer.
            work.order(GiveBack(node=event.node, claim_id=granted))
        return
    if not event.accepted:
        move_claim(claim, ClaimOn.REFUSED)
        job = _detached(work, claim)
        del claim_table.claims[claim.id]
        work.drop(claim)
        gangs.left(work, claim_table, claim, event.refusal or "claim refused")
        if job is not None:
            _reject(work, job, event.refusal or "claim refused")
            claim_table.pauses.missed(job.id, work.now)
            back_to_idle(work, job)
        return
    _granted(work, claim_table, claim, event)
    if claim.gang is not None:
        if claim.gang.is_granted:
            _begin_gang(work, claim_table, claim.gang)
        return
    job = _detached(work, claim)
    if job is not None and not _permitted(work, claim_table, job, claim):
        back_to_idle(work, job)
        job = None
    if job is not None:
        work.set(job, LastMatchTime=int(work.now))
    if job is None or job.status is not JobStatus.IDLE or not start_run(work, claim_table, claim, job):
        next_job(work, claim_table, claim)


def _granted(work: Work, claim_table: ClaimTable, claim: HeldClaim, event: ClaimAnswered) -> None:
    """Take over a granted slot; it may be a part that was cut for the job, with a claim of its own."""
    move_claim(claim, ClaimOn.GRANTED)
    if event.claim_id and event.claim_id != claim.id:
        job = None if claim.job is None else work.book.find(claim.job)
        if job is not None and job.claim_id == claim.id:
            job.claim_id = event.claim_id
        del claim_table.claims[claim.id]
        work.drop(claim)
        claim.id = event.claim_id
        claim_table.claims[claim.id] = claim
    claim.slot = event.slot or claim.slot
    if event.slot_ad is not None:
        claim.slot_ad = kept(event.slot_ad, claim.slot_ad)
    claim.heard_at, claim.idle_since = work.now, work.now


def _begin_gang(work: Work, claim_table: ClaimTable, gang: Gang) -> None:
    """Start a parallel job all of whose claims are granted, or release them if it no longer wants them."""
    master, job = gang.master, work.book.find(gang.job)
    wanted = job is not None and job.claim_id == master.id and job.status is JobStatus.IDLE
    if job is None or not wanted or not all(_permitted(work, claim_table, job, each) for each in gang.claims):
        give_back(work, claim_table, master)
        return
    _detached(work, master)
    work.set(job, LastMatchTime=int(work.now))
    if start_run(work, claim_table, master, job):
        gangs.begun(work, gang, job)
    else:
        give_back(work, claim_table, master)


def _permitted(work: Work, claim_table: ClaimTable, job: Job, claim: HeldClaim) -> bool:
    """Whether the pool's policy still lets a job begin on the claim that was requested for it.

    The policy was evaluated for the slot as offered, and is evaluated for that again: the part that was cut for the job
    is smaller.
    """
    if claim_table.is_outdated(claim):
        return False
    return claim.offered is None or not _forbidden(work, claim_table, job.ad, claim.offered, claim.submitter)


def _detached(work: Work, claim: HeldClaim) -> Job | None:
    """Detach the job from a claim, and return it."""
    job = None if claim.job is None else work.book.find(claim.job)
    claim.job, claim.run = None, ""
    if job is not None and job.claim_id == claim.id:
        job.claim_id = ""
        return job
    return None


def next_job(work: Work, claim_table: ClaimTable, claim: HeldClaim) -> None:
    """Use the claim for another job of the same submitter that fits, or release it."""
    in_pool = not claim_table.is_local(claim.node)
    exceeds = (in_pool and claim_table.exceeds) or claim.gang is not None
    if not claim.unwanted and claim.slot_ad is not None and not claim_table.is_outdated(claim) and not exceeds:
        find = _following if in_pool and claim_table.cell > 0 else _fitting
        while (job := find(work, claim_table, claim)) is not None:
            work.offer(later=True)
            if start_run(work, claim_table, claim, job):
                return
    give_back(work, claim_table, claim)


def _fitting(work: Work, claim_table: ClaimTable, claim: HeldClaim) -> Job | None:
    """Take the first idle job of the claim's submitter that the slot and the job both accept."""
    assert claim.slot_ad is not None
    # Autoclusters whose jobs do not fit the slot: no machine can distinguish their jobs, so one stands for all.
    refused: set[int] = set()
    for group in work.book.waiting_for(claim.submitter, local=claim_table.is_local(claim.node)):
        proc = group.first()
        if proc is None or group.autocluster in refused:
            continue
        cluster = work.book.clusters[group.cluster]
        ad = cluster.ad_of(proc)
        # Only the negotiator knows what is left of a concurrency limit.
        counted = _limits(ad, claim.offered or claim.slot_ad, work.world) == claim.limits
        if not counted or not ad.symmetric_match(claim.slot_ad, work.world):
            refused.add(group.autocluster)
        elif not _forbidden(work, claim_table, ad, claim.slot_ad, claim.submitter, claim.offered):
            taken = group.take()
            assert taken == proc
            return cluster.job(proc)
    return None


def _following(work: Work, claim_table: ClaimTable, claim: HeldClaim) -> Job | None:
    """Take the next job of the cluster to which a scheduling run of the cell gave the claim.

    Only if the run allowed it, and if nothing has changed since that another run would take into account.
    """
    task, slot_ad = claim.task, claim.slot_ad
    if task is None or slot_ad is None or task.get(FOLLOWS) != work.book.arrivals or claim_table.pauses:
        return None
    instance = task.get("Instance")
    if claim_table.is_of_other_cell(claim.node, task, work.now) or instance in claim_table.errors:
        return None
    number = int(str(task.get("Job")).partition(".")[0])
    job = work.book.take_more(number, int(task.get("Priority", 0)), claim.autocluster)
    if job is None:
        return None
    fits = job.ad.symmetric_match(slot_ad, work.world)
    if not fits or _forbidden(work, claim_table, job.ad, slot_ad, claim.submitter, claim.offered):
        back_to_idle(work, job)
        return None
    return job


def _limits(job: ClassAd, slot: ClassAd, world: World) -> str:
    """The concurrency limits of a job on a slot."""
    value = job.eval("ConcurrencyLimits", slot, world)
    return value.lower() if isinstance(value, str) else ""


def _forbidden(
    work: Work, claim_table: ClaimTable, job: ClassAd, slot: ClassAd, submitter: str, offered: ClassAd | None = None
) -> bool:
    """Whether the pool's policy keeps a job from a slot; if so, it is noted for the record."""
    name = forbids(job, slot, work.world, offered=offered) if imposes(slot) else ""
    if name:
        number = f"{job.eval('ClusterId')}.{job.eval('ProcId')}"
        rule = Source(text=str(slot.get(name, "")), place=str(slot.get(PLACES[name], "")))
        in_force = claim_table.settings.in_force
        claim_table.vetoes.note(KNOBS[name], rule, number, submitter, str(slot.eval("Name")), in_force, work.now)
    return bool(name)


def give_back(work: Work, claim_table: ClaimTable, claim: HeldClaim) -> None:
    """End a claim from the queue's side."""
    gangs.release(work, claim_table, claim)
    gangs.left(work, claim_table, claim, "not all slots of the parallel job were granted in time")


# -- a run ---------------------------------------------------------------------------------------------------


def start_run(work: Work, claim_table: ClaimTable, claim: HeldClaim, job: Job) -> bool:
    """Start a job, taken from the idle ones, on a claim; False if it is held instead."""
    number = job.whole("numshadowstarts") + 1
    try:
        ad = _as_described(job, claim.slot_ad or ClassAd(), work.world)
    except Unexpandable as problem:
        hold(work, job, On.HOLD_QUEUE, HoldReason(HoldCode.JOB_POLICY_UNDEFINED, str(problem)), taken=True)
        work.decided(job, Ruling(kind=AuditKind.HOLD, reason=str(problem)))
        return False
    # A machine runs jobs of several queues.
    run = f"{job.id}#{number}@{claim_table.settings.name}"
    move_claim(claim, ClaimOn.STARTED)
    job.claim_id, job.run = claim.id, run
    claim.job, claim.run, claim.idle_since = job.id, run, None
    claim.confirmed, claim.asked, claim.heard_at, claim.alive_at = False, claim_table.asks, work.now, work.now
    claim.orders, claim.still, claim.by_command = 1, None, False
    work.move(job, On.STARTED, taken=True)
    given = {} if claim.slot_ad is None else provisioned(job.ad, claim.slot_ad)
    now = int(work.now)
    if job.ad.cell("jobstartdate") is MISSING:
        work.set(job, JobStartDate=now, InitialWaitDuration=max(0, now - job.whole("qdate")))
    work.set(
        job,
        NumShadowStarts=number,
        JobRunCount=number,
        ShadowBday=now,
        JobCurrentStartDate=now,
        JobCurrentStartExecutingDate=None,
        NumCkptsThisRun=None,
        TransferQueued=None,
        RemoteHost=claim.slot,
        CurrentHosts=1,
        CellTask=claim.task,
        **given,
    )
    claim.keep_within(lease_s(job.ad))
    work.keep(claim)
    _order_start(work, claim, job, ad, (*_OF_START, *given))
    return True


def _as_described(job: Job, slot_ad: ClassAd, world: World) -> ClassAd:
    """The whole ad of a starting job. Raises `Unexpandable`."""
    plan = job.cluster.plan
    mistake = "" if plan is None else plan.mistake(job.id.proc)
    if mistake:
        raise Unexpandable(f"the job does not match its description: {mistake}; submit a corrected job instead")
    ad = expanded(job.ad, slot_ad, world)
    if text := too_large(ad):
        raise Unexpandable(f"{text}; submit it with less data, and transfer large data as files")
    return ad


def _order_start(work: Work, claim: HeldClaim, job: Job, ad: ClassAd, names: tuple[str, ...]) -> None:
    """Order the start of the current run; `names`: attributes that the ad for the machine takes over from the queue's
    ad.
    """
    cells, own = ad.cells, job.ad.cells
    # Spellings in the job's own ad are the same here.
    usual = ad.own_spellings is None and job.ad.own_spellings is None
    for name in names:
        key = key_of(name)
        cell = own.get(key, MISSING)
        if cell is not MISSING and cell.__class__ in PLAIN and (usual or key in cells):
            cells[key] = cell
            continue
        cell = job.ad.cell(key)
        if cell is MISSING:
            ad.drop(name)
        else:
            ad.put(name, cell)
    ad.put("JobStatus", int(JobStatus.RUNNING))
    drop_earlier_run(ad)
    if "skipifdataflow" in cells:
        work.set(job, DataflowJobSkipped=False)
    work.order(StartRun(node=claim.node, claim_id=claim.id, run=claim.run, job_ad=ad))


def start_again(work: Work, claim_table: ClaimTable, claim: HeldClaim) -> bool:
    """Repeat the order for a run that the machine does not know: the order was lost, and the claim is still valid.

    False if there is nothing to repeat: the run has begun, or was ordered `_ORDERS_MAX` times.
    """
    job = None if claim.job is None else work.book.find(claim.job)
    if job is None or claim.stage is not Stage.RUNNING or claim.confirmed or claim.orders >= _ORDERS_MAX:
        return False
    if job.status is not JobStatus.RUNNING or claim.slot_ad is None:
        return False
    try:
        ad = expanded(job.ad, claim.slot_ad, work.world)
    except Unexpandable:
        return False
    claim.orders, claim.asked, claim.heard_at = claim.orders + 1, claim_table.asks, work.now
    _order_start(work, claim, job, ad, (*_OF_START, *provisioned(job.ad, claim.slot_ad)))
    return True


def leaves_gracefully(claim_table: ClaimTable, job: Job) -> bool:
    """Whether a removed job gets time to end by itself."""
    if is_local(job.ad):
        return True
    wanted = job.ad.cell("wantgracefulremoval")
    return wanted if isinstance(wanted, bool) else claim_table.settings.policy.removes_gracefully


def end_again(work: Work, claim_table: ClaimTable, claim: HeldClaim) -> None:
    """Repeat the order to end a job that was held or removed, or has lost a slot, but still runs: the order may have
    been lost.
    """
    job = None if claim.job is None else work.book.find(claim.job)
    if job is None or not claim.run or job.run != claim.run:
        return
    if job.status is JobStatus.HELD:
        ending, hard = "hold", False
        code, subcode = job.whole("holdreasoncode"), job.whole("holdreasonsubcode")
        text = job.text("holdreason")
    elif job.status is JobStatus.REMOVED:
        ending, hard = "remove", not leaves_gracefully(claim_table, job)
        code, subcode, text = int(VacateCode.JOB_REMOVED), 0, job.text("removereason")
    else:
        if claim.gang is not None and claim.gang.broken:
            gangs.end_broken(work, claim.gang)
        return
    work.order(EndRun.of(claim, ending, code, text, subcode=subcode, hard=hard))


def run_refused(work: Work, claim_table: ClaimTable, event: RunRefused) -> None:
    """Handle a machine's refusal to run the job: the claim is useless."""
    job, claim = present(work, event.run, event.claim_id), claim_table.claims.get(event.claim_id)
    if job is not None:
        _run_over(work, job)
        work.set(job, CurrentHosts=0, RemoteHost=None)
        _reject(work, job, event.refusal or "run refused")
        claim_table.pauses.missed(job.id, work.now)
        _settle(work, job)
    if claim is not None and claim.run == event.run:
        claim.job, claim.run = None, ""
        give_back(work, claim_table, claim)


def run_skipped(work: Work, claim_table: ClaimTable, event: RunSkipped) -> None:
    """Complete a job whose run is unnecessary: it ends as if successful, and the claim is free for another."""
    job, claim = present(work, event.run, event.claim_id), claim_table.claims.get(event.claim_id)
    if job is not None:
        _run_over(work, job)
        work.set(job, CurrentHosts=0, RemoteHost=None)
        if job.status in LEAVING or job.status is JobStatus.HELD:
            _settle(work, job)
        else:
            work.set(job, DataflowJobSkipped=True)
            work.log(job, log.DataflowJobSkipped(reason=""))
            end = RunEnded(node="", claim_id="", run="", at=work.now, ending="exit", started=False, exit_code=0)
            at_exit(work, claim_table.system_policy, job, end)
    if claim is not None and claim.run == event.run:
        move_claim(claim, ClaimOn.RUN_ENDED)
        claim.job, claim.run, claim.idle_since = None, "", work.now
        next_job(work, claim_table, claim)


def _reject(work: Work, job: Job, why: str) -> None:
    """Note that a machine does not run the job with which it was matched."""
    work.set(job, LastRejMatchTime=int(work.now), LastRejMatchReason=why)


def _run_over(work: Work, job: Job) -> None:
    """Take the claim from a job. The caller decides about a job that did not have to leave its machine."""
    if job.run and job.status in LEAVING:
        work.move(job, On.RUN_OVER)
    job.claim_id = job.run = ""


def _settle(work: Work, job: Job) -> None:
    """Decide about a job whose run is over without having begun."""
    match job.status:
        case JobStatus.REMOVED:
            leave_removed(work, job)
        case JobStatus.HELD:
            work.touch(job)
        case _:
            work.move(job, On.NOT_BEGUN)


def run_began(work: Work, claim_table: ClaimTable, event: RunBegan) -> None:
    """Note that the job's program runs."""
    job = present(work, event.run, event.claim_id)
    if job is None:
        return
    claim_table.claims[job.claim_id].confirmed = True
    _began(work, claim_table, job, event.at, event.slot)


def _began(work: Work, claim_table: ClaimTable, job: Job, at: float, slot: str) -> None:
    """Note that the program of the current run runs, or has run. Has no effect when repeated."""
    if job.ad.cell("jobcurrentstartexecutingdate") is not MISSING:
        return
    claim_table.pauses.began(job.id.cluster)
    work.begun.append(job)
    work.set(job, NumJobStarts=job.whole("numjobstarts") + 1, JobCurrentStartExecutingDate=int(at))
    # The event is built only if there is a log.
    work.log(
        job,
        lambda ad: log.Execute(
            host=address(claim_table, job), slot_name=slot, machine=_told_of_machine(claim_table, job)
        ),
    )


def _told_of_machine(claim_table: ClaimTable, job: Job) -> tuple[tuple[str, str], ...]:
    """ulog_execute_attrs: the machine's attributes that the user wants in the log."""
    wanted, claim = job.text("userlogexecuteeventattrs"), claim_table.claims.get(job.claim_id)
    if not wanted or claim is None or claim.slot_ad is None:
        return ()
    ad, names = claim.slot_ad, dict.fromkeys(re.split(r"[,\s]+", wanted.strip()))
    return tuple((name, unparse_value(ad.eval(name))) for name in names if name in ad)


def run_ended(work: Work, claim_table: ClaimTable, event: RunEnded) -> None:
    """Handle the end of a run, as reported by the machine. Has no effect when repeated."""
    work.order(Taken(node=event.node, runs=(event.run,)))
    claim = claim_table.claims.get(event.claim_id)
    job = present(work, event.run, event.claim_id)
    if job is not None:
        _job_ended(work, claim_table, job, event)
    if claim is not None and claim.run == event.run:
        _claim_free(work, claim_table, claim, event)


def _job_ended(work: Work, claim_table: ClaimTable, job: Job, event: RunEnded) -> None:
    if event.started:
        _began(work, claim_table, job, min(event.at, work.now), job.text("remotehost"))
    of_job, event = event, with_tasks(event)
    take_over(job, event.attributes)
    was_suspended = job.status is JobStatus.SUSPENDED
    if was_suspended:
        count_suspension(work, job, int(event.at))
    count_checkpoints(work, job, event.checkpoints, event.at)
    charge(work, claim_table, job, event.run, event.at, event.attributes)
    forget_run(work, claim_table, job, event.run)
    over = event.ending == "evict" and event.started and is_over(job, event.code, event.attributes)
    account_end(work, job, of_job, over=over, reserved=claim_table.usage.rules.accounts_reserved)
    note_error(work, claim_table, job, event)
    if event.attributes.get("CellFailed") == LIMIT_EXCEEDED:
        work.log(job, log.Generic(text=f"Job was killed: {job.text('cellfailedreason')}"))
    _end_bookkeeping(work, job, event)
    _run_over(work, job)
    if job.status is JobStatus.REMOVED:
        leave_removed(work, job)
    elif job.status is JobStatus.HELD:
        work.log(job, _evicted(event))
        work.log(job, log.JobHeld.of)
    elif over:
        _not_again(work, job, event.text)
    else:
        _outcome(work, claim_table, job, event)
    work.end_epoch(job)


def _evicted(event: RunEnded) -> Callable[[ClassAd], log.JobEvicted]:
    """The event for the user's log, built only if there is one."""
    return lambda ad: log.JobEvicted.of(ad, reason=event.text, code=event.code, subcode=event.subcode)


def _claim_free(work: Work, claim_table: ClaimTable, claim: HeldClaim, event: RunEnded) -> None:
    move_claim(claim, ClaimOn.RUN_ENDED)
    claim.job, claim.run, claim.idle_since = None, "", work.now
    if _goes_on(event):
        next_job(work, claim_table, claim)
    else:
        # The machine evicted the job, or ended the claim: it reports the end of the claim itself, or else waits for its
        # release.
        give_back(work, claim_table, claim)


def _goes_on(event: RunEnded) -> bool:
    """Whether the claim is free for another job: the machine does not end it, and had no problem.

    After a vacate that the queue ordered, the queue keeps the claim. After STARTER_EVICT the claim is released: the
    same job would start on it and be evicted again and again, while others wait.
    """
    if event.closing:
        return False
    return event.ending != "evict" or (event.started and event.code in _CLAIM_STAYS)


def _end_bookkeeping(work: Work, job: Job, event: RunEnded) -> None:
    wall_s = max(0, int(event.at) - job.whole("shadowbday", int(event.at)))
    slot_s = wall_s * max(1, job.whole("cpusprovisioned", 1))
    sums: dict[str, Any] = {}
    for of_run, of_all, name in _SUMMED:
        sums[name] = _number(job.ad.cell(of_all)) + _number(event.attributes.cell(of_run))
    if event.ending == "exit" or event.output == "kept" or event.checkpoints:
        # Its work is not lost.
        sums["CommittedTime"] = job.whole("committedtime") + wall_s
        sums["CommittedSlotTime"] = _number(job.ad.cell("committedslottime")) + slot_s
    work.set(
        job,
        BytesSent=_number(job.ad.cell("bytessent")) + event.bytes_sent,
        BytesRecvd=_number(job.ad.cell("bytesrecvd")) + event.bytes_received,
        LastRunBytesSent=event.bytes_sent,
        LastRunBytesRecvd=event.bytes_received,
        CumulativeSlotTime=_number(job.ad.cell("cumulativeslottime")) + slot_s,
        **sums,
        RemoteWallClockTime=float(job.whole("remotewallclocktime") + wall_s),
        LastRemoteHost=job.ad.get("RemoteHost"),
        RemoteHost=None,
        ShadowBday=None,
        CurrentHosts=0,
    )


def _number(cell: object) -> float:
    kind = cell.__class__
    return float(cell) if kind is float or kind is int else 0.0  # type: ignore[arg-type]


def _outcome(work: Work, claim_table: ClaimTable, job: Job, event: RunEnded) -> None:
    match event.ending:
        case "exit":
            at_exit(work, claim_table.system_policy, job, event)
        case "hold" if (more := raised_request(job.ad, event.code, event.subcode, work.world)) is not None:
            work.set(job, **{more.attribute: more.amount})
            text = f"{event.text}; the next run uses {more.attribute} = {more.amount} {more.unit}"
            requeue(work, job, code=event.code, subcode=event.subcode, text=text)
        case "hold" if event.code == HoldCode.MISSED_DEFERRED_EXECUTION_TIME and has_crontab(job.ad):
            # It runs at its next start time.
            requeue(work, job, code=VacateCode.JOB_NOT_STARTED, text=event.text)
        case "hold":
            work.log(job, _evicted(event))
            hold(work, job, On.HOLD_MACHINE, HoldReason(event.code, event.text, event.subcode))
            knob = "WANT_HOLD" if event.code == HoldCode.STARTD_HELD_JOB else ""
            slot = job.text("lastremotehost")
            ruling = Ruling(kind=AuditKind.HOLD, actor=event.node, machine=event.node, slot=slot, knob=knob,
                            reason=event.text)  # fmt: skip
            work.decided(job, ruling)
        case _:
            if not event.started:
                claim_table.pauses.missed(job.id, work.now)
            note_clean_up(work, job, event.code, event.subcode)
            requeue(work, job, code=event.code or VacateCode.STARTER_ERROR, subcode=event.subcode, text=event.text)


def _not_again(work: Work, job: Job, text: str) -> None:
    """Complete a job that was lost and must not be run a second time."""
    reason = f"the run was lost ({text}), and the job may not be rerun (qsub -r, or `rerun` of its queue)"
    remove(work, job, On.REMOVE_POLICY, reason)
    work.decided(job, Ruling(kind=AuditKind.REMOVAL, reason=reason))
    leave_removed(work, job)


def claim_lost(work: Work, claim_table: ClaimTable, event: ClaimLost) -> None:
    """Handle the end of a claim, and of the run on it if its end has not been reported."""
    claim = claim_table.claims.get(event.claim_id)
    if claim is None:
        return
    if event.reported and event.reported == claim.run:
        # The report of how the run ended is still expected.
        claim.unwanted = True
        return
    was_granted = claim.stage is not Stage.ASKED
    move_claim(claim, ClaimOn.LOST)
    del claim_table.claims[claim.id]
    (work.leave_slot if was_granted else work.drop)(claim)
    gangs.left(work, claim_table, claim, event.reason)
    job = None if claim.job is None else work.book.find(claim.job)
    if job is None or job.claim_id != claim.id:
        return
    was_running = bool(job.run)
    began = job.ad.cell("jobcurrentstartexecutingdate") is not MISSING
    code = event.code or VacateCode.RECONNECT_FAILED
    over = began and is_over(job, event.code or VacateCode.STARTER_ERROR, ClassAd())
    if began:
        account_lost(work, job, RESCHEDULED if event.code and not over else UNOBSERVED)
    if was_running:
        forget_run(work, claim_table, job, job.run)
    _run_over(work, job)
    if not was_running:
        back_to_idle(work, job)
        return
    if not began:
        # Otherwise, a slot that accepts a claim and drops it at once would be requested again at once, forever.
        claim_table.pauses.missed(job.id, work.now)
        _reject(work, job, f"{claim.slot} ended the claim: {event.reason}")
    work.set(job, CurrentHosts=0, LastRemoteHost=claim.slot, RemoteHost=None, ShadowBday=None)
    if job.status in (JobStatus.REMOVED, JobStatus.HELD) or not began:
        _settle(work, job)
    elif over:
        _not_again(work, job, event.reason)
    else:
        lost = claim.slot if code == VacateCode.RECONNECT_FAILED else ""
        requeue(work, job, code=code, text=event.reason, lost=lost)
    if began:
        work.end_epoch(job)
