"""What a queue instance of a cell gives a job: the values for its host, and the stricter of limits and requests."""

from __future__ import annotations

import dataclasses

from roost.classad import ClassAd
from roost.gridengine.cell import Cell, read_cell
from roost.gridengine.pool.context import context_of, is_first_task, slave_contexts
from tests.gridengine.questions import DATA


def plain() -> Cell:
    root = DATA / "plain"
    return read_cell({str(path.relative_to(root)): path.read_text() for path in root.rglob("*") if path.is_file()})


def with_queue(**values: str) -> Cell:
    from roost.gridengine.objects.queue import parse_queue

    lines = (DATA / "plain/cqueues/all.q").read_text().splitlines()
    text = "\n".join(line if line.split()[0] not in values else f"{line.split()[0]} {values[line.split()[0]]}"
                     for line in lines)  # fmt: skip
    cell = plain()
    return dataclasses.replace(cell, queues={**cell.queues, "all.q": parse_queue(text, "all.q")})


def task(resources: str = "", slots: int = 1, host: str = "node1") -> ClassAd:
    return ClassAd(Instance=f"all.q@{host}", Slots=slots, Resources=resources, Submitted=0.0, Priority=0)


def test_limits_are_the_stricter_of_queue_and_request_and_soft_ones_at_most_the_hard_ones() -> None:
    cell = with_queue(h_rt="1:0:0", s_cpu="100", h_cpu="INFINITY", h_vmem="4G", s_stack="8M")
    found = context_of(cell, task("h_rt=600,s_rt=2:0:0,h_cpu=60,h_vmem=8G,h_stack=1M"))
    assert found is not None
    assert found.limits == {
        "h_rt": 600.0, "s_rt": 7200.0, "h_cpu": 60.0, "s_cpu": 60.0, "h_vmem": 4 * 2.0**30, "s_vmem": 4 * 2.0**30,
        "h_stack": 2.0**20, "s_stack": 2.0**20,
    }  # fmt: skip
    # CPU time and virtual memory are those of a slot.
    several = context_of(cell, task("h_cpu=60", slots=3))
    assert several is not None and (several.limits["h_cpu"], several.limits["h_vmem"]) == (180.0, 12 * 2.0**30)


def test_values_are_those_for_the_host() -> None:
    cell = with_queue(priority="5,[node1=10]", tmpdir="/tmp,[node2=/scratch]")
    found = {host: context_of(cell, task(host=host)) for host in ("node1", "node2")}
    assert [(one.priority, one.tmpdir, one.instance) for one in found.values() if one] == [
        (10, "/tmp", "all.q@node1"), (5, "/scratch", "all.q@node2"),
    ]  # fmt: skip
    gone = dataclasses.replace(cell, queues={})
    assert context_of(gone, task()) is None


def parallel(control_slaves: bool, first: bool = True) -> Cell:
    cell = with_queue(h_vmem="1G", s_vmem="INFINITY")
    make = dataclasses.replace(
        cell.parallel_environments["make"], control_slaves=control_slaves, job_is_first_task=first
    )
    return dataclasses.replace(cell, parallel_environments={"make": make})


def test_slave_tasks_have_one_slot_of_the_queue_instances_on_their_host() -> None:
    task = ClassAd(
        Instance="all.q@node1", Environment="make", Grants="all.q@node1=2", Submitted=0.0, Priority=0,
        AllGrants="all.q@node1=2,all.q@node2=3,gone.q@node2=1",
    )  # fmt: skip
    (found,) = slave_contexts(parallel(True), task, "node2")
    assert (found.instance, found.slots, found.limits) == ("all.q@node2", 3, {"h_vmem": 2.0**30, "s_vmem": 2.0**30})
    told = found.parallel
    assert told is not None and (told.environment, told.slots, told.hosts, told.instances) == ("make", 1, 1, 1)
    assert slave_contexts(parallel(True), task, "node3") == []
    assert slave_contexts(parallel(False), task, "node2") == []
    assert [is_first_task(parallel(True, first), task) for first in (True, False)] == [True, False]
