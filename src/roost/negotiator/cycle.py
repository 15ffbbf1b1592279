"""One cycle of the matchmaker: a snapshot in, a plan out.

Submitters take turns by their priority; each gets slots for its requests in its own order, the best first. A slot is
given once. What is rejected is counted by cause.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from roost.classad import FixedWorld
from roost.negotiator.snapshot import Match, Plan, Rejection, Request, Snapshot, SubmitterDemand


def negotiate(snapshot: Snapshot) -> Plan:
    """What the pool's idle jobs get."""
    return _Cycle(snapshot).run()


@dataclass(slots=True)
class _Cycle:
    snapshot: Snapshot
    matches: list[Match] = field(default_factory=list)
    rejected: dict[tuple[str, int], Rejection] = field(default_factory=dict)
    free: np.ndarray = field(init=False)
    names: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.names = [str(key) for key in self.snapshot.slots.keys()]  # noqa: SIM118
        self.free = np.array([name in self.snapshot.claims for name in self.names], bool)

    def run(self) -> Plan:
        for demand in sorted(self.snapshot.demands, key=lambda each: (each.submitter, each.schedd)):
            for request in demand.requests:
                self._serve(demand, request)
        record = {"slots": len(self.names), "matches": len(self.matches), "rejected": len(self.rejected)}
        return Plan(matches=tuple(self.matches), rejected=self.rejected, record=record)

    def _serve(self, demand: SubmitterDemand, request: Request) -> None:
        snapshot = self.snapshot
        world = FixedWorld(instant=snapshot.now)
        fits = snapshot.slots.match(request.ad, world)
        mask = fits & self.free
        rows = np.flatnonzero(mask)
        if len(rows):
            ranks = snapshot.slots.rank(request.ad, world)[rows]
            rows = rows[np.argsort(-ranks, kind="stable")]
        for row in rows[: request.count].tolist():
            self._give(demand, request, row)
        if len(rows) < request.count:
            text = "no match found"
            causes = {"requirements": int((~fits).sum()), "taken": int((fits & ~self.free).sum())}
            self.rejected[demand.schedd, request.autocluster] = Rejection(text=text, causes=causes)

    def _give(self, demand: SubmitterDemand, request: Request, row: int) -> None:
        self.free[row] = False
        name = self.names[row]
        self.matches.append(
            Match(
                schedd=demand.schedd,
                submitter=demand.submitter,
                autocluster=request.autocluster,
                job=request.job,
                slot=name,
                node=self.snapshot.nodes[name],
                claim_id=self.snapshot.claims[name],
            )
        )
