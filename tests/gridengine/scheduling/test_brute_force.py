"""A scheduler that is written as plainly as possible agrees with the run on small cells, and no ledger overflows."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from roost.gridengine.objects.quota import QuotaRule
from roost.gridengine.scheduling import CellSnapshot, PendingJob, RunningTask, run
from tests.gridengine.scheduling.cells import cell, job, running, snapshot

_COMPLEXES = """
lic lic INT <= YES YES 0 300
disk disk INT <= YES YES 1 0
once once INT <= YES JOB 0 0
hot hot BOOL == FORCED NO 0 -50
excl excl BOOL EXCL YES YES 0 0
"""
_HOSTS = ("node1", "node2", "node3")
_QUEUES = ("all.q", "b.q")
_CONSUMABLES = {"lic": 0, "disk": 1, "once": 0, "slots": 1}

#: quota rules: the filters, the resource, and what a rule counts apart: instances on which it speaks, by their counter
_RULES = {
    "hosts {*}": ("slots", lambda queue, host: host),
    "queues b.q": ("slots", lambda queue, host: "b.q" if queue == "b.q" else None),
    "queues {*} hosts !node2": ("disk", lambda queue, host: queue if host != "node2" else None),
    "users {*}": ("lic", lambda queue, host: "alice"),
}

amounts = st.integers(0, 3)
offers = st.fixed_dictionaries(
    {},
    optional={
        "lic": amounts,
        "disk": amounts,
        "once": amounts,
        "slots": amounts,
        "hot": st.just(1),
        "excl": st.just(1),
    },
)
wishes = st.fixed_dictionaries(
    {}, optional={"lic": amounts, "disk": amounts, "once": amounts, "hot": st.just(1), "excl": st.just(1)}
)


@st.composite
def snapshots(draw: st.DrawFn) -> CellSnapshot:
    values: dict[str, dict[str, int]] = {}
    edits = [f"cqueues/{queue}: slots {draw(st.integers(0, 3))}" for queue in _QUEUES]
    edits += [f"cqueues/{queue}: seq_no {draw(st.integers(0, 2))}" for queue in _QUEUES]
    edits.append(f"schedconf: queue_sort_method {draw(st.sampled_from(('load', 'seqno')))}")
    edits.append(f"schedconf: job_load_adjustments np_load_avg={draw(st.sampled_from(('0', '0.5', '2')))}")
    edits.append("schedconf: load_adjustment_decay_time 0:10:0")
    for host in (*_HOSTS, "global"):
        values[host] = draw(offers) if draw(st.booleans()) else {}
        if values[host]:
            edits.append(f"execution/{host}: complex_values {_text(values[host])}")
    offered = {name: value for name, value in draw(offers).items() if name != "slots"}
    if offered:
        edits.append(f"cqueues/b.q: complex_values {_text(offered)}")
    files = {}
    for number, filters in enumerate(draw(st.lists(st.sampled_from(sorted(_RULES)), max_size=2, unique=True))):
        limit = f"{_RULES[filters][0]}={draw(amounts)}"
        files[f"resource_quotas/q{number}"] = (
            f"{{\n   name q{number}\n   description NONE\n   enabled TRUE\n   limit {filters} to {limit}\n}}\n"
        )
    one = cell("\n".join(edits), _COMPLEXES, queues=("b.q",), files=files)
    loads = {host: {"np_load_avg": draw(st.sampled_from(("0", "0.25", "0.5", "1.5", "1.8")))} for host in _HOSTS}
    jobs = [_job(draw, number) for number in range(draw(st.integers(0, 7)))]
    busy = [
        running(
            100 + number, f"{draw(st.sampled_from(_QUEUES))}@{draw(st.sampled_from(_HOSTS))}", *_texts(draw(wishes))
        )
        for number in range(draw(st.integers(0, 3)))
    ]
    return snapshot(one, *jobs, loads=loads, running=tuple(busy))


def _text(values: dict[str, int]) -> str:
    return ",".join(f"{name}={value}" for name, value in values.items())


def _texts(values: dict[str, int]) -> list[str]:
    return [f"{name}={value}" for name, value in values.items()]


def _job(draw: st.DrawFn, number: int) -> PendingJob:
    more: dict[str, Any] = {"queues": draw(st.sampled_from([(), (), ("b.q",), ("*@node2",), ("all.q@@allhosts",)]))}
    more["priority"] = draw(st.sampled_from([0, 0, -100, 100]))
    if draw(st.booleans()):
        more["tasks"] = (1, 2, 3)
    return job(number + 1, *_texts(draw(wishes)), **more)


class Plain:
    """Everything from scratch at every question."""

    def __init__(self, one: CellSnapshot) -> None:
        self.one, self.cell = one, one.cell
        self.tasks: list[tuple[dict[str, float], str, float]] = [
            (dict(_numbers(task)), task.grants[0].instance, 1 - (one.now - task.started) / 600) for task in one.running
        ]
        self.closed: set[str] = set()

    def capacity(self, place: str) -> dict[str, float]:
        return _capacity(self.one, place)

    def use(self, place: str, name: str) -> float:
        return sum(asked.get(name, _CONSUMABLES[name]) for asked, at, _ in self.tasks if _on(at, place))

    def load(self, host: str) -> float:
        weight = sum(int(100 * part) for _, at, part in self.tasks if at.endswith(f"@{host}")) / 100
        step = float(self.cell.scheduler.job_load_adjustments[0].text)
        return float(self.one.reports[host].values["np_load_avg"]) + step * weight / 2

    def fits(self, asked: dict[str, float], queues: tuple[str, ...], instance: str) -> bool:
        queue, host = instance.split("@")
        named = {"b.q": queue == "b.q", "*@node2": host == "node2", "all.q@@allhosts": queue == "all.q"}
        if queues and not named[queues[0]]:
            return False
        places = ("global", host, instance)
        levels = {place: self.capacity(place) for place in places}
        for place in places:
            if "hot" in levels[place] and "hot" not in asked and not (queues and _implied(queues[0], queue, place)):
                return False
            here = [each for each, at, _ in self.tasks if _on(at, place)]
            if "excl" in levels[place] and (here if asked.get("excl") else any(each.get("excl") for each in here)):
                return False
            for name, default in _CONSUMABLES.items():
                if name in levels[place] and levels[place][name] - self.use(place, name) < asked.get(name, default):
                    return False
        if not all(self.allowed(one.rules[0], asked, queue, host) for one in self.cell.quota_sets.values()):
            return False
        return all(any(name in levels[place] for place in places) for name in asked)

    def allowed(self, rule: QuotaRule, asked: dict[str, float], queue: str, host: str) -> bool:
        filters = str(rule).partition(" to ")[0]
        name, counter = _RULES[filters]
        wanted, counted = asked.get(name, _CONSUMABLES[name]), counter(queue, host)
        used = sum(
            each.get(name, _CONSUMABLES[name]) for each, at, _ in self.tasks if counter(*at.split("@")) == counted
        )
        return counted is None or not wanted or used + wanted <= float(rule.limits[0].text)

    def run(self) -> list[tuple[int, int, str]]:
        found = []
        instances = [instance.name for instance in self.one.instances]
        sequence = {instance.name: instance.settings.seq_no for instance in self.one.instances}
        by_sequence = self.cell.scheduler.queue_sort_method == "seqno"
        ranks = run(self.one).priorities
        for each in sorted(self.one.pending, key=lambda one: (-ranks[one.number].priority, one.number)):
            asked = dict(_numbers(each))
            for task in each.tasks:
                self.closed |= {name for name in instances if self.load(name.split("@")[1]) >= 1.75}
                free = [
                    name
                    for name in instances
                    if name not in self.closed
                    and self.use(name, "slots") < self.capacity(name)["slots"]
                    and self.fits(asked, each.request.queues, name)
                ]
                if not free:
                    break
                keys = {name: (self.load(name.split("@")[1]), sequence[name], instances.index(name)) for name in free}
                best = min(
                    free, key=lambda name: (keys[name][1], keys[name][0], keys[name][2]) if by_sequence else keys[name]
                )
                self.tasks.append((asked, best, 1.0))
                found.append((each.number, task, best))
        return found


def _implied(pattern: str, queue: str, place: str) -> bool:
    """Of the patterns here, which name a queue, and one of them its hosts, without a wildcard."""
    return ("@" in place and pattern == queue) or (place != "global" and pattern == "all.q@@allhosts")


def _on(instance: str, place: str) -> bool:
    return place in ("global", instance, instance.split("@")[1])


def _numbers(task: PendingJob | RunningTask) -> list[tuple[str, float]]:
    return [(name, float(text)) for name, text in task.request.hard]


def _capacity(one: CellSnapshot, place: str) -> dict[str, float]:
    if "@" not in place:
        return {pair.name: float(pair.text) for pair in one.cell.hosts[place].complex_values}
    settings = next(instance.settings for instance in one.instances if instance.name == place)
    return {"slots": float(settings.slots)} | {pair.name: float(pair.text) for pair in settings.complex_values}


@settings(max_examples=40)
@given(snapshots())
def test_the_run_decides_as_the_plain_scheduler(one: CellSnapshot) -> None:
    found = [(each.job, each.task, each.grants[0].instance) for each in run(one).dispatches]
    assert found == Plain(one).run()


@settings(max_examples=40)
@given(snapshots())
def test_every_job_starts_or_has_a_reason_and_the_same_snapshot_gives_the_same_plan(one: CellSnapshot) -> None:
    found = run(one)
    assert found == run(one)
    started: dict[int, int] = {}
    for each in found.dispatches:
        started[each.job] = started.get(each.job, 0) + 1
    for waiting in one.pending:
        assert (started.get(waiting.number, 0) == len(waiting.tasks)) != bool(found.scheduling_info(waiting.number))


@settings(max_examples=40)
@given(snapshots())
def test_dispatches_never_book_more_than_there_is(one: CellSnapshot) -> None:
    before, after = Plain(one), Plain(one)
    kinds = {each.number: dict(_numbers(each)) for each in one.pending}
    for each in run(one).dispatches:
        after.tasks.append((kinds[each.job], each.grants[0].instance, 1.0))
    places = ["global", *_HOSTS, *(instance.name for instance in one.instances)]
    for place in places:
        for name, capacity in _capacity(one, place).items():
            if name in _CONSUMABLES:
                assert after.use(place, name) <= max(capacity, before.use(place, name))
