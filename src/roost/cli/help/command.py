"""``roost help``: the help of a command, or the meaning of a name, a word or a code in the output of other commands.

A topic is looked up among commands, texts (`topics`) and names (`names`). All matches are printed, because a name may
have several meanings.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from roost.cli.help.markdown import readable
from roost.cli.help.names import explained, names
from roost.cli.help.topics import TOPICS
from roost.cli.parsing import commands_of, nearest
from roost.cli.terminal import CommandError, Exit, say


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``help``."""
    parser = subparsers.add_parser(
        "help",
        help="explain a command, knob, attribute, term or code",
        description="Print the help of a command, or explain a topic: a knob or policy expression (START), an "
        "attribute (KeyboardIdle), a command of submit descriptions (request_memory) or of DAG files (SPLICE), a "
        "finding of a linter (RST101), the code of a message (config-without-effect), a category of logs (D_LOAD), "
        "a term of the glossary (claim), a command of HTCondor or Grid Engine (condor_q), or one of "
        f"{', '.join(TOPICS)}. Without an argument, list the commands.",
    )
    parser.add_argument("topic", metavar="TOPIC", nargs="*", help="a command and its subcommand, or one topic")


def run(args: argparse.Namespace) -> int:
    """Run ``help``."""
    from roost.cli.__main__ import parser_of_all

    top = parser_of_all()
    if not args.topic:
        top.print_help()
        return Exit.OK
    commands = {words: parser for words, parser, _ in commands_of(top)}
    if tuple(args.topic) in commands:
        commands[tuple(args.topic)].print_help()
        return Exit.OK
    name = " ".join(args.topic)
    found = list(_explained(name))
    if not found:
        raise CommandError(f"there is no help on {name!r}\n    hint: {_meant(name, commands)}")
    say("\n\n".join(found))
    return Exit.OK


def _explained(name: str) -> Iterator[str]:
    if name.lower() in TOPICS:
        topic = TOPICS[name.lower()]
        yield readable(f"# {topic.title}\n\n{topic.text}")
    yield from explained(name)


def topics() -> list[str]:
    """The topics of `roost help`, except commands."""
    return [*TOPICS, *names()]


def _meant(name: str, commands: dict[tuple[str, ...], argparse.ArgumentParser]) -> str:
    found = nearest(name, [*(" ".join(words) for words in commands), *topics()])
    return f"did you mean `roost help {found}`?" if found else "`roost help` lists the commands and topics"
