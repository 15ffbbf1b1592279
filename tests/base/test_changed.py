"""Frozen values made and changed past their `__init__` are what their classes make."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from roost.base.changed import changed, maker
from roost.base.records import dataclass, field, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """A value with a default."""

    text: str
    size: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Bag:
    """A value whose field is made anew each time."""

    items: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Twin:
    """A value with fields that are called as what its maker works with is, or was."""

    kind: str
    made: str


@dataclass(frozen=True, slots=True)
class Point:
    """A value whose fields have places."""

    x: int


def test_what_a_maker_makes_is_a_value_of_its_class() -> None:
    make = maker(Sign)
    made = make(text="exit")
    assert made == Sign(text="exit") and type(made) is Sign and hash(made) == hash(Sign(text="exit"))
    assert make(text="exit", size=5) == Sign(text="exit", size=5)
    assert changed(made, {"size": 5}) == replace(made, size=5)
    with pytest.raises(FrozenInstanceError):
        made.size = 4  # type: ignore[misc]


def test_a_maker_wants_what_the_class_wants() -> None:
    with pytest.raises(TypeError, match="text"):
        maker(Sign)()  # type: ignore[call-arg]


def test_a_maker_makes_fresh_defaults_each_time() -> None:
    make = maker(Bag)
    first, second = make(), make(items=[1])
    first.items.append(2)
    assert (first, second, make()) == (Bag(items=[2]), Bag(items=[1]), Bag())


def test_a_field_may_be_called_what_a_maker_works_with() -> None:
    assert maker(Twin)(kind="a", made="b") == Twin(kind="a", made="b")


def test_a_class_that_needs_more_is_refused() -> None:
    with pytest.raises(TypeError, match="Point"):
        maker(Point)
