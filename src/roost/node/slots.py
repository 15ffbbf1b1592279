"""A slot of a machine at work, and the starter of the job on it."""

from __future__ import annotations

from roost.classad import ClassAd
from roost.model.slots import SlotId, SlotKind
from roost.startd.load import CpuUse
from roost.startd.policy_inputs import SlotPolicy
from roost.startd.slot_ad_latches import Latches
from roost.startd.slot_state import SlotState
from roost.starter.policy_inputs import StarterPolicy
from roost.starter.starter_state import StarterState


class Run:
    """The starter of one run."""

    __slots__ = ("claim_id", "name", "policy", "schedd", "state")

    def __init__(self, name: str, claim_id: str, schedd: str, policy: StarterPolicy, state: StarterState) -> None:
        #: What the queue calls the run; unique for ever.
        self.name = name
        self.claim_id = claim_id
        #: Whose queue hears of it; "" for fetched work.
        self.schedd = schedd
        self.policy = policy
        self.state = state


class Slot:
    """A slot."""

    __slots__ = ("asked", "fixed_ad", "id", "latches", "policy", "run", "state", "use")

    def __init__(self, slot: SlotId, policy: SlotPolicy, fixed_ad: ClassAd, state: SlotState) -> None:
        self.id = slot
        self.policy = policy
        #: Its ad without what is sensed.
        self.fixed_ad = fixed_ad
        self.state = state
        self.run: Run | None = None
        #: The name of the run that is being asked for.
        self.asked = ""
        self.latches = Latches()
        self.use = CpuUse()

    @property
    def name(self) -> str:
        """``slot1@host``."""
        return self.state.name

    @property
    def is_dynamic(self) -> bool:
        """Whether it was cut from another."""
        return self.state.kind is SlotKind.DYNAMIC
