"""The programs of this machine to which users are connected: jobs (`qrsh COMMAND`, `qlogin`), and shells alongside
jobs.

Such a job names a *session* in its ad, chosen by its user; only the user who owns the job may use it. Its streams are
stored in a directory of the machine (`processes.live_streams`) until the user has received all of them, so neither the
end of this daemon nor that of the job loses any output. The user's command polls; a session without a request for
`LEASE_S` is abandoned: its job is killed, and its output is removed.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from roost.classad import ClassAd
from roost.classad.values import fold
from roost.model.cell_requests import NO_INPUT, SESSION, TERMINAL
from roost.runtime.files.whole_files import write_whole
from roost.runtime.processes.live_streams import LiveStreams
from roost.runtime.processes.spawn_order import ProcessEnd, RelayOrder

_log = logging.getLogger("roost.node")

#: How long a user's command may be silent, s.
LEASE_S: Final = 60.0
#: Interval of checks for silent ones, s.
LOOK_S: Final = 5.0
_ABOUT: Final = "session.json"
_END: Final = "end.json"
_NAME: Final = re.compile(r"[0-9a-f]{32}")
_SIZE: Final = re.compile(r"(\d{1,5})x(\d{1,5})")


class About(msgspec.Struct, kw_only=True):
    """The stored data of a session."""

    owner: str
    job: str
    #: The run to which the shell belongs (`shells`); "" for a separate job.
    run: str = ""


class End(msgspec.Struct, kw_only=True):
    """How its job ended; both None if unknown."""

    exit_code: int | None = None
    signal: int | None = None


class Session:
    """A job to which a user is connected."""

    def __init__(self, directory: Path, about: About) -> None:
        self.directory = directory
        self.about = about
        self.streams = LiveStreams(directory)
        self.ended = asyncio.Event()
        self.end = End()
        #: Kills the job; None while this daemon does not have it.
        self.kill: Callable[[], None] | None = None
        #: Time of the last request for it, on the event loop's clock.
        self.seen = asyncio.get_running_loop().time()

    def over(self, end: End) -> None:
        """Note that its job has ended."""
        self.end = end
        try:
            write_whole(self.directory / _END, msgspec.json.encode(end))
        except OSError as problem:
            _log.warning("cannot record the end of job %s: %s", self.about.job, problem)
        self.ended.set()
        self.streams.stir()


def session_of(job_ad: ClassAd) -> str:
    """The session that a job names; "" if no user is connected to it."""
    name = job_ad.cell(fold(SESSION))
    return name if isinstance(name, str) and _NAME.fullmatch(name) else ""


class Sessions:
    """The sessions of one machine."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._sessions: dict[str, Session] = {}

    # -- jobs ----------------------------------------------------------------------------------------

    def relay(self, job_ad: ClassAd, kill: Callable[[], None]) -> RelayOrder | None:
        """The relay settings of the streams of a job that is about to start; None if they are files. Raises OSError."""
        name = session_of(job_ad)
        if not name:
            return None
        about = About(owner=str(job_ad.cell("owner")), job=f"{job_ad.eval('ClusterId')}.{job_ad.eval('ProcId')}")
        found = Session(self._directory / name, about)
        found.streams.make()
        write_whole(found.directory / _ABOUT, msgspec.json.encode(about))
        found.kill = kill
        self._sessions[name] = found
        return RelayOrder(
            directory=found.directory, terminal=_size(job_ad), reads=job_ad.cell(fold(NO_INPUT)) is not True
        )

    def shell(self, name: str, about: About) -> Session | None:
        """Make a session for a shell that is about to start; None if the name is taken. Raises OSError."""
        if name in self._sessions:
            return None
        found = Session(self._directory / name, about)
        found.streams.make()
        write_whole(found.directory / _ABOUT, msgspec.json.encode(about))
        self._sessions[name] = found
        return found

    def of_shells(self) -> list[tuple[str, Session]]:
        """The sessions of shells, by name."""
        return [(name, found) for name, found in self._sessions.items() if found.about.run]

    def goes_on(self, job_ad: ClassAd, kill: Callable[[], None]) -> None:
        """Note that a job of an earlier daemon continues."""
        found = self._sessions.get(session_of(job_ad))
        if found is not None:
            found.kill = kill

    def ended(self, job_ad: ClassAd, end: ProcessEnd) -> None:
        """Note that a job has ended."""
        found = self._sessions.get(session_of(job_ad))
        if found is not None and not found.ended.is_set():
            found.kill = None
            found.over(End(exit_code=end.exit_code, signal=end.signal))

    # -- users ---------------------------------------------------------------------------------------

    def asked(self, name: str, user: str) -> Session | None:
        """Return a session that a user requests; None if the user has none with that name."""
        found = self._sessions.get(name)
        if found is None or found.about.owner != user:
            return None
        found.seen = asyncio.get_running_loop().time()
        return found

    def leave(self, name: str) -> None:
        """End a session whose user is gone, or has received everything: nothing is kept, and its job is killed if it
        runs.
        """
        found = self._sessions.pop(name, None)
        if found is not None:
            found.streams.remove()
            if found.kill is not None:
                found.kill()

    # -- life ----------------------------------------------------------------------------------------

    def load(self) -> None:
        """Find the sessions of an earlier daemon."""
        for path in sorted(self._directory.glob("*")):
            try:
                found = Session(path, msgspec.json.decode((path / _ABOUT).read_bytes(), type=About))
            except (OSError, msgspec.DecodeError) as error:
                _log.warning("%s cannot be read: %s; it is removed", path / _ABOUT, error)
                LiveStreams(path).remove()
                continue
            self._sessions[path.name] = found
            try:
                found.end = msgspec.json.decode((path / _END).read_bytes(), type=End)
                found.ended.set()
            except (OSError, msgspec.DecodeError):
                # Its job runs, or its end is reported when the earlier daemon's runs have been taken over.
                pass

    def taken_over(self) -> None:
        """Note that the jobs of an earlier daemon have been found: any other has ended without being observed."""
        for found in self._sessions.values():
            if found.kill is None and not found.ended.is_set():
                found.over(End())

    async def watch(self) -> None:
        """Abandon sessions whose users are silent."""
        while True:
            await asyncio.sleep(LOOK_S)
            now = asyncio.get_running_loop().time()
            for name, found in list(self._sessions.items()):
                if now - found.seen > LEASE_S:
                    _log.warning("job %s: no message from its user's command for %g s", found.about.job, LEASE_S)
                    self.leave(name)


def _size(job_ad: ClassAd) -> tuple[int, int] | None:
    """Rows and columns of the terminal that a job requests; None for none."""
    found = _SIZE.fullmatch(str(job_ad.cell(fold(TERMINAL))))
    return (int(found[1]), int(found[2])) if found else None
