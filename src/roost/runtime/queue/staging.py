"""Files of jobs that were submitted with ``-spool``: received from the user before a job starts, returned after its
end.

Each such job has a directory here, its Iwd, which belongs to the job's user. The user's command sends the files in
pieces, and says when it has sent all of them; the job is then idle. The contents at that time are recorded, so that
only files that the job has created or changed are returned later.

This module does not decide what a job needs or where its output goes. The command does, which has the user's files
(`runtime.asking.spooling`).
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import time
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from roost.model.starter import StarterHold
from roost.runtime.bus.request_answers import BadRequest, NotFound
from roost.runtime.files.file_workers import FileWorkers, with_hands
from roost.runtime.files.input_files import collected
from roost.runtime.files.transfer import (
    ITEMS_MAX,
    FileItem,
    ItemKind,
    LocalSink,
    LocalSource,
    Manifest,
    Piece,
    TransferProblem,
    pack_items,
    unpack_items,
)
from roost.runtime.files.worker.hands import OWN, Hands
from roost.runtime.processes.accounts import NoSuchAccount, account_named
from roost.runtime.processes.sandbox import remove_tree
from roost.schedd.identifiers import JobId
from roost.schedd.jobs.book import Job, is_spooling
from roost.schedd.spooled import is_spooled
from roost.wire.messages import Answer
from roost.wire.requests import queue as rq

if TYPE_CHECKING:
    from roost.runtime.home import Home
    from roost.schedd.claims.claim_table import QueueSettings
    from roost.schedd.queue import Queue

#: Size of a piece, bytes; it must fit into a request in base 64.
PIECE_BYTES: Final = 384 * 1024
#: Maximum number of directories whose contents are cached while they are read.
MANIFESTS_MAX: Final = 100
_PLACE: Final = "staged"
#: Name of the file with the contents of a directory at the time its job became idle.
_CATALOG: Final = ".catalog"
_CODE: Final = StarterHold.TRANSFER_INPUT_ERROR


class StagingDaemon(Protocol):
    """The interface of the queue's daemon for spooled files."""

    queue: Queue
    settings: QueueSettings
    file_workers: FileWorkers


class Staging:
    """The directories of the jobs of one queue."""

    def __init__(self, home: Home, daemon: StagingDaemon) -> None:
        self._home = home
        self._daemon = daemon
        self._top = home.spool / _PLACE
        self._secret = home.secret().hex()
        #: When the first piece of a job arrived, epoch s.
        self._begun: dict[JobId, int] = {}
        self._manifests: OrderedDict[JobId, Manifest] = OrderedDict()

    def place(self, job: JobId) -> Path:
        """The directory of a job."""
        return self._top / str(job)

    # -- jobs that leave -----------------------------------------------------------------------------

    def forget_all(self, first: JobId, last: int) -> None:
        """Remove the files of consecutive jobs that have left, up to the number `last`."""
        # Few queues have a directory here, and few jobs have one in it.
        if os.path.exists(self._top):  # noqa: PTH110
            for name in os.listdir(self._top):  # noqa: PTH208
                cluster, _, proc = name.removesuffix(_CATALOG).partition(".")
                if cluster == str(first.cluster) and proc.isdecimal() and first.proc <= int(proc) <= last:
                    self._remove(self._top / name)

    def forget(self, job: JobId) -> None:
        """Remove the files of a job that has left."""
        self.forget_all(job, job.proc)
        self._begun.pop(job, None)
        self._manifests.pop(job, None)

    def sweep(self) -> None:
        """Remove the files of jobs that had left when an earlier daemon was killed."""
        with contextlib.suppress(FileNotFoundError):
            for path in sorted(self._top.iterdir()):
                with contextlib.suppress(ValueError):
                    if self._daemon.queue.book.find(JobId.read(path.name.removesuffix(_CATALOG))) is None:
                        self._remove(path)

    def _remove(self, path: Path) -> None:
        asyncio.get_running_loop().run_in_executor(None, remove_tree, path)

    # -- files received ------------------------------------------------------------------------------

    def _job(self, name: str, sender: str) -> Job | Answer:
        job = self._daemon.queue.book.find(JobId.read(name))
        if job is None:
            raise NotFound(f"job {name} is not in the queue")
        if sender != job.owner and sender not in self._daemon.settings.superusers:
            return Answer(ok=False, code="permission-denied", text=f"job {name} belongs to {job.owner}")
        return job

    async def take(self, asked: rq.SpoolFile, sender: str) -> rq.Spooled | Answer:
        """Store a piece of a file."""
        job = self._job(asked.job, sender)
        if isinstance(job, Answer):
            return job
        if not is_spooling(job.ad):
            raise BadRequest(f"job {asked.job} does not wait for its files")
        item = _item(asked.item)
        self._begun.setdefault(job.id, int(time.time()))
        hands = await asyncio.to_thread(self._made, job)
        sink = self._sink(job, hands)
        if asked.offset == 0 and not asked.data and not asked.last:
            taken = await sink.begin(item)
        else:
            if item.kind is ItemKind.FILE and asked.offset == 0:
                begun = await sink.begin(item)
                if isinstance(begun, TransferProblem):
                    return _refused(begun)
            piece = Piece(data=base64.b64decode(asked.data), last=asked.last)
            taken = await sink.write(item, asked.offset, piece)
        return _refused(taken) if isinstance(taken, TransferProblem) else rq.Spooled(offset=taken)

    def _sink(self, job: Job, hands: Hands) -> LocalSink:
        place = self.place(job.id)
        return LocalSink(lambda name: place / name, _CODE, writer=f"{self._secret} {job.id}", hands=hands, sync=True)

    def _made(self, job: Job) -> Hands:
        """The `Hands` of the job's user, whose directory exists. Raises BadRequest."""
        path = self.place(job.id)
        try:
            hands = self._daemon.file_workers.hands_of(job.owner)
            if path.is_dir():
                return hands
            self._top.mkdir(mode=0o700, exist_ok=True)
            path.mkdir(mode=0o700)
            if hands is not OWN:
                account = account_named(job.owner)
                os.chown(path, account.uid, account.gid)
                self._home.let_others_to(self._home.spool)
                self._top.chmod(0o711)
        except NoSuchAccount as problem:
            raise BadRequest(str(problem)) from None
        except OSError as problem:
            raise BadRequest(f"cannot make {path}: {problem.strerror}") from None
        return hands

    async def all_came(self, name: str, sender: str) -> tuple[Job, tuple[str, ...], int] | Answer:
        """The top-level entries of a job's directory, now that all files have arrived, and when the first one did."""
        job = self._job(name, sender)
        if isinstance(job, Answer):
            return job
        if not is_spooling(job.ad):
            raise BadRequest(f"job {name} does not wait for its files")
        hands = await asyncio.to_thread(self._made, job)
        found = await with_hands(hands, _listed, hands, self.place(job.id))
        catalog = {item.name: [item.size, item.changed_ns] for item, _ in found}
        await asyncio.to_thread(self._note, job.id, catalog)
        names = tuple(dict.fromkeys(item.name.partition("/")[0] for item, _ in found))
        for each in names:
            if "," in each:
                raise BadRequest(f"the name {each!r} has a comma, which divides the names of input files")
        return job, names, self._begun.get(job.id, int(time.time()))

    def _note(self, job: JobId, catalog: dict[str, list[int]]) -> None:
        path = self._top / f"{job}{_CATALOG}"
        with path.open("w", encoding="utf-8", errors="surrogateescape") as file:
            json.dump(catalog, file)
            file.flush()
            os.fsync(file.fileno())
        directory = os.open(self._top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)

    # -- files that go -------------------------------------------------------------------------------

    async def files(self, asked: rq.SpooledFiles, sender: str) -> str | Answer:
        """The files that a job has created or changed."""
        job = self._job(asked.job, sender)
        if isinstance(job, Answer):
            return job
        if not is_spooled(job):
            raise BadRequest(f"job {asked.job} was not submitted with -spool, or its files have not all come")
        hands = await asyncio.to_thread(self._made, job)
        found = await with_hands(hands, _listed, hands, self.place(job.id))
        before = await asyncio.to_thread(self._noted, job.id)
        items = _changed(found, before)
        sources = {item.name: path for item, path in found}
        self._manifests[job.id] = Manifest(items=tuple(items), sources=sources)
        while len(self._manifests) > MANIFESTS_MAX:
            self._manifests.popitem(last=False)
        return pack_items(items).decode()

    def _noted(self, job: JobId) -> dict[str, list[int]]:
        try:
            text = (self._top / f"{job}{_CATALOG}").read_text(encoding="utf-8", errors="surrogateescape")
            found = json.loads(text)
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    async def read(self, asked: rq.ReadSpooled, sender: str) -> rq.SpooledPart | Answer:
        """A piece of one of them."""
        job = self._job(asked.job, sender)
        if isinstance(job, Answer):
            return job
        item = _item(asked.item)
        if job.id not in self._manifests:
            again = await self.files(rq.SpooledFiles(job=asked.job), sender)
            if isinstance(again, Answer):
                return again
        hands = await asyncio.to_thread(self._made, job)
        source = LocalSource(self._manifests[job.id], StarterHold.TRANSFER_OUTPUT_ERROR, hands=hands)
        piece = await source.read(item, asked.offset, PIECE_BYTES)
        if isinstance(piece, TransferProblem):
            return _refused(piece)
        return rq.SpooledPart(data=base64.b64encode(piece.data).decode(), last=piece.last)


def _item(text: str) -> FileItem:
    try:
        return unpack_items(text.encode())[0]
    except (ValueError, IndexError) as error:
        raise BadRequest(f"item: {error}") from None


def _refused(problem: TransferProblem) -> Answer:
    return Answer(ok=False, code="not-transferred", text=problem.text)


def _listed(hands: Hands, place: Path) -> list[tuple[FileItem, Path]]:
    """The contents of a directory. Raises BadRequest."""
    try:
        found = [each for each in collected(hands, "", place) if not _is_partial(each[0].name)]
    except (OSError, ValueError) as problem:
        raise BadRequest(str(problem)) from None
    if len(found) > ITEMS_MAX:
        raise BadRequest(f"more than {ITEMS_MAX} files; pack them into an archive")
    return found


def _is_partial(name: str) -> bool:
    last = name.rpartition("/")[2]
    return last.startswith(".roost-") and last.endswith(".part")


def _changed(found: list[tuple[FileItem, Path]], before: dict[str, list[int]]) -> list[FileItem]:
    """New and changed files; with the directories that lead to them, and new directories."""
    files = [item for item, _ in found if item.kind is ItemKind.FILE]
    sent = [item for item in files if before.get(item.name) != [item.size, item.changed_ns]]
    parents = {parent for item in sent for parent in _parents(item.name)}
    directories = (item for item, _ in found if item.kind is ItemKind.DIRECTORY)
    return [*(item for item in directories if item.name in parents or item.name not in before), *sent]


def _parents(name: str) -> list[str]:
    parts = name.split("/")[:-1]
    return ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
