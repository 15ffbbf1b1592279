"""The tables of ``condor_status``, as data, and the totals below them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from roost.cli.condor.printing.columns import Column, Mask
from roost.cli.condor.printing.renderers import looked_at, rendered
from roost.cli.condor.printing.rows import AdRow


def _text(attr: str, wide: int, title: str = "", *, cut: bool = False) -> Column:
    return Column(attr, title or attr, wide=wide, left=True, auto=True, cut=cut, render=_string, otherwise="??")


def _string(row: AdRow, value: object) -> str | None:
    return str(value) if value.__class__ is str else None


def _number(attr: str, wide: int, title: str = "") -> Column:
    return Column(attr, title or attr, wide=max(wide, len(title or attr)), auto=True, form=f"%{wide}d",
                  otherwise="??")  # fmt: skip


_LOAD: Final = Column("LoadAvg", "LoadAv", wide=6, auto=True, render=rendered("LOAD_AVG"), otherwise="??")
_SYSTEM: Final = (_text("OpSys", 10), _text("Arch", 6))


class Sum(NamedTuple):
    """One column of the totals: its heading, its width, what an ad adds to it."""

    title: str
    wide: int
    of: Callable[[AdRow], int]
    #: Whether only the line of the total shows it.
    last_only: bool = False
    #: What is shown instead of the sum; None for the sum.
    shown: Callable[[list[AdRow]], str] | None = None


class StatusTable(NamedTuple):
    """One of them, and its totals."""

    #: MyType of its ads; "" for any.
    kind: str
    mask: Mask
    sums: tuple[Sum, ...] = ()
    #: The key by which ads are grouped into lines of the totals.
    key: Callable[[AdRow], str] = lambda row: ""
    #: The expressions that the totals need.
    summed: tuple[str, ...] = ()

    @property
    def expressions(self) -> list[str]:
        """The expressions that it needs."""
        beside = [name for column in self.mask.columns for name in looked_at(column.render)]
        return [*self.mask.expressions, *beside, *self.summed, "Name", "Machine", "MyType"]


def _in_state(*states: str) -> Callable[[AdRow], int]:
    return lambda row: 1 if row.text("State") in states else 0


def _one(row: AdRow) -> int:
    return 1


def _added(attr: str) -> Callable[[AdRow], int]:
    return lambda row: row.whole(attr)


def _mean(attr: str, rows: list[AdRow]) -> float:
    return sum(row.number(attr) for row in rows) / max(1, len(rows))


def _platform(row: AdRow) -> str:
    return f"{row.text('Arch')}/{row.text('OpSys')}"


_STATES: Final = (
    Sum("Total", 6, _one),
    Sum("Owner", 5, _in_state("Owner")),
    Sum("Claimed", 7, _in_state("Claimed")),
    Sum("Unclaimed", 9, _in_state("Unclaimed")),
    Sum("Matched", 7, _in_state("Matched")),
    Sum("Preempting", 10, _in_state("Preempting")),
    Sum("Drain", 6, _in_state("Drained")),
    Sum("Backfill", 8, _in_state("Backfill")),
    Sum("BkIdle", 6, lambda row: 0),
)
_SLOT_SUMMED: Final = ("State", "Arch", "OpSys")
_FIRST: Final = (*_SYSTEM, _text("State", 9), _text("Activity", 8))

SLOTS: Final = StatusTable(
    "Machine",
    Mask((_text("Name", 18), *_FIRST, _LOAD, _number("Memory", 4, "Mem"),
          Column("EnteredCurrentActivity", "  ActvtyTime", wide=12, auto=True, before=False,
                 render=rendered("ACTIVITY_TIME"), otherwise="   [Unknown]"))),
    _STATES, _platform, _SLOT_SUMMED,
)  # fmt: skip
RUN: Final = StatusTable(
    "Machine",
    Mask((_text("Name", 15), _text("OpSys", 11), _text("Arch", 6), _LOAD, _text("RemoteUser", 20),
          _text("ClientMachine", 16))),
    (Sum("Machines", 9, _one), Sum("MIPS", 12, _added("Mips")), Sum("KFLOPS", 12, _added("KFlops")),
     Sum("AvgLoadAvg", 12, _one, shown=lambda rows: f"  {_mean('LoadAvg', rows):.3f}")),
    _platform, (*_SLOT_SUMMED, "Mips", "KFlops", "LoadAvg"),
)  # fmt: skip
SERVER: Final = StatusTable(
    "Machine",
    Mask((_text("Name", 13), _text("OpSys", 11), _text("Arch", 6), _LOAD, _number("Memory", 8), _number("Disk", 9),
          _number("Mips", 7), _number("KFlops", 9))),
    (Sum("Machines", 9, _one), Sum("Avail", 5, _in_state("Claimed", "Unclaimed")), Sum("Memory", 7, _added("Memory")),
     Sum("Disk", 11, _added("Disk")), Sum("MIPS", 11, _added("Mips")), Sum("KFLOPS", 11, _added("KFlops"))),
    _platform, _SLOT_SUMMED,
)  # fmt: skip
STATE: Final = StatusTable(
    "Machine",
    Mask((_text("Name", 12), _number("Cpus", 3, "Cpu"), _number("Memory", 5, " Mem"), _LOAD,
          Column("KeyboardIdle", "  KbdIdle", wide=12, before=False, render=rendered("TIME"), otherwise="??"),
          _text("State", 7),
          Column("EnteredCurrentState", "  StateTime", wide=12, before=False, render=rendered("ELAPSED_TIME")),
          _text("Activity", 5, "Activ", cut=True)._replace(auto=False),
          Column("EnteredCurrentActivity", "  ActvtyTime", wide=12, before=False, render=rendered("ELAPSED_TIME")))),
    (Sum("Total", 6, _one), Sum("Owner", 5, _in_state("Owner")), Sum("Unclaimed", 9, _in_state("Unclaimed")),
     Sum("Claimed", 7, _in_state("Claimed")), Sum("Preempting", 10, _in_state("Preempting")),
     Sum("Matched", 7, _in_state("Matched")), Sum("Drain", 6, _in_state("Drained")),
     Sum("Backfill", 8, _in_state("Backfill"))),
    lambda row: row.text("Activity"), ("State", "Activity"),
)  # fmt: skip
SCHEDDS: Final = StatusTable(
    "Scheduler",
    Mask((_text("Name", 20), _text("Machine", 10), _number("TotalRunningJobs", 16), _number("TotalIdleJobs", 13),
          _number("TotalHeldJobs", 14))),
    tuple(Sum(name, 18, _added(name), last_only=True)
          for name in ("TotalRunningJobs", "TotalIdleJobs", "TotalHeldJobs")),
    lambda row: "", (),
)  # fmt: skip
SUBMITTERS: Final = StatusTable(
    "Submitter",
    Mask((_text("Name", 28), _text("Machine", 18), _number("RunningJobs", 11), _number("IdleJobs", 8),
          _number("HeldJobs", 8))),
    tuple(Sum(name, 18, _added(name)) for name in ("RunningJobs", "IdleJobs", "HeldJobs")),
    lambda row: row.text("Name"), (),
)  # fmt: skip
MASTERS: Final = StatusTable("DaemonMaster", Mask((_text("Name", 20),)))
COLLECTORS: Final = StatusTable(
    "Collector",
    Mask((_text("Name", 28), _text("Machine", 18), _number("RunningJobs", 11), _number("IdleJobs", 8),
          _number("HostsTotal", 10))),
)  # fmt: skip
NEGOTIATORS: Final = StatusTable("Negotiator", Mask((_text("Name", 20), _text("Machine", 20))))
ANY: Final = StatusTable(
    "",
    Mask((_text("MyType", 18)._replace(otherwise="None"), _text("TargetType", 18)._replace(otherwise="None"),
          _text("Name", 41)._replace(otherwise="[???]"))),
)  # fmt: skip
COMPACT: Final = StatusTable(
    "Machine",
    Mask((_text("Machine", 16), _text("Platform", 8), _number("Slots", 5), _number("Cpus", 4), _number("GPUs", 4),
          Column("TotalGb", " TotalGb", wide=8, auto=True, form="%8.2f"), _number("FreeCpu", 7, " FreCpu"),
          Column("FreeGb", "  FreeGb", wide=8, auto=True, form="%8.2f"),
          Column("LoadAvg", "CpuLoad", wide=7, auto=True, form="%7.2f"), _text("ST", 2),
          _number("JobsMin", 9, "Jobs/Min"), _number("MaxSlotGb", 9, "MaxSlotGb"))),
    _STATES, _platform, _SLOT_SUMMED,
)  # fmt: skip


def sums(table: StatusTable, rows: Iterable[AdRow]) -> list[str]:
    """The lines of the totals, including line ends."""
    by_key: dict[str, list[AdRow]] = {}
    for row in rows:
        by_key.setdefault(table.key(row), []).append(row)
    wide = max(5, *(len(key) for key in by_key)) if by_key else 5
    titles = " ".join(f"{each.title:>{each.wide}}" for each in table.sums)
    found = [f"{'':{wide}}{titles}\n", "\n"]
    if not table.sums[0].last_only:
        found += [f"{key:>{wide}}{_line(table, by_key[key])}\n" for key in sorted(by_key)]
        found.append("\n")
    everything = [row for each in by_key.values() for row in each]
    return [*found, f"{'Total':>{wide}}{_line(table, everything)}\n"]


def _line(table: StatusTable, rows: list[AdRow]) -> str:
    return " ".join(
        f"{sum(each.of(row) for row in rows):{each.wide}d}" if each.shown is None else each.shown(rows)
        for each in table.sums
    )
