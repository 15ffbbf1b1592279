"""``roost explain expr``: why an expression has its value, shown by the smallest set of deciding clauses.

With ``--config`` the expression may be the name of a knob (``START``), macros in it are expanded, and the policy of the
configuration is put into the machine's ad, with the file and line of each expression. Errors in the configuration are
only warnings here: the expression is explained with what could be read. The exit status is 0 if the value is true, 1 if
it is anything else, 2 if the question could not be understood.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from roost.base.records import dataclass, field
from roost.classad import WORLD, ClassAd, Expr, FixedWorld, World, parse_expression
from roost.classad.ops import truth
from roost.cli.classad.input import clean, one_ad
from roost.cli.config import slot_number
from roost.cli.explain import pool_commands as explain_pool
from roost.cli.terminal import CommandError, Exit, complain, say, width
from roost.config import Code, Config, ConfigError, LoadOptions, load
from roost.config.suggest import near
from roost.policy.catalogue import USER_POLICIES, policy_named
from roost.policy.explain import Explanation, Origin, UsedSide, explain
from roost.policy.explain.configured import configured_expression, configured_machine
from roost.policy.model import AdKind
from roost.policy.render import render_json, render_text
from roost.runtime.machine import SystemHost, detected_values

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*\Z")
#: errors of the configuration shown along with an explanation
ERRORS_SHOWN_MAX = 5
_AD_HELP = "a file, - for standard input, or the ad's text: '[ … ]', '{ … }', 'Name = expression'"


@dataclass(kw_only=True)
class _Question:
    """The question to be answered."""

    expression: Expr
    name: str = ""
    origin: Origin | None = None
    my: ClassAd | None = None
    origins: dict[str, Origin] = field(default_factory=dict)
    #: The configuration for which it was asked; None without one.
    config: Config | None = None


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "explain",
        help="explain a waiting job, the state of a slot or the value of an expression",
        description="Say why a job waits, why a slot is in its state, or why an expression has its value.",
    )
    commands = parser.add_subparsers(dest="explain_command", metavar="COMMAND", title="commands", required=True)
    text = "explain why an expression has its value"
    expr = commands.add_parser("expr", help=text, description=text[0].upper() + text[1:] + ".")
    expr.add_argument("expression", metavar="EXPR", help="an expression, or with --config the name of a knob")
    expr.add_argument("--my", metavar="AD", help=f"the ad to evaluate in: {_AD_HELP}")
    expr.add_argument("--target", metavar="AD", help="the other ad of a match")
    expr.add_argument("-c", "--config", action="append", metavar="PATH", help="configuration file or directory")
    expr.add_argument("--slot", type=slot_number, metavar="N", help="look up names as for this slot")
    expr.add_argument("--slot-type", type=slot_number, metavar="N", help="look up names as for this slot type")
    expr.add_argument("--time", type=float, metavar="EPOCH", help="evaluate the expression as of this time")
    expr.add_argument("--json", action="store_true", help="print one JSON document")
    explain_pool.add_parsers(commands)


def run(args: argparse.Namespace) -> int:
    """Carry out the command; return the exit status. Raises what `terminal.guarded` handles."""
    if args.explain_command != "expr":
        return explain_pool.run(args)
    if args.my == "-" and args.target == "-":
        raise CommandError("only one of --my and --target can be read from standard input")
    my, target = one_ad(args.my, "--my"), one_ad(args.target, "--target")
    args.expression = _attribute_of_command(args.expression, my)
    if args.config:
        question = _configured(args, my)
    elif "$(" in args.expression:
        raise CommandError("the expression contains macros; name the configuration with --config")
    else:
        question = _Question(expression=parse_expression(clean(args.expression)), my=my)
    explanation = explain(
        question.expression,
        question.my,
        target,
        world=_world(args.time),
        name=question.name,
        origin=question.origin,
        origins=question.origins,
    )
    if args.json:
        sys.stdout.write(render_json(explanation))
    else:
        say(render_text(explanation, width()).rstrip("\n"))
        for line in _unpublished(explanation, question.config):
            say(line)
    return Exit.OK if truth(explanation.value) is True else Exit.NO


def _attribute_of_command(expression: str, my: ClassAd | None) -> str:
    """The job attribute that a submit command sets, if the question is its name (``periodic_hold``)."""
    if my is None or expression in my:
        return expression
    rows = (row for row in USER_POLICIES.values() if row.submit_command == expression.strip().lower())
    return next((row.attribute for row in rows if row.attribute is not None), expression)


def _unpublished(explanation: Explanation, config: Config | None) -> Iterator[str]:
    """A remark on each attribute that is in no ad but is a macro of the configuration: a frequent mistake."""
    if config is None:
        return
    used = (one for clause in explanation.clauses for one in clause.attributes if one.side is UsedSide.NOWHERE)
    for name in dict.fromkeys(one.name for one in used):
        definitions = config.definitions(name)
        if definitions:
            place = definitions[-1].span.chain()
            yield f"{name} is a macro, set at {place}: write $({name}), or list it in STARTD_ATTRS."


def _world(time: float | None) -> World:
    return WORLD if time is None else FixedWorld(instant=time, offset=WORLD.zone_offset(time))


def _configured(args: argparse.Namespace, my: ClassAd | None) -> _Question:
    """The question, in the context of the configuration."""
    try:
        return _in_configuration(_load(args.config), args, my)
    except ConfigError as error:
        raise CommandError(str(error)) from None


def _load(paths: list[str]) -> Config:
    options = LoadOptions(roots=tuple(str(Path(path).resolve()) for path in paths), detected=detected_values())
    config = load(SystemHost(), options)
    for problem in config.errors:
        if problem.code is Code.SOURCE_MISSING and problem.span.file in options.roots:
            raise CommandError(f"{problem.message}. {problem.remedy}")
    for problem in config.errors[:ERRORS_SHOWN_MAX]:
        complain(f"warning: {problem.span.chain()}: {problem.message} [{problem.code}] {problem.remedy}")
    more = len(config.errors) - ERRORS_SHOWN_MAX + config.dropped
    if more > 0:
        complain(f"warning: and {more} more errors; `roost config check` lists them all")
    return config


def _in_configuration(config: Config, args: argparse.Namespace, my: ClassAd | None) -> _Question:
    row = policy_named(args.expression)
    subsys = "STARTD" if row is None else row.evaluated_by.upper()
    place = {"subsys": subsys, "slot": args.slot, "slot_type": args.slot_type}
    found = None
    if _NAME.match(args.expression):
        found = configured_expression(config, args.expression, **place)
        if found is None and row is not None:
            found = configured_expression(config, row.name, **place)
    if found is None and row is not None and row.submit_command is None:
        raise CommandError(f"{args.expression} is not configured and has no default")
    if found is None and _NAME.match(args.expression) and (meant := near(args.expression)):
        complain(f"warning: {args.expression} is not a knob; did you mean {meant}?")
    if found is None:
        text = clean(config.expand(args.expression, subsys=subsys))
        question = _Question(expression=parse_expression(text), my=my)
    else:
        question = _Question(expression=found.expression, name=args.expression, origin=found.origin, my=my)
    question.config = config
    if row is None or (row.my is AdKind.MACHINE and row.evaluated_by == "startd"):
        _add_policy(question, config, args)
    return question


def _add_policy(question: _Question, config: Config, args: argparse.Namespace) -> None:
    """Put the configured policy into the machine's ad, replacing attributes in it."""
    made = configured_machine(config, slot=args.slot, slot_type=args.slot_type)
    for problem in made.problems:
        complain(f"warning: {problem}")
    ad = ClassAd() if question.my is None else question.my.copy()
    for name in made.ad:
        ad[name] = made.ad[name]
    question.my = ad
    question.origins = made.origins
