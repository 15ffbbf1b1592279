"""``roost audit``: decisions made in the pool, with their authors or expressions; exported, or compared with a policy
on trial.

Records come from the central manager's database, page by page, so that an export of any size needs little memory.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import textwrap
import time
from collections.abc import Iterator
from typing import Final

from roost.cli.audit_diff import show_diff
from roost.cli.colour import painted
from roost.cli.happenings import clock
from roost.cli.listing import print_json
from roost.cli.pool_connection import Pool, add_pool_options, with_pool
from roost.cli.terminal import CommandError, Exit, complain, say, width
from roost.explain.happenings import counted_reason
from roost.model.audit import AuditKind, AuditRecord
from roost.wire.requests import central
from roost.wire.structs import data_of, replaced

_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_AGO: Final = re.compile(r"(\d+(?:\.\d+)?)([smhdw])\Z")
#: Kinds of decisions that are counted; the text of the subject begins with the count.
_COUNTED: Final = ("discard", "veto", "policy-error")
#: Effects that a policy on trial would have had.
WOULD: Final = ("would-discard", "would-admit", "would-prevent", "would-allow")


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``audit``."""
    parser = subparsers.add_parser(
        "audit",
        help="list the decisions of the pool with their authors and reasons",
        description="List the decisions of the pool, newest first; export them; or show what a policy on "
        "trial would have changed.",
    )
    add_pool_options(parser)
    parser.add_argument(
        "what", nargs="?", choices=("list", "export", "diff"), default="list",
        help="list: print them (default); export: print them as JSON Lines, oldest first; diff: show what "
        "NEGOTIATOR_PE_DRYRUN_* would have changed",
    )  # fmt: skip
    parser.add_argument(
        "--since", metavar="TIME", help="only decisions after this time, for example 2h, 3d or 2026-11-21T18:00"
    )
    parser.add_argument("--until", metavar="TIME", help="only decisions before this time")
    kinds = ", ".join(AuditKind)
    parser.add_argument("--kind", metavar="KIND", action="append", help=f"one of {kinds}; may be repeated")
    parser.add_argument("--user", metavar="USER", help="only decisions made by this user or about the user's jobs")
    parser.add_argument("--machine", metavar="MACHINE", help="only decisions about this machine or one of its slots")
    parser.add_argument("--job", metavar="JOB", help="only decisions about this job (12.0) or cluster (12)")
    parser.add_argument(
        "--request-id", metavar="ID", help="only decisions made by this request or about the jobs that it submitted"
    )
    parser.add_argument("--knob", metavar="NAME", help="only decisions made by this policy expression")
    parser.add_argument("--configuration", metavar="DIGEST", help="only decisions made under this configuration")
    parser.add_argument("--long", action="store_true", help="show everything that is recorded of each decision")
    parser.add_argument(
        "-n", "--limit", metavar="N", type=int, default=40, help="at most N decisions; 0 for all (default: 40)"
    )


def run(args: argparse.Namespace) -> int:
    """Run ``audit``."""
    question = _question(args)
    if args.what == "export":
        return with_pool(args, lambda pool: _export(pool, question))
    if args.what == "diff":
        records = with_pool(args, lambda pool: list(_all(pool, replaced(question, effects=WOULD))))
        return show_diff(records, as_json=args.json)
    records = with_pool(args, lambda pool: _newest(pool, question, args.limit))
    if args.json:
        print_json([data_of(each) for each in records])
        return Exit.OK if records else Exit.NO
    for record in reversed(records):
        for line in _long(record) if args.long else _short(record):
            say(line)
    if not records:
        complain("no matching decision is on record")
    elif args.limit and len(records) == args.limit:
        complain(f"showing the last {args.limit}; -n 0 shows all, and --since and other options narrow the selection")
    return Exit.OK if records else Exit.NO


def _question(args: argparse.Namespace) -> central.AuditTrail:
    for kind in args.kind or ():
        if kind not in list(AuditKind):
            raise CommandError(f"{kind!r} is not a valid kind of decision: {', '.join(AuditKind)}")
    if args.job and not re.fullmatch(r"\d{1,9}(\.\d{1,9})?", args.job):
        raise CommandError(f"{args.job!r} is neither a job (12.0) nor a cluster (12)")
    if args.limit < 0:
        raise CommandError("-n must be a number of decisions, or 0 for all")
    return central.AuditTrail(
        since=_instant("--since", args.since),
        until=_instant("--until", args.until),
        kinds=tuple(args.kind or ()),
        user=args.user or "",
        machine=args.machine or "",
        job=args.job or "",
        request=args.request_id or "",
        knob=args.knob or "",
        configuration=args.configuration or "",
    )


def _instant(option: str, text: str | None) -> float | None:
    if text is None:
        return None
    ago = _AGO.match(text)
    if ago:
        return time.time() - float(ago[1]) * _UNITS[ago[2]]
    for form in ("%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d", "%H:%M:%S", "%H:%M"):
        try:
            found = time.strptime(text, form)
        except ValueError:
            continue
        if "%Y" not in form:
            today = time.localtime()
            found = time.struct_time((*today[:3], *found[3:6], 0, 0, -1))
        return time.mktime(time.struct_time((*found[:8], -1)))
    raise CommandError(f"{option} is {text!r}; write an age (90s, 30m, 2h, 3d) or a time (2026-11-21T18:00, 18:00)")


# -- asking ------------------------------------------------------------------------------------------------------


def _all(pool: Pool, question: central.AuditTrail) -> Iterator[AuditRecord]:
    """All records, in the order in which they were first made."""
    after = 0
    while True:
        page = pool.ask(replaced(question, after=after))
        yield from page.records
        if not page.more:
            return
        after = page.last


def _newest(pool: Pool, question: central.AuditTrail, limit: int) -> list[AuditRecord]:
    if limit and limit <= _PAGE:
        page = pool.ask(replaced(question, limit=limit))
        if len(page.records) == limit or not page.more:
            return page.records
    found = sorted(_all(pool, question), key=lambda each: -each.until)
    return found[: limit or None]


#: Number of records requested at once.
_PAGE: Final = 500


def _export(pool: Pool, question: central.AuditTrail) -> int:
    code = Exit.NO
    for record in _all(pool, question):
        sys.stdout.write(json.dumps(data_of(record), ensure_ascii=False) + "\n")
        code = Exit.OK
    return code


# -- showing -----------------------------------------------------------------------------------------------------


def _short(record: AuditRecord) -> Iterator[str]:
    """A decision in a few lines."""
    kind = record.kind
    head = f"{clock(record.at):<14}  {kind:<13}  "
    said = _sentence(record)
    room = max(30, width() - len(head))
    first, *rest = textwrap.wrap(said, room, break_on_hyphens=False) or [""]
    yield f"{painted(head, 'bold')}{first}"
    for line in rest:
        yield f"{'':{len(head)}}{line}"
    for reason in _reasons(record):
        for line in textwrap.wrap(reason, room, subsequent_indent="  ", break_on_hyphens=False):
            yield painted(f"{'':{len(head)}}{line}", "dim")


def _sentence(record: AuditRecord) -> str:
    about, reason = _about(record), record.reason
    if record.kind in _COUNTED or record.effect.startswith("would"):
        reason = counted_reason(record)
    said = f"{about}: {reason}" if about else reason
    if record.actor:
        said += f", by {record.actor}"
    if record.effect == "refused":
        said = f"refused: {said}"
    elif record.effect != "done":
        said = f"{record.effect.replace('-', ' ')}: {said}"
    if record.until - record.at >= 1:
        said += f" (until {clock(record.until)})"
    return said


def _about(record: AuditRecord) -> str:
    job, count = record.job, record.count
    parts = [f"job {job}"] if job else []
    parts += [record.slot] if record.slot else []
    if not parts and record.machine:
        parts.append(record.machine)
    if not parts and record.kind == "configuration":
        parts.append(record.origin)
    if not parts and record.user:
        parts.append(record.user)
    if count > 1 and record.kind in ("hold", "release", "removal", "eviction"):
        parts.append(f"{count} jobs")
    return ", ".join(parts)


def _reasons(record: AuditRecord) -> Iterator[str]:
    if record.knob:
        text = record.expression
        text = f" = {text}" if text else ""
        yield f"{record.knob}{text}" + (f" [{record.place}]" if record.place else "")
    samples = record.samples
    if samples and not record.job:
        named = [str(each).replace(" ", " on ", 1) for each in samples[:6]]
        more = f" and {len(samples) - 6} more on record" if len(samples) > 6 else ""
        yield f"{'set:' if record.kind == 'configuration' else 'such as'} {', '.join(named)}{more}"


def _long(record: AuditRecord) -> Iterator[str]:
    """A decision with everything recorded about it."""
    at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(record.at))
    yield painted(f"{at}  {record.kind}  {record.id}", "bold")
    for name, value in data_of(record).items():
        if name in ("id", "kind", "at") or value in ("", [], {}):
            continue
        if name == "until":
            value = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(record.until))
        if isinstance(value, list):
            value = ", ".join(map(str, value))
        if isinstance(value, dict):
            value = json.dumps(value, ensure_ascii=False)
        head = f"    {name:<14} "
        yield from textwrap.wrap(
            str(value), max(40, width()), initial_indent=head, subsequent_indent=" " * len(head), break_on_hyphens=False
        )
