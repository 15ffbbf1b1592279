"""The options of ``qconf`` that stop daemons and the scheduling runs: ``-ke``, ``-kej``, ``-km``, ``-ks``, ``-kt`` and
``-at``.

A manager of the cell may stop the queue, the central manager and the runs. A machine belongs to its owner: only an
administrator of its configuration may stop its daemon.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from roost.cli.gridengine.asking import cell_files, trusted
from roost.cli.gridengine.choosing import Named, tasks_named
from roost.cli.pool_connection import Refused
from roost.cli.terminal import CommandError
from roost.gridengine.cell import read_cell
from roost.gridengine.commands.errors import FAILED, Failure
from roost.gridengine.instances import resolve
from roost.gridengine.objects.host import GLOBAL
from roost.gridengine.pool.hosts import Hosts
from roost.runtime.identity import host_name
from roost.wire.requests import central, machine, queue

if TYPE_CHECKING:
    from roost.cli.pool_connection import Pool
    from roost.gridengine.cell import Cell

_ALL: Final = "all"
_THREAD: Final = "scheduler"


def stop_machines(pool: Pool, words: Sequence[str]) -> int:
    """``-ke``: stop the daemons of execution hosts, whose jobs continue; return the exit status."""
    return _stop_hosts(pool, words[0], kill_jobs=False)


def stop_machines_and_jobs(pool: Pool, words: Sequence[str]) -> int:
    """``-kej``: delete the jobs of execution hosts, and stop their daemons; return the exit status."""
    return _stop_hosts(pool, words[0], kill_jobs=True)


def _stop_hosts(pool: Pool, names: str, *, kill_jobs: bool) -> int:
    _check_manager(pool, "shutting down execd requires manager privileges")
    cell = read_cell(cell_files(pool))
    instances = resolve(cell)
    hosts = [each for each in dict.fromkeys((*cell.hosts, *(one.host for one in instances))) if each != GLOBAL]
    known = Hosts(cell, instances)
    reporting = pool.ask(central.Ads(kind="Machine", projection=("Machine",), values=True))
    machines = {known.of(name): name for name in sorted({str(row.get("Machine", "")) for row in reporting})}
    status = 0
    for name in hosts if names == _ALL else [each for each in names.split(",") if each]:
        host = next((each for each in hosts if each.casefold() == name.casefold()), None)
        if host is None:
            words = f'"{name}" is not an execution host' if _exists(name, cell) else f'can\'t resolve hostname "{name}"'
        elif host not in machines:
            words = f"no execd known on host {host}"
            if names != _ALL:
                words = f"failed sending shutdown notification to unknown execd host {host}"
        else:
            status = max(status, _stop_host(pool, host, machines[host], kill_jobs=kill_jobs))
            continue
        status = _said(words, FAILED)
    return status


def _exists(name: str, cell: Cell) -> bool:
    if name.casefold() in map(str.casefold, (*cell.admin_hosts, *cell.submit_hosts)):
        return True
    try:
        socket.getaddrinfo(name, None)
    except (OSError, UnicodeError):
        return False
    return True


def _stop_host(pool: Pool, host: str, name: str, *, kill_jobs: bool) -> int:
    if kill_jobs and (jobs := tuple(_jobs_on(pool, host))):
        pool.ask(queue.Act(action="remove", jobs=jobs, reason=f"qconf -kej by user {pool.user}"))
    try:
        pool.ask(machine.StopMachine(kill_jobs=kill_jobs), machine=name)
    except (Refused, CommandError) as error:
        return _said(f"failed sending shutdown notification to execd host {host}: {error}", FAILED)
    return _said(f"sent shutdown {'and kill ' * kill_jobs}notification to  execd host {host}", 0)


def _jobs_on(pool: Pool, host: str) -> Iterable[str]:
    (tasks,) = tasks_named(pool, [Named("*")])
    for task in tasks:
        if any(instance.partition("@")[2] == host for instance in task.grants):
            yield f"{task.job}.{task.proc}"


def stop_master(pool: Pool, words: Sequence[str]) -> int:
    """``-km``: stop the queue and the central manager; return the exit status."""
    _check_manager(pool, "shutting down qmaster requires manager privileges")
    # The central manager first: it learns who is a manager from the queue.
    pool.ask(central.StopCentral())
    pool.ask(queue.StopQueue())
    return _said(f"{pool.user}@{host_name()} kills qmaster", 0)


def stop_scheduling(pool: Pool, words: Sequence[str]) -> int:
    """``-ks``: stop the scheduling runs; return the exit status."""
    _check_manager(pool, "shutdown requires manager privileges")
    if pool.ask(central.CellScheduling(active=False)).changed:
        return _said("sent shutdown notification to scheduler", 0)
    return _said("no scheduler registered at qmaster", FAILED)


def stop_thread(pool: Pool, words: Sequence[str]) -> int:
    """``-kt``: stop the thread of the scheduler; return the exit status."""
    if changed := _thread(pool, words[0], active=False):
        return _said("scheduler thread terminated", 0)
    return 0 if changed is None else _said("scheduler thread is not running", 0)


def start_thread(pool: Pool, words: Sequence[str]) -> int:
    """``-at``: start the thread of the scheduler; return the exit status."""
    if changed := _thread(pool, words[0], active=True):
        return _said("scheduler has been started", 0)
    return 0 if changed is None else _said("scheduler thread is already running", 0)


def _thread(pool: Pool, name: str, *, active: bool) -> bool | None:
    """Stop or resume the runs; return whether that changed anything, None for a thread that does not exist. Raises
    Failure.
    """
    if name != _THREAD:
        _said(f'thread with name "{name}" is not supported', 0)
        return None
    # Grid Engine 8.1.9 lets every user do it.
    _check_manager(pool, f'denied: "{pool.user}" must be manager for this operation')
    return pool.ask(central.CellScheduling(active=active)).changed


def _check_manager(pool: Pool, words: str) -> None:
    """Raises Failure. The daemons decide; this is for the message."""
    if not trusted(pool, "managers"):
        raise Failure(words)


def _said(words: str, status: int) -> int:
    sys.stderr.write(f"{words}\n")
    return status


#: Option to its function.
ACTIONS: Final[dict[str, Callable[[Pool, list[str]], int]]] = {
    "at": start_thread, "ke": stop_machines, "kej": stop_machines_and_jobs, "km": stop_master, "ks": stop_scheduling,
    "kt": stop_thread,
}  # fmt: skip
