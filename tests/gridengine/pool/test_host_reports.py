"""Consumables and loads in the reporting file: the lines that Grid Engine 8.1.9 wrote of the same jobs."""

from __future__ import annotations

from collections import Counter

from roost.classad import ClassAd
from roost.gridengine.cell import Cell
from roost.gridengine.objects.share_tree import ShareNode, show_share_tree
from roost.gridengine.pool.active_cell import ActiveCell
from roost.gridengine.pool.host_reports import ConsumableReports, loads
from roost.gridengine.pool.share_log import share_log
from roost.gridengine.pool.usage import rules_of
from roost.gridengine.reporting_lines import line_of
from roost.model.cell_usage import Owner, Used
from tests.gridengine.pool.test_cycle import Pool, slot
from tests.gridengine.scheduling.cells import cell

COMPLEXES = """
licence lic INT <= YES YES 0 0
scratch sc MEMORY <= YES YES 0 0
seat seat INT <= YES JOB 0 0
"""
EDITS = """
execution/global: complex_values licence=5,seat=9
execution/global: report_variables cpu,np_load_avg,licence,slots,scratch,seat
execution/node1: complex_values scratch=10G
execution/node1: report_variables load_short,scratch,mem_total,num_proc,arch
cqueues/all.q: complex_values licence=3
cqueues/all.q: slots 4
"""

PROJECT = "name P\noticket 0\nfshare 0\nacl NONE\nxacl NONE\n"


def told() -> Cell:
    return cell(EDITS, COMPLEXES)


def test_lines_of_consumables_are_those_of_grid_engine() -> None:
    consumables = ConsumableReports(told())
    one = ClassAd(Instance="all.q@node1", Slots=1, Resources="licence=1,scratch=1G")
    grants = "all.q@node2=2,all.q@node1=1"
    other = ClassAd(Instance="all.q@node2", Slots=2, Resources="licence=1", Grants=grants[:13], AllGrants=grants)

    def lines(task: ClassAd, *others: ClassAd, begins: bool) -> list[str]:
        return [line_of(each) for each in consumables.lines(task, others, 7, begins=begins)]

    assert lines(one, begins=True) == [
        "7:host_consumable:global:7:X:licence=1.000000=5.000000",
        "7:host_consumable:node1:7:X:scratch=1073741824.000000=10.000G",
    ]
    assert lines(other, one, begins=True) == [
        "7:host_consumable:global:7:X:licence=3.000000=5.000000",
        "7:queue_consumable:all.q:node2:7::licence=2.000000=3.000000,slots=2.000000=4.000000",
        "7:host_consumable:global:7:X:licence=4.000000=5.000000",
    ]
    assert lines(one, other, begins=False) == [
        "7:host_consumable:global:7:X:licence=3.000000=5.000000",
        "7:host_consumable:node1:7:X:scratch=0.000000=10.000G",
    ]
    assert lines(other, begins=False) == [
        "7:host_consumable:global:7:X:licence=1.000000=5.000000",
        "7:queue_consumable:all.q:node2:7::licence=0.000000=3.000000,slots=0.000000=4.000000",
        "7:host_consumable:global:7:X:licence=0.000000=5.000000",
    ]


def test_a_job_takes_what_it_takes_once_with_its_master() -> None:
    task = ClassAd(Instance="all.q@node2", Slots=1, Resources="seat=1", AllGrants="all.q@node2=1,all.q@node3=1")
    found = [line_of(each) for each in ConsumableReports(told()).lines(task, (), 7, begins=True)]
    assert [line for line in found if "seat" in line] == ["7:host_consumable:global:7:X:seat=1.000000=9.000000"]


def test_loads_are_told_of_the_variables_of_each_host() -> None:
    pool = Pool(ActiveCell.of(1, told()))
    pool.add(slot("slot1@node1", DetectedMemory=1024, OpSys="LINUX", Arch="X86_64"), slot("slot1@node2"))
    assert loads(pool.active, pool.snapshot()) == {
        "node1": "load_short=0.00,mem_total=1024.000000M,num_proc=2,arch=lx-amd64",
        "node2": "np_load_avg=0.000000",
    }


TREE = ShareNode(
    name="Root",
    shares=1,
    children=(
        ShareNode(name="alice", shares=10),
        ShareNode(name="P", type=1, shares=30, children=(ShareNode(name="default", shares=5),)),
        ShareNode(name="bob", shares=7),
    ),
)
NONE_USED = "0.000000:0.000000:0.000000:0.000000:0.000000:0.000000:"
#: What Grid Engine 8.1.9 wrote.
SHARE_LOG = f"""\
1795893313:sharelog:1795893313:0:/:::1:0:1.000000:1.000000:0.000000:0.000000:1.000000:8.929657:{NONE_USED}
1795893313:sharelog:1795893313:1795893313:/alice:alice::10:0:0.212766:0.212766:0.000000:0.000000:0.002205:0.019693:0.019693:0.000000:0.000149:0.019694:0.000000:0.000149:
1795893313:sharelog:1795893313:0:/P::P:30:0:0.638298:0.638298:0.000000:0.000000:0.456903:4.079983:4.079983:0.005756:0.000040:4.080000:0.005756:0.000040:
1795893313:sharelog:1795893313:0:/P/default::P:5:0:1.000000:0.638298:0.000000:0.000000:0.456903:4.079983:{NONE_USED}
1795893313:sharelog:1795893313:1795893313:/P/default/alice:alice:P:5:0:0.500000:0.319149:0.000000:0.000000:0.000000:0.000000:{NONE_USED}
1795893313:sharelog:1795893313:1795893313:/P/default/bob:bob:P:5:0:0.500000:0.319149:0.000000:0.000000:0.456903:4.079983:4.079983:0.005756:0.000040:4.080000:0.005756:0.000040:
1795893313:sharelog:1795893313:1795893313:/bob:bob::7:0:0.148936:0.148936:0.000000:0.000000:0.540892:4.829981:4.829981:0.007264:0.000040:4.830000:0.007264:0.000040:
"""


def test_lines_of_the_share_tree_are_those_of_grid_engine() -> None:
    now = 1795893313

    def used(cpu: float, mem: float, io: float, all_cpu: float) -> Used:
        recent = {"cpu": cpu, "mem": mem, "io": io}
        return Used(at=now, recent=recent, total={**recent, "cpu": all_cpu})

    accounts = {
        Owner("alice"): used(0.019693, 0.0, 0.000149, 0.019694),
        Owner("bob", "P"): used(4.079983, 0.005756, 0.000040, 4.08),
        Owner("bob"): used(4.829981, 0.007264, 0.000040, 4.83),
    }
    told = cell(files={"projects/P": PROJECT, "sharetree": show_share_tree(TREE)})
    found = share_log(told, accounts, rules_of(told), Counter(), now)
    assert [line_of(each) for each in found] == SHARE_LOG.splitlines()


def test_jobs_that_run_count_at_their_nodes_and_share_the_target() -> None:
    told = cell(files={"projects/P": PROJECT, "sharetree": show_share_tree(TREE)})
    running = Counter({("bob", "P"): 2, ("alice", ""): 1})
    fields = [each.fields for each in share_log(told, {}, rules_of(told), running, 7)]
    assert {row[2]: (row[6], row[9]) for row in fields} == {
        "/": (3, "1.000000"),
        "/alice": (1, "0.250000"),
        "/P": (2, "0.750000"),
        "/P/default": (2, "0.750000"),
        "/P/default/alice": (0, "0.000000"),
        "/P/default/bob": (2, "0.750000"),
        "/bob": (0, "0.000000"),
    }
    assert share_log(cell(), {}, rules_of(told), running, 7) == ()
