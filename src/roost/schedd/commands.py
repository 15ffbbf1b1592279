"""Commands of users and administrators on jobs: hold, release, remove, suspend, continue, vacate, edit.

A command applies to several jobs at once, and succeeds or fails for each: the reply counts the successes, and gives the
reason of each failure. A user who is not the owner of a job must be a superuser.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from roost.base.records import dataclass
from roost.classad import ClassAd, Expr, ParseError, Syntax, parse_expression
from roost.classad.ad import MISSING
from roost.classad.values import fold
from roost.model.audit import AuditKind, Effect
from roost.model.cell_requests import ALL_HOLDS, ARRAY_HOLD, ARRAY_PREDECESSORS, HELD, HOLDS, TASK
from roost.model.codes import HoldCode, VacateCode
from roost.schedd import array_holds
from roost.schedd import materialization as making
from roost.schedd.admission.rules import JOB_CHARS_MAX, size_of
from roost.schedd.cell.accounting import account_deleted
from roost.schedd.cell.usage import forget_run
from roost.schedd.claims.claim_table import ClaimTable
from roost.schedd.claims.held_claims import HeldClaim
from roost.schedd.decisions import Ruling
from roost.schedd.effects import EndRun, Reply
from roost.schedd.event_log import log
from roost.schedd.events import Acted, Action
from roost.schedd.identifiers import JobId
from roost.schedd.jobs.book import (
    BINDING,
    GROUPS,
    NAME_CHARS_MAX,
    Book,
    Cluster,
    Following,
    Job,
    is_spooling,
    not_plain,
    submitter_of,
)
from roost.schedd.jobs.crontab import KEYS
from roost.schedd.jobs.job_transitions import On
from roost.schedd.jobs.owned import IMMUTABLE, RECORDED, priority
from roost.schedd.mass_removal import FEWEST, remove_together
from roost.schedd.periodic import withdraw
from roost.schedd.runs.course import leaves_gracefully
from roost.schedd.runs.news import stand_still
from roost.schedd.runs.outcome import HoldReason, hold, leave_at_last, leave_removed, release, remove
from roost.schedd.status import ON_MACHINE, JobStatus
from roost.schedd.work import Work

#: Why a command was not applied to a job: a stable identifier, which the command line turns into a sentence.
ABSENT, _DENIED, _DONE, _WRONG = "not-found", "permission-denied", "already-done", "bad-status"
_RELEASED_OFTEN: Final = "released-too-often"
#: Jobs examined in one step of the queue to find those that are removed with a removed job, some 15 ms.
FOLLOWERS_A_STEP: Final = 200

_KINDS: Final = {
    Action.HOLD: AuditKind.HOLD,
    Action.RELEASE: AuditKind.RELEASE,
    Action.REMOVE: AuditKind.REMOVAL,
    Action.REMOVE_AT_ONCE: AuditKind.REMOVAL,
    Action.VACATE: AuditKind.EVICTION,
    Action.VACATE_FAST: AuditKind.EVICTION,
}


def acted(work: Work, claim_table: ClaimTable, event: Acted) -> None:
    """Apply a command to every job to which it can be applied."""
    counts: Counter[str] = Counter()
    results = {}
    done_ruling, denied_ruling = _ruling(event, Effect.DONE), _ruling(event, Effect.REFUSED)
    jobs: Sequence[JobId] = event.jobs
    if event.action is Action.REMOVE and len(jobs) >= FEWEST:
        done, jobs = remove_together(
            work, jobs, _removal(event), done_ruling, lambda owner: _may(claim_table, event, owner)
        )
        counts.update({"ok": done} if done else {})
    change = _change(work.book, claim_table, event) if event.action in (Action.EDIT, Action.NOTE) else None
    for number in event.factories:
        cluster = work.book.clusters.get(number)
        if cluster is not None and cluster.factory is not None and _may(claim_table, event, cluster.owner):
            done = _factory_change(work, cluster, event, change)
            if done and not cluster.present:
                # No job of it is counted.
                counts["ok"] += 1
    for name in jobs:
        job = work.book.find(name)
        if job is None:
            result = ABSENT
        elif not _may(claim_table, event, job.owner):
            result = _DENIED
        else:
            result = _one(work, claim_table, job, event) if change is None else _edit(work, job, change)
        counts[result or "ok"] += 1
        if job is not None and result in ("", _DENIED):
            work.decided(job, denied_ruling if result else done_ruling)
        if result:
            results[str(name)] = result
    work.order(Reply(to=event.reply_to, ok=counts["ok"] > 0, data={"counts": dict(counts), "refused": results}))


def _may(claim_table: ClaimTable, event: Acted, owner: str) -> bool:
    """Whether the user of a command may act upon jobs of an owner."""
    return event.superuser or event.user == owner or event.user in claim_table.settings.superusers


def _factory_change(work: Work, cluster: Cluster, event: Acted, change: _Change | None) -> bool:
    """Do to what makes a cluster's further jobs what is done to its jobs; whether there was anything to do."""
    match event.action:
        case Action.HOLD:
            return making.pause(work, cluster, event.reason or f"via roost hold (by user {event.user})")
        case Action.RELEASE:
            return making.resume(work, cluster, event.reason or f"via roost release (by user {event.user})")
        case Action.REMOVE | Action.REMOVE_AT_ONCE:
            return making.stop(work, cluster, _removal(event))
        case Action.EDIT if change is not None and not change.refusal:
            for proc in list(cluster.procs()):
                # Jobs that were made since the others were chosen.
                if not {key for _, key, _, _ in change.cells} <= cluster.job(proc).ad.cells.keys():
                    _edit(work, cluster.job(proc), change)
            return making.edit(work, cluster, [(name, cell) for name, _, cell, _ in change.cells])
    return False


def _ruling(event: Acted, effect: Effect) -> Ruling:
    said = str(event.action)
    if event.action is Action.EDIT:
        values = (f"{name} = {_shown(event.attributes.cell(fold(name)))}" for name in event.attributes)
        said = f"edit: {', '.join(values)}"
    if event.reason:
        said += f": {event.reason}"
    kind = AuditKind.COMMAND if effect is Effect.REFUSED else _KINDS.get(event.action, AuditKind.COMMAND)
    return Ruling(kind=kind, effect=effect, actor=event.user, reason=said)


def _one(work: Work, claim_table: ClaimTable, job: Job, event: Acted) -> str:
    """Apply a command to one job; "" if successful, otherwise the reason."""
    match event.action:
        case Action.HOLD:
            return _hold(work, claim_table, job, event)
        case Action.RELEASE:
            return _release(work, claim_table, job, event)
        case Action.REMOVE:
            return _remove(work, claim_table, job, event)
        case Action.REMOVE_AT_ONCE:
            if job.status is JobStatus.COMPLETED:
                leave_at_last(work, job)
                return ""
            if job.status is not JobStatus.REMOVED:
                remove(work, job, On.REMOVE_COMMAND, event.reason or f"via roost rm -x (by user {event.user})")
            if claim := _run_of(claim_table, job):
                work.order(EndRun.of(claim, "remove", VacateCode.JOB_REMOVED, "removed", hard=True))
            account_deleted(work, job, reserved=claim_table.usage.rules.accounts_reserved)
            forget_run(work, claim_table, job, job.run)
            claim_table.let_go(job)
            job.claim_id = job.run = ""
            leave_removed(work, job, stays=False)
        case Action.SUSPEND | Action.CONTINUE:
            return _stand_still(work, claim_table, job, event.action is Action.SUSPEND)
        case Action.VACATE | Action.VACATE_FAST:
            if job.status not in ON_MACHINE:
                return _WRONG
            hard, text = event.action is Action.VACATE_FAST, event.reason or "vacated"
            claim = _run_of(claim_table, job)
            if hard and claim is not None and work.now - claim.heard_at > SILENT_ALIVES * claim.alive_s:
                # The order does not reach the machine.
                text = "rescheduled by command while the machine was not responding"
                withdraw(work, claim_table, claim, text, int(VacateCode.USER_VACATE_JOB))
            elif claim is not None:
                work.order(EndRun.of(claim, "evict", VacateCode.USER_VACATE_JOB, text, hard=hard))
    return ""


_HELD: Final = fold(HELD)
#: A machine counts as silent after this many keepalives without an answer.
SILENT_ALIVES: Final = 2
_OF_USERS: Final = (HoldCode.USER_REQUEST, HoldCode.SUBMITTED_ON_HOLD)


def holds_of(job: Job) -> str:
    """The Grid Engine holds of a held job: letters of `HOLDS`."""
    return job.text(_HELD) or ("u" if job.ad.get("HoldReasonCode") in _OF_USERS else "")


def _hold_by(work: Work, job: Job, letters: str) -> None:
    job.ad[HELD] = letters
    work.touch(job)


def _release(work: Work, claim_table: ClaimTable, job: Job, event: Acted) -> str:
    letters = event.attributes.get(HELD)
    if isinstance(letters, str) and job.status in ON_MACHINE:
        before = job.text(_HELD)
        after = "".join(letter for letter in before if letter not in letters)
        work.set(job, **{HELD: after})
        return "" if after != before else _DONE
    # A job that has not left its machine yet stays held: it never runs twice at once.
    if job.status is not JobStatus.HELD or job.run or is_spooling(job.ad):
        return _WRONG
    held = frozenset(holds_of(job))
    if letters == "":
        if job.ad.get("HoldReasonCode") in _OF_USERS:
            return _DONE
        if held:
            # It is no longer in the error state, and stays on hold.
            work.set(job, HoldReason=event.reason, HoldReasonCode=HoldCode.USER_REQUEST, HoldReasonSubCode=0)
            return ""
    elif isinstance(letters, str):
        if held.isdisjoint(letters):
            return _DONE
        left = "".join(letter for letter in ALL_HOLDS if letter in held - (set(letters) & set(HOLDS)))
        if left or job.ad.get("HoldReasonCode") not in _OF_USERS:
            _hold_by(work, job, left)
            return ""
    elif held - {"u", ARRAY_HOLD} and not event.superuser:
        return _DENIED
    if not event.superuser and not claim_table.system_policy.allows_release(job.ad):
        return _RELEASED_OFTEN
    release(work, job, On.RELEASE_COMMAND, event.reason or f"via roost release (by user {event.user})")
    return ""


def _hold(work: Work, claim_table: ClaimTable, job: Job, event: Acted) -> str:
    letters = event.attributes.get(HELD)
    if job.status is JobStatus.HELD and isinstance(letters, str):
        wanted = {*holds_of(job), *(letter for letter in letters if letter in HOLDS)}
        _hold_by(work, job, "".join(letter for letter in ALL_HOLDS if letter in wanted))
        return ""
    if isinstance(letters, str) and job.status in ON_MACHINE:
        # It stays where it is, and is held once it is idle again.
        before = job.text(_HELD)
        after = "".join(letter for letter in HOLDS if letter in before + letters)
        if after == before:
            return _DONE
        _hold_by(work, job, after)
        return ""
    if isinstance(letters, str) and job.status is not JobStatus.IDLE:
        return _WRONG
    if job.status is JobStatus.HELD:
        return _DONE
    if job.status in (JobStatus.REMOVED, JobStatus.COMPLETED):
        return _WRONG
    text = event.reason or f"via roost hold (by user {event.user})"
    on_machine = bool(job.run)
    subcode = event.attributes.get("HoldReasonSubCode")
    number = subcode if isinstance(subcode, int) else 0
    hold(work, job, On.HOLD_COMMAND, HoldReason(HoldCode.USER_REQUEST, text, number), tell=not on_machine)
    if isinstance(letters, str):
        _hold_by(work, job, letters)
    claim_table.let_go(job)
    if claim := _run_of(claim_table, job):
        work.order(EndRun.of(claim, "hold", HoldCode.USER_REQUEST, text, subcode=number))
    return ""


def _remove(work: Work, claim_table: ClaimTable, job: Job, event: Acted) -> str:
    if job.status is JobStatus.REMOVED:
        return _DONE
    text = _removal(event)
    begin_following(work, job)
    take_away(work, claim_table, job, text)
    if job.id in work.book.following:
        follow(work, claim_table)
    return ""


def take_away(work: Work, claim_table: ClaimTable, job: Job, text: str) -> None:
    """Remove a job, and end its run."""
    remove(work, job, On.REMOVE_COMMAND, text)
    claim_table.let_go(job)
    if job.run:
        hard = not leaves_gracefully(claim_table, job)
        if claim := _run_of(claim_table, job):
            work.order(EndRun.of(claim, "remove", VacateCode.JOB_REMOVED, text, hard=hard))
    else:
        leave_removed(work, job)


def _removal(event: Acted) -> str:
    return event.reason or f"via roost rm (by user {event.user})"


def begin_following(work: Work, job: Job) -> None:
    """Begin the search for the owner's other jobs that are removed with a removed one, by
    OtherJobRemoveRequirements.
    """
    text = job.text("otherjobremoverequirements")
    if not text:
        return
    try:
        wanted = parse_expression(text, Syntax.OLD)
    except ParseError:
        return
    clusters = [each.number for each in work.book.clusters.values() if each.owner == job.owner]
    work.book.following[job.id] = Following(wanted, clusters[::-1], work.request)


def follow(work: Work, claim_table: ClaimTable) -> None:
    """Examine some more jobs, and remove those that go with a removed one."""
    first, following = next(iter(work.book.following.items()))
    job, work.request = work.book.find(first), following.request
    left = FOLLOWERS_A_STEP if job is not None else 0
    while left and job is not None and following.clusters:
        cluster, proc = work.book.clusters.get(following.clusters[-1]), following.proc
        left -= 1
        if cluster is None or proc >= cluster.count:
            following.clusters.pop()
            following.proc = 0
            continue
        following.proc += 1
        leaves = cluster.status(proc) in (JobStatus.GONE, JobStatus.REMOVED, JobStatus.COMPLETED)
        if not leaves and cluster.ad_of(proc).eval_expr(following.wanted) is True:
            take_away(work, claim_table, cluster.job(proc), job.text("removereason"))
    if job is None or not following.clusters:
        del work.book.following[first]
        if job is not None and job.status is JobStatus.REMOVED and not job.run:
            leave_removed(work, job)


def _run_of(claim_table: ClaimTable, job: Job) -> HeldClaim | None:
    """The claim on which a job runs; None if it does not run."""
    return claim_table.claims.get(job.claim_id) if job.run else None


def _stand_still(work: Work, claim_table: ClaimTable, job: Job, still: bool) -> str:
    """Suspend or continue a job. The claim keeps the target state because the order may be lost (`run_news.agree`)."""
    claim = claim_table.claims.get(job.claim_id)
    if claim is None or job.status not in (JobStatus.RUNNING, JobStatus.SUSPENDED):
        return _WRONG
    # An order that the machine has not carried out yet can be withdrawn.
    before = JobStatus.RUNNING if still else JobStatus.SUSPENDED
    # In a Grid Engine cell a command is a cause of its own, besides what has suspended the job already.
    adds = still and not claim.by_command and TASK in job.ad
    if job.status is not before and claim.still is not (not still) and not adds:
        return _WRONG
    claim.still = claim.by_command = still
    work.keep(claim)
    stand_still(work, claim)
    return ""


#: A change of fewer characters makes no ad too large, unless it is made repeatedly.
_LARGE: Final = 10_000
#: Names that the queue's files and the readers of other systems accept.
_ATTRIBUTE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """New values of attributes, the same for all jobs of a command."""

    #: Why no job may have them; "" if allowed.
    refusal: str
    #: The attributes: name, folded name, cell, and its form in an event log.
    cells: tuple[tuple[str, str, Any, str], ...] = ()
    names: frozenset[str] = frozenset()
    #: Total size, characters.
    chars: int = 0
    #: Whether event logs record the change.
    told: bool = True


def _change(book: Book, claim_table: ClaimTable, event: Acted) -> _Change:
    given, settings = event.attributes, claim_table.settings
    names = frozenset(fold(name) for name in given)
    if names & (IMMUTABLE | settings.immutable):
        return _Change(refusal="immutable")
    if not all(_ATTRIBUTE.match(name) for name in given):
        return _Change(refusal="bad-name")
    if not_plain(given):
        return _Change(refusal="not-a-text")
    if any(isinstance(cell := given.cell(fold(name)), str) and len(cell) > NAME_CHARS_MAX for name in GROUPS):
        return _Change(refusal="group-too-long")
    if "accountinggroup" in names:
        named = given.copy()
        named["User"] = f"{event.user}@{settings.uid_domain}" if settings.uid_domain else event.user
        if not claim_table.present.takes_names(book, event.user, {submitter_of(named)}):
            return _Change(refusal="too-many-groups")
    if "jobprio" in names:
        number = priority(given.cell("jobprio"))
        if number is None:
            return _Change(refusal="not-a-number")
        given = given.copy()
        given["JobPrio"] = number
    if names & (settings.protected | RECORDED) and not (event.superuser or event.user in settings.superusers):
        return _Change(refusal="protected")
    cells = ((name, fold(name), given.cell(fold(name))) for name in given)
    return _Change(
        refusal="",
        cells=tuple((name, key, cell, _shown(cell)) for name, key, cell in cells),
        names=names,
        chars=size_of(given),
        told=event.action is Action.EDIT,
    )


def _edit(work: Work, job: Job, change: _Change) -> str:
    if change.refusal:
        return change.refusal
    if change.chars > _LARGE and size_of(job.ad) + size_of(job.cluster.ad) + change.chars > JOB_CHARS_MAX:
        return "too-large"
    names = change.names
    if not names.isdisjoint(BINDING) and (why := _unbound(work.book, job, change)):
        return why
    waits = job.status is JobStatus.IDLE and job.cluster.is_idle(job.id.proc)
    for name, key, cell, shown in change.cells:
        before = job.ad.cell(key)
        job.ad.put(name, cell)
        if change.told:
            old = "" if before is MISSING else _shown(before)
            work.log(job, log.AttributeUpdate(attribute=name, value=shown, old_value=old))
    work.touch(job)
    if names & KEYS:
        work.book.recurring[job.id.cluster] = 0
        if waits:
            work.plan_start(job)
            names |= {"deferraltime"}
    if waits:
        # The change may move it in the order of jobs.
        work.book.edited_idle(job, names)
        work.offer()
    if not names.isdisjoint(BINDING) and job.cluster.bind(job.ad):
        work.book.follow(job.cluster)
        work.book.make_more(job.cluster)
        work.offer()
        array_holds.look(work, job.cluster, job.id.proc)
    return ""


def _unbound(book: Book, job: Job, change: _Change) -> str:
    """Why the jobs of a cluster may not have these dependencies; "" if they may."""
    own = Cluster(job.id.cluster, ClassAd(), None, count=0, owner="", submitted_at=0)
    own.bind(ClassAd({name: cell for name, _, cell, _ in change.cells if not isinstance(cell, Expr)}))
    if fold(ARRAY_PREDECESSORS) in change.names and (why := array_holds.refusal(book, job.ad, own.array_after)):
        return why
    other = array_holds.dependency_cycle(book, own.number, (*own.after, *own.array_after))
    return "" if other is None else f"would generate a dependency cycle with job {other}"


def _shown(cell: object) -> str:
    from roost.classad import unparse_value

    return str(cell) if isinstance(cell, Expr) else unparse_value(cell)  # type: ignore[arg-type]
