"""The states of a starter, their stages, and the pairs of them that there are.

Running, Suspended, Vacating and Killing are the states of the job that a job's ad shows as JobState. Preparing is what
comes before its program runs, Finishing what comes after. A stage is what is being worked on within a state; the
time at which a state was entered does not change with the stage.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple


class State(StrEnum):
    """What a starter is about."""

    PREPARING = "Preparing"
    RUNNING = "Running"
    SUSPENDED = "Suspended"
    VACATING = "Vacating"
    KILLING = "Killing"
    FINISHING = "Finishing"
    DONE = "Done"


class Stage(StrEnum):
    """What a starter is working on within its state."""

    SANDBOX = "Sandbox"
    #: The hook before input is moved.
    EARLY_HOOK = "EarlyHook"
    INPUT = "Input"
    HOOK = "Hook"
    PROLOG = "Prolog"
    #: A job that is to start at an instant waits for it; any other passes through.
    DEFERRAL = "Deferral"
    START = "Start"
    #: The job's program is there.
    JOB = "Job"
    #: The program ended to have its state saved; files are moved.
    CHECKPOINT = "Checkpoint"
    #: The hook before the soft signal; the job's program is there.
    VACATE_HOOK = "VacateHook"
    #: The program is to be started once the job may go on.
    UNSTARTED = "Unstarted"
    EPILOG = "Epilog"
    FAILURE_HOOK = "FailureHook"
    EXIT_HOOK = "ExitHook"
    OUTPUT = "Output"
    CLEANUP = "Cleanup"
    NONE = "None"


class Pair(NamedTuple):
    """A state with a stage."""

    state: State
    stage: Stage

    def __str__(self) -> str:
        return f"{self.state}/{self.stage}" if self.stage is not Stage.NONE else str(self.state)


SANDBOX: Final = Pair(State.PREPARING, Stage.SANDBOX)
EARLY_HOOK: Final = Pair(State.PREPARING, Stage.EARLY_HOOK)
INPUT: Final = Pair(State.PREPARING, Stage.INPUT)
HOOK: Final = Pair(State.PREPARING, Stage.HOOK)
PROLOG: Final = Pair(State.PREPARING, Stage.PROLOG)
DEFERRED: Final = Pair(State.PREPARING, Stage.DEFERRAL)
START: Final = Pair(State.PREPARING, Stage.START)
RUNNING: Final = Pair(State.RUNNING, Stage.JOB)
CHECKPOINTING: Final = Pair(State.RUNNING, Stage.CHECKPOINT)
SUSPENDED: Final = Pair(State.SUSPENDED, Stage.JOB)
SUSPENDED_CHECKPOINTING: Final = Pair(State.SUSPENDED, Stage.CHECKPOINT)
UNSTARTED: Final = Pair(State.SUSPENDED, Stage.UNSTARTED)
VACATE_HOOK: Final = Pair(State.VACATING, Stage.VACATE_HOOK)
VACATING: Final = Pair(State.VACATING, Stage.JOB)
VACATING_CHECKPOINTING: Final = Pair(State.VACATING, Stage.CHECKPOINT)
KILLING: Final = Pair(State.KILLING, Stage.JOB)
EPILOG: Final = Pair(State.FINISHING, Stage.EPILOG)
FAILURE_HOOK: Final = Pair(State.FINISHING, Stage.FAILURE_HOOK)
EXIT_HOOK: Final = Pair(State.FINISHING, Stage.EXIT_HOOK)
OUTPUT: Final = Pair(State.FINISHING, Stage.OUTPUT)
CLEANUP: Final = Pair(State.FINISHING, Stage.CLEANUP)
DONE: Final = Pair(State.DONE, Stage.NONE)

#: All pairs, in the order in which a run goes through them.
PAIRS: Final[tuple[Pair, ...]] = (
    SANDBOX,
    EARLY_HOOK,
    INPUT,
    HOOK,
    PROLOG,
    DEFERRED,
    START,
    RUNNING,
    CHECKPOINTING,
    SUSPENDED,
    SUSPENDED_CHECKPOINTING,
    UNSTARTED,
    VACATE_HOOK,
    VACATING,
    VACATING_CHECKPOINTING,
    KILLING,
    EPILOG,
    FAILURE_HOOK,
    EXIT_HOOK,
    OUTPUT,
    CLEANUP,
    DONE,
)

#: Pairs in which a process of the job may be there.
WITH_PROCESS: Final = frozenset((START, RUNNING, SUSPENDED, VACATE_HOOK, VACATING, KILLING))

#: States that an ad shows as JobState.
JOB_STATES: Final = frozenset((State.RUNNING, State.SUSPENDED, State.VACATING, State.KILLING))

#: States in which the starter's policy is evaluated.
EVALUATED: Final = frozenset((State.RUNNING, State.SUSPENDED, State.VACATING))
