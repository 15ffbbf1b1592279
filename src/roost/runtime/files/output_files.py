"""The output files of a job, and where they go.

Without a list: every regular file in the top level of the scratch directory that is new, was changed since the job's
program was started, or was saved by an earlier run; no directories. With transfer_output_files, exactly the listed
files, and directories with their contents (``d/``: only the contents), under their base names; a missing file is an
error. Standard output and error go where the user wants them. transfer_output_remaps sends single files elsewhere.

Links are followed as long as they stay within the scratch directory.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

from roost.base.records import dataclass
from roost.classad import ClassAd
from roost.model.starter import StarterHold
from roost.runtime.files.input_files import (
    STDERR,
    STDOUT,
    initial_directory,
    keeps_paths,
    limit_of,
    names_in,
    program_name,
)
from roost.runtime.files.transfer import ITEMS_MAX, FileItem, ItemKind, Manifest, TransferProblem, unsafe
from roost.runtime.files.worker.hands import OWN, Hands
from roost.wire.requests.verb import Stream

_BYTES_PER_MB: Final = 1024 * 1024
_NULL: Final = "/dev/null"
#: Names that Roost itself puts into the scratch directory.
_OURS: Final = frozenset((".job.ad", ".machine.ad", ".update.ad", ".chirp.config", STDOUT, STDERR))
_CODE: Final = StarterHold.TRANSFER_OUTPUT_ERROR


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The top level of a scratch directory before the job's program ran: name to (change, size, number of the file).

    Files that an earlier run has saved are not in it: the user has not received them yet, so they are output of this
    run as well.
    """

    files: Mapping[str, tuple[int, int, int]]

    @classmethod
    def read(cls, path: Path) -> Baseline | None:
        """The list in a file; None if there is none that is valid."""
        try:
            data = json.loads(path.read_text())
            return cls(files={str(name): tuple(value) for name, value in data.items()})
        except (OSError, ValueError, AttributeError, TypeError):
            return None

    @classmethod
    def of(cls, sandbox: Path, hands: Hands = OWN, saved: Collection[str] = ()) -> Baseline:
        """The current state, without the files that an earlier run has `saved`. Raises OSError."""
        return cls(files={name: state for name, state in _top_level(sandbox, hands) if name not in saved})


#: Errors for a dangling link, and for a file that has just been removed.
_NOWHERE = frozenset((errno.ENOENT, errno.ENOTDIR, errno.ELOOP))


class _Refused(Exception):
    def __init__(self, text: str, number: int = 0, code: StarterHold = _CODE) -> None:
        super().__init__(text)
        self.problem = TransferProblem(code=code, subcode=number, text=text)


def output_manifest(
    job_ad: ClassAd, sandbox: Path, baseline: Baseline, *, limit_mb: int | None = None, hands: Hands = OWN
) -> Manifest | TransferProblem:
    """The output of a job, with names as in the scratch directory; `output_place` says where they go."""
    listed = names_in(job_ad, "transferoutput") if "TransferOutput" in job_ad else None
    most = limit_of(job_ad, "MaxTransferOutputMB", limit_mb)
    return _manifest(job_ad, sandbox, baseline, listed, most, hands)


def checkpoint_manifest(
    job_ad: ClassAd, sandbox: Path, baseline: Baseline, *, limit_mb: int | None = None, hands: Hands = OWN
) -> Manifest | TransferProblem:
    """A job's checkpoint: TransferCheckpoint, otherwise its output."""
    key = "transfercheckpoint" if "TransferCheckpoint" in job_ad else "transferoutput"
    listed = names_in(job_ad, key) if key in job_ad else None
    return _manifest(job_ad, sandbox, baseline, listed, limit_mb, hands)


def _manifest(
    job_ad: ClassAd, sandbox: Path, baseline: Baseline, listed: list[str] | None, most: int | None, hands: Hands
) -> Manifest | TransferProblem:
    root = sandbox.resolve()
    found: dict[str, tuple[FileItem, Path]] = {}
    try:
        for name in _streams(job_ad):
            if hands.exists(f"{sandbox}/{name}"):
                found.update(_collected(hands, root, name, name, 0))
        if listed is None:
            for name in changed(sandbox, baseline, job_ad, hands):
                found.update(_collected(hands, root, name, name, 0))
        else:
            for given in listed:
                found.update(_listed(hands, root, given))
        if len(found) > ITEMS_MAX:
            raise _Refused(f"more than {ITEMS_MAX} files; pack them into an archive")
    except _Refused as refused:
        return refused.problem
    except OSError as problem:
        text = f"cannot read {problem.filename}: {problem.strerror}"
        return TransferProblem(code=_CODE, subcode=problem.errno or 0, text=text)
    manifest = Manifest(
        items=tuple(item for item, _ in found.values()), sources={name: path for name, (_, path) in found.items()}
    )
    if most is not None and manifest.size_bytes > most * _BYTES_PER_MB:
        megabytes = f"{manifest.size_bytes / _BYTES_PER_MB:.1f} MB"
        text = f"the output is {megabytes}; the limit is {most} MB (max_transfer_output_mb)"
        return TransferProblem(code=StarterHold.OUTPUT_TOO_LARGE, text=text)
    return manifest


def changed(sandbox: Path, baseline: Baseline, job_ad: ClassAd, hands: Hands = OWN) -> list[str]:
    """The files of the top level that are new or were changed, sorted. Raises OSError."""
    own = _OURS | {program_name(job_ad) or ""}
    here = _top_level(sandbox, hands)
    return sorted(name for name, state in here if name not in own and baseline.files.get(name) != state)


def _top_level(sandbox: Path, hands: Hands) -> Iterator[tuple[str, tuple[int, int, int]]]:
    root = sandbox.resolve()
    for name in hands.names(str(sandbox)):
        path = f"{sandbox}/{name}"
        try:
            if not Path(hands.real(path)).is_relative_to(root):
                continue
            found = hands.look(path)
        except OSError as problem:
            if problem.errno not in _NOWHERE:
                # A file that cannot be examined may be output: it is not silently left out.
                raise
            continue
        if found.is_file:
            yield name, (found.changed_ns, found.size, found.inode)


def _streams(job_ad: ClassAd) -> list[str]:
    """Standard output and error that the user wants, under their names in the scratch directory."""
    names = []
    for key, transfer, name in (("out", "transferout", STDOUT), ("err", "transfererr", STDERR)):
        given = job_ad.cell(key)
        if isinstance(given, str) and given not in ("", _NULL) and job_ad.cell(transfer) is not False:
            names.append(name)
    if len(names) == 2 and job_ad.cell("out") == job_ad.cell("err"):
        names.pop()
    return names


def _listed(hands: Hands, root: Path, given: str) -> Iterator[tuple[str, tuple[FileItem, Path]]]:
    name = os.path.normpath(given)
    if unsafe(name) and name != ".":
        if Path(given).is_absolute() and (inside := _within(hands, root, given)) is not None:
            yield from _collected(hands, root, inside, "" if given.endswith("/") else Path(inside).name, 0)
            return
        raise _Refused(f"{given} is not in the scratch directory; the job must put its output there")
    if not hands.exists(f"{root}/{name}"):
        raise _Refused(f"{root / name}: No such file or directory; the job did not create it", errno.ENOENT)
    yield from _collected(hands, root, name, "" if given.endswith("/") or name == "." else name, 0)


def _within(hands: Hands, root: Path, path: str) -> str | None:
    try:
        return str(Path(hands.real(path)).relative_to(root))
    except ValueError:
        return None


def _collected(
    hands: Hands, root: Path, place: str, name: str, depth: int
) -> Iterator[tuple[str, tuple[FileItem, Path]]]:
    """The file at a place in the scratch directory, under its name for the transfer, with its contents if it is a
    directory.
    """
    real = Path(hands.real(f"{root}/{place}"))
    if not real.is_relative_to(root):
        raise _Refused(f"{place} is a symbolic link that leads outside the scratch directory")
    found = hands.look(str(real))
    mode = stat.S_IMODE(found.mode) & 0o777
    if found.is_file:
        yield name, (FileItem(name=name, size=found.size, mode=mode, changed_ns=found.changed_ns), real)
        return
    if not found.is_directory:
        raise _Refused(f"{place} is neither a file nor a directory")
    if depth > 64:
        raise _Refused(f"{place}: more than 64 nested directories; is there a cycle of links?")
    if name:
        yield name, (FileItem(name=name, kind=ItemKind.DIRECTORY, mode=mode), real)
    for entry in hands.names(str(real)):
        yield from _collected(hands, root, f"{place}/{entry}", f"{name}/{entry}" if name else entry, depth + 1)


# -- where it goes -------------------------------------------------------------------------------------------------


def output_path(job_ad: ClassAd, stream: Stream) -> Path:
    """The final path of a job's standard output or error. Raises ValueError if the job keeps none."""
    key, name = ("err", STDERR) if stream == "err" else ("out", STDOUT)
    if job_ad.cell(key) in (None, "", _NULL):
        word = "error" if stream == "err" else "output"
        raise ValueError(f"the job keeps no standard {word}: its description has no '{word}'")
    return output_place(job_ad)(name)


def output_place(job_ad: ClassAd) -> Callable[[str], Path]:
    """The user's destination for a name in the scratch directory. Raises ValueError for invalid remaps."""
    iwd = initial_directory(job_ad)
    remaps = output_remaps(job_ad)
    heads = {os.path.normpath(each): each for each in names_in(job_ad, "transferoutput")}
    keep = keeps_paths(job_ad)
    streams = {STDOUT: job_ad.cell("out"), STDERR: job_ad.cell("err")}

    def place(name: str) -> Path:
        stream = streams.get(name)
        if isinstance(stream, str):
            return iwd / remaps.get(stream, stream)
        if name in remaps:
            return iwd / remaps[name]
        short = name if keep else _shortened(name, heads)
        return iwd / remaps.get(short, short)

    return place


def _shortened(name: str, heads: Mapping[str, str]) -> str:
    """The name without the directories above the base name of the listed item."""
    parts = name.split("/")
    for count in range(len(parts), 0, -1):
        if "/".join(parts[:count]) in heads:
            return "/".join(parts[count - 1 :])
    return name


def output_remaps(job_ad: ClassAd) -> dict[str, str]:
    r"""transfer_output_remaps, ``a = b; c = d``: ``\`` escapes ``=`` and ``;``. Raises ValueError."""
    given = job_ad.cell("transferoutputremaps")
    if not isinstance(given, str):
        return {}
    remaps = {}
    for entry in _divided(given, ";"):
        if not entry.strip():
            continue
        source, *targets = _divided(entry, "=")
        if len(targets) != 1 or not source.strip() or not targets[0].strip():
            raise ValueError(f"transfer_output_remaps: {entry.strip()!r} is not of the form name = path")
        remaps[_plain(source)] = _plain(targets[0])
    return remaps


def _divided(text: str, mark: str) -> list[str]:
    parts, at, begin = [], 0, 0
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] == mark:
            parts.append(text[begin:at])
            begin = at + 1
        at += 1
    return [*parts, text[begin:]]


def _plain(text: str) -> str:
    text, found, at = text.strip(), "", 0
    while at < len(text):
        if text[at] == "\\" and at + 1 < len(text):
            at += 1
        found += text[at]
        at += 1
    return found
