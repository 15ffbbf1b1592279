"""A real pool on this machine: how fast short jobs go through it, how soon one starts, what many of them cost.

All figures are of real daemons, started by `roost up` in a directory of their own with 16 slots, and asked by the
commands that people use. The raw rate besides them is that of a small process which forks, executes and waits, in the
same run: a machine is not as fast now as it was a minute ago.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bench.measure import Row
from bench.spawn_rate import raw_rate

SLOTS: Final = 16
#: What is wanted: jobs/s, s from submission to start, s to submit many, bytes of a job that waits, MB of an idle pool,
#: s of `roost queue` with no job and with many.
WANTED_RATE: Final = 200.0
WANTED_START_S: Final = 0.030
WANTED_SUBMIT_S: Final = 2.0
WANTED_JOB_BYTES: Final = 1024.0
WANTED_IDLE_MB: Final = 150.0
WANTED_QUEUE_EMPTY_S: Final = 0.150
WANTED_QUEUE_MANY_S: Final = 2.0
#: What `condor_submit` of one job may take, in starts of an interpreter that does nothing.
WANTED_SUBMIT_STARTS: Final = 9.0
MANY: Final = 100_000

_TICKS: Final = os.sysconf("SC_CLK_TCK")


class Pool:
    """A pool that is thrown away."""

    def __init__(self, place: Path) -> None:
        self.home = place / "home"
        self.work = place / "work"
        self.home.mkdir()
        self.work.mkdir()
        self.home.joinpath("roost.config").write_text(
            f"use ROLE : Personal\nNUM_CPUS = {SLOTS}\nMEMORY = {SLOTS * 1024}\n"
        )
        self._environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("ROOST_", "_CONDOR_", "_ROOST_"))
        } | {"ROOST_HOME": str(self.home)}

    def __call__(self, *words: str, text: str = "") -> str:
        """Run a command of Roost; what it prints."""
        command = [sys.executable, "-m", "roost.cli", *words]
        done = subprocess.run(
            command, cwd=self.work, env=self._environment, input=text, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"roost {' '.join(words)}: {done.stdout}{done.stderr}"
        return done.stdout

    def seconds(self, *words: str, text: str = "") -> float:
        """How long a command takes."""
        begun = time.perf_counter()
        self(*words, text=text)
        return time.perf_counter() - begun

    def submit(self, text: str) -> str:
        """Submit; the number of the cluster."""
        return str(json.loads(self("submit", "--json", text=text))[0]["cluster"])

    def processes(self) -> dict[int, str]:
        """All processes of the pool by number: what each is."""
        master = int(json.loads((self.home / "run" / "contact.json").read_text())["pid"])
        parents, names = {}, {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal():
                try:
                    text = (entry / "stat").read_text()
                except OSError:
                    continue
                parents[int(entry.name)] = int(text[text.rindex(")") + 2 :].split()[1])
                names[int(entry.name)] = text[text.index("(") + 1 : text.rindex(")")]
        roles = {int((self.home / "run" / f"{role}.pid").read_text()): role for role in ("central", "schedd", "node")}
        found = {master: "master"}
        for pid in sorted(parents):
            above = pid
            while above not in (0, 1, master):
                above = parents.get(above, 0)
            if above == master and pid != master:
                found[pid] = roles.get(pid, names[pid])
        return found

    def megabytes(self) -> float:
        """What all processes take, shared pages counted once."""
        return sum(_pss_kib(pid) for pid in self.processes()) / 1000

    def cpu_s(self) -> dict[str, float]:
        """Processor time of each daemon."""
        found = {}
        for pid, name in self.processes().items():
            words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            found[name] = (int(words[11]) + int(words[12])) / _TICKS
        return found

    def bytes_of(self, role: str) -> float:
        """The private memory of a daemon."""
        pid = next(pid for pid, name in self.processes().items() if name == role)
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return 1024.0 * sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))


def _pss_kib(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


@contextmanager
def started() -> Iterator[Pool]:
    """A pool that runs meanwhile."""
    place = Path(tempfile.mkdtemp(prefix="roost-bench-"))
    try:
        pool = Pool(place)
        pool("up", "-d")
        try:
            yield pool
        finally:
            pool("down")
    finally:
        shutil.rmtree(place, ignore_errors=True)


def run(*, quick: bool) -> Iterator[Row]:
    """(e), (f), (b) and (a) on one pool, (c) and (f) with many jobs on another: memory once used is not given back."""
    if not Path("/proc/self/smaps_rollup").exists():
        return
    with started() as pool:
        # The machine's own benchmarks, and what a start leaves behind, are over then.
        time.sleep(2 if quick else 10)
        yield _idle_memory(pool)
        yield _queue(pool, "no job", WANTED_QUEUE_EMPTY_S)
        yield _one_submission(pool, 5 if quick else 15)
        yield _start(pool, 5 if quick else 30)
        yield from _rate(pool, 500 if quick else 5_000)
    many = MANY // 10 if quick else MANY
    with started() as pool:
        yield from _many(pool, many)
        yield _queue(pool, f"{many:,} jobs", WANTED_QUEUE_MANY_S)


def _idle_memory(pool: Pool) -> Row:
    megabytes = pool.megabytes()
    return Row(
        name="pool (e) memory of an idle pool",
        ratio=WANTED_IDLE_MB / megabytes,
        wanted=1,
        detail=f"{megabytes:.0f} MB in {len(pool.processes())} processes, wanted are {WANTED_IDLE_MB:g}",
        bound="Python, NumPy, SQLAlchemy and NATS once, and what each daemon makes of them",
    )


def _queue(pool: Pool, what: str, wanted_s: float) -> Row:
    seconds = statistics.median(pool.seconds("queue") for _ in range(5))
    return Row(
        name=f"pool (f) roost queue, {what}",
        ratio=wanted_s / seconds,
        wanted=1,
        detail=f"{seconds:.3f} s, wanted are {wanted_s:g}",
        bound="the start of Python, a connection, one question",
    )


def _one_submission(pool: Pool, rounds: int) -> Row:
    """`condor_submit` of a small file to its end, and the bare interpreter in turn with it."""
    file = pool.work / "one.sub"
    file.write_text("executable = /bin/true\nlog = one.log\nrequest_memory = 64\nhold = true\nqueue\n")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["ROOST_HOME"] = str(pool.home)

    def seconds(*words: str) -> float:
        """Processor time: a machine with other work lets both wait, and not alike."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *words], cwd=pool.work, env=environment, capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    submit = ("-m", "roost.cli.condor", "condor_submit", str(file))
    seconds(*submit)  # which leaves the modules' byte code behind
    pairs = [(seconds("-c", "pass"), seconds(*submit)) for _ in range(rounds)]
    bare, whole = (statistics.median(each) for each in zip(*pairs, strict=True))
    pool("rm", "--all")
    return Row(
        name="pool (f) condor_submit of one job, against bare Python",
        ratio=WANTED_SUBMIT_STARTS * bare / whole,
        wanted=1,
        detail=f"{whole * 1000:.0f} ms of processor, {whole / bare:.1f} starts of an interpreter that does nothing "
        f"({bare * 1000:.0f} ms); wanted are {WANTED_SUBMIT_STARTS:g}",
        bound="the modules of the languages of configuration, submission and ClassAds; one commit to disk",
    )


def _start(pool: Pool, rounds: int) -> Row:
    """From the moment at which the request leaves to that at which the program looks at the clock."""
    told = pool.work / "began"
    seconds = []
    for _ in range(rounds):
        asked = _submitted(pool, f"executable = /bin/date\narguments = +%s.%N\noutput = {told}\nqueue\n")
        pool("wait", "--timeout", "60")
        seconds.append(float(told.read_text()) - asked)
        told.unlink()
        # No claim is held then, and all that the end has led to is over.
        time.sleep(0.5)
    median = statistics.median(seconds)
    return Row(
        name="pool (b) from submission to start, no claim held",
        ratio=WANTED_START_S / median,
        wanted=1,
        detail=f"{median * 1000:.1f} ms median of {rounds}, {min(seconds) * 1000:.1f} least, "
        f"{max(seconds) * 1000:.1f} most; wanted are {WANTED_START_S * 1000:g}",
        bound="two commits to disk one after the other, six messages, five processes that were asleep",
    )


def _submitted(pool: Pool, text: str) -> float:
    """Submit from this process; when that began."""
    import contextlib
    import io

    from roost.cli.__main__ import main

    file = pool.work / "job.sub"
    file.write_text(text)
    begun = time.time()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.chdir(pool.work):
        status = main(["submit", "--home", str(pool.home), str(file)])
    assert not status, status
    return begun


def _rate(pool: Pool, count: int) -> Iterator[Row]:
    raw = [raw_rate(count, SLOTS)]
    before, begun = pool.cpu_s(), time.perf_counter()
    cluster = pool.submit(f"executable = /bin/true\nqueue {count}\n")
    pool("wait", cluster)
    seconds, after = time.perf_counter() - begun, pool.cpu_s()
    raw.append(raw_rate(count, SLOTS))
    ended = len(json.loads(pool("history", "--json", "--limit", "0", cluster)))
    assert ended == count, f"{ended} of {count} jobs are in the history"
    rate = count / seconds
    daemons = ("node", "schedd", "central", "nats-server")
    used = {name: (after.get(name, 0.0) - before.get(name, 0.0)) / count * 1000 for name in daemons}
    costs = ", ".join(f"{name} {each:.1f}" for name, each in used.items())
    what = f"{count:,} jobs of /bin/true on {SLOTS} slots"
    yield Row(
        name=f"pool (a) {what}, against fork-exec-wait",
        ratio=rate / max(raw),
        wanted=None,
        detail=f"{rate:,.0f} jobs/s from submission to the last end on disk, {max(raw):,.0f}/s raw; ms of processor "
        f"a job: {costs}; load {os.getloadavg()[0]:.1f}",
        bound="a sandbox with the job's and the slot's ads, a record, a control group; four commits; five messages",
    )
    yield Row(
        name=f"pool (a) {what}, against {WANTED_RATE:g}/s",
        ratio=rate / WANTED_RATE,
        wanted=1,
        detail=f"{rate:,.0f} jobs/s",
    )


def _many(pool: Pool, count: int) -> Iterator[Row]:
    before = pool.bytes_of("schedd")
    text = f"executable = /bin/true\nrequirements = false\narguments = $(Process)\nqueue {count}\n"
    seconds = pool.seconds("submit", text=text)
    each = max(1.0, (pool.bytes_of("schedd") - before) / count)
    wanted_s = WANTED_SUBMIT_S * count / MANY
    yield Row(
        name=f"pool (c) {count:,} jobs submitted as one cluster",
        ratio=wanted_s / seconds,
        wanted=1,
        detail=f"{seconds:.2f} s, wanted are {wanted_s:g}",
        bound="the start of the command; one transaction",
    )
    yield Row(
        name="pool (c) memory of a job that waits",
        ratio=WANTED_JOB_BYTES / each,
        wanted=1,
        detail=f"{each:,.0f} bytes, wanted are {WANTED_JOB_BYTES:g}",
        bound="a byte of status, and what the plan of the cluster says of the differences",
    )
