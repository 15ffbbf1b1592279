"""The page on the states of a slot, made from the table of transitions.

`page` gives the text of ``docs/concepts/slot-states.md``. A test compares it with the file; to write the file anew:

    python -m roost.startd.docs > docs/concepts/slot-states.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from roost.startd.states import PAIRS, Activity, Pair, State
from roost.startd.transitions import TRANSITIONS, Transition
from roost.tables.pages import diagram, table

_STATES: Final = {
    State.OWNER: "The machine's owner uses it, or it is not to run jobs for another reason. Every slot begins here.",
    State.UNCLAIMED: "It would run a job, but no queue has claimed it yet. Benchmarks are run from here.",
    State.MATCHED: "The negotiator has promised it to a queue that has not asked for it yet. Nobody else may have it.",
    State.CLAIMED: "A queue, or work that a hook fetched, holds it for one job after another.",
    State.PREEMPTING: "A claim is being ended: the job has been told to leave (Vacating) or is being killed (Killing).",
    State.BACKFILL: "It has nothing better to do than the machine's backfill work, and can be claimed at any time.",
    State.DRAINED: "It has been emptied to drain the machine. Retiring: other slots are not empty yet. Idle: all are.",
}

_CLAIMED: Final = {
    Activity.IDLE: "no job runs",
    Activity.BUSY: "a job runs",
    Activity.SUSPENDED: "the job stands still, and keeps its claim",
    Activity.RETIRING: "the job runs on, and the claim ends when it does or when its retirement is over",
    Activity.CLEANING: "the job has ended, and its starter is only waited for",
}

_INTRODUCTION: Final = """\
<!-- Made from the transition table: python -m roost.startd.docs > docs/concepts/slot-states.md -->

# The states of a slot

A slot is in one *state*, and within it in one *activity*; its ad says both (`State`, `Activity`), and since when
(`EnteredCurrentState`, `EnteredCurrentActivity`). Transitions have the numbers and letters that the manual of HTCondor
gives them, so what is written there about a number holds here.
"""

_EVALUATION: Final = """\
## When something happens

A slot changes only when an event comes: a poll (every `POLLING_INTERVAL` while something runs, else every
`UPDATE_INTERVAL`), a message, a command, a timer, news of a starter. After each change the policy is evaluated at
once if the slot entered an Idle activity (but not that of Backfill) or a Retiring one; so one event can lead
through several transitions. *follows* in the tables means that a row needs no poll: what it depends on is known to
the slot itself.

Within a state and activity the rows are tried from top to bottom, and the first whose conditions all hold is
taken. Three consequences are worth remembering:

* While `WANT_SUSPEND` is TRUE, a busy slot looks only at `SUSPEND`, never at `PREEMPT`, even if `SUSPEND` stays
  FALSE.
* A suspended slot looks at `PREEMPT` before `CONTINUE`.
* `SUSPEND` counts in Retiring too.

A slot is in Owner only while `IS_OWNER` is TRUE. Its default is `False`, as in current HTCondor; older manuals describe
`START =?= False`. A policy whose `START` keeps jobs away while the owner is there shows as Unclaimed unless it
says `IS_OWNER = (START =?= False)`, as `use POLICY : Desktop` and its like do. A claimed slot asks `IS_OWNER` with the
job of its claim: if that is TRUE while `START` accepts the job, the claim ends before the job begins (RST423).

Conditions that are neither TRUE nor FALSE (UNDEFINED, ERROR, text) make no transition happen, with these
exceptions: `IS_OWNER` counts as FALSE, `WANT_SUSPEND` as FALSE, and `WANT_VACATE` as TRUE. A claim that waits to
take over is refused only if `START` is FALSE for its job; a new claim and a new job need `START` to be TRUE. For a
vanilla job `SUSPEND_VANILLA` and its like go before the plain expressions where they are TRUE or FALSE, for a
virtual machine `SUSPEND_VM`.

## What no row says

* A dynamic slot that reaches Owner or Unclaimed is deleted, after the hook that fetches work for it has ended.
* `PREEMPT` turning TRUE in Claimed/Retiring changes nothing visible, and there is no way back to Busy from then
  on.
* A job that the holder of the claim ends (deactivation) is told to leave, and killed when its vacate time is over,
  while the slot stays Busy.
* In Preempting/Killing everything below the starter is killed again every `KILLING_TIMEOUT`, until the starter is
  gone.
* A poll in which no row is taken asks `PERIODIC_CHECKPOINT`, starts the backfill client, and fetches work.
* Results of benchmarks are the machine's: all slots are told them, whichever ran them.

## Claims and leases

A queue asks for a slot with the claim id that the slot's ad offers, and repeats the request after 5, 10 and then every
20 s until it has an answer. A machine recognises a repeated request in every state: it repeats an answer that was
lost, and says that a request still waits while the running job leaves, however long that takes. The slot then goes to
that request (23, 24), and the queue's job begins on it (11). A queue withdraws a request whose job was held or removed,
and every request after `REQUEST_CLAIM_TIMEOUT` (1800 s); if the running job is still Retiring, it then goes on (19).

The *lease* of a claim is how long it lasts without a sign of life from its queue: `JobLeaseDuration` of its job (2400 s
unless the job says otherwise), or `MAX_CLAIM_ALIVES_MISSED` times `ALIVE_INTERVAL` for a job without one. It begins
anew with the claim, with each job and with each sign of life. The queue sends a sign of life every `ALIVE_INTERVAL`,
and at least every third of the lease, but not more often than every 10 s; the interval of a claim falls when a job with
a shorter lease begins on it, and does not rise. While a job runs, the machine asks for a sign of life itself once half
of the lease has passed without one; so a lease of a few seconds lasts as long as the queue answers. The queue counts in
the same way: it takes a run for lost when the machine has been silent for the lease, and for three intervals at least.

## Draining

A drain empties the whole machine. *Graceful*: every job may stay until the one with the most retirement has to go;
*quick*: no job has retirement, each has its vacate time; *fast*: all are killed. A drain may have a **deadline**:
retirement and vacate time of every job are cut so that the hard kill falls on it at the latest. While a drain goes on
the cores of slots that are Unclaimed or Drained are counted in `TotalMachineDrainingUnclaimedTime`, those of jobs that
it killed, with all the time that they had run, in `TotalMachineDrainingBadput` (both core seconds).

## When the daemon dies

Each slot writes down what it knows before its orders are carried out: its claims with their ids and leases, the job
and its times, deadlines, why a claim is to end, a drain, latches. A daemon that is started again reads that, asks which
starters are still there, gives the last orders once more and goes on; a job whose starter lives does not notice. What
went with the daemon (benchmarks, the backfill client, a hook) is begun again when it is due. A record that does not fit
is not used: then the daemon begins anew, and its claims end by their leases.

## What there is not

* COD claims (jobs that suspend the claim's job for as long as they run): fetched work with a higher `RANK`, or a slot
  of their own whose claim suspends the others (`STARTD_SLOT_ATTRS`), serves the same purpose with the states above.
* A partitionable slot that is claimed itself.
* Lending what a suspended job holds: its claim keeps all of it. To use the cores of suspended jobs, advertise
  them twice and lets policy choose, see [slots](slots.md#accounts).
"""


def page() -> str:
    """The page in Markdown."""
    parts = [
        _INTRODUCTION,
        *_states(),
        "## How they follow each other\n",
        _diagram(),
        _EVALUATION,
        "## All transitions\n",
    ]
    parts += [_table(state) for state in State]
    return "\n".join(parts)


def _states() -> Iterator[str]:
    yield "| State | Activities | |\n|---|---|---|"
    rows = []
    for state in State:
        activities = ", ".join(pair.activity for pair in PAIRS if pair.state is state)
        rows.append(f"| {state} | {activities} | {_STATES[state]} |")
    yield "\n".join(rows) + "\n"
    claimed = "; ".join(f"**{activity}**: {meaning}" for activity, meaning in _CLAIMED.items())
    yield f"Within Claimed, {claimed}.\n"


def _diagram() -> str:
    states = []
    for state in State:
        states.append(f"    state {state} {{")
        states += [f"        {_name(pair)} : {pair.activity}" for pair in PAIRS if pair.state is state]
        states.append("    }")
    edges = (
        (_name(row.source), _name(row.target), f"{row.number} ({row.letter})" if row.letter else row.number)
        for row in TRANSITIONS
    )
    return "\n".join([*diagram(edges, start=("Owner_Idle",), states=states), ""])


def _name(pair: Pair) -> str:
    return f"{pair.state}_{pair.activity}"


def _table(state: State) -> str:
    rows = (_line(row) for row in TRANSITIONS if row.source.state is state)
    lines = table(("#", "", "From", "To", "When", "What is done"), rows)
    return "\n".join([f"### From {state}", "", *lines, ""])


def _line(row: Transition) -> tuple[object, ...]:
    when = " or ".join(row.on)
    if row.when:
        when += ": " + ", and ".join(row.when)
    done = "; ".join(row.entry) or "–"
    return row.number, row.letter, row.source, row.target, when, done


if __name__ == "__main__":
    print(page(), end="")
