"""The global configuration and the local ones of hosts.

A configuration is a list of attributes and texts in the order in which they were written. A local one has only the
attributes that differ. Grid Engine keeps unknown attributes and most invalid values; both are accepted here, too, and
`roost cell check` reports them. What Grid Engine refuses is refused.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from roost.base.diagnostics import Diagnostic, Span
from roost.base.records import dataclass
from roost.gridengine.objects.parallel import unknown_variable
from roost.gridengine.objects.text import entries, logical_lines, show
from roost.gridengine.objects.values import is_none
from roost.gridengine.problems import ProblemCode, Refused, problem

WIDTH: Final = 29
GLOBAL: Final = "global"
GROUP_ID_MIN: Final = 100


class Parameter(NamedTuple):
    """One attribute of configurations."""

    name: str
    default: str
    #: path, command, time, number, flag, names, text, or the words that are allowed separated by |
    kind: str
    doc: str


PARAMETERS: Final = (
    Parameter("execd_spool_dir", "/var/spool/gridengine/execd", "text", "Directory of execution daemons."),
    Parameter("mailer", "/usr/bin/mail", "path", "Command that sends mail."),
    Parameter("xterm", "/usr/bin/xterm", "path", "Terminal for interactive jobs."),
    Parameter("load_sensor", "none", "path", "Programs that report load values."),
    Parameter("prolog", "none", "command", "Command before each job."),
    Parameter("epilog", "none", "command", "Command after each job."),
    Parameter("shell_start_mode", "posix_compliant", "unix_behavior|posix_compliant|script_from_stdin",
              "How scripts are started."),
    Parameter("login_shells", "bash,sh,ksh,csh,tcsh", "text", "Shells that are started as login shells."),
    Parameter("min_uid", "0", "number", "Smallest user number that may run jobs."),
    Parameter("min_gid", "0", "number", "Smallest group number that may run jobs."),
    Parameter("user_lists", "none", "names", "User lists that may use the cell or host."),
    Parameter("xuser_lists", "none", "names", "User lists that may not use it."),
    Parameter("projects", "none", "names", "Projects that may use it."),
    Parameter("xprojects", "none", "names", "Projects that may not use it."),
    Parameter("enforce_project", "false", "true|false", "Whether each job must have a project."),
    Parameter("enforce_user", "auto", "true|false|auto", "Whether users must be defined, or are created."),
    Parameter("load_report_time", "00:00:40", "time", "Time between load reports."),
    Parameter("max_unheard", "00:05:00", "time", "Time without a report after which a host is unknown."),
    Parameter("reschedule_unknown", "00:00:00", "time", "Time after which jobs of lost hosts start again; 0 is never."),
    Parameter("loglevel", "log_warning", "log_crit|log_err|log_warning|log_notice|log_info|log_debug",
              "What is logged."),
    Parameter("administrator_mail", "none", "text", "Addresses that get error reports."),
    Parameter("set_token_cmd", "none", "path", "Command that sets AFS tokens."),
    Parameter("pag_cmd", "none", "path", "Command that starts an AFS session."),
    Parameter("token_extend_time", "none", "text", "Time by which AFS tokens are extended."),
    Parameter("shepherd_cmd", "none", "path", "Program in place of the shepherd."),
    Parameter("qmaster_params", "none", "text", "Further parameters of the master."),
    Parameter("execd_params", "none", "text", "Further parameters of execution daemons."),
    Parameter("reporting_params", "accounting=true reporting=false flush_time=00:00:15 joblog=false sharelog=00:00:00",
              "text", "What is written to the accounting and reporting files."),
    Parameter("finished_jobs", "100", "number", "Ended jobs that are kept in memory."),
    Parameter("gid_range", "none", "text", "Group numbers that mark jobs' processes."),
    Parameter("qlogin_command", "builtin", "text", "Client of interactive sessions."),
    Parameter("qlogin_daemon", "builtin", "text", "Server of interactive sessions."),
    Parameter("rlogin_command", "builtin", "text", "Client of remote sessions."),
    Parameter("rlogin_daemon", "builtin", "text", "Server of remote sessions."),
    Parameter("rsh_command", "builtin", "text", "Client of remote commands."),
    Parameter("rsh_daemon", "builtin", "text", "Server of remote commands."),
    Parameter("max_aj_instances", "2000", "number", "Tasks of an array job that run at a time."),
    Parameter("max_aj_tasks", "75000", "number", "Tasks that an array job may have."),
    Parameter("max_u_jobs", "0", "number", "Jobs that a user may have; 0 means no limit."),
    Parameter("max_jobs", "0", "number", "Jobs that the cell may have; 0 means no limit."),
    Parameter("auto_user_oticket", "0", "count", "Override tickets of users that are created."),
    Parameter("auto_user_fshare", "0", "count", "Functional share of users that are created."),
    Parameter("auto_user_default_project", "none", "text", "Project of users that are created."),
    Parameter("auto_user_delete_time", "86400", "time", "Time after which users that were created are deleted."),
    Parameter("delegated_file_staging", "false", "true|false", "Whether the prolog copies files."),
    Parameter("reprioritize", "0", "flag", "Whether nice values follow the priorities."),
    Parameter("jsv_url", "none", "text", "Verifier of submissions in the master."),
    Parameter("jsv_allowed_mod", "ac,h,i,e,o,j,M,N,p,w", "text", "Switches of qalter that do not need the verifier."),
)  # fmt: skip
BY_NAME: Final = {parameter.name: parameter for parameter in PARAMETERS}
_CHECKED_WORDS: Final = ("shell_start_mode", "loglevel")
_SINGLE: Final = ("login_shells", "administrator_mail")
#: variables of prologs and epilogs
VARIABLES: Final = (
    *("host", "ja_task_id", "job_owner", "job_id", "job_name", "processors", "queue", "sge_cell", "sge_root"),
    *("stdin_path", "stdout_path", "stderr_path", "merge_stderr"),
    *("fs_stdin_host", "fs_stdin_path", "fs_stdin_tmp_path", "fs_stdin_file_staging"),
    *("fs_stdout_host", "fs_stdout_path", "fs_stdout_tmp_path", "fs_stdout_file_staging"),
    *("fs_stderr_host", "fs_stderr_path", "fs_stderr_tmp_path", "fs_stderr_file_staging"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """The configuration of the cell (`global`) or of one host."""

    name: str
    #: attributes and texts, as written and in order
    values: tuple[tuple[str, str], ...] = ()

    def get(self, name: str) -> str | None:
        """The text of an attribute; None if it is missing."""
        return next((text for each, text in self.values if each == name), None)


def count_of(text: str) -> int:
    """A number of the configuration; 0 for an invalid one, as in Grid Engine."""
    return int(text) if text.isascii() and text.isdecimal() else 0


def new_global() -> Configuration:
    """The global configuration of a new cell."""
    return Configuration(name=GLOBAL, values=tuple((one.name, one.default) for one in PARAMETERS))


def complaint(name: str, text: str) -> str | None:
    """Why Grid Engine refuses a value, in its words; None if it accepts it."""
    parameter = BY_NAME.get(name)
    if parameter is None:
        return None
    if parameter.kind == "path" and not is_none(text) and not text.startswith("/"):
        return f'denied: the path given for "{name}" must start with a "/"'
    if parameter.kind == "command" and not is_none(text):
        return _command_complaint(name, text)
    if name in _CHECKED_WORDS and text.casefold() not in parameter.kind.split("|"):
        return f'denied: got invalid value "{text}" for {name}'
    if name == "gid_range":
        return _group_ids(text)
    if parameter.kind == "count" and not text.isdigit():
        return f'format error for "{name}" in "{text}" configuration'
    if name == "load_report_time" and text.casefold() in ("infinity", "inf"):
        return f'infinity not allowed for attribute "{name}" in configuration list'
    return None


def _command_complaint(name: str, text: str) -> str | None:
    path = re.sub(r"^[^/\s]*@", "", text)
    if not path.startswith("/"):
        return f'denied: the path given for "{name}" must start with a "/"'
    variable = unknown_variable(text, VARIABLES)
    if variable:
        return f'denied: parameter "{name}" in configuration: "unknown variable "{variable}""'
    return None


def _group_ids(text: str) -> str | None:
    if is_none(text):
        return None
    for part in text.split(","):
        if not re.fullmatch(r"\d+(-\d+)?", part):
            return f'incorrect value "{text}" given for configuration attribute "gid_range"'
        if int(part.partition("-")[0]) < GROUP_ID_MIN:
            return f"minimum group id in gid_range may not be less than {GROUP_ID_MIN} in cluster configuration"
    return None


def parse_configuration(text: str, file: str, name: str) -> Configuration:
    """Read a configuration; its host is the first line's, ``#host:``, or else `name`. Raise `Refused`."""
    heading = re.match(r"#(\S+):\s*\n", text)
    host = heading.group(1) if heading else name
    problems: list[Diagnostic] = []
    values: dict[str, str] = {}
    for entry in entries(logical_lines(text, file)):
        message = complaint(entry.name, entry.text)
        if message:
            kind = BY_NAME[entry.name].kind.replace("|", ", ")
            problems.append(problem(ProblemCode.BAD_VALUE, message, entry.span, f"Write a {kind}.", entry.name))
        # Grid Engine keeps the last of several values, and the first word of a text where it expects one word.
        values[entry.name] = entry.text.split()[0] if entry.name in _SINGLE else entry.text
    if not values:
        raise Refused(
            [problem(ProblemCode.SYNTAX, "error reading configuration", Span(file), "Write at least one attribute.")]
        )
    if problems:
        raise Refused(problems)
    return Configuration(name=host, values=tuple(values.items()))


def show_configuration(configuration: Configuration) -> str:
    """A configuration as `qconf -sconf` prints it."""
    return f"#{configuration.name}:\n{show(configuration.values, WIDTH)}\n"
