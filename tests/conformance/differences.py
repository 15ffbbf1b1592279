"""The intended differences from the reference library, each with the reason in differences.md.

A difference is a predicate that explains one observation of one case, and nothing that its reason does not: where the
reference has a habit, our own answer *with that habit* (`models`) must be the reference's; where the cause shows only
while our library evaluates, the case is answered once more with the functions in question watched.

How often each is met is known, too: a run fails when one explains more than its share.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from roost.classad.ad import ClassAd
from roost.classad.errors import ClassAdError, ParseError
from roost.classad.expr import parse_expression
from roost.classad.forms import Form, parse_ad
from roost.classad.unparse import quote_name
from roost.classad.values import RelTime
from tests.conformance import forms, models, ours
from tests.conformance.cases import CRASHED, REFUSED, Case, Kind
from tests.conformance.models import witness
from tests.conformance.reference import unescape


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One intended difference."""

    #: Its heading in differences.md.
    id: str
    #: Whether it explains that `observation` of a case is ours here and theirs there.
    explains: Callable[[Case, str, str, str], bool]
    #: Cases on which the libraries differ for this reason alone.
    examples: tuple[Case, ...]
    #: How many observations it may explain, of every million cases of the generators.
    per_million_max: int


#: What chance may add to the bound of a difference in a small run.
_CHANCE = 12


def too_frequent(explained: Mapping[str, int], cases: int) -> list[str]:
    """What explained more of a run of `cases` cases than it may, in words."""
    return [
        f"{difference.id} explained {count} observations; {limit} are expected at most"
        for difference in DIFFERENCES
        if (count := explained.get(difference.id, 0)) > (limit := _CHANCE + difference.per_million_max * cases // 10**6)
    ]


def find(case: Case, observation: str, mine: str, theirs: str) -> Difference | None:
    """The intended difference that explains an observation; None if none does."""
    for difference in DIFFERENCES:
        if difference.explains(case, observation, mine, theirs):
            return difference
    return None


def _is_value(observation: str) -> bool:
    return observation.startswith("value") or observation.endswith("matches")


# -- the differences ------------------------------------------------------------------------------

_QUOTED_SELECTION = re.compile(r"(?<=[\w\])}'\"]\.)'((?:[^'\\]|\\.)*)'")


def _without_quotes(text: str) -> str:
    return _QUOTED_SELECTION.sub(lambda found: unescape(found[0]), text)


def _decoded(text: str, change: Callable[[str], str] = str) -> object:
    """JSON text as data, its strings changed, its numbers as they are written."""

    def changed(data: object) -> object:
        if isinstance(data, str):
            return change(data)
        return [changed(item) for item in data] if isinstance(data, list | tuple) else data

    return changed(json.loads(text, strict=False, object_pairs_hook=list, parse_float=str))


#: What is read again: the observation that was printed, and the reader.
_READERS: Final[dict[str, tuple[str, Callable[[str], list[ClassAd]]]]] = {
    "again": ("text", lambda text: [forms.read_new(text)]),
    "old again": ("old", forms.read_old),
    "json again": ("json", forms.read_json),
}


def _selection_names(case: Case, observation: str, mine: str, theirs: str) -> bool:
    bare = _without_quotes(mine)
    if case.kind is Kind.REFERENCES and mine != bare and sorted(bare.split(",")) == sorted(theirs.split(",")):
        return True
    if observation == "json":
        return _decoded(theirs) == _decoded(mine, _without_quotes)
    if mine != bare and bare in (theirs, theirs.replace("\\\\", "\\")):
        return True
    if observation not in _READERS:
        return False
    printed, read = _READERS[observation]
    written = ours.answer(case).get(printed, "")
    misprint = _without_quotes(written)
    if misprint == written:
        return False
    # The reference reads its own misprint, as we read it.
    try:
        again = " ".join(_without_quotes(str(ad)) for ad in read(misprint))
    except ClassAdError:
        # What follows the name makes no sense to us; the reference refuses it, or ends there.
        return True
    return theirs == again or (theirs == REFUSED and again in ("", "[  ]"))


def _matches_reltime(case: Case, observation: str, mine: str, theirs: str) -> bool:
    if case.kind is not Kind.MATCH or (mine, theirs) != ("False", "True"):
        return False
    my, target = forms.read_new(case.my or "[]"), forms.read_new(case.target or "[]")
    accepting, other = (target, my) if observation == "my matches" else (my, target)
    return isinstance(accepting.eval("Requirements", other, ours.WORLD), RelTime)


def _json_duration(case: Case, observation: str, mine: str, theirs: str) -> bool:
    if case.kind is not Kind.AD or not observation.startswith("json"):
        return False
    return _modelled(models.durations_as_numbers, case, observation, mine, theirs)


def _modelled(model: models.Model, case: Case, observation: str, mine: str, theirs: str) -> bool:
    """Whether ours is theirs under a model, but for how it is spelled."""
    modelled = models.answer_with(model, case).get(observation, "")
    if modelled == mine:
        return False
    spelled = (_selection_names, _references_spelling, _fractional_durations)
    return modelled == theirs or any(one(case, observation, modelled, theirs) for one in spelled)


#: A selection from what may be an ad literal.
_LITERAL_SELECTION = re.compile(r"\](?:\s|\))*\.")


def _references_in_literals(case: Case, observation: str, mine: str, theirs: str) -> bool:
    asked = case.kind is Kind.REFERENCES or _is_value(observation)
    if observation == "internal" and _LITERAL_SELECTION.search(case.text):
        # What follows a selection of something that a literal lacks is looked up there, and found nowhere.
        fewer = set(filter(None, theirs.split(",")))
        if fewer < set(models.answer_with(models.open_literals, case)[observation].split(",")):
            return True
    if observation == "external" and _LITERAL_SELECTION.search(case.text):
        # And so what it leads to counts as external, though the ad has it.
        own = set(filter(None, models.answer_with(models.open_literals, case)["external"].split(",")))
        mine_now = ours.answer(case)
        more = set(filter(None, f"{mine_now['external']},{mine_now['internal']}".split(",")))
        found = set(filter(None, theirs.split(",")))
        if own <= found and found - own <= more and found != own:
            return True
    return asked and _modelled(models.open_literals, case, observation, mine, theirs)


_ODD_NUMBER = re.compile(r"\.\s*\.\s*\d|-0[\dxX]|0[xX][\da-fA-F]+\.")


#: A duration as a string can begin with -0.
_EVAL_OF_DURATION = re.compile(r"\beval\s*\(.*\b(?:relTime|Lease)\b", re.I | re.S)


def _odd_numbers(case: Case, observation: str, mine: str, theirs: str) -> bool:
    texts = [text for text in (case.text, case.my, case.target) if text and _ODD_NUMBER.search(text)]
    if mine == "e" and _EVAL_OF_DURATION.search(f"{case.text} {case.my} {case.target}"):
        return True
    return bool(texts) and REFUSED in (mine, ours.answer(case).get("value"), ours.answer(case).get("text"))


def _old_bad_ad(case: Case, observation: str, mine: str, theirs: str) -> bool:
    if case.kind is not Kind.OLD and observation != "old again":
        return False
    if theirs != REFUSED:
        return mine.startswith(theirs + " [ ")
    text = case.text if case.kind is Kind.OLD else ours.answer(case)["old"]
    return _ends_the_reading(text)


_LINE_END = re.compile(r"\r*\n")


def _ends_the_reading(text: str) -> bool:
    """Whether a block between blank lines begins with a bad line, or holds comments alone."""
    lines = [line if line.strip() else "" for line in _LINE_END.split(text)]
    blocks = [list(block) for filled, block in groupby(lines, key=bool) if filled]
    told = [[line for line in block if not line.lstrip().startswith("#")] for block in blocks]
    return not all(lines and _is_readable(lines[0]) for lines in told)


def _is_readable(line: str) -> bool:
    try:
        return bool(parse_ad(line, Form.OLD))
    except ParseError:
        return False


#: An absolute name.
_ABSOLUTE = re.compile(r"(?<![\w\])}'\"\s.])\s*\.\s*[A-Za-z_']|^\s*\.\s*[A-Za-z_']")


def _no_ad(case: Case, observation: str, mine: str, theirs: str) -> bool:
    return case.my is None and observation == "value" and bool(_ABSOLUTE.search(case.text))


def _references_always(case: Case, observation: str, mine: str, theirs: str) -> bool:
    if _is_value(observation):
        return theirs != REFUSED and models.unresolved_gives_up(case)
    if case.kind is not Kind.REFERENCES or theirs != "!none":
        return False
    return models.gives_up(parse_expression(case.text), forms.read_new(case.my or "[]"))


def _references_spelling(case: Case, observation: str, mine: str, theirs: str) -> bool:
    return case.kind is Kind.REFERENCES and sorted(mine.lower().split(",")) == sorted(theirs.lower().split(","))


#: Open brackets, and operators in one expression, beyond which the reference gives up.
_BRACKETS_MAX, _OPERATORS_MAX = 150, 390
#: The beginning of a list that holds itself as often as the reference's limit allows.
_RUNAWAY = "{ " * 40
_BRACKETS = re.compile(r"[(\[{]")
_OPERATORS = re.compile(r"[-+*/%&|^<>=!~?]+")


def _limits(case: Case, observation: str, mine: str, theirs: str) -> bool:
    if len(_BRACKETS.findall(case.text)) > _BRACKETS_MAX and theirs in (REFUSED, ""):
        return True
    if not _is_value(observation) or theirs == REFUSED:
        return False
    if theirs == "e" and len(_OPERATORS.findall(case.text)) > _OPERATORS_MAX:
        return True
    return witness(case).stopped or _RUNAWAY in theirs


#: A year that no calendar of the C library handles, in a split or printed instant.
_ABSURD_YEAR = re.compile(r"(?:Year = |\d\d:\d\d:\d\d )-?\d{6,}")


#: A duration beyond 32 bits of seconds, as the reference prints it in a list or an ad.
_OVERFLOWN = 'relTime("--24855+-3:-14:-8")'
_FORMAT_TIME = re.compile(r"\bformatTime\s*\(", re.I)
_HUGE = re.compile(r"\d{12,}|\de\d|<<|\bpow\b", re.I)


def _absurd_instants(case: Case, observation: str, mine: str, theirs: str) -> bool:
    if not _is_value(observation):
        return False
    texts = " ".join(text for text in (case.text, case.my, case.target) if text)
    return (
        any(_ABSURD_YEAR.search(text) for text in (mine, theirs))
        or _OVERFLOWN in theirs
        or bool(_FORMAT_TIME.search(texts) and _HUGE.search(texts))
    )


_FRACTION = re.compile(r'(?<=relTime\(")(-?)([\d+:]*?)(\d+)\.\d+(?="\))')


def _fractional_durations(case: Case, observation: str, mine: str, theirs: str) -> bool:
    whole = _FRACTION.sub(lambda found: f"{found[1]}{found[2]}{int(found[3]):02d}", mine)
    return whole != mine and whole == theirs


_IDENTITY = re.compile(r"\bis\b|\bisnt\b|=\?=|=!=|\bidenticalMember\b", re.I)
#: What gives a list or ad of the other kind: functions, and subscripts of an ad.
_SHARED = re.compile(r"\b(?:split|argsToList|splitUserName|splitSlotName|evalInEachContext)\s*\(|\"\s*\]", re.I)


def _shared_lists(case: Case, observation: str, mine: str, theirs: str) -> bool:
    texts = " ".join(text for text in (case.text, case.my, case.target) if text)
    return _is_value(observation) and bool(_IDENTITY.search(texts)) and bool(_SHARED.search(texts))


def _leaked_context(case: Case, observation: str, mine: str, theirs: str) -> bool:
    return _is_value(observation) and _modelled(models.leaking_lookups, case, observation, mine, theirs)


def _freed_selection(case: Case, observation: str, mine: str, theirs: str) -> bool:
    if not _is_value(observation) or REFUSED in (mine, theirs):
        return False
    try:
        return witness(case).selected_from_subscript
    except ParseError:
        return False


#: What gives a list of values, some of them gone when they are looked at.
_EACH = re.compile(r"\bevalInEachContext\s*\(", re.I)
#: What looks into the items of a list, which are gone if a function made the list.
_COUNT = re.compile(r"\bcountMatches\s*\(", re.I)


def _crashes(case: Case, observation: str, mine: str, theirs: str) -> bool:
    if theirs != CRASHED:
        return False
    seen = witness(case)
    texts = " ".join(text for text in (case.text, case.my, case.target) if text)
    looked_into = seen.selected_from_list or _COUNT.search(texts)
    made = (looked_into and _SHARED.search(texts)) or _EACH.search(texts)
    return seen.stopped or seen.selected_from_subscript or bool(made)


def _old_names(case: Case, observation: str, mine: str, theirs: str) -> bool:
    return (
        case.kind is Kind.AD
        and observation in ("old", "old again")
        and any(_needs_quotes(name) for name in forms.read_new(case.text))
    )


def _needs_quotes(name: str) -> bool:
    return quote_name(name) != name


def _expression(text: str, my: str = "[]", target: str | None = None) -> Case:
    return Case(kind=Kind.EXPRESSION, text=text, my=my, target=target)


def _asked(kind: Kind, text: str = "", my: str | None = None, target: str | None = None) -> Case:
    return Case(kind=kind, text=text, my=my, target=target)


_DEEP_SUM = "1" + "+1" * 500
_DEEP_BRACKETS = "(" * 200 + "1" + ")" * 200

DIFFERENCES: Final[tuple[Difference, ...]] = (
    Difference(
        id="selection-names",
        per_million_max=13000,
        explains=_selection_names,
        examples=(_expression("a.'two words'"), _expression("a.'is' + {b.'é'}[0]"), _asked(Kind.AD, "[a=b.'it\\'s']")),
    ),
    Difference(
        id="old-names",
        per_million_max=8000,
        explains=_old_names,
        examples=(_asked(Kind.AD, "['a b'=1]"), _asked(Kind.AD, "['is'=1;b=2]")),
    ),
    Difference(
        id="odd-numbers",
        per_million_max=300,
        explains=_odd_numbers,
        examples=(
            _expression("..5"),
            _expression("-010"),
            _expression("-0x1F"),
            _expression("eval(relTime(-1))"),
        ),
    ),
    Difference(
        id="old-bad-ad",
        per_million_max=800,
        explains=_old_bad_ad,
        examples=(
            _asked(Kind.OLD, "A = (\n\nB = 1"),
            _asked(Kind.OLD, "A = 1\n\nbad\n\nC = 1"),
            _asked(Kind.OLD, "A = 1\n\n# a note\n\nC = 1"),
        ),
    ),
    Difference(
        id="json-duration",
        per_million_max=30000,
        explains=_json_duration,
        examples=(_asked(Kind.AD, '[a=relTime("1:00");b=1]'),),
    ),
    Difference(
        id="references-in-literals",
        per_million_max=2500,
        explains=_references_in_literals,
        examples=(
            _asked(Kind.REFERENCES, "[a=a]", "[]"),
            _asked(Kind.REFERENCES, "[v=a].v", "[a=1]"),
            _asked(Kind.REFERENCES, "[].root", "[a=b;c=a]"),
        ),
    ),
    Difference(
        id="references-always",
        per_million_max=4500,
        explains=_references_always,
        examples=(_asked(Kind.REFERENCES, "l.a", "[l={1}]"), _asked(Kind.REFERENCES, "a", "[a=b;b=a]")),
    ),
    Difference(
        id="references-spelling",
        per_million_max=300,
        explains=_references_spelling,
        examples=(_asked(Kind.REFERENCES, "root", "[z=Foo;x=foo]"),),
    ),
    Difference(
        id="matches-reltime",
        per_million_max=100,
        explains=_matches_reltime,
        examples=(_asked(Kind.MATCH, my="[]", target="[Requirements=relTime(1)]"),),
    ),
    Difference(
        id="freed-selection",
        per_million_max=600,
        explains=_freed_selection,
        examples=(_expression('my["x"].b', "[x=[b=2]]"), _expression('x["x"].a', "[a=1;x=my]")),
    ),
    Difference(
        id="leaked-context",
        per_million_max=500,
        explains=_leaked_context,
        examples=(
            _expression("evalInEachContext(q,a)", "[a={[q=1]}]", "[]"),
            _expression("isList(evalInEachContext(q,{})) && isList(a)", "[a={1}]", "[]"),
        ),
    ),
    Difference(
        id="no-ad",
        per_million_max=200,
        explains=_no_ad,
        examples=(Case(kind=Kind.EXPRESSION, text="{.a}[0]"),),
    ),
    Difference(
        id="absurd-instants",
        per_million_max=200,
        explains=_absurd_instants,
        examples=(
            _expression("splitTime(-9223372036854775807)"),
            _expression("evalInEachContext(relTime(2147483648.5),{[]})"),
            _expression("evalInEachContext(relTime(1e400),{[]})"),
            _expression('formatTime(9007199254740993,"%c")'),
            _expression('formatTime(9007199254740993,"%a")'),
        ),
    ),
    Difference(
        id="fractional-durations",
        per_million_max=200,
        explains=_fractional_durations,
        examples=(_expression("evalInEachContext(relTime(0.5),{[]})"),),
    ),
    Difference(
        id="shared-lists",
        per_million_max=200,
        explains=_shared_lists,
        examples=(_expression('{} is split("")'), _expression('split("a") isnt {1}')),
    ),
    Difference(
        id="limits",
        per_million_max=800,
        explains=_limits,
        examples=(_expression(_DEEP_SUM), _expression(_DEEP_BRACKETS)),
    ),
    Difference(
        id="crashes",
        per_million_max=3000,
        explains=_crashes,
        examples=(
            _expression('split("a b").a'),
            _expression('x["x"].a.b', "[x=[x={[a=[b=1]]}]]"),
            _expression('countMatches(1,splitUserName(""))'),
        ),
    ),
)
