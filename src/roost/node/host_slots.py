"""A slot and a starter at work: where a host keeps the state of each core between two steps; and its own order."""

from __future__ import annotations

from roost.base.records import dataclass
from roost.classad import ClassAd
from roost.model.claims import ClaimKind
from roost.model.effects import ActivateStarter
from roost.model.events import ActivationRequested
from roost.model.identifiers import ClaimId
from roost.model.queue_context import QueueContext
from roost.node.host_plan import SlotPlan
from roost.startd.slot_ad.latches import Latches
from roost.startd.slot_state import SlotState
from roost.starter.policy_inputs import StarterPolicy
from roost.starter.starter_ad import static_shares
from roost.starter.starter_state import StarterState


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferLeftovers:
    """Tell the queue that got a part of a slot that it may have the rest under that claim."""

    claim_id: ClaimId
    #: The ad of the request that the part was cut for.
    job_ad: ClassAd


class Starter:
    """A starter at work."""

    __slots__ = ("alive", "claim_id", "kind", "policy", "state")

    def __init__(self, order: ActivateStarter, state: StarterState, policy: StarterPolicy) -> None:
        self.claim_id: ClaimId = order.claim_id
        self.kind: ClaimKind = order.kind
        self.state = state
        self.policy = policy
        #: It has not ended yet.
        self.alive = True


class Slot:
    """A slot at work."""

    __slots__ = ("_shares", "context", "latches", "next_run", "order", "plan", "run_name", "starter", "state")

    def __init__(self, plan: SlotPlan, state: SlotState, order: int) -> None:
        self.plan = plan
        self.state = state
        #: Tells the slots of a host apart, also those that come and go.
        self.order = order
        self.starter: Starter | None = None
        #: What the queue calls the run that it asked for last.
        self.run_name = ""
        #: A run that was asked for while the starter of the last one was only waited for, and the order.
        self.next_run: tuple[str, ActivationRequested] | None = None
        #: What a queue instance gives the job that is just being started; None at all other times.
        self.context: QueueContext | None = None
        #: What polls have found so far; kept here for the next poll.
        self.latches = Latches()
        self._shares: ClassAd | None = None

    def resized(self, plan: SlotPlan) -> None:
        """Its sizes are others from now on."""
        self.plan = plan
        self._shares = None

    @property
    def schedd(self) -> str:
        """The user whose queue holds the claim, or requests it; "" for none."""
        request = self.state.claim.request
        return "" if request is None else request.schedd

    @property
    def shares(self) -> ClassAd:
        """What a starter on it is given."""
        if self._shares is None:
            self._shares = static_shares(self.plan.ad)
        return self._shares
