"""Parallel environments and checkpointing interfaces."""

from __future__ import annotations

import re
from typing import Final

from roost.base.records import dataclass
from roost.gridengine.objects.rows import attribute
from roost.gridengine.objects.values import BLANK_NAMES, BOOLEAN, SLOTS_MAX, TEXT, ULONG, ValueType, slots_problem

#: named allocation rules; a number is the exact number of slots per host
PE_SLOTS: Final = "$pe_slots"
FILL_UP: Final = "$fill_up"
ROUND_ROBIN: Final = "$round_robin"
_RULES: Final = (PE_SLOTS, FILL_UP, ROUND_ROBIN)
#: pseudo variables of the commands of parallel environments
PE_VARIABLES: Final = (
    *("pe_hostfile", "host", "ja_task_id", "job_owner", "job_id", "job_name", "pe", "pe_slots", "processors", "queue"),
    *("sge_cell", "sge_root", "stdin_path", "stdout_path", "stderr_path", "merge_stderr"),
    *("fs_stdin_host", "fs_stdin_path", "fs_stdin_tmp_path", "fs_stdin_file_staging"),
    *("fs_stdout_host", "fs_stdout_path", "fs_stdout_tmp_path", "fs_stdout_file_staging"),
    *("fs_stderr_host", "fs_stderr_path", "fs_stderr_tmp_path", "fs_stderr_file_staging"),
)
CKPT_VARIABLES: Final = ("host", "ja_task_id", "job_owner", "job_id", "job_name", "queue", "job_pid", "ckpt_dir",
                         "ckpt_signal", "sge_cell", "sge_root")  # fmt: skip
INTERFACES: Final = ("userdefined", "hibernator", "transparent", "application-level", "cpr", "cray-ckpt")
#: signals by name, without SIG, in lower case
SIGNALS: Final = (
    *("hup", "int", "quit", "ill", "trap", "abrt", "iot", "bus", "fpe", "kill", "usr1", "segv", "usr2", "pipe", "alrm"),
    *("term", "chld", "cont", "stop", "tstp", "ttin", "ttou", "urg", "xcpu", "xfsz", "vtalrm", "prof", "winch", "io"),
    *("pwr", "sys", "none"),
)


def unknown_variable(text: str, known: tuple[str, ...]) -> str | None:
    """The first `$name` of a command that is not one of its pseudo variables."""
    for found in re.findall(r"\$([A-Za-z_]\w*)", text):
        if found not in known:
            return str(found)
    return None


def _command(value: str) -> str | None:
    name = unknown_variable(value, PE_VARIABLES)
    return f'unknown variable "{name}"' if name else None


def _allocation(value: str) -> str | None:
    if value.startswith("$") and value not in _RULES:
        return f'unknown variable "{value[1:]}"'
    return None


def _urgency_slots(value: str) -> str | None:
    if value.casefold() in ("min", "max", "avg") or re.match(r"\d", value):
        return None
    return f'rejecting invalid urgency_slots setting "{value}"'


_COMMAND_REMEDY: Final = f"Write a command; its variables are {', '.join('$' + name for name in PE_VARIABLES)}."
#: `none` in any case is shown as NONE
_COMMAND: Final = ValueType("command", lambda text: "NONE" if text.casefold() == "none" else text, str, "a command")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelEnvironment:
    """A parallel environment."""

    name: str
    slots: int = attribute(
        ULONG,
        "0",
        "Slots of all its jobs together.",
        check=slots_problem,
        remedy=f"Write a number from 0 to {SLOTS_MAX}.",
    )
    user_lists: tuple[str, ...] = attribute(BLANK_NAMES, "NONE", "User lists that may use it; NONE is every user.")
    xuser_lists: tuple[str, ...] = attribute(BLANK_NAMES, "NONE", "User lists that may not use it.")
    start_proc_args: str = attribute(
        _COMMAND, "NONE", "Command before the job, as [user@]command.", check=_command, remedy=_COMMAND_REMEDY
    )
    stop_proc_args: str = attribute(
        _COMMAND, "NONE", "Command after the job, as [user@]command.", check=_command, remedy=_COMMAND_REMEDY
    )
    allocation_rule: str = attribute(
        TEXT,
        PE_SLOTS,
        "How slots are spread over hosts: $pe_slots, $fill_up, $round_robin, or a number for each host.",
        check=_allocation,
        remedy="Write $pe_slots, $fill_up, $round_robin or a number.",
    )
    control_slaves: bool = attribute(BOOLEAN, "FALSE", "Whether slave tasks start only through `qrsh -inherit`.")
    job_is_first_task: bool = attribute(BOOLEAN, "TRUE", "Whether the job script counts as one of the tasks.")
    urgency_slots: str = attribute(
        TEXT,
        "min",
        "Slots that count for the urgency of a request of a range.",
        check=_urgency_slots,
        remedy="Write min, max, avg or a number.",
    )
    accounting_summary: bool = attribute(BOOLEAN, "FALSE", "Whether all tasks get one accounting record.")
    qsort_args: str = attribute(TEXT, "NONE", "Library that sorts queues; Roost does not load it.")

    @property
    def slots_a_host(self) -> int | None:
        """The exact slots for each host; None if the rule is a word or not a positive number."""
        found = re.match(r"\d+", self.allocation_rule)
        return int(found.group()) or None if found else None


def _interface(value: str) -> str | None:
    return None if value.casefold() in INTERFACES else f"no valid checkpoint interface {value}"


def _signal(value: str) -> str | None:
    if value.isdigit() or value.casefold() in SIGNALS:
        return None
    return f'"{value}" is not a signal string (like HUP, INT, WINCH, ..)'


def _when(value: str) -> str | None:
    return None if value and set(value) <= set("smxr") else 'Invalid "when" attribute for ckpt'


def _ckpt_command(value: str) -> str | None:
    name = unknown_variable(value, CKPT_VARIABLES)
    return f'unknown variable "{name}"' if name else None


_CKPT_REMEDY: Final = f"Write a command; its variables are {', '.join('$' + name for name in CKPT_VARIABLES)}."
#: events in the order in which Grid Engine prints them
_WHEN: Final = ValueType(
    "events",
    lambda text: "".join(sorted(text, key="xsmr".index)) if set(text) <= set("xsmr") else text,
    str,
    "letters of s, m, x and r",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A checkpointing interface."""

    name: str
    interface: str = attribute(
        TEXT, "userdefined", "Kind of checkpointing.", check=_interface, remedy=f"Write one of {', '.join(INTERFACES)}."
    )
    ckpt_command: str = attribute(
        TEXT, "none", "Command that writes a checkpoint.", check=_ckpt_command, remedy=_CKPT_REMEDY
    )
    migr_command: str = attribute(
        TEXT, "none", "Command that moves a job to another host.", check=_ckpt_command, remedy=_CKPT_REMEDY
    )
    restart_command: str = attribute(
        TEXT, "none", "Command that starts a job from its checkpoint.", check=_ckpt_command, remedy=_CKPT_REMEDY
    )
    clean_command: str = attribute(
        TEXT, "none", "Command that removes checkpoints.", check=_ckpt_command, remedy=_CKPT_REMEDY
    )
    ckpt_dir: str = attribute(TEXT, "/tmp", "Directory for checkpoints.")
    signal: str = attribute(
        TEXT, "none", "Signal that asks a job for a checkpoint.", check=_signal, remedy="Write a signal without SIG."
    )
    when: str = attribute(
        _WHEN,
        "xs",
        "Events that cause a checkpoint: s host shut down, m each interval, x suspended, r rescheduled.",
        check=_when,
        remedy="Write letters of s, m, x and r.",
    )
