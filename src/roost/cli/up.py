"""``roost up``: start the daemons of this machine, in the foreground until they are stopped."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from roost.cli.terminal import CommandError, Exit, complain, say
from roost.runtime.files.whole_files import write_whole
from roost.runtime.home import Home, HomeError
from roost.runtime.processes.shepherd.processes import boot_id, is_alive, look

#: How long the master may take to start daemons again, s.
_STARTS_S: Final = 10.0


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``up``."""
    parser = subparsers.add_parser(
        "up",
        help="start a pool on this machine",
        description="Start the daemons of this machine, which form a pool of their own unless the "
        "configuration says otherwise. The pool keeps all of its state in one directory. Ctrl-C stops the "
        "pool; running jobs get time to end.",
    )
    parser.add_argument("--home", metavar="DIR", help="state directory of the pool (default: ROOST_HOME)")
    parser.add_argument(
        "-c",
        "--config",
        metavar="PATH",
        action="append",
        help="file or directory of configuration (default: roost.config in the state directory)",
    )
    parser.add_argument("-d", "--detach", action="store_true", help="run in the background once the pool is ready")
    parser.add_argument("--json", action="store_true", help="with --detach, print JSON")


def run(args: argparse.Namespace) -> int:
    """Run ``up``."""
    home = Home.find(args.home)
    roots = tuple(str(Path(each).absolute()) for each in args.config) if args.config else None
    try:
        home.make()
    except HomeError as error:
        raise CommandError(str(error)) from None
    if roles := start_stopped(home):
        say(f"pool in {home.path} is running; started again: {', '.join(roles)}")
        return Exit.OK
    if args.detach:
        warning = start_detached(home, roots)
        _warn(home, warning)
        return _report(home, as_json=args.json)

    def ready(warning: str) -> None:
        _warn(home, warning)
        say(f"pool in {home.path} is up; Ctrl-C stops it")

    return run_foreground(home, roots, ready)


def _warn(home: Home, warning: str) -> None:
    """Report what the daemons wait for, and what they work without."""
    for text in (warning, home.shortcoming("node")):
        if text:
            complain(f"warning: {text}")


def run_foreground(
    home: Home, roots: tuple[str, ...] | None, ready: Callable[[str], None], *, detached: bool = False
) -> int:
    """Run the pool until it is stopped. Raises CommandError.

    `ready` is called once the daemons work, with "", or with what they wait for. A process that is not `detached`
    belongs to the process that started it, such as a service: the file `foreground` records that, and it restarts in
    place when it ends and the file `again` exists.
    """
    from roost.config import ConfigError
    from roost.runtime.bus.server import ServerFailed
    from roost.runtime.central import daemon as central_daemon
    from roost.runtime.master import DaemonRefused, Master
    from roost.runtime.node import daemon as node_daemon
    from roost.runtime.queue import daemon as schedd_daemon
    from roost.runtime.role import Make
    from roost.runtime.web_settings import is_wanted

    config = home.config(roots, "MASTER")
    if config.errors:
        from roost.config.not_text import joined

        raise CommandError(joined(config.errors, config.dropped))
    makers: dict[str, Make] = {"central": central_daemon.make, "schedd": schedd_daemon.make, "node": node_daemon.make}
    if is_wanted(config):
        from roost.api import daemon as web_daemon

        makers["web"] = web_daemon.make

    if home.authority.is_dir():
        from roost.runtime.registrar import daemon as registrar_daemon

        makers["registrar"] = registrar_daemon.make

    def tell(line: str) -> None:
        say(line)
        sys.stdout.flush()

    master = Master(home, roots, config, makers, tell)

    def told(warning: str) -> None:
        ready(warning)
        if not detached:
            write_whole(foreground_of(home), f"{os.getpid()}\n")
        sys.stdout.flush()

    again_of(home).unlink(missing_ok=True)
    try:
        status = master.run(told)
    except (HomeError, ServerFailed, DaemonRefused, ConfigError) as error:
        raise CommandError(str(error)) from None
    except OSError as error:
        where = error.filename or home.path
        raise CommandError(f"{where}: {error.strerror}; fix that, or name another directory with --home") from None
    foreground_of(home).unlink(missing_ok=True)
    tell(f"pool in {home.path} is down")
    if not detached and again_of(home).exists():
        again_of(home).unlink()
        os.execv(sys.executable, sys.orig_argv)
    return status


def start_stopped(home: Home) -> list[str]:
    """Let the running master start the daemons that were ordered to stop; return their roles. Raises CommandError."""
    try:
        contact = home.contact()
    except HomeError:
        return []
    if not master_runs(contact):
        return []
    roles = [role for role in contact["roles"] if home.stopped(role).exists()]
    if roles:
        signal_master(home, int(contact["pid"]), signal.SIGUSR2)
        until = time.monotonic() + _STARTS_S
        while not all(daemon_of(home, contact, role) for role in roles):
            if time.monotonic() > until:
                raise CommandError(f"the daemons did not start; see {home.log / 'master.log'}")
            time.sleep(0.05)
    return roles


def foreground_of(home: Home) -> Path:
    """The file with the pid of a master that runs in the foreground."""
    return home.run / "foreground"


def again_of(home: Home) -> Path:
    """The file that asks such a master to start over when it ends."""
    return home.run / "again"


def _report(home: Home, *, as_json: bool) -> int:
    if as_json:
        contact = home.contact()
        told = {"home": str(home.path), **{name: contact[name] for name in ("pid", "pool", "schedd", "node")}}
        sys.stdout.write(json.dumps(told, indent=2) + "\n")
    else:
        say(f"pool in {home.path} is up; `roost down` stops it")
    return Exit.OK


def start_detached(home: Home, roots: tuple[str, ...] | None) -> str:
    """Start the pool in a separate process, and wait until it is ready; return what it waits for. Raises
    CommandError.
    """
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        os.setsid()
        log = os.open(home.log / "master.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        null = os.open(os.devnull, os.O_RDONLY)
        for target, source in ((0, null), (1, log), (2, log)):
            os.dup2(source, target)
        status = 1
        try:

            def ready(warning: str) -> None:
                os.write(writer, b"1" + warning.encode())
                os.close(writer)

            status = run_foreground(home, roots, ready, detached=True)
        except CommandError as error:
            os.write(writer, str(error).encode())
        except Exception as error:
            traceback.print_exc()
            os.write(writer, f"internal error: {error!r}; see {home.log / 'master.log'}".encode())
        finally:
            os._exit(status)
    os.close(writer)
    # Only one piece can be read: the daemons hold the other end, too.
    text = os.read(reader, 65536)
    os.close(reader)
    if text[:1] != b"1":
        raise CommandError(text.decode(errors="replace") or f"the pool did not start; see {home.log / 'master.log'}")
    return text[1:].decode(errors="replace")


def alive(pid: int) -> bool:
    """Whether a process exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    seen = look(pid)
    return seen is not None and not seen.is_dead


def master_runs(contact: dict[str, Any]) -> bool:
    """Whether the master that wrote a contact file is running: another process may have its number by now."""
    pid, began = int(contact["pid"]), int(contact.get("began", 0))
    if not began:
        return alive(pid)
    return contact.get("boot") == boot_id() and is_alive(pid, began)


def daemon_of(home: Home, contact: dict[str, Any] | None, role: str) -> int:
    """The process of a daemon; 0 if it does not run. Raises PermissionError.

    It is a child of the master that wrote `contact`: another process may have the number of a killed one.
    """
    try:
        pid = int((home.run / f"{role}.pid").read_text())
    except PermissionError:
        raise
    except (OSError, ValueError):
        return 0
    if contact is None:
        return pid if alive(pid) else 0
    seen = look(pid) if master_runs(contact) else None
    return pid if seen is not None and not seen.is_dead and seen.parent == int(contact["pid"]) else 0


def signal_master(home: Home, pid: int, number: int) -> None:
    """Send a signal to the master of a pool, 0 to check permission. Raises CommandError if it belongs to another
    user.
    """
    try:
        os.kill(pid, number)
    except PermissionError:
        owner = owner_of(pid)
        users = owner if owner == "root" else f"{owner} or root"
        raise CommandError(f"the pool in {home.path} belongs to {owner}: run this command as {users}") from None


def owner_of(pid: int) -> str:
    """The name of a process's user; the id if it has no name."""
    import pwd

    try:
        uid = Path(f"/proc/{pid}").stat().st_uid
        return pwd.getpwuid(uid).pw_name
    except OSError:
        return "another user"
    except KeyError:
        return f"user {uid}"


def wait_gone(pid: int, timeout_s: float | None) -> bool:
    """Wait until a process that is not a child of this one has ended."""
    until = None if timeout_s is None else time.monotonic() + timeout_s
    pause = threading.Event()
    while alive(pid):
        if until is not None and time.monotonic() > until:
            return False
        pause.wait(0.05)
    return True


SIGNALS = {"graceful": signal.SIGTERM, "fast": signal.SIGQUIT, "leave": signal.SIGUSR1}
