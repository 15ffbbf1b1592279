"""The demands of queues, and the matches sent to them and not confirmed yet.

An assigned slot is not assigned again until its machine offers another claim, or until MATCH_TIMEOUT has passed. A
match that a queue has not been seen to act upon is not given to it again. A queue that does not confirm a message is
asked whether it is alive, and gets nothing until it responds. If machines are notified of matches, a slot must not wait
for a queue that is away: a queue that has been silent is asked before it gets anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from roost.base.records import dataclass, field
from roost.classad import ClassAd
from roost.collector.table import Kept
from roost.model.identifiers import public_of
from roost.negotiator.snapshot import Match, Pledge, Request
from roost.negotiator.timing import Urgency
from roost.wire import messages as m
from roost.wire.ads import ad_from

#: How long an assigned slot is reserved, s.
PROMISE_S: Final = 120.0
#: How long ago a queue must have sent a message to be considered alive, if machines are notified of matches, s.
LATELY_S: Final = 1.0
#: How long a queue may take to confirm a message with matches, s; after that it is considered lost.
HEARD_S: Final = 15.0


@dataclass(frozen=True, slots=True)
class Heard:
    """The consequences of a queue's demand."""

    #: The queue is new, or has restarted: it has not been sent anything yet.
    begins: bool
    #: How soon it wants a cycle; None if it does not.
    urgency: Urgency | None


@dataclass(slots=True)
class _Queue:
    """The state of one queue."""

    #: (submitter, autocluster) to matches sent and not seen to be acted upon: serial, time, names of slots.
    given: dict[tuple[str, int], list[tuple[int, float, tuple[str, ...]]]] = field(default_factory=dict)
    #: Autocluster to the ad of one of its jobs.
    ads: dict[int, ClassAd] = field(default_factory=dict)
    demand: m.Demand | None = None
    serial: int = 0
    #: The last message about requests that got nothing.
    rejected: dict[str, str] = field(default_factory=dict)
    #: Time of its last message, epoch s.
    spoke_at: float = -math.inf
    #: It did not confirm a message in time, or is asked beforehand: it may be away until it responds.
    is_silent: bool = False
    #: It has responded that it is alive, and there was no cycle since.
    is_there: bool = False

    def pending(self, submitter: str, autocluster: int) -> int:
        """Number of jobs of an autocluster to which a slot has been assigned."""
        return len(self.given.get((submitter, autocluster), ()))

    def idle(self) -> dict[tuple[str, int], int]:
        """(submitter, autocluster) to the number of jobs without an assigned slot."""
        if self.demand is None:
            return {}
        return {
            (submitter, each.autocluster): each.count - self.pending(submitter, each.autocluster)
            for submitter, wanted in self.demand.submitters.items()
            for each in wanted
        }

    def wants(self, demand: m.Demand) -> None:
        """Take a new demand; ads that it does not repeat are unchanged. Raises WireError."""
        requests = [each for wanted in demand.submitters.values() for each in wanted]
        fresh = {each.autocluster: ad_from(each.ad) for each in requests if each.ad}
        present = {each.autocluster for each in requests}
        self.ads = {number: ad for number, ad in (self.ads | fresh).items() if number in present}
        self.demand, self.is_silent = demand, False
        self._keep(lambda each: each[0] > demand.heard)

    def lost(self, before: float) -> list[str]:
        """Consider matches sent before that time and not confirmed since as lost; return the slots."""
        slots = [slot for given in self.given.values() for _, at, some in given if at < before for slot in some]
        if slots:
            self._keep(lambda each: each[1] >= before)
        return slots

    def _keep(self, wanted: Callable[[tuple[int, float, tuple[str, ...]]], bool]) -> None:
        for key, given in list(self.given.items()):
            left = [each for each in given if wanted(each)]
            if left:
                self.given[key] = left
            else:
                del self.given[key]


def _has_claim(slot: Kept | None, claim_id: str) -> bool:
    """Whether a slot's last report says that it holds, or offers, a claim."""
    return slot is not None and claim_id in (public_of(slot.claim_id), slot.ad.get("PublicClaimId"))


class PendingMatches:
    """The queues' demands, and the slots that have been assigned to them."""

    def __init__(self) -> None:
        self._queues: dict[str, _Queue] = {}
        #: Name of a slot to its assigned claim, and the time (epoch s).
        self.promised: dict[str, tuple[str, float]] = {}
        #: The charge for it until the slot reports it itself.
        self._pledges: dict[str, Pledge] = {}
        #: The queue to which it was assigned.
        self._takers: dict[str, str] = {}
        #: Slot to its claim that its queue reported as over, by the public part of its id.
        self._left: dict[str, str] = {}

    # -- what is heard -------------------------------------------------------------------------------

    def wanted(self, demand: m.Demand, schedd: str, now: float) -> Heard:
        """Take a queue's demand, at `now` (epoch s). Raises WireError."""
        queue = self._queues.setdefault(schedd, _Queue())
        # A queue that may have been away could not get anything.
        before = {} if queue.is_silent else queue.idle()
        queue.spoke_at, queue.is_there = now, queue.is_silent
        begins = queue.demand is None or demand.serial <= queue.demand.serial
        if begins:
            # What an earlier process of it was sent is forgotten, even if that process had received it.
            self._take_back(queue, math.inf)
            for name in [name for name, taker in self._takers.items() if taker == schedd]:
                self.promised.pop(name, None)
        queue.wants(demand)
        self._left.update(demand.left)
        for name, (claim_id, _) in list(self.promised.items()):
            if claim_id in demand.declined:
                del self.promised[name]
        idle = queue.idle()
        if demand.declined or any(count > before.get(key, 0) for key, count in idle.items()):
            return Heard(begins, Urgency.URGENT)
        return Heard(begins, Urgency.CHANGED if idle else None)

    def offered(self, slot: str, claim_id: str) -> None:
        """Note the claim that a slot offers; an assigned claim does not count."""
        promised = self.promised.get(slot)
        if promised is not None and promised[0] != claim_id:
            del self.promised[slot]

    def awaits_slots(self, kept: Callable[[str], Kept | None]) -> bool:
        """Whether slots whose claims are over have still to report that; `kept`: the last report of a slot.

        A slot that was assigned to another job does not become free.
        """
        self._left = {
            slot: claim_id
            for slot, claim_id in self._left.items()
            if _has_claim(kept(slot), claim_id) and not self._is_promised(slot, claim_id)
        }
        return bool(self._left)

    def _is_promised(self, slot: str, instead_of: str) -> bool:
        promised = self.promised.get(slot)
        return promised is not None and public_of(promised[0]) != instead_of

    def await_no_slots(self) -> None:
        """Stop waiting: a slot that has not reported by now may never do so."""
        self._left.clear()

    def gone(self, slot: str) -> None:
        """Forget a slot that no longer exists."""
        self.promised.pop(slot, None)

    def all_lost(self) -> None:
        """Note that recent matches may not have arrived."""
        for queue in self._queues.values():
            self._take_back(queue, math.inf)

    # -- what is given -------------------------------------------------------------------------------

    def questions(self, now: float, *, surely: bool = False) -> dict[str, m.Matched]:
        """Silent queues to a message without a match, to which they answer with a demand if they are alive.

        `surely`: queues that wait for slots and have been silent lately may be away, too.
        """
        found = {}
        for schedd, queue in self._queues.items():
            waits = any(count > 0 for count in queue.idle().values())
            if surely and waits and not queue.is_there and now - queue.spoke_at > LATELY_S:
                queue.is_silent = True
            queue.is_there = False
            if queue.is_silent:
                queue.serial += 1
                found[schedd] = m.Matched(matches=[], rejected={}, serial=queue.serial)
        return found

    def tidy(self, now: float) -> None:
        """Take back matches that no claim has followed."""
        for queue in self._queues.values():
            # Otherwise, slots assigned to it while it is away would each be reserved for that time.
            queue.is_silent = self._take_back(queue, now - HEARD_S) or queue.is_silent
        self.promised = {name: each for name, each in self.promised.items() if now - each[1] <= PROMISE_S}
        self._pledges = {name: each for name, each in self._pledges.items() if name in self.promised}
        self._takers = {name: each for name, each in self._takers.items() if name in self.promised}

    def _take_back(self, queue: _Queue, before: float) -> bool:
        """Whether anything was sent before that time and not confirmed since."""
        lost = queue.lost(before)
        for slot in lost:
            self.promised.pop(slot, None)
        return bool(lost)

    @property
    def pledges(self) -> tuple[Pledge, ...]:
        """The charges for assigned slots."""
        return tuple(self._pledges.values())

    def requests(self) -> list[tuple[str, str, m.Demand, tuple[Request, ...]]]:
        """Queue, submitter, the queue's demand, and the unmatched part of it."""
        found = []
        for schedd, queue in sorted(self._queues.items()):
            if queue.demand is None or queue.is_silent:
                continue
            for submitter, wanted in queue.demand.submitters.items():
                requests = []
                for each in wanted:
                    ad = queue.ads.get(each.autocluster)
                    count = each.count - queue.pending(submitter, each.autocluster)
                    if ad is not None and count > 0:
                        requests.append(
                            Request(
                                autocluster=each.autocluster, ad=ad, count=count, job=each.job, submission=each.request
                            )
                        )
                if requests:
                    found.append((schedd, submitter, queue.demand, tuple(requests)))
        return found

    def room(self, schedd: str) -> int | None:
        """How many more slots a queue may get; None for no limit."""
        queue = self._queues[schedd]
        if queue.demand is None or queue.demand.places is None:
            return None
        return max(0, queue.demand.places - sum(len(each) for each in queue.given.values()))

    def promise(self, match: Match, now: float) -> None:
        """Note that a slot is about to be assigned, or several to a parallel job."""
        for each in match.slots:
            self.promised[each.slot] = (each.claim_id, now)
            self._takers[each.slot] = match.schedd
            if each.pledge is not None:
                self._pledges[each.slot] = each.pledge

    def held(self, schedd: str, slot: str, claim_id: str, task: ClassAd, now: float) -> None:
        """Note a queue's report that it is requesting a slot that an earlier central manager assigned to it."""
        self.promised[slot] = (claim_id, now)
        self._takers[slot] = schedd
        self._pledges[slot] = Pledge(submitter="", weight=0.0, task=task)

    def given(self, schedd: str, matches: list[m.Match], rejected: dict[str, str], now: float) -> m.Matched | None:
        """The message with a queue's matches and refusals; None if there is nothing new."""
        queue = self._queues[schedd]
        if not matches and rejected == queue.rejected:
            return None
        queue.rejected = rejected
        queue.serial += 1
        for match in matches:
            slots = (match.slot, *(part.slot for part in match.parts))
            queue.given.setdefault((match.submitter, match.autocluster), []).append((queue.serial, now, slots))
        return m.Matched(matches=matches, rejected=rejected, serial=queue.serial)
