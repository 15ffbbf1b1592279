"""Jobs that wait for jobs: `-hold_jid` and `-hold_jid_ad` of `qsub` and `qalter`, as Grid Engine 8.1.9 answered."""

from __future__ import annotations

from tests.cli.gridengine.kit import Desk
from tests.integration.kit import eventually

SAME_RANGE = (
    "Unable to run job: This array job must have the same range of sub-tasks as the dependent array job specified with "
    "-hold_jid_ad\nExiting.\n"
)
QUIET = ("-j", "y", "-o", "/dev/null")
ONLY_ARRAYS = 'Can only specify "-hold_jid_ad" option with an array job (using "-t" option)\n'


def held(desk: Desk, *arguments: str) -> int:
    return desk.qsub("-h", *arguments, "-b", "y", "true")


def waiting(desk: Desk, *arguments: str) -> int:
    return desk.qsub(*arguments, "-b", "y", "true")


def states(desk: Desk) -> dict[str, str]:
    """Name and tasks to state, of the jobs that wait."""
    words = [line.split() for line in desk("qstat").out.splitlines()[2:]]
    return {" ".join((each[2], *each[8:])): each[4] for each in words}


def test_tasks_start_when_the_same_tasks_of_the_other_array_have_left(desk: Desk) -> None:
    log = desk.pool.work / "log-of-tasks"
    script = f"#!/bin/sh\necho $JOB_NAME $SGE_TASK_ID >> {log}\nif [ $JOB_NAME = A ]; then sleep 0.3; fi\n"
    first = desk.qsub("-N", "A", *QUIET, "-t", "1-3", "-tc", "1", text=script)
    second = desk.qsub("-N", "B", *QUIET, "-t", "1-3", "-hold_jid_ad", "A", text=script)
    detail = desk("qstat", "-j", str(second)).out
    assert f"ja_ad_predecessor_list:     {first}\n" in detail and "Job is in hold state" in detail
    assert f"ja_ad_successor_list:       {second}\n" in desk("qstat", "-j", str(first)).out
    eventually(lambda: log.exists() and len(log.read_text().split("\n")) == 7, lambda: desk("qstat").out)
    order = log.read_text().split("\n")
    assert all(order.index(f"A {task}") < order.index(f"B {task}") for task in (1, 2, 3))


def test_arrays_with_other_steps_wait_for_the_numbers_that_they_share(desk: Desk) -> None:
    first = held(desk, "-N", "a1", "-t", "1-4")
    waiting(desk, "-N", "a2", "-t", "1-4:2", "-hold_jid_ad", "a1")
    waiting(desk, "-N", "a3", "-t", "1-4", "-hold_jid_ad", "nosuch", "-hold_jid", "a2")
    assert states(desk) == {"a1 1-4:1": "hqw", "a2 1,3": "hqw", "a3 1-4:1": "hqw"}
    desk("qdel", f"{first}.1")
    assert states(desk)["a2 1,3"] == "hqw"
    desk("qdel", f"{first}.2")
    # Task 1 of a2 stands for 1 and 2.
    eventually(lambda: "a2 1,3" not in states(desk) and states(desk).get("a2 3") == "hqw", lambda: desk("qstat").out)


def test_what_cannot_wait_task_by_task_is_refused(desk: Desk) -> None:
    held(desk, "-N", "a1", "-t", "1-4")
    plain = held(desk, "-N", "js")
    array = waiting(desk, "-N", "a2", "-t", "1-4", "-hold_jid_ad", "a1")
    for range_ in ("1-8:2", "2-5"):
        done = desk("qsub", "-t", range_, "-hold_jid_ad", "a1", "-b", "y", "true", status=1)
        assert (done.out, done.err) == ("", SAME_RANGE)
    for arguments in (("-hold_jid_ad", "a1"), ("-t", "1-4", "-hold_jid_ad", "js")):
        done = desk("qsub", *arguments, "-b", "y", "true", status=1)
        assert done.err == f"Unable to run job: {ONLY_ARRAYS}Exiting.\n"
    assert desk("qalter", "-hold_jid_ad", "js", str(array), status=1).out == ONLY_ARRAYS
    # Whether there are such jobs or not.
    plain = waiting(desk, "-N", "plain")
    assert desk("qalter", "-hold_jid_ad", "nosuch", str(plain), status=1).out == ONLY_ARRAYS
    assert desk("qalter", "-hold_jid_ad", "a1", str(plain), status=1).out == ONLY_ARRAYS
    assert desk("qsub", "-hold_jid", "", "-b", "y", "true", status=7).err == (
        'qsub: Wrong jid_hold list format "" specified to -hold_jid option\n'
    )


def test_qalter_changes_what_a_job_waits_for(desk: Desk) -> None:
    job = held(desk, "-N", "js")
    first, second = held(desk, "-N", "p1"), held(desk, "-N", "p2")

    def told(option: str, blocking: str) -> str:
        return f"modified job id {option} of job {job}\n   blocking jobs: {blocking}\n   exited jobs:   NONE\n"

    assert desk("qalter", "-hold_jid", "p1,p2", "js").out == told("hold list", f"{first},{second}")
    detail = desk("qstat", "-j", "js").out
    assert f"jid_predecessor_list (req): p1,p2\njid_predecessor_list:       {first},{second}\n" in detail
    for words in ("nosuch", "js"):
        assert desk("qalter", "-hold_jid", words, "js").out == told("hold list", "NONE")
        assert "jid_predecessor_list: " not in desk("qstat", "-j", "js").out
    own = f'denied: job "{job}" may not be its own jobnet predecessor\n'
    assert desk("qalter", "-hold_jid", str(job), "js", status=1).out == own
    desk("qalter", "-hold_jid", "js", "p1")
    assert desk("qalter", "-hold_jid", "p1", "js", status=1).out == (
        f"job {job} dependency change would generate a dependency cycle with job {first}\n"
    )
    # What it waits for is kept, over a restart of the queue as well.
    desk("qalter", "-hold_jid", "p2", "js")
    desk("qalter", "-h", "U", "js")
    assert states(desk)["js"] == "hqw"
    desk.pool.kill("schedd")
    eventually(lambda: states(desk).get("js") == "hqw", "the queue again")
    desk("qdel", str(second))
    eventually(lambda: "js" not in states(desk), lambda: desk("qstat", "-j", "js").out)


def test_qalter_changes_the_array_that_an_array_waits_for(desk: Desk) -> None:
    first, second = held(desk, "-N", "a1", "-t", "1-2"), held(desk, "-N", "b1", "-t", "1-2")
    job = waiting(desk, "-N", "a9", "-t", "1-2", "-hold_jid", "b1", "-hold_jid_ad", "a1")
    assert desk("qalter", "-hold_jid_ad", "b1", "a9").out == (
        f"modified job id hold array list of job {job}\n   blocking jobs: {second}\n   exited jobs:   NONE\n"
    )
    requested = desk("qstat", "-r").out
    assert "       Predecessor Jobs (request): b1\n" in requested
    assert f"       Predecessor Array Jobs (request): b1\n       Predecessor Array Jobs: {second}\n" in requested
    desk("qdel", str(second))
    eventually(lambda: "a9" not in desk("qstat").out, lambda: desk("qstat", "-j", str(job)).out)
    desk("qdel", str(first))


def test_qalter_changes_how_many_tasks_run_at_once(desk: Desk) -> None:
    stop = desk.pool.work / "stop-tasks"
    job = desk.qsub("-N", "arr", *QUIET, "-t", "1-4", "-tc", "1", text=f"while [ ! -e {stop} ]; do sleep 0.05; done\n")
    one = desk.qsub("-h", "-N", "js", "-b", "y", "true")
    eventually(lambda: desk("qstat").out.count(" r ") == 1, lambda: desk("qstat").out)
    assert desk("qalter", "-tc", "3", "arr").out == f"modified task concurrency of job {job}\n"
    eventually(lambda: desk("qstat").out.count(" r ") == 3, lambda: desk("qstat").out)
    assert "maximum concurrency:        3\n" in desk("qstat", "-j", "arr").out
    assert desk("qalter", "-tc", "0", "arr").out == f"modified task concurrency of job {job}\n"
    for given in ("x", "-1"):
        assert desk("qalter", "-tc", given, "arr", status=7).err == (
            f'qalter: invalid task concurrency number "{given}". Must be an integer greater or equal to 0.\n'
        )
    assert desk("qalter", "-tc", "3", str(one), status=1).out == 'invalid option argument "task concurrency"\n'
    stop.touch()
