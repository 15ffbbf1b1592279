"""The observer of simulated machines: the world they are in, from their side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from roost.classad import ClassAd
from roost.model.claims import ClaimKind
from roost.model.identifiers import ClaimId
from roost.schedd.events import Event
from roost.sim.inputs.workload import Job
from roost.sim.machine.process import End, Process
from roost.sim.machine.scripts import Scripts
from roost.startd.machine import SlotStep
from roost.starter.machine import StarterStep

if TYPE_CHECKING:
    from roost.sim.machine.host import Machine, SimulatedSlot
    from roost.sim.machine.run import Run


class Watcher(Protocol):
    """The observer of what happens on machines; it also knows the jobs."""

    @property
    def scripts(self) -> Scripts:
        """Hooks, prologs and epilogs."""

    def stepped(self, machine: Machine, slot: SimulatedSlot, step: SlotStep, now: float) -> None:
        """A slot has taken transitions."""

    def starter_stepped(self, machine: Machine, slot: SimulatedSlot, step: StarterStep, now: float) -> None:
        """A starter has taken transitions."""

    def run_begun(self, machine: Machine, slot: SimulatedSlot, run: Run, now: float) -> None:
        """A starter has started a job."""

    def ran(self, machine: Machine, slot: SimulatedSlot, process: Process, begin: float, end: float) -> None:
        """A job has run for a stretch without being stopped."""

    def run_ended(self, machine: Machine, slot: SimulatedSlot, run: Run, end: End, now: float) -> None:
        """A run is over."""

    def say(self, machine: Machine, event: Event) -> None:
        """A machine sends a message to the queue."""

    def divided(self, machine: Machine) -> None:
        """Part of a slot has been claimed, and the rest of it is available."""

    def job_of(self, ad: ClassAd, kind: ClaimKind) -> tuple[Job, float]:
        """The job of an ad, and its completed work, s."""

    def renewed_at(self, machine: Machine, claim_id: ClaimId, now: float) -> float | None:
        """When the last keepalive of a claim arrived that was not sent; None if there was none."""

    @property
    def alive_interval_s(self) -> float:
        """The interval of the queue's keepalives, s."""

    def measures(self, job: Job) -> bool:
        """Whether the queue receives the usage of running jobs."""

    @property
    def tells_files(self) -> bool:
        """Whether the queue is notified of file transfers."""

    def fetch(self, machine: Machine, slot: SimulatedSlot) -> ClassAd | None:
        """Work for a slot that fetches it."""

    def fetched(self, job_ad: ClassAd, accepted: bool) -> None:
        """What happened to fetched work."""

    def qconf(self, line: str, user: str, now: float) -> int:
        """A program around a job runs `qconf` as a user; returns its exit status."""

    def reconfigured(self, machine: Machine) -> None:
        """A machine has read its configuration again."""

    def cut(self, machine: Machine, now: float) -> None:
        """The machine dies between two effects."""

    def ended(self, machine: Machine, now: float) -> None:
        """The daemon ends because a drain ordered it."""
