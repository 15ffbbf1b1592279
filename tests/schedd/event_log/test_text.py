"""The event log written, read back, and read in pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.classad import ClassAd
from roost.classad.forms import Form, format_ad
from roost.schedd.event_log import log
from tests.schedd.event_log.events import BILL, EVERY, NASTY, TABLE

NOW = 1_795_256_430.25


def text_of(event: log.JobEvent) -> str:
    return log.format_event(event, 12, 3, NOW, utc=True)


def test_every_kind_has_an_example() -> None:
    assert {type(event) for event in EVERY} == set(log.KINDS.values())


@pytest.mark.parametrize("event", EVERY, ids=lambda event: type(event).__name__)
def test_what_is_written_is_read_back(event: log.JobEvent) -> None:
    read = log.parse_event(text_of(event).removesuffix("...\n"))
    assert (read.problem, read.event, read.number) == ("", event, event.NUMBER)
    assert (read.cluster, read.proc, read.time) == (12, 3, int(NOW))


def test_the_end_of_a_job_looks_as_its_readers_expect() -> None:
    text = text_of(log.JobTerminated(exit=log.ProgramExit(code=3), bill=BILL, resources=TABLE))
    assert text.split("\n") == [
        "005 (012.003.000) 2026-11-21 10:20:30Z Job terminated.",
        "\t(1) Normal termination (return value 3)",
        "\t\tUsr 0 00:00:01, Sys 1 02:02:03  -  Run Remote Usage",
        "\t\tUsr 0 00:00:00, Sys 0 00:00:00  -  Run Local Usage",
        "\t\tUsr 0 00:01:01, Sys 1 02:02:04  -  Total Remote Usage",
        "\t\tUsr 0 00:00:00, Sys 0 00:00:00  -  Total Local Usage",
        "\t5  -  Run Bytes Sent By Job",
        "\t6  -  Run Bytes Received By Job",
        "\t7  -  Total Bytes Sent By Job",
        "\t8  -  Total Bytes Received By Job",
        "\tPartitionable Resources :    Usage  Request Allocated Assigned",
        "\t   Cpus                 :     0.50        1         1 ",
        "\t   Disk (KB)            :    40         200      1000 ",
        '\t   GPUs                 :     0.25        1         1 "GPU-1"',
        "\t   Memory (MB)          :    20         100       128 ",
        "...",
        "",
    ]


def test_fractions_of_seconds_and_wide_numbers() -> None:
    text = log.format_event(log.JobUnsuspended(), 123456, 7890, NOW, utc=True, sub_second=True)
    assert text == "011 (123456.7890.000) 2026-11-21 10:20:30.250Z Job was unsuspended.\n...\n"
    assert log.parse_event(text).time == NOW


@given(NASTY, NASTY)
def test_texts_of_users_cannot_end_an_event(reason: str, notes: str) -> None:
    events: list[log.JobEvent] = [
        log.JobHeld(reason=reason, code=1),
        log.Submit(host="h", log_notes=reason, user_notes=notes),
        log.Generic(text=reason),
        log.RemoteError(host="h", message=reason),
        log.ShadowException(message=reason),
        log.JobAdInformation(told=(("A", notes),)),
        log.JobEvicted(reason=reason),
        log.JobAborted(reason=notes),
    ]
    text = "".join(text_of(event) for event in events)
    reader = log.LogReader()
    assert [one.number for one in reader.feed(text.encode())] == [event.NUMBER for event in events]
    assert reader.skipped == 0


@given(st.lists(st.sampled_from(EVERY), max_size=5), st.lists(st.integers(0, 400), max_size=6))
def test_a_log_read_in_any_pieces_gives_the_same_events(events: list[log.JobEvent], cuts: list[int]) -> None:
    whole = "".join(text_of(event) for event in events).encode()
    reader, found, at = log.LogReader(), [], 0
    for cut in [*sorted(cuts), len(whole)]:
        found += [one.event for one in reader.feed(whole[at:cut])]
        at = max(at, cut)
    assert found == events
    assert reader.position == len(whole)


def test_an_event_is_given_only_once_it_is_whole() -> None:
    whole = text_of(log.JobHeld(reason="é", code=1)).encode()
    reader = log.LogReader()
    assert list(reader.feed(whole[:-1])) == []
    assert reader.position == 0
    assert [one.event for one in reader.feed(whole[-1:])] == [log.JobHeld(reason="é", code=1)]


def test_after_a_rotation_a_begun_event_is_forgotten() -> None:
    reader = log.LogReader()
    assert list(reader.feed(b"012 (001.000.000) 2026-")) == []
    reader.restart()
    assert [one.number for one in reader.feed(text_of(log.JobUnsuspended()).encode())] == [11]


def test_what_is_no_event_is_skipped_and_counted() -> None:
    reader = log.LogReader()
    text = "what is this\n...\n" + text_of(log.JobUnsuspended())
    assert [one.number for one in reader.feed(text.encode())] == [11]
    assert reader.skipped == 1


def test_an_event_that_never_ends_takes_no_room() -> None:
    reader = log.LogReader()
    for _ in range(20):
        assert list(reader.feed(b"x" * 100_000 + b"\n")) == []
    assert [one.number for one in reader.feed(b"...\n" + text_of(log.JobUnsuspended()).encode())] == [11]
    assert reader.skipped == 1


def test_a_body_that_is_not_understood_is_said_and_the_log_goes_on() -> None:
    read = log.parse_event("005 (001.000.000) 2026-11-21 10:20:30 Job terminated.\n\tby magic\n")
    assert read.event is None
    assert "how the program ended" in read.problem


def test_events_of_the_future_are_kept_as_they_are() -> None:
    text = "399 (001.000.000) 2026-11-21 10:20:30Z Something new\n\tbody\n...\n"
    (read,) = log.LogReader().feed(text.encode())
    assert read.event == log.Unknown(number=399, head="Something new", body=("\tbody",))
    assert log.format_event(read.event, 1, 0, read.time, utc=True) == text


def test_old_headers_without_a_year() -> None:
    text = "011 (001.000.000) 11/21 10:20:30 Job was unsuspended."
    assert log.parse_event(text, year=2026).time == log.parse_event(text.replace("11/21", "2026-11-21")).time


def test_an_event_as_json() -> None:
    held = log.LoggedEvent(event=log.JobHeld(reason="r", code=3), number=12, cluster=1, proc=0, time=0.0)
    text = format_ad(held.ad(utc=True), Form.JSON)
    assert '"HoldReason": "r"' in text
    assert '"EventTime": "1970-01-01T00:00:00Z"' in text


def test_events_made_from_a_job_ad() -> None:
    ad = ClassAd(
        {
            "ExitBySignal": False,
            "ExitCode": 4,
            "RemoteUserCpu": 2.5,
            "CumulativeRemoteUserCpu": 10.0,
            "RequestCpus": 1,
            "CpusProvisioned": 1,
            "CpusUsage": 0.5,
            "RequestMemory": 100,
            "HoldReason": "why",
            "HoldReasonCode": 3,
        }
    )
    ad.set("MemoryUsage", "(ResidentSetSize + 1023) / 1024")
    ended = log.JobTerminated.of(ad)
    assert (ended.exit.code, ended.bill.run.user_s, ended.bill.total.user_s) == (4, 2, 10)
    assert [row.name for row in ended.resources.rows] == ["Cpus", "Memory"]
    assert log.JobHeld.of(ad) == log.JobHeld(reason="why", code=3)
    assert log.JobEvicted.of(ad, requeued=True).requeued == log.ProgramExit(code=4)
