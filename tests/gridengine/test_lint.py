"""Each rule of the cell linter finds what its page shows and is silent about the page's remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from roost.gridengine.lint import CellRule, all_rules, check
from roost.gridengine.lint.registry import pages
from roost.policy.lint.pages import block, paragraph
from tests.gridengine import dumps, sample

RULES = all_rules()
DOCS = Path(__file__).resolve().parents[2] / "docs"


def by_code(rule: CellRule) -> str:
    return rule.code


def codes(edits: str) -> list[str]:
    return [finding.code for finding in check(sample.edited(sample.files(), edits)).findings]


def test_the_sample_gives_nothing_at_all() -> None:
    assert [str(one) for one in check(sample.files()).findings] == []


@pytest.mark.parametrize("rule", RULES, ids=by_code)
def test_the_examples_of_the_page_show_what_they_say(rule: CellRule) -> None:
    assert rule.code in codes(block(rule.as_rule(), "Example"))
    assert rule.code not in codes(block(rule.as_rule(), "Instead"))


@pytest.mark.parametrize("rule", RULES, ids=by_code)
def test_every_finding_names_a_line_and_a_remedy(rule: CellRule) -> None:
    found = check(sample.edited(sample.files(), block(rule.as_rule(), "Example")), "site/").findings
    for finding in found:
        assert finding.place.file.startswith("site/")
        assert finding.place.line > 0, finding
        assert finding.message and finding.remedy[0].isupper() and finding.remedy.endswith("."), finding


@pytest.mark.parametrize("rule", RULES, ids=by_code)
def test_the_page_says_what_and_why(rule: CellRule) -> None:
    assert paragraph(rule.as_rule(), "What")
    assert paragraph(rule.as_rule(), "Why")


def test_the_pages_in_the_documentation_are_those_of_the_rules() -> None:
    written = {str(path.relative_to(DOCS)): path.read_text() for path in (DOCS / "lint/cell").glob("*.md")}
    assert written == pages()


def test_a_comment_allows_a_finding_where_it_stands() -> None:
    files = sample.edited(sample.files(), "cqueues/all.q: slots 1,[node9=8]")
    lines = files["cqueues/all.q"].splitlines()
    place = next(number for number, line in enumerate(lines) if line.startswith("slots"))
    lines.insert(place, "# roost: allow RGE102 node9 comes back in spring")
    report = check({**files, "cqueues/all.q": "\n".join(lines) + "\n"})
    assert report.findings == ()
    assert [finding.code for finding in report.allowed] == ["RGE102"]


def test_programs_are_read_where_they_are_known() -> None:
    files = sample.edited(sample.files(), "cqueues/low.q: prolog root@/usr/local/bin/open")
    texts = {"/usr/local/bin/open": "#!/bin/sh\nqconf -aattr hostgroup hostlist $HOST @left\n"}
    assert [finding.code for finding in check(files, program=texts.get).findings] == ["RGE601"]
    assert check(files).findings == ()


def test_what_is_found_in_the_recorded_configurations() -> None:
    found = {name: [(one.code, one.place.file) for one in check(dumps.files(name)).findings] for name in dumps.NAMES}
    slots = [("RGE105", f"execution/node{number}") for number in (1, 2, 3)]
    assert found["plain"] == [*slots, ("RGE402", "schedconf")]
    assert found["department"] == [
        ("RGE803", "calendars/office"),
        ("RGE406", "cqueues/idle.q"),
        ("RGE301", "execution/node5"),
        ("RGE503", "resource_quotas/exam_week"),
        ("RGE501", "resource_quotas/licences"),
    ]
    oddities = found["oddities"]
    for expected in [
        ("RGE101", "cqueues/all.q"),
        ("RGE102", "cqueues/all.q"),
        ("RGE103", "cqueues/ghost.q"),
        ("RGE201", "cqueues/ring1.q"),
        ("RGE203", "cqueues/far.q"),
        ("RGE204", "cqueues/far.q"),
        ("RGE301", "execution/global"),
        ("RGE303", "cqueues/odd.q"),
        ("RGE406", "cqueues/odd.q"),
        ("RGE502", "resource_quotas/never"),
        ("RGE503", "resource_quotas/odd-1"),
        ("RGE701", "pe/one"),
    ]:
        assert expected in oddities
