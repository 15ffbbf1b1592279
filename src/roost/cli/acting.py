"""Users' actions on jobs in the queue: ``roost rm|hold|release|suspend|continue|vacate|edit``."""

from __future__ import annotations

import argparse
import re
from typing import Any, Final

from roost.base.records import dataclass
from roost.cli.listing import counted, print_json
from roost.cli.pool_connection import add_pool_options, with_pool
from roost.cli.terminal import CommandError, Exit, complain, say
from roost.model.job_actions import ACTION_WORDS, ActionWords, refusal_words
from roost.wire.requests import queue
from roost.wire.requests.verb import JOBS_PATTERN
from roost.wire.structs import data_of


@dataclass(frozen=True, slots=True)
class QueueAction:
    """One of these commands."""

    queue_action: queue.Action
    help: str

    @property
    def words(self) -> ActionWords:
        """What its action is called."""
        return ACTION_WORDS[self.queue_action]


QUEUE_ACTIONS: Final = {
    "rm": QueueAction("remove", "remove jobs from the queue"),
    "hold": QueueAction("hold", "put jobs on hold"),
    "release": QueueAction("release", "return held jobs to the queue"),
    "suspend": QueueAction("suspend", "pause running jobs on their machines"),
    "continue": QueueAction("continue", "resume suspended jobs"),
    "vacate": QueueAction("vacate", "evict running jobs from their machines and return them to the queue"),
    "edit": QueueAction("edit", "change attributes of jobs"),
}

#: The refusals that are about the current state of the job.
_OF_STATUS: Final = ("already-done", "bad-status")


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add all of them."""
    for name, action in QUEUE_ACTIONS.items():
        parser = subparsers.add_parser(
            name, help=action.help, description=f"{action.help[0].upper()}{action.help[1:]}."
        )
        add_pool_options(parser)
        add_choice(parser)
        if name != "edit":
            parser.add_argument(
                "--reason", metavar="TEXT", default="", help="reason, recorded in the job's ad and its event log"
            )
        else:
            parser.add_argument(
                "--set",
                metavar="NAME=EXPR",
                action="append",
                required=True,
                help='attribute and expression, for example JobPrio=5 or Tag="x"',
            )
        if name == "rm":
            parser.add_argument(
                "-x", "--at-once", action="store_true", help="remove from the queue at once, even if still running"
            )
        if name == "vacate":
            parser.add_argument("--fast", action="store_true", help="kill the jobs at once, without a vacate time")


def add_choice(parser: argparse.ArgumentParser) -> None:
    """The options that select jobs."""
    parser.add_argument("job", metavar="JOB", nargs="*", help="job (12.0), cluster (12) or user")
    parser.add_argument("--constraint", metavar="EXPR", help="only jobs for which EXPR is true")
    parser.add_argument("--all", action="store_true", help="act on all jobs that you are allowed to")


def chosen(args: argparse.Namespace) -> queue.ChosenFields:
    """The selection as a request to the queue. Raises CommandError if nothing is selected."""
    jobs = [each for each in args.job if each[:1].isdigit()]
    owners = [each for each in args.job if not each[:1].isdigit()]
    for name in jobs:
        if re.fullmatch(JOBS_PATTERN, name) is None:
            raise CommandError(f"{name!r} is not a job (12.0) or a cluster (12)")
    if not (jobs or owners or args.constraint or args.all):
        raise CommandError("name jobs, clusters or users, or give --constraint or --all")
    if jobs and owners:
        raise CommandError("name either jobs and clusters, or users")
    return {"jobs": tuple(jobs), "owners": tuple(owners), "constraint": args.constraint}


def run(args: argparse.Namespace) -> int:
    """Run one of them."""
    action = QUEUE_ACTIONS[args.command]
    requested = action.queue_action
    if getattr(args, "at_once", False):
        requested = "remove-x"
    if getattr(args, "fast", False):
        requested = "vacate-fast"
    request = queue.Act(
        action=requested, reason=getattr(args, "reason", ""), attributes=_attributes(args), **chosen(args)
    )
    return _tell(args, action, with_pool(args, lambda pool: pool.ask(request)))


def _attributes(args: argparse.Namespace) -> dict[str, Any] | None:
    names = getattr(args, "set", None) or ()
    if not names:
        return None
    from roost.classad import ClassAd, ParseError, Syntax, parse_expression
    from roost.wire.ads import ad_data

    ad = ClassAd()
    for text in names:
        name, equals, expression = text.partition("=")
        if not equals or not name.strip():
            raise CommandError(f"--set {text}: write NAME=EXPR")
        try:
            ad[name.strip()] = parse_expression(expression.strip(), Syntax.OLD)
        except ParseError as error:
            raise CommandError(f"--set {name.strip()}: {error}") from None
    return ad_data(ad)


def _tell(args: argparse.Namespace, action: QueueAction, told: queue.ActedUpon) -> int:
    if args.json:
        print_json(data_of(told))
    done = told.counts.get("ok", 0)
    # For a cluster, a user or all, only the jobs to which the action applies are selected.
    meant = {job: why for job, why in told.refused.items() if why not in _OF_STATUS or job in args.job}
    if not args.json:
        if done:
            say(f"{counted(done, 'job')} {action.words.done}")
        for job, why in list(meant.items())[:10]:
            complain(f"job {job} {refusal_words(action.queue_action, why)}")
        if len(meant) > 10:
            complain(f"and {counted(len(meant) - 10, 'other job')} for the same kind of reason")
        if not done and not meant:
            complain(f"none of these jobs is {action.words.needs}" if told.refused else "no job matched")
    return Exit.OK if done and not meant else Exit.NO
