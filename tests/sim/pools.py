"""Small pools to simulate."""

from __future__ import annotations

from typing import Any

from roost.config import MemoryHost
from roost.sim.chance import stream
from roost.sim.inputs.owners import diurnal
from roost.sim.inputs.workload import generated
from roost.sim.machine.pattern import Hardware, load_config, make_pattern
from roost.sim.world import BEGINNING, Plan

DESKTOP = "use POLICY : Desktop\n"


def pool(
    text: str = DESKTOP,
    *,
    machines: int = 3,
    days: float = 1.0,
    jobs: int = 24,
    seed: int = 1,
    mix: str = "desktop",
    hardware: Hardware = Hardware(),  # noqa: B008
    accounts: bool = False,
    **settings: Any,
) -> Plan:
    """A pool of equal machines with diurnal owners."""
    config = load_config(MemoryHost(files={"/pool.config": text}), ["/pool.config"], hardware, "m")
    pattern = make_pattern(config, hardware, accounts=accounts)
    settings.setdefault("negotiator", pattern.negotiator)
    settings.setdefault("defrag", pattern.defrag)
    settings.setdefault("queue", pattern.queue)
    return Plan(
        machines=tuple(
            pattern.machine(
                f"m{index}",
                diurnal(stream(seed, "owner", index), BEGINNING, days),
                started_at=BEGINNING,
                phase_s=stream(seed, "phase", index).randrange(300),
            )
            for index in range(machines)
        ),
        jobs=tuple(generated(stream(seed, "jobs"), mix, jobs, BEGINNING, days)),
        days=days,
        seed=seed,
        **settings,
    )
