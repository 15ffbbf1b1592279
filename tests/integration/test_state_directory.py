"""A state directory that is destroyed under a running pool: nothing false is confirmed, and commands find the pool."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from roost.cli.up import alive
from tests.integration.kit import PATIENCE_S, Pool, eventually

SLEEP = "executable = /bin/sleep\narguments = 600\n"


def _db(pool: Pool) -> Path:
    return pool.home / "db" / "queue.sqlite"


def _wal(pool: Pool) -> Path:
    return Path(f"{_db(pool)}-wal")


def _overwrite(path: Path, at: int, size: int) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(os.urandom(size))


def _delete(pool: Pool) -> None:
    for path in _db(pool).parent.glob("queue.sqlite*"):
        path.unlink()


def _remove_run(pool: Pool) -> None:
    """At once, for daemons go on writing to it."""
    gone = pool.place / f"gone{time.monotonic_ns()}"
    (pool.home / "run").rename(gone)
    shutil.rmtree(gone)


def _replace(pool: Pool) -> None:
    copy = _db(pool).with_name("copy")
    shutil.copy(_db(pool), copy)
    copy.rename(_db(pool))


def _daemons(pool: Pool, word: str) -> dict[str, str]:
    """What `roost status --daemons` says is wrong, once it says so."""

    def look() -> dict[str, str] | None:
        found: dict[str, str] = json.loads(pool.try_("status", "--daemons", "--json").stdout).get("problems", {})
        return found if any(word in text for text in found.values()) else None

    return eventually(look, lambda: f"{word} in {pool.try_('status', '--daemons').stdout}\n{pool.logs()}")


@pytest.mark.parametrize(
    ("destroy", "word"),
    [
        (_delete, "is missing"),
        (_replace, "was replaced"),
        (lambda pool: _wal(pool).unlink(), "queue.sqlite-wal, its write-ahead log, is missing"),
        (lambda pool: os.truncate(_wal(pool), 5000), "was truncated"),
        (lambda pool: _overwrite(_wal(pool), 8000, 9000), "was overwritten"),
        (lambda pool: _overwrite(_db(pool), 0, 100), "it is no longer a SQLite database"),
    ],
    ids=["deleted", "replaced", "log gone", "log cut", "log garbage", "header garbage"],
)
def test_a_destroyed_database_is_noticed_and_nothing_is_confirmed(
    start: Callable[..., Pool], destroy: Callable[[Pool], None], word: str
) -> None:
    pool = start()
    runs = pool.submit(SLEEP)
    pool.seen(f"{runs}.0", JobStatus=2, NumJobStarts=1)
    backup = pool.place / "backup"
    with closing(sqlite3.connect(_db(pool))) as other:
        other.execute("VACUUM INTO ?", (str(backup),))
    destroy(pool)
    said = _daemons(pool, word)["schedd"]
    assert "No more requests are confirmed" in said and "restore the backup" in said
    assert pool.try_("status", "--daemons").returncode == 1
    for words in (("submit",), ("rm", str(runs)), ("edit", str(runs), "--set", "JobPrio=1")):
        refused = pool.try_(*words, text=f"{SLEEP}queue\n")
        assert refused.returncode == 2
        assert word in refused.stderr and "roost down --leave-jobs" in refused.stderr
    assert [ad["JobStatus"] for ad in pool.jobs()] == [2]
    log = (pool.home / "log" / "schedd.log").read_text()
    assert "CRITICAL" in log and word in log
    # The way back that it names.
    pool.down("--leave-jobs")
    _delete(pool)
    shutil.copy(backup, _db(pool))
    pool.up()
    pool.seen(f"{runs}.0", JobStatus=2, NumJobStarts=1)
    pool("rm", str(runs))


def test_what_is_refused_at_once_after_the_database_was_lost_is_not_shown_as_done(start: Callable[..., Pool]) -> None:
    pool = start()
    waits = pool.submit(f"{SLEEP}hold = true\n")
    _delete(pool)
    for words in (("submit",), ("rm", str(waits)), ("edit", str(waits), "--set", "JobPrio=1"), ("submit",)):
        refused = pool.try_(*words, text=f"{SLEEP}queue 3\n")
        assert refused.returncode == 2 and "is missing" in refused.stderr
    assert [(ad["ClusterId"], ad["JobStatus"], ad["JobPrio"]) for ad in pool.jobs()] == [(waits, 5, 0)]
    pool.down("--fast")


def test_a_database_that_is_gone_at_the_start_is_no_empty_queue(start: Callable[..., Pool]) -> None:
    pool = start()
    held = pool.submit(f"{SLEEP}hold = true\n")
    pool.down()
    kept = shutil.copytree(_db(pool).parent, pool.place / "kept")
    _db(pool).unlink()
    refused = pool.try_("up", "-d")
    assert refused.returncode == 2
    assert "queue.sqlite is missing" in refused.stderr and "restore a backup" in refused.stderr
    for place in (0, 4096):
        shutil.copy(kept / "queue.sqlite", _db(pool))
        _overwrite(_db(pool), place, 3000)
        refused = pool.try_("up", "-d")
        assert refused.returncode == 2
        assert "restore a backup" in refused.stderr
    shutil.copy(kept / "queue.sqlite", _db(pool))
    pool.up()
    assert [ad["ClusterId"] for ad in pool.jobs()] == [held]


@pytest.mark.parametrize("runs", [True, False], ids=["under the pool", "while it was down"])
def test_a_database_that_was_removed_with_all_beside_it_is_no_empty_queue(
    start: Callable[..., Pool], *, runs: bool
) -> None:
    pool = start()
    held = pool.submit(f"{SLEEP}hold = true\n")
    backup = pool.place / "backup"
    with closing(sqlite3.connect(_db(pool))) as other:
        other.execute("VACUUM INTO ?", (str(backup),))
    if runs:
        _delete(pool)
    pool.down()
    shutil.rmtree(_db(pool).parent)
    refused = pool.try_("up", "-d")
    assert refused.returncode == 2
    assert "queue.sqlite is missing" in refused.stderr and "restore a backup" in refused.stderr
    assert f"remove {pool.home / 'queue.identity'}" in refused.stderr
    shutil.copy(backup, _db(pool))
    pool.up()
    assert [ad["ClusterId"] for ad in pool.jobs()] == [held]


def test_a_backup_of_a_queue_at_work_is_a_queue(start: Callable[..., Pool], tmp_path: Path) -> None:
    """As the manual says: configuration, database and spool into an empty directory."""
    pool = start()
    held = pool.submit(f"{SLEEP}hold = true\nqueue 3\n")
    done = pool.submit("executable = /bin/true\nqueue 20\n")
    backup = tmp_path / "queue.sqlite"
    with closing(sqlite3.connect(_db(pool))) as other:
        other.execute("VACUUM INTO ?", (str(backup),))
    pool.wait(done)
    pool.down()
    shutil.rmtree(pool.home / "db")
    shutil.rmtree(pool.home / "run")
    _db(pool).parent.mkdir()
    shutil.copy(backup, _db(pool))
    pool.up()
    pool.wait(done)
    assert sorted(ad["ProcId"] for ad in pool.jobs(held)) == [0, 1, 2]
    assert len(json.loads(pool("history", "--json", str(done)))) == 20


def test_an_audit_trail_that_is_gone_is_told_and_nothing_of_it_is_forgotten(start: Callable[..., Pool]) -> None:
    pool = start()
    trail = pool.home / "db" / "audit.sqlite"
    first = pool.submit(f"{SLEEP}hold = true\n")
    pool("rm", str(first))
    eventually(lambda: "removal" in pool.try_("audit", "--job", str(first), "--json").stdout)
    kept = trail.with_name("kept")
    with closing(sqlite3.connect(trail)) as other:
        other.execute("VACUUM INTO ?", (str(kept),))
    for path in trail.parent.glob("audit.sqlite*"):
        path.unlink()
    second = pool.submit(f"{SLEEP}hold = true\n")
    pool("rm", str(second))
    assert "audit.sqlite is missing" in _daemons(pool, "audit.sqlite")["central"]
    assert not trail.exists()
    kept.rename(trail)
    eventually(lambda: "removal" in pool.try_("audit", "--job", str(second), "--json").stdout, pool.logs)
    assert "removal" in pool.try_("audit", "--job", str(first), "--json").stdout
    eventually(lambda: "problems" not in json.loads(pool("status", "--daemons", "--json")))


def test_commands_find_a_pool_whose_run_directory_was_removed(start: Callable[..., Pool]) -> None:
    pool = start()
    runs = pool.submit(SLEEP)
    pool.seen(f"{runs}.0", JobStatus=2, NumJobStarts=1)
    master = pool.pid("master")
    before = json.loads((pool.home / "run" / "contact.json").read_text())
    _remove_run(pool)
    assert [ad["ClusterId"] for ad in pool.jobs()] == [runs]
    assert json.loads((pool.home / "run" / "contact.json").read_text()) == before
    assert pool.try_("up", "-d").stderr.count("is already running in")
    pool("reconfig")
    assert "run was removed while the pool was running" in (pool.home / "log" / "master.log").read_text()
    pool.wait(pool.submit("executable = /bin/true\n"))
    # Its daemons and its server come back, and the job is still the same.
    for role in ("node", "schedd", "nats"):
        old = pool.kill(role)
        eventually(lambda role=role, old=old: pool.pid(role) not in (0, old), role)  # type: ignore[misc]
    eventually(lambda: pool.try_("queue").returncode == 0 and pool.try_("status").returncode == 0, pool.logs)
    pool.wait(pool.submit("executable = /bin/true\n"))
    assert pool.job(f"{runs}.0")["NumJobStarts"] == 1
    _remove_run(pool)
    pool.down("--fast")
    assert not alive(master)
    assert not pool.processes()


def test_a_database_that_cannot_be_written_is_named_until_it_can(start: Callable[..., Pool]) -> None:
    pool = start()
    pid = json.loads(pool("status", "--daemons", "--json"))["schedd"]
    unlimited = resource.prlimit(pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    job = pool.work / "job.sub"
    job.write_text("executable = /bin/true\nqueue\n")
    # Commands within this process would share its standard streams.
    words = [sys.executable, "-m", "roost.cli", "submit", "--home", str(pool.home), "--json", str(job)]
    with subprocess.Popen(words, env=pool.environment, stdout=subprocess.PIPE, text=True) as submission:
        try:
            assert "Requests for changes are not answered" in _daemons(pool, "cannot be written")["schedd"]
        finally:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, unlimited)
        out, _ = submission.communicate(timeout=PATIENCE_S)
    pool.wait(json.loads(out)[0]["cluster"])
    assert "problems" not in json.loads(pool("status", "--daemons", "--json"))


def test_directories_that_were_removed_under_the_pool_are_made_again(start: Callable[..., Pool]) -> None:
    pool = start()
    runs = pool.submit("executable = /bin/sh\narguments = \"-c 'until [ -e end ]; do sleep 0.1; done'\"\n")
    pool.seen(f"{runs}.0", JobStatus=2, NumJobStarts=1)
    for name in ("log", "execute", "jobs", "spool"):
        place = pool.home / name
        # At once, for daemons go on writing to it.
        gone = pool.place / f"gone {name}"
        place.rename(gone)
        shutil.rmtree(gone)
        eventually(place.is_dir, pool.logs)
        told = f"{place} was removed while the pool was running"
        eventually(lambda told=told: told in (pool.home / "log" / "master.log").read_text(), told)  # type: ignore[misc]
        out = pool.work / f"out {name}"
        pool.wait(
            pool.submit(f"executable = /bin/echo\narguments = {name}\noutput = {out}\nshould_transfer_files = YES\n")
        )
        assert out.read_text() == f"{name}\n"
        eventually(lambda: pool.try_("status", "--daemons").returncode == 0, pool.logs)
    for role in ("node", "schedd", "central"):
        assert (pool.home / "log" / f"{role}.log").read_text(), f"{role} writes its log again"
    (pool.work / "end").touch()
    pool.wait(runs)
    assert pool.job(f"{runs}.0")["NumJobStarts"] == 1


def test_a_machine_that_cannot_run_jobs_is_named_by_the_status_of_daemons(
    start: Callable[..., Pool], tmp_path: Path
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    pool = start(f"EXECUTE = {scratch}\n")
    pool.wait(pool.submit("executable = /bin/true\n"))
    gone = scratch.rename(tmp_path / "gone")
    waits = pool.submit("executable = /bin/true\n")
    assert "cannot create the scratch directory" in _daemons(pool, str(scratch))["node"]
    gone.rename(scratch)
    pool.wait(waits)
    assert "problems" not in json.loads(pool("status", "--daemons", "--json"))


def test_a_pool_whose_master_stands_still_is_named(start: Callable[..., Pool], monkeypatch: pytest.MonkeyPatch) -> None:
    from roost.runtime import home as homes

    pool = start()
    master = pool.pid("master")
    monkeypatch.setattr(homes, "RESTORED_S", 0.2)
    os.kill(master, 19)
    try:
        _remove_run(pool)
        refused = pool.try_("queue")
        assert refused.returncode == 2
        assert f"process {master}" in refused.stderr and "`roost down`" in refused.stderr
    finally:
        os.kill(master, 18)
        monkeypatch.undo()
    assert pool("queue", "--json").strip() == "[]"


@pytest.mark.parametrize("role", ["schedd", "nats", "master"])
def test_a_process_that_was_stopped_is_named_by_the_status_of_daemons(start: Callable[..., Pool], role: str) -> None:
    """Commands that had no answer named this one, which said that all daemons run."""
    pool = start()
    pid = pool.pid(role)
    os.kill(pid, signal.SIGSTOP)
    try:
        # It may go on for a moment.
        eventually(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T", "the stop")
        told = pool("status", "--daemons", status=1)
        assert f"stopped by a signal and not responding; `kill -CONT {pid}` resumes it" in told
        assert role in json.loads(pool("status", "--daemons", "--json", status=1))["problems"]
    finally:
        os.kill(pid, signal.SIGCONT)
    eventually(lambda: pool.try_("status", "--daemons").returncode == 0, "daemons without a problem")


@pytest.mark.parametrize("slot", ["recorded", "unrecorded"])
@pytest.mark.parametrize("how", ["removed", "unreadable"])
def test_a_job_whose_run_record_is_lost_while_its_machine_is_away_runs_once_at_a_time(
    start: Callable[..., Pool], how: str, slot: str
) -> None:
    """It ran twice at the same time; a record that could not be read kept the machine's daemon from starting."""
    pool = start()
    script = "echo begun >> $1/runs; exec 9> $1/lock; flock -n 9 || echo twice >> $1/runs; "
    job = pool.submit(f"arguments = {pool.work}\n", script=script + "while [ ! -e $1/go ]; do sleep 0.1; done")
    runs = pool.work / "runs"
    eventually(runs.exists, "the start of the job")
    pool.seen(f"{job}.0", JobStatus=2)
    eventually(lambda: list((pool.home / "run" / "slots").glob("*.slot")), "the record of the slot")
    pool.down("--leave-jobs")
    (record,) = (pool.home / "jobs").glob("*.run")
    record.unlink()
    if slot == "unrecorded":
        # As of a run that was young.
        for path in (pool.home / "run" / "slots").glob("*.slot"):
            path.unlink()
    if how == "unreadable":
        record.mkdir()
    pool.up()
    told = pool("status", "--daemons")
    assert (f"cannot read the records of runs: {record} (Is a directory)" in told) == (how == "unreadable")
    eventually(lambda: runs.read_text().count("begun") == 2, "the second run")
    (pool.work / "go").touch()
    pool.wait(job)
    assert runs.read_text() == "begun\nbegun\n", (pool.home / "log" / "node.log").read_text()
    if how == "unreadable":
        assert "Is a directory; remove it" in (pool.home / "log" / "node.log").read_text()
        record.rmdir()
        eventually(lambda: "records of runs" not in pool("status", "--daemons"), "the shortcoming is gone")


def test_a_job_whose_run_record_is_lost_waits_again_at_once_though_its_queue_never_stopped(
    start: Callable[..., Pool],
) -> None:
    """The queue took the job for running until its next keepalive was due: for five minutes."""
    pool = start()
    job = pool.submit(
        f"arguments = {pool.work}\n", script="echo begun >> $1/runs; until [ -e $1/go ]; do sleep 0.1; done"
    )
    runs = pool.work / "runs"
    eventually(runs.exists, "the start of the job")
    eventually(lambda: list((pool.home / "run" / "slots").glob("*.slot")), "the record of the slot")
    (record,) = (pool.home / "jobs").glob("*.run")
    record.unlink()
    record.mkdir()
    assert pool.kill("node")
    ad = eventually(lambda: (ad := pool.job(f"{job}.0")).get("NumVacates") == 1 and ad, "the eviction")
    assert "could not be taken over" in ad["VacateReason"]
    eventually(lambda: runs.read_text().count("begun") == 2, "the second run")
    (pool.work / "go").touch()
    pool.wait(job)
    assert runs.read_text() == "begun\nbegun\n" and pool.job(f"{job}.0")["NumJobStarts"] == 2
