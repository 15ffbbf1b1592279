"""Keys have the text form of NATS, whose server is asked in tests/integration/test_members.py."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.runtime.bus.certificates import ends_at, fingerprint, made_authority, made_server
from roost.runtime.bus.nkeys import BadKey, Key, KeyKind, check_public, user_token
from roost.runtime.registrar.invitation import BadInvitation, Invited, read_invitation
from roost.runtime.registrar.registry import Duty

_LETTERS = {KeyKind.ACCOUNT: "A", KeyKind.OPERATOR: "O", KeyKind.USER: "U"}


@given(st.sampled_from(KeyKind), st.binary(min_size=32, max_size=32))
def test_a_key_comes_back_from_its_text_and_shows_its_kind(kind: KeyKind, secret: bytes) -> None:
    key = Key(kind, secret)
    assert Key.read(key.seed) == key
    assert key.seed[:2] == f"S{_LETTERS[kind]}"
    assert (key.public[0], len(key.public)) == (_LETTERS[kind], 56)
    check_public(key.public, kind)


@given(st.integers(0, 55), st.sampled_from("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"))
def test_a_changed_text_is_no_key(at: int, letter: str) -> None:
    key = Key(KeyKind.USER, bytes(32)).public
    changed = key[:at] + letter + key[at + 1 :]
    if changed != key:
        with pytest.raises(BadKey):
            check_public(changed, KeyKind.USER)


@pytest.mark.parametrize("text", ["", "S", "not a key", Key(KeyKind.ACCOUNT, bytes(32)).public, "é" * 56])
def test_what_is_no_public_key_of_a_user_is_refused(text: str) -> None:
    with pytest.raises(BadKey):
        check_public(text, KeyKind.USER)
    with pytest.raises(BadKey):
        Key.read(text)


def test_a_token_names_its_owner_and_what_it_may_do() -> None:
    account, user = Key.new(KeyKind.ACCOUNT), Key.new(KeyKind.USER)
    part = user_token(account, user.public, "ex1", ["a.ex1"], ["b.ex1.>"], 7.9, 60.0).split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(part + "=="))
    assert (claims["iss"], claims["sub"], claims["iat"], claims["exp"]) == (account.public, user.public, 7, 60)
    assert claims["nats"]["pub"] == {"allow": ["a.ex1"]}
    assert claims["nats"]["sub"] == {"allow": ["b.ex1.>"]}


def test_certificates_count_for_years_and_not_for_ever() -> None:
    authority = made_authority("a pool with a name that is longer than the common name of a certificate may be")
    server = made_server(authority, ("desk7.example.org", "10.0.0.7"))
    assert ends_at(server.certificate) < ends_at(authority.certificate)
    assert fingerprint(server.certificate) != fingerprint(authority.certificate)


def test_an_invitation_comes_back_from_its_word() -> None:
    certificate = made_authority("p").certificate
    invited = Invited("p", "tls://s:1", certificate, "ex1", (Duty.EXECUTE,), "invited@1", "a.b.c", "SU", 5.0)
    assert read_invitation(invited.word()) == invited._replace(certificate="", pinned=fingerprint(certificate))


@pytest.mark.parametrize("word", ["", "roost1.", "roost1.é", "roost1.AAAA", "roost2.AAAA", "roost1." + "A" * 10_000])
def test_what_is_no_invitation_is_refused(word: str) -> None:
    with pytest.raises(BadInvitation):
        read_invitation(word)
