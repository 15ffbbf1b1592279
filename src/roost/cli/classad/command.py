"""``roost classad``: evaluate, check, match, convert and explore ClassAd expressions and ads.

Each subcommand is a function from the parsed arguments to an exit status; they are declared here, and the short ones
implemented. Nothing about the language is decided here.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

from roost.classad import ClassAd, Expr, ParseError, Value, evaluate, trace, type_name, unparse_value
from roost.classad.forms import Form, Order, write
from roost.cli.classad.input import STDIN, ads_from, expressions_from, one_ad, tried_expressions
from roost.cli.terminal import CommandError, Exit, complain, say, width

Command: TypeAlias = "Callable[[argparse.Namespace], int]"

_AD_HELP: Final = "a file, - for standard input, or the ad's text: '[ … ]', '{ … }', 'Name = expression'"
_EXPRESSION_HELP: Final = "expressions (default, without -f: read from standard input, one per line)"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command and its subcommands."""
    parser = subparsers.add_parser(
        "classad",
        help="evaluate, match and convert ClassAd expressions and ads",
        description="Evaluate, check, match, convert and explore ClassAd expressions and ads.",
    )
    commands = parser.add_subparsers(dest="classad_command", metavar="COMMAND", title="commands", required=True)
    for name, help_text, declare in (
        ("eval", "evaluate expressions", _declare_eval),
        ("parse", "check expressions and print them as they were parsed", _declare_parse),
        ("match", "show whether a job and machines accept each other", _declare_match),
        ("convert", "convert ads from one text form to another", _declare_convert),
        ("flatten", "simplify expressions with the values that one ad gives", _declare_flatten),
        ("refs", "list the attributes that expressions refer to", _declare_refs),
        ("repl", "evaluate expressions interactively", _declare_repl),
    ):
        declare(commands.add_parser(name, help=help_text, description=help_text[0].upper() + help_text[1:] + "."))


def run(args: argparse.Namespace) -> int:
    """Carry out the command; return the exit status. Raises what `terminal.guarded` handles."""
    command: Command = _COMMANDS[args.classad_command]
    return command(args)


# -- declarations --------------------------------------------------------------------------------


def _expressions(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("expressions", nargs="*", metavar="EXPR", help=_EXPRESSION_HELP)
    parser.add_argument("-f", "--file", action="append", default=[], metavar="FILE", help="expressions, one per line")
    parser.add_argument(
        "--old", action="store_true", help='parse strings in the old syntax, where only \\" is an escape'
    )


def _ads(parser: argparse.ArgumentParser, *, target: bool) -> None:
    parser.add_argument("--my", metavar="AD", help=f"the ad to evaluate in: {_AD_HELP}")
    if target:
        parser.add_argument("--target", metavar="AD", help="the other ad of a match")


def _declare_eval(parser: argparse.ArgumentParser) -> None:
    _expressions(parser)
    _ads(parser, target=True)
    parser.add_argument("--trace", action="store_true", help="show the value of each part under the expression")
    parser.add_argument("--check", action="store_true", help="exit 1 unless every value is true")
    parser.add_argument("--raw", action="store_true", help="print strings without quotes and escapes")
    parser.add_argument("--json", action="store_true", help="print a JSON object per line")
    parser.add_argument(
        "--jsonl", action="store_true", help="answer requests from standard input, one JSON object per line"
    )


def _declare_parse(parser: argparse.ArgumentParser) -> None:
    _expressions(parser)
    parser.add_argument("--pretty", action="store_true", help="spread lists and ads over several lines")
    parser.add_argument("--json", action="store_true", help="print a JSON object per line, also for errors")


def _declare_match(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job", metavar="AD", help=f"the ad to match: {_AD_HELP}")
    parser.add_argument("others", nargs="+", metavar="ADS", help="one or more ads each, given the same way")
    parser.add_argument("--trace", action="store_true", help="show the evaluation of both Requirements for each pair")
    parser.add_argument("--json", action="store_true", help="print a JSON object per line")


def _declare_convert(parser: argparse.ArgumentParser) -> None:
    forms = [form.value for form in Form]
    parser.add_argument("files", nargs="*", metavar="ADS", help="ads, as files or texts (default: standard input)")
    parser.add_argument("--from", dest="source", choices=forms, help="syntax of the input (default: detected)")
    parser.add_argument("--to", choices=forms, default=Form.NEW.value, help="syntax of the output (default: new)")
    parser.add_argument(
        "--order",
        choices=[order.value for order in Order],
        default=Order.REFERENCE.value,
        help="order of the attributes (default: %(default)s)",
    )
    parser.add_argument("--delimiter", metavar="TEXT", help="prefix of the lines that end an ad in the old syntax")
    parser.add_argument(
        "--lenient", action="store_true", help="end the ad at an invalid line in the old syntax, with a warning"
    )


def _declare_flatten(parser: argparse.ArgumentParser) -> None:
    _expressions(parser)
    _ads(parser, target=False)


def _declare_refs(parser: argparse.ArgumentParser) -> None:
    _expressions(parser)
    _ads(parser, target=False)
    parser.add_argument("--internal", action="store_true", help="only attributes that the ad defines")
    parser.add_argument("--external", action="store_true", help="only attributes that the ad does not define")
    parser.add_argument("--json", action="store_true", help="print a JSON object per line")


def _declare_repl(parser: argparse.ArgumentParser) -> None:
    _ads(parser, target=True)


# -- eval ----------------------------------------------------------------------------------------


def _eval(args: argparse.Namespace) -> int:
    if args.jsonl:
        from roost.cli.classad.batch import serve

        if args.expressions or args.file:
            raise CommandError("--jsonl reads expressions from standard input; do not give any on the command line")
        serve(sys.stdin.buffer, sys.stdout)
        return Exit.OK
    target = one_ad(args.target, "--target")
    mine = [None if target is None else ClassAd()] if args.my is None else list(ads_from(args.my)) or [ClassAd()]
    answer = Exit.OK
    for expression in expressions_from(args.expressions, args.file, old=args.old):
        for my in mine:
            value = evaluate(expression, my, target)
            _say_value(args, expression, value, my, target)
            if args.check and value is not True:
                answer = Exit.NO
    return answer


def _say_value(
    args: argparse.Namespace, expression: Expr, value: Value, my: ClassAd | None, target: ClassAd | None
) -> None:
    if args.json:
        entry = {"expr": expression.source, "value": unparse_value(value), "type": type_name(value)}
        if args.trace:
            entry["trace"] = _drawing(expression, my, target)
        say(_json(entry))
    elif args.trace:
        say(_drawing(expression, my, target))
        say(f"=> {unparse_value(value)}")
    else:
        say(value if args.raw and isinstance(value, str) else unparse_value(value))


def _json(entry: object) -> str:
    from json import dumps

    return dumps(entry)


def _drawing(expression: Expr, my: ClassAd | None, target: ClassAd | None) -> str:
    from roost.cli.classad.trace_view import draw

    return draw(trace(expression, my, target), width())


# -- parse, flatten, refs ------------------------------------------------------------------------


def _parse(args: argparse.Namespace) -> int:
    answer = Exit.OK
    for expression in tried_expressions(args.expressions, args.file, old=args.old):
        if isinstance(expression, ParseError):
            answer = Exit.BAD
            if args.json:
                from roost.cli.classad.batch import described

                say(_json({"parse_error": described(expression)}))
            else:
                complain(str(expression))
        elif args.json:
            say(_json({"expr": expression.source, "text": str(expression)}))
        elif args.pretty:
            from roost.classad.pretty import unparse_pretty

            say(unparse_pretty(expression.tree).removeprefix("\n"))
        else:
            say(str(expression))
    return answer


def _flatten(args: argparse.Namespace) -> int:
    ad = one_ad(args.my, "--my") or ClassAd()
    for expression in expressions_from(args.expressions, args.file, old=args.old):
        say(str(ad.flatten(expression)))
    return Exit.OK


def _refs(args: argparse.Namespace) -> int:
    ad = one_ad(args.my, "--my") or ClassAd()
    for expression in expressions_from(args.expressions, args.file, old=args.old):
        internal, external = ad.internal_refs(expression), ad.external_refs(expression)
        if args.json:
            say(_json({"expr": expression.source, "internal": internal, "external": external}))
        elif args.internal or args.external:
            for name in (internal if args.internal else []) + (external if args.external else []):
                say(name)
        else:
            say(f"internal: {' '.join(internal)}".rstrip())
            say(f"external: {' '.join(external)}".rstrip())
    return Exit.OK


# -- match ---------------------------------------------------------------------------------------


def _match(args: argparse.Namespace) -> int:
    job = one_ad(args.job, "the first ad")
    assert job is not None
    answer = Exit.NO
    count = 0
    for where in args.others:
        for other in ads_from(where):
            count += 1
            if _match_pair(args, job, other, count):
                answer = Exit.OK
    if not count:
        raise CommandError("there is no ad to match with")
    return answer


def _match_pair(args: argparse.Namespace, job: ClassAd, other: ClassAd, number: int) -> bool:
    name = other.eval("Name")
    label = name if isinstance(name, str) else f"ad {number}"
    first, second = _requirements(job, other), _requirements(other, job)
    matches = job.symmetric_match(other)
    if args.json:
        entry: dict[str, Any] = {
            "name": label,
            "match": matches,
            "first_accepts": first,
            "second_accepts": second,
            "rank": job.rank(other),
        }
        say(_json(entry))
        return matches
    say(f"{label}: {'match' if matches else 'no match'}")
    say(f"    the first ad's Requirements are {first}; the second ad's are {second}")
    if args.trace:
        for title, ad, target in (("first", job, other), ("second", other, job)):
            if "Requirements" in ad:
                say(f"\nRequirements of the {title} ad:")
                say(_drawing(ad.lookup("Requirements"), ad, target))
        say("")
    return matches


def _requirements(ad: ClassAd, other: ClassAd) -> str:
    if "Requirements" not in ad:
        return "missing"
    return unparse_value(evaluate(ad.lookup("Requirements"), ad, other))


# -- convert -------------------------------------------------------------------------------------


def _convert(args: argparse.Namespace) -> int:
    source = None if args.source is None else Form(args.source)
    to = Form(args.to)

    def ads() -> Iterator[ClassAd]:
        for where in args.files or [STDIN]:
            for ad in ads_from(where, source, strict=not args.lenient, delimiter=args.delimiter):
                if to is Form.OLD:
                    _warn_unfaithful(ad)
                yield ad

    write(ads(), to, sys.stdout, Order(args.order))
    return Exit.OK


def _warn_unfaithful(ad: ClassAd) -> None:
    from roost.classad.forms.old import unfaithful

    for name in unfaithful(ad):
        complain(f"warning: the old syntax cannot represent {name} exactly; reading it back gives a different value")


def _repl(args: argparse.Namespace) -> int:
    from roost.cli.classad.repl import Repl

    return Repl(my=one_ad(args.my, "--my"), target=one_ad(args.target, "--target")).run()


_COMMANDS: Final[dict[str, Command]] = {
    "eval": _eval,
    "parse": _parse,
    "match": _match,
    "convert": _convert,
    "flatten": _flatten,
    "refs": _refs,
    "repl": _repl,
}

__all__ = ["add_parser", "run"]
