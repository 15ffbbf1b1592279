"""Subjects hold any name, and nobody may speak in another's."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from roost.wire.subjects import Role, Subjects, name_of, token

NAMES = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=8).filter(lambda name: name != "*")
POOL = Subjects("a pool.of*ours>")


def covers(pattern: str, subject: str) -> bool:
    """Whether a pattern of the bus matches a subject."""
    wanted, given = pattern.split("."), subject.split(".")
    for at, part in enumerate(wanted):
        if part == ">":
            return len(given) > at
        if at >= len(given) or part not in ("*", given[at]):
            return False
    return len(wanted) == len(given)


@given(NAMES)
def test_any_name_is_one_token_and_comes_back(name: str) -> None:
    part = token(name)
    assert not set(part) & set(". *>\t\r\n")
    assert name_of(part) == name


@given(NAMES, NAMES)
def test_different_names_have_different_tokens(one: str, other: str) -> None:
    assert (token(one) == token(other)) == (one == other)


@given(NAMES, NAMES, NAMES, st.sampled_from(Role))
def test_nobody_speaks_as_somebody_else(me: str, other: str, whom: str, role: Role) -> None:
    assume(me != other)
    say, _ = POOL.permissions(role, me)
    for subject in (
        POOL.node(whom, other),
        POOL.schedd(whom, other),
        POOL.ads(other),
        POOL.ask_central(other),
        POOL.ask_schedd(whom, other),
        POOL.ask_node(whom, other),
        POOL.everybody(other),
    ):
        assert not any(covers(pattern, subject) for pattern in say), (subject, say)


@given(NAMES, NAMES, st.sampled_from(Role))
def test_nobody_hears_what_is_for_somebody_else(me: str, other: str, role: Role) -> None:
    assume(me != other)
    _, hear = POOL.permissions(role, me)
    for subject in (
        POOL.node(other, "x"),
        POOL.schedd(other, "x"),
        POOL.ask_schedd(other, "x"),
        f"{POOL.inbox(other)}.1",
    ):
        assert not any(covers(pattern, subject) for pattern in hear), (subject, hear)


@given(NAMES, NAMES)
def test_everybody_may_say_and_hear_what_the_part_takes(me: str, other: str) -> None:
    needs = {
        Role.CENTRAL: ([POOL.schedd(other, me), POOL.everybody(me)], [POOL.ads(other), POOL.ask_central(other)]),
        Role.SCHEDD: (
            [POOL.node(other, me), POOL.ads(me)],
            [POOL.schedd(me, other), POOL.ask_schedd(me, other), POOL.everybody(other)],
        ),
        Role.NODE: (
            [POOL.schedd(other, me), POOL.ads(me)],
            [POOL.node(me, other), POOL.ask_node(me, other), POOL.everybody(other)],
        ),
        Role.CLIENT: ([POOL.ask_central(me), POOL.ask_schedd(other, me), POOL.ask_node(other, me)], []),
    }
    for role, (says, hears) in needs.items():
        say, hear = POOL.permissions(role, me)
        assert all(any(covers(pattern, subject) for pattern in say) for subject in says), role
        assert all(any(covers(pattern, subject) for pattern in hear) for subject in hears), role
        assert any(covers(pattern, f"{POOL.inbox(me)}.7") for pattern in hear)
