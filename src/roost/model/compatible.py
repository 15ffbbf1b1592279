"""The HTCondor whose words, formats and numbers Roost speaks to clients: programs ask for its version."""

from __future__ import annotations

from typing import Final

CONDOR_VERSION_NUMBER: Final = "25.14.1"
#: As `condor_version` prints it, and as ads of daemons say it.
CONDOR_VERSION: Final = f"$CondorVersion: {CONDOR_VERSION_NUMBER} 2026-09-01 BuildID: Roost $"
