"""Who is told what happens on simulated machines: the world they are in, seen from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from roost.classad import ClassAd
from roost.model.claims import ClaimKind
from roost.model.identifiers import ClaimId
from roost.schedd.events import Event
from roost.sim.inputs.workload import Job
from roost.sim.machine.process import End, Process
from roost.sim.machine.scripts import Scripts
from roost.startd.machine import Step
from roost.starter.machine import Step as StarterStep

if TYPE_CHECKING:
    from roost.sim.machine.host import Machine, Slot
    from roost.sim.machine.run import Run


class Watcher(Protocol):
    """Who is told what happens on machines, and knows the jobs."""

    @property
    def scripts(self) -> Scripts:
        """Hooks, prologs and epilogs."""

    def stepped(self, machine: Machine, slot: Slot, step: Step, now: float) -> None:
        """A slot has taken transitions."""

    def starter_stepped(self, machine: Machine, slot: Slot, step: StarterStep, now: float) -> None:
        """A starter has taken transitions."""

    def run_begun(self, machine: Machine, slot: Slot, run: Run, now: float) -> None:
        """A starter has begun with a job."""

    def ran(self, machine: Machine, slot: Slot, process: Process, begin: float, end: float) -> None:
        """A job has run for a stretch without standing still."""

    def run_ended(self, machine: Machine, slot: Slot, run: Run, end: End, now: float) -> None:
        """A run is over."""

    def say(self, machine: Machine, event: Event) -> None:
        """A machine has something to say to the queue."""

    def divided(self, machine: Machine) -> None:
        """A part of a slot has been claimed, and the rest of it may be had."""

    def job_of(self, ad: ClassAd, kind: ClaimKind) -> tuple[Job, float]:
        """The job of an ad, and the work of it that is done, s."""

    def renewed_at(self, machine: Machine, claim_id: ClaimId, now: float) -> float | None:
        """When the last sign of life of a claim came that was not sent; None if there was none."""

    @property
    def alive_interval_s(self) -> float:
        """How often the queue says that it lives, s."""

    def measures(self, job: Job) -> bool:
        """Whether the queue is told what a running job uses."""

    @property
    def tells_files(self) -> bool:
        """Whether the queue is told of files that are moved."""

    def fetch(self, machine: Machine, slot: Slot) -> ClassAd | None:
        """Work for a slot that fetches it."""

    def fetched(self, job_ad: ClassAd, accepted: bool) -> None:
        """What became of fetched work."""

    def qconf(self, line: str, user: str, now: float) -> int:
        """A program around a job runs `qconf` as a user; its exit status."""

    def reconfigured(self, machine: Machine) -> None:
        """A machine has read its configuration anew."""

    def cut(self, machine: Machine, now: float) -> None:
        """The machine dies between two orders."""

    def ended(self, machine: Machine, now: float) -> None:
        """The daemon ends, because a drain said so."""
