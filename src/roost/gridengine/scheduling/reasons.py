"""Why a job waits, as values; their text is Grid Engine's own sentence, as `qstat -j` prints it.

A run finds far more reasons than users read, so a `Reason` holds the values of its sentence and is formatted only when
shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Final, NamedTuple

from roost.gridengine.objects.complex import Complex, Type
from roost.gridengine.objects.pairs import Pair


class ReasonCode(StrEnum):
    """The kind of a reason."""

    # of a job
    HELD = "held"
    ERROR = "error"
    DEPENDS = "depends"
    NO_RESERVATION = "no reservation"
    RESERVATION_ERROR = "reservation error"
    TOO_EARLY = "too early"
    USER_LIMIT = "user limit"
    TASK_LIMIT = "task limit"
    PENDING_LIMIT = "pending limit"
    # of an instance, for all jobs
    FULL = "full"
    DISABLED = "disabled"
    NOT_AVAILABLE = "not available"
    OVERLOADED = "overloaded"
    SUSPEND_ALARM = "suspend alarm"
    NO_SEAT = "no seat"
    ALL_DROPPED = "all dropped"
    # of a job in a place
    NOT_IN_QUEUES = "not in queues"
    PERMISSION = "permission"
    PROJECT = "project"
    QUEUE_VALUES = "queue values"
    QUEUE_TYPE = "queue type"
    CHECKPOINT = "checkpoint"
    UNKNOWN_RESOURCE = "unknown resource"
    FORCED = "forced"
    OFFERS = "offers"
    EXCLUSIVE = "exclusive"
    QUOTA = "quota"
    NOT_IN_PE_LIST = "not in pe list"
    PE_OFFERS = "pe offers"
    NO_PE = "no pe"
    MACHINE = "machine"
    CLEAN_UP = "clean up"


class Reason(NamedTuple):
    """A reason, shared by many jobs."""

    code: ReasonCode
    #: the values of the sentence, in order
    values: tuple[object, ...] = ()

    def sentence(self, hard: Iterable[Pair] = ()) -> str:
        """The reason in Grid Engine's words, for a job with hard requests."""
        text = _SENTENCES[self.code](*self.values)
        return f"{_requests(hard)} {text}" if self.code in _OF_REQUESTS else text


class ResourceOffer(NamedTuple):
    """A value that a place offers: the level (g, h, q), its source (c booked, f fixed, l load), and the value."""

    level: str
    source: str
    definition: Complex
    value: float | str

    def __str__(self) -> str:
        return f"{self.level}{self.source}:{self.definition.name}={amount(self.definition, self.value)}"


class Where(NamedTuple):
    """A place as sentences name it: the level (g, h, q) and the name."""

    level: str
    name: str

    def __str__(self) -> str:
        match self.level:
            case "g":
                return "globally"
            case "h":
                return f'at host "{self.name}"'
            case _:
                return f'in queue "{self.name}"'


def _requests(hard: Iterable[Pair]) -> str:
    return f"(-l {','.join(f'{name}={text}' for name, text in sorted(hard)) or 'NONE'})"


def _dropped(why: str) -> Callable[..., str]:
    return lambda instance: f'queue instance "{instance}" dropped because {why}'


def _for_default(default: object) -> str:
    return "for default request " if default else ""


def _quota(label: str, apart: Iterable[str]) -> str:
    return f'cannot run because it exceeds limit "{"/".join(apart)}/" in rule "{label}"'


#: sentences that begin with the hard requests of the job
_OF_REQUESTS: Final = frozenset(
    {ReasonCode.QUEUE_VALUES, ReasonCode.UNKNOWN_RESOURCE, ReasonCode.OFFERS, ReasonCode.EXCLUSIVE}
)
_SENTENCES: Final[dict[ReasonCode, Callable[..., str]]] = {
    ReasonCode.HELD: lambda: "Job is in hold state",
    ReasonCode.ERROR: lambda: "Job is in error state",
    ReasonCode.DEPENDS: lambda: "job dropped because of job dependencies",
    # Grid Engine gives no reason for these two.
    ReasonCode.NO_RESERVATION: lambda number: f"advance reservation {number} does not exist",
    ReasonCode.RESERVATION_ERROR: lambda number: (
        f"advance reservation {number} is in error state, and its errors are hard"
    ),
    ReasonCode.TOO_EARLY: lambda: "execution time not reached",
    ReasonCode.USER_LIMIT: lambda: "job dropped because of user limitations",
    ReasonCode.TASK_LIMIT: lambda: "not all array tasks may be started due to 'max_aj_instances'",
    ReasonCode.PENDING_LIMIT: lambda limit: (
        f"not more than max_pending_tasks_per_job={limit} array tasks start in one run"
    ),
    ReasonCode.FULL: _dropped("it is full"),
    ReasonCode.DISABLED: _dropped("it is disabled"),
    ReasonCode.NOT_AVAILABLE: _dropped("it is temporarily not available"),
    ReasonCode.OVERLOADED: lambda instance, overload: _dropped(f"it is overloaded: {overload}")(instance),
    ReasonCode.SUSPEND_ALARM: lambda instance, overload: f'queue instance "{instance}" is in suspend alarm: {overload}',
    # Grid Engine has no machines with their own slots and policies.
    ReasonCode.NO_SEAT: _dropped("the machine of its host has no slot free"),
    ReasonCode.ALL_DROPPED: lambda: "All queues dropped because of overload or full",
    ReasonCode.NOT_IN_QUEUES: lambda name: (
        f'cannot run in queue "{name}" because it is not contained in its hard queue list (-q)'
    ),
    ReasonCode.PERMISSION: lambda kind, name: (
        f'cannot run because no access to PE "{name}"' if kind == "PE" else f'has no permission for {kind} "{name}"'
    ),
    ReasonCode.PROJECT: lambda project, where, name: (
        f'({project or "no project"}) does not have the correct project to run {where} "{name}"'
    ),
    ReasonCode.QUEUE_VALUES: lambda queue: f'cannot run in queue "{queue}" because of cluster queue',
    ReasonCode.QUEUE_TYPE: lambda name, kind: f'cannot run in queue instance "{name}" because it is not of type {kind}',
    ReasonCode.CHECKPOINT: lambda name, interface: (
        f'queue instance "{name}" does not offer the checkpointing interface "{interface}"'
    ),
    ReasonCode.UNKNOWN_RESOURCE: lambda where, name: (
        f"cannot run {f'{where} ' if where else ''}because job requests unknown resource ({name})"
    ),
    ReasonCode.FORCED: lambda name, kind, place: f"does not request 'forced' resource \"{name}\" of {kind} {place}",
    ReasonCode.OFFERS: lambda where, default, offer, reserved=False: (
        f"cannot run {where} because {_for_default(default)}it offers only {offer}"
        f"{' due to a reservation' if reserved else ''}"
    ),
    ReasonCode.EXCLUSIVE: lambda where, default, name: (
        f"cannot run {where} because {_for_default(default)}exclusive resource ({name}) is already in use"
    ),
    ReasonCode.QUOTA: _quota,
    ReasonCode.NOT_IN_PE_LIST: lambda queue, environment: (
        f'cannot run in queue "{queue}" because PE "{environment}" is not in PE list'
    ),
    ReasonCode.PE_OFFERS: lambda environment, slots: (
        f'cannot run in PE "{environment}" because it only offers {slots} slots'
    ),
    ReasonCode.NO_PE: lambda pattern: f'cannot run because no PE of the cell matches "{pattern}"',
    ReasonCode.CLEAN_UP: lambda host: f'cannot run on host "{host}" until clean up of a previous run has finished',
    ReasonCode.MACHINE: lambda host: (
        f'cannot run at host "{host}" because its machine refuses the job, has too little left for it, '
        "or is not what the job requires"
    ),
}


def amount(definition: Complex, value: float | str) -> str:
    """A value as reasons show it."""
    if isinstance(value, str):
        return value
    if value == float("inf"):
        return "INFINITY"
    match definition.type:
        case Type.MEMORY:
            for letter, unit in (("T", 2**40), ("G", 2**30), ("M", 2**20), ("K", 2**10)):
                if abs(value) >= unit:
                    return f"{value / unit:.3f}{letter}"
            return f"{value:.3f}"
        case Type.TIME:
            minutes, second = divmod(int(value), 60)
            return f"{minutes // 60:02d}:{minutes % 60:02d}:{second:02d}"
        case Type.BOOL:
            return "true" if value else "false"
        case _:
            return f"{value:.6f}"
