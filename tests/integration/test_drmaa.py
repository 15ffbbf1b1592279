"""Programs of DRMAA against real pools: with a Grid Engine cell, and without one."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from roost.compat import drmaa
from tests.integration.kit import PATIENCE_S, ROOT, Pool, eventually, running
from tests.integration.test_cell_jobs import cell

S = drmaa.Session


@pytest.fixture(scope="module")
def cell_pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    with running(tmp_path_factory.mktemp("cell"), cpus=4) as pool:
        cell(pool, pool.place / "cell", slots=4, complexes="licence lic INT <= YES YES 0 0", glob="licence=1")
        yield pool


def user(pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's own home directory."""
    home = tmp_path / "user"
    home.mkdir()
    monkeypatch.setenv("ROOST_HOME", str(pool.home))
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_STATE_HOME", "SGE_ROOT", "SGE_CELL"):
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.fixture
def home(cell_pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A session in a pool with a cell."""
    place = user(cell_pool, tmp_path, monkeypatch)
    S.initialize()
    yield place
    end()


@pytest.fixture
def plain(shared: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A session in an ordinary pool."""
    place = user(shared, tmp_path, monkeypatch)
    S.initialize()
    yield place
    end()


def end() -> None:
    """Leave nothing."""
    if not S.contact:
        return
    S.control(S.JOB_IDS_SESSION_ALL, "terminate")
    S.synchronize([S.JOB_IDS_SESSION_ALL], PATIENCE_S, True)
    S.exit()


def shell(text: str, **attributes: Any) -> drmaa.JobTemplate:
    return drmaa.JobTemplate(remoteCommand="/bin/sh", args=["-c", text], **attributes)


def run(text: str, **attributes: Any) -> str:
    return S.runJob(shell(text, **attributes))


def wait(job: str | bytes) -> drmaa.JobInfo:
    return S.wait(job, PATIENCE_S)


def state(job: str, wanted: str) -> None:
    eventually(lambda: S.jobStatus(job) == wanted, lambda: f"{job} is {S.jobStatus(job)}, not {wanted}")


def no_usage(job: str) -> None:
    with pytest.raises(Exception, match=r"^code 24: "):
        wait(job)


# -- a cell ----------------------------------------------------------------------------------------------------------


def test_a_job_is_a_job_of_qsub_and_its_end_is_told(home: Path) -> None:
    job = run(
        'echo "$A|$1|$JOB_NAME|$PWD"; echo bad >&2; exit 3',
        workingDirectory=f"{S.createJobTemplate().HOME_DIRECTORY}/w",
        outputPath=f":{drmaa.JobTemplate.WORKING_DIRECTORY}/out",
        joinFiles=True,
        jobName="named",
        jobEnvironment={"A": "1 2=,'\""},
        jobSubmissionState="drmaa_hold",
    )
    (home / "w").mkdir()
    assert re.fullmatch(r"\d+", job)
    state(job, "user_on_hold")
    S.control(job, "release")
    info = wait(job)
    assert info[:7] == (job, True, False, "", False, False, 3)
    assert info.resourceUsage["exit_status"] == "3.0000" and float(info.resourceUsage["ru_maxrss"]) > 500
    assert (home / "w/out").read_text() == f"1 2=,'\"||named|{home}/w\nbad\n"
    with pytest.raises(drmaa.InvalidJobException, match=f"^code 18: there is no job {job}"):
        wait(job)


@pytest.mark.parametrize("name", ["KILL", "USR1"])
def test_a_job_that_a_signal_ends_is_told_so(home: Path, name: str) -> None:
    info = wait(run(f"kill -{name} $$"))
    number = 128 + signal.Signals[f"SIG{name}"]
    assert info[1:7] == (False, True, f"SIG{name}", False, False, 0)
    assert info.resourceUsage["exit_status"] == f"{number}.0000"


def test_bulk_jobs_have_numbers_and_placeholders(home: Path) -> None:
    for number in (2, 5):
        (home / f"w{number}").mkdir()
        (home / f"in{number}").write_text(f"input {number}")
    jobs = S.runBulkJobs(
        shell(
            "cat; exit $SGE_TASK_ID",
            workingDirectory="w$drmaa_incr_ph$",
            inputPath=":$drmaa_hd_ph$/in$drmaa_incr_ph$",
            outputPath=":$drmaa_wd_ph$/out.$drmaa_incr_ph$",
        ),
        2,
        5,
        3,
    )
    assert [job.partition(".")[2] for job in jobs] == ["2", "5"]
    S.synchronize(jobs, PATIENCE_S)
    assert [wait(job)[:7] for job in jobs] == [(job, True, False, "", False, False, int(job[-1])) for job in jobs]
    assert [(home / f"w{number}/out.{number}").read_text() for number in (2, 5)] == ["input 2", "input 5"]


def test_control_follows_the_state_of_a_job(home: Path) -> None:
    job = run("sleep 60")
    state(job, "running")
    # It goes on running, and is on hold as soon as it has to wait again: so says the library of Grid Engine 8.1.9.
    S.control(job, "release")
    for action in ("hold", "hold", "suspend"):
        S.control(job, action)
        assert S.jobStatus(job) == "user_on_hold"
    S.control(job, "release")
    state(job, "user_suspended")
    S.control(job, "resume")
    state(job, "running")
    with pytest.raises(drmaa.ResumeInconsistentStateException):
        S.control(job, "resume")
    S.control(job, "suspend")
    state(job, "user_suspended")
    with pytest.raises(drmaa.SuspendInconsistentStateException):
        S.control(job, "suspend")
    S.control(job, "resume")
    state(job, "running")
    for timeout in (0, 0.2):
        with pytest.raises(drmaa.ExitTimeoutException):
            S.wait(job, timeout)
    with pytest.raises(drmaa.ExitTimeoutException):
        S.synchronize([job], 0)
    S.control(job, "terminate")
    info = wait(job)
    assert info[1:7] == (False, False, "", False, True, 0) and info.resourceUsage["ru_wallclock"]
    waiting = run("true", jobSubmissionState="drmaa_hold")
    S.control(waiting, "terminate")
    eventually(lambda: S.jobStatus(waiting) == "failed")
    no_usage(waiting)


def test_the_cell_suspends_jobs_too(home: Path, cell_pool: Pool) -> None:
    from roost.cli.gridengine.entry import main

    job = run("sleep 60")
    state(job, "running")
    assert main("qmod", ["-sq", "all.q"]) == 0
    try:
        state(job, "system_suspended")
    finally:
        assert main("qmod", ["-usq", "all.q"]) == 0
    state(job, "running")


def test_options_of_qsub_act_in_the_native_specification_and_in_categories(
    home: Path, cell_pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / ".qtask").write_text("# categories\nother -l lic=1\nmine -l lic=1 -N from_category -h\n")
    job = run("true", jobCategory="mine", nativeSpecification="-N native -A 'an_account' -p -5")
    ad = cell_pool.job(f"{job}.0")
    assert (ad["CellResources"], ad["CellJobName"], ad["CellAccount"]) == ("lic=1", "native", "an_account")
    assert ad["JobPrio"] == -5
    state(job, "user_on_hold")
    # The attribute goes before the option.
    with pytest.warns(RuntimeWarning, match="-sync y has no effect through DRMAA"):
        job = run("true", jobName="from_attribute", nativeSpecification="-N native -sync y -j y", joinFiles=False)
    ad = cell_pool.job(f"{job}.0")
    assert ad["CellJobName"] == "from_attribute" and not ad.get("CellMerges") and wait(job).exitStatus == 0
    script = home / "script"
    script.write_text("#!/bin/sh\n#$ -N embedded -o $HOME/out\necho in the script $1\n")
    job = S.runJob(drmaa.JobTemplate(remoteCommand="script", args=["a b"], nativeSpecification="-b n"))
    assert wait(job).exitStatus == 0 and (home / "out").read_text() == "in the script a b\n"


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ({"nativeSpecification": "-nonsense"}, 'invalid option argument "-nonsense"'),
        ({"nativeSpecification": "-l nosuch=1"}, 'unknown resource "nosuch"'),
        ({"nativeSpecification": "-q nosuch.q"}, 'Job was rejected because job requests unknown queue "nosuch.q"'),
        ({"nativeSpecification": "a.sh"}, "the native specification: 'a.sh' is not an option of qsub"),
        ({"nativeSpecification": "-l lic=2"}, "error: no suitable queues"),
        ({"jobCategory": "nosuch"}, "there is no job category 'nosuch' in "),
        ({"jobName": "1a"}, 'denied: "1a" is not a valid object name (cannot start with a digit)'),
        ({"outputPath": ":out.$drmaa_incr_ph$"}, "drmaa_output_path: only jobs of drmaa_run_bulk_jobs"),
    ],
)
def test_a_job_that_the_cell_refuses_is_denied(home: Path, attributes: dict[str, str], text: str) -> None:
    with pytest.raises(drmaa.DeniedByDrmException, match=f"^code 17: {re.escape(text)}"):
        run("true", **attributes)


def test_ids_that_mean_nothing_are_told(home: Path) -> None:
    with pytest.raises(drmaa.InvalidArgumentException, match="'abc' is not the id of a job"):
        S.jobStatus("abc")
    for call in (S.jobStatus, wait, lambda job: S.control(job, "hold"), lambda job: S.synchronize([job], 5)):
        with pytest.raises(drmaa.InvalidJobException, match=r"^code 18: there is no job 999999"):
            call("999999")
    with pytest.raises(drmaa.InvalidJobException, match="no job that was not waited for"):
        wait(S.JOB_IDS_SESSION_ANY)
    S.synchronize([S.JOB_IDS_SESSION_ALL], 0)
    job = run("true")
    wait(job)
    # It has ended, whoever reaped it.
    S.synchronize([job], 5)


def test_jobs_of_others_can_be_seen_and_not_waited_for(home: Path, cell_pool: Pool) -> None:
    cluster = cell_pool.submit("hold = true", "true")
    assert S.jobStatus(str(cluster)) == "user_on_hold"
    with pytest.raises(drmaa.InvalidJobException):
        S.wait(str(cluster), 1)
    S.control(str(cluster), "release")
    S.synchronize([str(cluster)], PATIENCE_S, True)


def test_threads_each_get_another_job(home: Path) -> None:
    jobs = S.runBulkJobs(shell("exit $SGE_TASK_ID"), 1, 12, 1)
    found: list[Any] = []
    failed: list[Exception] = []

    def work() -> None:
        try:
            found.extend(wait(S.JOB_IDS_SESSION_ANY) for _ in range(3))
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed and sorted(info.jobId for info in found) == sorted(jobs)
    assert all(info.exitStatus == int(info.jobId.rpartition(".")[2]) for info in found)


PROGRAM = """
import os, sys
import drmaa
drmaa.Session.initialize("session=" + sys.argv[1])
jobs = [drmaa.Session.runJob(drmaa.JobTemplate(remoteCommand="/bin/sh", args=["-c", f"exit {n}"])) for n in (1, 2, 3)]
drmaa.Session.wait(jobs[0])
print(*jobs, flush=True)
os.kill(os.getpid(), 9)
"""


def test_another_program_goes_on_with_a_session_that_died(home: Path, tmp_path: Path) -> None:
    S.exit()
    shims = subprocess.run(
        [sys.executable, "-m", "roost.cli", "shims", "python", "--dir", str(tmp_path / "shims"), "--path"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "night"], env={**os.environ, "PYTHONPATH": shims}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr
    first, second, third = done.stdout.split()
    record = next((home / ".local/state/roost/drmaa").glob("*/night"))
    # It died before it noted what was submitted last.
    lines = record.read_text().splitlines(keepends=True)
    record.write_text("".join(line for line in lines if f"={third}" not in line))
    S.initialize("session=night")
    assert S.contact == "session=night"
    with pytest.raises(drmaa.InvalidJobException):
        S.jobStatus("999999")
    assert {wait(S.JOB_IDS_SESSION_ANY)[:7] for _ in range(2)} == {
        (second, True, False, "", False, False, 2),
        (third, True, False, "", False, False, 3),
    }
    with pytest.raises(drmaa.InvalidJobException):
        wait(first)


def test_waiting_outlives_the_queue_and_submissions_are_not_lost(home: Path, cell_pool: Pool) -> None:
    gate = home / "gate"
    job = run(f"while [ ! -e {gate} ]; do sleep 0.05; done; exit 7")
    state(job, "running")
    found: list[drmaa.JobInfo] = []
    thread = threading.Thread(target=lambda: found.append(wait(job)))
    thread.start()
    time.sleep(0.2)
    before = cell_pool.kill("schedd")
    gate.touch()
    eventually(lambda: cell_pool.pid("schedd") not in (0, before), "the queue is back")
    thread.join(PATIENCE_S)
    assert [info[:7] for info in found] == [(job, True, False, "", False, False, 7)]


def test_a_call_that_waits_ends_with_the_session(home: Path) -> None:
    job = run("sleep 60")
    failed: list[str] = []

    def work() -> None:
        try:
            S.wait(job)
        except drmaa.NoActiveSessionException as error:
            failed.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.2)
    contact = S.contact
    S.exit()
    thread.join(PATIENCE_S)
    assert failed == ["code 5: the session was ended"]
    S.initialize(contact)


def test_without_a_pool_the_session_does_not_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOST_HOME", str(tmp_path))
    with pytest.raises(drmaa.DrmCommunicationException, match=r"^code 2: "):
        S.initialize()
    assert S.contact == ""


# -- an ordinary pool ------------------------------------------------------------------------------------------------


def test_an_ordinary_pool_runs_ordinary_jobs(plain: Path, shared: Pool) -> None:
    assert S.drmsInfo == "Roost"
    for number in (1, 3):
        (plain / f"w{number}").mkdir()
        (plain / f"in{number}").write_text(f"input {number}\n")
    template = shell(
        'cat; echo "$A $SGE_TASK_ID"; echo bad >&2; pwd; exit $SGE_TASK_ID',
        workingDirectory="w$drmaa_incr_ph$",
        inputPath=":$drmaa_hd_ph$/in$drmaa_incr_ph$",
        outputPath=":$drmaa_wd_ph$/out.$drmaa_incr_ph$",
        joinFiles=True,
        jobName="a name",
        jobEnvironment={"A": "x \"y\" 'z' $HOME $$(x)"},
        nativeSpecification='request_memory = 30\n+Note = "this"',
    )
    jobs = S.runBulkJobs(template, 1, 3, 2)
    cluster = jobs[0].partition(".")[0]
    assert jobs == [f"{cluster}.0", f"{cluster}.1"]
    assert [wait(job)[:7] for job in jobs] == [
        (job, True, False, "", False, False, number) for job, number in zip(jobs, (1, 3), strict=True)
    ]
    for number in (1, 3):
        said = f"input {number}\nx \"y\" 'z' $HOME $$(x) {number}\nbad\n{plain}/w{number}\n"
        assert (plain / f"w{number}/out.{number}").read_text() == said
    ad = shared.job(jobs[0])
    assert (ad["RequestMemory"], ad["Note"], ad["JobBatchName"]) == (30, "this", "a name")
    assert wait(S.runJob(drmaa.JobTemplate(remoteCommand="true"))).exitStatus == 0


def test_limits_deadlines_and_control_in_an_ordinary_pool(plain: Path) -> None:
    at = time.strftime("%Y/%m/%d %H:%M:%S", time.localtime(time.time() + 2))
    jobs = [run("sleep 60", hardWallclockTimeLimit=1), run("sleep 60", deadlineTime=at)]
    held, late = run("exit 4", jobSubmissionState="drmaa_hold"), run("true", startTime="23:59:59")
    assert (S.jobStatus(held), S.jobStatus(late)) == ("user_on_hold", "system_on_hold")
    S.control(held, "release")
    assert wait(held).exitStatus == 4
    assert all(wait(job).wasAborted for job in jobs)
    job = run("sleep 60")
    state(job, "running")
    S.control(job, "hold")
    assert S.jobStatus(job) == "user_on_hold"
    S.control(job, "release")
    S.control(job, "suspend")
    state(job, "user_suspended")


@pytest.mark.parametrize(
    ("attributes", "error", "text"),
    [
        ({"nativeSpecification": "-l h_rt=5"}, drmaa.DeniedByDrmException, "needs a pool with a Grid Engine cell"),
        ({"nativeSpecification": "queue 3"}, drmaa.DeniedByDrmException, "has no queue statement"),
        ({"nativeSpecification": "nonsense"}, drmaa.DeniedByDrmException, "'nonsense' is not a statement"),
        ({"jobCategory": "x"}, drmaa.InvalidArgumentException, "need a Grid Engine cell"),
        ({"softWallclockTimeLimit": 5}, drmaa.InvalidArgumentException, "use drmaa_wct_hlimit"),
        ({"outputPath": "elsewhere:/x"}, drmaa.InvalidAttributeValueException, "leave the host out"),
        ({"workingDirectory": "a\nb"}, drmaa.InvalidAttributeValueException, "has one line"),
        (
            {"transferFiles": "o", "outputPath": ":/x", "errorPath": ":/y"},
            drmaa.ConflictingAttributeValuesException,
            "transfers all files of a job or none",
        ),
    ],
)
def test_what_an_ordinary_pool_cannot_do_is_refused(
    plain: Path, attributes: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        run("true", **attributes)


def test_addresses_are_told_to_have_no_effect(plain: Path) -> None:
    with pytest.warns(RuntimeWarning, match="the pool sends no mail"):
        wait(run("true", email=["a@example.org"]))
