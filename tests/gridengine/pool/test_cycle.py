"""Cycles of a pool that runs by a cell: what they hand out never exceeds what there is, and what waits is told why."""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from roost.classad import ClassAd
from roost.classad.vector import Table
from roost.gridengine.cell import Cell
from roost.gridengine.pool.active_cell import ActiveCell
from roost.gridengine.pool.cycle import CellRecord, cell_cycle
from roost.gridengine.pool.view import host_rows, instance_rows
from roost.model.cell_requests import NEXT_ON_MACHINE
from roost.model.cell_usage import Owner, Used
from roost.negotiator.snapshot import Match, Plan, Request, Snapshot, SubmitterDemand
from roost.negotiator.timing import at_once
from tests.gridengine.scheduling.cells import NOW, cell, environment

LICENCE = "licence lic INT <= YES YES 0 0"
MEMORY = "room room INT <= YES YES 1 0"


def slot(name: str, **more: Any) -> ClassAd:
    """A slot of the machine that its name says; it takes every job that asks for no more memory than it has."""
    machine = name.partition("@")[2]
    ad = ClassAd(Name=name, Machine=machine, State="Unclaimed", Cpus=1, Memory=100, DetectedCpus=2, TotalLoadAvg=0.0)
    ad["Requirements"] = True
    ad.update(more)
    return ad


def job(cluster: int, owner: str = "ann", **more: Any) -> ClassAd:
    ad = ClassAd(ClusterId=cluster, ProcId=0, Owner=owner, User=f"{owner}@x", QDate=int(NOW) - 1000 + cluster)
    ad.update({"RequestCpus": 1, "JobPrio": 0, "Requirements": True, **more})
    return ad


@dataclass
class Pool:
    """Slots and idle jobs, as the central manager knows them."""

    active: ActiveCell
    slots: dict[str, ClassAd] = field(default_factory=dict)
    claims: dict[str, str] = field(default_factory=dict)
    jobs: dict[int, tuple[ClassAd, int]] = field(default_factory=dict)
    promised: dict[str, Match] = field(default_factory=dict)
    arrivals: int | None = 5

    def add(self, *ads: ClassAd) -> None:
        for ad in ads:
            self.slots[str(ad["Name"])] = ad
            self.claims[str(ad["Name"])] = f"{ad['Name']}#0"

    def submit(self, ad: ClassAd, count: int = 1) -> None:
        self.jobs[int(ad["ClusterId"])] = ad, count

    def snapshot(self) -> Snapshot:
        table = Table()
        for name, ad in self.slots.items():
            table.put(name, ad)
        requests = tuple(
            Request(autocluster=cluster, ad=ad, count=count, job=f"{cluster}.0")
            for cluster, (ad, count) in self.jobs.items()
            if count
        )
        return Snapshot(
            slots=table,
            claims=self.claims,
            nodes={name: name.partition("@")[2] for name in self.slots},
            demands=(SubmitterDemand(schedd="q", submitter="ann@x", requests=requests, arrivals=self.arrivals),),
            now=NOW,
            promised=frozenset(self.promised),
            pledges=tuple(each.pledge for each in self.promised.values() if each.pledge is not None),
        )

    def cycle(self) -> Plan:
        return at_once(cell_cycle(self.active, self.snapshot(), lambda user: (), ()))

    def why(self, plan: Plan, cluster: int) -> list[str]:
        assert isinstance(plan.trail, CellRecord)
        found = plan.trail.about_request("q", "ann@x", cluster)
        return [] if found is None else list(found.reasons)

    # -- what becomes of matches -------------------------------------------------------------------------------------

    def give(self, plan: Plan) -> None:
        for match in plan.matches:
            ad, count = self.jobs[match.autocluster]
            assert count > 0 and match.slot not in self.promised and match.claim_id == self.claims[match.slot]
            self.jobs[match.autocluster] = ad, count - 1
            self.promised[match.slot] = match

    def decline(self, name: str) -> None:
        match = self.promised.pop(name)
        ad, count = self.jobs[match.autocluster]
        self.jobs[match.autocluster] = ad, count + 1

    def claim(self, name: str, number: int) -> None:
        match = self.promised.pop(name)
        assert match.pledge is not None and match.pledge.task is not None
        self.claims[name] = f"{name}#{number}"
        taken = self.slots[name]
        if taken.get("PartitionableSlot") is True:
            head, _, machine = name.partition("@")
            part = f"{head}_{number}@{machine}"
            taken["Cpus"] = int(taken["Cpus"]) - 1
            taken = self.slots[part] = slot(part, Whole=name)
        taken.update({"State": "Claimed", "CellTask": match.pledge.task, "JobStart": int(NOW)})

    def end(self, name: str) -> None:
        ad = self.slots[name]
        whole = ad.get("Whole")
        if isinstance(whole, str):
            del self.slots[name]
            self.slots[whole]["Cpus"] = int(self.slots[whole]["Cpus"]) + 1
        else:
            ad["State"] = "Unclaimed"
            del ad["CellTask"]

    def tasks(self) -> list[ClassAd]:
        """All tasks that run or are about to."""
        running = [ad["CellTask"] for ad in self.slots.values() if "CellTask" in ad]
        return running + [each.pledge.task for each in self.promised.values() if each.pledge and each.pledge.task]


def pool(found: Cell, slots: int = 3, revision: int = 1) -> Pool:
    made = Pool(ActiveCell.of(revision, found))
    made.add(*(slot(f"slot{number}@{host}") for host in ("node1", "node2", "node3") for number in range(1, slots + 1)))
    return made


def used(tasks: list[ClassAd]) -> Counter[str]:
    """What tasks take: instances' slots, licences of the cell, room of hosts."""
    found: Counter[str] = Counter()
    for task in tasks:
        instance = str(task["Instance"])
        asked = dict(word.split("=") for word in str(task["Resources"]).split(",") if word)
        found[instance] += int(task["Slots"])
        found["licence"] += int(asked.get("licence", 0))
        found[f"room@{instance.partition('@')[2]}"] += int(asked.get("room", 1))
    return found


@pytest.mark.parametrize("seed", range(25))
def test_nothing_is_given_twice_whatever_becomes_of_matches(seed: int) -> None:
    dice = random.Random(seed)
    licences, room, slots = dice.randint(1, 4), dice.randint(1, 5), dice.randint(1, 4)
    edits = (
        f"execution/global: complex_values licence={licences}\n"
        f"execution/node1: complex_values room={room}\ncqueues/all.q: slots {slots}"
    )
    made = pool(cell(edits, f"{LICENCE}\n{MEMORY}", queues=("b.q",)), slots=dice.randint(1, 6))
    if dice.random() < 0.5:
        made.add(slot("slot9@node2", PartitionableSlot=True, Cpus=6))
    for cluster in range(1, 15):
        asked = dice.choice(["", "lic=1", "licence=2", "room=2", "room=0,lic=1"])
        made.submit(job(cluster, **({"CellResources": asked} if asked else {})), dice.randint(1, 3))
    limits = {"licence": licences, "room@node1": room} | {f"all.q@node{host}": slots for host in (1, 2, 3)}
    for number in range(60):
        running = [name for name, ad in made.slots.items() if "CellTask" in ad]
        match dice.randint(0, 3):
            case 0:
                made.give(made.cycle())
            case 1 if made.promised:
                made.claim(dice.choice(sorted(made.promised)), number)
            case 2 if made.promised:
                made.decline(dice.choice(sorted(made.promised)))
            case 3 if running:
                made.end(dice.choice(running))
        taken = used(made.tasks())
        assert all(taken[name] <= most for name, most in limits.items()), (seed, taken)
        rows = {row.name: row for row in instance_rows(made.active, made.snapshot())}
        assert all(row.used == taken[name] for name, row in rows.items())


def test_the_same_snapshot_gives_the_same_plan() -> None:
    made = pool(cell(complexes=LICENCE))
    for cluster in range(1, 9):
        made.submit(job(cluster, JobPrio=cluster % 3))
    first = [(each.job, each.slot) for each in made.cycle().matches]
    assert first and first == [(each.job, each.slot) for each in made.cycle().matches]


def test_what_a_task_got_is_in_its_match_and_carries_the_revision() -> None:
    made = pool(cell("execution/global: complex_values licence=1", LICENCE), revision=7)
    made.submit(job(3, CellResources="lic=1", CellQueues="all.q@node2"))
    (match,) = made.cycle().matches
    assert match.slot == "slot1@node2" and match.node == "node2" and match.claim_id == "slot1@node2#0"
    assert match.pledge is not None and match.pledge.task is not None
    told = {name: match.pledge.task[name] for name in ("Instance", "Resources", "Revision", "Job", "User", "Schedd")}
    assert told == {
        "Instance": "all.q@node2",
        "Resources": "licence=1",
        "Revision": 7,
        "Job": "3.0",
        "User": "ann",
        "Schedd": "q",
    }


def follows(pool: Pool) -> dict[int, set[Any]]:
    """Of each job that starts, how its matches say whether others may follow on their claims."""
    found: dict[int, set[Any]] = {}
    for match in pool.cycle().matches:
        assert match.pledge is not None and match.pledge.task is not None
        found.setdefault(match.autocluster, set()).add(match.pledge.task.get("Follows"))
    return found


def test_tasks_may_follow_those_of_the_job_that_is_next_in_any_case() -> None:
    both = pool(cell("schedconf: weight_priority 9"), slots=1)
    both.submit(job(1), 20)
    both.submit(job(2), 20)
    # The later one waits behind the first, which gets all slots.
    assert follows(both) == {1: {5}}
    both.submit(job(3, JobPrio=900), 1)
    assert follows(both) == {3: {None}, 1: {5}}
    both.submit(job(3, JobPrio=900), 2)
    both.submit(job(4, JobPrio=1000, CellQueues="none.q"), 2)
    assert follows(both) == {3: {None}, 1: {None}}, "one that is first waits"
    whole = pool(cell(), slots=1)
    whole.submit(job(1), 3)
    assert follows(whole) == {1: {None}}, "none is left to follow"


@pytest.mark.parametrize(
    ("edits", "more"),
    [
        ("cqueues/all.q: suspend_thresholds np_load_avg=5", {}),
        ("schedconf: weight_tickets_functional 1000", {}),
        ("", {"CellReserve": True}),
        ("", {"CellImmediate": True}),
    ],
)
def test_no_task_follows_where_the_next_run_may_decide_otherwise(edits: str, more: dict[str, Any]) -> None:
    both = pool(cell(edits), slots=1)
    both.submit(job(1, **more), 20)
    both.submit(job(2), 20)
    assert set().union(*follows(both).values()) <= {None}


def test_no_task_follows_where_the_queue_has_not_told_of_all_that_wait() -> None:
    unknown = pool(cell(), slots=1)
    unknown.arrivals = None
    unknown.submit(job(1), 20)
    assert follows(unknown) == {1: {None}}


def test_a_partitionable_slot_is_given_once_in_a_cycle() -> None:
    made = Pool(ActiveCell.of(1, cell("cqueues/all.q: slots 4")))
    made.add(slot("slot1@node1", PartitionableSlot=True, Cpus=4))
    made.submit(job(1), 3)
    plan = made.cycle()
    assert [each.slot for each in plan.matches] == ["slot1@node1"]
    assert made.why(plan, 1) == ["the run has a slot for it, and its machine starts one job after another: it is next"]
    for number in range(1, 4):
        made.give(made.cycle())
        made.claim("slot1@node1", number)
    assert made.cycle().matches == () and used(made.tasks())["all.q@node1"] == 3


def test_jobs_wait_for_what_is_left_of_a_whole_that_was_given_away_and_are_not_refused() -> None:
    """The tasks of an immediate array would leave if they were."""
    whole = Pool(ActiveCell.of(1, cell("cqueues/all.q: slots 3")))
    whole.add(slot("slot1@node1", PartitionableSlot=True, Cpus=3))
    whole.submit(job(1, CellImmediate=True), 3)
    plan = whole.cycle()
    assert (len(plan.matches), whole.why(plan, 1)) == (1, [NEXT_ON_MACHINE])
    whole.give(plan)
    plan = whole.cycle()
    assert (plan.matches, whole.why(plan, 1)) == ((), [NEXT_ON_MACHINE])
    whole.submit(job(2, CellImmediate=True), 1)
    plan = whole.cycle()
    assert not plan.matches and NEXT_ON_MACHINE not in whole.why(plan, 2)
    whole.claim("slot1@node1", 1)
    assert [match.autocluster for match in whole.cycle().matches] == [1]


def test_machines_and_jobs_that_refuse_each_other_are_reasons() -> None:
    made = pool(cell())
    for ad in made.slots.values():
        if ad["Machine"] != "node3":
            ad.set("Requirements", 'TARGET.Owner != "ann"')
    made.submit(job(1))
    wants = job(2, owner="bob")
    wants.set("Requirements", 'TARGET.Machine == "nowhere"')
    made.submit(wants)
    plan = made.cycle()
    assert [(each.autocluster, each.node) for each in plan.matches] == [(1, "node3")]
    assert sum("because its machine refuses the job" in each for each in made.why(plan, 2)) == 3


def test_a_machine_has_no_more_seats_than_slots() -> None:
    made = pool(cell("cqueues/all.q: slots 9"), slots=1)
    made.submit(job(1), 5)
    plan = made.cycle()
    assert sorted(each.slot for each in plan.matches) == ["slot1@node1", "slot1@node2", "slot1@node3"]
    made.give(plan)
    again = made.cycle()
    assert again.matches == ()
    assert 'queue instance "all.q@node1" dropped because the machine of its host has no slot free' in made.why(again, 1)
    # What the queue is told, for the job's ad, is one of them.
    assert again.rejected["q", 1].text in made.why(again, 1)


def test_closed_instances_take_nothing_and_say_why() -> None:
    found = cell(
        "cqueues/all.q: calendar closed\ncqueues/b.q: initial_state disabled",
        queues=("b.q",),
        files={"calendars/closed": "calendar_name closed\nyear NONE\nweek mon-sun=0-24=off\n"},
    )
    made = pool(found)
    made.submit(job(1))
    plan = made.cycle()
    assert plan.matches == ()
    assert 'queue instance "b.q@node1" dropped because it is disabled' in made.why(plan, 1)
    states = {row.name: row.states for row in instance_rows(made.active, made.snapshot())}
    assert states["all.q@node1"] == "D" and states["b.q@node1"] == "d"


def test_load_closes_an_instance_and_a_silent_host_is_unknown() -> None:
    made = pool(cell("cqueues/all.q: load_thresholds np_load_avg=1"))
    for name, ad in list(made.slots.items()):
        if ad["Machine"] == "node1":
            ad["TotalLoadAvg"] = 5.0
        elif ad["Machine"] == "node2":
            del made.slots[name]
    made.submit(job(1), 4)
    plan = made.cycle()
    assert {each.node for each in plan.matches} == {"node3"}
    states = {row.name: row.states for row in instance_rows(made.active, made.snapshot())}
    # A host without a word has no load value for its threshold either.
    assert states == {"all.q@node1": "a", "all.q@node2": "au", "all.q@node3": ""}


def test_a_queue_that_lost_a_host_keeps_its_jobs_as_an_orphan() -> None:
    made = pool(cell())
    made.submit(job(1, CellQueues="all.q@node2"))
    made.give(made.cycle())
    made.claim("slot1@node2", 1)
    less = cell("cqueues/all.q: hostlist node1")
    made.active = ActiveCell.of(2, less)
    rows = {row.name: (row.used, row.states) for row in instance_rows(made.active, made.snapshot())}
    assert rows == {"all.q@node1": (0, ""), "all.q@node2": (1, "o")}


def test_machines_are_hosts_by_their_first_label_unless_a_name_is_exact() -> None:
    made = Pool(ActiveCell.of(1, cell()))
    made.add(slot("slot1@Node2.example.org"), slot("slot1@elsewhere"))
    made.submit(job(1), 2)
    plan = made.cycle()
    assert [each.slot for each in plan.matches] == ["slot1@Node2.example.org"]


def test_jobs_that_a_cell_cannot_start_yet_are_told() -> None:
    made = pool(cell())
    made.submit(job(1, RequestCpus=2))
    made.submit(job(2, ConcurrencyLimits="x"))
    plan = made.cycle()
    assert plan.matches == ()
    assert "request_cpus must be 1" in made.why(plan, 1)[0]
    assert "a consumable of global" in made.why(plan, 2)[0]
    assert plan.rejected["q", 1].text == made.why(plan, 1)[0]


def test_a_run_gives_what_is_free_to_who_used_less_than_the_share_tree_gives() -> None:
    tree = "id=0\nname=Root\ntype=0\nshares=1\nchildnodes=1\nid=1\nname=default\ntype=0\nshares=10\nchildnodes=NONE\n"
    edits = "schedconf: weight_tickets_share 100\nschedconf: weight_ticket 1000"
    made = Pool(ActiveCell.of(1, cell(edits, files={"sharetree": tree})))
    made.add(slot("slot1@node1"))
    made.submit(job(1, "ann"))
    made.submit(job(2, "bob"))
    assert [match.autocluster for match in made.cycle().matches] == [1]
    used = {"cpu": 50.0, "mem": 0.0, "io": 0.0}
    account = Owner("ann", "", "any"), Used(at=NOW - 10, recent=used, total=used)
    made.active = replace(made.active, usage=(account,))
    assert [match.autocluster for match in made.cycle().matches] == [2]
    # So much later that nothing is left of it.
    long_ago = account[0], Used(at=NOW - 1e9, recent=used, total=used)
    made.active = replace(made.active, usage=(long_ago,))
    assert [match.autocluster for match in made.cycle().matches] == [1]


def test_a_job_whose_expressions_take_for_ever_keeps_no_other_from_its_slot() -> None:
    pool = Pool(ActiveCell.of(1, cell()))
    pool.add(slot("slot1@node1"))
    hostile = job(1)
    hostile.set("A0", "time()")
    for level in range(1, 61):
        hostile.set(f"A{level}", f"A{level - 1} + A{level - 1}")
    for name in ("RequestCpus", "Requirements"):
        hostile.set(name, "A60 < 0")
    pool.submit(hostile)
    pool.submit(job(2))
    began = time.process_time()
    plan = pool.cycle()
    assert time.process_time() - began < 5
    assert [match.autocluster for match in plan.matches] == [2]


# -- parallel jobs ----------------------------------------------------------------------------------------------------


def parallel_cell() -> ActiveCell:
    return ActiveCell.of(
        7, cell("cqueues/all.q: pe_list make fill", files={"pe/fill": environment("fill", "$fill_up")})
    )


def parts_of(match: Match) -> list[tuple[str, int, str]]:
    """Slot, number of slots and grants of each part."""
    tasks = [(each.slot, each.pledge.task) for each in match.slots if each.pledge is not None]
    return [(slot, task["Slots"], task["Grants"]) for slot, task in tasks if task is not None]


def test_a_parallel_job_gets_a_part_of_each_whole_and_as_many_other_slots_in_one_match() -> None:
    pool = Pool(parallel_cell())
    pool.add(slot("slot1@node1", PartitionableSlot=True, Cpus=3), *[slot(f"slot{n}@node2") for n in (1, 2)])
    pool.submit(job(1, CellParallel="fill 2-9"))
    (match,) = pool.cycle().matches
    assert sorted(parts_of(match)) == [
        ("slot1@node1", 3, "all.q@node1=3"), ("slot1@node2", 1, "all.q@node2=1"), ("slot2@node2", 1, "all.q@node2=1"),
    ]  # fmt: skip
    tasks = [each.pledge.task for each in match.slots if each.pledge is not None and each.pledge.task is not None]
    assert [task["Part"] for task in tasks] == [0, 1, 2] and len({task["Gang"] for task in tasks}) == 1
    assert (tasks[0]["Parts"], tasks[0]["AllSlots"], tasks[0]["Environment"]) == (3, 5, "fill")
    assert "AllGrants" not in tasks[1]


def test_all_parts_count_while_they_are_on_their_way_and_once_they_are_claimed() -> None:
    pool = Pool(parallel_cell())
    pool.add(*[slot(f"slot{n}@{host}") for host in ("node1", "node2") for n in (1, 2, 3)])
    pool.submit(job(1, CellParallel="fill 5"))
    (match,) = pool.cycle().matches
    pledges = tuple(each.pledge for each in match.slots if each.pledge is not None)
    promised = frozenset(each.slot for each in match.slots)
    pool.jobs.clear()
    on_the_way = replace(pool.snapshot(), pledges=pledges, promised=promised)
    used = {row.name: row.used for row in instance_rows(pool.active, on_the_way)}
    assert sorted(used.values()) == [0, 2, 3]
    for each in match.slots:
        assert each.pledge is not None and each.pledge.task is not None
        pool.slots[each.slot].update({"State": "Claimed", "CellTask": each.pledge.task, "JobStart": int(NOW)})
    assert {row.name: row.used for row in instance_rows(pool.active, pool.snapshot())} == used
    pool.submit(job(2, CellParallel="fill 2"))
    plan = pool.cycle()
    assert not plan.matches
    assert 'cannot run in PE "fill" because it only offers 1 slots' in pool.why(plan, 2)


def test_a_parallel_job_waits_for_a_whole_that_was_given_away_in_the_same_cycle() -> None:
    pool = Pool(parallel_cell())
    pool.add(slot("slot1@node1", PartitionableSlot=True, Cpus=4))
    pool.submit(job(1, CellParallel="fill 2"))
    pool.submit(job(2, CellParallel="fill 2"))
    plan = pool.cycle()
    assert [match.autocluster for match in plan.matches] == [1]
    assert pool.why(plan, 2) == ["the run has a slot for it, and its machine starts one job after another: it is next"]


def test_a_task_says_whom_its_usage_is_charged_to_and_how() -> None:
    edits = "execution/node1: usage_scaling cpu=2,mem=0.5"
    staff = {"usersets/staff": "name staff\ntype DEPT\nfshare 0\noticket 0\nentries ann\n"}
    made = Pool(ActiveCell.of(1, cell(edits, files=staff)))
    made.add(slot("slot1@node1"))
    made.submit(job(1, CellResources="h_vmem=1G"))
    task = made.cycle().matches[0].pledge.task
    assert task is not None
    assert {name: task[name] for name in ("User", "Project", "Department", "Memory", "Scaling")} == {
        "User": "ann",
        "Project": "",
        "Department": "staff",
        "Memory": 2.0**30,
        "Scaling": "cpu=2.0,mem=0.5",
    }


def test_jobs_that_run_have_a_priority_while_others_wait() -> None:
    made = pool(cell("cqueues/all.q: slots 1\nhostgroups/@allhosts: hostlist node1"))
    made.submit(job(1))
    plan = made.cycle()
    made.give(plan)
    made.claim(plan.matches[0].slot, 7)
    made.submit(job(2))
    record = made.cycle().trail
    assert isinstance(record, CellRecord)
    assert {cluster: (each.priority > 0, limited) for _, cluster, each, limited in record.priorities()} == {
        1: (True, False),
        2: (True, False),
    }


def test_who_waits_because_of_maxujobs_is_told_apart() -> None:
    made = pool(cell("schedconf: maxujobs 1"))
    made.submit(job(1), 2)
    plan = made.cycle()
    record = plan.trail
    assert isinstance(record, CellRecord) and len(plan.matches) == 1
    assert [limited for *_, limited in record.priorities()] == [True]
    assert "job dropped because of user limitations" in made.why(plan, 1)


def test_offers_come_in_the_order_in_which_cell_host_and_queue_have_them() -> None:
    edits = (
        "execution/global: complex_values zed=4,licence=9\n"
        "execution/node1: complex_values slots=4,licence=3,colour=blue\ncqueues/all.q: complex_values colour=red"
    )
    complexes = f"{LICENCE}\nzed zed INT <= YES YES 0 0\ncolour col STRING == YES NO NONE 0"
    made = pool(cell(edits, complexes))
    (row,) = (each for each in host_rows(made.active, made.snapshot()) if each.name == "node1")
    shown = [(one.source, one.name) for one in row.offers if one.name in ("zed", "licence", "slots", "colour")]
    assert shown == [("gc", "zed"), ("hc", "licence"), ("hc", "slots"), ("hf", "colour")]
    instances = instance_rows(made.active, made.snapshot(), details=True)
    (one,) = (each for each in instances if each.name == "all.q@node1")
    names = [each.name for each in one.offers if each.name in ("zed", "qname", "hostname", "slots", "colour")]
    assert names == ["zed", "slots", "colour", "qname", "hostname"]
