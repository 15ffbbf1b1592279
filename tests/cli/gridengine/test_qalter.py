"""`qalter` on a real pool, in the words, on the streams and with the exit statuses of Grid Engine 8.1.9."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cli.gridengine.kit import ME, USER, Desk
from tests.integration.kit import eventually

from roost.runtime.identity import host_name


def held(desk: Desk, *arguments: str) -> int:
    return desk.qsub("-h", *arguments, "-b", "y", "sleep", "60")


def ad(desk: Desk, job: str) -> dict[str, Any]:
    return desk.pool.job(job)


def test_everything_that_is_changed_is_told_in_order_and_acts(desk: Desk) -> None:
    job = held(desk, "-N", "aa")
    done = desk(
        "qalter", "-A", "x", "-a", "203001010000", "-cwd", "-e", "/tmp/e", "-j", "n", "-l", "h_rt=5", "-M", "m@x", "-m",
        "n", "-N", "nn", "-o", "/tmp/o", "-p", "-3", "-q", "all.q", "-r", "n", "-S", "/bin/sh", "-soft", "-l",
        "arch=y", "-q", "all.q", "-v", "X=1", str(job),
    )  # fmt: skip
    what = (
        "start time", "account", "working directory", "stderr path list", "output merge behaviour",
        "hard resource list", "soft resource list", "mail options", "mail list", "job name", "stdout path list",
        "hard queue list", "soft queue list", "restart behaviour", "shell list", "environment",
    )  # fmt: skip
    assert done.out == f"{ME}@{host_name()} sets scheduling priority of job {job} to -3\n" + "".join(
        f"modified {each} of job {job}\n" for each in what
    )
    found = ad(desk, f"{job}.0")
    assert {name: found[name] for name in ("CellJobName", "CellAccount", "CellResources", "CellQueues", "JobPrio")} == {
        "CellJobName": "nn", "CellAccount": "x", "CellResources": "h_rt=5", "CellQueues": "all.q", "JobPrio": -3,
    }  # fmt: skip
    assert (found["Out"], found["Err"], found["Iwd"]) == ("/tmp/o", "/tmp/e", str(desk.pool.work))
    assert "X=1" in found["Environment"] and found["CellRerun"] == "n"
    detail = desk("qstat", "-j", "nn").out
    assert "hard resource_list:         h_rt=5" in detail and "soft resource_list:         arch=y" in detail


def test_a_job_runs_as_it_was_altered(desk: Desk) -> None:
    job = desk.qsub("-h", "-N", "first", "-cwd", text="#!/bin/sh\necho $JOB_NAME $WORD\n")
    assert desk("qalter", "-N", "second", "-j", "y", "-v", "WORD=hello", "-h", "U", str(job)).out == (
        f"modified output merge behaviour of job {job}\nmodified job name of job {job}\n"
        f"modified environment of job {job}\nmodified hold of job {job}\n"
    )
    output = desk.pool.work / f"second.o{job}"
    eventually(
        lambda: output.exists() and output.read_text() == "second hello\n", lambda: desk("qstat", "-j", str(job)).out
    )


def test_files_of_the_tasks_of_an_array_follow_its_name(desk: Desk) -> None:
    job = held(desk, "-N", "ar", "-t", "2-6:2")
    assert desk("qalter", "-N", "br", "ar").out == f"modified job name of job {job}\n"
    assert [ad(desk, f"{job}.{proc}")["Out"].rpartition("/")[2] for proc in range(3)] == [
        f"br.o{job}.{task}" for task in (2, 4, 6)
    ]
    assert desk("qalter", "-o", "/dev/null", "-l", "h_rt=7", "br").out == (
        f"modified hard resource list of job {job}\nmodified stdout path list of job {job}\n"
    )
    assert {ad(desk, f"{job}.{proc}")["Out"] for proc in range(3)} == {"/dev/null"}


def test_holds_are_told_where_they_change(desk: Desk) -> None:
    job = held(desk, "-N", "h", "-t", "1-4")
    assert desk("qalter", "-h", "u", str(job)).out == ""
    assert desk("qalter", "-h", "U", f"{job}.2").out == f"modified hold of job-array task {job}.2\n"
    assert desk("qalter", "-h", "U", str(job), "-t", "3-4").out == (
        f"modified hold of job-array task {job}.3\nmodified hold of job-array task {job}.4\n"
    )
    assert "Unknown hold list" in desk("qalter", "-h", "x", str(job), status=7).err


def test_what_cannot_be_done_is_refused(desk: Desk) -> None:
    job = held(desk, "-N", "aa")
    for options, status, out, err in (
        ("-N 1cc JOB", 1, 'denied: "1cc" is not a valid object name (cannot start with a digit)\n', ""),
        ("-A a:b JOB", 1, "Colon (':') not allowed in objectname\n", ""),
        ("-l nosuch=1 JOB", 1, 'unknown resource "nosuch"\n', ""),
        ("-q nosuch.q JOB", 1, 'Job was rejected because job requests unknown queue "nosuch.q"\n', ""),
        ("-P nosuch JOB", 1, 'job rejected: the requested project "nosuch" does not exist\n', ""),
        ("-pe nosuch 2 JOB", 1, 'denied: parallel environment "nosuch" does not exist\n', ""),
        ("-p xx JOB", 7, "", 'qalter: invalid priority "xx".  Must be an integer from -1023 to 1024\n'),
        ("-r x JOB", 7, "", 'qalter: invalid option argument "-r x"\n'),
        ("-b y JOB", 2, "", 'qalter: invalid option argument "-b"\n'),
        ("-p", 2, "", "qalter: -p option must have argument\n"),
        ("-N nn JOB.1", 4, "", "denied: the selected option works only on jobs and not on tasks\n"),
        ("-N nn nosuch", 1, 'denied: job "nosuch" does not exist\n', ""),
        ("-N nn 99999", 1, 'denied: job "99999" does not exist\n', ""),
        ("-u nobody -N xx", 1, "The job * of user(s) nobody does not exist\n", ""),
        ("-terse JOB", 5, "", "Unknown option -terse\n"),
    ):
        done = desk("qalter", *options.replace("JOB", str(job)).split(), status=status)
        assert (done.out, done.err.startswith(err)) == (out, True), (options, done)
        assert bool(done.err) == bool(err), (options, done)
    assert "ERROR! no option argument" in desk("qalter", status=1).err
    assert ad(desk, f"{job}.0")["CellJobName"] == "aa"


def test_only_the_owner_alters_a_job_and_only_operators_raise_its_priority(desks: tuple[Desk, Desk]) -> None:
    root, user = desks
    job = root.qsub("-h", "-N", "mine", "-b", "y", "sleep", "60")
    denied = f'denied: "{USER}" must be at least owner of job {job} to change job attributes\n'
    assert user("qalter", "-p", "-5", str(job), status=1).out == denied
    assert user("qalter", "-h", "u", str(job), status=1).out == denied
    own = user.qsub("-h", "-N", "own", "-b", "y", "sleep", "60")
    assert "to -5\n" in user("qalter", "-p", "-5", str(own)).out
    words = f'denied: "{USER}" must be operator to increase job priority\n'
    for priority in ("-4", "3"):
        assert user("qalter", "-p", priority, str(own), status=1).out == words
    assert "to 3\n" in root("qalter", "-p", "3", str(own)).out
    for desk, number in ((root, job), (user, own)):
        desk("qdel", str(number))


@pytest.mark.parametrize("option", ["-now", "-sync"])
def test_options_of_submissions_come_too_late(desk: Desk, option: str) -> None:
    assert desk("qalter", option, "y", "1", status=5).err.startswith(f"Unknown option {option}")
