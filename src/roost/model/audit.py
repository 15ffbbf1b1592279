"""A decision, for the record: who made it, when, about what, by which expression of which configuration.

A record is made where the decision is, by the core that takes it. Its id names the decision: the same decision said
again, by a message that was sent twice or by a cycle that comes to the same, is the same record, and takes the place
of what was known of it. What is decided about very many at once is one record that counts them and names some.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from roost.base.records import dataclass, field
from roost.base.structs import Struct

#: Names of those that a record counts.
SAMPLES_MAX: Final = 20
#: Characters of a text; what is longer is cut.
TEXT_MAX: Final = 2_000


class AuditKind(StrEnum):
    """What kind of decision it was."""

    #: The pool's policy kept an ad out of matchmaking.
    DISCARD = "discard"
    #: It prevented matches.
    VETO = "veto"
    #: One of its expressions was ERROR.
    POLICY_ERROR = "policy-error"
    #: A match that NEGOTIATOR_PE_AUDIT_EXPR wants on record.
    MATCH = "match"
    #: The matchmaker gave a slot in use to another user.
    PREEMPTION = "preemption"
    #: A machine gets rid of a job.
    EVICTION = "eviction"
    HOLD = "hold"
    RELEASE = "release"
    REMOVAL = "removal"
    #: A machine is drained, or not any more.
    DRAIN = "drain"
    #: Anything else that a user ordered.
    COMMAND = "command"
    #: A daemon works with another configuration.
    CONFIGURATION = "configuration"


class Effect(StrEnum):
    """What came of it."""

    DONE = "done"
    #: The user was not allowed to, or it could not be done.
    REFUSED = "refused"
    #: Only noted: what a policy that is not enforced would have done.
    WOULD_DISCARD = "would-discard"
    WOULD_ADMIT = "would-admit"
    WOULD_PREVENT = "would-prevent"
    WOULD_ALLOW = "would-allow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where an expression came from."""

    text: str
    #: ``file:line``; "" where it was not configured.
    place: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class InForce:
    """What a core works by, as far as its records say it."""

    #: Digest of the configuration.
    configuration: str = ""
    #: Knob to its expression.
    sources: Mapping[str, Source] = field(default_factory=lambda: MappingProxyType({}))

    def of(self, knob: str) -> Source:
        """The source of a knob, empty if it is not known."""
        return self.sources.get(knob, _NOWHERE)


_NOWHERE: Final = Source(text="")
#: Of a core that was told nothing.
NOTHING_KNOWN: Final = InForce()


_NOTHING_SET: Final[dict[str, str]] = {}


class Detail(Struct):
    """What there is to say of some decisions only; what is empty does not apply."""

    #: Of an eviction: the program of a fetched job that goes, or of the one that it goes for.
    fetched: str = ""
    for_: str = ""
    #: Of a match of a request of several jobs, of which the queue chose one: the first of them, and how many they were.
    like: str = ""
    among: int = 0
    #: Of what goes on: in how many cycles it was met.
    cycles: int = 0
    #: Of a configuration: where it was read, and name to its new text with the place, "" for one that is gone.
    sources: tuple[str, ...] = ()
    set: dict[str, str] = _NOTHING_SET


_NO_DETAIL: Final = Detail()


class AuditRecord(Struct):
    """One decision."""

    #: Unique among the records of the daemon that made it.
    id: str
    kind: AuditKind
    #: When it was taken, and when it was seen to be in force last, epoch s.
    at: float
    until: float
    effect: Effect = Effect.DONE
    #: The user who ordered it; "" where a policy decided.
    actor: str = ""
    #: Whose job it is about, or who would have got the slot.
    user: str = ""
    #: Whose loss it was; "" for nobody's.
    loser: str = ""
    machine: str = ""
    slot: str = ""
    job: str = ""
    #: The id of the request that led to it: the one that ordered it, otherwise the submission of the job.
    request: str = ""
    #: The id of the request that submitted the job, or the jobs.
    submission: str = ""
    #: Knob or attribute whose expression decided; "" where none did.
    knob: str = ""
    expression: str = ""
    place: str = ""
    #: Digest of the configuration that was in force.
    configuration: str = ""
    reason: str = ""
    #: How many ads, matches or jobs; where it went on, the most at one time.
    count: int = 1
    #: Some of them.
    samples: tuple[str, ...] = ()
    detail: Detail = _NO_DETAIL
    #: Role and name of the daemon that made it, which the central manager adds.
    origin: str = ""


def clipped(text: str) -> str:
    """A text that is short enough for a record."""
    return text if len(text) <= TEXT_MAX else text[: TEXT_MAX - 1] + "\N{HORIZONTAL ELLIPSIS}"


def some(names: Iterable[str]) -> tuple[str, ...]:
    """The first of some names."""
    found: list[str] = []
    for name in names:
        if len(found) == SAMPLES_MAX:
            break
        found.append(name)
    return tuple(found)
