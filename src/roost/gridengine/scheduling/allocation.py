"""Slots of a parallel job: how many come from which hosts and instances.

The hosts are tried in the order of their best instances, after those with fewer unmet soft requests. The slots from
each are bounded by `global`, the host, the instance, quotas, and the seats of its machine, each of which has a meter
that counts down during the attempt. By the allocation rule a host gives all slots (``$pe_slots``), as many as it has
(``$fill_up``), one at a time in turn (``$round_robin``), or an exact number. The job gets the largest of its requested
amounts that is offered now.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from roost.gridengine.objects.parallel import FILL_UP, PE_SLOTS, ROUND_ROBIN, ParallelEnvironment
from roost.gridengine.scheduling.matching import JobCategory, Matcher, Meter, Meters, Spot
from roost.gridengine.scheduling.reasons import Reason, ReasonCode
from roost.gridengine.scheduling.snapshot import Grant, Range


class Allocation(NamedTuple):
    """What a parallel job gets."""

    kind: JobCategory
    #: by position, the master's first
    spots: tuple[Spot, ...]
    grants: tuple[Grant, ...]
    #: soft requests that are not met, over all instances
    unmet: int


class _Host(NamedTuple):
    spots: list[Spot]
    meters: list[list[Meter]]

    def take(self, wanted: int, given: dict[int, int]) -> int:
        """Take up to `wanted` slots, from one instance after the other; return how many."""
        left = wanted
        for spot, meters in zip(self.spots, self.meters, strict=True):
            slots = int(min(left, *[meter.slots for meter in meters]))
            if slots > 0:
                for meter in meters:
                    meter.slots -= slots
                given[spot.position] = given.get(spot.position, 0) + slots
                left -= slots
        return wanted - left

    def give_back(self, given: dict[int, int]) -> None:
        """Undo what was taken from this host."""
        for spot, meters in zip(self.spots, self.meters, strict=True):
            for meter in meters:
                meter.slots += given.get(spot.position, 0)


def largest(ranges: tuple[Range, ...], offered: int, step: int = 1) -> int | None:
    """The largest amount of some ranges that is not above an offer and a multiple of a step; None if there is none."""
    found = [(one.low, min(one.high, offered) // step * step) for one in ranges]
    return max([amount for low, amount in found if amount >= low], default=None)


def least(ranges: tuple[Range, ...], step: int = 1) -> int | None:
    """The smallest amount of some ranges that is a multiple of a step; None if there is none."""
    found = [(-(-one.low // step) * step, one.high) for one in ranges]
    return min([amount for amount, high in found if amount <= high], default=None)


class Allocator:
    """Tries to place parallel jobs."""

    def __init__(self, matcher: Matcher, seats: Mapping[str, int]) -> None:
        """`seats`: slots left on machines, by host; the caller counts them down."""
        self._matcher, self._seats = matcher, seats

    def allocate(
        self, kind: JobCategory, master: JobCategory | None, positions: Iterable[int], free: int
    ) -> Allocation | Reason:
        """Give a parallel job its slots, or return what its environment offers.

        `positions` are the instances in order, `free` the slots left in the environment, and `master` is the kind of
        the master task if it has its own queues.
        """
        environment = kind.environment
        assert environment is not None
        candidates = list(positions)
        spots = [self._matcher.spots[position] for position in candidates]
        fitting = [spot for spot in spots if self._fits(kind, spot)]
        masters = fitting
        if master is not None:
            masters = [spot for spot in spots if self._fits(master, spot)]
        first = next((spot for spot in masters if self._matcher.takes_master(kind, spot)), None)
        if first is None:
            return Reason(ReasonCode.PE_OFFERS, (environment.name, 0))
        trial = _Trial(self._matcher, self._seats, kind, fitting, first, master is not None)
        offered = min(trial.offered(environment), free)
        step = environment.slots_a_host or 1
        amount = largest(kind.request.slots, offered, step)
        if environment.allocation_rule == PE_SLOTS:
            amount, offered = trial.on_one_host(kind.request.slots, free)
        if amount is None:
            shown = offered if environment.allocation_rule in (FILL_UP, ROUND_ROBIN) else 0
            return Reason(ReasonCode.PE_OFFERS, (environment.name, shown))
        given = trial.give(environment, amount)
        if given is None:
            return Reason(ReasonCode.PE_OFFERS, (environment.name, 0))
        found = tuple(self._matcher.spots[position] for position in given)
        grants = tuple(Grant(spot.own.name, given[spot.position]) for spot in found)
        return Allocation(kind, found, grants, sum([self._matcher.unmet(kind, spot) for spot in found]))

    def _fits(self, kind: JobCategory, spot: Spot) -> bool:
        refused = spot.position in kind.refused or spot.position in kind.stock.refused
        return not refused and self._matcher.fits(kind, spot)


class _Trial:
    """One attempt to place a job, its master on a given instance."""

    def __init__(
        self,
        matcher: Matcher,
        seats: Mapping[str, int],
        kind: JobCategory,
        fitting: list[Spot],
        first: Spot,
        apart: bool,
    ) -> None:
        self._matcher, self._seats, self._kind, self._first = matcher, seats, kind, first
        unmet = {spot.position: matcher.unmet(kind, spot) for spot in fitting}
        by_host: dict[str, list[Spot]] = {}
        for spot in sorted(fitting, key=lambda spot: unmet[spot.position]):
            by_host.setdefault(spot.host.name, []).append(spot)
        own = by_host.pop(first.host.name, [])
        #: hosts in order, the master's first, and there the master's instance
        self._spots = [[first, *(spot for spot in own if spot is not first)], *by_host.values()]
        #: whether the master's instance accepts only the master
        self._only_master = apart and first not in own

    def _hosts(self) -> list[_Host]:
        meters: Meters = {}
        found = []
        for spots in self._spots:
            seats = Meter(self._seats.get(spots[0].host.name, math.inf))
            found.append(_Host(spots, [[*self._matcher.room(self._kind, spot, meters), seats] for spot in spots]))
        if self._only_master:
            found[0].meters[0].append(Meter(1))
        return found

    def offered(self, environment: ParallelEnvironment) -> int:
        """How many slots the hosts can give by the rule of an environment."""
        hosts, given = self._hosts(), dict[int, int]()
        highest = max(one.high for one in self._kind.request.slots)
        exact = environment.slots_a_host
        if exact is None:
            return sum([host.take(highest, given) for host in hosts])
        return exact * sum([self._exactly(host, exact, given) for host in hosts])

    @staticmethod
    def _exactly(host: _Host, slots: int, given: dict[int, int]) -> bool:
        taken: dict[int, int] = {}
        if host.take(slots, taken) < slots:
            host.give_back(taken)
            return False
        given.update(taken)
        return True

    def on_one_host(self, ranges: tuple[Range, ...], free: int) -> tuple[int | None, int]:
        """The largest amount on one host, with that host first; and how many slots it offers."""
        best: tuple[int, int] | None = None
        for index, _ in enumerate(self._spots):
            host = self._hosts()[index]
            offered = min(host.take(max(one.high for one in ranges), {}), free)
            amount = largest(ranges, offered)
            if amount is not None and (best is None or amount > best[0]) and (index == 0 or not self._only_master):
                best = amount, index
        if best is None:
            return None, 0
        self._spots.insert(0, self._spots.pop(best[1]))
        return best[0], best[0]

    def give(self, environment: ParallelEnvironment, amount: int) -> dict[int, int] | None:
        """Slots by position, the master's first; None if the rule does not give so many."""
        hosts, given = self._hosts(), dict[int, int]()
        left = amount
        match environment.allocation_rule:
            case _ if exact := environment.slots_a_host:
                for host in hosts:
                    if left > 0 and self._exactly(host, exact, given):
                        left -= exact
            case rule if rule == ROUND_ROBIN:
                while left and hosts:
                    for host in tuple(hosts):
                        if left and host.take(1, given):
                            left -= 1
                        elif left:
                            hosts.remove(host)
            case _:
                for host in hosts[: 1 if environment.allocation_rule == PE_SLOTS else None]:
                    left -= host.take(left, given)
        return None if left else given
