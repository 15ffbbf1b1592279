"""No text, however hostile, raises anything but a ParseError, hangs, or eats the memory.

`ROOST_FUZZ_CASES` sets how many cases are tried (`make fuzz` sets a million).
"""

import os
import random
import time

from roost.classad import ClassAd, ParseError, Syntax, evaluate, parse_expression, trace, unparse_value
from roost.classad.functions import FUNCTIONS
from roost.classad.parser import parse_tree

CASES = int(os.environ.get("ROOST_FUZZ_CASES", "6000"))

PIECES = [
    *"()[]{}.,;:?=<>!&|^~+-*/%'\"\\$#@`\0\n\t é“\ud800\udc80",
    *("&&", "||", "=?=", "=!=", "?:", ">>>", "<<", "//", "/*", "*/", "is", "isnt", "undefined", "error", "true"),
    *("9223372036854775807", "-9223372036854775808", "1e308", "1e-320", "0", "1", "0.5", "99999999999999999999"),
    *("a", "b", "MY.", "TARGET.", "parent", "self", "toplevel", "x.y", '"text"', '"(a+)+$"', '"%s%n%d"', "[a=1;b=a]"),
    *(builtin.name + "(" for builtin in FUNCTIONS.values()),
]
ADS = ["[]", "[a=1; b=a+1; x=[y=b]]", '[a="aaaaaaaaaaaaaaaaaaaaaaaaaaaa!"; b={1,{a},[c=b]}]', "[a=b; b=TARGET.a; x=x]"]

#: Seconds that one case may take on a slow, busy machine.
SLOWEST_S = 20.0


def attempt(text: str, my: ClassAd, target: ClassAd) -> None:
    try:
        expression = parse_expression(text)
    except ParseError as problem:
        assert str(problem)
        return
    value = evaluate(expression, my, target)
    assert len(unparse_value(value)) >= 0
    assert parse_tree(str(expression)) is not None


def test_random_text_is_evaluated_or_refused():
    source = random.Random(20261121)
    ads = [ClassAd(text) for text in ADS]
    for number in range(CASES):
        text = "".join(source.choices(PIECES, k=source.randrange(1, 24)))
        if source.random() < 0.3:
            # Balanced brackets reach deeper than noise.
            text += ")" * text.count("(") + "]" * text.count("[") + "}" * text.count("{")
        start = time.perf_counter()
        attempt(text, source.choice(ads), source.choice(ads))
        elapsed = time.perf_counter() - start
        assert elapsed < SLOWEST_S, (number, text, elapsed)


def test_random_old_text_is_read_or_refused():
    source = random.Random(7)
    for _ in range(CASES // 4):
        text = "".join(source.choices([*PIECES, "\n", "\n\n", " = ", "A = "], k=source.randrange(1, 30)))
        for read in (ClassAd, lambda text: parse_expression(text, Syntax.OLD)):
            try:
                read(text)
            except ParseError as problem:
                assert str(problem)


def test_every_function_survives_every_kind_of_argument():
    arguments = ["undefined", "error", "true", "-1", "9223372036854775807", "1e308", 'real("NaN")', '""', '"a,b"', "{}"]
    arguments += ['{1,"a"}', "[a=1]", "absTime(0)", "relTime(1e300)", '"("', "a"]
    ad = ClassAd("[ a = 1 ]")
    for name in sorted(FUNCTIONS):
        for first in arguments:
            attempt(f"{name}({first})", ad, ad)
            for second in arguments:
                attempt(f"{name}({first},{second})", ad, ad)
                attempt(f"{name}({second},{first},{first})", ad, ad)


def test_patterns_that_backtrack_for_ever_are_cut_short():
    ad = ClassAd({"s": "a" * 60 + "!"})
    start = time.perf_counter()
    for pattern in ("(a+)+$", "(a|a)*$", "(a|aa)+$", "(.*)*$", "(a*)*b", "a*a*a*a*a*a*a*a*a*a*b", "(?:a?){60}a{60}$"):
        for text in (f'regexp("{pattern}", s)', f'replace("{pattern}", s, "")', f'regexpMember("{pattern}", {{s}})'):
            evaluate(parse_expression(text), ad)
    assert time.perf_counter() - start < SLOWEST_S * 5


def test_a_trace_of_anything_ends():
    source = random.Random(3)
    ads = [ClassAd(text) for text in ADS]
    for _ in range(CASES // 10):
        text = "".join(source.choices(PIECES, k=source.randrange(1, 12)))
        try:
            expression = parse_expression(text)
        except ParseError:
            continue
        trace(expression, source.choice(ads), source.choice(ads))
