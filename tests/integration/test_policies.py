"""The example policies of the manual's chapter on execute machines: real jobs, and sensors that say what we want."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from roost.runtime.identity import user_name
from tests.integration.kit import Pool, eventually

Start = Callable[..., Pool]

#: Runs until a file says to end; tells how it was ended.
SCRIPT = """
trap "echo soft >> told; exit 3" TERM
echo $$ >> begun
while ! test -f go; do sleep 0.05; done
echo whole >> told
"""


def slots(pool: Pool) -> dict[str, str]:
    """Slot to state and activity."""
    return {each["Name"].partition("@")[0]: f"{each['State']}/{each['Activity']}" for each in ads(pool)}


def ads(pool: Pool) -> list[dict[str, Any]]:
    """The ads of all slots."""
    found: list[dict[str, Any]] = json.loads(pool("status", "--json"))
    return found


def seen(pool: Pool, slot: str, state: str) -> None:
    """Wait until a slot is in that state."""
    try:
        eventually(lambda: slots(pool).get(slot) == state)
    except AssertionError:
        raise AssertionError(f"{slot} is not {state}: {slots(pool)}\n{pool.logs()}") from None


def told(pool: Pool, name: str = "told") -> list[str]:
    """What the job has said."""
    path = pool.work / name
    return path.read_text().split() if path.exists() else []


def touched(pool: Pool) -> None:
    """Somebody uses the keyboard, and goes on."""
    pool.sense(keyboard_idle_s=0, console_idle_s=0)


def left(pool: Pool) -> None:
    """Nobody has used it for long."""
    pool.sense(keyboard_idle_s=100_000, console_idle_s=100_000)


def test_on_a_desktop_jobs_give_way_to_the_owner_and_come_back(start: Start) -> None:
    # Where the owner goes away again there is no hurry.
    stays = "MaxSuspendTime = (OwnerStays =?= True ? 4 : 3600)\n"
    pool = start(f"use POLICY : Desktop\n{stays}MachineMaxVacateTime = 60\n", cpus=1)
    cluster = pool.submit("", SCRIPT)
    job = f"{cluster}.0"
    pool.seen(job, JobStatus=2)
    touched(pool)
    pool.seen(job, JobStatus=7)
    seen(pool, "slot1", "Claimed/Suspended")
    left(pool)
    pool.seen(job, JobStatus=2)
    touched(pool)
    pool.seen(job, JobStatus=7)
    pool.sense(attributes={"OwnerStays": True})
    evicted = pool.seen(job, JobStatus=1, NumVacates=1)
    assert evicted["VacateReason"]
    assert told(pool) == ["soft"]
    seen(pool, "slot1", "Owner/Idle")
    left(pool)
    pool.seen(job, JobStatus=2, NumJobStarts=2)
    (pool.work / "go").touch()
    pool.wait(cluster)
    kinds = [kind for kind in pool.events(cluster) if kind != "006"]
    assert kinds == ["000", "001", "010", "011", "010", "004", "001", "005"]
    ad = pool.job(job)
    assert (ad["TotalSuspensions"], ad["NumVacates"]) == (2, 1)
    # CONTINUE wants it to stand still for more than 10 s, and then the owner stayed for 4.
    assert ad["CumulativeSuspensionTime"] >= 14


def test_jobs_of_the_test_user_start_whatever_the_owner_does(start: Start) -> None:
    pool = start(f"use POLICY : Desktop\nuse POLICY : Test_User({user_name()})\n", cpus=1)
    touched(pool)
    seen(pool, "slot1", "Unclaimed/Idle")
    cluster = pool.submit("", SCRIPT)
    pool.seen(f"{cluster}.0", JobStatus=2)
    polls = time.time() + 2
    eventually(lambda: time.time() > polls)
    seen(pool, "slot1", "Claimed/Busy")
    (pool.work / "go").touch()
    pool.wait(cluster)
    assert "010" not in pool.events(cluster)


def test_jobs_of_others_wait_for_the_owner_to_leave(start: Start) -> None:
    pool = start("use POLICY : Desktop\nuse POLICY : Test_User(coltrane)\n", cpus=1)
    touched(pool)
    eventually(lambda: all(each["KeyboardIdle"] < 10 for each in ads(pool)) and ads(pool))
    cluster = pool.submit("", "true")
    polls = time.time() + 2
    eventually(lambda: time.time() > polls)
    assert pool.job(f"{cluster}.0")["JobStatus"] == 1
    left(pool)
    pool.wait(cluster)


def test_jobs_leave_at_once_when_working_hours_begin(start: Start) -> None:
    pool = start("use POLICY : Desktop_After_Hours(8, 17, 0, 6)\nMachineMaxVacateTime = 5\n", cpus=1)
    pool.sense(zone_offset_s=_offset_to(3))
    seen(pool, "slot1", "Unclaimed/Idle")
    cluster = pool.submit("", SCRIPT)
    pool.seen(f"{cluster}.0", JobStatus=2)
    pool.sense(zone_offset_s=_offset_to(10))
    pool.seen(f"{cluster}.0", JobStatus=1, NumVacates=1)
    assert "010" not in pool.events(cluster)
    assert told(pool) == ["soft"]
    (pool.work / "go").touch()
    pool.sense(zone_offset_s=_offset_to(20))
    pool.wait(cluster)


def test_hours_are_those_of_the_present_when_clocks_are_moved(start: Start) -> None:
    policy = (
        'START = True\nWANT_SUSPEND = False\nPREEMPT = formatTime(time(), "%H") == "10"\nMachineMaxVacateTime = 5\n'
    )
    pool = start(policy, cpus=1)
    pool.sense(zone_offset_s=_offset_to(3))
    cluster = pool.submit("", SCRIPT)
    pool.seen(f"{cluster}.0", JobStatus=2)
    pool.sense(zone_offset_s=_offset_to(10))
    pool.seen(f"{cluster}.0", NumVacates=1)
    pool.sense(zone_offset_s=_offset_to(3))
    pool.seen(f"{cluster}.0", JobStatus=2)
    (pool.work / "go").touch()
    pool.wait(cluster)


def _offset_to(hour: int) -> int:
    """The zone in which it is about that hour."""
    now = time.gmtime()
    return (hour * 60 + 30 - now.tm_hour * 60 - now.tm_min) * 60 % 86_400


def test_dedicated_machines_ignore_the_keyboard_and_desktops_do_not(start: Start) -> None:
    dedicated = start("use POLICY : Desktop_Or_Dedicated\n", name="dedicated", cpus=1)
    touched(dedicated)
    cluster = dedicated.submit("", SCRIPT)
    dedicated.seen(f"{cluster}.0", JobStatus=2)
    desktop = start("IsDesktop = True\nuse POLICY : Desktop_Or_Dedicated\n", name="desktop", cpus=1)
    other = desktop.submit("", SCRIPT)
    desktop.seen(f"{other}.0", JobStatus=2)
    touched(desktop)
    desktop.seen(f"{other}.0", JobStatus=7)
    seen(dedicated, "slot1", "Claimed/Busy")
    (dedicated.work / "go").touch()
    dedicated.wait(cluster)


def test_a_job_that_is_to_leave_may_end_within_its_retirement(start: Start) -> None:
    pool = start("PREEMPT = OwnerWantsIt =?= True\nMAXJOBRETIREMENTTIME = 3600\nSUSPEND = False\n", cpus=1)
    cluster = pool.submit("", SCRIPT)
    pool.seen(f"{cluster}.0", JobStatus=2)
    pool.sense(attributes={"OwnerWantsIt": True})
    seen(pool, "slot1", "Claimed/Retiring")
    (pool.work / "go").touch()
    pool.wait(cluster)
    assert told(pool) == ["whole"]
    assert pool.job(f"{cluster}.0")["NumJobStarts"] == 1


def test_a_job_that_does_not_go_when_it_is_asked_to_is_killed(start: Start) -> None:
    policy = "START = OwnerWantsIt =!= True\nPREEMPT = OwnerWantsIt =?= True\n"
    pool = start(f"{policy}MachineMaxVacateTime = 1\nWANT_VACATE = True\n", cpus=1)
    cluster = pool.submit("", 'trap "" TERM; echo $$ > pid; while ! test -f go; do sleep 0.05; done')
    eventually(lambda: told(pool, "pid"))
    pool.seen(f"{cluster}.0", JobStatus=2)
    pool.sense(attributes={"OwnerWantsIt": True})
    pool.seen(f"{cluster}.0", JobStatus=1, NumVacates=1)
    (pool.work / "go").touch()
    pool.sense(attributes={"OwnerWantsIt": False})
    pool.wait(cluster)


def test_a_suspendable_slot_stands_still_while_its_twin_works(start: Start) -> None:
    pool = start(
        """
IsSuspendableSlot = SlotID > 1
NonSuspendableSlotState = eval(strcat("slot", SlotID - 1, "_State"))
STARTD_SLOT_ATTRS = $(STARTD_SLOT_ATTRS) State
STARTD_ATTRS = $(STARTD_ATTRS) IsSuspendableSlot NonSuspendableSlotState
MyNonSuspendableSlotIsIdle = (NonSuspendableSlotState =!= "Claimed" && NonSuspendableSlotState =!= "Preempting")
START = IsSuspendableSlot != True && IsSuspendableJob =!= True \\
  || IsSuspendableSlot && IsSuspendableJob == True && $(MyNonSuspendableSlotIsIdle)
SUSPEND = IsSuspendableSlot && $(MyNonSuspendableSlotIsIdle) != True
WANT_SUSPEND = $(SUSPEND)
CONTINUE = ($(SUSPEND)) != True
""",
        cpus=2,
    )
    patient = pool.submit("+IsSuspendableJob = True\n", SCRIPT)
    pool.seen(f"{patient}.0", JobStatus=2)
    seen(pool, "slot2", "Claimed/Busy")
    urgent = pool.submit("", "while ! test -f urgent; do sleep 0.05; done")
    pool.seen(f"{urgent}.0", JobStatus=2)
    pool.seen(f"{patient}.0", JobStatus=7)
    (pool.work / "urgent").touch()
    pool.wait(urgent)
    pool.seen(f"{patient}.0", JobStatus=2)
    (pool.work / "go").touch()
    pool.wait(patient)
    assert told(pool) == ["whole"]


def test_a_preferred_job_gets_the_slot_though_the_other_needs_long_to_leave_and_a_short_lease_is_kept(
    start: Start,
) -> None:
    pool = start("NUM_SLOTS = 1\nRANK = TARGET.Boss =?= True\n", cpus=1)
    slow = pool.submit(
        "",
        script="""
trap "echo soft >> told; sleep 7; exit 3" TERM
echo begun >> begun
while ! test -f go; do sleep 0.05; done
""",
    )
    eventually(lambda: told(pool, "begun") == ["begun"])
    boss = pool.submit(
        "+Boss = True\njob_lease_duration = 20\n", script="echo begun >> boss; sleep 26; echo end >> boss"
    )
    eventually(lambda: told(pool, "boss") == ["begun"])
    assert told(pool) == ["soft"]
    pool.work.joinpath("go").touch()
    pool.wait(boss)
    assert told(pool, "boss") == ["begun", "end"], "it ran once, beyond its lease"
    pool.wait(slow)
    assert (told(pool), told(pool, "begun")) == (["soft"], ["begun", "begun"])
