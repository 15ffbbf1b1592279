"""Records that are made in C behave as those of `records.dataclass`."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any, ClassVar

import pytest

from roost.base import fast_records, records
from roost.base.fast_records import field, record


@record
class Quick:
    """One of them."""

    number: int
    words: tuple[str, ...] = ()
    kind: ClassVar[str] = "quick"

    @property
    def twice(self) -> int:
        """Something that is found out."""
        return 2 * self.number


@record
class Secretive:
    """One with a field that is neither shown nor compared, and one that is made anew each time."""

    name: str
    key: bytes = field(default=b"k", repr=False, compare=False)
    items: list[int] = field(default_factory=list, metadata={"unit": "jobs"})


@records.dataclass(frozen=True, slots=True, kw_only=True)
class Usual:
    """What `Secretive` is to be like."""

    name: str
    key: bytes = field(default=b"k", repr=False, compare=False)
    items: list[int] = field(default_factory=list, metadata={"unit": "jobs"})


def test_objects_are_compared_shown_hashed_and_matched_by_their_fields() -> None:
    one, same, other = Quick(number=1), Quick(number=1), Quick(number=1, words=("a",))
    assert one == same and hash(one) == hash(same) and one != other and one != (1, ())
    assert repr(other) == "Quick(number=1, words=('a',))"
    assert (one.twice, Quick.kind, Quick.__match_args__) == (2, "quick", ())
    match other:
        case Quick(words=words):
            assert words == ("a",)


def test_a_frozen_object_can_not_be_changed_but_copied_and_pickled() -> None:
    one: Any = Quick(number=3, words=("x",))
    with pytest.raises(AttributeError):
        one.number = 4
    with pytest.raises(AttributeError):
        del one.number
    for again in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert again == one and type(again) is Quick


@pytest.mark.parametrize("given", [{}, {"numbers": 1}, {"number": 1, "extra": 2}])
def test_wrong_arguments_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        Quick(**given)
    with pytest.raises(TypeError):
        Quick(1)  # type: ignore[misc]
    with pytest.raises(TypeError):
        fast_records.replace(Quick(number=1), extra=2)


def test_one_with_a_secret_is_as_the_usual_ones() -> None:
    one, usual = Secretive(name="a", key=b"x"), Usual(name="a", key=b"x")
    assert repr(one) == repr(usual).replace("Usual", "Secretive")
    assert one == Secretive(name="a", key=b"y") != Secretive(name="b", key=b"x")
    one.items.append(1)
    assert Secretive(name="a").items == []
    assert [(each.name, each.type, dict(each.metadata)) for each in dataclasses.fields(Secretive)] == [
        (each.name, each.type, dict(each.metadata)) for each in dataclasses.fields(Usual)
    ]
    assert dataclasses.asdict(one)["items"] == [1]


def test_replacing_leaves_the_other_fields() -> None:
    one = Secretive(name="a", key=b"x", items=[1])
    for replace in (fast_records.replace, records.replace, dataclasses.replace):
        again = replace(one, name="b")
        assert (again.name, again.key, again.items) == ("b", b"x", [1])


def test_a_class_that_needs_more_is_refused() -> None:
    class Base:
        pass

    with pytest.raises(TypeError, match=r"Grown .*dataclass"):

        @record
        class Grown(Base):
            number: int

    with pytest.raises(TypeError, match="Hidden"):

        @record
        class Hidden:
            number: int = field(default=0, init=False)
