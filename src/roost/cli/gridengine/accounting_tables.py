"""The output of `qacct`: a block for each run, or a table of sums."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from roost.gridengine.accounting_lines import GIB
from roost.model.cell_accounting import NONE, RESOURCES, AccountingRecord

#: The words for codes of `failed`.
FAILED: Final = {
    1: "assumedly before job", 2: "on executing shepherd", 3: "before writing config", 4: "before writing pid",
    5: "on reading config file", 6: "setting processor set", 7: "before prolog", 8: "in prolog", 9: "before pestart",
    10: "in pestart", 11: "before job", 12: "before pestop", 13: "in pestop", 14: "before epilog", 15: "in epilog",
    16: "releasing processor set", 17: "through signal", 18: "shepherd returned error",
    19: "before writing exit_status", 20: "found unexpected error file", 21: "in recognizing job",
    22: "removed manually", 24: "migrating", 25: "rescheduling", 26: "opening input/output file",
    27: "searching requested shell", 28: "changing into working directory", 29: "AFS setup",
    30: "application error returned", 31: "accessing sgepasswd file", 32: "entry is missing in sgepasswd file",
    33: "wrong password", 34: "communicating with Grid Engine Helper Service",
    35: "before job in Grid Engine Helper Service", 36: "checking configured daemons",
    37: "qmaster enforced h_rt, h_cpu, or h_vmem limit", 38: "adding supplementary group",
    100: "assumedly after job",
}  # fmt: skip
_OTHERWISE: Final = "invalid execution state"
_LINE: Final = "=" * 62
#: Entries of RESOURCES that are printed as sizes.
_SIZES: Final = ("ru_maxrss", "ru_ixrss", "ru_ismrss", "ru_idrss", "ru_isrss")
_UNITS: Final = ("B", "KB", "MB", "GB", "TB")
#: Sums, and the width of each.
_FIGURES: Final = (
    ("WALLCLOCK", 13, 0), ("UTIME", 13, 3), ("STIME", 13, 3), ("CPU", 13, 3), ("MEMORY", 18, 3), ("IO", 18, 3),
    ("IOW", 18, 3),
)  # fmt: skip
_NUMBERS: Final = ("SLOTS", "AR")
_NUMBER_WIDTH: Final = 5

Figures = tuple[float, ...]


class ColumnShown(NamedTuple):
    """A column by which sums are grouped."""

    heading: str
    #: The requested value; None for all values.
    asked: str | None


def block(record: AccountingRecord, *, suffixes: bool) -> str:
    """A run in detail; with `suffixes` figures have units, as in 8.1.9, otherwise the format is that of 6.2u5."""
    lines = [_LINE, *(f"{name:<12.12} {text}" for name, text in _rows(record, suffixes=suffixes))]
    return "\n".join(lines) + "\n"


def _rows(record: AccountingRecord, *, suffixes: bool) -> Iterator[tuple[str, str]]:
    seconds = _with_unit if suffixes else _plain_seconds
    for name, text in (
        ("qname", record.queue), ("hostname", record.host), ("group", record.group), ("owner", record.owner),
        ("project", record.project), ("department", record.department), ("jobname", record.job_name),
        ("jobnumber", f"{record.job}"),
    ):  # fmt: skip
        yield name, f"{text:<20}"
    yield "taskid", f"{record.task:<20}" if record.task else "undefined"
    yield "account", f"{record.account:<20}"
    yield "priority", f"{record.priority:<20}"
    yield "qsub_time", time.ctime(record.submitted)
    yield "start_time", time.ctime(record.started) if record.started else "-/-"
    yield "end_time", time.ctime(record.ended) if record.ended else "-/-"
    yield "granted_pe", f"{record.environment:<20}"
    yield "slots", f"{record.slots:<20}"
    words = FAILED.get(record.failed, _OTHERWISE) if record.failed else ""
    yield "failed", f"{record.failed:<3} {':' if words else ''} {words}"
    yield "exit_status", f"{record.exit_status:<20}{_signal(record.exit_status)}"
    yield "ru_wallclock", f"{record.wallclock_s}s" if suffixes else f"{record.wallclock_s:<13}"
    for name in RESOURCES:
        amount = record.resources.get(name, 0.0)
        if name in ("ru_utime", "ru_stime"):
            yield name, seconds(amount)
        elif name in _SIZES and suffixes:
            yield name, _size(amount)
        else:
            yield name, f"{amount:<20.0f}"
    yield "cpu", seconds(record.cpu_s)
    if suffixes:
        yield "mem", f"{_size(record.mem * GIB)}s"
        yield "io", _size(record.io * GIB)
        yield "iow", seconds(record.io_wait)
        yield "maxvmem", _size(record.maxvmem)
    else:
        for name, amount in (("mem", record.mem), ("io", record.io), ("iow", record.io_wait)):
            yield name, f"{amount:<18.3f}"
        yield "maxvmem", _short_size(record.maxvmem)
    yield "arid", f"{record.reservation:<20}" if record.reservation else "undefined"
    yield "ar_sub_time", time.ctime(record.reserved_at) if record.reserved_at else "undefined"
    yield "category", record.category or NONE


def _with_unit(amount: float) -> str:
    return f"{amount:.3f}s"


def _plain_seconds(amount: float) -> str:
    return f"{amount:<13.3f}"


def _size(amount: float) -> str:
    for unit in _UNITS[:-1]:
        if amount < 1024:
            return f"{amount:.3f}{unit}"
        amount /= 1024
    return f"{amount:.3f}{_UNITS[-1]}"


def _short_size(amount: float) -> str:
    """maxvmem in the format of 6.2u5: 50.953M, and bytes without a letter."""
    return _size(amount).removesuffix("B")


def _signal(status: int) -> str:
    if status <= 128:
        return ""
    number = status - 128
    try:
        words = signal.strsignal(number)
    except ValueError:
        words = None
    return f" ({words or _realtime(number)})"


def _realtime(number: int) -> str:
    first = signal.SIGRTMIN
    return f"Real-time signal {number - first}" if first <= number <= signal.SIGRTMAX else f"Unknown signal {number}"


def table(columns: Sequence[ColumnShown], sums: Mapping[tuple[str | int, ...], Figures]) -> str:
    """Sums grouped by columns; without columns, the total."""
    headings = [f"{name:>{width}}" for name, width, _ in _FIGURES]
    if not columns:
        head = " ".join(headings)
        rows = [_figures(each) for each in sums.values()]
        return "\n".join(["Total System Usage", head, "=" * len(head), *rows, ""])
    widths = [_width(column, (key[at] for key in sums)) for at, column in enumerate(columns)]
    begin = " ".join(f"{column.heading:<{width}}" for column, width in zip(columns, widths, strict=True))
    # A single requested number has a smaller gap.
    gap = "" if len(columns) == 1 and columns[0].heading in _NUMBERS and columns[0].asked is not None else " "
    head = f"{begin}{gap}{' '.join(headings)}"
    rows = [
        " ".join(
            f"{value:>{width}}" if isinstance(value, int) else f"{value:<{width}}"
            for value, width in zip(key, widths, strict=True)
        )
        + gap
        + _figures(sums[key])
        for key in sorted(sums)
    ]
    return "\n".join([head, "=" * len(head), *rows, ""])


def _width(column: ColumnShown, values: Iterable[str | int]) -> int:
    if column.heading in _NUMBERS:
        return _NUMBER_WIDTH
    return max(len(column.heading), len(column.asked or ""), *(len(str(value)) for value in values), 0)


def _figures(figures: Figures) -> str:
    return " ".join(
        f"{amount:>{width}.{places}f}" for amount, (_, width, places) in zip(figures, _FIGURES, strict=True)
    )
