"""What inference says of a value holds for every value that can come out."""

from __future__ import annotations

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from roost.classad import ClassAd, FixedWorld, parse_expression
from roost.classad.values import ERROR, UNDEFINED, AbsTime, ListValue, RelTime, Value, fold
from roost.policy.lint.abstract import KIB, MIB, PLAIN, SECONDS, Abstract, Types
from roost.policy.lint.inference import Inference
from roost.policy.lint.pool import constant_number
from roost.policy.lint.scope import Scope
from roost.policy.model import AdKind

SCOPE = Scope(my=AdKind.MACHINE, target=AdKind.JOB, published={})
MACHINE = {
    "KeyboardIdle": st.integers(0, 2000),
    "LoadAvg": st.floats(0, 4),
    "CondorLoadAvg": st.floats(0, 4),
    "ClockMin": st.integers(0, 1439),
    "Memory": st.integers(0, 70000),
    "State": st.sampled_from(["Owner", "Unclaimed", "Claimed"]),
    "IsDesktop": st.sampled_from([True, False, UNDEFINED]),
    "JobStart": st.sampled_from([1_700_000_000, UNDEFINED]),
}
JOB = {
    "ImageSize": st.integers(0, 10**6),
    "JobUniverse": st.sampled_from([5, 7, 13]),
    "Owner": st.sampled_from(["a", "b"]),
    "NiceUser": st.sampled_from([True, False, UNDEFINED]),
    "Unheard": st.sampled_from([True, 0, 7, 1.5, "a", UNDEFINED]),
}
ATOMS = [
    *MACHINE,
    *(f"TARGET.{name}" for name in JOB),
    *JOB,
    "MY.Unheard",
    "TRUE",
    "FALSE",
    "UNDEFINED",
    "ERROR",
    "0",
    "1",
    "60",
    "900",
    "0.3",
    "1024",
    '"a"',
    '"Owner"',
    "-1",
    "time()",
]
OPERATORS = ["&&", "&&", "||", "||", "==", "!=", "<", "<=", ">", ">=", "=?=", "=!=", "+", "-", "*", "/", "%", "&", "|"]


def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, st.sampled_from(OPERATORS), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(inner, st.sampled_from(OPERATORS), inner).map(lambda t: f"{t[0]} {t[1]} {t[2]}"),
        inner.map(lambda text: f"!({text})"),
        inner.map(lambda text: f"-({text})"),
        inner.map(lambda text: f"isUndefined({text})"),
        inner.map(lambda text: f"int({text})"),
        inner.map(lambda text: f"quantize({text}, 128)"),
        st.tuples(inner, inner, inner).map(lambda t: f"ifThenElse({t[0]}, {t[1]}, {t[2]})"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} ? {t[1]} : {t[2]})"),
        st.tuples(inner, inner).map(lambda t: f"({t[0]}) ?: ({t[1]})"),
        st.tuples(inner, inner).map(lambda t: f"strcat({t[0]}, {t[1]})"),
    )


EXPRESSIONS = st.recursive(st.sampled_from(ATOMS), grow, max_leaves=10)


def type_of(value: Value) -> int:
    if value is UNDEFINED:
        return Types.UNDEFINED
    if value is ERROR:
        return Types.ERROR
    if isinstance(value, bool):
        return Types.TRUE if value else Types.FALSE
    if isinstance(value, AbsTime | RelTime):
        return Types.TIME
    kinds = {int: Types.INTEGER, float: Types.REAL, str: Types.STRING, ListValue: Types.LIST, ClassAd: Types.AD}
    return kinds[value.__class__]


def contains(abstract: Abstract, value: Value) -> bool:
    kind = type_of(value)
    if not abstract.types & kind:
        return False
    if kind & Types.NUMBER:
        assert isinstance(value, int | float)
        slack = 1e-9 * max(1.0, abs(value))
        return abstract.low - slack <= value <= abstract.high + slack or value != value
    if kind == Types.STRING and abstract.texts is not None:
        assert isinstance(value, str)
        return fold(value) in {fold(text) for text in abstract.texts}
    return True


@settings(max_examples=500, deadline=None)
@given(EXPRESSIONS, st.fixed_dictionaries(MACHINE), st.fixed_dictionaries(JOB), st.booleans())
def test_every_value_is_among_those_inferred(
    text: str, machine: dict[str, Value], job: dict[str, Value], with_facts: bool
) -> None:
    tree = parse_expression(text).tree
    inferred = Inference(SCOPE, with_facts).run(tree)
    my, target = ClassAd(machine), ClassAd(job)
    value = my.eval_expr(text, target, FixedWorld(instant=1_800_000_000))
    # Sums of integers beyond 64 bits wrap around; no policy counts that far.
    assume(not isinstance(value, int | float) or abs(value) < 2**53)
    assert contains(inferred, value), (text, value, inferred)


def inferred(text: str) -> Abstract:
    return Inference(SCOPE).run(parse_expression(text).tree)


def test_conversions_between_units_are_followed() -> None:
    assert inferred("Memory").unit == MIB
    assert inferred("Memory * 1024").unit == KIB
    assert inferred("TARGET.ImageSize / 1024").unit == MIB
    assert inferred("2 * Memory").unit == MIB
    assert inferred("Memory * 2048").unit is None
    assert inferred("ClockMin * 60").unit == SECONDS
    assert inferred("time() - JobStart").unit == SECONDS
    assert inferred("15 * 60").unit == PLAIN


def test_facts_hold_behind_a_conjunction_and_not_beside_it() -> None:
    assert not inferred("KeyboardIdle > 900 && KeyboardIdle < 60").can_be_true
    assert inferred("KeyboardIdle > 900 || KeyboardIdle < 60").can_be_true
    assert not inferred("LoadAvg - CondorLoadAvg > 0.5 && LoadAvg - CondorLoadAvg < 0.3").can_be_true
    assert inferred("IsDesktop < 5 || isUndefined(IsDesktop)").can_be_true
    assert not inferred('State == "Owner" && State == "Claimed"').can_be_true
    assert inferred('State != "Owner" || State != "Claimed"').can_be_true


def test_constants_are_computed() -> None:
    assert constant_number("2 * 3600 + 1") == 7201
    assert constant_number("KeyboardIdle") is None
    assert constant_number("1 / 0") is None
    assert constant_number(")") is None
