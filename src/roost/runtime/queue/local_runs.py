"""Local jobs, which run on the queue's machine: an execute machine in the queue's process, with an in-process bus.

It is the unchanged daemon of an execute machine, with one partitionable slot of unlimited size, a policy that never
interferes, and a separate directory; so these jobs have shepherds, and are adopted after a kill, held and removed like
all others. It is created when first needed: most queues never need it.

It makes no decisions. `roost.schedd` decides which job runs, and `roost.schedd.jobs.local` whether one may.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

from roost.base.records import replace
from roost.config import Config
from roost.runtime.bus.client import BusError, Handler
from roost.runtime.daemon_orders import DaemonEnding
from roost.runtime.home import Home
from roost.runtime.role import ConfigurationRefused
from roost.schedd import events as ev
from roost.schedd.jobs.local import MACHINE_CONFIG, local_name, next_beside
from roost.starter.configured import hook_settings
from roost.wire import messages as m
from roost.wire.codec import decode, encode
from roost.wire.messages import Answer, Message
from roost.wire.subjects import Subjects

if TYPE_CHECKING:
    from roost.runtime.clock import Clock
    from roost.runtime.node.daemon import NodeDaemon
    from roost.runtime.queue.spool import Spool
    from roost.runtime.role import RoleContext
    from roost.schedd.claims.claim_table import QueueSettings
    from roost.schedd.queue import Queue

_log = logging.getLogger("roost.schedd")

#: How long a machine that cannot start is left alone, s.
_AGAIN_S: Final = 30.0

#: These jobs use the user's own directories, so a small disk of the queue must not prevent them from starting.
_SENSORS: Final = {"disk_kb": 1_000_000_000_000}
#: Settings of the pool that also apply to these jobs.
_SHARED: Final = (
    "UID_DOMAIN",
    "FILESYSTEM_DOMAIN",
    "USER_JOB_WRAPPER",
    "STARTER_JOB_ENVIRONMENT",
    "STARTER_NUM_THREADS_ENV_VARS",
    "JOB_INHERITS_STARTER_ENVIRONMENT",
    "STARTER_UPDATE_INTERVAL",
)


class LocalRunsDaemon(Protocol):
    """The interface of the queue's daemon for local jobs."""

    context: RoleContext
    clock: Clock
    settings: QueueSettings
    queue: Queue
    spool: Spool

    def feed(self, event: ev.Event) -> None:
        """Pass an event to the core."""

    def on_message(self, message: Message, sender: str, reply: str) -> None:
        """Handle a message of a machine."""


class LocalRuns:
    """The local jobs of a queue."""

    def __init__(self, daemon: LocalRunsDaemon, config: Config) -> None:
        self._daemon = daemon
        self._config = config
        self.name = local_name(daemon.context.name)
        self._machine: NodeDaemon | None = None
        self._beginning = asyncio.Lock()
        self._failed_at = 0.0
        self._task: asyncio.Task[None] | None = None

    async def tell(self, message: Message) -> None:
        """Pass a message of the queue to the machine."""
        machine = await self._begun()
        if machine is not None:
            machine.queue_requests.on_message(message, self._daemon.context.name, "")

    def look(self) -> None:
        """Check idle jobs, which may have changed."""
        if self._task is None and self._daemon.queue.offered(self._daemon.clock.now(), local=True):
            self._task = asyncio.create_task(self._match(), name="jobs on the queue's machine")
            self._task.add_done_callback(self._match_done)

    def _match_done(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if not task.cancelled() and task.exception() is not None:
            _log.error("internal error", exc_info=task.exception())

    async def _match(self) -> None:
        """Give the machine's slot to the next job; there is one slot at a time, until its answer offers the next."""
        machine = await self._begun()
        if machine is None:
            return
        queue = self._daemon.queue
        slot = machine.machine.slots[0]
        claim_id = slot.state.claim.id.text
        if claim_id in queue.claim_table.claims:
            return
        now = self._daemon.clock.now()
        found = next_beside(queue.offered(now, local=True), queue.book, self._daemon.settings.local_policy)
        if found is not None:
            self._daemon.feed(
                ev.MatchGiven(
                    submitter=found[0],
                    autocluster=found[1],
                    slot=slot.name,
                    node=self.name,
                    claim_id=claim_id,
                    slot_ad=machine.machine.ad(slot, now),
                )
            )

    async def reconfigure(self, config: Config) -> None:
        """Use other settings for jobs from now on."""
        self._config = config
        if self._machine is not None:
            await self._machine.reconfigure(self._written(self._machine.context.home))

    async def stop(self, ending: DaemonEnding) -> None:
        """Let the jobs end, or leave them running."""
        if self._task is not None:
            self._task.cancel()
        if self._machine is not None:
            await self._machine.stop(ending)

    # -- the machine ---------------------------------------------------------------------------------

    async def _begun(self) -> NodeDaemon | None:
        async with self._beginning:
            loop = asyncio.get_running_loop()
            if self._machine is None and (not self._failed_at or loop.time() > self._failed_at + _AGAIN_S):
                try:
                    self._machine = await self._begin()
                except (ConfigurationRefused, OSError) as problem:
                    self._failed_at = loop.time()
                    _log.error("no job can run on the queue's machine: %s", problem)
                except Exception:
                    # The queue's other jobs continue.
                    self._failed_at = loop.time()
                    _log.exception("internal error: no job can run on the queue's machine")
            return self._machine

    async def _begin(self) -> NodeDaemon:
        from roost.runtime.node.daemon import NodeDaemon

        home = Home(self._daemon.context.home.path / "local")
        for directory in (home.path, home.log, home.run, home.execute, home.jobs):
            directory.mkdir(mode=0o700, exist_ok=True)
        home.sweep()
        context = replace(self._daemon.context, role="node", name=self.name, home=home, roots=None)
        config = self._written(home)
        machine = NodeDaemon(context, config, InnerBus(self._daemon, self._heard))
        await machine.start()
        return machine

    def _written(self, home: Home) -> Config:
        shared = {name: value for name in _SHARED if (value := self._config.get(name))}
        lines = [f"{name} = {value}" for name, value in (shared | hook_settings(self._config)).items()]
        sensors = home.path / "sensors.json"
        sensors.write_text(json.dumps(_SENSORS))
        lines.append(f"ROOST_SENSORS_FILE = {sensors}")
        home.config_file.write_text(MACHINE_CONFIG + "\n".join(lines) + "\n")
        return home.config((str(home.config_file),), "STARTD")

    def _heard(self, message: Message) -> None:
        self._daemon.on_message(message, self.name, "")
        if isinstance(message, m.ClaimAnswered):
            self.look()


class InnerBus:
    """Messages of a machine to its queue, delivered within the process."""

    def __init__(self, daemon: LocalRunsDaemon, hear: Callable[[Message], None]) -> None:
        self._daemon = daemon
        self._hear = hear
        self.subjects = Subjects("local")
        self.on_reconnect: Callable[[], None] | None = None
        self._schedd = self.subjects.schedd(daemon.context.name, local_name(daemon.context.name))

    async def listen(self, subject: str, handler: Handler) -> None:
        """Do nothing: only the queue sends messages to this machine, and does so directly."""

    async def send(self, subject: str, message: Message) -> None:
        """Deliver messages to the queue; drop those to the pool."""
        if subject == self._schedd:
            # As text that is text: file names in it need not be UTF-8.
            self._hear(decode(encode(message)))

    async def request(self, subject: str, message: Message, timeout_s: float = 0.0) -> Message:
        """A request about files. Raises BusError."""
        answer = await self._daemon.spool.serve(message, self._daemon.queue, local_name(self._daemon.context.name))
        if answer is None:
            raise BusError(f"the queue has no handler for {type(message).__name__}")
        return answer

    async def answer(self, reply: str, answer: Answer) -> None:
        """Do nothing: there are no requests."""
