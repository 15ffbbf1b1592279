"""``roost explain slot NAME``: why a slot is in its state, and what would change it.

How it came there is its machine's record of the last transition, with the expression that decided then. What counts now
is asked of the machine itself: the ad is as fresh as its last look at its sensors, and its expressions are traced with
the places of its own configuration. What the matchmaker made of it is from the record of its last cycle.
"""

from __future__ import annotations

import argparse
import textwrap
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

from roost.classad import ClassAd
from roost.cli.pool import Pool, duration, print_json
from roost.cli.story import job_ad
from roost.cli.telling import clock, lines, of_record
from roost.cli.terminal import CommandError, Exit, say, width
from roost.policy.explain import Explanation, Origin, explain
from roost.policy.render import explanation_data, render_text
from roost.wire.ads import ad_from

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
#: Why the matchmaker gives a slot to nobody.
_OUT: Final = {
    "constraint": "takes no part in matching",
    "pool-policy": "is kept out by the pool's policy",
    "no-claim-offered": "is not on offer: given away just now, or not to be had",
    "claimed": "is in use, and nothing is preempted",
    "retirement-time": "is in use, and its job still has retirement time",
}
#: What became of requests.
_REQUESTS: Final = {
    "accepted": "would run here",
    "occupied": "would run here, if somebody had not the slot",
    "job-requirements": "do not want the slot",
    "slot-requirements": "are not wanted by the slot",
    "pool-policy-resource": "are forbidden here by NEGOTIATOR_PE_RESOURCE_EXPR",
    "pool-policy-job": "are forbidden here by NEGOTIATOR_PE_JOB_EXPR",
}


def wrapped(text: str, columns: int) -> list[str]:
    """A text in lines."""
    return textwrap.wrap(
        text, max(40, columns), subsequent_indent="    ", break_on_hyphens=False, break_long_words=False
    )


def explain_slot(pool: Pool, args: argparse.Namespace) -> int:
    """Carry out ``explain slot``."""
    data, fresh = _slot_ad(pool, args.name)
    name, machine = str(data["Name"]), str(data.get("Machine", ""))
    job = args.job or data.get("JobId")
    target = ad_from(job_ad(pool, str(job))) if job else None
    origins = _origins(pool, machine, name)
    slot = ad_from(data)
    pair = (str(data.get("State", "?")), str(data.get("Activity", "?")))
    names = ("START",) if args.job else _COUNT.get(pair, ())
    found = [_explained(slot, each, target, origins) for each in names if each in slot]
    last = _last(pool, machine, name)
    seen = _matchmaker(pool, name)
    if args.json:
        print_json(
            {
                "slot": name, "state": pair[0], "activity": pair[1], "job": job, "fresh": fresh,
                "last": last, "expressions": [explanation_data(each) for each in found], "matchmaker": seen,
            }
        )  # fmt: skip
        return Exit.OK
    since = float(data.get("EnteredCurrentActivity", time.time()))
    whose = f", for {data['RemoteOwner']}" if data.get("RemoteOwner") else ""
    on = f" with job {data['JobId']}" if data.get("JobId") else ""
    say(f"{name} is {pair[0]}/{pair[1]} for {duration(time.time() - since)}{whose}{on}.")
    if not fresh:
        say(f"{machine} does not answer; this is what it said last.")
    if data.get("SlotBrokenReason"):
        say(f"It is shut: {data['SlotBrokenReason']}; `roost reopen` opens it once that is mended.")
    if data.get("MachineProblem"):
        say(f"The machine takes no jobs: {data['MachineProblem']}.")
    if data.get("DrainReason"):
        say(f"It is drained: {data['DrainReason']}.")
    if fresh:
        for line in fetching(data, time.time()):
            say(line)
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
        _drawn(each)
    if seen is not None and pair[0] in ("Unclaimed", "Owner", "Matched", "Backfill", "Drained"):
        say("")
        for line in _seen(seen):
            say(line)
    return Exit.OK


def fetching(data: dict[str, Any], now: float) -> Iterator[str]:
    """What the ad of a slot, as fresh as can be, says of its hook that fetches work."""
    began, ended = data.get("LastFetchWorkSpawned"), data.get("LastFetchWorkCompleted")
    if not isinstance(began, int):
        return
    if not isinstance(ended, int) or ended < began:
        yield f"Its hook FETCH_WORK runs for {duration(now - began)} now; until it ends the slot fetches nothing else."
        return
    pause = data.get("NextFetchWorkDelay")
    again = f", and may again {pause} s after that" if isinstance(pause, int) else ""
    yield f"Its hook FETCH_WORK ended {duration(now - ended)} ago{again}."


def _drawn(each: Explanation) -> None:
    if each.text.lower() in ("true", "false"):
        place = f" [{each.origin}]" if each.origin else ""
        say(f"    {each.name} is {each.text.upper()}{place}, whatever happens.")
        return
    for line in render_text(each, width() - 4).rstrip("\n").split("\n"):
        say(f"    {line}".rstrip())


def _matchmaker(pool: Pool, name: str) -> dict[str, Any] | None:
    """What the matchmaker's last cycle made of the slot."""
    try:
        found: dict[str, Any] | None = pool.central("explain-slot", slot=name)
    except CommandError:
        return None
    return found


def _seen(seen: dict[str, Any]) -> Iterator[str]:
    at = clock(float(seen["at"]))
    knob = seen.get("knob")
    place = f" [{knob['place']}]" if knob and knob["place"] else ""
    if seen["given"]:
        each = seen["given"][0]
        yield f"The matchmaker gave it to job {each['job']} of {each['user']} at {at}."
    elif seen["out"]:
        by = f": {knob['name']} = {knob['text']}{place}" if knob and knob["text"] else ""
        if seen["out"] == "pool-policy" and not by:
            by = (
                " for an attribute of its ad that is called like a scope (MY, TARGET, …); "
                "`roost audit --kind discard` names it"
            )
        yield from wrapped(f"The matchmaker gives it to nobody (at {at}): it {_OUT[seen['out']]}{by}.", width())
    elif not seen["requests"]:
        yield f"No job asked for a slot when the matchmaker looked last, at {at}."
    else:
        yield f"Of the requests that the matchmaker looked at, at {at}:"
        for each in sorted(seen["requests"], key=lambda each: -int(each["count"])):
            yield f"  {each['count']:>4}  {_REQUESTS[each['cause']]}, as job {each['job']}"


def _origins(pool: Pool, machine: str, name: str) -> Mapping[str, Origin]:
    """Where the policy of a slot was set; nothing if its machine does not answer."""
    try:
        found: dict[str, dict[str, Any]] = pool.node(machine, "origins", slot=name)
    except CommandError:
        return {}
    return {attribute: Origin(**place) for attribute, place in found.items()}


def _explained(mine: ClassAd, name: str, other: ClassAd | None, origins: Mapping[str, Origin]) -> Explanation:
    origin = next((place for key, place in origins.items() if key.lower() == name.lower()), None)
    return explain(mine.lookup(name), mine, other, name=name, origins=origins, origin=origin)


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
