"""A real pool that runs by a Grid Engine cell: what its users wait for, from `qsub` to the record in `qacct`.

The daemons are started by `roost up`, with one host of 16 slots, and asked by Grid Engine's commands. Times of commands
are processor time of their processes, because other work on the machine lets them wait; rates and delays are elapsed
time, with the load of the machine besides them.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from bench import accounting
from bench.measure import Row
from bench.pool import SLOTS, Pool, started
from bench.spawn_rate import raw_rate
from roost.base.records import replace
from roost.gridengine.accounting_lines import read_line
from roost.gridengine.cell import new_cell, write_cell
from roost.gridengine.objects.host import ExecutionHost, HostGroup
from roost.gridengine.objects.queue import ClusterQueue, QueueSettings

#: What is wanted: jobs/s from submission to accounted end, s from `qsub` to start, s of `qstat` and `qacct`, s of
#: processor time for the start of a command.
WANTED_RATE: Final = 200.0
WANTED_START_S: Final = 0.040
WANTED_QSTAT_S: Final = 1.0
WANTED_QACCT_S: Final = 1.0
WANTED_COMMAND_S: Final = 0.100
JOBS: Final = 10_000
KINDS: Final = 100
#: Commands that only ask, with an empty queue.
ASKING: Final = ("qstat", "qhost", "qquota", "qselect", "qrstat", "qconf -sql", "qacct -j 1", "qdel 1", "qhold 1")


class Cell:
    """A pool with a cell, and its user."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        #: Runs that were accounted before what is measured now.
        self.ended_before = 0
        self.accounting = pool.home / "gridengine" / "default" / "common" / "accounting"
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("ROOST_", "_CONDOR_", "_ROOST_", "SGE_")) and name != "PYTHONDONTWRITEBYTECODE"
        } | {"ROOST_HOME": str(pool.home), "HOME": str(pool.work)}

    def configure(self) -> None:
        """Give the pool a cell: all.q with a slot for each of the host's, whatever its load."""
        host = str(json.loads((self.pool.home / "run" / "contact.json").read_text())["node"])
        settings = QueueSettings(slots=SLOTS, load_thresholds=(), tmpdir=str(self.pool.work))
        cell = new_cell()
        cell = replace(
            cell,
            hosts={**cell.hosts, host: ExecutionHost(name=host)},
            host_groups={**cell.host_groups, "@allhosts": HostGroup(name="@allhosts", hostlist=(host,))},
            queues={"all.q": ClusterQueue(name="all.q", hostlist=("@allhosts",), defaults=settings)},
        )
        for name, text in write_cell(cell).items():
            path = self.pool.work / "cell" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.pool("cell", "apply", str(self.pool.work / "cell"))

    def process(self, *words: str) -> tuple[str, float, float]:
        """Run a command as a process: what it prints, its processor time, the time that passes; s."""
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "roost.cli.gridengine", *words],
            cwd=self.pool.work, env=self.environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        elapsed, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
        return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, elapsed

    @contextmanager
    def at_home(self) -> Iterator[None]:
        """Let commands that are called in this process find the pool."""
        kept = dict(os.environ)
        os.environ.clear()
        os.environ.update(self.environment)
        try:
            with contextlib.chdir(self.pool.work):
                yield
        finally:
            os.environ.clear()
            os.environ.update(kept)

    def records(self) -> Counter[tuple[int, int]]:
        """Accounting records of runs that went well, by job and task."""
        lines = self.accounting.read_text().splitlines() if self.accounting.exists() else []
        found = [read_line(line) for line in lines if not line.startswith("#")]
        return Counter((one.job, one.task) for one in found if one.failed == 0 and one.exit_status == 0)

    def ended(self) -> int:
        """How many lines the accounting file has."""
        if not self.accounting.exists():
            return 0
        return sum(not line.startswith(b"#") for line in self.accounting.read_bytes().splitlines())

    def await_ends(self, count: int, within_s: float) -> None:
        """Wait for so many lines."""
        until = time.monotonic() + within_s
        while self.ended() < count:
            assert time.monotonic() < until, f"{self.ended()} of {count} runs are accounted after {within_s:g} s"
            time.sleep(0.02)


def qsub(*words: str) -> int:
    """`qsub` in this process; the number of the job."""
    from roost.cli.gridengine.entry import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main("qsub", ["-terse", *words])
    assert status == 0, err.getvalue()
    return int(out.getvalue().split(".")[0])


def run(*, quick: bool) -> Iterator[Row]:
    """Commands, delays and rates on one pool; many jobs on a second; `qacct` over many records on a third."""
    jobs = JOBS // 10 if quick else JOBS
    with started() as pool:
        cell = Cell(pool)
        cell.configure()
        yield _commands(cell, 1 if quick else 5)
        # The machine's own benchmarks are over then.
        time.sleep(2 if quick else 10)
        yield from _start(cell, 5 if quick else 30)
        yield _rate(cell, 500 if quick else 5_000, wanted=not quick)
    with started() as pool:
        cell = Cell(pool)
        cell.configure()
        yield from _many(cell, jobs)
    with started() as pool:
        yield from _accounting(Cell(pool), accounting.RUNS // 10 if quick else accounting.RUNS)


def _commands(cell: Cell, rounds: int) -> Row:
    """The slowest command to ask the daemons of an empty queue."""
    for words in ASKING:
        cell.process(*words.split())  # which leaves the modules' byte code behind
    used = {words: min(cell.process(*words.split())[1] for _ in range(rounds)) for words in ASKING}
    slowest = max(used, key=lambda words: used[words])
    return Row(
        name="cell: start of a command of Grid Engine's, the slowest",
        ratio=WANTED_COMMAND_S / used[slowest],
        wanted=1,
        detail=f"{used[slowest] * 1000:.0f} ms of processor, {slowest}; "
        f"{statistics.median(used.values()) * 1000:.0f} in the median of {len(used)}",
        bound="the start of Python, a connection, one question",
    )


def _start(cell: Cell, rounds: int) -> Iterator[Row]:
    """From `qsub` to the moment at which the program looks at the clock; `qsub` is a call within this process."""
    told = cell.pool.work / "began"
    asked, answered = [], []
    for _ in range(rounds):
        begun = time.time()
        with cell.at_home():
            qsub("-b", "y", "-shell", "n", "-o", str(told), "-j", "y", "/bin/date", "+%s.%N")
        returned = time.time()
        # All that the end has led to is over then.
        cell.await_ends(cell.ended_before + 1, 60)
        cell.ended_before += 1
        asked.append(float(told.read_text()) - begun)
        answered.append(asked[-1] - returned + begun)
        told.unlink()
        time.sleep(0.5)
    for name, seconds in (("from the begin of qsub", asked), ("from the return of qsub", answered)):
        median = statistics.median(seconds)
        yield Row(
            name=f"cell: start of a job, {name}",
            ratio=WANTED_START_S / median,
            wanted=1,
            detail=f"{median * 1000:.1f} ms median of {rounds}, {min(seconds) * 1000:.1f} least, "
            f"{max(seconds) * 1000:.1f} most; load {os.getloadavg()[0]:.1f}",
            bound="two commits to disk, a scheduling run, a claim, five processes that were asleep",
        )


def _rate(cell: Cell, count: int, *, wanted: bool) -> Row:
    raw, before, begun = raw_rate(1_000, SLOTS), cell.pool.cpu_s(), time.perf_counter()
    with cell.at_home():
        number = qsub("-t", f"1-{count}", "-b", "y", "-shell", "n", "-o", "/dev/null", "-j", "y", "/bin/true")
    cell.await_ends(cell.ended_before + count, count / 5)
    seconds = time.perf_counter() - begun
    cell.ended_before += count
    _check(cell, {(number, task): 1 for task in range(1, count + 1)})
    return _rate_row(f"{count:,} tasks of one array", count, seconds, _costs(cell, before, count), raw, wanted=wanted)


def _costs(cell: Cell, before: dict[str, float], count: int) -> dict[str, float]:
    """Processor time of daemons for a job, ms."""
    after = cell.pool.cpu_s()
    daemons = ("node", "schedd", "central", "nats-server")
    return {name: (after.get(name, 0.0) - before.get(name, 0.0)) / count * 1000 for name in daemons}


def _rate_row(what: str, count: int, seconds: float, costs: dict[str, float], raw: float, *, wanted: bool) -> Row:
    rate, told = count / seconds, ", ".join(f"{name} {each:.1f}" for name, each in costs.items())
    return Row(
        name=f"cell: /bin/true on {SLOTS} slots, {what}",
        ratio=rate / WANTED_RATE,
        wanted=1 if wanted else None,
        detail=f"{rate:,.0f} jobs/s from qsub to the last accounting record, {raw:,.0f}/s raw; wanted are "
        f"{WANTED_RATE:g}; ms of processor a job: {told}, in all {sum(costs.values()):.1f}; "
        f"load {os.getloadavg()[0]:.1f}",
        bound="the processor: a claim, a sandbox and a TMPDIR for each job, a scheduling run for each few ends",
    )


def _check(cell: Cell, expected: dict[tuple[int, int], int]) -> None:
    """Every run of these jobs is accounted once."""
    found = {key: count for key, count in cell.records().items() if key in expected}
    wrong = {key: (expected[key], found.get(key, 0)) for key in expected if expected[key] != found.get(key)}
    assert not wrong, f"{len(wrong)} runs are not accounted once, such as {dict(list(wrong.items())[:3])}"


def _many(cell: Cell, count: int) -> Iterator[Row]:
    """Submit one job at a time on hold, ask for all, release all, and see each end once."""
    begun = time.perf_counter()
    with cell.at_home():
        numbers = [qsub("-h", *_kind(number), "/bin/true") for number in range(count)]
    submitted_s = time.perf_counter() - begun
    times = []
    for _ in range(3):
        before = cell.pool.cpu_s()
        out, used, elapsed = cell.process("qstat")
        assert len(out.splitlines()) == count + 2
        times.append((used + sum(_costs(cell, before, 1000).values()), elapsed))
    used, elapsed = min(times)
    yield Row(
        name=f"cell: qstat of {count:,} jobs",
        ratio=WANTED_QSTAT_S / used,
        wanted=1,
        detail=f"{used:.2f} s of processor of the command and the daemons, {elapsed:.2f} s elapsed; they were "
        f"submitted one at a time at {count / submitted_s:,.0f}/s; load {os.getloadavg()[0]:.1f}",
        bound="a row for each job, in the queue, on the wire and in the table",
    )
    raw, before, begun = raw_rate(1_000, SLOTS), cell.pool.cpu_s(), time.perf_counter()
    cell.process("qrls", "-u", "*")
    cell.await_ends(count, count / 5)
    seconds = time.perf_counter() - begun
    _check(cell, dict.fromkeys(((number, 0) for number in numbers), 1))
    costs = _costs(cell, before, count)
    yield _rate_row(f"{count:,} jobs of {KINDS} kinds", count, seconds, costs, raw, wanted=False)


def _kind(number: int) -> tuple[str, ...]:
    """Options of one of 100 kinds."""
    kind = number * 7919 % KINDS
    words = ("-N", f"kind{kind}", "-l", f"h_rt={600 + kind}", "-p", str(-(kind % 4)))
    return (*words, "-b", "y", "-shell", "n", "-o", "/dev/null", "-j", "y")


def _accounting(cell: Cell, runs: int) -> Iterator[Row]:
    """`qacct` over many records, which are put into the database of a pool that is down."""
    cell.configure()
    cell.pool("down")
    accounting.fill(cell.pool.home / "db" / "queue.sqlite", runs)
    cell.pool("up", "-d")
    for words in ("qacct", "qacct -o user7", "qacct -o -q -h node7", "qacct -j 777", "qacct -j job77"):
        cell.process(*words.split())
        before = cell.pool.cpu_s()
        out, used, elapsed = cell.process(*words.split())
        assert len(out.splitlines()) > 2, out
        used += sum(_costs(cell, before, 1000).values())
        yield Row(
            name=f"cell: {words} over {runs:,} records",
            ratio=WANTED_QACCT_S / used,
            wanted=1,
            detail=f"{used:.2f} s of processor of the command and the daemons, {elapsed:.2f} s elapsed, "
            f"{len(out.splitlines()):,} lines; load {os.getloadavg()[0]:.1f}",
            bound="sums by kind of record, and an index by job and name",
        )
