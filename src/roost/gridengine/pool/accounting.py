"""What a cell says of accounting, as the pool's queue keeps it."""

from __future__ import annotations

from roost.gridengine.cell import Cell
from roost.gridengine.objects.host import GLOBAL


def keeps_accounting(cell: Cell) -> bool:
    """Whether `reporting_params` wants an accounting file."""
    configuration = cell.configurations.get(GLOBAL)
    words = ((configuration.get("reporting_params") if configuration else None) or "").replace(",", " ").split()
    values = dict(word.partition("=")[::2] for word in words)
    return values.get("accounting", "true").lower() not in ("false", "0")
