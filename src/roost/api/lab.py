"""Runs of the lab as resources: start one, follow it, read its result, cancel it."""

from __future__ import annotations

from typing import Annotated, Final

from roost.api.calls import Call, Row
from roost.api.lab_runs import POLICY_MAX, LabRun
from roost.api.people import WebRole
from roost.wire.structs import Between, Matching, OneOf, Struct

#: How owners of machines behave: those that work by day, or none.
OWNERS: Final = ("diurnal", "nobody")
WEEKS_MAX: Final = 4
SEEDS_MAX: Final = 10

Policy = Annotated[str, Matching(rf"(?s:.{{1,{POLICY_MAX}}})", f"a string of 1 to {POLICY_MAX} characters")]


def _owners() -> tuple[object, ...]:
    return OWNERS


class NewLabRun(Struct):
    """A trial policy that is to be compared with the present one, on this pool's machines and jobs."""

    #: Configuration, which is read after the present one.
    text: Policy
    #: How many weeks of jobs, up to now.
    weeks: Annotated[int, Between(1, WEEKS_MAX)] = 1
    #: How many pairs of runs, each with owners of its own.
    seeds: Annotated[int, Between(1, SEEDS_MAX)] = 3
    owners: Annotated[str, OneOf(_owners)] = "diurnal"


def start(call: Call) -> LabRun:
    """Begin to simulate."""
    bus, order = call.server.lab_order()
    return call.server.labs.start(call.person, call.body, bus, order)


def runs(call: Call) -> list[LabRun]:
    """Runs without their results, the last first."""
    return call.server.labs.all()


def run(call: Call) -> LabRun:
    """How far a run is, and its result."""
    return call.server.labs.get(call.path["id"])


def remove(call: Call) -> None:
    """Cancel a run, and forget it."""
    call.server.labs.remove(call.person, call.path["id"])


ROWS: Final = (
    Row(
        "POST", "/lab/runs", WebRole.USER, "simulate a trial policy next to the present one", start, body=NewLabRun,
        reply=LabRun, status=202,
    ),
    Row("GET", "/lab/runs", WebRole.READER, "simulations, the last first", runs, reply=list[LabRun]),
    Row("GET", "/lab/runs/{id}", WebRole.READER, "a simulation: its progress and its result", run, reply=LabRun),
    Row("DELETE", "/lab/runs/{id}", WebRole.USER, "cancel a simulation, and forget it", remove, status=204),
)  # fmt: skip
