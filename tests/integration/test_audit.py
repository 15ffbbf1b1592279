"""A real pool's decisions: on record with who and why, exported, and those of a policy on trial besides them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from roost.runtime.identity import user_name
from tests.integration.kit import Pool, eventually, running

CONFIG = """\
NUM_SLOTS = 2
NEGOTIATOR_INTERVAL = 2
PREEMPT = TARGET.Leave =?= true
WANT_SUSPEND = false
SYSTEM_PERIODIC_HOLD = JobStatus == 1 && HoldMe =?= true
use POLICY : Pool_Confine_Group(students, Memory < 100)
NEGOTIATOR_PE_DRYRUN_JOB_ONLY_EXPR = RequestMemory > 300
NEGOTIATOR_PE_DRYRUN_STARTD_ONLY_EXPR = SlotID == 2
"""


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[Pool]:
    with running(tmp_path, CONFIG) as pool:
        yield pool


def records(pool: Pool, *words: str) -> list[dict[str, Any]]:
    done = pool.try_("audit", *words, "--json")
    found: list[dict[str, Any]] = json.loads(done.stdout) if done.stdout else []
    return found


def test_every_kind_of_decision_is_on_record(pool: Pool) -> None:
    sleeper = pool.submit("arguments = 600\nqueue 1", "sleep 600")
    leaver = pool.submit("+Leave = true\nqueue 1", "sleep 600")
    student = pool.submit("accounting_group = students\nrequest_memory = 400\nqueue 2", "sleep 600")
    held = pool.submit("requirements = false\n+HoldMe = true\nqueue 1", "true")
    pool.seen(f"{sleeper}.0", JobStatus=2)

    (veto,) = eventually(lambda: records(pool, "--kind", "veto", "--job", f"{student}"))
    assert veto["knob"] == "NEGOTIATOR_PE_RESOURCE_EXPR"
    assert "roost.config:" in veto["place"]
    eviction = eventually(lambda: records(pool, "--kind", "eviction", "--job", f"{leaver}.0"))[-1]
    assert (eviction["knob"], eviction["expression"]) == ("PREEMPT", "TARGET.Leave is true")
    assert "roost.config:" in eviction["place"]
    (hold,) = eventually(lambda: records(pool, "--kind", "hold", "--job", f"{held}.0"))
    assert (hold["knob"], hold["expression"]) == ("SYSTEM_PERIODIC_HOLD", "JobStatus == 1 && HoldMe is true")

    _explained(pool, student, held)
    pool("hold", str(student))
    pool("drain", "--reason", "new disks")
    pool("drain", "--cancel")
    pool("userprio", "--set-factor", "5", "ann@x")
    (command,) = eventually(lambda: records(pool, "--kind", "command"))
    assert command["reason"].startswith("userprio set-factor")
    begun, over = reversed(eventually(lambda: len(found := records(pool, "--kind", "drain")) == 2 and found))
    assert begun["reason"] == "drain, graceful, then nothing: new disks"
    assert (over["reason"], over["actor"]) == ("the drain is cancelled", command["actor"])
    by_hand = eventually(lambda: len(found := records(pool, "--kind", "hold", "--job", f"{student}")) == 2 and found)
    assert [each["actor"] for each in by_hand] == [command["actor"]] * 2

    for words, wanted in (
        (("job", f"{student}.0"), ("put on hold", "by root")),
        (("slot", "slot1"), ("drain, graceful, then nothing: new disks", "the drain is cancelled", "by root")),
    ):
        told = pool("story", *words).replace(command["actor"], "root")
        assert all(each in told for each in wanted), told

    def tried() -> dict[str, dict[str, str]]:
        return {each.get("user", "").partition("@")[0]: each for each in records(pool, "diff", "--kind", "discard")}

    # A slot is recorded only in a cycle that finds it free.
    eventually(lambda: set(tried()) == {f"students.{user_name()}", ""}, lambda: str(tried()))
    assert {each["effect"] for each in tried().values()} == {"would-discard"}
    shown = pool("audit", "diff")
    assert "It would exclude from matchmaking:" in shown
    assert "  1  slot\n" in shown
    lines = pool("audit", "export").splitlines()
    assert len({json.loads(line)["id"] + json.loads(line)["origin"] for line in lines}) == len(lines)
    _foolish_questions(pool)


def _explained(pool: Pool, student: int, held: int) -> None:
    """Answers are the matchmaker's record and the audit trail."""
    # Jobs come and go here all the time: now and then a slot is not there to be asked for.
    forbidden = "2  forbidden by the pool's policy: "
    done = eventually(lambda: forbidden in (found := pool.try_("explain", "job", f"{student}.0")).stdout and found)
    assert done.returncode == 1
    for wanted in (
        "The last matchmaking cycle, at ", forbidden, "(NEGOTIATOR_PE_RESOURCE_EXPR)",
        "roost.config:", "Fair share, lowest priority value first:", "this job's", "What would help:",
    ):  # fmt: skip
        assert wanted in done.stdout

    def rejected() -> list[tuple[str, int]]:
        data = json.loads(pool.try_("explain", "job", f"{student}.0", "--json").stdout)
        return [(each["cause"], each["count"]) for each in data["rejected"]]

    eventually(lambda: rejected() == [("pool-policy-resource", 2)], lambda: str(rejected()))
    assert "by SYSTEM_PERIODIC_HOLD = " in pool("explain", "job", f"{held}.0", status=1)

    def causes() -> set[str]:
        seen = json.loads(pool("explain", "slot", "slot1", "--json"))["matchmaker"]
        return {each["cause"] for each in seen["requests"]}

    eventually(lambda: "pool-policy-resource" in causes(), lambda: str(causes()))


def _foolish_questions(pool: Pool) -> None:
    for words, said in (
        (("--kind", "fun"), "'fun' is not a valid kind of decision: discard, veto"),
        (("--job", "x"), "'x' is neither a job (12.0) nor a cluster (12)"),
        (("--since", "yesterday"), "--since is 'yesterday'; write an age (90s, 30m, 2h, 3d) or a time"),
        (("-n", "-1"), "-n must be a number of decisions, or 0 for all"),
    ):
        done = pool.try_("audit", *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr
    assert pool.try_("audit", "--user", "nobody").returncode == 1


def test_decisions_outlive_the_daemon_that_keeps_them(pool: Pool) -> None:
    job = pool.submit("queue 1", "sleep 600")
    pool.seen(f"{job}.0", JobStatus=2)
    pool("hold", f"{job}.0", "--reason", "first")
    eventually(lambda: records(pool, "--job", f"{job}.0"))
    pool.down("--fast")
    pool.up()
    pool("release", f"{job}.0")
    found = eventually(lambda: len(rows := records(pool, "--job", f"{job}.0")) >= 2 and rows)
    assert [each["kind"] for each in found if each.get("actor")] == ["release", "hold"]
