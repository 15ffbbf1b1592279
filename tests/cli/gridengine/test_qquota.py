"""`qquota`, in the tables and XML that Grid Engine 8.1.9 printed for the same jobs and quotas."""

from __future__ import annotations

import datetime
from dataclasses import replace

import pytest
from tests.cli.gridengine.kit import ME, Desk, node
from tests.gridengine.dumps import files
from tests.integration.kit import eventually

from roost.cli.gridengine.qquota import table, xml
from roost.gridengine.cell import read_cell
from roost.gridengine.instances import resolve
from roost.gridengine.objects.pairs import Pair
from roost.gridengine.pool.quota_use import QuotaUse
from roost.gridengine.scheduling import CellSnapshot, Grant, HostReport, Request, RunningTask

SETS = """\
a: limit users {*} to slots=5
b: limit users alice queues all.q to slots=9
b: limit name second users !bob hosts {@allhosts} to slots=3
c: limit queues {*} hosts * to slots=20
d: limit hosts {@allhosts} to slots=$num_proc*4
e: limit projects prj1 to slots=7
e: limit users @staff to slots=8,h_rt=100
e: limit pes pet to slots=9
g: limit users {@staff} pes {*} to slots=7
g: limit users {alice,bob} hosts @allhosts to slots=6
g: limit pes !* to slots=60
"""
OTHERS = """\
m: limit users {!bob,al*} to virtual_free=10G,slots=1e3
m: limit users !alice to slots=60
m: limit to slots=100
"""
LIM = "lim: limit name hq users alice queues all.q hosts {@allhosts} to slots=3,mem_free=1G\n"


def use(text: str, *running: tuple[str, str, str, str], vf: str = "") -> QuotaUse:
    """What tasks use, each (user, host, project, environment), of sets of which a line has a rule."""
    cells = dict(files("plain"))
    sets: dict[str, list[str]] = {}
    for line in text.splitlines():
        name, _, rule = line.partition(": ")
        sets.setdefault(name, []).append(f"   {rule}")
    for name, rules in sets.items():
        lines = ["{", f"   name         {name}", "   description  NONE", "   enabled      TRUE", *rules, "}", ""]
        cells[f"resource_quotas/{name}"] = "\n".join(lines)
    cells["projects/prj1"] = "name prj1\noticket 0\nfshare 0\nacl NONE\nxacl NONE\n"
    cells["usersets/staff"] = "name staff\ntype ACL DEPT\nfshare 0\noticket 0\nentries alice\n"
    if vf:
        cells["centry"] = "".join(
            f"virtual_free vf MEMORY <= YES YES {vf} 0\n" if line.startswith("virtual_free ") else line
            for line in cells["centry"].splitlines(keepends=True)
        )
    cell = read_cell(cells)
    tasks = [
        RunningTask(
            job=number, task=0, submitted=0.0, started=0.0, environment=environment,
            request=Request(user=user, groups=(user,), project=project),
            grants=(Grant(f"all.q@{host}", 1),),
        )
        for number, (user, host, project, environment) in enumerate(running)
    ]  # fmt: skip
    if vf:
        tasks[1] = replace(tasks[1], request=replace(tasks[1].request, hard=(Pair("virtual_free", "2.25G"),)))
    reports = {f"node{number}": HostReport(time=0.0, values={"num_proc": "2"}) for number in (1, 2, 3)}
    return QuotaUse(
        CellSnapshot(
            cell=cell, instances=tuple(resolve(cell)), reports=reports, now=0.0,
            local_time=datetime.datetime.fromtimestamp(0), running=tuple(tasks),
        )
    )  # fmt: skip


@pytest.fixture(scope="module")
def four() -> QuotaUse:
    """The jobs of the recording: three of alice, one of them parallel, and one of bob."""
    return use(
        SETS, ("alice", "node1", "prj1", ""), ("alice", "node2", "", ""), ("alice", "node3", "", "pet"),
        ("alice", "node1", "", "pet"), ("bob", "node2", "", ""),
    )  # fmt: skip


ROWS = {
    "a alice": "a/1                slots=4/5            users alice",
    "a bob": "a/1                slots=1/5            users bob",
    "b": "b/1                slots=4/9            users alice queues all.q",
    "c": "c/1                slots=5/20           queues all.q hosts *",
    "d1": "d/1                slots=2/8            hosts node1",
    "d2": "d/1                slots=2/8            hosts node2",
    "d3": "d/1                slots=1/8            hosts node3",
    "e": "e/1                slots=1/7            projects prj1",
    "e2": "e/2                slots=3/8            users @staff",
    "e2 h_rt": "e/2                h_rt=100             users @staff",
    "g1": "g/1                slots=2/7            users alice pes pet",
    "g2 alice": "g/2                slots=2/6            users alice hosts @allhosts",
    "g2 bob": "g/2                slots=1/6            users bob hosts @allhosts",
}


@pytest.mark.parametrize(
    ("wanted", "resources", "missing"),
    [
        ({"users": ["root"]}, "", "a alice|a bob|b|e2|e2 h_rt|g1|g2 alice|g2 bob"),
        ({"users": ["alice"]}, "", "a bob|g2 bob"),
        ({"users": ["al*"]}, "", "a bob|g2 bob"),
        ({"users": ["*"]}, "", ""),
        ({"users": ["alice", "bob"]}, "", ""),
        ({"users": ["bob"]}, "", "a alice|b|e2|e2 h_rt|g1|g2 alice"),
        ({"users": ["*"], "hosts": ["node1"]}, "", "d2|d3"),
        ({"users": ["*"], "hosts": ["@allhosts"]}, "", ""),
        ({"users": ["*"], "queues": ["all.q"]}, "", ""),
        ({"users": ["*"], "projects": ["prj1"]}, "", ""),
        ({"users": ["*"], "projects": ["*"]}, "", ""),
        ({"users": ["*"], "pes": ["pet"]}, "", ""),
        ({"users": ["*"]}, "slots", "e2 h_rt"),
    ],
)
def test_what_is_used_is_listed_as_by_the_real_one(
    four: QuotaUse, wanted: dict[str, list[str]], resources: str, missing: str
) -> None:
    found = table(list(four.rows(wanted, frozenset(filter(None, [resources])))))
    head = f"resource quota rule limit                filter\n{'-' * 80}\n"
    assert found == head + "".join(f"{row}\n" for name, row in ROWS.items() if name not in missing.split("|"))


def test_nothing_is_printed_for_no_row(four: QuotaUse) -> None:
    assert table(list(four.rows({}, frozenset(["nosuch"])))) == ""
    assert table(list(four.rows({"users": ["*"]}, frozenset(["h_rt"])))).count("\n") == 3


def test_memory_exclusion_and_braces_are_shown_as_by_the_real_one() -> None:
    rows = list(
        use(OTHERS, ("alice", "node1", "", ""), ("alice", "node2", "", ""), ("bob", "node3", "", ""), vf="1.5G").rows(
            {"users": ["*"]}, frozenset()
        )
    )
    assert table(rows).splitlines()[2:] == [
        "m/1                virtual_free=3.750G/ users alice",
        "m/1                slots=2/1000         users alice",
        "m/2                slots=1/60           users !alice",
    ]
    assert "   <limit resource='virtual_free' limit='10.000G' value='3.750G'/>\n" in xml(rows)
    assert "   <xusers>alice</xusers>\n   <limit resource='slots' limit='60' value='1'/>\n" in xml(rows)
    rows = list(use(LIM).rows({"users": ["alice"]}, frozenset()))
    assert table(rows).splitlines()[2:] == [
        "lim/hq             mem_free=1G          users alice queues all.q hosts {@allhosts}"
    ]
    assert xml(rows).splitlines()[2:] == [
        " <qquota_rule name='lim/hq'>", "   <users>alice</users>", "   <queues>all.q</queues>",
        "   <hosts>@allhosts</hosts>", "   <limit resource='mem_free' limit='1G'/>", " </qquota_rule>",
        "</qquota_result>",
    ]  # fmt: skip


def test_jobs_of_a_pool_count(desk: Desk) -> None:
    place = desk.pool.place / "quotas"
    desk.pool("cell", "export", str(place))
    (place / "resource_quotas").mkdir(exist_ok=True)
    rule = "{\n   name mine\n   description NONE\n   enabled TRUE\n   limit users {*} hosts {*} to slots=5\n}\n"
    (place / "resource_quotas" / "mine").write_text(rule)
    desk.pool("cell", "apply", str(place))
    assert desk("qquota").out == ""
    job = desk.qsub("-o", "/dev/null", "-j", "y", "-t", "1-2", "-b", "y", "sleep", "60")
    row = f"mine/1             slots=2/5            users {ME} hosts {node(desk.pool)}\n"
    eventually(lambda: desk("qquota").out.endswith(row), lambda: desk("qquota", "-u", "*").out)
    assert desk("qquota", "-u", "nobody").out == ""
    assert "<limit resource='slots' limit='5' value='2'/>" in desk("qquota", "-xml").out
    assert "usage: qquota" in desk("qquota", "-nope", status=1).err
    desk("qdel", str(job))
    (place / "resource_quotas" / "mine").unlink()
    desk.pool("cell", "apply", str(place))
