"""A machine's slots at work: dynamic slots, claims, and ledgers that are full again at the end."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from roost.model.resources import AlreadyHeld, Denied, NotOffered, Shortage, StillInUse, Unknown
from roost.model.slots import Filesystem, SlotId, SlotKind, SlotSize
from roost.startd.layout.at_work import HOST, DynamicRequest, MachineSlots
from tests.startd.layout_cases import GB, laid_out

ONE = SlotId(1)
PARTITIONABLE = "NUM_SLOTS = 1\nSLOT_TYPE_0_PARTITIONABLE = True\n"


def machine(text: str = PARTITIONABLE, cores: int = 10, memory_mb: int = 10240, **more: object) -> MachineSlots:
    return MachineSlots.of(laid_out(text, cores, memory_mb, **more))


def good(outcome: MachineSlots | Denied) -> MachineSlots:
    assert isinstance(outcome, MachineSlots), str(outcome)
    assert not outcome.problems()
    return outcome


def cut(slots: MachineSlots, request: DynamicRequest, parent: SlotId = ONE) -> tuple[MachineSlots, SlotId]:
    outcome = slots.carve(parent, request)
    assert not isinstance(outcome, Denied), str(outcome)
    return good(outcome[0]), outcome[1]


def small(**more: object) -> DynamicRequest:
    fields: dict[str, object] = {"cpus": 1, "memory_mb": 100, "disk_kb": 1024, **more}
    return DynamicRequest(**fields)  # type: ignore[arg-type]


def test_the_manual_s_request_for_three_cores() -> None:
    whole = machine()
    slots, slot = cut(whole, DynamicRequest(cpus=3, memory_mb=1024, disk_kb=10240))
    assert (str(slot), slots.kind(slot)) == ("slot1_1", SlotKind.DYNAMIC)
    assert slots.size(slot) == SlotSize(cpus=3, memory_mb=1024, disk_kb=10240, swap_kb=GB)
    assert slots.left(ONE) == SlotSize(cpus=7, memory_mb=9216, disk_kb=8 * GB - 10240, swap_kb=GB)
    assert slots.size(ONE) == whole.size(ONE)
    assert good(slots.delete(slot)) == whole


def test_dynamic_slots_get_the_smallest_free_number() -> None:
    slots = machine()
    for _ in range(3):
        slots, _ = cut(slots, small())
    slots = good(slots.delete(SlotId(1, 2)))
    slots, slot = cut(slots, small())
    assert slot == SlotId(1, 2)
    assert [str(one) for one in slots.ids] == ["slot1", "slot1_1", "slot1_2", "slot1_3"]
    assert slots.children(ONE) == (SlotId(1, 1), SlotId(1, 2), SlotId(1, 3))


def test_a_slot_is_not_cut_larger_than_what_is_left() -> None:
    slots, _ = cut(machine(), small(cpus=8))
    outcome = slots.carve(ONE, small(cpus=3, memory_mb=99999))
    assert isinstance(outcome, Denied)
    assert outcome.obstacles == (
        Shortage(ledger="slot1", resource="Cpus", wanted=3, available=2, capacity=10),
        Shortage(ledger="slot1", resource="Memory", wanted=99999, available=10140, capacity=10240),
    )


def test_only_partitionable_slots_are_cut() -> None:
    static = machine("NUM_SLOTS = 2")
    assert static.carve(ONE, small()) == Denied(obstacles=(NotOffered(ledger="slot1", use="dynamic slots"),))
    assert static.carve(SlotId(9), small()) == Denied(obstacles=(Unknown(name="slot9"),))
    slots, slot = cut(machine(), small())
    assert slots.carve(slot, small()) == Denied(obstacles=(Unknown(name="slot1_1"),))


def test_a_broken_slot_is_not_cut() -> None:
    text = "SLOT_TYPE_1 = cpus=99\nNUM_SLOTS_TYPE_1 = 1\nSLOT_TYPE_1_PARTITIONABLE = True\n"
    broken = machine(f"{text}SLOT_CONFIG_FAILURE_MODE = BestEffort")
    assert isinstance(broken.carve(ONE, small()), Denied)


def test_a_claim_has_one_holder() -> None:
    slots = good(machine("NUM_SLOTS = 2").claim(ONE, "alice"))
    assert slots.claim(ONE, "bob") == Denied(obstacles=(AlreadyHeld(booking="slot1", by="alice"),))
    assert (slots.holder(ONE), slots.holder(SlotId(2))) == ("alice", None)
    slots = good(good(slots.release(ONE)).claim(ONE, "bob"))
    assert slots.holder(ONE) == "bob"


def test_a_claim_takes_all_that_the_slot_has() -> None:
    slots = machine("NUM_SLOTS = 2\nMACHINE_RESOURCE_gpu = 3")
    assert slots.ledgers.available("slot1", "Gpu") == 2
    slots = good(slots.claim(ONE, "alice"))
    assert [slots.ledgers.available("slot1", name) for name in ("Cpus", "Memory", "Gpu")] == [0, 0, 0]
    assert slots.ledgers.available("slot2", "Gpu") == 1


def test_a_partitionable_slot_is_not_claimed_itself() -> None:
    assert isinstance(machine().claim(ONE, "alice"), Denied)
    assert isinstance(machine().claim(SlotId(7), "alice"), Denied)
    assert isinstance(machine().release(ONE), Denied)


def test_a_claimed_dynamic_slot_stays_until_its_claim_ends() -> None:
    slots, slot = cut(machine(), small())
    slots = good(slots.claim(slot, "alice"))
    assert slots.delete(slot) == Denied(obstacles=(StillInUse(ledger="slot1_1", by="slot1_1"),))
    assert good(good(slots.release(slot)).delete(slot)) == machine()
    assert isinstance(slots.delete(ONE), Denied)


def test_units_with_identifiers_go_to_the_dynamic_slot_and_come_back() -> None:
    text = f"MACHINE_RESOURCE_gpu = G0, G1, G2\n{PARTITIONABLE}"
    slots, first = cut(machine(text), small(custom={"Gpu": 2}))
    assert slots.assigned(first) == {"Gpu": ("G0", "G1")}
    assert slots.assigned(ONE) == {"Gpu": ("G2",)}
    slots, second = cut(slots, small(custom={"Gpu": 1}))
    assert slots.assigned(second) == {"Gpu": ("G2",)}
    assert isinstance(slots.carve(ONE, small(custom={"Gpu": 1})), Denied)
    slots = good(slots.delete(first))
    assert slots.assigned(ONE) == {"Gpu": ("G0", "G1")}
    assert slots.left(ONE).custom == {"Gpu": 2}


def test_swap_is_not_divided_unless_asked_for() -> None:
    whole = machine(cores=10, memory_mb=1000)
    slots, slot = cut(whole, small())
    assert (slots.size(slot).swap_kb, slots.left(ONE).swap_kb) == (GB, GB)
    slots, slot = cut(whole, small(memory_mb=250, swap_in_proportion=True))
    assert (slots.size(slot).swap_kb, slots.left(ONE).swap_kb) == (GB // 4, GB - GB // 4)
    slots, slot = cut(whole, small(swap_kb=1000))
    assert (slots.size(slot).swap_kb, slots.left(ONE).swap_kb) == (1000, GB - 1000)


def test_each_filesystem_has_an_account_of_its_own() -> None:
    two = {"/": Filesystem(name="root", free_kb=1000), "/scratch": Filesystem(name="scratch", free_kb=2000)}
    slots = machine("NUM_SLOTS = 2\nSLOT2_EXECUTE = /scratch", filesystems=two)
    assert [slots.size(slot).disk_kb for slot in slots.ids] == [1000, 2000]
    assert dict(slots.ledgers.ledgers[HOST].capacity)["Disk@scratch"] == 2000


class Machine(RuleBasedStateMachine):
    """Slots cut, claimed, released and deleted, while disk space comes and goes."""

    @initialize()
    def begin(self) -> None:
        text = (
            "MACHINE_RESOURCE_gpu = a b c d\nSLOT_TYPE_1 = cpus=2, mem=100, gpu=1, 20%\nNUM_SLOTS_TYPE_1 = 2\n"
            "SLOT_TYPE_2_PARTITIONABLE = True\nNUM_SLOTS_TYPE_2 = 1\n"
        )
        self.whole = self.slots = machine(text, cores=8, memory_mb=1000)

    @rule(
        cpus=st.fractions(0, 5, max_denominator=3),
        memory_mb=st.integers(0, 900),
        disk_kb=st.integers(0, 6 * GB),
        gpus=st.integers(0, 3),
        proportion=st.booleans(),
        parent=st.integers(1, 3),
    )
    def carve(self, parent: int, gpus: int, proportion: bool, **sizes: object) -> None:
        request = small(custom={"Gpu": gpus}, swap_in_proportion=proportion, **sizes)
        outcome = self.slots.carve(SlotId(parent), request)
        if not isinstance(outcome, Denied):
            before, (self.slots, slot) = self.slots, outcome
            assert self.slots.delete(slot) == before
            assert self.slots.size(slot).cpus == request.cpus
            assert len(self.slots.assigned(slot)["Gpu"]) == gpus

    @precondition(lambda self: self.slots.ids)
    @rule(data=st.data(), party=st.sampled_from(["alice", "bob"]))
    def claim(self, data: st.DataObject, party: str) -> None:
        slot = data.draw(st.sampled_from(self.slots.ids))
        outcome = self.slots.claim(slot, party)
        free = self.slots.holder(slot) is None and self.slots.kind(slot) is not SlotKind.PARTITIONABLE
        assert isinstance(outcome, MachineSlots) == free
        if isinstance(outcome, MachineSlots):
            self.slots = outcome
            assert self.slots.holder(slot) == party

    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        outcome = self.slots.release(data.draw(st.sampled_from(self.slots.ids)))
        self.slots = outcome if isinstance(outcome, MachineSlots) else self.slots

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        slot = data.draw(st.sampled_from(self.slots.ids))
        held = self.slots.holder(slot)
        outcome = self.slots.delete(slot)
        assert isinstance(outcome, MachineSlots) == (slot.is_dynamic and held is None)
        self.slots = outcome if isinstance(outcome, MachineSlots) else self.slots

    @invariant()
    def the_books_are_right(self) -> None:
        assert not self.slots.problems()
        left, size = self.slots.left(SlotId(3)), self.slots.size(SlotId(3))
        cut_from = [self.slots.size(one) for one in self.slots.children(SlotId(3))]
        assert left.cpus + sum(one.cpus for one in cut_from) == size.cpus
        assert left.memory_mb + sum(one.memory_mb for one in cut_from) == size.memory_mb
        assert left.disk_kb == max(0, size.disk_kb - sum(one.disk_kb for one in cut_from))

    def teardown(self) -> None:
        for slot in self.slots.ids:
            if self.slots.holder(slot) is not None:
                self.slots = good(self.slots.release(slot))
            if slot.is_dynamic:
                self.slots = good(self.slots.delete(slot))
        assert self.slots == self.whole


Machine.TestCase.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)
TestMachine = Machine.TestCase
