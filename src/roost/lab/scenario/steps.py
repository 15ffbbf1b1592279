"""The steps of a scenario file: the meaning of each key of a step.

A step has a time and any number of other keys; each is read by its function in `READERS`. Steps must be in the order of
time, so that a file reads in the order of events.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from roost.base.records import dataclass, field
from roost.classad import ClassAd, ParseError, parse_expression
from roost.lab.inputs.durations import shown
from roost.lab.inputs.tables import Table
from roost.lab.scenario.cell_steps import CELL_JOB_KEYS, check_qconf, check_qmod, of_job, of_queues, qstat
from roost.lab.scenario.dags import NODE_STATES, STATUSES, ScenarioDag
from roost.lab.scenario.described import Described, Jobs
from roost.lab.scenario.jobs import LOGGED
from roost.lab.scenario.values import (
    DagExpectation,
    Expectation,
    JobExpectation,
    ScenarioCommand,
    ScheduledAction,
    Submitted,
)
from roost.model.reasons import Reason
from roost.startd.states import PAIRS
from roost.startd.transitions import TRANSITIONS
from roost.starter.states import State as StarterState

_PAIRS: Final = tuple(sorted(str(pair) for pair in PAIRS))
_STATES: Final = frozenset(pair.state.value for pair in PAIRS)
#: Where a job can be.
PLACES: Final = ("to_come", "idle", "running", "suspended", "completed", "held", "removed", "refused")
#: Keys of an expectation table; any other key is an expression.
EXPECT_KEYS: Final = (
    "state", "for", "job", "jobs", "starter", "transition", "reason", "hooks", "dags", "against", "queues", "qstat",
)  # fmt: skip
#: Keys of a DAG expectation.
DAG_EXPECT_KEYS: Final = ("status", "exit", "nodes")
#: Keys of a job expectation; any other key in its table is an expression.
JOB_EXPECT_KEYS: Final = ("status", "starts", "exits", "log", *CELL_JOB_KEYS)
_TRANSITIONS: Final = tuple(
    sorted({row.number for row in TRANSITIONS}, key=lambda number: (int(number.rstrip("abc")), number))
)
_STARTER: Final = ("", *(state.value for state in StarterState))
#: Keys of a step that are about one slot.
_OF_SLOTS: Final = frozenset(("update", "vacate", "checkpoint", "match", "expect"))
#: Keys of a step that are about one machine.
_OF_MACHINES: Final = _OF_SLOTS | {
    "keys", "remote_keys", "load", "attributes", "drain", "cancel_drain", "shutdown", "restart", "reconfig",
}  # fmt: skip
#: Keys of an expectation that are not about a slot.
_OF_QUEUE: Final = frozenset(("jobs", "hooks", "dags", "queues", "qstat"))
#: Keys of a step, of an expectation and of a job expectation that require a cell.
_OF_CELL: Final = frozenset(("qmod", "qconf", "user"))
#: Attributes that the machine measures itself, and the key that changes them.
_SENSED: Final = {
    "keyboardidle": "keys or remote_keys", "consoleidle": "keys", "loadavg": "load", "totalloadavg": "load",
}  # fmt: skip


@dataclass(slots=True)
class MachineSteps:
    """The actions of a machine's owner."""

    presses: list[tuple[float, float]] = field(default_factory=list)
    remote_presses: list[tuple[float, float]] = field(default_factory=list)
    loads: list[tuple[float, float]] = field(default_factory=list)
    attributes: list[tuple[float, Mapping[str, Any]]] = field(default_factory=list)


@dataclass(slots=True)
class Steps:
    """Steps, sorted by kind."""

    known: Jobs
    machines: dict[str, MachineSteps]
    hooks: Collection[str] = ()
    dags: Mapping[str, ScenarioDag] = field(default_factory=dict)
    #: Whether the pool has a Grid Engine cell.
    in_cell: bool = False
    jobs: list[Submitted] = field(default_factory=list)
    fetched: list[Submitted] = field(default_factory=list)
    actions: list[ScheduledAction] = field(default_factory=list)
    expectations: list[Expectation] = field(default_factory=list)
    #: How often each job has been submitted.
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def described(self) -> Described:
        """The described jobs by name."""
        return self.known.described

    def has_node(self, job: str) -> bool:
        """Whether a job belongs to a node of a submitted DAG."""
        dag, _, node = job.partition("/")[0].partition(".")
        submitted = any(action.order is ScenarioCommand.DAG and action.how == dag for action in self.actions)
        return submitted and (node in self.dags[dag].dag.nodes or node.rpartition(".")[0] in self.dags[dag].dag.nodes)

    def machine(self, step: Table) -> MachineSteps:
        """The actions at the machine that a step is about."""
        return self.machines[step.text("on", next(iter(self.machines)))]


def read_steps(scenario: Table, found: Steps) -> Steps:
    """The steps of a scenario, added to what it has. Raises LabError."""
    last = 0.0
    for step in scenario.children("steps", scenario.what):
        at_s = step.duration("at", last)
        if at_s < last:
            step.fail(f"the step at {shown(at_s)} comes after the one at {shown(last)}; put steps in order", "at")
        last = at_s
        step.known(STEP_KEYS)
        doing = [key for key in READERS if key in step]
        if not doing:
            step.fail(f"the step is empty; give it one of {', '.join(READERS)}")
        if "for" in step and "load" not in step:
            step.fail("for belongs to load; in expect, put it inside the table", "for")
        if "slot" in step and not _OF_SLOTS.intersection(doing):
            step.fail(f"slot names a slot; it is valid only with one of {', '.join(sorted(_OF_SLOTS))}", "slot")
        _check_machine(found, step, doing)
        _check_cell(found, step)
        if "user" in step and not {"qmod", "qconf"}.intersection(doing):
            step.fail("user names who gives the order; it is valid only with qmod or qconf", "user")
        for key in doing:
            READERS[key](found, step, key, at_s)
    return found


def _check_machine(found: Steps, step: Table, doing: list[str]) -> None:
    """Check that a step about a machine names it if there are several."""
    names = ", ".join(found.machines)
    about = [key for key in doing if key in _OF_MACHINES]
    if "on" in step:
        if step.text("on", "") not in found.machines:
            step.fail(f"on must be one of the machines {names}; found {step.values['on']!r}", "on")
        if not about:
            step.fail(f"on names a machine; it is valid only with one of {', '.join(sorted(_OF_MACHINES))}", "on")
    elif len(found.machines) > 1 and any(_needs_machine(step, key) for key in about):
        step.fail(f"there are several machines; name one with `on`: {names}", about[0])


def _check_cell(found: Steps, table: Table, keys: Collection[str] = _OF_CELL) -> None:
    """Refuse keys that require a cell if there is none."""
    named = None if found.in_cell else next((key for key in table.values if key in keys), None)
    if named is not None:
        table.fail(f"{named} requires a Grid Engine cell, but the pool has none; describe one in [cell]", named)


def _needs_machine(step: Table, key: str) -> bool:
    """Whether a key is about one machine, and not about the queue, or about all daemons."""
    expected = step.values[key]
    of_queue = key == "expect" and isinstance(expected, dict) and _OF_QUEUE.issuperset(expected)
    return not of_queue and key != "reconfig"


def slot_of(step: Table) -> str:
    """The slot that a step is about, as in the name of the slot."""
    value = step.values.get("slot", 1)
    text = str(value).removeprefix("slot")
    if isinstance(value, bool) or not all(part.isdecimal() for part in text.split("_")) or text.count("_") > 1:
        step.fail(f'slot must be a number, or a name such as "1_2" for a dynamic slot; found {value!r}', "slot")
    return text


# -- events --------------------------------------------------------------------------------------------


def _submit(found: Steps, step: Table, key: str, at_s: float) -> None:
    for name in step.texts(key):
        if name not in found.known.groups:
            step.fail(f"there is no job {name!r}; describe it in [jobs.{name}]", key)
        found.counts[name] = found.counts.get(name, 0) + 1
        number = found.counts[name]
        jobs = found.jobs if key == "submit" else found.fetched
        members = found.known.groups[name]
        after = _after(found, step, key, name)
        if key == "fetch" and len(members) > 1:
            what = f"the description of {name} produces {len(members)}; let it queue one"
            step.fail(f"a hook brings one job at a time; {what}", key)
        for proc, each in enumerate(members):
            named = each if number == 1 else f"{each}/{number}"
            jobs.append(Submitted(at_s, named, found.described[each], proc, after))


def _after(found: Steps, step: Table, key: str, job: str) -> tuple[str, ...]:
    """The jobs that must leave before a job submitted now: the last one of each name in `-hold_jid`."""
    asked = found.known.templates[job].qsub
    last: list[str] = []
    for name in () if asked is None else asked.after:
        there = [
            each.name
            for each in found.jobs
            if name in (each.name, _group(each.name), _group(each.name).partition("/")[0])
        ]
        if not there:
            step.fail(
                f"{job} waits for {name}, which has not been submitted before this step; submit it in an earlier one",
                key,
            )
        last.append(there[-1])
    return tuple(last)


def _keys(found: Steps, step: Table, key: str, at_s: float) -> None:
    length_s = max(1.0, step.duration(key, 1.0))
    machine = found.machine(step)
    presses = machine.presses if key == "keys" else machine.remote_presses
    presses.append((float(int(at_s)), float(int(at_s + length_s))))


def _load(found: Steps, step: Table, key: str, at_s: float) -> None:
    loads = found.machine(step).loads
    loads.append((at_s, step.number(key, 0.0)))
    if "for" in step:
        loads.append((at_s + step.duration("for", 0.0), 0.0))


def _attributes(found: Steps, step: Table, key: str, at_s: float) -> None:
    given = step.child(key, step.what)
    for name in given.values:
        if name.lower() in _SENSED:
            step.fail(f"{name} is measured by the machine; set it with {_SENSED[name.lower()]}", key)
    found.machine(step).attributes.append((at_s, _ad_values(given, step, key)))


def _ad_values(given: Table, step: Table, key: str) -> dict[str, Any]:
    """Values of an ad; a string that begins with ``=`` is an expression."""
    values: dict[str, Any] = {}
    for name, value in given.values.items():
        if isinstance(value, dict):
            step.fail(f"the value of {name} must be a string, a number, true, false or a list of them", key)
        values[name] = _expression(step, key, value[1:]) if _is_formula(value) else value
    return values


def _is_formula(value: object) -> bool:
    return isinstance(value, str) and value.startswith("=")


def _expression(step: Table, key: str, text: str) -> Any:
    try:
        return parse_expression(text)
    except ParseError as error:
        step.fail(f"{text!r} is not an expression: {error}", key)


# -- orders ----------------------------------------------------------------------------------------------------

_HOW: Final[Mapping[str, tuple[str, ...]]] = {
    "vacate": ("graceful", "fast"),
    "drain": ("graceful", "quick", "fast"),
    "shutdown": ("peaceful", "graceful", "fast"),
    "queue": ("away", "back"),
}
_DRAIN_KEYS: Final = ("how", "start", "then")
_THEN: Final = ("nothing", "resume")


def _update(found: Steps, step: Table, key: str, at_s: float) -> None:
    ad = ClassAd(_ad_values(step.child(key, step.what), step, key))
    found.actions.append(_action(step, key, at_s, attributes=ad))


def _how(found: Steps, step: Table, key: str, at_s: float) -> None:
    found.actions.append(_action(step, key, at_s, how=step.choice(key, _HOW[key])))


def _drain(found: Steps, step: Table, key: str, at_s: float) -> None:
    if isinstance(step.values[key], str):
        return _how(found, step, key, at_s)
    table = step.child(key, step.what)
    table.known(_DRAIN_KEYS)
    start = table.text("start", "")
    if start:
        _expression(step, key, start)
    then = table.choice("then", _THEN) if "then" in table else "nothing"
    how = table.choice("how", _HOW[key]) if "how" in table else "graceful"
    found.actions.append(_action(step, key, at_s, how=how, start=start, then=then))
    return None


def _plain(found: Steps, step: Table, key: str, at_s: float) -> None:
    if step.values[key] is not True:
        step.fail(f"{key} can only be true", key)
    found.actions.append(_action(step, key, at_s))


def _of_job(found: Steps, step: Table, key: str, at_s: float) -> None:
    for name in step.texts(key):
        members = [each.name for each in found.jobs if name in (each.name, _group(each.name))]
        members = members or [name] * found.has_node(name)
        if not members:
            step.fail(f"no job {name!r} has been submitted before this step; submit it in an earlier one", key)
        found.actions += [_action(step, key, at_s, job=each) for each in members]


def _group(job: str) -> str:
    """The common part of the names of jobs from one submission: ``a`` of ``a.0``, ``a/2`` of ``a.0/2``."""
    name, slash, number = job.partition("/")
    return name.rpartition(".")[0] + slash + number


def _reconfig(found: Steps, step: Table, key: str, at_s: float) -> None:
    found.actions.append(_action(step, key, at_s, settings=step.settings(key, step.what)))


def _command(found: Steps, step: Table, key: str, at_s: float) -> None:
    (check_qmod if key == "qmod" else check_qconf)(step, key)
    user = step.text("user", "")
    found.actions += [_action(step, key, at_s, how=line, user=user) for line in step.texts(key)]


def _of_dag(found: Steps, step: Table, key: str, at_s: float) -> None:
    name = step.text(key, "")
    if name not in found.dags:
        step.fail(f"there is no DAG {name!r}; describe it in [dags.{name}]", key)
    found.actions.append(_action(step, key, at_s, how=name))


def _action(step: Table, key: str, at_s: float, **given: Any) -> ScheduledAction:
    on = step.text("on", "")
    return ScheduledAction(
        at_s=at_s, line=step.line(), order=ScenarioCommand(key), machine=on, slot=slot_of(step), **given
    )


# -- expectations ------------------------------------------------------------------------------------------


def _expect(found: Steps, step: Table, key: str, at_s: float) -> None:
    given = step.values[key]
    table = Table(
        step.file, step.lines, (*step.path, key), {"state": given} if isinstance(given, str) else given, step.what
    )
    if not isinstance(table.values, dict):
        step.fail(f'{key} must be "State/Activity" or a table such as {{ state = "Claimed/Busy", job = "a" }}', key)
    pair = table.values.get("state")
    if pair is not None and pair not in _PAIRS and pair not in _STATES:
        near = difflib.get_close_matches(str(pair), [*_PAIRS, *_STATES], 1)
        hint = f"did you mean {near[0]!r}? There" if near else "there"
        step.fail(f"{pair!r} is not a valid state; {hint} are: {', '.join(_PAIRS)}", key)
    for name in ("job", "against"):
        job = table.text(name, "")
        known = job in found.described or any(job == each.name for each in [*found.jobs, *found.fetched])
        if job and not known and not (name == "job" and found.has_node(job)):
            step.fail(f"there is no job {job!r}; describe it in [jobs.{job}]", key)
    expected = Expectation(
        at_s=at_s,
        line=step.line(),
        machine=step.text("on", ""),
        slot=slot_of(step),
        pair=pair,
        for_s=table.duration("for", 0.0),
        job=table.text("job", "") if "job" in table else None,
        transition=_transition(table, step, key),
        reason=table.choice("reason", list(Reason)) if "reason" in table else None,
        starter=table.choice("starter", _STARTER) if "starter" in table else None,
        jobs=_jobs(table, step, key, found),
        dags=_dags(table, step, key, found),
        hooks=_hooks(table, step, key, found),
        against=table.text("against", "") or None,
        values=_values(table, step, key),
        queues=of_queues(table, step.what),
        qstat=qstat(table),
    )
    _check_cell(found, table, ("queues", "qstat"))
    if pair is None and "for" in table:
        step.fail("for states how long the slot must stay in a state; name the state with state", key)
    if (
        not any(name in table for name in ("state", "job", "transition", "reason", "starter"))
        and not (expected.jobs or expected.dags or expected.hooks or expected.values or expected.queues)
        and expected.qstat is None
    ):
        step.fail('it has no expectations, so it cannot fail; add one, such as expect = "Claimed/Busy"', key)
    found.expectations.append(expected)


def _transition(table: Table, step: Table, key: str) -> str | None:
    if "transition" not in table:
        return None
    number = str(table.values["transition"])
    if number not in _TRANSITIONS:
        step.fail(f"{number!r} is not the number of a transition; the transitions are: {', '.join(_TRANSITIONS)}", key)
    return number


def _dags(table: Table, step: Table, key: str, found: Steps) -> tuple[DagExpectation, ...]:
    expected = []
    for name, value in table.child("dags", step.what).values.items():
        if name not in found.dags:
            step.fail(f"there is no DAG {name!r}; describe it in [dags.{name}]", key)
        given = {"status": value} if isinstance(value, str) else value
        if not isinstance(given, dict):
            step.fail(
                f'what is expected of a DAG is a status or a table such as {{ status = "done" }}; found {value!r}', key
            )
        one = Table(step.file, step.lines, (*step.path, key, "dags", name), given, step.what)
        one.known(DAG_EXPECT_KEYS)
        nodes = one.child("nodes", step.what)
        if not nodes.values and not {"status", "exit"} & given.keys():
            step.fail(f'the DAG {name} has no expectation; add one, for example {name} = "done"', key)
        for node in nodes.values:
            if node not in found.dags[name].dag.nodes:
                there = ", ".join(found.dags[name].dag.nodes)
                step.fail(f"the DAG {name} has no node {node!r}; its nodes are: {there}", key)
        expected.append(
            DagExpectation(
                dag=name,
                status=one.choice("status", STATUSES) if "status" in one else None,
                exit_code=_count(one, "exit"),
                nodes=tuple((node, nodes.choice(node, NODE_STATES)) for node in nodes.values),
            )
        )
    return tuple(expected)


def _hooks(table: Table, step: Table, key: str, found: Steps) -> tuple[tuple[str, int], ...]:
    given = table.child("hooks", step.what).values
    for name, count in given.items():
        if name not in found.hooks:
            step.fail(f"there is no program {name!r}; describe it in [hooks.{name}]", key)
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            step.fail(f"the number of times that {name} has run must be a number; found {count!r}", key)
    return tuple(given.items())


def _jobs(table: Table, step: Table, key: str, found: Steps) -> tuple[JobExpectation, ...]:
    given = table.child("jobs", step.what)
    return tuple(_job(given, name, step, key, found) for name in given.values)


def _job(given: Table, name: str, step: Table, key: str, found: Steps) -> JobExpectation:
    if not any(name == job.name for job in found.jobs) and not found.has_node(name):
        several = [job.name for job in found.jobs if _group(job.name) == name]
        hint = f"; its jobs are {', '.join(several)}" if several else "; submit it in an earlier one"
        step.fail(f"no job {name!r} has been submitted before this step{hint}", key)
    value = given.values[name]
    values = {"status": value} if isinstance(value, str) else value
    if not isinstance(values, dict):
        step.fail(
            f'what is expected of a job is a place or a table such as {{ status = "held" }}; found {value!r}', key
        )
    if not values:
        step.fail(f'the job {name} has no expectation; add one, for example {name} = "running"', key)
    place = values.get("status")
    if place is not None and place not in PLACES:
        step.fail(f"a job's place must be one of {', '.join(PLACES)}; found {place!r} for {name}", key)
    table = Table(step.file, step.lines, (*step.path, key, "jobs", name), values, step.what)
    _check_cell(found, table, CELL_JOB_KEYS)
    log = table.texts("log") if "log" in table else None
    for event in log or ():
        if event not in LOGGED.values():
            table.fail(f"an event must be one of {', '.join(LOGGED.values())}; found {event!r}", "log")
    return JobExpectation(
        job=name,
        status=place,
        starts=_count(table, "starts"),
        exits=_count(table, "exits"),
        log=log,
        values=_values(table, step, key, JOB_EXPECT_KEYS),
        cell=of_job(table),
    )


def _count(table: Table, key: str) -> int | None:
    return None if key not in table else int(table.number(key, 0))


def _values(table: Table, step: Table, key: str, known: tuple[str, ...] = EXPECT_KEYS) -> tuple[tuple[str, Any], ...]:
    values = tuple((name, value) for name, value in table.values.items() if name not in known)
    for name, value in values:
        _expression(step, key, name)
        if _is_formula(value):
            _expression(step, key, value[1:])
        if isinstance(value, dict):
            step.fail(f"the value of {name} must be a string, a number, true, false or a list of them", key)
    return values


#: Key of a step to the function that reads it.
READERS: Final[Mapping[str, Callable[[Steps, Table, str, float], None]]] = {
    "submit": _submit,
    "fetch": _submit,
    "keys": _keys,
    "remote_keys": _keys,
    "load": _load,
    "attributes": _attributes,
    "update": _update,
    "hold": _of_job,
    "release": _of_job,
    "remove": _of_job,
    "suspend": _of_job,
    "continue": _of_job,
    "vacate_job": _of_job,
    "checkpoint": _plain,
    "vacate": _how,
    "drain": _drain,
    "cancel_drain": _plain,
    "shutdown": _how,
    "restart": _plain,
    "reconfig": _reconfig,
    "match": _plain,
    "queue": _how,
    "dag": _of_dag,
    "remove_dag": _of_dag,
    "qmod": _command,
    "qconf": _command,
    "expect": _expect,
}
STEP_KEYS: Final = ("at", "on", "slot", "for", "user", *READERS)
