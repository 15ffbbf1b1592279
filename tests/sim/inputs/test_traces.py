"""Owners and workloads: recorded and generated."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.classad import ClassAd
from roost.sim.chance import stream
from roost.sim.inputs.owners import DAY_S, OwnerTrace, diurnal
from roost.sim.inputs.owners_file import TraceProblem, read_csv
from roost.sim.inputs.swf import WorkloadProblem, read_swf
from roost.sim.inputs.workload import MIXES, generated
from roost.sim.world import BEGINNING

SWF = """; Version: 2
  1  100  0   3600  2 -1 1024  2  7200 -1 1 3 1 1 1 -1 -1 -1
  2  160  5     -1  1 -1   -1  1    -1 -1 5 3 1 1 1 -1 -1 -1
  3  170  5     60  1 -1   -1 -1    -1 2048 1 -1 1 1 1 -1 -1 -1
"""


def test_a_standard_workload_file_is_read() -> None:
    recorded = read_swf(SWF, 1000.0)
    jobs = recorded.jobs
    assert recorded.never_ran == 1
    assert [(job.name, job.owner, job.submitted_at, job.truth.run_s) for job in jobs] == [
        ("1.0", "user3", 1000.0, 3600.0),
        ("3.0", "unknown", 1070.0, 60.0),
    ]
    assert jobs[0].ad["RequestCpus"] == 2
    assert jobs[0].ad["RequestMemory"] == 2
    assert jobs[0].ad["JobMaxRunTime"] == 7200
    assert jobs[1].ad["RequestMemory"] == 2


def test_recorded_times_count_from_the_earliest_job() -> None:
    lines = SWF.splitlines()
    jobs = read_swf("\n".join([lines[3], lines[1]]), 1000.0).jobs
    assert [(job.name, job.submitted_at) for job in jobs] == [("1.0", 1000.0), ("3.0", 1070.0)]


def test_a_recorded_job_of_several_processors_wants_a_slot_with_as_many_cores() -> None:
    parallel, single = read_swf(SWF, 0.0).jobs
    slot = ClassAd({"Cpus": 1, "Memory": 4096, "Disk": 10**6})
    assert (parallel.ad.eval("Requirements", slot), single.ad.eval("Requirements", slot)) == (False, True)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("1 2 3", "3 numbers where the format has 18"),
        ("x " + "1 " * 17, r"field 1 \(job number\) must be a number, -1 where it is unknown; found 'x'"),
        ("1 2 3 nan " + "1 " * 14, r"field 4 \(run time\)"),
        ("1 2 3 1e300 " + "1 " * 14, r"field 4 \(run time\)"),
        ("1 -5 " + "1 " * 16, r"field 2 \(submit time\) must be known and not negative; found -5"),
    ],
)
def test_a_bad_line_is_named_with_its_field(line: str, complaint: str) -> None:
    with pytest.raises(WorkloadProblem, match="<swf>:2: " + complaint):
        read_swf("; comment\n" + line, 0.0)


def test_the_true_run_time_is_in_no_ad() -> None:
    for job in generated(stream(1, "x"), "desktop", 50, BEGINNING, 2.0):
        assert all(job.ad[name] != job.truth.run_s for name in job.ad if name not in ("ClusterId", "ImageSize"))


@pytest.mark.parametrize("mix", MIXES)
def test_a_mix_arrives_in_order_within_its_days(mix: str) -> None:
    jobs = generated(stream(3, mix), mix, 200, BEGINNING, 3.0)
    times = [job.submitted_at for job in jobs]
    assert times == sorted(times)
    assert len({job.name for job in jobs}) == 200
    assert times[0] >= BEGINNING
    assert times[-1] < BEGINNING + 3 * DAY_S


def test_a_recorded_trace_is_read() -> None:
    text = "machine,time,keyboard,load\nm1,0,0,0.1\nm1,60,1,\nm1,120,0,0.7\nm2,5,1,0\n"
    traces = read_csv(text, BEGINNING)
    owner = traces["m1"]
    assert owner.idle_s(BEGINNING + 59) == 59
    assert owner.idle_s(BEGINNING + 60) == 0
    assert owner.idle_s(BEGINNING + 150) == 30
    assert (owner.load(BEGINNING + 100), owner.load(BEGINNING + 120)) == (0.1, 0.7)
    assert set(traces) == {"m1", "m2"}


@pytest.mark.parametrize(
    "text", ["\ufeffmachine,time,keyboard\r\nm,9,1\r\n", "time, keyboard, machine, room\n9, 1, m, 7\n"]
)
def test_columns_of_a_trace_may_come_as_programs_write_them(text: str) -> None:
    assert read_csv(text, 0.0)["m"].idle_s(20) == 0


def test_keys_that_are_pressed_in_the_last_line_go_on_being_pressed() -> None:
    owner = read_csv("machine,time,keyboard\nm,9,1\n", 0.0)["m"]
    assert (owner.is_present(8), owner.is_present(86_400), owner.presence_s(0, 109)) == (False, True, 100)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("time,load\n1,2\n", "1: no column machine; the first line names the columns"),
        ("", "1: no column machine and no column time"),
        ("machine;time;keyboard\nm;1;0\n", "1: .*separated by commas"),
        ("machine,time,keyboard\nm1,soon,1\n", "2: time is a number of seconds .*; found 'soon'"),
        ("machine,time,keyboard\nm1,1,0\nm1,-5,1\n", "3: time is .*; found '-5'"),
        ("machine,time\nm1,inf\n", "2: time is .*; found 'inf'"),
        ("machine,time\nm1\n", "2: time is .*; found ''"),
        ("machine,time,load\nm1,1,-3\n", "2: load is a number that is not negative; found '-3'"),
        (
            "machine,time,keyboard\nm1,1,maybe\n",
            "2: keyboard is 1 while keys are pressed and 0 while not; found 'maybe'",
        ),
        ("machine,time\na b,1\n", "2: machine is a name of letters"),
        ("machine,time\nm1,1,2\n", "2: more cells than"),
        (f"machine,time\nm1,{'1' * 200_000}\n", "2: it is not CSV"),
    ],
)
def test_a_bad_trace_is_refused_with_line_column_and_remedy(text: str, complaint: str) -> None:
    with pytest.raises(TraceProblem, match="<trace>:" + complaint):
        read_csv(text, 0.0)


@given(st.lists(st.integers(1, 50), min_size=2, max_size=12), st.integers(0, 400))
def test_idle_time_and_presence_agree(gaps: list[int], at: int) -> None:
    edges = [float(sum(gaps[: index + 1])) for index in range(len(gaps) // 2 * 2)]
    owner = OwnerTrace(present=tuple(zip(edges[::2], edges[1::2], strict=True)))
    assert (owner.idle_s(at) == 0) >= owner.is_present(at)
    by_second = sum(owner.is_present(second) for second in range(at))
    assert owner.presence_s(0, at) == by_second
    change = owner.next_presence(at)
    assert all(owner.is_present(t) == owner.is_present(at) for t in range(at, int(min(change, at + 60))))


def test_a_diurnal_owner_is_there_by_day_and_away_by_night() -> None:
    day = night = 0.0
    for index in range(30):
        owner = diurnal(stream(1, "owner", index), BEGINNING, 5)
        for number in range(5):
            midnight = BEGINNING + number * DAY_S
            day += owner.presence_s(midnight + 10 * 3600, midnight + 16 * 3600)
            night += owner.presence_s(midnight + 1 * 3600, midnight + 5 * 3600)
    assert day > 0.4 * 30 * 5 * 6 * 3600
    assert night < 0.02 * day
