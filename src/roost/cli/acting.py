"""What users do to jobs in the queue: ``roost rm|hold|release|suspend|continue|vacate|edit``."""

from __future__ import annotations

import argparse
from typing import Any, Final

from roost.base.records import dataclass
from roost.cli.pool import add_pool_options, counted, print_json, with_pool
from roost.cli.terminal import CommandError, Exit, complain, say
from roost.wire.requests import queue
from roost.wire.structs import data_of


@dataclass(frozen=True, slots=True)
class Deed:
    """One of these commands."""

    action: queue.Action
    help: str
    #: What has happened to a job, after "are".
    done: str
    #: What a job must be for it.
    needs: str


DEEDS: Final = {
    "rm": Deed("remove", "remove jobs from the queue", "removed", "still in the queue"),
    "hold": Deed("hold", "put jobs on hold", "held", "idle or running"),
    "release": Deed("release", "return held jobs to the queue", "released", "on hold, and off its machine"),
    "suspend": Deed("suspend", "pause running jobs on their machines", "being suspended", "running"),
    "continue": Deed("continue", "resume suspended jobs", "being continued", "suspended"),
    "vacate": Deed(
        "vacate", "evict running jobs from their machines and return them to the queue", "being vacated", "running"
    ),
    "edit": Deed("edit", "change attributes of jobs", "changed", "in the queue"),
}

_WHY: Final = {
    "not-found": "it is not in the queue",
    "permission-denied": "it belongs to another user",
    "released-too-often": "it has been released as often as SYSTEM_MAX_RELEASES allows; only queue super users may "
    "release it once more",
    "immutable": "one of these attributes cannot be changed after submission: it says what the job is, or "
    "IMMUTABLE_JOB_ATTRS names it",
    "protected": "only queue super users may change one of these attributes: it is the queue's record of the job, or "
    "PROTECTED_JOB_ATTRS names it",
    "not-a-number": "JobPrio must be a whole number from -2147483647 to 2147483647",
    "bad-name": "attribute names consist of letters, digits, _ and . and do not begin with a digit",
    "not-a-text": "groups are quoted strings, not expressions",
    "too-large": "the job's ad would be too large: have large data transferred as files",
    "group-too-long": "the name of a group is too long",
    "too-many-groups": "your jobs would be in more accounting groups than a queue takes of one user",
}

#: Of these, the ones that say how the job is just now.
_OF_STATUS: Final = ("already-done", "bad-status")


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add all of them."""
    for name, deed in DEEDS.items():
        parser = subparsers.add_parser(name, help=deed.help, description=f"{deed.help[0].upper()}{deed.help[1:]}.")
        add_pool_options(parser)
        add_choice(parser)
        if name != "edit":
            parser.add_argument(
                "--reason", metavar="TEXT", default="", help="the reason, kept with the job and in its log"
            )
        else:
            parser.add_argument(
                "--set",
                metavar="NAME=EXPR",
                action="append",
                required=True,
                help='attribute and expression, as in JobPrio=5 or Tag="x"',
            )
        if name == "rm":
            parser.add_argument(
                "-x", "--at-once", action="store_true", help="remove from the queue at once, even if still running"
            )
        if name == "vacate":
            parser.add_argument("--fast", action="store_true", help="kill the jobs, without time to end by themselves")


def add_choice(parser: argparse.ArgumentParser) -> None:
    """The options that choose jobs."""
    parser.add_argument("job", metavar="JOB", nargs="*", help="job (12.0), cluster (12) or user")
    parser.add_argument("--constraint", metavar="EXPR", help="jobs for which this is true")
    parser.add_argument("--all", action="store_true", help="all jobs that you may act on")


def chosen(args: argparse.Namespace) -> queue.ChosenFields:
    """The choice as the queue is told it. Raises CommandError where nothing is chosen."""
    jobs = [each for each in args.job if each[:1].isdigit()]
    owners = [each for each in args.job if not each[:1].isdigit()]
    if not (jobs or owners or args.constraint or args.all):
        raise CommandError("name jobs, clusters or users, or give --constraint or --all")
    if jobs and owners:
        raise CommandError("name either jobs and clusters, or users")
    return {"jobs": tuple(jobs), "owners": tuple(owners), "constraint": args.constraint}


def run(args: argparse.Namespace) -> int:
    """Run one of them."""
    deed = DEEDS[args.command]
    action = deed.action
    if getattr(args, "at_once", False):
        action = "remove-x"
    if getattr(args, "fast", False):
        action = "vacate-fast"
    request = queue.Act(action=action, reason=getattr(args, "reason", ""), attributes=_attributes(args), **chosen(args))
    return _tell(args, deed, with_pool(args, lambda pool: pool.ask(request)))


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


def _why(deed: Deed, refusal: str) -> str:
    return f"it is already {deed.done}" if refusal == "already-done" else _WHY.get(refusal, f"it is not {deed.needs}")


def _tell(args: argparse.Namespace, deed: Deed, told: queue.ActedUpon) -> int:
    if args.json:
        print_json(data_of(told))
    done = told.counts.get("ok", 0)
    # Of a cluster, a user or all, those are meant for which it makes sense.
    meant = {job: why for job, why in told.refused.items() if why not in _OF_STATUS or job in args.job}
    if not args.json:
        if done:
            say(f"{counted(done, 'job')} {deed.done}")
        for job, why in list(meant.items())[:10]:
            complain(f"job {job}: {_why(deed, why)}")
        if len(meant) > 10:
            complain(f"and {counted(len(meant) - 10, 'other job')} likewise")
        if not done and not meant:
            complain(f"none of these jobs is {deed.needs}" if told.refused else "no job matched")
    return Exit.OK if done and not meant else Exit.NO
