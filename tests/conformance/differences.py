"""The intended differences from the reference library, each a predicate with the reason in differences.md."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tests.conformance.cases import Case
from tests.conformance.reference import unescape


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One intended difference."""

    #: Its heading in differences.md.
    id: str
    #: Whether it explains that `observation` of a case is ours here and theirs there.
    explains: Callable[[Case, str, str, str], bool]


def find(case: Case, observation: str, ours: str, theirs: str) -> Difference | None:
    """The intended difference that explains an observation; None if none does."""
    for difference in DIFFERENCES:
        if difference.explains(case, observation, ours, theirs):
            return difference
    return None


_QUOTED_SELECTION = re.compile(r"(?<=[\w\])}'\"]\.)'((?:[^'\\]|\\.)*)'")


def _selection_names(case: Case, observation: str, ours: str, theirs: str) -> bool:
    """The reference prints a selected name as it is, so that its text may mean something else when read."""
    return _QUOTED_SELECTION.sub(lambda found: unescape_name(found[1]), ours) == theirs or (
        observation in ("again", "old again", "json again") and ".'" in case.text
    )


def unescape_name(inner: str) -> str:
    """The name that stands between quotes."""
    return unescape("'" + inner + "'")


DIFFERENCES: Final[tuple[Difference, ...]] = (
    Difference(id="selection-names", explains=_selection_names),
)
