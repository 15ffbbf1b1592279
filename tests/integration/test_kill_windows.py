"""Daemons are killed at every moment around the start of jobs that end before, while and after they are away.

Each job says in a file of its own that it begins and ends, and leaves results by transfer, under another name and in
its standard output. However young it was: it runs once, its end is told once, and its results are there.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.kit import Pool, eventually

Start = Callable[..., Pool]

_SCRIPT = """echo begin >> $1/proof.$2
case $3 in
during) while ! test -f $1/go.during; do sleep 0.02; done;;
after) while ! test -f $1/go.after; do sleep 0.02; done;;
esac
echo "result of $2"
echo "file of $2" > result
echo end >> $1/proof.$2"""
_WHEN = ("before", "during", "after")
_MOVED = 'should_transfer_files = YES\ntransfer_output_files = result\ntransfer_output_remaps = "result = {0}.result"\n'


class Round:
    """A few jobs, and what is killed under them."""

    def __init__(
        self, pool: Pool, number: int, *, moved: bool = True, universe: str = "vanilla", jobs: int = 9
    ) -> None:
        self.pool = pool
        self.place = pool.work / f"round{number}"
        self.place.mkdir()
        if os.geteuid() == 0:
            self.place.chmod(0o777)
        self.moved, self.jobs = moved, jobs
        common = f"initialdir = {self.place}\nuniverse = {universe}\noutput = $(Process).out\nerror = $(Process).err\n"
        how = _MOVED.format("$(Process)") if moved else ""
        items = "\n".join(_WHEN[each % 3] for each in range(jobs))
        text = f"{common}{how}arguments = {self.place} $(Process) $(when)\nqueue when from (\n{items}\n)\n"
        self.cluster = pool.submit(text, _SCRIPT)

    def proof(self, job: int) -> list[str]:
        path = self.place / f"proof.{job}"
        return path.read_text().split() if path.exists() else []

    def begun(self, after_s: float) -> None:
        """Wait until a job's process exists, and that long."""
        until = time.monotonic() + 120
        while not any(self.proof(job) for job in range(self.jobs)):
            assert time.monotonic() < until
            time.sleep(0.002)
        time.sleep(after_s)

    def go(self, when: str) -> None:
        (self.place / f"go.{when}").touch()

    def end_during(self) -> None:
        """Let the jobs end that are to end now, as far as they have begun."""
        self.go("during")
        mine = [job for job in range(self.jobs) if _WHEN[job % 3] != "after" and self.proof(job)]
        eventually(lambda: all("end" in self.proof(job) for job in mine))

    def check(self) -> None:
        self.pool.wait(self.cluster)
        wrong = [problem for job in range(self.jobs) for problem in self._problems(job)]
        assert not wrong, "\n".join([*wrong, self.pool.logs()])
        ended = json.loads(self.pool("history", "--json", "--long", str(self.cluster)))
        assert sorted(each["ProcId"] for each in ended) == list(range(self.jobs))
        assert {each["ExitCode"] for each in ended} == {0}
        told = {name: count for name, count in self.pool.ends().items() if name.startswith(f"{self.cluster}.")}
        assert told == {f"{self.cluster}.{job}": 1 for job in range(self.jobs)}

    def _problems(self, job: int) -> list[str]:
        found = []
        if self.proof(job) != ["begin", "end"]:
            found.append(f"job {job} ran so: {self.proof(job)}")
        wanted = {f"{job}.out": f"result of {job}\n", f"{job}.err": ""}
        if self.moved:
            wanted[f"{job}.result"] = f"file of {job}\n"
        for name, content in wanted.items():
            path = self.place / name
            here = path.read_text() if path.exists() else "no file"
            if here != content:
                found.append(f"{name}: {here!r}")
        return found


def _killed(pool: Pool, roles: tuple[str, ...], round_: Round) -> None:
    """Kill daemons; when they are back, some jobs have ended."""
    old = {role: pool.kill(role) for role in roles}
    if "master" in roles:
        eventually(lambda: not [words for words in pool.processes().values() if "roost.cli" in words])
        round_.end_during()
        pool.up()
    else:
        round_.end_during()
        eventually(lambda: all(pool.pid(role) not in (0, pid) for role, pid in old.items()))
    eventually(lambda: pool.try_("queue").returncode == 0)
    round_.go("after")


_PARTITIONABLE = "SLOT_TYPE_1_PARTITIONABLE = True\nNUM_SLOTS_TYPE_1 = 1\nSLOT_TYPE_1 = 100%\n"


@pytest.mark.parametrize(
    ("slots", "roles"), [("", ("node",)), (_PARTITIONABLE, ("master",)), (_PARTITIONABLE, ("node", "schedd"))]
)
def test_jobs_of_any_age_keep_their_results_when_daemons_are_killed(
    start: Start, slots: str, roles: tuple[str, ...]
) -> None:
    pool = start(slots, cpus=6)
    for number, after_s in enumerate((0.0, 0.3, 1.1)):
        round_ = Round(pool, number)
        round_.begun(after_s)
        _killed(pool, roles, round_)
        round_.check()


def test_jobs_without_transfer_run_once_when_daemons_are_killed(start: Start) -> None:
    pool = start(cpus=6)
    for number, roles in enumerate((("node",), ("master",))):
        round_ = Round(pool, number, moved=False)
        round_.begun(0.1 * number)
        _killed(pool, roles, round_)
        round_.check()


@pytest.mark.parametrize("universe", ["local", "scheduler"])
def test_jobs_beside_the_queue_run_once_when_it_is_killed(start: Start, universe: str) -> None:
    pool = start()
    for number, (roles, after_s) in enumerate(((("schedd",), 0.0), (("schedd",), 0.5), (("master",), 0.1))):
        round_ = Round(pool, number, moved=False, universe=universe, jobs=6)
        round_.begun(after_s)
        _killed(pool, roles, round_)
        round_.check()


def test_output_under_way_is_brought_to_its_end_however_long_a_daemon_is_away(start: Start, tmp_path: Path) -> None:
    pool = start()
    size = 48 * 1024 * 1024
    cluster = pool.submit(
        "should_transfer_files = YES\ntransfer_output_files = big\n",
        f"echo begin >> {tmp_path}/proof; head -c {size} /dev/zero | tr '\\0' x > big; echo end >> {tmp_path}/proof",
    )

    def under_way() -> bool:
        return any(path.stat().st_size for path in pool.work.glob(".roost-*.part"))

    for role in ("schedd", "node"):
        until = time.monotonic() + 120
        while not under_way():
            assert time.monotonic() < until and not (pool.work / "big").exists()
        old = pool.kill(role)
        eventually(lambda role=role, old=old: pool.pid(role) not in (0, old))  # type: ignore[misc]
    pool.wait(cluster)
    assert (tmp_path / "proof").read_text().split() == ["begin", "end"]
    assert (pool.work / "big").stat().st_size == size
    assert not list(pool.work.glob(".roost-*"))
    assert pool.job(f"{cluster}.0")["ExitCode"] == 0
