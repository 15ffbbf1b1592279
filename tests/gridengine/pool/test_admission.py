"""Who may submit what by the global configuration of a cell: the words are those of Grid Engine 8.1.9."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pytest

from roost.classad import ClassAd
from roost.gridengine.cell import Cell, new_cell, read_cell, write_cell
from roost.gridengine.pool.admission import Submitter, barred, over_limits
from roost.gridengine.pool.requests import Reader

ALICE = Submitter("alice", "sgehub", 2001, 2001, ("physics",))
BOB = Submitter("bob", "sgehub", 2002, 2002, ())

UID = "your user id 2001 is lower than minimum user id"
GID = "your group id 2001 is lower than minimum group id"
NO_PROJECT = "no project was supplied and only certain projects are allowed to submit jobs"


class Jobs(NamedTuple):
    """A cluster of equal jobs."""

    common: ClassAd
    count: int = 1


def cell(**parameters: str) -> Cell:
    """A cell with a list `staff` of alice and a group, and projects `proj` and `priv`, the second for staff."""
    files = write_cell(new_cell())
    lines = files["configurations/global"].splitlines()
    files["configurations/global"] = "".join(
        f"{name} {parameters.get(name, value)}\n" for name, _, value in (line.partition(" ") for line in lines)
    )
    files["usersets/staff"] = "name staff\ntype ACL\nfshare 0\noticket 0\nentries alice,@chem\n"
    for name, acl in (("proj", "NONE"), ("priv", "staff")):
        files[f"projects/{name}"] = f"name {name}\noticket 0\nfshare 0\nacl {acl}\nxacl NONE\n"
    files["users/alice"] = "name alice\noticket 0\nfshare 0\ndelete_time 0\ndefault_project NONE\n"
    return read_cell(files)


def refused(who: Submitter, project: str = "", count: int = 1, **parameters: str) -> list[str]:
    site = cell(**parameters)
    ad: Mapping[str, str] = {"Owner": who.user, **({"CellProject": project} if project else {})}
    return barred(site, who, Reader(site, lambda _: who.groups), [Jobs(ClassAd(ad), count)])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("who", "project", "parameters", "words"),
    [
        (ALICE, "", {"min_uid": "2002"}, f"{UID} 2002 of cluster configuration"),
        (BOB, "", {"min_uid": "2002"}, ""),
        (ALICE, "", {"min_gid": "2002"}, f"{GID} 2002 of cluster configuration"),
        (ALICE._replace(uid=None), "", {"min_uid": "2002"}, ""),
        (ALICE, "", {"enforce_project": "true"}, "no project assigned to job"),
        (ALICE, "proj", {"enforce_project": "true"}, ""),
        (ALICE, "", {"enforce_user": "true"}, ""),
        (BOB, "", {"enforce_user": "true"}, 'the user "bob" does not exist'),
        (ALICE, "", {"user_lists": "staff"}, ""),
        (BOB, "", {"user_lists": "staff"}, "bob@sgehub is not allowed to submit jobs"),
        (BOB._replace(groups=("chem",)), "", {"user_lists": "staff"}, ""),
        (ALICE, "", {"xuser_lists": "staff"}, "alice@sgehub is not allowed to submit jobs"),
        (ALICE, "", {"projects": "priv"}, NO_PROJECT),
        (ALICE, "proj", {"projects": "priv"}, 'project "proj" is not allowed to submit jobs'),
        (ALICE, "priv", {"projects": "priv"}, ""),
        (BOB, "priv", {}, 'no access to project "priv" for user "bob"'),
        (ALICE, "proj", {"xprojects": "proj"}, 'project "proj" is not allowed to submit jobs'),
        (ALICE, "", {"xprojects": "proj"}, ""),
        (BOB, "", {"enforce_user": "auto", "auto_user_default_project": "proj", "enforce_project": "true"}, ""),
    ],
)  # fmt: skip
def test_who_may_submit(who: Submitter, project: str, parameters: dict[str, str], words: str) -> None:
    assert refused(who, project, **parameters) == ([f"job rejected: {words}"] if words else [])


def test_tasks_of_an_array_are_limited() -> None:
    assert refused(ALICE, count=10, max_aj_tasks="10") == []
    assert refused(ALICE, count=11, max_aj_tasks="10") == [
        "job rejected: you tried to submit a job with more than 10 tasks"
    ]
    assert refused(ALICE, count=1_000_000, max_aj_tasks="0") == []


def test_jobs_of_a_user_and_of_all_are_limited() -> None:
    site = cell(max_u_jobs="2", max_jobs="3")
    assert over_limits(site, 1, 2) == []
    assert over_limits(site, 2, 2) == ["job rejected: only 2 jobs are allowed per user (current job count: 2)"]
    assert over_limits(site, 0, 3) == ["job rejected: only 3 jobs are allowed per cluster"]
    assert over_limits(cell(), 10**6, 10**6) == []


def test_users_that_the_cell_has_not_heard_of_count_as_the_configuration_says() -> None:
    site = cell(enforce_user="auto", auto_user_fshare="100", auto_user_oticket="7", auto_user_default_project="proj")
    found = site.user("bob")
    assert found is not None
    assert (found.fshare, found.oticket, found.default_project) == (100, 7, "proj")
    assert site.user("alice") == site.users["alice"]
    assert cell(enforce_user="false", auto_user_fshare="100").user("bob") is None
