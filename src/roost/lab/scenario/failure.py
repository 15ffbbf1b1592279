"""Why a scenario failed: the slot's timeline around the instant, and the expression that decided otherwise.

A slot that is not in the expected state waits for something. The paths to that state in the table of transitions show
what: on the shortest path, for the first row that evaluates an expression, the failing guard is named and explained. If
nothing blocks the path, the last transition is shown, with the expression that decided it. A job that was expected to
run but waits in the queue is explained by the slot's requirements and its own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from roost.classad import ClassAd, unparse_value
from roost.classad.syntax import Literal
from roost.explain.job import refusal
from roost.lab.inputs.durations import shown
from roost.lab.scenario.values import Scenario
from roost.policy.explain import Origin, explain
from roost.policy.render import render_text
from roost.startd.guards import GUARDS
from roost.startd.policy_inputs import Decision, Inputs, StepWorld
from roost.startd.states import Pair, State
from roost.startd.transitions import ROWS, Guard, On, Transition
from roost.startd.work import Taken, Work
from roost.starter.work import StarterTaken
from roost.tables.finder import Verdict

#: Lines of a timeline before and after a failure.
BEFORE: Final = 8
AFTER: Final = 3


class Explainer:
    """Explains decisions of one machine, in `width` columns."""

    def __init__(self, width: int, origins: Mapping[str, Origin]) -> None:
        self.width = width
        self.origins = origins

    def decision(self, decision: Decision) -> str:
        """Why an expression has its value."""
        if decision.expression is None:
            return f"{decision.name} is not set."
        if isinstance(decision.expression.tree, Literal) and decision.name not in self.origins:
            return f"{decision.name} is {unparse_value(decision.value)}."
        found = explain(
            decision.expression,
            decision.my,
            decision.target,
            world=decision.world.again(),
            name=decision.name,
            origin=self.origins.get(decision.name),
            origins=self.origins,
        )
        return render_text(found, self.width).rstrip()

    def why_not(self, wanted: str, inputs: Inputs, waiting: Iterable[tuple[str, ClassAd]]) -> str:
        """What keeps the slot from a pair or state; "" if no expression does."""
        here = inputs.state.pair
        if wanted.startswith("Claimed") and here.state in (State.OWNER, State.UNCLAIMED):
            return self._why_unmatched(inputs, waiting)
        asked: dict[int, list[str]] = {}
        facts = []
        for row, length in _ways(here, wanted):
            verdict, guard = _in_the_way(row, inputs)
            if guard is None:
                continue
            text = f"Transition {row.number} to {row.target} waits until {guard}."
            if verdict.decisions:
                asked.setdefault(length, []).append(f"{text}\n{self.decision(verdict.decisions[-1])}")
            elif On.POLL in row.on:
                facts.append(text)
        nearest = asked[min(asked)] if asked else facts[:1]
        return "\n\n".join(list(dict.fromkeys(nearest))[:2])

    def _why_unmatched(self, inputs: Inputs, waiting: Iterable[tuple[str, ClassAd]]) -> str:
        texts = []
        for name, ad in list(waiting)[:2]:
            accepted, decision = inputs.accepts(ad)
            world = StepWorld(inputs.policy, inputs.state.name, inputs.now)
            found = explain("Requirements", ad, inputs.my, world=world, name="Requirements")
            if not accepted:
                texts.append(f"The slot rejects job {name}:\n{self.decision(decision)}")
            elif found.value is not True:
                texts.append(f"Job {name} rejects the slot:\n{render_text(found, self.width).rstrip()}")
            else:
                refused = refusal(ad)
                rest = f", but last time {refused}" if refused else "; the next matchmaking cycle has not begun"
                texts.append(f"Slot and job {name} accept each other now{rest}.")
        return "\n\n".join(texts)

    def why_here(self, last: Taken | StarterTaken | None, start: float) -> str:
        """What led to the slot's current state."""
        if last is None:
            return "The slot has been in this state since the machine started."
        text = f"{row_text(last, start).strip()} led here."
        return text if last.decision is None else f"{text}\n{self.decision(last.decision)}"


def _matches(wanted: str, pair: Pair) -> bool:
    return wanted in (str(pair), pair.state.value)


def _ways(here: Pair, wanted: str) -> Iterator[tuple[Transition, int]]:
    """The rows that leave a pair on a path to the wanted one, each with the length of that path."""
    for row in ROWS[here]:
        if On.POLL in row.on or On.COUPLED in row.on:
            length = _distance(row.target, wanted, here)
            if length is not None:
                yield row, length


def _distance(begin: Pair, wanted: str, avoided: Pair) -> int | None:
    """The number of further transitions by polls and their consequences; None if there is no path."""
    edge = deque([(begin, 0)])
    seen = {begin, avoided}
    while edge:
        pair, length = edge.popleft()
        if _matches(wanted, pair):
            return length
        for row in ROWS[pair]:
            if (On.POLL in row.on or On.COUPLED in row.on) and row.target not in seen:
                seen.add(row.target)
                edge.append((row.target, length + 1))
    return None


def _in_the_way(row: Transition, inputs: Inputs) -> tuple[Verdict, Guard | None]:
    """The first failing guard of a row, and its evaluation; None if nothing keeps a poll from taking the row."""
    work = Work(inputs.state, inputs.policy, inputs.now)
    for guard in row.when:
        verdict = GUARDS[guard](work)
        if not verdict.holds:
            return verdict, guard
    return Verdict(True), None


def row_text(taken: Taken | StarterTaken, start: float) -> str:
    """A transition in one line."""
    what = "the starter's " if isinstance(taken, StarterTaken) else ""
    text = f"{shown(taken.at - start):>10}  [{what}{taken.number}] {taken.source} -> {taken.target}: {taken.reason}"
    decision = taken.decision
    return text if decision is None else f"{text} ({decision.name} = {unparse_value(decision.value)})"


def timeline(scenario: Scenario, start: float, taken: Iterable[Taken | StarterTaken], at_s: float) -> Iterator[str]:
    """Transitions around an instant, with the actions of people between them."""
    lines = [(each.at - start, 1, row_text(each, start)) for each in taken]
    lines += [(at, 0, f"{shown(at):>10}  {text}") for at, text in _actions(scenario)]
    lines.sort(key=lambda line: line[:2])
    before = [text for at, _, text in lines if at <= at_s]
    if len(before) > BEFORE:
        yield f"{'':>10}  … {len(before) - BEFORE} earlier"
    yield from before[-BEFORE:]
    yield f"{shown(at_s):>10}  <- here"
    yield from [text for at, _, text in lines if at > at_s][:AFTER]


def _actions(scenario: Scenario) -> Iterator[tuple[float, str]]:
    """The actions of people, in words."""
    several = len(scenario.machines) > 1
    for machine in scenario.machines:
        on = f" at {machine.name}" if several else ""
        for begin, end in machine.presses:
            yield begin, f"keyboard in use for {shown(end - begin)}{on}"
        for begin, end in machine.remote_presses:
            yield begin, f"keyboard of a remote login in use for {shown(end - begin)}{on}"
        for at, load in machine.loads:
            yield at, f"load of the owner {load:g}{on}"
        for at, given in machine.attributes:
            text = ", ".join(f"{name} is {value}" for name, value in given.items())
            yield at, f"{machine.name if several else 'the machine'}'s {text}"
    for job in scenario.jobs:
        yield job.at_s, f"job {job.name} is submitted"
    for job in scenario.fetched:
        yield job.at_s, f"job {job.name} can be fetched"
    for action in scenario.actions:
        what = " ".join(word for word in (action.order.value.replace("_", " "), action.how, action.job) if word)
        given = action.attributes or {each.name: each.value for each in action.settings}
        what += "".join(f" {name} = {given[name]}" for name in given)
        yield action.at_s, f"order{f' to {action.machine}' if several and action.machine else ''}: {what}"
