"""Backups of pools at work: what is restored is the pool as it was, with jobs in every state, each done once."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import re
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from roost.cli.__main__ import main
from roost.runtime.backup.archive import DIGESTS, HEAD
from roost.runtime.backup.databases import SKIPPED_CLUSTERS
from tests.cli.condor.kit import run
from tests.integration.kit import Pool, eventually, running
from tests.integration.members import several
from tests.integration.test_cell_jobs import cell
from tests.integration.test_workflows import ran
from tests.integration.test_workflows import submit as submit_dag

#: Appends what it is to a file, and says when it may end.
WORK = 'echo "$1 begins" >> {ran}; while [ ! -e {gate} ]; do sleep 0.05; done; echo "$1 ends" >> {ran}; echo "$1"'


def _lose(pool: Pool) -> Path:
    """Kill all of a pool and lose its state directory, but for what is needed to start anew; the backup."""
    eventually(lambda: not pool.end_all(), "the end of all")
    shutil.rmtree(pool.home)
    return pool.place / "backup"


def _restore(pool: Pool) -> str:
    return pool("restore", str(_lose(pool)))


def _ended(ran_file: Path) -> Counter[str]:
    return Counter(line.split()[0] for line in ran_file.read_text().splitlines() if line.endswith("ends"))


def test_jobs_in_every_state_are_there_again_and_each_is_done_once(start: Callable[..., Pool]) -> None:
    pool = start(cpus=8)
    done, gate = pool.work / "ran", pool.work / "gate"
    body = WORK.format(ran=done, gate=gate)

    def job(name: str, text: str = "") -> int:
        return pool.submit(f"arguments = {name}\noutput = {name}.out\n{text}", body)

    pool.wait(past := pool.submit("output = past.out", "echo past; echo 'past ends' >> " + str(done)))
    stays = pool.submit("leave_in_queue = true", "echo 'stays ends' >> " + str(done))
    pool.seen(f"{stays}.0", JobStatus=4)
    idle = job("idle", "requirements = Never =?= True")
    held = job("held", "hold = true")
    runs, suspended = job("runs"), job("suspended")
    array = pool.submit("arguments = array$(Process)\noutput = array$(Process).out\nqueue 3", body)
    flow = submit_dag(pool, "d.dag", 'JOB A node.sub\nJOB B node.sub\nPARENT A CHILD B\nVARS B nap="4"\n')
    (pool.work / "spooled.sh").write_text("#!/bin/sh\ncat data\n")
    (pool.work / "spooled.sh").chmod(0o755)
    (pool.work / "data").write_text("spooled input\n")
    text = "executable = spooled.sh\ntransfer_input_files = data\noutput = spooled.out\nlog = spooled.log\n"
    text += "requirements = Never =?= True\n"
    said = run("condor_submit", "-terse", "-spool", text=f"{text}queue\n", cwd=pool.work, ROOST_HOME=str(pool.home))
    assert said.status == 0, said
    spooled = int(said.out.partition(".")[0])
    for each in (runs, suspended):
        pool.seen(f"{each}.0", JobStatus=2)
    for proc in range(3):
        pool.seen(f"{array}.{proc}", JobStatus=2)
    eventually(lambda: "B.0" in ran(pool), "the second node of the workflow")
    pool("suspend", str(suspended))
    pool.seen(f"{suspended}.0", JobStatus=7)
    pool("userprio", "ann", "--set-factor", "7")

    backup = pool.place / "backup"
    out = pool("backup", str(backup))
    assert f"wrote {backup}" in out and "running now" in out
    assert backup.stat().st_mode & 0o777 == 0o600
    assert not list(pool.home.glob("*backup*")), "no copies are left"
    before = {(ad["ClusterId"], ad["ProcId"]): ad["JobStatus"] for ad in pool.jobs()}
    later = pool.submit("output = later.out", "echo later")
    pool.wait(later)

    out = _restore(pool)
    for each in (f"{runs}.0", f"{suspended}.0", *(f"{array}.{proc}" for proc in range(3))):
        assert f"  {each} on " in out
    assert f"{idle}.0" not in out and f"{held}.0" not in out
    pool.up()
    found = {(ad["ClusterId"], ad["ProcId"]): ad["JobStatus"] for ad in pool.jobs()}
    assert found.keys() == before.keys()
    assert (found[held, 0], found[stays, 0], found[idle, 0]) == (5, 4, 1)
    rows = json.loads(pool("history", "--json"))
    assert [row["ClusterId"] for row in rows if row["ClusterId"] in (past, later)] == [past]
    assert "ann" in pool("userprio", "ann")
    pool("release", str(held))
    pool("edit", str(idle), str(spooled), "--set", "Requirements=True")
    gate.touch()
    pool.wait(idle, held, runs, suspended, array)
    pool.seen(f"{spooled}.0", JobStatus=4)
    pool.seen(f"{flow}.0", JobStatus=4)
    names = ("idle", "held", "runs", "suspended", "array0", "array1", "array2")
    assert _ended(done) == Counter((*names, "past", "stays"))
    assert {name: (pool.work / f"{name}.out").read_text() for name in names} == {name: f"{name}\n" for name in names}
    assert run("condor_transfer_data", str(spooled), cwd=pool.work, ROOST_HOME=str(pool.home)).status == 0
    assert (pool.work / "spooled.out").read_text() == "spooled input\n"
    assert pool.ends()[f"{runs}.0"] == 1
    # Its event log says that the former run was lost.
    told = [kind for kind in pool.events(runs, 0) if kind != "006"]
    # It was evicted, or the machine was asked first and knew nothing of it.
    assert told in (["000", "001", lost, "001", "005"] for lost in ("004", "024"))
    # The first node had ended; the second one's run was lost with the machine.
    assert Counter(ran(pool))["A.0"] == 1 and ran(pool)[-1] == "B.0"
    assert "EXITING WITH STATUS 0" in (pool.work / "d.dag.dagman.out").read_text()
    # Numbers of clusters that were submitted after the backup are not used again.
    assert pool.submit("", "true") >= later + SKIPPED_CLUSTERS - 1


def test_the_tasks_of_an_array_of_a_cell_are_each_done_once(start: Callable[..., Pool], tmp_path: Path) -> None:
    pool = start(cpus=4)
    cell(pool, tmp_path / "cell", slots=2)
    done, gate = pool.work / "ran", pool.work / "gate"
    script = pool.work / "task.sh"
    script.write_text(
        f"while [ ! -e {gate} ] && [ $SGE_TASK_ID -gt 2 ]; do sleep 0.05; done; echo $SGE_TASK_ID >> {done}\n"
    )
    from roost.cli.gridengine.entry import main as gridengine

    asked = {"cwd": pool.work, "ROOST_HOME": str(pool.home), "command": gridengine}
    # Lost tasks run again only if they may.
    said = run("qsub", "-terse", "-r", "y", "-t", "1-6", "-o", "/dev/null", "-j", "y", str(script), **asked)  # type: ignore[arg-type]
    assert said.status == 0, said
    number = said.out.partition(".")[0]
    eventually(lambda: done.exists() and len(done.read_text().split()) == 2, "two tasks are done")
    eventually(lambda: sum(ad["JobStatus"] == 2 for ad in pool.jobs()) == 2, "two tasks run")
    pool("backup", str(pool.place / "backup"))
    out = _restore(pool)
    assert out.count(f"  {number}.") == 2
    pool.up()
    gate.touch()
    pool.wait(number)
    assert sorted(done.read_text().split()) == list("123456")
    said = run("qacct", "-j", number, **asked)  # type: ignore[arg-type]
    # Runs that were lost are accounted for, too.
    assert {*re.findall(r"^taskid +(\d+)", said.out, re.M)} == {*"123456"}
    assert "all.q" in run("qconf", "-sql", **asked).out  # type: ignore[arg-type]


def test_jobs_that_still_run_on_other_machines_are_found(tmp_path: Path) -> None:
    with several(tmp_path) as members:
        members.begin()
        members.add("desk7", config="use POLICY : Always_Run_Jobs\n")
        server = members.server
        gate, done = server.work / "gate", server.work / "ran"
        job = server.submit("output = out", WORK.format(ran=done, gate=gate).replace("$1", "far"))
        server.seen(f"{job}.0", JobStatus=2)
        eventually(done.exists, "the job began")
        backup = server.place / "backup"
        assert "anyone who can read it" in server.try_("backup", "--keys", str(backup)).stderr
        _lose(server)
        assert f"  {job}.0 on desk7" in server("restore", str(backup))
        assert (server.home / "authority" / "account.seed").stat().st_mode & 0o777 == 0o600
        server.up()
        gate.touch()
        server.wait(job)
        assert done.read_text() == "far begins\nfar ends\n"
        assert (server.work / "out").read_text() == "far\n"
        assert server.job(f"{job}.0")["NumJobStarts"] == 1
        assert {row["machine"] for row in json.loads(server("pool", "members", "--json"))["members"]} >= {"desk7"}


def test_keys_are_left_out_unless_they_are_asked_for(tmp_path: Path) -> None:
    with several(tmp_path) as members:
        members.begin()
        server, backup = members.server, tmp_path / "backup"
        told = server.try_("backup", str(backup))
        assert "with secret keys left out" in told.stderr and "authority/account.seed" in told.stdout
        secrets = [
            path for path in server.home.rglob("*") if path.suffix in (".seed", ".key") or path.name == "keys.json"
        ]
        assert len(secrets) >= 5
        texts = {path: path.read_bytes().strip() for path in secrets}
        with gzip.open(backup) as file:
            content = file.read()
        for path, text in texts.items():
            assert text not in content, path
        kept = tmp_path / "keys"
        shutil.copytree(server.home / "authority", kept / "authority")
        shutil.copytree(server.home / "member", kept / "member")
        _lose(server)
        told = server.try_("restore", str(backup))
        assert told.returncode == 0 and "put these files there" in told.stderr
        assert str(server.home / "member/keys.json") in told.stdout
        for line in json.loads(
            json.dumps([line.strip() for line in told.stdout.splitlines() if line.startswith("  /")])
        ):
            name = Path(line).relative_to(server.home)
            if (kept / name).exists():
                shutil.copy(kept / name, line)
        server.up()
        assert json.loads(server("pool", "members", "--json"))["members"]


# -- refusals ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A backup of a pool that has ended."""
    with running(tmp_path_factory.mktemp("saved")) as pool:
        pool.submit("executable = /bin/true\nhold = true\n")
        pool.down()
        pool("backup", str(pool.place / "backup"))
        yield pool.place / "backup"


def _refused(capsys: pytest.CaptureFixture[str], home: Path, file: Path, *words: str) -> str:
    before = sorted(home.rglob("*")) if home.exists() else None
    assert main(["restore", "--home", str(home), str(file), *words]) == 2
    assert before is None or sorted(home.rglob("*")) == before, "nothing was written"
    return capsys.readouterr().err


def test_a_pool_that_is_down_is_backed_up_and_restored(saved: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert main(["restore", "--home", str(home), str(saved)]) == 0
    with closing(sqlite3.connect(home / "db" / "queue.sqlite")) as database:
        assert database.execute("SELECT count(*) FROM clusters").fetchone() == (1,)
    assert "use ROLE : Personal" in (home / "roost.config").read_text()


def test_a_directory_that_is_not_empty_is_refused(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine").write_text("kept\n")
    assert f"{tmp_path} is not empty (mine)" in _refused(capsys, tmp_path, saved)


def test_a_running_pool_is_refused(saved: Path, start: Callable[..., Pool], capsys: pytest.CaptureFixture[str]) -> None:
    pool = start()
    assert main(["restore", "--home", str(pool.home), str(saved)]) == 2
    assert f"a pool is running in {pool.home}" in capsys.readouterr().err


@pytest.mark.parametrize("part", [0, 0.01, 0.3, 0.9, 0.999])
def test_a_truncated_file_is_refused(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], part: float
) -> None:
    data, cut = saved.read_bytes(), tmp_path / "cut"
    cut.write_bytes(data[: int(len(data) * part)])
    assert "truncated" in _refused(capsys, tmp_path / "home", cut)
    assert not (tmp_path / "home").exists()


def test_every_damage_is_refused(saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, content, bad, refused = saved.read_bytes(), gzip.decompress(saved.read_bytes()), tmp_path / "bad", 0
    # The first ten bytes are gzip's header.
    for at in range(10, len(data), max(1, len(data) // 60)):
        bad.write_bytes(data[:at] + bytes([data[at] ^ 0x40]) + data[at + 1 :])
        with contextlib.suppress(OSError, EOFError, zlib.error):
            if gzip.decompress(bad.read_bytes()) == content:
                # The bit means nothing.
                continue
        said = _refused(capsys, tmp_path / "home", bad)
        assert "damaged" in said or "truncated" in said, (at, said)
        refused += 1
    assert refused > 40


def _changed(
    saved: Path, target: Path, change: Callable[[str, bytes], bytes], more: tarfile.TarInfo | None = None
) -> None:
    """A backup with other content of its files."""
    with tarfile.open(saved) as old, tarfile.open(target, "w:gz") as new:
        for member in old:
            data = b"" if not member.isreg() else change(member.name, old.extractfile(member).read())  # type: ignore[union-attr]
            if member.name == DIGESTS and more is not None:
                new.addfile(more)
            member.size = len(data)
            new.addfile(member, io.BytesIO(data))


def test_a_file_of_a_newer_roost_is_refused(saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def newer(what: str) -> Callable[[str, bytes], bytes]:
        def change(name: str, data: bytes) -> bytes:
            if name != HEAD:
                return data
            head = json.loads(data) | {"roost": "9.1"}
            head |= {"format": 99} if what == "format" else {"schemas": {"queue.sqlite": 999}}
            return json.dumps(head).encode()

        return change

    _changed(saved, tmp_path / "format", newer("format"))
    said = _refused(capsys, tmp_path / "home", tmp_path / "format")
    assert "it has format 99" in said and "use the newer Roost that wrote it (9.1)" in said
    _changed(saved, tmp_path / "schema", newer("schema"))
    said = _refused(capsys, tmp_path / "home", tmp_path / "schema")
    assert "schema version 999" in said and "9.1" in said


def test_no_member_leads_out_of_the_directory(saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evil = tarfile.TarInfo("home/../../outside")
    _changed(saved, tmp_path / "evil", lambda name, data: data, evil)
    assert "cannot be a member" in _refused(capsys, tmp_path / "home", tmp_path / "evil")
    evil = tarfile.TarInfo("/tmp/outside")
    _changed(saved, tmp_path / "evil", lambda name, data: data, evil)
    assert "cannot be a member" in _refused(capsys, tmp_path / "home", tmp_path / "evil")


def test_other_files_are_no_backups(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text").write_text("hello\n")
    assert "not a backup of Roost" in _refused(capsys, tmp_path / "home", tmp_path / "text")
    with tarfile.open(tmp_path / "tar", "w:gz") as tar:
        tar.add(tmp_path / "text", "text")
    assert "not a backup of Roost" in _refused(capsys, tmp_path / "home", tmp_path / "tar")
    assert "No such file" in _refused(capsys, tmp_path / "home", tmp_path / "none")
    assert main(["backup", "--home", str(tmp_path / "nowhere"), str(tmp_path / "x")]) == 2
    assert "has no pool" in capsys.readouterr().err
    assert not (tmp_path / "home").exists()


def test_an_existing_file_is_not_overwritten(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = saved.read_bytes()
    assert main(["backup", "--home", str(saved.parent / "home"), str(saved)]) == 2
    assert "exists; name another file" in capsys.readouterr().err
    assert saved.read_bytes() == before


# -- while much happens ------------------------------------------------------------------------------


def test_every_job_in_a_backup_has_its_files_while_jobs_come_and_go(start: Callable[..., Pool], tmp_path: Path) -> None:
    """Jobs with spooled input leave while the copy is made: what is in the database is in the spool."""
    pool = start(cpus=4)
    text = "executable = in.sh\ntransfer_input_files = data\noutput = o\nlog = l\nleave_in_queue = false\nqueue 5\n"
    (pool.work / "in.sh").write_text("#!/bin/sh\ncat data\n")
    (pool.work / "in.sh").chmod(0o755)
    (pool.work / "data").write_text("x" * 1000)
    asked = {"cwd": pool.work, "ROOST_HOME": str(pool.home)}
    for number in range(6):
        said = run("condor_submit", "-terse", "-spool", text=text, **asked)  # type: ignore[arg-type]
        assert said.status == 0, said
        cluster = said.out.partition(".")[0]
        if number % 2:
            # Some have left by themselves.
            pool.try_("rm", cluster)
        file, home = tmp_path / f"backup{number}", tmp_path / f"home{number}"
        pool("backup", str(file))
        assert main(["restore", "--home", str(home), str(file)]) == 0
        with closing(sqlite3.connect(home / "db" / "queue.sqlite")) as database:
            jobs = {
                f"{row[0]}.{row[1]}"
                for row in database.execute("SELECT cluster, proc FROM jobs WHERE status IN (1, 2)")
            }
        staged = {path.name for path in (home / "spool" / "staged").glob("*.*[0-9]")}
        assert jobs <= staged, (number, jobs - staged)
        for name in jobs:
            assert (home / "spool" / "staged" / name / "data").read_text() == "x" * 1000
    pool.try_("rm", "--all")
    eventually(lambda: not list((pool.home / "spool" / "staged").glob("*")), "files of jobs that left are removed")


def test_a_backup_that_is_killed_leaves_nothing_that_hinders_the_pool(start: Callable[..., Pool]) -> None:
    pool = start()
    for number in range(4):
        killed = subprocess.Popen(
            [sys.executable, "-m", "roost.cli", "backup", "--home", str(pool.home), str(pool.place / f"killed{number}")]
        )

        def begun(killed: subprocess.Popen[bytes] = killed) -> bool:
            return (pool.home / "backup.lock").exists() or killed.poll() is not None

        eventually(begun, "the backup begins")
        killed.kill()
        killed.wait()
    pool("backup", str(pool.place / "whole"))
    assert not (pool.home / ".backup").exists() and not (pool.home / "backup.lock").exists()
    pool.wait(pool.submit("executable = /bin/true\n"))
