"""Cases from seeds.

One seed makes one case, whatever the process or the order, so a run is split over processes by ranges of
seeds and a failing case is named by its seed. A generator draws from any `random.Random`; hypothesis lends
one whose choices it can shrink.

Two modes. *Typed* expressions mostly mean something: operators and functions get operands of the types they
take, over the attributes of a machine and a job. *Wild* ones follow the grammar and nothing else: any operand
anywhere, odd literals, odd names, odd spacing, and now and then a spoilt token.

The generators do not produce what has no stable answer: the clock, random numbers, the home directories of
the machine, other than in places where only the type shows.
"""

from __future__ import annotations

import re
from random import Random
from typing import Final

from tests.conformance.cases import Case, Kind
from tests.conformance.drawing import DEFAULTS, Settings
from tests.conformance.texts import Texts
from tests.conformance.typed import TYPES


def case_of(seed: int, settings: Settings = DEFAULTS) -> Case:
    """The case of a seed."""
    generator = Generator(Random(seed), settings)
    case = generator.case()
    while unstable(case):
        case = generator.case()
    return case


#: Calls of the clock and of chance, and the places where only the type of their result shows.
_CLOCK: Final = re.compile(r"\b(?:abstime|formattime|time|currenttime|daytime|random)\s*\(\s*\)|\bcurrenttime\b", re.I)
_RANDOM: Final = re.compile(r"\brandom\s*\([^-0)]", re.I)
_TYPE_ONLY: Final = re.compile(r"\b(?:isreal|isinteger)\((?:random\([\d.]*\)|time\(\)|currenttime(?:\(\))?)\)", re.I)


_COMMENT: Final = re.compile(r"/\*.*?\*/|//[^\n]*\n", re.S)


def unstable(case: Case) -> bool:
    """Whether the answer depends on when it is asked."""
    for text in (case.text, case.my, case.target):
        if text:
            rest = _TYPE_ONLY.sub("", _COMMENT.sub(" ", text))
            if _CLOCK.search(rest) or _RANDOM.search(rest):
                return True
    return False


class Generator(Texts):
    """Draws whole cases."""

    def case(self) -> Case:
        """A case of any kind."""
        kind = self.rng.choices(list(Kind), self.settings.kind_weights)[0]
        match kind:
            case Kind.EXPRESSION:
                return self.expression_case()
            case Kind.AD:
                return Case(kind=kind, text=self.ad(wild=self._chance(0.6)))
            case Kind.OLD:
                return Case(kind=kind, text=self.old_text())
            case Kind.JSON:
                return Case(kind=kind, text=self.json_text())
            case Kind.REFERENCES:
                text = self.typed("bool") if self._chance(0.5) else self.wild()
                return Case(kind=kind, text=text, my=self.ad(wild=self._chance(0.5)))
            case Kind.MATCH:
                return Case(kind=kind, my=self._match_ad(), target=self._match_ad())

    def expression_case(self) -> Case:
        """An expression, evaluated in no ad, one ad or two."""
        if self._chance(self.settings.path_share):
            return self.path_case()
        wild = self._chance(self.settings.wild_share)
        text = self.wild() if wild else self.typed(self._pick(TYPES))
        if wild and self._chance(self.settings.garbage_share):
            text = self._spoil(text)
        if self._chance(0.03):
            return Case(kind=Kind.EXPRESSION, text=text)
        my = self.ad(wild=wild)
        target = self.ad(wild=wild) if self._chance(self.settings.two_ads_share) else None
        return Case(kind=Kind.EXPRESSION, text=text, my=my, target=target)

    def _match_ad(self) -> str:
        requirements = self.typed("bool") if self._chance(0.8) else self.wild(2)
        attributes = self._machine_attributes()
        if self._chance(0.9):
            attributes.append(("Requirements", requirements))
        return self._write_ad(attributes)
