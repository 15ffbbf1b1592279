"""`qmod` on a real pool, in the words and with the exit statuses of Grid Engine 8.1.9 (transcript 12)."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator, Sequence

import pytest
from tests.cli.gridengine.kit import ME, USER, Desk, node
from tests.cli.gridengine.test_acting import held, states
from tests.cli.gridengine.test_qstat import started
from tests.integration.kit import eventually

from roost.cli.gridengine import qmod
from roost.cli.gridengine.choosing import Named, tasks_named
from roost.cli.pool_connection import Pool
from roost.explain.cell_tasks import Task

WHO = f"{ME}@{socket.gethostname()}"


@pytest.fixture
def instance(desk: Desk) -> Iterator[str]:
    """The queue instance, which is open before and after the test."""
    yield f"all.q@{node(desk.pool)}"
    desk("qmod", "-e", "*", "-us", "*", "-c", "*")


def letters(desk: Desk) -> str:
    """The states of the queue instance."""
    return "".join(desk("qstat", "-f").out.splitlines()[2].split()[5:])


def test_instances_are_disabled_enabled_suspended_and_resumed(desk: Desk, instance: str) -> None:
    already = f'Queue instance "{instance}" is already in the specified state'
    assert desk("qmod", "-d", instance).out == f'{WHO} changed state of "{instance}" (disabled)\n'
    eventually(lambda: letters(desk) == "d", lambda: desk("qstat", "-f").out)
    assert desk("qmod", "-d", "all.q").out == f"{already}: disabled\n"
    assert desk("qmod", "-e", "nosuch.q,all.q@@allhosts", status=1).out == (
        f'invalid queue "nosuch.q"\n{WHO} changed state of "{instance}" (enabled)\n'
    )
    assert desk("qmod", "-sq", "*", "-f").out == f'{WHO} forced state change of "{instance}" (suspended)\n'
    eventually(lambda: letters(desk) == "s", lambda: desk("qstat", "-f").out)
    assert desk("qmod", "-us", instance).out == f'{WHO} changed state of "{instance}" (unsuspended)\n'
    assert desk("qmod", "-c", "*").out == f"{already}: no error\n"


def test_states_given_one_right_after_the_other_all_arrive(desk: Desk, instance: str) -> None:
    for _ in range(20):
        desk("qmod", "-d", instance, "-e", instance)
        desk("qmod", "-sq", instance)
        eventually(lambda: letters(desk) == "s", lambda: desk("qstat", "-f").out, within_s=20)
        desk("qmod", "-us", instance)


def test_an_instance_in_error_takes_jobs_again(desk: Desk, instance: str) -> None:
    queue = desk.pool.place / "cell" / "cqueues" / "all.q"
    text = queue.read_text()
    try:
        queue.write_text(re.sub(r"(?m)^prolog .*", "prolog /bin/false", text))
        desk.pool("cell", "apply", str(queue.parent.parent))
        job = desk.qsub("-o", "/dev/null", "-j", "y", "-b", "y", "true")
        eventually(lambda: letters(desk) == "E", lambda: desk("qstat", "-f").out)
    finally:
        queue.write_text(text)
        desk.pool("cell", "apply", str(queue.parent.parent))
    assert desk("qmod", "-cq", "all.q").out == f'{WHO} changed state of "{instance}" (no error)\n'
    assert (
        desk("qmod", "-cq", "all.q").out == f'Queue instance "{instance}" is already in the specified state: no error\n'
    )
    desk.pool.wait(job)
    assert letters(desk) == ""


def test_jobs_are_suspended_and_go_on(desk: Desk) -> None:
    array = desk.qsub("-N", "arr", "-o", "/dev/null", "-j", "y", "-t", "1-2", "-b", "y", "sleep", "60")
    started(desk, array, 2)
    assert desk("qmod", "-sj", "arr").out == (
        f"{ME} - suspended job-array task {array}.1\n{ME} - suspended job-array task {array}.2\n"
    )
    eventually(lambda: states(desk) == [("s", "1"), ("s", "2")], lambda: str(states(desk)))
    assert desk("qmod", "-s", f"{array}.2").out == f"{ME} - job-array task {array}.2 is already suspended\n"
    assert desk("qmod", "-us", str(array), "-t", "2").out == f"{ME} - unsuspended job-array task {array}.2\n"
    eventually(lambda: ("r", "2") in states(desk), lambda: str(states(desk)))
    assert desk("qmod", "-usj", f"{array}.2").out == f"{ME} - job-array task {array}.2 is already unsuspended\n"
    assert desk("qmod", "-f", "-usj", f"{array}.1").out == f"{WHO} forced unsuspension of job-array task {array}.1\n"


def test_a_command_and_the_queue_suspend_each_for_itself(desk: Desk, instance: str) -> None:
    """As Grid Engine 8.1.9 answers the same commands."""
    job = desk.qsub("-N", "both", "-o", "/dev/null", "-j", "y", "-b", "y", "sleep", "60")
    started(desk, job)

    def become(letters: str, *words: str, out: str) -> None:
        assert desk("qmod", *words).out == f"{out}\n"
        eventually(lambda: states(desk) == [(letters, "")], lambda: f"{letters}: {states(desk)}")
        element = f"<state>{letters}</state>"
        assert element in desk("qstat", "-xml").out and f" {letters} " in desk("qhost", "-j").out

    suspended = f'{WHO} changed state of "{instance}" (suspended)'
    resumed = f'{WHO} changed state of "{instance}" (unsuspended)'
    become("S", "-sq", instance, out=suspended)
    become("S", "-usj", str(job), out=f"{ME} - job {job} is already unsuspended")
    become("Ss", "-sj", str(job), out=f"{ME} - suspended job {job}")
    become("Ss", "-sj", str(job), out=f"{ME} - job {job} is already suspended")
    assert desk("qstat", "-s", "r").out == "" and "Ss" in desk("qstat", "-s", "s").out
    become("s", "-usq", instance, out=resumed)
    become("Ss", "-sq", instance, out=suspended)
    become("S", "-usj", str(job), out=f"{ME} - unsuspended job {job}")
    become("r", "-usq", instance, out=resumed)
    assert "both" in desk("qstat", "-s", "r").out and desk("qstat", "-s", "s").out == ""


def test_jobs_that_wait_are_neither_suspended_nor_rescheduled(desk: Desk) -> None:
    job, array = held(desk, "-N", "w"), held(desk, "-N", "ar", "-t", "1-3")
    for option in ("-sj", "-usj", "-rj", "-cj"):
        assert desk("qmod", option, "w", "ar").out == (
            f"Modify operation can not be applied on job-array task {job}.1 in pending/hold state\n"
            f"Modify operation can not be applied on job {array} in pending/hold state\n"
        )


def test_a_job_is_rescheduled_unless_it_must_not_run_again(desk: Desk) -> None:
    quiet = ("-o", "/dev/null", "-j", "y")
    again = desk.qsub("-N", "again", *quiet, "-r", "y", "-b", "y", "sleep", "60")
    once = desk.qsub("-N", "once", *quiet, "-r", "n", "-b", "y", "sleep", "60")
    started(desk, again), started(desk, once)
    host = node(desk.pool)
    assert desk("qmod", "-rj", "once", "again").out == (
        f"The job {once} is not restartable\nPushed rescheduling of job {again} on host {host}\n"
    )
    eventually(lambda: sorted(states(desk)) == [("Rr", ""), ("r", "")], lambda: str(states(desk)))
    assert sorted(desk("qmod", "-rq", "all.q").out.splitlines()) == [
        f"Pushed rescheduling of job {again} on host {host}",
        f"The job {once} is not restartable",
    ]
    eventually(lambda: sorted(states(desk)) == [("Rr", ""), ("r", "")], lambda: str(states(desk)))
    assert desk("qmod", "-f", "-rj", "once").out == f"Forced rescheduling of job {once} on host {host}\n"
    eventually(lambda: sorted(states(desk)) == [("Rr", ""), ("Rr", "")], lambda: str(states(desk)))


def test_rerun_of_the_queue_counts_for_jobs_that_do_not_say(desk: Desk) -> None:
    job = desk.qsub("-N", "plain", "-o", "/dev/null", "-j", "y", "-b", "y", "sleep", "60")
    started(desk, job)
    words = f"The job {job} is running in queue none where jobs are not rerunable.\n"
    assert desk("qmod", "-rj", "plain").out == words
    desk("qconf", "-rattr", "queue", "rerun", "TRUE", "all.q")
    # What it was started with counts.
    assert desk("qmod", "-rj", "plain").out == words
    second = desk.qsub("-N", "second", "-o", "/dev/null", "-j", "y", "-b", "y", "sleep", "60")
    started(desk, second)
    assert desk("qmod", "-rj", "second").out.startswith(f"Pushed rescheduling of job {second} on host ")
    desk("qconf", "-rattr", "queue", "rerun", "FALSE", "all.q")


def test_a_job_in_error_is_cleared(desk: Desk) -> None:
    bad = desk.qsub("-N", "bado", "-o", "/nosuch/dir/x", "-b", "y", "true")
    eventually(lambda: states(desk) == [("Eqw", "")], lambda: str(states(desk)))
    # Grid Engine 8.1.9 ends with 1 here as well.
    assert desk("qmod", "-cj", "bado", status=1).out == f"{WHO} cleared error state of job {bad}\n"
    eventually(lambda: states(desk) == [("Eqw", "")], lambda: str(states(desk)))
    desk("qhold", str(bad))
    assert states(desk) == [("Ehqw", "")]
    # The hold stays, and then the job is as any that has run.
    assert desk("qmod", "-c", str(bad), status=1).out == f"{WHO} cleared error state of job {bad}\n"
    assert states(desk) == [("hqw", "")]
    assert desk("qmod", "-cj", str(bad), status=1).out == f"Job {bad} is not in error state\n"
    desk("qrls", str(bad))
    eventually(lambda: states(desk) == [("Eqw", "")], lambda: str(states(desk)))
    run = desk.qsub("-o", "/dev/null", "-j", "y", "-b", "y", "sleep", "60")
    started(desk, run)
    assert desk("qmod", "-cj", str(run), status=1).out == f"Job {run} is not in error state\n"


@pytest.mark.parametrize(
    ("arguments", "out", "err"),
    [
        (("-d",), "", "-d option must have argument\n"),
        (("-sj", "nosuch"), 'invalid queue or job "nosuch"\n', ""),
        (("-rj", "99999"), 'invalid queue or job "99999"\n', ""),
        (("-s", "nosuch"), 'invalid queue or job "nosuch"\n', ""),
        (("-c", "99999"), 'invalid queue "99999"\n', ""),
        (("-rq", "nosuch"), 'invalid queue "nosuch"\n', ""),
        (("-usj", "arr,run"), 'invalid queue or job "arr,run"\n', ""),
        (("-s", "1001,1002"), "", 'ERROR! "1001,1002" is an invalid job-task identifier\n'),
    ],
)
def test_what_does_not_exist_is_told_in_grid_engines_words(
    desk: Desk, arguments: tuple[str, ...], out: str, err: str
) -> None:
    done = desk("qmod", *arguments, status=1)
    assert (done.out, done.err) == (out, err)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "ERROR! no option argument\n"),
        (("-bogus",), 'invalid option argument "-bogus"\n'),
        (("all.q",), 'invalid option argument "all.q"\n'),
    ],
)
def test_wrong_options_end_with_the_usage(desk: Desk, arguments: tuple[str, ...], words: str) -> None:
    done = desk("qmod", *arguments, status=1)
    assert done.out == "" and done.err.startswith("SGE 8.1.9\nusage: qmod [options]\n") and done.err.endswith(words)


def test_a_job_that_was_suspended_since_it_was_looked_at_is_said_to_be(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = desk.qsub("-N", "late", "-o", "/dev/null", "-j", "y", "-b", "y", "sleep", "60")
    started(desk, job)
    looks: list[list[list[Task]]] = []

    def look(pool: Pool, wanted: Sequence[Named]) -> list[list[Task]]:
        """The second command looked before the job was suspended."""
        looks.append(tasks_named(pool, wanted))
        return looks[0] if len(looks) == 2 else looks[-1]

    monkeypatch.setattr(qmod, "tasks_named", look)
    assert desk("qmod", "-sj", str(job)).out == f"{ME} - suspended job {job}\n"
    eventually(lambda: states(desk)[0][0] == "s", lambda: desk("qstat").out)
    assert desk("qmod", "-sj", str(job)).out == f"{ME} - job {job} is already suspended\n"
    assert len(looks) == 3
    desk("qdel", str(job))


def test_only_operators_and_owners_change_states(desks: tuple[Desk, Desk]) -> None:
    root, user = desks
    instance = f"all.q@{node(root.pool)}"
    denied = f'{USER} - you have no permission to modify queue "{instance}"\n'
    for option in ("-d", "-e", "-s", "-us", "-cq"):
        assert user("qmod", option, "all.q", status=1).out == denied
    job = root.qsub("-N", "roots", "-o", "/dev/null", "-j", "y", "-b", "y", "sleep", "60")
    started(root, job)
    for option in ("-sj", "-rj"):
        assert user("qmod", option, "roots", status=1).out == (
            f'{USER} - you have no permission to modify job "{job}"\n'
        )
    # Whatever state it is in.
    assert user("qmod", "-usj", "roots", status=1).out == f'{USER} - you have no permission to modify job "{job}"\n'
    root("qmod", "-sj", "roots")
    eventually(lambda: "already" in root("qmod", "-sj", "roots").out, "it is suspended")
    assert user("qmod", "-sj", "roots", status=1).out == f'{USER} - you have no permission to modify job "{job}"\n'
    root("qmod", "-usj", "roots")
    assert user("qmod", "-rq", "all.q", status=1).out == (
        f'{USER} - you have no permission to reschedule jobs of queue instance "{instance}"\n'
    )
    queue = root.pool.place.parent / "cell" / "cqueues" / "all.q"
    text = queue.read_text()
    try:
        queue.write_text(re.sub(r"(?m)^owner_list .*", f"owner_list {USER}", text))
        root.pool("cell", "apply", str(queue.parent.parent))
        assert "already in the specified state: no error" in user("qmod", "-cq", "all.q").out
        assert user("qmod", "-d", "all.q").out.endswith(f' changed state of "{instance}" (disabled)\n')
        assert user("qmod", "-e", "all.q").out.endswith(f' changed state of "{instance}" (enabled)\n')
        assert user("qmod", "-sj", "roots", status=1).out.startswith(f"{USER} - you have no permission")
    finally:
        queue.write_text(text)
        root.pool("cell", "apply", str(queue.parent.parent))
        root("qdel", str(job))
