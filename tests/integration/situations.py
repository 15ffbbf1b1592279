"""Situations of jobs and slots on real pools, a row each: how it comes about, what is said of it, and what ends it.

A row is data where it can be: lines of a submit description, words of commands. `{job}` in a word is the row's job.
What needs more is a function of the stage. Rows of one pool come about side by side, but for those that are `alone`.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tests.integration.kit import PATIENCE_S, Pool, eventually

SLEEP: Final = "exec sleep 600"
#: How long one thing of a row may take, s.
ROW_S: Final = PATIENCE_S / 4


@dataclass(slots=True)
class Stage:
    """A pool with one row on it."""

    pool: Pool
    job: str = ""
    #: Jobs that the row needs besides its own, in their order.
    others: list[str] = field(default_factory=list)

    def submit(self, text: str = "", script: str = SLEEP) -> str:
        """The first job of a new cluster."""
        return f"{self.pool.submit(text.replace('@work@', str(self.pool.work)), script or None)}.0"

    def other(self, text: str = "", script: str = SLEEP, **seen: Any) -> None:
        """Another job, once it is seen to be as wanted."""
        self.others.append(self.submit(text, script))
        if seen:
            self.seen(self.others[-1], **seen)

    def seen(self, job: str, **attributes: Any) -> None:
        """Wait until a job has these attributes."""
        ad: dict[str, Any] = {}

        def look() -> bool:
            ad.update(self.pool.job(job))
            return all(ad.get(name) == value for name, value in attributes.items())

        shown = ("JobStatus", "HoldReason", "HoldReasonCode", "NumVacates", "NumJobStarts", *attributes)
        eventually(look, lambda: f"{job}: {attributes} in { ({each: ad.get(each) for each in shown}) }", ROW_S)

    def run(self, *words: str) -> None:
        """A command of Roost."""
        self.pool(*(word.replace("{job}", self.job).replace("{user}", self.user) for word in words))

    @property
    def user(self) -> str:
        """The user whose jobs they are, as the pool names users."""
        return str(self.pool.jobs(self.job)[0]["User"])


Step = Callable[[Stage], None]
Words = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """One row."""

    name: str
    pool: str = "plain"
    #: Lines of the job's description, and its script; `no_job` for none.
    job: str = ""
    script: str = SLEEP
    no_job: bool = False
    #: What happens before the job is submitted, and after.
    before: Step | None = None
    after: Step | tuple[Words, ...] = ()
    #: The job's attributes that are waited for before anything is asked.
    seen: Mapping[str, Any] = field(default_factory=dict)
    #: The question.
    ask: Words = ("explain", "job", "{job}")
    #: The first cause in the JSON; "" where the question has none.
    cause: str = ""
    #: Texts of the answer, in any order; and those that would be wrong.
    says: Words = ()
    never: Words = ()
    #: Kind of a remedy in the JSON.
    remedy: str = ""
    #: What ends it: the commands of the remedies, as they stand; or other commands; or a function. () for nothing.
    cure: Step | tuple[Words, ...] | str = ()
    #: The job's attributes once it is cured.
    cured: Mapping[str, Any] = field(default_factory=lambda: {"JobStatus": 2})
    #: It must not come about next to others.
    alone: bool = False


#: Remedies that are none for those who may have no more slots.
NO_SLOT_HELPS: Final = ("PREEMPTION_REQUIREMENTS", "Wait until a slot is free")
REMEDIES: Final = "the commands of the remedies"

POOLS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "plain": (
        """
NUM_SLOTS = 4
NEGOTIATOR_INTERVAL = 1
ALLOW_VALUES = green
Colour = "green"
STARTD_ATTRS = $(STARTD_ATTRS) Colour
START = (SlotID != 4 || OwnerHere =!= true) && TARGET.Banned =!= true
IS_OWNER = TARGET.Haunted =?= true
PREEMPT = TARGET.Leave =?= true
WANT_SUSPEND = TARGET.Pauses =?= true
SUSPEND = TARGET.Pauses =?= true && OwnerHere =?= true
CONTINUE = OwnerHere =!= true
WANT_HOLD = TARGET.Offends =?= true
WANT_HOLD_REASON = "too loud"
KILL = TARGET.Stubborn =?= true && (time() - EnteredCurrentActivity) > 1
STARTER_EVICT = Unwelcome =?= true
MachineMaxVacateTime = 300
SYSTEM_PERIODIC_HOLD = JobStatus == 1 && Suspicious =?= true
LICENCE_LIMIT = 1
GROUP_NAMES = group_small
GROUP_QUOTA_group_small = 0
START_LOCAL_UNIVERSE = TotalLocalJobsRunning < 1
RANK = TARGET.Dear =?= true ? 10 : 0
PREEMPTION_REQUIREMENTS = False
CLAIM_WORKLIFE = 0
""",
        {"cpus": 4},
    ),
    "limited": (
        "NUM_SLOTS = 3\nNEGOTIATOR_INTERVAL = 1\nMAX_JOBS_RUNNING = 1\n",
        {"cpus": 3},
    ),
    "closing": (
        "NUM_SLOTS = 1\nNEGOTIATOR_INTERVAL = 1\nSTARTER_PROLOG = @place@/prolog\n",
        {"cpus": 1},
    ),
    "hooks": (
        "NUM_SLOTS = 1\nNEGOTIATOR_INTERVAL = 1\nSTARTD_JOB_HOOK_KEYWORD = DB\nDB_HOOK_FETCH_WORK = @place@/hang\n"
        'FetchWorkDelay = 1\nSTART = (Activity == "Idle" && State != "Unclaimed") || TARGET.Bad =!= true\n',
        {"cpus": 1},
    ),
    "policy": (
        """
NUM_SLOTS = 2
NEGOTIATOR_INTERVAL = 1
NEGOTIATOR_PE_JOB_ONLY_EXPR = MY.Secret =?= true
NEGOTIATOR_JOB_CONSTRAINT = Unwanted =!= true
NEGOTIATOR_PE_RESOURCE_EXPR = TARGET.Kind =!= "student" && (TARGET.Odd =!= true || TARGET.RequestMemory < "x")
NEGOTIATOR_PE_JOB_EXPR = MY.Pinned =!= true || TARGET.SlotID == 1
NEGOTIATOR_PE_STARTD_ONLY_EXPR = Broken =?= true
NEGOTIATOR_PE_SCHEDD_ONLY_EXPR = regexp("^evil", Name)
PREEMPTION_REQUIREMENTS = TARGET.Urgent =?= true
""",
        {"cpus": 2},
    ),
    "parts": (
        """
NUM_SLOTS = 1
NUM_SLOTS_TYPE_1 = 1
SLOT_TYPE_1 = 100%
SLOT_TYPE_1_PARTITIONABLE = true
NEGOTIATOR_INTERVAL = 1
MAXJOBRETIREMENTTIME = 600
MachineMaxVacateTime = 10
""",
        {"cpus": 4},
    ),
}


# -- what rows do ------------------------------------------------------------------------------------------------


def _sense(**attributes: Any) -> Step:
    """The machine's sensors read other attributes; its slots show them."""

    def sense(stage: Stage) -> None:
        stage.pool.sense(attributes=attributes)
        shown = {"OwnerHere": None, "Broken": None, **attributes}
        eventually(
            lambda: all(each.get(name) == value for each in _slots(stage) for name, value in shown.items()),
            f"the slots to show {attributes}",
        )

    return sense


def _slots(stage: Stage) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(stage.pool("status", "--json"))
    return rows


def _all_slots_busy(stage: Stage) -> None:
    for _ in range(4):
        stage.others.append(stage.submit())
    for other in stage.others:
        stage.seen(other, JobStatus=2)


def _another(text: str = "", script: str = SLEEP, **seen: Any) -> Step:
    return lambda stage: stage.other(text, script, **seen)


def _remove_others(stage: Stage) -> None:
    stage.pool("rm", *stage.others)


def _lose_input(stage: Stage) -> None:
    (stage.pool.work / "input").unlink()
    stage.run("release", "{job}")
    stage.seen(stage.job, JobStatus=5, HoldReasonCode=13)


def _make_input(stage: Stage) -> None:
    (stage.pool.work / "input").write_text("x")


def _later(seconds: int) -> Step:
    def edit(stage: Stage) -> None:
        stage.run("edit", "{job}", "--set", f"DeferralTime={int(time.time()) + seconds}", "--set", "DeferralWindow=600")

    return edit


def _stop_machine(stage: Stage) -> None:
    os.kill(stage.pool.pid("node"), signal.SIGSTOP)


def _wake_machine(stage: Stage) -> None:
    os.kill(stage.pool.pid("node"), signal.SIGCONT)


def _drained(stage: Stage) -> None:
    stage.pool("drain", "--reason", "new disks")
    eventually(lambda: all(each["State"] == "Drained" for each in json.loads(stage.pool("status", "--json"))))


def _odd_program(stage: Stage) -> None:
    path = stage.pool.work / "odd"
    path.write_text("#!/no/such/interpreter\n")
    path.chmod(0o755)


def _mend_program(stage: Stage) -> None:
    (stage.pool.work / "odd").write_text("#!/bin/sh\nsleep 600\n")
    stage.run("release", "{job}")


def _give_input(stage: Stage) -> None:
    _make_input(stage)
    stage.run("release", "{job}")


def _limited_cluster(stage: Stage) -> None:
    # As of a node of a workflow: all of its jobs are in the queue from the start.
    nodes = stage.pool.work / "nodes.log"
    cluster = stage.pool.submit(f'max_materialize = 1\n+DAGManNodesLog = "{nodes}"\nqueue 2', SLEEP)
    stage.others, stage.job = [f"{cluster}.0"], f"{cluster}.1"
    stage.seen(f"{cluster}.0", JobStatus=2)


def _three_busy(stage: Stage) -> None:
    for _ in range(3):
        stage.other("+Dear = true")
    for other in stage.others:
        stage.seen(other, JobStatus=2)


def _dear(stage: Stage) -> None:
    stage.other("accounting_group = group_large\n+Dear = true", JobStatus=2)


def _reopened(stage: Stage) -> None:
    (stage.pool.place.parent / "broken").unlink()
    stage.pool("reopen", "slot1")


def _break(stage: Stage) -> None:
    (stage.pool.place.parent / "broken").touch()


def _start_slowly(stage: Stage) -> None:
    # The other job's start counts.
    _configured(stage, "MAX_JOBS_RUNNING = 100\nJOB_START_DELAY = 600\n")


def _start_quickly(stage: Stage) -> None:
    _configured(stage, "JOB_START_DELAY = 0\n")


def _configured(stage: Stage, lines: str) -> None:
    with (stage.pool.home / "roost.config").open("a") as file:
        file.write(lines)
    stage.pool("reconfig")


def _other_has_all(stage: Stage) -> None:
    for _ in range(2):
        stage.other(JobStatus=2)
    stage.pool("userprio", "--set-factor", "1000000", str(stage.pool.jobs(stage.others[0])[0]["User"]))


FAR: Final = 4_000_000_000
#: It would run for years.
HOSTILE: Final = 'regexp("(a+)+$", "' + "a" * 40 + '!")'


SITUATIONS: Final = (
    # -- requests and requirements ---------------------------------------------------------------------------------
    Situation(
        name="more memory than any slot has", job="request_memory = 5000", cause="request-too-large",
        says=("4  rejected by the job: TARGET.Memory >= RequestMemory", "Lower request_memory to 1024 MB or less"),
        remedy="edit", cure=REMEDIES,
    ),
    Situation(
        name="more cores than any slot has", job="request_cpus = 64", cause="request-too-large",
        says=("Lower request_cpus to 1 or less",), remedy="edit", cure=REMEDIES,
    ),
    Situation(
        name="more disk than any slot has", job="request_disk = 900TB", cause="request-too-large",
        says=("Lower request_disk to",), remedy="edit", cure=REMEDIES,
    ),
    Situation(
        name="a graphics processor where there is none", job="request_gpus = 1",
        cause="no-such-resource", says=("any GPUs; remove request_gpus",), remedy="edit", cure=REMEDIES,
    ),
    Situation(
        name="a custom resource that no machine has", job="request_widgets = 2",
        cause="no-such-resource", says=("any widgets",), remedy="edit", cure=REMEDIES,
    ),
    Situation(
        name="a misspelt attribute", job="requirements = Memroy > 10", cause="misspelt",
        says=("there is no Memroy", "did you mean Memory?"), remedy="edit", cure=REMEDIES,
    ),
    Situation(
        name="a clause of the job that no slot meets", job='requirements = TARGET.Arch == "SPARC"',
        cause="requirements", remedy="edit",
        says=('rejected by the job: TARGET.Arch == "SPARC"', 'remove TARGET.Arch == "SPARC" from its requirements'),
        cure=REMEDIES,
    ),
    Situation(
        name="both of two alternatives fail",
        job='requirements = (TARGET.Colour == "red" || TARGET.Colour == "blue")', cause="requirements",
        says=('neither TARGET.Colour == "red" nor TARGET.Colour == "blue"',),
        never=('rejected by the job: TARGET.Colour == "red" and',), remedy="edit", cure=REMEDIES,
    ),
    Situation(
        name="the machines' START wants something of the job", job="+Banned = true", cause="machine-policy",
        says=("4  reject the job", "TARGET.Banned"), remedy="edit", cure=REMEDIES,
    ),
    Situation(
        name="rejected by both sides", job="+Banned = true\nrequest_memory = 5000", cause="request-too-large",
        says=("Lower request_memory to 1024 MB", "set Banned to"), remedy="edit", cure=REMEDIES,
    ),
    Situation(
        name="the owner's policy alone keeps the slot", job="requirements = TARGET.SlotID == 4", alone=True,
        before=_sense(OwnerHere=True), cause="machine-policy", says=("OwnerHere",),
        never=("Lower request",), remedy="owner", cure=_sense(),
    ),
    # -- limits ----------------------------------------------------------------------------------------------------
    Situation(
        name="IS_OWNER ends each claim for a job that START accepts", job="+Haunted = true", alone=True,
        cause="not-starting", says=("ended the claim: owner present", "IS_OWNER is TRUE for the job"), remedy="policy",
        cure=(("edit", "{job}", "--set", "Haunted=false"),),
    ),
    Situation(
        name="a concurrency limit", job="concurrency_limits = licence", alone=True,
        before=_another("concurrency_limits = licence", JobStatus=2), cause="concurrency-limit",
        says=("Concurrency limit licence: 1 of 1 are in use.", "LICENCE_LIMIT"), remedy="limit", cure=_remove_others,
    ),
    Situation(
        name="more of a concurrency limit than there is", job="concurrency_limits = licence:2",
        cause="concurrency-limit", says=("Concurrency limit licence is 1, but this job needs 2.",), remedy="limit",
        never=("Wait until", *NO_SLOT_HELPS), cure=(("edit", "{job}", "--set", 'ConcurrencyLimits="licence:1"'),),
    ),
    Situation(
        name="a group's quota", job="accounting_group = group_small", cause="group-quota",
        says=("Group group_small uses 0 of its quota of 0", "GROUP_QUOTA_group_small"),
        remedy="limit", never=("Wait until", *NO_SLOT_HELPS),
    ),
    Situation(
        name="a user's ceiling", alone=True,
        before=lambda stage: (stage.other(JobStatus=2),
                              stage.pool("userprio", "--ceiling", "1", stage.pool.jobs()[0]["User"])),
        cause="user-ceiling", says=("is at its ceiling (roost userprio --ceiling): it may use 1 at once",),
        never=NO_SLOT_HELPS, remedy="limit", cure=(("userprio", "--ceiling", "1000", "{user}"),),
    ),
    Situation(
        name="the queue runs as many jobs as it may", pool="limited", alone=True, before=_another(JobStatus=2),
        cause="queue-limit", says=("MAX_JOBS_RUNNING is 1", "to raise MAX_JOBS_RUNNING"), remedy="limit",
        never=("would run it now", "It is new", *NO_SLOT_HELPS), cure=_remove_others,
    ),
    Situation(
        name="the queue starts no more jobs for now", pool="limited", alone=True, before=_another(JobStatus=2),
        after=_start_slowly, cause="queue-limit", says=("JOB_START_COUNT is 1", "after JOB_START_DELAY"),
        remedy="limit", never=("would run it now",), cure=_start_quickly,
    ),
    Situation(
        name="a user's ceiling, and other slots are in use as well", alone=True,
        before=lambda stage: (_all_slots_busy(stage),
                              stage.pool("userprio", "--ceiling", "4", stage.pool.jobs()[0]["User"])),
        cause="user-ceiling", says=("is at its ceiling",), never=NO_SLOT_HELPS, remedy="limit",
        cure=(("userprio", "--ceiling", "1000", "{user}"),), cured={},
    ),
    # -- users of the slots ----------------------------------------------------------------------------------------
    Situation(
        name="all slots are in use by the same user", alone=True, before=_all_slots_busy, cause="busy",
        says=("4  would run it, but are in use and keep their jobs",), never=("JobPrio",),
        remedy="wait", cure=_remove_others,
    ),
    Situation(
        name="another user has all slots, and nothing is preempted", alone=True, before=_all_slots_busy,
        job="accounting_group = group_large", says=("in use by", "PREEMPTION_REQUIREMENTS (False ["),
        cause="busy", remedy="policy", cure=_remove_others,
    ),
    Situation(
        name="another user comes first", alone=True, job="accounting_group = group_large",
        before=lambda stage: (_all_slots_busy(stage), stage.other("priority = 5")),
        after=(("userprio", "--set-factor", "1000000", "group_large.{user}"),),
        says=("is served before group_large", "`roost userprio` shows them"), remedy="priority", cure=_remove_others,
    ),
    # -- holds -----------------------------------------------------------------------------------------------------
    Situation(
        name="held by a user", alone=True, seen={"JobStatus": 2}, after=(("hold", "{job}", "--reason", "later"),),
        says=("is on hold", "code 1", "later", "by "), remedy="release", cure=REMEDIES,
    ),
    Situation(
        name="submitted on hold", job="hold = true", says=("code 15",), remedy="release", cure=REMEDIES,
    ),
    Situation(
        name="held by its own policy", job="periodic_hold = JobStatus == 2", seen={"JobStatus": 5},
        says=("code 3", "PeriodicHold"), remedy="edit", cure=REMEDIES,
    ),
    Situation(
        name="held at its exit", job="on_exit_hold = ExitCode == 3", script="[ -e again ] && sleep 600; exit 3",
        seen={"JobStatus": 5}, says=("OnExitHold",), remedy="release",
    ),
    Situation(
        name="held by the pool", job="requirements = false\n+Suspicious = true", seen={"JobStatus": 5},
        says=("code 26", "Only the administrator can change SYSTEM_PERIODIC_HOLD"), remedy="policy",
        cure=(("edit", "{job}", "--set", "Suspicious=false", "--set", "Requirements=true"), ("release", "{job}")),
    ),
    Situation(
        name="held by the machine", job="+Leave = true\n+Offends = true", seen={"JobStatus": 5},
        says=("code 21", "too loud", "WANT_HOLD"), remedy="owner",
        cure=(("edit", "{job}", "--set", "Leave=false"), ("release", "{job}")),
    ),
    Situation(
        name="its interpreter is missing", script="", job="executable = @work@/odd", before=_odd_program,
        seen={"JobStatus": 5}, says=("Fix what prevented its program from starting",),
        remedy="edit", cure=_mend_program,
    ),
    Situation(
        name="it did not make the file that is to be transferred", seen={"JobStatus": 5}, script="exit 0",
        job="transfer_output_files = result\nshould_transfer_files = YES\nwhen_to_transfer_output = ON_EXIT",
        says=("code 12", "the job did not create the file", "Then `roost release"), remedy="release",
    ),
    Situation(
        name="an input file is missing", seen={"JobStatus": 5}, alone=True,
        job="hold = true\ntransfer_input_files = input\nshould_transfer_files = YES", before=_make_input,
        after=_lose_input, says=("code 13", "input"), remedy="edit", cure=_give_input,
    ),
    Situation(
        name="it ran longer than it may", job="allowed_execute_duration = 1", seen={"JobStatus": 5},
        says=("code 47", "allowed_execute_duration"), remedy="edit", cure=REMEDIES,
    ),
    # -- times and other places ------------------------------------------------------------------------------------
    Situation(
        name="it is to start later", job=f"deferral_time = {FAR}", cause="deferred",
        says=("It is due to start at", "Wait until then"), remedy="wait", cure=_later(1),
    ),
    Situation(
        name="its time is past", job="deferral_time = 1000000000", cause="deferral-missed",
        says=("Its start time has passed",), remedy="edit", cure=_later(1),
    ),
    Situation(
        name="a crontab's next time is far",
        job="cron_minute = 0\ncron_hour = 0\ncron_day_of_month = 29\ncron_month = 2",
        cause="deferred", says=("It is due to start at 02-29 00:00:00",), remedy="wait",
    ),
    Situation(
        name="as many jobs of its cluster as may are at work", alone=True, cause="materialize-limit",
        before=_limited_cluster, no_job=True, says=("At most 1 job of its cluster may be in the queue at a time",),
        remedy="wait", cure=_remove_others,
    ),
    Situation(
        name="the queue's machine runs as many local jobs as it may", job="universe = local", alone=True,
        before=_another("universe = local", JobStatus=2), cause="local-policy",
        says=("START_LOCAL_UNIVERSE is not TRUE: TotalLocalJobsRunning < 1",), remedy="policy", cure=_remove_others,
    ),
    # -- what jobs do on machines ----------------------------------------------------------------------------------
    Situation(
        name="it runs", alone=True, seen={"JobStatus": 2}, says=("runs on slot",),
    ),
    Situation(
        name="it has a slot, and waits there for its time", alone=True,
        job=f"deferral_time = {FAR}\ndeferral_prep_time = {FAR}",
        seen={"JobStatus": 2}, says=("Its program has not started there yet", "It is due to start at"),
        never=("runs on slot",),
    ),
    Situation(
        name="suspended by a user", alone=True, seen={"JobStatus": 2, "NumJobStarts": 1}, after=(("suspend", "{job}"),),
        ask=("story", "job", "{job}"), says=("suspended by ",), never=("suspend by",), cure=(("continue", "{job}"),),
        cured={"JobStatus": 2},
    ),
    Situation(
        name="evicted by the owner's PREEMPT", job="+Leave = true", script="trap 'exit 0' TERM; sleep 600 & wait",
        seen={"NumVacates": 1}, ask=("story", "job", "{job}"),
        says=("PREEMPT is TRUE [", "TARGET.Leave", "evicted: PREEMPT expression evaluated to True; it is idle again"),
    ),
    Situation(
        name="killed by the owner's KILL", job="+Leave = true\n+Stubborn = true\n+MaxJobRetirementTime = 0",
        script="trap '' TERM; while :; do sleep 0.2; done", seen={"NumVacates": 1}, ask=("story", "job", "{job}"),
        says=("KILL is TRUE [", "TARGET.Stubborn"), alone=True,
    ),
    Situation(
        name="evicted by the starter's own policy", job="+Unwelcome = true", alone=True,
        script="trap '' TERM; while :; do sleep 0.2; done", seen={"JobStatus": 2}, ask=("story", "job", "{job}"),
        says=("the starter: Running", "Vacating: STARTER_EVICT true", "STARTER_EVICT is TRUE [", "Unwelcome"),
    ),
    Situation(
        name="a starter that evicts is shown in the status", job="+Unwelcome = true", alone=True,
        script="trap '' TERM; while :; do sleep 0.2; done", seen={"JobStatus": 2}, ask=("status",),
        says=("Busy/Vacating",),
    ),
    Situation(
        name="vacated by hand", alone=True, seen={"JobStatus": 2, "NumJobStarts": 1}, after=(("vacate", "{job}"),),
        ask=("story", "job", "{job}"), says=("evicted:", "by "), never=("gets the slot",),
    ),
    Situation(
        name="held while it ran", alone=True, seen={"JobStatus": 2, "NumJobStarts": 1},
        after=(("hold", "{job}", "--reason", "pause"),), ask=("story", "job", "{job}"),
        says=("left its machine in order to be held", "put on hold (code 1): pause"), never=("idle again",),
    ),
    Situation(
        name="displaced by a job that the machine prefers", alone=True, seen={"JobStatus": 2}, before=_three_busy,
        after=_dear, ask=("story", "job", "{job}"),
        says=("evicted: Preempted for a higher Ranked job", "for ", "gets the slot"),
    ),
    Situation(
        name="a program that fails is tried again", job="max_retries = 2", script="exit 3", seen={"NumJobStarts": 3},
        ask=("story", "job", "{job}"),
        says=("ended with status 3; it waits for retry 1 of 2", "retry 2 of 2", "finished with status 3"),
    ),
    Situation(
        name="a program that fails is tried again, without a log", job="log =\nmax_retries = 1", script="exit 3",
        seen={"NumJobStarts": 2, "JobStatus": 4}, ask=("story", "job", "{job}"),
        says=("ended with status 3; it waits for retry 1 of 1", "started again", "finished with status 3"),
        never=("left slot",),
    ),
    Situation(
        name="removed by its own policy", job="periodic_remove = JobStatus == 2", seen={"JobStatus": 3},
        ask=("story", "job", "{job}"), says=("removed:", "PeriodicRemove"),
    ),
    # -- machines --------------------------------------------------------------------------------------------------
    Situation(
        name="the prolog closed the slot", pool="closing", before=_break, alone=True,
        cause="slot-closed", says=("reject", "prolog", "roost reopen"), remedy="repair", cure=_reopened,
    ),
    Situation(
        name="the machine is drained", before=_drained, cause="drained", says=("its machine is draining: new disks",),
        remedy="repair", cure=REMEDIES, alone=True,
    ),
    Situation(
        name="the machine does not answer", alone=True, seen={"JobStatus": 2}, after=_stop_machine,
        ask=("explain", "slot", "slot1"), says=("does not answer; this is based on its last ad in the pool",),
        cure=_wake_machine,
    ),
    # -- the pool's policy -----------------------------------------------------------------------------------------
    Situation(
        name="the pool's policy on jobs", pool="policy", job="+Secret = true", cause="pool-policy",
        says=("NEGOTIATOR_PE_JOB_ONLY_EXPR", "administrator"), remedy="policy",
        cure=(("edit", "{job}", "--set", "Secret=false"),),
    ),
    Situation(
        name="NEGOTIATOR_JOB_CONSTRAINT leaves the job out", pool="policy", job="+Unwanted = true",
        cause="job-constraint", says=("NEGOTIATOR_JOB_CONSTRAINT = Unwanted =!= true [",), remedy="policy",
        never=("were not considered", *NO_SLOT_HELPS), cure=(("edit", "{job}", "--set", "Unwanted=false"),),
    ),
    Situation(
        name="the pool's policy on pairs, from the machine's side", pool="policy", job='+Kind = "student"',
        cause="pool-policy", says=("2  forbidden by the pool's policy", "TARGET.Kind"), remedy="policy",
        cure=(("edit", "{job}", "--set", 'Kind="staff"'),),
    ),
    Situation(
        name="the pool's policy is ERROR for a job", pool="policy", job="+Odd = true",
        cause="pool-policy", says=("forbidden by the pool's policy",), remedy="policy",
        cure=(("edit", "{job}", "--set", "Odd=false"),),
    ),
    Situation(
        name="pinned to a slot that the pool's policy forbids", pool="policy", cause="pool-policy",
        job="+Pinned = true\nrequirements = TARGET.SlotID == 2", remedy="policy",
        says=("Only the administrator can change the pool's policy",),
        cure=(("edit", "{job}", "--set", "Pinned=false"),),
    ),
    Situation(
        name="the pool's policy on machines", pool="policy", alone=True, before=_sense(Broken=True),
        cause="pool-policy", says=("excluded by the pool's policy", "NEGOTIATOR_PE_STARTD_ONLY_EXPR"),
        remedy="policy", cure=_sense(),
    ),
    # -- partitionable slots ---------------------------------------------------------------------------------------
    Situation(
        name="what is free of a slot is not enough", pool="parts", job="request_memory = 3000", cause="retirement",
        before=_another("request_memory = 2000", JobStatus=2),
        says=("its free part is too small", "with retirement time left"), never=("Lower request", "Closest"),
        remedy="wait", cure=_remove_others, alone=True,
    ),
    Situation(
        name="all cores of a slot are requested, and others have some", pool="parts", job="request_cpus = 4",
        cause="retirement", before=_another("request_cpus = 1", JobStatus=2), says=("its free part is too small",),
        never=("Lower request", "Closest", "owner's policy"), remedy="wait", cure=_remove_others, alone=True,
    ),
    Situation(
        name="the whole slot is too small", pool="parts", job="request_memory = 9000", cause="request-too-large",
        says=("Lower request_memory to 4096 MB or less",), remedy="edit", cure=REMEDIES, alone=True,
    ),
    # -- more of the pool's policy ---------------------------------------------------------------------------------
    Situation(
        name="the pool's policy on submitters", pool="policy", job="accounting_group = evil", cause="pool-policy",
        says=("excludes its submitter from matchmaking", "NEGOTIATOR_PE_SCHEDD_ONLY_EXPR = "), remedy="policy",
        never=("Lower request",),
    ),
    Situation(
        name="PREEMPTION_REQUIREMENTS is not TRUE for the better user", pool="policy", alone=True,
        job="accounting_group = better", before=_other_has_all, cause="preemption-requirements",
        says=("PREEMPTION_REQUIREMENTS is not TRUE", "Urgent"), remedy="policy", cure=_remove_others,
    ),
    # -- hooks, and questions about slots --------------------------------------------------------------------------
    Situation(
        name="a hook that fetches work hangs", pool="hooks", no_job=True, ask=("explain", "slot", "slot1"),
        says=("Its hook FETCH_WORK has been running for",),
    ),
    Situation(
        name="START is FALSE, and the slot's own state is nothing that its owner can change", pool="hooks", no_job=True,
        ask=("explain", "slot", "slot1", "--job", "{other}"), before=_another("+Bad = true"),
        says=("START is FALSE", "It would be TRUE if TARGET.Bad were not TRUE"),
        never=("if State were", "if Activity were"),
    ),
    Situation(
        name="a question that costs too much", pool="hooks", no_job=True, before=_another("hold = true"),
        says=("takes more than", "hint: Simplify it"), ask=("queue", "--constraint", HOSTILE),
    ),
    Situation(
        name="a slot is named without its machine", pool="hooks", no_job=True, ask=("status", "SLOT1"),
        says=("slot1@",),
    ),
)  # fmt: skip
