"""`qdel`, `qhold` and `qrls` on a real pool, in the words and with the exit statuses of Grid Engine 8.1.9."""

from __future__ import annotations

import pytest
from tests.cli.gridengine.kit import ME, USER, Desk
from tests.cli.gridengine.test_qstat import started
from tests.integration.kit import eventually


def states(desk: Desk, *arguments: str) -> list[tuple[str, str]]:
    """State and tasks of each line of `qstat`."""
    lines = desk("qstat", "-u", "*", *arguments).out.splitlines()[2:]
    return [(line[39:44].strip(), line[103:].strip()) for line in lines]


def held(desk: Desk, *arguments: str) -> int:
    return desk.qsub("-h", *arguments, "-b", "y", "sleep", "60")


def test_waiting_jobs_are_deleted_and_running_ones_registered(desk: Desk) -> None:
    one, two = held(desk, "-N", "x1"), held(desk, "-N", "x2")
    done = desk("qdel", "x1", "x2,nosuch", "77777", status=1)
    assert done.out == (
        f"{ME} has deleted job {one}\n{ME} has deleted job {two}\n"
        f'The job nosuch of user(s) {ME} does not exist\ndenied: job "77777" does not exist\n'
    )
    assert not done.err
    run = desk.qsub("-N", "run", "-o", "/dev/null", "-j", "y", "-b", "y", "sleep", "60")
    started(desk, run)
    assert desk("qdel", "run").out == f"{ME} has registered the job {run} for deletion\n"
    assert desk("qdel", "-u", "nobody", status=1).out == "There is no job registered for the following users: nobody\n"
    three = held(desk, "-N", "x3")
    assert f"{ME} has deleted job {three}\n" in desk("qdel", "-u", ME).out
    eventually(lambda: not states(desk), lambda: str(states(desk)))


def test_tasks_of_an_array_are_told_one_by_one_or_together(desk: Desk) -> None:
    array = desk.qsub("-N", "ar", "-o", "/dev/null", "-j", "y", "-t", "1-8", "-b", "y", "sleep", "60")
    started(desk, array, 3)
    assert desk("qdel", "ar", "-t", "3-5").out == (
        f"{ME} has registered the job-array task {array}.3 for deletion\n"
        f"{ME} has deleted job-array tasks 4,5 of job {array}\n"
    )
    assert desk("qdel", f"{array}.8").out == f"{ME} has deleted job-array task {array}.8\n"
    assert desk("qdel", f"{array}.88", status=1).out == f'job "{array}" task "88" does not exist\n'
    rest = desk("qdel", "ar").out.splitlines()
    assert {f"{ME} has registered the job-array task {array}.{task} for deletion" for task in (1, 2)} <= set(rest)
    assert rest[-1] == f"{ME} has deleted job {array}"


def test_holds_of_tasks_come_and_go(desk: Desk) -> None:
    array = held(desk, "-N", "h", "-t", "1-4")
    assert desk("qrls", f"{array}.2").out == f"modified hold of job-array task {array}.2\n"
    assert ("hqw", "1,3,4") in states(desk)
    assert desk("qrls", "h", "-t", "9").out == ""
    assert desk("qrls", str(array), "-t", "9").out == ""
    assert desk("qdel", "h", "-t", "9", status=1).out == f'job "h" task "9" does not exist for user(s) {ME}\n'
    assert desk("qdel", f"{array}.7-9", status=1).out == f'job "{array}" task id range "7-9:1" comprises no tasks\n'
    assert desk("qhold", "99999,nosuch", status=3).out == (
        'denied: job "99999" does not exist\ndenied: job "nosuch" does not exist\n'
    )
    assert desk("qrls", "-h", "x", "h", status=7).err == 'qalter: Unknown hold list "x" specified to -h option\n'
    started(desk, array)
    assert desk("qhold", f"{array}.2").out == f"modified hold of job-array task {array}.2\n"
    assert ("hr", "2") in states(desk)
    assert desk("qhold", f"{array}.2").out == ""
    assert desk("qmod", "-f", "-rj", f"{array}.2").out.startswith(f"Forced rescheduling of job-array task {array}.2 ")
    eventually(lambda: ("hRq", "2") in states(desk), what=lambda: desk("qstat").out)
    assert desk("qrls", f"{array}.2").out == f"modified hold of job-array task {array}.2\n"
    eventually(lambda: ("Rr", "2") in states(desk), what=lambda: desk("qstat").out)


def test_a_job_starts_when_its_last_hold_is_gone(desk: Desk) -> None:
    job = held(desk, "-N", "both")
    assert desk("qhold", "-h", "os", "both").out == f"modified hold of job {job}\n"
    assert desk("qstat", "-s", "ho").out == desk("qstat", "-s", "hs").out == desk("qstat").out
    assert desk("qrls", "both").out == f"modified hold of job {job}\n"
    assert desk("qstat", "-s", "hu").out == "" and states(desk) == [("hqw", "")]
    assert desk("qrls", "-h", "o", "both").out == f"modified hold of job {job}\n"
    assert states(desk) == [("hqw", "")]
    assert desk("qrls", "-h", "s", "both").out == f"modified hold of job {job}\n"
    started(desk, job)


def test_jobs_wait_for_those_that_they_follow(desk: Desk) -> None:
    """As in transcript 13: names are resolved when the job is submitted, and it does not matter how jobs end."""
    quiet = ("-o", "/dev/null", "-j", "y", "-b", "y")
    first = held(desk, "-N", "gen")
    second = desk.qsub("-N", "second", "-hold_jid", "gen", *quiet, "true")
    third = desk.qsub("-N", "third", "-hold_jid", "gen,sec*,77777", "-t", "1-2", *quiet, "true")
    free = desk.qsub("-N", "free", "-hold_jid", "nosuchjob", *quiet, "true")
    later = held(desk, "-N", "gen")
    desk.pool.wait(free)
    assert ("hqw", "") in states(desk, "-s", "hj") and ("hqw", "1,2") in states(desk, "-s", "hj")
    lines = [line.split(":", 1) for line in desk("qstat", "-j", "third").out.splitlines() if "jid" in line]
    assert [(name, value.strip()) for name, value in lines] == [
        ("jid_predecessor_list (req)", "gen,sec*,77777"), ("jid_predecessor_list", f"{first},{second}"),
    ]  # fmt: skip
    lines = [line.split(":", 1) for line in desk("qstat", "-j", str(first)).out.splitlines() if "jid" in line]
    assert [(name, value.strip()) for name, value in lines] == [("jid_successor_list", f"{second},{third}")]
    why = desk.pool.try_("explain", "job", f"{second}.0").stdout
    assert f"It does not start before these jobs have left the queue (qsub -hold_jid): {first}." in why
    # A restarted queue has not forgotten it.
    desk.pool.kill("schedd")
    eventually(lambda: len(states(desk, "-s", "hj")) == 2, lambda: str(states(desk)))
    desk("qdel", str(first))
    desk.pool.wait(second, third)
    assert [state for state, _ in states(desk)] == ["hqw"] and later


@pytest.mark.parametrize("name", ["qdel", "qhold", "qrls"])
def test_without_jobs_they_print_their_usage(desk: Desk, name: str) -> None:
    done = desk(name, status=1)
    assert done.err.startswith(f"SGE 8.1.9\nusage: {name} [options] job_task_list\n")
    assert "ERROR! no option argument\n" in done.out + done.err


# -- other users -------------------------------------------------------------------------------------------------------


def test_only_owners_and_operators_touch_a_job(desks: tuple[Desk, Desk]) -> None:
    root, user = desks
    job = held(root, "-N", "roots")
    assert user("qdel", str(job), status=1).out == (
        f'{USER} - you do not have the necessary privileges to delete the job "{job}"\n'
    )
    assert user("qdel", "roots", status=1).out == f"The job roots of user(s) {USER} does not exist\n"
    assert user("qrls", "roots", status=18).out == (
        f'denied: "{USER}" must be at least owner of job {job} to change job attributes\n'
    )
    assert user("qsub", "-p", "1", "-b", "y", "true", status=1).err == (
        "Unable to run job: job rejected: positive submission priority requires operator privileges\nExiting.\n"
    )
    mine = held(user, "-N", "users")
    for letter, word in (("o", "operator"), ("s", "manager")):
        assert user("qhold", "-h", letter, "users", status=10).out == (
            f'denied: "{USER}" must be {word} to set {word} hold\n'
        )
    root("qhold", "-h", "o", "users")
    assert user("qrls", "-h", "o", "users", status=10).out == (
        f'denied: "{USER}" must be operator to remove operator hold\n'
    )
    # Not by another way either.
    assert user.pool.try_("release", f"{mine}.0").returncode != 0
    assert user.pool.try_("edit", f"{mine}.0", "CellHolds", '"u"').returncode != 0
    assert [state for state, _ in states(root)] == ["hqw", "hqw"]
    operators = root.pool.place.parent / "cell" / "operators"
    before = operators.read_text()
    try:
        operators.write_text(f"{USER}\n")
        root.pool("cell", "apply", str(operators.parent))
        assert user("qrls", "-h", "o", "users").out == f"modified hold of job {mine}\n"
        assert user("qhold", "-h", "s", "users", status=10).out.startswith("denied: ")
        assert user("qdel", str(job)).out == f"{USER} has deleted job {job}\n"
    finally:
        operators.write_text(before)
        root.pool("cell", "apply", str(operators.parent))
    root("qdel", str(mine))
