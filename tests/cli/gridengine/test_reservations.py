"""Advance reservations on a real pool: `qrsub`, `qrstat`, `qrdel` and `qsub -ar`, as Grid Engine 8.1.9 answered."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from tests.cli.gridengine.kit import ME, USER, Desk, node
from tests.integration.kit import eventually

HEAD = (
    "ar-id   name       owner        state start at             end at               duration\n"
    "------------------------------------------------------------------------------------------\n"
)


@pytest.fixture(autouse=True)
def none_left(desk: Desk) -> Iterator[None]:
    yield
    desk.pool.try_("rm", "--all")
    if desk("qrstat", "-u", "*").out:
        desk("qrdel", "-f", "-u", "*")


def reserve(desk: Desk, *arguments: str) -> int:
    out = desk("qrsub", *arguments).out
    found = re.fullmatch(r"Your advance reservation (\d+) has been granted\n", out)
    assert found, out
    return int(found[1])


def later(seconds: float) -> str:
    return time.strftime("%Y%m%d%H%M.%S", time.localtime(time.time() + seconds))


def state(desk: Desk, number: int) -> str:
    """The letter of a reservation; "" if there is none of that number."""
    lines = (line.split() for line in desk("qrstat", "-u", "*").out.splitlines()[2:])
    return next((line[-6] for line in lines if line[0] == str(number)), "")


def jobs(desk: Desk) -> dict[str, str]:
    """Name to state."""
    return {line.split()[2]: line.split()[4] for line in desk("qstat").out.splitlines()[2:]}


def test_a_reservation_is_listed_and_told_in_detail(desk: Desk) -> None:
    number = reserve(
        desk,
        "-d",
        "0:1:0",
        "-pe",
        "make",
        "2",
        "-N",
        "myar",
        "-l",
        "h_rt=30",
        "-A",
        "acct",
        "-M",
        "bob,a@b",
        "-he",
        "yes",
    )
    listed = desk("qrstat").out
    times = r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d"
    assert listed.startswith(HEAD)
    assert re.fullmatch(rf" *{number} myar       {ME:<12} r     {times}  {times}  00:01:00\n", listed[len(HEAD) :])
    detail = re.sub(times, "TIME", desk("qrstat", "-ar", str(number)).out)
    instance = f"all.q@{node(desk.pool)}"
    assert detail.splitlines()[1:] == [
        f"id                             {number}",
        "name                           myar",
        f"owner                          {ME}",
        "state                          r",
        "start_time                     TIME",
        "end_time                       TIME",
        "duration                       00:01:00",
        "submission_time                TIME",
        *[line for line in detail.splitlines() if line.startswith("group  ")],
        "account                        acct",
        "error_handling                 true",
        "resource_list                  h_rt=30",
        f"granted_slots_list             {instance}=2",
        "granted_parallel_environment   make slots 2",
        "mail_list                      bob@NONE,a@b",
    ]
    found = desk("qrstat", "-ar", str(number), "-xml").out
    assert f'<granted_slots  queue_instance="{instance}" slots="2"/>' in found
    assert '<resource name="h_rt" type="30"/>' in found and '<mail  user="a" host="b"/>' in found
    assert f"{instance:<30} BIP   2/0/3 " in desk("qstat", "-f").out
    assert desk("qstat", "-g", "c").out.splitlines()[-1].split()[2:5] == ["0", "2", "3"]
    assert "<slots_resv>2</slots_resv>" in desk("qstat", "-f", "-xml").out
    assert desk("qrstat", "-ar", "99", status=1).out == "Following advance reservations do not exist:\n99\n"
    assert "<ar_unknown>\n      <id>99</id>" in desk("qrstat", "-ar", "99", "-xml", status=1).out


def test_its_jobs_get_what_is_reserved_and_others_the_rest(desk: Desk) -> None:
    stop = desk.pool.work / "stop-reserved"
    wait = f"while [ ! -e {stop} ]; do sleep 0.05; done\n"
    number = reserve(desk, "-d", "600", "-pe", "make", "2", "-N", "big")
    quiet = ("-j", "y", "-o", "/dev/null")
    for name in ("out1", "out2"):
        desk.qsub("-N", name, *quiet, text=wait)
    for name in ("in1", "in2", "in3"):
        desk.qsub("-N", name, "-ar", str(number), *quiet, text=wait)
    eventually(lambda: sorted(jobs(desk).values()) == ["qw", "qw", "r", "r", "r"], lambda: desk("qstat").out)
    assert {name: letters for name, letters in jobs(desk).items() if letters == "qw"}.keys() == {"out2", "in3"}
    assert f"ar_id:                      {number}\n" in desk("qstat", "-j", "in1").out
    assert " 2/3/3 " in desk("qstat", "-f").out
    # The next job of the reservation starts where one of it has ended, not where another has.
    desk("qdel", "in1")
    eventually(lambda: jobs(desk).get("in3") == "r", lambda: desk("qstat", "-j", "in3").out)
    assert jobs(desk)["out2"] == "qw"
    assert desk("qrdel", str(number)).out == f"{ME} has registered the advance_reservation {number} for deletion\n"
    eventually(lambda: jobs(desk).keys() == {"out1", "out2"} and not state(desk, number), lambda: desk("qstat").out)
    eventually(lambda: jobs(desk)["out2"] == "r", lambda: desk("qstat", "-j", "out2").out)
    stop.touch()


def test_a_reservation_ends_with_its_jobs_and_all_of_it_is_on_record(desk: Desk) -> None:
    number = reserve(desk, "-d", "6", "-N", "short")
    job = desk.qsub("-N", "long", "-ar", str(number), "-j", "y", "-o", "/dev/null", text="sleep 600\n")
    eventually(lambda: jobs(desk).get("long") == "r", lambda: desk("qstat", "-j", "long").out)
    eventually(lambda: not state(desk, number) and not jobs(desk), lambda: desk("qrstat").out)
    line = eventually(lambda: desk("qacct", "-j", str(job)).out)
    assert desk("qacct", "-ar", str(number)).out.splitlines()[-1].split()[0] == str(number)
    assert desk("qacct", "-ar", "99").out.count("\n") <= 3
    assert f"arid         {number}" in line and f"-ar {number}" in line
    words = (f"advance reservation {number} granted", f"advance reservation {number} has ended")
    eventually(lambda: all(each in desk.pool("audit", "--json") for each in words), "the audit trail")


def test_a_reservation_begins_at_its_time_and_nothing_starts_that_would_run_into_it(desk: Desk) -> None:
    number = reserve(desk, "-a", later(8), "-d", "60", "-pe", "make", "3", "-N", "future")
    assert state(desk, number) == "w"
    quiet = ("-j", "y", "-o", "/dev/null")
    desk.qsub("-N", "inf", *quiet, text="true\n")
    desk.qsub("-N", "infar", "-ar", str(number), *quiet, text="sleep 600\n")
    eventually(lambda: "due to a reservation" in desk("qstat", "-j", "inf").out, lambda: desk("qstat", "-j", "inf").out)
    assert "execution time not reached" in desk("qstat", "-j", "infar").out
    eventually(lambda: jobs(desk).get("infar") == "r", lambda: desk("qstat", "-j", "infar").out)
    assert state(desk, number) == "r" and jobs(desk)["inf"] == "qw"
    desk("qrdel", "-f", str(number))
    eventually(lambda: not jobs(desk), lambda: desk("qstat").out)


def test_a_queue_in_trouble_makes_an_error_of_it(desk: Desk) -> None:
    soft, hard = reserve(desk, "-d", "60"), reserve(desk, "-d", "60", "-he", "y")
    future = reserve(desk, "-a", "203001010000", "-d", "60")
    message = f"reserved queue all.q@{node(desk.pool)} is disabled"
    desk("qmod", "-d", "all.q")
    try:
        eventually(lambda: state(desk, soft) == "E", lambda: desk("qrstat").out)
        assert (state(desk, hard), state(desk, future)) == ("E", "W")
        assert f"message                        {message}\n" in desk("qrstat", "-ar", str(soft)).out
        assert desk("qrstat", "-explain").out.count(f"       {message}\n") == 3
    finally:
        desk("qmod", "-e", "all.q")
    eventually(lambda: state(desk, soft) == "r", lambda: desk("qrstat").out)


def test_reservations_and_what_they_wait_for_survive_kills(desk: Desk) -> None:
    number = reserve(desk, "-d", "600", "-pe", "make", "2", "-N", "kept")
    desk.qsub("-N", "in1", "-ar", str(number), "-j", "y", "-o", "/dev/null", text="sleep 600\n")
    eventually(lambda: jobs(desk).get("in1") == "r", lambda: desk("qstat").out)
    for role in ("schedd", "central"):
        desk.pool.kill(role)
        eventually(lambda: " 2/1/3 " in desk.pool.try_("cell", "queues").stdout or " 2/1/3 " in desk("qstat", "-f").out)
        assert state(desk, number) == "r"
    assert reserve(desk, "-a", "203001010000", "-d", "60") == number + 1
    outside = desk.qsub("-N", "out", "-pe", "make", "2", "-j", "y", "-o", "/dev/null", text="true\n")
    eventually(lambda: "only offers 1 slots" in desk("qstat", "-j", str(outside)).out, lambda: desk("qstat").out)


def test_what_cannot_be_is_refused_in_grid_engines_words(desk: Desk) -> None:
    number = reserve(desk, "-d", "60", "-pe", "make", "2")
    for arguments, status, out, err in (
        ("qrsub -d 60 -l nosuch=1", 1, 'unknown resource "nosuch"\n', ""),
        ("qrsub -d 60 -pe nosuch 1", 1,
         'job rejected: the requested parallel environment "nosuch" does not exist\n', ""),
        ("qrsub -d 60 -q nosuch", 1, 'Job was rejected because job requests unknown queue "nosuch"\n', ""),
        ("qrsub -d 60 -pe make 99", 1, "advance_reservation: no suitable queues\n", ""),
        ("qrsub -w v -d 60 -pe make 99", 1,
         'Your job cannot run in PE "make" because it only offers 1 slots\nverification: no suitable queues\n', ""),
        ("qrsub -w v -d 60", 0, "verification: found suitable queue(s)\n", ""),
        ("qrsub -w v -d 60 -pe make 1", 0, "verification: found possible assignment with 1 slots\n", ""),
        ("qrsub -w x -d 1", 1, "", 'qrsub: invalid option argument "-w x"\n'),
        ("qrsub -d x", 1, "", 'qrsub: Wrong time format "x" specified to -d option\n'),
        ("qrsub -a x -d 60", 1, "",
         '\nInvalid format of date/hour-minute field.\nqrsub: Wrong date/time format "x" specified to -a option\n'),
        ("qrsub -foo", 1, "", 'qrsub: invalid option argument "-foo"\n'),
        ("qrsub -d 60 -e 203001010000 -a 202901010000", 1,
         "difference between end and start time does not correspond to duration\n", ""),
        ("qrsub -d 0", 1, 'missing value for "end time or duration" in advance reservation request\n', ""),
        ("qrsub -e 202001010000", 1, "start time is later than end time\n", ""),
        ("qrsub -a 202001010000 -d 60", 1, "start time is in the past\n", ""),
        ("qrsub -d 60 -u @nosuch", 1, 'Userset "nosuch" does not exist\n', ""),
        ("qrsub -d 60 -u nosuchuser", 1, "", "error: nosuchuser is not known as a user\n"),
        ("qrsub -d 60 -N 1x", 1, 'denied: "1x" is not a valid object name (cannot start with a digit)\n', ""),
        ("qrsub -d 60 -l slots=1", 1, '"advance_reservation" denied: use parallel environments instead of requesting '
         "slots explicitly\n", ""),
        ("qrsub -d 60 -ckpt x", 1,
         'job rejected: the requested checkpointing environment "x" does not exist\n', ""),
        ("qrsub -d 60 -he z", 1, "", 'qrsub: invalid option argument "-he z"\n'),
        ("qrsub -d 60 -m z", 1, "", 'qrsub: Wrong mail options list format "z" specified to -m option\n'),
        ("qrsub -d", 1, "", "qrsub: -d option must have argument\n"),
        ("qrstat -ar x", 1, "", "error: ERROR! invalid id, must be an unsigned integer\n"),
        ("qrstat -foo", 1, "", 'error: invalid option argument "-foo"\n'),
        ("qrstat -u nobody", 0, "", ""),
        ("qrdel 99", 1, 'denied: advance_reservation "99" does not exist\n', ""),
        ("qrdel x", 1, 'denied: advance_reservation "x" does not exist\n', ""),
        ("qrdel -u nobody", 1, "There is no advance_reservation registered for the following users: nobody\n", ""),
        ("qsub -ar 77 -b y true", 1, "", "Unable to run job: the advance reservation id 77 is invalid\nExiting.\n"),
        ("qsub -ar x -b y true", 2, "", "qsub: invalid advance reservation id, must be an unsigned integer\n"),
        (f"qsub -ar {number} -pe make 3 -b y true", 1, "", "Unable to run job: error: no suitable queues\nExiting.\n"),
        (f"qsub -ar {number} -l h_rt=300 -b y true", 1, "",
         "Unable to run job: the job duration is longer than duration "
         f"of the advance reservation id {number}\nExiting.\n"),
    ):  # fmt: skip
        name, *words = arguments.split()
        done = desk(name, *words, status=status)
        assert (done.out, done.err) == (out, err), arguments


def test_qalter_moves_a_job_into_a_reservation(desk: Desk) -> None:
    number = reserve(desk, "-d", "600", "-pe", "make", "3")
    job = desk.qsub("-N", "moved", "-j", "y", "-o", "/dev/null", text="true\n")
    eventually(
        lambda: "it offers only" in desk("qstat", "-j", str(job)).out or "full" in desk("qstat", "-j", str(job)).out
    )
    told = desk("qalter", "-ar", str(number), str(job)).out
    assert told.endswith(f" sets job advance reservation of job {job} to {number}\n")
    eventually(lambda: not jobs(desk), lambda: desk("qstat", "-j", str(job)).out)


def test_the_cell_says_how_many_there_may_be(desk: Desk) -> None:
    before = desk("qconf", "-sconf").out.partition("\n")[2]
    file = desk.pool.work / "global"
    file.write_text(f"{before}max_advance_reservations 1\n")
    desk("qconf", "-Mconf", str(file))
    try:
        reserve(desk, "-d", "60")
        done = desk("qrsub", "-a", "203001010000", "-d", "60", status=25)
        assert done.out == "rejected: only 1 advance reservations are allowed per cluster\n"
    finally:
        file.write_text(before)
        desk("qconf", "-Mconf", str(file))


def test_qconf_breaks_no_reservation(desk: Desk) -> None:
    number, instance = reserve(desk, "-d", "600", "-pe", "make", "2"), f"all.q@{node(desk.pool)}"
    done = desk("qconf", "-rattr", "queue", "slots", "1", "all.q", status=1)
    assert done.err == f"denied: 2 slots are already reserved in {instance} by an advance reservation\n"
    done = desk("qconf", "-dattr", "queue", "pe_list", "make", "all.q", status=1)
    assert done.err == f'denied: removing "make" from pe_list would break advance reservation {number}\n'
    assert "slots                 3\n" in desk("qconf", "-sq", "all.q").out
    desk("qconf", "-rattr", "queue", "slots", "2", "all.q")
    desk("qconf", "-rattr", "queue", "slots", "3", "all.q")


def test_quotas_do_not_count_for_its_jobs(desk: Desk) -> None:
    """As in the real system: `qquota` shows the slots outside alone."""
    stop, rqs = desk.pool.work / "stop-quota", desk.pool.work / "rqs"
    rqs.write_text("{\nname q\ndescription NONE\nenabled TRUE\nlimit users {*} to slots=1\n}\n")
    desk("qconf", "-Arqs", str(rqs))
    try:
        number, quiet = reserve(desk, "-d", "600", "-pe", "make", "2"), ("-j", "y", "-o", "/dev/null")
        wait = f"while [ ! -e {stop} ]; do sleep 0.05; done\n"
        for name in ("in1", "in2"):
            desk.qsub("-N", name, "-ar", str(number), *quiet, text=wait)
        for name in ("out1", "out2"):
            desk.qsub("-N", name, *quiet, text=wait)
        eventually(lambda: list(jobs(desk).values()).count("r") == 3, lambda: desk("qstat").out)
        assert jobs(desk)["in1"] == jobs(desk)["in2"] == "r"
        assert re.search(r"q/1 +slots=1/1 ", desk("qquota").out)
        done = desk("qsub", "-w", "p", "-pe", "make", "2", "-b", "y", "true", status=1)
        assert "verification: no suitable queues" in done.err
    finally:
        stop.touch()
        desk("qconf", "-drqs", "q")


def test_only_those_may_who_are_listed(desks: tuple[Desk, Desk]) -> None:
    root, user = desks
    denied = f'denied: "{USER}" must be manager or in userset "arusers"\n'
    assert user("qrsub", "-d", "60", status=1).out == denied
    root("qconf", "-au", USER, "arusers")
    try:
        number = int(user("qrsub", "-d", "60", "-N", "theirs").out.split()[3])
        mine = int(root("qrsub", "-d", "60", "-N", "mine").out.split()[3])
        words = f"{USER} - you do not have the necessary privileges to delete the advance_reservation"
        assert user("qrdel", str(mine), status=1).out == f'{words} "{mine}"\n'
        listed = [[line.split()[0] for line in user("qrstat", *of).out.splitlines()[2:]] for of in ((), ("-u", "*"))]
        assert listed == [[str(number)], [str(number), str(mine)]]
        done = user("qsub", "-ar", str(mine), "-b", "y", "true", status=1)
        assert "may not use the advance reservation" in done.err
        assert root("qrdel", str(number), str(mine)).out == "".join(
            f"{ME} has deleted advance_reservation {each}\n" for each in (number, mine)
        )
    finally:
        root("qconf", "-du", USER, "arusers")


def test_a_reservation_that_was_granted_is_kept_whenever_the_queue_is_killed(desk: Desk) -> None:
    """Each `qrsub` that was told of a number finds its reservation after the kill, and no number is given twice."""
    environment = {**os.environ, "ROOST_HOME": str(desk.pool.home), "HOME": str(desk.home)}
    command = [sys.executable, "-m", "roost.cli.gridengine", "qrsub", "-a", "203001010000", "-d", "60"]
    granted: list[int] = []
    for pause in (0.15, 0.2, 0.25, 0.3, 0.4, 2, 8, 30):
        # On a machine that has much else to do, commands need longer before the first is answered.
        if pause > 1 and granted:
            break
        asked = [
            subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            for _ in range(3)
        ]
        time.sleep(pause)
        desk.pool.kill("schedd")
        for each in asked:
            out, _ = each.communicate(timeout=60)
            granted += [int(number) for number in re.findall(r"reservation (\d+) has been granted", out)]
        eventually(lambda: desk.pool.try_("queue", "--json").returncode == 0, "the queue again")
    listed = eventually(lambda: {int(line.split()[0]) for line in desk("qrstat").out.splitlines()[2:]})
    assert len(set(granted)) == len(granted) and set(granted) <= listed
    assert granted, "no qrsub was answered in any round"
    number = reserve(desk, "-a", "203101010000", "-d", "60")
    assert number > max(listed)
