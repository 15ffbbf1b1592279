"""What a queue keeps of its jobs' files, what it writes for runs, and that nothing is left of those that are over."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from roost.runtime.files.file_workers import FileWorkers
from roost.runtime.files.input_files import STDOUT
from roost.runtime.files.transfer import FileItem, pack_items
from roost.runtime.queue.spool import Spool
from roost.runtime.queue.transfer_limits import SILENT_S, TransferLimits
from roost.schedd.identifiers import JobId
from roost.schedd.queue import Queue
from roost.wire.messages import AskFiles, FilePart, Files, FileTaken, GetFile, OutputDone, PutFile
from tests.schedd.kit import Driven, source

SECRET = b"s"
_NAME = STDOUT


def _spool(directory: Path, driven: Driven, secret: bytes = SECRET) -> Spool:
    directory.mkdir(exist_ok=True)
    file_workers = FileWorkers()
    # There are no users but this one.
    file_workers.are_needed = False
    spool = Spool(directory, file_workers, secret=secret)
    spool.sweep(driven.queue)
    return spool


def _runs(driven: Driven, jobs: int, **attributes: object) -> list[tuple[str, str]]:
    """Jobs that run: names of their runs and of their machines."""
    driven.submit(source(jobs, **attributes))
    return [(driven.start().run, "a") for _ in range(jobs)]


def _item(size: int, name: str = _NAME) -> bytes:
    return pack_items([FileItem(name=name, size=size, changed_ns=1_700_000_000_000_000_000)])


async def _put(spool: Spool, queue: Queue, run: tuple[str, str], **fields: object) -> FileTaken:
    message = PutFile(run=run[0], begun=True, transfer="t", **fields)  # type: ignore[arg-type]
    answer = await spool.serve(message, queue, run[1])
    assert isinstance(answer, FileTaken)
    return answer


async def _quiet(spool: Spool, queue: Queue, done: Callable[[], bool]) -> None:
    """Tidy until that is so."""
    while not done():
        spool.tidy(queue)
        await asyncio.sleep(0.01)


def _in_loop(work: Callable[[], Awaitable[None]]) -> None:
    async def whole() -> None:
        await work()

    asyncio.run(whole())


def test_what_a_killed_daemon_kept_of_jobs_that_had_left_is_swept_away(tmp_path: Path) -> None:
    driven = Driven()
    cluster = driven.submit(source(4))
    kept = [f"{cluster}.0", f"{cluster}.1.new", f"{cluster}.2", "history", "job_queue.log.1"]
    left = [f"{cluster}.5", f"{cluster}.5.new", f"{cluster}.5.old", f"{cluster + 1}.0", f"{cluster}.2.old"]
    for name in (*kept, *left, f"{cluster}.3.old"):
        (tmp_path / name / "deep").mkdir(parents=True)

    async def sweep() -> None:
        _spool(tmp_path, driven)

    # What is removed in the background is waited for at the end.
    asyncio.run(sweep())
    # What the next run of the fourth job gets was on its way to be replaced, which had not happened yet.
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted((*kept, f"{cluster}.3"))


def test_runs_that_write_one_file_do_not_meet(tmp_path: Path) -> None:
    driven = Driven()
    runs = _runs(driven, 4, Iwd=str(tmp_path), Out="same.out")
    spool = _spool(tmp_path / "spool", driven)
    other = _spool(tmp_path / "other", driven, b"of another pool, whose runs have the same names")

    async def write() -> None:
        writers = [(each, run) for each in (spool, other) for run in runs]
        for number, (each, run) in enumerate(writers):
            taken = await _put(each, driven.queue, run, item=_item(8), data=b"%04d" % number)
            assert (taken.error, taken.offset) == ("", 4)
        for number, (each, run) in enumerate(writers):
            taken = await _put(each, driven.queue, run, item=_item(8), offset=4, data=b"%04d" % number, last=True)
            assert (taken.error, taken.offset) == ("", 8)
            assert (tmp_path / "same.out").read_bytes() == b"%04d%04d" % (number, number)

    _in_loop(write)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["other", "same.out", "spool"]


def test_requests_that_were_sent_again_are_done_in_their_order(tmp_path: Path) -> None:
    driven = Driven()
    (run,) = _runs(driven, 1, Iwd=str(tmp_path), Out="out")
    spool = _spool(tmp_path / "spool", driven)

    async def write() -> None:
        # The machine had no answer in time, and asked again, and again.
        first = [_put(spool, driven.queue, run, item=_item(8), data=b"1234") for _ in range(3)]
        last = [_put(spool, driven.queue, run, item=_item(8), offset=4, data=b"5678", last=True) for _ in range(3)]
        answers = await asyncio.gather(*first, *last)
        assert [each.error for each in answers] == [""] * 6
        assert [each.offset for each in answers] == [4, 4, 4, 8, 0, 0], "what is over is begun again, or left"

    _in_loop(write)
    assert (tmp_path / "out").read_bytes() == b"12345678"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["out", "spool"]
    gc.collect()
    assert not spool._turns


def test_a_transfer_goes_on_after_the_queue_was_killed(tmp_path: Path) -> None:
    driven = Driven()
    (run,) = _runs(driven, 1, Iwd=str(tmp_path), Out="out")

    async def write() -> None:
        await _put(_spool(tmp_path / "spool", driven), driven.queue, run, item=_item(8), data=b"1234")
        driven.restart()
        again = _spool(tmp_path / "spool", driven)
        again.tidy(driven.queue)
        taken = await _put(again, driven.queue, run, item=_item(8), offset=4, data=b"5678", last=True)
        assert (taken.error, taken.offset) == ("", 8)

    _in_loop(write)
    assert (tmp_path / "out").read_bytes() == b"12345678"


def test_of_a_run_that_is_over_no_unfinished_file_is_left(tmp_path: Path) -> None:
    driven = Driven()
    runs = _runs(driven, 3, Iwd=str(tmp_path), Out="out")
    (tmp_path / ".roost-0123456789abcdef.part").write_text("somebody else's")

    def parts() -> int:
        return len(list(tmp_path.glob(".roost-*.part")))

    async def write() -> None:
        spool = _spool(tmp_path / "spool", driven)
        for run in runs:
            await _put(spool, driven.queue, run, item=_item(8), data=b"1234")
        assert parts() == 4
        driven.end(driven.job(1, 0), "evict", closing=True)
        await _quiet(spool, driven.queue, lambda: parts() == 3)
        # The queue is killed; when it is back another run is over, of which it knows only by what it has noted.
        driven.end(driven.job(1, 1), "evict", closing=True)
        driven.restart()
        spool = _spool(tmp_path / "spool", driven)
        await _quiet(spool, driven.queue, lambda: parts() == 2)
        late = await _put(spool, driven.queue, runs[1], item=_item(8), data=b"1234")
        assert "no longer known" in late.error
        taken = await _put(spool, driven.queue, runs[2], item=_item(8), offset=4, data=b"5678", last=True)
        assert taken.offset == 8

    _in_loop(write)
    assert (tmp_path / "out").read_bytes() == b"12345678"
    assert parts() == 1


def test_what_a_run_saves_takes_the_place_of_what_was_there_whole(tmp_path: Path) -> None:
    driven = Driven()
    ((run, node),) = _runs(driven, 1, Iwd=str(tmp_path))
    job = JobId.read(run.partition("#")[0])

    async def save() -> None:
        spool = _spool(tmp_path / "spool", driven)

        async def put(transfer: str, name: str, data: bytes) -> None:
            begin = PutFile(run=run, item=_item(len(data), name), to="spool", transfer=transfer)
            assert await spool.serve(begin, driven.queue, node) == FileTaken()
            message = PutFile(
                run=run, item=_item(len(data), name), data=data, last=True, begun=True, to="spool", transfer=transfer
            )
            answer = await spool.serve(message, driven.queue, node)
            assert isinstance(answer, FileTaken) and not answer.error, answer

        async def done(transfer: str) -> None:
            answer = await spool.serve(OutputDone(run=run, to="spool", transfer=transfer), driven.queue, node)
            assert answer == FileTaken()

        await put("1", "a", b"first")
        await done("1")
        await put("2", "a", b"broke")
        await put("2", "b", b"off")
        # The machine was killed over it, and starts over.
        await put("3", "a", b"third")
        await done("3")
        await done("3")
        assert {each.name: each.read_bytes() for each in spool.kept(job).iterdir()} == {"a": b"third"}
        assert [each.name for each in (tmp_path / "spool").iterdir() if each.is_dir()] == [str(job)]
        wrong = await spool.serve(OutputDone(run=run, to="spool", transfer="../../x"), driven.queue, node)
        assert isinstance(wrong, FileTaken) and "not the name" in wrong.error

    _in_loop(save)


class Killed(BaseException):
    """The queue's daemon is killed."""


@pytest.mark.parametrize("failure", [Killed, OSError(5, "Input/output error", "spool")], ids=["killed", "disk"])
@pytest.mark.parametrize("again", [True, False], ids=["said again", "machine lost"])
def test_a_replacement_that_breaks_off_anywhere_leaves_one_version_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: type[BaseException] | OSError, *, again: bool
) -> None:
    """At each call that changes the disk: before it, and of a removal in its midst."""
    driven = Driven()
    ((run, node),) = _runs(driven, 1, Iwd=str(tmp_path))
    job, seen = JobId.read(run.partition("#")[0]), []
    new, old = {"a": b"new", "b": b"new", "deep/c": b"new"}, {"a": b"old", "gone": b"old", "deep/d": b"old"}

    def version(path: Path) -> dict[str, bytes]:
        return {str(each.relative_to(path)): each.read_bytes() for each in path.rglob("*") if each.is_file()}

    def write(path: Path, files: dict[str, bytes]) -> None:
        for name, data in files.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_bytes(data)

    for calls in range(100):
        directory, left = tmp_path / f"spool{calls}", calls
        spool = _spool(directory, driven)
        write(spool.kept(job), old)
        write(directory / f"{job}.new" / "2", new)
        write(directory / f"{job}.new" / "1", {"broke": b"off"})

        def counted(work: Callable[..., object]) -> Callable[..., object]:
            def call(*arguments: object, **options: object) -> object:
                nonlocal left
                left -= 1
                if left < 0:
                    raise failure
                return work(*arguments, **options)

            return call

        done = OutputDone(run=run, to="spool", transfer="2")
        with monkeypatch.context() as patch:
            for name in ("rename", "unlink", "rmdir", "fsync", "open"):
                patch.setattr(os, name, counted(getattr(os, name)))
            try:
                answer = asyncio.run(spool.serve(done, driven.queue, node))
            except Killed:
                answer = None
        ended = left >= 0
        if isinstance(failure, OSError) and not ended:
            assert isinstance(answer, FileTaken)
        else:
            spool = _spool(directory, driven)
        # The next run, or this one on another machine.
        asyncio.run(spool.serve(AskFiles(run=run), driven.queue, node))
        found = version(spool.kept(job))
        assert found in (old, new), f"after {calls} calls: {found}"
        seen.append(found == new)
        if again:
            assert asyncio.run(spool.serve(done, driven.queue, node)) == FileTaken()
            assert version(spool.kept(job)) == new
            assert [each.name for each in directory.iterdir() if each.is_dir()] == [str(job)]
        if ended:
            break
    else:
        raise AssertionError("it never ended")
    assert seen == sorted(seen) and seen[0] is False and seen[-1] is True


def test_a_berth_is_free_again_when_a_run_leaves_or_has_been_silent() -> None:
    now = 0.0
    limits = TransferLimits(2, lambda: now)
    assert [limits.take(run) for run in ("a", "b", "a", "c")] == [True, True, True, False]
    limits.leave("b")
    assert limits.take("c")
    now = SILENT_S
    assert limits.take("c") and not limits.take("d")
    now += 1
    assert limits.take("d") and "a" not in limits, "the one that was not heard of"
    limits.most = 0
    assert all(limits.take(str(number)) for number in range(1000))


def test_input_and_output_of_as_many_runs_move_as_the_limits_say(tmp_path: Path) -> None:
    driven = Driven()
    (tmp_path / "in").write_text("input")
    attributes = {"Iwd": str(tmp_path), "Cmd": "/bin/true", "TransferExecutable": False, "TransferInput": "in"}
    first, second = _runs(driven, 2, **attributes, ShouldTransferFiles="YES", Out="out")
    spool = _spool(tmp_path / "spool", driven)
    spool.uploads.most = spool.downloads.most = 1

    async def ask(run: tuple[str, str]) -> Files:
        answer = await spool.serve(AskFiles(run=run[0]), driven.queue, run[1])
        assert isinstance(answer, Files)
        return answer

    async def work() -> None:
        assert (await ask(first)).items and (await ask(second)).wait
        part = await spool.serve(GetFile(run=first[0], name="in", offset=0, size=100), driven.queue, first[1])
        assert isinstance(part, FilePart) and (part.data, part.last) == (b"input", True)
        assert (await ask(second)).items, "the first has all of its input"
        begun = PutFile(run=first[0], item=_item(3), transfer="t")
        taken = await spool.serve(begun, driven.queue, first[1])
        assert isinstance(taken, FileTaken) and (taken.wait, taken.error) == (False, "")
        other = await _put(spool, driven.queue, second, item=_item(3), data=b"abc", last=True)
        assert other.wait and other.offset == 0
        await spool.serve(OutputDone(run=first[0], transfer="t"), driven.queue, first[1])
        assert not (await _put(spool, driven.queue, second, item=_item(3), data=b"abc", last=True)).wait

    _in_loop(work)


def test_a_job_does_not_begin_anew_because_what_it_saved_cannot_be_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It started from the beginning, and what it saved next took the place of what it had."""
    driven = Driven()
    ((run, node),) = _runs(driven, 1, Iwd=str(tmp_path))
    job = JobId.read(run.partition("#")[0])
    directory = tmp_path / "spool"
    spool = _spool(directory, driven)
    (directory / f"{job}.old").mkdir()
    (directory / f"{job}.old" / "state").write_bytes(b"saved")

    def asked() -> Files:
        answer = asyncio.run(spool.serve(AskFiles(run=run), driven.queue, node))
        assert isinstance(answer, Files)
        return answer

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", _fails)
        answer = asked()
    assert "cannot restore the job's saved files" in answer.error and answer.subcode == 5
    assert asked().saved == ["state"]


def _fails(path: Path, target: Path) -> None:
    raise OSError(5, "Input/output error", str(path))
