"""Tracing shows every value, and changes none."""

from roost.classad import ERROR, UNDEFINED, ClassAd, evaluate, parse_expression, trace


def values(text: str, my: ClassAd, target: ClassAd | None = None):
    expression = parse_expression(text)
    traced = trace(expression, my, target)
    assert traced.value == evaluate(expression, my, target)
    return [(text[slice(*node.span)], node.value, node.skipped) for node in traced.root.walk()]


def test_every_sub_expression_has_its_value_and_place():
    assert values("Idle > 15 * 60", ClassAd(Idle=100)) == [
        ("Idle > 15 * 60", False, False),
        ("Idle", 100, False),
        ("15 * 60", 900, False),
        ("15", 15, False),
        ("60", 60, False),
    ]


def test_what_is_decided_already_is_evaluated_and_marked():
    assert values("false && Load < 1", ClassAd(Load=0.5)) == [
        ("false && Load < 1", False, False),
        ("false", False, False),
        ("Load < 1", True, True),
        ("Load", 0.5, True),
        ("1", 1, True),
    ]
    assert ("y", 2, True) in values("true ? x : y", ClassAd(x=1, y=2))
    assert ("y", 2, True) in values("ifThenElse(true, x, y)", ClassAd(x=1, y=2))
    assert ("y", 2, True) in values("x ?: y", ClassAd(x=1, y=2))


def test_a_failure_behind_a_decided_operator_has_no_consequence():
    assert trace(parse_expression("true || random(0)")).value is True
    assert trace(parse_expression("random(0) || true")).value is ERROR


def test_a_name_carries_the_trace_of_its_expression():
    machine = ClassAd("[ START = Idle > 5 && TARGET.Size < Memory; Idle = 9; Memory = 10 ]")
    job = ClassAd("[ Size = Base * 2; Base = 3 ]")
    traced = trace(parse_expression("START"), machine, job)
    start = traced.root.definition
    assert start is not None
    assert (start.name, start.side, start.trace.value) == ("START", "MY", True)
    [size] = [node for node in start.trace.walk() if node.definition is not None]
    assert size.definition is not None
    assert (size.definition.name, size.definition.side) == ("Size", "TARGET")
    assert [node.value for node in size.definition.trace.walk()] == [6, 3, 2]


def test_a_cycle_is_traced_as_it_is_evaluated():
    ad = ClassAd("[ x = (x ?: 1) + (x ?: 2) ]")
    assert trace(ad.lookup("x"), ad).value == ad.eval("x") == 6


def test_a_trace_that_grows_too_large_keeps_the_value():
    ad = ClassAd({"a0": 1})
    for link in range(1, 18):
        ad.set(f"a{link}", f"a{link - 1} + a{link - 1}")
    traced = trace(parse_expression("a17"), ad)
    assert traced.truncated
    assert traced.value == 2**17


def test_missing_names_are_undefined_in_the_trace():
    assert values("Nope == 1", ClassAd())[1] == ("Nope", UNDEFINED, False)
