"""Every rule has a page and fixtures, and finds in them what it should and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from roost.policy.lint import Report, Rule, all_rules, lint, lint_text
from roost.policy.lint.pages import block, pages, paragraph
from roost.runtime.machine import SystemHost

HERE = Path(__file__).parent
FIXTURES = HERE / "fixtures"
PAGES = HERE.parents[2] / "docs" / "lint"
RULES = all_rules()
HOST = SystemHost()


def fixture(rule: Rule, name: str) -> Path:
    return FIXTURES / rule.code / f"{name}.{'sub' if rule.submit else 'config'}"


def codes(report: Report, rule: Rule | None = None) -> set[str]:
    """The codes of findings; a fixture may lack IS_OWNER, and set what has no effect, if its rule is not about it."""
    assert not report.missing
    beside = {"RST424", "RST530"} - {rule.code} if rule else set()
    return {finding.code for finding in report.findings} - beside


def by_code(rule: Rule) -> str:
    return rule.code


@pytest.mark.parametrize("rule", RULES, ids=by_code)
def test_the_bad_fixture_gives_this_code_and_no_other(rule: Rule) -> None:
    assert codes(lint(HOST, [str(fixture(rule, "bad"))]), rule) == {rule.code}


@pytest.mark.parametrize("rule", RULES, ids=by_code)
def test_the_good_fixture_gives_nothing_at_all(rule: Rule) -> None:
    assert codes(lint(HOST, [str(fixture(rule, "good"))]), rule) == set()


@pytest.mark.parametrize("rule", [rule for rule in RULES if not rule.submit], ids=by_code)
def test_the_examples_of_the_page_show_what_they_say(rule: Rule) -> None:
    assert codes(lint_text(block(rule, "Example"), HOST), rule) == {rule.code}
    assert codes(lint_text(block(rule, "Instead"), HOST), rule) == set()


@pytest.mark.parametrize("rule", RULES, ids=by_code)
def test_the_page_says_what_and_why(rule: Rule) -> None:
    assert paragraph(rule, "What")
    assert paragraph(rule, "Why")
    assert rule.title


def test_the_pages_are_those_of_the_rules() -> None:
    written = {
        path.name: path.read_text(encoding="utf-8") for path in PAGES.glob("*.md") if path.name != "not-checked.md"
    }
    assert written == pages()


def test_codes_are_well_formed_and_each_has_fixtures() -> None:
    assert all(len(rule.code) == 6 and rule.code.startswith("RST") and rule.code[3:].isdigit() for rule in RULES)
    assert {path.name for path in FIXTURES.iterdir()} == {rule.code for rule in RULES}


def test_every_finding_names_a_place_and_a_remedy() -> None:
    for rule in RULES:
        for finding in lint(HOST, [str(fixture(rule, "bad"))]).findings:
            assert finding.place.line > 0, rule.code
            assert finding.message and finding.remedy, rule.code
            assert finding.remedy[0].isupper(), rule.code


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.fixes and not rule.submit], ids=by_code)
def test_a_correction_mends_what_the_rule_finds(rule: Rule) -> None:
    from roost.policy.lint.edits import corrected

    path = fixture(rule, "bad")
    findings = [finding for finding in lint(HOST, [str(path)]).findings if finding.code == rule.code]
    fixed = [finding for finding in findings if finding.fix is not None]
    assert fixed, "no finding of the fixture has a correction"
    text, done = corrected(path.read_text(encoding="utf-8"), [edit for f in fixed if f.fix for edit in f.fix.edits])
    assert done
    left = lint_text(text, HOST).findings
    assert len([finding for finding in left if finding.code == rule.code]) == len(findings) - len(fixed)


#: How many entries each part of the catalogue of traps has.
TRAPS = {"A": 25, "B": 24, "C": 10, "D": 35, "E": 14, "F": 13, "G": 21}


def test_every_trap_of_the_catalogue_has_a_rule_or_a_reason_why_there_is_none() -> None:
    covered = {trap for rule in RULES for trap in rule.traps}
    excused: set[str] = set()
    for row in re.findall(r"^\| ([A-G]\d[^|]*) \|", (PAGES / "not-checked.md").read_text(encoding="utf-8"), re.M):
        for entry in row.split(", "):
            first, _, last = entry.partition("–")
            numbers = range(int(first[1:]), int(last[1:] if last else first[1:]) + 1)
            excused |= {f"{first[0]}{number}" for number in numbers}
    every = {f"{part}{number}" for part, count in TRAPS.items() for number in range(1, count + 1)}
    assert covered <= every
    assert sorted(every - covered - excused) == []
