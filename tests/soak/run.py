"""The soak itself: submit, break, wait for an answer, and so on; then let all end, and compare."""

from __future__ import annotations

import argparse
import json
import random
import time
from pathlib import Path
from typing import Final

from tests.integration.kit import eventually
from tests.soak.faults import Faults
from tests.soak.machines import Site, site
from tests.soak.verify import Verdict, sound_databases, verify
from tests.soak.work import Work

#: Most jobs in the queue; beyond that a round submits nothing.
_QUEUED_MAX: Final = 80
#: How long the last jobs may take, s.
_DRAIN_S: Final = 600.0
_USER: Final = "nobody"


def soak(options: argparse.Namespace) -> int:
    """Run it, and print what came of it; the exit status."""
    began = time.monotonic()
    chance = random.Random(options.seed)
    place = Path(options.place)
    with site(place / "site", options.machines, _USER) as made:
        work = Work(place / "work", made.central, chance, _USER)
        faults = Faults(made, work, chance, frozenset(filter(None, options.only.split(","))))
        _rounds(options, work, faults)
        false_holds = _drain(work)
        verdict = verify(made, work, faults)
        verdict.wrong[:0] = false_holds
        verdict.wrong += _down(made)
    _report(options, faults, verdict, time.monotonic() - began)
    return 1 if verdict.wrong else 0


def _rounds(options: argparse.Namespace, work: Work, faults: Faults) -> None:
    for number in range(options.rounds):
        _submit(options, work, number)
        time.sleep(faults.chance.uniform(0.0, 1.5))
        work.meddle()
        began = time.monotonic()
        what = faults.inject()
        work.answering()
        print(f"round {number + 1}: {what} ({time.monotonic() - began:.1f} s), {len(work.jobs)} jobs", flush=True)


def _submit(options: argparse.Namespace, work: Work, number: int) -> None:
    """Submit what is due by this round, once the queue is short enough."""
    eventually(lambda: len(work.waiting()) < _QUEUED_MAX, "a shorter queue", within_s=_DRAIN_S)
    due = (number + 1) * options.jobs // options.rounds - len(work.jobs)
    if due > 0:
        work.submit(due)
    for _ in range((number + 1) * options.dags // options.rounds - len(work.dags)):
        work.submit_dag()


def _drain(work: Work) -> list[str]:
    """Let all jobs end; those that are on hold though nobody held them."""
    for cluster in work.held:
        work.release(cluster)
    false: dict[str, str] = {}

    def ended() -> bool:
        rows = work.waiting()
        for ad in rows:
            if ad["JobStatus"] == 5:
                job = f"{ad['ClusterId']}.{ad['ProcId']}"
                if not work.may_be_held(ad):
                    false[job] = f"job {job} ({ad.get('SoakJob')}) is held: {ad.get('HoldReason')}"
                work.central.try_("release", job)
        if rows:
            time.sleep(0.5)
        return not rows

    def left() -> str:
        return json.dumps(
            [{key: ad.get(key) for key in ("ClusterId", "SoakJob", "JobStatus")} for ad in work.waiting()]
        )

    eventually(ended, left, within_s=_DRAIN_S)
    return list(false.values())


def _down(made: Site) -> list[str]:
    wrong = []
    for machine in reversed(made.all):
        done = machine.try_("down")
        if done.returncode:
            wrong.append(f"down on {machine.name}: {done.stdout}{done.stderr}")
        left = machine.processes()
        if left:
            wrong.append(f"processes of {machine.name} after its end: {left}")
    return wrong + list(sound_databases(made))


def _report(options: argparse.Namespace, faults: Faults, verdict: Verdict, seconds: float) -> None:
    figures = {"seed": options.seed, "rounds": options.rounds, "seconds": round(seconds), **verdict.figures}
    figures["faults"] = dict(sorted(faults.done.items()))
    print(json.dumps(figures, indent=2))
    for line in verdict.wrong:
        print(f"WRONG: {line}")
    print(
        f"{len(verdict.wrong)} things are wrong" if verdict.wrong else "nothing lost, crossed, doubled or falsely ended"
    )
