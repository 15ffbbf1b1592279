"""How ``roost policy lint`` prints findings: as text, JSON, SARIF or GitHub annotations, and which findings a baseline
knows.

Text groups equal findings: the same mistake at forty places of a file is printed once, with the places.

A baseline is a JSON file of known findings. They are matched by rule, file, knob and message, without line numbers, so
that lines above them may be added or removed; if the baseline has five equal ones, five are known, and a sixth is new.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from roost import __version__
from roost.cli.terminal import CommandError
from roost.policy.lint import Finding, Severity, all_rules

FORMATS: Final = ("text", "json", "sarif", "github")
#: Maximum number of findings, or groups of equal ones, shown as text.
SHOWN_MAX: Final = 100
#: Maximum number of places of equal findings that are named.
PLACES_MAX: Final = 8
_LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}
_ON_GITHUB: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
#: Maximum size of a baseline file, bytes.
_BASELINE_BYTES_MAX: Final = 64 << 20
_DIGITS: Final = re.compile(r"(?<=:)\d+(?::\d+)?")


# -- text --------------------------------------------------------------------------------------------------------


def grouped(findings: Iterable[Finding]) -> list[list[Finding]]:
    """Equal findings of one file together, in the order of the first of each."""
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for one in findings:
        key = (one.code, one.severity, one.message, one.remedy, one.place.file, one.text, one.witness)
        groups.setdefault(key, []).append(one)
    return list(groups.values())


def text_lines(findings: list[Finding]) -> Iterator[str]:
    """The findings as text, with a summary."""
    groups = grouped(findings)
    for group in groups[:SHOWN_MAX]:
        yield from (_visible(line) for line in _group_lines(group))
    if len(groups) > SHOWN_MAX:
        yield f"and {sum(map(len, groups[SHOWN_MAX:]))} more; --json lists them all"
    counts = {severity: sum(f.severity is severity for f in findings) for severity in reversed(Severity)}
    said = [f"{number} {severity}{'s' * (number != 1)}" for severity, number in counts.items() if number]
    if said:
        fixable = sum(finding.fix is not None for finding in findings)
        yield ", ".join(said) + (f"; --fix can correct {fixable}" if fixable else "")


def _group_lines(group: list[Finding]) -> Iterator[str]:
    finding, others = group[0], group[1:]
    number = f" ({len(group)} times)" if others else ""
    yield f"{finding.place}: {finding.severity} {finding.code}: {finding.message}{number}"
    if finding.text and finding.text not in finding.message:
        yield f"    {_short(finding.text)}"
    if finding.place.template:
        yield f"    in a template: {finding.place.template}"
    for why, place in finding.related:
        yield f"    {why}: {place}"
    if finding.witness:
        yield "    for example with " + ", ".join(f"{name} = {value}" for name, value in finding.witness)
    yield f"    {finding.remedy}"
    if others:
        lines = ", ".join(str(one.place.line) for one in others[:PLACES_MAX])
        yield f"    also on line {lines}{', …' if len(others) > PLACES_MAX else ''}"


def _visible(line: str) -> str:
    """A line in which control characters of a terminal are escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)


def _short(text: str) -> str:
    return text if len(text) <= 160 else text[:157] + "…"


# -- other programs ----------------------------------------------------------------------------------------------


def sarif(findings: Iterable[Finding]) -> dict[str, object]:
    """The findings as a SARIF 2.1.0 document, the format of code hosts and editors."""
    rules = [
        {
            "id": rule.code,
            "shortDescription": {"text": rule.title},
            "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        }
        for rule in all_rules()
    ]
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "roost policy lint", "version": __version__, "rules": rules}},
                "columnKind": "unicodeCodePoints",
                "results": [_result(one) for one in findings],
            }
        ],
    }


def _result(one: Finding) -> dict[str, object]:
    region: dict[str, int] = {}
    if one.place.line:
        region["startLine"] = one.place.line
    if one.place.line and one.place.column:
        region["startColumn"] = one.place.column
        region["endColumn"] = one.place.column + max(one.place.length, 1)
    location: dict[str, object] = {"artifactLocation": {"uri": _relative(one.place.file)}}
    if region:
        location["region"] = region
    return {
        "ruleId": one.code,
        "level": _LEVELS[one.severity],
        "message": {"text": f"{one.message}. {one.remedy}" if one.remedy else one.message},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"roost/v1": "\0".join(_mark(one))},
    }


def github_lines(findings: Iterable[Finding]) -> Iterator[str]:
    """The findings as GitHub workflow commands, which are shown next to the lines."""
    for one in findings:
        where = [f"file={_property(_relative(one.place.file))}"]
        if one.place.line:
            where.append(f"line={one.place.line}")
        if one.place.line and one.place.column:
            where.append(f"col={one.place.column}")
        where.append(f"title={one.code}")
        text = f"{one.message}\n{one.remedy}" if one.remedy else one.message
        yield f"::{_ON_GITHUB[one.severity]} {','.join(where)}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _relative(path: str) -> str:
    """A path relative to the working directory, if it is below it."""
    if not path.startswith("/"):
        return path
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative


# -- baselines ---------------------------------------------------------------------------------------------------


def _mark(one: Finding) -> tuple[str, str, str, str]:
    """The identity of a finding, independent of line numbers."""
    return one.code, _relative(one.place.file), (one.knob or "").lower(), _DIGITS.sub("", one.message)


def baseline(findings: Iterable[Finding]) -> str:
    """The text of a baseline file."""
    counts = Counter(_mark(one) for one in findings)
    rows = [
        {"code": code, "file": file, "knob": knob, "message": message, "count": counts[code, file, knob, message]}
        for code, file, knob, message in sorted(counts)
    ]
    return json.dumps({"version": 1, "findings": rows}, indent=1) + "\n"


def only_new(findings: list[Finding], path: str) -> list[Finding]:
    """The findings that are not in a baseline file. Raises CommandError."""
    known = _known(path)
    new = []
    for one in findings:
        mark = _mark(one)
        if known[mark] > 0:
            known[mark] -= 1
        else:
            new.append(one)
    return new


def _known(path: str) -> Counter[tuple[str, str, str, str]]:
    try:
        with Path(path).open("rb") as file:
            raw = file.read(_BASELINE_BYTES_MAX + 1)
    except OSError as error:
        raise CommandError(f"cannot read the baseline {path}: {error.strerror}") from None
    try:
        document = json.loads(raw) if len(raw) <= _BASELINE_BYTES_MAX else None
        if not isinstance(document, dict) or document.get("version") != 1:
            raise ValueError
        return Counter(
            {
                (str(row["code"]), str(row["file"]), str(row["knob"]), str(row["message"])): int(row["count"])
                for row in document["findings"]
            }
        )
    except (ValueError, TypeError, KeyError, RecursionError):
        raise CommandError(
            f"{path} is not a baseline of version 1\n    hint: write one with --write-baseline {path}"
        ) from None
