"""The sessions of the guide to Grid Engine cells, typed in a pool: they print what the page shows.

Numbers of jobs, times, names of the machine and of the user differ from run to run; `plain` makes them those of the
page.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

from roost.cli.__main__ import main
from tests.cli.gridengine.kit import ME, Desk
from tests.integration.kit import ROOT, Pool, eventually
from tests.integration.test_cell_jobs import PARTITIONABLE, cell, node, queue_text

PAGE = (ROOT / "docs/guides/grid-engine.md").read_text(encoding="utf-8")
#: Command lines of the page with what each prints, in its order.
SESSIONS = [
    re.findall(r"^\$ ([^\n]*)\n(.*?)(?=^\$ |\Z)", block, re.DOTALL | re.MULTILINE)
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
]


class Unapplied:
    """Stands for a pool while the files of a cell are written: nothing is given to it."""

    def __init__(self, pool: Pool) -> None:
        self.home = pool.home

    def __call__(self, *_: str) -> str:
        return ""


def session(command: str) -> list[tuple[str, str]]:
    """The session of the page that has a command."""
    (found,) = [each for each in SESSIONS if any(line.startswith(command) for line, _ in each)]
    return found


def shown(command: str) -> tuple[list[str], str]:
    """The words of a command line of the page, and what it prints."""
    ((line, output),) = [pair for pair in session(command) if pair[0].startswith(command)]
    return shlex.split(line)[1:], output


def plain(text: str, pool: Pool, job: int) -> str:
    """What a command printed, with the names, numbers and times of the page."""
    text = text.replace(f"({ME})", "(ann)").replace(f"all.q@{node(pool)}", "all.q@node1").replace(node(pool), "node1")
    text = re.sub(rf"([Jj]ob(?:-array)? ){job}\b", r"\g<1>12", text)
    text = re.sub(r"\(revision \d+\) at \d\d:\d\d:\d\d", "(revision 3) at 10:04:11", text)
    return re.sub(r"for a slot for \d\d:\d\d:\d\d", "for a slot for 00:00:04", text)


def described(pool: Pool, slots: int) -> None:
    """Write the cell of the page into the directory that it names."""
    place = pool.work / "department"
    licences = "licence licence INT <= YES YES 0 0\nmem mem MEMORY <= YES YES 0 0"
    cell(Unapplied(pool), place, complexes=licences, glob="licence=4,mem=100G", slots=slots)  # type: ignore[arg-type]
    (place / "hostgroups/@fast").write_text(f"group_name @fast\nhostlist {node(pool)}\n")
    (place / "cqueues/short.q").write_text(queue_text("short.q", hostlist="NONE"))


def test_the_sessions_of_the_guide_print_what_it_shows(start: Callable[..., Pool]) -> None:
    pool = start(PARTITIONABLE, cpus=8)
    desk = Desk(pool)
    described(pool, slots=12)
    place = str(pool.work / "department")
    check, take = (
        [word.replace("department", place) for word in shown(command)[0]]
        for command in ("roost cell check department", "roost cell import department")
    )
    assert main(check) == 0
    pool(*take)

    gate = pool.work / "gate"
    script = desk.script("simulate.sh", f"while [ ! -e {gate} ]; do sleep 0.05; done")
    words, output = shown("qsub -N simulation")
    printed = desk("qsub", *words).out
    job = int(re.findall(r"\d+", printed)[0])
    assert plain(printed, pool, job) == output

    words, output = shown("roost explain job")
    words = [word.replace("12.", f"{job}.") for word in words]
    eventually(
        lambda: plain(pool(*words, status=1), pool, job).strip() == output.strip(),
        lambda: plain(pool(*words, status=1), pool, job),
    )

    # The description of the page asks for the same: a job of it runs as a task of the array does.
    ((asked,),) = [re.findall(r"```\n(executable     = simulate\n.*?)```", PAGE, re.DOTALL)]
    script.rename(pool.work / "simulate").chmod(0o755)
    cluster = pool.submit(asked)
    assert {ad["CellResources"] for ad in pool.jobs(cluster)} == {"licence=1,mem=2G"}
    gate.touch()
    pool.wait(job, cluster)

    words, output = shown("roost cell usage")
    eventually(lambda: len(pool(*words).splitlines()) > 1, lambda: pool(*words))
    # Columns are as wide as the names in them.
    assert pool(*words).split()[:10] == output.split()[:10]
    assert desk("qconf", *shown("qconf -clearusage")[0]).status == 0


def test_an_instance_in_state_e_is_cleared_as_the_guide_shows(start: Callable[..., Pool], tmp_path: Path) -> None:
    pool = start(cpus=4)
    place = tmp_path / "cell"
    cell(pool, place, slots=4, prolog="/bin/false")
    job = pool.submit("", "true")
    words, output = shown("roost cell queues")

    def rows(text: str) -> list[list[str]]:
        return [line.split() for line in text.splitlines()]

    def same() -> bool:
        now = rows(plain(pool(*words), pool, job))
        then = rows(output)
        # The load of the machine is whatever it is.
        return [*now[1][:3], *now[1][4:]] == [*then[1][:3], *then[1][4:]] and now[2:] == then[2:] and now[0] == then[0]

    eventually(same, lambda: plain(pool(*words), pool, job))
    words, output = shown("roost cell clear")
    words = [word.replace("node1", node(pool)) for word in words]
    assert plain(pool(*words), pool, job) == output
    pool("rm", str(job))
