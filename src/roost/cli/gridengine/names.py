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
