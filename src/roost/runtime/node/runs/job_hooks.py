"""The programs that a starter runs around its job: hooks, prolog and epilog.

Hooks belong to the source of the job. They run as the job's user, in its scratch directory, with the environment that
Roost gives a job but without what the job's user adds to it; `STARTER_FAILURE` runs as the daemon's user and in /,
since the job's user or directory may be the problem. Prolog and epilog belong to the slot's owner. They run where the
job does, with the job's whole environment, and print to its files; with `user@` they run as that account if
STARTER_SCRIPT_USERS names it, and then without the variables that change how programs run.

All of them have ended before the scratch directory is removed.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Final

from roost.classad import ClassAd
from roost.config import ConfigError
from roost.model import starter_effects as sef
from roost.model import starter_events as sev
from roost.model.command_line import CommandLineError, split_raw
from roost.model.starter import HookPoint, Method, ScriptPoint
from roost.runtime.node.runs.job_environment import (
    JOB_AD,
    Program,
    account_environment,
    hook_environment,
    job_environment,
    job_program,
    write_ads,
    write_hostfile,
)
from roost.runtime.node.runs.job_order import BadJob, job_place, with_queue
from roost.runtime.node.runs.local_run import LocalRun
from roost.runtime.node.runs.script_values import script_values
from roost.runtime.processes.accounts import Account, NoSuchAccount, account_named, can_switch_user, own_account
from roost.runtime.processes.hook_programs import (
    HookCall,
    HookFailed,
    HookResult,
    ads_text,
    printed_ad,
    run_hook,
    script_call,
)
from roost.starter.methods import expanded_line
from roost.starter.scripts import expanded, for_somebody_else, script_environment

_log = logging.getLogger("roost.hooks")

#: The shell that runs lines of methods.
_SHELL: Final = Path("/bin/sh")
#: Hooks whose output changes the job's ad.
_CHANGES: Final = (HookPoint.PREPARE_EARLY, HookPoint.PREPARE)


class ScriptRefused(Exception):
    """A prolog or epilog that must not be run."""


class JobHooks:
    """The hooks and scripts of one run."""

    def __init__(self, runner: LocalRun) -> None:
        self._runner = runner
        self._calls = 0
        self._running: dict[asyncio.Task[None], HookPoint | ScriptPoint | Method] = {}
        #: The prolog's output in the job's standard output is kept.

    def is_running(self, point: HookPoint) -> bool:
        """Whether a hook is still running."""
        return point in self._running.values()

    def keep(self, task: asyncio.Task[None], point: HookPoint | ScriptPoint | Method) -> None:
        """Track a task until it is done."""
        self._running[task] = point
        task.add_done_callback(lambda done: self._running.pop(done, None))

    async def end(self) -> None:
        """Kill what still runs, and wait until it has ended."""
        left = [task for task in self._running if task is not asyncio.current_task()]
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left)

    def forget(self) -> None:
        """Kill what still runs."""
        for task in list(self._running):
            task.cancel()

    # -- hooks -----------------------------------------------------------------------------------------

    def hook(self, effect: sef.RunHook) -> Coroutine[Any, Any, None]:
        """Run a hook and report its result to the starter."""
        return self._hook(effect)

    async def _hook(self, effect: sef.RunHook) -> None:
        runner, point = self._runner, effect.point
        try:
            words = split_raw(effect.arguments)
        except CommandLineError as problem:
            self._not_run(effect, f"its arguments cannot be read: {problem}")
            return
        sandbox = None if runner.sandbox is None else runner.sandbox.path
        if sandbox is not None and not (sandbox / JOB_AD).exists():
            try:
                await asyncio.to_thread(write_ads, sandbox, runner.job_ad, runner.slot_ad, runner.transfers.hands)
            except OSError as problem:
                _log.warning("%s: cannot write the ads for hooks: %s", runner.in_log, problem)
        result = await self._called(
            path=Path(effect.path),
            arguments=words,
            text=ads_text(effect.ad, runner.slot_ad),
            environment=self._hook_environment(effect),
            directory=Path("/") if sandbox is None or point is HookPoint.FAILURE else sandbox,
            account=None if point is HookPoint.FAILURE else runner.account,
            timeout_s=None if effect.awaited else effect.timeout_s,
        )
        if isinstance(result, HookFailed):
            self._not_run(effect, result.text)
            return
        self._complained(effect.path, result)
        if point is not HookPoint.UPDATE:
            self._ended(f"hook {point}", effect.path, result)
        if effect.awaited:
            printed = self._printed(effect, result)
            runner.around.tell(sev.HookEnded(point=point, status=result.status, printed=printed))

    def _not_run(self, effect: sef.RunHook, text: str) -> None:
        _log.warning("%s: %s: %s", self._runner.in_log, effect.path, text)
        if effect.awaited:
            self._runner.around.tell(sev.HookNotRun(point=effect.point, text=text))

    def _printed(self, effect: sef.RunHook, result: HookResult) -> ClassAd | None:
        if effect.point not in _CHANGES or not result.output.strip():
            return None
        printed = printed_ad(result.output)
        if isinstance(printed, HookFailed):
            _log.warning("%s: %s: %s; its output is ignored", self._runner.in_log, effect.path, printed.text)
            return None
        self._runner.job_ad = self._runner.job_ad.copy()
        self._runner.job_ad.update(printed)
        return printed

    def _hook_environment(self, effect: sef.RunHook) -> dict[str, str]:
        try:
            environment = hook_environment(job_place(self._runner, effect.ad)[1], effect.ad)
        except BadJob:
            return {"PATH": os.defpath}
        if effect.point is HookPoint.FAILURE:
            # It runs as the daemon's user: none of its files may be in a place that belongs to the job's user.
            return {**for_somebody_else(environment), **_of_somebody_else(None)}
        return environment

    # -- prolog and epilog -----------------------------------------------------------------------------

    async def script(self, effect: sef.RunScript) -> None:
        """Run prolog or epilog and report its result to the starter."""
        status: int | None = 0
        try:
            # Lines of checkpointing interfaces are for a shell.
            is_line = effect.point is ScriptPoint.CLEAN
            call = (None, _SHELL, ("-c", effect.command)) if is_line else script_call(effect.command)
            if call is not None:
                status = await self._script(effect, *call)
        except (ScriptRefused, BadJob, NoSuchAccount, ConfigError, ValueError, OSError) as problem:
            _log.error("%s: the %s %r was not run: %s", self._runner.in_log, effect.point, effect.command, problem)
            status = None
        self._runner.around.tell(sev.ScriptEnded(point=effect.point, status=status, printed=self._runner.has_printed))

    async def _script(self, effect: sef.RunScript, user: str | None, path: Path, words: tuple[str, ...]) -> int | None:
        runner = self._runner
        account, is_other = self._script_account(user)
        job_ad, place = job_place(runner, runner.job_ad)
        write_hostfile(place.sandbox, runner.around.context, runner.transfers.hands)
        try:
            program: Program | None = job_program(job_ad, place)
            environment = job_environment(job_ad, with_queue(runner, job_ad, place, program))
        except ValueError:
            # It has nowhere to print to; that the job is invalid is noticed when it is started.
            program, environment = None, hook_environment(with_queue(runner, job_ad, place, None), job_ad)
        values = script_values(runner, job_ad, program)
        told = script_environment(values, effect.job_status)
        if "NSLOTS" in environment:
            # `$processors` of a queue instance is not its slots.
            told["NSLOTS"] = environment["NSLOTS"]
        if is_other:
            environment = {**for_somebody_else(environment), **_of_somebody_else(account)}
        prints = None if program is None or is_other else (program.stdout, program.stderr)
        arguments = expanded(words, values)
        if effect.point is ScriptPoint.CLEAN:
            prints = None
            pid = 0 if runner.family is None else runner.family.pid
            arguments = (words[0], expanded_line(words[1], values | {"job_pid": str(pid)}))
        call = {"path": path, "arguments": arguments, "text": "", "account": account}
        result = await self._called(
            **call,
            environment=environment | told,
            directory=Path("/") if is_other else place.working_directory(job_ad),
            printed_to=prints,
            adds=self._runner.has_printed or effect.point in (ScriptPoint.PE_STOP, ScriptPoint.EPILOG),
        )
        if isinstance(result, HookFailed) and result.by_call:
            # The job's own attributes are invalid, which is reported when it is started: the machine is not at fault.
            _log.warning("%s: the %s runs without what its job requested: %s", runner.in_log, effect.point, result.text)
            least = _of_somebody_else(account) | told
            prints, within = None, Path("/") if is_other else place.sandbox
            result = await self._called(**call, environment=least, directory=within)
        if isinstance(result, HookFailed):
            _log.warning("%s: the %s %s: %s", runner.in_log, effect.point, effect.command, result.text)
            return None
        before_job = effect.point in (ScriptPoint.PROLOG, ScriptPoint.PE_START)
        self._runner.has_printed = self._runner.has_printed or (before_job and prints is not None)
        self._complained(str(path), result)
        self._ended(str(effect.point), str(path), result)
        return result.status

    # -- methods ---------------------------------------------------------------------------------------

    async def method(self, effect: sef.RunMethod, pid: int) -> None:
        """Run a line of the queue instance as the job's user, and report its result to the starter."""
        try:
            text = await self._method(effect, pid)
        except (BadJob, ConfigError, ValueError, OSError) as problem:
            text = f"it could not be executed: {problem}"
        self._runner.around.tell(sev.MethodEnded(method=effect.method, text=text))

    async def _method(self, effect: sef.RunMethod, pid: int) -> str:
        """Run it and return what is wrong with its end; "" for nothing."""
        runner = self._runner
        job_ad, place = job_place(runner, runner.job_ad)
        program = job_program(job_ad, place)
        values = script_values(runner, job_ad, program) | {"job_pid": str(pid)}
        result = await self._called(
            path=_SHELL,
            arguments=("-c", expanded_line(effect.command, values)),
            environment=job_environment(job_ad, with_queue(runner, job_ad, place, program)),
            directory=place.working_directory(job_ad),
            account=runner.account,
            timeout_s=effect.timeout_s,
        )
        if isinstance(result, HookFailed):
            return result.text
        said = f": {errors}" if (errors := result.errors.strip()) else ""
        return f"it exited with status {result.status}{said}" if result.status else ""

    def _script_account(self, user: str | None) -> tuple[Account | None, bool]:
        """The account that runs it, and whether that is not the job's user."""
        runner = self._runner
        own = runner.account or own_account()
        if user is None or user == own.name:
            return runner.account, False
        allowed = runner.around.config.get("STARTER_SCRIPT_USERS", subsys="STARTER") or ""
        if user not in allowed.replace(",", " ").split():
            raise ScriptRefused(f"STARTER_SCRIPT_USERS does not name {user}")
        if user == own_account().name:
            return None, True
        if not can_switch_user():
            raise ScriptRefused(
                f"it would have to run as {user}, which only root can arrange, and this "
                f"daemon runs as {own_account().name}"
            )
        return account_named(user), True

    # -- both ------------------------------------------------------------------------------------------

    def _complained(self, path: str, result: HookResult) -> None:
        if result.errors.strip():
            _log.warning("%s: %s printed to stderr: %s", self._runner.in_log, path, result.errors.strip())

    def _ended(self, what: str, path: str, result: HookResult) -> None:
        _log.info("%s: the %s %s exited with status %s", self._runner.in_log, what, path, result.status)

    async def _called(self, **call: Any) -> HookResult | HookFailed:
        self._calls += 1
        runner = self._runner
        home = runner.around.home
        if call["account"] is not None:
            # The sandbox may have been made private by the job's own user, the daemon's.
            try:
                home.let_others_to(home.execute)
            except OSError as problem:
                return HookFailed(text=str(problem))
        # A restarted daemon uses other names for its calls.
        key = f"{runner.run}/hook{os.getpid()}.{self._calls}"
        return await run_hook(runner.around.fork_server, home.execute, HookCall(key=key, **call))


def _of_somebody_else(account: Account | None) -> dict[str, str]:
    """The variables that name the account, for a program of another user than the job's; None for the daemon's user."""
    return {"PATH": os.defpath, **account_environment(account or own_account())}
