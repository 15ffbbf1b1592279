"""The commands that there are, and the module of each."""

from __future__ import annotations

from typing import Final

COMMANDS: Final = {
    "condor_submit": "submit",
    "condor_q": "queue",
    "condor_status": "status",
    "condor_rm": "acting",
    "condor_hold": "acting",
    "condor_release": "acting",
    "condor_suspend": "acting",
    "condor_continue": "acting",
    "condor_vacate_job": "acting",
    "condor_history": "history",
    "condor_version": "version",
}
