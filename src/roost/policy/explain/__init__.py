"""Why an expression has its value: the smallest set of clauses that decides it, and what would change it.

    >>> from roost.classad import ClassAd
    >>> from roost.policy.explain import explain
    >>> machine = ClassAd({"KeyboardIdle": 12, "LoadAvg": 0.1})
    >>> why = explain("KeyboardIdle > 15 * 60 && LoadAvg <= 0.3", machine)
    >>> why.value, [clause.text for clause in why.clauses]
    (False, ['KeyboardIdle > 15 * 60'])

`explain` is a pure function of an expression and two ads. It traces the evaluation (`roost.classad.tracing`), splits
the expression into clauses (`tree`), selects the deciding ones (`deciding`), describes them (`clauses`) and searches
for changes (`changes`). The result is data (`model`); `roost.policy.render` renders it as text and JSON.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from roost.classad import WORLD, ClassAd, Expr, Trace, World, parse_expression, trace
from roost.classad.evaluation import deeply
from roost.classad.ops import truth
from roost.classad.values import Exceptional, fold
from roost.policy.explain.changes import Alternatives
from roost.policy.explain.clauses import Describer
from roost.policy.explain.deciding import Need, decide
from roost.policy.explain.model import Change, Clause, Explanation, Operand, Origin, Role, Step, Used, UsedSide
from roost.policy.explain.tree import Builder, ClauseUnit, TextPath

#: Most clauses for which changes are searched; an explanation with more has none.
CHANGES_MAX: Final = 50


def explain(
    expression: str | Expr,
    my: ClassAd | None = None,
    target: ClassAd | None = None,
    *,
    world: World = WORLD,
    name: str = "",
    origin: Origin | None = None,
    origins: Mapping[str, Origin] | None = None,
    target_origins: Mapping[str, Origin] | None = None,
    fixed: Collection[str] = (),
) -> Explanation:
    """Explain the value of `expression` in the ad `my`, matched with `target` if that is given.

    `name` and `origin` say what the expression is and where it was set; `origins` and `target_origins` map
    attribute names, in any case, of either ad to the places where those were set; `fixed` names attributes of `my`, in
    any case, that cannot be changed, so that no change of them is offered. Raises ParseError for a text
    that is not an expression, and nothing else.
    """
    if isinstance(expression, str):
        expression = parse_expression(expression)
    traced = trace(expression, my, target, world)
    text = traced.expression.source
    assert text is not None
    if traced.truncated:
        return Explanation(name=name, text=text, value=traced.value, origin=origin, clauses=(), truncated=True)
    describer = Describer(origins={UsedSide.MY: _folded(origins), UsedSide.TARGET: _folded(target_origins)})

    def run() -> Explanation:
        builder = Builder(my, target)
        root = builder.build(traced.root, TextPath(text, builder.here))
        need = decide(root)
        alternatives = Alternatives(
            expression=traced.expression, root=root, my=my, target=target, world=world, places=need.places,
            fixed=frozenset(map(fold, fixed)),
        )  # fmt: skip
        whole = ClauseUnit(traced.root, TextPath(text, builder.here))
        return _explained(name, traced, origin, need, whole, describer, alternatives)

    return deeply(run)


def _explained(
    name: str,
    traced: Trace,
    origin: Origin | None,
    need: Need,
    whole: ClauseUnit,
    describer: Describer,
    alternatives: Alternatives,
) -> Explanation:
    # If no clause matters, the value follows from the form of the expression itself.
    deciding = need.deciding or ((whole, Role.CAUSE),)
    searching = 0 < len(need.deciding) <= CHANGES_MAX

    def clause(unit: ClauseUnit, role: Role, change: bool) -> Clause:
        # A clause that is FALSE, UNDEFINED or ERROR could become TRUE.
        turned = alternatives.change(unit, truth(unit.value) is not True) if change else None
        return describer.clause(unit, role, turned)

    value = truth(traced.value)
    changes: tuple[Change, ...] = ()
    changed = None
    if searching and (isinstance(traced.value, bool | Exceptional)):
        changes, changed = alternatives.together(value is not True)
    assert traced.expression.source is not None
    return Explanation(
        name=name,
        text=traced.expression.source,
        value=traced.value,
        origin=origin,
        clauses=tuple(clause(unit, role, searching) for unit, role in deciding),
        also=tuple(tuple(clause(unit, Role.CAUSE, False) for unit in some) for some in need.also),
        changes=changes,
        changed=changed,
    )


def _folded(origins: Mapping[str, Origin] | None) -> dict[str, Origin]:
    return {fold(name): place for name, place in (origins or {}).items()}


__all__ = [
    "CHANGES_MAX",
    "Change",
    "Clause",
    "Explanation",
    "Operand",
    "Origin",
    "Role",
    "Step",
    "Used",
    "UsedSide",
    "explain",
]
