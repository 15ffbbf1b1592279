"""The context of a queue instance for one job: the settings from the cell's queue, host and global configuration.

=====================  ============================================================================================
value                  where it comes from
=====================  ============================================================================================
limits                 the stricter of the queue's and of what the job asks for with `-l`; that of CPU time and of
                       virtual memory times the slots of the job on the host; a soft limit is at most the hard one
prolog, epilog         the queue's; if that is NONE, that of the host's configuration if it has the attribute, even as
                       NONE, else that of the global configuration
login_shells           that of the host's configuration, else that of the global one
others                 the queue's, resolved for its host
=====================  ============================================================================================
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from roost.base.records import replace
from roost.classad import ClassAd
from roost.gridengine.cell import Cell
from roost.gridengine.instances import Resolver
from roost.gridengine.objects.configuration import BY_NAME, GLOBAL
from roost.gridengine.objects.pairs import Pair
from roost.gridengine.objects.queue import QueueSettings
from roost.gridengine.objects.values import is_none, seconds
from roost.gridengine.pool.requests import text_of, when_of
from roost.gridengine.pool.tasks import all_grants_of, instance_of, running_task
from roost.gridengine.scheduling.loads import host_of
from roost.model.cell_requests import CHECKPOINT, CHECKPOINT_WHEN
from roost.model.queue_context import CheckpointContext, ParallelContext, QueueContext
from roost.model.signals import signal_named

#: Limits without the prefix `s_` or `h_`.
LIMITS: Final = ("rt", "cpu", "fsize", "data", "stack", "core", "rss", "vmem")
#: Limits that are multiplied by the slots of a job.
_PER_SLOT: Final = ("cpu", "vmem")


def context_of(cell: Cell, task: ClassAd, job_ad: ClassAd | None = None, sge_root: str = "") -> QueueContext | None:
    """The context of a job from its allocation in the cell (`CellTask`); None if the cell no longer has its queue.

    `job_ad` says whether it has a checkpointing interface; `sge_root` is that of the queue.
    """
    name = instance_of(task)
    host = host_of(name)
    running = running_task([task], 0, 0.0)
    slots = sum(grant.slots for grant in all_grants_of(task) if host_of(grant.instance) == host)
    parallel = _parallel(cell, task, running.environment)
    found = _context(cell, name, running.request.hard, slots, slots, parallel)
    if found is None:
        return None
    interface = None if job_ad is None else checkpoint_of(cell, found.queue, host, job_ad)
    return replace(found, checkpoint=interface, sge_root=sge_root)


def checkpoint_of(cell: Cell, queue: str, host: str, job_ad: ClassAd) -> CheckpointContext | None:
    """The checkpointing interface of a job in an instance of a queue; None without one, or if the cell no longer has
    it."""
    name = text_of(job_ad, CHECKPOINT)
    interface = cell.checkpoints.get(name) if name else None
    if interface is None:
        return None
    when, asked_s = when_of(text_of(job_ad, CHECKPOINT_WHEN))
    letters = when or interface.when
    least_s = Resolver(cell).instance(cell.queues[queue], host).settings.min_cpu_interval.number
    regular = "m" in letters or asked_s is not None
    return CheckpointContext(
        name=name,
        interface=interface.interface,
        command=_said(interface.ckpt_command),
        migrate=_said(interface.migr_command),
        restart=_said(interface.restart_command),
        clean=_said(interface.clean_command),
        directory=interface.ckpt_dir,
        signal=signal_named(_said(interface.signal)) or "",
        when=letters,
        interval_s=max(least_s, asked_s or 0.0, 1.0) if regular else None,
    )


def slave_contexts(cell: Cell, task: ClassAd, host: str) -> list[QueueContext]:
    """The contexts for slave tasks in a parallel job's queue instances on a host, with its slots there; from the
    master's ad.

    A task has one slot. Instances whose queue the cell no longer has are left out; the result is empty if the parallel
    environment does not control slave tasks.
    """
    running = running_task([task], 0, 0.0)
    environment = cell.parallel_environments.get(running.environment)
    if environment is None or not environment.control_slaves:
        return []
    told = ParallelContext(environment=running.environment, slots=1, hosts=1, instances=1, hostfile="")
    granted = [grant for grant in all_grants_of(task) if host_of(grant.instance) == host]
    found = [_context(cell, instance, running.request.hard, 1, slots, told) for instance, slots in granted]
    return [context for context in found if context is not None]


def is_first_task(cell: Cell, task: ClassAd) -> bool:
    """Whether a parallel job itself counts as one of its tasks."""
    environment = cell.parallel_environments.get(running_task([task], 0, 0.0).environment)
    return environment is not None and environment.job_is_first_task


def _context(
    cell: Cell, name: str, asked: Iterable[Pair], processes: int, slots: int, parallel: ParallelContext | None
) -> QueueContext | None:
    """The context of a queue instance; per-slot limits are multiplied by `processes`."""
    queue, host = cell.queues.get(name.partition("@")[0]), host_of(name)
    if queue is None:
        return None
    settings = Resolver(cell).instance(queue, host).settings
    return QueueContext(
        queue=queue.name,
        host=host,
        slots=slots,
        parallel=parallel,
        limits=_limits(settings, asked, processes),
        report_s=report_s(cell, host),
        priority=int(settings.priority.number),
        tmpdir=settings.tmpdir,
        prolog=_command(cell, host, "prolog", settings.prolog),
        epilog=_command(cell, host, "epilog", settings.epilog),
        processors=settings.processors,
        shell=settings.shell,
        shell_start_mode=settings.shell_start_mode.lower(),
        login_shells=_login_shells(cell, host),
        starter_method=_said(settings.starter_method),
        suspend_method=_said(settings.suspend_method),
        resume_method=_said(settings.resume_method),
        terminate_method=_said(settings.terminate_method),
        notify_s=settings.notify.number,
        notify_suspend=_notice(cell, host, "NOTIFY_SUSP", "SIGUSR1"),
        notify_terminate=_notice(cell, host, "NOTIFY_KILL", "SIGUSR2"),
        forbids_reschedule=_is_set(cell, "FORBID_RESCHEDULE"),
        forbids_error=_is_set(cell, "FORBID_APPERROR"),
    )


def _said(text: str) -> str:
    return "" if is_none(text) else text


def _notice(cell: Cell, host: str, name: str, usual: str) -> str:
    """The signal of `execd_params` that warns a job; "" for none. A word that is not a signal counts as not given."""
    word = parameters(cell.configured(host, "execd_params")).get(name, "default")
    return "" if word.casefold() == "none" else signal_named(word) or usual


def _parallel(cell: Cell, task: ClassAd, environment: str) -> ParallelContext | None:
    if not environment:
        return None
    grants, resolver = all_grants_of(task), Resolver(cell)
    lines = []
    for instance, slots in grants:
        queue, host = cell.queues.get(instance.partition("@")[0]), host_of(instance)
        processors = "UNDEFINED" if queue is None else resolver.instance(queue, host).settings.processors
        lines.append(f"{host} {slots} {instance} {processors}\n")
    return ParallelContext(
        environment=environment,
        slots=sum(grant.slots for grant in grants),
        hosts=len({host_of(grant.instance) for grant in grants}),
        instances=len(grants),
        hostfile="".join(lines),
        start=_environment_command(cell, environment, "start_proc_args"),
        stop=_environment_command(cell, environment, "stop_proc_args"),
        controls_slaves=(found := cell.parallel_environments.get(environment)) is not None and found.control_slaves,
    )


def _environment_command(cell: Cell, environment: str, name: str) -> str:
    """A command of a parallel environment; "" for none, and for one that does nothing."""
    found = cell.parallel_environments.get(environment)
    text = "" if found is None else str(getattr(found, name))
    return "" if is_none(text) or text == "/bin/true" else text


def report_s(cell: Cell, host: str) -> float | None:
    """`load_report_time`, s: how often execution daemons of Grid Engine report the usage of jobs."""
    found = seconds(cell.configured(host, "load_report_time") or BY_NAME["load_report_time"].default)
    return None if found is None else max(1.0, found)


def _is_set(cell: Cell, name: str) -> bool:
    """Whether a parameter of `qmaster_params` is true."""
    return parameters(cell.configured(GLOBAL, "qmaster_params")).get(name, "").lower() in ("1", "true")


def parameters(text: str | None) -> dict[str, str]:
    """The parameters of `qmaster_params` or `execd_params`, by name; a bare name has no value."""
    return dict(word.partition("=")[::2] for word in (text or "").replace(",", " ").split())


def _login_shells(cell: Cell, host: str) -> tuple[str, ...]:
    text = cell.configured(host, "login_shells")
    text = BY_NAME["login_shells"].default if text is None else text
    return () if is_none(text) else tuple(text.replace(",", " ").split())


def _command(cell: Cell, host: str, name: str, of_queue: str) -> str:
    """The command of the lowest level that has one; "" for none."""
    if not is_none(of_queue):
        return of_queue
    text = cell.configured(host, name)
    return "" if text is None or is_none(text) else text


def _limits(settings: QueueSettings, asked: Iterable[Pair], slots: int) -> dict[str, float]:
    wanted = {pair.name: pair.text for pair in asked}
    found: dict[str, float] = {}
    for kind in LIMITS:
        hard, soft = (_stricter(settings, f"{letter}_{kind}", wanted) for letter in "hs")
        factor = slots if kind in _PER_SLOT else 1
        for name, limit in ((f"h_{kind}", hard), (f"s_{kind}", soft if kind == "rt" else min(soft, hard))):
            if math.isfinite(limit):
                found[name] = limit * factor
    return found


def _stricter(settings: QueueSettings, name: str, wanted: dict[str, str]) -> float:
    limit: float = getattr(settings, name).number
    asked = seconds(wanted[name]) if name in wanted else None
    return limit if asked is None else min(limit, asked)
