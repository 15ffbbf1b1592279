"""The real matchmaker in the simulated world: what a pool's configuration says of it holds there, too."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from roost.classad import ClassAd
from roost.config import MemoryHost
from roost.lab.compare import compare
from roost.lab.inputs.workloads import jobs_of
from roost.lab.simulate import Request
from roost.schedd.status import JobStatus
from roost.sim.bus import Faults
from roost.sim.inputs.workload import Job
from roost.sim.world import BEGINNING, Outcome, Plan, World
from tests.sim.pools import pool

#: Machines that take everybody all the time.
OPEN = "START = True\nSUSPEND = False\nPREEMPT = False\nKILL = False\nIS_OWNER = False\n"


def jobs(*ads: dict[str, object]) -> list[Job]:
    made = [ClassAd({"ClusterId": number, "SimRunTime": 1800, **ad}) for number, ad in enumerate(ads, 1)]
    return jobs_of([[ad] for ad in made], BEGINNING, "<jobs>")


def plan(text: str, *ads: dict[str, object], machines: int = 2, days: float = 0.25) -> Plan:
    return replace(pool(OPEN + text, machines=machines, days=days, jobs=0), jobs=tuple(jobs(*ads)))


def run(given: Plan) -> tuple[World, Outcome]:
    world = World(given)
    return world, world.run()


def begun(world: World) -> Counter[str]:
    """Owner to jobs of theirs that were started."""
    return Counter(world.queue.jobs[name].owner for name, starts in world.queue.starts.items() if starts)


def test_pool_wide_policy_discards_and_forbids():
    work = [{"Owner": owner} for owner in ("ann", "smith", "eve") for _ in range(3)]
    world, outcome = run(plan('NEGOTIATOR_PE_RESOURCE_EXPR = TARGET.Owner =!= "smith"\n', *work))
    assert begun(world) == {"ann": 3, "eve": 3}
    assert outcome.problems == ()
    world, _ = run(plan('NEGOTIATOR_PE_JOB_ONLY_EXPR = Owner == "ann"\n', *work))
    assert begun(world) == {"smith": 3, "eve": 3}
    assert world.matcher.rejections["pool policy: NEGOTIATOR_PE_JOB_ONLY_EXPR"] > 0
    world, _ = run(plan("NEGOTIATOR_PE_STARTD_ONLY_EXPR = True\n", *work))
    assert not begun(world)


def test_a_policy_on_starts_sees_how_often_each_job_was_started():
    text = "PREEMPT = TotalJobRunTime > 600\nKILL = True\nNEGOTIATOR_PE_JOB_ONLY_EXPR = NumJobStarts >= 2\n"
    given = plan(text, {"Owner": "ann"}, {"Owner": "ann"}, {"Owner": "eve", "SimRunTime": 60}, machines=1)
    world, _ = run(given)
    assert [world.queue.starts[name] for name in ("1.0", "2.0", "3.0")] == [2, 2, 1]


def _running(world: World) -> Counter[str]:
    """Owner to jobs of theirs that run."""
    queue = world.queue
    return Counter(queue.jobs[name].owner for name, status in queue.status.items() if status is JobStatus.RUNNING)


def test_quotas_ceilings_and_limits_hold():
    work = [{"Owner": "ann", "AccountingGroup": "a.ann"}] * 6 + [{"Owner": "eve"}] * 6
    together: list[Counter[str]] = []

    def look(given: Plan, at_s: float) -> Counter[str]:
        world = World(given)
        world.engine.at(BEGINNING + at_s, lambda now: together.append(_running(world)))
        assert world.run().problems == ()
        return +together.pop()

    quota = "GROUP_NAMES = a\nGROUP_QUOTA_a = 1\n"
    assert look(plan(quota, *work, machines=4), 900) == {"ann": 1, "eve": 3}
    assert look(plan("USER_CEILINGS = eve=2\n", *work, machines=8), 900)["eve"] == 2
    licences = [{"Owner": "ann", "ConcurrencyLimits": "matlab"}] * 4
    assert look(plan("MATLAB_LIMIT = 3\n", *licences, machines=4), 900) == {"ann": 3}


def test_the_same_seed_is_the_same_run_and_faults_break_nothing():
    text = "NEGOTIATOR_PE_JOB_EXPR = MY.Owner =!= undefined\n"
    given = pool("use POLICY : Desktop\n" + text, machines=2, days=0.25, jobs=12)
    first, second = World(given).run(), World(given).run()
    assert first == second
    assert first.problems == ()
    faulty = replace(given, faults=Faults(lost=0.02, doubled=0.02, late=0.05, queue_death_s=10_000))
    assert World(faulty).run().problems == ()


def test_policies_are_compared_under_the_same_matchmaker():
    host = MemoryHost(files={"/old": OPEN, "/new": OPEN + 'NEGOTIATOR_PE_RESOURCE_EXPR = TARGET.Owner != "ada"\n'})
    old = Request(configs=("/old",), machines=2, days=0.1, jobs=6)
    found = compare(old, replace(old, configs=("/new",)), [1], host)
    same = compare(old, old, [1], host)
    assert found.seeds == (1,)
    assert not same.partings


def test_policies_on_matches_let_slots_be_asked_one_by_one_and_those_that_discard_do_not():
    work = [{"Owner": owner} for owner in ("ann", "smith", "eve") for _ in range(3)]
    for text, singly in (
        ("", True),
        ('NEGOTIATOR_PE_RESOURCE_EXPR = TARGET.Owner =!= "smith"\n', True),
        ('NEGOTIATOR_PE_JOB_EXPR = MY.Owner =!= "smith"\nNEGOTIATOR_PE_LOG_ONLY = True\n', True),
        ("NEGOTIATOR_PE_STARTD_ONLY_EXPR = Memory < 1\n", False),
        ("NEGOTIATOR_PE_AUDIT_EXPR = True\n", False),
        ('RANK = Owner == "eve"\n', False),
        ("PREEMPTION_REQUIREMENTS = RemoteUserPrio > SubmitterUserPrio\n", False),
        ("NEGOTIATOR_PRE_JOB_RANK = LoadAvg\n", False),
        ("START = random(10) < 5\n", False),
    ):
        given = plan(text, *work, days=0.05)
        asked, shown = World(given), World(replace(given, exhaustive=True))
        assert asked.matcher.asks_singly is singly, text
        assert not shown.matcher.asks_singly
        assert asked.run().digest == shown.run().digest, text


def test_slots_whose_jobs_have_retirement_left_are_not_offered():
    text = "MAXJOBRETIREMENTTIME = 3600\nRANK = TARGET.Boss =?= True\n"
    work = ({"Owner": "ann", "SimRunTime": 7200}, {"Owner": "eve", "Boss": True, "SimSubmitTime": 600})
    starts: dict[object, float] = {}
    note = lambda each: starts.setdefault((each["what"], each.get("job")), each["t"])  # noqa: E731
    assert World(plan(text, *work, machines=1), sinks=(note,)).run().problems == ()
    assert 3600 < starts["start", "2.0"] < 4200
