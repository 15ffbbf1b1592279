"""Methods that suspend, continue and end jobs, and warnings before that: seen by the jobs of a real pool.

What a job sees is what one of Grid Engine 8.1.9 saw in the same steps: the signals that it notes, in this order.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.gridengine.kit import Desk
from tests.integration.kit import Pool, eventually, running
from tests.integration.test_cell_jobs import cell, node, queue_text

CONFIG = """\
STARTER_METHOD_TIMEOUT = 2
MachineMaxVacateTime = 4
STARTER_INITIAL_UPDATE_INTERVAL = 1
STARTER_UPDATE_INTERVAL = 1
"""
#: Notes the signals that it gets.
TRAP = """\
for s in USR1 USR2 TSTP CONT TERM XCPU; do trap "echo SIG$s >> {out}" $s; done
echo start >> {out}
while [ ! -e {out}.gate ]; do sleep 0.05; done
echo end >> {out}
"""
METHOD = """\
#!/bin/bash
kind=$1; shift
echo "$kind $* $(id -un) $(pwd) $JOB_ID" >> {log}
case $kind in
suspend) kill -STOP -- -$1;;
resume) kill -CONT -- -$1;;
terminate) kill -TERM -- -$1; sleep 0.3; kill -KILL -- -$1;;
hang) echo $$ > {log}.pid; exec sleep 600;;
bad) echo oops >&2; exit 3;;
esac
"""


class Site:
    """A pool with a cell whose queue is changed from test to test."""

    def __init__(self, pool: Pool, place: Path) -> None:
        self.pool, self.place = pool, place
        self.grid = Desk(pool)
        self.log, self.method = place / "method.log", place / "method"
        self.method.write_text(METHOD.format(log=self.log))
        self.method.chmod(0o755)
        self.jobs = 0
        cell(pool, place / "cell")

    def queue(self, **values: str) -> None:
        (self.place / "cell/cqueues/all.q").write_text(queue_text(slots="4", **values))
        self.pool("cell", "apply", str(self.place / "cell"))
        self.log.unlink(missing_ok=True)

    def trap(self, *options: str) -> tuple[int, Path]:
        """A job that runs and notes its signals, and where."""
        self.jobs += 1
        out = self.place / f"out{self.jobs}"
        script = self.grid.script(f"trap{self.jobs}.sh", TRAP.format(out=out))
        job = self.grid.qsub("-o", "/dev/null", "-j", "y", *options, str(script))
        eventually(lambda: out.exists() and "start" in out.read_text(), lambda: f"it runs: {self.pool.logs()}")
        return job, out

    def methods(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []

    def state(self, job: int) -> str:
        rows = [line.split() for line in self.grid("qstat").out.splitlines()]
        return next((row[4] for row in rows if row[:1] == [str(job)]), "")

    def gone(self, job: int) -> dict[str, str]:
        """Wait until it has left; its last record of accounting."""
        eventually(lambda: not self.state(job), lambda: f"{job} leaves: {self.pool.logs()}")
        lines = self.grid("qacct", "-j", str(job)).out.splitlines()
        return {name: value.strip() for name, _, value in (line.partition(" ") for line in lines)}


def lines(path: Path) -> list[str]:
    return path.read_text().split()


def stopped(pid: int) -> bool:
    """Whether the process has stopped; one that waits for a disk stops only after that."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    place = tmp_path_factory.mktemp("methods")
    place.chmod(0o755)
    with running(place / "pool", CONFIG, cpus=4) as pool:
        yield Site(pool, place)


def test_without_methods_a_job_sees_nothing_but_that_it_goes_on(site: Site) -> None:
    site.queue()
    job, out = site.trap()
    site.grid("qmod", "-sj", str(job))
    eventually(lambda: site.state(job) == "s", "it is suspended")
    site.grid("qmod", "-usj", str(job))
    eventually(lambda: lines(out) == ["start", "SIGCONT"] or lines(out) == ["start"], "it goes on")
    site.grid("qdel", str(job))
    record = site.gone(job)
    assert record["failed"].startswith("100") and record["exit_status"].startswith("137")
    assert "SIGTERM" not in lines(out)


def test_signals_as_methods(site: Site) -> None:
    site.queue(suspend_method="SIGTSTP", terminate_method="SIGTERM")
    job, out = site.trap()
    site.grid("qmod", "-sj", str(job))
    eventually(lambda: "SIGTSTP" in lines(out), "the signal is there")
    # It has a handler, so it goes on running, though it counts as suspended.
    assert site.state(job) == "s"
    site.grid("qmod", "-usj", str(job))
    eventually(lambda: lines(out) == ["start", "SIGTSTP", "SIGCONT"], lambda: str(lines(out)))
    site.grid("qdel", str(job))
    # It does not end by the signal, which is repeated, until the machine's vacate time is over.
    eventually(lambda: lines(out).count("SIGTERM") >= 2, "it is repeated")
    assert site.state(job) == "dr"
    record = site.gone(job)
    assert record["exit_status"].startswith("137")


def test_commands_as_methods_by_every_path(site: Site) -> None:
    path = str(site.method)
    site.queue(
        suspend_method=f"{path} suspend $job_pid $job_id $queue $host $job_name",
        resume_method=f"{path} resume $job_pid $job_owner $ja_task_id",
        terminate_method=f"{path} terminate $job_pid",
    )
    job, out = site.trap("-N", "sim")
    home, instance = str(site.grid.home), f"all.q@{node(site.pool)}"
    site.grid("qmod", "-sj", str(job))
    eventually(lambda: len(site.methods()) == 1, "suspended by the method")
    words = site.methods()[0].split()
    assert words[0] == "suspend" and words[2:6] == [str(job), "all.q", node(site.pool), "sim"]
    assert words[-2:] == [home, str(job)], words
    pid = int(words[1])
    eventually(lambda: stopped(pid), "its process is stopped")
    site.grid("qmod", "-usj", str(job))
    eventually(lambda: len(site.methods()) == 2, "resumed by the method")
    assert site.methods()[1].split()[:4] == ["resume", str(pid), words[-3], "undefined"]
    # Its queue instance is suspended, and the job is deleted.
    site.grid("qmod", "-sq", instance)
    eventually(lambda: [each.split()[0] for each in site.methods()[2:3]] == ["suspend"], "suspended with its queue")
    site.grid("qdel", str(job))
    assert site.gone(job)["failed"].startswith("100")
    # It is resumed so that it can end; which of the two programs writes first depends on the machine.
    eventually(lambda: len(site.methods()) >= 5, lambda: str(site.methods()))
    called = [each.split()[0] for each in site.methods()]
    assert called[2] == "suspend" and {*called[3:]} == {"resume", "terminate"}, site.methods()
    assert "SIGTERM" in lines(out)
    site.grid("qmod", "-usq", instance)
    # A limit on run time ends a job in the same way.
    site.log.unlink()
    job, out = site.trap("-l", "h_rt=1")
    record = site.gone(job)
    assert record["failed"].startswith("37") and "SIGTERM" in lines(out)
    assert {each.split()[0] for each in site.methods()} == {"terminate"}


def test_methods_that_fail_or_hang_are_told_and_bounded(site: Site) -> None:
    path = str(site.method)
    site.queue(suspend_method=f"{path} bad", terminate_method=f"{path} hang")
    job, _ = site.trap()
    site.grid("qmod", "-sj", str(job))
    eventually(lambda: "suspend_method: it exited with status 3: oops" in site.pool.logs(), "the daemon tells")
    assert site.state(job) == "s"
    began = time.monotonic()
    site.grid("qdel", str(job))
    eventually(lambda: Path(f"{site.log}.pid").exists(), "the method runs")
    hanging = int(Path(f"{site.log}.pid").read_text())
    record = site.gone(job)
    assert record["exit_status"].startswith("137") and time.monotonic() - began > 2
    eventually(lambda: not Path(f"/proc/{hanging}").exists(), "the method was killed after its time")
    assert "took longer than 2 s and was killed" in site.pool.logs()


def test_a_method_survives_the_kill_of_the_daemons(site: Site) -> None:
    path = str(site.method)
    site.queue(suspend_method=f"{path} suspend $job_pid", resume_method=f"{path} resume $job_pid")
    job, out = site.trap()
    site.grid("qmod", "-sj", str(job))
    eventually(lambda: len(site.methods()) == 1, "suspended")
    pid = int(site.methods()[0].split()[1])
    site.pool.kill("node")
    site.pool.kill("schedd")
    eventually(lambda: site.state(job) == "s", "it is still suspended")
    eventually(lambda: stopped(pid), "its process is stopped")
    # An order to a machine whose daemon is not back yet is lost.
    eventually(lambda: site.grid("qmod", "-usj", str(job), status=None) and "SIGCONT" in lines(out), "it goes on")
    # Of the method itself the daemon may not have seen the end: then it was run again, but not after that.
    words = [each.split()[0] for each in site.methods()]
    assert words.count("suspend") <= 2 and words == sorted(words, reverse=True) and words[-1] == "resume"
    Path(f"{out}.gate").touch()
    assert site.gone(job)["failed"].startswith("0")


def test_warnings_before_suspension_and_end(site: Site) -> None:
    site.queue(notify="0:0:2")
    job, out = site.trap("-notify")
    assert "notify:                     TRUE" in site.grid("qstat", "-j", str(job)).out
    site.grid("qmod", "-sj", str(job))
    eventually(lambda: lines(out) == ["start", "SIGUSR1"], lambda: str(lines(out)))
    assert site.state(job) == "s"
    site.grid("qmod", "-usj", str(job))
    eventually(lambda: site.state(job) == "r", "it runs")
    # The warning is no longer true: nothing stops it.
    time.sleep(2.2)
    assert set(lines(out)[2:]) <= {"SIGCONT"}
    # The daemon is killed between warning and end.
    site.grid("qdel", str(job))
    eventually(lambda: "SIGUSR2" in lines(out), "it is warned")
    site.pool.kill("node")
    assert site.gone(job)["exit_status"].startswith("137")
    assert lines(out).count("SIGUSR2") == 1
    # A limit on run time warns as well.
    job, out = site.trap("-notify", "-l", "h_rt=1")
    record = site.gone(job)
    assert (lines(out), record["failed"][:2]) == (["start", "SIGUSR2"], "37")


def test_a_method_that_means_nothing_closes_the_instance(site: Site) -> None:
    site.queue(resume_method="root@/bin/true")
    script = site.grid.script("never.sh", "exit 0")
    job = site.grid.qsub("-o", "/dev/null", str(script))
    reason = 'cannot convert resume_method "root@/bin/true" into a valid signal number at this machine'
    told = f"queue all.q marked QERROR as result of job {job}'s failure at host {node(site.pool)}: {reason}"
    eventually(lambda: told in site.pool("cell", "queues"), "the reason is told")
    assert site.grid("qstat", "-f", "-qs", "E").out.splitlines()[2].endswith("     E")
    assert "before prolog" in site.grid("qacct", "-j", str(job)).out
    site.queue()
    site.grid("qmod", "-cq", "all.q")
    assert site.gone(job)["failed"].startswith("0")


def test_what_a_job_reads_and_writes_is_measured_and_accounted(site: Site) -> None:
    site.queue()
    out = site.place / "big"
    gate = site.place / "big.gate"
    write = f"dd if=/dev/zero of={out} bs=1M count=64 2> /dev/null; cat {out} > /dev/null; touch {out}.done"
    script = site.grid.script("big.sh", write, f"while [ ! -e {gate} ]; do sleep 0.05; done")
    job = site.grid.qsub("-o", "/dev/null", "-j", "y", str(script))
    eventually(Path(f"{out}.done").exists, "it has read and written")

    def used() -> float:
        line = next(each for each in site.grid("qstat", "-j", str(job)).out.splitlines() if each.startswith("usage"))
        return float(line.partition("io=")[2].split()[0])

    # 64 MiB are read from /dev/zero, written, read, and written to /dev/null: as Grid Engine counts.
    eventually(lambda: 0.25 <= used() < 0.27, lambda: f"it is measured: {used()}")
    gate.touch()
    io = site.gone(job)["io"]
    assert 0.25 <= float(io.removesuffix("GB").strip()) < 0.27, io


def test_a_queue_with_an_initial_state_has_it_again_when_its_machine_starts(site: Site) -> None:
    site.queue(initial_state="disabled")
    instance = f"all.q@{node(site.pool)}"

    def shown() -> str:
        return site.grid("qstat", "-f").out.splitlines()[2].split()[-1]

    site.grid("qmod", "-e", instance)
    eventually(lambda: shown() != "d", "it is enabled")
    site.pool.kill("schedd")
    site.pool.kill("central")
    eventually(lambda: shown() != "d", "it stays enabled")
    # Times are whole seconds.
    time.sleep(1.1)
    site.pool.kill("node")
    eventually(lambda: shown() == "d", lambda: site.grid("qstat", "-f").out)
    site.grid("qmod", "-e", instance)
    eventually(lambda: shown() != "d", "a command counts after the start")
    site.queue()
