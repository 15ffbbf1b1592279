"""Every state of a starter × every event: what the table lists happens, anything else changes nothing.

The grid below has one block a pair: the events that mean something there, the rows they take in order (``-`` for none),
and where that leads. What is not listed is ignored, or raises where nothing was ordered yet that it could be the result
of. Rows that an expression or a limit decides are listed apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import pytest

from roost.model.starter import ScriptPoint
from roost.model.starter_events import (
    JobNotStarted,
    Reconfigured,
    ScriptEnded,
    StarterEvent,
    StarterTimerFired,
    SuspendOrdered,
)
from roost.starter import states as at
from roost.starter.machine import ImpossibleEvent, Outcome, step
from roost.starter.receptions import RECEPTIONS
from roost.starter.states import PAIRS, Pair
from roost.starter.transitions import ROWS, TRANSITIONS, Entry, Guard, On
from tests.starter.kit import START, Hand
from tests.starter.situations import (
    ENDED,
    EVENTS,
    HARD,
    NOT_STARTED,
    PREPARATION,
    SITUATIONS,
    SOFT,
    after,
    every,
    full,
    full_policy,
)
from tests.starter.test_checkpoints import running as migrating

GRID: Final = """
Preparing/Sandbox
    SuspendOrdered                                : - → Preparing/Sandbox
    ContinueOrdered                               : - → Preparing/Sandbox
    SoftKillOrdered                               : 3 41 43 45 → Finishing/Cleanup
    HardKillOrdered                               : 2 41 43 45 → Finishing/Cleanup
    SandboxMade                                   : 4 → Preparing/EarlyHook
    SandboxFailed                                 : 1 41 43 45 → Finishing/Cleanup
Preparing/EarlyHook
    SuspendOrdered                                : - → Preparing/EarlyHook
    ContinueOrdered                               : - → Preparing/EarlyHook
    SoftKillOrdered                               : 3 41 → Finishing/ExitHook
    HardKillOrdered                               : 2 41 → Finishing/ExitHook
    HookEnded PREPARE_JOB_BEFORE_TRANSFER 0       : 5 → Preparing/Input
    HookEnded PREPARE_JOB_BEFORE_TRANSFER 7       : 1 41 → Finishing/ExitHook
    HookNotRun PREPARE_JOB_BEFORE_TRANSFER        : 1 41 → Finishing/ExitHook
    StarterTimerFired hook                        : 1 41 → Finishing/ExitHook
Preparing/Input
    SuspendOrdered                                : - → Preparing/Input
    ContinueOrdered                               : - → Preparing/Input
    SoftKillOrdered                               : 3 41 → Finishing/ExitHook
    HardKillOrdered                               : 2 41 → Finishing/ExitHook
    InputTransferred                              : 6 → Preparing/Hook
    InputFailed                                   : 1 41 → Finishing/ExitHook
Preparing/Hook
    SuspendOrdered                                : - → Preparing/Hook
    ContinueOrdered                               : - → Preparing/Hook
    SoftKillOrdered                               : 3 41 → Finishing/ExitHook
    HardKillOrdered                               : 2 41 → Finishing/ExitHook
    HookEnded PREPARE_JOB 0                       : 7 → Preparing/Prolog
    HookEnded PREPARE_JOB 7                       : 1 41 → Finishing/ExitHook
    HookNotRun PREPARE_JOB                        : 1 41 → Finishing/ExitHook
    StarterTimerFired hook                        : 1 41 → Finishing/ExitHook
Preparing/Prolog
    SuspendOrdered                                : - → Preparing/Prolog
    ContinueOrdered                               : - → Preparing/Prolog
    SoftKillOrdered                               : 3 → Finishing/Epilog
    HardKillOrdered                               : 2 → Finishing/Epilog
    ScriptEnded prolog 0                          : 60 9 → Preparing/Start
    ScriptEnded prolog 1                          : 1 → Finishing/Epilog
Preparing/Deferral
    SuspendOrdered                                : - → Preparing/Deferral
    ContinueOrdered                               : - → Preparing/Deferral
    SoftKillOrdered                               : 3 → Finishing/Epilog
    HardKillOrdered                               : 2 → Finishing/Epilog
    StarterTimerFired deferral                    : 9 → Preparing/Start
Preparing/Start
    SuspendOrdered                                : - → Preparing/Start
    ContinueOrdered                               : - → Preparing/Start
    SoftKillOrdered                               : 24 → Vacating/Job
    HardKillOrdered                               : 23 → Killing/Job
    JobStarted                                    : 11 → Running/Job
    JobNotStarted                                 : 12 → Finishing/Epilog
    JobEnded 0                                    : 14 → Finishing/Epilog
    JobEnded 85                                   : 13 → Running/Checkpoint
    UsageSampled                                  : - → Preparing/Start
Running/Job
    SuspendOrdered                                : 20 → Suspended/Job
    SoftKillOrdered                               : 24 → Vacating/Job
    HardKillOrdered                               : 23 → Killing/Job
    CheckpointOrdered                             : - → Running/Job
    Reconfigured                                  : - → Running/Job
    JobEnded 0                                    : 14 → Finishing/Epilog
    JobEnded 85                                   : 13 → Running/Checkpoint
    UsageSampled                                  : - → Running/Job
    StarterTimerFired update                      : - → Running/Job
Running/Checkpoint
    SuspendOrdered                                : 20 → Suspended/Checkpoint
    SoftKillOrdered                               : 26 → Vacating/Checkpoint
    HardKillOrdered                               : 25 → Finishing/Epilog
    Reconfigured                                  : - → Running/Checkpoint
    CheckpointTransferred                         : 17 → Preparing/Start
    CheckpointFailed                              : 16 → Finishing/Epilog
    StarterTimerFired update                      : - → Running/Checkpoint
Suspended/Job
    ContinueOrdered                               : 21 → Running/Job
    SoftKillOrdered                               : 24 → Vacating/Job
    HardKillOrdered                               : 23 → Killing/Job
    Reconfigured                                  : - → Suspended/Job
    JobEnded 0                                    : 14 → Finishing/Epilog
    JobEnded 85                                   : 13 → Suspended/Checkpoint
    UsageSampled                                  : - → Suspended/Job
    StarterTimerFired update                      : - → Suspended/Job
Suspended/Checkpoint
    ContinueOrdered                               : 21 → Running/Checkpoint
    SoftKillOrdered                               : 26 → Vacating/Checkpoint
    HardKillOrdered                               : 25 → Finishing/Epilog
    Reconfigured                                  : - → Suspended/Checkpoint
    CheckpointTransferred                         : 18 → Suspended/Unstarted
    CheckpointFailed                              : 16 → Finishing/Epilog
    StarterTimerFired update                      : - → Suspended/Checkpoint
Suspended/Unstarted
    ContinueOrdered                               : 22 → Preparing/Start
    SoftKillOrdered                               : 28 → Finishing/Epilog
    HardKillOrdered                               : 27 → Finishing/Epilog
    Reconfigured                                  : - → Suspended/Unstarted
    StarterTimerFired update                      : - → Suspended/Unstarted
Vacating/VacateHook
    SoftKillOrdered                               : - → Vacating/VacateHook
    HardKillOrdered                               : 52 → Killing/Job
    Reconfigured                                  : - → Vacating/VacateHook
    HookEnded VACATE_JOB 0                        : 56 → Vacating/Job
    HookEnded VACATE_JOB 7                        : 56 → Vacating/Job
    HookNotRun VACATE_JOB                         : 56 → Vacating/Job
    JobEnded 0                                    : 51 → Finishing/Epilog
    JobEnded 85                                   : 50 → Vacating/Checkpoint
    UsageSampled                                  : - → Vacating/VacateHook
    StarterTimerFired update                      : - → Vacating/VacateHook
    StarterTimerFired vacate                      : 53 → Killing/Job
    StarterTimerFired hook                        : 55 → Vacating/Job
Vacating/Job
    SoftKillOrdered                               : - → Vacating/Job
    HardKillOrdered                               : 34 → Killing/Job
    Reconfigured                                  : - → Vacating/Job
    JobNotStarted                                 : 15 → Finishing/Epilog
    JobEnded 0                                    : 14 → Finishing/Epilog
    JobEnded 85                                   : 13 → Vacating/Checkpoint
    SoftKillFailed                                : 35 → Killing/Job
    UsageSampled                                  : - → Vacating/Job
    StarterTimerFired update                      : - → Vacating/Job
    StarterTimerFired vacate                      : 36 → Killing/Job
Vacating/Checkpoint
    SoftKillOrdered                               : - → Vacating/Checkpoint
    HardKillOrdered                               : 38 → Finishing/Epilog
    Reconfigured                                  : - → Vacating/Checkpoint
    CheckpointTransferred                         : 19 → Finishing/Epilog
    CheckpointFailed                              : 16 → Finishing/Epilog
    StarterTimerFired update                      : - → Vacating/Checkpoint
    StarterTimerFired vacate                      : 39 → Finishing/Epilog
Killing/Job
    SoftKillOrdered                               : - → Killing/Job
    HardKillOrdered                               : - → Killing/Job
    JobNotStarted                                 : 15 → Finishing/Epilog
    JobEnded 0                                    : 14 → Finishing/Epilog
    JobEnded 85                                   : 14 → Finishing/Epilog
    UsageSampled                                  : - → Killing/Job
    StarterTimerFired update                      : - → Killing/Job
    StarterTimerFired killing                     : - → Killing/Job
Finishing/Epilog
    HardKillOrdered                               : - → Finishing/Epilog
    ScriptEnded epilog 0                          : 41 → Finishing/ExitHook
    ScriptEnded epilog 1                          : 41 → Finishing/ExitHook
Finishing/FailureHook
    HardKillOrdered                               : - → Finishing/FailureHook
    HookEnded STARTER_FAILURE 0                   : 58 → Finishing/ExitHook
    HookEnded STARTER_FAILURE 7                   : 58 → Finishing/ExitHook
    HookNotRun STARTER_FAILURE                    : 58 → Finishing/ExitHook
    StarterTimerFired hook                        : 59 → Finishing/ExitHook
Finishing/ExitHook
    HardKillOrdered                               : - → Finishing/ExitHook
    HookEnded JOB_EXIT 0                          : 43 → Finishing/Output
    HookEnded JOB_EXIT 7                          : 43 → Finishing/Output
    HookNotRun JOB_EXIT                           : 43 → Finishing/Output
    StarterTimerFired hook                        : 44 → Finishing/Output
Finishing/Output
    HardKillOrdered                               : 46 → Finishing/Cleanup
    OutputTransferred                             : 45 → Finishing/Cleanup
    OutputFailed                                  : 45 → Finishing/Cleanup
Finishing/Cleanup
    SandboxRemoved                                : 47 → Done
"""

#: The last pair in which an event cannot have happened yet; where it is not listed, it always may have.
IMPOSSIBLE_THROUGH: Final = {
    "SandboxMade": None,
    "SandboxFailed": None,
    "HookEnded": at.SANDBOX,
    "HookNotRun": at.SANDBOX,
    "ScriptEnded": at.HOOK,
    "InputTransferred": at.EARLY_HOOK,
    "InputFailed": at.EARLY_HOOK,
    "JobStarted": at.DEFERRED,
    "JobNotStarted": at.DEFERRED,
    "JobEnded": at.DEFERRED,
    "SoftKillFailed": at.DEFERRED,
    "UsageSampled": at.DEFERRED,
    "MethodEnded": at.DEFERRED,
    "CheckpointTransferred": at.DEFERRED,
    "CheckpointFailed": at.DEFERRED,
    "OutputTransferred": at.EXIT_HOOK,
    "OutputFailed": at.EXIT_HOOK,
    "SandboxRemoved": at.OUTPUT,
}


def parsed() -> Iterator[tuple[str, str, str]]:
    pair = ""
    for line in GRID.strip().splitlines():
        if line.startswith(" "):
            name, _, led = line.strip().partition(" : ")
            yield pair, name.strip(), " ".join(led.split())
        else:
            pair = line


LISTED: Final = {(pair, name): led for pair, name, led in parsed()}


def situation(pair: Pair, event: StarterEvent) -> Hand:
    """A starter in that pair, one second later, or when the timer is due."""
    hand = SITUATIONS[pair]()
    assert hand.state.pair == pair
    due = hand.timer(event.timer) if isinstance(event, StarterTimerFired) else None
    hand.now = hand.now + 1 if due is None else due
    return hand


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_every_event_does_what_the_grid_says_and_nothing_else(pair: Pair) -> None:
    for name, event in EVENTS.items():
        hand = situation(pair, event)
        before = hand.state
        last = IMPOSSIBLE_THROUGH.get(name.split()[0])
        if last is not None and PAIRS.index(pair) <= PAIRS.index(last):
            with pytest.raises(ImpossibleEvent):
                step(before, event, hand.now, hand.policy)
            continue
        made = step(before, event, hand.now, hand.policy)
        numbers = " ".join(str(taken.number) for taken in made.transitions) or "-"
        led = f"{numbers} → {made.state.pair}"
        if (str(pair), name) in LISTED:
            assert (made.outcome, led) == (Outcome.HANDLED, LISTED[str(pair), name]), name
        else:
            assert (made.outcome, made.state is before, made.transitions) == (Outcome.IGNORED, True, ()), name


#: What the policy does as soon as it is looked at, by pair: with these expressions, those rows.
DECIDED: Final = {
    (at.RUNNING, "soft"): "30 → Vacating/Job",
    (at.RUNNING, "hard"): "29 → Killing/Job",
    (at.SUSPENDED, "soft"): "30 → Vacating/Job",
    (at.SUSPENDED, "hard"): "29 → Killing/Job",
    (at.CHECKPOINTING, "soft"): "32 → Vacating/Checkpoint",
    (at.CHECKPOINTING, "hard"): "31 → Finishing/Epilog",
    (at.SUSPENDED_CHECKPOINTING, "soft"): "32 → Vacating/Checkpoint",
    (at.SUSPENDED_CHECKPOINTING, "hard"): "31 → Finishing/Epilog",
    (at.UNSTARTED, "soft"): "33 → Finishing/Epilog",
    (at.UNSTARTED, "hard"): "33 → Finishing/Epilog",
    (at.VACATE_HOOK, "kill"): "54 → Killing/Job",
    (at.VACATING, "kill"): "37 → Killing/Job",
    (at.VACATING_CHECKPOINTING, "kill"): "40 → Finishing/Epilog",
}

POLICIES: Final = {
    "soft": {"STARTER_EVICT": "true"},
    "hard": {"STARTER_EVICT": "true", "STARTER_WANT_VACATE": "false"},
    "kill": {"STARTER_KILL": "true"},
}


@pytest.mark.parametrize("pair", PAIRS, ids=str)
@pytest.mark.parametrize("name", POLICIES)
def test_the_policy_decides_only_where_it_is_asked(pair: Pair, name: str) -> None:
    hand = SITUATIONS[pair]()
    made = step(hand.state, Reconfigured(), hand.now + 1, full_policy(POLICIES[name]))
    numbers = " ".join(str(taken.number) for taken in made.transitions)
    if (pair, name) in DECIDED:
        assert f"{numbers} → {made.state.pair}" == DECIDED[pair, name]
        assert all(taken.decisions for taken in made.transitions[:1])
    else:
        assert made.transitions == ()
        assert made.state.pair == pair


#: Rows that neither grid takes, each with a script that takes it.
OTHERS: Final[dict[int, Callable[[], Hand]]] = {
    8: after(0, SuspendOrdered(), *PREPARATION[:5]),
    10: after(5, SuspendOrdered(), PREPARATION[5]),
    48: lambda: every().feed(*PREPARATION, SOFT),
    49: lambda: every({"STARTER_EVICT": "true"}).feed(*PREPARATION),
    57: lambda: every().feed(*PREPARATION[:5], NOT_STARTED, ScriptEnded(point=ScriptPoint.EPILOG)),
    15: after(5, SOFT, JobNotStarted(run=1, text="")),
    61: lambda: full(DeferralTime=int(START) - 1).feed(*PREPARATION[:5]),
    42: lambda: after(6, ENDED, HARD)().wait(24),
    62: lambda: migrating().feed(SuspendOrdered()),
}


@pytest.mark.parametrize("number", OTHERS)
def test_every_other_row_has_a_script(number: int) -> None:
    assert number in [taken.number for taken in OTHERS[number]().taken]


def test_every_row_is_taken_by_some_test_here() -> None:
    taken = {int(word) for led in (*LISTED.values(), *DECIDED.values()) for word in led.split() if word.isdecimal()}
    assert taken | set(OTHERS) == {row.number for row in TRANSITIONS}


def test_the_grid_names_only_pairs_and_events_that_there_are() -> None:
    assert {pair for pair, _ in LISTED} <= {str(pair) for pair in PAIRS}
    assert {name for _, name in LISTED} <= set(EVENTS)
    assert set(SITUATIONS) == set(PAIRS)


def test_there_is_an_event_of_every_kind() -> None:
    assert {type(event) for event in EVENTS.values()} == set(RECEPTIONS)


def test_numbers_ascend_within_a_pair_so_that_their_order_is_that_of_evaluation() -> None:
    for rows in ROWS.values():
        numbers = [row.number for row in rows]
        assert numbers == sorted(set(numbers))
    assert sorted({row.number for row in TRANSITIONS}) == list(range(1, 63))


def test_once_a_job_is_being_got_rid_of_there_is_no_way_back() -> None:
    rank = {state: index for index, state in enumerate(("Vacating", "Killing", "Finishing", "Done"))}
    for row in TRANSITIONS:
        if str(row.source.state) in rank:
            assert rank[str(row.target.state)] >= rank[str(row.source.state)]


def test_no_expression_suspends_or_continues_a_job() -> None:
    expressions = {Guard.EVICT, Guard.KILL, Guard.WANT_VACATE, Guard.NOT_WANT_VACATE}
    for row in TRANSITIONS:
        if {Entry.SUSPEND, Entry.CONTINUE} & set(row.entry):
            assert not expressions & set(row.when)
            assert On.POLL not in row.on
