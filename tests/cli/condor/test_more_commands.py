"""Commands for one job, one question or one expression: condor_run, condor_qsub, condor_now, classad_eval."""

from __future__ import annotations

import getpass
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.condor.kit import Desk, Done, run
from tests.integration.kit import Pool, eventually, running

if sys.platform != "linux":
    pytest.skip("jobs run on Linux only", allow_module_level=True)

ME = getpass.getuser()


class Seat(Desk):
    """A desk whose commands run in a directory, and may end as they like."""

    def __call__(  # type: ignore[override]
        self, name: str, *arguments: str, cwd: Path | None = None, text: str = ""
    ) -> Done:
        return run(name, *arguments, text=text, cwd=cwd or self.pool.work, ROOST_HOME=str(self.pool.home))


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    """A pool with one slot."""
    with running(tmp_path_factory.mktemp("condor"), cpus=1) as pool:
        yield pool


@pytest.fixture
def desk(pool: Pool) -> Iterator[Seat]:
    """The pool with an empty queue."""
    desk = Seat(pool)
    yield desk
    run("condor_rm", "-all", ROOST_HOME=str(pool.home))
    eventually(lambda: not desk("condor_q", "-allusers", "-af", "ClusterId").out, "an empty queue")


# -- classad_eval, as HTCondor's manual shows it ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (["a = 2", "a * 2"], ["[ a = 2 ]", "4"]),
        (["a=2", "a*2"], ["[ a = 2 ]", "4"]),
        (["a = 2", "b = 2", "a + b"], ["[ b = 2; a = 2 ]", "4"]),
        (['strcat("foo", "bar")'], ["[  ]", '"foobar"']),
        (["x = y", "x", "y = 7", "x"], ["[ x = y ]", "undefined", "[ y = 7; x = y ]", "7"]),
        (["x = y", "x", "-quiet", "y = 7", "x", '[ x = 6; z = "foo"; ]', "x"], ["[ x = y ]", "undefined", "7", "6"]),
        (["-quiet", "a = 1", "a == 1", "a =?= 2"], ["true", "false"]),
    ],
)
def test_expressions_are_evaluated_in_the_ads_before_them(arguments: list[str], lines: list[str]) -> None:
    done = run("classad_eval", *arguments)
    assert (done.status, done.err) == (0, "")
    assert [sorted(line.strip("[] ").split("; ")) for line in done.lines] == [
        sorted(line.strip("[] ").split("; ")) for line in lines
    ]


def test_ads_of_files_are_the_two_sides(tmp_path: Path) -> None:
    (tmp_path / "job").write_text("Memory = 10\nRequirements = TARGET.Memory > MY.Memory\n\nMemory = 99\n")
    (tmp_path / "slot").write_text("[ Memory = 20 ]")
    files = ["-my-file", str(tmp_path / "job"), "-target-file", str(tmp_path / "slot")]
    assert run("classad_eval", "-quiet", *files, "Requirements").out == "true\n"
    assert run("classad_eval", "-file", str(tmp_path / "none"), "1").status == 1
    assert run("classad_eval", "-nonsense").status == 255
    assert run("classad_eval", "1 +").status == 1


# -- condor_run --------------------------------------------------------------------------------------------------


def test_a_command_prints_and_ends_as_in_the_shell(desk: Seat, tmp_path: Path) -> None:
    done = desk("condor_run", "echo out; echo err >&2; pwd; exit 3", cwd=tmp_path)
    assert (done.status, done.out, done.err) == (3, f"out\n{tmp_path}\n", "err\n")
    assert list(tmp_path.iterdir()) == []
    assert desk("condor_run", "-a", "arguments = x", "echo", "a  b", cwd=tmp_path).out == "a  b\n"
    assert desk("condor_run", "kill -9 $$", cwd=tmp_path).status == 137
    refused = desk("condor_run", "-u", "none", "true", cwd=tmp_path)
    assert refused.status == 1
    assert "universe" in refused.err


# -- condor_qsub ---------------------------------------------------------------------------------------------------


def test_a_script_runs_as_its_lines_say(desk: Seat, tmp_path: Path) -> None:
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\n#PBS -N named -l mem=100mb\n#$ -j oe\necho $1 $WHO; echo err >&2; echo $JOB_NAME\n")
    script.chmod(0o755)
    done = desk("condor_qsub", "-v", "WHO=me and you", str(script), "first", cwd=tmp_path)
    assert done.status == 0
    words = done.out.split('"')
    cluster = words[0].split()[2]
    assert done.out == f'Your job {cluster} ("named") has been submitted\n'
    assert desk.af(cluster, "-af", "RequestMemory", "JobBatchName") == ["100 named"]
    out = tmp_path / f"named.o{cluster}"
    eventually(lambda: out.exists() and out.read_text().count("\n") == 3, "the output")
    assert sorted(out.read_text().splitlines()) == ["err", "first me and you", "named"]
    assert not (tmp_path / f"named.e{cluster}").exists()


def test_each_number_of_a_range_is_a_job(desk: Seat, tmp_path: Path) -> None:
    (tmp_path / "t.sh").write_text("echo task $SGE_TASK_ID\n")
    desk("condor_qsub", "-S", "/bin/sh", "-t", "2-6:2", "-N", "t", str(tmp_path / "t.sh"), cwd=tmp_path)
    files = {number: tmp_path / f"t.o.{number}" for number in (2, 4, 6)}
    found = [*tmp_path.glob("t*")]
    eventually(lambda: len([*tmp_path.glob("t.o*")]) == 3, f"three outputs of {files}, {found}")
    eventually(
        lambda: sorted(path.read_text() for path in tmp_path.glob("t.o*")) == [f"task {n}\n" for n in (2, 4, 6)],
        "their contents",
    )


def test_a_job_waits_for_another_and_goes_on_if_that_ended_well(desk: Seat, tmp_path: Path) -> None:
    script = tmp_path / "a.sh"
    script.write_text("#!/bin/sh\nsleep 1; echo $1 >> order; exit $2\n")
    script.chmod(0o755)

    def submitted(*arguments: str) -> str:
        return desk("condor_qsub", *arguments, cwd=tmp_path).out.split()[2]

    first = submitted("-cwd", "a.sh", "one", "0")
    second = submitted("-cwd", "-hold_jid", first, "a.sh", "two", "100")
    third = submitted("-cwd", "-hold_jid", second, "a.sh", "three", "0")
    eventually(lambda: not desk("condor_q", "-af", "ClusterId").out, "the end of all")
    assert (tmp_path / "order").read_text() == "one\ntwo\n"
    assert desk("condor_history", third, "-af", "JobStatus").out == "3\n"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["-l", "walltime=1:00", "x"], "walltime"),
        (["-t", "3-1", "x"], "-t 3-1"),
        (["-q", "x", "y"], "unrecognized argument -q"),
        (["-a", "9999", "x"], "-a 9999"),
        ([], "no command"),
    ],
)
def test_what_cannot_be_done_is_refused(arguments: list[str], why: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    done = run("condor_qsub", "-test", *arguments, cwd=tmp_path)
    assert done.status == 1
    assert why in done.err


# -- condor_now ----------------------------------------------------------------------------------------------------


def test_a_job_takes_the_slot_of_another_one_of_its_user(desk: Seat) -> None:
    running_, other, wanted = (desk.submit("", seconds=300) for _ in range(3))
    eventually(lambda: desk.af(str(running_), "-af", "JobStatus") == ["2"], "a running job")
    done = desk("condor_now", f"{wanted}.0", f"{running_}.0")
    assert (done.status, done.err) == (0, "")
    states = {job: desk.af(str(job), "-af", "JobStatus", "JobPrio") for job in (running_, other, wanted)}
    assert states == {running_: ["1 0"], other: ["1 0"], wanted: ["2 0"]}
    assert "is not idle" in desk("condor_now", f"{wanted}.0", f"{running_}.0").err
    assert "is not running" in desk("condor_now", f"{other}.0", f"{running_}.0").err


# -- condor_ping, condor_q -totals ---------------------------------------------------------------------------------


def test_each_level_is_asked_for(desk: Seat) -> None:
    done = desk("condor_ping", "READ", "WRITE")
    assert done.status == 0
    assert [line.split(" command")[0] for line in done.lines] == ["READ", "WRITE"]
    assert all(f"succeeded as {ME}@" in line for line in done.lines)
    table = desk("condor_ping", "-table", "ADMINISTRATOR", "DAEMON")
    assert table.status == 1
    assert [line.split()[0::4][:2] for line in table.lines[1:]] == [["ADMINISTRATOR", "ALLOW"], ["DAEMON", "DENY"]]
    assert desk("condor_ping", "-quiet", "WRITE").out == ""
    assert "is not a level" in desk("condor_ping", "NONSENSE").err


def test_the_totals_as_json_are_one_ad(desk: Seat) -> None:
    empty = json.loads(desk("condor_q", "-totals", "-json").out)
    assert [(ad["MyType"], ad["Jobs"], ad["Idle"], ad["AllusersJobs"]) for ad in empty] == [("Summary", 0, 0, 0)]
    desk.submit("", count=3, seconds=300)
    eventually(lambda: "2" in desk.af("-af", "JobStatus"), "a running job")
    [ad] = json.loads(desk("condor_q", "-totals", "-json").out)
    assert {name: ad[name] for name in ("Jobs", "Idle", "Running", "Held", "MyRunning", "AllusersIdle")} == {
        "Jobs": 3, "Idle": 2, "Running": 1, "Held": 0, "MyRunning": 1, "AllusersIdle": 2,
    }  # fmt: skip
    assert 'MyType = "Summary"' in desk("condor_q", "-totals", "-long").out
