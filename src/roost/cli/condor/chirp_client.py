"""The job's end of chirp: `HTChirp` makes requests to the queue of the job that runs it, like HTCondor's module.

It needs only the file that ``_CONDOR_CHIRP_CONFIG`` names, which a job with `want_io_proxy = true` has.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar, Final, Self

#: The default location of that file.
_CONFIG: Final = ".chirp.config"
_ALL_BITS: Final = 0o777
_STAT: Final = (
    "device", "inode", "mode", "nlink", "uid", "gid", "rdevice", "size", "blksize", "blocks", "atime", "mtime", "ctime",
)  # fmt: skip
_STATFS: Final = ("f_type", "f_bsize", "f_blocks", "f_bfree", "f_bavail", "f_files", "f_free")
_ACCESS: Final = {"f": 0, "r": 4, "w": 2, "x": 1}


class ChirpError(Exception):
    """The queue refused a request."""


def _kinds() -> dict[int, type[ChirpError]]:
    rows = (
        (-1, "NotAuthenticated", "The client has not authenticated its identity."),
        (-2, "NotAuthorized", "The client is not authorized to perform that action."),
        (-3, "DoesntExist", "There is no object by that name."),
        (-4, "AlreadyExists", "There is already an object by that name."),
        (-5, "TooBig", "That request is too big to execute."),
        (-6, "NoSpace", "There is not enough space to store that."),
        (-7, "NoMemory", "The server is out of memory."),
        (-8, "InvalidRequest", "The form of the request is invalid."),
        (-9, "TooManyOpen", "There are too many resources in use."),
        (-10, "Busy", "That object is in use by someone else."),
        (-11, "TryAgain", "A temporary condition prevented the request."),
        (-12, "BadFD", "The file descriptor requested is invalid."),
        (-13, "IsDir", "A file-only operation was attempted on a directory."),
        (-14, "NotDir", "A directory operation was attempted on a file."),
        (-15, "NotEmpty", "A directory cannot be removed because it is not empty."),
        (-16, "CrossDeviceLink", "A hard link was attempted across devices."),
        (-17, "Offline", "The requested resource is temporarily not available."),
    )
    return {number: type(name, (ChirpError,), {"__doc__": text}) for number, name, text in rows}


_KINDS: Final = _kinds()
UnknownError = type("UnknownError", (ChirpError,), {"__doc__": "An unknown error occurred."})


class HTChirp:
    """A connection to the queue of the job that runs this, as a context or by `connect` and `disconnect`."""

    ChirpError: ClassVar = ChirpError
    UnknownError: ClassVar = UnknownError

    def __init__(
        self,
        host: str | None = None,
        port: int | None = None,
        auth: Iterable[str] = ("cookie",),
        cookie: str | None = None,
        timeout: float = 10,
    ) -> None:
        if host is None or port is None:
            config = Path(os.environ.get("_CONDOR_CHIRP_CONFIG", _CONFIG))
            try:
                host, number, cookie = config.read_text().split()
            except (OSError, ValueError) as error:
                raise ValueError(
                    f"{config}: {error}; a job has it that says want_io_proxy = true, or name host and port"
                ) from None
            port = int(number)
        self.host, self.port, self.cookie, self.timeout = host, int(port), cookie, timeout
        self.authentication = "cookie"
        self._socket: socket.socket | None = None
        self._file: Any = None
        with self:
            pass

    # -- the line ------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        self.connect()
        return self

    def __exit__(self, *about: object) -> None:
        self.disconnect()

    def is_connected(self) -> bool:
        """Whether there is a connection."""
        return self._socket is not None

    def connect(self, auth_method: str | None = None) -> None:
        """Connect again. Raises NotAuthenticated, OSError."""
        self.disconnect()
        self._socket = socket.create_connection((self.host, self.port), self.timeout)
        self._file = self._socket.makefile("rwb")
        self._number("cookie", self.cookie or "")

    def disconnect(self) -> None:
        """Disconnect."""
        for each in (self._file, self._socket):
            if each is not None:
                each.close()
        self._socket = self._file = None

    def _send(self, *words: object) -> None:
        if self._file is None:
            raise RuntimeError("The Chirp client is not connected to a Chirp server.")
        self._file.write(b" ".join(_quoted(each) for each in words) + b"\n")
        self._file.flush()

    def _line(self) -> str:
        line = self._file.readline()
        if not line.endswith(b"\n"):
            raise RuntimeError("Connection to the Chirp server is broken.")
        return os.fsdecode(line[:-1])

    def _answer(self) -> int:
        number = int(self._line())
        if number < 0:
            kind = _KINDS.get(number, UnknownError)
            raise kind(kind.__doc__)
        return number

    def _number(self, *words: object) -> int:
        self._send(*words)
        return self._answer()

    def _bytes(self, *words: object) -> bytes:
        size = self._number(*words)
        data: bytes = self._file.read(size)
        if len(data) < size:
            raise RuntimeError("Connection to the Chirp server is broken.")
        return data

    def _row(self, names: tuple[str, ...], *words: object) -> dict[str, int]:
        self._number(*words)
        return dict(zip(names, map(int, self._line().split()), strict=True))

    # -- the job -------------------------------------------------------------------------------------

    def get_job_attr(self, job_attribute: str) -> str:
        """The text of an attribute of the job's ad in its queue."""
        return os.fsdecode(self._bytes("get_job_attr", job_attribute))

    def set_job_attr(self, job_attribute: str, attribute_value: str) -> None:
        """Set an attribute of the job's ad to an expression."""
        self._number("set_job_attr", job_attribute, attribute_value)

    def get_job_attr_delayed(self, job_attribute: str) -> str:
        """The same as `get_job_attr`."""
        return os.fsdecode(self._bytes("get_job_attr_delayed", job_attribute))

    def set_job_attr_delayed(self, job_attribute: str, attribute_value: str) -> None:
        """The same as `set_job_attr`, also without delay."""
        self._number("set_job_attr_delayed", job_attribute, attribute_value)

    def ulog(self, text: str) -> None:
        """Write a line into the job's event log."""
        self._number("ulog", text)

    def whoami(self) -> str:
        """The name by which the server knows this job."""
        return self._bytes("whoami", 5120).decode()

    def whoareyou(self, remote_host: str) -> str:
        """The name of the server."""
        return self._bytes("whoareyou", remote_host, 5120).decode()

    # -- whole files ---------------------------------------------------------------------------------

    def fetch(self, remote_file: str, local_file: str) -> int:
        """Fetch a file from where the job was submitted; return its size, bytes."""
        return self.getfile(remote_file, local_file)

    def getfile(self, remote_file: str, local_file: str) -> int:
        """The same as `fetch`."""
        data = self._bytes("getfile", remote_file)
        return Path(local_file).write_bytes(data)

    def put(
        self, local_file: str, remote_file: str, flags: Iterable[str] | None = "wct", mode: int | None = None
    ) -> int:
        """Send a file to where the job was submitted; return its size, bytes."""
        if flags is None or set(flags) == set("wct"):
            return self.putfile(local_file, remote_file, mode)
        return self.write(Path(local_file).read_bytes(), remote_file, flags, mode)

    def putfile(self, local_file: str, remote_file: str, mode: int | None = None) -> int:
        """The same as `put`, replacing an existing file."""
        data = Path(local_file).read_bytes()
        self._number("putfile", remote_file, _ALL_BITS if mode is None else mode, len(data))
        self._file.write(data)
        self._file.flush()
        return self._answer()

    def read(
        self,
        remote_path: str,
        length: int,
        offset: int | None = None,
        stride_length: int | None = None,
        stride_skip: int | None = None,
    ) -> bytes:
        """Part of a file: `stride_length` bytes of every `stride_skip`, if these are given."""
        number = self._open(remote_path, "r", None)
        try:
            more = _part(offset, stride_length, stride_skip)
            return self._bytes(("read", "pread", "", "sread")[len(more)], number, length, *more)
        finally:
            self._number("close", number)

    def write(
        self,
        data: bytes | str,
        remote_path: str,
        flags: Iterable[str] | None = "w",
        mode: int | None = None,
        length: int | None = None,
        offset: int | None = None,
        stride_length: int | None = None,
        stride_skip: int | None = None,
    ) -> int:
        """Write to a file; return the number of bytes. Flags are letters of ``rwatcx``."""
        letters = "".join(sorted(set("w" if flags is None else flags)))
        if "w" not in letters:
            raise ValueError(f"'w' is not included in flags '{letters}'")
        sent = (data.encode() if isinstance(data, str) else data)[:length]
        number = self._open(remote_path, letters, mode)
        more = _part(offset, stride_length, stride_skip)
        self._send(("write", "pwrite", "", "swrite")[len(more)], number, len(sent), *more)
        self._file.write(sent)
        self._file.flush()
        written = self._answer()
        self._number("fsync", number)
        self._number("close", number)
        return written

    def _open(self, path: str, flags: str, mode: int | None) -> int:
        if not set(flags) <= set("rwatcx"):
            raise ValueError("Flags must be one or more of 'rwatcx'")
        number = self._number("open", path, flags, _ALL_BITS if mode is None else mode)
        self._line()
        return number

    # -- names ---------------------------------------------------------------------------------------

    def remove(self, remote_file: str) -> None:
        """Remove a file."""
        self.unlink(remote_file)

    def unlink(self, remote_file: str) -> None:
        """Remove a file."""
        self._number("unlink", remote_file)

    def rename(self, old_path: str, new_path: str) -> None:
        """Rename a file."""
        self._number("rename", old_path, new_path)

    def mkdir(self, remote_path: str, mode: int | None = None) -> None:
        """Make a directory."""
        self._number("mkdir", remote_path, _ALL_BITS if mode is None else mode)

    def rmdir(self, remote_path: str, recursive: bool = False) -> None:
        """Remove a directory; with `recursive`, including its contents."""
        self._number("rmall" if recursive else "rmdir", remote_path)

    def rmall(self, remote_path: str) -> None:
        """Remove a directory with its contents."""
        self.rmdir(remote_path, recursive=True)

    def link(self, old_path: str, new_path: str, symbolic: bool = False) -> None:
        """Make a link to a file."""
        self._number("symlink" if symbolic else "link", old_path, new_path)

    def symlink(self, old_path: str, new_path: str) -> None:
        """Make a symbolic link."""
        self.link(old_path, new_path, symbolic=True)

    def readlink(self, remote_path: str) -> bytes:
        """The target of a symbolic link."""
        return self._bytes("readlink", remote_path, 5120)

    def getdir(self, remote_path: str, stat_dict: bool = False) -> list[str] | dict[str, dict[str, int]]:
        """The names in a directory; with `stat_dict` each with its stat data."""
        if stat_dict:
            return self.getlongdir(remote_path)
        return os.fsdecode(self._bytes("getdir", remote_path)).rstrip().split("\n")

    def getlongdir(self, remote_path: str) -> dict[str, dict[str, int]]:
        """The names in a directory, each with its stat data."""
        lines = os.fsdecode(self._bytes("getlongdir", remote_path)).splitlines()
        rows = (dict(zip(_STAT, map(int, each.split()), strict=True)) for each in lines[1::2])
        return dict(zip(lines[::2], rows, strict=True))

    def stat(self, remote_path: str) -> dict[str, int]:
        """The stat data of a file, following links."""
        return self._row(_STAT, "stat", remote_path)

    def lstat(self, remote_path: str) -> dict[str, int]:
        """The stat data of a file, or of a link."""
        return self._row(_STAT, "lstat", remote_path)

    def statfs(self, remote_path: str) -> dict[str, int]:
        """The statistics of a file's file system."""
        return self._row(_STATFS, "statfs", remote_path)

    def access(self, remote_path: str, mode_str: str) -> None:
        """Raise an error unless the access is permitted: letters of ``frwx``."""
        if not set(mode_str) <= set(_ACCESS):
            raise ValueError(f"mode {mode_str!r} is not of the letters fxwr")
        self._number("access", remote_path, sum({_ACCESS[letter] for letter in mode_str}))

    def chmod(self, remote_path: str, mode: int) -> None:
        """Change the permissions of a file."""
        self._number("chmod", remote_path, int(mode))

    def chown(self, remote_path: str, uid: int, gid: int) -> None:
        """Change the owner of a file."""
        self._number("chown", remote_path, int(uid), int(gid))

    def lchown(self, remote_path: str, uid: int, gid: int) -> None:
        """Change the owner of a link."""
        self._number("lchown", remote_path, int(uid), int(gid))

    def truncate(self, remote_path: str, length: int) -> None:
        """Truncate a file, or extend it."""
        self._number("truncate", remote_path, int(length))

    def utime(self, remote_path: str, actime: int, mtime: int) -> None:
        """Set the access and modification times of a file, epoch s."""
        self._number("utime", remote_path, int(actime), int(mtime))


for _kind in _KINDS.values():
    setattr(HTChirp, _kind.__name__, _kind)


def _quoted(word: object) -> bytes:
    text = "".join(f"\\{letter}" if letter in "\\ \n\t\r" else letter for letter in str(word))
    return os.fsencode(text)


def _part(offset: int | None, length: int | None, skip: int | None) -> tuple[int, ...]:
    if (length is None) != (skip is None):
        raise ValueError("Both stride_length and stride_skip must be specified")
    if length is not None and skip is not None:
        return int(offset or 0), int(length), int(skip)
    return () if offset is None else (int(offset),)
