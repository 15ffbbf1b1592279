"""What a cell says of accounting and reporting, as the pool's queue keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from roost.gridengine.cell import read_cell
from roost.gridengine.objects.kinds import USER_LIST
from roost.gridengine.objects.people import UserList, department_of


class Accounts(NamedTuple):
    """The files that a cell wants."""

    accounting: bool
    reporting: bool
    joblog: bool
    user_lists: Mapping[str, UserList]

    def department(self, user: str, groups: tuple[str, ...]) -> str:
        """The department of a user."""
        return department_of(self.user_lists, user, groups)


def accounts_of(files: Mapping[str, str]) -> Accounts:
    """What `reporting_params` of the global configuration wants, and the user lists, by the texts of a cell."""
    lists = f"{USER_LIST.directory}/"
    cell = read_cell({name: files[name] for name in files if name == "configurations/global" or name.startswith(lists)})
    words = cell.parameter("reporting_params").replace(",", " ").split()
    values = {name.lower(): value.lower() for name, _, value in (word.partition("=") for word in words)}
    return Accounts(
        accounting=values.get("accounting", "true") not in ("false", "0"),
        reporting=values.get("reporting", "false") in ("true", "1"),
        joblog=values.get("joblog", "false") in ("true", "1"),
        user_lists=cell.user_lists,
    )
