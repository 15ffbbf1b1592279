"""Job ads as workloads."""

from __future__ import annotations

from dataclasses import replace

import pytest

from roost.classad import ClassAd
from roost.classad.forms import parse_ads
from roost.sim.inputs.job_ads import JobAdProblem, jobs_of
from roost.sim.inputs.workload import Truth
from roost.sim.world import BEGINNING, World
from tests.sim.pools import pool

ADS = """
[ ClusterId = 7; ProcId = 0; Owner = "ada"; RequestMemory = 100; SimRunTime = 600; Args = "one" ]
[ ClusterId = 7; ProcId = 1; Owner = "ada"; RequestMemory = 100; SimRunTime = 900; Args = "two" ]
[ Owner = "ben"; SimSubmitTime = 60; SimImageSize = { {0, 1000}, {100, 1000}, {200, 5000} }; SimCheckpoints = true ]
"""


def test_ads_become_jobs_and_what_is_true_of_them_is_in_no_ad() -> None:
    jobs = jobs_of(parse_ads(ADS), BEGINNING)
    assert [(job.name, job.owner, job.submitted_at - BEGINNING, job.truth.run_s) for job in jobs] == [
        ("7.0", "ada", 0.0, 600.0),
        ("7.1", "ada", 0.0, 900.0),
        ("3.0", "ben", 60.0, 3600.0),
    ]
    assert not any(name.lower().startswith("sim") for job in jobs for name in job.ad)
    assert jobs[0].kind == jobs[1].kind != jobs[2].kind
    assert jobs[2].truth.checkpoints
    assert [jobs[2].truth.image_kb(at) for at in (0, 100, 150, 200, 9000)] == [1000, 1000, 3000, 5000, 5000]


def test_behaviour_may_be_told_beside_the_ads() -> None:
    (job,) = jobs_of([ClassAd({"Owner": "ada"})], BEGINNING, lambda ad: Truth(run_s=5.0))
    assert job.truth.run_s == 5.0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[ ClusterId = 1 ]", "job 1: it has no Owner"),
        ('[ Owner = "a"; ClusterId = 1 ] [ Owner = "a"; ClusterId = 1 ]', "job 2: ClusterId and ProcId"),
        ('[ Owner = "a"; SimRunTime = "soon" ]', "SimRunTime is not a number"),
        ('[ Owner = "a"; SimImageSize = { {5, 1}, {5, 2} } ]', "SimImageSize is a list of pairs"),
        ('[ Owner = "a"; ProcId = -1 ]', "ProcId is not a whole number"),
    ],
)
def test_what_is_no_job_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(JobAdProblem, match=said):
        jobs_of(parse_ads(text), BEGINNING)


def test_jobs_of_one_cluster_run() -> None:
    calm = "START = True\nIS_OWNER = False\nSUSPEND = False\nPREEMPT = False\nWANT_SUSPEND = False\nKILL = False\n"
    plan = replace(pool(calm, machines=2, jobs=0, days=0.2), jobs=tuple(jobs_of(parse_ads(ADS), BEGINNING)))
    outcome = World(plan).run()
    assert outcome.problems == ()
    assert outcome.summary["jobs_completed"] == 3
