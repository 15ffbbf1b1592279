"""``roost submit``: read a submit description and submit its jobs to the queue."""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from roost.cli.listing import arguments, counted, print_json, table
from roost.cli.pool_connection import add_pool_options, with_pool
from roost.cli.terminal import CommandError, Exit, complain, say, width
from roost.runtime.home import Home, HomeError
from roost.runtime.queue import descriptions
from roost.wire.requests import queue
from roost.wire.structs import data_of

if TYPE_CHECKING:
    import argparse

    from roost.classad import ClassAd
    from roost.config import Config
    from roost.schedd.submit import Submission, SubmitContext

#: Number of jobs that a dry run shows in its table.
_TABLE_ROWS_MAX: Final = 50


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``submit``."""
    parser = subparsers.add_parser(
        "submit",
        help="submit jobs",
        description="Submit the jobs of a submit description: a file, or - for standard input.",
    )
    add_pool_options(parser)
    parser.add_argument("file", metavar="FILE", nargs="?", default="-", help="submit description; - for standard input")
    parser.add_argument("assignment", metavar="NAME=VALUE", nargs="*", help="assignment, read before the file")
    parser.add_argument(
        "-a", "--append", metavar="LINE", action="append", default=[], help="line to insert before each queue statement"
    )
    parser.add_argument(
        "-q", "--queue", metavar="STATEMENT", help="arguments of 'queue' if the file has no queue statement"
    )
    parser.add_argument("--dry-run", action="store_true", help="show the jobs in a table, and submit nothing")
    parser.add_argument("--long", action="store_true", help="with --dry-run, print the jobs' ads")
    parser.add_argument("--wait", action="store_true", help="wait until the jobs have left the queue")


def run(args: argparse.Namespace) -> int:
    """Run ``submit``."""
    submission = _read(args)
    from roost.config.not_text import shown

    # Errors that prevent submission come first, so that they are not lost among warnings.
    warnings = [each for each in submission.findings if each not in submission.errors]
    for line in shown([*submission.errors, *warnings], submission.dropped):
        complain(line)
    if submission.errors:
        return Exit.BAD
    if args.long and not args.dry_run:
        raise CommandError("--long goes with --dry-run: it shows the ads that would be submitted")
    if args.dry_run:
        return _show(submission, as_json=args.json, whole=args.long)
    if not submission.count:
        raise CommandError("the description produces no jobs: nothing was submitted")

    request = queue.Submit(clusters=tuple(plan.to_data() for plan in submission.clusters))
    taken = with_pool(args, lambda pool: pool.ask(request))
    if args.json:
        print_json([data_of(each) for each in taken])
    else:
        for each in taken:
            for warning in each.warnings:
                complain(f"warning: {warning}")
            say(f"{counted(each.jobs, 'job')} submitted to cluster {each.cluster}")
    if not args.wait:
        return Exit.OK
    from roost.cli import wait

    sys.stdout.flush()
    args.job, args.timeout, args.held = [str(each.cluster) for each in taken], None, False
    return wait.run(args)


def pool_config(home: Home, contact: dict[str, Any]) -> Config | None:
    """The pool's configuration, after reporting its errors; None if there is none."""
    config = descriptions.pool_config(home, contact)
    from roost.config.not_text import shown

    for line in shown(config.errors, config.dropped) if config is not None else ():
        complain(line)
    return config


def _show(submission: Submission, *, as_json: bool, whole: bool) -> int:
    """Print the jobs that would be submitted."""
    from roost.classad.forms import Form, parse_ad
    from roost.schedd.submit import listing

    texts = listing(submission)
    if as_json:
        from roost.wire.ads import ad_data

        print_json([ad_data(parse_ad(text, Form.OLD)) for text in texts])
    elif whole:
        for text in texts:
            say(text)
    else:
        _show_table([parse_ad(text, Form.OLD) for text in islice(texts, _TABLE_ROWS_MAX)])
        more = submission.count - _TABLE_ROWS_MAX
        if more > 0:
            say(f"… and {counted(more, 'job')} more (--long prints all of them)")
        say("")
        say(f"{counted(submission.count, 'job')} would be submitted in {counted(len(submission.clusters), 'cluster')}")
    return Exit.OK


def _show_table(ads: list[ClassAd]) -> None:
    """A line for each job, numbered from 1.0 on."""
    titles = ["JOB", "CPUS", "MEMORY", "DISK", *(["GPUS"] if any("RequestGPUs" in ad for ad in ads) else [])]
    right = frozenset(range(len(titles)))
    rows = []
    for ad in ads:
        row = [f"{ad.eval('ClusterId')}.{ad.eval('ProcId')}", *(_requested(ad, title) for title in titles[1:])]
        shown = {"Cmd": ad.eval("Cmd"), "Args": ad.eval("Args"), "Arguments": ad.eval("Arguments")}
        command = {name: value for name, value in shown.items() if isinstance(value, str)}
        row += [str(ad.eval("Out") or "-") if ad.eval("Out") != "/dev/null" else "-", ""]
        row[-1] = f"{command.get('Cmd', '').rpartition('/')[2]} {arguments(command)}".rstrip()
        rows.append(row)
    room = max(30, width() - 60)
    for row in rows:
        row[-1] = row[-1] if len(row[-1]) <= room else row[-1][: room - 1] + "…"
    if rows:
        table(rows, [*titles, "OUTPUT", "COMMAND"], right)


#: Headings of the table to the attribute, the displayed unit, and its size in the attribute's unit.
_REQUESTS: Final = {
    "CPUS": ("RequestCpus", "", 1), "MEMORY": ("RequestMemory", " MB", 1), "DISK": ("RequestDisk", " MB", 1024),
    "GPUS": ("RequestGPUs", "", 1),
}  # fmt: skip


def _requested(ad: ClassAd, title: str) -> str:
    name, unit, size = _REQUESTS[title]
    value = ad.eval(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "depends" if name in ad else "-"
    return f"{value / size:.0f}{unit}" if unit else f"{value:g}"


def _read(args: argparse.Namespace) -> Submission:
    if "=" in args.file and not Path(args.file).exists():
        args.assignment.insert(0, args.file)
        args.file = "-"
    home = Home.find(args.home)
    try:
        contact = home.contact()
    except HomeError as error:
        if not args.dry_run:
            raise CommandError(str(error)) from None
        contact = {}
    return read_description(
        args.file,
        descriptions.submit_context(pool_config(home, contact), contact),
        arguments=tuple(args.assignment),
        append=tuple(args.append),
        queue=args.queue,
    )


def _description_text(file: str) -> str:
    """The text of a description, truncated one character beyond the limit: a device or a pipe may never end."""
    from roost.config.limits import DEFAULT_LIMITS

    most = DEFAULT_LIMITS.file_chars_max + 1
    if file == "-":
        return sys.stdin.read(most)
    with Path(file).open(encoding="utf-8", errors="replace") as stream:
        return stream.read(most)


def read_description(
    file: str,
    context: SubmitContext,
    *,
    arguments: tuple[str, ...] = (),
    append: tuple[str, ...] = (),
    queue: str | None = None,
) -> Submission:
    """Read a submit description from a file, or ``-`` for standard input. Raises CommandError."""
    from roost.schedd.submit import read_submission

    try:
        text = _description_text(file)
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror}") from None
    name = "<stdin>" if file == "-" else file
    return read_submission(text, name, context, arguments=arguments, append=append, queue=queue)
