"""``roost policy``: lint a policy, and list or explain the linter's rules.

`add_parser` adds the command to an argparse parser, `run` carries it out. Exit status of ``lint``: 0 if nothing at or
above the level was found, 1 if something was, 2 if a file could not be read. Nothing is decided here: the room
`roost.policy.lint` does.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from roost.base.records import replace
from roost.classad import ClassAd, ParseError
from roost.classad.forms import parse_ad
from roost.cli.config import condor_version_option
from roost.cli.config_files import ConfigFiles, config_files
from roost.cli.lint_output import FORMATS, baseline, github_lines, only_new, sarif, text_lines
from roost.cli.parsing import also
from roost.cli.terminal import CommandError, Exit
from roost.config import Code, check
from roost.policy.lint import (
    Finding,
    Reader,
    Report,
    Rule,
    RuleSelection,
    Severity,
    SourcePlace,
    all_rules,
    lint,
    machine_of,
)
from roost.policy.lint.edits import corrected, difference, edits_by_file
from roost.policy.lint.pages import page, pages
from roost.policy.model import AdKind
from roost.runtime.files.whole_files import rewrite_whole, write_whole
from roost.runtime.start_checks import further_problems
from roost.startd.layout.problems import LayoutCode


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``policy`` and its commands."""
    parser = subparsers.add_parser("policy", help="check a policy before you use it")
    commands = parser.add_subparsers(dest="policy_command", required=True, metavar="COMMAND")
    _add_lint(commands)
    rules = commands.add_parser("rules", help="the linter's rules", description="List the linter's rules.")
    rules.add_argument("codes", nargs="*", metavar="CODE", help="rules to show in full")
    rules.add_argument("--json", action="store_true", help="print one JSON document")
    rules.add_argument("--pages", metavar="DIR", help="write a page for each rule, and an index, into a directory")


def _add_lint(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    text = (
        "Read configuration files and directories in the given order, as one configuration, and report what "
        "will not act as its author probably intended. Files that end in .sub or .submit are submit "
        "descriptions. Without a path, check "
        "the configuration of the pool, as `roost up` reads it."
    )
    parser = commands.add_parser("lint", help="check policies for mistakes", description=text)
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="file or directory (default: the configuration of the pool)"
    )
    job = parser.add_argument("--job-ad", metavar="FILE", help="ad of a job, whose attributes count as known")
    also(parser, job, "--job")
    slot = parser.add_argument(
        "--slot-ad",
        metavar="FILE",
        help="ad of a slot, or output of `condor_status -long`, whose first ad is used: its attributes count "
        "as known, and the machine is assumed to have its cores and memory",
    )
    also(parser, slot, "--machine")
    parser.add_argument(
        "--select", action="append", default=[], metavar="CODES", help="only these rules or groups, for example RST4"
    )
    parser.add_argument(
        "--ignore", action="append", default=[], metavar="CODES", help="all except these rules or groups"
    )
    parser.add_argument(
        "--level", choices=[str(one) for one in Severity], default="warning", help="lowest severity shown and counted"
    )
    parser.add_argument("--fix", action="store_true", help="apply the safe corrections to the files")
    parser.add_argument("--diff", action="store_true", help="show what --fix would change, without changing it")
    parser.add_argument("--explain", metavar="CODE", help="show the page of a rule")
    condor_version_option(parser)
    parser.add_argument("--format", choices=FORMATS, default="text", help="format of the findings (default: text)")
    parser.add_argument("--json", action="store_const", dest="format", const="json", help="the same as --format json")
    parser.add_argument("--baseline", metavar="FILE", help="omit the findings listed in this file")
    parser.add_argument("--write-baseline", metavar="FILE", help="write the findings to a file for --baseline")


def run(args: argparse.Namespace) -> int:
    """Carry the command out."""
    if args.policy_command == "rules":
        return _rules(args)
    if args.explain:
        print(page(_rule(args.explain)), end="")
        return Exit.OK
    return _lint(args)


def _rule(code: str) -> Rule:
    for rule in all_rules():
        if rule.code == code.upper():
            return rule
    raise CommandError(f"there is no rule {code}; see `roost policy rules`")


def _rules(args: argparse.Namespace) -> int:
    if args.pages:
        for name, text in pages().items():
            Path(args.pages, name).write_text(text, encoding="utf-8")
        return Exit.OK
    chosen = [_rule(code) for code in args.codes] if args.codes else all_rules()
    if args.json:
        rows = [
            {"code": r.code, "severity": str(r.severity), "title": r.title, "fixes": r.fixes, "traps": list(r.traps)}
            for r in chosen
        ]
        print(json.dumps(rows, indent=2))
    elif args.codes:
        print("\n".join(page(rule) for rule in chosen), end="")
    else:
        for rule in chosen:
            print(f"{rule.code}  {rule.severity:7}  {rule.title}")
    return Exit.OK


def _lint(args: argparse.Namespace) -> int:
    choice = RuleSelection(select=_codes(args.select), ignore=_codes(args.ignore))
    given = {side: _ad(path) for side, path in ((AdKind.JOB, args.job_ad), (AdKind.MACHINE, args.slot_ad)) if path}
    slot = given.get(AdKind.MACHINE)
    reader = Reader(condor_version=args.condor_version)
    if slot is not None:
        reader = replace(reader, detected=machine_of(slot))
    files = config_files(args.paths)
    if files.source:
        print(files.told("roost policy lint"), file=sys.stderr)
    report = lint(files.host(), files.roots, choice, given, reader)
    level = Severity(args.level).level
    found = [finding for finding in (*report.findings, *_daemons(report, choice)) if finding.severity.level >= level]
    if files.copy:
        found = [_in_copy(finding, files) for finding in found]
    if args.write_baseline:
        _write_baseline(args.write_baseline, found)
        return Exit.BAD if report.missing else Exit.OK
    if args.baseline:
        found = only_new(found, args.baseline)
    if args.fix or args.diff:
        left = _correct(found, write=args.fix and not args.diff)
        if args.fix and not args.diff:
            found = left
    if not args.diff:
        _print(args.format, report, found)
    told = {finding.place.file for finding in found} if args.format == "text" and not args.diff else set()
    for path in report.missing:
        if path not in told:
            print(f"roost policy lint: cannot read {path}", file=sys.stderr)
    if not report.sources and not report.missing:
        print(f"roost policy lint: {', '.join(files.roots)} contains no file", file=sys.stderr)
    if report.missing:
        return Exit.BAD
    return Exit.NO if found else Exit.OK


def _in_copy(finding: Finding, files: ConfigFiles) -> Finding:
    """The finding with its original paths in a copy of /etc/condor."""

    def moved(place: SourcePlace) -> SourcePlace:
        return replace(place, file=files.path_of(place.file))

    fix = finding.fix
    if fix is not None:
        fix = replace(fix, edits=tuple([replace(edit, file=files.path_of(edit.file)) for edit in fix.edits]))
    related = tuple([(why, moved(place)) for why, place in finding.related])
    return replace(finding, place=moved(finding.place), related=related, fix=fix)


def _print(form: str, report: Report, found: list[Finding]) -> None:
    match form:
        case "json":
            print(json.dumps(_document(report, found), indent=2))
        case "sarif":
            print(json.dumps(sarif(found), indent=1))
        case "github":
            print("".join(f"{line}\n" for line in github_lines(found)), end="")
        case _:
            print("".join(f"{line}\n" for line in text_lines(found)), end="")


def _write_baseline(path: str, found: list[Finding]) -> None:
    try:
        write_whole(Path(path), baseline(found))
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror}") from None
    print(f"{path}: {len(found)} finding{'s' * (len(found) != 1)}", file=sys.stderr)


def _daemons(report: Report, choice: RuleSelection) -> Iterator[Finding]:
    """Problems that daemons find when they start, such as slots that no machine can be divided into."""
    if report.config is None or report.config.for_htcondor:
        return
    for one in further_problems(report.config, check(report.config)):
        # A warning about a layout is one about the assumed machine.
        if choice.wants(one.code.upper()) and (one.severity is Severity.ERROR or one.code in set(Code)):
            yield Finding(
                code=one.code,
                severity=Severity(one.severity),
                message=one.message,
                place=SourcePlace(one.span.user.file, one.span.user.line),
                remedy=one.remedy,
                knob=one.name,
            )


def _codes(given: Iterable[str]) -> tuple[str, ...]:
    """Codes and prefixes of codes on the command line; one that matches no rule is an error, never ignored."""
    codes = tuple([code.strip().upper() for text in given for code in text.split(",") if code.strip()])
    for code in codes:
        if not any(known.startswith(code) for known in _known_codes()):
            raise CommandError(f"there is no rule {code}; `roost policy rules` lists them")
    return codes


def _known_codes() -> list[str]:
    return ["RST000", *[rule.code for rule in all_rules()], *[code.upper() for code in (*LayoutCode, *Code)]]


def _ad(path: str) -> ClassAd:
    """The first ad of a file: `condor_status -long` separates ads by empty lines."""
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError as error:
        raise CommandError(f"cannot read {path}: {error.strerror}") from None
    first = text if text.startswith(("[", "{", "<")) else re.split(r"\n[ \t]*\n", text, maxsplit=1)[0]
    try:
        return parse_ad(first, origin=path)
    except ParseError as problem:
        raise CommandError(str(problem)) from problem


def _correct(found: list[Finding], *, write: bool) -> list[Finding]:
    """Make or show the corrections; return the remaining findings."""
    for file, edits in edits_by_file(found).items():
        path = Path(file)
        before = path.read_bytes().decode("utf-8", "surrogateescape")
        after, done = corrected(before, edits)
        if not done:
            continue
        if write:
            try:
                rewrite_whole(path, after.encode("utf-8", "surrogateescape"))
            except OSError as error:
                raise CommandError(f"{file} is unchanged: {error.strerror}") from error
            print(f"{file}: {done} correction{'s' * (done != 1)}", file=sys.stderr)
        else:
            print(difference(file, before, after), end="")
    return [finding for finding in found if finding.fix is None]


def _document(report: Report, found: list[Finding]) -> dict[str, object]:
    return {
        "findings": [finding.to_json() for finding in found],
        "sources": list(report.sources),
        "missing": list(report.missing),
        "allowed": report.allowed,
    }
