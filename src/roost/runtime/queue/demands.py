"""What a queue tells the matchmaker: who waits for what, which matches it does not want, and its own ad.

Words are gathered for a moment, so that a queue that is busy does not tell of every job. Of each autocluster the ad is
told once, as long as the matchmaker is told of it at all.
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

#: Shortest time between two words to the matchmaker about idle jobs, s.
OFFER_GAP_S: Final = 0.02
#: And how many times as long as the last word took: with many kinds of jobs, the queue has time left for others.
REST: Final = 5.0
#: How long a queue that was cut off, or starts again, waits for machines to say what became of its jobs, s: what they
#: have lost is idle then, and goes in its turn.
ANSWERED_S: Final = 0.5
#: How long it may wait to hear that there are fewer of them, s.
OFFER_LATER_S: Final = 0.5
#: When it is told again after an internal error, s.
FAILED_S: Final = 30.0
#: Most slots of claims that have just ended in one word; none of the others is waited for.
LEFT_MAX: Final = 1000
#: Shortest time between two counts for the queue's own ad, s.
OWN_AD_GAP_S: Final = 1.0
#: When the next word follows one in which not all had room, s.
NEXT_S: Final = 1.0
#: Most requests of one submitter told to the matchmaker at once.
REQUESTS_MAX: Final = 5000
#: Room in one word for requests, bytes: few enough that it is soon made and soon looked at, while other users wait.
WORD_BYTES: Final = 1_000_000
#: Room in one message (MESSAGE_BYTES_MAX) for a request that is alone, and for the ads of submitters, bytes.
REQUEST_BYTES_MAX: Final = 5_000_000
SUBMITTER_BYTES_MAX: Final = 2_000_000
#: What a request has beside its ad, and an ad of a submitter beside its name, at most, bytes.
_REQUEST_BYTES: Final = 200
_SUBMITTER_BYTES: Final = 100


class Sender(Protocol):
    """What takes messages."""

    async def send(self, subject: str, message: Message) -> None:
        """Send a message to a subject."""


class AddedAttributes(Protocol):
    """What programs of SCHEDD_CRON_JOBLIST add to the queue's ad."""

    #: The ad without them, which the programs are given.
    ad: dict[str, Any]

    def attributes(self) -> dict[str, Any]:
        """What they add."""


class DemandsDaemon(Protocol):
    """What demands need of the queue's daemon."""

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
        """Do something beside."""


class Demands:
    """The words of one queue."""

    def __init__(self, daemon: DemandsDaemon) -> None:
        self._daemon = daemon
        self._offer: asyncio.TimerHandle | None = None
        self._offered_at = self._rest_s = 0.0
        #: Nothing is asked for before, by the loop's clock, s.
        self._asks_from = 0.0
        self._declined: list[str] = []
        #: Slots of claims that have ended, each with its claim, while jobs wait for others.
        self._left: dict[str, str] = {}
        #: Submitters that the pool is not shown.
        self._hidden = 0
        #: What the pool was told of submitters.
        self._told_ads: dict[str, dict[str, Any]] = {}
        #: The queue's own ad as it was published last, empty before the first time; when it was made, and published.
        self._own_ad: dict[str, Any] = {}
        self._duty = DutyCycle()
        self._own_ad_at = self._own_ad_told_at = 0.0
        #: Number of the last word to the matchmaker, and of the last that was heard from it.
        self._serial = 0
        self.heard = 0
        #: The submitter whose turn was first in the last word that went on.
        self._first = ""
        #: Whether the next word goes on where the last of its kind stopped, by submitter, instead of at the beginning.
        self._goes_on = False
        self._places: dict[str, int] = {}
        #: Most autoclusters in one word since all had room.
        self._most = 0
        #: Autoclusters that the matchmaker was told of last, and whose ad it has.
        self._known: set[int] = set()
        #: The queue hears what it is given: before that it asks for nothing.
        self._hears = False

    def begin(self, *, claims: bool = False) -> None:
        """Answers can be received from now on; machines are asked what became of claims that were kept, if there are
        such, and their answers waited for."""
        self._hears = True
        self.forgotten()
        if claims:
            self._asks_from = asyncio.get_running_loop().time() + ANSWERED_S
        self.soon()

    def forgotten(self) -> None:
        """The matchmaker is a new one, or what it has heard is unknown."""
        self._known.clear()
        self._own_ad = {}

    def came_back(self) -> None:
        """The queue was cut off; machines are asked what became of its jobs."""
        self.forgotten()
        if self._offer is not None:
            self._offer.cancel()
            self._offer = None
        self._asks_from = asyncio.get_running_loop().time() + ANSWERED_S
        self.soon()

    def decline(self, claim_id: str) -> None:
        """A match is not wanted."""
        self._declined.append(claim_id)
        self.soon()

    def idle(self, effect: OfferJobs) -> None:
        """Idle jobs have changed."""
        room = LEFT_MAX - len(self._left)
        self._left.update(effect.left[: max(0, room)])
        self.soon(OFFER_LATER_S if effect.later else OFFER_GAP_S)

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
        at = max(loop.time(), self._asks_from, self._offered_at + max(gap_s, self._rest_s))
        if self._offer is not None:
            if self._offer.when() <= at:
                return
            self._offer.cancel()
        self._offer = loop.call_at(at, lambda: self._daemon.spawn(self._told()))

    async def _told(self) -> None:
        """Tell the matchmaker; after an unforeseen failure again later, while the queue answers and jobs run."""
        self._offer = None
        try:
            await self._tell()
        except Exception:
            _log.exception("internal error: the matchmaker is not told of idle jobs; trying again in %g s", FAILED_S)
            self._asks_from = asyncio.get_running_loop().time() + FAILED_S
            self.soon()

    async def _tell(self) -> None:
        loop = asyncio.get_running_loop()
        self._offered_at = loop.time()
        told: set[int] = set()
        submitters = self._wanted(self._daemon.queue.offered(self._daemon.clock.now()), told)
        # The matchmaker forgets the ads of autoclusters that it was not told of last.
        self._known = told
        self._serial += 1
        declined, self._declined = self._declined, []
        left, self._left = self._left, {}
        self._told_ads = self._daemon.queue.submitter_ads()
        await self._daemon.bus.send(
            self._daemon.subjects.demand(self._daemon.context.name),
            m.Demand(
                schedd=self._daemon.context.name,
                submitters=submitters,
                ads=self._shown(self._told_ads),
                serial=self._serial,
                heard=self.heard,
                declined=declined,
                left=left,
                places=self._daemon.queue.claim_table.places(self._daemon.clock.now()),
                apart=self._daemon.queue.apart,
                cell=self._daemon.queue.claim_table.cell,
                errors=dict(self._daemon.queue.claim_table.errors),
                cell_states=self._daemon.queue.claim_table.cell_states,
                usage=self._daemon.queue.claim_table.usage.serial,
            ),
        )
        self._rest_s = REST * (loop.time() - self._offered_at)
        if self._places:
            # Not all had room.
            self.soon(NEXT_S)
        await self.tell_own_ad()

    async def tell_own_ad(self) -> None:
        """Tell the pool of the queue itself, if there is news; it is counted anew no more than once in a while."""
        now = asyncio.get_running_loop().time()
        if self._own_ad and now - self._own_ad_at < OWN_AD_GAP_S:
            return
        self._own_ad_at = now
        context = self._daemon.context
        address = daemon_address(place_of(context.bus.urls), context.name, "schedd")
        own = scheduler_ad(context.name, self._daemon.queue, address=address, started_at=self._daemon.started_at)
        self._daemon.cron.ad = own
        own = self._daemon.cron.attributes() | own
        if own != self._own_ad or now - self._own_ad_told_at > REFRESH_S:
            self._own_ad, self._own_ad_told_at = own, now
            await self._daemon.bus.send(
                self._daemon.subjects.ads(self._daemon.context.name), m.DaemonAds(ads=[own | self._duty.read()])
            )

    def _wanted(self, offered: dict[str, list[IdleGroup]], told: set[int]) -> dict[str, list[m.Request]]:
        """The requests of all submitters that find room in a word; the autoclusters that they are of are `told`.

        Where there is not room for all, each submitter has an equal part of it, and what one does not need is shared
        again among the others. The first one changes from word to word, so that each has its turn before long. What
        the matchmaker knows takes little room, so that more find room in the next word. When no more do, every
        other word goes on where the one before it stopped, and no kind of job waits for ever behind others.
        """
        names = list(offered)
        start = bisect.bisect_right(names, self._first)
        turns = [*names[start:], *names[:start]]
        places = {name: self._places.get(name, 0) % len(offered[name]) if self._goes_on else 0 for name in turns}
        waiting = [(name, self._requests(offered[name], places[name], told)) for name in turns]
        found: dict[str, list[m.Request]] = {}
        ends = dict.fromkeys(turns, 0)
        room = WORD_BYTES
        while waiting:
            share, more = room // len(waiting), []
            for name, requests in waiting:
                spent = 0
                for number, request in requests:
                    size = _REQUEST_BYTES + (len(msgspec.json.encode(request.ad)) if request.ad else 0)
                    if size > REQUEST_BYTES_MAX:
                        _log.warning("job %s gets no slot: what it asks for has %d bytes", request.job, size)
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

    def _requests(self, groups: list[IdleGroup], place: int, told: set[int]) -> Iterator[tuple[int, m.Request]]:
        """The requests for groups of jobs from a place on, with the number of groups that are done with each."""
        places = self._daemon.queue.claim_table.places(self._daemon.clock.now())
        for number, group in enumerate(itertools.chain(groups[place:], groups[:place]), 1):
            if number > REQUESTS_MAX:
                return
            first = group.first()
            if first is None:
                continue
            known = group.autocluster in self._known or group.autocluster in told
            cluster = self._daemon.queue.book.clusters[group.cluster]
            request = m.Request(
                autocluster=group.autocluster,
                ad={} if known else ad_data(self._daemon.queue.book.autoclusters.sample(group.autocluster)),
                count=min(group.count, cluster.room, places),
                job=f"{group.cluster}.{first}",
                request=submission_of(cluster.ad),
            )
            yield number, request

    def _shown(self, ads: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """The ads of submitters that find room in a message, those whose jobs were submitted first; the log has how
        many are left out, when that changes."""
        found = _within(ads)
        if (hidden := len(ads) - len(found)) != self._hidden:
            self._hidden = hidden
            if hidden:
                _log.warning(
                    "the pool is told of %d of %d submitters only: a message has no room for the others",
                    len(found),
                    len(ads),
                )
        return found


def _within(ads: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The ads of submitters that find room in a message, those whose jobs were submitted first."""
    left, found = SUBMITTER_BYTES_MAX, {}
    for name, ad in ads.items():
        left -= len(name) + _SUBMITTER_BYTES
        if left < 0:
            break
        found[name] = ad
    return found
