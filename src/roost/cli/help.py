"""``roost help``: the help of a command, or what a name or a code means that the other commands print.

A topic is looked for among commands, texts (`topics`), findings of the linter, knobs and policy expressions, attributes
of ads, and commands of submit descriptions. Everything that has the name is printed, for a name may be several things.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from textwrap import fill

from roost.cli.parsing import commands_of, nearest
from roost.cli.terminal import CommandError, Exit, say, width
from roost.cli.topics import TOPICS


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``help``."""
    parser = subparsers.add_parser(
        "help",
        help="explain a command, knob, attribute or finding",
        description="Print the help of a command, or explain a topic: a knob or policy expression (START), an "
        "attribute (KeyboardIdle), a command of submit descriptions (request_memory), a finding of the linter "
        f"(RST101), or one of {', '.join(TOPICS)}. Without an argument, list the commands.",
    )
    parser.add_argument("topic", nargs="*", help="a command and its subcommand, or one topic")


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
        raise CommandError(f"there is no help about {name!r}\n    hint: {_meant(name, commands)}")
    say("\n\n".join(found))
    return Exit.OK


def _explained(name: str) -> Iterator[str]:
    if name.lower() in TOPICS:
        topic = TOPICS[name.lower()]
        yield f"{topic.title}\n\n{topic.text}"
    yield from _rule(name)
    yield from _knob(name)
    yield from _attributes(name)
    yield from _keyword(name)


def _rule(name: str) -> Iterator[str]:
    code = name.upper()
    if not re.fullmatch(r"[A-Z]{3}\d{3}", code):
        return
    from roost.gridengine import lint as cells
    from roost.policy import lint
    from roost.policy.lint.pages import page

    rules = [*lint.all_rules(), *(rule.as_rule() for rule in cells.all_rules())]
    yield from (page(rule).strip() for rule in rules if rule.code == code)


def _knob(name: str) -> Iterator[str]:
    from roost.config.knobs import find
    from roost.policy.catalogue import POLICIES

    row = find(name)
    if row is not None:
        facts = [row.type.value + (f", {row.unit}" if row.unit else ""), row.range_text()]
        facts += ["no default" if row.default is None else f"default {row.default}", f"takes effect: {row.reload}"]
        what = [_paragraph(row.meaning), *([_paragraph(f"No effect. {row.unread.why}")] if row.unread else [])]
        yield f"{row.name}: knob of the configuration ({'; '.join(filter(None, facts))})\n" + "\n".join(what)
    policy = POLICIES.get(name.upper())
    if policy is not None and (policy.when or row is None):
        told = [f"Evaluated by the {policy.evaluated_by}, {policy.when}." if policy.when else policy.meaning]
        told += [f"UNDEFINED {policy.when_undefined}; ERROR {policy.when_error}."] if policy.when_undefined else []
        yield f"{policy.name}: policy expression\n" + "\n".join(map(_paragraph, told))


def _attributes(name: str) -> Iterator[str]:
    from roost.classad.values import fold
    from roost.policy.attributes import ATTRIBUTES, attributes_named

    # Families have any name that begins as theirs do: only what is written as attributes are is taken for one.
    for row in ATTRIBUTES.get(fold(name)) or (attributes_named(name) if name[:1].isupper() else ()):
        kind = f"{row.kind}".lower() + (f", {row.unit}" if row.unit else "")
        yield f"{row.name}: attribute of a {row.side} ad ({kind})\n{_paragraph(row.meaning)}"


def _keyword(name: str) -> Iterator[str]:
    from roost.schedd.submit.docs import meaning_of

    found = meaning_of(name.lower())
    if found is not None:
        names, attribute, meaning = found
        yield f"{', '.join(names)}: command of submit descriptions (sets {attribute})\n{_paragraph(meaning)}"


def _paragraph(text: str) -> str:
    return fill(text, max(40, min(width(), 100)), initial_indent="    ", subsequent_indent="    ")


def _meant(name: str, commands: dict[tuple[str, ...], argparse.ArgumentParser]) -> str:
    from roost.config.knobs import BY_NAME
    from roost.policy.attributes import ATTRIBUTES
    from roost.policy.catalogue import POLICIES
    from roost.schedd.submit.docs import documented

    rows = [row.name for row in BY_NAME.values()] + [rows[0].name for rows in ATTRIBUTES.values()]
    names = [" ".join(words) for words in commands] + [*TOPICS, *rows, *POLICIES, *documented()]
    found = nearest(name, names)
    return f"did you mean `roost help {found}`?" if found else "`roost help` lists the commands and topics"
