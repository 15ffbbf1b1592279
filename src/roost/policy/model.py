"""The data types of the catalogue: what Roost knows about policy expressions and about the attributes of ads."""

from __future__ import annotations

from enum import StrEnum

from roost.base.records import dataclass


class ValueKind(StrEnum):
    """The type an attribute or expression has when it is defined."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    REAL = "real"
    #: Integer or real.
    NUMBER = "number"
    STRING = "string"
    #: A string holding a list of items.
    STRING_LIST = "string list"
    LIST = "list"
    AD = "classad"
    ANY = "any"


class Unit(StrEnum):
    """What a number counts."""

    NONE = ""
    SECONDS = "s"
    #: Seconds since 1970-01-01T00:00:00Z.
    INSTANT = "epoch s"
    MINUTES = "min"
    KIB = "KiB"
    MIB = "MiB"
    BYTES = "B"
    CORES = "cores"
    LOAD = "load"
    PERCENT = "%"
    COUNT = "count"


class AdKind(StrEnum):
    """The kind of ad an attribute belongs to, or an expression is evaluated in."""

    MACHINE = "machine"
    JOB = "job"
    SUBMITTER = "submitter"
    SCHEDD = "schedd"
    STARTER = "starter"
    NEGOTIATOR = "negotiator"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """One attribute of an ad."""

    name: str
    side: AdKind
    kind: ValueKind
    unit: Unit = Unit.NONE
    #: Smallest and largest value it can have; None if it has no bound.
    low: float | None = None
    high: float | None = None
    #: All values it can have, for enumerations such as State; empty for others.
    choices: tuple[str, ...] = ()
    #: False if it can be UNDEFINED in an ad of that side (absent until measured, only while claimed, …).
    always: bool = False
    #: When it is defined, if not always; "" if there is nothing to add.
    when: str = ""
    #: Whether it changes while a job runs.
    varies: bool = False
    #: Name to use instead, for an obsolete one.
    replaced_by: str | None = None
    #: One sentence.
    meaning: str = ""
    #: The source of this information.
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyExpression:
    """One expression that decides something."""

    name: str
    #: The daemon that evaluates it.
    evaluated_by: str
    my: AdKind
    target: AdKind
    kind: ValueKind
    unit: Unit = Unit.NONE
    #: Text of the default; None if there is none.
    default: str | None = None
    #: Whether it has _VANILLA and _VM variants that replace it for jobs of that universe.
    variants: bool = False
    #: The attribute of the MY ad that holds it; None if no ad has it.
    attribute: str | None = None
    #: Set by a submit command of this name; None for a configuration knob.
    submit_command: str | None = None
    #: When it is evaluated.
    when: str = ""
    #: The effect of UNDEFINED, and of ERROR.
    when_undefined: str = ""
    when_error: str = ""
    #: Who may set it: "administrator", "owner", "user".
    set_by: str = "administrator"
    meaning: str = ""
    source: str = ""
