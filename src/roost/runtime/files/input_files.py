"""The files that a job needs where it runs, and their locations: its input as a manifest.

The executable, standard input and transfer_input_files, relative to the job's initial directory. Everything is placed
under its base name: ``d`` stands for the directory with its contents, ``d/`` for its contents only. With
preserve_relative_paths a relative name keeps its directories. Links are followed. Files that the queue kept from an
earlier run come last and replace files with the same name.

This module does not fetch URLs. A job that requests one is held with a message that says so.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from roost.classad import ClassAd
from roost.model.starter import StarterHold
from roost.runtime.files.transfer import ITEMS_MAX, FileItem, ItemKind, Manifest, TransferProblem
from roost.runtime.files.worker.hands import OWN, Hands

#: Names of standard output and error in the scratch directory of a job with file transfer.
STDOUT: Final = "_condor_stdout"
STDERR: Final = "_condor_stderr"

_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_BYTES_PER_MB: Final = 1024 * 1024
_NULL: Final = "/dev/null"
#: Maximum depth of directories; a cycle of links ends there.
_DEPTH_MAX: Final = 64


class _Refused(Exception):
    """Something cannot be transferred."""

    def __init__(self, text: str, number: int = 0, code: StarterHold = StarterHold.TRANSFER_INPUT_ERROR) -> None:
        super().__init__(text)
        self.problem = TransferProblem(code=code, subcode=number, text=text)


def input_manifest(
    job_ad: ClassAd, *, spool: Path | None = None, limit_mb: int | None = None, hands: Hands = OWN
) -> Manifest | TransferProblem:
    """The input of a job, read from this machine's disk (blocking), as the job's user.

    `spool` has the files that the queue kept for the job, and belongs to the daemon; `limit_mb` is
    MAX_TRANSFER_INPUT_MB.
    """
    kept: set[str] = set()
    found: dict[str, tuple[FileItem, Path]] = {}
    try:
        for name, path, is_program in _wanted(job_ad):
            for item, source in _collected(hands, name, path, 0):
                _add(found, item, source, is_program=is_program)
        if spool is not None and spool.is_dir():
            for item, source in _collected(OWN, "", spool, 0):
                _add(found, item, source)
                kept.add(item.name)
    except _Refused as refused:
        return refused.problem
    except OSError as problem:
        text = f"cannot read {problem.filename}: {problem.strerror}"
        return TransferProblem(code=StarterHold.TRANSFER_INPUT_ERROR, subcode=problem.errno or 0, text=text)
    manifest = Manifest(
        items=tuple(item for item, _ in found.values()),
        sources={name: path for name, (_, path) in found.items()},
        kept=frozenset(kept),
    )
    most = limit_of(job_ad, "MaxTransferInputMB", limit_mb)
    if most is not None and manifest.size_bytes > most * _BYTES_PER_MB:
        text = (
            f"the input is {manifest.size_bytes / _BYTES_PER_MB:.1f} MB; the limit is {most} MB (max_transfer_input_mb)"
        )
        return TransferProblem(code=StarterHold.INPUT_TOO_LARGE, text=text)
    return manifest


def program_name(job_ad: ClassAd) -> str | None:
    """The name of the executable in the scratch directory; None if it is not transferred."""
    command = job_ad.cell("cmd")
    if job_ad.cell("transferexecutable") is False or not isinstance(command, str) or not command:
        return None
    return Path(command).name


def standard_input(job_ad: ClassAd) -> str | None:
    """The name of standard input in the scratch directory; None if it is /dev/null or not transferred."""
    given = job_ad.cell("in")
    if not isinstance(given, str) or given in ("", _NULL) or job_ad.cell("transferin") is False:
        return None
    return Path(given).name


def initial_directory(job_ad: ClassAd) -> Path:
    """The directory to which the user's relative names refer."""
    given = job_ad.cell("iwd")
    return Path(given if isinstance(given, str) and given else "/")


def names_in(job_ad: ClassAd, key: str) -> list[str]:
    """A comma-separated list of file names in a job's ad."""
    given = job_ad.cell(key)
    return [name.strip() for name in given.split(",") if name.strip()] if isinstance(given, str) else []


def limit_of(job_ad: ClassAd, name: str, configured: int | None) -> int | None:
    """A limit in MB: the job's own, otherwise the configured one; None for none, as any value below 0."""
    value = job_ad.eval(name) if name in job_ad else configured
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def keeps_paths(job_ad: ClassAd) -> bool:
    """preserve_relative_paths."""
    return job_ad.cell("preserverelativepaths") is True


def _wanted(job_ad: ClassAd) -> Iterator[tuple[str, Path, bool]]:
    """Name in the scratch directory ("" for the top), local path, and whether it is the program."""
    iwd = initial_directory(job_ad)
    program = program_name(job_ad)
    if program is not None:
        yield program, iwd / str(job_ad.cell("cmd")), True
    source = standard_input(job_ad)
    if source is not None:
        yield source, iwd / str(job_ad.cell("in")), False
    for given in names_in(job_ad, "transferinput"):
        if _URL.match(given):
            raise _Refused(
                f"{given}: this pool does not fetch URLs; download the file in the job, or transfer a local file"
            )
        yield placed(given, keep=keeps_paths(job_ad)), iwd / given, False


def placed(given: str, *, keep: bool) -> str:
    """The name under which a listed file or directory is placed; "" for the contents of a directory."""
    path = os.path.normpath(given)
    if given.endswith("/"):
        inside = keep and not path.startswith(("/", ".."))
        return path if inside and path != "." else ""
    if keep and not path.startswith(("/", "..")):
        return path
    name = os.path.basename(path)  # noqa: PTH119 - of a text, not of a file here
    if name in ("", ".", ".."):
        raise _Refused(f"{given!r} does not end in a name; write the directory's name, or {given}/ for its contents")
    return name


def collected(hands: Hands, name: str, path: Path) -> Iterator[tuple[FileItem, Path]]:
    """An item and, for a directory, its contents, with their paths. Raises ValueError for what cannot be
    transferred.
    """
    try:
        yield from _collected(hands, name, path, 0)
    except _Refused as refused:
        raise ValueError(refused.problem.text) from None


def _collected(hands: Hands, name: str, path: Path, depth: int) -> Iterator[tuple[FileItem, Path]]:
    """The item and, for a directory, its contents."""
    try:
        found = hands.look(str(path))
    except OSError as problem:
        raise _Refused(f"cannot read {path}: {problem.strerror}", problem.errno or 0) from problem
    mode = stat.S_IMODE(found.mode) & 0o777
    if found.is_file:
        yield FileItem(name=name, size=found.size, mode=mode, changed_ns=found.changed_ns), path
        return
    if not found.is_directory:
        raise _Refused(f"{path} is neither a file nor a directory")
    if depth > _DEPTH_MAX:
        raise _Refused(f"{path}: more than {_DEPTH_MAX} nested directories; is there a cycle of links?")
    if name:
        yield FileItem(name=name, kind=ItemKind.DIRECTORY, mode=mode), path
    for entry in hands.names(str(path)):
        yield from _collected(hands, f"{name}/{entry}" if name else entry, path / entry, depth + 1)


def _add(found: dict[str, tuple[FileItem, Path]], item: FileItem, path: Path, *, is_program: bool = False) -> None:
    if len(found) >= ITEMS_MAX:
        raise _Refused(f"more than {ITEMS_MAX} files; pack them into an archive")
    if item.name.startswith("../"):
        raise _Refused(f"{path} would be placed outside the scratch directory")
    if is_program:
        # A listed program may be executed, whatever its permission bits were.
        item = FileItem(name=item.name, size=item.size, mode=item.mode | 0o755, changed_ns=item.changed_ns)
    _parents(found, item.name)
    before = found.pop(item.name, None)
    if before is not None and before[0].kind is not item.kind:
        raise _Refused(f"{path} and {before[1]} have the same name in the scratch directory")
    found[item.name] = item, path


def _parents(found: dict[str, tuple[FileItem, Path]], name: str) -> None:
    """Directories that a kept path needs; their source does not matter."""
    parts = name.split("/")[:-1]
    for count in range(1, len(parts) + 1):
        parent = "/".join(parts[:count])
        if parent not in found:
            found[parent] = FileItem(name=parent, kind=ItemKind.DIRECTORY, mode=0o755), Path()
