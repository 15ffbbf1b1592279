"""The names of the Grid Engine commands that Roost provides."""

from __future__ import annotations

from typing import Final

NAMES: Final = (
    "qsub", "qstat", "qdel", "qhold", "qrls", "qmod", "qhost", "qselect", "qconf", "qacct", "qalter", "qresub",
    "qquota", "qrsh", "qlogin", "qsh", "qrsub", "qrstat", "qrdel", "qping",
)  # fmt: skip
