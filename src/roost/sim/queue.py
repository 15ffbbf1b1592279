"""The queue of a simulated pool: which jobs wait, which claims it holds, and the protocol to claim and use a slot.

It stands in for a schedd until the real core is there, and is as simple as the protocol allows: ask for the slot,
activate the claim with a job, go on with the next job of the same kind or give the claim back. A job whose machine
falls silent for the length of its lease goes back to the queue; so does one that was evicted. A job that the policy
puts on hold stays there.

Where nothing can be lost, there is a sign of life once a lease, shortly before its end, instead of every
ALIVE_INTERVAL: to the slot it is the same. Unless the run is exhaustive it is not even sent (`signs_of_life`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from roost.classad import ClassAd
from roost.model import effects as ef
from roost.model import events as ev
from roost.model.claims import ClaimRequest
from roost.model.identifiers import ClaimId
from roost.sim.bus import Bus
from roost.sim.engine import Engine
from roost.sim.host import Machine
from roost.sim.process import End
from roost.sim.queue_entry import Entry, Held, Place
from roost.sim.record import Recorder
from roost.sim.run import Run
from roost.sim.signs_of_life import SignsOfLife, interval_s
from roost.sim.waiting import Waiting
from roost.sim.workload import Job

#: Time after which a request that waits for the end of somebody else's job is given up, s.
PREEMPTION_S: Final = 1800.0


class Queue:
    """One queue for the pool."""

    def __init__(self, engine: Engine, bus: Bus, recorder: Recorder, *, exhaustive: bool = False) -> None:
        self.engine = engine
        self.bus = bus
        self.recorder = recorder
        self._alive = True
        #: Signs of life are sent.
        self._beats = exhaustive or bus.faulty
        self._signs = SignsOfLife(bus)
        self.entries: dict[str, Entry] = {}
        self.claims: dict[str, Held] = {}
        self.idle = Waiting(engine)
        self._replies = 0
        #: Owner to the number of jobs that run for them.
        self.running: dict[str, int] = {}
        #: Evictions by a starter's policy after which a job goes on hold, as its own policy would have it.
        self.thrown_out_max = math.inf
        #: What happens when it dies between two messages, and after how many of them it does; None where it does not.
        self.cut: Callable[[], None] = lambda: None
        self._cut_in: int | None = None

    def die_after(self, messages: int | None) -> None:
        """Die between two messages, so many of them from now."""
        self._cut_in = messages

    @property
    def alive(self) -> bool:
        """Whether it runs. One that may fall silent sends its signs of life."""
        return self._alive

    @alive.setter
    def alive(self, alive: bool) -> None:
        self._alive = alive
        self._beats = True
        for held in self._signs.all():
            self._beat_again(held)

    # -- jobs ------------------------------------------------------------------------------------------

    def expect(self, jobs: Iterable[Job]) -> None:
        """Jobs that will be submitted."""
        for job in jobs:
            entry = self.entries[job.name] = Entry(job=job, number=len(self.entries))
            self.engine.at(job.submitted_at, partial(self._submit, entry))

    def _submit(self, entry: Entry, now: float) -> None:
        job = entry.job
        self.recorder.write(now, "submit", job=job.name, owner=job.owner, kind=job.kind)
        self._to_idle(entry)

    def _to_idle(self, entry: Entry) -> None:
        self._put(entry, entry.then)
        entry.claim = None
        if entry.then is not Place.IDLE:
            return
        self.idle.put(entry)

    def _put(self, entry: Entry, place: Place) -> None:
        """A job is somewhere else from now on."""
        owner = entry.job.owner
        if (entry.place is Place.RUNNING) is not (place is Place.RUNNING):
            count = self.running.get(owner, 0)
            self.running[owner] = count + (1 if place is Place.RUNNING else -1)
        entry.place = place

    def lookup(self, ad: ClassAd) -> tuple[Job, float]:
        """The job of an ad, and the work of it that is done, s."""
        entry = self.entries[f"{ad['ClusterId']}.{ad['ProcId']}"]
        return entry.job, entry.done_s

    # -- claiming ----------------------------------------------------------------------------------------

    def matched(
        self,
        machine: Machine,
        claim_id: ClaimId,
        kind: str,
        now: float,
        *,
        preempts: bool = False,
        entry: Entry | None = None,
    ) -> bool:
        """The matcher has found a slot for an idle job, the oldest of a kind if it does not say which.

        False if the queue has asked for the slot, or the job does not wait any more.
        """
        if claim_id.text in self.claims or (entry is not None and entry.place is not Place.IDLE):
            return False
        held, event = self._asked(machine, claim_id, kind, now, entry)
        if preempts:
            held.patience_s = PREEMPTION_S
        # The matcher's word takes its time too, so that the slot usually knows of the match before the claim comes.
        self.bus.send("matcher>queue", lambda _: self._send(held, event), reliable=True)
        return True

    def leftovers(self, machine: Machine, claim_id: ClaimId, kind: str, now: float) -> None:
        """What is left of a slot that was cut for a job may be had for another of its kind."""
        if self.alive and self.idle.head(kind) is not None and claim_id.text not in self.claims:
            self._send(*self._asked(machine, claim_id, kind, now))

    def _asked(
        self, machine: Machine, claim_id: ClaimId, kind: str, now: float, entry: Entry | None = None
    ) -> tuple[Held, ev.ClaimRequested]:
        if entry is None:
            entry = self.idle.pop(kind)
        else:
            self.idle.take(entry)
        held = Held(machine, claim_id, entry, now)
        self._put(entry, Place.CLAIMING)
        entry.claim = held
        self.claims[claim_id.text] = held
        request = ClaimRequest(job_ad=entry.job.ad, schedd="sim", client_machine="submit", reply_to=self._ask(held))
        return held, ev.ClaimRequested(claim_id=claim_id, request=request)

    def _ask(self, held: Held) -> str:
        """The address of an answer, and the end of waiting for it."""
        self._replies += 1
        held.step = self._replies
        step = self._replies

        def give_up(now: float) -> None:
            if held.open and held.step == step:
                self._release(held)

        if self.bus.faulty:
            self.engine.at(self.engine.now + held.patience_s, give_up)
        return f"{held.claim_id.text}|{step}"

    def _send(self, held: Held, event: ev.Event) -> None:
        if self._cut_in is not None:
            self._cut_in -= 1
            if self._cut_in <= 0:
                self._cut_in = None
                self.cut()
        # A daemon that is dead says nothing; whatever it meant to say has been written down.
        if self.alive:
            machine, claim_id = held.machine, held.claim_id
            self._signs.catch_up(machine, self.engine.now)
            self.bus.send(f"queue>{machine.plan.name}", lambda now: machine.address(claim_id, event, now))

    def _release(self, held: Held) -> None:
        """Give a claim back, and take its job back if it does not run there."""
        self._close(held)
        self._send(held, ev.ClaimReleased(claim_id=held.claim_id))

    def _close(self, held: Held) -> None:
        held.open = False
        self._signs.end(held, self.engine.now)
        self.claims.pop(held.claim_id.text, None)
        entry, held.entry = held.entry, None
        if entry is not None and entry.claim is held and entry.place in (Place.CLAIMING, Place.RUNNING):
            self._to_idle(entry)

    def reply(self, effect: ef.Effect, now: float) -> None:
        """An answer or a message of a slot has arrived."""
        if not self.alive:
            return
        match effect:
            case ef.SendClaimReply(reply_to=to, accepted=accepted):
                self._on_claim(self._held(to), accepted, now)
            case ef.SendActivationReply(reply_to=to, accepted=accepted):
                held = self._held(to)
                if held is not None and held.entry is not None and not accepted:
                    self.idle.missed(held.entry, now)
                    self._release(held)
            case ef.SendAliveReply(reply_to=to, known=known):
                held = self.claims.get(to.rsplit("|", 1)[0])
                if held is not None and held.open:
                    held.seen_at = now
                    if not known:
                        self._close(held)
            case ef.TellSchedd(claim_id=claim_id):
                held = self.claims.get(claim_id.text)
                if held is not None:
                    self._close(held)

    def _held(self, reply_to: str) -> Held | None:
        """The claim that an answer belongs to, if it is the one that is waited for."""
        text, step = reply_to.rsplit("|", 1)
        held = self.claims.get(text)
        if held is None or not held.open or held.step != int(step):
            return None
        held.seen_at = self.engine.now
        held.step = 0
        return held

    def _on_claim(self, held: Held | None, accepted: bool, now: float) -> None:
        if held is None:
            return
        if not accepted:
            if held.entry is not None:
                self.idle.missed(held.entry, now)
            self._close(held)
            return
        held.granted = True
        self._activate(held)
        self._keep_alive(held, now)

    def _activate(self, held: Held) -> None:
        entry = held.entry
        assert entry is not None
        # A job is sent with when this run of it began, as the real queue sends it.
        ad = entry.job.ad.copy()
        ad["JobCurrentStartDate"] = int(self.engine.now)
        self._send(held, ev.ActivationRequested(claim_id=held.claim_id, job_ad=ad, reply_to=self._ask(held)))

    # -- signs of life -----------------------------------------------------------------------------------

    def _keep_alive(self, held: Held, now: float) -> None:
        if self._beats:
            interval = 300.0 if self.bus.faulty else interval_s(held)
            self._beat(held, now + interval, interval)
        else:
            self._signs.begin(held, now)

    def _beat_again(self, held: Held) -> None:
        """Signs of life of a claim are sent from now on."""
        due = self._signs.end(held, self.engine.now)
        if due is not None:
            self._beat(held, due, interval_s(held))

    def renewed_at(self, claim_id: ClaimId, now: float) -> float | None:
        """When the last sign of life of a claim reached its slot, if they are not sent."""
        held = self.claims.get(claim_id.text)
        return None if held is None else self._signs.arrived_at(held, now)

    def _beat(self, held: Held, at: float, interval: float) -> None:
        faulty = self.bus.faulty

        def beat(then: float) -> None:
            if not held.open:
                return
            if then - held.seen_at > held.lease_s and faulty:
                self._close(held)
                return
            if self.alive and held.entry is None:
                # The word that it is over has been lost, or that it goes on without a job.
                self._release(held)
                return
            if self.alive:
                to = f"{held.claim_id.text}|alive" if faulty else ""
                self._send(held, ev.AliveReceived(claim_id=held.claim_id, reply_to=to))
            self.engine.at(then + interval, beat)

        self.engine.at(at, beat)

    # -- runs ----------------------------------------------------------------------------------------------

    def run_begun(self, run: Run, now: float) -> None:
        """A starter has begun with a job."""
        entry = self.entries[run.process.job.name]
        entry.starts += 1
        if entry.started_at is None:
            entry.started_at = now
        held = entry.claim
        if entry.place is Place.CLAIMING and held is not None and held.claim_id == run.starter.claim_id:
            self._put(entry, Place.RUNNING)

    def run_started(self, run: Run) -> None:
        """The program of a job runs."""
        self.idle.began(self.entries[run.process.job.name])

    def run_ended(self, run: Run, end: End, now: float) -> None:
        """A starter reports the end of a run. What it says of work done and of completion counts in any case."""
        entry = self.entries[run.process.job.name]
        if entry.place is Place.COMPLETED:
            return
        entry.done_s += end.kept_s if end.outcome != "completed" else 0.0
        held = entry.claim
        mine = held is not None and held.claim_id == run.starter.claim_id
        if end.outcome == "completed":
            self._complete(entry, mine, now)
            return
        entry.evictions += end.outcome == "evicted"
        entry.thrown_out += end.outcome == "evicted" and end.claim_stays
        if held is None or not mine:
            return
        held.entry = None
        if end.outcome == "held" or entry.thrown_out >= self.thrown_out_max:
            self._put(entry, Place.HELD)
            entry.claim, entry.ended_at = None, now
        else:
            if not run.started and entry.then is Place.IDLE:
                self.idle.missed(entry, now)
            self._to_idle(entry)
        if held.deactivated and held.open:
            held.deactivated = False
            self._next_job(held, entry.job.kind)
        elif end.claim_stays or end.outcome == "lost":
            self._release(held)
        else:
            # If it is still there when the next sign of life is due, it is given back.
            self._beat_again(held)

    def _complete(self, entry: Entry, mine: bool, now: float) -> None:
        held = entry.claim
        if entry.place is Place.IDLE:
            self.idle.take(entry)
        self._put(entry, Place.COMPLETED)
        entry.claim, entry.ended_at = None, now
        self.recorder.write(now, "complete", job=entry.job.name, starts=entry.starts, evictions=entry.evictions)
        if held is None:
            return
        held.entry = None
        if not mine:
            self._release(held)
        elif held.open:
            self._next_job(held, entry.job.kind)

    def _next_job(self, held: Held, kind: str) -> None:
        """Another job of the same kind, or the end of the claim."""
        entry = self.idle.next(kind) if self.alive else None
        if entry is None:
            self._release(held)
            return
        self._put(entry, Place.CLAIMING)
        entry.claim, held.entry = held, entry
        self._activate(held)

    # -- orders of users -----------------------------------------------------------------------------------

    def stop(self, name: str, then: Place, now: float) -> None:
        """A job is to stop and then be idle again, held or removed."""
        entry = self.entries[name]
        self.recorder.write(now, "order", job=name, then=str(then))
        entry.then = then
        match entry.place:
            case Place.IDLE if then is not Place.IDLE:
                self.idle.take(entry)
                self._put(entry, then)
            case Place.HELD if then is Place.REMOVED:
                self._put(entry, then)
            case Place.CLAIMING if entry.claim is not None:
                self._release(entry.claim)
            case Place.RUNNING if entry.claim is not None:
                entry.claim.deactivated = True
                self._send(entry.claim, ev.DeactivationRequested(claim_id=entry.claim.claim_id))

    def release(self, name: str, now: float) -> None:
        """A held job may run again."""
        entry = self.entries[name]
        if entry.place is Place.HELD:
            self.recorder.write(now, "order", job=name, then=str(Place.IDLE))
            entry.then = Place.IDLE
            self._to_idle(entry)

    def suspend(self, name: str, suspended: bool) -> None:
        """A running job is to stand still, or to go on."""
        held = self.entries[name].claim
        if held is not None:
            kind = ev.SuspendRequested if suspended else ev.ContinueRequested
            self._send(held, kind(claim_id=held.claim_id))


__all__ = ["Entry", "Held", "Place", "Queue"]
