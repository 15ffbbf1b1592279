"""A hand to drive a starter with: scripts of events read as sentences, results are compared whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from roost.classad import ClassAd
from roost.model import starter_events as ev
from roost.model.starter import Cause, Ending, ExitReport, OrderedBy, StarterTimer, Usage
from roost.model.starter_effects import CancelStarterTimer, ReportExit, SetStarterTimer, StarterEffect
from roost.starter.hooks import HookProgram
from roost.starter.machine import StarterStep, begin, step
from roost.starter.policy_inputs import StarterPolicy
from roost.starter.starter_state import Launch, StarterState
from roost.starter.work import StarterTaken

#: When scripts begin, epoch s.
START: Final = 1_000_000.0

PREEMPTED: Final = Cause(
    ending=Ending.EVICT, code=1011, text="PREEMPT expression evaluated to True", by=OrderedBy.STARTD
)
HELD: Final = Cause(ending=Ending.HOLD, code=1, text="via condor_hold", by=OrderedBy.QUEUE)
REMOVED: Final = Cause(ending=Ending.REMOVE, code=0, text="via condor_rm", by=OrderedBy.QUEUE)


def policy(expressions: Mapping[str, str] | None = None, **settings: Any) -> StarterPolicy:
    return StarterPolicy.of(expressions or {}, **settings)


def hook(path: str = "/hooks/one", **settings: Any) -> HookProgram:
    return HookProgram(path=path, **settings)


def job(**attributes: Any) -> ClassAd:
    """A job that needs no files moved."""
    return ClassAd({"JobUniverse": 5, "Cmd": "/bin/job", "ShouldTransferFiles": "NO", **attributes})


def shares(**attributes: Any) -> ClassAd:
    return ClassAd({"Memory": 512, "Cpus": 1, "SlotID": 1, **attributes})


def usage(image_size_kib: int = 1000, **more: Any) -> Usage:
    return Usage(
        **{
            "image_size_kib": image_size_kib,
            "resident_kib": 500,
            "user_cpu_s": 1.0,
            "system_cpu_s": 0.5,
            "process_count": 1,
            **more,
        }
    )


@dataclass
class Hand:
    """Feeds events to one starter, with a clock of its own, and remembers what came of them."""

    policy: StarterPolicy = field(default_factory=policy)
    job: ClassAd = field(default_factory=job)
    launch: dict[str, Any] = field(default_factory=dict)
    now: float = START

    def __post_init__(self) -> None:
        made = Launch(**{"job_ad": self.job, "slot": "slot1@host", "shares": shares(), **self.launch})
        self.last: StarterStep = begin(made, self.now, self.policy)
        self.state: StarterState = self.last.state
        self.history: list[StarterEffect] = list(self.last.effects)
        self.taken: list[StarterTaken] = []
        self.timers: dict[StarterTimer, float] = {}

    def feed(self, *events: ev.StarterEvent) -> Hand:
        for event in events:
            self.last = step(self.state, event, self.now, self.policy)
            self.state = self.last.state
            self.history += self.last.effects
            self.taken += self.last.transitions
            for effect in self.last.effects:
                match effect:
                    case SetStarterTimer(timer=timer, at=at):
                        self.timers[timer] = at
                    case CancelStarterTimer(timer=timer):
                        self.timers.pop(timer, None)
        return self

    def go_on(self, resumed: StarterStep) -> Hand:
        """After the death of the starter: no timer is left but those that are set again."""
        self.last, self.state = resumed, resumed.state
        self.history += resumed.effects
        self.taken += resumed.transitions
        self.timers = {effect.timer: effect.at for effect in resumed.effects if isinstance(effect, SetStarterTimer)}
        return self

    def wait(self, seconds: float) -> Hand:
        """Let time pass; timers go off when they are due, in the order of their times, each once."""
        until, order = self.now + seconds, list(StarterTimer)
        while self.timers:
            at, index = min((at, order.index(timer)) for timer, at in self.timers.items())
            if at > until:
                break
            self.now = max(self.now, at)
            del self.timers[order[index]]
            self.feed(ev.StarterTimerFired(timer=order[index]))
        self.now = until
        return self

    def timer(self, timer: StarterTimer) -> float | None:
        """When a timer is set to go off."""
        return self.timers.get(timer)

    def running(self) -> Hand:
        """Go on until the job runs, with nothing to prepare."""
        return self.feed(ev.SandboxMade(), ev.JobStarted(run=1, pid=4711))

    def sample(self, image_size_kib: int, **more: Any) -> Hand:
        return self.feed(ev.UsageSampled(run=self.state.run, usage=usage(image_size_kib, **more)))

    def ended(self, code: int | None = None, signal: int | None = None) -> Hand:
        return self.feed(ev.JobEnded(run=self.state.run, exit_code=code, signal=signal))

    @property
    def at(self) -> str:
        return str(self.state.pair)

    @property
    def orders(self) -> list[StarterEffect]:
        """What the last event led to, without timers."""
        return [effect for effect in self.last.effects if not isinstance(effect, SetStarterTimer | CancelStarterTimer)]

    @property
    def rows(self) -> list[int]:
        """Numbers of the rows that the last event took."""
        return [taken.number for taken in self.last.transitions]

    @property
    def report(self) -> ExitReport:
        """The one report."""
        (found,) = [effect.report for effect in self.history if isinstance(effect, ReportExit)]
        return found
