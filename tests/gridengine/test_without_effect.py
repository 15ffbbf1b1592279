"""Each attribute of a cell is read by some module, or is listed as without effect; what users would miss is named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import roost
from roost.gridengine.cell import new_cell
from roost.gridengine.objects.configuration import PARAMETERS as CONFIGURED
from roost.gridengine.objects.kinds import KINDS
from roost.gridengine.objects.rows import rows_of
from roost.gridengine.objects.scheduler import PARAMETERS, SchedulerConfiguration
from roost.gridengine.pool.lacking import not_carried_out
from roost.gridengine.without_effect import CONFIGURATION, SCHEDULER, USER
from roost.gridengine.without_effect import PARAMETERS as COUNTED
from tests.gridengine.scheduling.cells import cell

SOURCE = Path(roost.__file__).parent
#: What only reads, prints, checks and describes attributes gives them no effect.
IDLE = ("gridengine/objects", "gridengine/lint", "gridengine/edits",
        "gridengine/without_effect.py", "gridengine/builtin.py", "cli/gridengine/qconf")  # fmt: skip
#: Those whose names are put together where they are read.
PUT_TOGETHER = {
    *("weight_user", "weight_project", "weight_department", "weight_job"),
    *(f"{kind}_{name}" for kind in "hs" for name in ("rt", "cpu", "vmem", "fsize", "data", "stack", "core", "rss")),
}
#: What the objects' own modules make of an attribute, and the others read.
READ_BY_OBJECTS = {"week", "year"}
LISTED = {**CONFIGURATION, **SCHEDULER, **USER}
ATTRIBUTES = {
    *(one.name for one in CONFIGURED),
    *(row.name for kind in KINDS for row in kind.rows if not row.reported),
    *(row.name for row in rows_of(SchedulerConfiguration)),
}


def read() -> set[str]:
    """The words of all modules that act on a cell."""
    found: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        if not path.relative_to(SOURCE).as_posix().startswith(IDLE):
            found.update(re.findall(r"\w+", path.read_text("utf-8")))
    return found


def test_each_attribute_is_read_or_listed_as_without_effect() -> None:
    words = read() | PUT_TOGETHER | READ_BY_OBJECTS
    assert ATTRIBUTES - words - LISTED.keys() == set()
    assert LISTED.keys() <= ATTRIBUTES


def test_parameters_that_count_are_read() -> None:
    words = {word.lower() for word in read()}
    assert {name for names in COUNTED.values() for name in names} - words == {"flush_time", "accounting_flush_time"}
    assert {name.upper() for name in COUNTED["params"]} <= PARAMETERS.keys()


def test_a_new_cell_has_nothing_that_is_missed() -> None:
    assert list(not_carried_out(new_cell())) == []


@pytest.mark.parametrize(
    ("edit", "named"),
    [
        ("configurations/global: shepherd_cmd /opt/shepherd", "shepherd_cmd: "),
        ("configurations/node1: rsh_command /usr/bin/ssh", "rsh_command: "),
        ("configurations/global: qlogin_command /usr/bin/telnet", "qlogin_command: "),
        ("configurations/global: delegated_file_staging true", "delegated_file_staging: "),
        ("configurations/global: execd_params KEEP_ACTIVE=1,NOTIFY_KILL=TERM", "execd_params KEEP_ACTIVE "),
        ("schedconf: params PROFILE=1", "params PROFILE "),
        ("schedconf: reprioritize_interval 0:2:0", "reprioritize_interval: "),
        ("configurations/global: reporting_params reporting=true monitoring=1", "reporting_params monitoring "),
        ("configurations/global: reporting_params accounting=true reporting=true joblog=true sharelog=0:10:0", ""),
        ("execution/global: report_variables slots", ""),
        ("configurations/global: loglevel log_debug", ""),
        ("configurations/global: administrator_mail ann", ""),
        ("schedconf: params MONITOR=0", ""),
    ],
)
def test_what_users_would_miss_is_named_with_its_place(edit: str, named: str) -> None:
    before = set(not_carried_out(cell()))
    found = sorted(set(not_carried_out(cell(edit))) - before)
    assert len(found) == bool(named)
    assert all(
        each.startswith(named) and ("configuration" in each or "(execution host global)" in each) for each in found
    ), found
