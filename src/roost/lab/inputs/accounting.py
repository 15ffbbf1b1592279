"""Grid Engine's accounting file as a trace: what was submitted, and how long it actually ran.

Each line is a record of accounting(5) for a job or for a task of an array. The category has the requests as options of
`qsub`. For a job with several runs the last one counts; records of slave tasks are left out.
"""

from __future__ import annotations

import shlex
from typing import Any, Final

from roost.gridengine.commands.errors import Failure
from roost.gridengine.commands.options import Option, taken
from roost.gridengine.commands.qsub import OPTIONS, Asked, requests_of
from roost.lab.machines import LabError
from roost.model import cell_requests as cell
from roost.sim.inputs.swf import Recorded
from roost.sim.inputs.workload import Job, Truth, make_job

#: Indices of fields, from 0.
_OWNER, _NAME, _NUMBER, _PRIORITY, _SUBMITTED, _START, _END, _EXIT = 3, 4, 5, 7, 8, 9, 10, 12
_PROJECT, _ENVIRONMENT, _SLOTS, _TASK, _CATEGORY, _SLAVE = 31, 33, 34, 35, 39, 41
#: Minimum number of fields in a line.
FIELDS: Final = 42
#: What Grid Engine adds to a category in addition to options of `qsub`.
_ADDED: Final = (Option("U", "", "lists"), Option("u", "", "users"))
_NONE: Final = ("NONE", "none", "")


def read_accounting(text: str, start: float, *, file: str = "accounting") -> Recorded:
    """The jobs of a file, submitted relative to `start`. Raises LabError with the place."""
    rows: dict[tuple[int, int], list[str]] = {}
    never = 0
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = line.split(":")
        place = f"{file}:{number}"
        if len(fields) < FIELDS:
            raise LabError(f"{place}: {len(fields)} fields where accounting(5) has {FIELDS} or more")
        if fields[_SLAVE] not in _NONE:
            continue
        began, ended = (_whole(fields[each], place) for each in (_START, _END))
        if not began or ended < began:
            never += 1
            continue
        rows[_whole(fields[_NUMBER], place), _whole(fields[_TASK], place)] = [*fields, place]
    if not rows:
        return Recorded([], never)
    first = min(_whole(each[_SUBMITTED], each[-1]) for each in rows.values())
    jobs, procs = [], dict[int, int]()
    for (number, task), fields in sorted(rows.items()):
        proc = procs[number] = procs.get(number, -1) + 1
        jobs.append(_job(number, proc, task, fields, start - first))
    jobs.sort(key=lambda job: (job.submitted_at, job.ad["ClusterId"], job.ad["ProcId"]))
    return Recorded(jobs, never)


def _whole(text: str, place: str) -> int:
    try:
        return int(float(text))
    except ValueError:
        raise LabError(f"{place}: a number was expected; found {text[:40]!r}") from None


def _job(number: int, proc: int, task: int, fields: list[str], shift_s: float) -> Job:
    place = fields[-1]
    run_s = float(max(1, _whole(fields[_END], place) - _whole(fields[_START], place)))
    attributes = _asked(fields[_CATEGORY], place)
    slots, environment = _whole(fields[_SLOTS], place), fields[_ENVIRONMENT]
    if environment not in _NONE:
        attributes.setdefault(cell.PARALLEL, f"{environment} {max(1, slots)}")
    if fields[_PROJECT] not in _NONE:
        attributes[cell.PROJECT] = fields[_PROJECT]
    attributes |= {cell.NAME: fields[_NAME], "JobPrio": _whole(fields[_PRIORITY], place), "Requirements": "true"}
    if task:
        attributes[cell.TASK_NUMBER] = task
    truth = Truth(run_s=run_s, exit_code=min(255, max(0, _whole(fields[_EXIT], place))))
    at = _whole(fields[_SUBMITTED], place) + shift_s
    return make_job(number, fields[_OWNER], at, truth, attributes, fields[_CATEGORY], proc=proc)


def _asked(category: str, place: str) -> dict[str, Any]:
    """The requests of a category, as attributes of a job."""
    try:
        given, _ = taken("qsub", shlex.split(category), (*OPTIONS, *_ADDED))
        asked = Asked()
        asked.take([each for each in given if each.name not in ("U", "u")])
    except (Failure, ValueError) as problem:
        raise LabError(f"{place}: category {category!r}: {' '.join(str(problem).split())}") from None
    return {name: value for name, value in requests_of(asked).items() if value not in (None, False, "")}
