"""Programs that users run alongside their running jobs: the shells of `condor_ssh_to_job` and of interactive jobs.

A shell runs as the job's account, in the job's directory, with the job's environment. It counts as part of the job: it
is suspended with it, its usage is added to the job's, and the run ends when the job's program and all shells have
ended, or when the job is killed. When the job is ordered to end, its shells lose their terminals.

Streams and leases are those of `sessions`; the user's command requests them in the same way. Shells outlive this daemon
as jobs do. An interactive job (InteractiveJob) is a placeholder for its shells: it ends with the last of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from collections.abc import Coroutine, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from roost.base.records import replace
from roost.classad import ParseError, Syntax, parse_expression
from roost.model.starter import Usage
from roost.runtime.bus.request_answers import BadRequest, NotFound
from roost.runtime.node.runs.job_order import BadJob, shell_order
from roost.runtime.node.runs.local_run import LocalRun
from roost.runtime.node.runs.printed import not_owner, runner_of
from roost.runtime.node.sessions import About, End, Session
from roost.runtime.processes.family import Family, adopt, bury
from roost.runtime.processes.fork_server import AlreadyStarted, ForkServerFailed
from roost.runtime.processes.measure import group_members
from roost.runtime.processes.run_records import read_record
from roost.runtime.processes.shepherd.processes import descendants
from roost.runtime.processes.spawn_order import NotStarted, OrderTooLarge, ProcessEnd, RelayOrder
from roost.runtime.role import superusers
from roost.wire.messages import Answer
from roost.wire.requests import machine

if TYPE_CHECKING:
    from roost.config import Config
    from roost.runtime.node.sessions import Sessions
    from roost.runtime.processes.fork_server import ForkServer

_log = logging.getLogger("roost.node")

#: Maximum number of shells of one job at a time.
SHELLS_MAX: Final = 64
#: Suffix of the names of the records of shells.
_RECORD: Final = ".run"


class HasRunners(Protocol):
    """An object that knows the runs of the machine."""

    @property
    def runners(self) -> Mapping[Any, LocalRun]:
        """The runner of each starter."""
        ...


class ShellsDaemon(Protocol):
    """The interface of the machine's daemon for shells."""

    config: Config

    @property
    def starter_orders(self) -> HasRunners:
        """The object that starts runs."""
        ...

    sessions: Sessions
    fork_server: ForkServer | None

    def spawn(self, work: Coroutine[Any, Any, Any], name: str | None = None) -> asyncio.Task[Any]:
        """Start a background task; the daemon waits for it before it exits."""


class ShellRefused(Exception):
    """A shell cannot be started; the text says why."""


class Shells:
    """The shells of one machine."""

    def __init__(self, daemon: ShellsDaemon, directory: Path) -> None:
        """`directory` has the records of their processes."""
        self._daemon = daemon
        self._directory = directory
        #: Run to session to the processes of the shell.
        self._families: dict[str, dict[str, Family]] = {}
        #: The usage of a run's ended shells.
        self._used: dict[str, tuple[float, float]] = {}
        self._stirred = asyncio.Event()

    # -- what an earlier daemon left -----------------------------------------------------------------

    async def load(self) -> None:
        """Find the shells that an earlier daemon started; called before runs are taken over."""
        known = dict(self._daemon.sessions.of_shells())
        for path in self._directory.glob(f"*{_RECORD}"):
            if path.stem not in known:
                for key, started in read_record(path).starts.items():
                    await asyncio.to_thread(bury, path, key, started)
                path.unlink(missing_ok=True)
        for name, found in known.items():
            family = await adopt(self._record(name), _key(found.about.run, name))
            if isinstance(family, Family):
                self._has(name, found, family)
            elif not found.ended.is_set():
                found.over(End())

    async def taken_over(self) -> None:
        """End shells of runs that an earlier daemon did not leave."""
        runs = {runner.run for runner in self._daemon.starter_orders.runners.values()}
        for run in [run for run in self._families if run not in runs]:
            await self.kill(run)

    # -- a shell begins ------------------------------------------------------------------------------

    async def open(self, asked: machine.OpenShell, sender: str) -> machine.ShellOpened | Answer:
        """Start a shell alongside a job. Raises NotFound if the job does not run here."""
        runner = self._runner(asked)
        refused = not_owner(runner, sender, superusers(self._daemon.config))
        if refused is not None:
            return refused
        if not self._is_enabled(runner):
            return _denied(f"ENABLE_SSH_TO_JOB of this machine is not TRUE for job {asked.job}")
        try:
            return await self._opened(runner, asked, sender)
        except ShellRefused as refused:
            return Answer(ok=False, code="refused", text=str(refused))

    def _runner(self, asked: machine.OpenShell) -> LocalRun:
        runner = runner_of(self._daemon.starter_orders.runners.values(), asked.job, asked.global_id)
        if runner is None or runner.family is None or runner.family.is_ended:
            raise NotFound(f"the program of job {asked.job} is not running here")
        return runner

    def _is_enabled(self, runner: LocalRun) -> bool:
        text = self._daemon.config.get("ENABLE_SSH_TO_JOB", subsys="STARTER") or "true"
        try:
            return runner.slot_ad.eval_expr(parse_expression(text, Syntax.OLD), runner.job_ad) is True
        except ParseError as error:
            _log.warning("ENABLE_SSH_TO_JOB: %s", error)
            return False

    async def _opened(self, runner: LocalRun, asked: machine.OpenShell, sender: str) -> machine.ShellOpened:
        assert self._daemon.fork_server is not None and runner.family is not None
        if len(self._families.get(runner.run, ())) >= SHELLS_MAX:
            raise ShellRefused(f"job {asked.job} already has {SHELLS_MAX} shells, the maximum")
        pids = _pids(runner.family)
        about = About(owner=sender, job=asked.job, run=runner.run)
        try:
            session = self._daemon.sessions.shell(asked.session, about)
        except OSError as problem:
            raise ShellRefused(f"cannot write {problem.filename}: {problem.strerror}") from None
        if session is None:
            earlier = self._daemon.sessions.asked(asked.session, sender)
            if earlier is None or earlier.about != about:
                raise BadRequest("another session has this name")
            return machine.ShellOpened(slot=runner.slot, pids=tuple(pids))
        relay = RelayOrder(
            directory=session.directory,
            terminal=(asked.rows, asked.columns) if asked.rows and asked.columns else None,
            reads=asked.stdin,
        )
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            order = replace(
                shell_order(runner, asked, pids),
                key=_key(runner.run, asked.session),
                record=self._record(asked.session),
                relay=relay,
            )
            family = await self._daemon.fork_server.spawn(order)
        except (BadJob, ForkServerFailed, AlreadyStarted, OrderTooLarge, OSError) as problem:
            self._daemon.sessions.leave(asked.session)
            raise ShellRefused(str(problem)) from None
        if isinstance(family, NotStarted):
            self._daemon.sessions.leave(asked.session)
            raise ShellRefused(family.text)
        self._has(asked.session, session, family)
        if runner.family.is_ended:
            # The run may already have been reported as over; nothing may outlive it.
            self._stop(family)
            raise ShellRefused(f"job {asked.job} has just ended")
        if runner.family.stands_still():
            await family.suspend()
        _log.info("%s: %s has opened a shell next to the job", runner.in_log, sender)
        return machine.ShellOpened(slot=runner.slot, pids=tuple(pids))

    def _record(self, name: str) -> Path:
        return self._directory / f"{name}{_RECORD}"

    def _has(self, name: str, session: Session, family: Family) -> None:
        self._families.setdefault(session.about.run, {})[name] = family
        session.kill = lambda: self._stop(family)
        self._daemon.spawn(self._watch(name, session, family), f"end of the shell {name}")

    def _stop(self, family: Family) -> None:
        self._daemon.spawn(_killed(family), f"end of {family.key}")

    async def _watch(self, name: str, session: Session, family: Family) -> None:
        end: ProcessEnd = await family.wait()
        run, user_s, system_s = session.about.run, end.user_cpu_s, end.system_cpu_s
        before = self._used.get(run, (0.0, 0.0))
        self._used[run] = before[0] + user_s, before[1] + system_s
        session.kill = None
        session.over(End(exit_code=end.exit_code, signal=end.signal))
        with contextlib.suppress(OSError):
            self._record(name).unlink(missing_ok=True)
        left = self._families.get(run, {})
        left.pop(name, None)
        if not left:
            self._families.pop(run, None)
            runner = next((each for each in self._daemon.starter_orders.runners.values() if each.run == run), None)
            if runner is not None:
                runner.shells_closed()
        self._stirred.set()

    # -- with the job --------------------------------------------------------------------------------

    def _of(self, run: str) -> Iterator[Family]:
        yield from list(self._families.get(run, {}).values())

    async def closed(self, run: str) -> None:
        """Wait until a run has no shells."""
        while run in self._families:
            self._stirred.clear()
            await self._stirred.wait()

    async def hold(self, run: str, *, still: bool) -> None:
        """Suspend or resume the shells with the job."""
        for family in self._of(run):
            await (family.suspend() if still else family.resume())

    async def hang_up(self, run: str) -> None:
        """Take the terminals from the shells, because the job was ordered to end."""
        for family in self._of(run):
            await family.resume()
            await family.signal_all(signal.SIGHUP)

    async def kill(self, run: str) -> None:
        """End all shells of a run."""
        for family in self._of(run):
            await family.kill()

    async def with_shells(self, run: str, usage: Usage | None) -> Usage | None:
        """The usage of a job including its shells."""
        for family in self._of(run):
            more = await family.usage()
            if more is not None:
                usage = more if usage is None else _sum(usage, more)
        if usage is None:
            return None
        user_s, system_s = self._used.get(run, (0.0, 0.0))
        return replace(usage, user_cpu_s=usage.user_cpu_s + user_s, system_cpu_s=usage.system_cpu_s + system_s)

    def forget(self, run: str) -> None:
        """Forget a run that is over."""
        self._used.pop(run, None)

    def close(self) -> None:
        """Stop supervising all shells; they continue."""
        for families in self._families.values():
            for family in families.values():
                if not family.is_ended:
                    family.forget()


async def _killed(family: Family) -> None:
    await family.kill()


def _key(run: str, name: str) -> str:
    """The globally unique name of a shell's process."""
    return f"{run}/shell/{name}"


def _pids(family: Family) -> list[int]:
    """The processes of a job, its program first."""
    group = family.started.group
    found = [each.pid for each in (descendants(family.shepherd).values() if group is None else group_members(group))]
    return [family.pid, *sorted(set(found) - {family.pid})]


def _sum(one: Usage, other: Usage) -> Usage:
    return replace(
        one,
        image_size_kib=one.image_size_kib + other.image_size_kib,
        resident_kib=one.resident_kib + other.resident_kib,
        user_cpu_s=one.user_cpu_s + other.user_cpu_s,
        system_cpu_s=one.system_cpu_s + other.system_cpu_s,
        process_count=one.process_count + other.process_count,
        io_bytes=one.io_bytes + other.io_bytes,
    )


def _denied(text: str) -> Answer:
    return Answer(ok=False, code="permission-denied", text=text)
