"""The registry of rules.

A rule is a module of `roost.policy.lint.rules` with one function under `expression_rule`, `pool_rule` or
`submit_rule`. The module's docstring is the rule's page: a title, then paragraphs that begin with ``What:``, ``Why:``
and, if there is a safe correction, ``Fix:``, and two indented blocks under ``Example::`` and ``Instead::``.

Codes are stable. The first digit groups: 0 reading, 1 operators and functions of the language, 2 attributes and
types, 3 units and ranges, 4 what the expressions of a machine's policy do together, 5 the configuration language,
6 slots, hooks, negotiator and draining, 7 submit descriptions.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from roost.base.diagnostics import Severity
from roost.base.late import load_modules
from roost.base.records import dataclass
from roost.classad.syntax import Node
from roost.policy.lint.findings import Fix, SourcePlace

if TYPE_CHECKING:
    from roost.policy.lint.pool import Expression, Pool
    from roost.policy.lint.submit import Submission


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """What a rule's function yields: a message, a remedy, and what they are about."""

    message: str
    remedy: str
    #: The node of the expression; None if `span` or `place` is given, or for the whole expression.
    node: Node | None = None
    #: Characters of the expanded expression.
    span: tuple[int, int] | None = None
    #: A place outside of expressions.
    place: SourcePlace | None = None
    #: The expression it is about, for rules over the whole pool.
    expression: Expression | None = None
    knob: str | None = None
    #: The rule's own unless given.
    severity: Severity | None = None
    related: tuple[tuple[str, SourcePlace], ...] = ()
    witness: tuple[tuple[str, str], ...] = ()
    fix: Fix | None = None


ExpressionCheck = Callable[["Expression"], Iterable[Hit]]
PoolCheck = Callable[["Pool"], Iterable[Hit]]
SubmitCheck = Callable[["Submission"], Iterable[Hit]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule."""

    code: str
    severity: Severity
    #: Identifiers in the catalogue of traps that it covers.
    traps: tuple[str, ...]
    #: The docstring of its module.
    page: str
    #: Whether it has safe corrections.
    fixes: bool
    expression: ExpressionCheck | None = None
    pool: PoolCheck | None = None
    submit: SubmitCheck | None = None

    @property
    def title(self) -> str:
        """The first line of the page, without its full stop."""
        return self.page.partition("\n")[0].rstrip(".")


#: Code to rule, filled when the modules are imported.
RULES: Final[dict[str, Rule]] = {}


def _register(rule: Rule) -> None:
    assert rule.code not in RULES, rule.code
    RULES[rule.code] = rule


def _page(check: Callable[..., object]) -> str:
    return (sys.modules[check.__module__].__doc__ or "").strip()


def expression_rule(
    code: str, severity: Severity, *traps: str, fixes: bool = False
) -> Callable[[ExpressionCheck], ExpressionCheck]:
    """Register a function that is called for each expression."""

    def register(check: ExpressionCheck) -> ExpressionCheck:
        _register(Rule(code=code, severity=severity, traps=traps, page=_page(check), fixes=fixes, expression=check))
        return check

    return register


def pool_rule(code: str, severity: Severity, *traps: str, fixes: bool = False) -> Callable[[PoolCheck], PoolCheck]:
    """Register a function that is called once for the whole configuration."""

    def register(check: PoolCheck) -> PoolCheck:
        _register(Rule(code=code, severity=severity, traps=traps, page=_page(check), fixes=fixes, pool=check))
        return check

    return register


def submit_rule(
    code: str, severity: Severity, *traps: str, fixes: bool = False
) -> Callable[[SubmitCheck], SubmitCheck]:
    """Register a function that is called for each submit description."""

    def register(check: SubmitCheck) -> SubmitCheck:
        _register(Rule(code=code, severity=severity, traps=traps, page=_page(check), fixes=fixes, submit=check))
        return check

    return register


def all_rules() -> list[Rule]:
    """Every rule, by code."""
    from roost.policy.lint import rules

    load_modules(rules)
    return [RULES[code] for code in sorted(RULES)]
