"""The pool-wide policy through real daemons: matches, claims that are used again, its record, and reconfiguration."""

from __future__ import annotations

import re
from collections.abc import Callable

from tests.integration.kit import Pool, eventually

POLICY = """
NEGOTIATOR_PE_JOB_ONLY_EXPR = MY.Banned =?= true
NEGOTIATOR_PE_RESOURCE_EXPR = TARGET.Kind =!= "student"
NEGOTIATOR_PE_AUDIT_EXPR = TARGET.Audited =?= true
"""


def configured(pool: Pool, old: str, new: str) -> None:
    path = pool.home / "roost.config"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def record(pool: Pool) -> list[str]:
    """The lines of the policy's log without their times."""
    path = pool.home / "log" / "PolicyLog"
    lines = path.read_text().splitlines() if path.exists() else []
    assert all(re.match(r"PE \d+\.\d{3} [A-Z]+ ", line) for line in lines)
    return [line.split(" ", 2)[2] for line in lines]


def test_the_policy_holds_for_matches_and_for_claims_that_are_used_again(start: Callable[..., Pool]) -> None:
    pool = start(POLICY, cpus=1)
    gate = pool.work / "gate"
    wait = f"while [ ! -e {gate} ]; do sleep 0.05; done"
    first = pool.submit("+Audited = true\n", wait)
    pool.seen(f"{first}.0", JobStatus=2)
    # Its attribute says it by way of another one: what an attribute reaches tells jobs apart, too.
    student = pool.submit('+Kind = Level == 1 ? "student" : "staff"\n+Level = 1\n', "exit 0")
    banned = pool.submit("+Banned = true\n", "exit 0")
    last = pool.submit('+Kind = Level == 1 ? "student" : "staff"\n+Level = 2\n', "exit 0")
    gate.touch()
    pool.wait(first, last)
    eventually(lambda: any(line.startswith(f"DISCARD job {banned}.0 ") for line in record(pool)), "the discarded job")
    eventually(lambda: any(f"VETO match job={student}.0 " in line for line in record(pool)), "the prevented match")
    assert any(line.startswith(f"MATCH job={first}.0 ") for line in record(pool))
    assert not any(line.startswith("MATCH") and f"job={last}.0 " in line for line in record(pool))
    for job in (student, banned):
        ad = pool.job(f"{job}.0")
        assert (ad["JobStatus"], ad.get("NumJobStarts", 0)) == (1, 0)

    # An expression that cannot be read keeps the former policy in force, and is told.
    configured(pool, 'TARGET.Kind =!= "student"', 'TARGET.Kind =!= ("student"')
    refused = pool.try_("reconfig")
    assert refused.returncode != 0 or "NEGOTIATOR_PE_RESOURCE_EXPR" in eventually(
        lambda: (pool.home / "log" / "central.log").read_text()
    )
    other = pool.submit('+Kind = "student"\n', "exit 0")
    eventually(lambda: any(f"VETO match job={other}.0 " in line for line in record(pool)), "the former policy")

    # What is forbidden from now on begins on no claim that is held already: the job that runs goes on, and no other.
    gate.unlink()
    chain = pool.submit("+Later = true\nqueue 2\n", wait)
    pool.seen(f"{chain}.0", JobStatus=2)
    configured(pool, 'TARGET.Kind =!= ("student"', 'TARGET.Kind =!= "student" && TARGET.Later =!= true')
    pool("reconfig")
    gate.touch()
    pool.wait(f"{chain}.0")
    eventually(lambda: any(f"VETO match job={chain}.1 " in line for line in record(pool)), "the policy from now on")
    assert pool.job(f"{chain}.1").get("NumJobStarts", 0) == 0
    configured(pool, " && TARGET.Later =!= true", "")
    pool("reconfig")
    pool.wait(chain)

    # A policy that only takes notes lets everybody through.
    configured(pool, 'TARGET.Kind =!= "student"', 'TARGET.Kind =!= "student"\nNEGOTIATOR_PE_LOG_ONLY = True')
    pool("reconfig")
    pool.wait(student, banned, other)
    assert any(line.startswith(f"DISCARD job {banned}.0 ") and line.endswith("(log only)") for line in record(pool))
