"""Changes by `qconf` on a running pool: jobs go by them at once, they have an author, and no kill undoes them."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.gridengine.kit import ME, USER, Desk, cell, node
from tests.cli.gridengine.test_acting import states
from tests.integration.kit import Pool, eventually, running

HOST = socket.gethostname()
CALENDAR = "calendar_name {}\nyear NONE\nweek mon\n"


def log(pool: Pool) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(pool("cell", "log", "--json", "--limit", "1000"))
    return found


def slots(desk: Desk) -> str:
    lines = desk("qconf", "-sq", "all.q").out.splitlines()
    return next(line.split()[1] for line in lines if line.startswith("slots "))


@pytest.fixture
def queue(desk: Desk) -> Iterator[str]:
    """all.q, which has its slots again afterwards."""
    before = slots(desk)
    yield "all.q"
    desk("qconf", "-rattr", "queue", "slots", before, "all.q")


def test_the_next_scheduling_run_goes_by_a_change(desk: Desk, queue: str) -> None:
    assert desk("qconf", "-rattr", "queue", "slots", "0", queue).out == (
        f'{ME}@{HOST} modified "all.q" in cluster queue list\n'
    )
    job = desk.qsub("-o", "/dev/null", "-j", "y", "-b", "y", "sleep", "60")
    eventually(
        lambda: "because it offers only" in (text := desk("qstat", "-j", str(job)).out) or "is full" in text,
        lambda: desk("qstat", "-j", str(job)).out,
    )
    assert states(desk) == [("qw", "")]
    editor = desk.script("editor", 'sed -i "s/^slots .*/slots 2/" "$1"')
    editor.chmod(0o755)
    done = desk("qconf", "-mq", queue, EDITOR=str(editor))
    assert (done.out, done.err) == ("", f'{ME}@{HOST} modified "all.q" in cluster queue list\n')
    eventually(lambda: states(desk) == [("r", "")], lambda: str(states(desk)))


def configured(desk: Desk, **parameters: str) -> None:
    """Change the global configuration."""
    lines = desk("qconf", "-sconf", SGE_SINGLE_LINE="1").out.splitlines()[1:]
    text = "".join(
        f"{key} {parameters.get(key, value.strip())}\n" for key, _, value in (x.partition(" ") for x in lines)
    )
    (desk.pool.work / "global").write_text(text)
    assert 'modified "global" in configuration list' in desk("qconf", "-Mconf", "global").err


def test_the_configuration_bounds_what_is_submitted(desk: Desk) -> None:
    held = ("-h", "-b", "y", "true")
    try:
        configured(desk, max_u_jobs="2", max_aj_tasks="10")
        desk.qsub(*held)
        desk.qsub("-t", "1-10", *held)
        refused = desk("qsub", *held, status=25)
        words = "job rejected: only 2 jobs are allowed per user (current job count: 2)"
        assert (refused.out, refused.err) == ("", f"Unable to run job: {words}\nExiting.\n")
        # Whoever submits, by whatever command.
        other = desk.pool.try_("submit", "--json", text="executable = /bin/true\nhold = true\nqueue\n")
        assert (other.returncode, words in other.stderr) == (2, True)
        desk("qdel", "-u", ME)
        eventually(lambda: desk.pool("queue", "--json") == "[]\n", "an empty queue")
        words = "job rejected: you tried to submit a job with more than 10 tasks"
        assert desk("qsub", "-t", "1-11", *held, status=1).err == f"Unable to run job: {words}\nExiting.\n"
        configured(desk, max_u_jobs="0", max_aj_tasks="75000", xuser_lists="arusers")
        desk("qconf", "-au", ME, "arusers")
        words = f"job rejected: {ME}@{HOST} is not allowed to submit jobs"
        assert desk("qsub", *held, status=1).err == f"Unable to run job: {words}\nExiting.\n"
    finally:
        configured(desk, max_u_jobs="0", max_aj_tasks="75000", xuser_lists="none")
        text = desk("qconf", "-su", "arusers").out
        if ME in text:
            desk("qconf", "-du", ME, "arusers")
    desk.qsub(*held)


def test_a_queue_that_is_added_takes_jobs_until_it_is_deleted(desk: Desk) -> None:
    text = re.sub(r"(?m)^qname .*", "qname new.q", desk("qconf", "-sq", "all.q", SGE_SINGLE_LINE="1").out)
    (desk.pool.work / "q").write_text(text)
    assert desk("qconf", "-Aq", "q").err == f'{ME}@{HOST} added "new.q" to cluster queue list\n'
    job = desk.qsub("-q", "new.q", "-o", "/dev/null", "-j", "y", "-b", "y", "true")
    desk.pool.wait(job)
    assert desk("qconf", "-dq", "new.q").err == f'{ME}@{HOST} removed "new.q" from cluster queue list\n'
    assert desk("qconf", "-sql").out == "all.q\n"


def test_each_change_has_its_author_its_time_and_what_it_did(desk: Desk, queue: str) -> None:
    before = log(desk.pool)[0]["revision"]
    desk("qconf", "-rattr", "queue", "slots", "1,[@allhosts=7]", queue)
    desk("qconf", "-rattr", "queue", "slots", "1,[@allhosts=7]", queue)
    desk("qconf", "-am", "carl", "-dm", "carl,nosuch", status=1)
    desk("qconf", "-purge", "queue", "*", "all.q@@allhosts")
    entries = log(desk.pool)[: log(desk.pool)[0]["revision"] - before]
    told = [(each["actor"], [(one["verb"], one["kind"], one["name"]) for one in each["changes"]]) for each in entries]
    who = entries[0]["actor"]
    assert who.startswith(ME)
    assert told == [
        (who, [("modify", "cluster queue", "all.q")]),
        (who, [("delete", "manager", "carl")]),
        (who, [("add", "manager", "carl")]),
        (who, [("modify", "cluster queue", "all.q")]),
    ]
    assert entries[0]["changes"][0]["attributes"] == [{"attribute": "slots", "before": "1,[@allhosts=7]", "after": "1"}]
    assert entries[0]["at"] >= entries[-1]["at"] > 0


def test_the_scheduler_runs_on_the_host_of_the_pool(desk: Desk) -> None:
    assert desk("qconf", "-sss").out == f"{node(desk.pool)}\n"


def test_what_is_refused_leaves_the_cell_as_it_was(desk: Desk) -> None:
    before = log(desk.pool)[0]["revision"]
    editor = desk.script("editor", 'echo "nonsense 1" >> "$1"')
    editor.chmod(0o755)
    for words, said in (
        (("-mq", "all.q"), 'error: unknown attribute name "nonsense"\n'),
        (("-msconf",), 'error: unknown attribute name "nonsense"\n'),
        (("-dhgrp", "@allhosts"), 'denied: these cluster queues still reference "@allhosts": all.q\n'),
        (("-aattr", "queue", "pe_list", "nosuch", "all.q"), 'Parallel environment "nosuch" does not exist\n'),
        (("-ah", "no.such.host.invalid"), 'can\'t resolve hostname "no.such.host.invalid"\n'),
    ):
        done = desk("qconf", *words, status=1, EDITOR=str(editor))
        assert done.out == "" and done.err.startswith(said), words
    assert log(desk.pool)[0]["revision"] == before
    # The machine of the pool is a host, whatever its address.
    name = node(desk.pool)
    assert desk("qconf", "-as", name).err == f"{name} added to submit host list\n"


def test_users_change_nothing_until_they_are_managers(desks: tuple[Desk, Desk]) -> None:
    root, user = desks
    denied = f'denied: "{USER}" must be manager for this operation\n'
    (root.pool.work / "c").write_text(CALENDAR.format("c"))
    before = log(root.pool)[0]["revision"]
    for words in (("-Acal", "c"), ("-am", USER), ("-rattr", "queue", "slots", "9", "all.q"), ("-dq", "all.q"),
                  ("-dstree",), ("-Msconf", "c")):  # fmt: skip
        done = user("qconf", *words, status=1)
        assert (done.out, done.err) == ("", denied) or "-Msconf" in words, (words, done)
    assert (
        user("qconf", "-au", "ann", "chem", status=1).err == f'denied: "{USER}" must be operator for this operation\n'
    )
    assert log(root.pool)[0]["revision"] == before
    assert eventually(lambda: "qconf -am" in root.pool.try_("audit", "--json", "--user", USER).stdout)
    root("qconf", "-ao", USER)
    assert user("qconf", "-au", "ann", "chem").err == 'added "ann" to access list "chem"\n'
    assert user("qconf", "-Acal", "c", status=1).err == denied
    root("qconf", "-am", USER)
    assert user("qconf", "-Acal", "c").err == f'{USER}@{HOST} added "c" to calendar list\n'
    assert log(root.pool)[0]["actor"].startswith(USER)
    user("qconf", "-dcal", "c"), user("qconf", "-dul", "chem")
    root("qconf", "-dm", USER, "-do", USER)


def test_what_was_confirmed_outlives_kills_of_the_queue(tmp_path: Path) -> None:
    with running(tmp_path / "pool", cpus=1) as pool:
        cell(pool, tmp_path / "cell")
        desk = Desk(pool)
        for number in range(6):
            (pool.work / "c").write_text(CALENDAR.format(f"c{number}"))
            done = eventually(lambda: added(desk), "a queue that answers")
            if "already exists" not in done:
                assert done == f'{ME}@{HOST} added "c{number}" to calendar list\n'
            pool.kill("schedd")
        eventually(lambda: shown(desk) == [f"c{number}" for number in range(6)], lambda: str(shown(desk)))
        kept = [one["name"] for entry in log(pool) for one in entry["changes"] if one["kind"] == "calendar"]
        assert kept == [f"c{number}" for number in reversed(range(6))]


def added(desk: Desk) -> str:
    """What `qconf -Acal c` says; "" while the queue does not answer."""
    from tests.cli.condor.kit import run

    from roost.cli.gridengine.entry import main

    done = run("qconf", "-Acal", "c", cwd=desk.pool.work, command=main, ROOST_HOME=str(desk.pool.home))
    return done.err if "calendar" in done.err else ""


def shown(desk: Desk) -> list[str]:
    from tests.cli.condor.kit import run

    from roost.cli.gridengine.entry import main

    # The queue may be on its way.
    return run("qconf", "-scall", cwd=desk.pool.work, command=main, ROOST_HOME=str(desk.pool.home)).out.split()
