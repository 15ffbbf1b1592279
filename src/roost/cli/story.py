"""``roost story job ID`` and ``roost story slot NAME``: what has happened, in order, with the reasons.

This module asks the daemons, reads the job's log and prints; the story is put together by `roost.explain.story`.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from roost.classad import ClassAd
from roost.cli.colour import painted
from roost.cli.happenings import lines
from roost.cli.pool import Pool, Refused, add_pool_options, print_json, with_pool
from roost.cli.terminal import CommandError, Exit, complain, say
from roost.explain.happenings import Happening
from roost.explain.story import job_story, machines, slot_story, submitter
from roost.model.audit import AuditRecord
from roost.model.slot_transition import SlotTransition
from roost.schedd.event_log.log import LoggedEvent, LogReader
from roost.wire.ads import ad_from
from roost.wire.requests import central, queue
from roost.wire.requests.machine import Story

_JOB: Final = re.compile(r"[0-9]+(\.[0-9]+)?")
#: How long the audit trail is waited for, without which a story is still one, s.
_ANSWER_S: Final = 6.0
#: Decisions that are asked for, of one story.
_DECISIONS_MAX: Final = 500


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``story``."""
    parser = subparsers.add_parser(
        "story", help="show what happened to a job or a slot", description="Show what happened, in order, and why."
    )
    kinds = parser.add_subparsers(dest="kind", metavar="COMMAND", title="commands", required=True)
    job = kinds.add_parser("job", help="a job", description="Show what happened to a job, and why.")
    add_pool_options(job)
    job.add_argument("name", metavar="JOB", help="the job, as in 12.0; 12 for a cluster of one job")
    slot = kinds.add_parser("slot", help="a slot", description="Show what happened to a slot, and why.")
    add_pool_options(slot)
    slot.add_argument("name", metavar="SLOT", help="slot (slot1@host, or slot1 on this machine), or a machine")
    for each in (job, slot):
        each.add_argument(
            "-n", "--limit", metavar="N", type=int, default=200, help="the last N events; 0 for all (default: 200)"
        )


def run(args: argparse.Namespace) -> int:
    """Run ``story``."""
    told = with_pool(args, lambda pool: _job(pool, args.name) if args.kind == "job" else _slot(pool, args))
    found = told[-args.limit or None :]
    if args.json:
        print_json([each.data() for each in found])
        return Exit.OK if found else Exit.NO
    wide = max((len(each.who) for each in found), default=0)
    for each in found:
        first, *rest = lines(each, wide=wide)
        say(painted(first, "bold" if each.kind == "job" else ""))
        for line in rest:
            say(painted(line, "dim"))
    if not found:
        complain(f"nothing is on record about {args.kind} {args.name}")
    return Exit.OK if found else Exit.NO


# -- asking ------------------------------------------------------------------------------------------------------


def _slot(pool: Pool, args: argparse.Namespace) -> list[Happening]:
    name: str = args.name
    slot, _, machine = name.rpartition("@") if "@" in name else (name, "", "")
    if not machine and not slot.lower().startswith("slot"):
        slot, machine = "", name
    records = pool.ask(Story(slot=name if machine or not slot else slot, limit=args.limit), machine=machine)
    where = machine or str(pool.contact["node"])
    return slot_story(
        f"{slot}@{where}" if slot else "",
        records,
        *_on_record(pool, central.AuditTrail(machine=where, limit=_DECISIONS_MAX)),
    )


def _on_record(pool: Pool, *questions: central.AuditTrail) -> list[list[AuditRecord]]:
    """The last decisions that are on record, for each question; after one that gets no reply none is asked."""
    found: list[list[AuditRecord]] = [[] for _ in questions]
    try:
        for number, asked in enumerate(questions):
            found[number] = pool.ask(asked, within_s=_ANSWER_S).records
    except (Refused, CommandError) as error:
        complain(f"shown without the audit trail: {error}")
    return found


def job_ad(pool: Pool, name: str) -> tuple[str, dict[str, Any]]:
    """The name and the ad of a job, in the queue or in the history; a cluster of one job may be named for it.

    Raises CommandError.
    """
    if not _JOB.fullmatch(name):
        raise CommandError(f"{name!r} is not a job: write 12.0, or 12 for a cluster of one job")
    found: dict[str, dict[str, Any]] = {}
    for request in (queue.Query(jobs=(name,), limit=2), queue.History(jobs=(name,), limit=2)):
        for row in pool.ask(request):
            found.setdefault(f"{row.get('ClusterId')}.{row.get('ProcId')}", row)
        if found and "." in name:
            break
    if not found:
        what = "job" if "." in name else "cluster"
        raise CommandError(f"there is no {what} {name}: `roost queue` and `roost history` list the jobs there are")
    if len(found) > 1:
        raise CommandError(f"cluster {name} has several jobs: name one of them, such as {min(found)}")
    return next(iter(found.items()))


def _job(pool: Pool, name: str) -> list[Happening]:
    name, data = job_ad(pool, name)
    ad = ad_from(data)
    events = list(_events(ad, name))
    knob = "NEGOTIATOR_PE_SCHEDD_ONLY_EXPR"
    kept_out = central.AuditTrail(user=submitter(ad), kinds=("discard",), knob=knob, limit=_DECISIONS_MAX)
    records = [record for machine in machines(ad, events) for record in _transitions(pool, machine, name)]
    decisions, forbidden = _on_record(pool, central.AuditTrail(job=name, limit=_DECISIONS_MAX), kept_out)
    return job_story(name, ad, events=events, records=records, decisions=decisions, kept_out=forbidden)


def _transitions(pool: Pool, machine: str, name: str) -> list[SlotTransition]:
    try:
        return pool.ask(Story(job=name), machine=machine)
    except (Refused, CommandError) as error:
        complain(f"shown without the record of {machine}: {error}")
        return []


def _events(ad: ClassAd, name: str) -> Iterator[LoggedEvent]:
    """The events of a job in its log."""
    path = ad.get("UserLog")
    if not isinstance(path, str):
        return
    where = Path(str(ad.get("Iwd", "/"))) / path
    cluster, proc = (int(part) for part in name.split("."))
    reader = LogReader()
    try:
        with where.open("rb") as file:
            while piece := file.read(1 << 20):
                for event in reader.feed(piece):
                    if (event.cluster, event.proc) == (cluster, proc):
                        yield event
    except OSError as error:
        complain(f"{where}: {error.strerror}: shown without the job's log")
