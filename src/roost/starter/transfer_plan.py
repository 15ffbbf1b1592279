"""Which files are transferred, and when: read from the job's ad, decided by how the run ended.

With ON_EXIT, output is transferred when the program ended by itself. With ON_EXIT_OR_EVICT, the queue also keeps the
output of an evicted or held job for its next run, if there is time; a hard kill leaves none. With ON_SUCCESS, output is
transferred only after success. The output of a removed job is discarded.
"""

from __future__ import annotations

from typing import Final

from roost.classad import ClassAd
from roost.classad.ad import MISSING
from roost.model.starter import Ending, Output
from roost.starter.starter_state import ProgramEnd, StarterState

_NO: Final = "NO"
_IF_NEEDED: Final = "IF_NEEDED"
_OR_EVICT: Final = "ON_EXIT_OR_EVICT"
_ON_SUCCESS: Final = "ON_SUCCESS"


def moves_files(job_ad: ClassAd, shares: ClassAd, *, from_queue: bool) -> bool:
    """Whether files are transferred at all. IF_NEEDED: unless both sides see the same files."""
    if not from_queue:
        return False
    wanted = _word(job_ad, "shouldtransferfiles") or _IF_NEEDED
    if wanted == _IF_NEEDED:
        here, there = shares.cell("filesystemdomain"), job_ad.cell("filesystemdomain")
        return not (isinstance(here, str) and isinstance(there, str) and here.lower() == there.lower())
    return wanted != _NO


def output_due(state: StarterState) -> Output:
    """Where output goes, given how the run has ended so far; `Output.NONE` if none is to be transferred."""
    if state.end is None or not moves_files(state.job_ad, state.launch.shares, from_queue=state.launch.from_queue):
        return Output.NONE
    when = _word(state.job_ad, "whentotransferoutput")
    if state.cause is None:
        failed = when == _ON_SUCCESS and not succeeded(state.job_ad, state.end)
        return Output.NONE if failed else Output.DELIVERED
    if when == _OR_EVICT and state.cause.ending in (Ending.EVICT, Ending.HOLD) and not state.killed:
        return Output.KEPT
    return Output.NONE


def succeeded(job_ad: ClassAd, end: ProgramEnd) -> bool:
    """Whether the program ended with JobSuccessExitCode, 0 by default."""
    wanted = job_ad.cell("jobsuccessexitcode")
    return end.signal is None and end.code == (wanted if isinstance(wanted, int) else 0)


def is_checkpoint(job_ad: ClassAd, end: ProgramEnd) -> bool:
    """Whether the program ended for a checkpoint (SuccessCheckpointExitCode)."""
    wanted = job_ad.cell("successcheckpointexitcode")
    return isinstance(wanted, int) and not isinstance(wanted, bool) and end.signal is None and end.code == wanted


def _word(job_ad: ClassAd, key: str) -> str:
    cell = job_ad.cell(key)
    return cell.upper() if cell is not MISSING and isinstance(cell, str) else ""
