"""The signal that a job's ad requests for its soft kill."""

from __future__ import annotations

from typing import Final

from roost.classad import ClassAd
from roost.model.signals import NAMES, signal_named
from roost.model.starter import Ending

__all__ = ["DEFAULT", "NAMES", "signal_named", "soft_kill_attribute"]

DEFAULT: Final = "SIGTERM"

#: For each kind of soft kill, the attribute that names its signal; KillSig is the default.
_ATTRIBUTES: Final = {Ending.REMOVE: "RemoveKillSig", Ending.HOLD: "HoldKillSig"}


def soft_kill_attribute(job_ad: ClassAd, ending: Ending) -> str:
    """The attribute that names the signal of a kind of soft kill."""
    special = _ATTRIBUTES.get(ending)
    return special if special is not None and special in job_ad else "KillSig"
