"""The usage settings of a cell, for the pool's queue and its scheduling run.

`halflife_decay_list` gives minutes by name: 0 means no decay, and -1 counts the usage of jobs only while they run.
Other names have `halftime`, which is in hours.
"""

from __future__ import annotations

import math
from typing import Final

from roost.gridengine.cell import Cell
from roost.gridengine.objects.host import GLOBAL
from roost.gridengine.objects.scheduler import SchedulerConfiguration
from roost.gridengine.objects.values import is_none
from roost.gridengine.scheduling import UsageOwner
from roost.model.cell_usage import NAMES, Owner, UsageRules, Used, by_share

_HOUR_S: Final = 3600.0
_MINUTE_S: Final = 60.0


def needs_usage(cell: Cell) -> bool:
    """Whether a run of the cell gives share tree tickets."""
    return bool(cell.scheduler.weight_tickets_share and cell.share_tree)


def rules_of(cell: Cell) -> UsageRules:
    """The rules of a cell."""
    scheduler = cell.scheduler
    common = scheduler.halftime * _HOUR_S if scheduler.halftime else math.inf
    listed = decays(scheduler)
    return UsageRules(
        halflives={name: listed.get(name, common) for name in NAMES},
        weights={one.name: one.number for one in scheduler.usage_weight_list},
        reserved=_is_set(cell, "SHARETREE_RESERVED_USAGE"),
        accounts_reserved=_is_set(cell, "ACCT_RESERVED_USAGE"),
    )


def decays(scheduler: SchedulerConfiguration) -> dict[str, float]:
    """The half-lives of `halflife_decay_list`, s; entries without a number are left out."""
    if is_none(scheduler.halflife_decay_list):
        return {}
    found: dict[str, float] = {}
    for part in scheduler.halflife_decay_list.split(":"):
        name, _, text = part.partition("=")
        try:
            minutes = float(text)
        except ValueError:
            continue
        found[name.strip()] = math.inf if minutes == 0 else max(0.0, minutes * _MINUTE_S)
    return found


def _is_set(cell: Cell, name: str) -> bool:
    """Whether a parameter of the global `execd_params` is true."""
    configuration = cell.configurations.get(GLOBAL)
    words = ((configuration.get("execd_params") if configuration else None) or "").replace(",", " ").split()
    values = dict(word.partition("=")[::2] for word in words)
    return values.get(name, "").lower() in ("1", "true")


def used_by_account(
    accounts: tuple[tuple[Owner, Used], ...], cell: Cell, now: float
) -> dict[UsageOwner, dict[str, float]]:
    """The usage for the run: by user and project, decayed until now."""
    return {UsageOwner(*key): amounts for key, amounts in by_share(accounts, rules_of(cell), now).items()}
