"""The administrator's backfill client: the program that a machine runs while its slots are unused.

There is one per machine, however many of its slots do backfill. The core orders its start when the first slot wants it,
and its end when one of them leaves; the core is notified when the client runs and when nothing of it is left. A client
that ends by itself is restarted at the next poll of a slot that still wants it, after a pause that grows if it ends
quickly.

It runs below the fork server as jobs do, so that all of its processes are known and can be killed; in BOINC_InitialDir,
as BOINC_Owner if root runs the machine, with its own scratch directory that is removed at its end. A client that a
killed daemon left is ended at the next start (`runs.takeover`), and restarted when it is due.

This module does not decide when to run it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final

from roost.base.records import dataclass
from roost.classad import ClassAd
from roost.config import Config, ConfigError
from roost.model.command_line import arguments_from_submit, environment_from_submit, environment_to_raw, join_raw
from roost.runtime.files.file_workers import FileWorkers
from roost.runtime.home import Home
from roost.runtime.node.runs.job_environment import JobPlace, job_environment, job_program, lent_environment, write_ads
from roost.runtime.node.runs.job_order import BadJob, given_environment, niceness, thread_variables
from roost.runtime.node.runs.reports import file_name
from roost.runtime.processes.accounts import Account, NoSuchAccount, account_named, can_switch_user
from roost.runtime.processes.family import Family
from roost.runtime.processes.fork_server import AlreadyStarted, ForkServer, ForkServerFailed
from roost.runtime.processes.run_records import SUFFIX
from roost.runtime.processes.sandbox import Sandbox, SandboxFailed
from roost.runtime.processes.spawn_order import NotStarted, OrderTooLarge, ProcessEnd, SpawnOrder

_log = logging.getLogger("roost.backfill")

#: Pauses before a client that ended is restarted, s.
FIRST_PAUSE_S: Final = 1.0
LONGEST_PAUSE_S: Final = 300.0
#: A client that has run this long has recovered, s.
RECOVERED_S: Final = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientAround:
    """The surroundings of a client."""

    home: Home
    file_workers: FileWorkers
    #: Starts a background task.
    spawn: Callable[[Coroutine[Any, Any, Any]], object]
    #: The ad of a slot that does backfill; None if there is none, and the client is not needed.
    slot_ad: Callable[[], ClassAd | None]
    #: Notified that the client runs, or that nothing is left of it.
    tell: Callable[[bool], None]


class _CannotRun(Exception):
    """The client cannot be started; the text says why and what to do."""


_FAILURES: Final = (
    _CannotRun,
    BadJob,
    SandboxFailed,
    ConfigError,
    ForkServerFailed,
    AlreadyStarted,
    OrderTooLarge,
    OSError,
)


class BackfillClient:
    """The client of one machine."""

    def __init__(self, around: ClientAround, config: Config) -> None:
        self._around = around
        self._config = config
        self.fork_server: ForkServer | None = None
        self._running: asyncio.Task[None] | None = None
        self._family: Family | None = None
        self._starts = 0
        self._pause_s = FIRST_PAUSE_S
        self._not_before = 0.0
        self._ending = False
        #: It was ordered to end, so its end is not a failure.
        self._killed = False
        #: Processor time and instant of the last reading.
        self._cpu_s, self._looked_at = 0.0, 0.0

    def reconfigure(self, config: Config) -> None:
        """Use the new configuration for the next client; it may also have fixed a problem."""
        self._config = config
        self._pause_s, self._not_before = FIRST_PAUSE_S, 0.0

    # -- orders --------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the client, unless it runs or is pausing."""
        if self._running is not None or self._ending or _now() < self._not_before:
            return
        self._running = asyncio.create_task(self._run(), name="backfill")
        self._running.add_done_callback(self._done)

    def kill(self) -> None:
        """End the client with all of its processes."""
        if self._family is None and self._running is None:
            self._around.tell(False)
        elif self._family is not None:
            self._killed = True
            self._around.spawn(self._family.kill())

    async def stop(self) -> None:
        """End the client, and do not start one again."""
        self._ending = True
        if self._family is not None:
            await self._family.kill()
        if self._running is not None:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([self._running])

    async def cpu_percent(self) -> float:
        """Processor use of the client since the last call, percent of one core."""
        usage = None if self._family is None else await self._family.usage()
        if usage is None:
            return 0.0
        now, used_s = time.monotonic(), usage.user_cpu_s + usage.system_cpu_s
        passed_s, more_s = max(0.001, now - self._looked_at), max(0.0, used_s - self._cpu_s)
        self._looked_at, self._cpu_s = now, used_s
        return more_s / passed_s * 100

    # -- its life ------------------------------------------------------------------------------------

    def _done(self, task: asyncio.Task[None]) -> None:
        self._running = None
        if not task.cancelled() and task.exception() is not None:
            _log.error("internal error", exc_info=task.exception())

    async def _run(self) -> None:
        self._starts += 1
        key, began = f"backfill.{os.getpid()}.{self._starts}", _now()
        record, sandbox = self._around.home.jobs / f"{file_name(key)}{SUFFIX}", None
        try:
            account = await asyncio.to_thread(self._account)
            sandbox = await asyncio.to_thread(self._sandbox, key, account)
            order = await asyncio.to_thread(self._order, key, record, sandbox, account)
            await self._lived(order)
        except _FAILURES as error:
            _log.error("cannot run the backfill client: %s", error)
        finally:
            self._rest(_now() - began)
            await asyncio.to_thread(_clear, record, sandbox)

    def _rest(self, lasted_s: float) -> None:
        """Time until the next start."""
        if self._killed or lasted_s > RECOVERED_S:
            self._pause_s = FIRST_PAUSE_S
        self._not_before = 0.0 if self._killed else _now() + self._pause_s
        self._pause_s = min(self._pause_s * 2, LONGEST_PAUSE_S)
        self._killed = False

    async def _lived(self, order: SpawnOrder) -> None:
        """Run the client from its start to its end."""
        assert self.fork_server is not None
        found = await self.fork_server.spawn(order)
        if isinstance(found, NotStarted):
            raise _CannotRun(found.text)
        self._family, self._cpu_s, self._looked_at = found, 0.0, time.monotonic()
        try:
            if self._ending or self._around.slot_ad() is None:
                # The slot that wanted it has stopped backfill meanwhile.
                await found.kill()
            else:
                _log.info("the backfill client is running, pid %d", found.pid)
                self._around.tell(True)
            _log.info("the backfill client has ended: %s", _words(await found.wait()))
        finally:
            self._family = None
            self._around.tell(False)

    # -- what it is ----------------------------------------------------------------------------------

    def _account(self) -> Account | None:
        """The account as which it runs; None for the daemon's own."""
        name = self._config.get("BOINC_Owner")
        if not can_switch_user():
            return None
        if not name:
            raise _CannotRun("BOINC_Owner is not set; name the user that the client runs as, other than root")
        try:
            account = account_named(name)
        except NoSuchAccount as problem:
            raise _CannotRun(f"BOINC_Owner: {problem}") from None
        if account.is_root:
            raise _CannotRun("BOINC_Owner is root; name another user")
        return account

    def _sandbox(self, key: str, account: Account | None) -> Sandbox:
        home = self._around.home
        if account is not None:
            home.let_others_to(home.execute)
        return Sandbox.make(home.execute, file_name(key), owner=account)

    def _order(self, key: str, record: Path, sandbox: Sandbox, account: Account | None) -> SpawnOrder:
        config, job_ad, slot_ad = self._config, self._job_ad(), self._around.slot_ad() or ClassAd()
        cpus = slot_ad.eval("Cpus")
        place = JobPlace(
            sandbox=sandbox.path,
            slot="backfill",
            cpus=cpus if isinstance(cpus, int) else 1,
            moves_files=False,
            account=account,
            given=given_environment(config),
            lent=lent_environment(config.get("JOB_INHERITS_STARTER_ENVIRONMENT", subsys="STARTER") or "", os.environ),
            threads=thread_variables(config),
        )
        program, environment = job_program(job_ad, place), job_environment(job_ad, place)
        write_ads(sandbox.path, job_ad, slot_ad, self._around.file_workers.hands_as(account))
        return SpawnOrder(
            key=key,
            record=record,
            program=program.path,
            arguments=program.arguments,
            environment=environment,
            directory=program.directory,
            stdout=program.stdout,
            stderr=program.stderr,
            append=True,
            account=account,
            niceness=niceness(config, slot_ad, job_ad),
        )

    def _job_ad(self) -> ClassAd:
        """The client as a job. Raises _CannotRun, ConfigError."""
        get = self._config.get
        ad = ClassAd({"JobUniverse": 5, "Cmd": get("BOINC_Executable") or "", "Iwd": get("BOINC_InitialDir") or "/"})
        for knob, name in (("BOINC_Output", "Out"), ("BOINC_Error", "Err")):
            if path := get(knob):
                ad[name] = path
        try:
            ad["Arguments"] = join_raw(arguments_from_submit(get("BOINC_Arguments") or ""))
            ad["Environment"] = environment_to_raw(environment_from_submit(get("BOINC_Environment") or ""))
        except ValueError as error:
            raise _CannotRun(f"BOINC_Arguments, BOINC_Environment: {error}") from None
        return ad


def _now() -> float:
    """The current time of the daemon's clock, s."""
    return asyncio.get_running_loop().time()


def _clear(record: Path, sandbox: Sandbox | None) -> None:
    with contextlib.suppress(OSError):
        record.unlink(missing_ok=True)
    problem = "" if sandbox is None else sandbox.remove()
    if problem:
        _log.warning("%s", problem)


def _words(end: ProcessEnd) -> str:
    if end.signal is not None:
        return f"signal {end.signal}"
    return "unknown status" if end.exit_code is None else f"status {end.exit_code}"
