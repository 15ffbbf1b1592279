"""What the reporting file says of advance reservations, line by line as Grid Engine 8.1.9 does."""

from __future__ import annotations

import time

import pytest

from roost.base.structs import replaced
from roost.gridengine.pool.accounting_settings import accounting_settings_of
from roost.gridengine.reporting_lines import line_of
from roost.model.cell_reservations import AdvanceReservation, Granted
from roost.runtime.queue.cell.reports import of_reservation, of_states
from roost.runtime.queue.cell.timed_reports import midnight_after
from roost.runtime.queue.database.cell_store import ReservationCommit

ONE = AdvanceReservation(
    number=1, owner="ann", submitted=64.5, start=67.0, end=75.0, name="x",
    grants=(Granted(instance="all.q@a", slots=1), Granted(instance="all.q@b", slots=2)),
    resources="h_rt=10",
)  # fmt: skip


def lines(
    one: AdvanceReservation, before: AdvanceReservation | None, at: float, event: str, *, gone: bool = False
) -> list[str]:
    commit = ReservationCommit(
        number=1, at=at, event=event, state="", actor="ann", data=None, gone=gone, record={}
    )  # fmt: skip
    return [line_of(each) for each in of_reservation(one, commit, before)]


BEGINS = "ar_log:67:64:1:r:START TIME REACHED:start time of AR reached"
ACCOUNTS = ["ar_acct:{0}:64:1:all.q:a:1", "ar_acct:{0}:64:1:all.q:b:2"]


def accounts(at: int) -> list[str]:
    return [f"{at}:{each.format(at)}" for each in ACCOUNTS]


def test_a_reservation_that_begins_and_ends() -> None:
    begun = replaced(ONE, begun=True)
    assert lines(ONE, None, 64.5, "created") == ["64:new_ar:64:1:ann", "64:ar_attr:64:64:1:x:sge:67:75::h_rt=10"]
    assert lines(begun, ONE, 67.2, "started") == [f"67:{BEGINS}"]
    ended = "75:ar_log:75:64:1:x:TERMINATED:end time of AR reached"
    assert lines(begun, begun, 75.0, "ended", gone=True) == [ended, *accounts(75)]


def test_a_reservation_that_begins_at_once_and_is_deleted() -> None:
    begun = replaced(ONE, begun=True, environment="make", resources="", name="")
    created = ["67:new_ar:64:1:ann", "67:ar_attr:67:64:1::sge:67:75:make:NONE", f"67:{BEGINS}"]
    assert lines(begun, None, 67.0, "created") == created
    deleted = "70:ar_log:70:64:1:d:DELETED:AR deleted"
    assert lines(begun, begun, 70.0, "deleted", gone=True) == [deleted, *accounts(70)]
    # Of one whose jobs have still to leave it is told when they have.
    marked = replaced(begun, deleted=True)
    assert lines(marked, begun, 69.0, "deleted") == []
    assert lines(marked, marked, 70.0, "deleted", gone=True) == [deleted, *accounts(70)]


def test_states_of_queue_instances() -> None:
    assert [line_of(each) for each in of_states({"all.q@a": "ds", "b.q@c": ""}, 9.9)] == [
        "9:queue:all.q:a:9:ds",
        "9:queue:b.q:c:9:",
    ]


def test_what_a_cell_wants() -> None:
    def wanted(words: str) -> tuple[bool, bool, bool]:
        return accounting_settings_of({"configurations/global": f"reporting_params {words}\n"})[:3]

    assert wanted("accounting=true reporting=false joblog=true") == (True, False, True)
    assert wanted("ACCOUNTING=FALSE,reporting=1, joblog=TRUE flush_time=0:0:1") == (False, True, True)
    assert wanted("none") == (True, False, False)


@pytest.mark.parametrize("zone", ["UTC", "XXX-5:30", "EST5EDT"])
def test_a_day_begins_at_midnight_of_the_local_time(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", zone)
        time.tzset()
        # The clocks of New York go back on the first of November 2026.
        at = time.mktime((2026, 11, 1, 0, 0, 0, 0, 0, -1))
        following = time.mktime((2026, 11, 2, 0, 0, 0, 0, 0, -1))
        found = [midnight_after(now) for now in (at - 0.5, at, following - 1)]
    time.tzset()
    assert found == [at, following, following]
