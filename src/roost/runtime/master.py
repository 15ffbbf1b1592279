"""The master of a machine: starts the bus and the daemons, watches them, starts again what dies.

It is a plain loop around the system's signals, with no event loop and no connection of its own: what does little breaks
seldom. It imports all that the daemons need before it forks them, so that they share those pages.

A daemon that dies is started again, after a pause that grows when it dies quickly. Jobs do not notice: they belong to
their shepherds. If the master itself is killed, the daemons end too (the kernel tells them), and the next start goes on
where they were.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import logging
import os
import select
import signal
import stat
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Final

from roost.base.records import dataclass, field
from roost.config import Config, ConfigError
from roost.runtime.bus.client import BusSettings
from roost.runtime.bus.probe import probe
from roost.runtime.bus.server import Accounts, NatsServer, ServerFailed, write_private
from roost.runtime.home import Home, HomeError
from roost.runtime.identity import host_name, user_name
from roost.runtime.log_settings import BadLog, hand_over, master_log
from roost.runtime.master_settings import LONGEST_PAUSE_S, MasterSettings, master_settings
from roost.runtime.processes.accounts import NoSuchAccount, account_named, can_switch_user
from roost.runtime.processes.shepherd.processes import boot_id, start_of
from roost.runtime.role import Make, RoleContext, run_role
from roost.wire.subjects import Role, Subjects

_log = logging.getLogger("roost.master")

#: How long daemons may take to begin, s.
READY_S: Final = 30.0
#: And until those have read their configuration that cannot be ready, s.
CONFIGURED_S: Final = 3.0

_SIGNALS: Final = (
    signal.SIGCHLD,
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    #: The time is over.
    signal.SIGALRM,
)
#: How often the master looks whether its directory is still there, s.
LOOK_S: Final = 2.0
#: Daemons below which jobs run, also while they are away.
_WITH_JOBS: Final = ("node", "schedd")


def next_signal(within_s: float) -> signal.Signals | None:
    """The next signal to the master; None if there is none in that time."""
    # Not with sigtimedwait: if the process is stopped and goes on after the time, Python returns a made-up signal.
    signal.setitimer(signal.ITIMER_REAL, max(within_s, 0.001))
    number = signal.Signals(signal.sigwaitinfo(_SIGNALS).si_signo)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.sigtimedwait((signal.SIGALRM,), 0)
    return None if number is signal.SIGALRM else number


class DaemonRefused(Exception):
    """A daemon cannot work with its configuration; all errors are in the text."""


@dataclass(slots=True)
class _Child:
    """A daemon of this machine."""

    role: str
    start: Callable[[], int]
    pid: int = 0
    started_at: float = 0.0
    again_at: float | None = None
    #: Since it lived long.
    deaths: int = 0
    #: Where it says that it is ready; -1 once that has been heard.
    reader: int = -1

    def begun(self, until: float) -> str:
        """Wait until it works, is dead, or that time has come; why it refuses its configuration, or ""."""
        if self.reader < 0:
            return ""
        ready, _, _ = select.select([self.reader], [], [], max(0.0, until - time.monotonic()))
        # A daemon that died has said nothing; it is started again.
        text = os.read(self.reader, 65536) if ready else b""
        self.forget()
        return text[1:].decode(errors="replace")

    def forget(self) -> None:
        """Stop listening to it."""
        reader, self.reader = self.reader, -1
        if reader >= 0:
            os.close(reader)


@dataclass(slots=True)
class Master:
    """The daemons of one machine."""

    home: Home
    roots: tuple[str, ...] | None
    config: Config
    makers: dict[str, Make]
    #: Called with a line that the user may want to read.
    say: Callable[[str], None] = print
    settings: MasterSettings = field(default_factory=MasterSettings)
    children: dict[str, _Child] = field(default_factory=dict)
    _server: NatsServer | None = None
    _accounts: Accounts | None = None
    _secret: bytes = b""
    _contact: dict[str, Any] = field(default_factory=dict)
    #: Keys of other users of the machine: name to user and password.
    _keys: dict[str, tuple[str, str]] = field(default_factory=dict)
    _ending: signal.Signals | None = None
    #: Message servers that this master does not run and cannot reach yet; "" if it reaches them.
    _wanting: str = ""

    def run(self, ready: Callable[[str], None] = lambda warning: None) -> int:
        """Run until told to end; the exit status. Raises HomeError, ServerFailed, DaemonRefused.

        `ready` is called once the daemons work, with "", or with what they wait for.
        """
        self.settings = master_settings(self.config)
        lock = _lock(self.home)
        try:
            self._log_as(self.config)
        except BadLog as problem:
            lock.close()
            raise DaemonRefused(str(problem)) from None
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            self._prepare()
            for child in self.children.values():
                self._start(child)
            try:
                self._await_ready()
                ready(self._wanting)
                self._watch()
            finally:
                self._end()
        finally:
            with contextlib.suppress(OSError):
                (self.home.run / "contact.json").unlink()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            _log.info("ended")
            hand_over(_log, None)
            lock.close()
        return 0

    def _log_as(self, config: Config) -> None:
        """Write MASTER_LOG from now on, if there is one. Raises ConfigError, BadLog."""
        log = master_log(config)
        _log.propagate = False
        _log.setLevel(logging.INFO)
        hand_over(_log, log or logging.NullHandler())

    # -- beginning -----------------------------------------------------------------------------------

    def _prepare(self) -> None:
        config, host = self.config, host_name()
        pool = config.get("COLLECTOR_NAME") or config.get("POOL_NAME") or host
        names = {"central": f"central@{host}", "schedd": config.get("SCHEDD_NAME") or host, "node": host}
        names["web"] = f"web@{host}"
        urls = tuple((config.get("NATS_SERVERS") or "").replace(",", " ").split())
        subjects = Subjects(pool)
        settings: dict[str, BusSettings] = {}
        client, users = user_name(), self._users()
        keys: dict[str, tuple[str, str]]
        if urls:
            file = config.get("NATS_CREDENTIALS")
            self._leave_out_web(file)
            for role in (*(role for role in names if role != "web" or role in self._roles()), "client"):
                user, password = _credentials(file, role)
                name = names.get(role, client)
                settings[role] = BusSettings(urls=urls, pool=pool, name=name, user=user, password=password)
            keys = {name: _credentials_of_user(file, name) for name in users}
            self._warn_of_shared_account(settings)
            self._wanting = probe([(role, settings[role]) for role in self._roles()], file or "")
        else:
            accounts = self._accounts = Accounts(self.home.run, subjects)
            kinds = {"central": Role.CENTRAL, "schedd": Role.SCHEDD, "node": Role.NODE, "client": Role.CLIENT}
            kinds |= {"web": Role.WEB} if "web" in self._roles() else {}
            made = {role: accounts.account(kind, names.get(role, client)) for role, kind in kinds.items()}
            accounts.forget_users(users)
            made_too = {name: accounts.account(Role.USER, name) for name in users}
            keys = {name: (account.user, account.password) for name, account in made_too.items()}
            self._server = NatsServer(self.home.run / "nats", accounts)
            self._server.start()
            for role, account in made.items():
                settings[role] = BusSettings(
                    urls=(self._server.url,),
                    pool=pool,
                    name=account.name,
                    user=account.user,
                    password=account.password,
                )
        roles = self._roles()
        for role in roles:
            context = RoleContext(role=role, name=names[role], home=self.home, roots=self.roots, bus=settings[role])
            self.children[role] = _Child(role, lambda context=context: self._fork(context))  # type: ignore[misc]
        self._contact = self._contact_of(settings["client"], names)
        self._keys = keys
        self._secret = self.home.secret()
        self._write_contact()

    def _leave_out_web(self, file: str | None) -> None:
        """Without an account of its own at those servers the web server could ask in no user's name."""
        if "web" not in self._roles():
            return
        try:
            _credentials(file, "web")
        except HomeError:
            del self.makers["web"]
            self._tell(
                f"warning: no web server is started: {file} has no account web, which may make requests in every "
                "user's name (docs/guides/web.md); WEB_SERVER = false turns this warning off"
            )

    def _warn_of_shared_account(self, settings: dict[str, BusSettings]) -> None:
        """Say so if the message servers cannot tell the daemons from each other."""
        users = {each.user for each in settings.values()}
        if len(users) == 1 and users != {""}:
            self._tell(
                f"warning: NATS_CREDENTIALS has one account, {users.pop()}, for all daemons and commands here: "
                "any of them can speak as any other. See 'Your own message servers' in docs/guides/operations.md"
            )

    def _roles(self) -> list[str]:
        """The daemons that DAEMON_LIST names; all of them where it is not set."""
        words = {
            "collector": "central",
            "negotiator": "central",
            "schedd": "schedd",
            "startd": "node",
        }
        listed = (self.config.get("DAEMON_LIST") or "").replace(",", " ").lower().split()
        found = list(dict.fromkeys(words[word] for word in listed if word in words)) or ["central", "schedd", "node"]
        # The page of a pool is where its central manager is.
        return [*found, "web"] if "central" in found and "web" in self.makers else found

    def _users(self) -> list[str]:
        """The other users who may use the pool, without those whom this machine does not know."""
        if not can_switch_user():
            return []
        found = []
        for name in self.config.get_list("ROOST_USERS"):
            try:
                if not account_named(name).is_root:
                    found.append(name)
            except NoSuchAccount as problem:
                self.say(f"ROOST_USERS: {problem}")
        return found

    def _admit(self, users: dict[str, tuple[str, str]], contact: dict[str, Any]) -> None:
        """Write for each user how to reach the pool, in a file that only that user can read: it proves who they are."""
        directory = self.home.users
        if not users and not directory.exists():
            return
        directory.mkdir(mode=0o700, exist_ok=True)
        self.home.let_others_to(directory)
        for old in directory.iterdir():
            old.unlink()
        for name, (user, password) in users.items():
            client = {"name": name, "user": user, "password": password}
            path = directory / f"{name}.json"
            write_private(path, json.dumps(contact | {"client": client}, indent=1))
            os.chown(path, account_named(name).uid, -1)
            path.chmod(0o400)

    def _write_contact(self) -> None:
        """Leave word of how the pool is reached, for its owner and for its other users."""
        write_private(self.home.run / "contact.json", json.dumps(self._contact, indent=1))
        self._admit(self._keys, self._contact)

    def _restore_run(self) -> None:
        """Make the directory of the running pool again if it was removed: without it no command finds the pool."""
        contact = self.home.run / "contact.json"
        if contact.exists():
            return
        try:
            self.home.run.mkdir(mode=0o700, exist_ok=True)
            self.home.keep_secret(self._secret)
            if self._accounts is not None:
                self._accounts.write()
            if self._server is not None:
                self._server.note_port()
            for child in self.children.values():
                self._note_pid(child)
            # Last: commands wait for it.
            self._write_contact()
        except OSError as error:
            self._tell(f"{error.filename or self.home.run} is gone and cannot be recreated: {error.strerror}")
            return
        self._tell(f"{self.home.run} was removed while the pool ran; recreated. Do not delete it")

    def _restore_directories(self) -> None:
        """Make directories of the running pool again that were removed; the database has a watch of its own."""
        for directory in (self.home.log, self.home.execute, self.home.jobs, self.home.spool):
            if directory.is_dir():
                continue
            try:
                directory.mkdir(mode=0o700)
            except OSError as error:
                self._tell(f"{directory} is gone and cannot be recreated: {error.strerror}")
                continue
            _reopen_output(self.home.log / "master.log")
            self._tell(f"{directory} was removed while the pool ran; recreated, its contents are lost")

    def _contact_of(self, client: BusSettings, names: dict[str, str]) -> dict[str, Any]:
        return {
            "pid": os.getpid(),
            # Another process may have the number once the master was killed.
            "began": start_of(os.getpid()),
            "boot": boot_id(),
            "pool": client.pool,
            "urls": list(client.urls),
            "schedd": names["schedd"],
            "node": names["node"],
            "roles": self._roles(),
            "roots": None if self.roots is None else list(self.roots),
            "uid_domain": self.config.get("UID_DOMAIN") or names["node"],
            "client": {"name": client.name, "user": client.user, "password": client.password},
        }

    # -- children ------------------------------------------------------------------------------------

    def _await_ready(self) -> None:
        """Wait until all daemons have begun to work. Raises DaemonRefused if one cannot with its configuration."""
        # Without message servers they are not ready, but have read their configuration.
        until = time.monotonic() + (CONFIGURED_S if self._wanting else READY_S)
        for child in self.children.values():
            refused = child.begun(until)
            if refused:
                raise DaemonRefused(f"{child.role}: {refused}")

    def _start(self, child: _Child) -> None:
        child.forget()
        child.pid = child.start()
        child.started_at = time.monotonic()
        child.again_at = None
        _log.info("%s is process %d", child.role, child.pid)
        self._note_pid(child)

    def _start_again(self, child: _Child) -> None:
        """Start one that died; a system that has no room for it now may have some later."""
        try:
            self._start(child)
        except OSError as error:
            child.again_at = time.monotonic() + LONGEST_PAUSE_S
            self._tell(f"{child.role} cannot be started: {error.strerror}; trying again in {LONGEST_PAUSE_S:g} s")

    def _note_pid(self, child: _Child) -> None:
        """For people and scripts: nothing depends on it, so a full disk does no harm."""
        with contextlib.suppress(OSError):
            file = self.home.run / f"{child.role}.pid"
            if child.pid:
                file.write_text(f"{child.pid}\n")
            else:
                file.unlink(missing_ok=True)

    def _tell(self, line: str) -> None:
        """Say something; a full disk, or a terminal that is gone, does not end the master."""
        _log.info("%s", line)
        with contextlib.suppress(OSError):
            self.say(line)

    def _fork(self, context: RoleContext) -> int:
        _flush()
        master = os.getpid()
        reader, writer = os.pipe()
        pid = os.fork()
        if pid:
            os.close(writer)
            self.children[context.role].reader = reader
            return pid
        status = 70

        def tell(text: str) -> None:
            with contextlib.suppress(OSError):
                os.write(writer, b"!" + text.encode()[:60_000])
                os.close(writer)

        try:
            os.setsid()
            _end_with(master)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            devnull = os.open(os.devnull, os.O_RDWR)
            log = _output(self.home.log / f"{context.role}.out", devnull)
            os.dup2(devnull, 0)
            os.dup2(log, 1)
            os.dup2(log, 2)
            os.close(reader)
            status = run_role(context, self.makers[context.role], tell)
        except BaseException:
            traceback.print_exc()
        finally:
            # Nothing of the master is to be ended by its child.
            _flush()
            os._exit(status)

    def _watch(self) -> None:
        while self._ending is None:
            now = time.monotonic()
            due = [child.again_at for child in self.children.values() if child.again_at is not None]
            wait_s = min([max(0.0, at - now) for at in due], default=LOOK_S)
            number = next_signal(min(wait_s, LOOK_S))
            if number is not None:
                self._on_signal(number)
            self._reap()
            self._restore_directories()
            self._restore_run()
            if self._server is not None and not self._server.pid:
                self._start_server()
            for child in self.children.values():
                if child.again_at is not None and child.again_at <= time.monotonic():
                    self._start_again(child)

    def _on_signal(self, number: signal.Signals) -> None:
        match number:
            case signal.SIGCHLD:
                pass
            case signal.SIGHUP:
                self._reconfigure()
                self._to_all(signal.SIGHUP)
            case _:
                self._ending = number

    def _reconfigure(self) -> None:
        """Take the settings from the configuration as it is now, if it can be read: the daemons say what is wrong."""
        config = self.home.config(self.roots, "MASTER")
        if not config.errors:
            try:
                self.settings = master_settings(config)
                self._log_as(config)
            except BadLog as problem:
                self._tell(f"the log stays where it was: {problem}")
            except ConfigError:
                # The daemons say what is wrong.
                pass

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if self._server is not None and pid == self._server.pid:
                self._server.gone()
                if self._ending is None:
                    self._tell("nats-server ended; starting it again")
                    self._start_server()
                continue
            for child in self.children.values():
                if child.pid == pid:
                    self._died(child, status)

    def _start_server(self) -> None:
        """Start the bus again; one that does not start is tried again, for nothing goes without it."""
        assert self._server is not None
        try:
            self._server.start()
        except ServerFailed as error:
            self._tell(f"{error}; trying again")
        except OSError as error:
            self._tell(f"{error.filename or self.home.run}: {error.strerror}; trying again to start nats-server")

    def _died(self, child: _Child, status: int) -> None:
        child.pid = 0
        self._note_pid(child)
        if self._ending is not None:
            return
        code = os.waitstatus_to_exitcode(status)
        if time.monotonic() - child.started_at > self.settings.recovered_s:
            child.deaths = 0
        pause_s = self.settings.pause_s(child.deaths)
        child.deaths += 1
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"status {code}"
        self._tell(f"{child.role} ended with {how}; starting it again in {pause_s:g} s: see {self._log_of(child.role)}")
        child.again_at = time.monotonic() + pause_s

    def _log_of(self, role: str) -> Path:
        return self.home.log / f"{role}.log"

    def _to_all(self, number: signal.Signals) -> None:
        _kill(list(self.children.values()), number)

    # -- ending --------------------------------------------------------------------------------------

    def _end(self) -> None:
        """End the machines first, so that the queue hears what becomes of its jobs."""
        number = self._ending = self._ending or signal.SIGTERM
        for roles in (("web",), ("node",), ("schedd",), ("central",)):
            self._end_some([self.children[role] for role in roles if role in self.children], number)
        if self._server is not None:
            self._server.stop()

    def _end_some(self, children: list[_Child], number: signal.Signals) -> None:
        for child in children:
            if child.again_at is not None and child.role in _WITH_JOBS and number is not signal.SIGUSR1:
                # It is away, but its jobs are not: it has to come back to end them.
                self._start_again(child)
            # One that has just begun would be killed by the signal, and its jobs would run on.
            child.begun(time.monotonic() + READY_S)
            if child.pid:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child.pid, number)
        # A second request makes haste; the machine's own vacate times count until then, within the time-out.
        graceful = number in (signal.SIGTERM, signal.SIGINT)
        deadline = time.monotonic() + (self.settings.graceful_s if graceful else self.settings.fast_s)
        while any(child.pid for child in children):
            again = next_signal(0.5) in (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT)
            self._reap()
            late = time.monotonic() > deadline
            if late and not graceful:
                _kill(children, signal.SIGKILL)
            elif late or again:
                if graceful and late:
                    names = " and ".join(child.role for child in children if child.pid)
                    self._tell(f"{names} took longer than SHUTDOWN_GRACEFUL_TIMEOUT: ending fast")
                _kill(children, signal.SIGQUIT)
                deadline = time.monotonic() + self.settings.fast_s if graceful else deadline
                graceful = False


def _kill(children: list[_Child], number: signal.Signals) -> None:
    """Send a signal to those that are there."""
    for child in children:
        if child.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child.pid, number)


def _reopen_output(path: Path) -> None:
    """Go on in a file of that name where the one that is written to was removed."""
    with contextlib.suppress(OSError):
        found = os.fstat(1)
        if stat.S_ISREG(found.st_mode) and not found.st_nlink:
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            for output in (1, 2):
                os.dup2(file, output)
            os.close(file)


def _flush() -> None:
    """What was printed goes where it can, and nothing of it twice."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()


def _output(path: Path, instead: int) -> int:
    """Where a daemon prints; nowhere, if there is no room for that."""
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError:
        return instead


def _credentials(file: str | None, role: str) -> tuple[str, str]:
    """User and password of a role for servers that the pool does not run itself. Raises HomeError."""
    if not file:
        return "", ""
    try:
        data = json.loads(Path(file).read_text())
        found = data.get(role, data)
        return str(found["user"]), str(found["password"])
    except OSError as error:
        raise HomeError(f"NATS_CREDENTIALS: {file}: {error.strerror}") from None
    except (ValueError, KeyError, AttributeError, TypeError):
        raise HomeError(
            f'NATS_CREDENTIALS: {file}: write a JSON object {{"user": …, "password": …}}, or one for each role'
        ) from None


def _credentials_of_user(file: str | None, name: str) -> tuple[str, str]:
    """Account of another user of the machine with those servers. Raises HomeError."""
    try:
        found = json.loads(Path(file or "").read_text())["users"][name]
        return str(found["user"]), str(found["password"])
    except (OSError, ValueError, KeyError, TypeError):
        raise HomeError(
            f"ROOST_USERS names {name}: with NATS_SERVERS, NATS_CREDENTIALS has to name a file with an account for "
            f'each of them, as in {{"users": {{"{name}": {{"user": …, "password": …}}}}}}'
        ) from None


def _lock(home: Home) -> IO[str]:
    lock = home.lock.open("a")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise HomeError(f"a pool runs in {home.path} already: `roost status` shows it, `roost down` ends it") from None
    return lock


def _end_with(parent: int) -> None:
    """End this process with its parent (Linux); at once if that is gone already."""
    with contextlib.suppress(OSError, AttributeError):
        pr_set_pdeathsig = 1
        ctypes.CDLL(None, use_errno=True).prctl(pr_set_pdeathsig, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)
