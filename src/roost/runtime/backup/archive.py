"""The form of a backup: a compressed tar file whose first member says what it is, and whose last one proves it whole.

    backup.json          what it is: `Head`
    queue.sqlite         the jobs and their history, whatever database the pool uses
    audit.sqlite         the audit trail
    home/…               files of the state directory
    elsewhere/…          files of the configuration outside of it, by their whole paths
    digests.json         SHA-256 of each file's content

A file without its last member is truncated. `tar` can unpack a backup, should there be no Roost to do it.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import stat
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

from roost.base.records import dataclass

#: The version of this form. A program reads its own and older ones.
FORMAT: Final = 1
HEAD: Final = "backup.json"
DIGESTS: Final = "digests.json"
QUEUE: Final = "queue.sqlite"
AUDIT: Final = "audit.sqlite"
HOME: Final = "home"
ELSEWHERE: Final = "elsewhere"
#: Most bytes of a head.
_HEAD_BYTES_MAX: Final = 1 << 20
_PIECE_BYTES: Final = 1 << 20


class BackupError(Exception):
    """A backup cannot be taken or restored; the text says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What a backup is."""

    #: The program that took it.
    roost: str
    #: Epoch s.
    taken_at: int
    machine: str
    home: str
    #: Schema versions of the databases in it, by their names here.
    schemas: dict[str, int]
    #: Whether the secret keys are in it.
    keys: bool
    #: Files of the state directory that are not in it because they are secret.
    left_out: list[str]
    #: DATABASE_URL without its password where the pool does not use a file; "" otherwise.
    server: str

    def to_data(self) -> dict[str, Any]:
        """As JSON."""
        return {"format": FORMAT} | {name: getattr(self, name) for name in self.__dataclass_fields__}


def read_head(data: bytes) -> Head:
    """The head of a backup. Raises BackupError."""
    try:
        found = json.loads(data)
        version = int(found.pop("format"))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise BackupError("it is damaged, or not a backup of Roost") from None
    if version > FORMAT:
        raise BackupError(
            f"it has format {version}, but this program reads formats up to {FORMAT}; "
            f"use the newer Roost that wrote it ({found.get('roost', 'unknown version')})"
        )
    try:
        return Head(**found)
    except TypeError:
        raise BackupError("it is damaged: its first member cannot be read") from None


class Writer:
    """A backup that is being written."""

    def __init__(self, file: IO[bytes]) -> None:
        self._tar = tarfile.open(fileobj=file, mode="w:gz", compresslevel=1, format=tarfile.PAX_FORMAT)  # noqa: SIM115
        self._digests: dict[str, str] = {}

    def text(self, name: str, text: str) -> None:
        """Add a file that is made here."""
        data = text.encode()
        member = tarfile.TarInfo(name)
        member.size, member.mode = len(data), 0o600
        self._digests[name] = hashlib.sha256(data).hexdigest()
        self._tar.addfile(member, io.BytesIO(data))

    def add(self, path: Path, name: str) -> None:
        """Add a file, link or directory with its owner and mode; sockets and pipes are skipped. Raises OSError."""
        found = path.lstat()
        if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode) or stat.S_ISLNK(found.st_mode)):
            return
        member = self._tar.gettarinfo(path, name)
        if not stat.S_ISREG(found.st_mode):
            self._tar.addfile(member)
            return
        # Files of one content that are linked are whole files here each.
        member.type, member.linkname, member.size = tarfile.REGTYPE, "", found.st_size
        with path.open("rb") as file:
            source = _Digesting(file)
            self._tar.addfile(member, source)  # type: ignore[arg-type]
        self._digests[name] = source.digest.hexdigest()

    def finish(self) -> None:
        """Write what proves it whole."""
        self.text(DIGESTS, json.dumps(self._digests))
        self._tar.close()


class _Digesting:
    """A file whose content is digested while it is read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        self.digest.update(data)
        return data


class Reader:
    """A backup that is there. Its methods raise BackupError where it is damaged."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def head(self) -> Head:
        """What it is. Raises OSError."""
        with self._opened() as tar:
            member = tar.next()
            if member is None or member.name != HEAD or member.size > _HEAD_BYTES_MAX:
                raise BackupError("it is damaged, or not a backup of Roost")
            return read_head(_content(tar, member).read())

    def check(self) -> None:
        """See that it is whole, by reading all of it. Raises OSError."""
        found: dict[str, str] = {}
        whole = False
        with self._opened() as tar:
            for member in tar:
                if member.name == DIGESTS:
                    if json.loads(_content(tar, member).read()) != found:
                        raise BackupError("it is damaged: the content of a file is not what was written")
                    whole = True
                    continue
                _refuse_outside(member)
                if member.isreg():
                    found[member.name] = _digest(_content(tar, member))
        if not whole:
            raise BackupError("it is truncated: its end is missing; copy it again")

    def extract(self, into: Path) -> None:
        """Write all files below a directory, with their owners where this process may. Raises OSError."""
        whole = into.resolve()
        with self._opened() as tar:
            # Owners and modes are kept; Python before 3.11.4 has no parameter for it, and does so.
            tar.extraction_filter = lambda member, _: member
            for member in tar:
                _refuse_outside(member)
                # No link may lead what follows it out of `into`.
                if not (into / member.name).parent.resolve().is_relative_to(whole):
                    raise BackupError(f"it is damaged: {member.name} leads out of the state directory")
                tar.extract(member, into)

    @contextmanager
    def _opened(self) -> Iterator[tarfile.TarFile]:
        try:
            with gzip.open(self.path) as file:
                file.peek(1)
                with tarfile.open(fileobj=file, mode="r|") as tar:
                    yield tar
                # What is left is padding; gzip's own checksum is behind it.
                while file.read(_PIECE_BYTES):
                    pass
        except gzip.BadGzipFile as error:
            if "Not a gzipped file" in str(error):
                raise BackupError("it is not a backup of Roost") from None
            raise BackupError("it is damaged; copy it again") from None
        except (tarfile.TarError, zlib.error, EOFError, ValueError):
            raise BackupError("it is damaged or truncated; copy it again") from None


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    file = tar.extractfile(member)
    if file is None:
        raise BackupError(f"it is damaged: {member.name} is not a file")
    return file


def _digest(file: IO[bytes]) -> str:
    digest = hashlib.sha256()
    while piece := file.read(_PIECE_BYTES):
        digest.update(piece)
    return digest.hexdigest()


def _refuse_outside(member: tarfile.TarInfo) -> None:
    parts = Path(member.name).parts
    if Path(member.name).is_absolute() or ".." in parts or not (member.isreg() or member.isdir() or member.issym()):
        raise BackupError(f"it is damaged: {member.name} cannot be a member of a backup")
