"""Attributes of a cell that a pool keeps and shows but that have no effect there: why, and what has an effect instead.

A test compares the table with the attributes that the code reads, so one that is read nowhere must be listed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from roost.gridengine.cell import Cell
from roost.gridengine.objects.rows import rows_of
from roost.gridengine.objects.scheduler import SchedulerConfiguration
from roost.gridengine.objects.values import is_none


class Idle(NamedTuple):
    """An attribute without effect."""

    #: One sentence, which ends the reference page's row.
    why: str
    #: Values, folded, with which jobs and users notice nothing; None if that holds for any value.
    harmless: tuple[str, ...] | None = None


_MAIL: Final = Idle("the pool sends no mail")
_AFS: Final = Idle("the pool does not handle AFS tokens", ("none",))
_SESSIONS: Final = Idle("qrsh and qlogin have connections of their own, as with `builtin`", ("builtin",))
_NICE: Final = Idle("nice values stay what `priority` of the queue says", ("0", "false", "0:0:0", "00:00:00"))
_AT_ONCE: Final = Idle("a run starts as soon as something has changed")

#: Attributes of the global and of hosts' configurations.
CONFIGURATION: Final = {
    "execd_spool_dir": Idle("EXECUTE of each machine's own configuration is that directory"),
    "mailer": _MAIL,
    "administrator_mail": _MAIL,
    "loglevel": Idle("knobs such as SCHEDD_DEBUG say what daemons log"),
    "set_token_cmd": _AFS,
    "pag_cmd": _AFS,
    "token_extend_time": _AFS,
    "shepherd_cmd": Idle("Roost's own shepherd looks after jobs; `starter_method` starts them by another program",
                         ("none", "/usr/lib/gridengine/sge_shepherd")),
    "gid_range": Idle("processes of a job are known by its control group or environment"),
    "qlogin_command": _SESSIONS,
    "qlogin_daemon": _SESSIONS,
    "rlogin_command": _SESSIONS,
    "rlogin_daemon": _SESSIONS,
    "rsh_command": _SESSIONS,
    "rsh_daemon": _SESSIONS,
    "auto_user_delete_time": Idle("users need not be in the list to have what `auto_user_...` gives them"),
    "delegated_file_staging": Idle("the pool moves files itself", ("false", "0")),
    "reprioritize": _NICE,
}  # fmt: skip
#: Attributes of the scheduler's configuration.
SCHEDULER: Final = {
    "algorithm": Idle("`default` is the only one", ("default",)),
    "flush_submit_sec": _AT_ONCE,
    "flush_finish_sec": _AT_ONCE,
    "reprioritize_interval": _NICE,
    "report_pjob_tickets": Idle("`qstat` shows the tickets of waiting jobs anyway"),
}
#: Attributes of users.
USER: Final = {"delete_time": Idle("users are in the list until they are deleted")}


#: Attributes that are lists of parameters, to the effective names, folded; any other parameter has no effect.
PARAMETERS: Final = {
    "qmaster_params": ("forbid_reschedule", "forbid_apperror", "jsv_timeout", "jsv_threshold"),
    "execd_params": ("sharetree_reserved_usage", "acct_reserved_usage", "notify_susp", "notify_kill"),
    "reporting_params": ("accounting", "reporting", "joblog", "sharelog", "flush_time", "accounting_flush_time"),
    "params": ("duration_offset",),
}
#: Parameters and their values, folded, that request what a pool does anyway.
_MET: Final = ("profile=0", "profile=false", "monitor=0", "monitor=false")


def idle(cell: Cell) -> Iterator[tuple[str, str]]:
    """Attributes with a setting that jobs or users will miss, with the reason and their places."""
    for host, configuration in cell.configurations.items():
        for name, text in configuration.values:
            yield from ((each, f"configuration {host}") for each in _missed(CONFIGURATION, name, text))
    for row in rows_of(SchedulerConfiguration):
        text = row.type.show(getattr(cell.scheduler, row.name))
        yield from ((each, "scheduler configuration") for each in _missed(SCHEDULER, row.name, text))


def _missed(table: Mapping[str, Idle], name: str, text: str) -> Iterator[str]:
    one = table.get(name)
    if one is not None and one.harmless is not None and text.strip().casefold() not in one.harmless:
        yield f"{name}: {one.why}"
    for word in text.replace(",", " ").split() if name in PARAMETERS else ():
        parameter = word.partition("=")[0]
        if not (is_none(word) or parameter.casefold() in PARAMETERS[name] or word.casefold() in _MET):
            yield f"{name} {parameter}"
