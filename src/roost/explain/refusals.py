"""What a traced refusal of a slot, or of a job, comes from, and what would have to be different, in words."""

from __future__ import annotations

import textwrap

from roost.classad import ClassAd
from roost.classad.values import fold
from roost.policy.explain import Clause, Explanation, Role, Side
from roost.policy.render.words import change_text, one_line, reasons, value_text
from roost.schedd.owned import IMMUTABLE, RECORDED

#: Clauses that are named of one refusal, and characters of a whole expression.
CLAUSES_MAX = 4
TEXT_MAX = 200
#: Attributes of a job that its owner cannot change.
_KEPT = IMMUTABLE | RECORDED


def shut_by(slot: ClassAd) -> str:
    """Why a slot takes no job at all; "" if it does."""
    if slot.get("State") == "Drained" or slot.get("Draining") is True:
        reason = slot.get("DrainReason")
        return f"its machine is drained: {reason}" if reason else "its machine is drained"
    for attribute in ("MachineProblem", "SlotBrokenReason"):
        if isinstance(problem := slot.get(attribute), str):
            return problem
    return ""


def causes(why: Explanation) -> list[Clause]:
    """The clauses that decide, without those that would only count if they were different."""
    return [each for each in why.clauses if each.role is Role.CAUSE]


def refusing(why: Explanation) -> str:
    """What refuses, in a line."""
    found = [one_line(each.text) for each in causes(why)[:CLAUSES_MAX]]
    if found:
        return " and ".join(found)
    # Everything in it that asks for something is content: it is a constant.
    return f"a constant in it is {value_text(why.value)}, in {textwrap.shorten(one_line(why.text), TEXT_MAX)}"


def missing(why: Explanation) -> list[str]:
    """What would make an expression TRUE; where no values are known that do, which parts would have to be different."""
    if why.changes:
        return [change_text(change) for change in why.changes]
    found = []
    for each in causes(why)[:CLAUSES_MAX]:
        text, known = one_line(each.text), ", ".join(reasons(each))
        found.append(f"{text} ({f'is {value_text(each.value)}' if known in ('', text) else known})")
    if not found:
        return [refusing(why).replace(" is ", " were not ", 1)]
    whole = f"{found[0]} were different" if len(found) == 1 else f"one of these were different: {', '.join(found)}"
    return [whole if len(causes(why)) <= len(found) else f"{whole}, …"]


def is_the_jobs(cause: str, why: Explanation) -> bool:
    """Whether whoever changes the job can do something about a refusal: what it asks for, or is asked of it."""
    if cause != "slot-requirements":
        return cause == "job-requirements"
    return all(
        any(used.side in (Side.TARGET, Side.NOWHERE) and fold(used.name) not in _KEPT for used in clause.attributes)
        for clause in causes(why)
    )
