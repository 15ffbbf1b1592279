"""What a queue tells the matchmaker: who waits for what, which matches it does not want, and its own ad.

Words are gathered for a moment, so that a queue that is busy does not tell of every job. Of each autocluster the ad is
told once, as long as the matchmaker is told of it at all.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from roost.runtime.causes import cause_id
from roost.runtime.daemon_ads import REFRESH_S, scheduler_ad
from roost.wire import messages as m
from roost.wire.ads import ad_data

if TYPE_CHECKING:
    from roost.runtime.queue.daemon import ScheddDaemon

#: Shortest time between two words to the matchmaker about idle jobs, s.
OFFER_GAP_S: Final = 0.02
#: How long it may wait to hear that there are fewer of them, s.
OFFER_LATER_S: Final = 0.5
#: Shortest time between two counts for the queue's own ad, s.
OWN_AD_GAP_S: Final = 1.0
#: Most requests of one submitter told to the matchmaker at once.
REQUESTS_MAX: Final = 5000


class Demands:
    """The words of one queue."""

    def __init__(self, daemon: ScheddDaemon) -> None:
        self._daemon = daemon
        self._offer: asyncio.TimerHandle | None = None
        self._offered_at = 0.0
        self._declined: list[str] = []
        #: What the pool was told of submitters.
        self._told_ads: dict[str, dict[str, Any]] = {}
        #: The queue's own ad as it was told last; empty for one that nobody knows. When it was made, and told.
        self._own_ad: dict[str, Any] = {}
        self._own_ad_at = self._own_ad_told_at = 0.0
        #: Number of the last word to the matchmaker, and of the last that was heard from it.
        self._serial = 0
        self.heard = 0
        #: Autoclusters that the matchmaker was told of last, and whose ad it has.
        self._known: set[int] = set()
        #: The queue hears what it is given: before that it asks for nothing.
        self._hears = False

    def begin(self) -> None:
        """Answers can be received from now on; the first messages are due."""
        self._hears = True
        self.forgotten()
        self.soon()

    def forgotten(self) -> None:
        """The matchmaker is a new one, or what it has heard is unknown."""
        self._known.clear()
        self._own_ad = {}

    def decline(self, claim_id: str) -> None:
        """A match is not wanted."""
        self._declined.append(claim_id)
        self.soon()

    async def refresh(self) -> None:
        """Ends of jobs are not news to the matchmaker, but users look at these figures."""
        late = asyncio.get_running_loop().time() - self._offered_at > REFRESH_S
        if late or self._daemon.queue.submitter_ads() != self._told_ads:
            self.soon()
        await self.tell_own_ad()

    def soon(self, gap_s: float = OFFER_GAP_S) -> None:
        """Tell the matchmaker when so much time has passed since it was told last."""
        if not self._hears:
            return
        loop = asyncio.get_running_loop()
        at = max(loop.time(), self._offered_at + gap_s)
        if self._offer is not None:
            if self._offer.when() <= at:
                return
            self._offer.cancel()
        self._offer = loop.call_at(at, lambda: self._daemon.spawn(self._tell()))

    async def _tell(self) -> None:
        self._offer = None
        self._offered_at = asyncio.get_running_loop().time()
        told: set[int] = set()
        offered = self._daemon.queue.offered(self._daemon.clock.now())
        submitters = {name: self._requests(groups, told) for name, groups in offered.items()}
        # The matchmaker forgets the ads of autoclusters that it was not told of last.
        self._known = told
        self._serial += 1
        declined, self._declined = self._declined, []
        self._told_ads = self._daemon.queue.submitter_ads()
        await self._daemon.bus.send(
            self._daemon.subjects.demand(self._daemon.context.name),
            m.Demand(
                schedd=self._daemon.context.name,
                submitters=submitters,
                ads=self._told_ads,
                serial=self._serial,
                heard=self.heard,
                declined=declined,
                apart=self._daemon.queue.apart,
                cell=self._daemon.queue.holder.cell,
            ),
        )
        await self.tell_own_ad()

    async def tell_own_ad(self) -> None:
        """Tell the pool of the queue itself, if there is news; it is counted anew no more than once in a while."""
        now = asyncio.get_running_loop().time()
        if self._own_ad and now - self._own_ad_at < OWN_AD_GAP_S:
            return
        self._own_ad_at = now
        own = scheduler_ad(self._daemon.context.name, self._daemon.queue, started_at=self._daemon.started_at)
        self._daemon.cron.ad = own
        own = self._daemon.cron.attributes() | own
        if own != self._own_ad or now - self._own_ad_told_at > REFRESH_S:
            self._own_ad, self._own_ad_told_at = own, now
            await self._daemon.bus.send(self._daemon.subjects.ads(self._daemon.context.name), m.DaemonAds(ads=[own]))

    def _requests(self, groups: list[Any], told: set[int]) -> list[m.Request]:
        found = []
        places = self._daemon.queue.holder.places(self._daemon.clock.now())
        for group in groups[:REQUESTS_MAX]:
            first = group.first()
            if first is None:
                continue
            known = group.autocluster in self._known or group.autocluster in told
            ad = {} if known else ad_data(self._daemon.queue.book.autoclusters.sample(group.autocluster))
            told.add(group.autocluster)
            cluster = self._daemon.queue.book.clusters[group.cluster]
            found.append(
                m.Request(
                    autocluster=group.autocluster,
                    ad=ad,
                    count=min(group.count, cluster.room, places),
                    job=f"{group.cluster}.{first}",
                    request=cause_id(cluster.ad),
                )
            )
        return found
