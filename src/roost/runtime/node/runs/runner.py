"""The runner of a starter: it carries out the effects of one starter core on its job, its files and its hooks.

Each effect that takes time is a task; its result goes back to the core as an event. Signals and the like are carried
out in order, after the job has been started. Nothing is decided here.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import logging
import os
import signal
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final

from roost.base.records import replace
from roost.classad import ClassAd
from roost.model import starter_effects as sef
from roost.model import starter_events as sev
from roost.model.starter import Doing, Method, Output, StarterHold, StarterTimer
from roost.runtime.files.file_workers import is_users, with_hands
from roost.runtime.files.output_files import Baseline
from roost.runtime.files.transfer import TransferProblem
from roost.runtime.files.whole_files import write_whole
from roost.runtime.files.worker.hands import OWN
from roost.runtime.node.impediments import PROBE_BYTES
from roost.runtime.node.runs.chirp import ChirpLine
from roost.runtime.node.runs.docker import Docker, NoContainer, attached, docker_of, wants_docker
from roost.runtime.node.runs.job_environment import wants_chirp
from roost.runtime.node.runs.job_hooks import JobHooks
from roost.runtime.node.runs.job_order import (
    BadJob,
    BadQueue,
    account_of,
    check_fetched,
    job_order,
    runs_as_daemon,
    runs_as_owner,
)
from roost.runtime.node.runs.job_tasks import JobTasks
from roost.runtime.node.runs.job_tmpdir import LISTED, make_tmpdir, remove_tmpdir, removed_at_once, tmpdir_of
from roost.runtime.node.runs.local_run import LocalRun, Surroundings
from roost.runtime.node.runs.reports import file_name, last_usage, out_of_memory
from roost.runtime.node.runs.starter_log import StarterLog
from roost.runtime.processes.accounts import Account, NoSuchAccount, account_numbered, can_switch_user
from roost.runtime.processes.family import Family, adopt
from roost.runtime.processes.fork_server import AlreadyStarted, ForkServerFailed
from roost.runtime.processes.sandbox import Sandbox, SandboxFailed
from roost.runtime.processes.shepherd.processes import start_of
from roost.runtime.processes.spawn_order import NotStarted, OrderTooLarge, ProcessEnd, SpawnOrder
from roost.starter.queue_environment import tmpdir_name
from roost.starter.starter_state import StarterState
from roost.starter.transfer_plan import moves_files

_log = logging.getLogger("roost.starter")


#: Errors of a disk without room.
_FULL: Final = frozenset((errno.ENOSPC, errno.EDQUOT))
#: Suffix of the names of lists of input files.
BASELINE: Final = ".baseline"
#: How long to wait for the removal of a scratch directory whose starter was given up, s.
GIVE_UP_S: Final = 5.0
#: Id of a user and group that own nothing.
_NOBODY: Final = 65534


class Runner(LocalRun):
    """Carries out the effects of one starter."""

    def __init__(
        self, around: Surroundings, run: str, schedd: str, slot: str, slot_ad: ClassAd, job_ad: ClassAd
    ) -> None:
        super().__init__(around, run, schedd, slot, slot_ad, job_ad)
        self.baseline: Baseline | None = None
        if around.context is not None and around.context.parallel and around.context.parallel.controls_slaves:
            self.tasks = JobTasks(around.bus, around.name, schedd, run, around.record, self._end_job)
        #: The job's chirp connection to its queue.
        self.chirp: ChirpLine | None = None
        #: Whether the queue has been notified that the job is suspended.
        self._reported_stopped = False
        #: The last shell of an interactive job has ended, and the job with it.
        self._left = False
        #: The job has been ordered to end: its shells do not outlast it.
        self._ordered_to_end = False
        #: Number of the start to which the family belongs.
        self.number = 0
        self.hooks = JobHooks(self)
        self.log = StarterLog(self)
        #: An earlier daemon may have started its program.
        self._resumed = False
        self._timers: dict[StarterTimer, asyncio.TimerHandle] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._queue: asyncio.Queue[Coroutine[Any, Any, None]] = asyncio.Queue()
        self._worker = asyncio.create_task(self._work(), name=f"runner of {run}")
        #: Processor time and instant of the last result, and of the last reading.
        self._cpu_s = self._looked_cpu_s = 0.0
        self._cpu_at = self._looked_at = asyncio.get_running_loop().time()

    # -- orders --------------------------------------------------------------------------------------

    def perform(self, effect: sef.StarterEffect) -> None:
        """Carry out an effect of the core."""
        match effect:
            case sef.SetStarterTimer(timer=timer, at=at):
                self._cancel_timer(timer)
                wait_s = max(0.0, at - self.around.clock.now())
                self._timers[timer] = asyncio.get_running_loop().call_later(wait_s, self._fired, timer)
            case sef.CancelStarterTimer(timer=timer):
                self._cancel_timer(timer)
            case sef.MakeSandbox():
                self._begin(Doing.SANDBOX, self._make_sandbox())
            case sef.RemoveSandbox():
                self._begin(Doing.CLEANUP, self._remove_sandbox())
            case sef.TransferInput(job_ad=job_ad):
                self._begin(Doing.INPUT, self._input(job_ad))
            case sef.TransferOutput(job_ad=job_ad, destination=destination):
                self._begin(Doing.OUTPUT, self._output(job_ad, destination))
            case sef.TransferCheckpoint(run=run, job_ad=job_ad):
                self._begin(Doing.CHECKPOINT, self._checkpoint(run, job_ad))
            case sef.AbortWork(doing=doing):
                task = self._tasks.pop(str(doing), None)
                if task is not None:
                    task.cancel()
            case sef.StartJob(run=run, job_ad=job_ad):
                self._queue.put_nowait(self._start(run, job_ad))
            case sef.SuspendProcesses():
                self._queue.put_nowait(self._suspend())
            case sef.ContinueProcesses():
                self._queue.put_nowait(self._resume())
            case sef.SignalJob(signal=name, all=True, suspends=suspends):
                self._queue.put_nowait(self._signal_all(name, suspends=suspends))
            case sef.SignalJob(signal=name, saves=saves):
                self._queue.put_nowait(self._signal(name, ends=not saves))
            case sef.KillProcesses():
                if self.docker is not None:
                    self.docker.give_up()
                self._queue.put_nowait(self.kill())
            case sef.RunMethod():
                self._queue.put_nowait(self._method(effect))
            case sef.RunHook(point=point):
                if effect.awaited or not self.hooks.is_running(point):
                    # If one hangs, no others are added.
                    name = str(Doing.HOOK) if effect.awaited else f"hook {point}"
                    self.hooks.keep(self._begin(name, self.hooks.hook(effect)), point)
            case sef.RunScript(point=script):
                self.hooks.keep(self._begin(Doing.SCRIPT, self.hooks.script(effect)), script)
            case _:
                raise AssertionError(f"no handler for the order: {effect}")

    def _begin(self, doing: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=f"{doing} of {self.run}")
        self._tasks[str(doing)] = task
        task.add_done_callback(self._worked)
        return task

    async def _work(self) -> None:
        """Carry out effects on the job's processes, one after another."""
        while True:
            work = await self._queue.get()
            try:
                await work
            except asyncio.CancelledError:
                raise
            except Exception:
                _log.exception("%s: internal error", self.in_log)
                self.around.lost()

    def _worked(self, task: asyncio.Task[None]) -> None:
        """Handle the end of a task: an unforeseen failure loses the run, unless the task was cancelled.

        A cancelled task may take one more step before it notices (`asyncio.wait_for` returns an answer that arrives at
        the same instant), and then finds its sandbox gone.
        """
        failure = None if task.cancelled() else task.exception()
        if failure is not None and not task.cancelling():
            _log.error("%s: internal error", task.get_name(), exc_info=failure)
            self.around.lost()

    # -- timers --------------------------------------------------------------------------------------

    def _cancel_timer(self, timer: StarterTimer) -> None:
        old = self._timers.pop(timer, None)
        if old is not None:
            old.cancel()

    def _fired(self, timer: StarterTimer) -> None:
        self._timers.pop(timer, None)
        family = self.family
        if timer in (StarterTimer.POLL, StarterTimer.UPDATE) and family is not None and not family.is_ended:
            self._begin_look(timer, family)
        else:
            self.around.tell(sev.StarterTimerFired(timer=timer))

    def _begin_look(self, timer: StarterTimer, family: Family) -> None:
        async def look() -> None:
            usage = await self.around.measure(family)
            if self.around.shells is not None:
                usage = await self.around.shells.with_shells(self.run, usage)
            if usage is not None:
                self._looked_at = asyncio.get_running_loop().time()
                self._looked_cpu_s = usage.user_cpu_s + usage.system_cpu_s
                if self.sandbox is not None and self.moved:
                    usage = replace(usage, disk_usage_kib=await asyncio.to_thread(self.sandbox.size_kib))
                self.around.tell(sev.UsageSampled(run=self.number, usage=usage))
            self.around.tell(sev.StarterTimerFired(timer=timer))

        task = asyncio.create_task(look(), name=f"{timer} of {self.run}")
        self._tasks[str(timer)] = task
        task.add_done_callback(self._worked)

    # -- sandbox and files ---------------------------------------------------------------------------

    async def _make_sandbox(self) -> None:
        if can_switch_user() and not self.around.as_daemon:
            # Until the job's user is known, and if looking it up fails.
            self._become(account_numbered(_NOBODY, _NOBODY))
        try:
            if not self.schedd:
                check_fetched(self.job_ad)
            if self._resumed:
                await asyncio.to_thread(self._discard_begun)
            config = self.around.config
            account = None
            if self._needs_account(self.job_ad):
                account = await asyncio.to_thread(account_of, self.job_ad, config, self.slot_ad)
            self._become(account)
            readers = (config.get("JOB_EXECDIR_PERMISSIONS", subsys="STARTER") or "user").lower()
            if self.account is not None or readers != "user":
                self.around.home.let_others_to(self.around.execute)
            name = file_name(self.run)
            self.sandbox = self.around.sandboxes.make(name, owner=self.account, permissions=readers)
            context = self.around.context
            if context is not None:
                name = tmpdir_name(self.job_ad, context)
                self.tmpdir = make_tmpdir(Path(context.tmpdir), name, self._listed_path, self.account)
        except NoSuchAccount as problem:
            self.around.tell(sev.SandboxFailed(text=str(problem), code=StarterHold.NO_USER_ACCOUNT))
        except BadJob as problem:
            self.around.tell(sev.SandboxFailed(text=str(problem), code=problem.code))
        except (SandboxFailed, OSError) as problem:
            self.around.failed(str(problem))
            self.around.tell(sev.SandboxFailed(text=str(problem)))
        else:
            self.around.tell(sev.SandboxMade())

    def _discard_begun(self) -> None:
        """Remove the part of the scratch directory that an earlier daemon made before it was killed."""
        if self.sandbox is not None:
            self.sandbox.remove()
        if self.tmpdir is not None:
            remove_tmpdir(self._listed_path)

    def _needs_account(self, job_ad: ClassAd) -> bool:
        """Whether the job may run as another user than the daemon does."""
        return not (self.around.as_daemon or (runs_as_daemon(job_ad) and runs_as_owner(self.around.config)))

    def _become(self, account: Account | None) -> None:
        self.account = account
        self.transfers.hands = self.around.file_workers.hands_as(account)

    async def _remove_sandbox(self) -> None:
        text = ""
        await self.hooks.end()
        await self.log.written()
        if self.docker is not None:
            await self.docker.remove()
        if self.sandbox is not None:
            gone = self.around.sandboxes.removed_at_once(self.sandbox)
            text = "" if gone else await self._removed(self.sandbox)
        if self.tmpdir is not None and not removed_at_once(self.tmpdir, self._listed_path):
            left = await asyncio.to_thread(remove_tmpdir, self._listed_path)
            text = "; ".join(filter(None, (text, left)))
        self.around.tell(sev.SandboxRemoved(text=text))

    async def _removed(self, sandbox: Sandbox) -> str:
        """Remove the scratch directory; return why something had to be left, or ""."""
        text = await asyncio.to_thread(sandbox.remove)
        if text:
            # Processes of a job that did not end in time may still write while they are killed.
            await self.kill()
            text = await asyncio.to_thread(sandbox.remove)
        return text

    async def _input(self, job_ad: ClassAd) -> None:
        assert self.sandbox is not None
        problem = await self.transfers.fetch_input(self.sandbox.path)
        if problem is not None:
            code: StarterHold | None = problem.code
            if problem.subcode in _FULL and self.transfers.input_bytes <= self._granted_bytes():
                code = None
                self.around.failed(problem.text)
            self.around.tell(sev.InputFailed(text=problem.text, code=code, subcode=problem.subcode))
            return
        self.moved = True
        hands, saved = self.transfers.hands, self.transfers.saved
        try:
            self.baseline = await with_hands(hands, Baseline.of, self.sandbox.path, hands, saved)
        except OSError as found:
            text = f"cannot read {found.filename or self.sandbox.path}: {found.strerror}"
            if not is_users(hands, found):
                self.around.failed(text)
            self.around.tell(sev.InputFailed(text=text, code=None, subcode=found.errno or 0))
            return
        with contextlib.suppress(OSError):
            write_whole(self._baseline_path, json.dumps(dict(self.baseline.files)))
        self.around.moved("input-finished")
        self.around.tell(sev.InputTransferred())

    async def _output(self, job_ad: ClassAd, destination: Output) -> None:
        problem = await self._sent(lambda path, base: self.transfers.send_output(job_ad, path, base, destination))
        if problem is not None:
            self.around.tell(sev.OutputFailed(text=problem.text, code=problem.code, subcode=problem.subcode))
        else:
            self.around.tell(sev.OutputTransferred())

    async def _checkpoint(self, run: int, job_ad: ClassAd) -> None:
        problem = await self._sent(lambda path, base: self.transfers.send_checkpoint(job_ad, path, base))
        if problem is not None:
            text, code, subcode = problem.text, problem.code, problem.subcode
            self.around.tell(sev.CheckpointFailed(run=run, text=text, code=code, subcode=subcode))
        else:
            self.around.tell(sev.CheckpointTransferred(run=run))

    async def _sent(
        self, send: Callable[[Path, Baseline], Coroutine[Any, Any, TransferProblem | None]]
    ) -> TransferProblem | None:
        assert self.sandbox is not None
        problem = await send(self.sandbox.path, self.baseline or Baseline(files={}))
        if problem is None:
            self.around.moved("output-finished")
        return problem

    # -- the job -------------------------------------------------------------------------------------

    async def _start(self, number: int, job_ad: ClassAd) -> None:
        self.number = number
        if self._resumed and await self._found_started(number):
            return
        unkept = self.around.problem()
        if unkept:
            self._machine_failed(number, unkept)
            return
        try:
            self._find_docker()
            await self._listen()
            if self.transfers.hands is OWN:
                order = job_order(self, number, job_ad)
            else:
                order = await with_hands(self.transfers.hands, job_order, self, number, job_ad)
            if self.docker is not None:
                await self._contain(order, job_ad)
                program, arguments = attached(self.docker.path, self.docker.name)
                order = replace(order, program=program, arguments=arguments)
            if self.around.sessions is not None:
                order = replace(order, relay=self.around.sessions.relay(job_ad, self._end_job))
            family = await self._spawned(order)
        except BadJob as problem:
            self._not_started(number, str(problem), problem.code)
            return
        except BadQueue as problem:
            self.around.tell(sev.JobNotStarted(run=number, text=str(problem), code=None, by_queue=True))
            return
        except OrderTooLarge as problem:
            self._not_started(number, str(problem), StarterHold.FAILED_TO_CREATE_PROCESS)
            return
        except ForkServerFailed as problem:
            self._machine_failed(number, str(problem))
            return
        except OSError as problem:
            where = problem.filename or self.around.execute
            text = f"cannot write {where}: {problem.strerror}"
            if is_users(self.transfers.hands, problem):
                self._not_started(number, text, None)
            else:
                self._machine_failed(number, text)
            return
        if isinstance(family, NotStarted) and family.is_machines_fault:
            self._machine_failed(number, family.text)
            return
        if isinstance(family, NotStarted):
            self._not_started(number, family.text, family.code, family.errno)
            return
        self._has(family, number)
        self.around.began(number, family.pid)

    async def _contain(self, order: SpawnOrder, job_ad: ClassAd) -> None:
        """Create the container in which the job's program runs. Raises BadJob."""
        assert self.docker is not None and self.sandbox is not None
        try:
            await self.docker.create(
                job_ad,
                order.arguments,
                environment=order.environment,
                sandbox=self.sandbox.path,
                directory=order.directory,
                slot_ad=self.slot_ad,
            )
        except NoContainer as problem:
            raise BadJob(str(problem), StarterHold.INVALID_DOCKER_IMAGE) from None

    async def _listen(self) -> None:
        """Open a chirp connection for a job that wants one. Raises OSError."""
        if self.schedd and self.sandbox is not None and wants_chirp(self.job_ad):
            if self.chirp is None:
                self.chirp = ChirpLine(self.around.bus, self.around.name, self.schedd, self.run)
            await self.chirp.listen(self.sandbox.path, self.transfers.hands)

    def _find_docker(self) -> None:
        """Prepare a container for a job that wants one. Raises BadJob."""
        if self.docker is None and wants_docker(self.job_ad):
            path = docker_of(self.around.config)
            if path is None:
                raise BadJob("the job needs docker, and this machine has neither podman nor docker that works")
            self.docker = Docker(path, self.run, self.around.home.path, self.account)

    async def _found_started(self, number: int) -> bool:
        """Whether an earlier daemon had started the program, which is then adopted."""
        self._resumed = False
        found = await adopt(self.record, f"{self.run}/{number}")
        if not isinstance(found, Family):
            return False
        if found.stands_still():
            # That daemon had suspended it, and was killed before that was recorded.
            await found.resume()
        _log.info("%s: run %s continues", self.slot, self.in_log)
        self.adopted(found, number)
        self.around.began(number, found.pid)
        return True

    async def _spawned(self, order: SpawnOrder) -> Family | NotStarted:
        """Start the program, or find it started by an earlier daemon that ended before it reported that."""
        try:
            return await self.around.fork_server.spawn(order)
        except AlreadyStarted:
            found = await adopt(order.record, order.key)
            if found is None:
                raise ForkServerFailed(f"{order.record} contains an unreadable start record") from None
            return found

    def resume(self, state: StarterState) -> None:
        """Resume a starter of an earlier daemon."""
        self._resumed = True
        name, launch = f"dir_{file_name(self.run)}", state.launch
        path = self.around.scratch.found(name)
        made = None if path is None else path.stat()
        if made is not None and made.st_uid != os.geteuid():
            # The owner stays the one for which it was made, even if hooks or the configuration have changed it since.
            self._become(account_numbered(made.st_uid, made.st_gid))
        elif self._needs_account(launch.job_ad) and (made is None or not runs_as_daemon(launch.job_ad)):
            # It was removed, or the daemon was killed before it gave it to the job's user. Remaining work for the job
            # is not done as root.
            try:
                self._become(account_of(launch.job_ad, self.around.config, self.slot_ad))
            except NoSuchAccount:
                self._become(account_numbered(_NOBODY, _NOBODY))
        self.sandbox = Sandbox(path=path or self.around.execute / name)
        self.moved = moves_files(state.job_ad, launch.shares, from_queue=launch.from_queue)
        self.baseline = Baseline.read(self._baseline_path)
        self.tmpdir = tmpdir_of(self._listed_path)
        self.number = state.run
        with contextlib.suppress(BadJob):
            self._find_docker()
        self.has_printed = state.printed

    @property
    def _listed_path(self) -> Path:
        return self.record.with_suffix(LISTED)

    @property
    def _baseline_path(self) -> Path:
        return self.record.with_suffix(BASELINE)

    def _machine_failed(self, number: int, text: str) -> None:
        """Note that no job could have been started here."""
        self.around.failed(text)
        self._not_started(number, text, None)

    def _not_started(self, number: int, text: str, code: StarterHold | None, errno: int = 0) -> None:
        self.around.tell(sev.JobNotStarted(run=number, text=text, errno=errno, code=code))

    def _has(self, family: Family, number: int) -> None:
        self.family, self.number = family, number
        task = asyncio.create_task(self._watch(family, number), name=f"end of {self.run}")
        self._tasks["end"] = task
        task.add_done_callback(self._worked)

    async def _watch(self, family: Family, number: int) -> None:
        end: ProcessEnd = await family.wait()
        if self.around.sessions is not None:
            self.around.sessions.ended(self.job_ad, end)
        if self.tasks is not None:
            await self.tasks.end()
        usage = last_usage(end)
        if self.around.shells is not None:
            if self._ordered_to_end:
                await self.around.shells.kill(self.run)
            await self.around.shells.closed(self.run)
            usage = await self.around.shells.with_shells(self.run, usage) or usage
        if self._left:
            end = replace(end, exit_code=0, signal=None)
        self.around.tell(sev.UsageSampled(run=number, usage=usage))
        missing = "" if end.exit_code == 0 else await self._missing()
        if missing:
            self.around.failed(missing)
        self.around.tell(
            sev.JobEnded(
                run=number,
                exit_code=end.exit_code,
                signal=end.signal,
                core_dumped=end.core_dumped,
                missing=missing,
                out_of_memory=out_of_memory(end, self.job_ad),
                resources=end.resources,
            )
        )

    async def _missing(self) -> str:
        """What a job that ended badly lacked here: space on the disk, although it stayed within its share."""
        if not self.moved or self.sandbox is None or not _is_full(self.sandbox.path.parent):
            return ""
        if await asyncio.to_thread(self.sandbox.size_kib) * 1024 > self._granted_bytes():
            return ""
        return f"the disk of {self.sandbox.path.parent} is full"

    def _granted_bytes(self) -> int:
        """The disk space of its slot."""
        disk_kib = self.slot_ad.cell("disk")
        return int(disk_kib) * 1024 if isinstance(disk_kib, int | float) else 0

    def adopted(self, family: Family, number: int) -> None:
        """Adopt the job of an earlier daemon."""
        if self.around.sessions is not None:
            self.around.sessions.goes_on(self.job_ad, self._end_job)
        # An earlier daemon's chirp connection has ended with it.
        self._begin("line to the queue", self._listen())
        self._has(family, number)

    async def _suspend(self) -> None:
        if self.tasks is not None:
            self.tasks.hold(still=True)
        if self.around.shells is not None:
            await self.around.shells.hold(self.run, still=True)
        if self.docker is not None:
            await self.docker.pause()
        if self.family is not None:
            self._tell_stopped(await self.family.suspend())

    def _tell_stopped(self, processes: int) -> None:
        """Report once that the job counts as suspended, when it is notified or when it is stopped."""
        if not self._reported_stopped:
            self._reported_stopped = True
            self.around.stopped(processes)

    async def _tell_stopping(self, family: Family) -> None:
        usage = await self.around.measure(family)
        self._tell_stopped(0 if usage is None else usage.process_count)

    async def _resume(self) -> None:
        self._reported_stopped = False
        if self.tasks is not None:
            self.tasks.hold(still=False)
        if self.around.shells is not None:
            await self.around.shells.hold(self.run, still=False)
        if self.family is not None:
            await self.family.resume()
        if self.docker is not None:
            await self.docker.unpause()

    async def _method(self, effect: sef.RunMethod) -> None:
        """Carry out a queue instance's replacement of a signal; a shell line is not waited for here."""
        if self.family is None:
            self.around.tell(sev.MethodEnded(method=effect.method))
            return
        if effect.method is Method.RESUME:
            self._reported_stopped = False
        if effect.method in (Method.SUSPEND, Method.RESUME) and self.tasks is not None:
            self.tasks.hold(still=effect.method is Method.SUSPEND)
        if effect.command.startswith("/"):
            # One that an earlier order began continues: methods of different kinds may run at once.
            self.hooks.keep(self._begin(effect.method, self.hooks.method(effect, self.family.pid)), effect.method)
        else:
            await self.family.signal_all(signal.Signals[effect.command])
            self.around.tell(sev.MethodEnded(method=effect.method))
        if effect.method is Method.SUSPEND:
            await self._tell_stopping(self.family)

    def _end_job(self) -> None:
        """End the job because a slave task has failed, or the user who was connected to it is gone."""
        self._queue.put_nowait(self.kill())

    async def _signal(self, name: str, *, ends: bool) -> None:
        if self.family is None:
            return
        if ends and self.around.shells is not None:
            self._ordered_to_end = True
            await self.around.shells.hang_up(self.run)
        family = self.family
        number = signal.Signals[name] if name in signal.Signals.__members__ else signal.SIGTERM
        if not await family.signal(number) and start_of(family.pid) == family.started.start:
            # It exists, and cannot be signalled. If it were gone, its end would be reported soon.
            self.around.tell(sev.SoftKillFailed(run=self.number))

    def shells_closed(self) -> None:
        """Note that the last shell alongside the job has ended."""
        if self.job_ad.cell("interactivejob") is True and self.family is not None and not self.family.is_ended:
            self._left = True
            self._end_job()

    async def _signal_all(self, name: str, *, suspends: bool = False) -> None:
        if self.family is not None:
            await self.family.signal_all(signal.Signals[name])
            if suspends:
                await self._tell_stopping(self.family)

    async def give_up(self) -> None:
        """End the work of a starter that does not end it itself: nothing of the job may be left."""
        await self.kill()
        self.forget()
        if self.sandbox is not None:
            removal = asyncio.ensure_future(asyncio.to_thread(self.sandbox.remove))
            # A disk that does not respond delays no other run.
            await asyncio.wait([removal], timeout=GIVE_UP_S)
            text = removal.result() if removal.done() else f"{self.sandbox.path} has not been removed yet"
            if text:
                _log.warning("%s: %s", self.in_log, text)
        if self.tmpdir is not None and (text := await asyncio.to_thread(remove_tmpdir, self._listed_path)):
            _log.warning("%s: %s", self.in_log, text)
        self.done()

    async def kill(self) -> None:
        """Kill everything that is left of the job."""
        if self.around.shells is not None:
            await self.around.shells.kill(self.run)
        if self.docker is not None:
            await self.docker.remove()
        if self.family is not None:
            await self.family.kill()

    # -- measuring -----------------------------------------------------------------------------------

    def cpu_percent(self) -> float:
        """Processor use of the job since the last call, percent of one core."""
        passed_s, used_s = max(0.001, self._looked_at - self._cpu_at), max(0.0, self._looked_cpu_s - self._cpu_s)
        self._cpu_at, self._cpu_s = self._looked_at, self._looked_cpu_s
        return used_s / passed_s * 100 if passed_s > 0.01 else 0.0

    # -- the end -------------------------------------------------------------------------------------

    def done(self) -> None:
        """Finish the starter: nothing is kept except reports that queues have not confirmed."""
        self.forget()
        if self.moved:
            # A directory that stays is removed at the daemon's next start.
            with contextlib.suppress(OSError):
                self._baseline_path.unlink(missing_ok=True)
        if self.tasks is not None:
            self.tasks.done()
        if self.around.shells is not None:
            self.around.shells.forget(self.run)
        self.around.done()

    def forget(self) -> None:
        """Stop supervising the job; it continues if it runs."""
        if self.chirp is not None:
            self.chirp.close()
        for timer in list(self._timers):
            self._cancel_timer(timer)
        for task in self._tasks.values():
            if task is not asyncio.current_task():
                task.cancel()
        self._worker.cancel()
        self.hooks.forget()
        if self.tasks is not None:
            self.tasks.forget()
        while not self._queue.empty():
            self._queue.get_nowait().close()
        if self.family is not None and not self.family.is_ended:
            self.family.forget()


def _is_full(directory: Path) -> bool:
    """Whether a directory's disk is almost full."""
    try:
        found = os.statvfs(directory)
    except OSError:
        return False
    return found.f_bavail * found.f_frsize < PROBE_BYTES
