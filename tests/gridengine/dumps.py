"""The configurations in data/, as Grid Engine's `save_sge_config.sh` wrote them."""

from __future__ import annotations

from roost.gridengine.cell import Cell, read_cell
from tests.gridengine.questions import DATA

NAMES = ("plain", "department", "oddities")


def files(name: str) -> dict[str, str]:
    root = DATA / name
    return {str(path.relative_to(root)): path.read_text() for path in sorted(root.rglob("*")) if path.is_file()}


def cell(name: str) -> Cell:
    return read_cell(files(name))
