"""Named formats of values: those that a print format's ``PRINTAS`` names, also used by the tables."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from roost.cli.condor.printing.rows import AdRow
from roost.cli.condor.printing.values import Value, whole

Render: TypeAlias = "Callable[[AdRow, Value], str | None]"

#: Letter of each JobStatus.
LETTERS: Final = " IRXCH>S"
UNIVERSES: Final = {
    1: "Standard", 5: "Vanilla", 7: "Scheduler", 8: "MPI", 9: "Grid", 10: "Java", 11: "Parallel", 12: "Local", 13: "VM",
}  # fmt: skip
_RUNNING: Final = (2, 6, 7)


class Renderer(NamedTuple):
    """One of them."""

    render: Render
    #: Attributes that it needs besides that of its column.
    looks_at: tuple[str, ...] = ()


# -- times -----------------------------------------------------------------------------------------------------


def duration(seconds: int) -> str:
    """``  3+04:05:06``: days, hours, minutes and seconds, 12 wide."""
    if seconds < 0:
        return "[?????]"
    days, rest = divmod(seconds, 86_400)
    return f"{days:3d}+{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"


@lru_cache(maxsize=10_000)
def date(at: int) -> str:
    """``11/21 10:23``."""
    if at < 0:
        return "    ???    "
    then = time.localtime(at)
    return f"{then.tm_mon:2d}/{then.tm_mday:<2d} {then.tm_hour:02d}:{then.tm_min:02d}"


def _date(row: AdRow, value: Value) -> str | None:
    at = whole(value)
    return None if at is None else date(at)


def _elapsed(row: AdRow, value: Value) -> str | None:
    since = whole(value)
    return None if since is None else duration(_seen(row) - since)


def _seen(row: AdRow) -> int:
    """The time of an ad, epoch s."""
    return row.whole("MyCurrentTime") or row.whole("LastHeardFrom") or int(time.time())


def _time(row: AdRow, value: Value) -> str | None:
    seconds = whole(value)
    return None if seconds is None else duration(seconds)


def run_time(row: AdRow) -> int:
    """Total run time of a job in all its runs, s."""
    total = row.whole("RemoteWallClockTime")
    since = row.whole("ShadowBday")
    if since and row.whole("JobStatus") in _RUNNING:
        total += max(0, (row.whole("ServerTime") or int(time.time())) - since)
    return total


# -- jobs ------------------------------------------------------------------------------------------------------


def _owner(row: AdRow, value: Value) -> str | None:
    return str(value) if value.__class__ is str else None


def _status(row: AdRow, value: Value) -> str | None:
    status = whole(value) or 0
    letter = LETTERS[status] if 0 < status < len(LETTERS) else " "
    if row.value("TransferringInput") is True:
        letter = "<"
    elif row.value("TransferringOutput") is True:
        letter = ">"
    return letter + ("q" if row.value("TransferQueued") is True else "")


def _status_raw(row: AdRow, value: Value) -> str | None:
    words = ("Unexpanded", "Idle", "Running", "Removed", "Completed", "Held", "XFerOut", "Suspended")
    status = whole(value)
    return words[status] if status is not None and 0 <= status < len(words) else "Unk"


def _memory(row: AdRow, value: Value) -> str | None:
    used = row.value("MemoryUsage")
    if isinstance(used, int | float):
        return f"{float(used):.1f}"
    size = whole(value)
    return None if size is None else f"{size / 1024:.1f}"


def _description(row: AdRow, value: Value) -> str | None:
    told = row.text("JobDescription")
    if told:
        return f"({told})"
    if value.__class__ is not str:
        return None
    from roost.cli.listing import arguments

    known = {name: row.text(name) for name in ("Arguments", "Args") if row.text(name)}
    return f"{os.path.basename(str(value))} {arguments(known)}".rstrip()  # noqa: PTH119


def _batch_name(row: AdRow, value: Value) -> str | None:
    name = row.text("JobBatchName")
    if name:
        return name
    node = row.text("DAGNodeName")
    return f"NODE: {node}" if node and "DAGManJobId" in row else None


def _dag_owner(row: AdRow, value: Value) -> str | None:
    node = row.text("DAGNodeName")
    return node if node and "DAGManJobId" in row else _owner(row, value)


def _host(row: AdRow, value: Value) -> str | None:
    if row.whole("JobUniverse", 5) == 9:
        return row.text("EC2RemoteVirtualMachineName") or row.text("GridResource") or None
    return row.text("RemoteHost") or "[????????????????]"


def _universe(row: AdRow, value: Value) -> str | None:
    number = whole(value)
    if number is None:
        return None
    if row.value("WantDocker") is True:
        return "docker"
    return UNIVERSES.get(number, "Unknown").lower()


def _bytes(row: AdRow, value: Value) -> str | None:
    count = whole(value)
    if count is None:
        return None
    size, units = float(count), ["B ", "KB", "MB", "GB", "TB", "PB"]
    while size > 1024 and len(units) > 1:
        size, units = size / 1024, units[1:]
    return f"{size:.1f} {units[0]}"


def _factory_mode(row: AdRow, value: Value) -> str | None:
    mode = whole(value)
    return None if mode is None else {-1: "Errs", 0: "Norm", 1: "Held", 2: "Done", 3: "Gone"}.get(mode, "Unk")


# -- machines --------------------------------------------------------------------------------------------------


def _load(row: AdRow, value: Value) -> str | None:
    return f"{float(value):.3f}" if isinstance(value, int | float) else None


def _activity(row: AdRow, value: Value) -> str | None:
    since = whole(value)
    if since is None or not (row.whole("MyCurrentTime") or row.whole("LastHeardFrom")):
        return "   [Unknown]"
    return duration(_seen(row) - since)


def _platform(row: AdRow, value: Value) -> str | None:
    arch = {"X86_64": "x64", "INTEL": "x86"}.get(row.text("Arch"), row.text("Arch"))
    system = row.text("OpSysAndVer") or row.text("OpSys")
    return f"{arch}/{system}" if system else None


def _cpu_time(row: AdRow, value: Value) -> str | None:
    return duration(run_time(row))


_ARGUMENTS: Final = ("Arguments", "Args", "JobDescription")
_RUN: Final = ("JobStatus", "ServerTime", "ShadowBday", "RemoteWallClockTime")

#: Name to renderer.
RENDERERS: Final = {
    "ACTIVITY_TIME": Renderer(_activity, ("MyCurrentTime", "LastHeardFrom")),
    "BATCH_NAME": Renderer(_batch_name, ("JobBatchName", "DAGManJobId", "DAGNodeName")),
    "CPU_TIME": Renderer(_cpu_time, _RUN),
    "DAG_OWNER": Renderer(_dag_owner, ("DAGManJobId", "DAGNodeName")),
    "DATE": Renderer(_date),
    "ELAPSED_TIME": Renderer(_elapsed, ("MyCurrentTime", "LastHeardFrom")),
    "JOB_FACTORY_MODE": Renderer(_factory_mode),
    "JOB_DESCRIPTION": Renderer(_description, _ARGUMENTS),
    "JOB_STATUS": Renderer(_status, ("TransferringInput", "TransferringOutput", "TransferQueued")),
    "JOB_STATUS_RAW": Renderer(_status_raw),
    "JOB_UNIVERSE": Renderer(_universe, ("WantDocker",)),
    "LOAD_AVG": Renderer(_load),
    "MEMORY_USAGE": Renderer(_memory, ("MemoryUsage",)),
    "OWNER": Renderer(_owner),
    "PLATFORM": Renderer(_platform, ("OpSysAndVer", "OpSys", "Arch")),
    "QDATE": Renderer(_date),
    "READABLE_BYTES": Renderer(_bytes),
    "REMOTE_HOST": Renderer(_host, ("JobUniverse", "RemoteHost", "EC2RemoteVirtualMachineName", "GridResource")),
    "RUNTIME": Renderer(_cpu_time, _RUN),
    "TIME": Renderer(_time),
}


def rendered(name: str) -> Render:
    """The renderer with a name."""
    return RENDERERS[name].render


def looked_at(render: Render | None) -> tuple[str, ...]:
    """The attributes that a renderer needs besides that of its column."""
    return next((each.looks_at for each in RENDERERS.values() if each.render is render), ())
