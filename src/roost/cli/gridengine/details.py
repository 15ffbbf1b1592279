"""``qstat -j``: the details of a job, and why it waits."""

from __future__ import annotations

import pwd
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from grp import getgrgid
from typing import TYPE_CHECKING, Any, Final

from roost.classad.reading import amount_in
from roost.cli.gridengine import xml
from roost.cli.gridengine.asking import cell_files
from roost.cli.gridengine.choosing import named, tasks_named
from roost.cli.gridengine.tables import date
from roost.cli.pool_connection import Refused
from roost.explain.cell_tasks import Task, limited, slots_asked
from roost.gridengine.commands import context
from roost.gridengine.commands.errors import FAILED, Failure
from roost.gridengine.commands.paths import shells_told, told
from roost.gridengine.scheduling.reasons import Reason, ReasonCode
from roost.model import cell_requests as cell
from roost.model.cell_usage import IO, MEMORY
from roost.model.command_line import arguments_of, environment_of
from roost.model.cycle_answers import JobInCell
from roost.model.scripts import unpacked_script
from roost.wire.ads import ad_from
from roost.wire.requests import central, queue

if TYPE_CHECKING:
    from roost.classad import ClassAd
    from roost.cli.pool_connection import Pool

_LINE: Final = "=" * 62
_INFO: Final = "scheduling info:"
_TASK_LIMIT: Final = Reason(ReasonCode.TASK_LIMIT).sentence()
_DEPENDS: Final = Reason(ReasonCode.DEPENDS).sentence()
#: Variables of the environment about the submitter, in display order.
_ORIGIN: Final = {
    "SGE_O_HOME": "sge_o_home", "SGE_O_LOGNAME": "sge_o_log_name", "SGE_O_PATH": "sge_o_path",
    "SGE_O_SHELL": "sge_o_shell", "SGE_O_TZ": "sge_o_tz", "SGE_O_WORKDIR": "sge_o_workdir", "SGE_O_HOST": "sge_o_host",
}  # fmt: skip


def show(pool: Pool, identifiers: Sequence[str], *, as_xml: bool) -> int:
    """Print the jobs; the exit status."""
    if not identifiers:
        from roost.cli.gridengine.summary import show_all

        return show_all(pool, as_xml=as_xml)
    wanted = named(identifiers, "qstat")
    found = tasks_named(pool, wanted)
    missing = [each.written for each, tasks in zip(wanted, found, strict=True) if not tasks]
    if missing:
        if as_xml:
            sys.stdout.write(xml.unknown(missing))
            return 0
        raise Failure(f"Following jobs do not exist: \n{', '.join(missing)}", FAILED)
    jobs: dict[int, list[Task]] = {}
    for tasks in found:
        for task in tasks:
            of = jobs.setdefault(task.job, [])
            if task not in of:
                of.append(task)
    if as_xml:
        sys.stdout.writelines(_xml(pool, list(jobs.values())))
        return 0
    for some in jobs.values():
        sys.stdout.write(f"{_LINE}\n")
        sys.stdout.writelines(
            f"{name + ':':<{23 if name == _PARALLEL else 28}}{value}\n" for name, value in _lines(pool, some)
        )
        sys.stdout.writelines(_behind(pool, some))
    return 0


def _xml(pool: Pool, jobs: Sequence[Sequence[Task]]) -> Iterator[str]:
    from roost.cli.gridengine.job_xml import document, job_nodes
    from roost.cli.gridengine.summary import number_of
    from roost.gridengine.cell import read_cell
    from roost.gridengine.objects.complex import by_any_name

    complexes = by_any_name(read_cell(cell_files(pool)).complexes.values())
    found, messages = [], []
    for tasks in jobs:
        first = tasks[0]
        (row,) = pool.ask(queue.Query(jobs=(f"{first.job}.{first.proc}",))) or [{}]
        used = {proc: _used(each) for proc, each in _rows_of(pool, [task for task in tasks if task.runs]).items()}
        relatives = {name: str(some) for name, some in _relatives(pool, first) if "(req)" not in name}
        found.append(job_nodes(ad_from(row), tasks, dict(_account(first.owner)), complexes, used, relatives))
        messages += [(number_of(words), words, first.job) for words in dict.fromkeys(_reasons(pool, tasks))]
    yield from document(found, messages)


#: Its value begins in a separate column.
_PARALLEL: Final = "parallel environment"


def verified(ad: ClassAd, tasks: Sequence[Task]) -> str:
    """The output of `-verify` for a job that is not submitted."""
    script = ad.get(cell.SCRIPT)
    lines = [("job_number", "unassigned"), *_body(ad, tasks[0]), *_of_program(ad), *_of_array(ad, tasks[0])]
    text = "".join(f"{name + ':':<{23 if name == _PARALLEL else 28}}{value}\n" for name, value in lines)
    if script is None:
        return text
    return f"{text}script_ptr:\n{unpacked_script(str(script)).decode(errors='replace')}\n"


def _lines(pool: Pool, tasks: Sequence[Task]) -> Iterator[tuple[str, object]]:
    """The names and values of a job."""
    first = tasks[0]
    (row,) = pool.ask(queue.Query(jobs=(f"{first.job}.{first.proc}",))) or [{}]
    ad = ad_from(row)
    yield "job_number", first.job
    if ad.get(cell.SCRIPT) is not None:
        yield "exec_file", f"job_scripts/{first.job}"
    yield "submission_time", time.ctime(first.submitted)
    yield from _body(ad, first, pool)
    yield from _of_program(ad)
    yield from _relatives(pool, first)
    yield from _of_array(ad, first)


def _body(ad: ClassAd, first: Task, pool: Pool | None = None) -> Iterator[tuple[str, object]]:
    """The submitter of a job, and the requests; without a pool, those known before the job is submitted."""
    environment = environment_of(ad)
    if ad.get(cell.DEADLINE) is not None:
        yield "deadline", time.ctime(amount_in(ad, cell.DEADLINE))
    yield "owner", first.owner
    yield from _account(first.owner)
    yield from ((called, environment[name]) for name, called in _ORIGIN.items() if environment.get(name))
    if ad.get(cell.NOT_BEFORE) is not None:
        yield "execution_time", time.ctime(amount_in(ad, cell.NOT_BEFORE))
    yield "account", ad.get(cell.ACCOUNT) or "sge"
    if pool is not None:
        yield from _checkpoints(pool, ad)
    elif ad.get(cell.CHECKPOINT):
        yield "checkpoint_object", ad.get(cell.CHECKPOINT)
    if ad.get(cell.DIRECTORY) is True:
        yield "cwd", ad.get("Iwd")
    if ad.get(cell.ERROR_PATHS):
        yield "stderr_path_list", told(str(ad.get(cell.ERROR_PATHS)))
    if ad.get(cell.MERGES) is True:
        yield "merge", "y"
    if ad.get(cell.RESERVE) is True:
        yield "reserve", "y"
    yield from _given(ad, {"hard resource_list": cell.RESOURCES, "soft resource_list": cell.SOFT_RESOURCES})
    host = environment.get("SGE_O_HOST", "")
    yield "mail_list", ad.get(cell.MAIL_LIST) or f"{first.owner}@{host}".rstrip("@")
    yield "notify", "TRUE" if ad.get(cell.NOTIFY) is True else "FALSE"
    yield "job_name", first.name
    for called, name in (("stdout_path_list", cell.OUTPUT_PATHS), ("stdin_path_list", cell.INPUT_PATHS)):
        if ad.get(name):
            yield called, told(str(ad.get(name)))
    if amount_in(ad, "JobPrio"):
        yield "priority", ad.get("JobPrio")
    yield "jobshare", int(amount_in(ad, cell.SHARE))
    yield from _given(
        ad, {"hard_queue_list": cell.QUEUES, "soft_queue_list": cell.SOFT_QUEUES, "restart": cell.RERUN,
             "project": cell.PROJECT}
    )  # fmt: skip
    if ad.get(cell.SHELL):
        yield "shell_list", shells_told(str(ad.get(cell.SHELL)))
    own = {name: value for name, value in environment.items() if name not in _ORIGIN and not name.startswith("SGE_O_")}
    yield "env_list", ",".join(f"{name}={value or 'NONE'}" for name, value in ({"TERM": ""} | own).items())


def _of_program(ad: ClassAd) -> Iterator[tuple[str, object]]:
    words = arguments_of(ad)
    if words:
        yield "job_args", ",".join(words)
    yield from _given(ad, {"master hard queue_list": cell.MASTER_QUEUES})
    yield "script_file", ad.get("Cmd")
    if ad.get(cell.CONTEXT):
        yield "context", context.told(str(ad.get(cell.CONTEXT)))
    if asked := slots_asked({cell.PARALLEL: ad.get(cell.PARALLEL)}):
        yield _PARALLEL, f"{str(ad.get(cell.PARALLEL)).partition(' ')[0]} range: {cell.ranges(asked)}"


def _of_array(ad: ClassAd, first: Task) -> Iterator[tuple[str, object]]:
    if first.tasks:
        yield "job-array tasks", "{}-{}:{}".format(*first.tasks)
    if amount_in(ad, "JobMaterializeLimit"):
        yield "maximum concurrency", ad.get("JobMaterializeLimit")
    if amount_in(ad, cell.OVERRIDE_TICKETS):
        yield "oticket", int(amount_in(ad, cell.OVERRIDE_TICKETS))
    if amount_in(ad, cell.RESERVATION):
        yield "ar_id", int(amount_in(ad, cell.RESERVATION))
    yield "binding", ad.get(cell.BINDING) or "NONE"
    types = ["binary"] * (ad.get(cell.SCRIPT) is None) + ["immediate"] * (ad.get(cell.IMMEDIATE) is True)
    yield "job_type", ",".join(types) or "NONE"


def _relatives(pool: Pool, task: Task) -> Iterator[tuple[str, object]]:
    """The jobs that it waits for, and those waiting for it."""
    if task.ad.get(cell.PREDECESSORS_ASKED):
        yield "jid_predecessor_list (req)", task.ad[cell.PREDECESSORS_ASKED]
    kinds = {cell.PREDECESSORS: "jid", cell.ARRAY_PREDECESSORS: "ja_ad"}
    some = " || ".join(f"{name} isnt undefined" for name in kinds)
    waiting = pool.ask(queue.Query(constraint=some, projection=("ClusterId", *kinds)))
    for name, called in kinds.items():
        if left := present(pool, task.after if called == "jid" else task.arrays_after):
            yield f"{called}_predecessor_list", left
        found = {int(row["ClusterId"]): str(row[name]).split(",") for row in waiting if name in row}
        if followers := [str(number) for number, after in sorted(found.items()) if str(task.job) in after]:
            yield f"{called}_successor_list", ",".join(followers)


def present(pool: Pool, jobs: Sequence[int]) -> str:
    """Those of some jobs that are in the queue, as a list."""
    if not jobs:
        return ""
    rows = pool.ask(queue.Query(jobs=tuple(map(str, jobs)), projection=("ClusterId",)))
    there = {int(row["ClusterId"]) for row in rows}
    return ",".join(str(number) for number in jobs if number in there)


def _given(ad: ClassAd, names: Mapping[str, str]) -> Iterator[tuple[str, object]]:
    yield from ((called, ad.get(name)) for called, name in names.items() if ad.get(name))


def _account(owner: str) -> Iterator[tuple[str, object]]:
    """The ids of a user, if this machine knows the user."""
    try:
        account = pwd.getpwnam(owner)
    except KeyError:
        return
    yield "uid", account.pw_uid
    try:
        yield "group", getgrgid(account.pw_gid).gr_name
    except KeyError:
        yield "group", account.pw_gid
    yield "gid", account.pw_gid


def _checkpoints(pool: Pool, ad: ClassAd) -> Iterator[tuple[str, Any]]:
    """The checkpointing interface of a job, and when it is checkpointed."""
    from roost.gridengine.pool.requests import when_of

    name = ad.get(cell.CHECKPOINT)
    if not name:
        return
    letters, asked_s = when_of(str(ad.get(cell.CHECKPOINT_WHEN) or ""))
    if not letters:
        lines = (line.split() for line in cell_files(pool).get(f"ckpt/{name}", "").splitlines())
        letters = next((words[1] for words in lines if words[:1] == ["when"] and words[1:]), "")
    yield "checkpoint_object", name
    yield "checkpoint_attr", "".join(sorted(letters, key="nsmxr".index)) + "    "
    if asked_s is not None:
        yield "checkpoint_interval", f"{asked_s:.0f} seconds"


#: Hold reasons of jobs that could not be started or are at fault, and Grid Engine's wording.
_FAULTS: Final = (
    (re.compile(r".*working directory cannot be entered: '(.*)': ([^;]+).*"), r"error: can't chdir to \1: \2"),
    (re.compile(r".*standard output cannot be opened: '(.*)': ([^;]+).*"), 'error: can\'t open output file "\\1": \\2'),
    (re.compile(r".*standard error cannot be opened: '(.*)': ([^;]+).*"), 'error: can\'t open error file "\\1": \\2'),
    (re.compile(r".*standard input cannot be opened: '(.*)': ([^;]+).*"), 'error: can\'t open input file "\\1": \\2'),
    (re.compile(r"The job says that it is at fault \(status (\d+)\)"), r"exit_status of job start = \1"),
    (re.compile(r"The (\S+) says that the job is at fault \(status (\d+)\)"), r"exit_status of \1 = \2"),
)


def error_reason(reason: str) -> str:
    """Why a job is in the error state, in Grid Engine's words if it has any."""
    for pattern, words in _FAULTS:
        if found := pattern.fullmatch(reason):
            return found.expand(words)
    return reason


def _behind(pool: Pool, tasks: Sequence[Task]) -> Iterator[str]:
    """The state of the tasks, and why the waiting ones wait."""
    running = [task for task in tasks if task.runs]
    if running:
        by_proc = _rows_of(pool, running)
        for task in running:
            yield _usage(task, by_proc.get(task.proc, {}))
            yield f"binding {task.number or 1:>7}:{'':12}NONE\n"
    for task in tasks:
        reason = task.ad.get("HoldReason") or "?" if task.is_error else task.ad.get("CellErrorReason")
        if reason and not task.runs:
            words = error_reason(str(reason))
            yield f"error reason {task.number or 1:>10}:      {date(task.started or task.submitted)} {words}\n"
    for at, sentence in enumerate(dict.fromkeys(_reasons(pool, tasks)) or ["There are no messages available"]):
        yield f"{'' if at else _INFO:<28}{sentence}\n"


def _rows_of(pool: Pool, running: Sequence[Task]) -> dict[int, Mapping[str, Any]]:
    """The last ads of tasks' machines, by the number of the task within its cluster."""
    if not running:
        return {}
    rows = pool.ask(queue.Query(jobs=tuple(f"{task.job}.{task.proc}" for task in running), projection=_USED))
    return {int(row["ProcId"]): row for row in rows}


_USED: Final = ("ProcId", "RemoteUserCpu", "RemoteSysCpu", "ResidentSetSize", "ImageSize", MEMORY, IO)


def _usage(task: Task, row: Mapping[str, Any]) -> str:
    """The last reported usage of a running task."""
    used = _used(row)
    cpu = int(used["cpu"])
    clock = f"{cpu // 3600:02}:{cpu // 60 % 60:02}:{cpu % 60:02}"
    memory = row.get("ImageSize")
    size = f"{memory / 1024:.3f}M" if isinstance(memory, int) and memory else "N/A"
    figures = f"mem={used['mem']:.5f} GB s, io={used['io']:.5f} GB, vmem={size}, maxvmem={size}"
    return f"usage {task.number or 1:>9}:{'':12}cpu={clock}, {figures}\n"


def _used(row: Mapping[str, Any]) -> dict[str, float]:
    """The usage of a task, under Grid Engine's names; memory in bytes."""
    size = float(row.get("ImageSize") or 0) * 1024
    return {
        "cpu": sum(float(row.get(name) or 0) for name in ("RemoteUserCpu", "RemoteSysCpu")),
        "mem": float(row.get(MEMORY) or 0), "io": float(row.get(IO) or 0), "iow": 0.0, "vmem": size, "maxvmem": size,
    }  # fmt: skip


def _reasons(pool: Pool, tasks: Sequence[Task]) -> Iterator[str]:
    waiting = next((task for task in tasks if not task.runs and not task.holds and not task.is_error), None)
    if waiting is not None and waiting.status == 1:
        of_job = list(_why(pool, f"{waiting.job}.{waiting.proc}"))
        if limited(tasks).get(waiting.job, len(tasks)) < sum(not task.runs for task in tasks):
            # Tasks beyond the limit are not in any scheduling run.
            of_job = of_job or [
                each
                for one in pool.ask(central.QueueInstances())
                for each in one.reasons
                if " dropped because " in each
            ]
            of_job.append(_TASK_LIMIT)
        yield from of_job
    if any(task.holds.rstrip("j") for task in tasks):
        yield "Job is in hold state"
    elif any(task.holds for task in tasks if not task.runs):
        yield from (*_of_run(pool), _DEPENDS)
    if any(task.is_error for task in tasks):
        yield "Job is in error state"


def _of_run(pool: Pool) -> list[str]:
    """Why queue instances accepted no job at all."""
    return [each for one in pool.ask(central.QueueInstances()) for each in one.reasons if " dropped because " in each]


def _why(pool: Pool, job: str) -> Iterator[str]:
    """The messages of the last scheduling run; for a new job, of the first run that includes it."""
    from roost.runtime.asking.job import ask_daemons

    try:
        record = ask_daemons(pool, job)[1]
    except Refused:
        # It has left meanwhile.
        return
    if isinstance(record, JobInCell):
        yield from record.reasons
