"""``roost explain slot NAME``: why a slot is in its state, and what would change it.

`roost.runtime.asking.slot` collects the daemons' data, `roost.explain.slot` computes the answer, and this module prints
it.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterator
from typing import Final

from roost.cli.happenings import clock, lines
from roost.cli.listing import duration, print_json
from roost.cli.pool_connection import Pool
from roost.cli.terminal import Exit, say, width
from roost.explain.slot import Fetching, SlotAnswer, explain_slot
from roost.model.cycle_answers import SlotInCycle
from roost.policy.explain import Explanation
from roost.policy.render import render_text
from roost.runtime.asking.slot import slot_question

#: Why the negotiator does not offer a slot to any job.
_OUT: Final = {
    "constraint": "takes no part in matchmaking",
    "pool-policy": "is excluded by the pool's policy",
    "no-claim-offered": "is not offered: just assigned to a job, or closed",
    "claimed": "is in use, and nothing is preempted",
    "retirement-time": "is in use, and its job has retirement time left",
}
#: Results of requests.
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
    answer = explain_slot(slot_question(pool, args.name, args.job))
    if args.json:
        print_json(answer.data())
    else:
        show(answer)
    return Exit.OK


# -- showing -----------------------------------------------------------------------------------------------------


def show(answer: SlotAnswer) -> None:
    """Print an answer."""
    whose = f", claimed by {answer.user}" if answer.user else ""
    on = f", with {answer.runs}" if answer.runs else ""
    say(f"{answer.name} has been {answer.state}/{answer.activity} for {duration(answer.for_s)}{whose}{on}.")
    if not answer.fresh:
        say(f"{answer.machine} does not answer; this is based on its last ad in the pool.")
    if answer.evicting:
        say(f"Its starter is evicting the job under the starter's own policy, and is {answer.evicting.lower()} it.")
    if answer.leaving:
        say(f"It accepts no further jobs and is deleted once it is free: {answer.leaving}.")
    if answer.broken:
        say(f"It is closed: {answer.broken}. After fixing the cause, reopen it with `roost reopen {answer.name}`.")
    if answer.problem:
        say(f"The machine accepts no jobs: {answer.problem}.")
    if answer.suspension:
        text = f"The cell suspends its job, whatever CONTINUE says: {answer.suspension}."
        say(textwrap.fill(text, width()))
    if answer.drained:
        say(f"It is draining: {answer.drained}.")
    if answer.fetching is not None:
        say(fetching_text(answer.fetching))
    if answer.came is not None:
        say("")
        say("How it got there:")
        for line in lines(answer.came, wide=0):
            say(f"    {line}")
    say("")
    say("What applies now:" if answer.expressions else "No policy expression applies in this state.")
    for each in answer.expressions:
        say("")
        _drawn(each)
    if answer.seen is not None and answer.on_offer:
        say("")
        for line in _seen(answer.seen):
            say(line)


def fetching_text(hook: Fetching) -> str:
    """The state of the slot's FETCH_WORK hook."""
    problem = hook.problem.rstrip(".") if hook.problem else ""
    if hook.runs_s is not None:
        since = duration(hook.runs_s)
        before = f" The previous call brought no job: {problem}." if problem else ""
        runs = f"Its hook FETCH_WORK has been running for {since}; the slot fetches no other work until the hook ends."
        return runs + before
    ended = f"Its hook FETCH_WORK ended {duration(hook.ended_s or 0)} ago"
    nothing = f" It brought no job: {problem}." if problem else ""
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
        yield f"The negotiator assigned it to job {seen.given[0].job} of {seen.given[0].user} at {at}."
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
    """A text wrapped into lines."""
    return textwrap.wrap(
        text, max(40, columns), subsequent_indent="    ", break_on_hyphens=False, break_long_words=False
    )
