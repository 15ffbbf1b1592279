"""The commands that machines write for their jobs are those that there are."""

from __future__ import annotations

from roost.cli.gridengine.names import COMMANDS
from roost.model.cell_commands import NAMES


def test_machines_write_all_commands() -> None:
    assert set(NAMES) == set(COMMANDS)
