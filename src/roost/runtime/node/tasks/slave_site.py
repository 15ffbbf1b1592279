"""All slave tasks of one run of a parallel job on this machine, with the directories that they share."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, Self

import msgspec

from roost.classad import ClassAd
from roost.model.queue_context import QueueContext
from roost.runtime.files.whole_files import write_whole
from roost.runtime.node.runs.job_tmpdir import LISTED, make_tmpdir, remove_tmpdir, tmpdir_of
from roost.runtime.node.runs.reports import file_name
from roost.runtime.node.tasks.slave_task import RECORD, TICKET, SlaveTask, Ticket
from roost.runtime.processes.accounts import Account, account_numbered
from roost.runtime.processes.family import Family, adopt
from roost.runtime.processes.sandbox import Sandbox, remove_tree
from roost.starter.queue_environment import tmpdir_name

_log = logging.getLogger("roost.node")

_SITE: Final = "site.json"


class SiteRecord(msgspec.Struct, kw_only=True):
    """The stored data of a site."""

    run: str
    #: The machine of the job's master, the only one that may make requests.
    master: str
    #: The job's claims here that are not over.
    claims: list[str]
    #: The account as which the tasks run; None for the daemon's own.
    uid: int | None
    gid: int | None
    #: Their scratch directory.
    sandbox: str
    #: The TMPDIR of the master, if that is here; "" for a separate one, which is listed.
    shared: str = ""
    #: Number of the latest task.
    number: int = 0
    #: Whether they must be suspended.
    still: bool = False


class SlaveSite:
    """The tasks of one run."""

    def __init__(self, directory: Path, kept: SiteRecord, account: Account | None) -> None:
        self.directory = directory
        self.kept = kept
        self.account = account
        #: By number.
        self.tasks: dict[int, SlaveTask] = {}
        #: Held while a task begins, and while tasks are ended.
        self.turn = asyncio.Lock()
        listed = directory / LISTED
        self.tmpdir = Path(kept.shared) if kept.shared else tmpdir_of(listed)

    @classmethod
    def made(
        cls, tasks: Path, execute: Path, run: str, *, master: str, claims: list[str], account: Account | None
    ) -> Self:
        """Create the site of a run. Raises SandboxFailed and OSError."""
        name = file_name(run)
        directory = tasks / name
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        sandbox = Sandbox.make(execute, f"tasks_{name}", owner=account)
        uid, gid = (None, None) if account is None else (account.uid, account.gid)
        kept = SiteRecord(run=run, master=master, claims=claims, uid=uid, gid=gid, sandbox=str(sandbox.path))
        site = cls(directory, kept, account)
        site.keep()
        return site

    def keep(self) -> None:
        """Store its data. Raises OSError."""
        write_whole(self.directory / _SITE, msgspec.json.encode(self.kept))

    def keep_claims(self, claims: Iterable[str]) -> None:
        """Set the job's claims here. Raises OSError."""
        found = list(dict.fromkeys((*self.kept.claims, *claims)))
        if found != self.kept.claims:
            self.kept.claims = found
            self.keep()

    def use_tmpdir(self, shared: Path | None, job_ad: ClassAd, queue: QueueContext) -> None:
        """Share the TMPDIR of the job's master if that is here, or create one. Raises SandboxFailed and OSError."""
        if shared is not None:
            self.kept.shared = str(shared)
            self.keep()
            self.tmpdir = shared
        else:
            name = tmpdir_name(job_ad, queue)
            self.tmpdir = make_tmpdir(Path(queue.tmpdir), name, self.directory / LISTED, self.account)

    def next_number(self) -> int:
        """The number of the next task."""
        self.kept.number += 1
        return self.kept.number

    def key(self, ticket: Ticket) -> str:
        """The globally unique name of a task's process."""
        return f"{self.kept.run}/task/{ticket.name}"

    def drop(self, task: SlaveTask) -> None:
        """Forget a task that could not be started."""
        task.close()
        task.streams.remove()
        self.tasks.pop(task.ticket.number, None)
        for suffix in (TICKET, RECORD):
            task.path(suffix).unlink(missing_ok=True)

    async def adopt(self) -> list[SlaveTask]:
        """Adopt the tasks that an earlier daemon started, including those that have ended."""
        for path in sorted(self.directory.glob(f"*{TICKET}")):
            try:
                ticket = msgspec.json.decode(path.read_bytes(), type=Ticket)
            except (OSError, msgspec.DecodeError) as error:
                _log.error("%s cannot be read: %s", path, error)
                continue
            self.kept.number = max(self.kept.number, ticket.number)
            task = SlaveTask(ticket, self.directory)
            if not task.restore_end():
                found = await adopt(task.path(RECORD), self.key(ticket))
                if not isinstance(found, Family):
                    self.drop(task)
                    continue
                task.has(found, found.started.started_at)
            self.tasks[ticket.number] = task
        return list(self.tasks.values())

    async def hold(self, *, still: bool) -> None:
        """Suspend or resume all tasks."""
        self.kept.still = still
        self.keep()
        for task in list(self.tasks.values()):
            if task.family is not None and not task.ended.is_set():
                await (task.family.suspend() if still else task.family.resume())

    def leave(self, claim: str) -> None:
        """Note the end of a claim."""
        self.kept.claims = [each for each in self.kept.claims if each != claim]
        if self.kept.claims:
            self.keep()

    async def end(self, claim: str = "") -> None:
        """End the tasks of a claim, "" for all, and wait until they have ended."""
        tasks = [task for task in self.tasks.values() if claim in ("", task.ticket.claim)]
        await asyncio.gather(*(task.kill() for task in tasks))
        for task in tasks:
            if task.family is not None and task.family.is_ended:
                await task.ended.wait()

    async def remove(self) -> None:
        """Remove all that is left."""
        for task in self.tasks.values():
            task.close()
        problems = [await asyncio.to_thread(remove_tree, Path(self.kept.sandbox))]
        if not self.kept.shared:
            problems.append(await asyncio.to_thread(remove_tmpdir, self.directory / LISTED))
        problems.append(await asyncio.to_thread(remove_tree, self.directory))
        for problem in filter(None, problems):
            _log.warning("%s: %s", self.kept.run, problem)


def sites_in(directory: Path) -> Iterator[SlaveSite]:
    """The sites that an earlier daemon stored; those that cannot be read are removed."""
    for path in sorted(directory.glob("*")):
        try:
            kept = msgspec.json.decode((path / _SITE).read_bytes(), type=SiteRecord)
        except (OSError, msgspec.DecodeError) as error:
            _log.error("%s cannot be read: %s; it is removed", path / _SITE, error)
            remove_tree(path)
            continue
        account = None if kept.uid is None or kept.gid is None else account_numbered(kept.uid, kept.gid)
        yield SlaveSite(path, kept, account)
