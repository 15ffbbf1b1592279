"""Mutable slots and starters of a host, which hold the state of each core between steps; and an effect of the host
itself."""

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
    """Offer the rest of a slot, under that claim, to the queue that got a part of it."""

    claim_id: ClaimId
    #: The ad of the request that the part was created for.
    job_ad: ClassAd


class Starter:
    """A starter and its state."""

    __slots__ = ("alive", "claim_id", "kind", "policy", "state")

    def __init__(self, order: ActivateStarter, state: StarterState, policy: StarterPolicy) -> None:
        self.claim_id: ClaimId = order.claim_id
        self.kind: ClaimKind = order.kind
        self.state = state
        self.policy = policy
        #: Whether it has not ended yet.
        self.alive = True


class HostSlot:
    """A slot and its state."""

    __slots__ = ("_shares", "context", "latches", "next_run", "order", "plan", "run_name", "starter", "state")

    def __init__(self, plan: SlotPlan, state: SlotState, order: int) -> None:
        self.plan = plan
        self.state = state
        #: Identifies the slot on its host, among past and future ones.
        self.order = order
        self.starter: Starter | None = None
        #: The queue's name for the run that it requested last.
        self.run_name = ""
        #: A run requested while the previous starter was still cleaning up, and the order.
        self.next_run: tuple[str, ActivationRequested] | None = None
        #: The queue instance's settings for the job that is just being started; None at all other times.
        self.context: QueueContext | None = None
        #: Latches of previous polls, kept for the next one.
        self.latches = Latches()
        self._shares: ClassAd | None = None

    def resized(self, plan: SlotPlan) -> None:
        """Adopt new sizes."""
        self.plan = plan
        self._shares = None

    @property
    def schedd(self) -> str:
        """The user whose queue holds the claim, or requests it; "" for none."""
        request = self.state.claim.request
        return "" if request is None else request.schedd

    @property
    def shares(self) -> ClassAd:
        """The shares of the machine that a starter on it gets."""
        if self._shares is None:
            self._shares = static_shares(self.plan.ad)
        return self._shares
