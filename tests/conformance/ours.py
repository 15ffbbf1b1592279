"""The answers of the ClassAd room, in the terms of `cases`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from roost.classad.ad import ClassAd
from roost.classad.errors import ClassAdError, ParseError
from roost.classad.evaluation import evaluate
from roost.classad.expr import Expr, parse_expression
from roost.classad.tracing import trace
from roost.classad.unparse import unparse_value
from roost.classad.values import AbsTime, Exceptional, ListValue, RelTime, Value
from roost.classad.world import FixedWorld, SystemWorld
from tests.conformance import encoding, forms
from tests.conformance.cases import REFUSED, Answer, Case, Kind

#: The zone of an ordinary run.
UTC = "UTC"


class _ZonedWorld(FixedWorld):
    """A clock that stands still in this process's zone."""

    def zone_offset(self, epoch: float) -> int:
        return SystemWorld().zone_offset(epoch)

    def zone_name(self) -> str:
        return SystemWorld().zone_name()


#: The zone of this process and its children.
zone = UTC

#: A clock that stands still, and the zone of the process of the reference library.
WORLD = FixedWorld(instant=1_700_000_000.0)


def use_zone(name: str) -> None:
    """Make the zone of that name that of this process and its children, for good: what is parsed by it stays so."""
    global WORLD, zone
    os.environ["TZ"] = zone = name
    time.tzset()
    WORLD = FixedWorld(instant=WORLD.instant) if zone == UTC else _ZonedWorld(instant=WORLD.instant)


def answer(case: Case) -> Answer:
    """Every observation about one case."""
    return _ANSWERS[case.kind](case)


def encode(value: Value) -> str:
    """A value as the exact text that `encoding` describes."""
    match value:
        case Exceptional.UNDEFINED:
            return encoding.UNDEFINED
        case Exceptional.ERROR:
            return encoding.ERROR
        case bool():
            return encoding.encode_bool(value)
        case int():
            return encoding.encode_int(value)
        case float():
            return encoding.encode_real(value)
        case str():
            return encoding.encode_string(value)
        case AbsTime():
            # The reference shows its zone only as printed, in whole minutes.
            return encoding.encode_abstime(value.secs, int(value.offset / 60) * 60)
        case RelTime():
            return encoding.encode_reltime(float(value.secs))
        case ListValue():
            return "l:" + unparse_value(value)
        case _:
            return "c:" + unparse_value(value)


def _expression(case: Case) -> Answer:
    try:
        expression = parse_expression(case.text)
    except ParseError:
        return {"text": REFUSED}
    try:
        my, target = (None if text is None else forms.read_new(text) for text in (case.my, case.target))
    except ParseError:
        return {"text": str(expression), "value": REFUSED}
    return {"text": str(expression), "value": _evaluate(expression, my, target)}


def properties(case: Case) -> Answer:
    """The value of an expression case as the trace has it, and as the flattened expression gives it."""
    if case.kind is not Kind.EXPRESSION:
        return {}
    try:
        expression = parse_expression(case.text)
        my, target = (None if text is None else forms.read_new(text) for text in (case.my, case.target))
    except ParseError:
        return {}
    found = {"trace": encode(trace(expression, my, target, WORLD).value)}
    if my is not None:
        found["flatten"] = _evaluate(my.flatten(expression, WORLD), my, target)
    return found


def _evaluate(expression: Expr, my: ClassAd | None, target: ClassAd | None) -> str:
    return encode(evaluate(expression, my, target, WORLD))


def _ad(case: Case) -> Answer:
    try:
        ad = forms.read_new(case.text)
    except ParseError:
        return {"text": REFUSED}
    found = {"text": str(ad), "again": str(forms.read_new(str(ad)))}
    for name in ad:
        found[f"value of {name}"] = encode(ad.eval(name, None, WORLD))
    for name, write, read in (
        ("old", forms.write_old, forms.read_old),
        ("json", forms.write_json, forms.read_json),
    ):
        text = write(ad)
        if _is_unicode(text):
            found[name] = text
            found[f"{name} again"] = _nothing_is_refused(_read(read, text))
    return found


def _is_unicode(text: str) -> bool:
    """Whether the reference's Python interface can hand out the text."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _nothing_is_refused(ads: str) -> str:
    """The reference's readers don't tell an ad without attributes from none."""
    return REFUSED if ads in ("", "[  ]") else ads


def _read(reader: Callable[[str], list[ClassAd]], text: str) -> str:
    try:
        return " ".join(str(ad) for ad in reader(text)) or REFUSED
    except ClassAdError:
        return REFUSED


def _old(case: Case) -> Answer:
    return {"text": _nothing_is_refused(_read(forms.read_old, case.text))}


def _json(case: Case) -> Answer:
    return {"text": _nothing_is_refused(_read(forms.read_json, case.text))}


def _references(case: Case) -> Answer:
    try:
        expression = parse_expression(case.text)
    except ParseError:
        return {"text": REFUSED}
    try:
        ad = forms.read_new(case.my or "[]")
    except ParseError:
        return {"text": str(expression), "external": REFUSED}
    found = {"text": str(expression)}
    found["external"] = ",".join(ad.external_refs(expression))
    found["internal"] = ",".join(ad.internal_refs(expression))
    return found


def _match(case: Case) -> Answer:
    try:
        my, target = forms.read_new(case.my or "[]"), forms.read_new(case.target or "[]")
    except ParseError:
        return {"text": REFUSED}
    return {"my matches": str(my.matches(target, WORLD)), "target matches": str(target.matches(my, WORLD))}


_ANSWERS: dict[Kind, Callable[[Case], Answer]] = {
    Kind.EXPRESSION: _expression,
    Kind.AD: _ad,
    Kind.OLD: _old,
    Kind.JSON: _json,
    Kind.REFERENCES: _references,
    Kind.MATCH: _match,
}
