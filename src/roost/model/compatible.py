"""The HTCondor version whose terms, formats and numbers Roost presents to clients, which may query it."""

from __future__ import annotations

from typing import Final

CONDOR_VERSION_NUMBER: Final = "25.14.1"
#: As `condor_version` prints it, and as in ads of daemons.
CONDOR_VERSION: Final = f"$CondorVersion: {CONDOR_VERSION_NUMBER} 2026-09-01 BuildID: Roost $"
