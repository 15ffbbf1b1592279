"""Small programs for `classad2`, a line each: the stand-in and HTCondor's module have to answer alike.

They stand in classad2.txt. In them `c` is the module, `ad`, `one`, `long` and `nested` are ads, `put`, `less` and
`more` change one. What differs on purpose stands in `DIFFERENCES`, with the reason; the page on compatibility is made
from it.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple

PROGRAMS: Final = Path(__file__).with_name("classad2.txt").read_text(encoding="utf-8").splitlines()
#: Lines that set the stage.
STAGE: Final = """
import copy, datetime, io, pickle
ad = c.ClassAd({'a':1,'B':2.5,'s':'x"y','l':[1,2,'z'],'d':{'n':1},'t':True,'u':c.Value.Undefined,'n':None,
                'e':c.ExprTree('a+1')})
one = c.ClassAd({'a':1})
long = c.ClassAd({'Zed':1,'alpha':2,'Be':3,'aa':4,'Cab':5})
nested = c.ClassAd('[x=[y=z;w=1];z=5;l={x,[q=z]}]')
def put(k, v):
    a = c.ClassAd(); a[k] = v; return a
def less(k):
    a = c.ClassAd({'a':1}); del a[k]; return a
def more(x):
    a = c.ClassAd({'a':1}); a.update(x); return a
"""


class Difference(NamedTuple):
    """What differs on purpose."""

    what: str
    why: str
    programs: tuple[str, ...]


DIFFERENCES: Final = (
    Difference(
        "An object that an ad cannot hold, given in a dict, is a ClassAdException, TypeError or OverflowError",
        "HTCondor's module raises a SystemError there, which tells nothing",
        (
            "c.ClassAd({'a':object()})",
            "c.ClassAd({'a':2**70})",
            "c.ClassAd({1:2})",
            "c.ClassAd({'':1})",
            "c.ClassAd({'a':datetime.timedelta(seconds=5)})",
            "c.ClassAd({'a':datetime.date(2020,1,1)})",
            "put('a',2**63)",
            "put('a',2**64)",
        ),
    ),
    Difference(
        "An ExprTree can be pickled and copied",
        "HTCondor's cannot; an ad with expressions can, in both",
        ("pickle.dumps(c.ExprTree('a'))", "copy.deepcopy(c.ExprTree('a'))"),
    ),
    Difference(
        "A datetime with a time zone keeps its instant",
        "HTCondor's module forgets the zone",
        ("put('a',datetime.datetime.now(datetime.timezone(datetime.timedelta(hours=2))).replace(2020,1,1,0,0,0,0))",),
    ),
    Difference(
        "JSON, XML and lists of ads are recognised by parseOne and parseAds without being told",
        "HTCondor's takes them for something else, and finds no ad or half of one",
        (
            "c.parseOne('{\"a\":1}')",
            'list(c.parseAds(\'[{"a":1},{"a":2}]\'))',
            "list(c.parseAds('{[a=1],[b=2]}'))",
            "c.parseOne('<c><a n=\"a\"><i>1</i></a></c>')",
        ),
    ),
    Difference(
        "Streams need no file behind them, and may be of bytes",
        "parseNext of HTCondor's reads the file's descriptor",
        ("c.parseOne(io.BytesIO(b'a=1\\n\\nb=2\\n'))", "c.parseNext(io.StringIO('a=1\\n\\nb=2\\n'))"),
    ),
    Difference(
        "What follows the last ad of a text in the new form, and is none, is a ValueError",
        "HTCondor's forgets it; a text that is cut off gives no ad and no error in both",
        ("c.parseOne('[a=1] junk')",),
    ),
    Difference(
        "flatten leaves what it cannot know",
        "HTCondor's may change the value of an expression: see tests/conformance/differences.md",
        (
            "long.flatten(c.ExprTree('zz && false'))",
            "long.flatten(c.ExprTree('true && zz'))",
            "long.flatten(c.ExprTree('{Zed,zz}'))",
            "long.flatten(c.ExprTree('ifThenElse(Zed==1,zz,2)'))",
        ),
    ),
)


def answer(module: ModuleType, program: str) -> tuple[str, ...]:
    """What a program gives: the type and both texts of the value, or the type and first line of the error."""
    names: dict[str, Any] = {"c": module}
    exec(STAGE, names)
    try:
        value = eval(program, names)
        return type(value).__name__, repr(value), str(value)
    except Exception as error:
        return "raises", type(error).__name__, str(error).partition("\n")[0]
