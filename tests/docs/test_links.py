"""Links of all pages lead to files and headings that are there, and every page can be reached from the index."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [
    *DOCS,
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *ROOT.glob("examples/**/*.md"),
]
#: Blocks of code, and what stands between backticks: neither has links.
CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`", re.MULTILINE | re.DOTALL)


@cache
def prose(page: Path) -> str:
    """The text of a page without its code."""
    return CODE.sub("", page.read_text(encoding="utf-8"))


def links(page: Path) -> list[str]:
    """Targets of the links of a page that stay in the repository."""
    return [each for each in re.findall(r"\]\(<?([^)\s>]+)>?\)", prose(page)) if "://" not in each]


@cache
def anchors(page: Path) -> frozenset[str]:
    """The anchors of the headings of a page, as Markdown renderers make them."""
    text = re.sub(r"^(```|~~~).*?^\1", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    found = [
        re.sub(r"[^\w\- ]", "", re.sub(r"\]\([^)]*\)", "", title).lower()).strip().replace(" ", "-")
        for title in re.findall(r"^#+ (.*?)#*$", text, re.MULTILINE)
    ]
    return frozenset(found) | frozenset(re.findall(r'<a (?:name|id)="([^"]+)"', text))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings_that_are_there(page: Path) -> None:
    lost = []
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            lost.append(link)
    assert lost == []


def test_the_index_names_every_page_but_those_of_rules_and_decisions() -> None:
    index = ROOT / "docs/README.md"
    named = {(index.parent / link.partition("#")[0]).resolve() for link in links(index)}
    single = re.compile(r"lint/(cell/)?R\w+\d+\.md|adr/\d|README\.md")
    pages = [page for page in DOCS if not single.match(str(page.relative_to(index.parent)))]
    assert [page for page in pages if page not in named] == []


def test_every_page_can_be_reached_from_the_index() -> None:
    reached, work = set(), [ROOT / "docs/README.md"]
    while work:
        page = work.pop()
        if page not in reached and page.suffix == ".md" and page.exists():
            reached.add(page)
            work += [(page.parent / link.partition("#")[0]).resolve() for link in links(page) if link[0] != "#"]
    assert sorted(str(page.relative_to(ROOT)) for page in set(DOCS) - reached) == []
