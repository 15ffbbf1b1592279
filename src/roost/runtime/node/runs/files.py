"""Transferring the files of a run between its machine and its queue, over the bus.

The machine pulls the input and pushes the output, piece by piece; each piece is a message and its answer, repeated if
lost. Neither machine therefore needs access to the other's disk, and a queue's file is never in memory as a whole.

A queue that is away is waited for, however long that takes: the lease of the claim limits the wait, and then the run is
ended. A restart of a daemon never causes a job to be held, or a result to be given up.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from roost.classad import ClassAd
from roost.model.starter import Output, StarterHold
from roost.runtime.bus.client import BusError, Carrier
from roost.runtime.files.file_workers import with_hands
from roost.runtime.files.output_files import Baseline, checkpoint_manifest, output_manifest
from roost.runtime.files.transfer import (
    FileItem,
    LocalSink,
    LocalSource,
    Manifest,
    Piece,
    TransferProblem,
    move,
    pack_items,
    unpack_items,
)
from roost.runtime.files.worker.hands import OWN, Hands
from roost.wire.codec import as_text
from roost.wire.messages import Answer, AskFiles, FilePart, Files, FileTaken, GetFile, Message, OutputDone, PutFile

_log = logging.getLogger("roost.starter")

#: How long to wait for an answer before the message is repeated, and the maximum pause before that, s.
ANSWER_S: Final = 15.0
#: How soon the queue is asked again while the maximum number of runs transfer files, s.
WAIT_S: Final = 0.5
PAUSE_S_MAX: Final = 5.0

A = TypeVar("A", bound=Message)
T = TypeVar("T", Files, FileTaken)


class QueueRefuses(Exception):
    """The queue's answer is not of the requested kind."""


class Transfers:
    """The files of one run."""

    def __init__(self, bus: Carrier, node: str, schedd: str, run: str, moved: Callable[[str], None]) -> None:
        #: The `Hands` for the scratch directory.
        self.hands: Hands = OWN
        self._bus = bus
        self._subject = bus.subjects.schedd(schedd, node)
        self._run = run
        self._moved = moved
        #: The last reported stage of the transfer in progress.
        self._reported: set[str] = set()
        #: Bytes that the job has received and sent.
        self.received = 0
        self.sent = 0
        #: Bytes of the input, and top-level files that an earlier run has saved, as reported by the queue.
        self.input_bytes = 0
        self.saved: frozenset[str] = frozenset()

    async def _ask(self, message: Message, kind: type[A]) -> A:
        pause_s = 0.1
        while True:
            try:
                answer = await self._bus.request(self._subject, message, ANSWER_S)
            except BusError as error:
                _log.info("%s: %s: %s; asking again", self._run, type(message).__name__, error)
                await asyncio.sleep(pause_s)
                pause_s = min(PAUSE_S_MAX, 2 * pause_s)
                continue
            if isinstance(answer, kind):
                return answer
            text = answer.text if isinstance(answer, Answer) else type(answer).__name__
            raise QueueRefuses(f"the queue answered {type(message).__name__} with: {text}")

    async def _in_turn(self, message: Message, kind: type[T], what: str) -> T:
        """Repeat a request until a transfer slot is free. The queue is notified that the files wait, and that they are
        transferred.
        """
        while (answer := await self._ask(message, kind)).wait:
            self._tell(f"{what}-queued")
            await asyncio.sleep(WAIT_S)
        self._tell(f"{what}-started")
        return answer

    def _tell(self, stage: str) -> None:
        if stage not in self._reported:
            self._reported.add(stage)
            self._moved(stage)

    async def fetch_input(self, sandbox: Path) -> TransferProblem | None:
        """Fetch the input into the sandbox; return the reason for a failure."""
        code = StarterHold.TRANSFER_INPUT_ERROR
        self._reported.clear()
        try:
            files = await self._in_turn(AskFiles(run=self._run), Files, "input")
            if files.error:
                return _transfer_problem(files.error, files.code, files.subcode, code)
            items = unpack_items(files.items)
            self.input_bytes = sum(item.size for item in items)
            saved = frozenset(files.saved)
            self.saved = frozenset(item.name for item in items if as_text(item.name) in saved)
            sink = LocalSink(lambda name: sandbox / name, code, writer=self._run, hands=self.hands)
            found = await move(items, _Remote(self, code), sink)
        except (QueueRefuses, ValueError) as problem:
            return TransferProblem(code=code, text=str(problem))
        if isinstance(found, TransferProblem):
            return found
        self.received += found
        return None

    async def send_output(
        self, job_ad: ClassAd, sandbox: Path, baseline: Baseline, destination: Output
    ) -> TransferProblem | None:
        """Send the output to its destination; return the reason for a failure."""
        manifest = await with_hands(self.hands, output_manifest, job_ad, sandbox, baseline, hands=self.hands)
        to = "spool" if destination is Output.KEPT else "home"
        return await self._send(manifest, sandbox, to, StarterHold.TRANSFER_OUTPUT_ERROR)

    async def send_checkpoint(self, job_ad: ClassAd, sandbox: Path, baseline: Baseline) -> TransferProblem | None:
        """Send the job's checkpoint; return the reason for a failure."""
        manifest = await with_hands(self.hands, checkpoint_manifest, job_ad, sandbox, baseline, hands=self.hands)
        return await self._send(manifest, sandbox, "spool", StarterHold.FAILED_TO_CHECKPOINT)

    async def _send(
        self, manifest: Manifest | TransferProblem, sandbox: Path, to: str, code: StarterHold
    ) -> TransferProblem | None:
        if isinstance(manifest, TransferProblem):
            return manifest
        source = LocalSource(manifest, code, inside=sandbox, hands=self.hands)
        self._reported.clear()
        try:
            # Each transfer to the spool has its own directory there until it is complete.
            name = os.urandom(8).hex()
            found = await move(manifest.items, source, _RemoteSink(self, to, name, code))
            if isinstance(found, TransferProblem):
                return found
            self._tell("output-started")
            done = await self._ask(OutputDone(run=self._run, to=to, transfer=name), FileTaken)
        except QueueRefuses as problem:
            return TransferProblem(code=code, text=str(problem))
        if done.error:
            return _transfer_problem(done.error, done.code, done.subcode, code)
        self.sent += found
        return None

    async def get(self, item: FileItem, offset: int, size: int) -> FilePart:
        """Get a piece of an input file."""
        return await self._ask(_asking(self._run, item, offset, size), FilePart)

    async def put(self, message: PutFile) -> FileTaken:
        """Send a piece of an output file, once the queue accepts files of this run."""
        return await self._in_turn(message, FileTaken, "output")

    @property
    def run(self) -> str:
        """The name of the run."""
        return self._run


class _Remote:
    """The queue's files."""

    def __init__(self, transfers: Transfers, code: StarterHold) -> None:
        self._transfers = transfers
        self._code = code

    async def read(self, item: FileItem, offset: int, size: int) -> Piece | TransferProblem:
        part = await self._transfers.get(item, offset, size)
        if part.error:
            return _transfer_problem(part.error, part.code, part.subcode, self._code)
        return Piece(data=part.data, last=part.last)


class _RemoteSink:
    """The queue's destination of files."""

    def __init__(self, transfers: Transfers, to: str, name: str, code: StarterHold) -> None:
        self.code = code
        self._transfers = transfers
        self._to = to
        self._name = name

    async def begin(self, item: FileItem) -> int | TransferProblem:
        return self._offset(
            await self._transfers.put(
                PutFile(run=self._transfers.run, item=pack_items([item]), to=self._to, transfer=self._name)
            )
        )

    def _offset(self, taken: FileTaken) -> int | TransferProblem:
        if taken.error:
            return _transfer_problem(taken.error, taken.code, taken.subcode, self.code)
        return taken.offset

    async def write(self, item: FileItem, offset: int, piece: Piece) -> int | TransferProblem:
        taken = await self._transfers.put(
            PutFile(
                run=self._transfers.run,
                item=pack_items([item]),
                offset=offset,
                data=piece.data,
                last=piece.last,
                begun=True,
                to=self._to,
                transfer=self._name,
            )
        )
        return self._offset(taken)


def _asking(run: str, item: FileItem, offset: int, size: int) -> GetFile:
    return GetFile(run=run, name=item.name, offset=offset, size=size, item=pack_items([item]))


def _transfer_problem(text: str, code: int, subcode: int, otherwise: StarterHold) -> TransferProblem:
    known = {int(each): each for each in StarterHold}
    return TransferProblem(code=known.get(code, otherwise), subcode=subcode, text=text)
