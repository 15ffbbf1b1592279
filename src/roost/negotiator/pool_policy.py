"""The pool-wide policy: the conditions that the pool's administrator imposes on every match, whatever owners and users
configured.

Three expressions discard ads for which they are TRUE: ads of queues and submitters, of slots, and of jobs. Two are
ANDed, one to every slot's Requirements and one to every job's; only TRUE permits a match. The policy applies to the ads
as they enter a cycle, and changes nothing that the collector or a queue keeps. An ad with an attribute named like a
scope (MY, TARGET, …) could change what the policy's names mean, so a policy excludes it.

Each decision is a `Finding`, as data: what was discarded and by which knob, which matches were prevented
(counted, with samples), and where an expression was ERROR. With NEGOTIATOR_PE_LOG_ONLY, findings are the only effect.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Final, TypeAlias

import numpy as np

from roost.base.records import dataclass, field
from roost.classad import ERROR, ClassAd, Expr, FixedWorld, evaluate
from roost.classad.ad import MISSING, has_any
from roost.classad.syntax import Binary, Op, Paren
from roost.classad.vector import CellKind, Table
from roost.classad.vector.kinds import Array
from roost.model import pool_policy as handed
from roost.model.audit import NOTHING_KNOWN, InForce
from roost.model.digests import digest
from roost.model.pool_policy import is_true
from roost.negotiator.settings import PolicySettings

SCHEDD_ONLY: Final = "NEGOTIATOR_PE_SCHEDD_ONLY_EXPR"
STARTD_ONLY: Final = "NEGOTIATOR_PE_STARTD_ONLY_EXPR"
JOB_ONLY: Final = "NEGOTIATOR_PE_JOB_ONLY_EXPR"
RESOURCE: Final = "NEGOTIATOR_PE_RESOURCE_EXPR"
JOB: Final = "NEGOTIATOR_PE_JOB_EXPR"
AUDIT: Final = "NEGOTIATOR_PE_AUDIT_EXPR"

#: Findings of a cycle that are kept individually; more are only counted.
FINDINGS_MAX: Final = 1_000
#: Most slots named in a finding.
SAMPLES_MAX: Final = 5
#: Most samples of findings that are counted together.
NAMED_MAX: Final = 20


class Act(StrEnum):
    """What the policy did."""

    DISCARD = "DISCARD"
    VETO = "VETO"
    ERROR = "ERROR"
    MATCH = "MATCH"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One action of the policy in a cycle."""

    act: Act
    knob: str
    #: "schedd", "startd" or "job": the kind of ad. Vetoes and matches are about a job.
    kind: str
    #: Name of the submitter or slot, or id of the job.
    name: str
    user: str = ""
    #: The first few slots concerned.
    slots: tuple[str, ...] = ()
    #: How many slots or jobs are concerned.
    count: int = 1
    #: The reason, where the knob alone does not explain it.
    text: str = ""
    #: Whether it was only recorded.
    log_only: bool = False

    def line(self) -> str:
        """The finding as a line of the policy's log, without the time."""
        mode = " (log only)" if self.log_only else ""
        match self.act:
            case Act.DISCARD:
                return f"DISCARD {self.kind} {_word(self.name)} {self.knob}{self._because()}{mode}"
            case Act.VETO:
                return f"VETO match {self._match()} count={self.count} by={self.knob}{mode}"
            case Act.MATCH:
                return f"MATCH {self._match()} by={self.knob}"
            case Act.ERROR:
                return f"ERROR {self.kind} {_word(self.name)} {self.knob}{self._because()}"

    def _match(self) -> str:
        slots = ",".join(_word(slot) for slot in self.slots)
        return f"job={_word(self.name)} user={_word(self.user)} slot={slots}"

    def _because(self) -> str:
        return f": {self.text}" if self.text else ""


#: The key by which findings are counted together: act, knob, kind of ad, user, whether only recorded, why.
Cause: TypeAlias = tuple[Act, str, str, str, bool, str]


@dataclass(slots=True)
class Counted:
    """The findings of one cause in a cycle."""

    count: int = 0
    #: The first few ads, or pairs of a job and a slot, concerned.
    samples: list[str] = field(default_factory=list)


class Findings:
    """The findings of one cycle: a bounded list, and the counts of all by cause."""

    def __init__(self) -> None:
        self.kept: list[Finding] = []
        self.total = 0
        self.causes: dict[Cause, Counted] = {}

    def add(self, finding: Finding) -> None:
        """Add a finding; beyond FINDINGS_MAX it is only counted."""
        self.total += 1
        if len(self.kept) < FINDINGS_MAX:
            self.kept.append(finding)
        counted = self._of(finding)
        counted.count += finding.count
        room = NAMED_MAX - len(counted.samples)
        if room > 0:
            names = [f"{finding.name} {slot}" for slot in finding.slots] or [finding.name]
            counted.samples += names[:room]

    def more(self, finding: Finding, count: int) -> None:
        """Count `count` more findings of the same cause without details."""
        self.total += count
        self._of(finding).count += count

    def _of(self, finding: Finding) -> Counted:
        cause = (finding.act, finding.knob, finding.kind, finding.user, finding.log_only, finding.text)
        if cause not in self.causes and len(self.causes) >= FINDINGS_MAX:
            cause = (finding.act, finding.knob, finding.kind, "", finding.log_only, finding.text)
        return self.causes.setdefault(cause, Counted())


@dataclass(slots=True)
class PoolPolicy:
    """The policy applied in one cycle."""

    settings: PolicySettings
    findings: Findings
    world: FixedWorld
    _scopes: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        found = self.settings
        about = (found.schedd_only, found.startd_only, found.job_only, found.resource, found.job, found.audit)
        self._scopes = handed.scopes(about)

    @property
    def enforced(self) -> bool:
        """Whether the policy is enforced rather than only logged."""
        return not self.settings.log_only

    # -- discarding --------------------------------------------------------------------------------

    def discards_submitter(self, ad: ClassAd, name: str) -> bool:
        """Whether a submitter is discarded."""
        if self._discards(ad, self.settings.schedd_only, SCHEDD_ONLY, "schedd", name, name):
            return True
        return bool(self._is_shadowed(ad, SCHEDD_ONLY, "schedd", name, name))

    def discards_job(self, ad: ClassAd, job: str, user: str = "", count: int = 1) -> str | None:
        """Why a job is discarded, along with all `count` jobs like it: a knob, or a sentence; None if it is not."""
        if self._discards(ad, self.settings.job_only, JOB_ONLY, "job", job, user, count):
            return JOB_ONLY
        return self._is_shadowed(ad, JOB_ONLY, "job", job, user, count) or None

    def _discards(
        self, ad: ClassAd, expr: Expr | None, knob: str, kind: str, name: str, user: str = "", count: int = 1
    ) -> bool:
        if expr is None:
            return False
        value = evaluate(expr, ad, None, self.world)
        if value is ERROR:
            self.findings.add(Finding(act=Act.ERROR, knob=knob, kind=kind, name=name, user=user, text="is ERROR"))
        if not is_true(value):
            return False
        only = not self.enforced
        self.findings.add(
            Finding(act=Act.DISCARD, knob=knob, kind=kind, name=name, user=user, count=count, log_only=only)
        )
        return self.enforced

    def discarded_slots(self, table: Table) -> Array:
        """Mask of the discarded slots."""
        settings = self.settings
        gone = np.zeros(len(table), bool)
        if settings.startd_only is not None:
            found = table.evaluate(settings.startd_only, None, self.world)
            gone |= found.true
            self._note(table, found.state == CellKind.ERROR, Act.ERROR, "is ERROR")
            self._note(table, gone, Act.DISCARD, "")
        for name in self.scopes():
            shadowed = ~table.lacking(name)
            if shadowed.any():
                gone |= shadowed
                self._note(table, shadowed, Act.DISCARD, _shadow_text(name))
        return gone if self.enforced else np.zeros(len(table), bool)

    def _note(self, table: Table, mask: Array, act: Act, text: str) -> None:
        rows = np.flatnonzero(mask)
        if not len(rows):
            return
        keys = table.keys()
        only = act is Act.DISCARD and not self.enforced
        for row in rows[:FINDINGS_MAX].tolist():
            name = str(keys[row])
            found = Finding(act=act, knob=STARTD_ONLY, kind="startd", name=name, text=text, log_only=only)
            self.findings.add(found)
        if len(rows) > FINDINGS_MAX:
            self.findings.more(found, len(rows) - FINDINGS_MAX)

    @property
    def judges_jobs(self) -> bool:
        """Whether the policy may discard a job by its ad."""
        return self.settings.job_only is not None or bool(self._scopes)

    def scopes(self) -> tuple[str, ...]:
        """The scopes that the policy's expressions name: no ad may have an attribute with such a name."""
        return self._scopes

    def _is_shadowed(self, ad: ClassAd, knob: str, kind: str, name: str, user: str, count: int = 1) -> str:
        """Why an ad is discarded if it has an attribute named like a scope; "" if it has none."""
        scope = next((scope for scope in self.scopes() if ad.cell(scope) is not MISSING), None)
        if scope is None:
            return ""
        only, text = not self.enforced, _shadow_text(scope)
        self.findings.add(
            Finding(act=Act.DISCARD, knob=knob, kind=kind, name=name, user=user, count=count, text=text, log_only=only)
        )
        return text if self.enforced else ""


def restricted(slot: ClassAd, settings: PolicySettings, in_force: InForce = NOTHING_KNOWN) -> ClassAd:
    """A slot's ad as sent with a match, with the policy in separate attributes.

    The queue evaluates them before it starts a job on the claim, and so enforces the policy; the places where they were
    set are included for its records. Returns the ad itself if nothing is imposed and the machine did not set these
    attributes itself, else a copy.
    """
    if not settings.any and not has_any(slot, handed.HANDED_KEYS):
        return slot
    imposed = _imposed(settings)
    given: dict[str, Expr | str | None] = {**imposed, handed.IDENTITY: identity(settings) or None}
    for name, expr in imposed.items():
        given[handed.PLACES[name]] = None if expr is None else in_force.of(handed.KNOBS[name]).place or None
    if all([value is None for value in given.values()]) and not has_any(slot, handed.HANDED_KEYS):
        return slot
    found = slot.copy()
    for name, value in given.items():
        if value is not None:
            found.put(name, value)
        elif name in found:
            del found[name]
    return found


def _imposed(settings: PolicySettings) -> dict[str, Expr | None]:
    """The expressions that queues evaluate, by attribute."""
    if settings.log_only:
        return dict.fromkeys(handed.IMPOSED)
    return {
        handed.RESOURCE: settings.resource,
        handed.JOB: settings.job,
        handed.JOB_ONLY: settings.job_only,
        handed.STARTD_ONLY: settings.startd_only,
    }


def identity(settings: PolicySettings) -> str:
    """A digest that identifies a policy; "" for none. Expressions that discard submitters count, too."""
    enforced = () if settings.log_only else (*_imposed(settings).values(), settings.schedd_only)
    return digest(*map(str, enforced)) if any(each is not None for each in enforced) else ""


def conjunction(original: object, policy: Expr) -> Expr:
    """``(original) && (policy)``; a missing original counts as true."""
    from roost.classad.syntax import Literal, Node

    left = original if isinstance(original, Node) else Literal(True)
    return Expr(Binary(Op.AND, Paren(left), Paren(policy.tree)))


def _word(name: str) -> str:
    """An external name as one word of a log: it cannot end the line or pose as several words."""
    plain = name.isprintable() and not set(name) & set(' ",=\\')
    return name if plain and name else json.dumps(name)


def _shadow_text(name: str) -> str:
    return f"the ad has an attribute {name.upper()}, which would change what the policy's names mean"


def lines(findings: Iterable[Finding], time_text: str) -> Iterator[str]:
    """The lines of the policy's log."""
    for finding in findings:
        yield f"PE {time_text} {finding.line()}"
