"""Who may ask a daemon for what: every role times every verb, and nothing that the tables do not have."""

from __future__ import annotations

import pytest

from roost.runtime.permission import refusal
from roost.wire.messages import Ask
from roost.wire.verbs import QUESTIONS, VERBS, Daemon

ADMINISTRATORS = frozenset(("root", "admin"))
#: What users may ask for; of `act` the queue looks at each job.
OF_USERS = {
    Daemon.QUEUE: {"act", "autocluster", "history", "overview", "query", "submit", "summary"},
    Daemon.MACHINE: {"ads", "origins", "story"},
    Daemon.CENTRAL: {"ads", "advertise", "audit", "cycle", "explain-job", "explain-slot", "userprio"},
}
OF_ADMINISTRATORS = {
    Daemon.QUEUE: set(),
    Daemon.MACHINE: {"cancel-drain", "drain", "poll", "reopen", "vacate"},
    Daemon.CENTRAL: {"userprio-set"},
}


def allowed(daemon: Daemon, sender: str) -> set[str]:
    """What a daemon answers to somebody."""
    every = {name for table in VERBS.values() for name in table}
    return {name for name in every if refusal(daemon, Ask(what=name), sender, ADMINISTRATORS) is None}


@pytest.mark.parametrize("daemon", Daemon)
@pytest.mark.parametrize("sender", ["ann", "", "node@x", "central", "roots"])
def test_a_user_may_ask_for_what_users_may(daemon: Daemon, sender: str) -> None:
    assert allowed(daemon, sender) == OF_USERS[daemon]


@pytest.mark.parametrize("daemon", Daemon)
@pytest.mark.parametrize("sender", sorted(ADMINISTRATORS))
def test_an_administrator_may_ask_for_everything(daemon: Daemon, sender: str) -> None:
    assert allowed(daemon, sender) == OF_USERS[daemon] | OF_ADMINISTRATORS[daemon] == set(VERBS[daemon])


@pytest.mark.parametrize("daemon", Daemon)
def test_the_central_manager_may_drain_machines(daemon: Daemon) -> None:
    more = {"drain", "cancel-drain"} if daemon is Daemon.MACHINE else set()
    assert allowed(daemon, "central@x") == OF_USERS[daemon] | more


@pytest.mark.parametrize("daemon", Daemon)
@pytest.mark.parametrize("sender", ["ann", "root", "central@x"])
@pytest.mark.parametrize("what", ["", "shutdown", "ACT", "submit "])
def test_what_no_table_has_is_refused(daemon: Daemon, sender: str, what: str) -> None:
    found = refusal(daemon, Ask(what=what), sender, ADMINISTRATORS)
    assert found is not None
    assert (found.ok, found.code) == (False, "bad-request")


def test_a_refusal_says_what_and_whom_to_ask() -> None:
    found = refusal(Daemon.MACHINE, Ask(what="reopen"), "ann", ADMINISTRATORS)
    assert found is not None
    assert found.code == "permission-denied"
    assert found.text == "ann may not open slots that a failed prolog or epilog has closed"
    assert "QUEUE_SUPER_USERS" in found.remedy


def test_questions_change_nothing() -> None:
    changing = {"act", "submit", "drain", "cancel-drain", "poll", "reopen", "vacate", "advertise", "userprio-set"}
    assert {name for table in VERBS.values() for name in table} - QUESTIONS == changing
