"""What a node daemon does at its start about runs that an earlier one left: go on with them, or end them.

The earlier daemon kept the state of its machine (`node_state`), a ticket for every run, and its shepherds a record of
every start. A run whose slot and starter are known goes on where it was: its processes never noticed. Of any other what
is left is killed and removed; its queue hears how it ended, if a shepherd saw that, and else that nobody did.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from roost.model.codes import VacateCode
from roost.model.starter import Ending
from roost.node.machine import NodeSlot
from roost.node.records import restore
from roost.runtime.family import Family, adopt
from roost.runtime.hook_programs import remove_hook_calls
from roost.runtime.records import read_end, read_start
from roost.runtime.runner import file_name, remove_record
from roost.runtime.sandbox import remove_tree
from roost.runtime.spawn_order import ProcessEnd
from roost.wire.messages import RunEnded

if TYPE_CHECKING:
    from roost.runtime.node_daemon import NodeDaemon

_log = logging.getLogger("roost.node")


async def take_over(daemon: NodeDaemon) -> None:
    """See to what an earlier daemon left."""
    home, machine = daemon.context.home, daemon.machine
    await remove_hook_calls(home.execute)
    shared, records = daemon.state.load()
    tickets = daemon.tickets.load()
    starts = _starts(home.jobs)
    if shared is not None:
        outs, problems = restore(machine, shared, records, frozenset(tickets), daemon.clock.now())
        for problem in problems:
            _log.error("what was kept of a slot can't be used: %s", problem)
        taken = [slot for slot in machine.slots if slot.starter is not None]
        for slot in taken:
            await _adopt(daemon, slot, starts.get(slot.run, {}))
        daemon.carry_out(outs)
    here = {slot.run for slot in machine.slots if slot.starter is not None}
    for run, ticket in tickets.items():
        if run not in here:
            await _end(daemon, run, ticket, starts.get(run, {}))
    await _clear(daemon, {file_name(run) for run in here})


def _starts(jobs: Path) -> dict[str, dict[int, Path]]:
    """Run to the records of its starts by number."""
    found: dict[str, dict[int, Path]] = {}
    for path in sorted(jobs.iterdir()):
        if not path.is_dir():
            continue
        started, end = read_start(path), read_end(path)
        key = started.key if started is not None else end.outcome.key if end is not None else ""
        run, _, number = key.rpartition("/")
        if run and number.isdecimal():
            found.setdefault(run, {})[int(number)] = path
    return found


async def _adopt(daemon: NodeDaemon, slot: NodeSlot, starts: Mapping[int, Path]) -> None:
    """Give a starter its hands back, with the job in them."""
    starter = slot.starter
    assert starter is not None
    runner = daemon.runner_of(slot, starter)
    runner.resume(starter.state)
    number = starter.state.run
    if number in starts and starter.state.process:
        family = await adopt(starts[number], f"{slot.run}/{number}")
        if isinstance(family, Family):
            runner.adopted(family, number)
            _log.info("%s: run %s goes on", slot.name, slot.run)


async def _end(daemon: NodeDaemon, run: str, ticket: Mapping[str, str], starts: Mapping[int, Path]) -> None:
    """End a run that belongs to no slot any more, and tell its queue."""
    end: ProcessEnd | None = None
    began = bool(starts)
    for number, path in sorted(starts.items()):
        found = await adopt(path, f"{run}/{number}")
        end = None
        if isinstance(found, Family):
            ended = found.is_ended
            if not ended:
                await found.kill()
            outcome = await found.wait()
            end = outcome if ended and outcome.is_seen else None
    if run not in daemon.reports and ticket.get("schedd"):
        daemon.reports.keep(ticket["schedd"], _report(run, ticket, end, began, daemon.clock.now()))
    _log.warning("run %s belongs to no slot any more; %s", run, "its end was seen" if end else "it is ended")
    await asyncio.to_thread(remove_record, daemon.context.home.jobs / file_name(run))


def _report(run: str, ticket: Mapping[str, str], end: ProcessEnd | None, began: bool, now: float) -> RunEnded:
    if end is None:
        return RunEnded(
            claim_id=ticket.get("claim_id", ""),
            run=run,
            at=now,
            ending=str(Ending.EVICT),
            started=began,
            code=int(VacateCode.STARTER_ERROR),
            text="the machine's daemon was killed, and the run could not be taken over",
            slot=ticket.get("slot", ""),
        )
    return RunEnded(
        claim_id=ticket.get("claim_id", ""),
        run=run,
        at=end.ended_at or now,
        ending=str(Ending.EXIT),
        started=True,
        exit_code=end.exit_code,
        exit_signal=end.signal,
        core_dumped=end.core_dumped,
        slot=ticket.get("slot", ""),
        attributes={"RemoteUserCpu": end.user_cpu_s, "RemoteSysCpu": end.system_cpu_s},
    )


async def _clear(daemon: NodeDaemon, kept: set[str]) -> None:
    """Nothing of other runs is to be left."""
    home = daemon.context.home
    for record in sorted(path for path in home.jobs.iterdir() if path.is_dir()):
        if record.name.rpartition(".")[0] not in kept:
            found = await adopt(record, record.name)
            if isinstance(found, Family) and not found.is_ended:
                await found.kill()
            await asyncio.to_thread(remove_tree, record)
    for left in sorted(home.execute.glob("dir_*")):
        if left.name.removeprefix("dir_") not in kept:
            problem = await asyncio.to_thread(remove_tree, left)
            if problem:
                _log.warning("%s", problem)
