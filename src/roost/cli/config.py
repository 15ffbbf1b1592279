"""``roost config``: show, get, explain, check and dump a configuration, and the host that reads the real one.

`add_parser` adds the command to an argparse parser, `run` carries it out and returns the exit status: 0 for success, 1
if a name is undefined or the configuration has errors, 2 if no configuration is found. ``--json`` prints every answer
as one JSON document. Nothing is decided here: the room `roost.config` reads, expands, checks and explains.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase

from roost.base.diagnostics import is_template_name
from roost.cli import config_diff
from roost.cli.config_files import ConfigFiles, config_files
from roost.cli.config_machine import machine_problems
from roost.cli.terminal import CommandError
from roost.config import Code, Config, ConfigError, Definition, Explanation, LoadOptions, Severity, explain, load
from roost.config.checking import by_place
from roost.config.knobs import ALL, DEFAULTS, SUBSYSTEMS
from roost.config.load import LANGUAGE_VERSION
from roost.config.not_text import shown
from roost.config.suggest import near, near_among
from roost.runtime.machine import detected_values
from roost.runtime.start_checks import problems

#: maximum number of configuration errors shown along with an answer that is not about them
ERRORS_SHOWN_MAX = 5
#: maximum number of findings that `check` shows; --json has them all
FINDINGS_SHOWN_MAX = 100
#: minimum length of a name on the command line for which similar names are looked for, characters
TYPED_LENGTH_MIN = 3


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``config`` and its commands."""
    parser = subparsers.add_parser("config", help="read, explain and check the configuration")
    commands = parser.add_subparsers(dest="config_command", required=True, metavar="COMMAND")
    show = _command(commands, "show", "list the names that are set, with their values and locations")
    show.add_argument("patterns", nargs="*", metavar="NAME", help="names to show, with * and ? as wildcards")
    show.add_argument("--all", action="store_true", help="show defaults too")
    get = _command(commands, "get", "print expanded values")
    get.add_argument("names", nargs="+", metavar="NAME", help="names whose values to print")
    why = _command(commands, "explain", "explain where a value comes from and how it is expanded")
    why.add_argument("names", nargs="+", metavar="NAME", help="names to explain")
    differing = _command(commands, "diff", "compare two configurations by value; exit with status 1 if they differ")
    differing.add_argument("first", metavar="OLD", help="file or directory")
    differing.add_argument("second", metavar="NEW", help="file or directory")
    checking = _command(commands, "check", "list all errors and warnings; exit with status 1 if there are errors")
    checking.add_argument("--strict", action="store_true", help="count warnings as errors")
    dump = _command(commands, "dump", "print the configuration as one file")
    dump.add_argument("--expanded", action="store_true", help="expand macros")
    dump.add_argument("--defaults", action="store_true", help="include defaults that nothing overrides")


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, text: str
) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=text, description=text)
    parser.add_argument(
        "-c",
        "--config",
        action="append",
        metavar="PATH",
        help="file or directory to read first (default: the configuration of the pool)",
    )
    parser.add_argument(
        "-D",
        "--define",
        action="append",
        default=[],
        type=_setting,
        metavar="NAME=VALUE",
        help="set a name after all files are read",
    )
    parser.add_argument("--subsystem", default="TOOL", metavar="NAME", help="look up names as this daemon does")
    parser.add_argument("--local-name", metavar="NAME", help="look up names as this instance of the daemon does")
    parser.add_argument("--slot", type=slot_number, metavar="N", help="look up names as for this slot")
    parser.add_argument("--slot-type", type=slot_number, metavar="N", help="look up names as for this slot type")
    condor_version_option(parser)
    parser.add_argument("--no-environment", action="store_true", help="ignore _CONDOR_ and _ROOST_ variables")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    return parser


def condor_version_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--condor-version``."""
    parser.add_argument(
        "--condor-version",
        type=_version,
        metavar="X.Y.Z",
        help="read the configuration as this version of HTCondor does: `if version` compares with it, and "
        f"names have the defaults of HTCondor {'.'.join(map(str, LANGUAGE_VERSION))} instead of Roost's",
    )


def _version(text: str) -> tuple[int, int, int]:
    parts = text.split(".")
    if not 1 <= len(parts) <= 3 or not all(part.isdecimal() and len(part) < 6 for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r} is not a version; write it like 25.14.1")
    numbers = [int(part) for part in parts] + [0, 0]
    return numbers[0], numbers[1], numbers[2]


def slot_number(text: str) -> int:
    """The number of a slot or a slot type, from 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number; it must be at least 1")
    return int(text)


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise argparse.ArgumentTypeError(f"{text!r} does not have the form NAME=VALUE")
    return name.strip(), value


def run(args: argparse.Namespace) -> int:
    """Carry out a ``config`` command; return the exit status."""
    if args.config_command == "diff":
        if args.config:
            raise CommandError("config diff reads its two arguments and does not accept --config")
        first, second = (_read(config_files([path]), args) for path in (args.first, args.second))
        for config in (first, second):
            _complain(config)
        return config_diff.show(first, second, (args.first, args.second), as_json=args.json)
    files = config_files(args.config)
    if files.source and files.roots:
        print(files.told("roost config"), file=sys.stderr)
    config = _read(files, args)
    if args.subsystem.lower() not in SUBSYSTEMS:
        print(f"roost config: {args.subsystem.upper()} is not a daemon that Roost knows", file=sys.stderr)
    status = _COMMANDS[args.config_command](config, args)
    if args.config_command != "check":
        _complain(config)
        status = status or int(bool(config.errors))
    return status


def _read(files: ConfigFiles, args: argparse.Namespace) -> Config:
    return load(
        files.host(),
        LoadOptions(
            roots=files.roots,
            subsystem=args.subsystem.upper(),
            localname=args.local_name,
            detected=detected_values() | files.detected,
            environment=not args.no_environment,
            user_file=os.getuid() != 0 and not files.of_pool,
            runtime=tuple(args.define),
            condor_version=args.condor_version,
        ),
    )


def _complain(config: Config) -> None:
    """Report, in a few lines, errors because of which the answer may be incomplete."""
    told = [one for one in config.log if one.severity is Severity.ERROR or one.code is Code.DIRECTORY_EMPTY]
    for one in told[:ERRORS_SHOWN_MAX]:
        print(f"roost config: {one}", file=sys.stderr)
    more = len(told) - ERRORS_SHOWN_MAX + config.dropped
    if more > 0:
        print(f"roost config: and {more} more; `roost config check` lists them all", file=sys.stderr)


def _print_json(document: object) -> None:
    print(json.dumps(document, indent=2))


def _value(config: Config, name: str, args: argparse.Namespace) -> str | None:
    """The value of a name; errors in its expansion are printed."""
    try:
        return config.get(name, slot=args.slot, slot_type=args.slot_type)
    except ConfigError as problem:
        print(f"roost config: {problem}", file=sys.stderr)
        return None


def _show(config: Config, args: argparse.Namespace) -> int:
    names = {name.lower(): name for name in config.names()}
    if args.all:
        names |= {row.name.lower(): row.name for row in ALL if row.name.lower() in DEFAULTS}
    patterns = [pattern.lower() for pattern in args.patterns]
    rows = []
    for key in sorted(names):
        if patterns and not any(fnmatchcase(key, pattern) for pattern in patterns):
            continue
        found = config.find(key)
        rows.append(
            {
                "name": names[key],
                "value": _value(config, key, args),
                "place": found.span.chain() if found else None,
            }
        )
    if args.json:
        _print_json(rows)
    else:
        for row in rows:
            print(f"{row['name']} = {row['value'] or ''}    # {row['place']}")
    if patterns and not rows:
        unset = any(fnmatchcase(name, pattern) for name in DEFAULTS for pattern in patterns)
        hint = "; --all also shows knobs that are not set" if unset and not args.all else ""
        print(f"roost config: no name matches {' '.join(args.patterns)}{hint}", file=sys.stderr)
        return 1
    return 0


def _get(config: Config, args: argparse.Namespace) -> int:
    values = {name: _value(config, name, args) for name in args.names}
    if args.json:
        _print_json(values)
        return int(None in values.values())
    for name, value in values.items():
        if value is not None:
            print(value)
        elif config.find(name, slot=args.slot, slot_type=args.slot_type) is None:
            _not_defined(config, name)
        elif not _is_broken(config, name, args):
            print(f"roost config: {name} is empty", file=sys.stderr)
    return int(None in values.values())


def _is_broken(config: Config, name: str, args: argparse.Namespace) -> bool:
    """Whether a name has no value because of an expansion error, which has been reported."""
    try:
        config.get(name, slot=args.slot, slot_type=args.slot_type)
    except ConfigError:
        return True
    return False


def _not_defined(config: Config, name: str) -> None:
    # These names are typed by hand, so short ones may also be mistyped.
    meant = near(name) or near_among(name, [*config.names(), *(row.name for row in ALL)], TYPED_LENGTH_MIN)
    hint = f"; did you mean {meant}?" if meant else ""
    print(f"roost config: {name} is not defined{hint}", file=sys.stderr)


def _explain(config: Config, args: argparse.Namespace) -> int:
    explanations = [explain(config, name, slot=args.slot, slot_type=args.slot_type) for name in args.names]
    known = [one for one in explanations if one.found is not None or one.knob is not None]
    if args.json:
        _print_json([one.to_json() for one in explanations])
    elif known:
        print("\n\n".join("\n".join(explanation_lines(one)) for one in known))
    for one in explanations:
        if one.found is None and one.knob is None:
            _not_defined(config, one.name)
    return int(any(one.value is None or one.problems for one in explanations))


def explanation_lines(one: Explanation) -> Iterator[str]:
    """An explanation as text."""
    yield f"{one.name} = {one.value if one.value is not None else '(undefined)'}"
    if one.knob is not None:
        yield f"    {one.knob.meaning}"
    if one.found is not None and one.found.name.lower() != one.name.lower():
        yield f"    found as {one.found.name} for the daemon {one.subsystem}"
    if one.chain:
        yield "  definitions, oldest first; the last one takes effect:"
        if one.default is not None and one.chain[-1].span.file != "<default>":
            yield f"    <default>  {one.default}"
        for definition in one.chain:
            yield f"    {definition.span.chain()}  {_written(definition)}"
            if definition.text != definition.written:
                yield f"      with its earlier value inserted: {definition.text}"
    for definition in one.overridden:
        yield f"  overrides {definition.name} at {definition.span.chain()}: {definition.text}"
    if one.steps:
        yield "  expansion:"
    for step in one.steps:
        source = f" [{step.span.chain()}]" if step.span else ""
        yield f"    {'  ' * step.depth}{step.reference} is {step.text or 'nothing'}{source}"
        if step.result != step.text:
            yield f"    {'  ' * step.depth}  which gives {step.result or 'nothing'}"
    for problem in one.problems:
        yield f"  error: {problem.message} [{problem.code}]"


def _written(definition: Definition) -> str:
    return f"+= {definition.written}" if definition.appended else definition.written


def _check(config: Config, args: argparse.Namespace) -> int:
    found, reading = machine_problems(config)
    findings = sorted([*found, *problems(config, reading=reading)], key=by_place)
    errors = sum(one.severity is Severity.ERROR for one in findings) + config.dropped
    warnings = sum(one.severity is Severity.WARNING for one in findings)
    if args.json:
        _print_json(
            {
                "errors": errors,
                "warnings": warnings,
                "sources": list(config.sources),
                "findings": [one.to_json() for one in findings],
            }
        )
    else:
        for line in shown(findings, config.dropped, FINDINGS_SHOWN_MAX):
            print(line)
        print(_summary(config, errors, warnings, sum(one.severity is Severity.NOTE for one in findings)))
    return int(errors > 0 or (args.strict and warnings > 0))


def _summary(config: Config, errors: int, warnings: int, notes: int) -> str:
    templates = sum(is_template_name(source) for source in config.sources)
    read = [(len(config.sources) - templates, "source"), (templates, "template"), (len(config.chains), "name")]
    found = [_counted(errors, "error"), _counted(warnings, "warning"), *([_counted(notes, "note")] if notes else [])]
    return f"{', '.join(_counted(*one) for one in read if one[0])}: {', '.join(found)}".removeprefix(": ")


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'s' * (number != 1)}"


def _dump(config: Config, args: argparse.Namespace) -> int:
    rows: list[dict[str, object]] = []
    for key in sorted(config.chains):
        definition = config.chains[key][-1]
        value = _value(config, key, args) if args.expanded else definition.text
        rows.append(definition.to_json() | {"value": value or ""})
    if args.defaults:
        rows.extend(
            {"name": key.upper(), "value": default, "place": "<default>", "text": default}
            for key, default in sorted(DEFAULTS.items())
            if key not in config.chains
        )
    if args.json:
        _print_json(rows)
        return 0
    for row in rows:
        print(f"# {row['place']}")
        print("\n".join(_assignment(str(row["name"]), str(row["value"]))))
    return 0


def _assignment(name: str, value: str) -> Iterator[str]:
    """The statement that sets a name, in a form that reads back to the same value."""
    if "\n" not in value and not value.endswith("\\"):
        yield f"{name} = {value}"
        return
    tag = "end"
    while f"@{tag}" in value:
        tag += "_"
    yield f"{name} @={tag}"
    yield from value.split("\n")
    yield f"@{tag}"


_COMMANDS = {"show": _show, "get": _get, "explain": _explain, "check": _check, "dump": _dump}
