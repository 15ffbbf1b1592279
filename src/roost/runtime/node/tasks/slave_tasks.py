"""The slave tasks that run on this machine, of parallel jobs whose masters may be on others.

The machine of a job's master requests them, and proves its right with the ids of the job's claims here: only the queue,
this machine and the machine to which the queue gave them know these. The number of slots of a claim is in the ad of the
claim request, so no more tasks are started than the cell has granted. All tasks of a job on this machine form a *site*:
they share a scratch directory and a TMPDIR, which are removed when the last of the job's claims here is over; and no
task outlives its claim.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import Counter
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from roost.classad import ClassAd
from roost.model.cell_requests import TASK
from roost.model.slots import SlotId
from roost.node.machine import NodeSlot
from roost.node.task_places import TaskSlot, free_slot
from roost.runtime.node.runs.job_order import BadJob, account_of, runs_as_daemon, runs_as_owner
from roost.runtime.node.runs.job_tasks import door_words
from roost.runtime.node.tasks.order import TaskWork, task_order
from roost.runtime.node.tasks.relays import TaskRelay, opened, relayed, told
from roost.runtime.node.tasks.slave_site import SlaveSite, sites_in
from roost.runtime.node.tasks.slave_task import RECORD, SlaveTask, Ticket
from roost.runtime.processes.accounts import Account, NoSuchAccount
from roost.runtime.processes.fork_server import ForkServerFailed
from roost.runtime.processes.sandbox import SandboxFailed
from roost.runtime.processes.spawn_order import NotStarted, OrderTooLarge
from roost.wire import messages as m
from roost.wire.messages import Message

if TYPE_CHECKING:
    from roost.config import Config
    from roost.node.machine import Machine
    from roost.runtime.bus.client import Carrier
    from roost.runtime.clock import Clock
    from roost.runtime.node.runs.scratch import Scratch
    from roost.runtime.node.starter_orders import StarterOrders
    from roost.runtime.node.state import NodeState
    from roost.runtime.processes.fork_server import ForkServer
    from roost.runtime.role import RoleContext

_log = logging.getLogger("roost.node")

#: Finished runs, for which no earlier request starts a task.
_OVER_MAX: Final = 1000


class TaskRefused(Exception):
    """A task is not started; the text says why, in Grid Engine's words if it has any."""


class TasksDaemon(Protocol):
    """The interface of the machine's daemon for slave tasks."""

    name: str
    context: RoleContext
    config: Config
    clock: Clock
    bus: Carrier
    machine: Machine
    starter_orders: StarterOrders
    scratch: Scratch
    state: NodeState
    fork_server: ForkServer | None

    def spawn(self, work: Coroutine[Any, Any, Any], name: str | None = None) -> asyncio.Task[Any]:
        """Start a background task; the daemon waits for it before it exits."""

    def need_cell_root(self) -> None:
        """Install Grid Engine's commands where programs of a cell's jobs look for them."""


class SlaveTasks:
    """The tasks of one machine."""

    def __init__(self, daemon: TasksDaemon) -> None:
        self._daemon = daemon
        self._directory = daemon.context.home.run / "tasks"
        #: By run.
        self._sites: dict[str, SlaveSite] = {}
        self._tasks: dict[str, tuple[SlaveSite, SlaveTask]] = {}
        self._over: dict[str, None] = {}
        self._making = asyncio.Lock()

    # -- what an earlier daemon left ---------------------------------------------------------------------

    def load(self) -> set[str]:
        """Read the data of an earlier daemon; return the names of the scratch directories that are still needed."""
        for site in sites_in(self._directory):
            self._sites[site.kept.run] = site
        return {Path(site.kept.sandbox).name.removeprefix("dir_") for site in self._sites.values()}

    async def resume(self) -> None:
        """Resume the tasks of an earlier daemon; end those whose claims are over."""
        for site in list(self._sites.values()):
            for task in await site.adopt():
                self._tasks[task.ticket.task] = (site, task)
                if not task.ended.is_set():
                    self._watch(task)
            for claim in list(site.kept.claims):
                if self._held(claim) is None:
                    self.claim_over(claim)

    # -- messages ----------------------------------------------------------------------------------------

    async def on_message(self, message: Message, sender: str, reply: str) -> None:
        """Handle a message about tasks from another machine, or from this one."""
        self._daemon.spawn(self._answer(message, sender, reply), "an answer about tasks")

    async def _answer(self, message: Message, sender: str, reply: str) -> None:
        answer = await self.answer(message, sender)
        if reply and answer is not None:
            await self._daemon.bus.send(reply, answer)

    async def answer(self, message: Message, sender: str) -> Message | None:
        """The answer to a message of a machine; None for none."""
        if isinstance(message, m.ReadTask | m.WriteTask | m.EndTask):
            tasks = relayed(self._daemon.starter_orders.runners.values(), message.task, sender)
            if tasks is not None:
                return await told(tasks, message)
        match message:
            case m.OpenTask():
                return await opened(self._daemon.starter_orders.runners.values(), message, sender)
            case m.BeginTask():
                try:
                    return m.TaskBegun(name=await self._begin(message, sender))
                except TaskRefused as refused:
                    _log.warning("%s", refused)
                    return m.TaskBegun(error=str(refused))
            case m.ReadTask():
                found = self._task(message.task, sender)
                if found is None:
                    return m.TaskPrinted(ended=True, error="the task is not known")
                return await found[1].printed(message.out, message.err)
            case m.WriteTask():
                found = self._task(message.task, sender)
                if found is None:
                    return m.TaskTook(offset=message.offset, over=True)
                return await found[1].take(message)
            case m.EndTask():
                found = self._task(message.task, sender)
                if found is not None:
                    await found[1].kill()
                return m.Answer()
            case m.EndTasks():
                return await self._end(message, sender)
            case m.HoldTasks():
                held = self._site(message.run, sender)
                if held is not None:
                    await held.hold(still=message.still)
                return m.Answer()
        return m.Answer(ok=False, code="bad-message", text=f"{type(message).__name__} is not about tasks")

    def relay(self, run: str, user: int) -> TaskRelay | None:
        """The relay from the processes of a user's slave tasks to the master of their run; None if it has none here."""
        site = self._sites.get(run)
        if site is None or user != (os.geteuid() if site.account is None else site.account.uid):
            return None
        return TaskRelay(self._daemon.bus, self._daemon.name, site.kept.master)

    def _task(self, task: str, sender: str) -> tuple[SlaveSite, SlaveTask] | None:
        found = self._tasks.get(task)
        return found if found is not None and found[0].kept.master == sender else None

    def _site(self, run: str, sender: str) -> SlaveSite | None:
        site = self._sites.get(run)
        return site if site is not None and site.kept.master == sender else None

    # -- a task begins -----------------------------------------------------------------------------------

    async def _begin(self, message: m.BeginTask, sender: str) -> str:
        """Start a task; return its name. A repeated request refers to the same task. Raises TaskRefused."""
        known = self._task(message.task, sender)
        if known is not None:
            return known[1].ticket.name
        number = message.run.partition(".")[0]
        slots = self._slots(message)
        if not slots or not message.words or not message.queues or message.run in self._over:
            raise TaskRefused(f"received task belongs to job {number} but that job is not here")
        slot = next(iter(slots.values()))
        job_ad = slot.state.claim.job_ad
        assert job_ad is not None
        async with self._making:
            site = await self._site_for(message, sender, slot, job_ad, list(slots))
        grants = {claim: _grants(each.state.claim.job_ad) for claim, each in slots.items()}
        async with site.turn:
            if message.run in self._over:
                raise TaskRefused(f"received task belongs to job {number} but that job is not here")
            place = free_slot(grants, message.queues, message.first, self._running(site))
            if place is None:
                host = message.queues[0].host
                user = job_ad.eval("Owner")
                raise TaskRefused(f"no free queue for job {number} of user {user}@{host} (localhost = {host})")
            return await self._started(site, place, message, slots[place.claim])

    def _slots(self, message: m.BeginTask) -> dict[str, NodeSlot]:
        """Claim to slot, for the job's claims that are in force here."""
        found = {}
        for claim in message.claims:
            slot = self._held(claim)
            ad = None if slot is None else slot.state.claim.job_ad
            if (
                slot is not None
                and ad is not None
                and f"{ad.eval('ClusterId')}.{ad.eval('ProcId')}" == _job(message.run)
            ):
                found[claim] = slot
        return found

    def _held(self, claim: str) -> NodeSlot | None:
        """The slot of a claim that is in force."""
        found = self._daemon.machine.slot_of(claim)
        if found is None or found[0].state.claim.id != found[1] or found[0].state.claim.request is None:
            return None
        return found[0]

    def _running(self, site: SlaveSite) -> Counter[tuple[str, str]]:
        return Counter(
            (task.ticket.claim, task.ticket.instance) for task in site.tasks.values() if not task.ended.is_set()
        )

    async def _site_for(
        self, message: m.BeginTask, sender: str, slot: NodeSlot, job_ad: ClassAd, claims: list[str]
    ) -> SlaveSite:
        """The site of a run, created if there is none. Raises TaskRefused."""
        site = self._sites.get(message.run)
        if site is not None and site.kept.master != sender:
            raise TaskRefused(f"two machines requested tasks of run {message.run}")
        try:
            if site is None:
                account = await asyncio.to_thread(self._account, slot, job_ad)
                execute = self._daemon.scratch.of(slot.plan.id.number)
                if account is not None:
                    self._daemon.context.home.let_others_to(execute)
                site = SlaveSite.made(
                    self._directory, execute, message.run, master=sender, claims=claims, account=account
                )
                self._sites[message.run] = site
            site.keep_claims(claims)
            if site.tmpdir is None:
                runner = next(
                    (each for each in self._daemon.starter_orders.runners.values() if each.run == message.run), None
                )
                site.use_tmpdir(None if runner is None else runner.tmpdir, job_ad, message.queues[0])
        except (NoSuchAccount, SandboxFailed, BadJob, OSError) as problem:
            raise TaskRefused(str(problem)) from None
        return site

    def _account(self, slot: NodeSlot, job_ad: ClassAd) -> Account | None:
        config = self._daemon.config
        if runs_as_daemon(job_ad) and runs_as_owner(config):
            return None
        return account_of(job_ad, config, self._daemon.machine.ad(slot, self._daemon.clock.now()))

    async def _started(self, site: SlaveSite, place: TaskSlot, message: m.BeginTask, slot: NodeSlot) -> str:
        """Start a task on a free slot; return its name. Raises TaskRefused."""
        queue, daemon = place.queue, self._daemon
        job_ad = slot.state.claim.job_ad
        assert job_ad is not None and daemon.fork_server is not None and site.tmpdir is not None
        ticket = Ticket(
            task=message.task, number=site.next_number(), claim=place.claim, queue=queue.queue, host=queue.host
        )
        task = SlaveTask(ticket, site.directory)
        try:
            daemon.state.keep_claim(slot, daemon.machine)
            task.keep()
            daemon.need_cell_root()
            task.streams.make()
            work = TaskWork(
                job_ad=job_ad,
                slot_ad=daemon.machine.ad(slot, daemon.clock.now()),
                config=daemon.config,
                queue=queue,
                account=site.account,
                tmpdir=site.tmpdir,
                sandbox=Path(site.kept.sandbox),
                home=daemon.context.home,
                door=door_words(daemon.context.home.secret(), daemon.name, site.kept.run),
            )
            order = task_order(
                work,
                message,
                key=site.key(ticket),
                record=task.path(RECORD),
                streams=task.streams.directory,
            )
            site.tasks[ticket.number] = task
            family = await daemon.fork_server.spawn(order)
        except (BadJob, ForkServerFailed, OrderTooLarge, OSError) as problem:
            site.drop(task)
            raise TaskRefused(f"{ticket.name}: {problem}") from None
        if isinstance(family, NotStarted):
            site.drop(task)
            raise TaskRefused(f"{ticket.name}: {family.text}")
        self._tasks[message.task] = (site, task)
        task.has(family, daemon.clock.now())
        self._watch(task)
        if site.kept.still:
            await family.suspend()
        if place.claim not in site.kept.claims:
            # It was over in the meantime.
            await task.kill()
        _log.info("task %s of run %s begins in %s", ticket.name, message.run, ticket.instance)
        return ticket.name

    def _watch(self, task: SlaveTask) -> None:
        self._daemon.spawn(task.watch(), f"end of task {task.ticket.name}")

    # -- the end -----------------------------------------------------------------------------------------

    async def _end(self, message: m.EndTasks, sender: str) -> m.TasksEnded:
        """End the tasks of a finished job; return their usage."""
        self._over[message.run] = None
        if len(self._over) > _OVER_MAX:
            del self._over[next(iter(self._over))]
        site = self._site(message.run, sender)
        if site is None:
            return m.TasksEnded()
        async with site.turn:
            await site.end()
        return m.TasksEnded(tasks=[task.use for task in site.tasks.values() if task.use is not None])

    def claim_over(self, claim: str) -> None:
        """End the tasks on a claim that has ended, and everything of a job here with its last claim."""
        for site in [each for each in self._sites.values() if claim in each.kept.claims]:
            site.leave(claim)
            if not site.kept.claims:
                self._over[site.kept.run] = None
                del self._sites[site.kept.run]
            self._daemon.spawn(self._leave(site, claim), f"end of the tasks of {site.kept.run}")

    async def _leave(self, site: SlaveSite, claim: str) -> None:
        async with site.turn:
            await site.end(claim)
            if not site.kept.claims:
                for task in site.tasks.values():
                    self._tasks.pop(task.ticket.task, None)
                await site.remove()

    # -- measuring ---------------------------------------------------------------------------------------

    async def percents(self) -> dict[SlotId, float]:
        """Slot to the processor use of tasks on its claim since the last call, percent of one core."""
        found: dict[SlotId, float] = {}
        for site in list(self._sites.values()):
            for task in list(site.tasks.values()):
                slot = None if task.ended.is_set() else self._held(task.ticket.claim)
                if slot is not None:
                    found[slot.plan.id] = found.get(slot.plan.id, 0.0) + await task.sample()
        return found

    def close(self) -> None:
        """Stop supervising all tasks; they continue."""
        for site in self._sites.values():
            for task in site.tasks.values():
                task.close()


def _job(run: str) -> str:
    """The job of a run, as ``12.0``."""
    return run.partition("#")[0]


def _grants(job_ad: ClassAd | None) -> Mapping[str, int]:
    """The slots for which a claim was requested: queue instance to number."""
    from roost.gridengine.pool.tasks import grants_of

    task = None if job_ad is None else job_ad.get(TASK)
    found: dict[str, int] = {}
    if isinstance(task, ClassAd):
        for instance, slots in grants_of(task):
            found[instance] = found.get(instance, 0) + slots
    return found
