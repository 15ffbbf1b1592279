"""The commands of `roost` in groups, as shown by `roost --help`, the man pages and the shells."""

from __future__ import annotations

import argparse
from typing import Final, NamedTuple


class Group(NamedTuple):
    """Commands that belong together."""

    title: str
    #: A command line that can be typed as is.
    example: str
    #: Command to its description, as in its parser: the help of all commands imports none of their modules.
    commands: dict[str, str]


GROUPS: Final = (
    Group(
        "Run jobs",
        "roost submit hello.sub --wait",
        {
            "submit": "submit jobs",
            "queue": "list the jobs in the queue",
            "wait": "wait for jobs to finish",
            "watch": "follow the progress of jobs",
            "run": "run a command as a job and wait for it",
            "retry": "run failed jobs again",
            "top": "show what running jobs use",
            "logs": "print the output of jobs",
            "ssh": "open a shell alongside a running job",
            "rm": "remove jobs from the queue",
            "hold": "put jobs on hold",
            "release": "return held jobs to the queue",
            "suspend": "pause running jobs on their machines",
            "continue": "resume suspended jobs",
            "vacate": "evict running jobs from their machines and return them to the queue",
            "edit": "change attributes of jobs",
            "history": "list jobs that have left the queue",
            "dag": "run workflows: jobs that depend on one another",
        },
    ),
    Group(
        "Ask why",
        "roost explain job 12.0",
        {
            "explain": "explain a waiting job, the state of a slot or the value of an expression",
            "story": "show what happened to a job or a slot",
            "audit": "list the decisions of the pool with their authors and reasons",
        },
    ),
    Group(
        "Run a pool",
        "roost up --detach",
        {
            "up": "start a pool on this machine",
            "down": "stop the pool on this machine",
            "install-service": "have systemd run the daemons of this machine",
            "backup": "copy all data of a pool into one file",
            "restore": "restore a pool from a backup",
            "status": "show the machines of the pool",
            "pool": "make a pool of several machines, and manage its members",
            "join": "make this machine a member of a pool",
            "drain": "drain a machine: its jobs end, and no others start",
            "reopen": "reopen slots that a failed prolog or epilog has closed",
            "reconfig": "reread the configuration",
            "userprio": "show or change users' priorities",
            "advertise": "publish ads in the pool",
            "web": "print an address that opens the pool's web pages",
            "token": "create, list and revoke tokens for the HTTP API",
        },
    ),
    Group(
        "Engineer policy",
        "roost policy lint roost.config",
        {
            "policy": "check a policy before you use it",
            "config": "read, explain and check the configuration",
            "lab": "simulate, test and compare policies",
            "classad": "evaluate, match and convert ClassAd expressions and ads",
            "hook": "test a hook without a pool",
            "cell": "check, compare and apply configurations of Grid Engine cells",
        },
    ),
    Group(
        "Get help",
        "roost help MAX_JOBS_RUNNING",
        {
            "help": "explain a command, knob, attribute, term or code",
            "completion": "print a script that completes commands in your shell",
            "shims": "put another system's commands on the PATH",
        },
    ),
)


def overview(parser: argparse.ArgumentParser) -> str:
    """The text of `roost --help`: the commands in their groups, each with an example."""
    lines = ["usage: roost COMMAND …", "", parser.description or ""]
    width = 2 + max(len(name) for group in GROUPS for name in group.commands)
    for group in GROUPS:
        lines += ["", f"{group.title}, for example `{group.example}`"]
        lines += [f"  {name:<{width}}{about}" for name, about in group.commands.items()]
    lines += [
        "",
        "`roost help COMMAND` or `roost COMMAND --help` describes a command's arguments, and `roost help "
        "TOPIC` explains",
    ]
    lines += ["a knob, an attribute, a term, a message code, or one of these: " + ", ".join(_topics()) + ".", ""]
    return "\n".join(lines)


def _topics() -> list[str]:
    from roost.cli.help.topics import TOPICS

    return list(TOPICS)
