"""``roost explain slot NAME``: why a slot is in its state, and what would change it.

This module asks the daemons and prints; the answer is `roost.explain.slot`'s. The ad is asked of the machine itself: it
is as fresh as its last look at its sensors.
"""

from __future__ import annotations

import argparse
import textwrap
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

from roost.cli.happenings import clock, lines
from roost.cli.pool import Pool, duration, print_json
from roost.cli.story import job_ad
from roost.cli.terminal import CommandError, Exit, say, width
from roost.explain.slot import Fetching, SlotAnswer, SlotQuestion, explain_slot
from roost.model.cycle_answers import SlotInCycle
from roost.model.slot_transition import SlotTransition
from roost.policy.explain import Explanation, Origin
from roost.policy.render import render_text
from roost.wire.ads import ad_from
from roost.wire.requests import central
from roost.wire.requests import machine as requests

#: How long a machine may take to answer before the pool's record of it is shown instead, s.
_ANSWER_S: Final = 4.0
#: Records of transitions that are asked for, to find the last one that says something.
_RECORDS: Final = 8
#: Why the negotiator offers a slot to no job.
_OUT: Final = {
    "constraint": "takes no part in matchmaking",
    "pool-policy": "is kept out by the pool's policy",
    "no-claim-offered": "is not offered: just given to a job, or closed",
    "claimed": "is in use, and nothing is preempted",
    "retirement-time": "is in use, and its job has retirement time left",
}
#: What became of requests.
_REQUESTS: Final = {
    "accepted": "would run here",
    "occupied": "would run here, but the slot is in use",
    "job-requirements": "reject the slot",
    "slot-requirements": "are rejected by the slot",
    "pool-policy-resource": "are forbidden here by NEGOTIATOR_PE_RESOURCE_EXPR",
    "pool-policy-job": "are forbidden here by NEGOTIATOR_PE_JOB_EXPR",
}


def run(pool: Pool, args: argparse.Namespace) -> int:
    """Carry out ``explain slot``."""
    answer = explain_slot(ask(pool, args.name, args.job))
    if args.json:
        print_json(answer.data())
    else:
        show(answer)
    return Exit.OK


# -- asking ------------------------------------------------------------------------------------------------------


def ask(pool: Pool, slot: str, for_job: str | None) -> SlotQuestion:
    """What the daemons know of a slot. Raises CommandError."""
    data, fresh = _slot_ad(pool, slot)
    name, machine = str(data["Name"]), str(data.get("Machine", ""))
    job = for_job or data.get("JobId")
    target = None
    try:
        if job:
            job, found = job_ad(pool, str(job))
            target = ad_from(found)
    except CommandError:
        # The job that a slot runs may be one of another pool's queue.
        if for_job:
            raise
    return SlotQuestion(
        ad=ad_from(data),
        fresh=fresh,
        job=None if job is None else str(job),
        target=target,
        as_for_job=for_job is not None,
        origins=_origins(pool, machine, name) if fresh else {},
        records=_records(pool, machine, name) if fresh else (),
        seen=_matchmaker(pool, name),
        now=time.time(),
    )


def _slot_ad(pool: Pool, name: str) -> tuple[dict[str, Any], bool]:
    """The ad of a slot, and whether its machine gave it itself. Raises CommandError."""
    machine = name.rpartition("@")[2] if "@" in name else str(pool.contact["node"])
    full = name if "@" in name else f"{name}@{machine}"
    fresh, rows = True, []
    try:
        rows = pool.ask(requests.Ads(), machine=machine, within_s=_ANSWER_S)
    except CommandError:
        fresh, rows = False, pool.ask(central.Ads(kind="Machine"))
    for row in rows:
        if str(row.get("Name", "")).lower() == full.lower():
            return row, fresh
    raise CommandError(f"there is no slot {full}: `roost status` lists them")


def _matchmaker(pool: Pool, name: str) -> SlotInCycle | None:
    """What the matchmaker's last cycle made of the slot."""
    try:
        return pool.ask(central.ExplainSlot(slot=name))
    except CommandError:
        return None


def _origins(pool: Pool, machine: str, name: str) -> Mapping[str, Origin]:
    """Where the policy of a slot was set; nothing if its machine does not answer."""
    try:
        found = pool.ask(requests.Origins(slot=name), machine=machine)
    except CommandError:
        return {}
    return {attribute: Origin(file=each.file, line=each.line, via=each.via) for attribute, each in found.items()}


def _records(pool: Pool, machine: str, name: str) -> list[SlotTransition]:
    try:
        return pool.ask(requests.Story(slot=name, limit=_RECORDS), machine=machine)
    except CommandError:
        return []


# -- showing -----------------------------------------------------------------------------------------------------


def show(answer: SlotAnswer) -> None:
    """Print an answer."""
    whose = f", claimed by {answer.user}" if answer.user else ""
    on = f", with {answer.runs}" if answer.runs else ""
    say(f"{answer.name} has been {answer.state}/{answer.activity} for {duration(answer.for_s)}{whose}{on}.")
    if not answer.fresh:
        say(f"{answer.machine} does not answer; this is the last ad that the pool has of it.")
    if answer.evicting:
        say(f"Its starter is evicting the job by its own policy, and is {answer.evicting.lower()} it.")
    if answer.leaving:
        say(f"It takes no further job and vanishes once it is free: {answer.leaving}.")
    if answer.broken:
        say(f"It is closed: {answer.broken}. Once that is repaired, `roost reopen {answer.name}` opens it.")
    if answer.problem:
        say(f"The machine takes no jobs: {answer.problem}.")
    if answer.suspension:
        text = f"The cell suspends its job, whatever CONTINUE says: {answer.suspension}."
        say(textwrap.fill(text, width()))
    if answer.drained:
        say(f"It is drained: {answer.drained}.")
    if answer.fetching is not None:
        say(fetching_text(answer.fetching))
    if answer.came is not None:
        say("")
        say("How it came there:")
        for line in lines(answer.came, wide=0):
            say(f"    {line}")
    say("")
    say("What counts now:" if answer.expressions else "No expression of the policy counts in this state.")
    for each in answer.expressions:
        say("")
        _drawn(each)
    if answer.seen is not None and answer.on_offer:
        say("")
        for line in _seen(answer.seen):
            say(line)


def fetching_text(hook: Fetching) -> str:
    """What the slot's FETCH_WORK hook does."""
    problem = hook.problem.rstrip(".") if hook.problem else ""
    if hook.runs_s is not None:
        since = duration(hook.runs_s)
        before = f" Nothing came of the call before: {problem}." if problem else ""
        runs = f"Its hook FETCH_WORK has been running for {since}; until it ends the slot fetches no other work."
        return runs + before
    ended = f"Its hook FETCH_WORK ended {duration(hook.ended_s or 0)} ago"
    nothing = f" Nothing came of it: {problem}." if problem else ""
    if hook.paused_s:
        jobs = "fetched job" if hook.failures == 1 else f"{hook.failures} fetched jobs"
        pause = f"it does not run again for {duration(hook.paused_s)}"
        return f"{ended}. The last {jobs} could not be started: {pause}.{nothing}"
    again = "" if hook.pause_s is None else f", and runs again {hook.pause_s} s after that at the earliest"
    return f"{ended}{again}.{nothing}"


def _drawn(each: Explanation) -> None:
    if each.text.lower() in ("true", "false"):
        place = f" [{each.origin}]" if each.origin else ""
        say(f"    {each.name} is {each.text.upper()}{place}, whatever happens.")
        return
    for line in render_text(each, width() - 4).rstrip("\n").split("\n"):
        say(f"    {line}".rstrip())


def _seen(seen: SlotInCycle) -> Iterator[str]:
    at, knob = clock(seen.at), seen.knob
    place = f" [{knob.place}]" if knob and knob.place else ""
    if seen.given:
        yield f"The negotiator gave it to job {seen.given[0].job} of {seen.given[0].user} at {at}."
    elif seen.out:
        by = f": {knob.name} = {knob.text}{place}" if knob and knob.text else ""
        if seen.out == "pool-policy" and not by:
            by = (
                " because an attribute of its ad has the name of a scope (MY, TARGET, …); "
                "`roost audit --kind discard` names it"
            )
        yield from wrapped(f"The last matchmaking cycle, at {at}, did not offer it: it {_OUT[seen.out]}{by}.", width())
    elif not seen.requests:
        yield f"No job was waiting in the last matchmaking cycle, at {at}."
    else:
        yield f"Of the requests in the last matchmaking cycle, at {at}:"
        for each in sorted(seen.requests, key=lambda each: -each.count):
            yield f"  {each.count:>4}  {_REQUESTS[each.cause]}, such as job {each.job}"


def wrapped(text: str, columns: int) -> list[str]:
    """A text in lines."""
    return textwrap.wrap(
        text, max(40, columns), subsequent_indent="    ", break_on_hyphens=False, break_long_words=False
    )
