"""What the linter says is never TRUE has no counterexample.

Policies are put together by chance from sensors, clocks, jobs' attributes, arithmetic and conditionals. Whenever the
linter says of one of their expressions (or of a part) that it is never TRUE, or always ERROR, it is evaluated in many
slots and jobs made by chance, with values at and around the constants of the policy.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import pytest

from roost.classad import ClassAd, FixedWorld, evaluate, parse_expression
from roost.classad.values import Value
from roost.policy.lint import Finding, lint_text
from roost.runtime.machine import SystemHost

HOST = SystemHost()
NUMBERS = [
    "KeyboardIdle",
    "ConsoleIdle",
    "(LoadAvg-CondorLoadAvg)",
    "LoadAvg",
    "TotalLoadAvg",
    "ClockMin",
    "ClockDay",
    "Memory",
    "Cpus",
    "Disk",
    "SlotID",
    "TARGET.RequestMemory",
    "TARGET.RequestCpus",
    "TARGET.ImageSize",
    "TARGET.JobPrio",
    "TARGET.NumJobStarts",
    "TARGET.JobUniverse",
    "(time()-EnteredCurrentActivity)",
    "(time()-EnteredCurrentState)",
    "(time()-JobStart)",
    "(time()-TARGET.QDate)",
    "time()",
    "CpuBusyTime",
    "MY.Foo",
    "TARGET.Bar",
    "Speed",
    "MY.MemoryUsage",
    "TARGET.MemoryUsage",
    "MyCurrentTime",
    "TotalJobRunTime",
]
CONDITIONS = [
    "TARGET.WantCheckpoint",
    "TARGET.NiceUser",
    "MY.Foo",
    "TARGET.Bar",
    "IsFast",
    "CpuIsBusy",
    "CpuBusy",
    "IsDesktop",
    "PartitionableSlot",
    "TARGET.IsSuspendableJob",
]
TEXTS = {
    "OpSys": ("LINUX", "WINDOWS", "linux"),
    "State": ("Owner", "Unclaimed", "Claimed", "Matched"),
    "Activity": ("Idle", "Busy", "Suspended", "Retiring"),
    "TARGET.Owner": ("ada", "bob"),
    "TARGET.Bar": ("x", "X"),
    "Rack": ("blue",),
    "RemoteOwner": ("ada",),
}
CONSTANTS = (0, 1, 2, 5, 7, 12, 60, 300, 900, 1440, 3600, 86400, 4096, -1, 0.3, 0.5, 1.0, 1_795_000_000)
KNOBS = ("START", "SUSPEND", "PREEMPT", "CONTINUE", "WANT_SUSPEND", "KILL")
STANDINGS = (
    ("Owner", "Idle"),
    ("Unclaimed", "Idle"),
    ("Unclaimed", "Benchmarking"),
    ("Matched", "Idle"),
    ("Claimed", "Idle"),
    ("Claimed", "Busy"),
    ("Claimed", "Suspended"),
    ("Claimed", "Retiring"),
)
FREE, HELD, ANY = ("Owner", "Unclaimed", "Matched"), ("Claimed",), ("Owner", "Unclaimed", "Matched", "Claimed")


def a_number(chance: random.Random, depth: int) -> str:
    what = chance.random()
    if depth > 2 or what < 0.7:
        return chance.choice(NUMBERS)
    inner = a_number(chance, depth + 1)
    if what < 0.8:
        return f"({inner} {chance.choice('+-*/%')} {chance.choice(CONSTANTS)})"
    if what < 0.85:
        return f"({chance.choice(CONSTANTS)} {chance.choice('+-*')} {inner})"
    if what < 0.9:
        return f"({inner} {chance.choice('+-')} {a_number(chance, depth + 1)})"
    if what < 0.94:
        return f"{chance.choice(('int', 'floor', 'ceiling'))}({inner})"
    return f"ifThenElse({a_condition(chance, depth + 1)}, {inner}, {chance.choice(CONSTANTS)})"


def a_test(chance: random.Random, depth: int) -> str:
    what = chance.random()
    if what < 0.65:
        sides = [a_number(chance, depth), str(chance.choice(CONSTANTS))]
        if chance.random() < 0.2:
            sides.reverse()
        return f" {chance.choice(('<', '<=', '>', '>=', '<', '>', '==', '!=', '=?=', '=!='))} ".join(sides)
    if what < 0.8:
        name = chance.choice(tuple(TEXTS))
        return f'{name} {chance.choice(("==", "=?=", "!=", "=!="))} "{chance.choice(TEXTS[name])}"'
    name = chance.choice(CONDITIONS)
    return chance.choice((name, f"{name} =?= True", f"{name} == False", f"!{name}", f"isUndefined({name})"))


def a_condition(chance: random.Random, depth: int) -> str:
    what = chance.random()
    if depth > 3 or what < 0.35:
        return a_test(chance, depth)
    left, right = a_condition(chance, depth + 1), a_condition(chance, depth + 1)
    if what < 0.65:
        return f"({left} && {right})"
    if what < 0.82:
        return f"({left} || {right})"
    return f"!({left})" if what < 0.9 else f"({a_test(chance, depth)} ? {left} : {right})"


def a_policy(chance: random.Random) -> dict[str, str]:
    policy = {
        knob: a_condition(chance, chance.choice((1, 2, 3))) for knob in chance.sample(KNOBS, chance.randint(1, 4))
    }
    if chance.random() < 0.5:
        policy["IsFast"] = a_condition(chance, 2).replace("IsFast", "MY.Foo")
    if chance.random() < 0.5:
        policy["Speed"] = chance.choice(("5", "3600", "Memory * 2"))
    if chance.random() < 0.3:
        policy["Rack"] = '"blue"'
    if chance.random() < 0.3:
        policy["CpuBusy"] = "(LoadAvg - CondorLoadAvg) >= 0.5"
    return policy


def near(chance: random.Random, constants: list[float], low: float, high: float = 10**9) -> int:
    """A number at or around a constant, or any."""
    value = chance.choice(constants) * chance.choice((1, 1, 1, 2, 60, 1 / 60, 0.5)) + chance.choice((-1, 0, 0, 1, 2))
    if chance.random() < 0.3:
        value = chance.choice((0, 1, 100, 10_000, 10**6))
    return int(min(high, max(low, value)))


def ads(
    chance: random.Random, constants: list[float], states: tuple[str, ...]
) -> tuple[dict[str, Value], dict[str, Value], int]:
    """A slot, a job, and the time."""
    now = chance.choice((1_700_000_000, 1_794_999_999, 1_795_000_001, 1_900_000_000))
    state, activity = chance.choice([one for one in STANDINGS if one[0] in states])
    with_job = state == "Claimed" and activity != "Idle"
    activity_s = near(chance, constants, 0, 10**7)
    job_s = activity_s + near(chance, constants, 0, 10**6)
    load, own = near(chance, [c * 100 for c in constants], 0, 6400) / 100, 1.0 if activity in ("Busy",) else 0.0
    idle = near(chance, constants, 0)
    slot: dict[str, Value] = {
        "KeyboardIdle": idle,
        "ConsoleIdle": max(idle, near(chance, constants, 0)),
        "LoadAvg": load + own,
        "CondorLoadAvg": own,
        "TotalLoadAvg": load + own,
        "ClockMin": near(chance, constants, 0, 1439),
        "ClockDay": chance.randrange(7),
        "Memory": near(chance, constants, 1),
        "Cpus": chance.choice((1, 2, 8, 64)),
        "Disk": near(chance, constants, 0),
        "SlotID": chance.choice((1, 1, 2, 5, 7)),
        "State": state,
        "Activity": activity,
        "OpSys": chance.choice(("LINUX", "WINDOWS")),
        "EnteredCurrentActivity": now - activity_s,
        "EnteredCurrentState": now - job_s - near(chance, constants, 0, 10**6),
        "MyCurrentTime": now,
        "CpuBusyTime": near(chance, constants, 1, 10**7) if load >= 0.5 else 0,
        "CpuIsBusy": load >= 0.5,
    }
    if with_job:
        slot |= {"JobStart": now - job_s, "TotalJobRunTime": job_s, "MemoryUsage": near(chance, constants, 0)}
    if state == "Claimed":
        slot["RemoteOwner"] = chance.choice(("ada", "bob"))
    job: dict[str, Value] = {
        "RequestMemory": near(chance, constants, 0),
        "RequestCpus": chance.choice((1, 2, 5, 7, 12)),
        "ImageSize": near(chance, constants, 0),
        "JobPrio": near(chance, constants, -10),
        "NumJobStarts": near(chance, constants, 0, 10**6),
        "JobUniverse": chance.choice((5, 5, 7, 12)),
        "QDate": now - near(chance, constants, 0),
        "Owner": chance.choice(("ada", "bob", "cy")),
        "NiceUser": chance.random() < 0.3,
    }
    for ad, name in ((slot, "Foo"), (job, "Bar")):
        if chance.random() < 0.8:
            ad[name] = chance.choice((True, False, 1, 0, near(chance, constants, 0), "x", "X"))
    optional = ((slot, "IsDesktop"), (slot, "PartitionableSlot"), (job, "WantCheckpoint"), (job, "IsSuspendableJob"))
    for ad, name in optional:
        if chance.random() < 0.6:
            ad[name] = chance.random() < 0.5
    return slot, job, now


def claimed_impossible(finding: Finding, policy: dict[str, str]) -> tuple[str, tuple[str, ...]] | None:
    """What a finding says is never TRUE, and the states that it speaks of."""
    match finding.code:
        case "RST401":
            return policy["START"], FREE
        case "RST419" if finding.knob is not None:
            return policy[finding.knob], HELD
        case "RST304" | "RST202" if finding.text is not None:
            return (finding.text, ANY) if "never TRUE" in finding.message else None
        case "RST305" if (found := re.match(r"(.*) is never TRUE after (.*)", finding.message)) is not None:
            return f"({found[2]}) && ({found[1]})", ANY
        case "RST122" if finding.text is not None:
            return f"isError({finding.text}) =!= True && isUndefined({finding.text}) =!= True", ANY
        case "RST106" if finding.text is not None and "is always" in finding.message:
            return f"({finding.text}) =?= {'True' if 'always FALSE' in finding.message else 'False'}", ANY
        case _:
            return None


def impossible(policy: dict[str, str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    lines = [f"{name} = {text}" for name, text in policy.items()]
    listed = [name for name in policy if name not in KNOBS]
    text = "\n".join([*lines, f"STARTD_ATTRS = $(STARTD_ATTRS) {' '.join(listed)}", ""])
    for finding in lint_text(text, HOST, file="pool").findings:
        assert finding.code != "RST000", finding.message
        found = claimed_impossible(finding, policy)
        if found is not None:
            yield found


@pytest.mark.parametrize("batch", range(5))
def test_what_is_said_never_to_be_true_is_never_true(batch: int) -> None:
    checked = 0
    for seed in range(batch * 25, batch * 25 + 25):
        chance = random.Random(seed)
        policy = a_policy(chance)
        constants = [float(one) for one in re.findall(r"(?<![\w.])\d+(?:\.\d+)?", " ".join(policy.values()))] or [1.0]
        for text, states in impossible(policy):
            checked += 1
            expression = parse_expression(text)
            for _ in range(60):
                slot, job, now = ads(chance, constants, states)
                ad = ClassAd({**slot, **{name: parse_expression(value) for name, value in policy.items()}})
                value = evaluate(expression, ad, ClassAd(job), FixedWorld(instant=now))
                assert value is not True and (not isinstance(value, int | float) or value == 0), (
                    text,
                    policy,
                    slot,
                    job,
                )
    assert checked
