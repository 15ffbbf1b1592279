"""The state directory of a pool on this machine, and how a pool is reached from it.

One directory holds everything: configuration, database, logs, credentials, scratch directories. Several pools can
therefore run side by side, and a pool is moved or deleted as a directory. The directory is the one that is named,
otherwise ROOST_HOME, otherwise ``~/.local/state/roost``.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from roost.runtime.bus_settings import BusSettings, proofs_of
from roost.runtime.files.whole_files import sweep, write_first, write_whole
from roost.runtime.identity import account_name

if TYPE_CHECKING:
    from roost.config import Config

#: How long a command waits for `run` to be recreated if it was removed under a running pool, s.
RESTORED_S: Final = 10.0
#: The configuration that a new pool begins with.
_FIRST_CONFIG: Final = """\
# The configuration of this pool. `roost config explain NAME` tells where a value comes from, `roost config check` and
# `roost policy lint` tell what is wrong with it, `roost reconfig` makes the daemons read it again.

# A personal machine: jobs start whenever there is room. `use POLICY : Desktop` is for a shared desktop.
use ROLE : Personal
"""


class HomeError(Exception):
    """The state directory cannot be used, or has no pool; the text says what to do."""


class Home(NamedTuple):
    """A state directory."""

    path: Path

    @classmethod
    def find(cls, given: str | None, environment: Mapping[str, str] = os.environ) -> Home:
        """The state directory to use."""
        named = given or environment.get("ROOST_HOME")
        if named:
            return cls(Path(named).expanduser().absolute())
        base = environment.get("XDG_STATE_HOME") or "~/.local/state"
        return cls(Path(base).expanduser().absolute() / "roost")

    # -- what is where -------------------------------------------------------------------------------

    @property
    def config_file(self) -> Path:
        """The default configuration file."""
        return self.path / "roost.config"

    @property
    def log(self) -> Path:
        """Logs of the daemons."""
        return self.path / "log"

    @property
    def run(self) -> Path:
        """Process numbers, credentials, sockets."""
        return self.path / "run"

    @property
    def lock(self) -> Path:
        """Held by the master of the running pool. Not in `run`, which may be removed while the pool runs."""
        return self.path / "master.lock"

    @property
    def users(self) -> Path:
        """How each user of the machine reaches a pool of root."""
        return self.path / "users"

    @property
    def web(self) -> Path:
        """The web server's files and its socket."""
        return self.path / "web"

    @property
    def member(self) -> Path:
        """The keys of this machine as a member of a pool of several machines."""
        return self.path / "member"

    @property
    def authority(self) -> Path:
        """The keys of the authority of a pool of several machines, on one of them."""
        return self.path / "authority"

    @property
    def execute(self) -> Path:
        """Scratch directories of jobs."""
        return self.path / "execute"

    @property
    def jobs(self) -> Path:
        """Records of running jobs."""
        return self.path / "jobs"

    @property
    def spool(self) -> Path:
        """Files that the queue keeps for jobs."""
        return self.path / "spool"

    @property
    def database(self) -> Path:
        """The queue's database."""
        return self.path / "db" / "queue.sqlite"

    @property
    def cell_common(self) -> Path:
        """``$SGE_ROOT/$SGE_CELL/common``: files of the pool's cell for programs of Grid Engine's users."""
        return self.path / "gridengine" / "default" / "common"

    def identity(self, database: str) -> Path:
        """The database used last: not next to it, because it may be removed together with that directory."""
        return self.path / f"{database}.identity"

    def make(self) -> None:
        """Create what does not exist yet. Raises HomeError."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            for directory in (self.log, self.run, self.execute, self.jobs, self.spool, self.database.parent):
                directory.mkdir(mode=0o700, exist_ok=True)
            if not self.config_file.exists():
                with contextlib.suppress(FileExistsError):
                    write_first(self.config_file, _FIRST_CONFIG)
            probe = self.run / f".probe.{os.getpid()}"
            probe.write_text("")
            probe.unlink()
        except OSError as error:
            why = "it is not a directory" if isinstance(error, FileExistsError) else error.strerror
            raise HomeError(
                f"{error.filename or self.path}: {why}; use another directory with --home or ROOST_HOME"
            ) from None

    def sweep(self) -> None:
        """Remove incomplete files that killed writers have left."""
        for directory in (
            self.path,
            self.run,
            self.run / "slots",
            self.run / "nats",
            self.jobs,
            self.spool,
            self.users,
        ):
            sweep(directory)

    def note_problem(self, role: str, text: str) -> None:
        """Save what prevents a daemon from working, for `roost status --daemons`; "" for nothing."""
        path = self.run / f"{role}.problem"
        with contextlib.suppress(OSError):
            if text:
                write_whole(path, text)
            else:
                path.unlink(missing_ok=True)

    def stopped(self, role: str) -> Path:
        """The file that exists while a daemon is down because it was ordered to stop."""
        return self.run / f"{role}.stopped"

    def problem(self, role: str) -> str:
        """What prevents a daemon from working; "" for nothing."""
        try:
            return (self.run / f"{role}.problem").read_text()
        except OSError:
            return ""

    def full(self) -> str:
        """That its disk has no space for an ordinary user, if so; "" otherwise."""
        try:
            disk = os.statvfs(self.path)
        except OSError:
            return ""
        # Some file systems have no size: neither blocks nor free ones.
        if disk.f_bavail or not disk.f_blocks:
            return ""
        return f"the disk of {self.path} is full; nothing can be saved until space is freed"

    def note_shortcoming(self, role: str, text: str, about: str) -> None:
        """Save what a daemon works without, for `roost up` and `roost status --daemons`; "" for nothing.

        `about`: the subject, one word; the last call for each subject counts.
        """
        path = self.run / f"{role}.{about}.shortcoming"
        with contextlib.suppress(OSError):
            if text:
                write_whole(path, text)
            else:
                path.unlink(missing_ok=True)

    def shortcoming(self, role: str) -> str:
        """What a daemon works without; "" for nothing."""
        texts = []
        for path in sorted(self.run.glob(f"{role}.*shortcoming")):
            with contextlib.suppress(OSError):
                texts.append(path.read_text())
        return "; ".join(texts)

    def forget_shortcomings(self, role: str) -> None:
        """Clear what an earlier daemon worked without."""
        for path in self.run.glob(f"{role}.*shortcoming"):
            with contextlib.suppress(OSError):
                path.unlink()

    def let_others_to(self, directory: Path) -> None:
        """Let other users access their own files in a directory of this one; they cannot list names. Raises OSError."""
        for each in (self.path, directory):
            mode = stat.S_IMODE(each.stat().st_mode)
            if mode & 0o011 != 0o011:
                each.chmod(mode | 0o011)

    # -- what is in it -------------------------------------------------------------------------------

    def config(self, roots: tuple[str, ...] | None, subsystem: str) -> Config:
        """The configuration for a daemon of that name, including its errors."""
        # Commands that query a running pool read no configuration, and must start at once.
        from roost.config import LoadOptions, load
        from roost.runtime.machine import SystemHost, detected_values

        files = roots if roots is not None else (str(self.config_file),)
        detected = detected_values() | {"SUBSYSTEM": subsystem, "ROOST_HOME": str(self.path)}
        return load(SystemHost(), LoadOptions(roots=files, subsystem=subsystem, detected=detected))

    def secret(self) -> bytes:
        """The secret from which claim ids are made; created once."""
        path = self.run / "secret"
        with contextlib.suppress(FileNotFoundError):
            return bytes.fromhex(path.read_text())
        # Several daemons start at the same time: all of them use the first one created.
        with contextlib.suppress(FileExistsError):
            write_first(path, os.urandom(32).hex(), mode=0o600)
        return bytes.fromhex(path.read_text())

    def keep_secret(self, secret: bytes) -> None:
        """Write the secret again if it was lost."""
        with contextlib.suppress(FileExistsError):
            write_first(self.run / "secret", secret.hex(), mode=0o600)

    def contact(self) -> dict[str, Any]:
        """How to reach the running pool, as the user who runs it or as another permitted user. Raises HomeError."""
        path = self.run / "contact.json"
        try:
            try:
                data = json.loads(self._read_again(path))
            except PermissionError:
                path = self._of_user()
                data = json.loads(path.read_text())
        except PermissionError:
            who = account_name()
            remedy = f"add {who} to ROOST_USERS in its configuration, or run your own pool with --home"
            raise HomeError(f"{who} may not use the pool in {self.path}: {remedy}") from None
        except FileNotFoundError:
            pid = self.master()
            if pid:
                raise HomeError(
                    f"{self.run} was removed while the pool was running, and its master, process {pid}, has "
                    "not recreated it; stop the pool with `roost down` and start it again with `roost up`"
                ) from None
            raise HomeError(
                f"no pool is running in {self.path}; start one with `roost up`, or select another with ROOST_HOME"
            ) from None
        except (OSError, ValueError) as error:
            raise HomeError(f"{path}: {error}") from None
        assert isinstance(data, dict)
        return data

    def _read_again(self, path: Path) -> str:
        """The contents of a file of `run`; waits if it was removed under a running pool."""
        until: float | None = None
        while True:
            try:
                return path.read_text()
            except FileNotFoundError:
                if self._own_file().exists():
                    # It is another user's pool.
                    raise PermissionError from None
                now = time.monotonic()
                until = until or now + RESTORED_S
                if now > until or not self.master():
                    raise
                time.sleep(0.1)

    def master(self) -> int:
        """The process that holds the lock of this directory; 0 if there is none, or if that is unknown."""
        try:
            inode = str(self.lock.stat().st_ino)
            lines = Path("/proc/locks").read_text().splitlines()
        except OSError:
            return 0
        for words in map(str.split, lines):
            if len(words) >= 6 and words[1] == "FLOCK" and words[5].rpartition(":")[2] == inode:
                pid = int(words[4])
                if pid > 0 and self._has_open(pid):
                    return pid
        return 0

    def _has_open(self, pid: int) -> bool:
        """Whether a process has the lock's file open: inode numbers are unique only within one file system."""
        try:
            return any(each.samefile(self.lock) for each in Path(f"/proc/{pid}/fd").iterdir() if each.exists())
        except PermissionError:
            return True
        except OSError:
            return False

    def _own_file(self) -> Path:
        return self.users / f"{account_name()}.json"

    def _of_user(self) -> Path:
        """The file that only this user can read. Raises PermissionError if there is none."""
        path = self._own_file()
        if not path.exists():
            raise PermissionError
        return path

    def client(self) -> BusSettings:
        """The bus settings of a command. Raises HomeError."""
        data = self.contact()
        return BusSettings(
            urls=tuple(data["urls"]),
            pool=data["pool"],
            name=data["client"]["name"],
            **proofs_of(data["client"]),
        )
