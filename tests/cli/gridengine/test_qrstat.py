"""What `qrstat` prints of reservations, compared with what Grid Engine 8.1.9 printed of the same ones."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.cli.gridengine import qrstat
from roost.model.cell_reservations import AdvanceReservation, Granted
from roost.wire.requests.central import ReservationState

#: A session with the real system: commands, and what they printed.
RECORDED = (Path(__file__).parent / "data" / "qrstat.txt").read_text()


def instant(text: str) -> float:
    return time.mktime(time.strptime(f"2026-11-24 {text}", "%Y-%m-%d %H:%M:%S"))


def grants(*slots: int) -> tuple[Granted, ...]:
    return tuple(Granted(instance=f"all.q@node{at}", slots=each) for at, each in enumerate(slots, 1))


MYAR = AdvanceReservation(
    number=1, owner="alice", submitted=instant("13:28:33"), start=instant("13:28:33"), end=instant("13:29:33"),
    grants=grants(2, 1, 1), name="myar", group="sgeadmin", account="acct", resources="h_rt=30", parallel="make 4",
    environment="make", mail_options="be", mail_list="bob",
)  # fmt: skip
LATER = AdvanceReservation(
    number=2, owner="alice", submitted=instant("13:28:36"), start=instant("13:38:36"), end=instant("13:48:36"),
    grants=grants(1), name="later", group="sgeadmin", users=("alice", "bob"),
)  # fmt: skip
LAST = AdvanceReservation(
    number=6, owner="alice", submitted=instant("13:28:38"), start=instant("13:28:38"), end=instant("13:29:38"),
    grants=grants(1), group="sgeadmin",
)  # fmt: skip


class FakePool:
    """A pool that has these reservations."""

    user = "alice"

    def __init__(self, *rows: ReservationState) -> None:
        self._rows = rows

    def ask(self, _: object) -> list[ReservationState]:
        return list(self._rows)


def states(letters: str) -> Iterator[ReservationState]:
    message = ("reserved queue all.q@node1 is disabled",) if letters.isupper() else ()
    for reservation, letter in zip((MYAR, LATER, LAST), letters, strict=False):
        yield ReservationState(reservation=reservation, state=letter, messages=message)


def printed(pool: FakePool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *commands: str) -> str:
    monkeypatch.setattr(qrstat, "ask", lambda name, work: work(pool))
    for command in commands:
        qrstat.run("qrstat", command.split())
    return capsys.readouterr().out


def recorded(after: str) -> str:
    """What was printed behind a line, up to the next command."""
    found = RECORDED.partition(after)[2]
    return found.partition("root@sgehub# ")[0]


def test_lists_details_and_xml(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    commands = ("", "-ar 1", "-ar 1 -xml", "-xml", "-explain", "-explain -ar 1", "-u bob", "-u *")
    told = printed(FakePool(*states("r")), capsys, monkeypatch, *commands)
    assert told == recorded("Your advance reservation 1 has been granted\n")


def test_reservations_in_trouble(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    before = printed(FakePool(*states("rwr")), capsys, monkeypatch, "-u *")
    after = printed(
        FakePool(*states("EWE")), capsys, monkeypatch, "-u *", "-explain -u *", "-explain -ar 1", "-explain -ar 2"
    )
    disabled = 'root@sgehub changed state of "all.q@node1" (disabled)\n'
    assert before + disabled + after == RECORDED.partition("qconf -sq all.q | grep -E 'slots|pe_list'\n")[2]
