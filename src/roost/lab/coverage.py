"""Which clauses of a policy scenarios have exercised: seen both TRUE and not TRUE.

A clause is an operand of ``&&``, ``||`` or ``!``, down to what has none of them. Expressions are looked at after each
transition and at each expectation, as the slot sees them then.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from roost.classad import ClassAd, Expr, evaluate, unparse
from roost.classad.ops import truth
from roost.classad.syntax import Binary, Node, Op, Unary, strip
from roost.classad.values import fold
from roost.startd.policy_inputs import Inputs, StepWorld

#: Attributes of the slot's ad that hold the policy, in the order of the report.
POLICY: Final = ("START", "IsOwner", "WANT_SUSPEND", "SUSPEND", "CONTINUE", "PREEMPT", "WANT_VACATE", "KILL")


@dataclass(slots=True)
class Coverage:
    """Clauses seen so far."""

    #: (expression, clause) to the truths it had: "TRUE", "FALSE", "neither".
    seen: dict[tuple[str, str], set[str]] = field(default_factory=dict)

    def look(self, inputs: Inputs) -> None:
        """Look at all clauses, as a slot sees them."""
        job = inputs.state.claim.job_ad
        world = StepWorld(inputs.policy, inputs.state.name, inputs.now)
        for name in POLICY:
            found = inputs.my.cell(fold(name))
            if not isinstance(found, Expr):
                continue
            target = None if name == "IsOwner" else job
            for clause in _clauses(found.tree):
                self._note(name, clause, inputs.my, target, world)

    def _note(self, name: str, clause: Node, my: ClassAd, target: ClassAd | None, world: StepWorld) -> None:
        value = truth(evaluate(Expr(clause), my, target, world.again()))
        word = "TRUE" if value is True else "FALSE" if value is False else "neither"
        self.seen.setdefault((name, unparse(clause)), set()).add(word)

    @property
    def untried(self) -> list[tuple[str, str, str]]:
        """Clauses of which one side was never seen: expression, clause, the side."""
        found = []
        for (name, clause), words in self.seen.items():
            if "TRUE" not in words:
                found.append((name, clause, "never TRUE"))
            elif words == {"TRUE"}:
                found.append((name, clause, "always TRUE"))
        return found

    @property
    def share(self) -> float:
        """Of the clauses, how many were seen on both sides."""
        return 1 - len(self.untried) / len(self.seen) if self.seen else 1.0


def _clauses(node: Node) -> Iterator[Node]:
    node = strip(node)
    match node:
        case Binary(op=Op.AND | Op.OR, left=left, right=right):
            yield from _clauses(left)
            yield from _clauses(right)
        case Unary(op=Op.NOT, operand=operand):
            yield from _clauses(operand)
        case _:
            yield node
