"""``roost explain job ID`` and ``roost explain slot NAME``: why a job waits, why a slot is in the state it is in.

A job's and each slot's Requirements are evaluated as the matchmaker would; slots are counted by the clause that rejects
them. The nearest miss is the slot that the fewest changes would make fit. What is shown of a slot is asked of its
machine, and so is as fresh as its last look at its sensors.

What it does not do: say what the matchmaker will do next. Priorities, quotas and limits are in its own word on the job.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from roost.classad import ClassAd
from roost.classad.ops import truth
from roost.cli.pool import Pool, Refused, add_pool_options, counted, duration, print_json, with_pool
from roost.cli.story import job_ad
from roost.cli.telling import clock, lines, of_record
from roost.cli.terminal import CommandError, Exit, say, width
from roost.policy.explain import Explanation, Origin, explain
from roost.policy.explain.configured import configured_machine
from roost.policy.render import explanation_data, render_text
from roost.policy.render.words import change_text, one_line, reasons
from roost.wire.ads import ad_from

#: Slots that are looked at, and rejections that are taken apart; of more only the number is told.
SLOTS_MAX: Final = 10_000
REJECTIONS_MAX: Final = 1500
_STATUS: Final = {2: "runs", 6: "runs (its output is under way)", 7: "is suspended"}
#: Expressions that count in a state and activity, in the order in which they are asked.
_COUNT: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("Owner", "Idle"): ("START",),
    ("Unclaimed", "Idle"): ("START",),
    ("Claimed", "Idle"): ("START", "PREEMPT"),
    ("Claimed", "Busy"): ("SUSPEND", "PREEMPT"),
    ("Claimed", "Suspended"): ("CONTINUE", "PREEMPT"),
    ("Claimed", "Retiring"): ("MaxJobRetirementTime",),
    ("Preempting", "Vacating"): ("KILL",),
}


def add_parsers(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare ``explain job`` and ``explain slot``."""
    job = commands.add_parser("job", help="why a job waits, or is held", description="Why a job waits, or is held.")
    job.add_argument("name", metavar="ID", help="the job, as in 12.0")
    slot = commands.add_parser(
        "slot", help="why a slot is in its state", description="Why a slot is in its state, and what would change it."
    )
    slot.add_argument("name", metavar="NAME", help="slot1@host, or slot1 on this machine")
    slot.add_argument("--job", metavar="ID", help="as for this job, and not for the one that it runs")
    for each in (job, slot):
        add_pool_options(each)


def run(args: argparse.Namespace) -> int:
    """Carry out either."""
    if args.explain_command == "slot":
        return with_pool(args, lambda pool: _slot(pool, args))
    return with_pool(args, lambda pool: _job(pool, args))


def tell_job(pool: Pool, name: str) -> int:
    """Print why a job waits, or what it does; the exit status that this has."""
    return _job(pool, argparse.Namespace(name=name, json=False))


# -- jobs --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Group:
    """Slots that are out of the question for the same reason."""

    #: "job" or "slot": whose Requirements.
    side: str
    clause: str
    slots: list[str] = field(default_factory=list)
    #: Of the first of them.
    because: str = ""

    def data(self) -> dict[str, Any]:
        return {
            "side": self.side, "clause": self.clause, "count": len(self.slots), "because": self.because,
            "slots": self.slots[:20],
        }  # fmt: skip


@dataclass(slots=True)
class _Verdict:
    """What a pool has for a job."""

    total: int = 0
    fits: list[str] = field(default_factory=list)
    #: Fits, and is in use: what it does to names.
    taken: dict[str, list[str]] = field(default_factory=dict)
    groups: dict[tuple[str, str], _Group] = field(default_factory=dict)
    #: Name, and what would have to be different, of the slot that lacks least.
    nearest: tuple[str, list[str]] | None = None
    beyond: int = 0


def _job(pool: Pool, args: argparse.Namespace) -> int:
    data = job_ad(pool, args.name)
    status = data.get("JobStatus")
    if status != 1:
        return _not_idle(data, args)
    ad = ad_from(data)
    verdict = _verdict(pool, ad)
    word = _matchmaker(pool, args.name)
    if args.json:
        print_json({"job": args.name, "status": "idle", **_verdict_data(verdict), "matchmaker": word})
        return Exit.OK if verdict.fits else Exit.NO
    since = time.time() - float(data.get("EnteredCurrentStatus", time.time()))
    say(f"Job {args.name} of {data.get('Owner', '?')} waits for a slot, for {duration(since)} now.")
    if data.get("LastVacateReason") or data.get("VacateReason"):
        say(f"It was on a machine before: {data.get('LastVacateReason') or data.get('VacateReason')}.")
    say("")
    _show(verdict)
    if word:
        say("")
        say(f"The matchmaker's last word on it: {word}.")
    return Exit.OK if verdict.fits else Exit.NO


def _not_idle(data: dict[str, Any], args: argparse.Namespace) -> int:
    status = data.get("JobStatus")
    since = float(data.get("EnteredCurrentStatus") or data.get("CompletionDate") or 0)
    if args.json:
        keys = ("JobStatus", "HoldReason", "HoldReasonCode", "HoldReasonSubCode", "RemoteHost", "RemoveReason",
                "ExitCode", "ExitSignal", "EnteredCurrentStatus")  # fmt: skip
        print_json({"job": args.name, **{key: data[key] for key in keys if key in data}})
    elif status == 5:
        code = f"code {data.get('HoldReasonCode', 0)}, subcode {data.get('HoldReasonSubCode', 0)}"
        say(f"Job {args.name} is on hold since {clock(since)} ({code}):")
        say(f"    {data.get('HoldReason', 'no reason is known')}")
        say(f"`roost release {args.name}` lets it wait again, once the reason is gone.")
    elif status in _STATUS:
        say(f"Job {args.name} {_STATUS[status]} on {data.get('RemoteHost', 'a machine')} since {clock(since)}.")
        say(f"`roost explain slot {data.get('RemoteHost', 'NAME')}` says what may happen to it there.")
    elif status == 3:
        say(f"Job {args.name} was removed at {clock(since)}: {data.get('RemoveReason', '')}")
    else:
        end = f"signal {data.get('ExitSignal')}" if data.get("ExitBySignal") else f"status {data.get('ExitCode', '?')}"
        say(f"Job {args.name} ended with {end} at {clock(since)}. `roost story job {args.name}` tells how.")
    return Exit.OK if status in _STATUS or status == 4 else Exit.NO


def _matchmaker(pool: Pool, name: str) -> str:
    """What the matchmaker said when it last had nothing for the job; "" if nothing."""
    try:
        number = pool.schedd("autocluster", job=name).get("autocluster")
        found = pool.central("cycle").get("rejections", {}).get(f"{pool.contact['schedd']} {number}")
    except Refused:
        return ""
    return str(found.get("text", "")) if isinstance(found, dict) else ""


def _verdict(pool: Pool, job: ClassAd) -> _Verdict:
    verdict = _Verdict()
    origins = _origins(pool)
    here = pool.contact.get("node")
    fewest: int | None = None
    rejections = 0
    for data in pool.central("ads", kind="Machine", limit=SLOTS_MAX):
        slot = ad_from(data)
        name = str(data.get("Name", "?"))
        verdict.total += 1
        found = [
            (side, mine, other)
            for side, mine, other in (("job", job, slot), ("slot", slot, job))
            if not _met(mine, other)
        ]
        if not found:
            _fitting(verdict, name, data)
            continue
        rejections += 1
        if rejections > REJECTIONS_MAX:
            verdict.beyond += 1
            continue
        whys = [
            (
                side,
                _explained(
                    mine, "Requirements", other, origins if side == "slot" and data.get("Machine") == here else {}
                ),
            )
            for side, mine, other in found
        ]
        for side, why in whys:
            _count(verdict, side, why, name)
        changes = [change_text(change) for _, why in whys for change in why.changes]
        if all(why.changes for _, why in whys) and (fewest is None or len(changes) < fewest):
            fewest, verdict.nearest = len(changes), (name, changes)
    return verdict


def _met(mine: ClassAd, other: ClassAd) -> bool:
    # An ad without Requirements wants nothing.
    return "Requirements" not in mine or truth(mine.eval("Requirements", other)) is True


def _fitting(verdict: _Verdict, name: str, data: dict[str, Any]) -> None:
    state, activity = data.get("State"), data.get("Activity")
    if state in ("Unclaimed", "Backfill"):
        verdict.fits.append(name)
        return
    user = f" by {data['RemoteOwner']}" if data.get("RemoteOwner") else ""
    verdict.taken.setdefault(f"{state}/{activity}{user}", []).append(name)


def _explained(mine: ClassAd, name: str, other: ClassAd | None, origins: Mapping[str, Origin]) -> Explanation:
    origin = next((place for key, place in origins.items() if key.lower() == name.lower()), None)
    return explain(mine.lookup(name), mine, other, name=name, origins=origins, origin=origin)


def _count(verdict: _Verdict, side: str, why: Explanation, name: str) -> None:
    clause = " and ".join(one_line(each.text) for each in why.clauses[:4]) or one_line(why.text)
    group = verdict.groups.setdefault((side, clause), _Group(side, clause))
    if not group.slots:
        group.because = "; ".join(", ".join(reasons(each)) for each in why.clauses[:4] if reasons(each))
        place = next((step.origin for each in why.clauses for step in reversed(each.path) if step.origin), None)
        if place:
            group.because += f" [{place}]"
    group.slots.append(name)


def _verdict_data(verdict: _Verdict) -> dict[str, Any]:
    nearest = verdict.nearest
    return {
        "slots": verdict.total,
        "fits": verdict.fits[:20],
        "taken": {what: len(names) for what, names in verdict.taken.items()},
        "rejected": [group.data() for group in _sorted(verdict)],
        "not_looked_into": verdict.beyond,
        "nearest": None if nearest is None else {"slot": nearest[0], "changes": nearest[1]},
    }


def _sorted(verdict: _Verdict) -> list[_Group]:
    return sorted(verdict.groups.values(), key=lambda group: -len(group.slots))


def _show(verdict: _Verdict) -> None:
    if not verdict.total:
        say("There is no slot in the pool: `roost status` shows the machines.")
        return
    first = "the first " if verdict.total >= SLOTS_MAX else ""
    say(f"Of {first}{counted(verdict.total, 'slot')}:")
    wide = len(str(verdict.total))
    if verdict.fits:
        say(f"  {len(verdict.fits):>{wide}}  would run it now, as {verdict.fits[0]}")
    for what, names in sorted(verdict.taken.items()):
        say(f"  {len(names):>{wide}}  would run it, but {'are' if len(names) > 1 else 'is'} {what}, as {names[0]}")
    for group in _sorted(verdict):
        one = len(group.slots) == 1
        whose = f"{'does' if one else 'do'} not want the job" if group.side == "slot" else "the job does not want"
        say(f"  {len(group.slots):>{wide}}  {whose}: {group.clause}")
        if group.because:
            say(f"  {'':{wide}}      {group.slots[0]}: {group.because}")
    if verdict.beyond:
        say(f"  {verdict.beyond:>{wide}}  do not fit either, and were not looked into")
    if verdict.nearest and not verdict.fits:
        name, changes = verdict.nearest
        say("")
        say(f"Nearest is {name}. It would fit if {' and '.join(changes)}.")


# -- slots -------------------------------------------------------------------------------------------------------


def _slot(pool: Pool, args: argparse.Namespace) -> int:
    data, fresh = _slot_ad(pool, args.name)
    name, machine = str(data["Name"]), str(data.get("Machine", ""))
    job = args.job or data.get("JobId")
    target = ad_from(job_ad(pool, str(job))) if job else None
    origins = _origins(pool) if machine == pool.contact.get("node") else {}
    slot = ad_from(data)
    pair = (str(data.get("State", "?")), str(data.get("Activity", "?")))
    names = ("START",) if args.job else _COUNT.get(pair, ())
    found = [_explained(slot, each, target, origins) for each in names if each in slot]
    last = _last(pool, machine, name)
    if args.json:
        print_json(
            {
                "slot": name, "state": pair[0], "activity": pair[1], "job": job, "fresh": fresh,
                "last": last, "expressions": [explanation_data(each) for each in found],
            }
        )  # fmt: skip
        return Exit.OK
    since = float(data.get("EnteredCurrentActivity", time.time()))
    whose = f", for {data['RemoteOwner']}" if data.get("RemoteOwner") else ""
    on = f" with job {data['JobId']}" if data.get("JobId") else ""
    say(f"{name} is {pair[0]}/{pair[1]} for {duration(time.time() - since)}{whose}{on}.")
    if not fresh:
        say(f"{machine} does not answer; this is what it said last.")
    if data.get("MachineProblem"):
        say(f"The machine takes no jobs: {data['MachineProblem']}.")
    if data.get("DrainReason"):
        say(f"It is drained: {data['DrainReason']}.")
    told = None if last is None else of_record(last)
    if told is not None:
        say("")
        say("How it came there:")
        for line in lines(told, wide=0):
            say(f"    {line}")
    say("")
    say("What counts now:" if found else "Nothing that a policy says counts in this state.")
    for each in found:
        say("")
        say("\n".join(f"    {line}".rstrip() for line in render_text(each, width() - 4).rstrip("\n").split("\n")))
    return Exit.OK


def _slot_ad(pool: Pool, name: str) -> tuple[dict[str, Any], bool]:
    """The ad of a slot, and whether its machine gave it itself. Raises CommandError."""
    machine = name.rpartition("@")[2] if "@" in name else str(pool.contact["node"])
    full = name if "@" in name else f"{name}@{machine}"
    fresh, rows = True, []
    try:
        rows = pool.node(machine, "ads")
    except CommandError:
        fresh, rows = False, pool.central("ads", kind="Machine")
    for row in rows:
        if str(row.get("Name", "")).lower() == full.lower():
            return row, fresh
    raise CommandError(f"there is no slot {full}: `roost status` lists them")


def _last(pool: Pool, machine: str, name: str) -> dict[str, Any] | None:
    try:
        records = pool.node(machine, "story", slot=name, limit=8)
    except CommandError:
        return None
    told = [record for record in records if of_record(record) is not None]
    return told[-1] if told else None


def _origins(pool: Pool) -> Mapping[str, Origin]:
    """Where the policy of this machine was set."""
    roots = pool.contact.get("roots")
    config = pool.home.config(tuple(roots) if roots else None, "STARTD")
    try:
        return configured_machine(config).origins
    except ValueError:
        return {}
