"""The master of a machine: starts the bus and the daemons, watches them, and restarts them when they die.

It is a plain loop around the system's signals, without an event loop or a connection: a simple process rarely fails. It
imports all modules that the daemons need before it forks them, so that they share those pages.

A daemon that dies is restarted, after a pause that grows if it dies quickly. Jobs are unaffected: they belong to their
shepherds. If the master itself is killed, the daemons end too (the kernel signals them), and the next start resumes
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
from typing import IO, TYPE_CHECKING, Any, Final

from roost.base.records import dataclass, field
from roost.config import Config, ConfigError
from roost.runtime.bus.probe import probe
from roost.runtime.bus.server import BusAccounts, NatsServer, ServerFailed, write_private
from roost.runtime.bus_settings import BusError, BusSettings, proofs_of
from roost.runtime.daemon_orders import STAYS_DOWN
from roost.runtime.home import Home, HomeError
from roost.runtime.identity import host_name, user_name
from roost.runtime.log_settings import BadLog, hand_over, master_log
from roost.runtime.master_settings import LONGEST_PAUSE_S, ROLES, MasterSettings, master_settings
from roost.runtime.processes.accounts import NoSuchAccount, account_named, can_switch_user
from roost.runtime.processes.shepherd.processes import boot_id, start_of
from roost.runtime.role import Make, RoleContext, run_role
from roost.wire.subjects import Role, Subjects

if TYPE_CHECKING:
    from roost.wire.requests.registrar import Enroll, Enrolled

_log = logging.getLogger("roost.master")

#: How long daemons may take to start, s.
READY_S: Final = 30.0
#: How long daemons that cannot become ready may take to read their configuration, s.
CONFIGURED_S: Final = 3.0

_SIGNALS: Final = (
    signal.SIGCHLD,
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    #: Start the daemons that were stopped.
    signal.SIGUSR2,
    #: Time is up.
    signal.SIGALRM,
)
#: Interval at which the master checks whether its directory still exists, s.
LOOK_S: Final = 2.0
#: Daemons below which jobs run, even while the daemons are away.
_WITH_JOBS: Final = ("node", "schedd")
#: Daemons that have an account at this machine's own server, whether they run or not.
_DAEMONS: Final = ("central", "schedd", "node")


def next_signal(within_s: float) -> signal.Signals | None:
    """The next signal to the master; None if none arrives in that time."""
    # Not with sigtimedwait: if the process is stopped and continues after the time-out, Python returns a bogus signal.
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
    #: It was ordered to stay down.
    is_stopped: bool = False
    #: Deaths since it last lived long.
    deaths: int = 0
    #: The pipe on which it reports that it is ready; -1 once that has been received.
    reader: int = -1

    def begun(self, until: float) -> str:
        """Wait until it works, is dead, or that time has come; return why it refuses its configuration, or ""."""
        if self.reader < 0:
            return ""
        ready, _, _ = select.select([self.reader], [], [], max(0.0, until - time.monotonic()))
        # A daemon that died has reported nothing; it is restarted.
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
    #: Called with a line for the user.
    say: Callable[[str], None] = print
    settings: MasterSettings = field(default_factory=MasterSettings)
    children: dict[str, _Child] = field(default_factory=dict)
    _server: NatsServer | None = None
    _accounts: BusAccounts | None = None
    _secret: bytes = b""
    _contact: dict[str, Any] = field(default_factory=dict)
    #: Credentials of other users of the machine, by name.
    _keys: dict[str, dict[str, str]] = field(default_factory=dict)
    _ending: signal.Signals | None = None
    #: Message servers that this master does not run and cannot reach yet; "" if it reaches them.
    _wanting: str = ""

    def run(self, ready: Callable[[str], None] = lambda warning: None) -> int:
        """Run until ordered to stop; return the exit status. Raises HomeError, ServerFailed, DaemonRefused.

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
        """Use MASTER_LOG from now on, if set. Raises ConfigError, BadLog."""
        log = master_log(config)
        _log.propagate = False
        _log.setLevel(logging.INFO)
        hand_over(_log, log or logging.NullHandler())

    # -- beginning -----------------------------------------------------------------------------------

    def _prepare(self) -> None:
        config, host = self.config, host_name()
        pool = config.get("COLLECTOR_NAME") or config.get("POOL_NAME") or host
        names = {"central": f"central@{host}", "schedd": config.get("SCHEDD_NAME") or host, "node": host}
        names |= {"web": f"web@{host}", "registrar": f"registrar@{host}", "client": user_name()}
        urls = tuple((config.get("NATS_SERVERS") or "").replace(",", " ").split())
        if urls:
            settings, keys = self._at_servers(config.get("NATS_CREDENTIALS"), urls, pool, names)
        else:
            settings, keys = self._at_own_server(pool, names)
        names |= {role: each.name for role, each in settings.items()}
        for role in self._roles():
            context = RoleContext(role=role, name=names[role], home=self.home, roots=self.roots, bus=settings[role])
            self.children[role] = _Child(role, lambda context=context: self._fork(context))  # type: ignore[misc]
        self._contact = self._contact_of(settings["client"], names)
        self._keys = keys
        self._secret = self.home.secret()
        self._write_contact()

    def _at_servers(
        self, file: str | None, urls: tuple[str, ...], pool: str, names: dict[str, str]
    ) -> tuple[dict[str, BusSettings], dict[str, dict[str, str]]]:
        """The settings with which daemons and users of the machine reach the servers of several machines. Raises
        HomeError, ServerFailed.
        """
        users = self._users()
        if self.home.authority.is_dir():
            from roost.runtime.registrar.authority import Authority

            authority = Authority(self.home.authority)
            self._server = NatsServer(self.home.run / "nats", authority.server_text, authority.listen)
            self._server.start()
        if self.home.member.is_dir():
            users = self._signed(users)
        self._leave_out_web(file)
        settings: dict[str, BusSettings] = {}
        for role in (*self._roles(), "client"):
            name, proofs = _credentials(file, role)
            settings[role] = BusSettings(urls=urls, pool=pool, name=name or names[role], **proofs)
        keys = {name: _credentials_of_user(file, name) for name in users}
        self._warn_of_shared_account(settings)
        self._wanting = probe([(role, settings[role]) for role in self._roles()], file or "")
        return settings, keys

    def _at_own_server(
        self, pool: str, names: dict[str, str]
    ) -> tuple[dict[str, BusSettings], dict[str, dict[str, str]]]:
        """The settings with which daemons and users of the machine reach a server that is started now. Raises
        HomeError, ServerFailed.
        """
        if self.home.authority.is_dir():
            raise HomeError(
                f"{self.home.authority} makes this machine the server of a pool of several, but NATS_SERVERS is not "
                f"set; have the configuration include {self.home.member / 'pool.config'}"
            )
        users = self._users()
        accounts = self._accounts = BusAccounts(self.home.run, Subjects(pool))
        made = {role: accounts.account(Role(role), names[role]) for role in (*_DAEMONS, "client")}
        if "web" in self._roles():
            made["web"] = accounts.account(Role.WEB, names["web"])
        accounts.forget_users(users)
        made_too = {name: accounts.account(Role.USER, name) for name in users}
        self._server = NatsServer(self.home.run / "nats", accounts.server_text)
        self._server.start()
        settings = {
            role: BusSettings(
                urls=(self._server.url,), pool=pool, name=account.name, user=account.user, password=account.password
            )
            for role, account in made.items()
        }
        return settings, {
            name: {"user": account.user, "password": account.password} for name, account in made_too.items()
        }

    def _signed(self, users: list[str]) -> list[str]:
        """Request keys for the users of this member of a pool; return the users that have one. Raises HomeError."""
        from roost.runtime.registrar.authority import Authority
        from roost.runtime.registrar.membership import Membership, NotSigned
        from roost.runtime.registrar.registry import NotAllowed
        from roost.runtime.role import superusers

        member = Membership(self.home)
        sign = member.sign
        if self.home.authority.is_dir():
            # Its registrar is started later.
            authority, administrators = Authority(self.home.authority), superusers(self.config)

            def sign(request: Enroll) -> Enrolled:
                return authority.enroll(member.machine, request, administrators)

        try:
            member.have_users(users, sign)
        except (NotSigned, NotAllowed, BusError) as error:
            self._tell(f"warning: ROOST_USERS: no keys for new users: {error}")
        return [name for name in users if name in member.data["users"]]

    def _leave_out_web(self, file: str | None) -> None:
        """Without its own account at those servers, the web server could not make requests in any user's name."""
        if "web" not in self._roles():
            return
        try:
            _credentials(file, "web")
        except HomeError:
            del self.makers["web"]
            self._tell(
                f"warning: the web server was not started: {file} has no account named web, which must be "
                "allowed to make requests on behalf of every user (docs/guides/web.md); WEB_SERVER = false "
                "turns this warning off"
            )

    def _warn_of_shared_account(self, settings: dict[str, BusSettings]) -> None:
        """Warn if the message servers cannot distinguish the daemons from each other."""
        users = {each.token or each.user for each in settings.values()}
        if len(users) == 1 and users != {""}:
            self._tell(
                f"warning: NATS_CREDENTIALS has one account, {users.pop()}, for all daemons and commands "
                "here, so any of them can impersonate any other. See 'Your own message servers' in "
                "docs/guides/operations.md"
            )

    def _roles(self) -> list[str]:
        """The daemons in DAEMON_LIST; all of them if it is not set."""
        listed = [word.lower() for word in self.config.get_list("DAEMON_LIST")]
        found = list(dict.fromkeys(ROLES[word] for word in listed if word in ROLES)) or ["central", "schedd", "node"]
        # The web page of a pool is on the machine of its central manager.
        found += ["web"] if "central" in found and "web" in self.makers else []
        return ["registrar", *found] if self.home.authority.is_dir() else found

    def _users(self) -> list[str]:
        """The other users who may use the pool, without those unknown on this machine."""
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

    def _admit(self, users: dict[str, dict[str, str]], contact: dict[str, Any]) -> None:
        """Write for each user how to reach the pool, with the user's credentials, in a file that only that user can
        read.
        """
        directory = self.home.users
        if not users and not directory.exists():
            return
        directory.mkdir(mode=0o700, exist_ok=True)
        self.home.let_others_to(directory)
        for old in directory.iterdir():
            old.unlink()
        for name, proofs in users.items():
            client = {"name": name, **proofs}
            path = directory / f"{name}.json"
            write_private(path, json.dumps(contact | {"client": client}, indent=1))
            os.chown(path, account_named(name).uid, -1)
            path.chmod(0o400)

    def _write_contact(self) -> None:
        """Save how to reach the pool, for its owner and for its other users."""
        write_private(self.home.run / "contact.json", json.dumps(self._contact, indent=1))
        self._admit(self._keys, self._contact)

    def _restore_run(self) -> None:
        """Recreate the directory of the running pool if it was removed: without it no command finds the pool."""
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
            self._tell(f"{error.filename or self.home.run} has been deleted and cannot be recreated: {error.strerror}")
            return
        self._tell(f"{self.home.run} was removed while the pool was running and has been recreated. Do not delete it")

    def _restore_directories(self) -> None:
        """Recreate directories of the running pool that were removed; the database has its own watch."""
        for directory in (self.home.log, self.home.execute, self.home.jobs, self.home.spool):
            if directory.is_dir():
                continue
            try:
                directory.mkdir(mode=0o700)
            except OSError as error:
                self._tell(f"{directory} has been deleted and cannot be recreated: {error.strerror}")
                continue
            _reopen_output(self.home.log / "master.log")
            self._tell(
                f"{directory} was removed while the pool was running and has been recreated; its contents are lost"
            )

    def _contact_of(self, client: BusSettings, names: dict[str, str]) -> dict[str, Any]:
        return {
            "pid": os.getpid(),
            # Another process may have the number after the master was killed.
            "began": start_of(os.getpid()),
            "boot": boot_id(),
            "pool": client.pool,
            "urls": list(client.urls),
            "schedd": names["schedd"],
            "node": names["node"],
            "roles": self._roles(),
            "roots": None if self.roots is None else list(self.roots),
            "uid_domain": self.config.get("UID_DOMAIN") or names["node"],
            "client": {"name": client.name, **client.proofs()},
        }

    # -- children ------------------------------------------------------------------------------------

    def _await_ready(self) -> None:
        """Wait until all daemons have started. Raises DaemonRefused if one refuses its configuration."""
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
        child.is_stopped = False
        _log.info("%s is process %d", child.role, child.pid)
        self._note_pid(child)

    def _start_again(self, child: _Child) -> None:
        """Restart a dead daemon; if the system has no resources for it now, it may have some later."""
        try:
            self._start(child)
        except OSError as error:
            child.again_at = time.monotonic() + LONGEST_PAUSE_S
            self._tell(f"cannot start {child.role}: {error.strerror}; trying again in {LONGEST_PAUSE_S:g} s")

    def _note_pid(self, child: _Child) -> None:
        """For people and scripts: nothing depends on it, so a full disk does no harm."""
        with contextlib.suppress(OSError):
            stopped = self.home.stopped(child.role)
            stopped.touch() if child.is_stopped else stopped.unlink(missing_ok=True)
            file = self.home.run / f"{child.role}.pid"
            if child.pid:
                file.write_text(f"{child.pid}\n")
            else:
                file.unlink(missing_ok=True)

    def _tell(self, line: str) -> None:
        """Print a message; a full disk, or a terminal that is gone, does not end the master."""
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
            # The child must not close anything of the master's.
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
            case signal.SIGUSR2:
                for child in self.children.values():
                    if child.is_stopped:
                        self._start_again(child)
            case _:
                self._ending = number

    def _reconfigure(self) -> None:
        """Use the settings of the current configuration, if it can be read: the daemons report what is wrong."""
        config = self.home.config(self.roots, "MASTER")
        if not config.errors:
            try:
                self.settings = master_settings(config)
                self._log_as(config)
            except BadLog as problem:
                self._tell(f"the log file is unchanged: {problem}")
            except ConfigError:
                # The daemons report what is wrong.
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
                    self._tell("nats-server exited; restarting it")
                    self._start_server()
                continue
            for child in self.children.values():
                if child.pid == pid:
                    self._died(child, status)

    def _start_server(self) -> None:
        """Restart the bus; if it does not start, that is retried, because nothing works without it."""
        assert self._server is not None
        try:
            self._server.start()
        except ServerFailed as error:
            self._tell(f"{error}; trying again")
        except OSError as error:
            self._tell(f"{error.filename or self.home.run}: {error.strerror}; trying again to start nats-server")

    def _died(self, child: _Child, status: int) -> None:
        child.pid = 0
        code = os.waitstatus_to_exitcode(status)
        child.is_stopped = code == STAYS_DOWN and self._ending is None
        self._note_pid(child)
        if self._ending is not None:
            return
        if child.is_stopped:
            self._stopped(child)
            return
        if time.monotonic() - child.started_at > self.settings.recovered_s:
            child.deaths = 0
        pause_s = self.settings.pause_s(child.deaths)
        child.deaths += 1
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"exited with status {code}"
        self._tell(f"{child.role} {how}; restarting it in {pause_s:g} s; see {self._log_of(child.role)}")
        child.again_at = time.monotonic() + pause_s

    def _stopped(self, child: _Child) -> None:
        """Leave a daemon down that was ordered to stop; without any left, the master ends too."""
        self._tell(f"{child.role} was ordered to stop; `roost up` starts it again")
        if all(each.is_stopped or each.role == "web" for each in self.children.values()):
            self._ending = signal.SIGUSR1

    def _log_of(self, role: str) -> Path:
        return self.home.log / f"{role}.log"

    def _to_all(self, number: signal.Signals) -> None:
        _kill(list(self.children.values()), number)

    # -- ending --------------------------------------------------------------------------------------

    def _end(self) -> None:
        """Stop the machines first, so that the queue learns what happens to its jobs."""
        number = self._ending = self._ending or signal.SIGTERM
        for roles in (("web",), ("node",), ("schedd",), ("central",), ("registrar",)):
            self._end_some([self.children[role] for role in roles if role in self.children], number)
        if self._server is not None:
            self._server.stop()

    def _end_some(self, children: list[_Child], number: signal.Signals) -> None:
        for child in children:
            is_down = child.again_at is not None or child.is_stopped
            if is_down and child.role in _WITH_JOBS and number is not signal.SIGUSR1:
                # The daemon is down, but its jobs are not: it has to come back to end them.
                self._start_again(child)
            # A daemon that has just started would be killed by the signal, and its jobs would keep running.
            child.begun(time.monotonic() + READY_S)
            if child.pid:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child.pid, number)
        # A second request speeds it up; the machine's own vacate times apply until then, within the time-out.
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
                    self._tell(f"{names} took longer than SHUTDOWN_GRACEFUL_TIMEOUT; shutting down fast")
                _kill(children, signal.SIGQUIT)
                deadline = time.monotonic() + self.settings.fast_s if graceful else deadline
                graceful = False


def _kill(children: list[_Child], number: signal.Signals) -> None:
    """Send a signal to the running ones."""
    for child in children:
        if child.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child.pid, number)


def _reopen_output(path: Path) -> None:
    """Open a file of the same name if the one being written to was removed."""
    with contextlib.suppress(OSError):
        found = os.fstat(1)
        if stat.S_ISREG(found.st_mode) and not found.st_nlink:
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            for output in (1, 2):
                os.dup2(file, output)
            os.close(file)


def _flush() -> None:
    """Flush buffered output where possible, and write nothing twice."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()


def _output(path: Path, instead: int) -> int:
    """Where a daemon prints; nowhere, if there is no space for it."""
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError:
        return instead


def _credentials(file: str | None, role: str) -> tuple[str, dict[str, str]]:
    """The name of a role, "" for the default, and its credentials. Raises HomeError."""
    if not file:
        return "", {}
    try:
        data = json.loads(Path(file).read_text())
        return _proofs(data.get(role, data), data)
    except OSError as error:
        raise HomeError(f"NATS_CREDENTIALS: {file}: {error.strerror}") from None
    except (ValueError, KeyError, AttributeError, TypeError):
        raise HomeError(
            f'NATS_CREDENTIALS: {file}: write a JSON object {{"user": …, "password": …}}, or one for each role; there '
            f"is none for {role}"
        ) from None


def _credentials_of_user(file: str | None, name: str) -> dict[str, str]:
    """The credentials of another user of the machine. Raises HomeError."""
    try:
        data = json.loads(Path(file or "").read_text())
        return _proofs(data["users"][name], data)[1]
    except (OSError, ValueError, KeyError, TypeError):
        raise HomeError(
            f"ROOST_USERS names {name}; with NATS_SERVERS, the file named by NATS_CREDENTIALS must have an account "
            f'for each of them, as in {{"users": {{"{name}": {{"user": …, "password": …}}}}}}'
        ) from None


def _proofs(found: dict[str, Any], data: dict[str, Any]) -> tuple[str, dict[str, str]]:
    """The name in one entry of a file of credentials, and the credentials. Raises KeyError, TypeError."""
    authority = {"authority": data["authority"]} if "authority" in data else {}
    return str(found.get("name", "")), proofs_of(found | authority)


def _lock(home: Home) -> IO[str]:
    lock = home.lock.open("a")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise HomeError(
            f"a pool is already running in {home.path}; `roost status` shows it, `roost down` stops it"
        ) from None
    return lock


def _end_with(parent: int) -> None:
    """End this process with its parent (Linux); at once if the parent is already gone."""
    with contextlib.suppress(OSError, AttributeError):
        pr_set_pdeathsig = 1
        ctypes.CDLL(None, use_errno=True).prctl(pr_set_pdeathsig, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)
