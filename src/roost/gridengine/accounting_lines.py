"""The lines of an accounting file: 45 fields separated by colons, one line per run of a job. Source: accounting(5),
8.1.9.

A colon or a control character in a text would shift or break the fields: it is replaced by an underscore.
"""

from __future__ import annotations

import re
from typing import Final

from roost.model.cell_accounting import NONE, RESOURCES, AccountingRecord

#: The header of a new file; programs skip lines that begin with `#`.
HEADER: Final = "# Version: 8.1.9\n# \n# DO NOT MODIFY THIS FILE MANUALLY!\n# \n"
#: Fields of a line; earlier versions of Grid Engine have fewer at the end.
FIELDS: Final = 45
_FIELDS_MIN: Final = 43
_UNFIT: Final = re.compile(r"[:\x00-\x1f\x7f]")
#: Fields written with six decimal places.
_REAL: Final = frozenset(("ru_utime", "ru_stime", "ru_maxrss", "ru_inblock"))
#: Bytes of a unit.
GIB: Final = 2**30


def line_of(record: AccountingRecord) -> str:
    """The line of a record, without an end of line."""
    used = (
        f"{record.resources.get(name, 0.0):.6f}" if name in _REAL else f"{record.resources.get(name, 0.0):.0f}"
        for name in RESOURCES
    )
    fields = (
        record.queue, record.host, record.group, record.owner, record.job_name, record.job, record.account,
        record.priority, record.submitted, record.started, record.ended, record.failed, record.exit_status,
        record.wallclock_s, *used, record.project, record.department, record.environment, record.slots, record.task,
        f"{record.cpu_s:.6f}", f"{record.mem:.6f}", f"{record.io:.6f}", record.category, f"{record.io_wait:.6f}",
        record.part, f"{record.maxvmem:.6f}", record.reservation, record.reserved_at,
    )  # fmt: skip
    return ":".join(plain(str(each)) for each in fields)


def plain(text: str) -> str:
    """A text made safe for a field."""
    whole = text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return _UNFIT.sub("_", whole)


def read_line(line: str) -> AccountingRecord:
    """The record of a line. Raises ValueError."""
    fields = line.split(":")
    if not _FIELDS_MIN <= len(fields) <= FIELDS:
        raise ValueError(f"{len(fields)} fields, not {FIELDS}")
    fields += ["0"] * (FIELDS - len(fields))
    texts, numbers = fields[:5], fields[7:13]
    priority, submitted, started, ended, failed, status = (_whole(each) for each in numbers)
    project, department, environment, slots, task, cpu, mem, io, category, wait, part, maxvmem, ar, ar_at = fields[31:]
    return AccountingRecord(
        queue=texts[0],
        host=texts[1],
        group=texts[2],
        owner=texts[3],
        job_name=texts[4],
        job=int(fields[5]),
        account=fields[6],
        priority=priority,
        submitted=submitted,
        started=started,
        ended=ended,
        failed=failed,
        exit_status=status,
        wallclock_s=_whole(fields[13]),
        resources={name: float(each) for name, each in zip(RESOURCES, fields[14:31], strict=True)},
        project=project,
        department=department,
        environment=environment,
        slots=_whole(slots),
        task=_whole(task),
        cpu_s=float(cpu),
        mem=float(mem),
        io=float(io),
        category=category or NONE,
        io_wait=float(wait),
        part=part,
        maxvmem=float(maxvmem),
        reservation=_whole(ar),
        reserved_at=_whole(ar_at),
    )


def _whole(text: str) -> int:
    return int(float(text))
