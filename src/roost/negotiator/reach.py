"""Which names matching depends on.

Two questions of a cycle are answered from the texts of expressions alone: what it may keep for the next cycle
(`Reach`: not what depends on the clock, on chance, or on attributes that exist during a cycle only), and which
attributes of jobs tell them apart on any slot (`significant`). Names that a function builds at run time (eval) are
not seen; what uses such a function counts as changing all the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from roost.base.records import dataclass
from roost.classad import Expr
from roost.classad.syntax import Call, Node, children
from roost.classad.values import fold
from roost.classad.vector import Table
from roost.negotiator.settings import Settings

#: Functions whose value is another one next time.
UNSTEADY: Final = frozenset(
    ("time", "random", "eval", "evalineachcontext", "countmatches", "daytime", "abstime", "formattime", "currenttime")
)
#: Attributes that the matchmaker adds, beginnings of their folded names.
DYNAMIC_PREFIXES: Final = (
    "remoteuserprio", "remoteuserresourcesinuse", "remotegroup", "submitter", "submittor",
)  # fmt: skip
#: Never significant: all idle jobs agree in them, or matching has its own values for them. What differs from job to
#: job, as ProcId does, is significant where an expression refers to it: one job's must not decide for the others.
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
    """What some expressions depend on, through the attributes that they name."""

    #: Folded names.
    names: frozenset[str]
    #: Whether the clock, chance, or a name that is built at run time is among it.
    unsteady: bool
    #: Those of them that stand behind TARGET somewhere.
    targets: frozenset[str] = frozenset()

    @property
    def dynamic(self) -> bool:
        """Whether attributes are among it that exist during a cycle only."""
        return any(name.startswith(DYNAMIC_PREFIXES) for name in self.names)

    @property
    def keeps(self) -> bool:
        """Whether a value stays right as long as the ads stay."""
        return not self.unsteady and not self.dynamic


#: Of what depends on nothing.
NOWHERE: Final = Reach(frozenset(), False)


def reach(seeds: Iterable[Expr], expressions_of: ExpressionsOf) -> Reach:
    """What `seeds` depend on; each name is followed to the expressions that ads have under it."""
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
    """Whether an expression calls a function of the clock or of chance."""
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


def significant(table: Table, settings: Settings) -> tuple[str, ...]:
    """Folded names of the job attributes that matching depends on, sorted.

    A name counts that a slot's expression, or one of the matchmaker's about a slot and a job, asks of TARGET, or
    without scope while there are slots that lack it; and every name in the matchmaker's expressions about jobs.
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
