"""`qhost` and `qselect` on a real pool: tables, XML and exit statuses of Grid Engine 8.1.9."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from xml.etree import ElementTree

import pytest
from tests.cli.gridengine.kit import Desk, cell, node
from tests.cli.gridengine.test_qstat import started
from tests.gridengine.scheduling.cells import cell as made
from tests.integration.kit import eventually, running

from roost.gridengine.instances import resolve
from roost.gridengine.objects.people import UserList
from roost.gridengine.pool.selection import admits

HEAD = (
    "HOSTNAME                ARCH         NCPU NSOC NCOR NTHR  LOAD  MEMTOT  MEMUSE  SWAPTO  SWAPUS\n"
    "----------------------------------------------------------------------------------------------\n"
)
GLOBAL = "global                  -               -    -    -    -     -       -       -       -       -\n"
JOBS = (
    "   job-ID  prior   name       user         state submit/start at     queue      master ja-task-ID \n"
    "   ----------------------------------------------------------------------------------------------\n"
)


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A pool whose cell has resources of its own, with a job that uses some of them."""
    place = tmp_path_factory.mktemp("hosts")
    complexes = (
        "lic lic INT <= YES YES 0 0\ndisk disk MEMORY <= YES YES 0 0\nos os STRING == YES NO NONE 0\n"
        "exclusive excl BOOL EXCL YES YES 0 1000"
    )
    with running(place / "pool", cpus=4) as pool:
        cell(pool, place / "cell", slots=3, complexes=complexes, glob="lic=3", complex_values="os=el9")
        host = place / "cell" / "execution" / node(pool)
        text = host.read_text()
        host.write_text(re.sub("complex_values +NONE", "complex_values disk=4G,exclusive=true,os=el8", text))
        pool("cell", "apply", str(place / "cell"))
        desk = Desk(pool)
        started(desk, desk.qsub("-N", "two", "-o", "/dev/null", "-l", "lic=2,disk=1G", "-b", "y", "sleep", "600"))
        yield desk


def plain(desk: Desk, *arguments: str) -> str:
    """What `qhost` prints, the line of the machine as node1, times as in the transcripts."""
    text = re.sub(rf"(?m)^{re.escape(node(desk.pool))} .*$", "node1", desk("qhost", *arguments).out)
    return re.sub(r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d", "11/21/2026 06:54:46", text)


def test_hosts_are_listed_with_what_they_report(rich: Desk) -> None:
    assert plain(rich) == plain(rich, "-h", node(rich.pool)) == f"{HEAD}{GLOBAL}node1\n"
    line = rich("qhost").out.splitlines()[3]
    assert re.fullmatch(
        rf"{node(rich.pool):<23} lx-\S+ +\d+ +- +- +- +\d+\.\d\d +\d+\.\d[MG] +- +\d+\.\d[KMGT]? +-", line
    ), line
    assert len(line) == 94
    assert rich("qhost", "-ncb").out.splitlines()[0] == (
        "HOSTNAME                ARCH         NCPU  LOAD  MEMTOT  MEMUSE  SWAPTO  SWAPUS"
    )
    unknown = rich("qhost", "-h", "nosuch", status=1)
    assert unknown.out == "" and unknown.err.startswith("SGE 8.1.9\nusage: qhost [options]\n")
    assert unknown.err.endswith('error: can\'t resolve hostname "nosuch"\n')
    assert rich("qhost", "-bogus", status=1).err.endswith('error: invalid option argument "-bogus"\n')


def test_queues_and_jobs_are_shown_under_their_host(rich: Desk) -> None:
    queue = "   all.q                BIP   0/1/3         \n"
    begin = f"{HEAD}{GLOBAL}node1\n"
    assert plain(rich, "-q") == f"{begin}{queue}"
    found = plain(rich, "-j")
    job = re.search(r"(?m)^   +(\d+) (0\.\d{5}) two +(\S+) +r ", found)
    assert job is not None
    line = f"   {job[1]:>7} {job[2]} two        {job[3]:<12} r     11/21/2026 06:54:46"
    place = f"all.q@{node(rich.pool)}"[:10]
    assert found == f"{begin}{JOBS}{line} {place:<10} MASTER        \n"
    assert plain(rich, "-j", "-q") == f"{begin}{queue}{line} MASTER        \n"
    assert plain(rich, "-j", "-u", "nobody") == begin


def test_resources_are_what_is_left_now(rich: Desk) -> None:
    assert plain(rich, "-F", "lic,disk,os,excl,nosuch") == (
        f"{HEAD}{GLOBAL}    Host Resource(s):      gc:lic=1.000000\n"
        "node1\n    Host Resource(s):      gc:lic=1.000000\n   hc:disk=3.000G\n   hc:exclusive=1.000000\n   hf:os=el8\n"
    )
    names = [line.strip().partition("=")[0] for line in rich("qhost", "-F").out.splitlines()[5:]]
    assert names[:4] == ["gc:lic", "hl:load_avg", "hl:load_short", "hl:load_medium"] and names[-1] == "hf:os"
    assert "hl:num_proc" in names


def test_hosts_are_chosen_by_what_they_have(rich: Desk) -> None:
    for request in ("os=el8", "os=el*,disk=3G", "lic=1"):
        assert plain(rich, "-l", request) == f"{HEAD}node1\n"
    for request in ("os=el9", "disk=4G", "lic=2"):
        assert plain(rich, "-l", request) == ""
    assert rich("qhost", "-l", "nosuch=1", status=1).err == 'error: unknown resource "nosuch"\n'
    assert rich("qhost", "-l", "mem_free=x", status=1).err == 'error: attribute "mem_free" is not a memory value\n'


def test_xml_has_hosts_queues_and_jobs(rich: Desk) -> None:
    text = rich("qhost", "-xml", "-q", "-j", "-F", "lic").out
    assert text.startswith(
        "<?xml version='1.0'?>\n<qhost xmlns:xsd=\"http://arc.liv.ac.uk/repos/darcs/sge/source/dist/util/resources/"
        "schemas/qhost/qhost.xsd\">\n <host name='global'>\n   <hostvalue name='arch_string'>-</hostvalue>\n"
    )
    first, host = ElementTree.fromstring(text).findall("host")
    columns = "arch_string num_proc m_socket m_core m_thread load_avg mem_total mem_used swap_total swap_used"
    assert {each.get("name"): each.text for each in first.findall("hostvalue")} == dict.fromkeys(columns.split(), "-")
    queue, job = host.find("queue"), host.find("job")
    assert queue is not None
    assert job is not None
    assert {each.get("name"): each.text for each in queue} == {
        "qtype_string": "BIP", "slots_used": "1", "slots": "3", "slots_resv": "0", "state_string": None
    }  # fmt: skip
    values = {each.get("name"): each.text for each in job}
    assert (values["job_name"], values["job_state"], values["pe_master"]) == ("two", "r", "MASTER")
    assert "taskid" not in values
    assert [(each.get("name"), each.get("dominance"), each.text) for each in host.findall("resourcevalue")] == [
        ("lic", "gc", "1.000000")
    ]


def test_queue_instances_are_selected(rich: Desk) -> None:
    instance = f"all.q@{node(rich.pool)}\n"
    for arguments in (
        (), ("-q", "all.q"), ("-q", "*@@allhosts"), ("-l", "slots=3"), ("-l", "h_rt=30"), ("-l", "os=el9"),
        ("-l", "lic=3"), ("-pe", "make"), ("-pe", "m*"), ("-U", "nobody"), ("-U", "*"),
    ):  # fmt: skip
        assert rich("qselect", *arguments).out == instance, arguments
    for arguments in (
        ("-q", "nosuch"), ("-l", "slots=30"), ("-l", "os=el8"), ("-l", "nosuch"), ("-l", "lic=4"), ("-qs", "d"),
    ):  # fmt: skip
        done = rich("qselect", *arguments, status=1)
        assert (done.out, done.err) == ("", ""), arguments
    assert rich("qselect", "-pe", "nosuch", status=1).err == "error: no such parallel environment\n"
    words = "unknown queue state: z found in string: z"
    assert rich("qselect", "-qs", "z", status=1).err == f"error: {words}\n{words}\n"
    for word in ("-s", "all.q"):
        done = rich("qselect", word, status=1)
        assert done.err.startswith("SGE 8.1.9\nusage: qselect [options]\n")
        assert done.err.endswith(f'invalid option argument "{word}"\n')
    rich("qmod", "-d", "*")
    eventually(lambda: rich("qhost", "-q").out.endswith(" d\n"), lambda: rich("qhost", "-q").out)
    assert rich("qselect", "-qs", "dE").out == instance
    assert rich("qhost", "-q").out.splitlines()[-1] == "   all.q                BIP   0/1/3         d"
    rich("qmod", "-e", "*")


def test_a_parallel_job_is_shown_with_its_slaves(rich: Desk) -> None:
    job = rich.qsub("-N", "par", "-o", "/dev/null", "-j", "y", "-pe", "make", "2", "-b", "y", "sleep", "600")
    started(rich, job)
    place = f"all.q@{node(rich.pool)}"[:10]
    for arguments, column in (("-j",), f"{place:<10} "), (("-j", "-q"), ""):
        found = re.search(rf"(?m)^ +{job} 0\.\d{{5}} par .*\n(?: .*\n){{2}}", plain(rich, *arguments))
        assert found is not None
        first, *slaves = found[0].splitlines()
        assert first[69:] == f"{column}MASTER        "
        assert slaves == [f"{'':69}{column}SLAVE         "] * 2
    document = ElementTree.fromstring(rich("qhost", "-j", "-xml").out)
    roles = [each.text for each in document.iter("jobvalue") if each.get("name") == "pe_master"]
    assert sorted(map(str, roles)) == ["MASTER", "MASTER", "SLAVE", "SLAVE"]
    rich("qdel", str(job))


def test_qstat_shows_the_queues_that_are_chosen_and_the_jobs_in_them(rich: Desk) -> None:
    instance = f"all.q@{node(rich.pool)}"
    for arguments in (("-l", "os=el9"), ("-pe", "make"), ("-U", "nobody"), ("-q", "all.q", "-l", "slots=3")):
        assert instance in rich("qstat", "-f", *arguments).out and " two " in rich("qstat", *arguments).out, arguments
        assert len(rich("qstat", "-g", "c", *arguments).out.splitlines()) == 3
    for arguments in (("-l", "os=el8"), ("-qs", "d"), ("-q", "all.q", "-l", "slots=30")):
        assert rich("qstat", "-f", *arguments).out == rich("qstat", *arguments).out == "", arguments
    for arguments in (
        ("-q", "nosuch"),
        ("-f", "-q", "nosuch,x*"),
        ("-g", "c", "-q", "nosuch"),
        ("-xml", "-q", "nosuch"),
    ):
        done = rich("qstat", *arguments, status=1)
        assert (done.out, done.err) == ("", ""), arguments
    assert rich("qstat", "-f", "-pe", "nosuch", status=1).err == "error: no such parallel environment\n"
    words = "unknown queue state: z found in string: z"
    assert rich("qstat", "-qs", "z", status=1).err == f"error: {words}\n{words}\n"


def test_only_users_of_a_queues_lists_have_access() -> None:
    lists = {"staff": UserList(name="staff", entries=("ann", "@lab")), "bad": UserList(name="bad", entries=("ann",))}
    for text, may in (
        ("user_lists staff", "ann @lab"),
        ("xuser_lists bad", "bob @lab"),
        ("rerun TRUE", "ann bob @lab"),
    ):
        one = dataclasses.replace(made(f"cqueues/all.q: {text}"), user_lists=lists)
        instance = resolve(one)[0]
        assert [user for user in ("ann", "bob", "@lab") if admits(one, instance, user)] == may.split()


def test_queue_instances_are_chosen_by_host_and_queue(desk: Desk) -> None:
    name, wanted = node(desk.pool), f"all.q@{node(desk.pool)}"
    eventually(lambda: "all.q" in desk("qhost", "-q", status=None).out, "the cell")
    for asked in (f"h={name}", f"hostname={name}", "q=all.q", f"h={name[:2]}*"):
        assert desk("qselect", "-l", asked).out == f"{wanted}\n", asked
        assert wanted[:30] in desk("qstat", "-f", "-l", asked).out, asked
    assert desk("qselect", "-l", "h=nosuch*", status=1).out == ""


def test_hosts_report_memory_in_use_and_their_topology(desk: Desk) -> None:
    values = {"mem_used": 2**30, "swap_used": 0, "m_socket": 1, "m_core": 2, "m_thread": 4, "m_topology": "SCTTCTT"}
    desk.pool.sense(load_values=values)
    try:

        def row() -> list[str]:
            return desk("qhost").out.splitlines()[3].split()

        eventually(lambda: row()[3:6] == ["1", "2", "4"] and row()[8] == "1.0G", lambda: desk("qhost").out)
        shown = desk("qhost", "-F", "m_topology,mem_used").out
        assert "hl:m_topology=SCTTCTT\n" in shown and "hl:mem_used=1.000G\n" in shown
        assert "\thl:mem_used=1.000G\n" in desk("qstat", "-F", "mem_used").out
    finally:
        desk.pool.sense(load_values={})
