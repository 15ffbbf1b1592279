"""Reading the files of a cell from a directory, a tar archive, or a single file with the output of `qconf -s…`."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from roost.gridengine.cell import NOT_OBJECTS, file_of

#: maximum size of one file of a cell, and of a program that a command names, bytes
FILE_BYTES_MAX: Final = 16 * 2**20
PROGRAM_BYTES_MAX: Final = 2**20
FILES_MAX: Final = 100_000


class Unreadable(Exception):
    """A cell cannot be read from the given source."""


class CellFiles(NamedTuple):
    """The files of a cell by name, and the prefix of the names in messages."""

    files: Mapping[str, str]
    under: str
    #: whether it is the whole cell, rather than one object
    whole: bool = True


def read_files(path: Path) -> CellFiles:
    """Read the files of a directory, a tar archive or a single file; raises `Unreadable` or `Refused`."""
    try:
        if path.is_dir():
            return CellFiles(_directory(path), f"{path}/")
        data = path.read_bytes()
    except OSError as error:
        raise Unreadable(f"cannot read {path}: {error.strerror}") from None
    return _of_bytes(data, str(path))


def read_standard_input(stream: BinaryIO) -> CellFiles:
    """The same from standard input: a tar archive, or one object's text."""
    return _of_bytes(stream.read(), "-")


def _of_bytes(data: bytes, name: str) -> CellFiles:
    if tarfile.is_tarfile(io.BytesIO(data)):
        return CellFiles(_archive(data, name), "")
    text = _text(data, name)
    return CellFiles({file_of(text, name): text}, "", whole=False)


def _text(data: bytes, name: str) -> str:
    if len(data) > FILE_BYTES_MAX:
        raise Unreadable(f"{name} has more than {FILE_BYTES_MAX} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Unreadable(f"{name} is not UTF-8 text") from None


def _directory(path: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    # Names that begin with a dot belong to version control and editors.
    for file in sorted(each for each in path.rglob("*") if each.is_file()):
        name = file.relative_to(path).as_posix()
        if not any(part.startswith(".") for part in Path(name).parts):
            found[name] = _text(file.read_bytes(), str(file))
        if len(found) > FILES_MAX:
            raise Unreadable(f"{path} has more than {FILES_MAX} files")
    _must_hold_objects(found, str(path))
    return found


def _archive(data: bytes, name: str) -> dict[str, str]:
    """The files of an archive, below their common directory, as made by `tar c DIR`."""
    found: dict[str, str] = {}
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            stream = archive.extractfile(member) if member.isfile() else None
            if stream is not None:
                found[member.name.removeprefix("./")] = _text(stream.read(FILE_BYTES_MAX + 1), member.name)
    top = next((file.removesuffix("schedconf") for file in found if file.rpartition("/")[2] == "schedconf"), "")
    found = {file.removeprefix(top): text for file, text in found.items() if file.startswith(top)}
    _must_hold_objects(found, name)
    return found


def _must_hold_objects(found: Mapping[str, str], name: str) -> None:
    if not set(found) - set(NOT_OBJECTS):
        raise Unreadable(f"{name} contains no objects of a cell; name the directory that save_sge_config.sh wrote")


def program(path: str) -> str | None:
    """The text of a program that a cell names, if it exists on this machine."""
    try:
        file = Path(path)
        if not file.is_file() or file.stat().st_size > PROGRAM_BYTES_MAX:
            return None
        return file.read_text(errors="replace")
    except OSError:
        return None
