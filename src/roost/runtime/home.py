"""The state directory of a pool on this machine, and how a pool is reached from it.

One directory holds everything: configuration, database, logs, credentials, scratch directories. So several pools live
side by side, and a pool is moved or thrown away as a directory. It is the one that is named, else ROOST_HOME, else
``~/.local/state/roost``.
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

from roost.runtime.bus.settings import BusSettings
from roost.runtime.files.whole_files import sweep, write_first, write_whole
from roost.runtime.identity import account_name

if TYPE_CHECKING:
    from roost.config import Config

#: How long a command waits until `run`, removed under a running pool, is there again, s.
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
        """The directory that is meant."""
        named = given or environment.get("ROOST_HOME")
        if named:
            return cls(Path(named).expanduser().absolute())
        base = environment.get("XDG_STATE_HOME") or "~/.local/state"
        return cls(Path(base).expanduser().absolute() / "roost")

    # -- what is where -------------------------------------------------------------------------------

    @property
    def config_file(self) -> Path:
        """The configuration where no other is named."""
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
        """Held by the master of the running pool. Not in `run`, which may be removed under it."""
        return self.path / "master.lock"

    @property
    def users(self) -> Path:
        """How each user of the machine reaches a pool of root's."""
        return self.path / "users"

    @property
    def web(self) -> Path:
        """What the web server keeps, and its socket."""
        return self.path / "web"

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
        """``$SGE_ROOT/$SGE_CELL/common``: files of the pool's cell that programs of Grid Engine's users read."""
        return self.path / "gridengine" / "default" / "common"

    def identity(self, database: str) -> Path:
        """Which database was used last: not beside it, for it may be removed with all that is there."""
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
                f"{error.filename or self.path}: {why}; name another directory with --home or ROOST_HOME"
            ) from None

    def sweep(self) -> None:
        """Remove files that writers who were killed have left half written."""
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
        """Leave word for `roost status --daemons` of what keeps a daemon from its work; "" for nothing."""
        path = self.run / f"{role}.problem"
        with contextlib.suppress(OSError):
            if text:
                write_whole(path, text)
            else:
                path.unlink(missing_ok=True)

    def problem(self, role: str) -> str:
        """What keeps a daemon from its work; "" for nothing."""
        try:
            return (self.run / f"{role}.problem").read_text()
        except OSError:
            return ""

    def full(self) -> str:
        """That its disk has no room for an ordinary user, if that is so; "" otherwise."""
        try:
            disk = os.statvfs(self.path)
        except OSError:
            return ""
        # File systems without a size of their own have neither blocks nor free ones.
        if disk.f_bavail or not disk.f_blocks:
            return ""
        return f"the disk of {self.path} is full: nothing can be kept until there is room"

    def note_shortcoming(self, role: str, text: str, about: str) -> None:
        """Leave word for `roost up` and `roost status --daemons` of what a daemon works without; "" for nothing.

        `about`: what it is about, a word; of each matter the last word counts.
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
        """What an earlier daemon worked without counts no more."""
        for path in self.run.glob(f"{role}.*shortcoming"):
            with contextlib.suppress(OSError):
                path.unlink()

    def let_others_to(self, directory: Path) -> None:
        """Let other users get at what is theirs in a directory of this one; they see no names. Raises OSError."""
        for each in (self.path, directory):
            mode = stat.S_IMODE(each.stat().st_mode)
            if mode & 0o011 != 0o011:
                each.chmod(mode | 0o011)

    # -- what is in it -------------------------------------------------------------------------------

    def config(self, roots: tuple[str, ...] | None, subsystem: str) -> Config:
        """The configuration, as a daemon of that name reads it; its errors are in it."""
        # Commands that ask a running pool read no configuration, and must start at once.
        from roost.config import LoadOptions, load
        from roost.runtime.machine import SystemHost, detected_values

        files = roots if roots is not None else (str(self.config_file),)
        detected = detected_values() | {"SUBSYSTEM": subsystem, "ROOST_HOME": str(self.path)}
        return load(SystemHost(), LoadOptions(roots=files, subsystem=subsystem, detected=detected))

    def secret(self) -> bytes:
        """What claim ids are made from; made once."""
        path = self.run / "secret"
        with contextlib.suppress(FileNotFoundError):
            return bytes.fromhex(path.read_text())
        # Several daemons start at the same time: all of them have the one that was there first.
        with contextlib.suppress(FileExistsError):
            write_first(path, os.urandom(32).hex(), mode=0o600)
        return bytes.fromhex(path.read_text())

    def keep_secret(self, secret: bytes) -> None:
        """Write it down where it was lost."""
        with contextlib.suppress(FileExistsError):
            write_first(self.run / "secret", secret.hex(), mode=0o600)

    def contact(self) -> dict[str, Any]:
        """How the running pool is reached, by who runs it or by another user whom it knows. Raises HomeError."""
        path = self.run / "contact.json"
        try:
            try:
                data = json.loads(self._read_again(path))
            except PermissionError:
                path = self._of_user()
                data = json.loads(path.read_text())
        except PermissionError:
            who = account_name()
            remedy = f"have ROOST_USERS in its configuration name {who}, or run a pool of your own with --home"
            raise HomeError(f"the pool in {self.path} is not open to {who}: {remedy}") from None
        except FileNotFoundError:
            pid = self.master()
            if pid:
                raise HomeError(
                    f"{self.run} was removed while the pool runs, and its master, process {pid}, does not make it "
                    "again: `roost down` ends the pool, and `roost up` starts it again"
                ) from None
            raise HomeError(
                f"no pool runs in {self.path}: start one with `roost up`, or name another by ROOST_HOME"
            ) from None
        except (OSError, ValueError) as error:
            raise HomeError(f"{path}: {error}") from None
        assert isinstance(data, dict)
        return data

    def _read_again(self, path: Path) -> str:
        """What is in a file of `run`; one that was removed under a running pool is waited for."""
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
        """The process that holds the lock of this directory; 0 if there is none, or the system does not tell."""
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
        """Whether a process has the lock's file open: numbers of files are unique only on one file system."""
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
        """The bus as a command uses it. Raises HomeError."""
        data = self.contact()
        return BusSettings(
            urls=tuple(data["urls"]),
            pool=data["pool"],
            name=data["client"]["name"],
            user=data["client"]["user"],
            password=data["client"]["password"],
        )
