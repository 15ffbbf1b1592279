"""Dataclasses whose methods are made late behave as the standard library's."""

from __future__ import annotations

import copy
import dataclasses
import functools
import pickle
import sys
from dataclasses import FrozenInstanceError
from typing import Any, ClassVar

import pytest

from roost.base import records


@records.dataclass(frozen=True, slots=True, kw_only=True)
class Late:
    """One of ours."""

    number: int
    words: tuple[str, ...] = ()
    span: tuple[int, int] = records.field(default=(0, 0), compare=False, repr=False)
    kind: ClassVar[str] = "late"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Usual:
    """The same of the standard library."""

    number: int
    words: tuple[str, ...] = ()
    span: tuple[int, int] = dataclasses.field(default=(0, 0), compare=False, repr=False)
    kind: ClassVar[str] = "late"


@records.dataclass(frozen=True, slots=True)
class Grown(Late):
    """One more field, given by position, and one that nobody gives."""

    more: list[int] = records.field(default_factory=list)
    seen: int = records.field(init=False, default=0)

    def __post_init__(self) -> None:
        self.more.append(self.number)


class Plain(Late):
    """A class of its own that takes the constructor over."""


@records.dataclass(slots=True)
class Counter:
    """One that changes."""

    at: int = 0


@records.dataclass(frozen=True, slots=True)
class Empty:
    """Nothing in it."""


@pytest.mark.parametrize("cls", [Late, Usual])
def test_objects_are_compared_shown_and_hashed_by_their_fields(cls: Any) -> None:
    one, same, other = cls(number=1, span=(1, 2)), cls(number=1), cls(number=1, words=("a",))
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert one != (1, ())
    assert repr(other) == f"{cls.__name__}(number=1, words=('a',))"
    assert cls.__match_args__ == ()
    assert not hasattr(one, "__dict__")


@pytest.mark.parametrize("cls", [Late, Usual])
@pytest.mark.parametrize("given", [{}, {"numbers": 1}, {"number": 1, "extra": 2}])
def test_wrong_arguments_are_refused(cls: Any, given: dict[str, int]) -> None:
    with pytest.raises(TypeError):
        cls(**given)
    with pytest.raises(TypeError):
        cls(1)


def test_a_frozen_object_can_not_be_changed_but_copied_and_pickled() -> None:
    one = Late(number=3, words=("x",), span=(4, 5))
    with pytest.raises(FrozenInstanceError):
        one.number = 4  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del one.number
    for again in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert again == one
        assert again.span == (4, 5)


def test_a_class_grows_from_another_with_defaults_of_its_own() -> None:
    one = Grown(number=1)
    assert (one.more, one.seen, one.span) == ([1], 0, (0, 0))
    assert Grown(number=2).more == [2]
    assert Grown([7], number=2).more == [7, 2]
    assert repr(one) == "Grown(number=1, words=(), more=[1], seen=0)"
    with pytest.raises(TypeError):
        Grown(number=1, seen=2)  # type: ignore[call-arg]


def test_one_that_changes_has_no_hash_and_one_without_fields_equals_its_like() -> None:
    one = Counter()
    one.at += 1
    assert one == Counter(1)
    with pytest.raises(TypeError):
        hash(one)
    assert Empty() == Empty()
    assert hash(Empty()) == hash(Empty())


def test_the_standard_librarys_functions_know_the_classes() -> None:
    one: Any = Late(number=1)
    assert dataclasses.is_dataclass(one)
    assert [each.name for each in dataclasses.fields(one)] == ["number", "words", "span"]
    assert dataclasses.asdict(one) == {"number": 1, "words": (), "span": (0, 0)}
    assert dataclasses.replace(one, number=2) == records.replace(one, number=2) == Late(number=2)


def test_a_method_of_the_class_goes_before_the_made_one() -> None:
    @records.dataclass(frozen=True)
    class Loud:
        name: str

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Loud) and self.name.upper() == other.name.upper()

        def __hash__(self) -> int:
            return hash(self.name.upper())

        def __repr__(self) -> str:
            return self.name.upper()

    assert Loud("a") == Loud("A")
    assert {Loud("a"), Loud("A")} == {Loud("a")}
    assert repr(Loud("a")) == "A"


def test_a_class_that_takes_the_constructor_over_makes_objects_of_its_own() -> None:
    made = Plain(number=1, words=("a",))

    assert (type(made), made.number, made.words, made.span) == (Plain, 1, ("a",), (0, 0))
    assert type(Late(number=2)) is Late
    with pytest.raises(FrozenInstanceError):
        made.number = 2  # type: ignore[misc]


def test_a_record_made_near_the_limit_of_recursion_is_too_deep_and_nothing_else():
    @records.dataclass(frozen=True, slots=True)
    class Four:
        a: int
        b: int
        c: int
        d: int

    Four(1, 2, 3, 4)
    limit = sys.getrecursionlimit()

    def down(left: int) -> None:
        if left:
            down(left - 1)
        else:
            Four(1, 2, 3, 4)

    outcomes = set()
    for depth in range(limit - 120, limit):
        try:
            down(depth)
            outcomes.add("made")
        except RecursionError:
            outcomes.add("too deep")
    assert outcomes == {"made", "too deep"}


@records.dataclass(frozen=True, slots=True, order=True)
class Place:
    """One that has an order."""

    line: int
    column: int = records.field(default=1, metadata={"unit": "characters"})
    said: str = records.field(default="", compare=False)


@records.dataclass(frozen=True, slots=False, kw_only=True)
class Counted:
    """One with room for what is found out once."""

    texts: tuple[str, ...]
    more: int = 0
    most: int = 9

    @functools.cached_property
    def count(self) -> int:
        """How many texts there are."""
        return len(self.texts) + self.more


def test_records_have_an_order_where_they_are_to() -> None:
    assert sorted([Place(2, 1), Place(1, 9, "b"), Place(1, 3)]) == [Place(1, 3), Place(1, 9), Place(2, 1)]
    assert Place(1, 1) <= Place(1, 1, "other") and Place(2, 0) > Place(1, 7) and Place(1, 1) >= Place(1, 0)
    with pytest.raises(TypeError):
        assert Place(1) < (2, 1)  # type: ignore[operator]
    assert {each.name: dict(each.metadata) for each in dataclasses.fields(Place)}["column"] == {"unit": "characters"}


def test_records_may_have_room_for_more() -> None:
    found = Counted(texts=("a", "b"), more=1)
    assert (found.count, found.count, found) == (3, 3, Counted(texts=("a", "b"), more=1))
    assert records.replace(found, texts=()).count == 1
    with pytest.raises(FrozenInstanceError):
        found.more = 2  # type: ignore[misc]


def test_fields_know_their_types() -> None:
    """Where they did not, nothing of an audit record counted as a text, and all of it was dropped on its way."""
    told = [{each.name: each.type for each in dataclasses.fields(kind)} for kind in (Late, Usual)]
    assert told[0] == told[1] == {"number": "int", "words": "tuple[str, ...]", "span": "tuple[int, int]"}
    assert {each.name: each.type for each in dataclasses.fields(Grown)} == {
        **told[0],
        "more": "list[int]",
        "seen": "int",
    }
