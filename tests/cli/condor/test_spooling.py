"""Jobs whose files are copied to the queue at submission: condor_submit -spool and -remote, condor_transfer_data."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.condor.kit import Desk
from tests.integration.kit import ROOT, Pool, eventually, running

if sys.platform != "linux":
    pytest.skip("jobs run on Linux only", allow_module_level=True)

PROGRAM = """#!/bin/sh
cat
cat first.txt second.txt inner/deep.txt
echo error >&2
echo changed >> second.txt
mkdir -p made/below
echo made > made/below/file
dd if=/dev/zero bs=1000 count=900 2>/dev/null | tr '\\0' x > large
pwd > where
"""
DESCRIPTION = """
executable = bin/program
input = in/standard
output = out/job.$(Process).out
error = err/job.$(Process).out
log = logs/job.log
transfer_input_files = data/first.txt, data/second.txt, data/inner
transfer_output_files = second.txt, made, large, where
transfer_output_remaps = "large = renamed/large.$(Process)"
should_transfer_files = yes
"""


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    """A pool with two slots."""
    with running(tmp_path_factory.mktemp("spooling"), cpus=2) as pool:
        yield pool


@pytest.fixture
def desk(pool: Pool, tmp_path: Path) -> Iterator[Desk]:
    """The pool with an empty queue, before a directory with a job's files."""
    for name in ("bin", "in", "out", "err", "logs", "data/inner", "renamed"):
        tmp_path.joinpath(name).mkdir(parents=True)
    files = {"bin/program": PROGRAM, "in/standard": "standard\n", "data/first.txt": "first\n"}
    for name, text in {**files, "data/second.txt": "second\n", "data/inner/deep.txt": "deep\n"}.items():
        tmp_path.joinpath(name).write_text(text)
    desk = Desk(pool)
    before, pool.work = pool.work, tmp_path
    yield desk
    pool.work = before
    # Jobs with leave_in_queue = true stay as removed ones until they are forced out.
    for options in (("-all",), ("-forcex", "-all")):
        if desk("condor_q", "-af", "ClusterId").out:
            desk("condor_rm", *options)
    eventually(lambda: not desk("condor_q", "-allusers", "-af", "ClusterId").out, "an empty queue")
    eventually(lambda: not list(pool.home.joinpath("spool", "staged").glob("*")), "no files of jobs that have left")


def _submit(desk: Desk, text: str, *arguments: str) -> int:
    out = desk("condor_submit", "-terse", "-spool", *arguments, text=text).out
    return int(out.partition(".")[0])


def _ended(desk: Desk, cluster: int) -> None:
    def all_done() -> bool:
        return set(desk("condor_q", str(cluster), "-af", "JobStatus").out.split()) == {"4"}

    eventually(all_done, "the end of the jobs")


def _below(place: Path) -> dict[str, str]:
    return {str(each.relative_to(place)): each.read_text() for each in place.rglob("*") if each.is_file()}


def test_a_job_runs_with_the_files_of_its_submission_and_its_output_waits_to_be_fetched(desk: Desk, pool: Pool) -> None:
    work = pool.work
    cluster = _submit(desk, f"{DESCRIPTION}requirements = Go =?= true\nqueue 2\n")
    # What is changed now is not the job's any more.
    for each in (*work.glob("bin/*"), *work.glob("in/*"), *work.glob("data/*.txt"), *work.glob("data/inner/*")):
        each.unlink()
    before = _below(work)
    assert before == {}
    ad = {
        name: desk("condor_q", f"{cluster}.1", "-af", name).out.strip() for name in ("Iwd", "SUBMIT_Iwd", "Cmd", "In")
    }
    assert ad == {
        "Iwd": str(pool.home / "spool" / "staged" / f"{cluster}.1"),
        "SUBMIT_Iwd": str(work),
        "Cmd": "program",
        "In": "standard",
    }
    leave = desk("condor_q", "-af:r", "LeaveJobInQueue").lines[0]
    clauses = "CompletionDate =?= undefined || CompletionDate == 0 || ((time() - CompletionDate) < 864000)"
    assert leave == f"JobStatus == 4 && ({clauses})"
    desk("condor_qedit", str(cluster), "Requirements", "true")
    _ended(desk, cluster)
    assert _below(work) == {}, "nothing is brought back before it is fetched"
    desk("condor_transfer_data", str(cluster))
    found = _below(work)
    log = found.pop("logs/job.log")
    wheres = [found.pop("where")]
    for number in range(2):
        assert found.pop(f"out/job.{number}.out") == "standard\nfirst\nsecond\ndeep\n"
        assert found.pop(f"err/job.{number}.out") == "error\n"
        assert found.pop(f"renamed/large.{number}") == "x" * 900_000
    assert found == {"second.txt": "second\nchanged\n", "made/below/file": "made\n"}
    assert all("dir_" in each for each in wheres)
    events = [line[:3] for line in log.splitlines() if line[:4] in ("000 ", "005 ", "012 ", "013 ")]
    assert events[:3] == ["000", "013", "005"]
    assert "Data files spooled" in log
    assert desk("condor_q", str(cluster), "-af", "StageOutFinish").out.strip().replace("\n", "").isdigit()


def test_a_job_without_file_transfer_runs_in_the_directory_of_the_queue(desk: Desk, pool: Pool) -> None:
    text = "executable = bin/program\ninput = in/standard\nshould_transfer_files = no\noutput = o\nqueue\n"
    desk.pool.work.joinpath("bin/program").write_text("#!/bin/sh\ncat\npwd\n")
    desk.pool.work.joinpath("bin/program").chmod(0o755)
    cluster = _submit(desk, text)
    _ended(desk, cluster)
    desk("condor_transfer_data", f"{cluster}.0")
    place = pool.home / "spool" / "staged" / f"{cluster}.0"
    assert pool.work.joinpath("o").read_text() == f"standard\n{place}\n"


def test_remote_is_the_same_and_the_queue_is_named(desk: Desk, pool: Pool) -> None:
    name = desk("condor_status", "-schedd", "-af", "Name").out.strip()
    text = "executable = /bin/echo\narguments = there\noutput = made\ntransfer_executable = false\nqueue\n"
    out = desk("condor_submit", "-terse", "-remote", name, text=text).out
    cluster = int(out.partition(".")[0])
    _ended(desk, cluster)
    desk("condor_transfer_data", "-name", name, "-all")
    assert pool.work.joinpath("made").read_text() == "there\n"


def test_a_file_that_is_missing_leaves_the_jobs_on_hold_and_says_which(desk: Desk, pool: Pool) -> None:
    pool.work.joinpath("data/first.txt").unlink()
    done = desk("condor_submit", "-spool", text=f"{DESCRIPTION}queue\n", status=1)
    assert "ERROR: Failed to spool job files." in done.err and "data/first.txt: No such file" in done.err
    assert "condor_rm" in done.err
    held = desk("condor_q", "-af", "ClusterId", "JobStatus", "HoldReasonCode", "HoldReason").out.split(None, 3)
    assert held[1:] == ["5", "16", "Spooling input data files\n"]
    # It cannot start without its files, whoever releases it.
    assert desk("condor_release", held[0], status=1).status == 1
    assert desk("condor_q", "-af", "JobStatus").out.strip() == "5"


@pytest.mark.parametrize(
    ("arguments", "text", "said"),
    [
        (("-spool",), "executable = /bin/true\nhold = true\nqueue\n", "hold = true cannot be combined with -spool"),
        (("-spool", "-interactive"), "executable = /bin/true\nqueue\n", "-interactive cannot be combined"),
    ],
)
def test_what_cannot_be_spooled_is_refused(desk: Desk, arguments: tuple[str, ...], text: str, said: str) -> None:
    assert said in desk("condor_submit", *arguments, text=text, status=1).err


def test_a_job_that_was_not_spooled_has_nothing_to_fetch(desk: Desk) -> None:
    cluster = desk.submit()
    said = desk("condor_transfer_data", str(cluster), status=1).err
    assert "no such job that was submitted with -spool" in said


def test_a_queue_that_is_killed_keeps_the_files(desk: Desk, pool: Pool) -> None:
    cluster = _submit(desk, f"{DESCRIPTION}requirements = Go =?= true\nqueue\n")
    pool.kill("schedd")
    eventually(lambda: desk("condor_q", "-af", "ClusterId").out.strip() == str(cluster), "the queue is back")
    desk("condor_qedit", str(cluster), "Requirements", "true")
    _ended(desk, cluster)
    desk("condor_transfer_data", str(cluster))
    assert pool.work.joinpath("out/job.0.out").read_text() == "standard\nfirst\nsecond\ndeep\n"


PYTHON = """
import htcondor2
sub = htcondor2.Submit({"executable": "bin/program", "input": "in/standard", "output": "py.out",
                        "transfer_input_files": "data/first.txt, data/second.txt, data/inner",
                        "transfer_output_files": "made", "MY.Tag": '"py"'})
schedd = htcondor2.Schedd()
result = schedd.submit(sub, spool=True)
ad = schedd.query(f"ClusterId == {result.cluster()}")[0]
print(ad["JobStatus"], ad["HoldReasonCode"])
schedd.spool(result)
try:
    schedd.spool(result)
except htcondor2.HTCondorException as error:
    print(error)
print(result.cluster())
"""


def test_the_bindings_spool_and_retrieve(desk: Desk, pool: Pool) -> None:
    program = [sys.executable, "-m", "roost.cli", "shims", "python", "--path"]
    path = subprocess.run(program, capture_output=True, text=True, check=True, cwd=ROOT).stdout.strip()
    environment = {**os.environ, "ROOST_HOME": str(pool.home), "PYTHONPATH": path}

    def run(text: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", text], cwd=pool.work, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    status, again, cluster = run(PYTHON)
    assert status == "5 16"
    assert again == f"Failed to spool job files: no job of cluster {cluster} waits for its files"
    with contextlib.suppress(FileNotFoundError):
        pool.work.joinpath("in/standard").unlink()
    _ended(desk, int(cluster))
    run(f"import htcondor2; htcondor2.Schedd().retrieve({cluster!r})")
    assert pool.work.joinpath("py.out").read_text() == "standard\nfirst\nsecond\ndeep\n"
    assert pool.work.joinpath("made/below/file").read_text() == "made\n"


SKIPPED = """
executable = make.sh
transfer_input_files = data/first.txt
transfer_output_files = made.txt
transfer_output_remaps = "made.txt = results/made.txt"
should_transfer_files = yes
skip_if_dataflow = true
leave_in_queue = true
log = flow.log
queue
"""


def test_a_job_whose_output_is_newer_than_its_input_is_skipped(desk: Desk, pool: Pool) -> None:
    script, result = pool.work / "make.sh", pool.work / "results" / "made.txt"
    script.write_text("#!/bin/sh\necho run >> made.txt\n")
    result.parent.mkdir()

    def ended() -> list[str]:
        cluster = int(desk("condor_submit", "-terse", text=SKIPPED).out.partition(".")[0])
        _ended(desk, cluster)
        names = ("ExitCode", "DataflowJobSkipped")
        return desk("condor_q", str(cluster), "-af", *names).out.split()

    assert ended() == ["0", "false"]
    result.write_text("by hand\n")
    assert ended() == ["0", "true"]
    assert result.read_text() == "by hand\n"
    assert (pool.work / "flow.log").read_text().count("Dataflow job was skipped.") == 1
    # A newer input, or a newer program, is a reason to run.
    pool.work.joinpath("data/first.txt").write_text("newer\n")
    assert ended() == ["0", "false"]
    assert result.read_text() == "run\n"
    script.write_text("#!/bin/sh\necho again > made.txt\n")
    assert ended() == ["0", "false"]
    assert result.read_text() == "again\n"
    # What cannot be looked at is not newer.
    result.unlink()
    assert ended() == ["0", "false"]


def test_max_idle_is_warned_about_where_files_are_spooled_and_job_sets_are_refused(desk: Desk) -> None:
    text = "executable = /bin/true\nmax_idle = 3\nqueue\n"
    assert "max_idle = 3 has no effect here: spooled jobs" in desk("condor_submit", "-spool", text=text).err
    assert not desk("condor_submit", text=text).err
    said = desk("condor_submit", text="executable = /bin/true\njobset = mine\nqueue\n", status=1).err
    assert "jobset" in said and "the queue keeps no job sets" in said
