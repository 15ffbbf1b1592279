"""An ad behaves like a dict whose keys ignore case."""

import copy
import pickle
from enum import IntEnum, StrEnum

import pytest

from roost.classad import ERROR, UNDEFINED, ClassAd, Expr, ListValue, ParseError, RelTime, parse_expression
from roost.classad.forms import Form, format_ad, parse_ad
from roost.classad.limits import AD_NESTING_MAX


def test_names_ignore_case_and_keep_their_first_spelling_and_place():
    ad = ClassAd({"Memory": 1, "Cpus": 2})
    ad["MEMORY"] = 3
    assert list(ad) == ["Memory", "Cpus"]
    assert ad["memory"] == 3
    assert "mEmOrY" in ad


def test_two_ads_may_spell_a_name_differently():
    first, second = ClassAd({"KeyboardIdle": 1}), ClassAd({"keyboardidle": 1})
    assert list(first) == ["KeyboardIdle"]
    assert list(second) == ["keyboardidle"]
    assert first == second


def test_laying_one_ad_over_another_is_putting_each_of_its_attributes():
    spelled = ClassAd({"TestLayFirst": 1, "TestLaySecond": 2})
    other = ClassAd({"testlayfirst": 3, "TESTLAYSECOND": 4, "TestLayThird": ClassAd({"x": 5})})
    for under, over in ((spelled, other), (other, spelled), (ClassAd(), other), (ClassAd(), spelled)):
        laid, put = under.copy(), under.copy()
        laid.lay(over)
        for key, cell in over.cells.items():
            put.put(over.spelling(key), cell)
        assert list(laid.items()) == list(put.items())


def test_a_constant_reads_as_its_value_and_anything_else_as_an_expression():
    ad = ClassAd("[ a = 1; b = a + 1; c = [ d = 2 ]; e = {1, 2} ]")
    assert ad["a"] == 1
    assert ad["b"] == parse_expression("a + 1")
    assert ad["c"] == ClassAd({"d": 2})
    assert isinstance(ad["e"], Expr)
    assert ad.eval("b") == 2
    value = ad.eval("e")
    assert isinstance(value, ListValue)
    assert value.items == (1, 2)


def test_python_values_become_classad_values():
    ad = ClassAd(i=1, f=1.5, b=True, s="x", n=None, l=[1, "a", [2]], d={"k": {"deep": 1}}, u=UNDEFINED, t=RelTime(5.0))
    assert str(ad) == (
        '[ b = true; d = [ k = [ deep = 1 ] ]; f = 1.500000000000000E+00; i = 1; l = { 1,"a",{ 2 } }; '
        'n = undefined; s = "x"; t = relTime("05"); u = undefined ]'
    )


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1])
def test_an_integer_beyond_64_bits_is_refused(value):
    with pytest.raises(ValueError, match="64 bits"):
        ClassAd(a=value)


@pytest.mark.parametrize("name", ["", "a\0b", "x" * 70_000])
def test_an_impossible_name_is_refused(name):
    with pytest.raises(ValueError, match="attribute name"):
        ClassAd({name: 1})


def test_other_python_objects_are_refused():
    with pytest.raises(TypeError, match="object"):
        ClassAd(a=object())
    with pytest.raises(TypeError, match="int"):
        ClassAd()[3] = 1  # type: ignore[index]


def test_a_missing_attribute_is_a_key_error_and_evaluates_to_undefined():
    ad = ClassAd()
    with pytest.raises(KeyError):
        ad["x"]
    with pytest.raises(KeyError):
        del ad["x"]
    assert ad.eval("x") is UNDEFINED
    assert ad.get("x", 7) == 7


def test_attributes_come_and_go():
    ad = ClassAd(a=1)
    del ad["A"]
    assert len(ad) == 0
    ad.set("Rank", "Memory * 2")
    assert str(ad["rank"]) == "Memory * 2"
    with pytest.raises(ParseError):
        ad.set("Rank", "Memory *")
    assert str(ad["rank"]) == "Memory * 2"


def test_a_chained_ad_gives_what_is_missing_and_its_expressions_see_the_child():
    cluster = ClassAd('[ Cmd = "run"; Needs = Base + 1; Base = 10 ]')
    proc = ClassAd(ProcId=3, Base=20)
    proc.chain_to(cluster)
    assert proc.eval("Cmd") == "run"
    assert proc.eval("Needs") == 21
    assert list(proc) == ["ProcId", "Base", "Cmd", "Needs"]
    assert len(proc) == 4


def test_deleting_what_a_chained_ad_has_hides_it():
    cluster, proc = ClassAd(a=1), ClassAd()
    proc.chain_to(cluster)
    del proc["a"]
    assert proc.eval("a") is UNDEFINED
    assert cluster["a"] == 1


def test_dropping_an_attribute_is_deleting_it_if_it_is_there():
    ad = ClassAd("[mine = 1; both = 2]")
    ad.chain_to(ClassAd("[both = 3; theirs = 4]"))
    for name in ("MINE", "both", "theirs", "nobodys"):
        ad.drop(name)
        assert ad.eval(name) is UNDEFINED
    assert list(ad.cells) == ["both", "theirs"]
    ad.drop("both")
    assert "both" in ad


def test_an_ad_is_not_chained_to_itself():
    first, second = ClassAd(), ClassAd()
    first.chain_to(second)
    with pytest.raises(ValueError, match="itself"):
        second.chain_to(first)


def test_copies_are_independent_down_to_nested_ads():
    ad = ClassAd("[ a = 1; n = [ x = a ] ]")
    for other in (ad.copy(), copy.copy(ad), copy.deepcopy(ad), pickle.loads(pickle.dumps(ad))):
        other["a"] = 2
        other["n"]["y"] = 1
        assert other.eval_expr("n.x") == 2
        assert ad.eval_expr("n.x") == 1
        assert "y" not in ad["n"]


def test_a_nested_ad_given_twice_belongs_to_one_ad_only():
    inner = ClassAd("[ x = a ]")
    first, second = ClassAd(a=1, n=inner), ClassAd(a=2, n=inner)
    assert first.eval_expr("n.x") == 1
    assert second.eval_expr("n.x") == 2


def test_matching_needs_true_or_a_number_other_than_zero():
    other = ClassAd()
    for text, expected in [
        ("true", True),
        ("1", True),
        ("0.5", True),
        ("0", False),
        ('"true"', False),
        ("undefined", False),
    ]:
        assert other.matches(ClassAd(f"[ Requirements = {text} ]")) is expected
    assert not other.matches(ClassAd())


def test_a_match_is_symmetric():
    job = ClassAd("[ Requirements = TARGET.Memory >= RequestMemory; RequestMemory = 10; Rank = Memory ]")
    machine = ClassAd('[ Requirements = TARGET.Owner == "ann"; Memory = 20 ]')
    assert not job.symmetric_match(machine)
    job["Owner"] = "Ann"
    assert job.symmetric_match(machine)
    assert machine.symmetric_match(job)
    assert job.rank(machine) == 20.0


@pytest.mark.parametrize(("text", "rank"), [("3", 3.0), ("true", 1.0), ("undefined", 0.0), ('"x"', 0.0), ("1/0", 0.0)])
def test_a_rank_that_is_no_number_counts_as_zero(text, rank):
    assert ClassAd(f"[ Rank = {text} ]").rank(ClassAd()) == rank


def test_an_attribute_that_only_the_target_has_is_evaluated_with_roles_swapped():
    machine, job = ClassAd(Memory=5), ClassAd("[ Want = TARGET.Memory ]")
    assert machine.eval("Want", job) == 5


def test_undefined_and_error_are_false_in_python():
    assert not UNDEFINED
    assert not ERROR
    assert UNDEFINED is not ERROR


def test_an_expression_text_is_parsed_once():
    assert parse_expression("Interned + 1") is parse_expression("Interned + 1")


def test_an_expression_does_not_change():
    with pytest.raises(AttributeError):
        parse_expression("a").source = "b"  # type: ignore[misc]


class Colour(StrEnum):
    RED = "red"


def test_subclasses_of_plain_types_become_plain_values():
    import numpy as np

    ad = ClassAd(
        s=Colour.RED, i=Level.HIGH, f=np.float64(1.5), n=np.int64(3), b=np.bool_(True), l=[Colour.RED, np.int32(2)]
    )
    assert [type(ad[name]) for name in "sifnb"] == [str, int, float, int, bool]
    assert ad.eval_expr('s == "RED" && i + n == 5 && f == 1.5 && b && l[0] == "red" && l[1] == 2') is True


class Level(IntEnum):
    HIGH = 2


def test_ads_put_into_each_other_are_copied():
    a, b = ClassAd(x=1), ClassAd(y=2)
    a["b"] = b
    b["a"] = a
    assert a.eval_expr("nothere") is UNDEFINED
    assert str(a.copy()) == str(a) == "[ b = [ a = [ b = [ y = 2 ]; x = 1 ]; y = 2 ]; x = 1 ]"


def test_an_ad_is_not_nested_where_its_chain_leads():
    a, b = ClassAd(x=1), ClassAd()
    b.chain_to(a)
    with pytest.raises(ValueError, match="chained"):
        a["n"] = b
    c = ClassAd()
    a["c"] = c
    with pytest.raises(ValueError, match="holds it"):
        c.chain_to(a)


def test_clearing_and_popping_touch_the_ads_own_attributes():
    child = ClassAd(c=3, d=4)
    child.chain_to(ClassAd(a=1))
    assert child.popitem() == ("d", 4)
    child.clear()
    assert dict(child) == {"a": 1}
    with pytest.raises(KeyError):
        child.popitem()


def test_ads_feel_like_dicts():
    ad = ClassAd(a=1, B=2)
    assert ad == {"A": 1, "b": 2}
    assert ad != {"a": 1}
    assert ad.get(5) is None  # type: ignore[call-overload]
    assert list(reversed(ad)) == ["B", "a"]
    assert ad | {"c": 3} == {"a": 1, "b": 2, "c": 3}
    assert {"c": 3} | ad == {"a": 1, "b": 2, "c": 3}
    ad |= {"c": 3}
    assert len(ad) == 3
    with pytest.raises(TypeError, match="Expr"):
        ad.eval_expr(5)  # type: ignore[arg-type]


def test_strings_with_nul_and_endless_data_are_refused():
    endless: list[object] = []
    endless.append(endless)
    for value, words in (("a\0b", "NUL"), (endless, "deep")):
        with pytest.raises(ValueError, match=words):
            ClassAd(a=value)


def nest(levels: int) -> ClassAd:
    ad = ClassAd(x=1)
    for _ in range(levels - 1):
        ad = ClassAd(a=ad)
    return ad


def test_ads_nest_to_a_limit_and_everything_works_up_to_there():
    deep = nest(AD_NESTING_MAX)
    assert deep == deep.copy() == pickle.loads(pickle.dumps(deep)) == ClassAd(str(deep))
    for form in Form:
        assert parse_ad(format_ad(deep, form), form) == deep
    with pytest.raises(ValueError, match="nested deeper"):
        ClassAd(a=deep)
    with pytest.raises(ParseError, match="nested deeper"):
        ClassAd("[a=" * (AD_NESTING_MAX + 1) + "1" + "]" * (AD_NESTING_MAX + 1))


def test_an_ad_with_a_bad_text_put_off_still_has_a_repr():
    ad = ClassAd(a=1)
    ad.set_later("START", "Bad &&")
    assert "unreadable" in repr(ad)
