"""``roost explain job ID``: why a job is waiting or held.

`roost.runtime.asking.job` collects the daemons' data, `roost.explain.job` computes the answer, and this module prints
it.
"""

from __future__ import annotations

import argparse
import textwrap
import time
from typing import Final

from roost.cli.happenings import clock
from roost.cli.listing import counted, duration, print_json
from roost.cli.pool_connection import Pool
from roost.cli.terminal import Exit, say, width
from roost.explain import limits
from roost.explain.job import JobAnswer, explain_job
from roost.explain.remedies import RemedyKind
from roost.explain.verdict import Group, Verdict
from roost.model.cycle_answers import JobInCell, JobInCycle
from roost.model.job_standing import ClaimStanding
from roost.runtime.asking.job import job_question
from roost.schedd.status import JobStatus

_STATUS: Final = {
    JobStatus.RUNNING: "runs",
    JobStatus.TRANSFERRING_OUTPUT: "runs (its output is under way)",
    JobStatus.SUSPENDED: "is suspended",
}
#: Cause to its phrases for one slot, and for several.
_WORDS: Final = {
    "job-requirements": ("rejected by the job", "rejected by the job"),
    "slot-requirements": ("rejects the job", "reject the job"),
    "pool-policy-resource": ("forbidden by the pool's policy", "forbidden by the pool's policy"),
    "pool-policy-job": ("forbidden by the pool's policy", "forbidden by the pool's policy"),
    "constraint": ("takes no part in matchmaking", "take no part in matchmaking"),
    "pool-policy": ("is excluded by the pool's policy", "are excluded by the pool's policy"),
    "no-claim-offered": (
        "is not offered: just assigned to a job, or closed",
        "are not offered: just assigned to jobs, or closed",
    ),
    "claimed": ("is in use, and nothing is preempted", "are in use, and nothing is preempted"),
    "retirement-time": ("is in use, with retirement time left", "are in use, with retirement time left"),
    "occupied": ("would run it, but is in use and keeps its job", "would run it, but are in use and keep their jobs"),
    "given": (
        "would run it, and was assigned to it or to an equivalent job",
        "would run it, and were assigned to it and to equivalent jobs",
    ),
    "taken": ("would run it, but was assigned to another job", "would run it, but were assigned to other jobs"),
    "not-looked-at": ("was not considered for it", "were not considered for it"),
}


def run(pool: Pool, args: argparse.Namespace) -> int:
    """Carry out ``explain job``."""
    answer = explain_job(job_question(pool, args.name))
    if args.json:
        print_json(answer.data())
    else:
        show(answer, pool.user)
    return Exit.OK if answer.is_well else Exit.NO


# -- showing -----------------------------------------------------------------------------------------------------


def show(answer: JobAnswer, asker: str) -> None:
    """Print an answer for the user who asked."""
    if answer.status is not JobStatus.IDLE:
        _show_not_idle(answer, asker)
        return
    since = time.time() - (answer.since or time.time())
    say(f"Job {answer.job} ({answer.owner}) has been waiting for a slot for {duration(since)}.")
    if answer.vacated:
        say(f"It was on a machine before: {answer.vacated}.")
    if answer.refused:
        say(f"A machine that it was matched with rejected it: {answer.refused}.")
    if answer.claim:
        _show_claim(answer.claim)
    if answer.pause:
        say(
            f"Jobs of its cluster got slots {answer.pause.misses} times in a row and failed to start; its "
            f"queue asks for another slot at {clock(answer.pause.until)}."
        )
    if answer.at_once:
        say(
            f"At most {counted(answer.at_once, 'job')} of its cluster may be in the queue at a time "
            "(max_materialize); it waits until one leaves the queue."
        )
    if answer.full:
        _wrapped(
            f"Its queue is not asking for more slots: {answer.full.knob} is {answer.full.most}, and that many "
            + ("are in use." if answer.full.knob == "MAX_JOBS_RUNNING" else "were requested just now."),
            "",
        )
    if answer.starts_at is not None:
        say(f"It is due to start at {clock(answer.starts_at)} (deferral_time).")
    if answer.local:
        local = answer.local
        _wrapped(f"It runs on the machine of its queue, and {local.knob} is not TRUE: {local.text}.", "")
    if not answer.at_once:
        for sentence in ("", *answer.unknown) if answer.unknown else ():
            say(sentence)
        # Free slots are not a reason if the queue does not offer the job to them.
        if answer.verdict is not None and not (answer.full and answer.verdict.fits):
            say("")
            _show_verdict(answer.verdict)
        if answer.cell is not None:
            say("")
            _show_cell(answer.cell)
    _show_remedies(answer, asker)


def _show_cell(cell: JobInCell) -> None:
    """The result of the cell's scheduling run for a job, as shown by `qstat -j`."""
    at, reasons = clock(cell.at), cell.reasons
    if not reasons:
        say(f"The cell's scheduling run at {at} assigned it a queue instance, and it is starting.")
        return
    say(f"The cell's scheduling run (revision {cell.revision}) at {at} did not start it:")
    for each in reasons:
        _wrapped(each, "    ", "        ")


def _show_remedies(answer: JobAnswer, asker: str) -> None:
    changes = any(each.kind in (RemedyKind.EDIT, RemedyKind.RELEASE) for each in answer.remedies)
    if answer.remedies:
        whose = f" (only {answer.owner} or an administrator can change the job)" if changes else ""
        say("")
        say(f"What would help{whose if asker != answer.owner else ''}:")
    for each in answer.remedies:
        _wrapped(each.text, "  - ", "    ")


def _show_claim(claim: ClaimStanding) -> None:
    heard = f"since {clock(claim.heard_at)}"
    if claim.stage == "asked":
        say(f"It is matched: its queue has asked for {claim.slot}, whose machine has not answered {heard}.")
    else:
        say(f"It is matched: {claim.slot} is held for it, {heard}.")


def _show_not_idle(answer: JobAnswer, asker: str) -> None:
    job, status, about = answer.job, answer.status, answer.attributes
    since = clock(answer.since)
    if status is JobStatus.HELD:
        code = f"code {about.get('HoldReasonCode', 0)}, subcode {about.get('HoldReasonSubCode', 0)}"
        say(f"Job {job} is on hold since {since} ({code}):")
        _wrapped(str(about.get("HoldReason", "the reason is unknown")), "    ")
        for line in answer.decided:
            _wrapped(line, "    ")
        _show_remedies(answer, asker)
    elif status in _STATUS and not answer.executes:
        say(
            f"Job {job} has had {about.get('RemoteHost', 'a slot')} since {since}. Its program has not "
            "started there yet."
        )
        if answer.starts_at is not None:
            say(f"It is due to start at {clock(answer.starts_at)} (deferral_time).")
        say(f"`roost story job {job}` shows what happened so far.")
    elif status in _STATUS:
        say(f"Job {job} {_STATUS[status]} on {about.get('RemoteHost', 'a machine')} since {since}.")
        if answer.suspension:
            _wrapped(f"The cell suspends it: {answer.suspension}.", "")
        say(f"`roost explain slot {about.get('RemoteHost', 'NAME')}` shows what may happen to it there.")
    elif status is JobStatus.REMOVED:
        say(f"Job {job} was removed at {since}: {about.get('RemoveReason', '')}")
        for line in answer.decided:
            _wrapped(line, "    ")
    else:
        end = f"signal {about['ExitSignal']}" if "ExitSignal" in about else f"status {about.get('ExitCode', '?')}"
        say(f"Job {job} ended with {end} at {since}. `roost story job {job}` shows how.")


def _show_verdict(verdict: Verdict) -> None:
    record = verdict.record
    if record.text and not verdict.fits:
        _wrapped(f"The last matchmaking cycle, at {clock(record.at)}: {record.text}.", "")
        say("")
    if record.knob or record.out:
        _show_kept_out(record)
    else:
        _show_slots(verdict)
    if verdict.nearest and not verdict.fits:
        nearest = verdict.nearest
        say("")
        if_ = "if" if nearest.sure else "only if"
        _wrapped(f"Closest: {nearest.slot}. It would fit {if_} {' and '.join(nearest.changes)}.", "")
    _paragraph(list(limits.limits(record)))
    share = limits.fair_share(record)
    if share is not None:
        say("")
        for line in share_table(share):
            say(line)


def _paragraph(sentences: list[str]) -> None:
    if sentences:
        say("")
    for each in sentences:
        _wrapped(each, "")


def _show_kept_out(record: JobInCycle) -> None:
    knob = record.knob
    if not knob:
        # The reason is in the job's own ad, and has been printed already.
        say("The job is therefore excluded from matchmaking while the pool has a policy; no slot was considered.")
        return
    place = f" [{knob.place}]" if knob.place else ""
    whose = "its submitter" if "SCHEDD" in knob.name or "SUBMITTER" in knob.name else "it"
    say(f"The pool's policy excludes {whose} from matchmaking; no slot was considered.")
    _wrapped(f"{knob.name} = {knob.text}{place}", "    ", "      ")


def _show_slots(verdict: Verdict) -> None:
    record = verdict.record
    total = record.slots
    say(f"{counted(total, 'slot')} considered:")
    wide = len(str(total))
    for group in verdict.groups:
        head = f"  {group.count:>{wide}}  "
        _wrapped(_said(group, record), head, " " * len(head))
        if group.because:
            _wrapped(f"{group.slots[0]}: {group.because}", " " * (len(head) + 4), " " * (len(head) + 6))
        elif group.slots and group.cause != "accepted":
            named = ", ".join(group.slots[:3]) + (", …" if group.count > 3 else "")
            if group.holders:
                named += "; in use by " + ", ".join(
                    f"{name} ({count})" for name, count in list(group.holders.items())[:5]
                )
            _wrapped(named, " " * (len(head) + 4), " " * (len(head) + 4))


def _said(group: Group, record: JobInCycle) -> str:
    if group.cause == "accepted":
        besides = limits.held_up(record)
        whole = f"would run it{f', but {besides}' if besides else ' now'}"
        return f"{whole}, as {group.slots[0]}" if group.slots else whole
    words = _WORDS[group.cause][0 if group.count == 1 else 1]
    if group.clause:
        words += f": {group.clause}"
    source = record.sources.get(group.cause)
    if source and not group.because:
        place = f" [{source.place}]" if source.place else ""
        words += f" ({source.name} = {source.text}{place})"
    elif source:
        words += f" ({source.name})"
    return words


def share_table(share: limits.FairShare) -> list[str]:
    """The submitters served before the job's submitter."""
    lines = [["USER", "PRIORITY", "IN USE", "GOT", "SHARE", "WAITING", ""]]
    for each in share.rows:
        due = "" if each.share is None else f"{each.share:.2f}"
        lines.append(
            [each.submitter, f"{each.priority:.6g}", f"{each.used:g}", f"{each.got:g}", due, str(each.left), each.place]
        )
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    found = ["Fair share, lowest priority value first:"]
    if share.hidden:
        found.append(f"  {share.hidden} others are also ahead.")
    for line in lines:
        cells = (
            f"{cell:<{wide}}" if at in (0, 6) else f"{cell:>{wide}}"
            for at, (cell, wide) in enumerate(zip(line, widths, strict=True))
        )
        found.append(("  " + "  ".join(cells)).rstrip())
    return found


def _wrapped(text: str, first: str, rest: str | None = None) -> None:
    for line in textwrap.wrap(
        text, max(40, width()), initial_indent=first, subsequent_indent=first if rest is None else rest,
        break_on_hyphens=False, break_long_words=False,
    ):  # fmt: skip
        say(line)
