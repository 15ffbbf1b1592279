"""Values, attributes and changes in words."""

from __future__ import annotations

from roost.classad import UNDEFINED, Value, unparse_value
from roost.classad.values import Exceptional
from roost.policy.explain import Change, Clause, Used, UsedSide

#: Characters of a value that are shown.
VALUE_CHARS_MAX = 60


def value_text(value: Value) -> str:
    """A value as an explanation shows it: TRUE, FALSE, UNDEFINED, ERROR, or its text."""
    if isinstance(value, bool | Exceptional):
        return str(value).upper() if isinstance(value, Exceptional) else "TRUE" if value else "FALSE"
    text = unparse_value(value, old=True)
    return text if len(text) <= VALUE_CHARS_MAX else text[: VALUE_CHARS_MAX - 1] + "…"


def reasons(clause: Clause) -> list[str]:
    """The reasons for a clause's value: its attributes and computed operands, each with its value."""
    found = [_used(used, clause) for used in clause.attributes]
    names = {used.name.lower() for used in clause.attributes}
    for operand in clause.operands:
        shown = value_text(operand.value)
        bare = operand.text.strip("()").lower()
        said = (*names, shown.lower(), unparse_value(operand.value).lower())
        if operand.value is not UNDEFINED and not {bare, bare.rpartition(".")[2]} & set(said):
            found.append(f"{one_line(operand.text)} is {shown}")
    return [reason for reason in found if reason]


def _used(used: Used, clause: Clause) -> str:
    name = scoped(used.name, used.side)
    place = f" [{used.origin}]" if used.origin else ""
    if used.side is UsedSide.NOWHERE:
        return f"there is no {name}"
    if clause.text.strip("()").lower() in (used.name.lower(), name.lower()) and used.text is None:
        # The clause is the attribute, whose value was already given.
        return f"{name}{place}" if place or used.side is UsedSide.TARGET else ""
    made = f" = {one_line(used.text)}" if used.text is not None else ""
    return f"{name} is {value_text(used.value)}{place}" + (f" ({name}{made})" if made else "")


def scoped(name: str, side: UsedSide | None) -> str:
    """An attribute's name, with TARGET before it if it is in the other ad."""
    return f"TARGET.{name}" if side is UsedSide.TARGET else name


def change_text(change: Change) -> str:
    """``KeyboardIdle were > 900 (is 12)``."""
    subject = one_line(scoped(change.subject, change.side))
    return f"{subject} were {_relation(change)} ({_now(change)})"


def _relation(change: Change) -> str:
    bound = value_text(change.bound)
    match change.relation:
        case "==":
            return bound
        case "!=":
            return f"not {bound}"
        case "is":
            return bound if isinstance(change.bound, bool | Exceptional) else f"exactly {bound}"
        case "isnt":
            return "defined" if change.bound is UNDEFINED else f"not {bound}"
    return f"{change.relation} {bound}"


def _now(change: Change) -> str:
    return "is missing" if change.side is UsedSide.NOWHERE else f"is {value_text(change.now)}"


def one_line(text: str) -> str:
    """A text with each run of white space replaced by one blank."""
    return " ".join(text.split())
