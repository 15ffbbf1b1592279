"""`qresub` on a real pool, in the words and with the exit statuses of Grid Engine 8.1.9."""

from __future__ import annotations

from tests.cli.gridengine.kit import ME, USER, Desk
from tests.integration.kit import eventually

from roost.runtime.identity import host_name


def test_a_copy_runs_as_the_job_would(desk: Desk) -> None:
    script = "#!/bin/sh\necho $JOB_NAME $1 $WORD > $JOB_ID.$SGE_TASK_ID\n"
    job = desk.qsub("-h", "-N", "aa", "-cwd", "-v", "WORD=hello", "-l", "h_rt=100", "-p", "-3", "-", "arg", text=script)
    assert desk("qresub", str(job)).out == f'Your job {job + 1} ("aa") has been submitted\n'
    done = desk.pool.work / f"{job + 1}.undefined"
    eventually(lambda: done.exists() and done.read_text() == "aa arg hello\n", "the copy has run")
    eventually(lambda: (desk.pool.work / f"aa.o{job + 1}").exists(), "its file has its own number")
    found = desk("qacct", "-j", str(job + 1)).out
    assert "-l h_rt=100" in found
    assert f"{job} " in desk("qstat").out


def test_arrays_are_copied_with_their_tasks_and_holds_are_not(desk: Desk) -> None:
    array = desk.qsub("-h", "-N", "bb", "-t", "2-6:2", "-o", "/dev/null", "-j", "y", "-b", "y", "sleep", "60")
    copies = desk("qresub", "-h", "u", f"{array},{array}").out
    assert copies == "".join(
        f'modified hold of job {array}\nYour job-array {number}.2-6:2 ("bb") has been submitted\n'
        for number in (array + 1, array + 2)
    )
    assert desk("qstat").out.count(" hqw ") == 3
    assert desk("qresub", str(array)).out == f'Your job-array {array + 3}.2-6:2 ("bb") has been submitted\n'
    eventually(lambda: desk("qstat", "-s", "r").out.count(f" {array + 3} ") > 0, "the copy runs")


def test_what_cannot_be_copied_is_refused(desk: Desk) -> None:
    job = desk.qsub("-h", "-N", "cc", "-b", "y", "sleep", "60")
    for options, status, out, err in (
        ("99999", 4, 'job "99999" does not exist\n', ""),
        ("JOB 99999", 4, 'job "99999" does not exist\n', ""),
        ("cc", 4, 'job "0" does not exist\n', ""),
        ("JOB.1", 4, "", "denied: the selected option works only on jobs and not on tasks\n"),
        ("-h x JOB", 7, "", 'qalter: Unknown hold list "x" specified to -h option\n'),
        ("-p 1 JOB", 5, "", "Unknown option -p\n"),
        ("-h", 2, "", "qalter: -h option must have argument\n"),
    ):
        done = desk("qresub", *options.replace("JOB", str(job)).split(), status=status)
        assert (done.out, done.err.startswith(err), bool(done.err)) == (out, True, bool(err)), (options, done)
    assert "ERROR! no option argument" in desk("qresub", status=1).err
    assert desk("qstat").out.count(" cc ") == 1


def test_copies_have_the_holds_that_operators_and_managers_give_them(desks: tuple[Desk, Desk]) -> None:
    root, user = desks
    job = root.qsub("-h", "-N", "own", "-b", "y", "sleep", "60")
    assert root("qresub", "-h", "os", str(job)).out.startswith(f"modified hold of job {job}\nYour job ")
    copy = max(int(line.split()[0]) for line in root("qstat").out.splitlines()[2:])
    assert root.pool.job(f"{copy}.0")["CellHolds"] == "os"
    theirs = user.qsub("-h", "-N", "their", "-b", "y", "sleep", "60")
    denied = f'denied: "{USER}" must be manager to set manager hold\n'
    assert user("qresub", "-h", "us", str(theirs), status=10).out == denied
    assert user("qstat", "-u", "*").out.count(" their ") == 1
    root("qdel", "own"), user("qdel", "their")


def test_jobs_of_others_are_not_copied(desks: tuple[Desk, Desk]) -> None:
    root, user = desks
    job = root.qsub("-h", "-N", "mine", "-b", "y", "sleep", "60")
    words = f"job rejected: {USER}@{host_name()} is not allowed to resubmit jobs of user {ME}\n"
    assert user("qresub", str(job), status=4).out == words
    root("qdel", str(job))
