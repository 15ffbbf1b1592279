"""One name means one thing: options and arguments are called alike in all commands."""

from __future__ import annotations

import argparse
import contextlib
import io
import re

import pytest

from roost.cli.__main__ import parser_of_all
from roost.cli.parsing import commands_of, subparsers_of

#: What an option takes, wherever it exists; "" for a switch. An option that only one command has is not listed.
OPTIONS = {
    "--all": "",
    "--check": {"drain": "EXPR", "classad eval": ""},
    "--condor-version": "X.Y.Z",
    "--config": "PATH",
    "--constraint": "EXPR",
    "--count": "N",
    "--cpus": "N",
    "--days": "DAYS",
    "--define": "NAME=VALUE",
    "--doubled": "P",
    "--fast": "",
    "--file": "FILE",
    "--held": "",
    "--home": "DIR",
    "--interval": "SECONDS",
    "--job": "JOB",
    "--job-ad": "FILE",
    "--jobs": "FILE",
    "--json": "",
    "--late": "P",
    "--level": "{error,warning,note}",
    "--limit": "N",
    "--local-name": "NAME",
    "--long": "",
    "--lost": "P",
    "--machine-death": "SECONDS",
    "--machines": "N",
    "--memory": "MB",
    "--mix": "{desktop,long,saving,short}",
    "--my": "AD",
    "--no-environment": "",
    "--no-progress": "",
    "--old": "",
    "--owners": "FILE",
    "--pool": "FILE",
    "--queue-death": "SECONDS",
    "--reason": "TEXT",
    "--role": {
        "pool init": "{central,submit,execute}",
        "pool invite": "{central,submit,execute}",
        "token create": "{reader,user,operator,administrator}",
    },
    "--seed": "N",
    "--slot": "N",
    "--slot-ad": "FILE",
    "--slot-type": "N",
    "--strict": "",
    "--subsystem": "NAME",
    "--target": "AD",
    # With a unit where minutes are usual, as in scenarios.
    "--timeout": {"wait": "SECONDS", "hook test": "SECONDS", "lab test": "DURATION"},
}
#: The short form of an option, wherever it exists.
SHORT = {
    "--append": "-a", "--at-once": "-x", "--config": "-c", "--define": "-D", "--detach": "-d", "--file": "-f",
    "--follow": "-f",
    "--limit": "-n", "--processes": "-j", "--queue": "-q",
}  # fmt: skip
#: What arguments are called; several commands may have each.
ARGUMENTS = frozenset((
    "AD", "ADS", "CLUSTER", "CODE", "COMMAND", "DIR", "EXPR", "FILE", "HOOK", "ID", "INSTANCE", "JOB", "MACHINE",
    "NAME",     "NAME=VALUE", "NEW", "OLD", "PATH", "SLOT", "TOPIC", "USER",
))  # fmt: skip
#: Former names of options, which are still accepted: command, and the same line as it is written now.
FORMER = {
    "lab test x.toml --jobs 3 --limit 5m": "lab test x.toml --processes 3 --timeout 5m",
    "hook test PROLOG --job a.ad --time 3": "hook test PROLOG --job-ad a.ad --timeout 3",
    "policy lint --job a.ad --machine b.ad": "policy lint --job-ad a.ad --slot-ad b.ad",
    "advertise --kind Printer": "advertise --type Printer",
}
ACTIONS = [
    (" ".join(words), action)
    for words, parser, _ in commands_of(parser_of_all())
    for action in parser._actions
    if action is not subparsers_of(parser) and not isinstance(action, argparse._HelpAction)
]


def taken(action: argparse.Action) -> str:
    """What an option takes, as the help shows it."""
    if action.nargs == 0:
        return ""
    return str(action.metavar) if action.metavar else f"{{{','.join(map(str, action.choices or ()))}}}"


def long_name(action: argparse.Action) -> str:
    return action.option_strings[-1]


def test_an_option_takes_the_same_in_all_commands() -> None:
    found: dict[str, dict[str, str]] = {}
    for command, action in ACTIONS:
        if action.option_strings:
            found.setdefault(long_name(action), {})[command] = taken(action)
    for name, takes in found.items():
        wanted = OPTIONS.get(name)
        if wanted is None:
            assert len(set(takes.values())) == 1, f"{name} takes {takes}: give it one meaning, or two names"
        elif isinstance(wanted, dict):
            assert takes == wanted
        else:
            assert set(takes.values()) == {wanted}, (name, takes)
    assert set(OPTIONS) <= set(found)


def test_an_option_has_the_same_short_form_in_all_commands() -> None:
    options = [(command, action) for command, action in ACTIONS if action.option_strings]
    wrong = [
        (command, action.option_strings)
        for command, action in options
        if action.option_strings != [*filter(None, [SHORT.get(long_name(action))]), long_name(action)]
    ]
    assert wrong == []


def test_arguments_are_in_capitals_and_of_one_list() -> None:
    wrong = [
        (command, action.metavar or action.dest)
        for command, action in ACTIONS
        if not action.option_strings and not action.choices and action.metavar not in ARGUMENTS
    ]
    assert wrong == []


#: What an argument is said to be, in every command that has the option or argument.
ALIKE = {
    "--constraint": r"only (jobs|slots) for which EXPR is true",
    "--home": r"state directory of the pool .*ROOST_HOME.*",
    "--interval": r"time between updates \(default: \d+\)",
    "--my": r"the ad to evaluate in: a file, - for standard input, or the ad's text: .*",
    "--slot-type": r"look up names as for this slot type",
    "INSTANCE": r"queue, queue@host or queue@@group; wildcards are allowed",
    "JOB": r"job \(12\.0\),? (or )?cluster \(12\)( or user| of one job| of at most \d+ jobs)?( \(default: all jobs\))?",
}


def test_an_argument_is_described_alike_in_all_commands() -> None:
    wrong = []
    for command, action in ACTIONS:
        name = long_name(action) if action.option_strings else str(action.metavar)
        if (form := ALIKE.get(name)) is not None and not re.fullmatch(form, action.help or ""):
            wrong.append((command, name, action.help))
    assert wrong == []


def test_every_argument_is_described_and_defaults_are_called_so() -> None:
    """A default stands in parentheses, as ``(default: 1)``; a description is a phrase without a full stop."""
    wrong = []
    for command, action in ACTIONS:
        text = action.help or ""
        bare = re.search(r"\((\d+)( [^)]*)?\)$|default [^(:]*$|; default ", text)
        if not text or text.endswith(".") or (bare and bare[0] not in ("(12)",)):
            wrong.append((command, action.option_strings or action.metavar, text))
    assert wrong == []


@pytest.mark.parametrize(("line", "now"), FORMER.items())
def test_a_former_name_is_accepted_and_not_shown(line: str, now: str) -> None:
    parser = parser_of_all()
    assert parser.parse_args(line.split()) == parser.parse_args(now.split())
    command = [word for word in now.split()[:2] if not word.startswith("-")]
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.suppress(SystemExit):
        parser.parse_args([*command, "--help"])
    former = {word for word in line.split() if word.startswith("--")}
    assert former & set(shown.getvalue().replace(",", " ").replace("[", " ").split()) == set()
