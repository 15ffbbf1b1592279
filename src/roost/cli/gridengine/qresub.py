"""``qresub``: submit copies of jobs that are in the queue, as they are now, without their holds.

A copy is described as `qsub` would describe it, so that its files have its own number; everything else is copied.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from roost.cli.gridengine.asking import ask
from roost.cli.gridengine.description import described
from roost.cli.pool_connection import Refused
from roost.gridengine.commands.errors import BAD_VALUE, FAILED, USAGE, Failure
from roost.gridengine.commands.options import Option, taken, usage
from roost.gridengine.commands.qsub import Asked
from roost.model import cell_requests as cell
from roost.wire.requests import queue

if TYPE_CHECKING:
    from roost.cli.pool_connection import Pool
    from roost.schedd.submit.plan import ClusterPlan

OPTIONS: Final = (Option("h", "submit the copies on hold: some of the letters u, o and s; n: do not", "hold_list"),)
_POSITIONAL: Final = "job_id_list"
#: Attributes that are copied unchanged.
_COPIED: Final = (
    cell.NAME, "Cmd", "Arguments", "Environment", "JobPrio", "Requirements", cell.SCRIPT, cell.SHELL, cell.DIRECT,
    cell.ACCOUNT, cell.OUTPUT_PATHS, cell.ERROR_PATHS, cell.INPUT_PATHS, cell.MERGES, cell.DIRECTORY, cell.MAIL_LIST,
    cell.RERUN, cell.NOT_BEFORE, cell.RESOURCES, cell.SOFT_RESOURCES, cell.QUEUES, cell.SOFT_QUEUES, cell.PROJECT,
    cell.PARALLEL, cell.MASTER_QUEUES, cell.BINDING, cell.TASKS, cell.PREDECESSORS, cell.PREDECESSORS_ASKED,
    cell.ARRAY_PREDECESSORS, cell.ARRAY_PREDECESSORS_ASKED,
    cell.RESERVE, cell.SHARE, cell.DEADLINE, cell.RESERVATION,
)  # fmt: skip
#: Exit statuses.
_REFUSED: Final = 4
_NO_OPERATOR: Final = 10
_UNKNOWN: Final = 5


def run(name: str, arguments: list[str]) -> int:
    """Run ``qresub``."""
    other = next((word for word in arguments if word.startswith("-") and word != "-h"), None)
    if other is not None:
        raise Failure(f"Unknown option {other}\n", _UNKNOWN)
    try:
        given, rest = taken("qalter", arguments, OPTIONS)
    except Failure as failure:
        raise Failure(str(failure), USAGE) from None
    jobs = [part for word in rest for part in word.split(",") if part]
    nothing = next((word for word in rest if not word.strip(",")), None)
    if nothing is not None:
        raise Failure(f'qalter: Wrong job id list format "{nothing}" specified', BAD_VALUE)
    if not jobs:
        raise Failure(f"{usage('qresub', OPTIONS, _POSITIONAL)}ERROR! no option argument", FAILED)
    holds = "".join(each.value for each in given)
    if not set(holds) <= set("nuosUOS"):
        raise Failure(f'qalter: Unknown hold list "{holds}" specified to -h option', BAD_VALUE)
    if any("." in job for job in jobs):
        raise Failure("denied: the selected option works only on jobs and not on tasks", _REFUSED)
    # A name does not select a job here, as in Grid Engine.
    numbers = [int(job) if job.isdecimal() and len(job) < 10 else 0 for job in jobs]
    letters = "".join(letter for letter in cell.HOLDS if letter in holds)
    return ask(name, lambda pool: _resubmit(pool, numbers, letters))


def _resubmit(pool: Pool, numbers: list[int], letters: str) -> int:
    """Submit copies of all jobs, or of none, with these holds."""
    plans = []
    for number in numbers:
        rows = pool.ask(queue.Query(jobs=(str(number),))) if number else []
        if not rows:
            sys.stdout.write(f'job "{number}" does not exist\n')
            return _REFUSED
        owner = str(rows[0].get("Owner", ""))
        if owner != pool.user:
            from roost.runtime.identity import host_name

            who = f"{pool.user}@{host_name()}"
            sys.stdout.write(f"job rejected: {who} is not allowed to resubmit jobs of user {owner}\n")
            return _REFUSED
        if cell.NAME not in rows[0]:
            raise Failure(f"qresub: job {number} was not submitted by qsub; submit its description again", _REFUSED)
        plans.append(_copy(min(rows, key=lambda row: int(row["ProcId"])), is_held=bool(letters)))
    for number, plan in zip(numbers, plans, strict=True):
        try:
            (done,) = pool.ask(queue.Submit(clusters=(plan.to_data(),)))
        except Refused as refused:
            sys.stdout.write(f"{refused.answer.text or refused}\n")
            return _REFUSED
        if letters:
            if status := _hold(pool, done.cluster, letters):
                return status
            sys.stdout.write(f"modified hold of job {number}\n")
        tasks = plan.common.get(cell.TASKS)
        what = f"job-array {done.cluster}.{tasks}" if isinstance(tasks, str) else f"job {done.cluster}"
        sys.stdout.write(f'Your {what} ("{plan.common.get(cell.NAME)}") has been submitted\n')
    return 0


def _hold(pool: Pool, cluster: int, letters: str) -> int:
    """Set the holds of a copy that was submitted with a user hold; if that is refused, remove it. Returns the exit
    status.
    """
    jobs = (str(cluster),)
    if letters == "u":
        return 0
    try:
        pool.ask(queue.Act(action="hold", jobs=jobs, reason=f"by user {pool.user}", attributes={cell.HELD: letters}))
        if "u" not in letters:
            pool.ask(queue.Act(action="release", jobs=jobs, reason="qresub", attributes={cell.HELD: "u"}))
    except Refused as refused:
        pool.ask(queue.Act(action="remove", jobs=jobs, reason="qresub: its holds were refused"))
        sys.stdout.write(f"{refused.answer.text or refused}\n")
        return _NO_OPERATOR
    return 0


def _copy(row: Any, *, is_held: bool) -> ClusterPlan:
    """The plan of a copy of a job."""
    from roost.classad.ad import MISSING
    from roost.explain.cell_tasks import array_of
    from roost.wire.ads import ad_from

    ad = ad_from(row)
    asked = Asked(tasks=array_of(row))
    for option, name in (("o", cell.OUTPUT_PATHS), ("e", cell.ERROR_PATHS), ("i", cell.INPUT_PATHS)):
        if isinstance(row.get(name), str) and row[name]:
            asked.texts[option] = row[name]
    if isinstance(row.get("JobMaterializeLimit"), int):
        asked.texts["tc"] = str(row["JobMaterializeLimit"])
    asked.yes["j"] = row.get(cell.MERGES) is True
    asked.texts["wd"] = str(row.get("Iwd", ""))
    if is_held:
        asked.flags.add("h")
    plan = described(asked, str(row[cell.NAME]))
    for name in _COPIED:
        value = ad.cell(name.lower())
        if value is not MISSING:
            plan.common.put(name, value)
    return plan
