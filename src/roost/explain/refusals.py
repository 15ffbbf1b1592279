"""What a traced refusal of a slot, or of a job, comes from, and what would have to be different, in words."""

from __future__ import annotations

import textwrap

from roost.classad import ClassAd
from roost.classad.values import fold
from roost.policy.explain import Clause, Explanation, Role, Side
from roost.policy.render.sentences import change_text, one_line, reasons, value_text
from roost.schedd.admission.owned import IMMUTABLE, RECORDED

#: Clauses that are named of one refusal, and characters of a whole expression.
CLAUSES_MAX = 4
TEXT_MAX = 200
#: Evaluation steps that one answer about a job may spend: some 3 s. 1,500 slots with common expressions take a tenth.
ANSWER_STEPS = 1_000_000
#: Attributes of a job that its owner cannot change.
KEPT = IMMUTABLE | RECORDED


def shut_by(slot: ClassAd) -> str:
    """Why a slot takes no job at all; "" if it does."""
    if slot.get("State") == "Drained" or slot.get("Draining") is True:
        reason = slot.get("DrainReason")
        return f"its machine is drained: {reason}" if reason else "its machine is drained"
    for attribute in ("MachineProblem", "SlotBrokenReason"):
        if isinstance(problem := slot.get(attribute), str):
            return problem
    if isinstance(leaving := slot.get("SlotLeavingReason"), str):
        return f"it vanishes once it is free: {leaving}"
    return ""


def causes(why: Explanation) -> list[Clause]:
    """The clauses that decide, without those that would only count if they were different."""
    return [each for each in why.clauses if each.role is Role.CAUSE]


def refusing(why: Explanation) -> str:
    """What refuses, in a line."""
    found = causes(why)
    if found:
        return _together(found)
    text = textwrap.shorten(one_line(why.text), TEXT_MAX)
    if why.truncated:
        return f"too many evaluation steps, in {text}"
    # Everything in it that asks for something is content: it is a constant.
    return f"a constant in it is {value_text(why.value)}, in {text}"


def _together(clauses: list[Clause]) -> str:
    """Clauses that decide together, in a line that says what they are: of ``A || B`` neither has to be TRUE."""
    texts = [one_line(each.text) for each in clauses[:CLAUSES_MAX]]
    more = [] if len(clauses) <= CLAUSES_MAX else [f"{len(clauses) - CLAUSES_MAX} more"]
    if len(clauses) == 1:
        return texts[0]
    if all(each.value is True for each in clauses):
        return " and ".join([*texts, *more])
    if any(each.value is True for each in clauses):
        said = (f"{text} ({value_text(each.value)})" for text, each in zip(texts, clauses, strict=False))
        return ", ".join([*said, *more])
    if len(clauses) == 2:
        return f"neither {texts[0]} nor {texts[1]}"
    return f"none of {', '.join([*texts, *more])}"


def missing(why: Explanation, *, mine_is_job: bool = True) -> list[str]:
    """What would make an expression TRUE; where no values are known that do, which parts would have to be different."""
    if why.changes:
        texts = [change_text(change) for change in why.changes]
        # In a slot's expression TARGET is the job, and names alone are the slot's.
        return (
            texts if mine_is_job else [_of_slot(text, each.side) for text, each in zip(texts, why.changes, strict=True)]
        )
    found = []
    for each in causes(why)[:CLAUSES_MAX]:
        text, known = one_line(each.text), ", ".join(reasons(each))
        found.append(f"{text} ({f'is {value_text(each.value)}' if known in ('', text) else known})")
    if why.truncated:
        return ["it took fewer evaluation steps"]
    if not found:
        return [refusing(why).replace(" is ", " were not ", 1)]
    whole = f"{found[0]} were different" if len(found) == 1 else f"one of these were different: {', '.join(found)}"
    return [whole if len(causes(why)) <= len(found) else f"{whole}, …"]


def _of_slot(text: str, side: Side | None) -> str:
    if side is Side.TARGET:
        return text.replace("TARGET.", "the job's ", 1)
    return f"the slot's {text}" if side is Side.MY else text


def is_the_jobs(cause: str, why: Explanation) -> bool:
    """Whether a change of the job can end a refusal: of what it requests, or of what is required of it."""
    if cause != "slot-requirements":
        return cause == "job-requirements"
    return all(
        any(used.side in (Side.TARGET, Side.NOWHERE) and fold(used.name) not in KEPT for used in clause.attributes)
        for clause in causes(why)
    )
