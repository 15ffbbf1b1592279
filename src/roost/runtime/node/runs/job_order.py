"""From a job's ad to the process of its program: the contents of `job_environment`, as an order to the fork server."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.base.records import replace
from roost.classad import ClassAd, ParseError, Syntax, parse_expression
from roost.config import ConfigError
from roost.model.cell_requests import CHECKPOINTED, Interaction
from roost.model.command_line import environment_from_submit
from roost.model.starter import StarterHold
from roost.runtime.cell_root import root_environment
from roost.runtime.node.cell_program import SCRIPT_FILE, has_script, interaction_of, is_cell_job, program_environment
from roost.runtime.node.runs.containers import wants_container
from roost.runtime.node.runs.docker import shell_in, wants_docker
from roost.runtime.node.runs.job_environment import (
    HOSTFILE,
    JobPlace,
    Program,
    account_environment,
    contained_program,
    job_environment,
    job_program,
    lent_environment,
    write_ads,
    write_hostfile,
)
from roost.runtime.node.runs.job_tasks import DOOR, door_words
from roost.runtime.node.runs.local_run import LocalRun
from roost.runtime.node.runs.script_values import script_values
from roost.runtime.processes.accounts import Account, account_named, can_switch_user, own_account
from roost.runtime.processes.isolation import Isolation, isolation_of
from roost.runtime.processes.memory_control import memory_limit
from roost.runtime.processes.spawn_order import UNLIMITED, SpawnOrder
from roost.startd.fetched_job import VANILLA
from roost.starter.methods import expanded_line
from roost.starter.queue_environment import is_restored, queue_environment, submission_environment
from roost.starter.unit_environment import unit_environment

if TYPE_CHECKING:
    from roost.config import Config
    from roost.model.queue_context import QueueContext
    from roost.wire.requests.machine import OpenShell


#: Limits of queues, without `s_` or `h_` before them, to the names of setrlimit(2).
RLIMITS: Final[Mapping[str, str]] = {
    "cpu": "cpu", "fsize": "fsize", "data": "data", "stack": "stack", "core": "core", "rss": "rss", "vmem": "as",
}  # fmt: skip
#: JOB_SCRIPT of jobs to which users are connected.
SCRIPT_NAMES: Final[Mapping[Interaction, str]] = {
    Interaction.COMMAND: "QRSH", Interaction.LOGIN: "QLOGIN", Interaction.WINDOW: "INTERACTIVE",
}  # fmt: skip
#: The shell that runs lines of checkpointing interfaces.
_SHELL: Final = Path("/bin/sh")
#: Limits from this value on are unlimited for the kernel.
_LIMIT_MAX: Final = 2.0**62


class BadJob(Exception):
    """The job cannot be started as described by its ad."""

    def __init__(self, text: str, code: StarterHold = StarterHold.FAILED_TO_CREATE_PROCESS) -> None:
        super().__init__(text)
        self.code = code


class BadQueue(Exception):
    """The queue instance cannot start any job."""


def job_order(runner: LocalRun, number: int, job_ad: ClassAd) -> SpawnOrder:
    """The order for one start of a job; its ads are written to its sandbox first. Raises BadJob, OSError."""
    job_ad, place = job_place(runner, job_ad)
    try:
        program = job_program(job_ad, place)
        environment = job_environment(job_ad, with_queue(runner, job_ad, place, program))
    except ValueError as error:
        raise BadJob(str(error)) from None
    _check_method(job_ad, runner.around.context)
    program = _restored(runner, job_ad, program)
    write_ads(place.sandbox, job_ad, runner.slot_ad, runner.transfers.hands)
    write_hostfile(place.sandbox, runner.around.context, runner.transfers.hands)
    return SpawnOrder(
        key=f"{runner.run}/{number}",
        record=runner.record,
        program=program.path,
        arguments=program.arguments,
        environment=environment,
        directory=program.directory,
        stdin=program.stdin,
        stdout=program.stdout,
        stderr=program.stderr,
        # The output of a job with checkpoints is part of the checkpoint, and has come with its input. Grid Engine
        # appends.
        append=number > 1 or runner.has_printed or job_ad.cell("wantftoncheckpoint") is True or is_cell_job(job_ad),
        account=runner.account,
        niceness=niceness_in(runner.around.config, runner.slot_ad, job_ad, runner.around.context),
        limits=rlimits(_limits(job_ad), runner.around.context),
        memory=memory_limit(runner.around.config, runner.slot_ad, job_ad),
        isolation=_isolation(runner, place, job_ad),
    )


def _isolation(runner: LocalRun, place: JobPlace, job_ad: ClassAd) -> Isolation | None:
    """What of the machine the job does not see. A container has namespaces of its own."""
    if wants_container(job_ad) or wants_docker(job_ad):
        return None
    kept = (place.sandbox,) if runner.tmpdir is None else (place.sandbox, runner.tmpdir)
    return isolation_of(runner.around.config, runner.slot_ad, job_ad, kept)


def shell_order(runner: LocalRun, asked: OpenShell, pids: Sequence[int]) -> SpawnOrder:
    """The order for a shell alongside a job, without record and streams. Raises BadJob.

    Words are a line for the login shell of the job's account, as with ssh; without words it is an interactive shell.
    """
    job_ad, place = job_place(runner, runner.job_ad)
    account = runner.account or own_account()
    try:
        environment = job_environment(job_ad, with_queue(runner, job_ad, place, None))
    except ValueError as error:
        raise BadJob(str(error)) from None
    shell = account.shell or _SHELL.as_posix()
    if not asked.words:
        shells = (found for each in asked.shells if (found := shutil.which(each, path=environment["PATH"])))
        shell = next(shells, _SHELL.as_posix())
    line = ("-c", " ".join(asked.words)) if asked.words else ()
    program, arguments = Path(shell), (shell.rpartition("/")[2], *line)
    if runner.docker is not None:
        docker, shell = runner.docker, _SHELL.as_posix()
        program, arguments = shell_in(docker.path, docker.name, (shell, *line), terminal=bool(asked.term))
    elif wants_container(job_ad):
        # The machine's shells are not in the image.
        shell = _SHELL.as_posix()
        try:
            program, arguments = contained_program(job_ad, place, (shell, *line))
        except ValueError as error:
            raise BadJob(str(error)) from None
    told = {"_CONDOR_JOB_PIDS": " ".join(map(str, pids)), **({"TERM": asked.term} if asked.term else {})}
    return SpawnOrder(
        key=runner.run,
        record=runner.record,
        program=program,
        arguments=arguments,
        environment={**account_environment(account), **environment, "SHELL": shell, **told},
        directory=place.working_directory(job_ad),
        account=runner.account,
        niceness=niceness_in(runner.around.config, runner.slot_ad, job_ad, runner.around.context),
        limits=rlimits(_limits(job_ad), runner.around.context),
        memory=memory_limit(runner.around.config, runner.slot_ad, job_ad),
    )


def _restored(runner: LocalRun, job_ad: ClassAd, program: Program) -> Program:
    """The restart command of a checkpointing interface for a job that it has saved; otherwise the program."""
    context = runner.around.context
    interface = None if context is None else context.checkpoint
    if context is None or interface is None or not (interface.restarts_by_command and interface.restart):
        return program
    if not is_restored(job_ad, context):
        return program
    values = script_values(runner, job_ad, program) | {"job_pid": str(job_ad.eval(CHECKPOINTED))}
    return replace(program, path=_SHELL, arguments=("sh", "-c", expanded_line(interface.restart, values)))


def _check_method(job_ad: ClassAd, context: QueueContext | None) -> None:
    """Raise BadQueue if a queue's starter method cannot be executed for any job."""
    method = "" if context is None else context.starter_method
    if method and is_cell_job(job_ad) and not os.access(method, os.X_OK):
        raise BadQueue(f'cannot execute the starter_method "{method}" of the queue')


def job_place(runner: LocalRun, job_ad: ClassAd) -> tuple[ClassAd, JobPlace]:
    """The place of a job's run, and its ad with that. Raises BadJob."""
    if runner.sandbox is None:
        raise BadJob("there is no scratch directory")
    if not runner.schedd and "Iwd" not in job_ad:
        # Fetched work that does not say where it runs, runs in its sandbox.
        job_ad = job_ad.copy()
        job_ad["Iwd"] = str(runner.sandbox.path)
    cpus, config = runner.slot_ad.cell("cpus"), runner.around.config
    wrapper = config.get("USER_JOB_WRAPPER", subsys="STARTER")
    return job_ad, JobPlace(
        sandbox=runner.sandbox.path,
        slot=runner.slot.partition("@")[0],
        cpus=cpus if isinstance(cpus, int) else 1,
        moves_files=runner.moved,
        account=runner.account,
        config=config,
        wrapper=Path(wrapper) if wrapper else None,
        given=given_environment(config),
        lent=lent_environment(config.get("JOB_INHERITS_STARTER_ENVIRONMENT", subsys="STARTER") or "", os.environ),
        threads=thread_variables(config),
        units=_units(runner.slot_ad, config),
        context=runner.around.context,
    )


def with_queue(runner: LocalRun, job_ad: ClassAd, place: JobPlace, program: Program | None) -> JobPlace:
    """A place with the variables of the job's queue instance; unchanged for any other job."""
    context = runner.around.context
    if context is None:
        return place
    told = queue_environment(job_ad, context, script_values(runner, job_ad, program))
    told |= root_environment(runner.around.home) | {"SGE_JOB_SPOOL_DIR": str(place.sandbox)}
    if program is not None:
        told["JOB_SCRIPT"] = _script_name(job_ad, place, program)
    if context.parallel is not None:
        told["PE_HOSTFILE"] = str(place.sandbox / HOSTFILE)
    if runner.tasks is not None:
        told[DOOR] = door_words(runner.around.home.secret(), runner.around.name, runner.run)
    if is_cell_job(job_ad):
        told |= program_environment(job_ad, context, place.working_directory(job_ad))
    return replace(place, tmpdir=runner.tmpdir, submitted=submission_environment(job_ad), queue=told)


def _script_name(job_ad: ClassAd, place: JobPlace, program: Program) -> str:
    """Grid Engine's name for the script of a job."""
    interaction = interaction_of(job_ad)
    if has_script(job_ad):
        return str(place.sandbox / SCRIPT_FILE)
    return str(program.path) if interaction is None else SCRIPT_NAMES[interaction]


def thread_variables(config: Config) -> tuple[str, ...]:
    """STARTER_NUM_THREADS_ENV_VARS."""
    return tuple((config.get("STARTER_NUM_THREADS_ENV_VARS", subsys="STARTER") or "").replace(",", " ").split())


def _units(slot_ad: ClassAd, config: Config) -> dict[str, str]:
    """The job's units of custom resources. Raises BadJob."""
    try:
        return unit_environment(slot_ad, config)
    except (ConfigError, ValueError) as error:
        raise BadJob(str(error)) from None


def check_fetched(job_ad: ClassAd) -> None:
    """Check a job that a hook brought and no queue has checked. Raises BadJob."""
    if can_switch_user() and not isinstance(job_ad.cell("owner"), str):
        raise BadJob("the ad that the hook printed has no Owner, and this daemon runs jobs as their owners")
    universe = job_ad.eval("JobUniverse")
    if universe != VANILLA:
        raise BadJob(
            f"the ad that the hook printed has JobUniverse {universe}; only vanilla jobs ({VANILLA}) are supported"
        )


def account_of(job_ad: ClassAd, config: Config, slot_ad: ClassAd) -> Account | None:
    """The account as which a job runs: its owner's if the daemon is root; None for the daemon's own.

    If STARTER_ALLOW_RUNAS_OWNER is FALSE no job runs as its owner, but as SLOT<N>_USER, NOBODY_SLOT_USER, or `nobody`.
    Raises NoSuchAccount.
    """
    if not runs_as_owner(config):
        slot = slot_ad.cell("slotid")
        name = config.get(f"SLOT{slot}_USER", subsys="STARTER") or config.get("NOBODY_SLOT_USER", subsys="STARTER")
        return account_named(name or "nobody")
    return None if runs_as_daemon(job_ad) else account_named(str(job_ad.cell("owner")))


def runs_as_owner(config: Config) -> bool:
    """Whether jobs run as their owners; if this process is not root, all run as the daemon's user."""
    return not can_switch_user() or config.get_bool("STARTER_ALLOW_RUNAS_OWNER", subsys="STARTER")


def runs_as_daemon(job_ad: ClassAd) -> bool:
    """Whether a job runs as the daemon's user; known without querying a directory service."""
    owner = job_ad.cell("owner")
    return not can_switch_user() or not isinstance(owner, str) or owner == own_account().name


def niceness(config: Config, slot_ad: ClassAd, job_ad: ClassAd) -> int:
    """JOB_RENICE_INCREMENT, an expression over slot and job."""
    text = config.get("JOB_RENICE_INCREMENT", subsys="STARTER") or "0"
    try:
        value = slot_ad.eval_expr(parse_expression(text, Syntax.OLD), job_ad)
    except ParseError:
        return 0
    return max(0, min(19, int(value))) if isinstance(value, int | float) and value == value else 0


def niceness_in(config: Config, slot_ad: ClassAd, job_ad: ClassAd, context: QueueContext | None) -> int:
    """The machine's niceness for all of its jobs plus the queue instance's for its own; only root can lower it."""
    own = niceness(config, slot_ad, job_ad)
    if context is None:
        return own
    return max(-20 if can_switch_user() else 0, min(19, own + context.priority))


def rlimits(asked: dict[str, tuple[int, int]], context: QueueContext | None) -> dict[str, tuple[int, int]]:
    """The limits of single processes, with those of the queue instance: the stricter one applies."""
    if context is None:
        return asked
    found = dict(asked)
    for kind, name in RLIMITS.items():
        soft, hard = (_whole(context.limits.get(f"{letter}_{kind}", math.inf)) for letter in "sh")
        if soft != UNLIMITED or hard != UNLIMITED or name in found:
            soft_asked, hard_asked = found.get(name, (UNLIMITED, UNLIMITED))
            hard = _stricter(hard, hard_asked)
            found[name] = _stricter(hard, _stricter(soft, soft_asked)), hard
    return found


def _whole(limit: float) -> int:
    return math.ceil(limit) if limit < _LIMIT_MAX else UNLIMITED


def _stricter(one: int, other: int) -> int:
    return other if one == UNLIMITED else one if other == UNLIMITED else min(one, other)


def _limits(job_ad: ClassAd) -> dict[str, tuple[int, int]]:
    """CoreSize and StackSize, bytes; negative for no limit."""
    found = {}
    for limit, name in (("core", "CoreSize"), ("stack", "StackSize")):
        size = job_ad.eval(name) if name in job_ad else None
        if isinstance(size, int) and not isinstance(size, bool):
            most = UNLIMITED if size < 0 else size
            found[limit] = (most, most)
    return found


def given_environment(config: Config) -> dict[str, str]:
    """STARTER_JOB_ENVIRONMENT. Raises BadJob."""
    try:
        text = config.get("STARTER_JOB_ENVIRONMENT", subsys="STARTER") or ""
        return environment_from_submit(text) if text.strip() else {}
    except (ConfigError, ValueError) as error:
        raise BadJob(f"STARTER_JOB_ENVIRONMENT: {error}") from None
