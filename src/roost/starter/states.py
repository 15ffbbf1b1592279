"""The states of a starter, their stages, and the legal pairs of them.

Running, Suspended, Vacating and Killing are the states of the job that a job's ad shows as JobState. Preparing comes
before its program runs, Finishing after. A stage is the work in progress within a state; a change of stage does not
change the time at which the state was entered.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple


class State(StrEnum):
    """What a starter is doing."""

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
    #: A deferred job waits for its start time; any other job passes through.
    DEFERRAL = "Deferral"
    START = "Start"
    #: The job's program exists.
    JOB = "Job"
    #: The program ended for a checkpoint; files are being transferred.
    CHECKPOINT = "Checkpoint"
    #: The hook before the soft signal runs; the job's program exists.
    VACATE_HOOK = "VacateHook"
    #: The program will be started once the job may continue.
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

#: All pairs, in the order of a run.
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

#: Pairs in which a process of the job may exist.
WITH_PROCESS: Final = frozenset((START, RUNNING, SUSPENDED, VACATE_HOOK, VACATING, KILLING))

#: States that an ad shows as JobState.
JOB_STATES: Final = frozenset((State.RUNNING, State.SUSPENDED, State.VACATING, State.KILLING))

#: States in which the starter's policy is evaluated.
EVALUATED: Final = frozenset((State.RUNNING, State.SUSPENDED, State.VACATING))
