"""A simulated machine's own work: benchmarks, the backfill client, and hooks that fetch work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from roost.classad import ClassAd
from roost.model import effects as ef
from roost.model import events as ev

if TYPE_CHECKING:
    from roost.sim.machine.host import Machine, SimulatedSlot

#: Durations of benchmarks, of starting and killing the backfill client, and of a hook, s.
BENCHMARK_S: Final = 20.0
CLIENT_START_S: Final = 2.0
CLIENT_KILL_S: Final = 1.0
FETCH_S: Final = 1.0


class OwnWork:
    """The own work of one machine."""

    __slots__ = ("_client", "_starting", "machine")

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._starting = False
        #: Number of the only pending event of the backfill client.
        self._client = 0

    def begin(self) -> None:
        """Start the daemon."""
        self._starting = False
        self._client += 1

    def perform(self, slot: SimulatedSlot, effect: Any, now: float) -> None:
        """Carry out an effect that concerns the machine's own work; ignore any other."""
        match effect:
            case ef.RunBenchmarks():
                self._benchmark(slot, now)
            case ef.CancelBenchmarks():
                slot.benchmark += 1
            case ef.StartBackfill():
                self._start_client(now)
            case ef.KillBackfill():
                self._kill_client(now)
            case ef.FetchWork():
                self._fetch(slot, now)
            case ef.ReplyFetch(accepted=accepted, job_ad=job_ad):
                self._tell(slot, "REPLY_FETCH", job_ad, accepted)
            case ef.EvictFetched(job_ad=job_ad):
                self._tell(slot, "EVICT_CLAIM", job_ad, False)

    def _tell(self, slot: SimulatedSlot, hook: str, job_ad: ClassAd, accepted: bool) -> None:
        """Report to the source what happens to its work, if there is a hook for that."""
        if (slot.plan.id.number, hook) not in self.machine.plan.silent_hooks:
            self.machine.watcher.fetched(job_ad, accepted)

    def _benchmark(self, slot: SimulatedSlot, now: float) -> None:
        slot.benchmark += 1
        machine = self.machine
        setting, life = slot.benchmark, machine.lives
        event = ev.BenchmarksFinished(mips=machine.plan.mips, kflops=machine.plan.kflops)

        def finish(then: float) -> None:
            if slot.benchmark == setting and machine.lives == life:
                machine.tell(slot, event, then)

        machine.engine.at(now + BENCHMARK_S, finish)

    # -- backfill ----------------------------------------------------------------------------------------

    def _start_client(self, now: float) -> None:
        if not self.machine.host.backfill_running and not self._starting:
            self._starting = True
            self._later(CLIENT_START_S, True, now)

    def _kill_client(self, now: float) -> None:
        self._starting = False
        self._later(CLIENT_KILL_S, False, now)

    def _later(self, seconds: float, running: bool, now: float) -> None:
        self._client += 1
        number, machine = self._client, self.machine

        def happen(then: float) -> None:
            if number == self._client:
                self._starting = False
                machine.backfill(running, then)

        machine.engine.at(now + seconds, happen)

    # -- fetched work ------------------------------------------------------------------------------------

    def _fetch(self, slot: SimulatedSlot, now: float) -> None:
        machine = self.machine
        life = machine.lives

        def bring(then: float) -> None:
            if machine.lives == life and machine.alive and not slot.state.deleted:
                machine.tell(slot, ev.FetchedWorkOffered(job_ad=machine.watcher.fetch(machine, slot)), then)

        machine.engine.at(now + FETCH_S, bring)
