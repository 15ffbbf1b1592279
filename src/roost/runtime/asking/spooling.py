"""Spooling by commands for jobs of ``-spool``: copying their files to the queue, and fetching their output.

It runs as the user, and reads and writes the user's files itself; the queue has only the files it is sent.
"""

from __future__ import annotations

import base64
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from roost.classad import ClassAd
from roost.model.starter import StarterHold
from roost.runtime.bus.pool_client import PoolClient
from roost.runtime.files.input_files import input_manifest
from roost.runtime.files.output_files import output_remaps
from roost.runtime.files.transfer import FileItem, ItemKind, LocalSource, TransferProblem, pack_items, unpack_items
from roost.schedd.spooled import SUBMITTED, retrieved_names, submitted_ad
from roost.wire.ads import ad_from
from roost.wire.requests import queue

#: Size of a piece, bytes.
_PIECE: Final = 384 * 1024
_WAITS: Final = "JobStatus == 5 && HoldReasonCode == 16"


class SpoolingProblem(Exception):
    """Files could not be copied; the text says which and why."""


def send_files(pool: PoolClient, clusters: list[int]) -> int:
    """Copy the files of all jobs of clusters that wait for them; return the number of jobs. Raises SpoolingProblem."""
    count = 0
    for ad in _ads(pool, tuple(map(str, clusters)), _WAITS):
        _send(pool, ad)
        count += 1
    return count


def fetch_files(pool: PoolClient, chosen: queue.ChosenFields) -> int:
    """Fetch the output of jobs whose files the queue keeps; return the number of jobs. Raises SpoolingProblem."""
    constraint = chosen.get("constraint")
    staged = "StageInFinish isnt undefined"
    both = staged if constraint is None else f"({constraint}) && {staged}"
    count = 0
    for ad in _ads(pool, chosen.get("jobs", ()), both, chosen.get("owners", ())):
        _fetch(pool, ad)
        count += 1
    return count


def _ads(pool: PoolClient, jobs: tuple[str, ...], constraint: str, owners: tuple[str, ...] = ()) -> Iterator[ClassAd]:
    rows = pool.ask(queue.Query(jobs=jobs, owners=owners, constraint=constraint))
    return (ad_from(row, "the reply to 'query'") for row in rows)


def _name(ad: ClassAd) -> str:
    return f"{ad.cell('clusterid')}.{ad.cell('procid')}"


def _send(pool: PoolClient, ad: ClassAd) -> None:
    job = _name(ad)
    found = input_manifest(ad)
    if isinstance(found, TransferProblem):
        raise SpoolingProblem(f"job {job}: {found.text}")
    source = LocalSource(found, StarterHold.TRANSFER_INPUT_ERROR)
    for item in found.items:
        _send_item(pool, job, source, item)
    pool.ask(queue.EndSpooling(job=job))


def _send_item(pool: PoolClient, job: str, source: LocalSource, item: FileItem) -> None:
    packed = pack_items([item]).decode()
    if item.kind is ItemKind.DIRECTORY:
        pool.ask(queue.SpoolFile(job=job, item=packed))
        return
    offset, last = 0, False
    while not last:
        piece = source.read_now(item, offset, _PIECE)
        if isinstance(piece, TransferProblem):
            raise SpoolingProblem(f"job {job}: {piece.text}")
        data = base64.b64encode(piece.data).decode()
        taken = pool.ask(queue.SpoolFile(job=job, item=packed, offset=offset, data=data, last=piece.last)).offset
        # The earlier pieces are gone on the other side: the file is sent again.
        last, offset = piece.last and taken == offset + len(piece.data), taken


def _fetch(pool: PoolClient, ad: ClassAd) -> None:
    job = _name(ad)
    items = unpack_items(pool.ask(queue.SpooledFiles(job=job)).encode())
    place = _place(ad)
    for item in items:
        target = place(item.name)
        try:
            if item.kind is ItemKind.DIRECTORY:
                target.mkdir(parents=True, exist_ok=True)
            else:
                _fetch_item(pool, job, item, target)
        except OSError as problem:
            raise SpoolingProblem(f"job {job}: cannot write {target}: {problem.strerror}") from None
    pool.ask(queue.Act(action="note", jobs=(job,), attributes={"StageOutFinish": int(time.time())}))


def _fetch_item(pool: PoolClient, job: str, item: FileItem, target: Path) -> None:
    packed = pack_items([item]).decode()
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name[:200]}.{os.getpid()}.part")
    try:
        with partial.open("wb") as file:
            last = False
            while not last:
                piece = pool.ask(queue.ReadSpooled(job=job, item=packed, offset=file.tell()))
                file.write(base64.b64decode(piece.data))
                last = piece.last
            os.fchmod(file.fileno(), item.mode)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _place(ad: ClassAd) -> Callable[[str], Path]:
    """The place of the description for a name in the queue's directory. Raises SpoolingProblem."""
    before = submitted_ad(ad)
    try:
        remaps = output_remaps(before)
    except ValueError as error:
        raise SpoolingProblem(f"job {_name(ad)}: {error}") from None
    iwd = Path(str(ad.cell(f"{SUBMITTED}Iwd".lower())))
    names = retrieved_names(ad)

    def place(name: str) -> Path:
        there = names.get(name, name)
        return iwd / remaps.get(there, there)

    return place
