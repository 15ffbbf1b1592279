"""The queue's end of file transfers: listing input, serving and storing pieces, and keeping files for the next run.

A job's saved files go into a directory for that transfer, next to the one for the next run, and replace it when the
transfer is complete. Incomplete output is next to its target, under a name unique to the run (`transfer.mark`); when
the run is over, what is left of it is removed (`partials`).

A machine that gets no answer asks again. Requests that write are therefore carried out one after another for each run,
in the order of arrival: when one is answered, no earlier one is still in progress.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
from collections import OrderedDict
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Final
from weakref import WeakValueDictionary

from roost.model.starter import StarterHold
from roost.runtime.files.file_workers import FileWorkers, with_hands
from roost.runtime.files.input_files import input_manifest
from roost.runtime.files.output_files import output_place
from roost.runtime.files.transfer import (
    FileItem,
    ItemKind,
    LocalSink,
    LocalSource,
    Manifest,
    Piece,
    TransferProblem,
    mark,
    pack_items,
    unpack_items,
)
from roost.runtime.files.worker.hands import OWN, Hands
from roost.runtime.processes.accounts import NoSuchAccount
from roost.runtime.queue.partials import Partial, Partials
from roost.runtime.queue.transfer_limits import TransferLimits
from roost.schedd.identifiers import JobId
from roost.schedd.jobs.book import Job
from roost.schedd.queue import Queue
from roost.wire.messages import AskFiles, FilePart, Files, FileTaken, GetFile, Message, OutputDone, PutFile

_log = logging.getLogger("roost.schedd")

#: Maximum number of manifests kept for runs being served.
MANIFESTS_MAX: Final = 500
#: Suffix of a job's directories for transfers that are not complete.
_COMING: Final = ".new"
#: Suffix of the previous directory for the next run, while another one replaces it.
_OLD: Final = ".old"
#: The file that records users' incomplete files.
_PARTIALS: Final = ".partials"


class Spool:
    """Files of jobs on the queue's side."""

    def __init__(self, directory: Path, file_workers: FileWorkers, *, secret: bytes) -> None:
        """`secret` is the queue's: it identifies its incomplete files."""
        self._directory = directory
        self._file_workers = file_workers
        self._secret = secret.hex()
        self._manifests: OrderedDict[str, Manifest] = OrderedDict()
        self._partials = Partials(directory / _PARTIALS)
        #: Run to the lock of those that write for it.
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._tidying: asyncio.Task[None] | None = None
        #: Runs whose input is being transferred, and whose output is.
        self.uploads, self.downloads = TransferLimits(0, monotonic), TransferLimits(0, monotonic)

    def kept(self, job: JobId) -> Path:
        """The directory with files for a job's next run."""
        return self._directory / f"{job}"

    def _beside(self, job: JobId, suffix: str) -> Path:
        return self._directory / f"{job}{suffix}"

    def forget_all(self, first: JobId, last: int) -> None:
        """Remove the files of consecutive jobs that have left, up to the number `last`."""
        for name in os.listdir(self._directory):  # noqa: PTH208
            cluster, _, rest = name.partition(".")
            proc = rest.partition(".")[0]
            if cluster == str(first.cluster) and proc.isdecimal() and first.proc <= int(proc) <= last:
                _remove(self._directory / name)

    def forget(self, job: JobId) -> None:
        """Remove the files of a job that has left."""
        for path in (self.kept(job), self._beside(job, _COMING), self._beside(job, _OLD)):
            # Called for each job that leaves; few have files here.
            if os.path.exists(path):  # noqa: PTH110
                _remove(path)

    def sweep(self, queue: Queue) -> None:
        """Remove the files of jobs that had left when an earlier daemon was killed, and finish its other interrupted
        work.
        """
        self._partials.load()
        for path in sorted(self._directory.iterdir()):
            with contextlib.suppress(ValueError):
                job = JobId.read(path.name.removesuffix(_COMING).removesuffix(_OLD))
                if queue.book.find(job) is None:
                    _remove(path)
                elif path.suffix == _OLD:
                    # Killed between the two: the machine asks again to complete the replacement.
                    self._settle(job)

    def tidy(self, queue: Queue) -> None:
        """Remove what finished runs have left in users' directories."""
        over = [run for run in self._partials.runs if not _is_run(run, queue)]
        if over and self._tidying is None:
            self._tidying = asyncio.create_task(self._tidy(over), name="unfinished files")
            self._tidying.add_done_callback(self._tidied)

    def _tidied(self, task: asyncio.Task[None]) -> None:
        self._tidying = None
        if not task.cancelled() and task.exception() is not None:
            _log.error("internal error", exc_info=task.exception())

    async def _tidy(self, runs: list[str]) -> None:
        for run in runs:
            async with self._turn(run):
                for each in self._partials.over(run):
                    await asyncio.to_thread(self._discard, each)

    def _discard(self, left: Partial) -> None:
        # The user is gone, or the directory is: then there is nothing to do.
        with contextlib.suppress(NoSuchAccount, OSError):
            self._file_workers.hands_of(left.owner).discard(left.target, left.mark)

    def _turn(self, run: str) -> asyncio.Lock:
        return self._turns.setdefault(run, asyncio.Lock())

    async def serve(self, message: Message, queue: Queue, node: str) -> Message | None:
        """Answer a machine's request about files of a run on it; None for any other message."""
        if not isinstance(message, AskFiles | GetFile | PutFile | OutputDone):
            return None
        match message:
            case AskFiles():
                return await self._begin_input(message.run, job_of(message.run, queue, node))
            case GetFile():
                return await self._part(message, job_of(message.run, queue, node))
            case PutFile() | OutputDone():
                async with self._turn(message.run):
                    job = job_of(message.run, queue, node)
                    if isinstance(message, PutFile):
                        return await self._take(message, job)
                    self.downloads.leave(message.run)
                    return await self._done(message, job)

    async def _begin_input(self, run: str, job: Job | None) -> Files:
        """Send a run its input manifest, if it may be transferred now."""
        if job is not None and not self.uploads.take(run):
            return Files(wait=True)
        found = await self._input(run, job)
        if self._last_file(run) is None:
            self.uploads.leave(run)
        return found

    def _last_file(self, run: str) -> str | None:
        """The name of the file that is transferred last; None without one."""
        manifest = self._manifests.get(run)
        items = () if manifest is None else manifest.items
        return next((item.name for item in reversed(items) if item.kind is ItemKind.FILE), None)

    async def _input(self, run: str, job: Job | None) -> Files:
        if job is None:
            return Files(error="the run is no longer known", code=int(StarterHold.TRANSFER_INPUT_ERROR))
        if os.path.exists(self._beside(job.id, _OLD)):  # noqa: PTH110
            try:
                await asyncio.to_thread(self._settle, job.id)
            except OSError as problem:
                text = f"cannot restore the job's saved files: {problem.filename}: {problem.strerror}"
                code = int(StarterHold.TRANSFER_INPUT_ERROR)
                return Files(error=text, code=code, subcode=problem.errno or 0)
        hands = await self._hands_soon(job)
        if isinstance(hands, TransferProblem):
            found: Manifest | TransferProblem = hands
        else:
            found = await with_hands(hands, input_manifest, job.ad, spool=self.kept(job.id), hands=hands)
        if isinstance(found, TransferProblem):
            return Files(error=found.text, code=int(found.code), subcode=found.subcode)
        self._manifests[run] = found
        while len(self._manifests) > MANIFESTS_MAX:
            self._manifests.popitem(last=False)
        return Files(items=pack_items(found.items), saved=sorted(name for name in found.kept if "/" not in name))

    def _hands(self, job: Job) -> Hands | TransferProblem:
        """The `Hands` for the files of a job's user: its recorded owner, whatever its ad says."""
        try:
            return self._file_workers.hands_of(job.owner)
        except NoSuchAccount as problem:
            return TransferProblem(code=StarterHold.NO_USER_ACCOUNT, text=str(problem))

    async def _hands_soon(self, job: Job) -> Hands | TransferProblem:
        return await asyncio.to_thread(self._hands, job) if self._file_workers.are_needed else OWN

    async def _part(self, message: GetFile, job: Job | None) -> FilePart:
        code = StarterHold.TRANSFER_INPUT_ERROR
        try:
            name = unpack_items(message.item)[0].name if message.item else message.name
        except (ValueError, IndexError) as error:
            return FilePart(error=str(error), code=int(code))
        if message.run not in self._manifests:
            found = await self._input(message.run, job)
            if found.error:
                return FilePart(error=found.error, code=found.code, subcode=found.subcode)
        manifest = self._manifests[message.run]
        item = next((each for each in manifest.items if each.name == name), FileItem(name=name))
        if job is None:
            return FilePart(error="the run is no longer known", code=int(code))
        hands = await self._hands_soon(job)
        if isinstance(hands, TransferProblem):
            return FilePart(error=hands.text, code=int(hands.code))
        piece = await LocalSource(manifest, code, hands=hands).read(item, message.offset, message.size)
        if isinstance(piece, TransferProblem):
            self.uploads.leave(message.run)
            return FilePart(error=piece.text, code=int(piece.code), subcode=piece.subcode)
        if piece.last and name == self._last_file(message.run):
            self.uploads.leave(message.run)
        elif message.run in self.uploads:
            self.uploads.take(message.run)
        return FilePart(data=piece.data, last=piece.last)

    async def _take(self, message: PutFile, job: Job | None) -> FileTaken:
        code = StarterHold.TRANSFER_OUTPUT_ERROR
        if job is None:
            return FileTaken(error="the run is no longer known", code=int(code))
        if not self.downloads.take(message.run):
            return FileTaken(wait=True)
        home = message.to == "home"
        try:
            (item,) = unpack_items(message.item)
            coming = self._coming(job.id, message.transfer)
            where = output_place(job.ad) if home else lambda name: coming / name
        except ValueError as error:
            return FileTaken(error=str(error), code=int(code))
        hands = await self._hands_soon(job) if home else OWN
        if isinstance(hands, TransferProblem):
            return FileTaken(error=hands.text, code=int(hands.code))
        writer = f"{self._secret} {message.run}"
        sink = LocalSink(where, code, writer=writer, sync=not home, hands=hands)
        target = where(item.name)
        under_way = Partial(job.owner, str(target), mark(writer, target, item))
        if home and item.kind is ItemKind.FILE:
            self._partials.begun(message.run, under_way)
        if not message.begun:
            if not home:
                coming.mkdir(mode=0o700, parents=True, exist_ok=True)
            taken = await sink.begin(item)
        else:
            taken = await sink.write(item, message.offset, Piece(data=message.data, last=message.last))
        if isinstance(taken, TransferProblem):
            self.downloads.leave(message.run)
            return FileTaken(error=taken.text, code=int(taken.code), subcode=taken.subcode)
        if message.last and taken == message.offset + len(message.data):
            self._partials.finished(message.run, under_way)
        return FileTaken(offset=taken)

    def _coming(self, job: JobId, transfer: str) -> Path:
        """The directory of one transfer until it is complete, used by nothing else. Raises ValueError."""
        if not (transfer.isascii() and transfer.isalnum()):
            raise ValueError(f"{transfer!r} is not the name of a transfer")
        return self._beside(job, _COMING) / transfer

    async def _done(self, message: OutputDone, job: Job | None) -> FileTaken:
        if job is None:
            return FileTaken(error="the run is no longer known", code=int(StarterHold.TRANSFER_OUTPUT_ERROR))
        if message.to == "home":
            return FileTaken()
        try:
            coming = self._coming(job.id, message.transfer)
        except ValueError as error:
            return FileTaken(error=str(error), code=int(StarterHold.FAILED_TO_CHECKPOINT))
        return await asyncio.to_thread(self._replace, job.id, coming)

    def _replace(self, job: JobId, coming: Path) -> FileTaken:
        """Replace the kept files by those of a complete transfer: wherever this is interrupted, one of the two is
        complete.
        """
        kept, old = self.kept(job), self._beside(job, _OLD)
        try:
            self._settle(job)
            # If it does not exist, this was already done, or there was nothing to send.
            if coming.exists():
                # The machine removes its files once it gets the answer.
                for directory, _, _ in os.walk(coming):
                    _sync(directory)
                if kept.exists():
                    kept.rename(old)
                coming.rename(kept)
                _sync(self._directory)
            shutil.rmtree(old, ignore_errors=True)
            # Including the remains of earlier interrupted transfers.
            shutil.rmtree(coming.parent, ignore_errors=True)
        except OSError as error:
            with contextlib.suppress(OSError):
                self._settle(job)
            code = int(StarterHold.FAILED_TO_CHECKPOINT)
            return FileTaken(error=f"{error.filename}: {error.strerror}", code=code, subcode=error.errno or 0)
        return FileTaken()

    def _settle(self, job: JobId) -> None:
        """Finish an interrupted replacement: put the directory for the next run in its place. Raises OSError."""
        kept, old = self.kept(job), self._beside(job, _OLD)
        if old.exists() and kept.exists():
            shutil.rmtree(old, ignore_errors=True)
        elif old.exists():
            old.rename(kept)


def _sync(directory: str | Path) -> None:
    """Flush the entries of a directory to disk. Raises OSError."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def job_of(run: str, queue: Queue, node: str) -> Job | None:
    """The job whose current run has that name, on that machine."""
    try:
        job = queue.book.find(JobId.read(run.partition("#")[0]))
    except ValueError:
        return None
    if job is None or job.run != run:
        return None
    claim = queue.claim_table.claims.get(job.claim_id)
    return job if claim is not None and claim.node == node else None


def _is_run(run: str, queue: Queue) -> bool:
    """Whether it is the current run of its job."""
    try:
        job = queue.book.find(JobId.read(run.partition("#")[0]))
    except ValueError:
        return False
    return job is not None and job.run == run


def _remove(path: Path) -> None:
    """Remove a directory while other requests are served: it may contain much."""
    asyncio.get_running_loop().run_in_executor(None, partial(shutil.rmtree, path, ignore_errors=True))
