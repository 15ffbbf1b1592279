"""The commands that there are, and the module of each."""

from __future__ import annotations

from typing import Final

COMMANDS: Final = {
    "condor_submit": "submit",
    "condor_submit_dag": "submit_dag",
    "condor_dagman": "submit_dag",
    "condor_q": "queue",
    "condor_status": "status",
    "condor_rm": "acting",
    "condor_hold": "acting",
    "condor_release": "acting",
    "condor_suspend": "acting",
    "condor_continue": "acting",
    "condor_vacate_job": "acting",
    "condor_ssh_to_job": "ssh_to_job",
    "condor_history": "history",
    "condor_transfer_data": "transfer_data",
    "condor_wait": "wait",
    "condor_watch_q": "watch_q",
    "condor_prio": "editing",
    "condor_qedit": "editing",
    "condor_userprio": "userprio",
    "condor_drain": "drain",
    "condor_vacate": "daemons",
    "condor_reschedule": "daemons",
    "condor_advertise": "advertise",
    "condor_transform_ads": "transform_ads",
    "condor_config_val": "config_val",
    "condor_reconfig": "daemons",
    "condor_restart": "daemons",
    "condor_off": "daemons",
    "condor_on": "daemons",
    "condor_master": "daemons",
    "condor_who": "who",
    "condor_fetchlog": "fetchlog",
    "condor_version": "version",
}
