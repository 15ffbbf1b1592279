"""``roost advertise``: publish ads in the pool, or withdraw them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roost.cli.listing import counted, print_json
from roost.cli.parsing import also
from roost.cli.pool_connection import add_pool_options, with_pool
from roost.cli.terminal import CommandError, Exit, complain, say
from roost.wire.requests import central
from roost.wire.structs import data_of

if TYPE_CHECKING:
    from roost.classad import ClassAd


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``advertise``."""
    parser = subparsers.add_parser(
        "advertise",
        help="publish ads in the pool",
        description="Publish ads in the pool. Each ad needs MyType and Name. Only machines publish slot ads. "
        "An ad belongs to the user who publishes it, and expires unless it is republished within CLASSAD_LIFETIME.",
    )
    add_pool_options(parser)
    parser.add_argument(
        "file", metavar="FILE", nargs="?", default="-", help="ads, separated by empty lines; - for standard input"
    )
    kind = parser.add_argument("--type", metavar="TYPE", help="MyType for ads that lack it, or of the ads to withdraw")
    also(parser, kind, "--kind")
    parser.add_argument("--gone", metavar="NAME", action="append", help="withdraw the ads with that name")
    parser.add_argument("--list", metavar="TYPE", help="print the ads of this type instead")


def run(args: argparse.Namespace) -> int:
    """Run ``advertise``."""
    if args.list:
        return _list(args)
    ads = [] if args.gone else _ads(args)

    # The ads contain the type of ads to publish by now.
    asked = central.Advertise(ads=tuple(ads), gone=tuple(args.gone or ()), kind=(args.type or "") if args.gone else "")
    done = with_pool(args, lambda pool: pool.ask(asked))
    if args.json:
        print_json(data_of(done))
    elif args.gone:
        say(f"{counted(done.gone, 'ad')} withdrawn")
    else:
        say(f"{counted(done.taken, 'ad')} published")
    if args.gone and not done.gone:
        complain("no ad has that name")
    return Exit.OK if done.taken or done.gone else Exit.NO


def _list(args: argparse.Namespace) -> int:
    from roost.cli.queue import print_ads

    rows = with_pool(args, lambda pool: pool.ask(central.Ads(kind=args.list)))
    if args.json:
        print_json(rows)
    else:
        print_ads(rows)
    return Exit.OK if rows else Exit.NO


def _parsed(text: str, source: str) -> Iterator[ClassAd]:
    """The ads of a text. Raises CommandError with the file and place of an error."""
    from roost.classad.errors import ParseError
    from roost.classad.forms import parse_ads

    try:
        yield from parse_ads(text)
    except ParseError as error:
        raise CommandError(f"{'standard input' if source == '-' else source}:{error}") from None


def _ads(args: argparse.Namespace) -> list[Any]:
    from roost.runtime.files.bounded_text import bounded_text
    from roost.wire.ads import ad_data

    try:
        text = bounded_text(None if args.file == "-" else Path(args.file))
    except OSError as error:
        raise CommandError(f"{args.file}: {error.strerror}") from None
    found = []
    for number, ad in enumerate(_parsed(text, args.file), 1):
        if args.type and "MyType" not in ad:
            ad["MyType"] = args.type
        for name in ("MyType", "Name"):
            if not isinstance(ad.eval(name), str):
                raise CommandError(f'ad {number} has no {name} that is a string: add a line {name} = "…"')
        found.append(ad_data(ad))
    if not found:
        raise CommandError("the input contains no ads")
    return found
