"""The files that tell what the database has: the job queue's log, and the history."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Sequence
from pathlib import Path

import pytest

from roost.classad import ClassAd
from roost.config import MemoryHost, load_text
from roost.runtime.home import Home
from roost.runtime.queue import exported_files
from roost.runtime.queue.database.store import Store
from roost.runtime.queue.exported_files import ExportedFiles
from roost.runtime.queue.history_file import EpochFile, HistoryFile, entries_of, epoch_files
from roost.runtime.queue.job_queue_file import JobQueueFile
from roost.schedd import changes as ch
from roost.schedd.identifiers import JobId
from roost.schedd.records.history import BytesStore, backwards
from roost.schedd.records.job_queue_log import Mirror
from roost.schedd.status import JobStatus
from tests.runtime.kit import run
from tests.schedd.records.log_reading import LogReader

AT = 1_795_256_430.0


class Clock:
    """A clock that is set."""

    now = AT

    def __call__(self) -> float:
        return self.now


def cluster(number: int) -> ch.PutCluster:
    ad = ClassAd({"ClusterId": number, "Owner": "ann", "JobStatus": 1, "GlobalJobId": "q"})
    return ch.PutCluster(cluster=number, owner="ann", submitted_at=1, count=1, ad=ad)


def changed(number: int, **attributes: int) -> ch.PutJob:
    return ch.PutJob(job=JobId(number, 0), status=JobStatus.RUNNING, attributes=ClassAd(attributes))


def mirrored(place: Path, clock: Clock, **more: int) -> JobQueueFile:
    settings = {"kept_max": 1, "clean_s": 3600, "growth_bytes": 2000} | more
    made = JobQueueFile(place / "spool" / "job_queue.log", Mirror(), clock=clock, **settings)  # type: ignore[arg-type]
    made.begin()
    return made


def read(path: Path) -> LogReader:
    reader = LogReader()
    reader.feed(path.read_text())
    return reader


# -- the queue -----------------------------------------------------------------------------------


def test_the_queues_log_is_the_owners_alone_and_tells_what_is_committed(tmp_path: Path) -> None:
    mirror, path = mirrored(tmp_path, Clock()), tmp_path / "spool" / "job_queue.log"
    mirror.add([(cluster(1),), (changed(1, NumJobStarts=1),)])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read(path).jobs()["1.0"] == {
        "clusterid": "1", "owner": '"ann"', "jobstatus": "2", "globaljobid": '"q#1.0#1"', "procid": "0",
        "numjobstarts": "1",
    }  # fmt: skip


def test_a_log_that_has_grown_or_is_old_is_made_anew_and_the_last_one_kept(tmp_path: Path) -> None:
    clock = Clock()
    mirror, path = mirrored(tmp_path, clock), tmp_path / "spool" / "job_queue.log"
    for number in range(1, 9):
        mirror.add([(cluster(number),), (ch.DropCluster(cluster=number),)])
    grown = read(path).sequence
    assert grown > 1
    clock.now += 3601
    mirror.add([(cluster(9),)])
    assert (read(path).sequence, set(read(path).jobs())) == (grown + 1, {"9.0"})
    assert sorted(each.name for each in path.parent.iterdir()) == ["job_queue.log", f"job_queue.log.{grown}"]


def test_a_log_whose_writer_was_killed_in_a_line_is_made_anew_with_the_next_number(tmp_path: Path) -> None:
    mirror, path = mirrored(tmp_path, Clock()), tmp_path / "spool" / "job_queue.log"
    mirror.add([(cluster(1),)])
    with path.open("a") as file:
        file.write("105 \n103 1.0 JobSta")
    mirrored(tmp_path, Clock(), kept_max=0)
    assert path.read_text().splitlines()[0] == f"107 2 CreationTimestamp {AT:.0f}"
    assert read(path).jobs() == {}
    assert [each.name for each in path.parent.iterdir()] == ["job_queue.log"]


def test_a_log_that_cant_be_written_is_made_anew_when_it_can(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    mirror, path = mirrored(tmp_path, clock), tmp_path / "spool" / "job_queue.log"
    path.unlink()
    path.mkdir()
    for _ in range(2):
        mirror.add([(cluster(1),), (ch.DropCluster(cluster=1),)])
        clock.now += 30
    assert caplog.text.count("cannot write the mirror of the job queue") >= 1
    path.rmdir()
    clock.now += 30
    mirror.add([(cluster(2),)])
    assert set(read(path).jobs()) == {"2.0"}


# -- the history ---------------------------------------------------------------------------------


def ended(number: int) -> ClassAd:
    return ClassAd({"ClusterId": number, "ProcId": 0, "Owner": "ann", "CompletionDate": number})


def history(place: Path, clock: Clock | None = None, *, bytes_max: int = 0, each: Path | None = None) -> HistoryFile:
    return HistoryFile(place / "history", bytes_max=bytes_max, kept_max=2, each=each, clock=clock or Clock())


def jobs(path: Path) -> list[object]:
    return [entry.ad["ClusterId"] for entry in backwards(BytesStore(path.read_bytes()))]


def test_each_job_that_leaves_is_in_the_history_which_everybody_may_read(tmp_path: Path) -> None:
    history(tmp_path, each=tmp_path).add([ended(1), ended(2)])
    path = tmp_path / "history"
    assert jobs(path) == [2, 1]
    last = path.read_text().splitlines()[-1]
    offset = path.read_bytes().index(b"\n", path.read_bytes().index(b"*** ")) + 1
    assert last == (
        f'*** Offset = {offset} ClusterId = 2 ProcId = 0 Owner = "ann" CompletionDate = 2 CurrentTime = {AT:.0f}'
    )
    assert "CompletionDate = 2" in (tmp_path / "history.2.0").read_text()
    assert stat.S_IMODE(path.stat().st_mode) & 0o022 == 0


def test_a_history_that_would_become_too_large_is_rotated(tmp_path: Path) -> None:
    made = history(tmp_path, bytes_max=300)
    made.add([ended(number) for number in range(1, 9)])
    names = sorted(each.name for each in tmp_path.iterdir())
    assert len(names) == 3
    assert names[0] == "history"
    assert jobs(tmp_path / "history")[0] == 8
    assert all((tmp_path / name).stat().st_size <= 300 for name in names)


@pytest.mark.parametrize("torn", ["", "ClusterId = 3\nProcId = 0\n", "ClusterId = 3\n*** Offset = 1 Clus"])
def test_what_was_lost_by_a_kill_is_added_from_the_database(tmp_path: Path, torn: str) -> None:
    history(tmp_path).add([ended(1), ended(2)])
    with (tmp_path / "history").open("a") as file:
        file.write(torn)
    again = history(tmp_path)
    again.begin(iter([ended(4), ended(3), ended(2), ended(1)]))
    again.add([ended(5)])
    assert jobs(tmp_path / "history") == [5, 4, 3, 2, 1]


def test_a_new_history_begins_with_what_the_database_has(tmp_path: Path) -> None:
    history(tmp_path).begin(iter([ended(2), ended(1)]))
    assert jobs(tmp_path / "history") == [2, 1]


def test_a_file_that_was_just_rotated_is_known_to_have_the_last_job(tmp_path: Path) -> None:
    made = history(tmp_path)
    made.add([ended(1), ended(2)])
    (tmp_path / "history").rename(tmp_path / "history.20261121T102030")
    history(tmp_path).begin(iter([ended(2), ended(1)]))
    assert not (tmp_path / "history").exists()


def test_a_history_that_cant_be_written_is_complained_of_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "history").mkdir()
    history(tmp_path).add([ended(1), ended(2)])
    assert caplog.text.count("is missing from its history file") == 1


# -- what nobody foresaw -------------------------------------------------------------------------


def exporting(place: Path, text: str) -> tuple[Store, ExportedFiles]:
    """The copies that a configuration asks for, and the database that they are made of."""
    home = Home(place)
    home.make()
    store = Store.open(f"sqlite:///{place}/q.sqlite")
    copies = ExportedFiles(load_text(text, MemoryHost()), home, store)
    copies.begin(store.load())
    return store, copies


async def settled(copies: ExportedFiles) -> None:
    """All that was to be written is written, or has failed."""
    await asyncio.gather(*map(asyncio.wrap_future, copies._waiting))


def test_an_unforeseen_failure_costs_the_queues_log_a_pause_and_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log stayed as it was until the next start of the queue, and the history with it."""
    monkeypatch.setattr(exported_files, "FIRST_PAUSE_S", 0.0)
    store, copies = exporting(tmp_path, f"JOB_QUEUE_LOG = {tmp_path}/job_queue.log\nHISTORY = {tmp_path}/history\n")
    broken = iter([True, True])
    records = Mirror.records

    def failing(mirror: Mirror, step: Sequence[ch.Change]) -> list[str]:
        if next(broken, False):
            raise KeyError("a defect")
        return records(mirror, step)

    monkeypatch.setattr(Mirror, "records", failing)
    left = ch.AddHistory(job=JobId(1, 0), owner="ann", status=JobStatus.COMPLETED, ended_at=2, ad=ended(1))

    async def happen() -> None:
        for step in ((cluster(1), cluster(2)), (changed(2, NumJobStarts=1), ch.DropCluster(cluster=1), left)):
            store.commit([step], 3, [], [], 0)
            await copies.took([step])
            await settled(copies)
            copies.retry()

    run(happen())
    copies.close()
    store.close()
    assert jobs(tmp_path / "history") == [1]
    assert read(tmp_path / "job_queue.log").jobs() == {
        "2.0": {
            "clusterid": "2", "owner": '"ann"', "jobstatus": "2", "globaljobid": '"q#2.0#1"', "procid": "0",
            "numjobstarts": "1",
        },
    }  # fmt: skip
    assert "internal error: the mirror of the job queue was not written; trying again in 0 s" in caplog.text


def test_an_ad_that_cannot_be_told_is_missing_from_the_history_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, copies = exporting(tmp_path, f"HISTORY = {tmp_path}/history\n")
    add = HistoryFile.add
    monkeypatch.setattr(
        HistoryFile, "add", lambda file, ads: add(file, (1 // (ad["ClusterId"] - 1) and ad for ad in ads))
    )

    async def happen() -> None:
        for number in (0, 1, 2):
            job = JobId(number, 0)
            await copies.took([
                (ch.AddHistory(job=job, owner="ann", status=JobStatus.REMOVED, ended_at=2, ad=ended(number)),)
            ])  # fmt: skip

    run(happen())
    copies.close()
    store.close()
    assert jobs(tmp_path / "history") == [2, 0]
    assert "internal error: 1.0: some jobs are missing from the history file; `roost history` lists them" in caplog.text


# -- the epoch history -----------------------------------------------------------------------------


def ran(number: int, starts: int) -> ClassAd:
    return ClassAd({"ClusterId": number, "ProcId": 0, "Owner": "ann", "NumShadowStarts": starts})


def test_each_run_of_a_job_has_an_ad_in_the_format_of_htcondor(tmp_path: Path) -> None:
    made = EpochFile(tmp_path / "epochs", bytes_max=0, kept_max=2, each=tmp_path, clock=Clock())
    made.add([ran(7, 1), ran(8, 1), ran(7, 2)])
    lines = (tmp_path / "job.runs.7.0.ads").read_text().splitlines()
    assert lines[-2:] == [
        f"EpochWriteDate = {AT:.0f}",
        f'*** EPOCH ClusterId=7 ProcId=0 RunInstanceId=1 Owner="ann" CurrentTime={AT:.0f}',
    ]
    assert [line for line in lines if line.startswith("NumShadowStarts")] == [f"NumShadowStarts = {n}" for n in (1, 2)]
    entry, *others = entries_of(epoch_files(str(tmp_path / "epochs"), ""))
    assert (entry.banner.cluster, entry.banner.owner, entry.banner.written_at) == (7, "ann", AT)
    assert [each.ad["ClusterId"] for each in others] == [8, 7]


def test_an_epoch_history_is_rotated_and_what_was_cut_off_in_it_is_lost(tmp_path: Path) -> None:
    clock = Clock()
    path = tmp_path / "epochs"
    made = EpochFile(path, bytes_max=400, kept_max=2, clock=clock)
    for number in range(1, 13):
        clock.now += 1
        made.add([ran(number, 1)])
    files = epoch_files(str(path), "")
    assert len(files) == 3
    assert all(file.stat().st_size <= 400 for file in files)
    found = [entry.ad["ClusterId"] for entry in entries_of(files)]
    assert found == sorted(found, reverse=True)
    assert found[0] == 12
    with path.open("a") as file:
        file.write("ClusterId = 13\nProc")
    EpochFile(path, bytes_max=0, kept_max=2).begin(())
    assert path.read_text().endswith(f"CurrentTime={clock.now:.0f}\n")
