"""``roost story job ID`` and ``roost story slot NAME``: what has happened, in order, with the reasons.

A job's story is put together from its event log, where it has one, from its ad where it has none, from the records that
the machines it ran on keep of their slots, and from the audit trail, which knows who or what decided. A slot's is its
machine's record, with what was ordered of it.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from roost.cli.colour import painted
from roost.cli.pool import Pool, Refused, add_pool_options, print_json, with_pool
from roost.cli.telling import Told, lines, of_audit, of_event, of_records
from roost.cli.terminal import CommandError, Exit, complain, say

#: Attributes that the story of a job without a log is told from: name to what happened then.
_FROM_AD = {"QDate": "submitted", "JobStartDate": "started first", "CompletionDate": "finished"}

#: Decisions of one story, and kinds of them to how the event begins that each leads to, within this time, s.
_DECISIONS_MAX: Final = 500
_LED_TO: Final = {"hold": "put on hold", "release": "released", "removal": "removed", "eviction": "evicted"}
_NEAR_S: Final = 2.0


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``story``."""
    parser = subparsers.add_parser(
        "story", help="tell what has happened to a job or a slot", description="Tell what has happened, and why."
    )
    kinds = parser.add_subparsers(dest="kind", metavar="KIND", title="kinds", required=True)
    job = kinds.add_parser("job", help="a job", description="Tell what has happened to a job, and why.")
    add_pool_options(job)
    job.add_argument("name", metavar="ID", help="the job, as in 12.0")
    slot = kinds.add_parser("slot", help="a slot", description="Tell what has happened to a slot, and why.")
    add_pool_options(slot)
    slot.add_argument("name", metavar="NAME", help="slot (slot1@host, or slot1 on this machine), or a machine")
    for each in (job, slot):
        each.add_argument(
            "-n", "--limit", metavar="N", type=int, default=200, help="the last N happenings; 0 for all (default: 200)"
        )


def run(args: argparse.Namespace) -> int:
    """Run ``story``."""
    told = with_pool(args, lambda pool: _job(pool, args.name) if args.kind == "job" else _slot(pool, args))
    found = sorted(told, key=lambda each: each.at)[-args.limit or None :]
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
        complain(f"nothing is recorded of {args.kind} {args.name}")
    return Exit.OK if found else Exit.NO


# -- slots -------------------------------------------------------------------------------------------------------


def _slot(pool: Pool, args: argparse.Namespace) -> Iterable[Told]:
    name: str = args.name
    slot, _, machine = name.rpartition("@") if "@" in name else (name, "", "")
    if not machine and not slot.lower().startswith("slot"):
        slot, machine = "", name
    records = pool.node(machine, "story", slot=name if machine or not slot else slot, limit=args.limit)
    where = machine or str(pool.contact["node"])
    full = f"{slot}@{where}" if slot else ""
    decided = [each for each in _on_record(pool, machine=where) if _belongs(each, full)]
    return [*of_records(records, passing=True), *map(of_audit, decided)]


def _belongs(record: dict[str, Any], slot: str) -> bool:
    """Whether a decision is part of the story of a slot, or of a machine. Its own record tells more of evictions."""
    if record["kind"] not in ("preemption", "drain", "command", "match"):
        return False
    names = [str(record.get("slot", "")), *map(str, record.get("samples", ()))]
    return not slot or not any(names) or slot in names


def _on_record(pool: Pool, **wanted: Any) -> list[dict[str, Any]]:
    """The decisions that are on record of a job, or of a machine, the last ones."""
    try:
        found: list[dict[str, Any]] = pool.central("audit", **wanted, limit=_DECISIONS_MAX)["records"]
    except (Refused, CommandError) as error:
        complain(f"told without the audit trail: {error}")
        return []
    return [each for each in found if str(each.get("effect", "done")) in ("done", "refused")]


# -- jobs --------------------------------------------------------------------------------------------------------


def job_ad(pool: Pool, name: str) -> dict[str, Any]:
    """The ad of a job, in the queue or of the past. Raises CommandError."""
    if name.count(".") != 1 or not name.replace(".", "").isdigit():
        raise CommandError(f"{name!r} is no job: write it as in 12.0; `roost queue` and `roost history` list them")
    for what in ("query", "history"):
        rows: list[dict[str, Any]] = pool.schedd(what, jobs=[name], projection=[], limit=1, constraint=None)
        if rows:
            return rows[0]
    raise CommandError(f"there is no job {name}, and there was none: `roost queue` and `roost history` list them")


def _job(pool: Pool, name: str) -> list[Told]:
    ad = job_ad(pool, name)
    events = list(_events(ad, name)) or list(_dates(ad, name))
    told = [each for each in map(of_event, events) if each is not None] if _has_log(events) else events
    for machine in _machines(ad, events):
        try:
            records = pool.node(machine, "story", job=name, limit=0)
        except (Refused, CommandError) as error:
            complain(f"{machine} can't tell its part: {error}")
            continue
        # What the job's log says itself, its slot need not say again without a reason.
        told += [each for each in of_records(records) if each.why or not _has_log(events)]
    return _with_decisions(told, [*_on_record(pool, job=name), *_kept_out(pool, ad)], name)


def _kept_out(pool: Pool, ad: dict[str, Any]) -> list[dict[str, Any]]:
    """Decisions that kept a job's submitter out of matchmaking while the job was there."""
    began, ended = float(ad.get("QDate", 0)), float(ad.get("CompletionDate") or math.inf)
    group, user = str(ad.get("AccountingGroup") or ""), str(ad.get("User", ""))
    submitter = group if "@" in group or not group else f"{group}@{user.partition('@')[2]}"
    found = _on_record(pool, user=submitter or user, kinds=["discard"], knob="NEGOTIATOR_PE_SCHEDD_ONLY_EXPR")
    return [each for each in found if each["until"] >= began and each["at"] <= ended]


def _with_decisions(told: list[Told], decisions: list[dict[str, Any]], name: str) -> list[Told]:
    """What happened, with who or what decided it: beside the event that it led to, or for itself."""
    for record in decisions:
        said = of_audit(record)
        if said.kind != "job" and record["kind"] == "eviction" and not (record.get("actor") or record.get("user")):
            # The machine's own record of that transition has the reasons, but not who gets the slot.
            continue
        if said.kind == "job":
            said = said._replace(who=f"job {name}")
        word = _LED_TO.get(str(record["kind"]))
        near = [at for at, each in enumerate(told) if word and _is_near(each, word, said.at)]
        if near:
            at = min(near, key=lambda each: abs(told[each].at - said.at))
            told[at] = told[at]._replace(why=(*told[at].why, *said.why))
        else:
            told.append(said)
    return told


def _is_near(told: Told, word: str, at: float) -> bool:
    return told.kind == "job" and told.what.startswith(word) and abs(told.at - at) <= _NEAR_S


def _has_log(events: list[Any]) -> bool:
    return bool(events) and not isinstance(events[0], Told)


def _events(ad: dict[str, Any], name: str) -> Iterator[Any]:
    from roost.schedd.event_log import LogReader

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
        complain(f"{where}: {error.strerror}: told without the job's log")


def _dates(ad: dict[str, Any], name: str) -> Iterator[Told]:
    for attribute, what in _FROM_AD.items():
        at = ad.get(attribute)
        if isinstance(at, int | float) and at > 0:
            yield Told(float(at), f"job {name}", what, kind="job")
    if ad.get("JobStatus") == 5:
        said = f"put on hold (code {ad.get('HoldReasonCode', 0)}): {ad.get('HoldReason', '')}"
        yield Told(float(ad.get("EnteredCurrentStatus", 0)), f"job {name}", said, kind="job")
    if ad.get("JobStatus") == 3:
        said = f"removed: {ad.get('RemoveReason', '')}"
        yield Told(float(ad.get("EnteredCurrentStatus", 0)), f"job {name}", said, kind="job")


def _machines(ad: dict[str, Any], events: list[Any]) -> list[str]:
    """The machines that a job has been on, as far as is known."""
    slots = [ad.get("RemoteHost"), ad.get("LastRemoteHost")]
    slots += [getattr(getattr(event, "event", None), "slot_name", "") for event in events]
    return list(dict.fromkeys(str(slot).rpartition("@")[2] for slot in slots if slot))
