"""Owners and workloads: recorded and generated."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.sim.chance import stream
from roost.sim.owners import DAY_S, OwnerTrace, TraceProblem, diurnal, read_csv
from roost.sim.swf import WorkloadProblem, read_swf
from roost.sim.workload import MIXES, generated
from roost.sim.world import BEGINNING

SWF = """; Version: 2
  1  100  0   3600  2 -1 1024  2  7200 -1 1 3 1 1 1 -1 -1 -1
  2  160  5     -1  1 -1   -1  1    -1 -1 5 3 1 1 1 -1 -1 -1
  3  170  5     60  1 -1   -1 -1    -1 2048 1 -1 1 1 1 -1 -1 -1
"""


def test_a_standard_workload_file_is_read() -> None:
    jobs = read_swf(SWF, 1000.0)
    assert [(job.name, job.owner, job.submitted_at, job.truth.run_s) for job in jobs] == [
        ("1.0", "user3", 1000.0, 3600.0),
        ("3.0", "unknown", 1070.0, 60.0),
    ]
    assert jobs[0].ad["RequestCpus"] == 2
    assert jobs[0].ad["RequestMemory"] == 2
    assert jobs[0].ad["JobMaxRunTime"] == 7200
    assert jobs[1].ad["RequestMemory"] == 2


@pytest.mark.parametrize("line", ["1 2 3", "x " + "1 " * 17])
def test_a_bad_line_is_named(line: str) -> None:
    with pytest.raises(WorkloadProblem, match="<swf>:2"):
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


@pytest.mark.parametrize("text", ["time,load\n1,2\n", "machine,time,keyboard\nm1,soon,1\n"])
def test_a_bad_trace_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(TraceProblem, match="<trace>:"):
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
