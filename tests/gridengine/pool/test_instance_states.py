"""Names, rights and letters of queue instances that are disabled, suspended and put right by command."""

from __future__ import annotations

import dataclasses

import pytest

from roost.gridengine.pool.instance_states import after, first_letters, letters_of, may_change, named
from roost.model.cell_requests import InstanceAction
from roost.model.digests import states_digest
from tests.gridengine.scheduling.cells import cell


def _names(*names: str) -> list[tuple[str, str | None]]:
    found = named(cell(queues=("b.q",)), names)
    return [(one.name, None if one.instance is None else one.instance.name) for one in found]


def test_names_mean_instances_as_those_of_qmod() -> None:
    assert _names("all.q@node1") == [("all.q@node1", "all.q@node1")]
    assert [one for _, one in _names("b.q")] == ["b.q@node1", "b.q@node2", "b.q@node3"]
    assert [one for _, one in _names("*@node3", "b.q@node3")] == ["all.q@node3", "b.q@node3"]
    assert [one for _, one in _names("all.q@@allhosts")] == ["all.q@node1", "all.q@node2", "all.q@node3"]
    assert _names("nosuch.q", "all.q@node9") == [("nosuch.q", None), ("all.q@node9", None)]


def test_who_may_change_what() -> None:
    one = dataclasses.replace(cell("cqueues/all.q: owner_list bob"), operators=("olga",), managers=("max",))
    ((_, instance),) = named(one, ("all.q@node1",))
    assert instance is not None
    assert [may_change(one, user, instance) for user in ("olga", "max", "bob", "carl")] == [True, True, True, False]


@pytest.mark.parametrize(
    ("before", "action", "letters"),
    [
        ("", "disable", "d"), ("d", "disable", "d"), ("d", "suspend", "ds"), ("ds", "enable", "s"),
        ("ds", "resume", "d"), ("", "enable", ""),
    ],
)  # fmt: skip
def test_letters(before: str, action: str, letters: str) -> None:
    assert after(before, InstanceAction(action)) == letters


def test_an_instance_begins_as_its_queue_says() -> None:
    ((_, instance),) = named(cell("cqueues/all.q: initial_state disabled"), ("all.q@node1",))
    assert instance is not None and first_letters(instance) == "d"


def test_a_digest_tells_states_apart() -> None:
    some = {"a@h": "d", "b@h": ""}
    assert states_digest(some) == states_digest(dict(reversed(some.items())))
    assert len({states_digest(each) for each in ({}, some, {"a@h": "d"}, {"a@h": "s"})}) == 4


def test_a_queue_with_an_initial_state_has_it_again_when_its_machine_starts() -> None:
    def letters(word: str, given: str | None, *, given_at: float, started_at: float) -> str:
        ((_, instance),) = named(cell(f"cqueues/all.q: initial_state {word}"), ("all.q@node1",))
        assert instance is not None
        return letters_of(instance, given, given_at, started_at)

    # Without one, and with a command after the start, what was given stays.
    assert letters("default", "d", given_at=1, started_at=2) == "d"
    assert letters("disabled", "", given_at=3, started_at=2) == ""
    assert letters("disabled", None, given_at=0, started_at=2) == "d"
    assert letters("disabled", "", given_at=1, started_at=2) == "d"
    assert letters("enabled", "ds", given_at=1, started_at=2) == "s"
    # When the daemon started is not known.
    assert letters("enabled", "d", given_at=1, started_at=0) == "d"
