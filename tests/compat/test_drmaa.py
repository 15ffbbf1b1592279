"""The module `drmaa` without a pool: its names, its templates, its times, its record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from roost.compat import drmaa
from roost.compat.drmaa.core import attributes as at
from roost.compat.drmaa.core.codes import Code, DrmaaError
from roost.compat.drmaa.core.endings import ending_of
from roost.compat.drmaa.core.record import Record
from roost.compat.drmaa.core.states import Known, State, state_of
from roost.compat.drmaa.core.times import instant, seconds

#: 2026-11-24 12:00:00 UTC
NOON = 1795521600
HOUR = 3600
DAY = 24 * HOUR


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Any:
    import time

    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_all_names_are_there() -> None:
    assert all(hasattr(drmaa, name) for name in drmaa.__all__)
    assert drmaa.JobState.USER_SYSTEM_ON_HOLD == drmaa.status_to_string(0x13) == "user_system_on_hold"
    assert drmaa.string_to_control_action(drmaa.JobControlAction.TERMINATE) == 4
    assert issubclass(drmaa.InvalidArgumentException, AttributeError)
    assert drmaa.JOB_IDS_SESSION_ALL == drmaa.Session.JOB_IDS_SESSION_ALL == b"DRMAA_JOB_IDS_SESSION_ALL"
    assert drmaa.Session.version == (1, 0) and str(drmaa.Session.version) == "1.0"


def test_nothing_works_without_a_session() -> None:
    for call in (drmaa.JobTemplate, drmaa.Session.exit, lambda: drmaa.Session.jobStatus("1")):
        with pytest.raises(drmaa.NoActiveSessionException, match=r"^code 5: no session is active$"):
            call()
    assert drmaa.Session.contact == ""


@pytest.mark.parametrize("contact", ["nonsense", "session=", "session=a/b", f"session={'x' * 129}"])
def test_a_contact_string_that_names_no_session_is_refused(contact: str) -> None:
    with pytest.raises(drmaa.InvalidContactStringException, match=r"code 7: .*session=NAME"):
        drmaa.Session.initialize(contact)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("13:30", NOON + HOUR * 3 // 2),
        ("11:59:59", NOON + DAY - 1),
        ("12:00:00", NOON),
        ("14:00 +02:00", NOON),
        ("24 13:00", NOON + HOUR),
        ("23 12:00", NOON + 29 * DAY),
        ("11/23 12:00", NOON + 364 * DAY),
        ("27/01/01 00:00", NOON + 37 * DAY + 12 * HOUR),
        ("2026/11/24 12:00:01 -00:30", NOON + 1801),
        ("02/29 12:00", 1835438400),
    ],
)
def test_a_partial_time_is_the_next_instant_that_fits(text: str, found: int) -> None:
    assert instant(text, at.START, NOON) == found


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("noon", Code.INVALID_ATTRIBUTE_FORMAT),
        ("1:00", Code.INVALID_ATTRIBUTE_FORMAT),
        ("25:00", Code.INVALID_ATTRIBUTE_VALUE),
        ("02/30 12:00", Code.INVALID_ATTRIBUTE_VALUE),
        ("2026/02/30 12:00", Code.INVALID_ATTRIBUTE_VALUE),
        ("12:00 +99:00", Code.INVALID_ATTRIBUTE_VALUE),
    ],
)
def test_what_is_not_a_time_is_refused(text: str, code: Code) -> None:
    with pytest.raises(DrmaaError, match=at.START) as caught:
        instant(text, at.START, NOON)
    assert caught.value.code is code


def test_lengths_of_time_have_up_to_three_parts() -> None:
    assert [seconds(text, at.HARD_LIMIT) for text in ("90", "2:30", "1:00:01")] == [90, 150, 3601]
    with pytest.raises(DrmaaError, match=r"\[\[h:\]m:\]s"):
        seconds("1h", at.HARD_LIMIT)


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        (at.STATE, "held", Code.INVALID_ATTRIBUTE_VALUE),
        (at.JOIN, "yes", Code.INVALID_ATTRIBUTE_VALUE),
        (at.DIRECTORY, f"/x/{at.HOME}", Code.INVALID_ATTRIBUTE_FORMAT),
        (at.DIRECTORY, f"{at.PLACE}/x", Code.INVALID_ATTRIBUTE_FORMAT),
        (at.OUTPUT, f":x{at.PLACE}", Code.INVALID_ATTRIBUTE_FORMAT),
        (at.ENVIRONMENT, ["A"], Code.INVALID_ATTRIBUTE_FORMAT),
        (at.NAME, "a\0b", Code.INVALID_ATTRIBUTE_VALUE),
        (at.NAME, "x" * (at.VALUE_CHARS_MAX + 1), Code.INVALID_ATTRIBUTE_VALUE),
        (at.ARGUMENTS, ["x"] * (at.VECTOR_MAX + 1), Code.INVALID_ATTRIBUTE_VALUE),
        (at.ARGUMENTS, "x", Code.INVALID_ARGUMENT),
        (at.NAME, ["x"], Code.INVALID_ARGUMENT),
        (at.TRANSFER, "o", Code.INVALID_ARGUMENT),
        ("drmaa_duration_hlimit", "5", Code.INVALID_ARGUMENT),
        ("drmaa_nonsense", "5", Code.INVALID_ARGUMENT),
    ],
)
def test_a_value_that_cannot_act_is_refused_and_named(name: str, value: Any, code: Code) -> None:
    with pytest.raises(DrmaaError, match=name) as caught:
        at.check(name, value, has_cell=True)
    assert caught.value.code is code


def test_attributes_that_only_some_pools_have() -> None:
    at.check(at.TRANSFER, "io", has_cell=False)
    at.check(at.CATEGORY, "long", has_cell=True)
    for name in (at.CATEGORY, at.SOFT_LIMIT):
        with pytest.raises(DrmaaError, match="Grid Engine cell"):
            at.check(name, "1", has_cell=False)


@pytest.mark.parametrize("range_", [(0, 5, 1), (5, 4, 1), (1, 5, 0), (-5, -1, 1)])
def test_ranges_of_bulk_jobs_count_upward_from_one(range_: tuple[int, int, int]) -> None:
    with pytest.raises(DrmaaError) as caught:
        at.bulk_range(*range_)
    assert caught.value.code is Code.INVALID_ARGUMENT


def test_the_index_has_no_meaning_in_a_single_job() -> None:
    with pytest.raises(DrmaaError, match=r"drmaa_output_path: only jobs of drmaa_run_bulk_jobs"):
        at.check_whole({at.COMMAND: "x", at.OUTPUT: f":{at.INDEX}"}, is_bulk=False)


def test_endings_are_read_from_ads_and_fit_in_a_number() -> None:
    done = {"JobStatus": 4, "NumJobStarts": 1, "QDate": 5, "JobCurrentStartExecutingDate": 10, "CompletionDate": 17}
    exited = ending_of({**done, "ExitCode": 200, "RemoteUserCpu": 1.5})
    assert (exited.has_exited, exited.exit_status, exited.number) == (True, 200, 1 | 200 << 8)
    assert {name: exited.usage[name] for name in ("exit_status", "ru_wallclock", "cpu", "submission_time")} == {
        "exit_status": "200.0000",
        "ru_wallclock": "7.0000",
        "cpu": "1.5000",
        "submission_time": "5.0000",
    }
    killed = ending_of({**done, "ExitBySignal": True, "ExitSignal": 11, "JobCoreDumped": True})
    assert (killed.has_exited, killed.number) == (False, 2 | 4 | 11 << 16)
    removed = ending_of({"JobStatus": 3, "NumJobStarts": 1})
    assert removed.was_aborted and removed.usage["exit_status"] == "137.0000" and removed.number == 8
    assert ending_of({"JobStatus": 3}).usage == {}


@pytest.mark.parametrize(
    ("row", "known", "state"),
    [
        ({"JobStatus": 1}, {}, State.QUEUED_ACTIVE),
        ({"JobStatus": 1}, {"waits": True}, State.SYSTEM_ON_HOLD),
        ({"JobStatus": 1, "CellNotBefore": NOON + 1}, {}, State.SYSTEM_ON_HOLD),
        ({"JobStatus": 5, "CellHolds": "u"}, {}, State.USER_ON_HOLD),
        ({"JobStatus": 5, "CellHolds": "uo"}, {}, State.USER_SYSTEM_ON_HOLD),
        ({"JobStatus": 5, "CellHolds": "s"}, {}, State.SYSTEM_ON_HOLD),
        ({"JobStatus": 5, "CellHolds": "u"}, {"waits": True}, State.USER_SYSTEM_ON_HOLD),
        ({"JobStatus": 5, "HoldReasonCode": 12}, {}, State.FAILED),
        ({"JobStatus": 5, "HoldReasonCode": 12}, {"has_cell": False}, State.SYSTEM_ON_HOLD),
        ({"JobStatus": 6}, {}, State.RUNNING),
        ({"JobStatus": 7}, {}, State.USER_SUSPENDED),
        ({"JobStatus": 7}, {"by_system": True}, State.SYSTEM_SUSPENDED),
        ({"JobStatus": 7}, {"by_system": True, "by_user": True}, State.USER_SYSTEM_SUSPENDED),
        ({"JobStatus": 3, "RemoteHost": "slot1@a"}, {}, State.RUNNING),
    ],
)
def test_states_of_jobs(row: dict[str, Any], known: dict[str, Any], state: State) -> None:
    assert state_of(row, Known(**{"now": NOON, "has_cell": True, **known})) is state


def test_a_record_outlives_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    first = Record.of("a pool/x", "s")
    assert first.is_cut
    first.begin()
    first.submitted([("1.0", "1.1"), ("1.1", "1.3"), ("2.0", "2")])
    first.reap(["1.1"])
    second = Record.of("a pool/x", "s")
    assert (second.jobs, second.reaped, second.is_cut) == ({"1.0": "1.1", "2.0": "2"}, {"1.1"}, False)
    second.begin()
    assert Record.of("a pool/x", "s").is_cut
    second.nothing()
    assert not Record.of("a pool/x", "s").is_cut
    assert Record.of("another", "s").jobs == {}


def test_old_records_are_removed_and_long_ones_take_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    from roost.compat.drmaa.core import record

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    Record.of("pool", "old").begin()
    path = tmp_path / "roost/drmaa/pool/old"
    os.utime(path, (1, 1))
    present = Record.of("pool", "new")
    assert not path.exists()
    present.begin()
    monkeypatch.setattr(record, "BYTES_MAX", 1)
    with pytest.raises(DrmaaError, match="begin another one"):
        present.begin()
