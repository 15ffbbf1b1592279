"""The accounting and reporting settings of a cell, for the pool's queue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from roost.gridengine.cell import Cell, read_cell
from roost.gridengine.objects.kinds import USER_LIST
from roost.gridengine.objects.people import UserList, department_of
from roost.gridengine.objects.values import seconds


class CellUsage(NamedTuple):
    """The files that a cell wants."""

    accounting: bool
    reporting: bool
    joblog: bool
    #: Time between two reports of the share tree, s; 0 for none.
    sharelog_s: float
    user_lists: Mapping[str, UserList]

    def department(self, user: str, groups: tuple[str, ...]) -> str:
        """The department of a user."""
        return department_of(self.user_lists, user, groups)


def _parameters(cell: Cell) -> dict[str, str]:
    words = cell.parameter("reporting_params").replace(",", " ").split()
    return {name.lower(): value.lower() for name, _, value in (word.partition("=") for word in words)}


def reports(cell: Cell) -> bool:
    """Whether a cell wants a reporting file."""
    return _parameters(cell).get("reporting", "false") in ("true", "1")


def accounting_settings_of(files: Mapping[str, str]) -> CellUsage:
    """The settings of `reporting_params` in the global configuration, and the user lists, from the texts of a cell."""
    lists = f"{USER_LIST.directory}/"
    cell = read_cell({name: files[name] for name in files if name == "configurations/global" or name.startswith(lists)})
    values = _parameters(cell)
    return CellUsage(
        accounting=values.get("accounting", "true") not in ("false", "0"),
        reporting=reports(cell),
        joblog=values.get("joblog", "false") in ("true", "1"),
        sharelog_s=seconds(values.get("sharelog", "0")) or 0.0,
        user_lists=cell.user_lists,
    )
