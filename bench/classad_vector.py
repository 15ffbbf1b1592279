"""Matching a job against a whole pool at once, keeping the table up to date, and its memory."""

from __future__ import annotations

import gc
import random
import statistics
import subprocess
import sys
import time
import tracemalloc
from typing import Any

from bench.classad_scalar import reference
from bench.measure import Row
from roost.classad import ClassAd, Expr
from roost.classad.vector import Table

#: Desktops, shared desktops, servers, servers of a group, and two that look at the job closely.
STARTS = (
    "KeyboardIdle > StartIdleTime && ( (LoadAvg - CondorLoadAvg) <= 0.3 || "
    '(State != "Unclaimed" && State != "Owner") )',
    "KeyboardIdle > 15*60 && ( (LoadAvg - CondorLoadAvg) <= 0.3 || "
    '(State != "Unclaimed" && State != "Owner") ) && TARGET.ImageSize <= Memory * 1024',
    "true",
    'TARGET.Owner == "coltrane" || TARGET.Owner == "parker" || TARGET.Group =?= "physics" || LoadAvg < 0.5',
    "TARGET.ImageSize <= (Memory - 64) * 1024 && (TARGET.JobPrio >= 0 || KeyboardIdle > 3600) && Owner != DeniedUser",
    "(TARGET.IsDesktopJob =?= true || ConsoleIdle > StartIdleTime) && HasFileTransfer && "
    '!regexp("^guest", TARGET.Owner)',
)
REQUIREMENTS = (
    "START",
    "START && (TARGET.RequestMemory <= Memory) && (TARGET.RequestCpus ?: 1) <= Cpus",
    "(START) && (IsValidCheckpointPlatform =!= false) && (TARGET.RequestDisk ?: 0) <= Disk",
)
SLOT_EXPRESSIONS = {
    "SUSPEND": (
        "KeyboardIdle < 60 || (LoadAvg - CondorLoadAvg) > 0.5",
        "KeyboardIdle < 30 && (CurrentTime - JobStart) > 90",
    ),
    "CONTINUE": ("KeyboardIdle > ContinueIdleTime && (LoadAvg - CondorLoadAvg) <= 0.3", "true"),
    "PREEMPT": ('Activity == "Suspended" && (CurrentTime - EnteredCurrentActivity) > 600', "false"),
    "KILL": ("(CurrentTime - EnteredCurrentActivity) > 600", "false"),
    "Rank": ("0.0", 'TARGET.Owner == "coltrane"', "TARGET.JobPrio * 10 + (TARGET.ImageSize < 100000)"),
    "IsOwner": ("(START) =?= false",),
    "StartIdleTime": ("15 * 60", "10 * 60"),
    "ContinueIdleTime": ("5 * 60",),
    "WithinResourceLimits": ("MY.Cpus >= (TARGET.RequestCpus ?: 1) && MY.Memory >= (TARGET.RequestMemory ?: 1)",),
}
JOB_REQUIREMENTS = (
    '(TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Disk >= RequestDisk) && '
    "(TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus) && (TARGET.HasFileTransfer)",
    '(TARGET.Arch == "X86_64" || TARGET.Arch == "AARCH64") && (TARGET.OpSysMajorVer >= 8) && '
    "(TARGET.Disk >= RequestDisk) && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus) && "
    '((TARGET.FileSystemDomain == MY.FileSystemDomain) || (TARGET.HasFileTransfer)) && regexp("^node", TARGET.Machine)',
    'OpSys == "LINUX" && Memory >= RequestMemory && (TARGET.Cpus >= RequestCpus) && '
    "(TARGET.LoadAvg < 2.0 || TARGET.KeyboardIdle > 600) && (TARGET.Machine =!= LastRemoteHost)",
)
REQUEST_MEMORY = "ifThenElse(MemoryUsage isnt undefined, MemoryUsage, (ImageSize + 1023) / 1024)"
OWNERS = ("alice", "bob", "coltrane", "parker", "guest1", "davis", "monk", "evans", "shorter", "hancock")
#: Attributes of a slot in all.
SLOT_ATTRIBUTES = 120


def make_slots(count: int, seed: int) -> list[tuple[str, ClassAd]]:
    """Slots as (name, ad): 120 attributes, expressions of a handful of texts, measured values all different."""
    source = random.Random(seed)
    shared = {name: [Expr.parse(text) for text in texts] for name, texts in SLOT_EXPRESSIONS.items()}
    starts = [Expr.parse(text) for text in STARTS]
    requirements = [Expr.parse(text) for text in REQUIREMENTS]
    return [_slot(number, source, shared, starts, requirements) for number in range(count)]


def _slot(
    number: int, source: random.Random, shared: dict[str, list[Expr]], starts: list[Expr], requirements: list[Expr]
) -> tuple[str, ClassAd]:
    host, name = f"node{number // 8}.example.org", f"slot{number % 8 + 1}@node{number // 8}.example.org"
    kind = source.choices(range(len(starts)), (5, 3, 4, 2, 2, 1))[0]
    idle, load = int(source.expovariate(1 / 4000)), round(source.expovariate(2.0), 2)
    ad = ClassAd(
        MyType="Machine", TargetType="Job", Name=name, Machine=host,
        MyAddress=f"<10.0.{number % 250}.{number % 241}:9618>",
        Arch=source.choices(("X86_64", "AARCH64"), (9, 1))[0], OpSys=source.choices(("LINUX", "WINDOWS"), (19, 1))[0],
        OpSysMajorVer=source.choice((7, 8, 9)), State=source.choices(("Unclaimed", "Claimed", "Owner"), (4, 5, 1))[0],
        Activity=source.choice(("Idle", "Busy")), Memory=source.choice((1024, 2048, 4096, 7950, 16000)) + number % 64,
        Cpus=source.choice((1, 1, 1, 2, 4, 8)), Disk=source.randrange(10**5, 10**8), KeyboardIdle=idle,
        ConsoleIdle=idle + source.randrange(1000), LoadAvg=load, CondorLoadAvg=round(load * source.random(), 2),
        HasFileTransfer=source.random() < 0.97, FileSystemDomain=source.choice(("example.org", "lab.example.org")),
        DeniedUser=source.choice(("nobody", "guest9")), JobStart=1_600_000_000 + number,
        EnteredCurrentState=1_600_000_000 + source.randrange(10**6), EnteredCurrentActivity=1_600_000_000 + number * 3,
    )  # fmt: skip
    for name_, expressions in shared.items():
        ad[name_] = expressions[kind % len(expressions)]
    ad["START"] = starts[kind]
    ad["Requirements"] = requirements[(kind + number % 8 // 4) % len(requirements)]
    for at in range(SLOT_ATTRIBUTES - len(ad)):
        match at % 6:
            case 0 | 1 | 2:
                ad[f"Counter{at}"] = source.randrange(10**9)
            case 3:
                ad[f"Measured{at}"] = source.random() * 100
            case 4:
                ad[f"Has{at}"] = source.random() < 0.5
            case _:
                ad[f"Label{at}"] = f"value{source.randrange(20)}"
    return name, ad


def make_jobs(count: int, seed: int) -> list[ClassAd]:
    """Jobs of many users: the same few texts of Requirements, every number another."""
    source = random.Random(seed)
    memory = Expr.parse(REQUEST_MEMORY)
    requirements = [Expr.parse(text) for text in JOB_REQUIREMENTS]
    ranks = [Expr.parse(text) for text in ("0.0", "TARGET.Memory", "TARGET.Memory / 1024.0 - TARGET.LoadAvg")]
    jobs = []
    for number in range(count):
        job = ClassAd(
            MyType="Job", TargetType="Machine", ClusterId=1000 + number, ProcId=0, Owner=source.choice(OWNERS),
            Group=source.choice(("physics", "biology")), ImageSize=source.randrange(10_000, 4_000_000),
            JobPrio=source.randrange(-5, 6), JobUniverse=5, QDate=1_600_000_000 + source.randrange(10**6),
            RequestCpus=source.choice((1, 1, 1, 2, 4)), RequestDisk=source.randrange(10_000, 5_000_000),
            FileSystemDomain="example.org", LastRemoteHost=f"node{source.randrange(6000)}.example.org",
            Cmd="/bin/sim", Iwd="/home/user", Args=str(number),
        )  # fmt: skip
        job["RequestMemory"] = memory if source.random() < 0.7 else source.randrange(200, 4000)
        job["Requirements"] = requirements[number % len(requirements)]
        job["Rank"] = ranks[number % len(ranks)]
        jobs.append(job)
    return jobs


def _seconds(run: Any) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def run(*, quick: bool) -> list[Row]:
    """Rows (c), (d) and (e)."""
    classad2 = reference()
    slots = make_slots(10_000 if quick else 50_000, 1)
    # The ads of the benchmark itself are not to be walked by the collector while something is timed.
    gc.collect()
    gc.freeze()
    start = time.perf_counter()
    table = Table(slots)
    build = time.perf_counter() - start
    rows = matching_rows(classad2, table, slots, make_jobs(64, 2))
    rows += _updating(classad2, table, slots, build)
    gc.unfreeze()
    rows.append(_memory(20_000 if quick else 100_000))
    return rows


def matching_rows(classad2: Any, table: Table, slots: list[tuple[str, ClassAd]], jobs: list[ClassAd]) -> list[Row]:
    """A job against the whole table: every third job has the same text of Requirements, and none was seen before."""
    sample = random.Random(3).sample(range(len(slots)), 1000)
    theirs_slots = [classad2.ClassAd(str(slots[at][1])) for at in sample]
    ours, theirs = [], []
    for number, job in enumerate(jobs):
        ours.append(_seconds(lambda: table.match(job)) / len(table))  # noqa: B023
        if number % 4:
            continue
        their_job = classad2.ClassAd(str(job))
        start = time.perf_counter()
        found = [slot.symmetricMatch(their_job) for slot in theirs_slots]
        theirs.append((time.perf_counter() - start) / len(sample))
        if found != table.match(job)[sample].tolist():
            raise AssertionError(f"job {number} matches differently here and in the reference")
    texts = len(JOB_REQUIREMENTS)
    first, last, pair = statistics.median(ours[1:texts]), statistics.median(ours[texts:]), statistics.median(theirs)
    return [
        Row(
            name=f"(c) a job against {len(table):,} slots",
            ratio=pair / last,
            # On a small table the calls cost more than the rows.
            wanted=1000 if len(table) >= 50_000 else None,
            detail=f"{last * 1e9:.1f} ns a pair, {last * len(table) * 1e3:.2f} ms a job; {pair * 1e6:.1f} us classad2; "
            f"answers compared: {len(sample)} slots x {len(theirs)} jobs",
            bound="about 5 us for a comparison of 50,000 rows, 2 us for an &&, 1 us for any NumPy call",
        ),
        Row(
            name="(c) the same, first job with its Requirements",
            ratio=pair / first,
            wanted=None,
            detail=f"{first * 1e9:.1f} ns a pair; the very first job of all {ours[0] * 1e9:.1f} ns",
            bound="every part of Requirements and START that looks at slots only is computed here, and kept",
        ),
    ]


def _updating(classad2: Any, table: Table, slots: list[tuple[str, ClassAd]], build: float) -> list[Row]:
    texts = [str(ad) for _, ad in slots[:1000]]
    parse = statistics.median(_seconds(lambda: [classad2.ClassAd(text) for text in texts]) for _ in range(3))
    parse /= len(texts)
    source = random.Random(4)
    rounds = []
    for _ in range(5):
        fresh = [_changed(*slots[at], source) for at in source.sample(range(len(slots)), 1000)]
        start = time.perf_counter()
        for name, ad in fresh:
            table.update(name, ad)
        rounds.append((time.perf_counter() - start) / len(fresh))
    update, bulk = statistics.median(rounds), build / len(slots)
    job = make_jobs(1, 9)[0]
    after = _seconds(lambda: table.match(job))
    return [
        Row(
            name=f"(d) build a table of {len(slots):,} ads",
            ratio=parse / bulk,
            wanted=None,
            detail=f"{bulk * 1e6:.0f} us an ad of {SLOT_ATTRIBUTES} attributes; classad2 parses: {parse * 1e6:.0f} us",
            bound="a look at the Python object of each cell",
        ),
        Row(
            name="(d) update 1,000 rows, 5 attributes changed in each",
            ratio=parse / update,
            wanted=None,
            detail=f"{update * 1e6:.0f} us a row; the next match takes {after * 1e3:.2f} ms",
            bound="comparing each cell with what is there, in Python: some 0.3 us",
        ),
    ]


def _changed(name: str, ad: ClassAd, source: random.Random) -> tuple[str, ClassAd]:
    ad = ad.copy()
    ad["LoadAvg"], ad["KeyboardIdle"] = source.random(), source.randrange(10**4)
    ad["ConsoleIdle"], ad["Disk"] = source.randrange(10**4), source.randrange(10**8)
    ad["EnteredCurrentActivity"] = source.randrange(10**9)
    return name, ad


#: Ads of the reference library that are made to see how much memory each takes.
_REFERENCE_ADS = 5_000

_REFERENCE_MEMORY = """
import resource, sys
import htcondor2, classad2
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()
texts = sys.stdin.read().split("\\0")
before = resident()
ads = [classad2.ClassAd(text) for text in texts]
print((resident() - before) / len(ads))
"""


def _reference_bytes(slots: list[tuple[str, ClassAd]]) -> float:
    """Bytes of resident memory that each of these ads takes in the reference library, in a process of its own."""
    texts = "\0".join([str(ad) for _, ad in slots])
    done = subprocess.run(
        [sys.executable, "-c", _REFERENCE_MEMORY], input=texts, capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def _memory(count: int) -> Row:
    slots = make_slots(count, 5)
    theirs = _reference_bytes(slots[:_REFERENCE_ADS])
    gc.collect()
    tracemalloc.start()
    table = Table(slots)
    gc.collect()
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    each = used / count
    return Row(
        name=f"(e) bytes an ad, {count:,} ads of {SLOT_ATTRIBUTES} attributes",
        ratio=theirs / each,
        wanted=None,
        detail=f"{each:,.0f} bytes, {table.nbytes / count:,.0f} of them columns; {theirs:,.0f} bytes classad2",
        bound="8 bytes a number, 4 a string or expression, 1 a boolean, and 1 for the state of each cell",
    )
