"""Who may ask a daemon for what: every role times every verb, and nothing that the tables do not have."""

from __future__ import annotations

import pytest

from roost.config import MemoryHost, load_text
from roost.config.access import access
from roost.runtime.bus.permission import refusal
from roost.wire.errors import WireError
from roost.wire.messages import Ask
from roost.wire.requests.verb import Daemon
from roost.wire.verbs import VERBS, asked_verb

ADMINISTRATORS = frozenset(("root", "admin"))
#: What users may ask for; of `act` the queue looks at each job.
OF_USERS = {
    Daemon.QUEUE: {
        *(
            "act",
            "autocluster",
            "cell",
            "cell-accounting",
            "cell-accounting-form",
            "cell-accounting-lines",
            "cell-clear-usage",
            "cell-edit",
            "cell-instances",
            "cell-log",
            "cell-reservation-delete",
            "cell-reservation-log",
            "cell-reservations",
            "cell-states",
            "cell-usage",
            "history",
            "end-spooling",
            "overview",
            "query",
            "read-spooled",
            "spool-file",
            "spooled-files",
            "read-output",
            "stop",
            "submit",
            "stop",
            "summary",
            "under-way",
        ),
    },
    Daemon.MACHINE: {
        "ads",
        "origins",
        "story",
        "under-way",
        "read-file",
        "read-streams",
        "write-streams",
        "keep-streams",
        "leave-streams",
        "open-shell",
    },
    Daemon.CENTRAL: {
        "ads",
        "advertise",
        "audit",
        "cycle",
        "explain-job",
        "explain-slot",
        "cell-hosts",
        "cell-priorities",
        "cell-reservation-states",
        "cell-reserve",
        "cell-scheduling",
        "queue-instances",
        "stop",
        "under-way",
        "userprio",
    },
}
OF_ADMINISTRATORS = {
    Daemon.QUEUE: {"cell-change", "cell-report-loads", "cell-reservation-keep", "cell-tasks"},
    Daemon.MACHINE: {"cancel-drain", "drain", "poll", "reopen", "stop", "vacate"},
    Daemon.CENTRAL: {"userprio-set"},
}


def allowed(daemon: Daemon, sender: str) -> set[str]:
    """What a daemon answers to somebody."""
    return {name for name, verb in VERBS[daemon].items() if refusal(verb, sender, ADMINISTRATORS) is None}


@pytest.mark.parametrize("daemon", Daemon)
@pytest.mark.parametrize("sender", ["ann", "", "node@x", "central", "roots"])
def test_a_user_may_ask_for_what_users_may(daemon: Daemon, sender: str) -> None:
    assert allowed(daemon, sender) == OF_USERS[daemon]


@pytest.mark.parametrize("daemon", Daemon)
@pytest.mark.parametrize("sender", sorted(ADMINISTRATORS))
def test_an_administrator_may_ask_for_everything(daemon: Daemon, sender: str) -> None:
    assert allowed(daemon, sender) == OF_USERS[daemon] | OF_ADMINISTRATORS[daemon] == set(VERBS[daemon])


@pytest.mark.parametrize("daemon", Daemon)
def test_the_central_manager_may_drain_machines_and_ask_what_jobs_have_of_the_cell(daemon: Daemon) -> None:
    more = {
        Daemon.MACHINE: {"drain", "cancel-drain"},
        Daemon.QUEUE: {"cell-report-loads", "cell-reservation-keep", "cell-tasks"},
    }.get(daemon, set())
    assert allowed(daemon, "central@x") == OF_USERS[daemon] | more


def test_lists_of_readers_do_not_keep_the_cell_from_the_central_manager() -> None:
    with_lists = access(load_text("DENY_READ = *", MemoryHost()), "SCHEDD")
    verb = VERBS[Daemon.QUEUE]["cell"]
    assert refusal(verb, "ann", ADMINISTRATORS, with_lists) is not None
    assert refusal(verb, "central@x", ADMINISTRATORS, with_lists) is None


@pytest.mark.parametrize("daemon", Daemon)
@pytest.mark.parametrize("what", ["", "shutdown", "ACT", "submit "])
def test_what_no_table_has_is_refused(daemon: Daemon, what: str) -> None:
    with pytest.raises(WireError, match=f"cannot answer '{what}', but "):
        asked_verb(daemon, Ask(what=what))


def test_a_refusal_says_what_and_whom_to_ask() -> None:
    found = refusal(VERBS[Daemon.MACHINE]["reopen"], "ann", ADMINISTRATORS)
    assert found is not None
    assert found.code == "permission-denied"
    assert found.text == "ann may not open slots that a failed prolog or epilog has closed"
    assert "QUEUE_SUPER_USERS" in found.remedy


def test_questions_change_nothing() -> None:
    changing = {
        "act", "submit", "cell-change", "cell-clear-usage", "cell-edit", "cell-instances", "drain", "cancel-drain",
        "poll", "reopen", "vacate", "advertise", "userprio-set", "read-streams", "write-streams", "keep-streams",
        "leave-streams", "open-shell", "end-spooling", "spool-file",
        "cell-reserve", "cell-scheduling", "stop", "cell-reservation-delete", "cell-reservation-keep",
        "cell-report-loads",
    }  # fmt: skip
    assert {name for table in VERBS.values() for name, verb in table.items() if not verb.question} == changing


LEVELS = {
    Daemon.QUEUE: ({"query", "history"}, {"submit", "act"}, set()),
    Daemon.MACHINE: ({"story", "ads"}, set(), {"drain", "vacate"}),
    Daemon.CENTRAL: ({"ads", "userprio"}, {"advertise"}, {"userprio-set"}),
}


@pytest.mark.parametrize(
    ("text", "user", "may"),
    [
        # Nobody is kept out.
        ("", "ann", "RW"),
        ("ALLOW_WRITE = *", "ann", "RW"),
        ("DENY_WRITE =", "ann", "RW"),
        # Denied is denied, to administrators, too, and with all that is above it.
        ("DENY_WRITE = *", "ann", "R"),
        ("DENY_WRITE = ann@*", "ann", "R"),
        ("DENY_WRITE = ann@here.org, bob@here.org", "ann", "R"),
        ("DENY_WRITE = ann@there.org", "ann", "RW"),
        ("DENY_WRITE = *@HERE.org\nALLOW_WRITE = ann@*", "ann", "R"),
        ("DENY_READ = ann@*", "ann", ""),
        ("DENY_WRITE = admin@*", "admin", "R"),
        ("DENY_ADMINISTRATOR = admin@*", "admin", "RW"),
        # Allowed are those that are named, and those who may more.
        ("ALLOW_WRITE = bob@*", "ann", "R"),
        ("ALLOW_WRITE = bob@*, a*@here.org", "ann", "RW"),
        ("ALLOW_WRITE = bob@*", "admin", "RWA"),
        ("ALLOW_READ = bob@*", "ann", ""),
        ("ALLOW_READ = bob@*\nALLOW_WRITE = ann@*", "ann", "RW"),
        # Another daemon's list.
        ("ALLOW_WRITE_OTHER = bob@*\nDENY_READ_MASTER = *", "ann", "RW"),
    ],
)
@pytest.mark.parametrize("daemon", Daemon)
def test_the_lists_keep_users_out(text: str, user: str, may: str, daemon: Daemon) -> None:
    config = load_text(f"UID_DOMAIN = here.org\n{text}", MemoryHost())
    lists = access(config, "SCHEDD")
    left = ADMINISTRATORS if not text.startswith("DENY_ADMIN") else ADMINISTRATORS - {"admin"}
    for level, names in zip("RWA", LEVELS[daemon], strict=True):
        for name in names:
            found = refusal(VERBS[daemon][name], user, left, lists)
            wanted = level in may or (level == "A" and user == "admin" and may == "RWA")
            assert (found is None) == wanted, (name, found)


def test_a_refusal_names_the_list_and_its_place() -> None:
    lists = access(load_text("UID_DOMAIN = here.org\nDENY_WRITE_SCHEDD = *@here.org\n", MemoryHost()), "SCHEDD")
    found = refusal(VERBS[Daemon.QUEUE]["submit"], "ann", ADMINISTRATORS, lists)
    assert found is not None
    assert found.text == "ann may not submit jobs: DENY_WRITE_SCHEDD denies it to ann@here.org (<text>:2:1)"
    assert access(load_text("DENY_WRITE_SCHEDD = *", MemoryHost()), "STARTD").deny == {}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("act", "ann may not hold, release, remove, suspend, continue, vacate or edit jobs: DENY_READ denies it to "),
        ("query", "ann may not read this: jobs and their ads: DENY_READ denies it to "),
    ],
)
def test_a_refusal_says_what_was_asked(name: str, said: str) -> None:
    lists = access(load_text("DENY_READ = *", MemoryHost()), "SCHEDD")
    found = refusal(VERBS[Daemon.QUEUE][name], "ann", ADMINISTRATORS, lists)
    assert found is not None
    assert found.text.startswith(said)


def test_administrators_of_the_list_are_administrators_and_the_central_manager_drains_whatever_it_says() -> None:
    config = load_text(
        "UID_DOMAIN = here.org\nALLOW_ADMINISTRATOR = ann@here.org, bob@there.org\nDENY_READ = *", MemoryHost()
    )
    lists = access(config, "STARTD")
    assert lists.administrators() == {"ann"}
    assert refusal(VERBS[Daemon.MACHINE]["drain"], "central@x", (), lists) is None
