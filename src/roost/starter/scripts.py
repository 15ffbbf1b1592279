"""Prolog and epilog: what their status means, what their command may name, what reaches one that runs as another user.

They are Grid Engine's: programs of the slot's owner, run before and after each job with the job's environment. What a
status means is Grid Engine's too: 0 go on, 99 the job is to be tried again, 100 the job is at fault and is held,
anything else the machine is at fault: the job goes back and its slot takes no other until an administrator has checked
it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from roost.model.starter import Cause, Ending, OrderedBy, ScriptPoint, StarterHold, StarterVacate
from roost.starter.starter_state import StarterState

#: Try the job again; the job is at fault.
AGAIN: Final = 99
AT_FAULT: Final = 100

#: What a command may name with a $ before it, and what that is.
PSEUDO_VARIABLES: Final[Mapping[str, str]] = {
    "host": "the machine",
    "queue": "the slot, without the machine",
    "job_id": "ClusterId of the job",
    "ja_task_id": "ProcId and 1, or `undefined` where the cluster has one job",
    "job_owner": "Owner of the job",
    "job_name": "name of the job: its batch name, else the name of its program",
    "processors": "Cpus of the slot",
    "stdin_path": "the job's standard input",
    "stdout_path": "its standard output",
    "stderr_path": "its standard error",
    "merge_stderr": "1 if both go to one file, else 0",
}

_PSEUDO: Final = re.compile(r"\$([a-z_]+)")
#: Names of variables that change how programs run, which a job's user must not choose for programs of other users.
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
    """The command that a job's queue instance has for a script; "" for none."""
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
    """Whether the slot is to take no more jobs."""
    return status not in (0, AGAIN, AT_FAULT)


def script_cause(point: ScriptPoint, status: int | None) -> Cause | None:
    """What becomes of the job; None for nothing else than without the script. A status of None: it could not be run."""
    if status == 0 or (point is ScriptPoint.PE_STOP and breaks_slot(status)):
        # A job whose parallel environment cannot be stopped is done, as in Grid Engine 8.1.9.
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
    return f"ended with status {status}" if status >= 0 else f"was killed by signal {-status}"


def expanded(words: tuple[str, ...], values: Mapping[str, str]) -> tuple[str, ...]:
    """Words of a command with its pseudo-variables replaced. A value never becomes more than a part of its word."""
    return tuple(_PSEUDO.sub(lambda found: values.get(found[1], found[0]), word) for word in words)


def script_environment(values: Mapping[str, str], job_status: int | None = None) -> dict[str, str]:
    """What Grid Engine calls some of them in the environment. `job_status`: of the job's program, for an epilog."""
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
    """What of a job's environment reaches a program that runs as another user than the job's.

    The variables that name the home directory are left out, too: programs read their settings there. The daemon sets
    them anew.
    """
    return {name: value for name, value in environment.items() if not _SEDUCTIVE.match(name)}
