"""The commands about jobs against a real pool: words, formats and exit statuses that scripts rely on."""

from __future__ import annotations

import getpass
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.condor.kit import Desk, Done, run
from tests.integration.kit import Pool, eventually, running

if sys.platform != "linux":
    pytest.skip("jobs run on Linux only", allow_module_level=True)

ME = getpass.getuser()


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    """A pool with one slot."""
    epochs = tmp_path_factory.mktemp("epochs")
    with running(tmp_path_factory.mktemp("condor"), f"JOB_EPOCH_HISTORY_DIR = {epochs}\n", cpus=1) as pool:
        yield pool


@pytest.fixture
def desk(pool: Pool) -> Iterator[Desk]:
    """The pool with an empty queue."""
    desk = Desk(pool)
    yield desk
    run("condor_rm", "-all", ROOST_HOME=str(pool.home))
    eventually(lambda: not desk("condor_q", "-af", "ClusterId").out, "an empty queue")


# -- condor_submit -------------------------------------------------------------------------------------------------


def test_submit_says_how_many_jobs_went_to_which_cluster(desk: Desk) -> None:
    path = desk.pool.work / "a.sub"
    path.write_text("executable = /bin/sleep\narguments = 60\nhold = true\nqueue 3\n")
    done = desk("condor_submit", "a.sub")
    cluster = re.fullmatch(r"Submitting job\(s\)\.\.\.\n3 job\(s\) submitted to cluster (\d+)\.\n", done.out)
    assert cluster is not None
    assert done.err == "", "programs take that for a failure"
    number = int(cluster[1]) + 1
    assert desk("condor_submit", "--terse", "-file", "a.sub") == Done(0, f"{number}.0 - {number}.2\n", "")
    one = desk("condor_submit", "a.sub", "-a", "arguments = 7", "batch_name=mine")
    assert desk.af(f"{number + 1}.2", "-af", "Args", "JobBatchName") == ["7 mine"], one
    two = desk("condor_submit", "-queue", "2", text="executable = /bin/sleep\nhold = true\n")
    assert two.out.endswith(f"2 job(s) submitted to cluster {number + 2}.\n")
    appended = ("-a", "Queue n in (7 8)", "-a", "arguments = $(n)")
    desk("condor_submit", *appended, text="executable = /bin/sleep\nhold = true\n")
    assert desk.af(f"{number + 3}", "-af", "Args") == ["7", "8"]
    assert "have a queue statement" in desk("condor_submit", "a.sub", "-a", "queue 5", status=1).err


def test_a_description_with_two_programs_makes_a_line_for_each_cluster(desk: Desk) -> None:
    text = "hold = true\nexecutable = /bin/sleep\nqueue\nexecutable = /bin/true\nqueue 2\n"
    done = desk("condor_submit", "-", text=text)
    assert re.fullmatch(
        r"Submitting job\(s\)\.\.\.\n1 job\(s\) submitted to cluster \d+\.\n2 job\(s\) submitted to cluster \d+\.\n",
        done.out,
    )


def test_what_is_wrong_with_a_description_is_told_and_nothing_is_submitted(desk: Desk) -> None:
    done = desk("condor_submit", text="arguments = 1\nqueue\n", status=1)
    assert done.out == "" and "ERROR: No 'executable' parameter was provided\n" in done.err
    assert "Failed to open command file" in desk("condor_submit", "nowhere.sub", status=1).err
    done = desk("condor_submit", text="executable = /bin/sleep\nhold = true\nfoo = 1\nqueue\n")
    assert "WARNING: the line 'foo = 1' was unused by condor_submit. Is it a typo?\n" in done.err
    assert (
        "exceed -maxjobs" in desk("condor_submit", "-maxjobs", "2", text="executable=/bin/true\nqueue 3", status=1).err
    )
    assert desk("condor_q", "-af", "ClusterId").out.count("\n") == 1


def test_a_dry_run_writes_ads_and_submits_nothing(desk: Desk) -> None:
    text = "executable = /bin/sleep\narguments = $(Cluster) $(Process)\nqueue 2\n"
    done = desk("condor_submit", "-dry-run:cluster=40", "out.ads", text=text)
    assert done.out == "Dry-Run job(s)..\n2 job(s) dry-run to cluster 40.\n"
    first, second = (desk.pool.work / "out.ads").read_text().removeprefix("\n").split("\n\n")
    assert {"ClusterId=40", "ProcId=0", 'Args="40 0"', "RequestCpus=1"} <= set(first.splitlines())
    # Of the other jobs there is what sets them apart.
    assert {"ProcId=1", 'Args="40 1"'} <= set(second.splitlines())
    assert not {line.partition("=")[0] for line in second.splitlines()} & {"ClusterId", "Cmd", "RequestCpus", "Iwd"}
    assert desk("condor_q", "-af", "ClusterId").out == ""


def test_a_dry_run_on_standard_output_has_htcondors_layout(desk: Desk) -> None:
    desk.pool.work.joinpath("dry.sub").write_text("executable = /bin/true\nqueue 3\n")
    lines = desk("condor_submit", "-dry-run", "-", "dry.sub").lines
    assert lines[0] == "Dry-Run job(s)"
    dots = [at for at, line in enumerate(lines) if line == "."]
    assert len(dots) == 3 and lines[-1] == "3 job(s) dry-run to cluster 1."
    assert "ClusterId=1" in lines[1 : dots[0]] and "ProcId=0" in lines[1 : dots[0]]
    assert "ProcId=1" in lines[dots[0] : dots[1]] and "ProcId=2" in lines[dots[1] : dots[2]]
    terse = desk("condor_submit", "-terse", "-dry-run", "-", "dry.sub").lines
    assert terse[0] == "" and terse[-1] == "1.0 - 1.2" and "." not in terse


# -- condor_q ------------------------------------------------------------------------------------------------------


def test_the_empty_queue(desk: Desk) -> None:
    lines = desk("condor_q").lines
    assert lines[:2] == ["", ""]
    assert re.fullmatch(r"-- Schedd: \S+ : <127\.0\.0\.1:\d+\?\.\.\. @ \d\d/\d\d/\d\d \d\d:\d\d:\d\d", lines[2])
    none = "0 jobs; 0 completed, 0 removed, 0 idle, 0 running, 0 held, 0 suspended"
    assert lines[3:] == [
        "OWNER BATCH_NAME      SUBMITTED   DONE   RUN    IDLE   HOLD  TOTAL JOB_IDS",
        "",
        f"Total for query: {none} ",
        f"Total for {ME}: {none} ",
        f"Total for all users: {none}",
        "",
    ]
    assert desk("condor_q", "-json") == Done(0, "", "")
    assert desk("condor_q", "123.4", "-af", "Owner") == Done(0, "", "")


def test_batches_are_one_line(desk: Desk) -> None:
    first = desk.submit(count=3)
    named = [desk.submit("hold = true\nbatch_name = sweep") for _ in range(2)]
    desk("condor_rm", f"{first}.0")
    lines = desk("condor_q", "-wide").lines[2:]
    rows = [line.split() for line in lines[2:4]]
    assert lines[1].split() == ["OWNER", "BATCH_NAME", "SUBMITTED", "DONE", "RUN", "IDLE", "HOLD", "TOTAL", "JOB_IDS"]
    assert rows[0][:3] == [ME, "ID:", str(first)]
    assert rows[0][5:] == ["1", "_", "_", "2", "3", f"{first}.1-2"]
    assert rows[1][:2] == [ME, "sweep"]
    assert rows[1][4:] == ["_", "_", "_", "2", "2", f"{named[0]}.0", "...", f"{named[1]}.0"]
    assert lines[5] == "Total for query: 4 jobs; 0 completed, 0 removed, 0 idle, 0 running, 4 held, 0 suspended "
    assert "HOLD" in lines[1]


def test_ids_constraints_and_limits_choose_jobs(desk: Desk) -> None:
    cluster = desk.submit(count=3)
    other = desk.submit()
    assert desk.af(str(cluster), "-af:j", "JobStatus") == [f"{cluster}.{proc} 5" for proc in range(3)]
    assert desk.af(f"{cluster}.1", f"{other}.0", "-af", "ProcId") == ["1", "0"]
    assert desk.af("-constraint", f"ClusterId == {cluster} && ProcId > 0", "-af", "ProcId") == ["1", "2"]
    assert len(desk.af("-limit", "2", "-af", "ProcId")) == 2
    assert desk.af(ME, "-af", "Owner") == [ME] * 4
    assert desk.af("nobody", "-af", "Owner") == []
    ads = json.loads(desk("condor_q", f"{cluster}.2", "-json").out)
    assert [ad["ProcId"] for ad in ads] == [2] and ads[0]["Requirements"].startswith("/Expr(")
    long = desk("condor_q", f"{cluster}.2", "-long").lines
    assert "ProcId = 2" in long and long[-1] == "" and long[:-1] == sorted(long[:-1], key=str.lower)
    assert desk("condor_q", "-totals").lines[4].startswith("Total for query: 4 jobs;")


def test_expressions_are_shown_as_they_stand_or_by_their_value(desk: Desk) -> None:
    job = f"{desk.submit('hold = true' + chr(10) + '+Twice = JobPrio * 2' + chr(10) + '+Name = strcat(Owner)')}.0"
    assert desk.af(job, "-format", "%s ", "Twice", "-format", "%s ", "Name", "-format", "%s\\n", "JobPrio") == [
        f"JobPrio * 2 {ME} 0"
    ]
    assert desk.af(job, "-format", "%d ", "Twice", "-format", "%s ", "Twice", "-format", "%v\\n", "Name") == [
        f"0 JobPrio * 2 {ME}"
    ]
    assert desk.af(job, "-af:r", "Twice", "Name", "JobPrio + 1") == ["JobPrio * 2 strcat(Owner) JobPrio + 1"]
    assert desk.af(job, "-af", "Twice", "Name", "unparse(Twice)") == [f"0 {ME} JobPrio * 2"]
    desk("condor_rm", job)
    assert desk("condor_history", job, "-format", "%s ", "Twice", "-format", "%v\\n", "Twice").lines == [
        "JobPrio * 2 0"
    ]


def test_the_lines_that_programs_type_are_answered_as_they_read_them(desk: Desk) -> None:
    cluster = desk.submit(count=2)
    both = (f"{cluster}.0", f"{cluster}.1")
    # Parsl
    assert desk.af(*both, "-af:jr", "JobStatus") == [f"{job} 5" for job in both]
    # law
    long = desk("condor_q", *both, "-af:lng", "ClusterId", "ProcId", "ExitCode", "HoldReason", "-limit", "2").out
    held = "ExitCode = undefined\nHoldReason = submitted on hold at user's request\n"
    told = f"\nClusterId = {cluster}\nProcId = {{}}\n{held}"
    assert long == told.format(0) + told.format(1)
    # b2luigi
    rows = json.loads(desk("condor_q", "-json", "-attributes", "JobStatus,ClusterId,ExitStatus", "-batch").out)
    assert [row["ClusterId"] for row in rows] == [cluster] * 2
    # tardis, pulsar and others
    assert (
        desk("condor_q", "-global", "-format", "%s ", "Owner", "-format", "%d\\n", "ProcId").out == f"{ME} 0\n{ME} 1\n"
    )
    assert desk.af("-constraint", f"ClusterId =?= {cluster}", "-af:t", "GlobalJobId", "JobStatus")[0].endswith("\t5")
    # dask-jobqueue, Parsl
    assert desk("condor_rm", str(cluster)).status == 0
    rows = json.loads(
        desk("condor_history", "-json", "-match", "2", "-attributes", "JobStatus,ProcId", str(cluster)).out
    )
    assert sorted(row["ProcId"] for row in rows) == [0, 1]


def test_why_a_job_does_not_run(desk: Desk) -> None:
    cluster = desk.submit("request_memory = 9999999")
    # The matchmaker looks at it within moments.
    wanted = "TARGET.Memory >= RequestMemory"
    eventually(lambda: wanted in desk("condor_q", "-better-analyze", str(cluster)).out, "the matchmaker's word")
    out = desk("condor_q", "-better-analyze", str(cluster)).out
    assert f"The Requirements expression for job {cluster}.000 is" in out
    assert wanted in out


def test_bad_arguments_end_with_status_1(desk: Desk) -> None:
    assert desk("condor_q", "-bogus", status=1) == Done(1, "", "Error: unrecognized argument -bogus\n")
    assert "requires a value" in desk("condor_q", "-constraint", status=1).err
    assert "invalid expression" in desk("condor_q", "-af", "a +", status=1).err
    assert "at least one attribute" in desk("condor_q", "-af", status=1).err
    assert "bad" not in desk("condor_q", "-constraint", "x ==", status=1).out


def test_another_pool_or_queue_is_refused(desk: Desk) -> None:
    assert "Couldn't contact the condor_collector on elsewhere" in desk("condor_q", "-pool", "elsewhere", status=1).err
    assert "no record of schedd" in desk("condor_q", "-name", "elsewhere", status=1).err
    assert desk("condor_q", "-name", json.loads((desk.pool.home / "run/contact.json").read_text())["schedd"]).err == ""


def test_without_a_pool_commands_say_so(tmp_path: Path) -> None:
    for name, words in (("condor_q", ()), ("condor_status", ()), ("condor_rm", ("1",)), ("condor_history", ())):
        done = run(name, *words, ROOST_HOME=str(tmp_path))
        assert done.status == 1 and done.err.startswith("Error:") and "no pool is running in" in done.err


# -- condor_rm and its kin -------------------------------------------------------------------------------------------


def test_held_narrows_what_is_named_and_never_adds_to_it(desk: Desk) -> None:
    text = "executable = /bin/sleep\narguments = 99\nrequirements = False\nqueue 4\n"
    first, second, third = (desk.pool.submit(text) for _ in range(3))
    for cluster in (first, second, third):
        desk("condor_hold", f"{cluster}.2", f"{cluster}.3")

    def left() -> dict[int, set[int]]:
        rows = desk.pool.jobs()
        return {each: {row["ProcId"] for row in rows if row["ClusterId"] == each} for each in (first, second, third)}

    whole = {0, 1, 2, 3}
    named = f"held jobs in cluster {first}"
    assert desk("condor_rm", "-held", str(first)).out == f"All {named} have been marked for removal\n"
    eventually(lambda: left() == {first: {0, 1}, second: whole, third: whole}, lambda: str(left()))
    words = f"Couldn't find/remove all {named}\n"
    assert desk("condor_rm", str(first), "-hold", status=1).err == words
    done = desk("condor_rm", "-held", f"{second}.1", f"{second}.2")
    assert (done.out, done.err) == (
        f"Job {second}.2 marked for removal\n",
        f"Job {second}.1 not in a state to be removed\n",
    )
    assert desk("condor_rm", "-held", "-constraint", "ClusterId == 99999", status=1).out == ""
    eventually(lambda: left() == {first: {0, 1}, second: {0, 1, 3}, third: whole}, lambda: str(left()))
    assert desk("condor_rm", "-forcex", "-held", str(third), status=1).out == ""
    assert desk("condor_rm", "-held").out == "All held jobs have been marked for removal\n"
    eventually(lambda: left() == {each: {0, 1} for each in (first, second, third)}, lambda: str(left()))


def test_ids_are_told_one_by_one(desk: Desk) -> None:
    cluster = desk.submit(count=2)
    assert desk("condor_hold", f"{cluster}.0", status=1) == Done(1, "", f"Job {cluster}.0 already held\n")
    assert desk("condor_release", f"{cluster}.0").out == f"Job {cluster}.0 released\n"
    assert desk("condor_release", f"{cluster}.0", status=1).err == f"Job {cluster}.0 not held to be released\n"
    assert desk("condor_vacate_job", f"{cluster}.1", status=1).err == f"Job {cluster}.1 not running to be vacated\n"
    assert desk("condor_suspend", f"{cluster}.1", status=1).err == f"Job {cluster}.1 not running to be suspended\n"
    assert desk("condor_continue", f"{cluster}.1", status=1).err == f"Job {cluster}.1 not running to be continued\n"
    assert "not in `X' state to be forcibly removed" in desk("condor_rm", "-forcex", f"{cluster}.1", status=1).err
    both = desk("condor_rm", f"{cluster}.1", "999999.0")
    assert both == Done(0, f"Job {cluster}.1 marked for removal\n", "Job 999999.0 not found\n")


def test_clusters_users_and_constraints_are_told_as_one(desk: Desk) -> None:
    cluster = desk.submit(count=3)
    assert desk("condor_release", str(cluster)).out == f"All jobs in cluster {cluster} have been released\n"
    text = f"ClusterId == {cluster}"
    hold = desk("condor_hold", "-constraint", text, "-reason", "for now", "-subcode", "7")
    assert hold.out == f"All jobs matching constraint ({text}) have been held\n"
    eventually(
        lambda: desk.af(str(cluster), "-af", "HoldReason", "HoldReasonSubCode") == [f"for now (by user {ME}) 7"] * 3
    )
    assert desk("condor_hold", str(cluster), status=1).err == f"Couldn't find/hold all jobs in cluster {cluster}\n"
    assert desk("condor_rm", "nobody", status=1).err == 'Couldn\'t find/remove all jobs of user "nobody"\n'
    assert desk("condor_rm", ME).out == f'All jobs of user "{ME}" have been marked for removal\n'
    # One of them may have run for a moment, and leaves when its machine has ended it.
    eventually(lambda: not desk("condor_q", "-af", "ClusterId").out, "an empty queue")
    assert desk("condor_rm", "-all") == Done(0, "", "There are no jobs in the queue\n")


def test_running_jobs_stand_still_go_on_and_are_vacated(desk: Desk) -> None:
    cluster = desk.submit(more="")
    desk.pool.seen(f"{cluster}.0", JobStatus=2)
    assert desk("condor_suspend", str(cluster)).out == f"All jobs in cluster {cluster} have been suspended\n"
    desk.pool.seen(f"{cluster}.0", JobStatus=7)
    assert desk("condor_suspend", f"{cluster}.0", status=1).err == f"Job {cluster}.0 already suspended\n"
    assert desk("condor_continue", f"{cluster}.0").out == f"Job {cluster}.0 continued\n"
    desk.pool.seen(f"{cluster}.0", JobStatus=2)
    lines = desk("condor_q", "-run").lines[2:]
    assert lines[1].split() == ["ID", "OWNER", "SUBMITTED", "RUN_TIME", "HOST(S)"] and "slot1@" in lines[2]
    assert desk("condor_vacate_job", "-fast", f"{cluster}.0").out == f"Job {cluster}.0 fast-vacated\n"
    desk.pool.seen(f"{cluster}.0", NumVacates=1, NumShadowStarts=2, JobStatus=2)
    assert desk("condor_rm", "-totals", str(cluster)).out == (
        "1 Succeeded, 0 Failed, 0 Not Found, 0 Bad Status, 0 Already Done, 0 Permission Denied\n"
    )
    # Both runs are in the epoch history, the last first; so for the job's own file, until its runs are listed.
    alone = desk("condor_history", "-directory", "-limit", "1")
    assert "-directory has no effect without -epochs" in alone.err
    for words in ((), ("-directory",)):
        asked = ("-epochs", *words, f"{cluster}.0", "-af", "NumShadowStarts", "JobStatus")
        eventually(lambda asked=asked: desk("condor_history", *asked).lines == ["2 3", "1 1"], "two epochs")  # type: ignore[misc]
    place = desk("condor_config_val", "JOB_EPOCH_HISTORY_DIR").out.strip()
    own = Path(place) / f"job.runs.{cluster}.0.ads"
    assert desk("condor_history", "-epochs", "-match", "1", str(cluster), "-af", "NumShadowStarts").out == "2\n"
    for refused in (("-match", "1", "-directory"), ()):
        assert "-epochs:d" in desk("condor_history", "-epochs:d", *refused, status=1).err
    part = ("-epochs:d", "-directory", "-constraint", f"ClusterId == {cluster} && NumShadowStarts == 1")
    assert desk("condor_history", *part, "-af", "ClusterId").out == f"{cluster}\n"
    assert own.exists()
    assert len(desk("condor_history", "-epochs:d", "-directory", str(cluster), "-af", "ClusterId").lines) == 2
    assert not own.exists()


def test_a_command_that_names_no_job_says_so(desk: Desk) -> None:
    assert desk("condor_rm", status=1).err.startswith("You did not specify any jobs\n")


# -- condor_history ------------------------------------------------------------------------------------------------


def test_history_is_newest_first(desk: Desk) -> None:
    clusters = [desk.submit() for _ in range(3)]
    for cluster in clusters:
        desk("condor_rm", str(cluster))
    found = desk("condor_history", "-af", "ClusterId", "-limit", "3").lines
    assert found == [str(cluster) for cluster in reversed(clusters)]
    assert desk("condor_history", str(clusters[0]), "-af:j", "JobStatus", "RemoveReason").lines == [
        f"{clusters[0]}.0 3 via condor_rm (by user {ME})"
    ]
    assert desk("condor_history", "-since", str(clusters[0]), "-af", "ClusterId").lines == found[:2]
    rows = json.loads(desk("condor_history", str(clusters[1]), "-json", "-attributes", "ClusterId,Owner").out)
    assert rows == [{"ClusterId": clusters[1], "Owner": ME}]
    lines = desk("condor_history", "-match", "1").lines
    assert lines[0].split() == ["ID", "OWNER", "SUBMITTED", "RUN_TIME", "ST", "COMPLETED", "CMD"]
    assert lines[1].split()[0] == f"{clusters[2]}.0"


def test_history_of_a_file(desk: Desk) -> None:
    path = desk.pool.work / "history"
    ads = "".join(
        f'ClusterId = {number}\nProcId = 0\nOwner = "ann"\nExitCode = {number}\n'
        f'*** Offset = 0 ClusterId = {number} ProcId = 0 Owner = "ann" CompletionDate = 1\n'
        for number in (7, 8)
    )
    path.write_text(ads)
    assert desk("condor_history", "-file", str(path), "-af", "ClusterId", "ExitCode").lines == ["8 8", "7 7"]
    assert desk("condor_history", "-f", str(path), "-constraint", "ExitCode == 7", "-af", "ClusterId").out == "7\n"


# -- starting ------------------------------------------------------------------------------------------------------

#: Modules that take long to import, and that a plain question does not need.
HEAVY = ("argparse", "asyncio", "dataclasses", "msgspec", "numpy", "roost.classad", "roost.config", "sqlalchemy")


@pytest.mark.parametrize(
    "words",
    [
        ("condor_version",),
        ("condor_q",),
        ("condor_q", "-nobatch"),
        ("condor_q", "-af", "ClusterId", "Owner", "RemoteWallClockTime"),
        ("condor_status",),
        ("condor_status", "-af", "Name", "LoadAvg"),
        ("condor_rm", "999999.0"),
        ("condor_history", "-af", "ClusterId"),
    ],
)
def test_a_plain_question_imports_nothing_of_the_language(desk: Desk, words: tuple[str, ...]) -> None:
    assert not _imported(desk, *words).intersection(HEAVY)


#: What submitting a job whose description says nothing unusual does not need.
HEAVY_TO_SUBMIT = (
    "argparse", "asyncio", "ctypes", "dataclasses", "datetime", "difflib", "getpass", "glob", "inspect", "locale",
    "msgspec", "numpy", "sqlalchemy", "subprocess",
    "roost.classad.compiler", "roost.classad.functions", "roost.classad.tracing", "roost.classad.translator",
    "roost.config.checking", "roost.config.explaining",
)  # fmt: skip
#: Modules of Roost and of the standard library that it imports at most, packages included.
MODULES_TO_SUBMIT_MAX = 239


def test_a_submission_imports_what_it_needs_and_no_more(desk: Desk) -> None:
    file = desk.pool.work / "plain.sub"
    file.write_text("executable = /bin/true\nlog = plain.log\nrequest_memory = 64\nhold = true\nqueue 2\n")
    names = _imported(desk, "condor_submit", str(file))
    assert not names.intersection(HEAVY_TO_SUBMIT)
    assert len(names) <= MODULES_TO_SUBMIT_MAX


def _imported(desk: Desk, *words: str) -> set[str]:
    """The modules that a command has imported when it ends."""
    program = (
        "import sys\nfrom roost.cli.condor.entry import main\nmain(sys.argv[1], sys.argv[2:])\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        cwd=desk.pool.work,
        env={**desk.pool.environment, "ROOST_HOME": str(desk.pool.home)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return set(done.stderr.splitlines()[-1].split())
