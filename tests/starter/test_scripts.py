"""Prolog and epilog: what their commands may name, and what reaches one that runs as somebody else."""

from __future__ import annotations

import pytest

from roost.model import starter_events as ev
from roost.model.queue_context import ParallelContext, QueueContext
from roost.model.starter import Ending, ScriptPoint
from roost.model.starter_effects import RunScript, StartJob
from roost.starter.failed import failed
from roost.starter.persisted import persisted, restored
from roost.starter.resumption import resume
from roost.starter.scripts import breaks_slot, expanded, for_somebody_else
from tests.starter.kit import Hand
from tests.starter.situations import ENDED


def parallel(**commands: str) -> Hand:
    """A starter whose job is in a queue instance, before its sandbox is there."""
    context = ParallelContext(
        environment="mpi", slots=4, hosts=2, instances=2, hostfile="", start="/start", stop="/stop"
    )
    queue = QueueContext(queue="all.q", host="node1", parallel=context, **commands)
    return Hand(launch={"context": queue})


def scripts(hand: Hand) -> list[ScriptPoint]:
    return [each.point for each in hand.history if isinstance(each, RunScript)]


def ended(point: ScriptPoint, status: int | None = 0) -> ev.ScriptEnded:
    return ev.ScriptEnded(point=point, status=status)


P = ScriptPoint


def test_programs_of_queue_and_environment_run_one_after_another() -> None:
    hand = parallel(prolog="/prolog", epilog="/epilog").feed(ev.SandboxMade())
    assert scripts(hand) == [P.PROLOG]
    # The end of one that does not run is not heard.
    hand.feed(ended(P.PE_START))
    assert scripts(hand) == [P.PROLOG]
    hand.feed(ended(P.PROLOG))
    assert scripts(hand) == [P.PROLOG, P.PE_START]
    assert not [each for each in hand.history if isinstance(each, StartJob)]
    hand.feed(ended(P.PE_START), ev.JobStarted(run=1, pid=7), ENDED)
    assert scripts(hand) == [P.PROLOG, P.PE_START, P.PE_STOP]
    hand.feed(ended(P.PE_STOP))
    assert scripts(hand) == [P.PROLOG, P.PE_START, P.PE_STOP, P.EPILOG]
    epilog = next(each for each in hand.history if isinstance(each, RunScript) and each.point is P.EPILOG)
    assert epilog.job_status == 0
    hand.feed(ended(P.EPILOG))
    assert failed(hand.state) == 0


@pytest.mark.parametrize(("status", "code"), [(1, 10), (None, 9), (99, 25), (100, 30)])
def test_what_the_start_of_an_environment_says_keeps_the_job_from_running(status: int | None, code: int) -> None:
    hand = parallel().feed(ev.SandboxMade(), ended(P.PE_START, status))
    # What was begun is taken down.
    assert scripts(hand) == [P.PE_START, P.PE_STOP]
    assert failed(hand.state) == code and hand.state.cause is not None
    assert not [each for each in hand.history if isinstance(each, StartJob)]


@pytest.mark.parametrize(
    ("status", "code", "ending"), [(1, 13, None), (None, 12, None), (99, 25, Ending.EVICT), (100, 30, Ending.HOLD)]
)
def test_the_job_is_done_if_its_environment_cannot_be_stopped(
    status: int | None, code: int, ending: Ending | None
) -> None:
    """As Grid Engine 8.1.9 does."""
    hand = parallel().feed(ev.SandboxMade(), ended(P.PE_START), ev.JobStarted(run=1, pid=7), ENDED)
    hand.feed(ended(P.PE_STOP, status))
    cause = hand.state.cause
    assert (failed(hand.state), None if cause is None else cause.ending) == (code, ending)


def test_pseudo_variables_stay_within_their_words() -> None:
    values = {"job_id": "7", "job_name": "a b; rm -rf $host", "host": "desk"}
    assert expanded(("--job=$job_id", "$job_name", "$host.x", "$other", "$$"), values) == (
        "--job=7",
        "a b; rm -rf $host",
        "desk.x",
        "$other",
        "$$",
    )


@pytest.mark.parametrize(
    ("status", "breaks"), [(0, False), (99, False), (100, False), (1, True), (-9, True), (None, True)]
)
def test_a_status_that_blames_the_machine_closes_its_slot(status: int | None, breaks: bool) -> None:
    assert breaks_slot(status) is breaks


def test_what_would_change_a_program_of_somebody_else_does_not_reach_it() -> None:
    bad = (
        *("LD_PRELOAD", "IFS", "BASH_ENV", "ENV", "PATH", "MANPATH", "PYTHONSTARTUP", "PERL5OPT", "BASH_FUNC_x%%"),
        *("HOME", "USER", "SHELL", "CURL_HOME", "XDG_CONFIG_HOME", "WGETRC", "TAR_OPTIONS", "https_proxy", "MAKEFLAGS"),
        *("OPENSSL_CONF", "GLIBC_TUNABLES", "RSYNC_RSH", "LESSOPEN", "VIMINIT"),
    )
    good = {"JOB_ID": "1", "MYVAR": "x", "OLD_LD_X": "y", "HOMES": "z"}
    assert for_somebody_else({**dict.fromkeys(bad, "/evil"), **good}) == good


def test_what_ran_before_the_job_has_printed_until_it_runs_again() -> None:
    hand = parallel(prolog="/prolog", epilog="/epilog").feed(ev.SandboxMade())
    assert not hand.state.printed
    hand.feed(ev.ScriptEnded(point=P.PROLOG, printed=True))
    assert hand.state.printed
    # Killed now, both run again, and print to a file that is emptied first.
    assert not resume(restored(persisted(hand.state)), hand.now, hand.policy).state.printed
    hand.feed(ended(P.PE_START))
    assert resume(restored(persisted(hand.state)), hand.now, hand.policy).state.printed
