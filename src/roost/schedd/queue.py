"""The job queue: one event in; changes to store and effects to carry out.

`Queue.step` is its whole interface. A queue is the only mutable object here: it is large, so a step changes it in place
rather than copying it. The effects of a step are carried out only when its changes are committed, so nothing that was
reported can be lost.

This module does not store anything, send anything, or choose machines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final, assert_never

from roost.base.fast_records import record
from roost.classad import ClassAd
from roost.classad.values import fold
from roost.model.cell_requests import ARRAY_PREDECESSORS, NAME, TASKS
from roost.model.digests import digest
from roost.model.pool_policy import KEPT_OUT
from roost.schedd import array_holds, commands, periodic
from roost.schedd.admission.limits import NAMES_MAX
from roost.schedd.admission.rules import NotAdmitted, check_description, check_groups, check_priority, check_size
from roost.schedd.cell.errors import clear_errors
from roost.schedd.cell.reporting import report, report_day
from roost.schedd.cell.rerun import lease_s
from roost.schedd.cell.usage import clear_usage, rule_usage
from roost.schedd.changes import Change, PutClaim, PutCluster, PutJob
from roost.schedd.claims.claim_table import ClaimTable, QueueSettings
from roost.schedd.claims.claim_transitions import ClaimOn, move_claim
from roost.schedd.claims.held_claims import HeldClaim, Stage
from roost.schedd.effects import Effect, GiveBack, Reply
from roost.schedd.events import (
    Acted,
    BusCameBack,
    ClaimAnswered,
    ClaimLost,
    ClaimsHeard,
    DayBegan,
    ErrorsCleared,
    Event,
    FilesMoved,
    InputSpooled,
    JobSaid,
    LogRefused,
    MatchGiven,
    MatchRefused,
    RunBegan,
    RunEnded,
    RunMeasured,
    RunRefused,
    RunSaved,
    RunSkipped,
    RunStoodStill,
    SignificantChanged,
    Started,
    Submitted,
    Ticked,
    UsageCleared,
    UsageRuled,
    WentOn,
)
from roost.schedd.identifiers import JobId
from roost.schedd.immediate import remove_refused
from roost.schedd.job_source import JobSource
from roost.schedd.jobs.book import Book, Cluster, held_at_submit, is_spooling, submitter_of
from roost.schedd.jobs.factories import Factory, has_factory
from roost.schedd.jobs.idle import IdleGroup
from roost.schedd.jobs.job_transitions import On, Transition
from roost.schedd.jobs.owned import begun
from roost.schedd.jobs.ranges import Ranges
from roost.schedd.materialization import make_some
from roost.schedd.placing import place_some
from roost.schedd.refused_logs import hold_some, log_refused
from roost.schedd.runs import course as runs
from roost.schedd.runs import gangs, recurring
from roost.schedd.runs import news as run_news
from roost.schedd.runs.noop import expect_noops, finish_noops, finish_woken, has_noops
from roost.schedd.runs.outcome import leave_removed
from roost.schedd.spooled import input_spooled
from roost.schedd.status import LEAVING, ON_MACHINE, JobStatus
from roost.schedd.submissions import comes_first, tell_first, tell_more
from roost.schedd.work import Work

#: JobStatus to the attribute that counts it in a submitter's ad.
_TOLD_AS = {int(JobStatus.IDLE): "IdleJobs", int(JobStatus.HELD): "HeldJobs"} | {
    int(each): "RunningJobs" for each in ON_MACHINE
}


@record
class Step:
    """The result of one event."""

    #: To be committed together, before any effect is carried out.
    changes: tuple[Change, ...]
    #: To be carried out after that, in this order.
    effects: tuple[Effect, ...]
    #: Rows of the table that jobs took, without those of jobs that are removed together.
    transitions: tuple[tuple[JobId, Transition], ...] = ()
    #: The id of the request that caused it all; "" for none.
    request: str = ""


#: Folded names of attributes that only jobs of `qsub` have.
_NAME: Final = fold(NAME)


class Queue:
    """All jobs of a submit machine, and the claims that they run on."""

    def __init__(self, settings: QueueSettings, now: float) -> None:
        self.book = Book()
        self.claim_table = ClaimTable(settings)
        #: Autocluster to the reason why it got no slot in the last cycle.
        self.rejections: dict[int, str] = {}
        #: Digest of the negotiator's last statement of what matching depends on; "" for none.
        self.apart = ""
        self.told_significant: tuple[str, ...] = ()
        self.clock = periodic.Clock(now)
        #: Whether the changes of steps are stored; a simulation in which no queue dies does not store them.
        self.kept = True
        #: Whether finished runs are recorded.
        self.records_epochs = False
        # Higher than any number in an earlier run of the daemon.
        self.claim_table.asks = self.claim_table.usage.serial = int(now * 1000)

    # -- restoring -----------------------------------------------------------------------------------

    def restore_cluster(
        self,
        kept: PutCluster,
        plan: JobSource | None,
        *,
        gone: str,
        told: str = "",
        factory: str = "",
    ) -> None:
        """Restore a cluster, with its plan as read from storage. Raises ValueError for invalid numbers."""
        number, ad, count = kept.cluster, kept.ad, kept.count
        cluster = Cluster(number, ad, plan, count=count, owner=kept.owner, submitted_at=kept.submitted_at)
        if held_at_submit(ad):
            cluster.statuses = bytearray([JobStatus.HELD]) * count
        cluster.gone = Ranges.read(gone)
        for proc in cluster.gone:
            if proc >= count:
                raise ValueError(f"job {number}.{proc} has left a cluster of {count}")
            cluster.statuses[proc] = JobStatus.GONE
        if factory:
            cluster.made_by(Factory.read(factory, count))
        if told:
            cluster.told = Ranges.read(told)
            self.book.untold[number] = comes_first(cluster)
        self.book.add(cluster)
        self.book.next_cluster = max(self.book.next_cluster, number + 1)

    def restore_job(self, change: PutJob) -> None:
        """Restore a job."""
        cluster = self.book.clusters.get(change.job.cluster)
        if cluster is None or not 0 <= change.job.proc < cluster.count:
            raise ValueError(f"job {change.job} belongs to no cluster")
        job = cluster.job(change.job.proc)
        attributes = change.attributes
        attributes.chain_to(job.ad.chained)
        job.ad = attributes
        cluster.statuses[change.job.proc] = change.status
        if cluster.bind(attributes):
            self.book.follow(cluster)

    # -- steps ---------------------------------------------------------------------------------------

    @property
    def goes_on(self) -> bool:
        """Whether work on many jobs is in progress, which `WentOn` continues: evaluating their policies, logging their
        submission, grouping them, ending those that complete without a run or are removed with another job, holding
        those whose log cannot be written, or making those that enter the queue a few at a time.
        """
        book = self.book
        return self.clock.round is not None or bool(
            book.unplaced or book.untold or book.untried or book.refused or book.following or book.making
        )

    def step(self, event: Event, now: float) -> Step:
        """Handle `event` at `now` (epoch s)."""
        settings = self.claim_table.settings
        work = Work(self.book, now, settings.in_force, settings.zone, settings.user_maps, settings.place)
        work.request = getattr(event, "request", "")
        work.records_epochs = self.records_epochs
        self._handle(work, event)
        if work.gone:
            array_holds.tasks_left(work)
        if self.book.making:
            make_some(work, self.claim_table)
        if work.unplanned:
            recurring.hold_unplanned(work)
        if self.book.noops:
            finish_woken(work, self.claim_table)
        if self.claim_table.is_full and (work.dropped or isinstance(event, Ticked)) and self.claim_table.places(now):
            self.claim_table.is_full = False
            work.offer()
        if self.claim_table.reporting is not None:
            report(work, self.claim_table.reporting, event, self.claim_table.claims.values())
        work.finish(kept=self.kept)
        return Step(
            changes=tuple(work.changes),
            effects=tuple(work.effects),
            transitions=tuple(work.transitions),
            request=work.request,
        )

    def _handle(self, work: Work, event: Event) -> None:
        match event:
            # Events of running jobs come first because nearly all events are of this kind.
            case MatchGiven():
                runs.match_given(work, self.claim_table, event)
            case ClaimAnswered():
                runs.claim_answered(work, self.claim_table, event)
            case RunBegan():
                runs.run_began(work, self.claim_table, event)
            case RunEnded():
                runs.run_ended(work, self.claim_table, event)
            case Submitted():
                self._submitted(work, event)
            case ClaimLost():
                runs.claim_lost(work, self.claim_table, event)
            case RunStoodStill():
                run_news.run_stood_still(work, self.claim_table, event)
            case Acted():
                commands.acted(work, self.claim_table, event)
            case InputSpooled():
                input_spooled(work, event)
            case MatchRefused(autocluster=autocluster, text=text):
                self.rejections[autocluster] = text
                if text == KEPT_OUT:
                    self._kept_out(autocluster)
                remove_refused(work, self.claim_table, autocluster, text)
            case RunRefused():
                runs.run_refused(work, self.claim_table, event)
            case RunSkipped():
                runs.run_skipped(work, self.claim_table, event)
            case FilesMoved():
                run_news.files_moved(work, self.claim_table, event)
            case JobSaid():
                run_news.job_said(work, event)
            case RunSaved():
                run_news.run_saved(work, event)
            case RunMeasured():
                run_news.run_measured(work, self.claim_table, event)
            case ClaimsHeard():
                self._heard(work, event)
            case LogRefused():
                log_refused(work, self.claim_table, event)
            case SignificantChanged(attributes=attributes, policy=policy):
                self.claim_table.pool_policy = policy
                self._significant(work, attributes)
            case ErrorsCleared():
                clear_errors(work, self.claim_table, event)
            case UsageCleared():
                clear_usage(work, self.claim_table, event)
            case UsageRuled():
                rule_usage(work, self.claim_table, event)
            case DayBegan():
                report_day(work, self.claim_table)
            case BusCameBack():
                periodic.bus_came_back(work, self.claim_table)
            case Ticked():
                # The administrator may have named other attributes.
                self._tell_apart(work)
                self.book.making.update(self.book.factories)
                periodic.tick(work, self.claim_table, self.clock)
                self._go_on(work)
            case WentOn():
                periodic.go_on(work, self.claim_table, self.clock)
                self._go_on(work)
            case Started(claims=claims):
                self._started(work, claims)
            case _:
                assert_never(event)

    def _go_on(self, work: Work) -> None:
        place_some(work)
        tell_more(work)
        hold_some(work, self.claim_table)
        if self.book.untried:
            finish_noops(work, self.claim_table)
        if self.book.following:
            commands.follow(work, self.claim_table)

    # -- submission ----------------------------------------------------------------------------------

    def _submitted(self, work: Work, event: Submitted) -> None:
        jobs = sum(each.count for each in event.clusters)
        limits, clusters = self.claim_table.settings.limits, self.book.clusters.values()
        later = sum(each.count for each in event.clusters if _has_factory(each.common))
        exceeded = limits.refusal(self.claim_table.present, clusters, event.owner, jobs, later)
        if exceeded:
            self._refuse(work, event, exceeded)
            return
        try:
            admitted = self._admitted(work, event)
        except NotAdmitted as refusal:
            text, remedy = str(refusal), refusal.remedy
            work.order(Reply(to=event.reply_to, ok=False, code="not-admitted", text=text, remedy=remedy))
            return
        data = []
        for cluster, warnings in admitted:
            self._take(work, cluster)
            array_holds.submitted(work, cluster)
            row: dict[str, Any] = {"cluster": cluster.number, "jobs": cluster.count}
            row |= {"warnings": warnings} if warnings else {}
            data.append(row | _called(cluster))
        place_some(work)
        work.order(Reply(to=event.reply_to, data=data))
        work.offer()

    def _admitted(self, work: Work, event: Submitted) -> list[tuple[Cluster, list[str]]]:
        """The clusters as changed by the administrator's rules, with warnings. Raises NotAdmitted."""
        rules = self.claim_table.settings.admission
        found: list[tuple[Cluster, list[str]]] = []
        for source in event.clusters:
            if source.count:
                cluster = self._cluster(source, event, self.book.next_cluster + len(found), int(work.now))
                rules.transform(cluster, work.world)
                if _has_factory(cluster.ad) and not self.claim_table.settings.late_materialization:
                    text = "Late materialization is not allowed by this SCHEDD (SCHEDD_ALLOW_LATE_MATERIALIZE)"
                    raise NotAdmitted("JobMaterializeLimit", text, "Submit without max_materialize and max_idle.")
                check_description(cluster)
                check_size(cluster)
                names = check_groups(cluster)
                if not self.claim_table.present.takes_names(self.book, cluster.owner, names):
                    text = f"the jobs of {cluster.owner} would use more than {NAMES_MAX} accounting groups"
                    remedy = "Use fewer groups, or submit after other jobs have ended."
                    raise NotAdmitted("AccountingGroup", text, remedy)
                check_priority(cluster)
                if refused := array_holds.refusal(self.book, cluster.ad, cluster.array_after):
                    raise NotAdmitted(ARRAY_PREDECESSORS, refused)
                found.append((cluster, rules.check(cluster, work.world)))
        return found

    def _refuse(self, work: Work, event: Submitted, text: str) -> None:
        remedy = "Submit fewer jobs, or ask the administrator for a higher limit."
        work.order(Reply(to=event.reply_to, ok=False, code="too-many-jobs", text=text, remedy=remedy))

    def _cluster(self, source: JobSource, event: Submitted, number: int, now: int) -> Cluster:
        """A cluster that is not in the queue yet."""
        settings, owner = self.claim_table.settings, event.owner
        source = source.for_cluster(number)
        ad = source.common.copy()
        for key in settings.secure.intersection(ad.cells):
            del ad[key]
        begun(ad, held=held_at_submit(ad))
        for name, value in settings.defaults.items():
            if name not in ad:
                ad[name] = value
        ad.put("ClusterId", number)
        ad.put("Owner", owner)
        ad.put("User", f"{owner}@{settings.uid_domain}" if settings.uid_domain else owner)
        ad.put("QDate", now)
        ad.put("EnteredCurrentStatus", now)
        ad.put("GlobalJobId", settings.name)
        ad.put("TotalSubmitProcs", source.count)
        if event.request:
            ad["SubmitRequestId"] = event.request
        if "ScheddInterval" in ad:
            # The attribute that Requirements of a deferred job refers to.
            ad["ScheddInterval"] = settings.interval_s
        return Cluster(number, ad, source, count=source.count, owner=owner, submitted_at=now)

    def _take(self, work: Work, cluster: Cluster) -> None:
        number, ad, source = cluster.number, cluster.ad, cluster.plan
        assert source is not None
        self.book.next_cluster = number + 1
        cluster.submitter = submitter_of(ad if cluster.count > 1 else cluster.submitted_ad(0))
        if held_at_submit(ad):
            cluster.statuses = bytearray([JobStatus.HELD]) * source.count
        if _has_factory(ad):
            cluster.made_by(Factory())
        self.book.add(cluster)
        self.book.index(cluster, plans=recurring.recurs(self.book, cluster))
        work.changes.append(
            PutCluster(
                cluster=number,
                owner=cluster.owner,
                submitted_at=cluster.submitted_at,
                count=source.count,
                # A factory goes on to change it.
                ad=ad if cluster.factory is None else ad.copy(),
                plan=source.to_data(),
                factory="" if cluster.factory is None else str(cluster.factory),
            )
        )
        for job in cluster.jobs.values():
            work.touch(job)
        tell_first(work, cluster)
        if has_noops(cluster):
            expect_noops(self.book, cluster)
            finish_noops(work, self.claim_table)

    # -- claims after a pause ------------------------------------------------------------------------

    def _started(self, work: Work, claims: tuple[PutClaim, ...]) -> None:
        """Continue where the last run of the daemon ended: ask the machines about the claims."""
        parts: list[HeldClaim] = []
        for kept in claims:
            # A slot that was requested and not used yet is not waited for.
            job = None if kept.job is None or not kept.run else self.book.find(kept.job)
            if job is not None and job.status not in ON_MACHINE and job.status not in LEAVING:
                job = None
            claim = HeldClaim(
                id=kept.claim_id,
                node=kept.node,
                slot=kept.slot,
                submitter=kept.submitter,
                slot_ad=None,
                stage=Stage.UNSURE,
                job=None if job is None else job.id,
                run=kept.run if job is not None else "",
                still=kept.still if job is not None else None,
                heard_at=work.now,
                unwanted=job is None,
                alive_s=self.claim_table.settings.alive_interval_s,
                alive_at=work.now,
            )
            self.claim_table.claims[claim.id] = claim
            if job is not None:
                job.claim_id, job.run = claim.id, kept.run
                claim.keep_within(lease_s(job.ad))
            elif kept.job is not None and not kept.run:
                claim.job = kept.job
                parts.append(claim)
        gangs.restore(work, self.claim_table, parts)
        for cluster in self.book.clusters.values():
            # Crontab jobs are planned again, since the time zone may have changed.
            self.book.index(cluster, plans=recurring.recurs(self.book, cluster))
            for job in list(cluster.jobs.values()):
                if job.status is JobStatus.REMOVED:
                    commands.begin_following(work, job)
                if job.run:
                    continue
                if job.status in ON_MACHINE:
                    work.move(job, On.RUN_UNKNOWN)
                elif job.status is JobStatus.REMOVED:
                    leave_removed(work, job)
        place_some(work)
        for each in filter(has_noops, self.book.clusters.values()):
            expect_noops(self.book, each)
        periodic.ask_about_claims(work, self.claim_table, {claim.node for claim in self.claim_table.claims.values()})
        work.offer()

    def _heard(self, work: Work, event: ClaimsHeard) -> None:
        for claim_id, run in event.known.items():
            claim = self.claim_table.claims.get(claim_id)
            if claim is None:
                # The message that released it was lost, or is in transit.
                work.order(GiveBack(node=event.node, claim_id=claim_id))
                continue
            claim.heard_at = work.now
            if claim.stage is Stage.ASKED:
                continue
            if claim.job is None and claim.stage is Stage.UNSURE:
                self._stale(work, claim)
            elif run == claim.run:
                claim.confirmed = claim.confirmed or bool(run)
                if claim.stage is Stage.UNSURE:
                    move_claim(claim, ClaimOn.CONFIRMED)
                    runs.end_again(work, self.claim_table, claim)
                run_news.agree(work, claim, event.standings.get(claim_id, ""))
            elif event.serial > claim.asked and (run or not runs.start_again(work, self.claim_table, claim)):
                # An answer to a question from before the run says nothing about it.
                self._stale(work, claim)
        if event.renew:
            periodic.answer_alive(work, self.claim_table, event)
        for claim_id in event.unknown:
            runs.claim_lost(
                work, self.claim_table, ClaimLost(claim_id=claim_id, reason="the machine does not know the claim")
            )

    def _stale(self, work: Work, claim: HeldClaim) -> None:
        """End a claim whose run is not the one on record: whatever ran on it is over."""
        runs.claim_lost(work, self.claim_table, ClaimLost(claim_id=claim.id, reason="the run is no longer known"))
        work.order(GiveBack(node=claim.node, claim_id=claim.id))

    def _significant(self, work: Work, attributes: tuple[str, ...]) -> None:
        before, self.apart = self.apart, digest(*attributes)
        if self.apart != before:
            # The negotiator waits for a demand that reflects this.
            work.offer()
        self.told_significant = attributes
        self._tell_apart(work)

    def _tell_apart(self, work: Work) -> None:
        """Distinguish jobs by the negotiator's last statement, or by the administrator's setting instead."""
        settings = self.claim_table.settings
        found = settings.significant or self.told_significant
        if not self.book.autoclusters.use((*found, *settings.significant_too)):
            return
        work.offer()
        self.rejections.clear()
        for cluster in self.book.clusters.values():
            self.book.index(cluster)
        place_some(work)

    def _kept_out(self, autocluster: int) -> None:
        """Note that the pool's policy gives a submitter nothing: its claims serve their current jobs, and no others."""
        if autocluster not in self.book.autoclusters:
            return
        submitter = submitter_of(self.book.autoclusters.sample(autocluster))
        for claim in self.claim_table.claims.values():
            if claim.submitter == submitter and not self.claim_table.is_local(claim.node):
                claim.unwanted = True

    def take_back(self, changes: Iterable[Change]) -> None:
        """Forget clusters that were submitted and could not be stored: nothing else must happen to this queue."""
        for change in changes:
            if isinstance(change, PutCluster):
                self.book.forget(change.cluster)

    # -- questions -----------------------------------------------------------------------------------

    def offered(self, now: float, *, local: bool = False) -> dict[str, list[IdleGroup]]:
        """Submitter to the groups of idle jobs that need a slot: those without a pause, while more claims are
        allowed.
        """
        if not local and not self.claim_table.places(now):
            return {}
        pauses, waiting = self.claim_table.pauses, self.book.waiting(local=local)
        if not pauses:
            return waiting
        found = {
            name: [each for each in groups if pauses.of(each.cluster, now) is None] for name, groups in waiting.items()
        }
        return {name: groups for name, groups in found.items() if groups}

    def counts(self) -> dict[str, int]:
        """Number of jobs by status, in words."""
        found = dict.fromkeys((status.name.lower() for status in JobStatus if status), 0)
        for cluster in self.book.clusters.values():
            for status in JobStatus:
                if status:
                    found[status.name.lower()] += cluster.statuses.count(int(status))
        return found

    def submitter_ads(self) -> dict[str, dict[str, Any]]:
        """The submitter ads that are sent to the pool."""
        found: dict[str, dict[str, Any]] = {}
        for cluster in self.book.clusters.values():
            statuses = cluster.statuses
            counts = Counter({(cluster.submitter, status): statuses.count(status) for status in _TOLD_AS})
            if cluster.others:
                others = Counter(zip(cluster.others.values(), map(statuses.__getitem__, cluster.others), strict=True))
                for (_, status), count in others.items():
                    counts[cluster.submitter, status] -= count
                counts.update(others)
            for (name, status), count in counts.items():
                if count and status in _TOLD_AS:
                    ad = found.setdefault(name, {"IdleJobs": 0, "RunningJobs": 0, "HeldJobs": 0})
                    ad[_TOLD_AS[status]] += count
        return found


def _has_factory(ad: ClassAd) -> bool:
    return has_factory(ad, spooling=is_spooling(ad))


def _called(cluster: Cluster) -> dict[str, str]:
    """Name and tasks of a job of `qsub`; nothing for any other job."""
    if _NAME not in cluster.ad.cells:
        return {}
    found = {"name": cluster.ad.get(NAME), "tasks": cluster.ad.get(TASKS)}
    return {key: value for key, value in found.items() if isinstance(value, str) and found["name"]}
