"""Whether a job's output is newer than all its input, so that a job with skip_if_dataflow does not need to run.

As in HTCondor, the input is the program, standard input and the transferred input files, and the output is what
transfer_output_files lists: all of it has to exist, and the oldest output has to be newer than the newest input. Output
is looked for at its destination. A job that names no output, or whose program does not exist here, runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from roost.classad import ClassAd
from roost.runtime.files.input_files import initial_directory, names_in
from roost.runtime.files.output_files import output_place
from roost.runtime.files.worker.hands import OWN, Hands

_NULL: Final = "/dev/null"


def wants_skipping(job_ad: ClassAd) -> bool:
    """Whether a job is skipped if its output is newer than its input."""
    return "SkipIfDataflow" in job_ad and job_ad.eval("SkipIfDataflow") is True


def is_dataflow(job_ad: ClassAd, hands: Hands = OWN) -> bool:
    """Whether all output of a job exists, and is newer than its input. Blocks on the disk."""
    outputs = names_in(job_ad, "transferoutput")
    if not outputs:
        return False
    try:
        place = output_place(job_ad)
        newest = max(hands.look(str(path)).changed_ns for path in _inputs(job_ad))
        oldest = min(hands.look(str(place(name.rstrip("/")))).changed_ns for name in outputs)
    except (OSError, ValueError):
        return False
    return oldest > newest


def _inputs(job_ad: ClassAd) -> Iterator[Path]:
    """The files to check; if one is missing the job runs, and its user gets the error."""
    iwd = initial_directory(job_ad)
    yield iwd / str(job_ad.cell("cmd"))
    given = job_ad.cell("in")
    if isinstance(given, str) and given not in ("", _NULL):
        yield iwd / given
    for name in names_in(job_ad, "transferinput"):
        if "://" not in name:
            yield iwd / name
