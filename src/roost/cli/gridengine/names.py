"""The available commands, and their modules."""

from __future__ import annotations

from typing import Final

COMMANDS: Final = {
    "qsub": "qsub",
    "qstat": "qstat",
    "qdel": "acting",
    "qhold": "acting",
    "qrls": "acting",
    "qmod": "qmod",
    "qhost": "qhost",
    "qselect": "qselect",
    "qconf": "qconf",
    "qacct": "qacct",
    "qalter": "qalter",
    "qresub": "qresub",
    "qquota": "qquota",
    "qrsh": "qrsh",
    "qlogin": "qrsh",
    "qsh": "qrsh",
    "qrsub": "qrsub",
    "qrstat": "qrstat",
    "qrdel": "qrdel",
    "qping": "qping",
}

#: From the name of a command to its arguments besides options, and what it does.
SYNOPSES: Final = {
    "qsub": ("[script|- [script_args]]", "submit a job"),
    "qstat": ("", "list jobs and queue instances"),
    "qdel": ("job_task_list", "delete jobs"),
    "qhold": ("job_task_list", "put jobs on hold"),
    "qrls": ("job_task_list", "release jobs from hold"),
    "qmod": ("", "change the state of jobs and queue instances"),
    "qhost": ("", "list the execution hosts"),
    "qselect": ("", "list queue instances by their properties"),
    "qconf": ("", "show and change the configuration of the cell"),
    "qacct": ("", "sum up what jobs have used"),
    "qalter": ("job_task_list", "change jobs"),
    "qresub": ("job_id_list", "submit copies of jobs"),
    "qquota": ("", "list the use of resource quotas"),
    "qrsh": ("[command [args]]", "run a command as an interactive job"),
    "qlogin": ("", "log in to an execution host"),
    "qsh": ("", "open a terminal window on an execution host"),
    "qrsub": ("", "make an advance reservation"),
    "qrstat": ("", "list advance reservations"),
    "qrdel": ("ar_id_list", "delete advance reservations"),
    "qping": ("host port name id", "ask a daemon whether it answers"),
}
