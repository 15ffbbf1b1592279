"""What an execute machine writes down can be read, forever, and nothing else is taken for it.

That every slot comes back as it was is tried with all slots of `test_slot_properties`. The files in ``records`` were
written by released versions; whoever changes the shape of a record raises its version and reads these still.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import pytest

from roost.classad import ClassAd, parse_expression
from roost.model import events as ev
from roost.model.slots import SlotId
from roost.startd import states as at
from roost.startd.draining import DrainOrder, MachineDraining, OnCompletion
from roost.startd.layout.at_work import DynamicRequest, DynamicShape
from roost.startd.persisted import (
    MachineRecord,
    UnreadableRecord,
    persisted,
    persisted_machine,
    restored,
    restored_machine,
)
from roost.startd.slot_ad.latches import Latch, Latches
from roost.startd.slot_state import SlotState
from roost.startd.states import PAIRS
from tests.startd.kit import in_pair, job, policy

RECORDS: Final = Path(__file__).parent / "records"

MACHINE: Final = MachineRecord(
    draining=MachineDraining(
        order=DrainOrder(
            schedule=ev.DrainSchedule.QUICK,
            on_completion=OnCompletion.RESUME,
            check=parse_expression("Cpus > 1"),
            reason="Defrag",
        ),
        number=3,
        started_at=1_000,
        badput_core_s=12.5,
    ),
    latches={"slot1@host": Latches(busy_since=99.5, others={"warm": Latch(value=True, changed_at=7)})},
    dynamic=(
        DynamicShape(
            id=SlotId(1, 2),
            request=DynamicRequest(cpus=2, memory_mb=512, disk_kb=Fraction(4097, 2), custom={"Gpu": 1}),
            assigned={"Gpu": ("gpu0",)},
        ),
    ),
    next_block=9,
)


def full_slot() -> SlotState:
    """A slot about which there is much to say."""
    hand = in_pair(at.RETIRING)
    hand.policy = policy({"MAXJOBRETIREMENTTIME": "10000"})
    hand.preempt(job(Name='say "hi"\n', Ratio=0.1 + 0.2, Never=math.inf, Deep={"list": [1, {"x": None}]}))
    hand.drain(start=parse_expression("TARGET.Worth > 1"), reason="upgrade", drain_remaining_s=100.0)
    assert hand.pair == at.RETIRING
    return hand.state


def same(state: SlotState, record: Any) -> bool:
    return restored(record, ad=state.ad, machine=state.machine) == state


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_a_slot_in_any_pair_comes_back(pair: at.Pair) -> None:
    state = in_pair(pair).state
    assert same(state, json.loads(json.dumps(persisted(state), allow_nan=False)))


def test_everything_of_a_slot_comes_back() -> None:
    state = full_slot()
    assert same(state, json.loads(json.dumps(persisted(state), allow_nan=False)))


def test_what_slots_share_comes_back() -> None:
    assert restored_machine(json.loads(json.dumps(persisted_machine(MACHINE), allow_nan=False))) == MACHINE
    assert restored_machine(persisted_machine(MachineRecord())) == MachineRecord()


def test_records_of_version_1_are_read() -> None:
    slot = json.loads((RECORDS / "slot-1.json").read_text())
    assert same(full_slot(), slot)
    assert restored_machine(json.loads((RECORDS / "machine-1.json").read_text())) == MACHINE


#: Members that records of earlier releases do not have.
ADDED: Final = (
    ("content", "fetching", "failures"),
    ("content", "fetching", "failed_at"),
    ("content", "fetching", "problem"),
    ("content", "suspenders"),
)


def members(plain: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every member of an object, ads and their attributes left out."""
    if isinstance(plain, dict):
        for key, value in plain.items():
            yield (*path, key)
            if key not in ("job_ad", "attributes", "custom", "assigned", "latches", "others"):
                yield from members(value, (*path, key))
    elif isinstance(plain, list):
        for index, value in enumerate(plain):
            yield from members(value, (*path, index))


def at_path(plain: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        plain = plain[key]
    return plain


def refused(record: object) -> str:
    with pytest.raises(UnreadableRecord) as caught:
        restored(record, ad=ClassAd())
    return str(caught.value)


def test_no_member_may_be_missing_added_or_of_another_type() -> None:
    record: Any = persisted(full_slot())
    found = list(members(record))
    assert len(found) > 80
    for path in found:
        broken = copy.deepcopy(record)
        holder = at_path(broken, path[:-1])
        kept = holder.pop(path[-1])
        if path in ADDED:
            restored(broken, ad=ClassAd())
        else:
            refused(broken)
        holder[path[-1]] = {"no": "such"} if not isinstance(kept, dict) else 7
        assert "number 7" not in refused(broken)
        holder[path[-1]] = kept
        holder["unheard_of"] = kept
        refused(broken)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("claim", "activation", "started_at"), "noon", "slot.claim.activation.started_at: a number is wanted here"),
        (("claim", "rank"), True, "slot.claim.rank: a number is wanted here, not True"),
        (("state",), "Asleep", "slot.state: one of 'Owner', 'Unclaimed'"),
        (("shutdown",), True, "slot.shutdown: one of 1, 2, 3 is wanted here, not True"),
        (("ids", "key"), "xyz", "slot.ids.key: a text of hexadecimal digits"),
        (("draining", "start"), "1 +", "slot.draining.start: an expression is wanted here"),
        (("claim", "request", "job_ad", ""), "1", "slot.claim.request.job_ad: a name of an attribute"),
        (("spent_s",), [1.0], "the time spent is not told for each pair"),
        (("preempting",), None, "a claim without the id of a preempting one"),
        (("activity",), "Benchmarking", "Claimed/Benchmarking is not a legal pair"),
    ],
)
def test_a_mistake_is_named_with_its_place(path: tuple[str, ...], value: object, message: str) -> None:
    record: Any = persisted(full_slot())
    at_path(record["content"], path[:-1])[path[-1]] = value
    text = refused(record)
    assert message in text
    assert "the daemon starts afresh" in text


def test_records_of_other_kinds_and_versions_are_refused() -> None:
    record: Any = persisted(full_slot())
    assert "another version of Roost" in refused({**record, "version": 2})
    assert "not the record of a slot" in refused(persisted_machine(MACHINE))
    for other in (None, [], {}, "slot", {**record, "more": 1}):
        assert "not the record of a slot" in refused(other)
