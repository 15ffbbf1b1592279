"""Jobs submitted with ``-spool``: their ads once their files are at the queue.

The job starts in a directory of the queue (Iwd), which has its program and its input and receives its output. Paths of
the description that lead elsewhere are replaced by names in that directory; the attribute SUBMIT_NAME keeps the
original value of NAME, and `retrieved_place` reads it to put the files where the description wanted them.
"""

from __future__ import annotations

import posixpath
from typing import Final

from roost.classad import ClassAd
from roost.classad.values import fold
from roost.model.audit import AuditKind
from roost.schedd.commands import ABSENT
from roost.schedd.decisions import Ruling
from roost.schedd.effects import Reply
from roost.schedd.events import InputSpooled
from roost.schedd.jobs.book import Job, is_spooling
from roost.schedd.jobs.job_transitions import On
from roost.schedd.runs.outcome import release
from roost.schedd.work import Work

#: Prefix of the names of these copies.
SUBMITTED: Final = "SUBMIT_"
_NULL: Final = "/dev/null"
_TOLD: Final = "Data files spooled"


def input_spooled(work: Work, event: InputSpooled) -> None:
    """Let a job wait for a slot, now that its files are at the queue."""
    job = work.book.find(event.job)
    if job is None or not is_spooling(job.ad):
        text = f"job {event.job} {'is not in the queue' if job is None else 'does not wait for its files'}"
        work.order(Reply(to=event.reply_to, ok=False, code=ABSENT if job is None else "bad-status", text=text))
        return
    changes = moved(job.ad, event.directory, event.names)
    work.set(job, **changes, StageInStart=event.begun, StageInFinish=int(work.now))
    work.tell_spooled(job)
    release(work, job, On.RELEASE_COMMAND, _TOLD)
    work.decided(job, Ruling(kind=AuditKind.RELEASE, actor=event.user, reason=_TOLD))
    work.order(Reply(to=event.reply_to, data={"offset": 0}))
    work.offer()


def moved(ad: ClassAd, directory: str, names: tuple[str, ...]) -> dict[str, object]:
    """The attributes that change when the files of a job are in `directory`, whose top level has `names`."""
    new: dict[str, object] = {"Iwd": directory}
    if ad.cell("transferexecutable") is not False:
        new["Cmd"] = posixpath.basename(_text(ad, "Cmd"))
    own = {str(new.get("Cmd", ""))}
    if _is_moved(ad, "In"):
        new["In"] = posixpath.basename(_text(ad, "In"))
        own.add(str(new["In"]))
    given = [posixpath.basename(posixpath.normpath(each)) for each in _listed(ad, "TransferInput")]
    inputs = [name for name in dict.fromkeys(given) if name in names]
    inputs += [name for name in names if name not in own and name not in inputs]
    if inputs or "TransferInput" in ad:
        new["TransferInput"] = ",".join(inputs)
    taken: dict[str, str] = {}
    for name in ("Out", "Err", "UserLog"):
        path = _text(ad, name)
        if path in ("", _NULL):
            continue
        short = posixpath.basename(path)
        # Two files with the same name in two directories are two files here.
        while taken.setdefault(short, path) != path:
            short += f".{name.lower()}"
        # The queue, which has another working directory, writes event logs.
        new[name] = posixpath.join(directory, short) if name == "UserLog" else short
    if _text(ad, "TransferOutputRemaps"):
        # They name places on the user's machine, to which the files go when they are retrieved.
        new["TransferOutputRemaps"] = ""
    kept = {f"{SUBMITTED}{name}": ad.cell(fold(name)) for name in new if name in ad}
    return {**kept, **new}


def submitted_ad(ad: ClassAd) -> ClassAd:
    """The ad with the original paths of the description."""
    found = ad.copy()
    for name in ad:
        if name.startswith(SUBMITTED):
            found[name.removeprefix(SUBMITTED)] = ad.cell(fold(name))
    return found


def retrieved_names(ad: ClassAd) -> dict[str, str]:
    """Name in the queue's directory to the original name in the description."""
    pairs = ((_text(ad, name), _text(ad, f"{SUBMITTED}{name}")) for name in ("Out", "Err", "UserLog"))
    return {posixpath.basename(here): there for here, there in pairs if here and there}


def _text(ad: ClassAd, name: str) -> str:
    cell = ad.cell(fold(name))
    return cell if isinstance(cell, str) else ""


def _listed(ad: ClassAd, name: str) -> list[str]:
    return [each.strip() for each in _text(ad, name).split(",") if each.strip()]


def _is_moved(ad: ClassAd, name: str) -> bool:
    return _text(ad, name) not in ("", _NULL) and ad.cell(f"transfer{name.lower()}") is not False


def is_spooled(job: Job) -> bool:
    """Whether a job's files are at the queue."""
    return f"{SUBMITTED}Iwd" in job.ad
