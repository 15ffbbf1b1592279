"""The tables and the XML of `qstat` are those that Grid Engine 8.1.9 printed of the same jobs: ``data/qstat.txt``."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from roost.base.structs import replaced
from roost.cli.gridengine import tables, xml
from roost.cli.gridengine.qstat import by_instance, full
from roost.cli.gridengine.tables import Behind, Listed, Look, Used, cluster_figures
from roost.explain.cell_tasks import Task
from roost.model import cell_requests as cell
from roost.model.cell_priority import NO_PRIORITY
from roost.wire.requests.central import InstanceStatus

RECORDED = dict(
    section.split("\n", 1)
    for section in re.split(
        r"^\$ ", (Path(__file__).parent / "data/qstat.txt").read_text(encoding="utf-8"), flags=re.MULTILINE
    )[1:]
)
AT = int(time.mktime((2026, 11, 24, 14, 21, 56, 0, 0, -1)))
NAMES = tuple(f"all.q@node{number}" for number in (1, 2, 3))


def listed(
    job: int, name: str, priority: float, state: str, grants: dict[str, int], number: int = 0, **asked: str
) -> Listed:
    ad = {cell.RESOURCES: asked.get("resources", "")}
    if "pe" in asked:
        ad |= {cell.PARALLEL: asked["pe"], cell.TASK: 'Environment = "make"'}
    task = Task(
        job=job, proc=0, number=number, tasks=(1, 3, 1) if number else None, name=name, owner="alice", status=2,
        state=state, submitted=AT, started=AT, instance=next(iter(grants), ""), holds="", ad=ad, grants=grants,
    )  # fmt: skip
    used = Used(department="defaultdepartment", cpu=0.0 if grants else None, io=0.00002)
    given = NO_PRIORITY._replace(priority=priority, ticket_share=0.5 if priority else 0.0)
    return Listed(task, str(number or ""), given, used)


RUNNING = [
    listed(1003, "par", 0.75, "T", {NAMES[0]: 2, NAMES[1]: 1}, pe="make 3", resources="h_vmem=1G"),
    listed(1004, "one", 0.5, "r", {NAMES[0]: 1}, resources="h_rt=3600"),
    listed(1005, "arr", 0.5, "T", {NAMES[1]: 1}, 1, resources="hostname=node2"),
    listed(1005, "arr", 0.5, "r", {NAMES[1]: 1}, 2, resources="hostname=node2"),
    listed(1005, "arr", 0.5, "r", {NAMES[1]: 1}, 3, resources="hostname=node2"),
]
WAITING = [
    listed(1006, "wait", 0.5, "qw", {}, resources="hostname=node3"),
    listed(1007, "held", 0.0, "hqw", {}),
]
INSTANCES = [
    InstanceStatus(
        name=name,
        types="BIP",
        used=used,
        total=4,
        load=load,
        load_per_processor=load / 2,
        architecture="lx-amd64",
        states=states,
    )
    for name, used, load, states in zip(NAMES, (3, 4, 0), (0.0, 3.0, 0.0), ("", "aA", "d"), strict=True)
]
EXPLAINED = {
    NAMES[1]: (
        ("a", "alarm hl:np_load_avg=1.500000 load-threshold=0.5"),
        ("A", "alarm hl:np_load_short=1.500000 suspend-threshold=0.4"),
    )
}
OFFERS = {
    NAMES[0]: (("h_vmem", "hf", "4.000G"),),
    NAMES[1]: (("h_vmem", "qf", "infinity"),),
    NAMES[2]: (("h_vmem", "qf", "infinity"),),
}


def nothing(_: InstanceStatus) -> Behind:
    return Behind((), ())


@pytest.mark.parametrize(
    ("command", "look"),
    [
        ("qstat", Look()),
        ("qstat -t", Look(roles=True, usage=True)),
        ("qstat -ext", Look(ext=True)),
        ("qstat -ext -r", Look(ext=True, requests=True)),
    ],
)
def test_lists_of_jobs(command: str, look: Look) -> None:
    found = tables.head(look) + "".join(line for each in (*RUNNING, *WAITING) for line in tables.lines(each, look))
    assert found == RECORDED[command]


def test_slots_are_listed_by_queue_instance() -> None:
    look = Look(roles=True)
    waiting = (line for each in WAITING for line in tables.lines(each, look))
    assert tables.head(look) + "".join((*by_instance(RUNNING, look), *waiting)) == RECORDED["qstat -g t"]


def test_all_columns_together() -> None:
    title, rule = RECORDED["qstat -ext -pri -urg | head -4"].splitlines()[:2]
    assert tables.head(Look(ext=True, pri=True, urg=True)) == f"{title}\n{rule}\n"


@pytest.mark.parametrize(
    ("command", "look", "letters"),
    [
        ("qstat -f -ext", Look(ext=True, full=True), ""),
        ("qstat -f -t", Look(roles=True, usage=True, full=True), ""),
        ("qstat -f -explain aAcE", Look(full=True), "aA"),
        ("qstat -f -explain a -xml", Look(full=True), "a"),
        ("qstat -F h_vmem -xml", Look(full=True), "F"),
    ],
)
def test_queue_instances(command: str, look: Look, letters: str) -> None:
    def behind(one: InstanceStatus) -> Behind:
        explained = tuple(each for each in EXPLAINED.get(one.name, ()) if each[0] in letters)
        return Behind(explained, OFFERS[one.name] if letters == "F" else ())

    make = xml.full if "-xml" in command else full
    assert "".join(make(INSTANCES, RUNNING, WAITING, look, behind)) == RECORDED[command]


@pytest.mark.parametrize(
    ("command", "look"),
    [("qstat -ext -xml", Look(ext=True)), ("qstat -t -xml", Look(roles=True, usage=True))],
)
def test_lists_of_jobs_in_xml(command: str, look: Look) -> None:
    assert xml.plain(RUNNING, WAITING, look) == RECORDED[command]


def test_cluster_queues() -> None:
    assert xml.clusters(INSTANCES, extended=True) == RECORDED["qstat -g c -ext -xml"]
    assert "".join(tables.cluster_lines(INSTANCES, extended=True)) == RECORDED["qstat -g c -ext"]


def test_the_load_of_a_queue_is_that_of_its_slots() -> None:
    """As 8.1.9: hosts with 0.1 and 1 slot, 0.3 and 2 slots give 0.23; a queue without slots has none."""

    def instance(host: str, load: float, slots: int) -> InstanceStatus:
        name = f"all.q@{host}"
        return replaced(INSTANCES[0], name=name, total=slots, load_per_processor=load)

    given = [instance("node1", 0.1, 1), instance("node3", 0.3, 2)]
    assert cluster_figures(given).load == pytest.approx(0.7 / 3)
    assert cluster_figures([instance("node1", 0.1, 0)]).load is None
