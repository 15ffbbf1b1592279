"""``condor_transform_ads``: transform the ads in files by rules, and print them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from roost.cli.condor.errors import ToolError, UsageError
from roost.cli.condor.options import Given, Option, given
from roost.cli.condor.printing import documents
from roost.cli.condor.printing.chosen import rows_of_file
from roost.cli.condor.printing.rows import AdRow
from roost.runtime.files.bounded_text import bounded_text

OPTIONS: Final = (
    Option("rules", "file of transform rules; may be repeated", takes="FILE", least=1),
    Option(
        "jobtransforms", "use rules from the configuration: JOB_TRANSFORM_<NAME> for each name", takes="NAMES", least=4
    ),
    Option("in", "file of ads to transform; - for standard input", takes="FILE", least=1, colon="FORM"),
    Option("out", "output file; - for standard output", takes="FILE", least=1, colon="FORM"),
    Option("long", "write the format of -long (default)", least=1),
    Option("json", "as JSON", least=2),
    Option("jsonl", "one JSON object per line", least=5),
    Option("xml", "as XML", least=3),
    Option("new", "write the new ClassAd syntax", least=3),
    Option("verbose", "report the rules applied to each ad", least=1),
    Option("terse", "accepted, has no effect", least=2),
    Option("debug", "accepted, has no effect", least=1),
)
_FORMS: Final = {"long": documents.LONG, "json": documents.JSON, "jsonl": documents.JSON_LINES, "xml": documents.XML,
                 "new": documents.NEW, "nosort": documents.LONG, "auto": documents.LONG}  # fmt: skip


class _CommandLine:
    """The parsed command line."""

    def __init__(self, arguments: list[str]) -> None:
        self.rules: list[str] = []
        self.configured: list[str] = []
        self.inputs: list[str] = []
        self.macros: dict[str, str] = {}
        self.form = documents.LONG
        self.out = "-"
        self.verbose = False
        for option in given(arguments, OPTIONS):
            self._take(option)
        if not self.rules and not self.configured:
            raise UsageError("ERROR : no rules given: use -rules, or name rules of the configuration")

    def _take(self, option: Given) -> None:
        match option.name:
            case "rules":
                self.rules.append(option.value)
            case "jobtransforms":
                self.configured += option.value.replace(",", " ").split()
            case "in":
                self.inputs.append(option.value)
            case "out":
                self.out = option.value
                for form in (option.colon or "").split(","):
                    self.form = _FORMS.get(form.lower(), self.form)
            case "verbose":
                self.verbose = True
            case _ if option.name in _FORMS:
                self.form = _FORMS[option.name]
            case "":
                name, equals, value = option.value.partition("=")
                if equals:
                    self.macros[name.strip()] = value.strip()
                else:
                    self.inputs.append(option.value)


def run(name: str, arguments: list[str]) -> int:
    """Run ``condor_transform_ads``."""
    from roost.runtime.machine import SystemHost
    from roost.schedd.admission.transform import TransformError, read_transform

    order = _CommandLine(arguments)
    host = SystemHost()
    rows: list[AdRow] = []
    try:
        transforms = [read_transform(text, origin) for origin, text in _texts(order)]
        for path in order.inputs or ["-"]:
            for row in rows_of_file(path):
                ad = row.ad
                applied = [each.name or "rules" for each in transforms if each.apply(ad, host, order.macros)]
                if order.verbose:
                    sys.stderr.write(f"{path}: {', '.join(applied) or 'no rules'} applied\n")
                rows.append(AdRow.of(ad))
    except TransformError as error:
        raise ToolError(f"ERROR : {error}") from None
    _write(order, rows)
    return 0


def _texts(order: _CommandLine) -> list[tuple[str, str]]:
    """Origin and text of all rules."""
    found = []
    for path in order.rules:
        try:
            text = bounded_text(None if path == "-" else Path(path))
        except OSError as error:
            raise ToolError(f"ERROR : could not open rules file {path}: {error.strerror}") from None
        found.append((path, text))
    if order.configured:
        from roost.cli.condor.asking import config

        settings = config("SCHEDD")
        for name in order.configured:
            known = settings.find(f"JOB_TRANSFORM_{name}")
            if known is None:
                raise ToolError(f"ERROR : JOB_TRANSFORM_{name} is not defined")
            found.append((f"JOB_TRANSFORM_{name}", known.text))
    return found


def _write(order: _CommandLine, rows: list[AdRow]) -> None:
    if order.out == "-":
        documents.write_ads(rows, order.form, sys.stdout)
        return
    try:
        with Path(order.out).open("w", encoding="utf-8", errors="surrogateescape") as file:
            documents.write_ads(rows, order.form, file)
    except OSError as error:
        raise ToolError(f"ERROR : could not open output file {order.out}: {error.strerror}") from None
