"""What orders jobs and keeps room for them: deadlines, shares, override tickets and reservations on a real pool."""

from __future__ import annotations

import re
import time

from tests.cli.gridengine.kit import ME, USER, Desk, node
from tests.integration.kit import eventually

from roost.runtime.identity import host_name


def held(desk: Desk, *arguments: str) -> int:
    return desk.qsub("-h", *arguments, "-b", "y", "true")


#: The figures of a line, from the third word on.
FIGURES = {"-urg": ("nurg", "urg", "rrcontr", "wtcontr", "dlcontr"), "-pri": ("nurg", "npprior", "ntckts")}


def figure(desk: Desk, option: str, job: int, name: str) -> str:
    """The figure of a job under a title of `qstat`."""
    lines = (line.split() for line in desk("qstat", option, "-u", "*").out.splitlines()[2:])
    return next(line[2 + FIGURES[option].index(name)] for line in lines if line[0] == str(job))


def test_deadlines_are_for_users_of_a_list_and_raise_the_urgency(desk: Desk) -> None:
    words = f'job rejected: the user "{ME}" is not a deadline initiation user\n'
    assert (
        desk("qsub", "-dl", "203001010000", "-b", "y", "true", status=1).err == f"Unable to run job: {words}Exiting.\n"
    )
    plain = held(desk)
    assert desk("qalter", "-dl", "203001010000", str(plain), status=1).out == words
    assert desk("qalter", "-dl", "x", str(plain), status=7).err.endswith('"x" specified to -dl option\n')
    desk("qconf", "-au", ME, "deadlineusers")
    try:
        desk("qmod", "-d", "all.q")
        soon = time.strftime("%Y%m%d%H%M.%S", time.localtime(time.time() + 3600))
        due = desk.qsub("-dl", soon, "-N", "due", "-b", "y", "true")
        late = desk.qsub("-N", "late", "-b", "y", "true")
        shown = time.strftime("%m/%d/%Y %H:%M:%S", time.strptime(soon, "%Y%m%d%H%M.%S"))
        eventually(lambda: float(figure(desk, "-urg", due, "dlcontr")) > 900, lambda: desk("qstat", "-urg").out)
        line = next(line for line in desk("qstat", "-urg").out.splitlines() if line.split()[0] == str(due))
        assert shown in line
        eventually(
            lambda: [figure(desk, "-urg", job, "nurg") for job in (due, late)] == ["1.00000", "0.00000"],
            lambda: desk("qstat", "-urg").out,
        )
        detail = desk("qstat", "-j", str(due)).out
        assert (
            f"deadline:                   {time.ctime(time.mktime(time.strptime(shown, '%m/%d/%Y %H:%M:%S')))}"
            in detail
        )
        assert desk("qalter", "-dl", "202901010000.30", str(late)).out == f"modified deadline time of job {late}\n"
        assert "deadline:                   Mon Jan  1 00:00:30 2029\n" in desk("qstat", "-j", str(late)).out
    finally:
        desk("qmod", "-e", "all.q")
        desk("qconf", "-du", ME, "deadlineusers")


def test_shares_and_override_tickets_of_jobs(desk: Desk) -> None:
    desk("qmod", "-d", "all.q")
    try:
        job, other = (desk.qsub("-js", share, "-N", f"js{share}", "-b", "y", "true") for share in ("5", "0"))
        assert "jobshare:                   5\n" in desk("qstat", "-j", str(job)).out
        who = f"{ME}@{host_name()}"
        assert desk("qalter", "-js", "9", str(job)).out == f"{who} sets job share of job {job} to 9\n"
        assert desk("qalter", "-ot", "7", str(job)).out == f"{who} sets override tickets of job {job} to 7\n"
        detail = desk("qstat", "-j", str(job)).out
        assert "jobshare:                   9\n" in detail and "oticket:                    7\n" in detail
        eventually(lambda: figure(desk, "-pri", job, "ntckts") == "1.00000", lambda: desk("qstat", "-pri").out)
        assert figure(desk, "-pri", other, "ntckts") == "0.00000"
        for option, words in (("-js", "jobshare"), ("-ot", "override tickets")):
            for value in ("x", "-7"):
                assert desk("qalter", option, value, str(job), status=2).err == (
                    f"qalter: invalid {words}, must be an unsigned integer\n"
                )
    finally:
        desk("qmod", "-e", "all.q")


def test_only_operators_give_override_tickets_and_they_may_to_anyone(desks: tuple[Desk, Desk]) -> None:
    root, user = desks
    job = held(user)
    assert user("qalter", "-ot", "7", str(job), status=1).out == (
        f'denied: "{USER}" must be operator to change amount of override tickets\n'
    )
    assert user("qalter", "-js", "7", str(job)).out.endswith(f"sets job share of job {job} to 7\n")
    assert root("qalter", "-ot", "7", str(job)).out.endswith(f"sets override tickets of job {job} to 7\n")
    # Tickets that a description or `roost edit` gives are no way around that.
    assert user.pool.try_("edit", str(job), "--set", "CellOverrideTickets=99").returncode != 0
    done = user.pool.try_("submit", text="executable = /bin/true\n+CellOverrideTickets = 5\nqueue\n")
    assert done.returncode != 0 and "must be operator" in done.stderr
    user("qdel", str(job))


def test_a_parallel_job_with_a_reservation_is_not_starved_by_small_ones(desk: Desk) -> None:
    """Three slots; one runs for a while, and small jobs keep coming that would run longer than until that ends."""
    stop, log = desk.pool.work / "stop-first", desk.pool.work / "log-of-sizes"
    before = desk("qconf", "-ssconf").out
    changed = re.sub(r"(max_reservation +)\d+", r"\g<1>5", before)
    changed = re.sub(r"(default_duration +)\S+", r"\g<1>0:10:0", changed)
    conf = desk.script("sched")
    conf.write_text(changed)
    desk("qconf", "-Msconf", str(conf))
    try:
        wait = f"while [ ! -e {stop} ]; do sleep 0.05; done\n"
        first = desk.qsub("-N", "first", "-l", "h_rt=40", text=wait)
        eventually(lambda: " r " in desk("qstat").out, lambda: desk("qstat").out)
        big = desk.qsub(
            "-N", "big", "-R", "y", "-p", "0", "-l", "h_rt=30", "-pe", "make", "3", text=f"echo big >> {log}\n"
        )
        assert "reserve:                    y\n" in desk("qstat", "-j", str(big)).out
        eventually(lambda: "reservation begins at" in desk("qstat", "-j", str(big)).out, lambda: desk("qstat").out)
        detail = desk("qstat", "-j", str(big)).out
        assert re.search(
            rf"reservation begins at \d\d/\d\d/\d{{4}} \d\d:\d\d:\d\d on all.q@{node(desk.pool)}=3\n", detail
        )
        assert "reservation begins at" in desk.pool.try_("explain", "job", str(big)).stdout
        longs = [desk.qsub("-N", "long", "-l", "h_rt=300", text=f"echo long >> {log}\n") for _ in range(3)]
        fits = desk.qsub("-N", "fits", "-l", "h_rt=5", text=f"echo fits >> {log}\n")
        eventually(lambda: log.exists() and "fits" in log.read_text(), lambda: desk("qstat").out)
        words = desk("qstat", "-j", str(longs[0])).out
        assert "due to a reservation" in words and log.read_text() == "fits\n"
        stop.touch()
        eventually(lambda: log.read_text().count("long") == 3, lambda: desk("qstat").out)
        assert log.read_text().split() == ["fits", "big", "long", "long", "long"]
        assert first < big < fits
    finally:
        stop.touch()
        conf.write_text(before)
        desk("qconf", "-Msconf", str(conf))


def test_qalter_verifies_a_job_as_it_would_be(desk: Desk) -> None:
    beyond = "verification: job is already running or is held\n"
    assert desk("qalter", "-w", "v", str(held(desk))).out == beyond
    job = desk.qsub("-a", "203012312359", "-b", "y", "true")
    found = "verification: found suitable queue(s)\n"
    assert desk("qalter", "-w", "v", str(job)).out == desk("qalter", "-w", "p", str(job)).out == found
    done = desk("qalter", "-w", "e", "-l", "arch=foo", str(job), status=1)
    assert done.out == "error: no suitable queues\n"
    assert "CellResources" not in desk.pool.job(f"{job}.0")
    assert desk("qalter", "-w", "x", str(job), status=7).err == 'qalter: invalid option argument "-w x"\n'
    lines = desk("qalter", "-w", "v", "-l", "arch=foo", str(job), status=1).out.splitlines()
    assert lines[-1] == "verification: no suitable queues" and lines[0].startswith(f"Job {job} ")
    told = desk("qalter", "-w", "e", "-l", "h_rt=3", str(job)).out
    assert told == f"modified hard resource list of job {job}\n"
    assert desk.pool.job(f"{job}.0")["CellResources"] == "h_rt=3"
