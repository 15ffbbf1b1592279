"""Files of a run between the machine that it runs on and the queue that it belongs to, over the bus.

The machine pulls the input and pushes the output, piece by piece; each piece is a message and its answer, asked again
when it is lost. So one machine needs nothing of the other's disk, and a queue's file is never in memory as a whole.

A queue that is away is waited for, however long that takes: the lease of the claim says when there is no point in it
any more, and then the run is ended. A job is never held, and no result given up, because a daemon was restarted.
"""

from __future__ import annotations

import asyncio
import logging
import os
from pathlib import Path
from typing import Final, TypeVar

from roost.classad import ClassAd
from roost.model.starter import Output, StarterHold
from roost.runtime.bus.client import BusError, Carrier
from roost.runtime.files.deputies import with_hands
from roost.runtime.files.deputy.hands import OWN, Hands
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
from roost.wire.codec import as_text
from roost.wire.messages import Answer, AskFiles, FilePart, Files, FileTaken, GetFile, Message, OutputDone, PutFile

_log = logging.getLogger("roost.starter")

#: How long an answer is waited for before the message is sent again, and the longest pause before that, s.
ANSWER_S: Final = 15.0
#: How soon the queue is asked again while as many others move files as may, s.
WAIT_S: Final = 0.5
PAUSE_S_MAX: Final = 5.0

A = TypeVar("A", bound=Message)


class QueueRefuses(Exception):
    """The queue answers with something else than what was asked for."""


class Transfers:
    """The files of one run."""

    def __init__(self, bus: Carrier, node: str, schedd: str, run: str) -> None:
        #: What handles the scratch directory.
        self.hands: Hands = OWN
        self._bus = bus
        self._subject = bus.subjects.schedd(schedd, node)
        self._run = run
        #: Bytes that the job got and left.
        self.received = 0
        self.sent = 0
        #: Bytes of the input, and files at its top that an earlier run has saved, as the queue has told.
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
            raise QueueRefuses(f"the queue answers {type(message).__name__} with: {text}")

    async def fetch_input(self, sandbox: Path) -> TransferProblem | None:
        """Bring the input into the sandbox; why not, if not."""
        code = StarterHold.TRANSFER_INPUT_ERROR
        try:
            files = await self._ask(AskFiles(run=self._run), Files)
            while files.wait:
                await asyncio.sleep(WAIT_S)
                files = await self._ask(AskFiles(run=self._run), Files)
            if files.error:
                return _told(files.error, files.code, files.subcode, code)
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
        """Send the output where it belongs; why not, if not."""
        manifest = await with_hands(self.hands, output_manifest, job_ad, sandbox, baseline, hands=self.hands)
        to = "spool" if destination is Output.KEPT else "home"
        return await self._send(manifest, sandbox, to, StarterHold.TRANSFER_OUTPUT_ERROR)

    async def send_checkpoint(self, job_ad: ClassAd, sandbox: Path, baseline: Baseline) -> TransferProblem | None:
        """Send what the job has saved of its state; why not, if not."""
        manifest = await with_hands(self.hands, checkpoint_manifest, job_ad, sandbox, baseline, hands=self.hands)
        return await self._send(manifest, sandbox, "spool", StarterHold.FAILED_TO_CHECKPOINT)

    async def _send(
        self, manifest: Manifest | TransferProblem, sandbox: Path, to: str, code: StarterHold
    ) -> TransferProblem | None:
        if isinstance(manifest, TransferProblem):
            return manifest
        source = LocalSource(manifest, code, inside=sandbox, hands=self.hands)
        try:
            # Of several transfers to the spool, each has a directory of its own there until all of it has come.
            name = os.urandom(8).hex()
            found = await move(manifest.items, source, _RemoteSink(self, to, name, code))
            if isinstance(found, TransferProblem):
                return found
            done = await self._ask(OutputDone(run=self._run, to=to, transfer=name), FileTaken)
        except QueueRefuses as problem:
            return TransferProblem(code=code, text=str(problem))
        if done.error:
            return _told(done.error, done.code, done.subcode, code)
        self.sent += found
        return None

    async def get(self, item: FileItem, offset: int, size: int) -> FilePart:
        """A piece of an input file."""
        return await self._ask(_asking(self._run, item, offset, size), FilePart)

    async def put(self, message: PutFile) -> FileTaken:
        """Hand over a piece of an output file, once the queue takes files of this run."""
        while (taken := await self._ask(message, FileTaken)).wait:
            await asyncio.sleep(WAIT_S)
        return taken

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
            return _told(part.error, part.code, part.subcode, self._code)
        return Piece(data=part.data, last=part.last)


class _RemoteSink:
    """Where the queue puts files."""

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
            return _told(taken.error, taken.code, taken.subcode, self.code)
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


def _told(text: str, code: int, subcode: int, otherwise: StarterHold) -> TransferProblem:
    known = {int(each): each for each in StarterHold}
    return TransferProblem(code=known.get(code, otherwise), subcode=subcode, text=text)
