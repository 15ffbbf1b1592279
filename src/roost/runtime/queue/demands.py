"""What a queue sends the negotiator: its demand, the matches that it declines, and its own ad.

Changes are collected for a moment, so that a busy queue does not send one message per job. The ad of each autocluster
is sent once, as long as the demand contains it.
"""

from __future__ import annotations

import asyncio
import bisect
import itertools
import logging
from collections.abc import Coroutine, Iterator
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from roost.model.addresses import daemon_address
from roost.model.causes import submission_of
from roost.runtime.daemon_ads import REFRESH_S, DutyCycle, place_of, scheduler_ad
from roost.schedd.effects import OfferJobs
from roost.wire import messages as m
from roost.wire.ads import ad_data

if TYPE_CHECKING:
    from roost.runtime.clock import Clock
    from roost.runtime.role import RoleContext
    from roost.schedd.jobs.idle import IdleGroup
    from roost.schedd.queue import Queue
    from roost.wire.messages import Message
    from roost.wire.subjects import Subjects

_log = logging.getLogger("roost.schedd")

#: Minimum interval between two demands, s.
OFFER_GAP_S: Final = 0.02
#: Minimum interval as a multiple of the time that the last demand took: with many kinds of jobs, the queue has time
#: left for others.
REST: Final = 5.0
#: How long a queue that was cut off, or restarts, waits for machines to report what happened to its jobs, s: lost jobs
#: are idle then, and are requested in their turn.
ANSWERED_S: Final = 0.5
#: How long the news that there are fewer of them may wait, s.
OFFER_LATER_S: Final = 0.5
#: Delay of a retry after an internal error, s.
FAILED_S: Final = 30.0
#: Maximum number of recently ended claims in one demand; the negotiator waits for none of the others.
LEFT_MAX: Final = 1000
#: Minimum interval between two counts for the queue's own ad, s.
OWN_AD_GAP_S: Final = 1.0
#: Delay of the demand that follows an incomplete one, s.
NEXT_S: Final = 1.0
#: Maximum number of requests of one submitter in a demand.
REQUESTS_MAX: Final = 5000
#: Maximum size of the requests in one demand, bytes: small enough to be built and processed quickly, while other users
#: wait.
WORD_BYTES: Final = 1_000_000
#: Maximum size of a single request in a message (MESSAGE_BYTES_MAX), and of the ads of submitters, bytes.
REQUEST_BYTES_MAX: Final = 5_000_000
SUBMITTER_BYTES_MAX: Final = 2_000_000
#: Maximum overhead of a request besides its ad, and of a submitter's ad besides its name, bytes.
_REQUEST_BYTES: Final = 200
_SUBMITTER_BYTES: Final = 100


class Sender(Protocol):
    """An object that sends messages."""

    async def send(self, subject: str, message: Message) -> None:
        """Send a message to a subject."""


class AddedAttributes(Protocol):
    """The attributes that programs of SCHEDD_CRON_JOBLIST add to the queue's ad."""

    #: The ad without them, which the programs get.
    ad: dict[str, Any]

    def attributes(self) -> dict[str, Any]:
        """The added attributes."""


class DemandsDaemon(Protocol):
    """The interface of the queue's daemon for demands."""

    context: RoleContext
    clock: Clock
    started_at: float
    subjects: Subjects
    queue: Queue

    @property
    def bus(self) -> Sender: ...

    @property
    def cron(self) -> AddedAttributes: ...

    def spawn(self, work: Coroutine[Any, Any, None]) -> object:
        """Start a background task."""


class Demands:
    """The demands of one queue."""

    def __init__(self, daemon: DemandsDaemon) -> None:
        self._daemon = daemon
        self._offer: asyncio.TimerHandle | None = None
        self._offered_at = self._rest_s = 0.0
        #: No slots are requested before this time, on the loop's clock, s.
        self._asks_from = 0.0
        self._declined: list[str] = []
        #: Slots of ended claims, each with its claim, while jobs wait for others.
        self._left: dict[str, str] = {}
        #: Submitters left out of the pool's ads.
        self._hidden = 0
        #: The submitter ads that were sent.
        self._sent_ads: dict[str, dict[str, Any]] = {}
        #: The queue's own ad as last published, empty before the first time; when it was made, and published.
        self._own_ad: dict[str, Any] = {}
        self._duty = DutyCycle()
        self._own_ad_at = self._own_ad_sent_at = 0.0
        #: Number of the last demand, and of the negotiator's last message received.
        self._serial = 0
        self.heard = 0
        #: The submitter that was first in the last demand that continued.
        self._first = ""
        #: Whether the next demand continues where the last of its kind stopped, by submitter, instead of at the
        #: beginning.
        self._goes_on = False
        self._places: dict[str, int] = {}
        #: Maximum number of autoclusters in one demand since all of them fitted.
        self._most = 0
        #: Autoclusters in the last demand, whose ads the negotiator has.
        self._known: set[int] = set()
        #: The queue receives its matches: before that it requests nothing.
        self._receives_matches = False

    def begin(self, *, claims: bool = False) -> None:
        """Start sending: answers can be received from now on; machines are asked about stored claims, if there are any,
        and their answers are waited for.
        """
        self._receives_matches = True
        self.forgotten()
        if claims:
            self._asks_from = asyncio.get_running_loop().time() + ANSWERED_S
        self.soon()

    def forgotten(self) -> None:
        """Note that the negotiator is new, or may not have received everything."""
        self._known.clear()
        self._own_ad = {}

    def came_back(self) -> None:
        """Note that the queue was cut off; machines are asked what happened to its jobs."""
        self.forgotten()
        if self._offer is not None:
            self._offer.cancel()
            self._offer = None
        self._asks_from = asyncio.get_running_loop().time() + ANSWERED_S
        self.soon()

    def decline(self, claim_id: str) -> None:
        """Decline a match."""
        self._declined.append(claim_id)
        self.soon()

    def idle(self, effect: OfferJobs) -> None:
        """Note that idle jobs have changed."""
        room = LEFT_MAX - len(self._left)
        self._left.update(effect.left[: max(0, room)])
        self.soon(OFFER_LATER_S if effect.later else OFFER_GAP_S)

    async def refresh(self) -> None:
        """Update the counts: ends of jobs do not matter to the negotiator, but users read these numbers."""
        late = asyncio.get_running_loop().time() - self._offered_at > REFRESH_S
        if late or self._daemon.queue.submitter_ads() != self._sent_ads:
            self.soon()
        await self.tell_own_ad()

    def soon(self, gap_s: float = OFFER_GAP_S) -> None:
        """Send a demand when that much time has passed since the last one."""
        if not self._receives_matches:
            return
        loop = asyncio.get_running_loop()
        at = max(loop.time(), self._asks_from, self._offered_at + max(gap_s, self._rest_s))
        if self._offer is not None:
            if self._offer.when() <= at:
                return
            self._offer.cancel()
        self._offer = loop.call_at(at, lambda: self._daemon.spawn(self._send_demand()))

    async def _send_demand(self) -> None:
        """Send a demand; retry after an unforeseen failure, while the queue answers and jobs run."""
        self._offer = None
        try:
            await self._tell()
        except Exception:
            _log.exception(
                "internal error: idle jobs were not reported to the negotiator; trying again in %g s", FAILED_S
            )
            self._asks_from = asyncio.get_running_loop().time() + FAILED_S
            self.soon()

    async def _tell(self) -> None:
        loop = asyncio.get_running_loop()
        self._offered_at = loop.time()
        told: set[int] = set()
        submitters = self._wanted(self._daemon.queue.offered(self._daemon.clock.now()), told)
        # The negotiator forgets the ads of autoclusters that are not in the last demand.
        self._known = told
        self._serial += 1
        declined, self._declined = self._declined, []
        left, self._left = self._left, {}
        self._sent_ads = self._daemon.queue.submitter_ads()
        await self._daemon.bus.send(
            self._daemon.subjects.demand(self._daemon.context.name),
            m.Demand(
                schedd=self._daemon.context.name,
                submitters=submitters,
                ads=self._shown(self._sent_ads),
                serial=self._serial,
                heard=self.heard,
                declined=declined,
                left=left,
                places=self._daemon.queue.claim_table.places(self._daemon.clock.now()),
                arrivals=None if self._places else self._daemon.queue.book.arrivals,
                apart=self._daemon.queue.apart,
                cell=self._daemon.queue.claim_table.cell,
                errors=dict(self._daemon.queue.claim_table.errors),
                cell_states=self._daemon.queue.claim_table.cell_states,
                usage=self._daemon.queue.claim_table.usage.serial,
            ),
        )
        self._rest_s = REST * (loop.time() - self._offered_at)
        if self._places:
            # Some did not fit.
            self.soon(NEXT_S)
        await self.tell_own_ad()

    async def tell_own_ad(self) -> None:
        """Publish the queue's own ad if it has changed; its counts are updated only at intervals."""
        now = asyncio.get_running_loop().time()
        if self._own_ad and now - self._own_ad_at < OWN_AD_GAP_S:
            return
        self._own_ad_at = now
        context = self._daemon.context
        address = daemon_address(place_of(context.bus.urls), context.name, "schedd")
        own = scheduler_ad(context.name, self._daemon.queue, address=address, started_at=self._daemon.started_at)
        self._daemon.cron.ad = own
        own = self._daemon.cron.attributes() | own
        if own != self._own_ad or now - self._own_ad_sent_at > REFRESH_S:
            self._own_ad, self._own_ad_sent_at = own, now
            await self._daemon.bus.send(
                self._daemon.subjects.ads(self._daemon.context.name), m.DaemonAds(ads=[own | self._duty.read()])
            )

    def _wanted(self, offered: dict[str, list[IdleGroup]], told: set[int]) -> dict[str, list[m.ResourceRequest]]:
        """The requests of all submitters that fit into a demand; `told` collects their autoclusters.

        If not all fit, each submitter gets an equal share of the space, and unused shares are divided among the others.
        The first submitter changes from demand to demand, so that each has its turn soon. What the negotiator already
        knows takes little space, so that more fits into the next demand. When no more fit, every other demand continues
        where the one before it stopped, so no kind of job waits forever behind others.
        """
        names = list(offered)
        start = bisect.bisect_right(names, self._first)
        turns = [*names[start:], *names[:start]]
        places = {name: self._places.get(name, 0) % len(offered[name]) if self._goes_on else 0 for name in turns}
        waiting = [(name, self._requests(offered[name], places[name], told)) for name in turns]
        found: dict[str, list[m.ResourceRequest]] = {}
        ends = dict.fromkeys(turns, 0)
        room = WORD_BYTES
        while waiting:
            share, more = room // len(waiting), []
            for name, requests in waiting:
                spent = 0
                for number, request in requests:
                    size = _REQUEST_BYTES + (len(msgspec.json.encode(request.ad)) if request.ad else 0)
                    if size > REQUEST_BYTES_MAX:
                        _log.warning("job %s cannot be matched: its request has %d bytes", request.job, size)
                    elif size > room and found:
                        break
                    else:
                        found.setdefault(name, []).append(request)
                        told.add(request.autocluster)
                        room, spent = room - size, spent + size
                    ends[name] = number
                    if room <= 0:
                        break
                    if spent >= share:
                        more.append((name, requests))
                        break
                else:
                    ends[name] = min(len(offered[name]), REQUESTS_MAX)
            waiting = more if room > 0 else []
        self._note(offered, places, ends, turns, len(told))
        return {name: found[name] for name in names if name in found}

    def _note(
        self,
        offered: dict[str, list[IdleGroup]],
        places: dict[str, int],
        ends: dict[str, int],
        turns: list[str],
        told: int,
    ) -> None:
        """Note whose demands fitted into the message, and where the next message begins."""
        if all(ends[name] >= len(groups) for name, groups in offered.items()):
            self._places, self._goes_on, self._most = {}, False, 0
            return
        if self._goes_on or not self._places:
            self._places = {name: places[name] + ends[name] for name in turns}
        if self._goes_on:
            self._first = turns[0]
        self._goes_on = not self._goes_on and told <= self._most
        self._most = max(self._most, told)

    def _requests(self, groups: list[IdleGroup], place: int, told: set[int]) -> Iterator[tuple[int, m.ResourceRequest]]:
        """The requests for groups of jobs from a position on, with the number of groups that each covers."""
        places = self._daemon.queue.claim_table.places(self._daemon.clock.now())
        for number, group in enumerate(itertools.chain(groups[place:], groups[:place]), 1):
            if number > REQUESTS_MAX:
                return
            first = group.first()
            if first is None:
                continue
            known = group.autocluster in self._known or group.autocluster in told
            cluster = self._daemon.queue.book.clusters[group.cluster]
            request = m.ResourceRequest(
                autocluster=group.autocluster,
                ad={} if known else ad_data(self._daemon.queue.book.autoclusters.sample(group.autocluster)),
                count=min(group.count, cluster.room, places),
                job=f"{group.cluster}.{first}",
                request=submission_of(cluster.ad),
            )
            yield number, request

    def _shown(self, ads: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """The ads of submitters that fit into a message, those with the earliest submitted jobs first; the log says how
        many are left out, when that changes.
        """
        found = _within(ads)
        if (hidden := len(ads) - len(found)) != self._hidden:
            self._hidden = hidden
            if hidden:
                _log.warning(
                    "only %d of %d submitters were reported to the pool: the others do not fit into a message",
                    len(found),
                    len(ads),
                )
        return found


def _within(ads: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The ads of submitters that fit into a message, those with the earliest submitted jobs first."""
    left, found = SUBMITTER_BYTES_MAX, {}
    for name, ad in ads.items():
        left -= len(name) + _SUBMITTER_BYTES
        if left < 0:
            break
        found[name] = ad
    return found
