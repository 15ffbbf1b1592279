"""The queue's end of file transfers: input looked up, pieces served and taken, and what is kept for the next run.

What a job has saved comes into a directory beside the one that the next run gets, and takes its place when it is whole.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from collections import OrderedDict
from functools import partial
from pathlib import Path
from typing import Final

from roost.model.starter import StarterHold
from roost.runtime.accounts import NoSuchAccount
from roost.runtime.deputies import Deputies
from roost.runtime.deputy.hands import OWN, Hands
from roost.runtime.input_files import input_manifest
from roost.runtime.output_files import output_place
from roost.runtime.transfer import (
    FileItem,
    LocalSink,
    LocalSource,
    Manifest,
    Piece,
    TransferProblem,
    pack_items,
    unpack_items,
)
from roost.schedd.book import Job
from roost.schedd.identifiers import JobId
from roost.schedd.queue import Queue
from roost.wire.messages import AskFiles, FilePart, Files, FileTaken, GetFile, Message, OutputDone, PutFile

#: Manifests kept for runs that are being served.
MANIFESTS_MAX: Final = 500
#: What follows the name of a job in that of the directory whose files have not all come.
_COMING: Final = ".new"


class Spool:
    """Files of jobs, as the queue sees them."""

    def __init__(self, directory: Path, deputies: Deputies) -> None:
        self._directory = directory
        self._deputies = deputies
        self._manifests: OrderedDict[str, Manifest] = OrderedDict()

    def kept(self, job: JobId) -> Path:
        """Where files are that a job gets with its next run."""
        return self._directory / f"{job}"

    def _coming(self, job: JobId) -> Path:
        return self._directory / f"{job}{_COMING}"

    def forget(self, job: JobId) -> None:
        """A job has left: nothing is kept for it."""
        for path in (self.kept(job), self._coming(job)):
            # Asked for each job that leaves; few have files here.
            if os.path.exists(path):  # noqa: PTH110
                _remove(path)

    def sweep(self, queue: Queue) -> None:
        """Forget the jobs that had left when an earlier daemon was killed."""
        for path in self._directory.iterdir():
            with contextlib.suppress(ValueError):
                if queue.book.find(JobId.read(path.name.removesuffix(_COMING))) is None:
                    _remove(path)

    async def serve(self, message: Message, queue: Queue, node: str) -> Message | None:
        """Answer a machine's request about files of a run on it; None for a message of another kind."""
        if not isinstance(message, AskFiles | GetFile | PutFile | OutputDone):
            return None
        job = _job_of(message.run, queue, node)
        match message:
            case AskFiles():
                return await self._input(message.run, job)
            case GetFile():
                return await self._part(message, job)
            case PutFile():
                return await self._take(message, job)
            case OutputDone():
                return await self._done(message, job)

    async def _input(self, run: str, job: Job | None) -> Files:
        if job is None:
            return Files(error="the run is not known any more", code=int(StarterHold.TRANSFER_INPUT_ERROR))
        found = await asyncio.to_thread(self._found, job)
        if isinstance(found, TransferProblem):
            return Files(error=found.text, code=int(found.code), subcode=found.subcode)
        self._manifests[run] = found
        while len(self._manifests) > MANIFESTS_MAX:
            self._manifests.popitem(last=False)
        return Files(items=pack_items(found.items))

    def _found(self, job: Job) -> Manifest | TransferProblem:
        hands = self._hands(job)
        if isinstance(hands, TransferProblem):
            return hands
        return input_manifest(job.ad, spool=self.kept(job.id), hands=hands)

    def _hands(self, job: Job) -> Hands | TransferProblem:
        """Who touches the files of a job's user: its owner on record, whatever its ad says."""
        try:
            return self._deputies.hands_of(job.owner)
        except NoSuchAccount as problem:
            return TransferProblem(code=StarterHold.NO_USER_ACCOUNT, text=str(problem))

    async def _hands_soon(self, job: Job) -> Hands | TransferProblem:
        return await asyncio.to_thread(self._hands, job) if self._deputies.are_needed else OWN

    async def _part(self, message: GetFile, job: Job | None) -> FilePart:
        code = StarterHold.TRANSFER_INPUT_ERROR
        if message.run not in self._manifests:
            found = await self._input(message.run, job)
            if found.error:
                return FilePart(error=found.error, code=found.code, subcode=found.subcode)
        manifest = self._manifests[message.run]
        item = next((each for each in manifest.items if each.name == message.name), FileItem(name=message.name))
        if job is None:
            return FilePart(error="the run is not known any more", code=int(code))
        hands = await self._hands_soon(job)
        if isinstance(hands, TransferProblem):
            return FilePart(error=hands.text, code=int(hands.code))
        piece = await LocalSource(manifest, code, hands=hands).read(item, message.offset, message.size)
        if isinstance(piece, TransferProblem):
            return FilePart(error=piece.text, code=int(piece.code), subcode=piece.subcode)
        return FilePart(data=piece.data, last=piece.last)

    async def _take(self, message: PutFile, job: Job | None) -> FileTaken:
        code = StarterHold.TRANSFER_OUTPUT_ERROR
        if job is None:
            return FileTaken(error="the run is not known any more", code=int(code))
        try:
            (item,) = unpack_items(message.item)
            coming = self._coming(job.id)
            where = output_place(job.ad) if message.to == "home" else lambda name: coming / name
        except ValueError as error:
            return FileTaken(error=str(error), code=int(code))
        home = message.to == "home"
        hands = await self._hands_soon(job) if home else OWN
        if isinstance(hands, TransferProblem):
            return FileTaken(error=hands.text, code=int(hands.code))
        sink = LocalSink(where, code, sync=not home, hands=hands)
        if not message.begun:
            if not home:
                coming.mkdir(mode=0o700, exist_ok=True)
            begun = await sink.begin(item)
            if isinstance(begun, TransferProblem):
                return FileTaken(error=begun.text, code=int(begun.code), subcode=begun.subcode)
            return FileTaken(offset=begun)
        problem = await sink.write(item, message.offset, Piece(data=message.data, last=message.last))
        if problem is not None:
            return FileTaken(error=problem.text, code=int(problem.code), subcode=problem.subcode)
        return FileTaken(offset=message.offset + len(message.data))

    async def _done(self, message: OutputDone, job: Job | None) -> FileTaken:
        if job is None:
            return FileTaken(error="the run is not known any more", code=int(StarterHold.TRANSFER_OUTPUT_ERROR))
        if message.to == "home":
            return FileTaken()
        return await asyncio.to_thread(self._replace, job.id)

    def _replace(self, job: JobId) -> FileTaken:
        kept, coming, old = self.kept(job), self._coming(job), self._directory / f"{job}.old"
        try:
            if not coming.exists():
                return FileTaken()
            shutil.rmtree(old, ignore_errors=True)
            if kept.exists():
                kept.rename(old)
            coming.rename(kept)
            shutil.rmtree(old, ignore_errors=True)
        except OSError as error:
            code = int(StarterHold.FAILED_TO_CHECKPOINT)
            return FileTaken(error=f"{error.filename}: {error.strerror}", code=code, subcode=error.errno or 0)
        return FileTaken()


def _job_of(run: str, queue: Queue, node: str) -> Job | None:
    """The job whose present run has that name, on that machine."""
    try:
        job = queue.book.find(JobId.read(run.partition("#")[0]))
    except ValueError:
        return None
    if job is None or job.run != run:
        return None
    claim = queue.holder.claims.get(job.claim_id)
    return job if claim is not None and claim.node == node else None


def _remove(path: Path) -> None:
    """Remove a directory while others are served: there may be much in it."""
    asyncio.get_running_loop().run_in_executor(None, partial(shutil.rmtree, path, ignore_errors=True))
