"""Who may have which key, under which name, and which keys count no more."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.runtime.registrar.registry import Duty, Invitation, Member, NotAllowed, Registry, name_of, purposes

NOW = 1_000.0
ADMINISTRATORS = frozenset(("root", "ann"))


def _member(*duties: Duty, administers: bool = False, **keys: str) -> Member:
    return Member(duties=duties, administers=administers, joined_at=NOW, keyed_at=NOW, version="1", keys=keys)


def _registry(**members: Member) -> Registry:
    return Registry(members=dict(members))


def test_an_invitation_admits_one_machine_once() -> None:
    registry = _registry()
    registry.invitations["7"] = Invitation(
        machine="ex1", duties=(Duty.EXECUTE,), administers=False, expires_at=NOW + 1, public="U1"
    )
    assert registry.admit("7", "2", NOW) == "ex1"
    assert (registry.members["ex1"].duties, registry.members["ex1"].version) == ((Duty.EXECUTE,), "2")
    with pytest.raises(NotAllowed, match="used already"):
        registry.admit("7", "2", NOW)


def test_an_invitation_that_has_expired_admits_nobody() -> None:
    registry = _registry()
    registry.invitations["7"] = Invitation(
        machine="ex1", duties=(Duty.EXECUTE,), administers=False, expires_at=NOW, public="U1"
    )
    with pytest.raises(NotAllowed, match="expired"):
        registry.admit("7", "2", NOW)
    assert not registry.members


def test_a_machine_that_joins_again_loses_its_former_keys() -> None:
    registry = _registry(ex1=_member(Duty.EXECUTE, node="U1", member="U2"))
    registry.invitations["7"] = Invitation(
        machine="ex1", duties=(Duty.SUBMIT,), administers=False, expires_at=NOW + 1, public="U3"
    )
    registry.admit("7", "2", NOW)
    assert registry.revoked == {"U1": 1_000, "U2": 1_000}


def test_new_keys_count_beside_the_former_ones_until_these_are_retired() -> None:
    registry = _registry(ex1=_member(Duty.EXECUTE, node="U1", member="U2"))
    registry.take_keys("ex1", {"node": "U3"}, (), "2", NOW + 5)
    assert not registry.revoked
    registry.retire("ex1", NOW + 6)
    assert registry.revoked == {"U1": 1_006}
    assert registry.members["ex1"].keys == {"node": "U3", "member": "U2"}
    registry.remove("ex1", NOW + 7)
    assert registry.revoked == {"U1": 1_006, "U3": 1_007, "U2": 1_007}


def test_removal_also_revokes_keys_that_were_replaced_and_not_retired() -> None:
    registry = _registry(ex1=_member(Duty.EXECUTE, node="U1"))
    registry.take_keys("ex1", {"node": "U3"}, (), "2", NOW)
    assert registry.remove("ex1", NOW)
    assert set(registry.revoked) == {"U1", "U3"}
    assert not registry.remove("ex1", NOW)


def test_a_key_is_of_one_owner_and_never_used_again() -> None:
    registry = _registry(ex1=_member(Duty.EXECUTE, node="U1"), ex2=_member(Duty.EXECUTE, node="U2"))
    registry.revoked["U9"] = 5
    for key in ("U1", "U2", "U9"):
        with pytest.raises(NotAllowed, match="is or was in use"):
            registry.take_keys("ex2", {"node": key}, (), "2", NOW)
    with pytest.raises(NotAllowed, match="is or was in use"):
        registry.take_keys("ex2", {"node": "U5", "member": "U5"}, (), "2", NOW)


@pytest.mark.parametrize("duty", Duty)
def test_a_member_may_have_the_keys_of_its_duties_and_no_others(duty: Duty) -> None:
    every = ("central", "web", "schedd", "node", "client", "member", "registrar", "user:bob", "invited", "user", "x")
    for purpose in every:
        registry = _registry(m=_member(duty))
        allowed = purpose in purposes((duty,)) or (purpose == "user:bob" and duty is Duty.SUBMIT)
        if allowed:
            registry.take_keys("m", {purpose: "U1"}, (), "1", NOW)
        else:
            with pytest.raises(NotAllowed):
                registry.take_keys("m", {purpose: "U1"}, (), "1", NOW)


def test_whoever_runs_a_machine_has_the_name_of_a_user_of_the_pool_only_where_that_is_meant() -> None:
    def client(user: str, *duties: Duty, administers: bool = False) -> str:
        return name_of("client", _member(*duties, administers=administers), "m", user, ADMINISTRATORS)

    assert client("bob", Duty.EXECUTE) == "bob@m"
    assert client("root", Duty.EXECUTE) == "root@m"
    assert client("bob", Duty.SUBMIT) == "bob"
    assert client("ann", Duty.SUBMIT) == "ann@m"
    assert client("ann", Duty.SUBMIT, administers=True) == "ann"
    assert client("root", Duty.EXECUTE, administers=True) == "root"


@given(st.text(max_size=12), st.booleans(), st.sampled_from(["client", "user"]))
def test_no_name_of_a_user_passes_for_that_of_a_daemon(user: str, administers: bool, kind: str) -> None:
    purpose = "client" if kind == "client" else f"user:{user}"
    try:
        name = name_of(purpose, _member(Duty.SUBMIT, administers=administers), "m", user, ADMINISTRATORS)
    except NotAllowed:
        return
    local, at, machine = name.partition("@")
    assert local not in ("central", "web", "registrar", "invited", "*", "")
    assert not at or machine == "m"


def test_the_registry_comes_back_from_its_file() -> None:
    registry = _registry(ex1=_member(Duty.EXECUTE, node="U1"))
    registry.take_keys("ex1", {"node": "U3"}, (), "2", NOW)
    registry.invitations["7"] = Invitation(
        machine="ex2", duties=(Duty.SUBMIT, Duty.EXECUTE), administers=True, expires_at=NOW, public="U1"
    )
    registry.revoked["U9"] = 5
    assert Registry.from_data(json.loads(json.dumps(registry.to_data()))) == registry
