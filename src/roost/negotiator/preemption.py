"""Preemption of a claim for a better user: which requests may preempt, and which claims.

The attributes of priority and use in slot and job ads exist only here. PREEMPTION_REQUIREMENTS and PREEMPTION_RANK are
evaluated for the candidate slots, on ads that contain only the attributes that those expressions can reach.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import numpy as np

from roost.base.records import dataclass, field
from roost.classad import ClassAd, Expr, FixedWorld
from roost.classad.ad import MISSING
from roost.classad.values import fold
from roost.classad.vector import Table
from roost.classad.vector.kinds import Array
from roost.negotiator.ranks import BY_PRIORITY
from roost.negotiator.reach import SlotExpressions, calls, reach
from roost.negotiator.settings import NegotiatorSettings
from roost.negotiator.view import SlotView

#: Functions that may reach any attribute.
_ANY_NAME: Final = frozenset(("eval", "evalineachcontext", "countmatches"))


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitterUsage:
    """The current priority and use of a user."""

    #: Effective priority.
    priority: float
    in_use: float
    group: str
    group_quota: float
    group_in_use: float
    #: The group in which it negotiates, "<none>" where groups have no quotas.
    negotiating: str = "<none>"
    autoregroup: bool = False

    def as_remote(self) -> dict[str, Any]:
        """The attributes of the holder in a slot's ad."""
        return {
            "RemoteUserPrio": self.priority,
            "RemoteUserResourcesInUse": self.in_use,
            "RemoteGroup": self.group,
            "RemoteGroupQuota": self.group_quota,
            "RemoteGroupResourcesInUse": self.group_in_use,
        }

    def as_submitter(self) -> dict[str, Any]:
        """The attributes of the user in a job's ad."""
        return {
            "SubmitterUserPrio": self.priority,
            "SubmittorPrio": self.priority,
            "SubmitterUserResourcesInUse": self.in_use,
            "SubmitterGroup": self.group,
            "SubmitterGroupQuota": self.group_quota,
            "SubmitterGroupResourcesInUse": self.group_in_use,
            "SubmitterNegotiatingGroup": self.negotiating,
            "SubmitterAutoregroup": self.autoregroup,
        }


@dataclass(slots=True, kw_only=True)
class PreemptionAnswer:
    """The answer about some slots."""

    #: Whether each may be taken.
    allowed: Array
    #: PREEMPTION_RANK of each, minus infinity where it is not a number.
    rank: Array
    #: Number of slots by what prevents preemption.
    refused: Mapping[str, int]


#: What prevents preemption.
POLICY: Final = "preemption-requirements"
PRIORITY: Final = "priority"
OWN: Final = "own-slot"


@dataclass(slots=True)
class Preemption:
    """Preemption in one cycle."""

    table: Table
    view: SlotView
    settings: NegotiatorSettings
    world: FixedWorld
    #: Gives the current usage of a user.
    submitter_usage: Callable[[str], SubmitterUsage]
    _ads: Table = field(default_factory=Table)
    _names: frozenset[str] = frozenset()
    _whole: bool = False
    _slots: SlotExpressions | None = None

    def ask(self, ad: ClassAd, submitter: str, rows: Array, states: Array) -> PreemptionAnswer:
        """Whether slots in use may be taken for a request. `states` says for which reason: rank or priority."""
        self._show(ad, rows)
        request = ClassAd(self.submitter_usage(submitter).as_submitter())
        request.chained = ad
        places = np.fromiter((self._ads.place(row) for row in rows.tolist()), np.int64, len(rows))
        rank = np.full(len(rows), -np.inf)
        if self.settings.preemption_rank is not None:
            rank = (
                self._ads.evaluate(self.settings.preemption_rank, request, self.world).numbers_or(-np.inf).take(places)
            )
        allowed = np.ones(len(rows), bool)
        refused: dict[str, int] = {}
        by_priority = states == BY_PRIORITY
        if by_priority.any():
            for cause, bad in self._conditions(request, submitter, rows, places):
                bad &= by_priority & allowed
                if bad.any():
                    refused[cause] = int(np.count_nonzero(bad))
                    allowed &= ~bad
        return PreemptionAnswer(allowed=allowed, rank=rank, refused=refused)

    def _conditions(self, request: ClassAd, submitter: str, rows: Array, places: Array) -> Iterable[tuple[str, Array]]:
        """Each cause, and the slots whose preemption it prevents."""
        holders = [self.view.holders[code] for code in self.view.holder.take(rows).tolist()]
        yield OWN, np.fromiter((holder == submitter for holder in holders), bool, len(rows))
        condition = self.settings.preemption_requirements
        if condition is not None:
            yield POLICY, ~self._ads.evaluate(condition, request, self.world).true.take(places)
        own = self.submitter_usage(submitter).priority
        yield (
            PRIORITY,
            np.fromiter((not own < self.submitter_usage(each).priority for each in holders), bool, len(rows)),
        )

    def _show(self, ad: ClassAd, rows: Array) -> None:
        """Ensure that `_ads` has these slots, with every attribute that the expressions can reach."""
        if self._slots is None:
            self._slots = SlotExpressions(self.table)
        slots = self._slots

        def expressions_of(name: str) -> Iterable[Expr]:
            cell = ad.cell(name)
            return (*slots.of(name), cell) if isinstance(cell, Expr) else slots.of(name)

        settings = self.settings
        seeds = [each for each in (settings.preemption_requirements, settings.preemption_rank) if each is not None]
        reached = reach(seeds, expressions_of)
        if not reached.names <= self._names:
            self._names |= reached.names
            self._ads = Table()
            self._whole = any(calls(each, _ANY_NAME) for each in (*seeds, *slots.all()))
        fresh = [row for row in rows.tolist() if row not in self._ads]
        holders = {code: self._remote(code) for code in set(self.view.holder.take(fresh).tolist())} if fresh else {}
        self._ads.extend((row, self._shown(row, holders[self.view.holder.item(row)])) for row in fresh)

    def _remote(self, code: int) -> dict[str, Any]:
        """The attributes of a holder that the expressions can reach, by folded name."""
        shown = self.submitter_usage(self.view.holders[code]).as_remote()
        by_key = {fold(name): value for name, value in shown.items()}
        return {key: value for key, value in by_key.items() if self._whole or key in self._names}

    def _shown(self, row: int, remote: dict[str, Any]) -> ClassAd:
        if self._whole:
            shown = self.table.ad(self.view.names[row])
        else:
            # Set the cells directly: the names are folded already, and no user sees this ad.
            shown = ClassAd()
            shown.cells.update(self.table.cells(row, self._names))
        shown.cells.update(remote)
        if shown.cell("preemptingrank") is not MISSING:
            shown["CurrentRank"] = float(self.view.current_rank.item(row))
        return shown
