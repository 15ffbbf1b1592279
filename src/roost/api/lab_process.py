"""One lab run, in a process of its own: the pool's machines and jobs under the present and under a trial policy.

    python -m roost.api.lab_process

The order is a line of JSON on standard input, which stays open: where it ends, the server is gone, and so is the run.
What is said is a line of JSON each on standard output: ``progress`` (0 to 1), ``found`` (what is simulated), and at the
end ``result`` or ``problem``.

The trial is text of a user. The present configuration is read first, with the files and commands that it names; the
trial is read after it in a world that has only these: it reads no other file and runs no other command.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from roost.api.asking import PersonPool
from roost.api.people import Person, WebRole
from roost.api.problems import Problem
from roost.classad import ClassAd
from roost.config import MemoryHost
from roost.config.host import CommandResult
from roost.config.sources import Setting
from roost.lab.compare import compare
from roost.lab.inputs.recorded_pool import MACHINE_ATTRIBUTES, RecordedPool, recorded_jobs, recorded_machines
from roost.lab.machines import LabError, load_config
from roost.lab.report.comparison import cause_in_words, comparison_data
from roost.lab.report.course import Course
from roost.lab.simulate import Request
from roost.runtime.bus.command_client import Line
from roost.runtime.bus_settings import BusError, BusSettings
from roost.runtime.home import Home
from roost.runtime.machine import SystemHost
from roost.wire.ads import ad_from
from roost.wire.requests import central, queue
from roost.wire.requests.cell import ReadCell

#: What the trial is called in messages.
TRIAL: Final = "trial"
#: Jobs that are simulated at most: the last that left the queue, and as many that are in it.
JOBS_MAX: Final = 10_000
#: Kinds of changed decisions that are told.
_PARTINGS_MAX: Final = 30
_ASK_S: Final = 120.0
#: Time between two words on the progress, s.
_GAP_S: Final = 0.2
#: Largest file that the process may write, bytes: it writes none.
_FILE_BYTES: Final = 1 << 20


class _Recording:
    """The system, and what was read of it."""

    def __init__(self) -> None:
        self._system = SystemHost()
        self.files: dict[str, str] = {}
        self.commands: dict[str, CommandResult] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._system, name)

    def read_text(self, path: str) -> str | None:
        """The text of a file."""
        found = self._system.read_text(path)
        if found is not None:
            self.files[path] = found
        return found

    def run_command(self, command: str) -> CommandResult:
        """The output of a command that the present configuration includes."""
        if command not in self.commands:
            self.commands[command] = self._system.run_command(command)
        return self.commands[command]

    def write_cache(self, path: str, text: str) -> bool:
        """Daemons write it; a run only remembers it."""
        self.files[path] = text
        return True


def _say(**what: Any) -> None:
    print(json.dumps(what), flush=True)


def _end_with_the_server() -> None:
    """End when standard input does."""
    while os.read(0, 4096):
        pass
    os._exit(1)


def main() -> None:
    """Carry out the order."""
    order = json.loads(sys.stdin.readline())
    _limit(order)
    threading.Thread(target=_end_with_the_server, daemon=True).start()
    try:
        _say(result=_result(order))
    except MemoryError:
        _say(problem=f"it needs more than {order['memory_mb']} MB of memory (WEB_LAB_MEMORY_MAX)")
    except (LabError, Problem, BusError, OSError) as error:
        _say(problem=str(error))


def _limit(order: Mapping[str, Any]) -> None:
    """Bound what the process can take of the machine; the server looks after the time that passes."""
    memory, seconds = int(order["memory_mb"]) << 20, int(order["time_s"])
    for which, value in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, _FILE_BYTES),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(which, (value, value))
    with contextlib.suppress(OSError):
        os.nice(10)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _result(order: Mapping[str, Any]) -> dict[str, Any]:
    settings = (Setting("ROOST_HOME", order["home"]),)
    pool = _recorded(order, settings)
    _say(found={"machines": pool.machines, "jobs": len(pool.jobs)})
    present = tuple(order["roots"])
    files = _present_files(present, pool)
    host = MemoryHost(files=files.files | {TRIAL: order["text"]}, commands=files.commands)
    days = 7.0 * order["weeks"]
    old = Request(configs=present, recorded=pool, days=days)
    new = Request(configs=(*present, TRIAL), recorded=pool, days=days)
    courses: tuple[list[Course], list[Course]] = ([], [])

    def observer(side: int) -> Any:
        courses[side].append(Course(days * 86_400))
        return courses[side][-1].take

    told = 0.0

    def progress(share: float) -> None:
        nonlocal told
        if time.monotonic() - told > _GAP_S:
            told = time.monotonic()
            _say(progress=share)

    seeds = range(1, order["seeds"] + 1)
    found = compare(old, new, seeds, host, 90, progress, (lambda: observer(0), lambda: observer(1)))
    data = comparison_data(found)
    more = data["partings"][_PARTINGS_MAX:]
    del data["partings"][_PARTINGS_MAX:]
    return data | {
        "old": "present policy",
        "new": "trial policy",
        "refusals": [each | {"meaning": cause_in_words(each["cause"])} for each in data["refusals"]],
        "partings_left_out": sum(each["count"] for each in more),
        "courses": {side: _mean(each) for side, each in zip(("old", "new"), courses, strict=True)},
    }


def _mean(courses: list[Course]) -> dict[str, list[float]]:
    """Jobs over time, as a mean of all seeds."""
    means = [each.means() for each in courses]
    return {
        name: [round(sum(values) / len(means), 3) for values in zip(*(each[name] for each in means), strict=True)]
        for name in means[0]
    }


def _present_files(present: tuple[str, ...], pool: RecordedPool) -> _Recording:
    """What the present configuration reads, for each kind of machine. Raises LabError."""
    files = _Recording()
    for group in pool.groups:
        load_config(files, present, group.hardware, group.name, 1, group.settings)
    return files


def _recorded(order: Mapping[str, Any], settings: tuple[Setting, ...]) -> RecordedPool:
    """The pool as it is. Raises LabError, Problem, BusError."""
    person = Person(name=order["person"], role=WebRole.READER, by="lab")
    bus = BusSettings(**{**order["bus"], "urls": tuple(order["bus"]["urls"])})
    with Line.connect(bus) as line:
        pool = PersonPool(line, Home(Path(order["home"])), order["contact"], person)
        if pool.ask(ReadCell()):
            raise LabError(
                "the pool runs by a Grid Engine cell, which the workbench does not simulate; export it with "
                "`roost cell export` and use `roost lab compare`"
            )
        rows = pool.ask(central.Ads(kind="Machine", projection=MACHINE_ATTRIBUTES, values=True), within_s=_ASK_S)
        ended = pool.ask(queue.History(limit=JOBS_MAX + 1), within_s=_ASK_S)
        present = pool.ask(queue.Query(limit=JOBS_MAX), within_s=_ASK_S)
    notes = []
    if len(ended) > JOBS_MAX:
        notes.append(f"only the last {JOBS_MAX:,} jobs of the history are simulated")
    ads: list[ClassAd] = [ad_from(row) for row in (*ended[:JOBS_MAX], *present)]
    jobs, without = recorded_jobs(ads, order["now"], order["weeks"], _zone_offset_s(order["now"]))
    groups = recorded_machines(rows, order["owners"], settings)
    if len({row.get("Machine") for row in rows}) > 1:
        notes.append("all machines run by the configuration of the central manager's machine")
    return RecordedPool(groups=groups, jobs=tuple(jobs), notes=(*notes, *without))


def _zone_offset_s(now: float) -> int:
    return int(time.localtime(now).tm_gmtoff or 0)


if __name__ == "__main__":
    main()
