"""Values with several parts: lists of ``name=value``, queue types, and lists of subordinated queues."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from roost.gridengine.objects.values import NONE, BadValue, ValueType, is_none, number

BATCH: Final = "BATCH"
INTERACTIVE: Final = "INTERACTIVE"


class Pair(NamedTuple):
    """An attribute and its value, as in ``complex_values`` and ``load_thresholds``."""

    name: str
    text: str


class Factor(NamedTuple):
    """An attribute and a number, as in ``load_scaling`` and ``usage_weight_list``."""

    name: str
    number: float


class Subordinate(NamedTuple):
    """A queue of a queue-wise ``subordinate_list``."""

    queue: str
    #: used slots of the superior instance from which the queue is suspended; None means all of its slots
    threshold: int | None


class SlotwiseSubordinate(NamedTuple):
    """A queue of a slot-wise ``subordinate_list``."""

    queue: str
    #: 0 is the highest priority
    seq_no: int
    #: ``sr`` suspends the shortest running task first, ``lr`` the longest running
    action: str


class Subordination(NamedTuple):
    """A ``subordinate_list``: queue-wise, or slot-wise where `slots` is given."""

    queues: tuple[Subordinate, ...] = ()
    #: running tasks of the subtree above which one task at a time is suspended; None for queue-wise lists
    slots: int | None = None
    slotwise: tuple[SlotwiseSubordinate, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The queues that are subordinated, in order."""
        return tuple(each.queue for each in self.queues or self.slotwise)


def _bad(text: str, remedy: str) -> BadValue:
    return BadValue(f'error parsing value "{text}"', remedy)


def _split_pairs(text: str, separators: str) -> list[tuple[str, str]]:
    parts = [part for part in re.split(separators, text.strip()) if part]
    return [(name, value.lstrip("=")) for name, _, value in (part.partition("=") for part in parts)]


def _pairs(text: str) -> tuple[Pair, ...]:
    if is_none(text):
        return ()
    found = _split_pairs(text, r"[\s,]+")
    for name, value in found:
        if not name or not value:
            raise _bad(name or text, "Write name=value, separated by commas.")
    return tuple(Pair(name, "" if is_none(value) else value) for name, value in found)


def _comma_pairs(text: str) -> list[tuple[str, str]]:
    """Pairs of an object other than a queue, which only commas separate."""
    if re.search(r"[^\s,]\s+[^\s,]", text):
        raise BadValue(
            'values in the attribute value list should be separated by ","', "Write a comma between the values."
        )
    return _split_pairs(text, r"\s*,\s*")


def _host_pairs(text: str) -> tuple[Pair, ...]:
    if is_none(text):
        return ()
    found = _comma_pairs(text)
    for name, value in found:
        if not value:
            raise BadValue(f'denied: missing value for resource "{name}"', "Write name=value, separated by commas.")
    return tuple(Pair(name, value) for name, value in found)


def _adjustments(text: str) -> tuple[Pair, ...]:
    if is_none(text):
        return ()
    return tuple(Pair(name, value or "0.000000") for name, value in _comma_pairs(text))


def _factors(text: str) -> tuple[Factor, ...]:
    if is_none(text):
        return ()
    found = []
    for name, value in _comma_pairs(text):
        factor = number(value) if value else 0.0
        if factor is None:
            raise BadValue(f'error parsing double value from string "{value}"', "Write name=number.")
        found.append(Factor(name, factor))
    return tuple(found)


def _show_pairs(value: tuple[Pair, ...]) -> str:
    return ",".join(f"{pair.name}={pair.text}" for pair in value) or NONE


def _show_factors(value: tuple[Factor, ...]) -> str:
    return ",".join(f"{factor.name}={factor.number:.6f}" for factor in value) or NONE


def _flags(known: tuple[str, ...], what: str, none: bool) -> Callable[[str], tuple[str, ...]]:
    def parse(text: str) -> tuple[str, ...]:
        if none and is_none(text):
            return ()
        found: list[str] = []
        remedy = f"Write {' or '.join(known)}, or several of them" + (", or NONE." if none else ".")
        for word in (each for each in re.split(r"[\s,]+", text.strip()) if each):
            flag = word.upper()
            if flag not in known:
                raise BadValue(f'unknown specifier "{word}" for {what}', remedy)
            if flag in found:
                raise BadValue(f'specifier "{word}" given twice for "{what}"', remedy)
            found.append(flag)
        return tuple(flag for flag in known if flag in found)

    return parse


_SLOTWISE = re.compile(r"slots=(\d+)(?:\(([^()]*)\))?(?:[\s,].*)?", re.DOTALL)
_REMEDY = "Write queues as q1=2,q2 or, slot-wise, as slots=4(q1:0:sr,q2:1:lr)."


def _subordination(text: str) -> Subordination:
    if is_none(text):
        return Subordination()
    if text.startswith("slots="):
        return _slotwise(text)
    found: list[Subordinate] = []
    for word in (each for each in re.split(r"[\s,]+", text.strip()) if each):
        queue, equals, threshold = word.partition("=")
        if equals and not re.fullmatch(r"-?\d+", threshold):
            raise _bad(text, _REMEDY)
        found.append(Subordinate(queue, int(threshold) if equals and int(threshold) else None))
    return Subordination(tuple(found))


def _slotwise(text: str) -> Subordination:
    found = _SLOTWISE.fullmatch(text)
    if found is None or int(found.group(1)) == 0:
        raise _bad(text, _REMEDY)
    members: list[SlotwiseSubordinate] = []
    for word in (each for each in re.split(r"[\s,]+", found.group(2) or "") if each):
        queue, seq_no, action = (*word.split(":"), "", "")[:3]
        if (seq_no and not seq_no.isdigit()) or action not in ("", "sr", "lr") or word.count(":") > 2:
            raise _bad(text, _REMEDY)
        members.append(SlotwiseSubordinate(queue, int(seq_no or "0"), action or "sr"))
    # Grid Engine reads a slot-wise list without queues as NONE.
    return Subordination(slots=int(found.group(1)), slotwise=tuple(members)) if members else Subordination()


def _show_subordination(value: Subordination) -> str:
    if value.slots is not None:
        members = ", ".join(f"{each.queue}:{each.seq_no}:{each.action}" for each in value.slotwise)
        return f"slots={value.slots}({members})"
    shown = (each.queue if each.threshold is None else f"{each.queue}={each.threshold}" for each in value.queues)
    return ", ".join(shown) or NONE


#: pairs of a queue, which blanks or commas separate
PAIRS: Final = ValueType("pairs", _pairs, _show_pairs, "name=value separated by commas, or NONE")
#: pairs of a host, which only commas separate
HOST_PAIRS: Final = ValueType("pairs", _host_pairs, _show_pairs, "name=value separated by commas, or NONE")
ADJUSTMENTS: Final = ValueType("pairs", _adjustments, _show_pairs, "name=value separated by commas, or NONE")
FACTORS: Final = ValueType("factors", _factors, _show_factors, "name=number separated by commas, or NONE")
QUEUE_TYPE: Final = ValueType(
    "queue type",
    _flags((BATCH, INTERACTIVE), "", none=True),
    lambda value: " ".join(value) or NONE,
    "BATCH, INTERACTIVE, both, or NONE",
)
LIST_TYPE: Final = ValueType(
    "list type",
    _flags(("ACL", "DEPT"), "userset type", none=False),
    " ".join,
    "ACL, DEPT, or both",
)
SUBORDINATES: Final = ValueType(
    "subordination", _subordination, _show_subordination, "q1=2,q2, slots=4(q1:0:sr,q2:1:lr), or NONE"
)
