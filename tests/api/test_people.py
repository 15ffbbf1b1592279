"""Tokens, sessions and one-time logins: who they are of, how long they count, and that nothing secret is kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from roost.api import people as module
from roost.api.people import LOGIN_S, People, TooMany, WebRole


class Clock:
    """A clock that is set."""

    def __init__(self) -> None:
        self.time = 1_000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def people(tmp_path: Path, clock: Clock) -> People:
    return People(tmp_path / "access.json", clock, session_s=600)


def test_a_token_is_of_its_user_with_its_role_until_it_expires_or_is_revoked(people: People, clock: Clock) -> None:
    short, _ = people.make_token("ann", WebRole.READER, "ann", clock.time + 60, "")
    lasting, kept = people.make_token("bob", WebRole.OPERATOR, "root", None, "robot")
    found = people.of_token(short)
    assert found is not None
    assert (found.name, found.role, found.by) == ("ann", WebRole.READER, "token")
    clock.time += 61
    assert people.of_token(short) is None
    assert [(each.name, each.note, each.made_by) for each in people.tokens()] == [("bob", "robot", "root")]
    assert people.of_token(lasting) is not None
    people.revoke(kept)
    assert people.of_token(lasting) is None
    assert people.tokens() == []


def test_what_was_made_counts_after_a_restart_and_no_secret_is_in_the_file(
    tmp_path: Path, people: People, clock: Clock
) -> None:
    token, _ = people.make_token("ann", WebRole.USER, "ann", None, "")
    begun = people.log_in(people.make_login("ann", WebRole.USER))
    assert begun is not None
    session, person = begun
    path = tmp_path / "access.json"
    assert path.stat().st_mode & 0o777 == 0o600
    text = path.read_text()
    assert token not in text
    assert session not in text
    assert person.csrf not in text
    again = People(path, clock, session_s=600)
    assert again.of_token(token) is not None
    assert again.of_session(session) == people.of_session(session)
    again.log_out(person)
    assert People(path, clock, session_s=600).of_session(session) is None


def test_a_login_works_once_and_not_for_long(people: People, clock: Clock) -> None:
    used, late = people.make_login("ann", WebRole.USER), people.make_login("ann", WebRole.USER)
    assert people.log_in(used) is not None
    assert people.log_in(used) is None
    clock.time += LOGIN_S + 1
    assert people.log_in(late) is None
    assert people.log_in("made up") is None


def test_a_session_lasts_while_it_is_used(people: People, clock: Clock) -> None:
    begun = people.log_in(people.make_login("ann", WebRole.USER))
    assert begun is not None
    for _ in range(5):
        clock.time += 500
        assert people.of_session(begun[0]) is not None
    clock.time += 601
    assert people.of_session(begun[0]) is None


def test_a_token_is_no_session_and_a_session_no_token(people: People) -> None:
    token, _ = people.make_token("ann", WebRole.USER, "ann", None, "")
    session, _ = people.begin_session("ann", WebRole.USER)
    assert people.of_session(token) is None
    assert people.of_token(session) is None


def test_no_more_are_kept_than_there_is_room_for(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TOKENS_MAX", 2)
    monkeypatch.setattr(module, "SESSIONS_MAX", 2)
    monkeypatch.setattr(module, "LOGINS_MAX", 2)
    for _ in range(2):
        people.make_token("ann", WebRole.USER, "ann", None, "")
        people.make_login("ann", WebRole.USER)
    with pytest.raises(TooMany, match="revoke"):
        people.make_token("ann", WebRole.USER, "ann", None, "")
    with pytest.raises(TooMany, match="try again"):
        people.make_login("ann", WebRole.USER)
    sessions = [people.begin_session("ann", WebRole.USER)[0] for _ in range(3)]
    assert [people.of_session(each) is not None for each in sessions] == [False, True, True]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"tokens": [{}], "sessions": []}'])
def test_a_file_that_cannot_be_read_lets_no_one_in_and_is_kept_aside(tmp_path: Path, clock: Clock, text: str) -> None:
    path = tmp_path / "access.json"
    path.write_text(text)
    people = People(path, clock, session_s=600)
    assert people.tokens() == []
    assert (tmp_path / "access.json.unreadable").read_text() == text
    people.make_token("ann", WebRole.USER, "ann", None, "")
    assert len(json.loads(path.read_text())["tokens"]) == 1
