"""`qconf -s…` on a real pool with the cell that a Grid Engine department has handed over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.gridengine.kit import Desk
from tests.gridengine.questions import DATA
from tests.integration.kit import running

DEPARTMENT = DATA / "department"
#: Option to the directory whose files it prints.
KINDS = {
    "-sq": "cqueues", "-sp": "pe", "-shgrp": "hostgroups", "-su": "usersets", "-sprj": "projects", "-scal": "calendars",
    "-srqs": "resource_quotas", "-suser": "users", "-se": "execution", "-sconf": "configurations",
}  # fmt: skip


@pytest.fixture(scope="module")
def department(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """Somebody before a pool with that cell."""
    with running(tmp_path_factory.mktemp("department"), cpus=1) as pool:
        pool("cell", "import", str(DEPARTMENT))
        yield Desk(pool)


def without_loads(text: str) -> str:
    """The text of a host without what it reports."""
    return "".join(
        line for line in text.splitlines(keepends=True) if line.split()[:1] not in (["load_values"], ["processors"])
    )


@pytest.mark.parametrize("option", KINDS)
def test_objects_are_printed_as_grid_engine_prints_them(department: Desk, option: str) -> None:
    for path in sorted((DEPARTMENT / KINDS[option]).iterdir()):
        printed = department("qconf", option, path.name, SGE_SINGLE_LINE="1").out
        wanted = path.read_text()
        if option == "-se":
            printed, wanted = without_loads(printed), without_loads(wanted)
        assert printed.rstrip("\n") == wanted.rstrip("\n"), path
        broken = department("qconf", option, path.name).out
        assert all(len(line) <= 80 or " " not in line.rstrip("\\").strip() for line in broken.splitlines()[1:-1]), path


@pytest.mark.parametrize(("option", "file"), [("-sc", "centry"), ("-ssconf", "schedconf"), ("-sstree", "sharetree")])
def test_what_there_is_once(department: Desk, option: str, file: str) -> None:
    printed = department("qconf", option, SGE_SINGLE_LINE="1").out
    assert printed.splitlines() == (DEPARTMENT / file).read_text().splitlines()
    if option == "-sc":
        # Its long lines are not broken, so that `qconf -Mc` can read it.
        assert department("qconf", option).out == printed


def test_lists_have_a_name_a_line(department: Desk) -> None:
    for option, directory in (
        ("-sql", "cqueues"),
        ("-sel", "execution"),
        ("-shgrpl", "hostgroups"),
        ("-sul", "usersets"),
    ):
        names = sorted(path.name for path in (DEPARTMENT / directory).iterdir() if path.name != "global")
        assert department("qconf", option).out.splitlines() == names
    for option, file in (("-sm", "managers"), ("-so", "operators"), ("-sh", "admin_hosts"), ("-ss", "submit_hosts")):
        assert department("qconf", option).out.split() == sorted((DEPARTMENT / file).read_text().split())


def test_a_queue_instance_has_resolved_values(department: Desk) -> None:
    lines = department("qconf", "-sq", "long.q@node1").out.splitlines()
    assert [line.split() for line in lines[:2]] == [["qname", "long.q"], ["hostname", "node1"]]
    assert not any("[" in line for line in lines)
    several = department("qconf", "-sq", "l*.q,gpu.q").out
    assert several.count("qname ") == 2 and "\n\nqname" in several
    template = department("qconf", "-sq").out.splitlines()
    assert [line.split() for line in template[:2]] == [["qname", "template"], ["hostlist", "NONE"]]


def test_groups_are_resolved_and_drawn(department: Desk) -> None:
    tree = department("qconf", "-shgrp_tree", "@everything").out.splitlines()
    assert tree[0] == "@everything" and tree[1].startswith("   @") and any(line.startswith("      ") for line in tree)
    hosts = department("qconf", "-shgrp_resolved", "@everything").out.split()
    assert set(hosts) == {line.strip() for line in tree if "@" not in line}


@pytest.mark.parametrize(
    ("arguments", "words", "status"),
    [
        (("-sq", "nosuch"), 'No cluster queue or queue instance matches the phrase "nosuch"', 1),
        (("-sp", "x"), "x is not a parallel environment", 1),
        (("-se", "nosuch"), 'can\'t resolve hostname "nosuch"', 1),
        (("-shgrp", "@x"), 'Host group "@x" does not exist', 1),
        (("-shgrp_resolved", "@x"), 'Host group "@x" does not exist', 1),
        (("-srqs", "x"), "No resource quota set found", 1),
        (("-su", "x"), 'denied: access list "x" does not exist', 1),
        (("-sprj", "x"), "x is not known as a project", 1),
        (("-scal", "x"), "x is not a calendar", 1),
        (("-sckpt", "x"), "x is not a checkpointing interface definition", 1),
        (("-sckptl",), "no ckpt interface definition defined", 1),
        (("-suser", "x"), "x is not known as a user", 0),
        (("-sconf", "nosuch"), 'can\'t resolve hostname "nosuch": can\'t resolve host name', 1),
        (("-bogus",), 'error: invalid option argument "-bogus"\nUsage: qconf -help', 1),
        (("-kt", "jvm"), 'thread with name "jvm" is not supported', 0),
        (("-ke", "global"), 'can\'t resolve hostname "global"', 1),
        (("-ke", "no.such"), 'can\'t resolve hostname "no.such"', 1),
        (("-kej",), 'Need a hostname or the keyword "all"', 1),
    ],
)  # fmt: skip
def test_what_does_not_exist_is_told_on_standard_error(
    department: Desk, arguments: tuple[str, ...], words: str, status: int
) -> None:
    done = department("qconf", *arguments, status=status)
    assert (done.out, done.err) == ("", f"{words}\n")


def test_some_of_several_objects_are_shown(department: Desk, tmp_path: Path) -> None:
    done = department("qconf", "-su", "deadlineusers,x,arusers", status=1)
    assert done.err == 'denied: access list "x" does not exist\n'
    assert done.out.startswith("name    deadlineusers\n") and "\n\nname    arusers\n" in done.out
