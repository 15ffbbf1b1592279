"""The limits and weights of the generators, and how they draw."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, TypeVar

from tests.conformance.vocabulary import SPACES

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every limit and weight of the generators."""

    #: Levels of operators and calls in one expression.
    depth_max: int = 4
    #: Elements of a list literal.
    list_items_max: int = 4
    #: Attributes of a generated ad.
    attributes_max: int = 6
    #: Levels of ads within ads.
    ad_depth_max: int = 2
    #: Arguments beyond or below what a function takes: share of wild calls.
    wrong_count_share: float = 0.06
    #: Share of function arguments of a type the function does not ask for, in typed mode.
    wrong_type_share: float = 0.08
    #: Share of wild expressions in which a token is dropped, doubled or replaced.
    garbage_share: float = 0.12
    #: Share of tokens set apart by something else than one blank or nothing, in wild mode.
    odd_space_share: float = 0.05
    #: Share of expression cases that are wild.
    wild_share: float = 0.5
    #: Share of expression cases that walk through nested ads and lists.
    path_share: float = 0.2
    #: Share of expression cases evaluated against a second ad.
    two_ads_share: float = 0.5
    #: Share of each kind of case, in the order of `Kind`.
    kind_weights: tuple[int, ...] = (80, 8, 4, 3, 3, 2)


DEFAULTS: Final = Settings()


class Drawing:
    """Draws from `rng`; the base of all generators."""

    def __init__(self, rng: Random, settings: Settings = DEFAULTS) -> None:
        self.rng = rng
        self.settings = settings
        self._unit = rng.random

    def _list_of(self, item: Callable[[], str], least: int = 0) -> str:
        count = self.rng.randrange(least, self.settings.list_items_max + 1)
        return "{" + ",".join([item() for _ in range(count)]) + "}"

    def _space(self) -> str:
        if self._chance(self.settings.odd_space_share):
            return self._pick(SPACES)
        return " " if self._chance(0.7) else ""

    def _gap(self) -> str:
        return self._pick(SPACES) if self._chance(self.settings.odd_space_share) else ""

    def _chance(self, share: float) -> bool:
        return self._unit() < share

    def _pick(self, choices: Sequence[T]) -> T:
        return choices[int(self._unit() * len(choices))]
