"""A pool that is there, as the world of a simulation: machines by their ads, jobs by the queue's and the history's.

A job is submitted at the hour and on the day of the week at which it was submitted, since owners and policies go by
them: the weeks before `now` are turned so that they begin on a Monday. It runs for as long as its last run that
counted did; one that still runs, for as long as it has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from roost.base.records import dataclass
from roost.classad import ClassAd
from roost.config import Setting
from roost.lab.inputs.pool_file import MACHINES_MAX, Group
from roost.lab.machines import Hardware, LabError
from roost.schedd.submit.again import LEFT_OUT

#: What of a slot's ad says how large its machine is.
MACHINE_ATTRIBUTES: Final = ("Machine", "DetectedCpus", "DetectedMemory", "TotalDisk", "Arch", "OpSys")
#: Kinds of machines at most: each takes the configuration once.
KINDS_MAX: Final = 200
WEEK_S: Final = 7 * 86_400
#: The first Monday of the epoch.
_MONDAY: Final = 4 * 86_400
#: Universes whose jobs take no slot: scheduler and local.
_BESIDE: Final = (7, 12)
#: Attributes that name an instant of the past, at which the job would have to start.
_INSTANTS: Final = ("DeferralTime", "CronMinute", "CronHour", "CronDayOfMonth", "CronMonth", "CronDayOfWeek")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedPool:
    """Machines and jobs."""

    groups: tuple[Group, ...]
    #: With their behaviour, as `workloads` reads it.
    jobs: tuple[ClassAd, ...]
    #: What of the pool has no part in it, in sentences.
    notes: tuple[str, ...] = ()

    @property
    def machines(self) -> int:
        """How many machines there are."""
        return sum(group.count or 0 for group in self.groups)


def recorded_machines(
    rows: Iterable[Mapping[str, Any]], owners: str, settings: tuple[Setting, ...] = ()
) -> tuple[Group, ...]:
    """The machines of slots' ads (their values), in groups of those that are alike. Raises LabError."""
    kinds: dict[str, Hardware] = {}
    for row in rows:
        name = row.get("Machine")
        if isinstance(name, str) and name not in kinds:
            kinds[name] = _hardware(row)
    alike: dict[str, list[str]] = {}
    hardware: dict[str, Hardware] = {}
    for name, each in sorted(kinds.items()):
        alike.setdefault(repr(each), []).append(name)
        hardware[repr(each)] = each
    if not alike:
        raise LabError("the pool has no machines")
    if len(kinds) > MACHINES_MAX or len(alike) > KINDS_MAX:
        raise LabError(
            f"the pool has {len(kinds):,} machines of {len(alike):,} sizes; the lab takes {MACHINES_MAX:,} of "
            f"{KINDS_MAX}; describe them in a pool file for `roost lab compare`"
        )
    return tuple(
        Group(name=names[0], names=tuple(names), count=len(names), hardware=hardware[kind], settings=settings,
              owners=owners)
        for kind, names in alike.items()
    )  # fmt: skip


def _hardware(row: Mapping[str, Any]) -> Hardware:
    def whole(name: str, otherwise: int) -> int:
        value = row.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else otherwise

    attributes = {name: row[name] for name in ("Arch", "OpSys") if isinstance(row.get(name), str)}
    disk_kb = whole("TotalDisk", 20_000_000)
    # Free space varies by the hour: two digits of it tell machines apart.
    step = 10 ** max(0, len(str(disk_kb)) - 2)
    return Hardware(
        cpus=whole("DetectedCpus", 1),
        memory_mb=whole("DetectedMemory", 2048),
        disk_kb=disk_kb // step * step,
        attributes=attributes,
    )


def recorded_jobs(
    ads: Iterable[ClassAd], now: float, weeks: int, zone_offset_s: int = 0
) -> tuple[list[ClassAd], list[str]]:
    """Jobs that were submitted within the weeks before `now`, with their behaviour; and what is left out."""
    span = weeks * WEEK_S
    found: list[ClassAd] = []
    without: Counter[str] = Counter()
    for ad in ads:
        submitted_at = _number(ad, "QDate")
        if not now - span < submitted_at <= now:
            continue
        run_s = _run_s(ad, now)
        if ad.eval("JobUniverse") in _BESIDE:
            without["of the scheduler and local universes"] += 1
        elif any(name in ad for name in _INSTANTS):
            without["that wait for an instant (deferral_time, cron_minute, …)"] += 1
        elif run_s <= 0:
            without["that never ran"] += 1
        else:
            found.append(_behaving(ad, (submitted_at + zone_offset_s - _MONDAY) % span, run_s))
    notes = [f"skipped: {number:,} jobs {which}" for which, number in sorted(without.items())]
    return found, notes


def _run_s(ad: ClassAd, now: float) -> float:
    """How long the job has to run on a machine: what counted, else what there was; 0 for one that never ran."""
    committed = _number(ad, "CommittedTime") - _number(ad, "CommittedSuspensionTime")
    if committed > 0:
        return committed
    whole = _number(ad, "RemoteWallClockTime") - _number(ad, "CumulativeSuspensionTime")
    began = _number(ad, "ShadowBday")
    if began > 0:
        whole += now - began
    # One that took less than a second ran, too.
    return max(whole, 1.0) if whole > 0 or _number(ad, "NumJobStarts") > 0 else 0.0


def _behaving(ad: ClassAd, submit_s: float, run_s: float) -> ClassAd:
    whole = ad.unchained()
    job = ClassAd()
    for key, cell in whole.cells.items():
        if key not in LEFT_OUT and not key.startswith("sim"):
            job.put(whole.spelling(key), cell)
    job["Owner"] = str(ad.eval("Owner"))
    job["SimSubmitTime"] = submit_s
    job["SimRunTime"] = run_s
    job["SimCheckpoints"] = _number(ad, "NumCkpts") > 0
    job["SimExitCode"] = int(_number(ad, "ExitCode"))
    return job


def _number(ad: ClassAd, name: str) -> float:
    value = ad.eval(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else 0.0
