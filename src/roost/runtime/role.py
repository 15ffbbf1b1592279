"""The common part of all daemons: logs, configuration, the bus, signals, and an orderly shutdown.

A role runs in a separate process, forked by the master. It gets everything it needs in a `RoleContext`, because a
restarted role must not depend on earlier state.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import logging
import os
import signal
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, NoReturn, Protocol

from roost.base.records import dataclass
from roost.config import Config, ConfigError
from roost.config.access import Level, access
from roost.config.in_force import changed_names
from roost.config.not_text import joined
from roost.runtime.bus.client import Bus, BusSettings
from roost.runtime.clock import SYSTEM, Clock
from roost.runtime.daemon_log import DaemonLog
from roost.runtime.daemon_orders import ORDERS, STAYS_DOWN, DaemonEnding, DaemonOrder
from roost.runtime.files.whole_files import write_whole
from roost.runtime.home import Home
from roost.runtime.identity import user_name

_log = logging.getLogger("roost.role")


#: Number of threads for blocking on disks and file servers. Each user whose files do not respond may occupy one or two.
THREADS: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleContext:
    """The arguments of a daemon."""

    #: "central", "schedd" or "node".
    role: str
    #: Its name in the pool.
    name: str
    home: Home
    #: Configuration files; None for those of the state directory.
    roots: tuple[str, ...] | None
    bus: BusSettings
    clock: Clock = SYSTEM


class Daemon(Protocol):
    """A daemon within its process."""

    async def start(self) -> None:
        """Start working."""

    async def reconfigure(self, config: Config) -> Sequence[str] | None:
        """Use another configuration from now on; return, in sentences, what has to happen before all of it takes
        effect.
        """

    async def stop(self, ending: DaemonEnding) -> None:
        """Stop."""


#: Makes the daemon of a role.
Make = Callable[[RoleContext, Config, Bus], Daemon]


class ConfigurationRefused(Exception):
    """The daemon cannot work with its configuration; all errors are in the text."""


class CannotStart(Exception):
    """The system prevents the daemon from starting, for instance because of a failing disk; the text says how."""


def run_role(context: RoleContext, make: Make, tell: Callable[[str], None] = lambda text: None) -> int:
    """Run a daemon until it is ordered to end; return the exit status of its process.

    `tell` is called with "" once the daemon is ready, or with why it refuses its configuration.
    """
    set_up_log(context)
    # What was imported before the fork is never garbage; examining it would only copy its pages.
    gc.freeze()
    try:
        stays_down = asyncio.run(_run(context, make, tell))
    except ConfigurationRefused as problem:
        _log.error("%s", problem)
        context.home.note_problem(context.role, str(problem))
        tell(str(problem))
        return 78
    except CannotStart as problem:
        _log.error("cannot start: %s; the master tries again", problem, exc_info=_log.isEnabledFor(logging.DEBUG))
        context.home.note_problem(context.role, f"cannot start: {problem}")
        return 71
    except Exception:
        _log.exception("ended by an internal error")
        return 70
    return STAYS_DOWN if stays_down else 0


async def _run(context: RoleContext, make: Make, tell: Callable[[str], None]) -> bool:
    """Run a daemon until it is ordered to end; return whether it has to stay down."""
    wanted: asyncio.Queue[DaemonOrder | None] = asyncio.Queue()
    try:
        config, bus, daemon = await _started(context, make, wanted)
    except OSError as error:
        where = f"{error.filename}: " if error.filename is not None else ""
        raise CannotStart(f"{where}{error.strerror or error}") from error
    context.home.note_problem(context.role, "")
    _log.info("%s is ready", context.name)
    tell("")
    while (asked := await wanted.get()) is None:
        try:
            fresh = read_config(context)
            _log_as_configured(context, fresh)
            notes = await daemon.reconfigure(fresh)
            waiting = waits_for_restart(config, fresh)
            _log.info(
                "reread the configuration%s", f"; changes to {waiting} take effect after a restart" if waiting else ""
            )
            _tell_configured(context, "", waiting, notes or ())
        except ConfigurationRefused as problem:
            _log.error("the configuration is unchanged: %s", problem)
            _tell_configured(context, str(problem))
    stopping = asyncio.create_task(daemon.stop(asked.ending))
    hurry = asyncio.create_task(_hurried(wanted))
    done, _ = await asyncio.wait({stopping, hurry}, return_when=asyncio.FIRST_COMPLETED)
    if stopping not in done:
        await daemon.stop(DaemonEnding.FAST)
        stopping.cancel()
    hurry.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await stopping
    await bus.close()
    return asked.stays_down


async def _started(
    context: RoleContext, make: Make, wanted: asyncio.Queue[DaemonOrder | None]
) -> tuple[Config, Bus, Daemon]:
    """Start the daemon; signals are put into `wanted`. Raises ConfigurationRefused, OSError."""
    config = read_config(context)
    _log_as_configured(context, config)
    context.home.sweep()
    context.home.forget_shortcomings(context.role)
    bus = await Bus.connect(context.bus)
    daemon = make(context, config, bus)
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(_callback_failed)
    loop.set_default_executor(ThreadPoolExecutor(THREADS, thread_name_prefix="work"))
    for number, order in ORDERS.items():
        loop.add_signal_handler(number, wanted.put_nowait, order)
    loop.add_signal_handler(signal.SIGHUP, wanted.put_nowait, None)
    await daemon.start()
    return config, bus, daemon


def must_go_on(task: asyncio.Task[Any]) -> None:
    """Exit this process when essential work of its daemon fails.

    The state in memory may be half changed, and that on disk is consistent: the master restarts the daemon, and jobs
    are unaffected.
    """
    task.add_done_callback(_ended)


def _ended(task: asyncio.Task[Any]) -> None:
    if not task.cancelled() and (failure := task.exception()) is not None:
        _log.critical("internal error: %s failed; the daemon restarts", task.get_name(), exc_info=failure)
        give_up()


def _callback_failed(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Exit after a timer or another callback failed within a step, so that the state in memory may be half changed."""
    if "handle" not in context or not isinstance(context.get("exception"), Exception):
        loop.default_exception_handler(context)
        return
    _log.critical("internal error: %s; the daemon restarts", context["message"], exc_info=context["exception"])
    give_up()


def give_up() -> NoReturn:
    """Exit this process at once, as if it had been killed."""
    logging.shutdown()
    os._exit(70)


def waits_for_restart(started: Config, fresh: Config) -> list[str]:
    """Settings that have changed since a daemon started, and take effect only at its next start."""
    from roost.config.knob import Reload
    from roost.config.knobs import find
    from roost.startd.layout import layout, resources

    changed = {name: knob for name in changed_names(started, fresh) if (knob := find(name)) is not None}
    late = [name for name, knob in changed.items() if knob.reload is Reload.RESTART]
    lays_out, divides = (module.__name__.removeprefix("roost.") for module in (layout, resources))
    if any(changed[name].read_by in (lays_out, divides) for name in late):
        # Slots are not laid out again with resources that the machine does not divide yet.
        late += [name for name, knob in changed.items() if knob.read_by == lays_out and name not in late]
    return late


def _tell_configured(
    context: RoleContext, problem: str, waiting: Sequence[str] = (), notes: Sequence[str] = ()
) -> None:
    """Leave a message for `roost reconfig`, which waits for it."""
    path = context.home.run / f"{context.role}.configured"
    with contextlib.suppress(OSError):
        told = {
            "at": context.clock.now(),
            "ok": not problem,
            "text": problem,
            "restart": list(waiting),
            "notes": list(notes),
        }
        write_whole(path, json.dumps(told))


async def _hurried(wanted: asyncio.Queue[DaemonOrder | None]) -> None:
    while (order := await wanted.get()) is None or order.ending is not DaemonEnding.FAST:
        pass


def read_config(context: RoleContext) -> Config:
    """The configuration of a daemon. Raises ConfigurationRefused with all errors."""
    from roost.runtime import start_checks

    config = context.home.config(context.roots, start_checks.SUBSYSTEMS[context.role])
    # A policy that cannot be read must not be treated as an empty one.
    wrong = config.errors or start_checks.errors(config, (context.role,))
    if wrong:
        raise ConfigurationRefused(joined(wrong, config.dropped))
    return config


def _log_as_configured(context: RoleContext, config: Config) -> None:
    """Apply the configured log settings. Raises ConfigurationRefused."""
    from roost.runtime.log_settings import BadLog, log_as, log_settings

    try:
        log_as(log_settings(config, context.home, context.role), context.home, context.role)
    except (BadLog, ConfigError) as problem:
        raise ConfigurationRefused(str(problem)) from None


def superusers(config: Config) -> frozenset[str]:
    """The users with all permissions: the user who runs the pool, root, and those in QUEUE_SUPER_USERS or
    ALLOW_ADMINISTRATOR, without those in DENY_ADMINISTRATOR.
    """
    lists = access(config, config.subsystem)
    names = {user_name(), "root", *config.get_list("QUEUE_SUPER_USERS"), *lists.administrators()}
    return frozenset(name for name in names if not lists.refusal(Level.ADMINISTRATOR, name, administrator=True))


def set_up_log(context: RoleContext) -> None:
    """Write the log of a daemon, one line per event, times in UTC."""
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
    root.addHandler(DaemonLog(context.home.log / f"{context.role}.log"))
    root.setLevel(os.environ.get("ROOST_LOG_LEVEL", "INFO"))
    logging.captureWarnings(True)
    sys.excepthook = lambda kind, error, trace: _log.critical("uncaught", exc_info=(kind, error, trace))
