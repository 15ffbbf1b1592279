"""The intended differences from the reference library, each with the reason in differences.md.

A difference is a predicate that explains one observation of one case. Predicates are as exact as can be: where
the cause shows only while our library evaluates, the case is answered once more under `witness`, with the
functions in question watched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from unittest import mock

from roost.classad import compiler, evaluation
from roost.classad.ad import ClassAd
from roost.classad.errors import ParseError
from roost.classad.unparse import quote_name
from roost.classad.values import ListValue, RelTime
from tests.conformance import forms, ours
from tests.conformance.cases import REFUSED, Case, Kind
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


def find(case: Case, observation: str, mine: str, theirs: str) -> Difference | None:
    """The intended difference that explains an observation; None if none does."""
    for difference in DIFFERENCES:
        if difference.explains(case, observation, mine, theirs):
            return difference
    return None


# -- watching our own evaluation ------------------------------------------------------------------


@dataclass(slots=True)
class Witness:
    """What happened while a case was answered."""

    #: A limit of the room ended an evaluation.
    stopped: bool = False
    #: Something was selected from an ad or list that ``ad["name"]`` gave.
    selected_from_subscript: bool = False


def witness(case: Case) -> Witness:
    """Answer `case` and see what happens."""
    seen = Witness()
    with _watching(seen):
        ours.answer(case)
    return seen


@contextmanager
def _watching(seen: Witness) -> Iterator[None]:
    given: list[object] = []
    deeply, subscript, select = evaluation.deeply, evaluation.subscript_value, evaluation.select_value

    def watched_deeply(run: Callable[[], Any]) -> Any:
        try:
            return deeply(run)
        except (evaluation.EvaluationStopped, RecursionError) as error:
            seen.stopped |= not isinstance(error, evaluation.EvaluationFailed)
            raise

    def watched_subscript(state: Any, base: Any, index: Any) -> Any:
        value = subscript(state, base, index)
        if isinstance(value, ClassAd | ListValue) and (isinstance(index, str) or _among(given, base)):
            given.append(value)
        return value

    def watched_select(state: Any, base: Any, key: str) -> Any:
        if _among(given, base):
            seen.selected_from_subscript = True
        return select(state, base, key)

    with (
        mock.patch.object(evaluation, "deeply", watched_deeply),
        mock.patch.object(compiler, "subscript_value", watched_subscript),
        mock.patch.object(compiler, "select_value", watched_select),
        mock.patch.object(evaluation, "select_value", watched_select),
    ):
        yield


def _among(given: list[object], value: object) -> bool:
    return any(value is one for one in given)


def _is_value(observation: str) -> bool:
    return observation.startswith("value") or observation.endswith("matches")


# -- the differences ------------------------------------------------------------------------------

_QUOTED_SELECTION = re.compile(r"(?<=[\w\])}'\"]\.)'((?:[^'\\]|\\.)*)'")


def _selection_names(case: Case, observation: str, mine: str, theirs: str) -> bool:
    bare = _QUOTED_SELECTION.sub(lambda found: unescape(found[0]), mine)
    if mine != bare and bare in (theirs, theirs.replace("\\\\", "\\")):
        return True
    return observation in ("again", "old again", "json again", "json", "old") and ".'" in case.text


def _matches_reltime(case: Case, observation: str, mine: str, theirs: str) -> bool:
    if case.kind is not Kind.MATCH or (mine, theirs) != ("False", "True"):
        return False
    my, target = forms.read_new(case.my or "[]"), forms.read_new(case.target or "[]")
    accepting, other = (target, my) if observation == "my matches" else (my, target)
    return isinstance(accepting.eval("Requirements", other, ours.WORLD), RelTime)


_DURATION_TEXT = re.compile(r'"\\/Expr\(relTime\(\\"[^"\\]*\\"\)\)\\/"')
_NUMBER = re.compile(r"-?[\d.]+(?:E[-+]\d+)?")


def _json_duration(case: Case, observation: str, mine: str, theirs: str) -> bool:
    if case.kind is not Kind.AD or not observation.startswith("json") or "reltime" not in case.text.lower():
        return False
    if observation == "json again":
        return True
    pieces = _DURATION_TEXT.split(mine)
    pattern = _NUMBER.pattern.join(re.escape(piece) for piece in pieces)
    return len(pieces) > 1 and re.fullmatch(pattern, theirs) is not None


#: An ad literal, or a name with the reference's list of references to the ad itself.
_AD_LITERAL = re.compile(r"\[\s*;?\s*(?:\w+|'[^']*')\s*=")


def _references_in_literals(case: Case, observation: str, mine: str, theirs: str) -> bool:
    return (
        case.kind is Kind.REFERENCES
        and observation in ("external", "internal")
        and any(_AD_LITERAL.search(text) for text in (case.text, (case.my or "")[1:]))
    )


_ODD_NUMBER = re.compile(r"\.\s*\.\s*\d|-0[\dxX]|0[xX][\da-fA-F]+\.")


#: A duration as a string can begin with -0.
_EVAL_OF_DURATION = re.compile(r"\beval\s*\(.*\b(?:relTime|Lease)\b", re.I | re.S)


def _odd_numbers(case: Case, observation: str, mine: str, theirs: str) -> bool:
    texts = [text for text in (case.text, case.my, case.target) if text and _ODD_NUMBER.search(text)]
    if mine == "e" and _EVAL_OF_DURATION.search(f"{case.text} {case.my} {case.target}"):
        return True
    return bool(texts) and REFUSED in (mine, ours.answer(case).get("value"), ours.answer(case).get("text"))


def _old_bad_ad(case: Case, observation: str, mine: str, theirs: str) -> bool:
    read_old = case.kind is Kind.OLD or observation == "old again"
    return read_old and (theirs == REFUSED or mine.startswith(theirs + " [ "))


#: An absolute name.
_ABSOLUTE = re.compile(r"(?<![\w\])}'\"\s.])\s*\.\s*[A-Za-z_']|^\s*\.\s*[A-Za-z_']")


def _no_ad(case: Case, observation: str, mine: str, theirs: str) -> bool:
    return case.my is None and observation == "value" and bool(_ABSOLUTE.search(case.text))


def _references_always(case: Case, observation: str, mine: str, theirs: str) -> bool:
    return case.kind is Kind.REFERENCES and theirs == "!none"


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


_BY_NAME = re.compile(
    r"\b(?:evalineachcontext|countmatches)\s*\([\s(]*(?:\.\s*)?(?:\w+|'[^']*')(?:\s*\.\s*(?:\w+|'[^']*'))*[\s)]*[,;]",
    re.I,
)


#: A year that no calendar of the C library handles, in a split or printed instant.
_ABSURD_YEAR = re.compile(r"(?:Year = |\d\d:\d\d:\d\d )-?\d{6,}")


_FORMAT_TIME = re.compile(r"\bformatTime\s*\(", re.I)
_HUGE = re.compile(r"\d{12,}|\de\d|<<|\bpow\b", re.I)


def _absurd_instants(case: Case, observation: str, mine: str, theirs: str) -> bool:
    if not _is_value(observation):
        return False
    texts = " ".join(text for text in (case.text, case.my, case.target) if text)
    return any(_ABSURD_YEAR.search(text) for text in (mine, theirs)) or bool(
        _FORMAT_TIME.search(texts) and _HUGE.search(texts)
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


_UNRESOLVED = re.compile(r"\bunresolved\s*\(", re.I)


def _leaked_context(case: Case, observation: str, mine: str, theirs: str) -> bool:
    texts = (case.text, case.my, case.target)
    return _is_value(observation) and any(
        text and (_BY_NAME.search(text) or _UNRESOLVED.search(text)) for text in texts
    )


def _freed_selection(case: Case, observation: str, mine: str, theirs: str) -> bool:
    if not _is_value(observation) or REFUSED in (mine, theirs):
        return False
    try:
        return witness(case).selected_from_subscript
    except ParseError:
        return False


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
        explains=_selection_names,
        examples=(_expression("a.'two words'"), _expression("a.'is' + {b.'é'}[0]"), _asked(Kind.AD, "[a=b.'it\\'s']")),
    ),
    Difference(
        id="old-names", explains=_old_names, examples=(_asked(Kind.AD, "['a b'=1]"), _asked(Kind.AD, "['is'=1;b=2]"))
    ),
    Difference(
        id="odd-numbers",
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
        explains=_old_bad_ad,
        examples=(
            _asked(Kind.OLD, "A = (\n\nB = 1"),
            _asked(Kind.OLD, "A = 1\n\nbad\n\nC = 1"),
        ),
    ),
    Difference(id="json-duration", explains=_json_duration, examples=(_asked(Kind.AD, '[a=relTime("1:00");b=1]'),)),
    Difference(
        id="references-in-literals",
        explains=_references_in_literals,
        examples=(_asked(Kind.REFERENCES, "[a=a]", "[]"), _asked(Kind.REFERENCES, "[v=a].v", "[a=1]")),
    ),
    Difference(
        id="references-always",
        explains=_references_always,
        examples=(_asked(Kind.REFERENCES, "l.a", "[l={1}]"), _asked(Kind.REFERENCES, "a", "[a=b;b=a]")),
    ),
    Difference(id="references-spelling", explains=_references_spelling, examples=()),
    Difference(
        id="matches-reltime",
        explains=_matches_reltime,
        examples=(_asked(Kind.MATCH, my="[]", target="[Requirements=relTime(1)]"),),
    ),
    Difference(
        id="freed-selection",
        explains=_freed_selection,
        examples=(_expression('my["x"].b', "[x=[b=2]]"), _expression('x["x"].a', "[a=1;x=my]")),
    ),
    Difference(
        id="leaked-context",
        explains=_leaked_context,
        examples=(
            _expression("evalInEachContext(q,a)", "[a={[q=1]}]", "[]"),
            _expression("isList(evalInEachContext(q,{})) && isList(a)", "[a={1}]", "[]"),
        ),
    ),
    Difference(
        id="no-ad",
        explains=_no_ad,
        examples=(Case(kind=Kind.EXPRESSION, text="{.a}[0]"),),
    ),
    Difference(
        id="absurd-instants",
        explains=_absurd_instants,
        examples=(
            _expression("splitTime(-9223372036854775807)"),
            _expression('formatTime(9007199254740993,"%c")'),
            _expression('formatTime(9007199254740993,"%a")'),
        ),
    ),
    Difference(
        id="fractional-durations",
        explains=_fractional_durations,
        examples=(_expression("evalInEachContext(relTime(0.5),{[]})"),),
    ),
    Difference(
        id="shared-lists",
        explains=_shared_lists,
        examples=(_expression('{} is split("")'), _expression('split("a") isnt {1}')),
    ),
    Difference(id="limits", explains=_limits, examples=(_expression(_DEEP_SUM), _expression(_DEEP_BRACKETS))),
)
