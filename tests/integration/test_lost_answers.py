"""A daemon that is killed before it answers a command: what the command says, and how soon."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from roost.runtime.bus.command_client import ANSWER_S
from roost.runtime.bus.pool_client import PoolClient, PoolError
from roost.runtime.home import Home
from roost.wire.requests import central, machine, queue
from roost.wire.requests.verb import Request, verb_of
from tests.integration.kit import Pool, eventually

SLEEP = "executable = /bin/sleep\narguments = 600\nhold = true\n"


def _killed_over(pool: Pool, request: Request[object]) -> str:
    """What a command hears whose daemon has its request and is killed; "" for an answer."""
    role = str(verb_of(request).daemon)
    stopped = pool.pid(role)

    def ask() -> str:
        with PoolClient.connected(Home(pool.home)) as client:
            try:
                client.ask(request)
            except PoolError as error:
                return str(error)
        return ""

    os.kill(stopped, signal.SIGSTOP)
    with ThreadPoolExecutor(1) as thread:
        heard = thread.submit(ask)
        time.sleep(2.5)
        assert not heard.done(), "it takes its time, but it is there"
        os.kill(stopped, signal.SIGKILL)
        eventually(lambda: pool.pid(role) not in (0, stopped), "the daemon's return")
        began = time.monotonic()
        text = heard.result()
    assert time.monotonic() - began < ANSWER_S - 5
    return text


def test_a_command_whose_queue_is_killed_says_so_and_what_is_known(start: Callable[..., Pool]) -> None:
    pool = start()
    held = pool.submit(f"{SLEEP}queue 3\n")
    said = _killed_over(pool, queue.Act(action="edit", jobs=(str(held),), attributes={"Colour": "red"}))
    assert "the queue was restarted before it answered" in said and "repeat the command" in said
    assert [ad.get("Colour") for ad in pool.jobs()] == [None] * 3
    with PoolClient.connected(Home(pool.home)) as client:
        (plan,) = client.ask(queue.Query(jobs=(f"{held}.0",)))
    said = _killed_over(pool, queue.Submit(clusters=({"ad": plan, "count": 2, "varying": [], "rows": []},)))
    assert "the queue was restarted before it answered, and nothing was submitted" in said and "submit again" in said
    assert len(pool.jobs()) == 3


@pytest.mark.parametrize(
    ("request_", "who"),
    [
        (central.ChangeUser(action="set-factor", user="ann@x", value=7.0), "the central manager"),
        (machine.Drain(), "machine '"),
    ],
)
def test_a_command_whose_other_daemon_is_killed_says_so_soon(
    start: Callable[..., Pool], request_: Request[object], who: str
) -> None:
    said = _killed_over(start(), request_)
    assert said.startswith(who) and "was restarted before it answered" in said and "check before you repeat it" in said


@pytest.mark.parametrize("request_", [central.Cycle(), machine.Ads(), queue.Summary()])
def test_a_question_is_asked_again_of_a_daemon_that_was_killed(
    start: Callable[..., Pool], request_: Request[object]
) -> None:
    assert not _killed_over(start(), request_)


def test_a_submission_that_was_taken_and_not_answered_is_found(start: Callable[..., Pool]) -> None:
    pool = start()
    waits, ends = pool.submit(f"{SLEEP}queue 3\n"), pool.submit("executable = /bin/true\nqueue 2\n")
    requests = [pool.job(f"{cluster}.0")["SubmitRequestId"] for cluster in (waits, ends)]
    pool.wait(ends)
    verb = queue.QUEUE["submit"]
    with PoolClient.connected(Home(pool.home)) as client:
        for request, cluster, jobs in zip(requests, (waits, ends), (3, 2), strict=True):
            assert client._known_of(verb, request, "") == [{"cluster": cluster, "jobs": jobs}]
        with pytest.raises(PoolError, match="nothing was submitted"):
            client._known_of(verb, "0" * 8, "")
