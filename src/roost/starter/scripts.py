"""Prolog and epilog: what their exit status means, what their command may refer to, and which variables reach a script
that runs as another user.

They work as in Grid Engine: programs of the slot's owner, run before and after each job with the job's environment.
Exit statuses also have Grid Engine's meaning: 0 to go on, 99 to rerun the job, 100 to hold the job because it is at
fault. Any other status means that the machine is at fault: the job is requeued and its slot accepts no other job until
an administrator has checked it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from roost.model.starter import Cause, Ending, OrderedBy, ScriptPoint, StarterHold, StarterVacate
from roost.starter.starter_state import StarterState

#: Rerun the job; the job is at fault.
AGAIN: Final = 99
AT_FAULT: Final = 100

#: Pseudo-variables of a command (written with a $), and their meaning.
PSEUDO_VARIABLES: Final[Mapping[str, str]] = {
    "host": "the machine",
    "queue": "the slot, without the machine",
    "job_id": "ClusterId of the job",
    "ja_task_id": "ProcId plus 1, or `undefined` if the cluster has one job",
    "job_owner": "Owner of the job",
    "job_name": "name of the job: its batch name, or else the name of its program",
    "processors": "Cpus of the slot",
    "stdin_path": "the job's standard input",
    "stdout_path": "its standard output",
    "stderr_path": "its standard error",
    "merge_stderr": "1 if both go to one file, else 0",
}

_PSEUDO: Final = re.compile(r"\$([a-z_]+)")
#: Variables that change how programs run, which a job's user must not set for programs of other users.
_SEDUCTIVE: Final = re.compile(
    r"""(LD_.*|DYLD_.*|_RLD.*|LIBPATH|SHLIB_PATH|GCONV_PATH|LOCPATH|NLSPATH|HOSTALIASES|LOCALDOMAIN|RES_OPTIONS
        |IFS|ENV|BASH_.*|BASHOPTS|SHELLOPTS|CDPATH|GLOBIGNORE|PS4|PROMPT_COMMAND
        |PERL.*|PYTHON.*|RUBY.*|NODE_.*|LUA_.*|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|CLASSPATH|TERMINFO.*|TERMCAP
        |GIT_.*|SSH_.*|.*EDITOR|VISUAL|.*PAGER|LESS.*|.*PATH|TMPDIR|TMP|TEMP
        |HOME|SHELL|USER|LOGNAME|XDG_.*|CURL_HOME|.*RC|.*_RSH|.*OPTIONS?|.*OPTS?|.*FLAGS|.*_PROXY|GLIBC_.*|MALLOC_.*
        |OPENSSL_.*|SSL_.*|KRB5.*|GEM_.*|R_.*|SUDO_.*|DOTNET_.*|GUILE_.*|.*INIT|ZDOTDIR)\Z""",
    re.VERBOSE | re.IGNORECASE,
)


def queue_script(state: StarterState, point: ScriptPoint) -> str:
    """The command of a script of the job's queue instance; "" for none."""
    context = state.launch.context
    if context is None:
        return ""
    parallel = context.parallel
    match point:
        case ScriptPoint.PROLOG:
            return context.prolog
        case ScriptPoint.EPILOG:
            return context.epilog
        case ScriptPoint.PE_START:
            return "" if parallel is None else parallel.start
        case ScriptPoint.PE_STOP:
            return "" if parallel is None else parallel.stop
        case ScriptPoint.CLEAN:
            interface = context.checkpoint
            return interface.clean if interface is not None and interface.has_commands else ""


def breaks_slot(status: int | None) -> bool:
    """Whether the slot must accept no more jobs."""
    return status not in (0, AGAIN, AT_FAULT)


def script_cause(point: ScriptPoint, status: int | None) -> Cause | None:
    """The cause that a script's end gives the job; None if it changes nothing. A status of None: the script could not
    be run.
    """
    if status == 0 or (point is ScriptPoint.PE_STOP and breaks_slot(status)):
        # A job whose parallel environment cannot be stopped counts as done, as in Grid Engine 8.1.9.
        return None
    before = point in (ScriptPoint.PROLOG, ScriptPoint.PE_START)
    if status == AT_FAULT:
        code: int = StarterHold.PROLOG_FAILED if before else StarterHold.EPILOG_FAILED
        ending, text = Ending.HOLD, f"The {point} says that the job is at fault (status {AT_FAULT})"
    else:
        after = StarterVacate.JOB_SHOULD_REQUEUE if status == AGAIN else StarterVacate.STARTER_ERROR
        code = StarterVacate.JOB_NOT_STARTED if before else after
        ending, text = Ending.EVICT, f"The {point} {_how(status)}"
    return Cause(ending=ending, code=code, subcode=status or 0, text=text, by=OrderedBy.STARTER)


def _how(status: int | None) -> str:
    if status is None:
        return "could not be run"
    if status == AGAIN:
        return f"wants the job to be tried again (status {AGAIN})"
    return f"exited with status {status}" if status >= 0 else f"was killed by signal {-status}"


def expanded(words: tuple[str, ...], values: Mapping[str, str]) -> tuple[str, ...]:
    """Words of a command with its pseudo-variables replaced. A value never becomes more than part of its word."""
    return tuple(_PSEUDO.sub(lambda found: values.get(found[1], found[0]), word) for word in words)


def script_environment(values: Mapping[str, str], job_status: int | None = None) -> dict[str, str]:
    """The pseudo-variables that Grid Engine puts in the environment. `job_status`: exit status of the job, for an
    epilog.
    """
    told = {
        "JOB_ID": values["job_id"],
        "SGE_TASK_ID": values["ja_task_id"],
        "JOB_NAME": values["job_name"],
        "QUEUE": values["queue"],
        "HOSTNAME": values["host"],
        "NSLOTS": values["processors"],
        "SGE_STDOUT_PATH": values["stdout_path"],
        "SGE_STDERR_PATH": values["stderr_path"],
    }
    return told if job_status is None else {**told, "SGE_JOBEXIT_STAT": str(job_status)}


def for_somebody_else(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of a job's environment that reach a program that runs as another user.

    The variables that name the home directory are left out, because programs read their settings there. The daemon sets
    them itself.
    """
    return {name: value for name, value in environment.items() if not _SEDUCTIVE.match(name)}
