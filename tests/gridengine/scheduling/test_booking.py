"""Whatever comes, goes and is reconfigured: what runs never takes more than there was when it was started.

Jobs of one slot and parallel ones, arrays, ends and changes of slots, consumables, quotas and parallel environments in
an order of chance; after each scheduling run all is counted again from the tasks alone. A restart is a run from such a
count: nothing else is kept between runs.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from roost.gridengine.cell import Cell
from roost.gridengine.scheduling import CellSnapshot, PendingJob, Range, RunningTask, run
from tests.gridengine.scheduling.cells import NOW, cell, environment, job, snapshot

_COMPLEXES = "lic lic INT <= YES YES 0 0\nonce once INT <= YES JOB 0 0\n"
_HOSTS = ("node1", "node2", "node3")
_PES = {"one": "$pe_slots", "fill": "$fill_up", "rr": "$round_robin", "two": "2"}
_amounts = st.integers(0, 3)
_ranges = st.tuples(st.integers(1, 4), st.integers(0, 4))


class Booking(RuleBasedStateMachine):
    """A cell, the jobs that wait, and the tasks that run."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers = iter(range(1, 10_000))
        self.pending: list[PendingJob] = []
        self.running: list[RunningTask] = []
        self.slots = {"all.q": 2, "b.q": 2}
        self.offers = dict.fromkeys(("global", *_HOSTS), 3)
        self.quota, self.pe_slots = 5, 6
        self.pes = dict(_PES)

    def cell(self) -> Cell:
        files = {f"pe/{name}": environment(name, rule, slots=str(self.pe_slots)) for name, rule in self.pes.items()}
        files["resource_quotas/q"] = (
            f"{{\n   name q\n   description NONE\n   enabled TRUE\n   limit users {{*}} to slots={self.quota}\n}}\n"
        )
        edits = [f"cqueues/{queue}: slots {number}" for queue, number in self.slots.items()]
        edits += [f"cqueues/{queue}: pe_list {' '.join(self.pes) or 'NONE'}" for queue in self.slots]
        edits += [f"execution/{host}: complex_values lic={number}" for host, number in self.offers.items()]
        return cell("\n".join(edits), _COMPLEXES, queues=("b.q",), files=files)

    def snapshot(self) -> CellSnapshot:
        return snapshot(self.cell(), *self.pending, running=tuple(self.running))

    @rule(lic=_amounts, tasks=st.integers(1, 3), priority=st.sampled_from((0, -100)))
    def submit(self, lic: int, tasks: int, priority: int) -> None:
        numbers = tuple(range(1, tasks + 1)) if tasks > 1 else (0,)
        self.pending.append(job(next(self.numbers), f"lic={lic}", tasks=numbers, priority=priority))

    @rule(lic=_amounts, pe=st.sampled_from(tuple(_PES)), asked=_ranges)
    def submit_parallel(self, lic: int, pe: str, asked: tuple[int, int]) -> None:
        slots = (Range(asked[0], asked[0] + asked[1]),)
        self.pending.append(job(next(self.numbers), f"lic={lic}", environment=pe, slots=slots))

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def end(self, data: st.DataObject) -> None:
        self.running.remove(data.draw(st.sampled_from(self.running)))

    @precondition(lambda self: self.pending)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        self.pending.remove(data.draw(st.sampled_from(self.pending)))

    @rule(queue=st.sampled_from(("all.q", "b.q")), slots=_amounts)
    def change_slots(self, queue: str, slots: int) -> None:
        self.slots[queue] = slots

    @rule(host=st.sampled_from(("global", *_HOSTS)), number=st.integers(0, 6))
    def change_offer(self, host: str, number: int) -> None:
        self.offers[host] = number

    @rule(quota=st.integers(0, 8), slots=st.integers(0, 8))
    def change_limits(self, quota: int, slots: int) -> None:
        self.quota, self.pe_slots = quota, slots

    @rule(name=st.sampled_from(tuple(_PES)))
    def remove_or_add_environment(self, name: str) -> None:
        if self.pes.pop(name, None) is None:
            self.pes[name] = _PES[name]

    @rule()
    def schedule(self) -> None:
        one, before = self.snapshot(), self._used()
        found = run(one)
        assert found == run(one)
        by_number = {each.number: each for each in self.pending}
        for each in found.dispatches:
            self._is_as_asked(by_number[each.job], each)
            waiting = by_number[each.job]
            self.running.append(
                RunningTask(
                    job=each.job, task=each.task, request=waiting.request, grants=each.grants,
                    environment=each.environment, submitted=waiting.submitted, started=NOW,
                )
            )  # fmt: skip
        started = Counter(each.job for each in found.dispatches)
        for waiting in self.pending:
            assert bool(found.scheduling_info(waiting.number)) == (started[waiting.number] < len(waiting.tasks))
        self.pending = [each for each in self.pending if not started[each.number]]
        limits = self._limits()
        for key, used in self._used().items():
            assert used <= max(limits.get(key, 0), before[key]), (key, used, limits.get(key), before[key])

    def _is_as_asked(self, waiting: PendingJob, each: Any) -> None:
        slots = sum(grant.slots for grant in each.grants)
        hosts = Counter[str]()
        for grant in each.grants:
            hosts[grant.instance.partition("@")[2]] += grant.slots
        if not waiting.request.environment:
            assert slots == 1
            return
        assert any(low <= slots <= high for low, high in waiting.request.slots)
        match each.environment:
            case "one":
                assert len(hosts) == 1
            case "two":
                assert set(hosts.values()) == {2}
            case name:
                assert name in self.pes

    def _used(self) -> Counter[tuple[str, str]]:
        """Resource by place, counted from the tasks that run."""
        found = Counter[tuple[str, str]]()
        for task in self.running:
            lic = int(dict(task.request.hard)["lic"])
            total = sum(grant.slots for grant in task.grants)
            found["quota", "slots"] += total
            if task.environment:
                found["pe", task.environment] += total
            for instance, slots in task.grants:
                found[instance, "slots"] += slots
                for place in ("global", instance.partition("@")[2]):
                    found[place, "lic"] += lic * slots
        return found

    def _limits(self) -> dict[tuple[str, str], int]:
        found = {(f"{queue}@{host}", "slots"): number for queue, number in self.slots.items() for host in _HOSTS}
        found |= {(place, "lic"): number for place, number in self.offers.items()}
        found |= {("pe", name): self.pe_slots for name in self.pes}
        return found | {("quota", "slots"): self.quota}


TestBooking = Booking.TestCase
TestBooking.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
