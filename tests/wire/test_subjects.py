"""Subjects hold any name, and nobody may speak in another's."""

from __future__ import annotations

from collections.abc import Callable

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
    # The web server asks for people who have proved to it who they are.
    assume(me != other and role is not Role.WEB)
    say, _ = POOL.permissions(role, me)
    for subject in (
        POOL.node(whom, other),
        POOL.schedd(whom, other),
        POOL.ads(other),
        POOL.slots(other),
        POOL.demand(other),
        POOL.audit(other),
        POOL.given(whom, other),
        POOL.ask_central(other),
        POOL.ask_schedd(whom, other),
        POOL.ask_node(whom, other),
        POOL.ask_registrar(other),
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


#: What each role says, given its own name and another's. Nothing else is its to say.
SAYS: dict[Role, Callable[[str, str], list[str]]] = {
    Role.CENTRAL: lambda me, other: [
        POOL.given(other, me),
        POOL.ask_node(other, me),
        POOL.ask_schedd(other, me),
        POOL.everybody(me),
    ],
    Role.SCHEDD: lambda me, other: [POOL.node(other, me), POOL.demand(me), POOL.ads(me), POOL.audit(me)],
    Role.NODE: lambda me, other: [
        POOL.schedd(other, me),
        POOL.tasks(other, me),
        POOL.slots(me),
        POOL.ads(me),
        POOL.audit(me),
    ],
    Role.CLIENT: lambda me, other: [POOL.ask_central(me), POOL.ask_schedd(other, me), POOL.ask_node(other, me)],
    Role.USER: lambda me, other: [POOL.ask_central(me), POOL.ask_schedd(other, me), POOL.ask_node(other, me)],
    Role.WEB: lambda me, other: [POOL.ask_central(me), POOL.ask_schedd(other, me), POOL.ask_node(other, me)],
    Role.REGISTRAR: lambda me, other: [],
    Role.MEMBER: lambda me, other: [POOL.ask_registrar(me)],
    Role.INVITED: lambda me, other: [POOL.ask_registrar(me)],
}
HEARS: dict[Role, Callable[[str, str], list[str]]] = {
    Role.CENTRAL: lambda me, other: [
        POOL.slots(other), POOL.demand(other), POOL.ads(other), POOL.audit(other), POOL.ask_central(other),
    ],
    Role.SCHEDD: lambda me, other: [
        POOL.schedd(me, other), POOL.given(me, other), POOL.ask_schedd(me, other), POOL.everybody(other),
    ],
    Role.NODE: lambda me, other: [
        POOL.node(me, other), POOL.tasks(me, other), POOL.ask_node(me, other), POOL.everybody(other),
    ],
    Role.CLIENT: lambda me, other: [],
    Role.USER: lambda me, other: [],
    Role.WEB: lambda me, other: [POOL.slots(other)],
    Role.REGISTRAR: lambda me, other: [POOL.ask_registrar(other)],
    Role.MEMBER: lambda me, other: [],
    Role.INVITED: lambda me, other: [],
}  # fmt: skip


def subjects(me: str, other: str) -> list[str]:
    """All there are, with this sender."""
    about = (POOL.slots, POOL.demand, POOL.ads, POOL.audit, POOL.ask_central, POOL.ask_registrar, POOL.everybody)
    to = (POOL.node, POOL.tasks, POOL.schedd, POOL.given, POOL.ask_schedd, POOL.ask_node)
    return [*(make(me) for make in about), *(make(other, me) for make in to)]


@given(NAMES, NAMES, st.sampled_from(Role))
def test_a_role_may_say_what_is_its_part_and_nothing_else(me: str, other: str, role: Role) -> None:
    say, _ = POOL.permissions(role, me)
    allowed = [subject for subject in subjects(me, other) if any(covers(pattern, subject) for pattern in say)]
    assert sorted(allowed) == sorted(SAYS[role](me, other))


@given(NAMES, NAMES, st.sampled_from(Role))
def test_a_role_hears_what_is_its_part_and_nothing_else(me: str, other: str, role: Role) -> None:
    assume(me != other)
    _, hear = POOL.permissions(role, me)
    to_me = [
        make(me, other) for make in (POOL.node, POOL.tasks, POOL.schedd, POOL.given, POOL.ask_schedd, POOL.ask_node)
    ]
    heard = [each for each in {*subjects(other, me), *to_me} if any(covers(pattern, each) for pattern in hear)]
    assert sorted(heard) == sorted(HEARS[role](me, other))
    assert any(covers(pattern, f"{POOL.inbox(me)}.7") for pattern in hear)


@given(NAMES, NAMES, st.sampled_from(Role))
def test_who_answers_answers_in_this_pool_only(me: str, other: str, role: Role) -> None:
    say, _ = POOL.permissions(role, me)
    answers = role in (Role.CENTRAL, Role.SCHEDD, Role.NODE, Role.REGISTRAR)
    assert any(covers(pattern, f"{POOL.inbox(other)}.7") for pattern in say) is answers
    elsewhere = Subjects("another").inbox(other)
    assert not any(covers(pattern, f"{elsewhere}.7") for pattern in say)
