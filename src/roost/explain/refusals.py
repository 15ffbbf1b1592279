"""The causes of a traced refusal by a slot or a job, and what would have to be different, in words."""

from __future__ import annotations

import textwrap

from roost.classad import ClassAd
from roost.classad.values import fold
from roost.policy.explain import Clause, Explanation, Role, UsedSide
from roost.policy.render.sentences import change_text, one_line, reasons, value_text
from roost.schedd.jobs.owned import IMMUTABLE, RECORDED

#: Most clauses named for one refusal, and most characters of an expression.
CLAUSES_MAX = 4
TEXT_MAX = 200
#: Evaluation steps that one answer about a job may spend: about 3 s. 1,500 slots with typical expressions take a tenth
#: of that.
ANSWER_STEPS = 1_000_000
#: Attributes of a job that its owner cannot change.
KEPT = IMMUTABLE | RECORDED


def shut_by(slot: ClassAd) -> str:
    """Why a slot accepts no jobs at all; "" if it does."""
    if slot.get("State") == "Drained" or slot.get("Draining") is True:
        reason = slot.get("DrainReason")
        return f"its machine is draining: {reason}" if reason else "its machine is draining"
    for attribute in ("MachineProblem", "SlotBrokenReason"):
        if isinstance(problem := slot.get(attribute), str):
            return problem
    if isinstance(leaving := slot.get("SlotLeavingReason"), str):
        return f"it is deleted once it is free: {leaving}"
    return ""


def causes(why: Explanation) -> list[Clause]:
    """The deciding clauses, without those that would matter only if they had other values."""
    return [each for each in why.clauses if each.role is Role.CAUSE]


def refusing(why: Explanation) -> str:
    """The refusing clauses in one line."""
    found = causes(why)
    if found:
        return _together(found)
    text = textwrap.shorten(one_line(why.text), TEXT_MAX)
    if why.truncated:
        return f"too many evaluation steps, in {text}"
    # All comparisons in it are satisfied; a constant decides.
    return f"a constant in it is {value_text(why.value)}, in {text}"


def _together(clauses: list[Clause]) -> str:
    """Clauses that decide together, in one line: for ``A || B``, "neither A nor B"."""
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
    """What would make an expression TRUE; if no such values are known, the parts that would have to be different."""
    if why.changes:
        texts = [change_text(change) for change in why.changes]
        # In a slot's expression TARGET is the job, and unscoped names are the slot's.
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


def _of_slot(text: str, side: UsedSide | None) -> str:
    if side is UsedSide.TARGET:
        return text.replace("TARGET.", "the job's ", 1)
    return f"the slot's {text}" if side is UsedSide.MY else text


def is_the_jobs(cause: str, why: Explanation) -> bool:
    """Whether a change of the job's requests or attributes can end a refusal."""
    if cause != "slot-requirements":
        return cause == "job-requirements"
    return all(
        any(
            used.side in (UsedSide.TARGET, UsedSide.NOWHERE) and fold(used.name) not in KEPT
            for used in clause.attributes
        )
        for clause in causes(why)
    )
