"""Which names matching depends on.

Static analysis of expressions answers two questions: what a cycle may keep for the next one (`Reach`: nothing that
depends on the clock, on random numbers, or on attributes that exist only during a cycle), and which attributes
distinguish jobs on any slot (`significant`). Names that a function builds at run time (eval) cannot be seen; an
expression that uses such a function counts as always changing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from roost.base.records import dataclass
from roost.classad import Expr
from roost.classad.syntax import Call, Node, children
from roost.classad.values import fold
from roost.classad.vector import Table
from roost.negotiator.settings import NegotiatorSettings

#: Functions whose value changes from call to call.
UNSTEADY: Final = frozenset(
    ("time", "random", "eval", "evalineachcontext", "countmatches", "daytime", "abstime", "formattime", "currenttime")
)
#: Prefixes of the folded names of attributes that the matchmaker adds.
DYNAMIC_PREFIXES: Final = (
    "remoteuserprio", "remoteuserresourcesinuse", "remotegroup", "submitter", "submittor",
)  # fmt: skip
#: Never significant: all idle jobs have the same values, or matching uses its own. An attribute that differs from job
#: to job, such as ProcId, is significant where an expression refers to it: one job's value must not decide for the
#: others.
NOT_SIGNIFICANT: Final = frozenset(
    (
        "currenttime", "remoteuserprio", "remoteuserresourcesinuse", "remotegroup", "remotegroupresourcesinuse",
        "remotegroupquota", "submitteruserprio", "submittoruserprio", "submittorprio", "submitterprio",
        "submitteruserresourcesinuse", "submittergroup", "submittergroupresourcesinuse", "submittergroupquota",
        "submitternegotiatinggroup", "submitterautoregroup", "totaljobruntime", "totaljobsuspendtime", "jobstart",
        "jobstate", "jobactivity", "jobstatus", "servertime", "remoteowner", "remoteuser", "remotehost", "my",
        "target", "self", "parent", "toplevel", "root",
    )
)  # fmt: skip

#: Gives the expressions that ads have under a folded name.
ExpressionsOf = Callable[[str], Iterable[Expr]]


@dataclass(frozen=True, slots=True)
class Reach:
    """What some expressions depend on, directly or through the attributes that they name."""

    #: Folded names.
    names: frozenset[str]
    #: Whether they depend on the clock, on random numbers, or on a name built at run time.
    unsteady: bool
    #: Names that occur with the scope TARGET.
    targets: frozenset[str] = frozenset()

    @property
    def dynamic(self) -> bool:
        """Whether they depend on attributes that exist only during a cycle."""
        return any(name.startswith(DYNAMIC_PREFIXES) for name in self.names)

    @property
    def keeps(self) -> bool:
        """Whether a value stays valid as long as the ads do not change."""
        return not self.unsteady and not self.dynamic


#: The reach of a constant.
NOWHERE: Final = Reach(frozenset(), False)


def reach(seeds: Iterable[Expr], expressions_of: ExpressionsOf) -> Reach:
    """What `seeds` depend on; each name is followed into the expressions that ads have for it."""
    names: set[str] = set()
    targets: set[str] = set()
    unsteady = False
    work, seen = list(seeds), set()
    while work:
        expression = work.pop()
        if id(expression) in seen:
            continue
        seen.add(id(expression))
        unsteady = unsteady or is_unsteady(expression)
        mentioned = expression.mentioned
        targets |= mentioned.target
        for name in mentioned.plain | mentioned.my | mentioned.target:
            if name not in names:
                names.add(name)
                work.extend(expressions_of(name))
    return Reach(frozenset(names), unsteady or "currenttime" in names, frozenset(targets))


def is_unsteady(expression: Expr) -> bool:
    """Whether an expression calls a function whose value changes from call to call."""
    return calls(expression, UNSTEADY)


def calls(expression: Expr, names: frozenset[str]) -> bool:
    """Whether an expression calls one of these functions, by folded name."""
    work: list[Node] = [expression.tree]
    while work:
        node = work.pop()
        if isinstance(node, Call) and fold(node.name) in names:
            return True
        work.extend(children(node))
    return False


class SlotExpressions:
    """The expressions of a table of slots, by name."""

    def __init__(self, table: Table) -> None:
        self._by_name: dict[str, list[Expr]] = {}
        for name, expression in table.expressions():
            self._by_name.setdefault(name, []).append(expression)

    def of(self, name: str) -> list[Expr]:
        """The expressions under a folded name."""
        return self._by_name.get(name, [])

    def all(self) -> Iterable[Expr]:
        """All of them."""
        for found in self._by_name.values():
            yield from found


def significant(table: Table, settings: NegotiatorSettings) -> tuple[str, ...]:
    """Folded names of the job attributes that matching depends on, sorted.

    A name counts if a slot's expression, or a matchmaker's expression about a slot and a job, refers to it in TARGET,
    or without a scope while some slots lack it. Every name in the matchmaker's expressions about jobs counts.
    """
    policy, tried, everywhere = settings.policy, settings.dry_run, table.everywhere()
    names: set[str] = set()
    about_both = (
        settings.pre_job_rank, settings.post_job_rank, settings.preemption_requirements, settings.preemption_rank,
        policy.resource, policy.audit, None if tried is None else tried.resource,
    )  # fmt: skip
    for expression in (*SlotExpressions(table).all(), *(each for each in about_both if each is not None)):
        names |= expression.mentioned.target
        names |= expression.mentioned.plain - everywhere
    on_trial = () if tried is None else (tried.job_only, tried.job)
    for about_job in (settings.job_constraint, policy.job_only, policy.job, *on_trial):
        if about_job is not None:
            names |= about_job.mentioned.plain | about_job.mentioned.my
    return tuple(sorted(names - NOT_SIGNIFICANT))
