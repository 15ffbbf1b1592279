"""What a runner says of its work."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from roost.classad import ClassAd
from roost.config import LoadOptions, MemoryHost, load
from roost.model import starter_events as sev
from roost.runtime.files.file_workers import FileWorker, FileWorkers
from roost.runtime.node.runs.runner import Runner
from roost.runtime.processes.accounts import own_account
from roost.runtime.processes.sandbox import Sandbox
from roost.wire.subjects import Subjects


def _runner(path: Path, said: list[str]) -> Runner:
    """The hands of a starter that has a scratch directory with something in it."""
    around: Any = SimpleNamespace(
        record=path / "record",
        bus=SimpleNamespace(subjects=Subjects("p")),
        name="m",
        context=None,
        shells=None,
        done=lambda: said.append("done"),
        lost=lambda: said.append("lost"),
        moved=lambda stage: None,
    )
    runner = Runner(around, "1.0#1@q", "q", "slot1@m", ClassAd(), ClassAd())
    runner.sandbox = Sandbox.make(path, "1.0_1_q")
    (runner.sandbox.path / "sub").mkdir()
    (runner.sandbox.path / "sub" / "left").write_text("left")
    return runner


@pytest.mark.parametrize(("called_off", "lost"), [(True, 0), (False, 1)])
def test_work_that_fails_loses_its_run_unless_it_was_called_off(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, called_off: bool, lost: int
) -> None:
    """The run stayed in its slot forever, and the job was told as running."""

    async def work() -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        raise FileNotFoundError("the sandbox is gone")

    async def main() -> list[str]:
        said: list[str] = []
        runner = _runner(tmp_path, said)
        task = runner._begin("input", work())
        await asyncio.sleep(0)
        task.cancel()
        if not called_off:
            task.uncancel()
        await asyncio.wait([task])
        await asyncio.sleep(0)
        runner.forget()
        return said

    with caplog.at_level(logging.ERROR):
        assert asyncio.run(main()) == ["lost"] * lost
    assert [record.getMessage() for record in caplog.records] == ["input of 1.0#1@q: internal error"] * lost


def test_an_order_that_fails_loses_its_run(tmp_path: Path) -> None:
    async def fails() -> None:
        raise FileNotFoundError("the record is gone")

    async def main() -> list[str]:
        said: list[str] = []
        runner = _runner(tmp_path, said)
        runner._queue.put_nowait(fails())
        await asyncio.sleep(0.01)
        runner.forget()
        return said

    assert asyncio.run(main()) == ["lost"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
@pytest.mark.parametrize("whose", ["user's", "removed", "not given to its user yet"])
def test_a_run_that_goes_on_is_nobody_elses_than_its_users(tmp_path: Path, whose: str) -> None:
    """Where the machine did not know the user just then, the rest was done as root, the start of a program too."""
    # Whatever a hook has made of the ad since.
    job_ad = ClassAd({"Owner": "root"})
    launch = SimpleNamespace(shares=ClassAd(), from_queue=True, job_ad=ClassAd({"Owner": "nobody-knows-them"}))
    state: Any = SimpleNamespace(launch=launch, job_ad=job_ad, run=1, printed=False)

    async def main() -> Runner:
        runner = _runner(tmp_path, [])
        assert runner.sandbox is not None
        if whose == "user's":
            os.chown(runner.sandbox.path, 54321, 54322)
        around: Any = runner.around
        around.as_daemon, around.config, around.file_workers = (
            False,
            load(MemoryHost(files={}), LoadOptions(roots=(), subsystem="STARTD", environment=False)),
            FileWorkers(),
        )
        around.scratch = SimpleNamespace(found=lambda name: None if whose == "removed" else tmp_path / name)
        around.execute = tmp_path
        runner.job_ad = job_ad
        runner.resume(state)
        runner.forget()
        return runner

    runner = asyncio.run(main())
    assert runner.account is not None and runner.sandbox is not None
    assert (runner.account.uid, runner.account.gid) == ((54321, 54322) if whose == "user's" else (65534, 65534))
    assert isinstance(runner.transfers.hands, FileWorker) and runner.sandbox.path == tmp_path / "dir_1.0_1_q"


def test_nothing_is_left_of_a_starter_that_is_given_up(tmp_path: Path) -> None:
    """Its scratch directory stayed until the next start of the daemon."""

    async def main() -> None:
        await _runner(tmp_path, said).give_up()

    said: list[str] = []
    asyncio.run(main())
    assert said == ["done"] and not list(tmp_path.iterdir())


def test_a_scratch_directory_in_which_something_was_still_written_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = ["dir_1: Directory not empty"]
    remove = Sandbox.remove
    monkeypatch.setattr(Sandbox, "remove", lambda sandbox: left.pop() if left else remove(sandbox))

    async def main() -> str:
        runner = _runner(tmp_path, [])
        assert runner.sandbox is not None
        text = await runner._removed(runner.sandbox)
        runner.forget()
        return text

    assert asyncio.run(main()) == "" and not list(tmp_path.iterdir())


class _Away(FileWorker):
    """A user's file worker that gives one answer to everything."""

    def __init__(self, problem: OSError) -> None:
        super().__init__(own_account(), FileWorkers())
        self.problem = problem

    def _ask(self, deed: str, *arguments: object, data: bytes = b"") -> Any:
        raise self.problem


@pytest.mark.parametrize(
    ("problem", "is_machines"),
    [
        (OSError(errno.ETIMEDOUT, "no answer within 20 s", "dir_1"), False),
        (OSError(errno.EIO, "the file-access process of ann has exited", "dir_1"), False),
        (PermissionError(errno.EACCES, "Permission denied for user ann", "dir_1"), False),
        (OSError(errno.ENOSPC, "No space left on device", "dir_1"), True),
    ],
)
def test_a_user_whose_file_worker_is_away_ends_a_run_and_stops_no_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: OSError, is_machines: bool
) -> None:
    """The run hung forever, or the machine took no jobs of anybody for some time."""
    told: list[Any] = []
    failed: list[str] = []

    async def nothing(*_: object) -> None:
        return None

    def order(runner: Runner, number: int, ad: ClassAd) -> None:
        runner.transfers.hands.make("dir_1", b"", 0o644)

    monkeypatch.setattr("roost.runtime.node.runs.runner.job_order", order)

    async def main() -> None:
        runner = _runner(tmp_path, [])
        around: Any = runner.around
        around.tell, around.failed, around.execute = told.append, failed.append, tmp_path
        around.problem = lambda: ""
        transfers: Any = runner.transfers
        transfers.hands, transfers.fetch_input = _Away(problem), nothing
        await runner._input(ClassAd())
        await runner._start(1, ClassAd())
        runner.forget()

    asyncio.run(main())
    first, second = told
    assert isinstance(first, sev.InputFailed) and first.code is None
    assert isinstance(second, sev.JobNotStarted) and second.code is None
    # A time-out loses its file on the way through asyncio; then the directory is named.
    assert re.fullmatch(rf"cannot read \S+: {problem.strerror}", first.text)
    assert re.fullmatch(rf"cannot write \S+: {problem.strerror}", second.text)
    assert len(failed) == (2 if is_machines else 0)
