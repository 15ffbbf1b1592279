"""A pool with a Grid Engine cell suspends jobs, and lets them go on when no cause is left: seen in their processes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.integration.kit import Pool, eventually
from tests.integration.test_cell_jobs import cell, node, queue_text

#: A shell that counts, so that it is seen to run on.
COUNT = "echo $$ > {0}.pid; while [ ! -e {0}.gate ]; do echo >> {0}.count; sleep 0.05; done"


class Job:
    """A job that runs until it is told to end."""

    def __init__(self, pool: Pool, place: Path, name: str, **submit: str) -> None:
        self.pool, self.base = pool, place / name
        text = "\n".join(f"{key} = {value}" for key, value in submit.items())
        self.id = f"{pool.submit(text, COUNT.format(self.base))}.0"

    def started(self) -> Job:
        pid = self.base.with_suffix(".pid")
        eventually(lambda: pid.exists() and pid.read_text().endswith("\n"), f"{self.base.name} has started")
        return self

    @property
    def is_stopped(self) -> bool:
        """Whether its process is in state T, or is frozen with its control group."""
        process = Path("/proc") / self.base.with_suffix(".pid").read_text().strip()
        if (process / "stat").read_text().rpartition(")")[2].split()[0] == "T":
            return True
        group = (process / "cgroup").read_text().rpartition("::/")[2].strip()
        mounts = (line.split() for line in Path("/proc/mounts").read_text().splitlines())
        roots = [Path(place) for _, place, kind, *_ in mounts if kind == "cgroup2"]
        found = [each for root in roots if (each := root / group / "cgroup.events").exists()]
        return bool(group) and any("frozen 1" in each.read_text() for each in found)

    @property
    def count(self) -> int:
        return self.base.with_suffix(".count").stat().st_size

    @property
    def slot(self) -> dict[str, Any]:
        """The ad of its slot."""
        rows = json.loads(self.pool("status", "--json"))
        return next((row for row in rows if row.get("JobId") == self.id), {})

    def causes(self) -> list[str]:
        return [each for each in str(self.slot.get("CellSuspenders", "")).split(",") if each]

    def stands_still(self, *causes: str) -> None:
        """It is stopped, for these causes, and the queue knows it."""
        eventually(lambda: self.is_stopped, lambda: f"{self.base.name} is stopped: {self.slot}")
        eventually(lambda: self.causes() == list(causes), lambda: f"{self.base.name}: {self.causes()} is not {causes}")
        eventually(lambda: self.pool.job(self.id)["JobStatus"] == 7, "the queue knows")

    def goes_on(self) -> None:
        """It is not stopped, and does something."""
        eventually(lambda: not self.is_stopped, lambda: f"{self.base.name} goes on: {self.slot}")
        before = self.count
        eventually(lambda: self.count > before, f"{self.base.name} does something")
        eventually(lambda: self.pool.job(self.id)["JobStatus"] == 2, "the queue knows")

    def end(self) -> None:
        self.base.with_suffix(".gate").touch()
        self.pool.wait(self.id.partition(".")[0])


def apply(pool: Pool, place: Path, **files: str) -> None:
    """Change the cell of the pool: files by name, in which __ stands for a slash and a dot is written as _dot_."""
    for name, text in files.items():
        path = place / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    pool("cell", "apply", str(place))


def two_queues(pool: Pool, place: Path, **high: str) -> None:
    """low.q and high.q next to all.q; `high` are values of high.q."""
    cell(pool, place)
    apply(
        pool,
        place,
        cqueues__low_dot_q=queue_text("low.q", slots="4"),
        cqueues__high_dot_q=queue_text("high.q", slots="4", **high),
    )


def letters(pool: Pool) -> dict[str, str]:
    """Queue to the letters of its instance."""
    return {row["name"].partition("@")[0]: row["states"] for row in json.loads(pool("cell", "queues", "--json"))}


def test_jobs_of_a_subordinated_queue_stand_still_and_go_on(start: Callable[..., Pool], tmp_path: Path) -> None:
    pool = start(cpus=4)
    two_queues(pool, tmp_path / "cell", subordinate_list="low.q=2")
    low = Job(pool, tmp_path, "low", cell_queues="low.q").started()
    first = Job(pool, tmp_path, "first", cell_queues="high.q").started()
    low.goes_on()
    second = Job(pool, tmp_path, "second", cell_queues="high.q").started()
    low.stands_still("subordination")
    assert letters(pool) == {"all.q": "", "high.q": "", "low.q": "S"}
    host = node(pool)
    assert low.slot["CellSuspension"] == f"low.q@{host} is subordinated to high.q@{host}"
    first.end()
    low.goes_on()
    second.end()
    low.end()
    # Executing, suspended, unsuspended.
    assert [each for each in pool.events(int(low.id.partition(".")[0])) if each in ("001", "010", "011")] == [
        "001",
        "010",
        "011",
    ]


def test_a_job_stays_suspended_over_restarts_and_goes_on_though_nobody_was_there_to_say_so(
    start: Callable[..., Pool], tmp_path: Path
) -> None:
    pool = start(cpus=4)
    two_queues(pool, tmp_path / "cell", subordinate_list="low.q=1")
    low = Job(pool, tmp_path, "low", cell_queues="low.q").started()
    high = Job(pool, tmp_path, "high", cell_queues="high.q").started()
    low.stands_still("subordination")
    for role in ("node", "central", "schedd"):
        pool.kill(role)
        time.sleep(1)
        low.stands_still("subordination")
    # The cause goes away while the central manager is away.
    high.base.with_suffix(".gate").touch()
    pool.kill("central")
    low.goes_on()
    low.end()


def test_slotwise_subordination_suspends_single_jobs(start: Callable[..., Pool], tmp_path: Path) -> None:
    pool = start(cpus=4)
    two_queues(pool, tmp_path / "cell", subordinate_list="slots=2(low.q:1:sr)")
    old = Job(pool, tmp_path, "old", cell_queues="low.q").started()
    time.sleep(1.1)  # JobStart is in whole seconds.
    young = Job(pool, tmp_path, "young", cell_queues="low.q").started()
    high = Job(pool, tmp_path, "high", cell_queues="high.q").started()
    young.stands_still("slots")
    old.goes_on()
    assert letters(pool)["low.q"] == ""
    another = Job(pool, tmp_path, "another", cell_queues="high.q").started()
    old.stands_still("slots")
    another.end()
    old.goes_on()
    assert young.is_stopped
    high.end()
    young.goes_on()
    for each in (old, young):
        each.end()


def test_thresholds_suspend_one_job_after_the_other(start: Callable[..., Pool], tmp_path: Path) -> None:
    level = tmp_path / "level"
    level.write_text("pressure = 1.0\n")
    pool = start(
        "STARTD_CRON_JOBLIST = gauge\nSTARTD_CRON_gauge_EXECUTABLE = /bin/cat\n"
        f"STARTD_CRON_gauge_ARGS = {level}\nSTARTD_CRON_gauge_PERIOD = 1\nSTARTD_CRON_AUTOPUBLISH = If_Changed\n",
        cpus=4,
    )
    place = tmp_path / "cell"
    cell(
        pool, place, complexes="pressure pressure DOUBLE >= NO NO 0 0",
        suspend_thresholds="pressure=5", suspend_interval="0:0:4", nsuspend="1",
    )  # fmt: skip
    old = Job(pool, tmp_path, "old").started()
    time.sleep(1.1)
    young = Job(pool, tmp_path, "young").started()
    level.write_text("pressure = 7.0\n")
    young.stands_still("threshold")
    assert not old.is_stopped
    old.stands_still("threshold")
    assert letters(pool)["all.q"] == "A"
    level.write_text("pressure = 1.0\n")
    old.goes_on()
    young.goes_on()
    # What has no threshold any more goes on at once.
    level.write_text("pressure = 7.0\n")
    young.stands_still("threshold")
    apply(pool, place, cqueues__all_dot_q=queue_text(slots="4"))
    young.goes_on()
    for each in (old, young):
        each.end()


def test_a_calendar_suspends_what_runs_and_the_owner_has_a_say_too(start: Callable[..., Pool], tmp_path: Path) -> None:
    owner = tmp_path / "owner"
    owner.write_text("here = false\n")
    pool = start(
        "WANT_SUSPEND = True\nSUSPEND = here =?= True\nCONTINUE = here =!= True\nPREEMPT = False\n"
        "STARTD_CRON_JOBLIST = door\nSTARTD_CRON_door_EXECUTABLE = /bin/cat\n"
        f"STARTD_CRON_door_ARGS = {owner}\nSTARTD_CRON_door_PERIOD = 1\nPOLLING_INTERVAL = 1\n",
        cpus=2,
    )
    place = tmp_path / "cell"
    cell(pool, place)
    job = Job(pool, tmp_path, "job").started()
    week = "calendar_name night\nyear NONE\nweek mon-sun=suspended\n"
    apply(pool, place, calendars__night=week, cqueues__all_dot_q=queue_text(slots="4", calendar="night"))
    job.stands_still("calendar")
    assert letters(pool)["all.q"] == "C"
    owner.write_text("here = true\n")
    eventually(lambda: job.slot.get("here") is True, "the owner is there")
    time.sleep(1.5)
    apply(pool, place, calendars__night=week.replace("mon-sun=suspended", "NONE"))
    eventually(lambda: job.causes() == [], "the calendar is open")
    assert job.is_stopped
    owner.write_text("here = false\n")
    job.goes_on()
    job.end()


def test_queues_that_came_to_suspend_each_other_do_not_stand_still_for_ever(
    start: Callable[..., Pool], tmp_path: Path
) -> None:
    pool = start(cpus=4)
    place = tmp_path / "cell"
    two_queues(pool, place)
    low = Job(pool, tmp_path, "low", cell_queues="low.q").started()
    time.sleep(1.1)
    high = Job(pool, tmp_path, "high", cell_queues="high.q").started()
    apply(
        pool,
        place,
        cqueues__low_dot_q=queue_text("low.q", slots="4", subordinate_list="high.q=1"),
        cqueues__high_dot_q=queue_text("high.q", slots="4", subordinate_list="low.q=1"),
    )
    high.stands_still("subordination")
    low.goes_on()
    low.end()
    high.goes_on()
    high.end()


def test_queue_instances_are_disabled_and_suspended_by_command_over_restarts(
    start: Callable[..., Pool], tmp_path: Path
) -> None:
    pool = start(cpus=4)
    place = tmp_path / "cell"
    two_queues(pool, place, initial_state="disabled")
    host = node(pool)
    low = Job(pool, tmp_path, "low", cell_queues="low.q").started()
    waiting = Job(pool, tmp_path, "waiting", cell_queues="high.q")
    assert letters(pool) == {"all.q": "", "high.q": "d", "low.q": ""}
    why = f'queue instance "high.q@{host}" dropped because it is disabled'
    eventually(lambda: why in pool.try_("explain", "job", waiting.id).stdout, "the run says why")
    assert f'changed state of "high.q@{host}" (enabled)' in pool("cell", "enable", "high.q")
    waiting.started()

    words = pool("cell", "suspend", "low.q", f"all.q@{host}")
    assert [line.partition(" ")[2] for line in words.splitlines()] == [
        f'changed state of "low.q@{host}" (suspended)',
        f'changed state of "all.q@{host}" (suspended)',
    ]
    low.stands_still("command")
    pool("cell", "disable", "low.q")
    assert pool("cell", "disable", "low.q") == (
        f'Queue instance "low.q@{host}" is already in the specified state: disabled\n'
    )
    wrong = pool.try_("cell", "enable", "nosuch.q")
    assert (wrong.returncode, wrong.stderr) == (1, 'invalid queue "nosuch.q"\n')
    for role in ("schedd", "central", "node"):
        pool.kill(role)
    eventually(lambda: pool.try_("cell", "queues").returncode == 0, "the pool is back")
    # The daemon of the machine has started: high.q has its `initial_state` again.
    eventually(lambda: letters(pool) == {"all.q": "s", "high.q": "d", "low.q": "ds"}, lambda: str(letters(pool)))
    low.stands_still("command")
    told = pool.try_("explain", "slot", str(low.slot["Name"])).stdout
    assert f"The cell suspends its job, whatever CONTINUE says: queue instance low.q@{host} is suspended." in told
    told = pool.try_("explain", "job", low.id).stdout
    assert f"The cell suspends it: queue instance low.q@{host} is suspended." in told
    assert f"queue instance low.q@{host} is suspended" in pool("story", "job", low.id)
    pool("cell", "resume", "*")
    low.goes_on()

    def commands() -> list[str]:
        record = json.loads(pool("audit", "--json", "--kind", "command"))
        return [each["reason"] for each in record if each["reason"].startswith("cell ")]

    # The record of a command just before the kill is sent again.
    wanted = {f"cell disable low.q@{host}", f"cell suspend low.q@{host} all.q@{host}"}
    eventually(lambda: wanted <= {*commands()}, lambda: str(commands()))

    # An instance that goes takes its state with it.
    (place / "cqueues/all.q").unlink()
    pool("cell", "apply", str(place))
    apply(pool, place, cqueues__all_dot_q=queue_text(slots="4"))
    pool("cell", "disable", "all.q")
    for each in (low, waiting):
        each.end()
    assert letters(pool)["all.q"] == "d"


def test_orders_to_suspend_and_continue_outlast_a_daemon_that_restarts(
    start: Callable[..., Pool], tmp_path: Path
) -> None:
    pool = start(cpus=1)
    job = Job(pool, tmp_path, "job").started()
    job.goes_on()
    for role in ("node", "schedd"):
        for command, seen in (("suspend", job.stands_still), ("continue", job.goes_on)):
            # The order is on its way, or about to be sent, as the daemon ends.
            if role == "node":
                pool.kill(role)
            pool(command, job.id)
            if role == "schedd":
                pool.kill(role)
            seen()
    job.end()
