"""A job with all its processes, on the node's side: wait for its end, suspend, signal, kill and measure it.

A family is identified by its shepherd (see the package `shepherd`), which reports over its connection when the last of
the job's processes has ended. For a shepherd of an earlier daemon, which then exits, a pidfd reports that. Nothing else
goes through the shepherd: control group and /proc lead to the job's processes, so both cases are handled alike.

With a control group the whole family is frozen, thawed and killed atomically; no program can outrun that, and none can
notice freezing. Without one, every process below the shepherd gets SIGSTOP, SIGCONT or SIGKILL, repeatedly until no new
one appears.

If a shepherd is killed, the end of its job is not observed. The daemon finds the job's processes by control group, by
the mark in their environment and by their session, and kills them before it reports the end.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import select
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from roost.model.starter import Usage
from roost.runtime.processes.measure import family_usage, group_members
from roost.runtime.processes.run_records import EndRecord, StartRecord, read_end, read_record
from roost.runtime.processes.shepherd.processes import (
    Seen,
    boot_id,
    continue_family,
    descendants,
    is_alive,
    kill_family,
    kill_group,
    look,
    marked,
    remove_group,
    send,
    send_all,
    start_of,
    stop_family,
)
from roost.runtime.processes.shepherd.system import read_kernel_file, write_kernel_file
from roost.runtime.processes.spawn_order import NotStarted, ProcessEnd, mark_of

if TYPE_CHECKING:
    from roost.runtime.processes.shepherd_lines import ShepherdLine

_log = logging.getLogger("roost.processes")

#: How long `Family.kill` waits for the last process to end, s.
KILL_S: Final = 5.0
#: How long it waits before it looks for new processes again, s.
_AGAIN_S: Final = 0.05
#: How long the kernel may take to freeze a family, s.
_STAND_S: Final = 2.0
#: How often to check whether they are stopped, s; no event reports it.
_LOOK_S: Final = 0.001
#: Larger families are measured in a thread.
_MEASURED_HERE_MAX: Final = 32

_SIGKILL: Final = 9
_SIGCONT: Final = 18


class Family:
    """The processes of one run of a job. Made by `ForkServer.spawn` and `adopt`, within a running event loop."""

    def __init__(self, record: Path, started: StartRecord, shepherd: ShepherdLine | int | None) -> None:
        self.record = record
        self.started = started
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[ProcessEnd] = self._loop.create_future()
        self._turn = asyncio.Lock()
        self._burial: asyncio.Task[None] | None = None
        self._count = 1
        self._suspended = False
        #: Another program signals its processes by the id of their shepherd.
        self.is_touched = False
        #: The connection to its shepherd, or a pidfd of it; None once the shepherd has ended, or is done with the job.
        self._shepherd = shepherd
        if shepherd is None:
            self.shepherd_gone()
        elif isinstance(shepherd, int):
            self._loop.add_reader(shepherd, self._shepherd_ended)
        else:
            shepherd.family = self

    @property
    def key(self) -> str:
        """The name of the run."""
        return self.started.key

    @property
    def pid(self) -> int:
        """The main process."""
        return self.started.pid

    @property
    def shepherd(self) -> int:
        """The process that supervises the job."""
        return self.started.shepherd

    @property
    def is_ended(self) -> bool:
        """Whether the end is known."""
        return self._ended.done()

    def __repr__(self) -> str:
        return f"<Family {self.key} pid {self.pid} {'ended' if self.is_ended else 'running'}>"

    # -- the end -------------------------------------------------------------------------------------------------

    async def wait(self) -> ProcessEnd:
        """How the run ended, once it has and nothing of it is left. May be called repeatedly."""
        return await asyncio.shield(self._ended)

    def forget(self) -> None:
        """Stop waiting; the job continues, and can be adopted again."""
        shepherd, self._shepherd = self._shepherd, None
        if isinstance(shepherd, int):
            self._loop.remove_reader(shepherd)
            os.close(shepherd)
        elif shepherd is not None:
            shepherd.family = None
            shepherd.close()
        self._ended.cancel()

    def told(self, fields: dict[str, Any]) -> None:
        """Note the shepherd's report of how it ended, and that nothing is left."""
        self._shepherd = None
        self._settle(EndRecord.of(fields))

    def _shepherd_ended(self) -> None:
        handle = self._shepherd
        assert isinstance(handle, int)
        self._loop.remove_reader(handle)
        os.close(handle)
        self.shepherd_gone()

    def shepherd_gone(self) -> None:
        """Note that the shepherd is gone: its record says how the job ended, if it did."""
        self._shepherd = None
        end = self._recorded()
        if end is not None and end.final:
            self._settle(end)
        else:
            self._burial = self._loop.create_task(self._bury(), name=f"cleanup of {self.key}")

    async def _bury(self) -> None:
        """Finish the work of a shepherd that died before."""
        started = self.started
        if started.boot == boot_id():
            try:
                await asyncio.to_thread(bury, self.record, started.key, started)
            except OSError as problem:
                _log.error("%s: cannot kill the job's remaining processes: %s", started.key, problem)
            except Exception:
                # Without an end the run would stay forever.
                _log.exception("internal error: cannot kill the remaining processes of %s", started.key)
        self._settle(self._recorded())

    def _recorded(self) -> EndRecord | None:
        """The end according to the record; an unobserved end if the record cannot be read, so that the run has an
        end.
        """
        try:
            return read_end(self.record, self.key)
        except Exception as problem:
            _log.error("%s: the record of the run cannot be read: %s", self.key, problem)
            return None

    def _settle(self, end: EndRecord | None) -> None:
        if self._ended.done():
            return
        outcome = None if end is None else end.outcome
        if isinstance(outcome, ProcessEnd):
            self._ended.set_result(outcome)
        else:
            self._ended.set_result(ProcessEnd(key=self.key, started_at=self.started.started_at))

    # -- suspending ----------------------------------------------------------------------------------------------------

    def stands_still(self) -> bool:
        """Whether the family, or at least its main process, was suspended."""
        if self._suspended:
            return True
        group = self.started.group
        if group is not None and read_kernel_file(f"{group}/cgroup.freeze").strip() == b"1":
            return True
        main = look(self.pid)
        return main is not None and main.start == self.started.start and main.is_stopped

    async def suspend(self) -> int:
        """Stop all processes; return how many are stopped."""
        async with self._turn:
            if self._shepherd is None:
                return 0
            self._suspended = self.is_touched = True
            group = self.started.group
            if group is not None and await asyncio.to_thread(_freeze, group):
                return len(group_members(group))
            return await asyncio.to_thread(_stop_all, self.shepherd)

    async def resume(self) -> None:
        """Continue all processes."""
        async with self._turn:
            if self._shepherd is None:
                return
            self._suspended, self.is_touched = False, True
            if self.started.group is not None:
                _thaw(self.started.group)
            await asyncio.to_thread(continue_family, self.shepherd)

    # -- signals -------------------------------------------------------------------------------------------------

    async def signal(self, number: int) -> bool:
        """Send a signal to the main process, and continue a suspended family; return whether it was delivered.

        The signal is delivered before the process continues, so that it does nothing else first.
        """
        delivered = self._shepherd is not None and send(self.pid, self.started.start, number)
        if delivered and self.stands_still():
            await self.resume()
        return delivered

    async def signal_all(self, number: int) -> None:
        """Send a signal to every process; stopped ones receive it when they continue."""
        if self._shepherd is None:
            return
        self.is_touched = True
        group = self.started.group
        found = descendants(self.shepherd).values() if group is None else group_members(group)
        send_all(found, number)

    async def kill(self) -> bool:
        """SIGKILL every process; return whether all ended within `KILL_S`."""
        if self._shepherd is None:
            if self._burial is not None:
                await asyncio.shield(self._burial)
            return True
        self.is_touched = True
        until = self._loop.time() + KILL_S
        group = None if self.started.group is None else os.fsencode(self.started.group)
        while not self._ended.done() and self._loop.time() < until:
            await asyncio.to_thread(kill_family, self.shepherd, group)
            # The shepherd may have been stopped, too, and it has to observe the end of its job.
            send(self.shepherd, self.started.shepherd_start, _SIGCONT)
            await asyncio.wait([self._ended], timeout=_AGAIN_S)
        return self._ended.done()

    # -- measuring -----------------------------------------------------------------------------------------------

    async def usage(self) -> Usage | None:
        """The current usage of all processes; None once there are none."""
        if self._shepherd is None:
            return None
        shepherd, group = self.shepherd, self.started.group
        if self._count > _MEASURED_HERE_MAX:
            self.is_touched = True
            usage = await asyncio.to_thread(family_usage, shepherd, group, self.started.io_before)
        else:
            usage = family_usage(shepherd, group, self.started.io_before)
        self._count = usage.process_count if usage is not None else 0
        if usage is None and self._shepherd is not None:
            # A stopped shepherd does not notice that its job is gone.
            send(shepherd, self.started.shepherd_start, _SIGCONT)
        return usage


async def adopt(record: Path, key: str) -> Family | NotStarted | None:
    """The run that any daemon started there; None if it was not started, and then nothing of it is left.

    Only after `ForkServer.start` has returned for the node's directory is it certain that no job is just being started.
    """
    found = read_record(record)
    started = found.starts.get(key)
    if started is None:
        end = found.ends.get(key)
        if end is not None and isinstance(end.outcome, NotStarted):
            return end.outcome
        await asyncio.to_thread(bury, record, key, None)
        return None
    end, handle = found.ends.get(key), None
    # Nothing is left of a finished run, and its shepherd may serve another one.
    if started.boot == boot_id() and not (end is not None and end.final):
        handle = _handle_of(started.shepherd, started.shepherd_start)
    return Family(record, started, handle)


def bury(record: Path, key: str, started: StartRecord | None) -> None:
    """Kill what is left of a job whose shepherd is gone. Tries for `KILL_S`."""
    group = None if started is None else started.group
    session, since = (0, 0) if started is None else (started.pid, started.start)
    until = time.monotonic() + KILL_S
    killed: dict[int, Seen] = {}
    while True:
        if group is not None:
            kill_group(os.fsencode(group))
        left = marked(mark_of(record, key), session, since)
        # An exiting process loses its mark before it is dead.
        left.update((each.pid, each) for each in killed.values() if is_alive(each.pid, each.start))
        if group is not None:
            left.update((each.pid, each) for each in group_members(group))
        if not left or time.monotonic() > until:
            break
        for each in left.values():
            # Killed in one sweep, none has the time to notice the death of another and restart it.
            send(each.pid, each.start, 19)
        send_all(left.values(), _SIGKILL)
        killed |= left
        _await_end(list(left))
    for path in (group, None if started is None else started.memory_group):
        if path is not None:
            remove_group(os.fsencode(path))


def _await_end(pids: list[int]) -> None:
    """Wait until one of the processes has ended, or for a moment."""
    for pid in pids[:1]:
        with contextlib.suppress(OSError):
            handle = os.pidfd_open(pid)
            _ends(handle, _AGAIN_S)
            os.close(handle)


def _handle_of(pid: int, start: int) -> int | None:
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return None
    if start_of(pid) == start:
        return handle
    os.close(handle)
    return None


def _ends(handle: int, within_s: float) -> bool:
    """Whether a process ends within that time."""
    ears = select.poll()
    ears.register(handle, select.POLLIN)
    return bool(ears.poll(within_s * 1000))


def _freeze(group: Path) -> bool:
    """Freeze a control group and wait until all processes in it are frozen; False if that is not possible."""
    try:
        write_kernel_file(os.fsencode(group) + b"/cgroup.freeze", b"1")
        events = os.open(group / "cgroup.events", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        ears = select.poll()
        ears.register(events, select.POLLPRI)
        until = time.monotonic() + _STAND_S
        while b"frozen 1" not in os.pread(events, 4096, 0) and (left_s := until - time.monotonic()) > 0:
            ears.poll(left_s * 1000)
    except OSError:
        return False
    finally:
        os.close(events)
    return True


def _stop_all(shepherd: int) -> int:
    """Stop a process tree, and wait a while for those that are not stopped at once; return how many there are."""
    count = stop_family(shepherd)
    until = time.monotonic() + _STAND_S
    while time.monotonic() < until and not all([each.is_stopped for each in descendants(shepherd).values()]):
        time.sleep(_LOOK_S)
    return count


def _thaw(group: Path) -> None:
    with contextlib.suppress(OSError):
        write_kernel_file(os.fsencode(group) + b"/cgroup.freeze", b"0")
