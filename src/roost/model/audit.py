"""Audit records of decisions: who decided what, when, and by which expression of which configuration.

The core that decides makes the record. Its id identifies the decision: the same decision reported again, by a duplicate
message or by a cycle with the same result, is the same record and replaces the earlier version. A decision about very
many jobs or slots is one record that counts them and names some.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from roost.base.records import dataclass, field
from roost.base.structs import Struct

#: Most sample names in a record.
SAMPLES_MAX: Final = 20
#: Longest text, characters; longer ones are truncated.
TEXT_MAX: Final = 2_000


class AuditKind(StrEnum):
    """The kind of a decision."""

    #: The pool's policy kept an ad out of matchmaking.
    DISCARD = "discard"
    #: It prevented matches.
    VETO = "veto"
    #: One of its expressions was ERROR.
    POLICY_ERROR = "policy-error"
    #: A match that NEGOTIATOR_PE_AUDIT_EXPR selects for auditing.
    MATCH = "match"
    #: The matchmaker gave a slot in use to another user.
    PREEMPTION = "preemption"
    #: A machine evicts a job.
    EVICTION = "eviction"
    HOLD = "hold"
    RELEASE = "release"
    REMOVAL = "removal"
    #: A drain of a machine begins or ends.
    DRAIN = "drain"
    #: Anything else that a user ordered.
    COMMAND = "command"
    #: A daemon has adopted another configuration.
    CONFIGURATION = "configuration"


class Effect(StrEnum):
    """The outcome of a decision."""

    DONE = "done"
    #: The user lacked permission, or it was not possible.
    REFUSED = "refused"
    #: Only logged: what an unenforced policy would have done.
    WOULD_DISCARD = "would-discard"
    WOULD_ADMIT = "would-admit"
    WOULD_PREVENT = "would-prevent"
    WOULD_ALLOW = "would-allow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """An expression and where it was set."""

    text: str
    #: ``file:line``; "" where it was not configured.
    place: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class InForce:
    """The configuration in force, as its records refer to it."""

    #: Digest of the configuration.
    configuration: str = ""
    #: Knob to its expression.
    sources: Mapping[str, Source] = field(default_factory=lambda: MappingProxyType({}))

    def of(self, knob: str) -> Source:
        """The source of a knob, empty if unknown."""
        return self.sources.get(knob, _NOWHERE)


_NOWHERE: Final = Source(text="")
#: The default for a core without this information.
NOTHING_KNOWN: Final = InForce()


_NOTHING_SET: Final[dict[str, str]] = {}


class Detail(Struct):
    """Details that apply to some decisions only; empty ones do not apply."""

    #: Of an eviction: the program of the evicted fetched job, or of the fetched job that displaces it.
    fetched: str = ""
    for_: str = ""
    #: Of a match of a request with several jobs, one of which the queue chose: the first job, and their number.
    like: str = ""
    among: int = 0
    #: Of a recurring cause: the number of cycles in which it occurred.
    cycles: int = 0
    #: Of a configuration: where it was read, and name to its new text with the place, "" for a removed one.
    sources: tuple[str, ...] = ()
    set: dict[str, str] = _NOTHING_SET


_NO_DETAIL: Final = Detail()


class AuditRecord(Struct):
    """One decision."""

    #: Unique among the records of the daemon that made it.
    id: str
    kind: AuditKind
    #: When the decision was made, and when it last applied, epoch s.
    at: float
    until: float
    effect: Effect = Effect.DONE
    #: The user who ordered it; "" where a policy decided.
    actor: str = ""
    #: The user whose job it concerns, or who would have got the slot.
    user: str = ""
    #: The user who lost by it; "" for none.
    loser: str = ""
    machine: str = ""
    slot: str = ""
    job: str = ""
    #: The id of the request that led to it: the one that ordered it, otherwise the submission of the job.
    request: str = ""
    #: The id of the request that submitted the job, or the jobs.
    submission: str = ""
    #: Knob or attribute whose expression decided; "" if none did.
    knob: str = ""
    expression: str = ""
    place: str = ""
    #: Digest of the configuration that was in force.
    configuration: str = ""
    reason: str = ""
    #: How many ads, matches or jobs; for a recurring cause, the maximum at one time.
    count: int = 1
    #: Some of them.
    samples: tuple[str, ...] = ()
    detail: Detail = _NO_DETAIL
    #: Role and name of the daemon that made it, which the central manager adds.
    origin: str = ""


def clipped(text: str) -> str:
    """The text, truncated to TEXT_MAX."""
    return text if len(text) <= TEXT_MAX else text[: TEXT_MAX - 1] + "\N{HORIZONTAL ELLIPSIS}"


def some(names: Iterable[str]) -> tuple[str, ...]:
    """The first names, at most SAMPLES_MAX."""
    found: list[str] = []
    for name in names:
        if len(found) == SAMPLES_MAX:
            break
        found.append(name)
    return tuple(found)
